# scenario folders: installed as they lie here (docs/scenarios.md)
nobase_dist_pkgdata_DATA =
nobase_dist_pkgdata_DATA += scenarios/ako/figures.json scenarios/ako/published.csv scenarios/ako/README.md \
	scenarios/ako/ako.json scenarios/ako/servers.json scenarios/ako/both.json \
	scenarios/ako/waits.json scenarios/ako/means.json
nobase_dist_pkgdata_DATA += scenarios/stanza/figures.json scenarios/stanza/published.csv scenarios/stanza/README.md \
	scenarios/stanza/parameter-server.json scenarios/stanza/colocated.json scenarios/stanza/stanza.json scenarios/stanza/overlaps.json

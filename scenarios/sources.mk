# scenario folders: installed as they lie here (docs/scenarios.md)
nobase_dist_pkgdata_DATA =
nobase_dist_pkgdata_DATA += scenarios/ako/figures.json scenarios/ako/published.csv scenarios/ako/README.md \
	scenarios/ako/ako.json scenarios/ako/servers.json scenarios/ako/both.json

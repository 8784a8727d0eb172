# scenario folders: installed as they lie here (docs/scenarios.md)
nobase_dist_pkgdata_DATA =

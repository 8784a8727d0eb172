# make check-cluster
UNIT_TESTS += tests/cluster/unit_capacity tests/cluster/unit_cluster tests/cluster/unit_cluster_limits tests/cluster/unit_failures tests/cluster/unit_fgd tests/cluster/unit_lent \
	tests/cluster/unit_placement tests/cluster/unit_pool

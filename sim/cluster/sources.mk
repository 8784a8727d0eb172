# nodes, devices and racks; free resources; placement; failures
liborrery_a_SOURCES += sim/cluster/cluster_node.c sim/cluster/cluster_spec.c sim/cluster/cluster_file.c sim/cluster/cluster.c sim/cluster/cluster.h \
	sim/cluster/failures.c sim/cluster/failures.h sim/cluster/pool.c sim/cluster/pool.h sim/cluster/placement_fgd.c \
	sim/cluster/placement.c sim/cluster/placement.h sim/cluster/datasets.c sim/cluster/datasets.h
# preemptible instances and the nodes on them
liborrery_a_SOURCES += sim/cluster/ledger.h sim/cluster/capacity_rows.c sim/cluster/capacity_rows.h sim/cluster/source.c sim/cluster/source.h \
	sim/cluster/lent.c sim/cluster/lent.h sim/cluster/capacity.c sim/cluster/capacity.h

# sources of sim/net
liborrery_a_SOURCES += sim/net/flow.c sim/net/flow.h sim/net/flow_due.c sim/net/flow_lone.c sim/net/flow_solve.c sim/net/flow_state.h
liborrery_a_SOURCES += sim/net/netflows.c sim/net/netflows.h sim/net/netflows_read.c sim/net/netflows_state.h
liborrery_a_SOURCES += sim/net/topology_nic.c
liborrery_a_SOURCES += sim/net/topology.h sim/net/collective.h sim/net/quotient.h
# which way: topologies
liborrery_a_SOURCES += sim/net/topology_shape.h sim/net/topology.c sim/net/topology_load.c sim/net/topology_kinds.c \
	sim/net/topology_torus.c sim/net/topology_json.c sim/net/topology_graph.c sim/net/topology_flownet.c
liborrery_a_SOURCES += sim/net/topology_part.c sim/net/topology_part.h
# collectives
liborrery_a_SOURCES += sim/net/collective_plan.h sim/net/collective.c sim/net/collective_tree.c sim/net/collective_time.c
# classes of flows that are alike
liborrery_a_SOURCES += sim/net/quotient.c

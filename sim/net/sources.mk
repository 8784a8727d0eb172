# links, routes, max-min fair flows, collectives
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/net/share.c sim/net/flow_due.c sim/net/topology_graph.c sim/net/netflows_read.c sim/net/topology.c \
	sim/net/topology_torus.c sim/net/topology_kinds.c sim/net/topology_route.c sim/net/topology_nic.c \
	sim/net/topology_part.c sim/net/quotient.c sim/net/flow_lone.c sim/net/flow_solve.c sim/net/flow.c \
	sim/net/netflows.c sim/net/topology_flownet.c sim/net/topology_json.c sim/net/topology_load.c \
	sim/net/collective_plan.c sim/net/collective_tree.c sim/net/collective.c sim/net/collective_time.c
liborrery_a_SOURCES += sim/net/collective.h sim/net/collective_plan.h sim/net/flow.h sim/net/flow_state.h \
	sim/net/netflows.h sim/net/netflows_state.h sim/net/quotient.h sim/net/share.h sim/net/topology.h sim/net/topology_part.h \
	sim/net/topology_shape.h

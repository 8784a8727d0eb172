# sources of sim/net
liborrery_a_SOURCES += sim/net/flow.c sim/net/flow.h sim/net/flow_due.c sim/net/flow_solve.c sim/net/flow_state.h
liborrery_a_SOURCES += sim/net/topology.h sim/net/collective.h sim/net/quotient.h

# sources of sim/net
liborrery_a_SOURCES += sim/net/flow.h sim/net/topology.h sim/net/collective.h sim/net/quotient.h

# several worlds on one cluster and one clock
liborrery_a_SOURCES += sim/mixed/account.c sim/mixed/account.h sim/mixed/nodes.c sim/mixed/mixed.c sim/mixed/mixed.h sim/mixed/world.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/mixed/descriptor.c

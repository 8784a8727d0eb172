# several worlds on one cluster and one clock
liborrery_a_SOURCES += sim/mixed/mixed.c sim/mixed/mixed.h

liborrery_a_SOURCES += sim/spot/spot.h sim/spot/world.h sim/spot/options.c sim/spot/run.c sim/spot/tell.c
liborrery_a_SOURCES += sim/spot/capacity.c sim/spot/instances.c sim/spot/layout.c sim/spot/steps.c sim/spot/accounts.c
liborrery_a_SOURCES += sim/spot/query.c sim/spot/future.c sim/spot/report.c sim/spot/check.c sim/spot/derive.h sim/spot/derive.c
include policies/spot/sources.mk

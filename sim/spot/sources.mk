# elastic jobs on preemptible capacity
liborrery_a_SOURCES += sim/spot/spot.h sim/spot/world.h sim/spot/instances.h sim/spot/steps.h sim/spot/options.c sim/spot/fail.c \
	sim/spot/accounts.c sim/spot/accounts.h sim/spot/spot_parts.c sim/spot/spot_parts.h sim/spot/instances.c sim/spot/speeds.c sim/spot/speeds.h sim/spot/layout.c sim/spot/owners.c sim/spot/tell.c sim/spot/rows.c sim/spot/steps.c \
	sim/spot/capacity.c sim/spot/future.c sim/spot/query.c sim/spot/check.c sim/spot/report.c sim/spot/run.c
# step times of an elastic job, from the step world
liborrery_a_SOURCES += sim/spot/derive.c sim/spot/derive.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/spot/elastic_cache.c sim/spot/elastic_cache.h sim/spot/descriptor.c
orrinclude_HEADERS += include/orrery/spot.h
include policies/spot/sources.mk

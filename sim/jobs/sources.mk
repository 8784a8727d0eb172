# trace replay of cluster jobs
liborrery_a_SOURCES += sim/jobs/actions.c sim/jobs/bill.c sim/jobs/bill.h sim/jobs/check.c sim/jobs/jobs.h sim/jobs/life.c sim/jobs/metrics.c \
	sim/jobs/query.c sim/jobs/queue.c sim/jobs/reclaim.c sim/jobs/rates.c sim/jobs/run.c sim/jobs/slots.c sim/jobs/world.h
# jobs that train
liborrery_a_SOURCES += sim/jobs/places.c sim/jobs/places.h sim/jobs/shape.c sim/jobs/shape.h sim/jobs/share.c \
	sim/jobs/share.h sim/jobs/sharing.c sim/jobs/steprate.c sim/jobs/steprate.h sim/jobs/training.c

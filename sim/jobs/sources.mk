# trace replay of cluster jobs
liborrery_a_SOURCES += sim/jobs/actions.c sim/jobs/check.c sim/jobs/jobs.h sim/jobs/life.c sim/jobs/metrics.c \
	sim/jobs/query.c sim/jobs/queue.c sim/jobs/rates.c sim/jobs/run.c sim/jobs/slots.c sim/jobs/timeline.c \
	sim/jobs/timeline.h sim/jobs/world.h

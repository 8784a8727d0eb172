# trace replay of cluster jobs
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/jobs/fail.c sim/jobs/quota_set.c sim/jobs/application.c sim/jobs/adapt_belief.c sim/jobs/shape.c sim/jobs/steprate.c sim/jobs/training.c sim/jobs/type_speed.c sim/jobs/adapt.c sim/jobs/quota.c sim/jobs/rates.c \
	sim/jobs/starts.c sim/jobs/slots.c sim/jobs/progress.c sim/jobs/limits.c sim/jobs/interference.c sim/jobs/tenants.c sim/jobs/group.c sim/jobs/share.c sim/jobs/queue.c sim/jobs/places.c sim/jobs/flow_sets.c sim/jobs/scores.c \
	sim/jobs/flow_report.c sim/jobs/metrics.c sim/jobs/lack.c sim/jobs/division.c sim/jobs/causes.c \
	sim/jobs/bill.c sim/jobs/decisions.c sim/jobs/life.c sim/jobs/sharing.c sim/jobs/victims.c sim/jobs/borrow.c sim/jobs/quota_view.c sim/jobs/actions.c sim/jobs/check.c sim/jobs/query.c sim/jobs/rounds.c \
	sim/jobs/calls.c sim/jobs/depend.c sim/jobs/flows.c sim/jobs/stages.c sim/jobs/node_events.c sim/jobs/reclaim.c sim/jobs/notes.c sim/jobs/run.c
liborrery_a_SOURCES += sim/jobs/quota_set.h sim/jobs/quota.h sim/jobs/limits.h sim/jobs/victims.h sim/jobs/borrow.h sim/jobs/quota_view.h
liborrery_a_SOURCES += sim/jobs/actions.h sim/jobs/adapt.h sim/jobs/adapt_belief.h sim/jobs/application.h sim/jobs/bill.h sim/jobs/calls.h sim/jobs/lack.h sim/jobs/causes.h sim/jobs/decisions.h sim/jobs/depend.h sim/jobs/division.h sim/jobs/flows.h sim/jobs/group.h sim/jobs/interference.h sim/jobs/job.h sim/jobs/jobs.h sim/jobs/life.h \
	sim/jobs/metrics.h sim/jobs/node_events.h sim/jobs/notes.h sim/jobs/places.h sim/jobs/rates.h sim/jobs/shape.h sim/jobs/share.h \
	sim/jobs/slots.h sim/jobs/starts.h sim/jobs/steprate.h sim/jobs/training.h sim/jobs/tenants.h sim/jobs/type_speed.h sim/jobs/world.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/jobs/scenario.c sim/jobs/scenario.h sim/jobs/effects.c sim/jobs/effects.h sim/jobs/descriptor.c
orrinclude_HEADERS += include/orrery/jobs.h
include policies/jobs/sources.mk

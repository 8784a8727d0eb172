# requests, replicas, batches; files are listed bottom first: a file calls only files before it (serve/world.h)
liborrery_a_SOURCES += sim/serve/quality.c sim/serve/quality.h sim/serve/options.c sim/serve/world.c sim/serve/router.c sim/serve/due.c sim/serve/metrics.c sim/serve/guard.c sim/serve/times.c sim/serve/explain.c
liborrery_a_SOURCES += sim/serve/load.c sim/serve/answers.c sim/serve/requests.c
liborrery_a_SOURCES += sim/serve/memory.c sim/serve/front.c sim/serve/runs.c sim/serve/loading.c sim/serve/batches.c sim/serve/preempt.c sim/serve/late.c
liborrery_a_SOURCES += sim/serve/prefix.c sim/serve/tiers.c sim/serve/decodes.c sim/serve/kv.c sim/serve/group.c sim/serve/stages.c sim/serve/lane.c sim/serve/speculate.c sim/serve/micro.c sim/serve/iterate.c sim/serve/move.c
liborrery_a_SOURCES += sim/serve/route.c sim/serve/copy.c sim/serve/admit.c sim/serve/gpus.c sim/serve/replicas.c sim/serve/roles.c sim/serve/scale.c
liborrery_a_SOURCES += sim/serve/actions.c sim/serve/clients.c sim/serve/measures.c sim/serve/remarks.c
liborrery_a_SOURCES += sim/serve/query.c sim/serve/check.c
liborrery_a_SOURCES += sim/serve/dispatch.c sim/serve/serve.c
liborrery_a_SOURCES += sim/serve/options.h sim/serve/world.h sim/serve/router.h sim/serve/due.h sim/serve/metrics.h sim/serve/guard.h sim/serve/times.h sim/serve/explain.h sim/serve/replica.h
liborrery_a_SOURCES += sim/serve/answers.h sim/serve/requests.h sim/serve/memory.h sim/serve/runs.h sim/serve/front.h sim/serve/group.h sim/serve/lane.h sim/serve/tiers.h sim/serve/stages.h sim/serve/speculate.h sim/serve/route.h sim/serve/fleet.h
liborrery_a_SOURCES += sim/serve/clients.h sim/serve/remarks.h sim/serve/dispatch.h sim/serve/serve.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/serve/deploy.c sim/serve/scenario.c sim/serve/scenario.h sim/serve/slo.c sim/serve/slo.h sim/serve/slo_run.c sim/serve/slo_run.h sim/serve/find_rate.c sim/serve/find_rate.h sim/serve/find_fleet.c sim/serve/find_fleet.h sim/serve/find_replicas.c sim/serve/find_replicas.h
liborrery_a_SOURCES += sim/serve/effects.c sim/serve/notes.c sim/serve/descriptor.c
orrinclude_HEADERS += include/orrery/serve.h include/orrery/router.h
include policies/serve/sources.mk

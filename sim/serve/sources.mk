# requests, replicas, batches
liborrery_a_SOURCES += sim/serve/serve.h sim/serve/world.h sim/serve/options.h sim/serve/options.c sim/serve/run.c
liborrery_a_SOURCES += sim/serve/dispatch.c sim/serve/requests.c sim/serve/query.c sim/serve/batches.c sim/serve/memory.c
liborrery_a_SOURCES += sim/serve/loading.c sim/serve/batches.h sim/serve/preempt.c
liborrery_a_SOURCES += sim/serve/fleet.h sim/serve/replicas.c sim/serve/route.c sim/serve/scale.c sim/serve/clients.c
liborrery_a_SOURCES += sim/serve/metrics.h sim/serve/metrics.c sim/serve/measures.c sim/serve/check.c sim/serve/guard.c
# language models
liborrery_a_SOURCES += sim/serve/lane.h sim/serve/llm.c sim/serve/decodes.c sim/serve/iterate.c sim/serve/kv.c sim/serve/prefix.c sim/serve/move.c
include policies/serve/sources.mk

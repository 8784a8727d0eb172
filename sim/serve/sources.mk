# requests, replicas, batches
liborrery_a_SOURCES += sim/serve/serve.h sim/serve/world.h
# language models
liborrery_a_SOURCES += sim/serve/llm.c sim/serve/kv.c sim/serve/prefix.c sim/serve/move.c

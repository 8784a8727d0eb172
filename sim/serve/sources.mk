# requests, replicas, batches
liborrery_a_SOURCES += sim/serve/serve.h sim/serve/world.h

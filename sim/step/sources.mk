# the inside of a training step
liborrery_a_SOURCES += sim/step/account.c sim/step/compress.c sim/step/compress.h sim/step/exec.c sim/step/expand.c
liborrery_a_SOURCES += sim/step/facts.c sim/step/graph.c sim/step/leap.c sim/step/metrics.c sim/step/options.c sim/step/run.c
liborrery_a_SOURCES += sim/step/step.h sim/step/trace_event.c sim/step/trace_event.h sim/step/wire.c sim/step/wire.h
liborrery_a_SOURCES += sim/step/source.c
liborrery_a_SOURCES += sim/step/wire_merge.c sim/step/wire_options.c sim/step/world.h
liborrery_a_SOURCES += sim/step/facts.c sim/step/graph.c sim/step/metrics.c sim/step/options.c sim/step/run.c
liborrery_a_SOURCES += sim/step/step.h sim/step/trace_event.c sim/step/trace_event.h sim/step/together.c sim/step/use.c sim/step/wire.c sim/step/world.h

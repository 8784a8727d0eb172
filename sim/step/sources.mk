# sources of sim/step
liborrery_a_SOURCES += sim/step/step.h sim/step/options.c
liborrery_a_SOURCES += sim/step/metrics.c

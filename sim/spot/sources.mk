liborrery_a_SOURCES += sim/spot/spot.h sim/spot/options.c sim/spot/run.c

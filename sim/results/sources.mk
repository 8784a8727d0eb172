# sources of sim/results
liborrery_a_SOURCES += sim/results/result.h sim/results/store.h sim/results/stats.h

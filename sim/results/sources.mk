# sources of sim/results
liborrery_a_SOURCES += sim/results/result.h sim/results/result.c sim/results/stats.h sim/results/stats.c \
	sim/results/hist.c

# clock, event queue, watchdog
liborrery_a_SOURCES += sim/engine/ladder.c sim/engine/ladder.h sim/engine/engine.c sim/engine/engine.h \
	sim/engine/watch.c sim/engine/watch.h

# sources of sim/engine
liborrery_a_SOURCES += sim/engine/engine.h sim/engine/rng.h

orrery_SOURCES += sim/cli/main.c

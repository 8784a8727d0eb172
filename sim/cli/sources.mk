orrery_SOURCES += sim/cli/cli.h sim/cli/main.c

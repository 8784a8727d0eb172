orrery_SOURCES += sim/cli/cmd_db.c
orrery_SOURCES += sim/cli/cli.h sim/cli/main.c

orrery_SOURCES += sim/cli/main.c
orrery_SOURCES += sim/cli/cmd_db.c
orrery_SOURCES += sim/cli/cmd_trace.c sim/cli/cmd_trace.h sim/cli/cmd_trace_info.c sim/cli/cmd_trace_convert.c \
	sim/cli/cmd_trace_synth.c

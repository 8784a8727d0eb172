# one file per subcommand; scenarios
orrery_SOURCES += sim/cli/cli.c sim/cli/cli.h sim/cli/main.c sim/cli/progress.c sim/cli/progress.h
orrery_SOURCES += sim/cli/registry.c sim/cli/registry.h sim/cli/scenario.c sim/cli/scenario.h
orrery_SOURCES += sim/cli/cmd_jobs.c sim/cli/jobs_study.c sim/cli/jobs_study.h
orrery_SOURCES += sim/cli/cmd_policy.c
orrery_SOURCES += sim/cli/cmd_trace.c sim/cli/cmd_trace.h sim/cli/cmd_trace_convert.c sim/cli/cmd_trace_info.c
orrery_SOURCES += sim/cli/cmd_trace_synth.c
orrery_SOURCES += sim/cli/cmd_device.c
orrery_SOURCES += sim/cli/cmd_net.c
orrery_SOURCES += sim/cli/cmd_db.c

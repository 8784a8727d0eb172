# one file per subcommand; scenarios and studies, common part and by world
orrery_SOURCES += sim/cli/cli.c sim/cli/cli.h sim/cli/cmd_db.c sim/cli/cmd_device.c sim/cli/cmd_jobs.c sim/cli/cmd_policy.c \
	sim/cli/cmd_run.c sim/cli/cmd_step.c sim/cli/cmd_trace.c sim/cli/cmd_trace.h sim/cli/cmd_trace_convert.c \
	sim/cli/cmd_trace_info.c sim/cli/cmd_trace_synth.c sim/cli/main.c sim/cli/progress.c sim/cli/progress.h \
	sim/cli/registry.c sim/cli/registry.h sim/cli/request.c sim/cli/request.h sim/cli/scenario.c sim/cli/scenario.h \
	sim/cli/scenario_jobs.c sim/cli/scenario_jobs.h sim/cli/scenario_step.c sim/cli/scenario_step.h sim/cli/study.c \
	sim/cli/study.h sim/cli/study_jobs.c sim/cli/study_step.c
# scenario folders: runs, figures, tables
orrery_SOURCES += sim/cli/cmd_figures.c sim/cli/figures.h sim/cli/figures_book.c sim/cli/figures_draw.c \
	sim/cli/figures_expr.c sim/cli/figures_run.c sim/cli/figures_table.c
# until the networks are linked
orrery_SOURCES += sim/cli/pending_run.c

# the commands: one file for the verbs of all worlds, one per other verb, and common code
orrery_SOURCES += cli/commands.def
orrery_SOURCES += cli/model_experts.c cli/model_experts.h
orrery_SOURCES += cli/cli.c cli/data_file.c cli/request.c cli/series.c cli/verb.c cli/policy_new.c cli/model_elastic.c cli/model_served.c cli/db_inspect.c cli/cmd_calib_fit.c \
	cli/cmd_calib_run.c cli/cmd_calib_show.c cli/cmd_calib.c cli/cmd_db.c cli/cmd_device.c cli/cmd_doctor.c cli/cmd_explain.c cli/cmd_figures.c cli/goodput_learn.c cli/cmd_goodput.c cli/cmd_model.c \
	cli/cmd_net.c cli/cmd_policy.c cli/cmd_report.c cli/cmd_run.c cli/cmd_sweep.c cli/trace_flags.c cli/cmd_trace_avail.c cli/cmd_trace_requests.c \
	cli/cmd_trace_convert.c cli/cmd_trace_get.c cli/cmd_trace_info.c cli/cmd_trace_synth.c cli/cmd_trace.c cli/main.c
orrery_SOURCES += cli/cli.h cli/cmd_calib.h cli/cmd_trace.h cli/data_file.h cli/db_inspect.h cli/goodput_learn.h cli/model_elastic.h cli/model_served.h cli/policy_new.h cli/request.h cli/series.h \
	cli/verb.h

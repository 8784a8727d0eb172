# one file per subcommand; scenarios and studies, common part and by world
orrery_SOURCES += sim/cli/cli.c sim/cli/cli.h sim/cli/main.c sim/cli/progress.c sim/cli/progress.h
orrery_SOURCES += sim/cli/registry.c sim/cli/registry.h sim/cli/request.c sim/cli/request.h
orrery_SOURCES += sim/cli/scenario.c sim/cli/scenario.h sim/cli/scenario_jobs.c sim/cli/scenario_jobs.h sim/cli/inputs.c sim/cli/inputs.h
orrery_SOURCES += sim/cli/scenario_step.c sim/cli/scenario_step.h sim/cli/setting.c sim/cli/setting.h
orrery_SOURCES += sim/cli/cost_samples.c sim/cli/cost_samples.h
orrery_SOURCES += sim/cli/study.c sim/cli/study.h sim/cli/study_jobs.c sim/cli/study_step.c sim/cli/study_serve.c sim/cli/study_serve.h
orrery_SOURCES += sim/cli/scenario_serve.c sim/cli/scenario_deploy.c sim/cli/scenario_serve.h sim/cli/replications.c sim/cli/replications.h
orrery_SOURCES += sim/cli/cmd_jobs.c
orrery_SOURCES += sim/cli/cmd_step.c
orrery_SOURCES += sim/cli/cmd_serve.c sim/cli/find_rate.c sim/cli/find_rate.h
orrery_SOURCES += sim/cli/cmd_spot.c sim/cli/scenario_spot.c sim/cli/scenario_spot.h sim/cli/study_spot.c
orrery_SOURCES += sim/cli/cmd_run.c
orrery_SOURCES += sim/cli/cmd_policy.c sim/cli/policy_new.c sim/cli/policy_new.h sim/cli/policy_new_spot.c
orrery_SOURCES += sim/cli/cmd_trace.c sim/cli/cmd_trace.h sim/cli/cmd_trace_convert.c sim/cli/cmd_trace_info.c
orrery_SOURCES += sim/cli/cmd_trace_synth.c sim/cli/cmd_trace_requests.c sim/cli/cmd_trace_avail.c
orrery_SOURCES += sim/cli/cmd_model.c sim/cli/model_served.c sim/cli/model_served.h sim/cli/model_elastic.c sim/cli/model_elastic.h sim/cli/elastic_cache.c sim/cli/elastic_cache.h
orrery_SOURCES += sim/cli/cmd_device.c
orrery_SOURCES += sim/cli/cmd_net.c
orrery_SOURCES += sim/cli/cmd_db.c
# scenario folders: runs, figures, tables
orrery_SOURCES += sim/cli/cmd_figures.c sim/cli/figures.h sim/cli/figures_book.c sim/cli/figures_draw.c \
	sim/cli/figures_expr.c sim/cli/figures_run.c sim/cli/figures_table.c sim/cli/figures_cdf.c sim/cli/figures_timeline.c sim/cli/figures_traces.c
orrery_SOURCES += sim/cli/cmd_calib.c sim/cli/cmd_calib.h sim/cli/cmd_calib_run.c sim/cli/cmd_calib_fit.c \
	sim/cli/cmd_calib_show.c
# jobs and serving together
orrery_SOURCES += sim/cli/scenario_mixed.c sim/cli/scenario_mixed.h sim/cli/study_mixed.c sim/cli/study_jobs.h
# nodes that come and go
orrery_SOURCES += sim/cli/inputs_capacity.c sim/cli/inputs_capacity.h

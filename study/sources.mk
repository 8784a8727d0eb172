# from a scenario to runs to a study; scenario books
libstudy_a_SOURCES =
libstudy_a_SOURCES += study/cost_samples.c study/cost_samples.h study/elastic_cache.c study/elastic_cache.h \
	study/figures.h study/figures_book.c study/figures_cdf.c study/figures_draw.c study/figures_expr.c \
	study/figures_run.c study/figures_table.c study/figures_timeline.c study/figures_traces.c study/find_rate.c \
	study/find_rate.h study/inputs.c study/inputs.h study/inputs_capacity.c study/inputs_capacity.h study/progress.c \
	study/progress.h study/registry.c study/registry.h study/replications.c study/replications.h study/scenario.c \
	study/scenario.h study/scenario_deploy.c study/scenario_jobs.c study/scenario_jobs.h study/scenario_mixed.c \
	study/scenario_mixed.h study/scenario_serve.c study/scenario_serve.h study/scenario_spot.c study/scenario_spot.h \
	study/scenario_step.c study/scenario_step.h study/setting.c study/setting.h study/study.c study/study.h \
	study/study_jobs.c study/study_jobs.h study/study_mixed.c study/study_serve.c study/study_serve.h study/study_spot.c \
	study/study_step.c

# make check-study
SCRIPT_TESTS += tests/study/figures_experts.sh
UNIT_TESTS += tests/study/unit_book_draw tests/study/unit_book_table tests/study/unit_book_values \
	tests/study/unit_figures tests/study/unit_find_rate tests/study/unit_pace tests/study/unit_progress tests/study/unit_replications tests/study/unit_scenario tests/study/unit_worlds
libtests_a_SOURCES += tests/study/book.h
SCRIPT_TESTS += tests/study/compare.sh tests/study/cli_figures.sh tests/study/failed_policy.sh tests/study/figures_academus.sh tests/study/figures_ako.sh tests/study/figures_auto_parallel.sh tests/study/figures_bamboo.sh tests/study/figures_crossbow.sh tests/study/figures_dorylus.sh \
	tests/study/figures_ds_sync.sh tests/study/figures_irina.sh tests/study/figures_llm_serving.sh \
	tests/study/figures_mdf.sh tests/study/figures_mdp.sh tests/study/figures_one_clock.sh tests/study/figures_philly.sh tests/study/figures_saec.sh tests/study/figures_schedulers.sh tests/study/figures_spot_field.sh tests/study/figures_stanza.sh tests/study/replications.sh tests/study/study_output.sh tests/study/sweep.sh tests/study/sweep_shards.sh
EXTRA_DIST += tests/study/figures.sh
SCRIPT_TESTS += tests/study/figures_zero_bubble.sh tests/study/figures_long_context.sh tests/study/figures_restarts.sh
SCRIPT_TESTS += tests/study/figures_disaggregation.sh tests/study/figures_routing.sh tests/study/figures_speculation.sh

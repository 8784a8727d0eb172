# make check-jobs
UNIT_TESTS += tests/jobs/unit_availability tests/jobs/unit_backfill tests/jobs/unit_datasets tests/jobs/unit_drf tests/jobs/unit_elastic tests/jobs/unit_fair tests/jobs/unit_flows tests/jobs/unit_gavel \
	tests/jobs/unit_gavel_lp tests/jobs/unit_gavel_naive tests/jobs/unit_gittins tests/jobs/unit_jobs_acts tests/jobs/unit_jobs_model tests/jobs/unit_jobs_rows tests/jobs/unit_jobs_speeds tests/jobs/unit_share tests/jobs/unit_sharing tests/jobs/unit_flow_hand tests/jobs/unit_order_hand tests/jobs/unit_jobs_scenario tests/jobs/unit_market \
	tests/jobs/unit_queue tests/jobs/unit_steprate tests/jobs/unit_theory tests/jobs/unit_walk
SCRIPT_TESTS += tests/jobs/adapt.sh tests/jobs/cli_jobs.sh tests/jobs/compare_recorded.sh tests/jobs/deadlines.sh tests/jobs/explain.sh tests/jobs/explain_rerun.sh tests/jobs/fair.sh tests/jobs/flows.sh tests/jobs/goodput.sh tests/jobs/gpu_types.sh tests/jobs/jobs_life.sh tests/jobs/jobs_remarks.sh tests/jobs/jobs_step.sh tests/jobs/market.sh tests/jobs/packing.sh \
	tests/jobs/philly.sh tests/jobs/plugins.sh tests/jobs/recorded.sh tests/jobs/sharing_laws.sh tests/jobs/theory.sh tests/jobs/warmup.sh
libtests_a_SOURCES += tests/jobs/replay.c tests/jobs/replay.h tests/jobs/bare_policy.h tests/jobs/flow_run.h tests/jobs/script_run.h

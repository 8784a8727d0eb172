# make check-results
UNIT_TESTS += tests/results/unit_batches tests/results/unit_compare tests/results/unit_diff tests/results/unit_estimate tests/results/unit_failed tests/results/unit_merge tests/results/unit_migrate tests/results/unit_overrides tests/results/unit_pack tests/results/unit_parts tests/results/unit_report tests/results/unit_report_text tests/results/unit_serve_results tests/results/unit_spot_results \
	tests/results/unit_stats tests/results/unit_step_results tests/results/unit_store tests/results/unit_store_faults \
	tests/results/unit_timeline tests/results/unit_warmup
SCRIPT_TESTS += tests/results/parts_cases.sh
libtests_a_SOURCES += tests/results/faultvfs.c tests/results/faultvfs.h tests/results/sample_run.c \
	tests/results/sample_run.h

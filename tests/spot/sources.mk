# make check-spot
UNIT_TESTS += tests/spot/spot_artifact tests/spot/spot_bamboo tests/spot/spot_bamboo_bulk tests/spot/spot_bamboo_published tests/spot/spot_daly \
	tests/spot/spot_late tests/spot/spot_late_published tests/spot/spot_parcae tests/spot/spot_parcae_run \
	tests/spot/unit_derive tests/spot/unit_derive_jobs tests/spot/unit_late_plan tests/spot/unit_parcae_cost tests/spot/unit_spot tests/spot/unit_spot_asks tests/spot/unit_spot_bounds tests/spot/unit_spot_ckpt \
	tests/spot/unit_spot_edges tests/spot/unit_spot_explain tests/spot/unit_spot_laws tests/spot/unit_spot_morph tests/spot/unit_spot_on_demand tests/spot/unit_spot_parts tests/spot/unit_spot_parcae tests/spot/unit_spot_queries tests/spot/unit_spot_rendezvous tests/spot/unit_spot_rows tests/spot/unit_spot_templates tests/spot/unit_spot_waits tests/spot/unit_spot_zones
SCRIPT_TESTS += tests/spot/spot_cases.sh tests/spot/plugins_spot.sh tests/spot/spot_cli.sh tests/spot/spot_effects.sh tests/spot/spot_matrix.sh tests/spot/spot_remarks.sh
libtests_a_SOURCES += tests/spot/late_run.c tests/spot/late_run.h tests/spot/spot_runs.c tests/spot/spot_runs.h \
	tests/spot/spot_script.h tests/spot/spot_trial.c tests/spot/spot_trial.h

# make check-plan
UNIT_TESTS += tests/plan/unit_plan_devices tests/plan/unit_plan_distance tests/plan/unit_plan_embeddings tests/plan/unit_plan_form tests/plan/unit_plan_hand tests/plan/unit_plan_search
SCRIPT_TESTS += tests/plan/plan_remarks.sh tests/plan/cli_plan.sh tests/plan/embeddings.sh tests/plan/golden_plans.sh tests/plan/mixed_cluster.sh tests/plan/pipedream_ratio.sh tests/plan/vtrain_grid.sh tests/plan/whale.sh
libtests_a_SOURCES += tests/plan/chains.h tests/plan/search_run.h

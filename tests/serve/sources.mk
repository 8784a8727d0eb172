# make check-serve
UNIT_TESTS += tests/serve/serve_theory tests/serve/unit_academus tests/serve/unit_edge tests/serve/unit_rate_edges tests/serve/unit_fleet tests/serve/unit_fleet_llm \
	tests/serve/unit_irina tests/serve/unit_llm tests/serve/unit_llm_acts tests/serve/unit_llm_naive tests/serve/unit_llm_policies \
	tests/serve/unit_llm_prefix tests/serve/unit_mdp_choose tests/serve/unit_routers tests/serve/unit_serve tests/serve/unit_serve_batching tests/serve/unit_serve_explain tests/serve/unit_serve_metrics tests/serve/unit_serve_options tests/serve/unit_serve_parts tests/serve/unit_serve_queries \
	tests/serve/unit_serve_random tests/serve/unit_serve_wrong
SCRIPT_TESTS += tests/serve/explain_rerun.sh tests/serve/plugins_serve.sh tests/serve/serve_cli.sh tests/serve/serve_deploy.sh tests/serve/serve_engines.sh tests/serve/serve_golden.sh tests/serve/serve_inputs.sh \
	tests/serve/serve_limits.sh tests/serve/serve_matrix.sh tests/serve/serve_mdp.sh tests/serve/serve_networks.sh tests/serve/serve_nodes.sh tests/serve/serve_published.sh tests/serve/serve_quality.sh tests/serve/serve_remarks.sh tests/serve/serve_rate.sh tests/serve/serve_rate_hand.sh tests/serve/serve_replicas.sh tests/serve/serve_routers.sh tests/serve/serve_rows.sh tests/serve/serve_split.sh tests/serve/serve_tables.sh
libtests_a_SOURCES += tests/serve/fleet_run.c tests/serve/fleet_run.h tests/serve/llm_run.c tests/serve/llm_run.h \
	tests/serve/serve_replay.c tests/serve/serve_replay.h tests/serve/serve_script.c tests/serve/serve_script.h
# pipelines, prefill and decode apart
UNIT_TESTS += tests/serve/unit_can_hold tests/serve/unit_disaggregation tests/serve/unit_experiments tests/serve/unit_llm_stages tests/serve/unit_roles tests/serve/unit_speculation tests/serve/unit_stage_again tests/serve/unit_tiers
SCRIPT_TESTS += tests/serve/serve_chats.sh tests/serve/serve_disaggregation.sh tests/serve/serve_stages.sh

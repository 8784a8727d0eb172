# make check-step
UNIT_TESTS += tests/step/unit_replay tests/step/graph_mutation tests/step/nccl_rows tests/step/step_matrix tests/step/unit_ako tests/step/unit_compress \
	tests/step/unit_data_parallel tests/step/unit_delay tests/step/unit_dp_updates tests/step/unit_ds_sync tests/step/unit_functions tests/step/unit_graph tests/step/unit_graph_fields tests/step/unit_multi_ring \
	tests/step/path_matrix tests/step/unit_path \
	tests/step/unit_pipeline tests/step/unit_react tests/step/unit_stanza tests/step/unit_step tests/step/unit_step_closed \
	tests/step/unit_step_calls tests/step/unit_step_edges tests/step/unit_step_facts tests/step/unit_step_once \
	tests/step/unit_step_random tests/step/unit_step_report tests/step/unit_step_together tests/step/unit_step_wire \
	tests/step/unit_train tests/step/unit_train_policies tests/step/unit_two_nodes tests/step/unit_zero_bubble tests/step/unit_context_parallel tests/step/unit_fsdp tests/step/unit_jitter tests/step/unit_checkpoint
UNIT_TESTS += tests/step/unit_exchange tests/step/unit_expert_parallel
SCRIPT_TESTS += tests/step/checkpoint.sh tests/step/chakra_cli.sh tests/step/chakra_export.sh tests/step/step_remarks.sh tests/step/big_step.sh tests/step/cli_step.sh tests/step/crossbow.sh tests/step/dorylus.sh tests/step/graph_cli.sh tests/step/step_explain.sh tests/step/plugins_step.sh \
	tests/step/step_hardware.sh tests/step/vtrain_rows.sh tests/step/zero_bubble.sh
SCRIPT_TESTS += tests/step/big_experts.sh tests/step/experts_cli.sh
libtests_a_SOURCES += tests/step/step_fixture.c tests/step/step_fixture.h tests/step/call_policy.h tests/step/one_collective.h

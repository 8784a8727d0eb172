# make check-hwmodel
UNIT_TESTS += tests/hwmodel/elastic_mutation tests/hwmodel/served_mutation tests/hwmodel/unit_checks tests/hwmodel/unit_cost \
	tests/hwmodel/unit_cost_profile tests/hwmodel/unit_device_fits tests/hwmodel/unit_dnn tests/hwmodel/unit_dnn_tables \
	tests/hwmodel/unit_elastic_job tests/hwmodel/unit_engine_costs tests/hwmodel/unit_goodput tests/hwmodel/unit_graph_shape tests/hwmodel/unit_llm_step tests/hwmodel/unit_model_rates tests/hwmodel/unit_ops tests/hwmodel/unit_profile \
	tests/hwmodel/unit_served tests/hwmodel/unit_served_layers tests/hwmodel/unit_served_moe tests/hwmodel/unit_steptimes tests/hwmodel/unit_throughput \
	tests/hwmodel/unit_vtrain tests/hwmodel/whole_networks
UNIT_TESTS += tests/hwmodel/unit_experts tests/hwmodel/unit_routing
SCRIPT_TESTS += tests/hwmodel/cli_device.sh tests/hwmodel/cli_profile.sh tests/hwmodel/model_cli.sh
libtests_a_SOURCES += tests/hwmodel/elastic_find.h tests/hwmodel/llm_step.c tests/hwmodel/llm_step.h

# sources of tests
EXTRA_DIST += tests/tap.sh
noinst_HEADERS = tests/tap.h
check_PROGRAMS += tests/unit_base
TESTS += tests/unit_base
tests_unit_base_SOURCES = tests/unit_base.c

check_PROGRAMS += tests/unit_engine
TESTS += tests/unit_engine
tests_unit_engine_SOURCES = tests/unit_engine.c
# The test counts what the engine allocates.
tests_unit_engine_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mem_alloc,--wrap=mem_zalloc,--wrap=mem_realloc
check_PROGRAMS += tests/unit_generations
TESTS += tests/unit_generations
tests_unit_generations_SOURCES = tests/unit_generations.c
check_PROGRAMS += tests/unit_rng
TESTS += tests/unit_rng
tests_unit_rng_SOURCES = tests/unit_rng.c
# results
noinst_HEADERS += tests/sample_run.h
check_PROGRAMS += tests/unit_store
TESTS += tests/unit_store
tests_unit_store_SOURCES = tests/unit_store.c tests/sample_run.c
# the house: floor plan, habits, installation
TESTS += tests/floors.sh tests/style.sh tests/install.sh
EXTRA_DIST += tests/floors.sh tests/style.sh tests/install.sh tests/summary.sh tests/chroot.sh
check_PROGRAMS += tests/unit_report
TESTS += tests/unit_report
tests_unit_report_SOURCES = tests/unit_report.c tests/sample_run.c
check_PROGRAMS += tests/unit_stats
TESTS += tests/unit_stats
tests_unit_stats_SOURCES = tests/unit_stats.c
noinst_HEADERS += tests/faultvfs.h
check_PROGRAMS += tests/unit_store_faults
TESTS += tests/unit_store_faults
tests_unit_store_faults_SOURCES = tests/unit_store_faults.c tests/faultvfs.c tests/sample_run.c
# traces
check_PROGRAMS += tests/unit_trace tests/trace_mutation
TESTS += tests/unit_trace tests/trace_mutation tests/trace_oracle.sh tests/trace_cli.sh tests/trace_synth.sh
tests_unit_trace_SOURCES = tests/unit_trace.c
tests_trace_mutation_SOURCES = tests/trace_mutation.c
check_PROGRAMS += tests/unit_requests tests/unit_request_models
TESTS += tests/unit_requests tests/unit_request_models tests/trace_requests.sh
tests_unit_requests_SOURCES = tests/unit_requests.c
tests_unit_request_models_SOURCES = tests/unit_request_models.c
EXTRA_DIST += tests/data/traces tests/trace_oracle.sh tests/trace_requests.sh tests/trace_cli.sh tests/trace_synth.sh
check_PROGRAMS += tests/unit_queues
TESTS += tests/unit_queues
tests_unit_queues_SOURCES = tests/unit_queues.c tests/bench/load.c
# the jobs world: against other simulators, theory and a naive model of itself
TESTS += tests/oracle_tiresias.sh tests/oracle_helios.sh
EXTRA_DIST += tests/oracle_tiresias.sh tests/oracle_helios.sh
check_PROGRAMS += tests/peak_rss
tests_peak_rss_SOURCES = tests/peak_rss.c
TESTS += tests/theory.sh
EXTRA_DIST += tests/theory.sh
check_PROGRAMS += tests/make_store
tests_make_store_SOURCES = tests/make_store.c tests/sample_run.c
dist_check_SCRIPTS += tests/cli_db.sh
TESTS += tests/cli_db.sh
# backfilling, Gittins, elastic
noinst_HEADERS += tests/replay.h
check_PROGRAMS += tests/unit_backfill
TESTS += tests/unit_backfill
tests_unit_backfill_SOURCES = tests/unit_backfill.c tests/replay.c
tests_unit_backfill_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_jobs_model
TESTS += tests/unit_jobs_model
tests_unit_jobs_model_SOURCES = tests/unit_jobs_model.c
tests_unit_jobs_model_LDADD = libpolicies.a $(LDADD)
# queueing theory
check_PROGRAMS += tests/unit_theory
TESTS += tests/unit_theory
tests_unit_theory_SOURCES = tests/unit_theory.c
tests_unit_theory_LDADD = libpolicies.a $(LDADD)
# gavel and drf
check_PROGRAMS += tests/unit_gavel_lp
TESTS += tests/unit_gavel_lp
tests_unit_gavel_lp_SOURCES = tests/unit_gavel_lp.c
tests_unit_gavel_lp_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_drf
TESTS += tests/unit_drf
tests_unit_drf_SOURCES = tests/unit_drf.c tests/replay.c
tests_unit_drf_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_gavel
TESTS += tests/unit_gavel
tests_unit_gavel_SOURCES = tests/unit_gavel.c tests/replay.c
tests_unit_gavel_LDADD = libpolicies.a $(LDADD)
EXTRA_DIST += tests/oracle_gavel.sh
TESTS += tests/oracle_gavel.sh
TESTS += tests/plugins.sh
EXTRA_DIST += tests/plugins.sh tests/plugins/misbehave.c tests/plugins/damaged.c
TESTS += tests/philly.sh
EXTRA_DIST += tests/philly.sh
TESTS += tests/cli_jobs.sh
EXTRA_DIST += tests/cli_jobs.sh
check_PROGRAMS += tests/unit_timeline tests/unit_cluster
TESTS += tests/unit_timeline tests/unit_cluster
tests_unit_timeline_SOURCES = tests/unit_timeline.c
tests_unit_cluster_SOURCES = tests/unit_cluster.c
check_PROGRAMS += tests/unit_pool tests/unit_queue
TESTS += tests/unit_pool tests/unit_queue
tests_unit_pool_SOURCES = tests/unit_pool.c
tests_unit_queue_SOURCES = tests/unit_queue.c
check_PROGRAMS += tests/unit_gittins tests/unit_elastic
TESTS += tests/unit_gittins tests/unit_elastic
tests_unit_gittins_SOURCES = tests/unit_gittins.c tests/replay.c
tests_unit_gittins_LDADD = libpolicies.a $(LDADD)
tests_unit_elastic_SOURCES = tests/unit_elastic.c tests/replay.c
tests_unit_elastic_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_walk
TESTS += tests/unit_walk
tests_unit_walk_SOURCES = tests/unit_walk.c tests/replay.c
TESTS += tests/jobs_life.sh
EXTRA_DIST += tests/jobs_life.sh tests/plugins/elastic.c
check_PROGRAMS += tests/unit_scenario
TESTS += tests/unit_scenario
tests_unit_scenario_SOURCES = tests/unit_scenario.c sim/cli/scenario.c sim/cli/scenario_jobs.c sim/cli/scenario_step.c sim/cli/setting.c \
	sim/cli/registry.c sim/cli/inputs.c sim/cli/scenario_serve.c sim/cli/scenario_deploy.c sim/cli/inputs_capacity.c
tests_unit_scenario_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_failures
TESTS += tests/unit_failures
tests_unit_failures_SOURCES = tests/unit_failures.c
# models of networks
check_PROGRAMS += tests/unit_dnn tests/unit_dnn_tables
TESTS += tests/unit_dnn tests/unit_dnn_tables tests/model_cli.sh
tests_unit_dnn_SOURCES = tests/unit_dnn.c
tests_unit_dnn_tables_SOURCES = tests/unit_dnn_tables.c
EXTRA_DIST += tests/model_cli.sh
# the learning world
noinst_HEADERS += tests/learn_drive.h
check_PROGRAMS += tests/unit_learn
TESTS += tests/unit_learn
tests_unit_learn_SOURCES = tests/unit_learn.c
check_PROGRAMS += tests/unit_learn_sgd
TESTS += tests/unit_learn_sgd
tests_unit_learn_sgd_SOURCES = tests/unit_learn_sgd.c
# flows
noinst_HEADERS += tests/flow_model.h
check_PROGRAMS += tests/unit_flow
TESTS += tests/unit_flow
tests_unit_flow_SOURCES = tests/unit_flow.c tests/flow_model.c
# The test counts what the solver allocates.
tests_unit_flow_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mem_alloc,--wrap=mem_zalloc,--wrap=mem_realloc
TESTS += tests/oracle_simgrid.sh
EXTRA_DIST += tests/oracle_simgrid.sh
# scenario folders
TESTS += tests/cli_figures.sh
EXTRA_DIST += tests/cli_figures.sh tests/data/figures-tiny
# the step world
noinst_HEADERS += tests/step_fixture.h
check_PROGRAMS += tests/unit_step
TESTS += tests/unit_step
tests_unit_step_SOURCES = tests/unit_step.c tests/step_fixture.c
check_PROGRAMS += tests/unit_train
TESTS += tests/unit_train
tests_unit_train_SOURCES = tests/unit_train.c tests/step_fixture.c
# pipelines and tensor parallelism
check_PROGRAMS += tests/unit_pipeline
TESTS += tests/unit_pipeline
tests_unit_pipeline_SOURCES = tests/unit_pipeline.c tests/step_fixture.c
tests_unit_pipeline_LDADD = libpolicies.a $(LDADD)
# devices and costs
TESTS += tests/cli_device.sh
EXTRA_DIST += tests/cli_device.sh
check_PROGRAMS += tests/unit_cost tests/unit_device_fits tests/unit_llm_step tests/unit_vtrain tests/unit_steptimes
TESTS += tests/unit_cost tests/unit_device_fits tests/unit_llm_step tests/unit_vtrain tests/unit_steptimes
tests_unit_device_fits_SOURCES = tests/unit_device_fits.c
tests_unit_cost_SOURCES = tests/unit_cost.c
tests_unit_steptimes_SOURCES = tests/unit_steptimes.c
tests_unit_vtrain_SOURCES = tests/unit_vtrain.c
tests_unit_llm_step_SOURCES = tests/unit_llm_step.c
# collectives, topologies and quotients, against progressive filling from scratch
noinst_HEADERS += tests/net_fill.h
check_PROGRAMS += tests/unit_collective
TESTS += tests/unit_collective
tests_unit_collective_SOURCES = tests/unit_collective.c tests/net_fill.c
check_PROGRAMS += tests/unit_topology
TESTS += tests/unit_topology
tests_unit_topology_SOURCES = tests/unit_topology.c
check_PROGRAMS += tests/unit_quotient
TESTS += tests/unit_quotient
tests_unit_quotient_SOURCES = tests/unit_quotient.c tests/net_fill.c
check_PROGRAMS += tests/oracle_simai
TESTS += tests/oracle_simai
tests_oracle_simai_SOURCES = tests/oracle_simai.c
# data parallelism, gradient compression
check_PROGRAMS += tests/unit_data_parallel
TESTS += tests/unit_data_parallel
tests_unit_data_parallel_SOURCES = tests/unit_data_parallel.c tests/step_fixture.c
tests_unit_data_parallel_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_compress
TESTS += tests/unit_compress
tests_unit_compress_SOURCES = tests/unit_compress.c tests/step_fixture.c
tests_unit_compress_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/oracle_calculon
TESTS += tests/oracle_calculon
tests_oracle_calculon_SOURCES = tests/oracle_calculon.c tests/step_fixture.c
tests_oracle_calculon_LDADD = libpolicies.a $(LDADD)
TESTS += tests/tf2017.sh
EXTRA_DIST += tests/tf2017.sh
check_PROGRAMS += tests/unit_train_policies
TESTS += tests/unit_train_policies
tests_unit_train_policies_SOURCES = tests/unit_train_policies.c tests/step_fixture.c
tests_unit_train_policies_LDADD = libpolicies.a $(LDADD)
# Stanza
check_PROGRAMS += tests/unit_stanza
TESTS += tests/unit_stanza
tests_unit_stanza_SOURCES = tests/unit_stanza.c tests/step_fixture.c
tests_unit_stanza_LDADD = libpolicies.a $(LDADD)
# DS-Sync
check_PROGRAMS += tests/unit_ds_sync
TESTS += tests/unit_ds_sync
tests_unit_ds_sync_SOURCES = tests/unit_ds_sync.c tests/step_fixture.c
tests_unit_ds_sync_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_step_closed
TESTS += tests/unit_step_closed
tests_unit_step_closed_SOURCES = tests/unit_step_closed.c tests/step_fixture.c
tests_unit_step_closed_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/netflows_mutation
TESTS += tests/netflows_mutation
tests_netflows_mutation_SOURCES = tests/netflows_mutation.c
TESTS += tests/cli_net.sh
EXTRA_DIST += tests/cli_net.sh
check_PROGRAMS += tests/unit_dp_updates
TESTS += tests/unit_dp_updates
tests_unit_dp_updates_SOURCES = tests/unit_dp_updates.c tests/step_fixture.c
tests_unit_dp_updates_LDADD = libpolicies.a $(LDADD)
TESTS += tests/big_step.sh
EXTRA_DIST += tests/big_step.sh
TESTS += tests/learn_cli.sh
EXTRA_DIST += tests/learn_cli.sh
check_PROGRAMS += tests/unit_learn_walk
TESTS += tests/unit_learn_walk
tests_unit_learn_walk_SOURCES = tests/unit_learn_walk.c
# profiles of devices: points, fits, files
check_PROGRAMS += tests/unit_profile tests/unit_points tests/unit_fit tests/unit_fit_published
TESTS += tests/unit_profile tests/unit_points tests/unit_fit tests/unit_fit_published tests/cli_calib.sh
EXTRA_DIST += tests/cli_calib.sh
tests_unit_profile_SOURCES = tests/unit_profile.c
tests_unit_points_SOURCES = tests/unit_points.c
tests_unit_fit_SOURCES = tests/unit_fit.c
tests_unit_fit_published_SOURCES = tests/unit_fit_published.c
# the step world at the command line
TESTS += tests/cli_step.sh
EXTRA_DIST += tests/cli_step.sh
check_PROGRAMS += tests/unit_step_results tests/unit_expr
TESTS += tests/unit_step_results tests/unit_expr
tests_unit_step_results_SOURCES = tests/unit_step_results.c tests/sample_run.c
tests_unit_expr_SOURCES = tests/unit_expr.c
# jobs that train
check_PROGRAMS += tests/unit_steprate
TESTS += tests/unit_steprate tests/jobs_step.sh
tests_unit_steprate_SOURCES = tests/unit_steprate.c tests/step_fixture.c
tests_unit_steprate_LDADD = libpolicies.a $(LDADD)
EXTRA_DIST += tests/jobs_step.sh
# Ako
check_PROGRAMS += tests/unit_ako
TESTS += tests/unit_ako
tests_unit_ako_SOURCES = tests/unit_ako.c tests/step_fixture.c
tests_unit_ako_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/learn_policies
TESTS += tests/learn_policies
tests_learn_policies_SOURCES = tests/learn_policies.c tests/step_fixture.c
tests_learn_policies_LDADD = libpolicies.a $(LDADD)
TESTS += tests/figures_ako.sh
EXTRA_DIST += tests/figures_ako.sh
check_PROGRAMS += tests/unit_figures
TESTS += tests/unit_figures
tests_unit_figures_SOURCES = tests/unit_figures.c sim/cli/cost_samples.c sim/cli/figures_book.c sim/cli/figures_draw.c sim/cli/figures_expr.c \
	sim/cli/figures_run.c sim/cli/figures_table.c sim/cli/figures_cdf.c sim/cli/figures_timeline.c sim/cli/figures_traces.c sim/cli/progress.c sim/cli/registry.c sim/cli/scenario.c \
	sim/cli/inputs.c sim/cli/replications.c sim/cli/scenario_deploy.c sim/cli/scenario_jobs.c sim/cli/scenario_serve.c \
	sim/cli/scenario_step.c sim/cli/setting.c sim/cli/study.c sim/cli/study_jobs.c sim/cli/study_serve.c sim/cli/study_mixed.c sim/cli/scenario_mixed.c sim/cli/study_step.c \
	sim/cli/study_spot.c sim/cli/scenario_spot.c sim/cli/elastic_cache.c sim/cli/inputs_capacity.c
tests_unit_figures_LDADD = libpolicies.a $(LDADD)
# graphs and schedules as data
check_PROGRAMS += tests/unit_graph
TESTS += tests/unit_graph
tests_unit_graph_SOURCES = tests/unit_graph.c tests/step_fixture.c
tests_unit_graph_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/graph_mutation
TESTS += tests/graph_mutation
tests_graph_mutation_SOURCES = tests/graph_mutation.c tests/step_fixture.c
tests_graph_mutation_LDADD = libpolicies.a $(LDADD)
TESTS += tests/graph_cli.sh
EXTRA_DIST += tests/graph_cli.sh tests/data/graph-ring.json tests/data/graph-relay.json tests/data/graph-partitions.json
# scenario folders, at small sizes
TESTS += tests/figures_stanza.sh tests/figures_ds_sync.sh
EXTRA_DIST += tests/figures.sh tests/figures_stanza.sh tests/figures_ds_sync.sh
# hostile step plugins
TESTS += tests/plugins_step.sh
EXTRA_DIST += tests/plugins_step.sh tests/plugins/step_hostile.c
# every step policy with every choice of its parameters
check_PROGRAMS += tests/step_matrix
TESTS += tests/step_matrix
tests_step_matrix_SOURCES = tests/step_matrix.c tests/step_fixture.c
tests_step_matrix_LDADD = libpolicies.a $(LDADD)
# random graphs in two ways
check_PROGRAMS += tests/unit_step_random
TESTS += tests/unit_step_random
tests_unit_step_random_SOURCES = tests/unit_step_random.c tests/step_fixture.c
# the step world where it is easily wrong
check_PROGRAMS += tests/unit_step_edges
TESTS += tests/unit_step_edges
tests_unit_step_edges_SOURCES = tests/unit_step_edges.c tests/step_fixture.c
tests_unit_step_edges_LDADD = libpolicies.a $(LDADD)
# whole networks by the laws of profiles
check_PROGRAMS += tests/whole_networks
TESTS += tests/whole_networks
tests_whole_networks_SOURCES = tests/whole_networks.c
# measuring devices
check_PROGRAMS += tests/unit_sample tests/unit_cpu_kernels
TESTS += tests/unit_sample tests/unit_cpu_kernels
tests_unit_sample_SOURCES = tests/unit_sample.c
tests_unit_cpu_kernels_SOURCES = tests/unit_cpu_kernels.c
TESTS += tests/calib_run.sh tests/cuda_host.sh
EXTRA_DIST += tests/calib_run.sh tests/cuda_host.sh tests/cuda_host.h tests/cuda_host.cpp
check_PROGRAMS += tests/unit_cost_profile
TESTS += tests/unit_cost_profile
tests_unit_cost_profile_SOURCES = tests/unit_cost_profile.c
TESTS += tests/cli_profile.sh
EXTRA_DIST += tests/cli_profile.sh
# This machine, calibrated and then put to the test; not part of check, as others may be running here.
EXTRA_PROGRAMS += tests/machine
tests_machine_SOURCES = tests/machine.c
MACHINE_THREADS = 1
.PHONY: check-machine
check-machine: orrery$(EXEEXT) tests/machine$(EXEEXT)
	./orrery$(EXEEXT) calib run --backend cpu --threads $(MACHINE_THREADS) --budget 45 --only launch,gemm,memory,update -q -o machine.csv
	./orrery$(EXEEXT) calib fit machine.csv -o machine.json
	tests/machine$(EXEEXT) ./machine.json $(MACHINE_THREADS)
CLEANFILES += machine.csv machine.device.json machine.json tests/machine$(EXEEXT)
# models as served
check_PROGRAMS += tests/unit_served tests/unit_served_layers tests/served_mutation
TESTS += tests/unit_served tests/unit_served_layers tests/served_mutation
tests_unit_served_SOURCES = tests/unit_served.c
tests_unit_served_layers_SOURCES = tests/unit_served_layers.c
tests_served_mutation_SOURCES = tests/served_mutation.c
# the serving world at the command line
# the spot world at the command line
dist_check_SCRIPTS += tests/spot_cli.sh tests/spot_matrix.sh
TESTS += tests/spot_cli.sh tests/spot_matrix.sh
check_PROGRAMS += tests/unit_spot_results
TESTS += tests/unit_spot_results
tests_unit_spot_results_SOURCES = tests/unit_spot_results.c tests/sample_run.c
check_PROGRAMS += tests/unit_serve_results
TESTS += tests/unit_serve_results
tests_unit_serve_results_SOURCES = tests/unit_serve_results.c tests/sample_run.c
# language models, against Vidur
noinst_HEADERS += tests/llm_run.h
check_PROGRAMS += tests/oracle_vidur
TESTS += tests/oracle_vidur
tests_oracle_vidur_SOURCES = tests/oracle_vidur.c tests/llm_run.c
tests_oracle_vidur_LDADD = libpolicies.a $(LDADD)
# models with a latency table: Irina, and what it is compared with
noinst_HEADERS += tests/serve_replay.h
check_PROGRAMS += tests/unit_irina
TESTS += tests/unit_irina
tests_unit_irina_SOURCES = tests/unit_irina.c tests/serve_replay.c
tests_unit_irina_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_find_rate
TESTS += tests/unit_find_rate
tests_unit_find_rate_SOURCES = tests/unit_find_rate.c sim/cli/cost_samples.c sim/cli/find_rate.c sim/cli/inputs.c sim/cli/progress.c \
	sim/cli/registry.c sim/cli/replications.c sim/cli/scenario.c sim/cli/scenario_deploy.c sim/cli/scenario_jobs.c \
	sim/cli/scenario_serve.c sim/cli/scenario_step.c sim/cli/setting.c sim/cli/study.c sim/cli/study_jobs.c sim/cli/study_serve.c sim/cli/study_mixed.c sim/cli/scenario_mixed.c \
	sim/cli/study_step.c sim/cli/study_spot.c sim/cli/scenario_spot.c sim/cli/elastic_cache.c sim/cli/inputs_capacity.c
tests_unit_find_rate_LDADD = libpolicies.a $(LDADD)
# serving: against splitwise-sim
check_PROGRAMS += tests/oracle_splitwise
TESTS += tests/oracle_splitwise
tests_oracle_splitwise_SOURCES = tests/oracle_splitwise.c
tests_oracle_splitwise_LDADD = libpolicies.a $(LDADD)
TESTS += tests/serve_cli.sh
EXTRA_DIST += tests/serve_cli.sh
# the core of the serving world
noinst_HEADERS += tests/serve_script.h
check_PROGRAMS += tests/unit_serve
TESTS += tests/unit_serve
tests_unit_serve_SOURCES = tests/unit_serve.c tests/serve_script.c tests/serve_replay.c
tests_unit_serve_LDADD = libpolicies.a $(LDADD)
# replicas as a fleet, what the serving world measures and proves
noinst_HEADERS += tests/fleet_run.h
check_PROGRAMS += tests/unit_fleet
TESTS += tests/unit_fleet
tests_unit_fleet_SOURCES = tests/unit_fleet.c tests/fleet_run.c
check_PROGRAMS += tests/unit_serve_metrics
TESTS += tests/unit_serve_metrics
tests_unit_serve_metrics_SOURCES = tests/unit_serve_metrics.c tests/fleet_run.c
tests_unit_serve_metrics_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_fleet_llm
TESTS += tests/unit_fleet_llm
tests_unit_fleet_llm_SOURCES = tests/unit_fleet_llm.c tests/fleet_run.c
tests_unit_fleet_llm_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_serve_wrong
TESTS += tests/unit_serve_wrong
tests_unit_serve_wrong_SOURCES = tests/unit_serve_wrong.c tests/serve_script.c tests/serve_replay.c
tests_unit_serve_wrong_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_serve_random
TESTS += tests/unit_serve_random
tests_unit_serve_random_SOURCES = tests/unit_serve_random.c tests/serve_script.c tests/serve_replay.c
tests_unit_serve_random_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_academus
TESTS += tests/unit_academus
tests_unit_academus_SOURCES = tests/unit_academus.c tests/serve_replay.c
tests_unit_academus_LDADD = libpolicies.a $(LDADD)
TESTS += tests/serve_matrix.sh
EXTRA_DIST += tests/serve_matrix.sh
check_PROGRAMS += tests/serve_theory
TESTS += tests/serve_theory
tests_serve_theory_SOURCES = tests/serve_theory.c
tests_serve_theory_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_serve_batching
TESTS += tests/unit_serve_batching
tests_unit_serve_batching_SOURCES = tests/unit_serve_batching.c tests/serve_replay.c
tests_unit_serve_batching_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_llm_policies
TESTS += tests/unit_llm_policies
tests_unit_llm_policies_SOURCES = tests/unit_llm_policies.c tests/serve_replay.c
tests_unit_llm_policies_LDADD = libpolicies.a $(LDADD)
TESTS += tests/figures_irina.sh
EXTRA_DIST += tests/figures_irina.sh
TESTS += tests/plugins_serve.sh tests/plugins_spot.sh
EXTRA_DIST += tests/plugins_serve.sh tests/plugins/serve_hostile.c tests/plugins_spot.sh tests/plugins/spot_hostile.c
check_PROGRAMS += tests/unit_llm
TESTS += tests/unit_llm
tests_unit_llm_SOURCES = tests/unit_llm.c tests/llm_run.c
check_PROGRAMS += tests/unit_llm_acts
TESTS += tests/unit_llm_acts
tests_unit_llm_acts_SOURCES = tests/unit_llm_acts.c tests/llm_run.c
tests_unit_llm_acts_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_llm_prefix
TESTS += tests/unit_llm_prefix
tests_unit_llm_prefix_SOURCES = tests/unit_llm_prefix.c tests/llm_run.c
# instances that come and go
check_PROGRAMS += tests/unit_avail tests/unit_avail_models
TESTS += tests/unit_avail tests/unit_avail_models tests/trace_avail.sh
tests_unit_avail_SOURCES = tests/unit_avail.c
tests_unit_avail_models_SOURCES = tests/unit_avail_models.c
EXTRA_DIST += tests/trace_avail.sh
TESTS += tests/mixed.sh
EXTRA_DIST += tests/mixed.sh
check_PROGRAMS += tests/unit_mixed
TESTS += tests/unit_mixed
tests_unit_mixed_SOURCES = tests/unit_mixed.c
tests_unit_mixed_LDADD = libpolicies.a $(LDADD)
TESTS += tests/figures_one_clock.sh
EXTRA_DIST += tests/figures_one_clock.sh
# serving: answers by hand, limits, pools, rates
TESTS += tests/serve_golden.sh tests/serve_limits.sh tests/serve_split.sh tests/serve_rate.sh tests/figures_llm_serving.sh
EXTRA_DIST += tests/serve_golden.sh tests/serve_limits.sh tests/serve_split.sh tests/serve_rate.sh tests/figures_llm_serving.sh

# the spot world
check_PROGRAMS += tests/unit_spot
TESTS += tests/unit_spot
tests_unit_spot_SOURCES = tests/unit_spot.c
check_PROGRAMS += tests/unit_spot_edges
TESTS += tests/unit_spot_edges
tests_unit_spot_edges_SOURCES = tests/unit_spot_edges.c tests/spot_runs.c tests/spot_runs.h
# spot: one job with a deadline
check_PROGRAMS += tests/unit_late_plan
TESTS += tests/unit_late_plan
tests_unit_late_plan_SOURCES = tests/unit_late_plan.c
tests_unit_late_plan_LDADD = libpolicies.a $(LDADD)
# the spot world: checkpoints and data parallelism
check_PROGRAMS += tests/spot_daly
TESTS += tests/spot_daly
tests_spot_daly_SOURCES = tests/spot_daly.c tests/spot_trial.c tests/spot_trial.h
tests_spot_daly_LDADD = libpolicies.a $(LDADD)
# elastic jobs, and their steps from the step world
noinst_HEADERS += tests/mutate.h
check_PROGRAMS += tests/unit_elastic_job tests/elastic_mutation tests/unit_derive
TESTS += tests/unit_elastic_job tests/elastic_mutation tests/unit_derive
tests_unit_elastic_job_SOURCES = tests/unit_elastic_job.c
tests_elastic_mutation_SOURCES = tests/elastic_mutation.c
tests_unit_derive_SOURCES = tests/unit_derive.c tests/step_fixture.c
tests_unit_derive_LDADD = libpolicies.a $(LDADD)
# the spot world: Bamboo
check_PROGRAMS += tests/spot_bamboo_published
TESTS += tests/spot_bamboo_published
tests_spot_bamboo_published_SOURCES = tests/spot_bamboo_published.c tests/spot_runs.c tests/spot_runs.h
tests_spot_bamboo_published_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/spot_bamboo
TESTS += tests/spot_bamboo
tests_spot_bamboo_SOURCES = tests/spot_bamboo.c tests/spot_runs.c tests/spot_runs.h
tests_spot_bamboo_LDADD = libpolicies.a $(LDADD)
# spot: Parcae
check_PROGRAMS += tests/unit_spot_parcae
TESTS += tests/unit_spot_parcae
tests_unit_spot_parcae_SOURCES = tests/unit_spot_parcae.c
tests_unit_spot_parcae_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/spot_parcae tests/spot_parcae_run
TESTS += tests/spot_parcae tests/spot_parcae_run
tests_spot_parcae_run_SOURCES = tests/spot_parcae_run.c
tests_spot_parcae_run_LDADD = libpolicies.a $(LDADD)
tests_spot_parcae_SOURCES = tests/spot_parcae.c
tests_spot_parcae_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_spot_ckpt
TESTS += tests/unit_spot_ckpt
tests_unit_spot_ckpt_SOURCES = tests/unit_spot_ckpt.c tests/spot_trial.c tests/spot_trial.h
tests_unit_spot_ckpt_LDADD = libpolicies.a $(LDADD)
# the spot world: Varuna and Oobleck
check_PROGRAMS += tests/spot_artifact
TESTS += tests/spot_artifact
tests_spot_artifact_SOURCES = tests/spot_artifact.c tests/spot_runs.c tests/spot_runs.h
tests_spot_artifact_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/unit_spot_morph
TESTS += tests/unit_spot_morph
tests_unit_spot_morph_SOURCES = tests/unit_spot_morph.c tests/spot_trial.c tests/spot_trial.h
tests_unit_spot_morph_LDADD = libpolicies.a $(LDADD)
noinst_HEADERS += tests/late_run.h
check_PROGRAMS += tests/spot_late
TESTS += tests/spot_late
tests_spot_late_SOURCES = tests/spot_late.c tests/late_run.c
tests_spot_late_LDADD = libpolicies.a $(LDADD)
check_PROGRAMS += tests/spot_late_published
TESTS += tests/spot_late_published
tests_spot_late_published_SOURCES = tests/spot_late_published.c tests/late_run.c
tests_spot_late_published_LDADD = libpolicies.a $(LDADD)
# jobs on nodes that are lent
check_PROGRAMS += tests/unit_capacity
TESTS += tests/unit_capacity tests/market.sh
tests_unit_capacity_SOURCES = tests/unit_capacity.c
EXTRA_DIST += tests/market.sh
check_PROGRAMS += tests/unit_market
TESTS += tests/unit_market
tests_unit_market_SOURCES = tests/unit_market.c
TESTS += tests/figures_bamboo.sh
EXTRA_DIST += tests/figures_bamboo.sh
# the spot field, at small sizes
TESTS += tests/figures_spot_field.sh
EXTRA_DIST += tests/figures_spot_field.sh

# One file per policy. They see the public headers alone: no other include path is given.
noinst_LIBRARIES += libpolicies.a
libpolicies_a_CPPFLAGS = -DORR_BUILTIN -I$(srcdir)/include
libpolicies_a_SOURCES = policies/policies.def policies/jobs/queue_order.h policies/jobs/preemptive.h policies/jobs/grow.h
libpolicies_a_SOURCES += policies/jobs/fifo.c policies/jobs/fjf.c policies/jobs/sjf.c policies/jobs/qssf.c
libpolicies_a_SOURCES += policies/jobs/smallest_gpu.c policies/jobs/srtf.c policies/jobs/srtf_gpu.c
libpolicies_a_SOURCES += policies/jobs/backfill.h policies/jobs/easy_backfill.c policies/jobs/profile.h policies/jobs/conservative_backfill.c
libpolicies_a_SOURCES += policies/jobs/las.c policies/jobs/las.h policies/jobs/las_gpu.c
libpolicies_a_SOURCES += policies/jobs/gavel.c policies/jobs/gavel.h policies/jobs/gavel_alloc.c
libpolicies_a_SOURCES += policies/jobs/gavel_select.c policies/jobs/gavel_published.c
libpolicies_a_SOURCES += policies/jobs/gavel_lp.c policies/jobs/gavel_lp.h policies/jobs/lexlp.c policies/jobs/lexlp.h
libpolicies_a_SOURCES += policies/jobs/drf.c
libpolicies_a_SOURCES += policies/jobs/gittins.c policies/jobs/gittins_index.h
libpolicies_a_SOURCES += policies/jobs/optimus.c
libpolicies_a_SOURCES += policies/jobs/spot_market.c
# step: data parallelism
libpolicies_a_SOURCES += policies/step/chunks.h policies/step/messages.h policies/step/replicas.h policies/step/servers.h
libpolicies_a_SOURCES += policies/step/allreduce.c policies/step/bytescheduler.c policies/step/parameter_server.c
libpolicies_a_SOURCES += policies/step/local_sgd.c policies/step/zero.c
libpolicies_a_SOURCES += policies/step/ako.c
# step: pipelines
libpolicies_a_SOURCES += policies/step/schedule.h policies/step/stages.h policies/step/stages.c policies/step/pipeline.h policies/step/pipeline.c
libpolicies_a_SOURCES += policies/step/gpipe.c policies/step/one_f_one_b.c policies/step/interleaved.c policies/step/dapple.c
libpolicies_a_SOURCES += policies/step/tensor_parallel.c policies/step/megatron.c
libpolicies_a_SOURCES += policies/step/bamboo.h policies/step/bamboo.c policies/step/bamboo_stages.c
libpolicies_a_SOURCES += policies/step/stanza.c
libpolicies_a_SOURCES += policies/step/ds_sync.c policies/step/partitions.h policies/step/partitions.c
# step: graphs and schedules as data
libpolicies_a_SOURCES += policies/step/document.h policies/step/document.c policies/step/graph_read.h policies/step/graph_read.c
libpolicies_a_SOURCES += policies/step/graph_work.c policies/step/graph_order.c policies/step/graph.c
# serve: models with a latency table
libpolicies_a_SOURCES += policies/serve/kinds.h policies/serve/queues.h policies/serve/tf_serving.c
libpolicies_a_SOURCES += policies/serve/irina.c policies/serve/irina_task.h policies/serve/irina_task.c
# serve
libpolicies_a_SOURCES += policies/serve/fifo.c
libpolicies_a_SOURCES += policies/serve/clipper.c policies/serve/clockwork.c
libpolicies_a_SOURCES += policies/serve/nexus.c policies/serve/nexus_plan.h policies/serve/nexus_plan.c
# serve: language models
libpolicies_a_SOURCES += policies/serve/evict.h policies/serve/vllm.c policies/serve/sarathi.c
# serve: language models; students; several models
libpolicies_a_SOURCES += policies/serve/splitwise.c policies/serve/orca.c policies/serve/fastertransformer.c policies/serve/mlfq.c
libpolicies_a_SOURCES += policies/serve/academus.c policies/serve/cascade.c
# spot: Parcae
libpolicies_a_SOURCES += policies/spot/parcae.c policies/spot/parcae_plan.h policies/spot/parcae_plan.c policies/spot/parcae_cost.h policies/spot/parcae_cost.c
libpolicies_a_SOURCES += policies/spot/parcae_odds.h policies/spot/parcae_odds.c policies/spot/parcae_predict.h policies/spot/parcae_predict.c
# spot: checkpoints and data parallelism
libpolicies_a_SOURCES += policies/spot/daly.h policies/spot/shapes.h policies/spot/checkpoint.c policies/spot/elastic_dp.c
# spot
libpolicies_a_SOURCES += policies/spot/rendezvous.h policies/spot/rendezvous.c
libpolicies_a_SOURCES += policies/spot/morph.h policies/spot/artifact.h policies/spot/artifact.c
libpolicies_a_SOURCES += policies/spot/varuna_artifact.h policies/spot/varuna_artifact.c policies/spot/varuna.c
libpolicies_a_SOURCES += policies/spot/templates.h policies/spot/templates.c policies/spot/parts.h policies/spot/parts.c policies/spot/oobleck.c
libpolicies_a_SOURCES += policies/spot/placement.h policies/spot/bamboo.h policies/spot/bamboo.c policies/spot/bamboo_rules.c policies/spot/on_demand.c
# spot: one job with a deadline
libpolicies_a_SOURCES += policies/spot/late.h policies/spot/late.c policies/spot/late_plan.h policies/spot/late_plan.c
libpolicies_a_SOURCES += policies/spot/greedy.c policies/spot/time_sliced.c policies/spot/uniform_progress.c policies/spot/rsf.c
libpolicies_a_SOURCES += policies/spot/late_course.h policies/spot/late_course.c policies/spot/omniscient.c policies/spot/partial_lookahead.c

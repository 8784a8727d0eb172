# policies of the step world
libpolicies_a_SOURCES += policies/step/policies.def
# data parallelism
libpolicies_a_SOURCES += policies/step/chunks.h policies/step/messages.h policies/step/replicas.h policies/step/servers.h
libpolicies_a_SOURCES += policies/step/allreduce.c policies/step/bytescheduler.c policies/step/parameter_server.c
libpolicies_a_SOURCES += policies/step/local_sgd.c policies/step/zero.c
libpolicies_a_SOURCES += policies/step/ako.c
# pipelines
libpolicies_a_SOURCES += policies/step/schedule.h policies/step/stages.h policies/step/stages.c policies/step/pipeline.h policies/step/pipeline.c
libpolicies_a_SOURCES += policies/step/gpipe.c policies/step/one_f_one_b.c policies/step/interleaved.c policies/step/dapple.c
libpolicies_a_SOURCES += policies/step/tensor_parallel.c policies/step/megatron.c
libpolicies_a_SOURCES += policies/step/bamboo.h policies/step/bamboo.c policies/step/bamboo_stages.c
libpolicies_a_SOURCES += policies/step/stanza.c
libpolicies_a_SOURCES += policies/step/ds_sync.c policies/step/partitions.h policies/step/partitions.c
# graphs and schedules as data
libpolicies_a_SOURCES += policies/step/document.h policies/step/document.c policies/step/graph_read.h policies/step/graph_read.c
libpolicies_a_SOURCES += policies/step/graph_work.c policies/step/graph_order.c policies/step/graph.c
# what `orrery policy new --kind step` writes
STEP_TEMPLATE = policies/step/template.c.in policies/step/template_test.sh.in
EXTRA_DIST += $(STEP_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/step/template_data.c
CLEANFILES += policies/step/template_data.c policies/step/template_data.c.tmp
policies/step/template_data.c: $(STEP_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/step && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	step_template $(STEP_TEMPLATE)) >$@.tmp && mv $@.tmp $@

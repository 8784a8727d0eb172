# policies of the step world
# Bottom first: a file calls only files before it (tests/house/order.sh).
libpolicies_a_SOURCES += policies/step/document.c policies/step/stages.c policies/step/experts.c policies/step/pipeline_experts.c policies/step/micro_batches.c policies/step/pipeline.c policies/step/zb_order.c policies/step/zero_bubble.c \
	policies/step/partitions.c policies/step/bamboo_stages.c policies/step/graph_names.c policies/step/graph_order.c \
	policies/step/graph_work.c policies/step/graph_read.c policies/step/allreduce.c policies/step/bytescheduler.c \
	policies/step/parameter_server.c policies/step/local_sgd.c policies/step/zero.c policies/step/fsdp.c policies/step/ako.c policies/step/crossbow.c policies/step/easgd.c \
	policies/step/gpipe.c policies/step/one_f_one_b.c policies/step/interleaved.c policies/step/dapple.c \
	policies/step/zb_hand.c policies/step/zb.c policies/step/zb_v.c policies/step/v_block.c policies/step/dual_pipe.c policies/step/context_parallel.c policies/step/expert_parallel.c \
	policies/step/tensor_parallel.c policies/step/megatron.c policies/step/bamboo.c policies/step/stanza.c \
	policies/step/ds_sync.c policies/step/dorylus_plan.c policies/step/dorylus_calls.c \
	policies/step/dorylus.c policies/step/graph.c policies/step/execution_trace.c
libpolicies_a_SOURCES += policies/step/bamboo.h policies/step/chunks.h policies/step/document.h policies/step/dorylus.h \
	policies/step/graph_read.h policies/step/messages.h policies/step/partitions.h policies/step/pipeline.h \
	policies/step/replicas.h policies/step/schedule.h policies/step/servers.h policies/step/stages.h policies/step/zero_bubble.h
libpolicies_a_SOURCES += policies/step/experts.h policies/step/pipeline_parts.h
libpolicies_a_SOURCES += policies/step/policies.def
# template of `orrery policy new --kind step`
STEP_TEMPLATE = policies/step/template.c.in policies/step/template_test.sh.in \
	policies/step/template_reacting.c.in policies/step/template_reacting_test.sh.in policies/step/template.py.in
EXTRA_DIST += $(STEP_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/step/template_data.c
CLEANFILES += policies/step/template_data.c policies/step/template_data.c.tmp
policies/step/template_data.c: $(STEP_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/step && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	step_template $(STEP_TEMPLATE)) >$@.tmp && mv $@.tmp $@

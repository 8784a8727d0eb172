# policies of the serving world
# Bottom first: a file calls only files before it (tests/house/order.sh).
libpolicies_a_SOURCES += policies/serve/irina_task.c policies/serve/nexus_plan.c policies/serve/mdp_plan.c policies/serve/tf_serving.c \
	policies/serve/irina.c policies/serve/fifo.c policies/serve/clipper.c policies/serve/clockwork.c \
	policies/serve/nexus.c policies/serve/vllm.c policies/serve/sarathi.c policies/serve/distserve.c policies/serve/splitwise.c \
	policies/serve/orca.c policies/serve/fastertransformer.c policies/serve/mlfq.c policies/serve/academus.c \
	policies/serve/cascade.c policies/serve/mdp.c
libpolicies_a_SOURCES += policies/serve/evict.h policies/serve/irina_task.h policies/serve/kinds.h \
	policies/serve/mdp_plan.h policies/serve/micro.h policies/serve/nexus_plan.h policies/serve/queues.h
libpolicies_a_SOURCES += policies/serve/policies.def
# routers (--router)
libpolicies_a_SOURCES += policies/serve/routers/sglang_tree.c policies/serve/routers/shares.c \
	policies/serve/routers/jsq.c policies/serve/routers/round_robin.c policies/serve/routers/random.c \
	policies/serve/routers/power_of_two.c policies/serve/routers/least_outstanding.c policies/serve/routers/lor.c \
	policies/serve/routers/prefix_aware.c policies/serve/routers/session_affinity.c policies/serve/routers/sglang.c \
	policies/serve/routers/dynamo.c policies/serve/routers/conductor.c
libpolicies_a_SOURCES += policies/serve/routers/sglang_tree.h policies/serve/routers/shares.h policies/serve/routers/dynamo_cost.h \
	policies/serve/routers/conductor_rule.h
libpolicies_a_SOURCES += policies/serve/routers/routers.def
SERVE_ROUTER_TEMPLATE = policies/serve/routers/template.c.in policies/serve/routers/template_test.sh.in
EXTRA_DIST += $(SERVE_ROUTER_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/serve/routers/template_data.c
CLEANFILES += policies/serve/routers/template_data.c policies/serve/routers/template_data.c.tmp
policies/serve/routers/template_data.c: $(SERVE_ROUTER_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/serve/routers && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	serve_router_template $(SERVE_ROUTER_TEMPLATE)) >$@.tmp && mv $@.tmp $@
# template of `orrery policy new --kind serve`
SERVE_TEMPLATE = policies/serve/template.c.in policies/serve/template_test.sh.in policies/serve/template.py.in
EXTRA_DIST += $(SERVE_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/serve/template_data.c
CLEANFILES += policies/serve/template_data.c policies/serve/template_data.c.tmp
policies/serve/template_data.c: $(SERVE_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/serve && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	serve_template $(SERVE_TEMPLATE)) >$@.tmp && mv $@.tmp $@

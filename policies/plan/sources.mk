# policies of the plan world
# Bottom first: a file calls only files before it (tests/house/order.sh).
libpolicies_a_SOURCES += policies/plan/chain.c policies/plan/published.c policies/plan/straight.c policies/plan/data_parallel.c \
	policies/plan/dapple.c policies/plan/pipedream.c policies/plan/grid.c policies/plan/alpa.c policies/plan/whale.c \
	policies/plan/mcmc.c policies/plan/uncompressed.c policies/plan/saec.c policies/plan/kmeans.c policies/plan/hashing.c policies/plan/low_precision.c \
	policies/plan/product_quantisation.c
libpolicies_a_SOURCES += policies/plan/chain.h policies/plan/published.h policies/plan/policies.def
# template of `orrery policy new --kind plan`
PLAN_TEMPLATE = policies/plan/template.c.in policies/plan/template_test.sh.in policies/plan/template.py.in
EXTRA_DIST += $(PLAN_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/plan/template_data.c
CLEANFILES += policies/plan/template_data.c policies/plan/template_data.c.tmp
policies/plan/template_data.c: $(PLAN_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/plan && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	plan_template $(PLAN_TEMPLATE)) >$@.tmp && mv $@.tmp $@

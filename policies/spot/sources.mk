# policies of the spot world
# Bottom first: a file calls only files before it (tests/house/order.sh).
libpolicies_a_SOURCES += policies/spot/late.c policies/spot/rendezvous.c policies/spot/artifact.c \
	policies/spot/varuna_artifact.c policies/spot/parcae_cost.c policies/spot/parts.c policies/spot/bamboo_rules.c \
	policies/spot/templates.c policies/spot/parcae_odds.c policies/spot/parcae_plan.c policies/spot/late_plan.c \
	policies/spot/late_course.c policies/spot/parcae_predict.c policies/spot/parcae.c policies/spot/checkpoint.c \
	policies/spot/elastic_dp.c policies/spot/varuna.c policies/spot/oobleck.c policies/spot/bamboo.c \
	policies/spot/on_demand.c policies/spot/greedy.c policies/spot/time_sliced.c policies/spot/uniform_progress.c \
	policies/spot/rsf.c policies/spot/omniscient.c policies/spot/partial_lookahead.c
libpolicies_a_SOURCES += policies/spot/artifact.h policies/spot/bamboo.h policies/spot/daly.h policies/spot/late.h \
	policies/spot/late_course.h policies/spot/late_plan.h policies/spot/morph.h policies/spot/parcae_cost.h \
	policies/spot/parcae_odds.h policies/spot/parcae_plan.h policies/spot/parcae_predict.h policies/spot/parts.h \
	policies/spot/placement.h policies/spot/rendezvous.h policies/spot/shapes.h policies/spot/templates.h \
	policies/spot/varuna_artifact.h
libpolicies_a_SOURCES += policies/spot/policies.def
# template of `orrery policy new --kind spot`
SPOT_TEMPLATE = policies/spot/template.c.in policies/spot/template_test.sh.in policies/spot/template.py.in
EXTRA_DIST += $(SPOT_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/spot/template_data.c
CLEANFILES += policies/spot/template_data.c policies/spot/template_data.c.tmp
policies/spot/template_data.c: $(SPOT_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/spot && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	spot_template $(SPOT_TEMPLATE)) >$@.tmp && mv $@.tmp $@

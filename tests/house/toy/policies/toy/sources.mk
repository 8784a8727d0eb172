# policies of the toy world
libpolicies_a_SOURCES += policies/toy/policies.def policies/toy/steady.c
TOY_TEMPLATE = policies/toy/template.c.in policies/toy/template_test.sh.in
nodist_liborrery_a_SOURCES += policies/toy/template_data.c
policies/toy/template_data.c: $(TOY_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/toy && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	toy_template $(TOY_TEMPLATE)) >$@.tmp && mv $@.tmp $@

# policies of the jobs world
libpolicies_a_SOURCES += policies/jobs/policies.def
libpolicies_a_SOURCES += policies/jobs/queue_order.h policies/jobs/preemptive.h policies/jobs/grow.h
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
# what `orrery policy new --kind jobs` writes
JOBS_TEMPLATE = policies/jobs/template.c.in policies/jobs/template_test.sh.in
EXTRA_DIST += $(JOBS_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/jobs/template_data.c
CLEANFILES += policies/jobs/template_data.c policies/jobs/template_data.c.tmp
policies/jobs/template_data.c: $(JOBS_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/jobs && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	jobs_template $(JOBS_TEMPLATE)) >$@.tmp && mv $@.tmp $@

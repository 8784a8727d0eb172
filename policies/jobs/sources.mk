# Bottom first: a file calls only files before it (tests/house/order.sh).
libpolicies_a_SOURCES += policies/jobs/queue_order.c policies/jobs/gpu_budget.c policies/jobs/preemptive.c \
	policies/jobs/backfill.c policies/jobs/availability.c policies/jobs/gittins_index.c policies/jobs/lexlp.c policies/jobs/knapsack.c policies/jobs/sia_choose.c policies/jobs/shockwave_plan.c policies/jobs/allox_assign.c \
	policies/jobs/csv_rows.c policies/jobs/time_left.c policies/jobs/members.c policies/jobs/small_jobs.c policies/jobs/gavel_batches.c policies/jobs/matching.c policies/jobs/muri_groups.c policies/jobs/muri_replay.c policies/jobs/gavel_select.c policies/jobs/gavel_lp.c policies/jobs/gavel_replay.c policies/jobs/gavel_alloc.c \
	policies/jobs/gavel_shuffle.c policies/jobs/gavel_published.c policies/jobs/gandiva_pairs.c policies/jobs/gandiva_published.c \
	policies/jobs/fifo.c policies/jobs/fjf.c policies/jobs/sjf.c policies/jobs/qssf.c policies/jobs/smallest_gpu.c \
	policies/jobs/srtf.c policies/jobs/srtf_gpu.c policies/jobs/easy_backfill.c policies/jobs/conservative_backfill.c \
	policies/jobs/las.c policies/jobs/las_gpu.c policies/jobs/gavel.c policies/jobs/allox.c policies/jobs/gandiva.c policies/jobs/gandiva_fair.c \
	policies/jobs/isolated.c policies/jobs/max_min.c policies/jobs/mst.c policies/jobs/ossp.c policies/jobs/themis.c policies/jobs/drf.c policies/jobs/gittins.c \
	policies/jobs/optimus.c policies/jobs/spot_market.c policies/jobs/pollux.c policies/jobs/shockwave.c policies/jobs/sia.c policies/jobs/replay.c policies/jobs/muri.c policies/jobs/elasticflow.c \
	policies/jobs/branches.c policies/jobs/rungs.c policies/jobs/mdf.c policies/jobs/branch_random.c policies/jobs/branch_parallel.c \
	policies/jobs/branch_locality.c policies/jobs/successive_halving.c policies/jobs/asha.c
libpolicies_a_SOURCES += policies/jobs/allox_assign.h policies/jobs/backfill.h policies/jobs/gandiva.h policies/jobs/csv_rows.h policies/jobs/matching.h policies/jobs/muri.h policies/jobs/gavel.h policies/jobs/gavel_batches.h policies/jobs/gavel_lp.h \
	policies/jobs/gittins_index.h policies/jobs/gpu_budget.h policies/jobs/las.h policies/jobs/lexlp.h policies/jobs/knapsack.h policies/jobs/sia_choose.h policies/jobs/shockwave_plan.h \
	policies/jobs/preemptive.h policies/jobs/availability.h policies/jobs/queue_order.h policies/jobs/branches.h policies/jobs/rungs.h policies/jobs/time_left.h policies/jobs/members.h policies/jobs/small_jobs.h
libpolicies_a_SOURCES += policies/jobs/policies.def
# template of `orrery policy new --kind jobs`
JOBS_TEMPLATE = policies/jobs/template.c.in policies/jobs/template_test.sh.in policies/jobs/template.py.in
EXTRA_DIST += $(JOBS_TEMPLATE)
nodist_liborrery_a_SOURCES += policies/jobs/template_data.c
CLEANFILES += policies/jobs/template_data.c policies/jobs/template_data.c.tmp
policies/jobs/template_data.c: $(JOBS_TEMPLATE) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) policies/jobs && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	jobs_template $(JOBS_TEMPLATE)) >$@.tmp && mv $@.tmp $@

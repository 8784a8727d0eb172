# the man pages and the completions, generated from the program's --help texts
nodist_man_MANS += docs/orrery.1
nodist_bashcomp_DATA += docs/orrery
nodist_zshcomp_DATA += docs/_orrery
nodist_fishcomp_DATA += docs/orrery.fish
CLEANFILES += docs/orrery.1 docs/orrery docs/_orrery docs/orrery.fish docs/man1.stamp docs/*.tmp docs/man1/*.1
EXTRA_DIST += docs/man.sh docs/man.awk docs/README.md
EXTRA_DIST += docs/completion.sh docs/completion_bash.sh docs/completion_fish.sh docs/completion_zsh.sh
# The tests check for leaks; the leak checker does not work on all machines.
SAYS = ASAN_OPTIONS=detect_leaks=0

docs/orrery.1: orrery$(EXEEXT) docs/man.sh docs/man.awk
	$(AM_V_GEN)$(MKDIR_P) docs && $(SAYS) sh $(srcdir)/docs/man.sh ./orrery$(EXEEXT) >$@.tmp && mv $@.tmp $@
# A page per command. The program knows the commands, so make knows the folder only.
docs/man1.stamp: docs/orrery.1
	$(AM_V_GEN)$(MKDIR_P) docs/man1 && rm -f docs/man1/*.1 && for c in `./orrery$(EXEEXT) --help | \
	awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $$1 }'`; do \
	$(SAYS) sh $(srcdir)/docs/man.sh ./orrery$(EXEEXT) $$c >docs/man1/orrery-$$c.1 || exit 1; done && : >$@
all-local: docs/man1.stamp
install-data-local: docs/man1.stamp
	$(MKDIR_P) "$(DESTDIR)$(man1dir)" && $(INSTALL_DATA) docs/man1/*.1 "$(DESTDIR)$(man1dir)"
uninstall-local:
	rm -f "$(DESTDIR)$(man1dir)"/orrery-*.1
# Each shell finds the file by its name.
docs/orrery: orrery$(EXEEXT) docs/completion.sh docs/completion_bash.sh
	$(AM_V_GEN)$(MKDIR_P) docs && $(SAYS) sh $(srcdir)/docs/completion.sh ./orrery$(EXEEXT) bash >$@.tmp && mv $@.tmp $@
docs/_orrery: orrery$(EXEEXT) docs/completion.sh docs/completion_zsh.sh
	$(AM_V_GEN)$(MKDIR_P) docs && $(SAYS) sh $(srcdir)/docs/completion.sh ./orrery$(EXEEXT) zsh >$@.tmp && mv $@.tmp $@
docs/orrery.fish: orrery$(EXEEXT) docs/completion.sh docs/completion_fish.sh
	$(AM_V_GEN)$(MKDIR_P) docs && $(SAYS) sh $(srcdir)/docs/completion.sh ./orrery$(EXEEXT) fish >$@.tmp && mv $@.tmp $@
# network, step, learn, calibration, devices, spot: pages of docs/models
EXTRA_DIST += docs/figures.sh docs/figures docs/comparison.sh docs/comparison-serving.sh
.PHONY: docs-figures
docs-figures: orrery$(EXEEXT)
	sh $(srcdir)/docs/figures.sh ./orrery$(EXEEXT) $(srcdir)/docs/figures
# the pages; they link to one another, so installation keeps their folders
dist_doc_DATA = docs/comparison-one-gpu.md docs/comparison-serving.md docs/comparison-collectives.md \
	docs/comparison-steps.md docs/comparison-waits.md docs/architecture.md docs/comparison.md \
	 docs/performance.md docs/performance-studies.md docs/policies.md docs/traces.md docs/tutorial.md docs/tutorial-own.md \
	docs/elastic-job.schema.json docs/flow.schema.json docs/graph.schema.json docs/model.schema.json docs/profile.schema.json \
	docs/scenario.schema.json docs/served-model.schema.json docs/study.schema.json
howtodir = $(docdir)/howto
dist_howto_DATA = docs/howto/bring-your-own-trace.md docs/howto/cluster.md docs/howto/compare-with-intervals.md docs/howto/describe-a-cluster.md docs/howto/draw-paper-figures.md docs/howto/explain.md \
	docs/howto/measure-a-device.md docs/howto/measure-time-to-a-loss.md docs/howto/mix-worlds.md docs/howto/plan-a-training-step.md docs/howto/place-training-jobs.md \
	docs/howto/repeat-a-run.md docs/howto/report.md docs/howto/replay-a-trace.md docs/howto/run-a-chakra-trace.md docs/howto/run-a-workflow.md docs/howto/schedule-on-spot-capacity.md docs/howto/serve-an-llm.md docs/howto/serve-on-edge-devices.md \
	docs/howto/share-links.md docs/howto/simulate-a-training-step.md docs/howto/sweep.md docs/howto/train-on-spot.md docs/howto/what-if.md docs/howto/write-a-policy.md docs/howto/write-a-policy-in-python.md \
	docs/howto/write-a-step-graph.md
modelsdocdir = $(docdir)/models
dist_modelsdoc_DATA = docs/models/README.md docs/models/calibration.md docs/models/cluster.md docs/models/devices.md docs/models/embed.md \
	docs/models/engine.md docs/models/jobs-policies.md docs/models/jobs.md docs/models/learn.md docs/models/mixed.md \
	docs/models/net.md docs/models/plan.md docs/models/serve-edge.md docs/models/serve-engines.md docs/models/serve-llm-policies.md docs/models/serve-llm.md docs/models/serve-networks.md docs/models/serve-disaggregation.md docs/models/serve-pipeline.md docs/models/serve-policies.md docs/models/serve-requests.md docs/models/serve-routers.md docs/models/serve-speculation.md docs/models/serve-moe.md docs/models/serve-tiers.md \
	docs/models/serve.md docs/models/spot-bamboo.md docs/models/spot-checkpoints.md docs/models/spot-deadlines.md \
	docs/models/spot-parcae.md docs/models/spot-varuna-oobleck.md docs/models/spot.md docs/models/statistics.md \
	docs/models/step-bamboo.md docs/models/step-crossbow.md docs/models/step-data-parallel.md docs/models/step-dorylus.md docs/models/step-pipelines.md \
	docs/models/step-stanza-ds-sync-ako.md docs/models/step-context-parallel.md docs/models/step-experts.md docs/models/step-zero-bubble.md docs/models/step-checkpoints.md docs/models/step.md docs/models/step-traces.md
referencedocdir = $(docdir)/reference
dist_referencedoc_DATA = docs/reference/books.md docs/reference/clusters.md docs/reference/columns.md docs/reference/commands.md \
	docs/reference/database.md docs/reference/devices.md docs/reference/options.md docs/reference/options-serve.md docs/reference/policy-interface.md docs/reference/remarks.md docs/reference/remarks-serve.md docs/reference/schema.md \
	docs/reference/traces-instances.md docs/reference/traces-imported.md docs/reference/traces-jobs.md docs/reference/traces-requests.md
# The program prints the part below the mark.
.PHONY: docs-columns
docs-columns: orrery$(EXEEXT)
	{ sed '/^<!-- columns -->$$/q' $(srcdir)/docs/reference/columns.md; ./orrery$(EXEEXT) db columns; } >columns.tmp && \
	mv columns.tmp $(srcdir)/docs/reference/columns.md
# The table of floors is generated from the includes.
.PHONY: docs-floors
docs-floors:
	page=$(srcdir)/docs/architecture.md; { sed '/^| floor/,$$d' $$page; srcdir=$(srcdir) bash $(srcdir)/tests/house/floors.sh --draw; \
	awk '/^\| floor/ { on = 1 } on && NF == 0 { past = 1 } past' $$page; } >floors.tmp && mv floors.tmp $$page

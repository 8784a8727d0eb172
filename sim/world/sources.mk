# the descriptor of a world, and code common to all worlds. Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/world/worlds.c sim/world/child.c sim/world/probe.c sim/world/python.c sim/world/registry.c sim/world/values.c sim/world/text.c sim/world/set.c sim/world/gpu_types.c \
	sim/world/equal.c sim/world/scenario.c sim/world/inputs.c sim/world/inputs_capacity.c sim/world/replications.c sim/world/precision.c sim/world/cost_samples.c \
	sim/world/remarks.c sim/world/isolated.c sim/world/isolate.c sim/world/run.c sim/world/schema.c
liborrery_a_SOURCES += sim/world/child.h sim/world/cost_samples.h sim/world/equal.h sim/world/gpu_types.h sim/world/inputs.h sim/world/inputs_capacity.h sim/world/isolate.h sim/world/isolated.h sim/world/probe.h sim/world/python.h sim/world/registry.h \
	sim/world/precision.h sim/world/replications.h sim/world/remarks.h sim/world/run.h sim/world/schema.h sim/world/scenario.h sim/world/world.h sim/world/worlds.def
# policies in Python: the module orrery and the headers from which it makes the binding
PYTHON_FILES = sim/world/python/orrery.py include/orrery/api.h include/orrery/param.h include/orrery/policy.h include/orrery/jobs.h \
	include/orrery/step.h include/orrery/spot.h include/orrery/serve.h include/orrery/plan.h
EXTRA_DIST += sim/world/python/orrery.py
nodist_liborrery_a_SOURCES += sim/world/python_data.c
CLEANFILES += sim/world/python_data.c sim/world/python_data.c.tmp
sim/world/python_data.c: $(PYTHON_FILES) hwmodel/embed.sh
	$(AM_V_GEN)$(MKDIR_P) sim/world && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	python_files $(PYTHON_FILES)) >$@.tmp && mv $@.tmp $@

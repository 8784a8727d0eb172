# ops, messages and memory within a training step
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/step/options.c sim/step/metrics.c sim/step/trace_event.c sim/step/compress.c sim/step/inside.c sim/step/algorithm.c sim/step/fail.c sim/step/plans.c sim/step/graph.c \
	sim/step/expand.c sim/step/source.c sim/step/timer.c sim/step/corun.c sim/step/wire_state.c sim/step/functions.c sim/step/facts.c sim/step/experts.c sim/step/account.c \
	sim/step/use.c sim/step/path.c sim/step/wire_idle.c sim/step/wire_merge.c sim/step/wire_phase.c sim/step/wire_alone.c sim/step/leap.c sim/step/storage.c sim/step/checkpoint.c sim/step/checkpoint_result.c sim/step/wire.c \
	sim/step/steady.c sim/step/policy.c sim/step/exec.c sim/step/run.c sim/step/export.c sim/step/export.h sim/step/together.c sim/step/once.c
liborrery_a_SOURCES += sim/step/account.h sim/step/compress.h sim/step/exec.h sim/step/functions.h sim/step/graph.h sim/step/path.h sim/step/step.h \
	sim/step/trace_event.h sim/step/wire.h sim/step/wire_state.h sim/step/world.h sim/step/once.h
liborrery_a_SOURCES += sim/step/experts.h sim/step/checkpoint.h
# execution traces by ASTRA-sim's rules
liborrery_a_SOURCES += sim/step/astra.c sim/step/astra.h sim/step/replay_state.c sim/step/replay_plan.c sim/step/replay_net.c sim/step/replay_coll.c sim/step/replay.c \
	sim/step/replay_world.c sim/step/replay.h sim/step/replay_state.h sim/step/replay_world.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/step/setting.c sim/step/setting.h sim/step/learning.h sim/step/scenario.h sim/step/effects.c \
	sim/step/effects.h sim/step/descriptor.c
orrinclude_HEADERS += include/orrery/step.h
include policies/step/sources.mk

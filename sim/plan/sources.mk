# search of distributed plans
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/plan/draft.c sim/plan/costs.c sim/plan/network.c sim/plan/closed.c sim/plan/lower.c sim/plan/search.c \
	sim/plan/lookups.c sim/plan/embeddings.c sim/plan/run.c sim/plan/world.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/plan/scenario.h sim/plan/effects.c sim/plan/descriptor.c
orrinclude_HEADERS += include/orrery/plan.h
include policies/plan/sources.mk

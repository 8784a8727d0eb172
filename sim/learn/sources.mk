# sources of sim/learn
liborrery_a_SOURCES += sim/learn/learn.h sim/learn/learn.c sim/learn/options.c sim/learn/state.h sim/learn/replica.c \
	sim/learn/apply.c sim/learn/series.c sim/learn/problem.h sim/learn/problem.c sim/learn/linear.c sim/learn/mlp.c \
	sim/learn/vec.h sim/learn/vec.c sim/learn/train.h sim/learn/train.c

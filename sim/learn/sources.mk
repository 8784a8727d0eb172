# SGD on small problems, driven by the schedule of updates
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/learn/vec.c sim/learn/options.c sim/learn/gcn_layer.c sim/learn/gcn_graph.c sim/learn/boost_data.c sim/learn/boost_net.c sim/learn/boost.c sim/learn/mlp.c sim/learn/linear.c sim/learn/problem.c sim/learn/noise_scale.c sim/learn/floor.c \
	sim/learn/rate.c sim/learn/gcn.c sim/learn/series.c sim/learn/replica.c sim/learn/apply.c sim/learn/learn.c sim/learn/train.c
liborrery_a_SOURCES += sim/learn/boost.h sim/learn/gcn.h sim/learn/learn.h sim/learn/noise_scale.h sim/learn/problem.h sim/learn/state.h sim/learn/train.h sim/learn/vec.h
# scenarios and the descriptor of the world
liborrery_a_SOURCES += sim/learn/learning.c

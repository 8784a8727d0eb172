# embedding tables and their compression, run for real
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += sim/embed/table.c sim/embed/table_read.c sim/embed/kmeans.c sim/embed/code.c sim/embed/quality.c
liborrery_a_SOURCES += sim/embed/code.h sim/embed/kmeans.h sim/embed/kmeans_tile.h sim/embed/quality.h sim/embed/table.h \
	sim/embed/table_state.h

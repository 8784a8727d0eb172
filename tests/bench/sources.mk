# benchmarks; structures that the engine does not use live here with them
noinst_HEADERS += tests/bench/load.h tests/bench/queue.h tests/bench/queue_calendar.h \
	tests/bench/queue_heap.h tests/bench/queue_ladder.h tests/bench/queue_radix.h
EXTRA_PROGRAMS += bench_engine
BENCHES += bench_engine
CLEANFILES += bench_engine$(EXEEXT)
bench_engine_SOURCES = tests/bench/bench_engine.c tests/bench/load.c

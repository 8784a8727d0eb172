# benchmark of the learning world
EXTRA_PROGRAMS += bench_learn
BENCHES += bench_learn
CLEANFILES += bench_learn$(EXEEXT)
bench_learn_SOURCES = tests/bench/bench_learn.c

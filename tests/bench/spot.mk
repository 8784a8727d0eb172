# benchmark of the spot world
EXTRA_PROGRAMS += bench_spot
BENCHES += bench_spot
CLEANFILES += bench_spot$(EXEEXT)
bench_spot_SOURCES = tests/bench/bench_spot.c tests/spot_runs.c tests/spot_runs.h
bench_spot_LDADD = libpolicies.a $(LDADD)

# benchmark of the serving world
EXTRA_PROGRAMS += bench_serve
BENCHES += bench_serve
CLEANFILES += bench_serve$(EXEEXT)
bench_serve_SOURCES = tests/bench/bench_serve.c
bench_serve_LDADD = libpolicies.a $(LDADD)

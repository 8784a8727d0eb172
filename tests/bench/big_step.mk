# benchmark of one training step on many GPUs
EXTRA_PROGRAMS += bench_big_step
BENCHES += bench_big_step
CLEANFILES += bench_big_step$(EXEEXT)
bench_big_step_SOURCES = tests/bench/bench_big_step.c tests/step_fixture.c
bench_big_step_LDADD = libpolicies.a $(LDADD)

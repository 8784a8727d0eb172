# benchmark of the trace readers
BENCHES += tests/bench/bench_trace
EXTRA_PROGRAMS += tests/bench/bench_trace
tests_bench_bench_trace_SOURCES = tests/bench/bench_trace.c
CLEANFILES += tests/bench/bench_trace

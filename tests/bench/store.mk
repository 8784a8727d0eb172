# benchmark of the store
EXTRA_PROGRAMS += bench_store
BENCHES += bench_store
bench_store_SOURCES = tests/bench/bench_store.c tests/sample_run.c

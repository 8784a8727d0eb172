# benchmark of the whole jobs command
EXTRA_PROGRAMS += bench_jobs
BENCHES += bench_jobs
CLEANFILES += bench_jobs$(EXEEXT)
bench_jobs_SOURCES = tests/bench/bench_jobs.c

# benchmark of iterations of language models
EXTRA_PROGRAMS += bench_serve_llm
BENCHES += bench_serve_llm
CLEANFILES += bench_serve_llm$(EXEEXT)
bench_serve_llm_SOURCES = tests/bench/serve_llm.c tests/llm_run.c
bench_serve_llm_LDADD = libpolicies.a $(LDADD)

# sources of tests
EXTRA_DIST += tests/tap.sh
noinst_HEADERS = tests/tap.h
check_PROGRAMS += tests/unit_base
TESTS += tests/unit_base
tests_unit_base_SOURCES = tests/unit_base.c

check_PROGRAMS += tests/unit_engine
TESTS += tests/unit_engine
tests_unit_engine_SOURCES = tests/unit_engine.c
# The test counts what the engine allocates.
tests_unit_engine_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mem_alloc,--wrap=mem_zalloc,--wrap=mem_realloc
check_PROGRAMS += tests/unit_generations
TESTS += tests/unit_generations
tests_unit_generations_SOURCES = tests/unit_generations.c
check_PROGRAMS += tests/unit_rng
TESTS += tests/unit_rng
tests_unit_rng_SOURCES = tests/unit_rng.c
check_PROGRAMS += tests/unit_queues
TESTS += tests/unit_queues
tests_unit_queues_SOURCES = tests/unit_queues.c tests/bench/load.c

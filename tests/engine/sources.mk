# make check-engine
UNIT_TESTS += tests/engine/unit_engine tests/engine/unit_generations tests/engine/unit_queues \
	tests/engine/unit_watch
# The test counts allocations.
tests_engine_unit_engine_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mem_alloc,--wrap=mem_zalloc,--wrap=mem_realloc
# The test intercepts every wait of the watchdog.
tests_engine_unit_watch_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_cond_timedwait

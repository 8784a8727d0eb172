# code common to all tests, and tests outside the rooms
EXTRA_DIST += tests/tap.sh tests/summary.sh
EXTRA_DIST += tests/plugins/edf.c tests/plugins/greedy_goodput.c tests/plugins/greedy_goodput.py tests/plugins/fifo.py tests/plugins/las.py tests/plugins/misbehave.c tests/plugins/damaged.c tests/plugins/elastic.c tests/plugins/flow_policy.c tests/plugins/late_start.c tests/plugins/step_hostile.c \
	tests/plugins/plan_hostile.c tests/plugins/serve_hostile.c tests/plugins/serve_parts.c tests/plugins/spot_hostile.c tests/plugins/harm.h
EXTRA_DIST += tests/data
libtests_a_SOURCES = tests/tap.h tests/mutate.h
# programs that tests run
TEST_HELPERS = tests/peak_rss tests/results/make_store
check_PROGRAMS += $(TEST_HELPERS)

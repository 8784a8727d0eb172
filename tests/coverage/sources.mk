# make coverage [SEEDS=1000] [COVERAGE_DIR=coverage]: shares of intervals that contain the mean over all seeds
TEST_HELPERS += tests/coverage/coverage
SCRIPT_TESTS += tests/coverage/quick.sh
EXTRA_DIST += tests/coverage/coverage.sh
.PHONY: coverage
SEEDS = 1000
COVERAGE_DIR = coverage
coverage: orrery$(EXEEXT) tests/coverage/coverage$(EXEEXT)
	ORRERY=./orrery $(srcdir)/tests/coverage/coverage.sh $(COVERAGE_DIR) $(SEEDS)
	cat $(COVERAGE_DIR)/*.csv | tests/coverage/coverage$(EXEEXT)
	cat $(COVERAGE_DIR)/*.csv | tests/coverage/coverage$(EXEEXT) --summary
	cat $(COVERAGE_DIR)/*.csv | tests/coverage/coverage$(EXEEXT) --least
# make compare-rates [STUDIES=1000]: error rates of comparisons of several policies
TEST_HELPERS += tests/coverage/compare_rates
.PHONY: compare-rates
STUDIES = 1000
compare-rates: tests/coverage/compare_rates$(EXEEXT)
	tests/coverage/compare_rates$(EXEEXT) $(STUDIES)

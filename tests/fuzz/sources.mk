# Fuzzing of the trace readers: `make fuzz FUZZ_SECONDS=600`; the corpus is replayed by `make check-fuzz`.
UNIT_TESTS += tests/fuzz/replay
tests_fuzz_replay_SOURCES = tests/fuzz/replay.c tests/fuzz/target.c tests/fuzz/target.h
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz_trace.c tests/fuzz/run.sh
FUZZ_SECONDS = 600
.PHONY: fuzz
fuzz:
	$(SHELL) $(srcdir)/tests/fuzz/run.sh $(srcdir) . $(FUZZ_SECONDS)
# Hostile commands until the time is over: `make soak SOAK_SECONDS=7200`.
SCRIPT_TESTS += tests/fuzz/soak.sh
SOAK_SECONDS = 600
.PHONY: soak
soak: orrery$(EXEEXT)
	@srcdir=$(srcdir) top_builddir=. ORRERY=./orrery$(EXEEXT) SOAK_SECONDS=$(SOAK_SECONDS) $(BASH_OR_SH) $(srcdir)/tests/fuzz/soak.sh

# make check-house
SCRIPT_TESTS += tests/house/floors.sh tests/house/order.sh tests/house/install.sh tests/house/style.sh \
	tests/house/toy_world.sh tests/house/adding.sh tests/house/sources.sh tests/house/train.sh
EXTRA_DIST += tests/house/add tests/house/toy tests/house/tree.sh
EXTRA_DIST += tests/house/bare.sh tests/house/chroot.sh tests/house/checks.sh tests/house/cppcheck.txt .codespellrc
# Run by hand: compares the results before and after a refactoring (usage: bash tests/house/same_bytes.sh).
EXTRA_DIST += tests/house/same_bytes.sh tests/house/same_bytes.runs
# The share of mutants of a folder that the tests of its room detect: make mutants FOLDER=sim/net
EXTRA_DIST += tests/house/mutants.sh tests/house/equivalent_mutants.txt
MUTANTS = 40
SEED = 1
.PHONY: mutants
mutants:
	@$(BASH_OR_SH) $(srcdir)/tests/house/mutants.sh "$(FOLDER)" -n $(MUTANTS) --seed $(SEED) --build $(abs_top_builddir)/mutants

# make compilers: equal digests of 11 studies built by gcc -O2, gcc -O3 -march=native and clang -O3 -march=native.
EXTRA_DIST += tests/house/compilers.sh
.PHONY: compilers
compilers:
	@$(BASH_OR_SH) $(srcdir)/tests/house/compilers.sh $(abs_top_builddir)/build-compilers

# make check-package: the Debian package, built, installed, used and purged on a bare system (as root; some minutes; loads packages).
EXTRA_DIST += tests/house/package.sh
.PHONY: check-package
check-package:
	@$(BASH_OR_SH) $(srcdir)/tests/house/package.sh

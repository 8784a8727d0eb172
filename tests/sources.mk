# sources of tests
EXTRA_DIST += tests/tap.sh
noinst_HEADERS = tests/tap.h
check_PROGRAMS += tests/unit_base
TESTS += tests/unit_base
tests_unit_base_SOURCES = tests/unit_base.c

# the house: floor plan, habits, installation
TESTS += tests/floors.sh tests/style.sh tests/install.sh
EXTRA_DIST += tests/floors.sh tests/style.sh tests/install.sh tests/summary.sh tests/chroot.sh

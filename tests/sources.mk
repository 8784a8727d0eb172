# sources of tests
EXTRA_DIST += tests/tap.sh
noinst_HEADERS = tests/tap.h
check_PROGRAMS += tests/unit_base
TESTS += tests/unit_base
tests_unit_base_SOURCES = tests/unit_base.c

# make check-mixed
UNIT_TESTS += tests/mixed/unit_mixed
SCRIPT_TESTS += tests/mixed/mixed.sh

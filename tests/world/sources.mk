# make check-world
UNIT_TESTS += tests/world/unit_replications tests/world/unit_set
SCRIPT_TESTS += tests/world/remarks.sh

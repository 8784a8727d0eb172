# make check-world
UNIT_TESTS += tests/world/unit_effects
SCRIPT_TESTS += tests/world/remarks.sh
EXTRA_DIST += tests/world/cases

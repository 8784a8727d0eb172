# make check-world
UNIT_TESTS += tests/world/unit_effects tests/world/unit_open tests/world/unit_precision tests/world/unit_remarks tests/world/unit_replications tests/world/unit_set tests/world/unit_trials
SCRIPT_TESTS += tests/world/isolate.sh tests/world/isolate_all.sh tests/world/modes.sh tests/world/python.sh tests/world/python_harm.sh tests/world/remarks.sh
EXTRA_DIST += tests/world/cases tests/world/remarks_of.sh

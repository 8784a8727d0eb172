# make check-world
SCRIPT_TESTS += tests/world/remarks.sh

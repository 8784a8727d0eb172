# make check-mixed
UNIT_TESTS += tests/mixed/unit_mixed tests/mixed/unit_mixed_accounts
SCRIPT_TESTS += tests/mixed/mixed.sh tests/mixed/mixed_lent.sh tests/mixed/mixed_explain.sh tests/mixed/mixed_rows.sh

# make check-base
UNIT_TESTS += tests/base/unit_base tests/base/unit_bytes tests/base/unit_expr tests/base/unit_limits tests/base/unit_num tests/base/unit_outfile tests/base/unit_rng tests/base/unit_search tests/base/unit_spool tests/base/unit_utf8

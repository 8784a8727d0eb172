# make check-learn
UNIT_TESTS += tests/learn/unit_boost tests/learn/gcn_staleness tests/learn/learn_policies tests/learn/unit_gcn tests/learn/unit_learn tests/learn/unit_learn_metrics tests/learn/unit_learn_rules tests/learn/unit_learn_sgd tests/learn/unit_learn_walk \
	tests/learn/unit_problem tests/learn/unit_sma
SCRIPT_TESTS += tests/learn/learn_cli.sh tests/learn/learn_gcn.sh tests/learn/learn_limits.sh tests/learn/noise_scale.sh
libtests_a_SOURCES += tests/learn/gcn_drive.h tests/learn/learn_drive.h tests/learn/learn_peek.c tests/learn/learn_peek.h

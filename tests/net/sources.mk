# make check-net
UNIT_TESTS += tests/net/netflows_mutation tests/net/unit_collective tests/net/unit_flow tests/net/unit_quotient tests/net/unit_shared_link \
	tests/net/unit_topology
SCRIPT_TESTS += tests/net/cli_net.sh
libtests_a_SOURCES += tests/net/coll_bytes.c tests/net/coll_bytes.h tests/net/flow_model.c tests/net/flow_model.h tests/net/flow_peek.h tests/net/net_fill.c tests/net/net_fill.h
# The test counts allocations.
tests_net_unit_flow_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mem_alloc,--wrap=mem_zalloc,--wrap=mem_realloc

# benchmarks; structures that the engine does not use live here with them
noinst_HEADERS += tests/bench/queue.h tests/bench/queue_calendar.h \
	tests/bench/queue_heap.h tests/bench/queue_ladder.h tests/bench/queue_radix.h
EXTRA_PROGRAMS += bench_engine
BENCHES += bench_engine
CLEANFILES += bench_engine$(EXEEXT)
bench_engine_SOURCES = tests/bench/bench_engine.c
bench_engine_LDADD = libbench.a $(LDADD)

EXTRA_LIBRARIES = libbench.a
CLEANFILES += libbench.a
libbench_a_SOURCES = tests/bench/load.c tests/bench/load.h

# A comparison with ns-3, where it and a C++ compiler are found; no part of the product.
EXTRA_DIST += tests/bench/peer_ns3.cc
CLEANFILES += bench_peer_ns3
.PHONY: bench-peers
bench-peers: libbench.a liborrery.a
	@cxx=$${CXX:-g++}; \
	if ! pkg-config --exists ns3-core; then echo "bench-peers: skipped: no ns-3 (libns3-dev)"; \
	elif ! command -v $$cxx >/dev/null; then echo "bench-peers: skipped: no C++ compiler ($$cxx)"; \
	else $$cxx -std=c++17 -O2 $(DEFS) $(AM_CPPFLAGS) $(SAN_CFLAGS) `pkg-config --cflags ns3-core` -o bench_peer_ns3 \
		$(srcdir)/tests/bench/peer_ns3.cc libbench.a liborrery.a \
		`pkg-config --libs ns3-core` $(DEPS_LIBS) $(OPENMP_CFLAGS) -lm && ./bench_peer_ns3; fi

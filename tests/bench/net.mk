# flows: a comparison with SimGrid, where it and a C++ compiler are found; no part of the product
EXTRA_PROGRAMS += bench_net
CLEANFILES += bench_net$(EXEEXT) bench_peer_simgrid
bench_net_SOURCES = tests/bench/bench_net.c
bench_net_LDADD = libbench.a $(LDADD)
EXTRA_DIST += tests/bench/peer_simgrid.cc tests/bench/peers_net.sh
.PHONY: bench-peers-net
bench-peers: bench-peers-net
bench-peers-net: libbench.a liborrery.a bench_net$(EXEEXT)
	@cxx=$${CXX:-g++}; \
	if ! pkg-config --exists simgrid; then echo "bench-peers: skipped: no SimGrid (libsimgrid-dev)"; \
	elif ! command -v $$cxx >/dev/null; then echo "bench-peers: skipped: no C++ compiler ($$cxx)"; \
	else $$cxx -std=c++17 -O2 $(DEFS) $(AM_CPPFLAGS) $(SAN_CFLAGS) `pkg-config --cflags simgrid` -o bench_peer_simgrid \
		$(srcdir)/tests/bench/peer_simgrid.cc libbench.a liborrery.a \
		`pkg-config --libs simgrid` $(DEPS_LIBS) $(OPENMP_CFLAGS) -lm && \
		$(BASH_OR_SH) $(srcdir)/tests/bench/peers_net.sh ./bench_peer_simgrid ./bench_net$(EXEEXT); fi

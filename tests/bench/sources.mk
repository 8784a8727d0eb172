# make bench: one program per benchmark
BENCHES = tests/bench/bench_engine tests/bench/bench_chakra tests/bench/bench_store tests/bench/bench_jobs tests/bench/bench_learn tests/bench/bench_serve \
	tests/bench/bench_trace tests/bench/bench_big_step tests/bench/bench_serve_llm tests/bench/bench_spot \
	tests/bench/bench_merge tests/bench/bench_path
EXTRA_PROGRAMS += $(BENCHES) tests/bench/bench_net
CLEANFILES += $(BENCHES) tests/bench/bench_net bench_peer_ns3 bench_peer_simgrid
# Queues that the engine does not use, and their common load.
libtests_a_SOURCES += tests/bench/load.c tests/bench/load.h tests/bench/queue.h tests/bench/queue_calendar.h \
	tests/bench/queue_heap.h tests/bench/queue_ladder.h tests/bench/queue_radix.h

.PHONY: bench bench-peers bench-peers-ns3 bench-peers-simgrid
bench: $(BENCHES)
	@for b in $(BENCHES); do echo "== $$b"; ./$$b || exit 1; done

# Comparisons with ns-3 and SimGrid, if they and a C++ compiler are present; not part of the product.
EXTRA_DIST += tests/bench/sweep.sh tests/bench/runs.sh tests/bench/train.sh tests/bench/cloud.json
EXTRA_DIST += tests/bench/peer_ns3.cc tests/bench/peer_simgrid.cc tests/bench/peers_net.sh
PEER_FLAGS = -std=c++17 -O2 $(DEFS) $(AM_CPPFLAGS) $(SAN_CFLAGS)
PEER_LIBS = libtests.a liborrery.a $(DEPS_LIBS) $(OPENMP_CFLAGS) -lm
bench-peers: bench-peers-ns3 bench-peers-simgrid
bench-peers-ns3: libtests.a liborrery.a
	@cxx=$${CXX:-g++}; \
	if ! pkg-config --exists ns3-core; then echo "bench-peers: skipped: no ns-3 (libns3-dev)"; \
	elif ! command -v $$cxx >/dev/null; then echo "bench-peers: skipped: no C++ compiler ($$cxx)"; \
	else $$cxx $(PEER_FLAGS) `pkg-config --cflags ns3-core` -o bench_peer_ns3 $(srcdir)/tests/bench/peer_ns3.cc \
		`pkg-config --libs ns3-core` $(PEER_LIBS) && ./bench_peer_ns3; fi
bench-peers-simgrid: libtests.a liborrery.a tests/bench/bench_net$(EXEEXT)
	@cxx=$${CXX:-g++}; \
	if ! pkg-config --exists simgrid; then echo "bench-peers: skipped: no SimGrid (libsimgrid-dev)"; \
	elif ! command -v $$cxx >/dev/null; then echo "bench-peers: skipped: no C++ compiler ($$cxx)"; \
	else $$cxx $(PEER_FLAGS) `pkg-config --cflags simgrid` -o bench_peer_simgrid $(srcdir)/tests/bench/peer_simgrid.cc \
		`pkg-config --libs simgrid` $(PEER_LIBS) && \
		$(BASH_OR_SH) $(srcdir)/tests/bench/peers_net.sh ./bench_peer_simgrid tests/bench/bench_net$(EXEEXT); fi

.PHONY: bench-sweep bench-runs study-cloud study-philly
# a study on two threads against one: about a minute
bench-sweep: orrery$(EXEEXT)
	ORRERY=./orrery$(EXEEXT) bash $(srcdir)/tests/bench/sweep.sh
# 100,000 short runs: runs per second, bytes per run, memory
bench-runs: orrery$(EXEEXT)
	ORRERY=./orrery$(EXEEXT) bash $(srcdir)/tests/bench/runs.sh
# one clock, 100,000 GPUs, 1 million jobs, 100 million requests: 7 to 17 minutes
study-cloud: orrery$(EXEEXT)
	bash -c 'time ./orrery$(EXEEXT) run $(srcdir)/tests/bench/cloud.json'
# the Philly trace, 8 policies, 3 sizes, 10 seeds of failures: about 5 minutes; keeps the figures and the database
study-philly: orrery$(EXEEXT)
	@rm -rf study-philly.db study-philly
	bash -c 'time ./orrery$(EXEEXT) figures $(srcdir)/scenarios/philly/ --db study-philly.db --out study-philly'
	@ls -l study-philly.db

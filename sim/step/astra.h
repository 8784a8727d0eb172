/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * astra.h - the files with which ASTRA-sim describes a network and a system
 *
 * Source: astra-sim/astra-sim (network: the YAML of its analytical network, system: the JSON of its system layer).
 * docs/models/step-traces.md gives the rules.
 *
 * Units: ASTRA-sim's "GB/s" of a network is 2^30 bytes/s; its GB/s of the memory is 1e9 bytes/s. Latencies and times are ns.
 */
#ifndef ORR_STEP_ASTRA_H
#define ORR_STEP_ASTRA_H

#include <orrery/api.h>

enum { ASTRA_MOST_DIMENSIONS = 8 };

enum astra_topology { ASTRA_RING, ASTRA_SWITCH, ASTRA_FULLY_CONNECTED };
struct astra_dimension {
	enum astra_topology topology;
	uint32_t npus;
	double latency_ns;
	double bytes_per_ns;
};
struct astra_network {
	struct astra_dimension dim[ASTRA_MOST_DIMENSIONS];
	uint32_t n; /* number of dimensions */
	uint32_t npus;
	char hash[65];
};

enum astra_algorithm { ASTRA_RING_ALGORITHM, ASTRA_DIRECT, ASTRA_HALVING_DOUBLING };
enum astra_collective { ASTRA_ALL_REDUCE, ASTRA_ALL_GATHER, ASTRA_REDUCE_SCATTER, ASTRA_ALL_TO_ALL, ASTRA_COLLECTIVES };
struct astra_system {
	int64_t endpoint_delay_ns;
	uint32_t active_chunks, splits;
	enum astra_algorithm algorithm[ASTRA_COLLECTIVES];
	double memory_bytes_per_s;
	bool has_roofline;
	double peak_ops_per_s;
	char ignored[256]; /* keys of the file without effect here, separated by ", " */
	char hash[65];
};

/* Read a file. Unknown keys and values are errors that name the file and what would be accepted. */
int astra_network_load(const char *path, struct astra_network *out, struct orr_error *err);
int astra_system_load(const char *path, struct astra_system *out, struct orr_error *err);
/* For tests and the fuzzer. The text ends with a NUL. */
int astra_network_parse(const char *name, const char *text, struct astra_network *out, struct orr_error *err);
int astra_system_parse(const char *name, const char *text, size_t n, struct astra_system *out, struct orr_error *err);

const char *astra_topology_name(enum astra_topology t);

/* Number of links on the route between two ranks: Ring in the shorter direction, Switch 2, FullyConnected 1; 0 for equal ranks. */
uint32_t astra_hops(const struct astra_network *net, uint32_t from, uint32_t to);

#endif

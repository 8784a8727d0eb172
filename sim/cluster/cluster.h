/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cluster.h - the nodes of a cluster: GPUs, CPUs, memory, racks
 *
 * A struct cluster is a description: constant during a run, so threads may share it. pool.h has the free resources.
 *
 * Invariant: nodes are numbered in the order of the description; each node has one type of GPU (CLUSTER_NO_TYPE if it has
 * none); types are numbered in order of first use. CPUs and memory that the description omits are unlimited (-1).
 */
#ifndef ORR_CLUSTER_CLUSTER_H
#define ORR_CLUSTER_CLUSTER_H

#include <orrery/api.h>

#define CLUSTER_NO_TYPE UINT32_MAX
enum { CLUSTER_MAX_TYPES = 64, CLUSTER_MAX_NODES = 1 << 20, CLUSTER_MAX_NODE_GPUS = 1024 };

struct cluster_node {
	char *name;
	uint32_t type, gpus, rack;
	int64_t cpu_milli, mem_mib; /* -1: unlimited */
};

struct cluster {
	struct cluster_node *node;
	uint32_t n_nodes;
	char *type_name[CLUSTER_MAX_TYPES];
	double type_speed[CLUSTER_MAX_TYPES]; /* by type: stated speed relative to the recorded durations of jobs; 0: not stated */
	uint32_t n_types;
	uint32_t n_racks;
	uint32_t gpus;          /* sum over all nodes */
	uint32_t max_node_gpus; /* largest number of GPUs of one node */
	bool is_recorded;       /* the types are the labels of a real cluster (openb's node list) */
	char hash[65];          /* SHA-256 of the canonical form in hex */
};

/*
 * Loads a cluster. spec is a text like "64x8:v100" (nodes x GPUs : type), or several of these separated by commas, each with
 * options: "32x8:v100:cpus=96:mem=512:racks=4" (cores, GiB, number of racks). "10x0:cpus=64" has CPUs only.
 * "4x8:mygpu:speed=1.5" states the speed of a type (type_speed). Or spec names a JSON file ({"nodes": [{"count", "gpus",
 * "type", "speed", "cpus", "mem_gib", "rack"|"racks", "name"}]}) or a CSV file. CSV has one of three forms: openb's node list
 * (sn,cpu_milli,memory_mib,gpu,model[,speed]), Tiresias' cluster specification, or orrery's own
 * (name,gpus,type,speed,cpus,mem_gib,rack).
 */
struct cluster *cluster_load(const char *spec, struct orr_error *err);
void cluster_free(struct cluster *c);

/* Returns the number of a GPU type (case is ignored), or CLUSTER_NO_TYPE. */
uint32_t cluster_type(const struct cluster *c, const char *name, size_t len);

/* Converts "V100|T4" to a bit mask of types. Types that the cluster lacks are omitted, so the mask may be 0; an empty text means all
 * types. */
uint64_t cluster_type_mask(const struct cluster *c, const char *types);

/* Like cluster_load(), for the contents of a JSON or CSV file; path is for messages. */
struct cluster *cluster_from_text(const char *path, const char *text, struct orr_error *err);

/* ---- for the parsers (cluster_spec.c, cluster_file.c); in cluster_node.c ---- */
int cluster_add(struct cluster *c, const char *name, const char *type, const struct cluster_node *proto, struct orr_error *err);
/* Sets the speed of the type of the node added last; 0: no speed is given. Two different speeds of one type are an error. */
int cluster_state_speed(struct cluster *c, double speed, struct orr_error *err);
int cluster_from_spec(struct cluster *c, const char *spec, struct orr_error *err);
int cluster_from_json(struct cluster *c, const char *path, const char *text, struct orr_error *err);
int cluster_from_csv(struct cluster *c, const char *path, const char *text, struct orr_error *err);

#endif

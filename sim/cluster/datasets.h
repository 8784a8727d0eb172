/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * datasets.h - data sets in the memory of the nodes, or on their disks
 *
 * A set is spread over nodes in equal pieces. A stage that starts reads its inputs (datasets_read()), then claims memory for
 * its output (datasets_add()). If a node has too little memory, pieces are spilled to its disk by rank: the lowest rank first,
 * on ties the newest set first. Inputs of the stage may be spilled. Unfinished outputs are not spilled. An output that does not
 * fit beside the other unfinished outputs is written to disk. A spilled piece stays on disk, unless `reloads` moves it back at
 * a read. A set is freed, without a write, when its last reader has ended or when it is dropped.
 *
 * Rules: amm ranks by value = (remaining uses) * min(bytes * rho, recompute); lru by the time of the last claim or read; touch-count by
 * the number of reads. Source of amm and touch-count: the prototype of meta-dataflows (docs/models/jobs-flows.md).
 *
 * Invariants: the pieces in memory of a node fit into its memory; each such piece of a finished set is in the heap of the node. An
 * operation costs O(log sets of the node) per piece.
 */
#ifndef ORR_CLUSTER_DATASETS_H
#define ORR_CLUSTER_DATASETS_H

#include <stdbool.h>
#include <stdint.h>

enum dataset_rule { DATASETS_NONE, DATASETS_AMM, DATASETS_LRU, DATASETS_TOUCH_COUNT };
enum { DATASETS_NO_SET = 0 };

struct datasets_config {
	enum dataset_rule rule; /* DATASETS_NONE: memory has no limit */
	uint32_t n_nodes;
	const int64_t *memory; /* [node] bytes of memory; may be NULL with DATASETS_NONE */
	double disk_Bps;       /* bandwidth of each node's disk for reads and writes together, bytes/s; 0: transfers take no time */
	bool reloads;          /* flag: a read moves a piece from disk to memory */
	bool first_use_free;   /* flag: as in the prototype, the first use does not reduce the value under amm */
};

struct datasets_count {
	uint64_t made, spilled, read_disk;                /* numbers of sets created, of pieces spilled, and of pieces read from disk */
	uint64_t bytes_spilled, bytes_disk, bytes_memory; /* bytes written to disk; bytes read from disk; bytes read from memory */
	uint64_t in_memory, on_disk, most_in_memory;      /* current bytes in memory, on disk; peak bytes in memory */
};

struct datasets;

struct datasets *datasets_new(const struct datasets_config *c);
void datasets_free(struct datasets *d);

/* Resets the transfers that datasets_io_ns() reports. Called before the transfers of each stage. */
void datasets_begin(struct datasets *d);
/* Reads all pieces of a finished set. */
void datasets_read(struct datasets *d, uint64_t set);
/* Claims a set of `bytes` on n nodes, which is unfinished until datasets_made(). unit: min(bytes * rho, recompute) of amm. uses: number
 * of reads before the set is freed. Returns the id of the set, never DATASETS_NO_SET. */
uint64_t datasets_add(struct datasets *d, const uint32_t *node, uint32_t n, int64_t bytes, double unit, uint64_t uses);
/* Returns the time of the transfers since datasets_begin(), ns: the maximum over the nodes. */
int64_t datasets_io_ns(const struct datasets *d);
/* Marks a set as finished. Frees the set if all its readers have been counted. */
void datasets_made(struct datasets *d, uint64_t set);
/* Counts n readers that have ended or were pruned. The last reader frees the set. */
void datasets_used(struct datasets *d, uint64_t set, uint64_t n);
void datasets_drop(struct datasets *d, uint64_t set);

bool datasets_exists(const struct datasets *d, uint64_t set);
int64_t datasets_bytes(const struct datasets *d, uint64_t set);
/* Returns the bytes of the set on a node, in memory and on disk. */
int64_t datasets_bytes_on(const struct datasets *d, uint64_t set, uint32_t node);
/* Returns the share of the set on disk, 0 to 1. */
double datasets_disk_share(const struct datasets *d, uint64_t set);
const struct datasets_count *datasets_counts(const struct datasets *d);
/* Returns the first violated invariant, or NULL. Violations: a set is read before it is finished or after it is freed, a set is freed
 * twice, or the sets of a node exceed its memory. */
const char *datasets_wrong(const struct datasets *d);

#endif

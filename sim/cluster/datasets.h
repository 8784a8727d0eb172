/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * datasets.h - data sets in the memory of the nodes, or on their disks
 *
 * A set is spread over nodes in equal pieces. A stage that starts reads its inputs (datasets_read()) and then claims memory for its output
 * (datasets_add()). If a node has too little memory, the rule chooses pieces that are spilled to the disk of that node: the lowest
 * rank first, on ties the set made later. Outputs in the making are not spilled; the inputs of the stage may be. An output that does
 * not fit beside the other outputs in the making is written to disk directly. A spilled piece stays on disk, unless sets are
 * reloaded when read. A set is freed, without a write, when its last reader is through or when it is dropped.
 *
 * Rules: amm ranks by value = (uses left) * min(bytes * rho, recompute); lru by the last read or making; touch-count by the number of
 * reads. Source of amm and touch-count: the prototype of meta-dataflows (docs/models/jobs-flows.md).
 *
 * Invariants: pieces in memory of a node fit in its memory; each such piece of a finished set is in the heap of its node. Cost:
 * O(log sets of the node) per piece and operation.
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
	const int64_t *memory; /* bytes of each node; may be NULL with DATASETS_NONE */
	double disk_Bps;       /* bandwidth of each node's disk for reads and writes together, bytes/s; 0: transfers take no time */
	bool reloads;          /* flag: a piece that was read from disk is kept in memory */
	bool first_use_free;   /* amm as in the prototype: the first use does not reduce the value */
};

struct datasets_count {
	uint64_t made, spilled, read_disk;                /* sets made; pieces spilled; pieces read from disk */
	uint64_t bytes_spilled, bytes_disk, bytes_memory; /* bytes written to disk; bytes read from disk; bytes read from memory */
	uint64_t in_memory, on_disk, most_in_memory;      /* bytes: now; largest */
};

struct datasets;

struct datasets *datasets_new(const struct datasets_config *c);
void datasets_free(struct datasets *d);

/* Begins the transfers of one stage. */
void datasets_begin(struct datasets *d);
/* Reads all pieces of a finished set. */
void datasets_read(struct datasets *d, uint64_t set);
/* Makes a set of `bytes` on n nodes, in the making until datasets_made(). unit: min(bytes * rho, recompute) of amm. uses: reads
 * before it is freed. Returns its number, never DATASETS_NO_SET. */
uint64_t datasets_add(struct datasets *d, const uint32_t *node, uint32_t n, int64_t bytes, double unit, uint64_t uses);
/* Returns the time of the transfers since datasets_begin(), ns: the largest over the nodes. */
int64_t datasets_io_ns(const struct datasets *d);
void datasets_made(struct datasets *d, uint64_t set);
/* Counts n readers that have completed or will never come. Frees the set with the last. */
void datasets_used(struct datasets *d, uint64_t set, uint64_t n);
void datasets_drop(struct datasets *d, uint64_t set);

bool datasets_exists(const struct datasets *d, uint64_t set);
int64_t datasets_bytes(const struct datasets *d, uint64_t set);
int64_t datasets_bytes_on(const struct datasets *d, uint64_t set, uint32_t node); /* returns whether the node holds the set in memory
										   * or on disk */
double datasets_disk_share(const struct datasets *d, uint64_t set);
const struct datasets_count *datasets_counts(const struct datasets *d);
/* Returns the first violated law: a set read before it was made or after it was freed, one freed twice, memory above its size. NULL:
 * none. */
const char *datasets_wrong(const struct datasets *d);

#endif

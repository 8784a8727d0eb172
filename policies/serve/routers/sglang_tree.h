/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sglang_tree.h - the cache-aware rule of SGLang's router (sglang-router 0.1.9 and 0.3.2, read in its source and checked against
 * the shipped binary)
 *
 * A radix tree over the texts routed so far; each node has the workers to which it was routed, with their last use. A worker's tree size
 * is the number of symbols of the nodes that it owns; all workers own the root.
 *
 *	if max load - min load > abs and max load > rel x min load: the least load
 *	else, with m symbols of the text found in the tree:
 *		m / length > threshold: an owner of the deepest node reached, which may be matched in part
 *		else the smallest tree (v0.1), or the least load (v0.3)
 *	the text is inserted for the chosen worker
 *
 * The original takes workers on ties in the order of a hash map; here the caller gives the order. A symbol is a character there, and
 * the hash of a block of tokens in orrery.
 */
#ifndef ORR_ROUTERS_SGLANG_TREE_H
#define ORR_ROUTERS_SGLANG_TREE_H

#include <orrery/api.h>

struct sglang_rule {
	double threshold, abs, rel;
	bool by_size; /* v0.1: a miss goes to the smallest tree; v0.3: to the least load */
};

struct sglang_tree;

struct sglang_tree *sglang_tree_new(uint32_t workers);
void sglang_tree_free(struct sglang_tree *t);
/* Returns the worker of a text and inserts the text for it. order: the n >= 1 workers that may be chosen, in the order that decides
 * ties; load: by worker. */
uint32_t sglang_choose(struct sglang_tree *t, const struct sglang_rule *rule, const uint64_t *text, uint32_t length, const uint32_t *order,
	uint32_t n, const uint64_t *load);
void sglang_insert(struct sglang_tree *t, const uint64_t *text, uint32_t length, uint32_t worker);
uint64_t sglang_tree_size(const struct sglang_tree *t, uint32_t worker);
/* While a worker's tree is larger than `most`, it loses its least recently used leaf. */
void sglang_evict(struct sglang_tree *t, uint64_t most);
/* Removes a worker from all nodes. */
void sglang_forget(struct sglang_tree *t, uint32_t worker);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * routing.h - which experts, GPUs and nodes the tokens of a mixture of experts use
 *
 * A token uses top_k of E experts, which lie in at most top_groups of `groups` equal groups (node-limited routing). Given are the
 * loads of the experts: the probability that a token uses expert e is top_k x its share of the load. Of all distributions of
 * sets of experts with these loads, the distribution with the largest entropy is used: a set has the product of the weights of its experts,
 * and every choice of groups that contains it counts once. Equal loads give the hypergeometric law.
 *
 * Experts, and redundant copies of hot ones, are on slots of the GPUs of an expert-parallel group. A token takes each copy of an expert
 * with equal probability. Formulas, sources: docs/models/step-experts.md.
 */
#ifndef ORR_HWMODEL_ROUTING_H
#define ORR_HWMODEL_ROUTING_H

#include <orrery/step.h>

#include "base/rng.h"

struct routing {
	uint32_t experts, top_k, groups, top_groups, ranks, per_node, nodes;
	double *pairs;    /* [expert] probability that a token uses it; sum top_k */
	double *kept;     /* [expert] share of its pairs within the capacity */
	double *weight;   /* [expert] of the law of sets; mean 1 */
	uint32_t *copies; /* [expert] number of slots that hold it */
	uint32_t slots;
	uint32_t *expert, *rank; /* [slot] */
	double *rank_pairs;      /* [rank] expected (token, expert) pairs per token */
	double *rank_visits;     /* [rank] probability that a token goes there */
	double *node_visits;     /* [node] */
	uint32_t *rank_slots;    /* [rank] number of experts and copies */
	double distinct_ranks, distinct_nodes;
	double imbalance; /* pairs of the busiest rank / mean */
	double dropped;   /* share of pairs above the capacity */
};

/* Computes the routing. Returns ORR_EINPUT if the terms are impossible. */
int routing_new(const struct orr_routing_terms *t, struct routing *out, struct orr_error *err);
void routing_free(struct routing *r);

/* Reads the loads of n experts: numbers separated by blanks, commas or line ends; '#' begins a comment. */
int routing_read_loads(const char *file, const char *text, size_t size, uint32_t n, double *out, struct orr_error *err);

/* Fills in bytes[from * ranks + to], the messages of a dispatch in which each rank has tokens of `bytes` in all. is_combine: the
 * results return the same ways. */
void routing_messages(const struct routing *r, enum orr_expert_mode mode, double bytes, bool is_combine, double *out);

/* Means over drawn tokens. */
struct routing_sample {
	double distinct_ranks, distinct_nodes;
	double *pairs; /* [expert], owned by the caller */
};
void routing_draw(const struct routing *r, uint64_t tokens, struct rng *rng, struct routing_sample *io);

#endif

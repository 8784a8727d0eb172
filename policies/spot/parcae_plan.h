/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_plan.h - which shapes (D pipelines of P stages) to run over the next intervals: Parcae's dynamic programme
 *
 * A plan is a sequence of shapes, one for each period, of no more nodes than are there; it is worth
 * sum of rate(shape) x (length - expected migration from the shape before). The best is found backwards over periods.
 * Migrations: none; intra-stage (every stage keeps enough replicas, or pipelines are given up); inter-stage (instances get
 * another stage's state); pipeline (the depth changes, or training begins anew).
 * Shapes go by their index; `n` shapes, and index n stands for not training. Times in s, rates in samples/s.
 */
#ifndef ORR_POLICIES_SPOT_PARCAE_PLAN_H
#define ORR_POLICIES_SPOT_PARCAE_PLAN_H

#include "parcae_cost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct parcae_shape {
	uint32_t pipelines, depth, nodes; /* nodes = pipelines x depth */
	double rate;
};

enum parcae_migration { PARCAE_NONE, PARCAE_INTRA, PARCAE_INTER, PARCAE_PIPELINE, PARCAE_MIGRATIONS };

/* What is left of a shape's workers. */
struct parcae_loss {
	uint32_t workers; /* that were lost */
	uint32_t keep;    /* replicas that every stage has at least */
	uint32_t stages;  /* that have none */
};

struct parcae_period {
	uint32_t nodes; /* that are there in it */
	uint32_t lost;  /* of those of the period before, at its beginning, each set of so many with equal chance */
	double length_s;
};

struct parcae_planner {
	const struct parcae_shape *shape;
	uint32_t n;
	struct parcae_cost cost;
	bool is_ideal;  /* migrations take no time */
	bool is_fresh;  /* nothing was trained yet: beginning needs no state */
	uint32_t draws; /* 0: exact expectations */
	uint64_t key;   /* of the draws */
	double **row;   /* [row_of[shape] + workers lost]: expected migration to each shape; NULL: not computed yet */
	size_t *row_of;
	double *scratch, *value, *next, *base, *mix, *odds; /* all in scratch */
	uint32_t *fits;
};

/* The caller keeps shape[] alive until parcae_planner_end(). */
void parcae_planner_begin(struct parcae_planner *p, const struct parcae_shape *shape, uint32_t n, struct parcae_cost cost);
void parcae_planner_end(struct parcae_planner *p);

/* The first of those with the highest rate on so many nodes; n: none. */
uint32_t parcae_fastest(const struct parcae_shape *shape, uint32_t n, uint32_t nodes);
enum parcae_migration parcae_migration_kind(const struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, uint32_t to);
double parcae_migration_s(const struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, uint32_t to);
/* Over the losses of `lost` nodes out of `nodes`. */
double parcae_expected_s(struct parcae_planner *p, uint32_t from, uint32_t nodes, uint32_t lost, uint32_t to);
/*
 * The first shape of the best plan over period[1..periods]; period[0] is what was before (its nodes alone count). `loss`: what the
 * first period's losses left of `from`, if it is known; NULL: an expectation too. Ties go to the first shape.
 * *worth (may be NULL): samples that the plan is expected to make.
 */
void parcae_plan(struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, const struct parcae_period *period,
	uint32_t periods, uint32_t *choice, double *worth);

#endif

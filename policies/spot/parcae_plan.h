/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_plan.h - choice of the shapes (D pipelines of P stages) of the next intervals: Parcae's dynamic programme
 *
 * A plan is a sequence of shapes, one for each period, within the available nodes. Its worth is the sum of rate(shape) x
 * (length - expected migration from the previous shape). The best plan is found backwards over periods. Migrations: none;
 * intra-stage (every stage keeps enough replicas, or pipelines are dropped); inter-stage (instances get the state of another
 * stage); pipeline (the depth changes, or training starts). Shapes are numbered 0 .. n-1; index n represents not training.
 * Times in s, rates in samples/s.
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

/* Losses of a shape. */
struct parcae_loss {
	uint32_t workers; /* lost workers */
	uint32_t keep;    /* smallest number of replicas of any stage */
	uint32_t stages;  /* number of stages without a replica */
};

struct parcae_period {
	uint32_t nodes; /* number of nodes available in the period */
	uint32_t lost;  /* number of nodes of the previous period lost at its start; all sets are equally likely */
	double length_s;
};

/*
 * Values of the periods t.. of a plan by the shape before them (n: none). They depend only on these periods and on the nodes
 * before them. Forecasts repeat, so the planner keeps the values.
 */
struct parcae_tail {
	uint32_t after; /* number of the tail of the periods t+1..; PARCAE_NO_TAIL: t is the last period */
	uint32_t nodes_before;
	struct parcae_period period; /* period t */
	bool is_fresh;
	uint32_t next; /* next tail with the same hash; PARCAE_NO_TAIL: none */
	double *value; /* samples, [n + 1] */
};
enum { PARCAE_TAILS = 4096, PARCAE_NO_TAIL = PARCAE_TAILS };

struct parcae_planner {
	const struct parcae_shape *shape;
	uint32_t n;
	struct parcae_cost cost;
	bool is_ideal;  /* migrations take zero time */
	bool is_fresh;  /* training has not started, so there is no state to copy */
	uint32_t draws; /* number of draws; 0: exact expectations */
	uint64_t key;   /* key of the random draws */
	double **row;   /* expected migration to each shape, [row_of[shape] + workers lost]; NULL: not computed yet */
	size_t *row_of;
	double *scratch, *nothing, *base, *mix, *odds; /* one allocation; nothing: zeros, the values after the last period */
	const double *next;                            /* values of the following periods */
	struct parcae_tail *tail;                      /* [PARCAE_TAILS]; all are dropped when no more fit */
	uint32_t tails, *tail_of;                      /* number of tails; first tail by hash, [PARCAE_TAILS] */
	uint32_t *fits, *order; /* shapes that fit; all shapes. Both are in descending order of base[], in one allocation */
};

/* Initialises the planner. The caller keeps shape[] until parcae_planner_end(). */
void parcae_planner_begin(struct parcae_planner *p, const struct parcae_shape *shape, uint32_t n, struct parcae_cost cost);
void parcae_planner_end(struct parcae_planner *p);

/* Returns the first shape with the highest rate on the nodes; n: none fits. */
uint32_t parcae_fastest(const struct parcae_shape *shape, uint32_t n, uint32_t nodes);
enum parcae_migration parcae_migration_kind(const struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, uint32_t to);
double parcae_migration_s(const struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, uint32_t to);
/* Returns the expected migration time if `lost` of `nodes` nodes are lost. */
double parcae_expected_s(struct parcae_planner *p, uint32_t from, uint32_t nodes, uint32_t lost, uint32_t to);
/*
 * Finds the first shape of the best plan over period[1..periods]. period[0] is the past; only its nodes are used. `loss`: the
 * known losses of `from` in the first period; NULL: an expectation. Ties go to the first shape. *worth (may be NULL): expected
 * samples of the plan.
 */
void parcae_plan(struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, const struct parcae_period *period,
	uint32_t periods, uint32_t *choice, double *worth);

#endif

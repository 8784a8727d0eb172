/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parcae_plan.h"
#include "parcae_odds.h"

#include <orrery/api.h>

#include <math.h>
#include <string.h>

static void drop_tails(struct parcae_planner *p)
{
	p->tails = 0;
	for (uint32_t i = 0; i < PARCAE_TAILS; i++)
		p->tail_of[i] = PARCAE_NO_TAIL;
}

void parcae_planner_begin(struct parcae_planner *p, const struct parcae_shape *shape, uint32_t n, struct parcae_cost cost)
{
	*p = (struct parcae_planner){ .shape = shape, .n = n, .cost = cost };
	size_t rows = 0, widest = 0;
	p->row_of = orr_alloc(n + 1, sizeof *p->row_of);
	for (uint32_t i = 0; i < n; i++) {
		p->row_of[i] = rows;
		rows += shape[i].nodes + 1;
		widest = shape[i].nodes > widest ? shape[i].nodes : widest;
	}
	p->row_of[n] = rows; /* two rows for a start without a shape: is_fresh false, then true */
	rows += 2;
	p->row = orr_alloc(rows, sizeof *p->row);
	p->scratch = orr_alloc(3 * ((size_t)n + 1) + widest + 3, sizeof *p->scratch);
	p->fits = orr_alloc(2 * ((size_t)n + 1), sizeof *p->fits);
	p->order = p->fits + n + 1;
	for (uint32_t i = 0; i < n; i++)
		p->order[i] = i;
	p->nothing = p->scratch;
	p->base = p->nothing + n + 1;
	p->mix = p->base + n + 1;
	p->odds = p->mix + n + 1;
	p->tail = orr_alloc(PARCAE_TAILS, sizeof *p->tail);
	p->tail_of = orr_alloc(PARCAE_TAILS, sizeof *p->tail_of);
	drop_tails(p);
}

void parcae_planner_end(struct parcae_planner *p)
{
	size_t rows = p->row && p->row_of ? p->row_of[p->n] + 2 : 0;
	for (size_t i = 0; i < rows; i++)
		orr_free(p->row[i]);
	for (uint32_t i = 0; p->tail && i < PARCAE_TAILS; i++)
		orr_free(p->tail[i].value);
	orr_free(p->tail);
	orr_free(p->tail_of);
	orr_free(p->row);
	orr_free(p->row_of);
	orr_free(p->scratch);
	orr_free(p->fits);
	*p = (struct parcae_planner){ .n = 0 };
}

/* Relative difference below which rates are equal: the published rates are rounded to 0.001 samples/s. */
static const double tie = 1e-5;

uint32_t parcae_fastest(const struct parcae_shape *shape, uint32_t n, uint32_t nodes)
{
	uint32_t best = n;
	for (uint32_t i = 0; i < n; i++)
		if (shape[i].nodes <= nodes && (best == n || shape[i].rate > shape[best].rate * (1 + tie)))
			best = i;
	return best;
}

enum parcae_migration parcae_migration_kind(const struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, uint32_t to)
{
	if (to == p->n || (from == to && !loss->workers))
		return PARCAE_NONE;
	if (from == p->n || p->shape[from].depth != p->shape[to].depth)
		return PARCAE_PIPELINE;
	return loss->keep >= p->shape[to].pipelines ? PARCAE_INTRA : PARCAE_INTER;
}

double parcae_migration_s(const struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, uint32_t to)
{
	enum parcae_migration kind = parcae_migration_kind(p, from, loss, to);
	if (kind == PARCAE_NONE || p->is_ideal)
		return 0;
	const struct parcae_shape *t = &p->shape[to];
	if (kind == PARCAE_INTRA)
		return parcae_intra_s(&p->cost, t->pipelines, t->depth);
	if (from == p->n)
		return p->is_fresh ? parcae_restart_s(&p->cost, t->pipelines, t->depth, true)
				   : parcae_inter_s(&p->cost, t->pipelines, t->depth, t->depth, t->depth, true);
	const struct parcae_shape *f = &p->shape[from];
	/* With a joining or idle instance, the migration adds instances. */
	return parcae_inter_s(&p->cost, t->pipelines, t->depth, f->depth, loss->stages, t->nodes > f->nodes - loss->workers);
}

/* Returns the mean over the number e of lost stages, with probabilities lost[e], e = 0..depth. */
static double transfer_mean(const struct parcae_planner *p, uint32_t from, uint32_t to, const double *lost, uint32_t workers)
{
	double sum = 0;
	for (uint32_t e = 0; e <= p->shape[from].depth; e++)
		if (lost[e] > 0)
			sum += lost[e] * parcae_migration_s(p, from, &(struct parcae_loss){ workers, 0, e }, to);
	return sum;
}

/* Returns the expected migration times from a shape after a loss of workers. */
static const double *row_of(struct parcae_planner *p, uint32_t from, uint32_t workers)
{
	double **row = &p->row[p->row_of[from] + (from == p->n ? p->is_fresh : workers)];
	if (*row)
		return *row;
	double *out = orr_alloc(p->n + 1, sizeof *out);
	if (from == p->n) {
		for (uint32_t to = 0; to < p->n; to++)
			out[to] = parcae_migration_s(p, from, &(struct parcae_loss){ 0 }, to);
		return *row = out;
	}
	const struct parcae_shape *f = &p->shape[from];
	double *keep = p->odds, *lost = p->odds + f->pipelines + 1;
	if (p->draws)
		parcae_odds_drawn(f->pipelines, f->depth, workers, p->draws, p->key, keep, lost);
	else
		parcae_odds_exact(f->pipelines, f->depth, workers, keep, lost);
	for (uint32_t to = 0; to < p->n; to++) {
		const struct parcae_shape *t = &p->shape[to];
		if (t->depth != f->depth || (to == from && !workers)) {
			out[to] = to == from ? 0 : transfer_mean(p, from, to, lost, workers);
			continue;
		}
		/* Three cases: all stages keep enough replicas; no stage is lost, but some keep too few; some stages are lost. */
		double enough = t->pipelines <= f->pipelines ? keep[t->pipelines] : 0, none = lost[0];
		lost[0] = fmax(0, none - enough);
		out[to] = enough * parcae_migration_s(p, from, &(struct parcae_loss){ workers, t->pipelines, 0 }, to) +
			  transfer_mean(p, from, to, lost, workers);
		lost[0] = none;
	}
	return *row = out;
}

/* Returns the expected migration times from shape `from` if `lost` of `nodes` nodes are lost. */
static const double *mixed_row(struct parcae_planner *p, uint32_t from, uint32_t nodes, uint32_t lost)
{
	uint32_t workers = from < p->n ? p->shape[from].nodes : 0;
	lost = lost < nodes ? lost : nodes;
	if (!workers || !lost || workers > nodes)
		return row_of(p, from, 0);
	memset(p->mix, 0, (p->n + 1) * sizeof *p->mix);
	for (uint32_t j = 0; j <= lost && j <= workers; j++) {
		double chance = parcae_hit_chance(nodes, workers, lost, j);
		const double *row = chance > 0 ? row_of(p, from, j) : p->mix;
		for (uint32_t to = 0; chance > 0 && to < p->n; to++)
			p->mix[to] += chance * row[to];
	}
	return p->mix;
}

double parcae_expected_s(struct parcae_planner *p, uint32_t from, uint32_t nodes, uint32_t lost, uint32_t to)
{
	return mixed_row(p, from, nodes, lost)[to];
}

/* Returns the value (samples) of a period that starts with a change to the best shape, plus the value next[] of the periods after
 * it. Without training, the value is next[n]. fits[] is in descending order of base[], an upper bound of the value of a change. The
 * search ends at the first bound below the best value. */
static double best_move(const struct parcae_planner *p, uint32_t fits, const double *cost, uint32_t *choice)
{
	double best = p->next[p->n];
	*choice = p->n;
	for (uint32_t k = 0; k < fits; k++) {
		uint32_t to = p->fits[k];
		if (p->base[to] < best)
			break;
		double worth = p->base[to] - p->shape[to].rate * cost[to];
		if (worth > best || (worth >= best && *choice < p->n && to < *choice)) {
			best = worth;
			*choice = to;
		}
	}
	return best;
}

/* Fills in base[], and fits[] in descending order of base[]. The order changes little from one period to the next. */
static uint32_t shapes_that_fit(struct parcae_planner *p, const struct parcae_period *now)
{
	uint32_t fits = 0;
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = p->order[k], at = k;
		p->base[i] = p->shape[i].rate * now->length_s + p->next[i];
		for (; at && p->base[p->order[at - 1]] < p->base[i]; at--)
			p->order[at] = p->order[at - 1];
		p->order[at] = i;
	}
	for (uint32_t k = 0; k < p->n; k++)
		if (p->shape[p->order[k]].nodes <= now->nodes)
			p->fits[fits++] = p->order[k];
	return fits;
}

static bool is_same_tail(const struct parcae_tail *a, const struct parcae_tail *b)
{
	return a->after == b->after && a->nodes_before == b->nodes_before && a->period.nodes == b->period.nodes &&
	       a->period.lost == b->period.lost && a->is_fresh == b->is_fresh && !(a->period.length_s < b->period.length_s) &&
	       !(a->period.length_s > b->period.length_s);
}

static uint32_t hash_of(const struct parcae_tail *t)
{
	uint64_t bits;
	memcpy(&bits, &t->period.length_s, sizeof bits);
	uint64_t x = parcae_mix(t->after ^ bits);
	x = parcae_mix(x ^ ((uint64_t)t->nodes_before << 32 | t->period.nodes));
	return (uint32_t)(parcae_mix(x ^ ((uint64_t)t->period.lost << 1 | t->is_fresh)) % PARCAE_TAILS);
}

/* Returns the number of the tail that starts with `key`; computes its values if they are not known. */
static uint32_t tail_from(struct parcae_planner *p, const struct parcae_tail *key)
{
	uint32_t h = hash_of(key), i = p->tail_of[h];
	while (i != PARCAE_NO_TAIL && !is_same_tail(&p->tail[i], key))
		i = p->tail[i].next;
	if (i != PARCAE_NO_TAIL)
		return i;
	struct parcae_tail *t = &p->tail[i = p->tails++];
	double *value = t->value ? t->value : orr_alloc(p->n + 1, sizeof *value);
	*t = *key;
	t->value = value;
	t->next = p->tail_of[h];
	p->tail_of[h] = i;
	p->next = key->after == PARCAE_NO_TAIL ? p->nothing : p->tail[key->after].value;
	uint32_t fits = shapes_that_fit(p, &key->period), ignored;
	for (uint32_t from = 0; from <= p->n; from++)
		if (from == p->n || p->shape[from].nodes <= key->nodes_before)
			value[from] = best_move(p, fits, mixed_row(p, from, key->nodes_before, key->period.lost), &ignored);
	return i;
}

void parcae_plan(struct parcae_planner *p, uint32_t from, const struct parcae_loss *loss, const struct parcae_period *period,
	uint32_t periods, uint32_t *choice, double *worth)
{
	if (p->tails + periods > PARCAE_TAILS)
		drop_tails(p);
	uint32_t tail = PARCAE_NO_TAIL;
	for (uint32_t t = periods; t > 1; t--)
		tail = tail_from(p, &(struct parcae_tail){ tail, period[t - 1].nodes, period[t], p->is_fresh, 0, NULL });
	p->next = tail == PARCAE_NO_TAIL ? p->nothing : p->tail[tail].value;
	uint32_t fits = shapes_that_fit(p, &period[1]);
	const double *cost = p->mix;
	if (loss)
		for (uint32_t i = 0; i < p->n; i++)
			p->mix[i] = parcae_migration_s(p, from, loss, i);
	else
		cost = mixed_row(p, from, period[0].nodes, period[1].lost);
	double best = best_move(p, fits, cost, choice);
	if (worth)
		*worth = best;
}

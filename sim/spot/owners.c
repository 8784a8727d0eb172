/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Effects of the owners' zones and types on a step: bytes sent between zones, and the speed of the slowest owner.
 *
 * All pipelines of a step are synchronous, so one slow stage delays them all. Bytes of a step (docs/models/spot.md):
 * activations and their gradients between neighbouring stages in different zones, and a ring all-reduce of each stage's gradients
 * over its owners, which visits zone after zone.
 */
#include "spot/accounts.h"

#include <math.h>

static const struct slot *owner_of(const struct orr_spot *w, uint32_t pipeline, uint32_t stage)
{
	uint32_t owner = w->stage[pipeline * w->depth + stage].owner;
	return owner == NONE || w->is_dropped[pipeline] ? NULL : &w->slot[owner];
}

double owners_speed(const struct orr_spot *w)
{
	double least = INFINITY;
	for (uint32_t d = 0; w->has_speeds && d < w->pipelines; d++)
		for (uint32_t k = 0; k < w->depth; k++) {
			const struct slot *s = owner_of(w, d, k);
			if (s && w->speed_of_type[s->type] < least)
				least = w->speed_of_type[s->type];
		}
	return isinf(least) ? 1 : least;
}

/* Returns the number of boundaries between stages whose owners are in different zones. */
static double crossings(const struct orr_spot *w)
{
	double n = 0;
	for (uint32_t d = 0; d < w->pipelines; d++)
		for (uint32_t k = 1; k < w->depth; k++) {
			const struct slot *a = owner_of(w, d, k - 1), *b = owner_of(w, d, k);
			n += a && b && a->zone != b->zone;
		}
	return n;
}

/* Returns the number of zones with an owner of the stage. */
static uint32_t zones_of(const struct orr_spot *w, uint32_t stage)
{
	uint32_t n = 0;
	for (uint32_t d = 0; d < w->pipelines; d++) {
		const struct slot *a = owner_of(w, d, stage), *b = NULL;
		for (uint32_t e = 0; a && e < d && (!b || b->zone != a->zone); e++)
			b = owner_of(w, e, stage);
		n += a && (!b || b->zone != a->zone);
	}
	return n;
}

/* Returns the bytes of a sample between two stages: as stated by the job, else as derived from its model for this depth. */
static double activation_bytes(const struct orr_spot *w)
{
	const struct elastic *j = w->config->job;
	double stated = orr_figure(w, "activation_bytes");
	for (uint32_t i = 0; isnan(stated) && i < j->n_points; i++)
		if (j->point[i].depth == w->depth)
			return j->point[i].activation_bytes;
	return stated;
}

double owners_egress(const struct orr_spot *w)
{
	double live = w->pipelines - w->n_dropped, sum = 0;
	if (!(w->egress_per_byte > 0) || w->n_zones < 2 || !(live > 0))
		return 0;
	double activations = activation_bytes(w), gradients = orr_figure(w, "gradient_bytes");
	if (activations > 0)
		sum = 2 * crossings(w) * activations * w->steps.samples / live;
	if (isnan(gradients))
		gradients = 2 * w->config->job->parameters;
	for (uint32_t k = 0; k < w->depth && live > 1; k++) {
		uint32_t zones = zones_of(w, k);
		sum += zones > 1 ? zones * 2 * (live - 1) / live * gradients / w->depth : 0;
	}
	return sum;
}

/* ---- copies of state ---- */

void orr_state_from_peers(struct orr_spot *w, uint32_t successors)
{
	if (!spot_may_act(w, "orr_state_from_peers()"))
		return;
	w->copies_state = true;
	w->held_successors = successors;
}

/* Computes the part of the state that an owner needs: the shortest run of stages that covers its own, and their successors. The first
 * stage follows the last, so *hi may exceed 1. */
static void needed(const struct orr_spot *w, const struct slot *s, double *lo, double *hi)
{
	uint32_t depth = w->depth, first = 0, n = depth + 1;
	for (uint32_t i = s->first_stage; i != NONE; i = w->stage[i].next) {
		uint32_t length = 0;
		for (uint32_t k = s->first_stage; k != NONE; k = w->stage[k].next) {
			uint32_t at = (k % depth + depth - i % depth) % depth + 1;
			length = at > length ? at : length;
		}
		if (length < n) {
			first = i % depth;
			n = length;
		}
	}
	n = w->held_successors < depth - n ? n + w->held_successors : depth;
	*lo = (double)first / depth;
	*hi = (double)(first + n) / depth;
}

static double overlap(double lo, double hi, const struct slot *s)
{
	double sum = 0;
	for (int turn = -1; turn <= 1; turn++) {
		double a = fmax(lo, s->held_lo + turn), b = fmin(hi, s->held_hi + turn);
		sum += b > a ? b - a : 0;
	}
	return sum;
}

/*
 * Returns the part of [lo, hi) that is copied from another zone: an instance of another zone holds it and no instance of the
 * own zone does. Assumption: the instance that holds the largest part is the only source.
 */
static double from_elsewhere(const struct orr_spot *w, const struct slot *to, double lo, double hi)
{
	double best[2] = { 0, 0 }; /* largest part held in another zone, and in the own zone */
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		const struct slot *s = live_slot(w, i);
		double x = overlap(lo, hi, s);
		if (x > best[s->zone == to->zone])
			best[s->zone == to->zone] = x;
	}
	return best[0] > best[1] ? best[0] - best[1] : 0;
}

void owners_copy(struct orr_spot *w)
{
	double sum = 0;
	if (!w->copies_state || !(w->egress_per_byte > 0) || w->n_zones < 2)
		return;
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		const struct slot *s = live_slot(w, i);
		double lo, hi;
		if (!s->stages)
			continue;
		needed(w, s, &lo, &hi);
		sum += from_elsewhere(w, s, lo, hi);
	}
	for (uint32_t i = live_first(w); i != NONE; i = live_next(w, i)) {
		struct slot *s = live_slot(w, i);
		if (s->stages)
			needed(w, s, &s->held_lo, &s->held_hi);
		else
			s->held_lo = s->held_hi = 0;
	}
	if (!(sum > 0))
		return;
	w->used |= SPOT_USED_EGRESS;
	accounts_charge(w, ORR_EGRESS, accounts_egress(w, sum * w->config->job->state_bytes), 1);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "nexus_plan.h"

#include <orrery/api.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPSILON 1e-9

/* Residue of a session: the part of the rate that its saturated nodes do not serve. */
struct residue {
	uint32_t session, batch;
	double rate, duty_s, occupancy;
};

double nexus_latency(const struct nexus_session *s, uint32_t samples)
{
	for (uint32_t i = 0; i < s->n_batches; i++)
		if (s->batch[i] >= samples)
			return s->latency_s[i];
	return s->n_batches ? s->latency_s[s->n_batches - 1] : 0;
}

uint32_t nexus_saturating_batch(const struct nexus_session *s)
{
	for (uint32_t i = s->n_batches; i-- > 0;)
		if (2 * s->latency_s[i] <= s->slo_s + EPSILON)
			return s->batch[i];
	return 0;
}

static void new_node(struct nexus_plan *p, const struct residue *r, uint32_t parts)
{
	ORR_GROW(p->node, p->n, p->cap);
	struct nexus_node *node = &p->node[p->n++];
	*node = (struct nexus_node){ .part = orr_alloc(parts, sizeof *node->part), .n_parts = 1, .duty_s = r->duty_s };
	node->part[0] = (struct nexus_part){ r->session, r->batch, r->rate };
}

/* ScheduleSaturate: adds nodes that one session fills; returns the session's remaining rate. */
static double saturate(struct nexus_session *s, uint32_t number, struct nexus_plan *p)
{
	uint32_t batch = nexus_saturating_batch(s);
	s->is_hopeless = batch == 0;
	if (s->is_hopeless)
		batch = s->batch[0];
	double latency = nexus_latency(s, batch), each = batch / latency;
	double full = floor(s->rate / each + EPSILON);
	struct residue r = { .session = number, .batch = batch, .rate = each, .duty_s = latency };
	for (double i = 0; i < full; i++)
		new_node(p, &r, 1);
	return s->rate - full * each;
}

/* Returns the residue with the largest batch that meets the SLO, including the time b/r to collect the batch: L(b) + b/r <= SLO. If
 * no batch qualifies because the rate is too low, uses the smallest batch, as often as the SLO requires. */
static struct residue residue_of(const struct nexus_session *s, uint32_t number, double rate)
{
	struct residue r = { .session = number, .rate = rate };
	for (uint32_t i = s->n_batches; i-- > 0 && !r.batch;)
		if (s->latency_s[i] + s->batch[i] / rate <= s->slo_s + EPSILON)
			r.batch = s->batch[i];
	if (r.batch) {
		r.duty_s = r.batch / rate;
	} else {
		r.batch = s->batch[0];
		r.duty_s = fmax(s->latency_s[0], s->slo_s - s->latency_s[0]);
	}
	r.occupancy = nexus_latency(s, r.batch) / r.duty_s;
	return r;
}

static int by_occupancy(const void *a, const void *b)
{
	const struct residue *x = a, *y = b;
	if (x->occupancy != y->occupancy)
		return x->occupancy > y->occupancy ? -1 : 1;
	return x->session < y->session ? -1 : x->session > y->session;
}

/* Returns the batch size that serves the rate with that duty cycle. */
static uint32_t squeezed(double rate, double duty_s)
{
	double b = ceil(rate * duty_s - EPSILON);
	return b < 1 ? 1 : (uint32_t)b;
}

/* MergeNodes: returns the busy time of the node in the shorter of the two cycles; INFINITY: the residue does not fit. */
static double merged_busy(const struct nexus_session *s, const struct nexus_node *n, const struct residue *r)
{
	double duty = fmin(n->duty_s, r->duty_s);
	double busy = nexus_latency(&s[r->session], squeezed(r->rate, duty));
	for (uint32_t i = 0; i < n->n_parts; i++)
		busy += nexus_latency(&s[n->part[i].session], squeezed(n->part[i].rate, duty));
	return busy <= duty + EPSILON ? busy : INFINITY;
}

/* ScheduleResidue: adds the residue to the node that is then fullest, or to a new one. */
static void place(const struct nexus_session *s, const struct residue *r, uint32_t first, uint32_t parts, struct nexus_plan *p)
{
	struct nexus_node *best = NULL;
	double best_occupancy = 0;
	for (uint32_t i = first; i < p->n; i++) {
		struct nexus_node *n = &p->node[i];
		double busy = merged_busy(s, n, r);
		if (!isinf(busy) && busy / fmin(n->duty_s, r->duty_s) > best_occupancy) {
			best_occupancy = busy / fmin(n->duty_s, r->duty_s);
			best = n;
		}
	}
	if (!best) {
		new_node(p, r, parts);
		return;
	}
	best->duty_s = fmin(best->duty_s, r->duty_s);
	best->part[best->n_parts++] = (struct nexus_part){ r->session, r->batch, r->rate };
	for (uint32_t i = 0; i < best->n_parts; i++)
		best->part[i].batch = squeezed(best->part[i].rate, best->duty_s);
}

void nexus_plan(struct nexus_session *s, uint32_t n, struct nexus_plan *out)
{
	struct residue *r = orr_alloc((size_t)n + 1, sizeof *r);
	uint32_t n_left = 0;
	*out = (struct nexus_plan){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		if (!(s[i].rate > 0) || s[i].n_batches == 0)
			continue;
		double left = saturate(&s[i], i, out);
		if (left > EPSILON * s[i].rate)
			r[n_left++] = residue_of(&s[i], i, left);
	}
	uint32_t first = out->n;
	qsort(r, n_left, sizeof *r, by_occupancy);
	for (uint32_t i = 0; i < n_left; i++)
		place(s, &r[i], first, n_left, out);
	orr_free(r);
}

void nexus_plan_free(struct nexus_plan *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		orr_free(p->node[i].part);
	orr_free(p->node);
	*p = (struct nexus_plan){ 0 };
}

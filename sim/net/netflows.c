/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/netflows_state.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_EVERY = 1024 };

struct runner {
	struct netflows *n;
	const struct netflows_options *o;
	struct flownet *f;
	uint32_t *arrival; /* flows of step -1 by start time */
	uint32_t n_arrivals, next_arrival;
	uint32_t next_step, under_way; /* under_way: number of flows of the current step that have not ended */
	uint32_t *same;                /* hash table of simulated steps: step number + 1 */
	uint32_t same_mask;
	double *sent; /* bytes of simulated flows by link; only with is_checked */
	uint32_t finished, instants;
	struct orr_error *err;
};

/* ---- equal steps ---- */

static uint64_t step_hash(const struct netflows *n, uint32_t step)
{
	uint64_t h = n->step_first[step + 1] - n->step_first[step], bits;
	for (uint32_t i = n->step_first[step]; i < n->step_first[step + 1]; i++) {
		const struct netflows_flow *x = &n->flow[n->step[i]];
		memcpy(&bits, &x->bytes, sizeof bits);
		h = (h ^ x->route) * HASH_GOLDEN;
		h = (h ^ h >> 32 ^ bits) * HASH_GOLDEN;
	}
	return hash_mix(h);
}

static bool are_steps_same(const struct netflows *n, uint32_t a, uint32_t b)
{
	uint32_t first = n->step_first[a], other = n->step_first[b], count = n->step_first[a + 1] - first;
	if (n->step_first[b + 1] - other != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct netflows_flow *x = &n->flow[n->step[first + i]], *y = &n->flow[n->step[other + i]];
		if (x->route != y->route || x->bytes != y->bytes)
			return false;
	}
	return true;
}

/* Returns the earlier simulated step that equals this one; else this step, which is recorded. */
static uint32_t same_step(struct runner *r, uint32_t step)
{
	uint32_t at = (uint32_t)step_hash(r->n, step) & r->same_mask;
	for (; r->same[at]; at = (at + 1) & r->same_mask)
		if (are_steps_same(r->n, r->same[at] - 1, step))
			return r->same[at] - 1;
	r->same[at] = step + 1;
	return step;
}

/* Copies the times of an equal step. Both start on an idle network, so both take equally long. */
static void copy_step(struct runner *r, uint32_t step, uint32_t like)
{
	struct netflows *n = r->n;
	double now = flownet_now(r->f), end = now;
	for (uint32_t i = n->step_first[step], k = n->step_first[like]; i < n->step_first[step + 1]; i++, k++) {
		const struct netflows_flow *y = &n->flow[n->step[k]];
		struct netflows_flow *x = &n->flow[n->step[i]];
		x->start = now;
		x->finish = now + (y->finish - y->start);
		end = fmax(end, x->finish);
		r->finished++;
	}
	flownet_advance(r->f, end);
}

/* ---- events ---- */

static void start_flow(struct runner *r, uint32_t i)
{
	struct netflows_flow *x = &r->n->flow[i];
	const struct netflows_route *route = &r->n->route[x->route];
	const struct flow_hop *hop = r->n->hop + route->first;
	x->start = flownet_now(r->f);
	flownet_start(r->f, x->bytes, 0, hop, route->count, i);
	for (uint32_t h = 0; r->sent && h < route->count; h++)
		r->sent[hop[h].link] += x->bytes;
}

/* Starts the next step; skips steps whose times are known. */
static void start_step(struct runner *r)
{
	struct netflows *n = r->n;
	while (!r->under_way && r->next_step < n->n_steps) {
		uint32_t step = r->next_step++;
		uint32_t like = r->n_arrivals ? step : same_step(r, step);
		if (like != step) {
			copy_step(r, step, like);
			continue;
		}
		n->n_simulated++;
		r->under_way = n->step_first[step + 1] - n->step_first[step];
		for (uint32_t i = n->step_first[step]; i < n->step_first[step + 1]; i++)
			start_flow(r, n->step[i]);
	}
}

static void take_ended(struct runner *r)
{
	uint64_t i;
	double t;
	while (flownet_pop(r->f, &i, &t)) {
		r->n->flow[i].finish = t;
		r->under_way -= r->n->flow[i].step >= 0;
		r->finished++;
	}
}

static double next_instant(const struct runner *r)
{
	double t = flownet_next(r->f);
	return r->next_arrival < r->n_arrivals ? fmin(t, r->n->flow[r->arrival[r->next_arrival]].start) : t;
}

static int run_all(struct runner *r)
{
	struct netflows *n = r->n;
	start_step(r);
	for (double t; (t = next_instant(r)) < INFINITY;) {
		flownet_advance(r->f, t);
		take_ended(r);
		for (; r->next_arrival < r->n_arrivals && n->flow[r->arrival[r->next_arrival]].start <= t; r->next_arrival++)
			start_flow(r, r->arrival[r->next_arrival]);
		start_step(r);
		if (r->o->is_checked && !flownet_verify(r->f, r->err))
			return ORR_EFAIL;
		if (r->o->progress && ++r->instants % REPORT_EVERY == 0)
			r->o->progress(r->o->ctx, (double)r->finished / n->n_flows);
	}
	if (r->finished == n->n_flows)
		return ORR_OK;
	return orr_fail(r->err, ORR_EFAIL, "%s: %u of %u flows never end: expected higher bandwidths or fewer bytes", n->flows_name,
		n->n_flows - r->finished, n->n_flows);
}

/* ---- running ---- */

struct arrival {
	double t;
	uint32_t i;
};

static int compare_arrivals(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->i < y->i ? -1 : 1;
}

static void sort_arrivals(struct runner *r)
{
	const struct netflows *n = r->n;
	r->n_arrivals = n->n_flows - n->n_stepped;
	struct arrival *v = mem_alloc(r->n_arrivals * sizeof *v);
	for (uint32_t i = 0, at = 0; i < n->n_flows; i++)
		if (n->flow[i].step < 0)
			v[at++] = (struct arrival){ n->flow[i].start, i };
	qsort(v, r->n_arrivals, sizeof *v, compare_arrivals);
	r->arrival = mem_alloc(r->n_arrivals * sizeof *r->arrival);
	for (uint32_t i = 0; i < r->n_arrivals; i++)
		r->arrival[i] = v[i].i;
	mem_free(v);
}

/* Checks that each link carried the bytes sent over it, and that no flow is faster than on an empty network. */
static int check_all(struct runner *r)
{
	const struct netflows *n = r->n;
	for (uint32_t l = 0; l < n->n_links; l++) {
		double carried = flownet_link_bytes(r->f, l);
		if (fabs(carried - r->sent[l]) > 1e-9 * r->sent[l])
			return orr_fail(r->err, ORR_EFAIL, "link %s carried %.17g bytes: expected %.17g", strtab_text(n->link_names, l + 1),
				carried, r->sent[l]);
	}
	for (uint32_t i = 0; i < n->n_flows; i++) {
		const struct netflows_flow *x = &n->flow[i];
		const struct netflows_route *route = &n->route[x->route];
		double latency = 0, drain = 0;
		for (uint32_t h = route->first; h < route->first + route->count && x->bytes > 0; h++) {
			const struct flow_link *l = &n->link[n->hop[h].link];
			latency += l->latency_s;
			drain = fmax(drain, x->bytes / l->capacity_Bps);
		}
		if (x->finish < (x->start + latency + drain) * (1 - 1e-9))
			return orr_fail(r->err, ORR_EFAIL, "flow %s ends at %.17g s: expected at least its end time on an empty network",
				strtab_text(n->ids, i + 1), x->finish);
	}
	return ORR_OK;
}

int netflows_run(struct netflows *n, const struct netflows_options *o, struct orr_error *err)
{
	struct runner r = { .n = n, .o = o, .err = err };
	uint32_t slots = 2;
	while (slots < 2 * n->n_steps)
		slots *= 2;
	r.f = flownet_new(n->link, n->n_links, o->fairness);
	r.same = mem_zalloc(slots, sizeof *r.same);
	r.same_mask = slots - 1;
	r.sent = o->is_checked ? mem_zalloc(n->n_links, sizeof *r.sent) : NULL;
	n->n_simulated = 0;
	sort_arrivals(&r);
	int rc = run_all(&r);
	if (!rc && o->is_checked)
		rc = check_all(&r);
	flownet_free(r.f);
	mem_free(r.same);
	mem_free(r.sent);
	mem_free(r.arrival);
	return rc;
}

uint32_t netflows_count(const struct netflows *n)
{
	return n->n_flows;
}

void netflows_get(const struct netflows *n, uint32_t i, struct netflows_row *out)
{
	const struct netflows_flow *x = &n->flow[i];
	*out = (struct netflows_row){ strtab_text(n->ids, i + 1), x->bytes, x->start, x->finish };
}

uint32_t netflows_links(const struct netflows *n)
{
	return n->n_links;
}

uint32_t netflows_steps(const struct netflows *n)
{
	return n->n_steps;
}

uint32_t netflows_steps_simulated(const struct netflows *n)
{
	return n->n_simulated;
}

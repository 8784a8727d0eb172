/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/net/net_fill.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

void fill_from_topo(struct fill *f, const struct topo *t)
{
	*f = (struct fill){ .n_links = t->n_links };
	f->capacity = mem_alloc((t->n_links + 1) * sizeof *f->capacity);
	for (uint32_t i = 0; i < t->n_links; i++)
		f->capacity[i] = t->link[i].flow.capacity_Bps;
}

void fill_free(struct fill *f)
{
	mem_free(f->capacity);
	mem_free(f->flow);
}

uint32_t fill_route(struct fill *f, const struct topo *t, uint32_t src, uint32_t dst, uint64_t key, double bytes)
{
	MEM_GROW(f->flow, f->n_flows, f->cap_flows);
	struct fill_flow *w = &f->flow[f->n_flows];
	*w = (struct fill_flow){ .left = bytes };
	w->n = topo_route(t, src, dst, key, w->hop);
	for (uint32_t i = 0; i < w->n; i++) {
		w->load[i] = 1;
		w->latency += t->link[w->hop[i]].flow.latency_s;
	}
	return f->n_flows++;
}

static bool drains(const struct fill_flow *w)
{
	return !w->is_over && w->latency <= 0 && w->rate < 0;
}

/* Returns the smallest share per flow over all links that carry flows without a rate. */
static double tightest(const struct fill *f, const double *left, const double *users)
{
	double share = INFINITY;
	for (uint32_t l = 0; l < f->n_links; l++)
		if (users[l] > 0)
			share = fmin(share, left[l] / users[l]);
	return share;
}

static void count_users(const struct fill *f, double *users)
{
	memset(users, 0, f->n_links * sizeof *users);
	for (uint32_t i = 0; i < f->n_flows; i++)
		for (uint32_t h = 0; drains(&f->flow[i]) && h < f->flow[i].n; h++)
			users[f->flow[i].hop[h]] += f->flow[i].load[h];
}

/* Sets the rate of every flow through a link with this share. */
static void freeze(struct fill *f, double share, double *left, const double *users)
{
	double *taken = mem_zalloc(f->n_links + 1, sizeof *taken);
	for (uint32_t i = 0; i < f->n_flows; i++) {
		struct fill_flow *w = &f->flow[i];
		bool is_stuck = w->n == 0;
		for (uint32_t h = 0; drains(w) && h < w->n; h++)
			is_stuck |= left[w->hop[h]] <= share * users[w->hop[h]] * (1 + 1e-12);
		if (!drains(w) || !is_stuck)
			continue;
		w->rate = w->n ? share : INFINITY;
		for (uint32_t h = 0; h < w->n; h++)
			taken[w->hop[h]] += share * w->load[h];
	}
	for (uint32_t l = 0; l < f->n_links; l++)
		left[l] = fmax(0, left[l] - taken[l]);
	mem_free(taken);
}

void fill_rates(struct fill *f)
{
	double *left = mem_alloc((f->n_links + 1) * sizeof *left), *users = mem_alloc((f->n_links + 1) * sizeof *users);
	memcpy(left, f->capacity, f->n_links * sizeof *left);
	for (uint32_t i = 0; i < f->n_flows; i++)
		f->flow[i].rate = -1;
	bool any = true;
	for (uint32_t round = 0; any && round <= f->n_links; round++) { /* each round fills a link, unless the input is invalid */
		count_users(f, users);
		freeze(f, tightest(f, left, users), left, users);
		any = false;
		for (uint32_t i = 0; i < f->n_flows; i++)
			any |= drains(&f->flow[i]);
	}
	mem_free(left);
	mem_free(users);
}

double fill_run(struct fill *f)
{
	double now = 0;
	for (;;) {
		double next = INFINITY;
		fill_rates(f);
		for (uint32_t i = 0; i < f->n_flows; i++) {
			const struct fill_flow *w = &f->flow[i];
			if (!w->is_over && w->latency <= 0 && w->rate < 0)
				return NAN;
			if (!w->is_over)
				next = fmin(next, w->latency > 0 ? w->latency : isinf(w->rate) ? 0 : w->left / w->rate);
		}
		if (isinf(next))
			break;
		now += next;
		for (uint32_t i = 0; i < f->n_flows; i++) {
			struct fill_flow *w = &f->flow[i];
			if (w->is_over)
				continue;
			if (w->latency > 0) {
				w->latency = w->latency <= next * (1 + 1e-12) ? 0 : w->latency - next;
				continue;
			}
			double done = isinf(w->rate) ? w->left : w->rate * next;
			w->is_over = w->left <= done * (1 + 1e-12);
			w->left -= done;
		}
	}
	f->n_flows = 0;
	return now;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/net/flow_model.h"

#include <math.h>

static double weight_of(const struct model *m, const struct model_flow *x)
{
	double latency = 0;
	for (uint32_t h = 0; h < x->n_hops; h++)
		latency += m->link[x->hop[h].link].latency_s;
	return m->is_weighted && latency > 0 ? 1 / latency : 1;
}

static double latency_of(const struct model *m, const struct model_flow *x)
{
	double latency = 0;
	for (uint32_t h = 0; h < x->n_hops; h++)
		latency += m->link[x->hop[h].link].latency_s;
	return latency;
}

/* Returns the link that fills first if all rising flows rise together, and the level at which it is full. */
static uint32_t first_full(const struct model *m, const double *capacity, const bool *is_rising, double *level)
{
	uint32_t first = UINT32_MAX;
	*level = INFINITY;
	for (uint32_t l = 0; l < m->n_links; l++) {
		double room = capacity[l], weight = 0;
		for (uint32_t i = 0; i < m->n_flows; i++)
			for (uint32_t h = 0; m->flow[i].is_draining && h < m->flow[i].n_hops; h++) {
				const struct flow_hop *hop = &m->flow[i].hop[h];
				if (hop->link != l)
					continue;
				if (is_rising[i])
					weight += hop->load * weight_of(m, &m->flow[i]);
				else
					room -= hop->load * m->flow[i].rate;
			}
		double at = fmax(room, 0) / weight;
		if (weight > 0 && at < *level) {
			*level = at;
			first = l;
		}
	}
	return first;
}

static void set_rates(struct model *m, const double *capacity)
{
	bool is_rising[MODEL_FLOWS];
	double level;
	for (uint32_t i = 0; i < m->n_flows; i++) {
		is_rising[i] = m->flow[i].is_draining;
		m->flow[i].rate = 0;
	}
	for (uint32_t l; (l = first_full(m, capacity, is_rising, &level)) != UINT32_MAX;)
		for (uint32_t i = 0; i < m->n_flows; i++)
			for (uint32_t h = 0; is_rising[i] && h < m->flow[i].n_hops; h++)
				if (m->flow[i].hop[h].link == l) {
					m->flow[i].rate = level * weight_of(m, &m->flow[i]);
					is_rising[i] = false;
				}
}

static double earlier(double a, double b, double now)
{
	return b > now && b < a ? b : a;
}

static double next_event(const struct model *m, double now, uint32_t *ends)
{
	double t = INFINITY;
	*ends = UINT32_MAX;
	for (uint32_t i = 0; i < m->n_flows; i++) {
		const struct model_flow *x = &m->flow[i];
		if (x->finish == INFINITY)
			t = earlier(earlier(t, x->drain, now), x->cancel, now);
	}
	for (uint32_t i = 0; i < m->n_changes; i++)
		t = earlier(t, m->change[i].t, now);
	for (uint32_t i = 0; i < m->n_flows; i++) {
		const struct model_flow *x = &m->flow[i];
		if (x->is_draining && x->rate > 0 && now + x->left / x->rate <= t) {
			t = now + x->left / x->rate;
			*ends = i;
		}
	}
	return t;
}

static void finish(struct model_flow *x, double t)
{
	x->is_draining = false;
	x->finish = t;
}

void model_run(struct model *m)
{
	double capacity[MODEL_LINKS], now = -1, t;
	uint32_t ends;
	for (uint32_t l = 0; l < m->n_links; l++)
		capacity[l] = m->link[l].capacity_Bps;
	for (uint32_t i = 0; i < m->n_flows; i++) {
		struct model_flow *x = &m->flow[i];
		x->drain = x->start + latency_of(m, x);
		x->left = x->bytes;
		x->finish = INFINITY;
		x->is_draining = false;
	}
	for (; (t = next_event(m, now, &ends)) < INFINITY; now = t) {
		for (uint32_t i = 0; i < m->n_flows; i++)
			m->flow[i].left -= m->flow[i].is_draining ? m->flow[i].rate * (t - now) : 0;
		if (ends != UINT32_MAX)
			finish(&m->flow[ends], t);
		for (uint32_t i = 0; i < m->n_changes; i++)
			if (m->change[i].t == t)
				capacity[m->change[i].link] = m->change[i].capacity;
		for (uint32_t i = 0; i < m->n_flows; i++) {
			struct model_flow *x = &m->flow[i];
			if (x->cancel == t && x->finish == INFINITY)
				finish(x, NAN);
			else if (x->drain == t && x->finish == INFINITY && (x->bytes == 0 || !x->n_hops))
				finish(x, t);
			else if (x->drain == t && x->finish == INFINITY)
				x->is_draining = true;
		}
		set_rates(m, capacity);
	}
}

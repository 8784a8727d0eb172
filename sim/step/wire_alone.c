/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves a phase of a collective, on links that no other flow uses, on a network of these links. */
#include "step/wire_state.h"

#include "base/mem.h"

#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Returns the links of the phase's flows, sorted; the caller frees them. */
static uint32_t *links_of(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t *n_links)
{
	uint32_t n = phase_flows(s, k, x), used = 0, kept = 0, cap = 0, *link = NULL;
	struct phase_flow f;
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, k, x, j, &f);
		for (uint32_t h = 0; h < f.n; h++) {
			MEM_GROW(link, used, cap);
			link[used++] = f.link[h];
		}
	}
	if (used)
		qsort(link, used, sizeof *link, by_number);
	for (uint32_t i = 0; i < used; i++)
		if (!i || link[i] != link[i - 1])
			link[kept++] = link[i];
	*n_links = kept;
	return link;
}

static struct flownet *start_all(const struct orr_step *s, const struct iteration *k, const struct instance *x, uint32_t *handle)
{
	uint32_t n = phase_flows(s, k, x), n_links, *link = links_of(s, k, x, &n_links);
	struct flow_link *copy = mem_alloc((n_links + 1) * sizeof *copy);
	struct phase_flow f;
	for (uint32_t i = 0; i < n_links; i++)
		copy[i] = (struct flow_link){ s->wire->capacity[link[i]], 0 }; /* latencies are set per flow */
	struct flownet *net = flownet_new(copy, n_links, FLOW_MAX_MIN);
	for (uint32_t j = 0; j < n; j++) {
		phase_flow_at(s, k, x, j, &f);
		for (uint32_t h = 0; h < f.n; h++)
			f.hop[h].link = (uint32_t)((uint32_t *)bsearch(&f.link[h], link, n_links, sizeof *link, by_number) - link);
		handle[j] = flownet_start(net, f.bytes, f.latency_s, f.hop, f.n, j);
	}
	mem_free(copy);
	mem_free(link);
	return net;
}

double phase_alone(const struct orr_step *s, const struct iteration *k, const struct instance *x, double until_s, double *left)
{
	uint32_t n = phase_flows(s, k, x), *handle = mem_alloc((n + 1) * sizeof *handle);
	bool *has_ended = mem_zalloc(n + 1, sizeof *has_ended);
	struct flownet *net = start_all(s, k, x, handle);
	double next, when, last = 0;
	uint64_t tag;
	for (uint32_t ended = 0; ended < n && (next = flownet_next(net)) <= until_s;) {
		if (isinf(next)) {
			last = INFINITY; /* a link has zero capacity */
			break;
		}
		flownet_advance(net, next);
		for (; flownet_pop(net, &tag, &when); ended++) {
			has_ended[tag] = true;
			last = when;
		}
	}
	if (left) {
		flownet_advance(net, until_s);
		for (uint32_t j = 0; j < n; j++)
			left[j] = has_ended[j] ? 0 : flownet_left(net, handle[j]);
	}
	flownet_free(net);
	mem_free(handle);
	mem_free(has_ended);
	return last;
}

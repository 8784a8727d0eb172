/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * servers.h - placement of parameter servers, and the parameters that each server holds
 *
 * A server is an endpoint: the host of a node, or a GPU. Workers are GPUs 0..workers-1. A dedicated server takes a whole
 * node, so the GPUs of the last nodes do not train. A message's bytes are distributed over the
 * servers either in equal parts or tensor by tensor.
 */
#ifndef ORR_POLICIES_SERVERS_H
#define ORR_POLICIES_SERVERS_H

#include "messages.h"

#include <string.h>

struct servers {
	uint32_t n, workers;
	uint32_t *endpoint;
	double *params;    /* parameters, [message * n + server] */
	uint32_t *largest; /* message with the server's largest part, usually the last to arrive */
};

static inline void servers_free(struct servers *v)
{
	orr_free(v->endpoint);
	orr_free(v->params);
	orr_free(v->largest);
}

/* Returns the nodes with (or without) GPUs, in order; the caller frees the list. */
static inline uint32_t *nodes_with_gpus_(const struct orr_step *s, const struct orr_step_facts *f, bool with, uint32_t *n)
{
	bool *has = orr_alloc(f->nodes + 1u, sizeof *has);
	uint32_t *list = orr_alloc(f->nodes + 1u, sizeof *list);
	*n = 0;
	for (uint32_t g = 0; g < f->gpus; g++)
		has[orr_node_of(s, g)] = true;
	for (uint32_t i = 0; i < f->nodes; i++)
		if (has[i] == with)
			list[(*n)++] = i;
	orr_free(has);
	return list;
}

/* Places servers on nodes. dedicated: the last nodes with GPUs; cpu-nodes: nodes without GPUs; else spread over nodes with GPUs. */
static inline int servers_on_nodes_(
	struct servers *v, const struct orr_step *s, const struct orr_step_facts *f, const char *placement, struct orr_error *err)
{
	uint32_t nodes;
	bool is_dedicated = !strcmp(placement, "dedicated");
	uint32_t *node = nodes_with_gpus_(s, f, strcmp(placement, "cpu-nodes") != 0, &nodes);
	int code = ORR_OK;
	if (is_dedicated && v->n >= nodes)
		code = orr_fail(err, ORR_EINPUT,
			"servers=%u: expected fewer than the %u nodes with GPUs, because with placement=dedicated only the other nodes "
			"train",
			v->n, nodes);
	else if (!nodes)
		code = orr_fail(err, ORR_EINPUT, "placement=cpu-nodes: expected a cluster with nodes without GPUs");
	uint32_t first = is_dedicated && !code ? nodes - v->n : 0;
	for (uint32_t j = 0; j < v->n && !code; j++) {
		uint64_t at = v->n <= nodes && !is_dedicated ? (uint64_t)j * nodes / v->n : j % nodes;
		v->endpoint[j] = f->gpus + node[first + (uint32_t)at];
	}
	while (is_dedicated && !code && v->workers && orr_node_of(s, v->workers - 1) >= node[first])
		v->workers--;
	orr_free(node);
	return code;
}

/* Places the servers. n 0: one server per eligible node (dedicated: one server; gpu: one per GPU). */
static inline int servers_place(struct servers *v, const struct orr_step *s, uint32_t n, const char *placement, struct orr_error *err)
{
	struct orr_step_facts f;
	orr_step_facts(s, &f);
	uint32_t can;
	orr_free(nodes_with_gpus_(s, &f, strcmp(placement, "cpu-nodes") != 0, &can));
	bool on_gpus = !strcmp(placement, "gpu");
	v->workers = f.gpus;
	v->n = n ? n : on_gpus ? f.gpus : !strcmp(placement, "dedicated") || !can ? 1 : can;
	v->endpoint = orr_alloc(v->n, sizeof *v->endpoint);
	if (!on_gpus)
		return servers_on_nodes_(v, s, &f, placement, err);
	for (uint32_t j = 0; j < v->n; j++)
		v->endpoint[j] = v->n <= f.gpus ? (uint32_t)((uint64_t)j * f.gpus / v->n) : j % f.gpus;
	return ORR_OK;
}

/* Assigns each tensor, in forward order, to the server with the fewest parameters so far (TensorFlow's GreedyLoadBalancingStrategy). */
static inline void servers_deal_tensors_(struct servers *v, const struct messages *m, const struct orr_step *s, double *held)
{
	for (uint32_t i = m->n; i--;)
		for (uint32_t l = m->message[i].first; l < m->message[i].first + m->message[i].count; l++) {
			struct orr_layer_info info;
			orr_step_layer(s, l, &info);
			struct layer_tensors t = layer_tensors(&info);
			for (uint32_t k = 0; k < t.matrices + t.rests; k++) {
				double size = k < t.matrices ? t.matrix : t.rest;
				uint32_t least = 0;
				for (uint32_t j = 1; j < v->n; j++)
					if (held[j] < held[least])
						least = j;
				held[least] += size;
				v->params[(size_t)i * v->n + least] += size;
			}
		}
}

/* Distributes whole chunks. Servers without parameters are removed. */
static inline void servers_deal(struct servers *v, const struct messages *m, const struct orr_step *s, bool by_tensor)
{
	double *held = orr_alloc(v->n, sizeof *held);
	v->params = orr_alloc((size_t)m->n * v->n + 1, sizeof *v->params);
	v->largest = orr_alloc(v->n, sizeof *v->largest);
	if (by_tensor)
		servers_deal_tensors_(v, m, s, held);
	uint32_t all = v->n;
	while (by_tensor && v->n > 1 && held[v->n - 1] <= 0)
		v->n--;
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t j = 0; j < v->n; j++) {
			double part = by_tensor ? v->params[(size_t)i * all + j] : m->message[i].params / v->n;
			v->params[(size_t)i * v->n + j] = part;
			if (part > v->params[(size_t)v->largest[j] * v->n + j])
				v->largest[j] = i;
		}
	orr_free(held);
}

#endif

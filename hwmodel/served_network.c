/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables of batches from the layers of a DNN: docs/models/serve-networks.md.
 *
 * The layers of a pipeline stage are consecutive; the division minimises the busiest stage at batch 1. Within a stage, tp GPUs
 * split every product and gather its outputs.
 */
#include "hwmodel/served_network.h"

#include "base/mem.h"
#include "hwmodel/cost.h"

#include <math.h>
#include <stdio.h>

enum { DEFAULT_LARGEST = 64 };
static const double MESSAGE_BYTES = 4; /* per element of a feature map that GPUs exchange, and of an answer */

/* ---- the model ---- */

/* Returns the bytes of an input: one per value of an image, four per value of others. */
static double input_bytes(const struct dnn *d)
{
	unsigned high, wide, channels;
	int end = 0;
	bool is_image = sscanf(d->input, "%ux%ux%u%n", &high, &wide, &channels, &end) == 3 && !d->input[end];
	return d->input_elems * (is_image ? 1 : 4);
}

static bool is_transformer(const struct dnn *d)
{
	return d->blocks > 0 && d->hidden > 0;
}

/* Returns the elements of the largest activations alive at once, per sample: input and output of a layer and, in a transformer, the
 * residual. */
static double live_elems(const struct dnn *d)
{
	double most = 0;
	for (uint32_t l = 0; l < d->n_layers; l++)
		most = fmax(most, d->layer[l].in_elems + d->layer[l].out_elems);
	return most + (is_transformer(d) ? (double)d->seq * d->hidden : 0);
}

void served_network_set_precision(struct served *m, enum precision p)
{
	const struct dnn *d = m->network->dnn;
	double element = precision_element_bytes(p), bytes = live_elems(d) * element;
	m->weight_bytes = d->params * element;
	for (uint32_t i = 0; i < m->n_batches; i++)
		m->memory[i] = (struct served_memory){ bytes * m->batch[i], bytes * m->batch[i], 0 };
}

const char served_network_source[] = "layers of the DNN, by the cost model of the device";

int served_network_open(struct served *m, const char *dnn, struct orr_error *err)
{
	struct dnn *d = dnn_load(dnn, err);
	if (!d)
		return ORR_EINPUT;
	m->network = mem_zalloc(1, sizeof *m->network);
	m->network->dnn = d;
	m->n_batches = m->n_batches ? m->n_batches : DEFAULT_LARGEST;
	m->batch = mem_zalloc(m->n_batches, sizeof *m->batch);
	m->memory = mem_zalloc(m->n_batches, sizeof *m->memory);
	for (uint32_t i = 0; i < m->n_batches; i++)
		m->batch[i] = i + 1;
	m->layers = m->layers ? m->layers : d->blocks ? d->blocks : d->n_layers;
	m->input_bytes = m->input_bytes > 0 ? m->input_bytes : input_bytes(d);
	m->output_bytes = m->output_bytes > 0 ? m->output_bytes : d->layer[d->n_layers - 1].out_elems * MESSAGE_BYTES;
	served_network_set_precision(m, PRECISION_FP16);
	return ORR_OK;
}

void served_network_free(struct served_network *n)
{
	if (n)
		dnn_free(n->dnn);
	mem_free(n);
}

/* ---- on a place ---- */

struct link {
	double latency_s, Bps;
};

struct place {
	const struct served *m;
	const struct dnn *d;
	struct served_place p;
	struct cost *cost;
	struct link tp_link, pp_link;
	uint32_t *stage_end; /* first layer after each stage */
};

/* Returns the time, s, of one layer. Layers outside the blocks of a transformer run whole on each GPU of the group. */
static double layer_s(const struct place *x, uint32_t l, double samples)
{
	bool is_split = !is_transformer(x->d) || x->d->layer[l].block != DNN_NO_BLOCK;
	return cost_layer_s(x->cost, l, DNN_FORWARD, samples, is_split ? x->p.tp : 1, false);
}

static bool is_product(const struct dnn_layer *l)
{
	return l->kind == ORR_LAYER_CONV || l->kind == ORR_LAYER_LINEAR || l->kind == ORR_LAYER_RNN;
}

/* Returns the number of gathers after the layer, and their bytes per sample: two of the hidden state at the end of each block of a
 * transformer, else one of the output of each product with weights. */
static int gathers(const struct place *x, uint32_t l, double *bytes)
{
	const struct dnn *d = x->d;
	const struct dnn_layer *v = &d->layer[l];
	bool ends_block = v->block != DNN_NO_BLOCK && (l + 1 == d->n_layers || d->layer[l + 1].block != v->block);
	*bytes = MESSAGE_BYTES * (is_transformer(d) ? (double)d->seq * d->hidden : v->out_elems);
	if (x->p.tp < 2)
		return 0;
	return is_transformer(d) ? 2 * ends_block : is_product(v);
}

/* Returns the time, s, of an all-gather of `bytes` among the GPUs of a stage. */
static double gather_s(const struct place *x, uint32_t stage, double bytes, double *network_bytes)
{
	const struct served_net *n = x->p.net;
	double s = n && bytes > 0 ? n->reduce_s(n->ctx, stage, true, bytes, network_bytes) : -1;
	if (s >= 0 || x->p.tp < 2)
		return fmax(0, s);
	return ceil(log2(x->p.tp)) * x->tp_link.latency_s + (x->p.tp - 1.0) / x->p.tp * bytes / x->tp_link.Bps;
}

/* Returns the time, s, of the hop after a stage: each GPU sends its share of the boundary's feature map, and the next stage gathers it. */
static double hop_s(const struct place *x, uint32_t stage, double samples, double *network_bytes)
{
	const struct dnn *d = x->d;
	const struct served_net *n = x->p.net;
	double elems = is_transformer(d) ? (double)d->seq * d->hidden : d->layer[x->stage_end[stage] - 1].out_elems;
	double bytes = MESSAGE_BYTES * elems * samples, s = n && bytes > 0 ? n->hop_s(n->ctx, stage, bytes, network_bytes) : -1;
	if (s < 0)
		s = x->pp_link.latency_s + bytes / x->p.tp / x->pp_link.Bps;
	return x->p.tp < 2 ? s : s + gather_s(x, stage + 1, bytes, network_bytes);
}

/* A batch. stage_s: time of the busiest pipeline stage or hop. */
struct batch {
	double s, stage_s, network_bytes;
};

static struct batch compute(const struct place *x, double samples)
{
	struct batch b = { 0 };
	uint32_t l = 0;
	for (uint32_t stage = 0; stage < x->p.pp; stage++) {
		double stage_s = 0, bytes;
		for (; l < x->stage_end[stage]; l++) {
			stage_s += layer_s(x, l, samples);
			for (int n = gathers(x, l, &bytes); n > 0; n--)
				stage_s += gather_s(x, stage, bytes * samples, &b.network_bytes);
		}
		double hop = stage + 1 < x->p.pp ? hop_s(x, stage, samples, &b.network_bytes) : 0;
		b.s += stage_s + hop;
		b.stage_s = fmax(b.stage_s, fmax(stage_s, hop));
	}
	return b;
}

/* ---- stages ---- */

/* Returns whether a stage may begin at the layer: between two blocks of a transformer, before any layer of other networks. */
static bool may_begin(const struct dnn *d, uint32_t l)
{
	return !is_transformer(d) ||
	       (l && d->layer[l].block != DNN_NO_BLOCK && d->layer[l].block > 0 && d->layer[l].block != d->layer[l - 1].block);
}

/* Returns the sums of the units' times from the first unit, and the first layer of each: unit[i] to unit[i + 1] - 1. */
static uint32_t find_units(const struct place *x, uint32_t *unit, double *sum)
{
	uint32_t n = 0;
	sum[0] = 0;
	for (uint32_t l = 0; l < x->d->n_layers; l++) {
		if (!l || may_begin(x->d, l)) {
			unit[n++] = l;
			sum[n] = sum[n - 1];
		}
		sum[n] += layer_s(x, l, 1);
	}
	unit[n] = x->d->n_layers;
	return n;
}

/* Divides the units among pp stages so that the longest stage is as short as possible (dynamic programming). */
static void divide(const double *sum, const uint32_t *unit, uint32_t n, uint32_t pp, uint32_t *stage_end)
{
	size_t wide = (size_t)n + 1;
	double *best = mem_alloc((pp + 1) * wide * sizeof *best); /* [stages][units]: the longest stage */
	uint32_t *from = mem_zalloc((pp + 1) * wide, sizeof *from);
	for (uint32_t i = 0; i <= n; i++)
		best[i] = i ? INFINITY : 0;
	for (uint32_t k = 1; k <= pp; k++)
		for (uint32_t i = 0; i <= n; i++) {
			best[k * wide + i] = INFINITY;
			for (uint32_t j = k - 1; j < i; j++) {
				double longest = fmax(best[(k - 1) * wide + j], sum[i] - sum[j]);
				if (longest < best[k * wide + i]) {
					best[k * wide + i] = longest;
					from[k * wide + i] = j;
				}
			}
		}
	for (uint32_t k = pp, i = n; k > 0; i = from[k * wide + i], k--)
		stage_end[k - 1] = unit[i];
	mem_free(best);
	mem_free(from);
}

static int find_stages(struct place *x, struct orr_error *err)
{
	uint32_t *unit = mem_zalloc((size_t)x->d->n_layers + 1, sizeof *unit);
	double *sum = mem_zalloc((size_t)x->d->n_layers + 1, sizeof *sum);
	uint32_t n = find_units(x, unit, sum);
	int rc = ORR_OK;
	x->stage_end = mem_zalloc((size_t)x->p.pp + 1, sizeof *x->stage_end);
	if (x->p.pp > n)
		rc = orr_fail(err, ORR_EINPUT, "model %.80s: expected at most %u pipeline stages, the number of its %s, found %u",
			x->m->name, n, is_transformer(x->d) ? "blocks" : "layers", x->p.pp);
	else
		divide(sum, unit, n, x->p.pp, x->stage_end);
	mem_free(unit);
	mem_free(sum);
	return rc;
}

/* ---- construction ---- */

static int check(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	const struct dnn *d = m->network->dnn;
	if (!p->device)
		return orr_fail(err, ORR_EINPUT, "model %.80s: times by layers: expected a device", m->name);
	if (is_transformer(d) && d->heads % p->tp)
		return orr_fail(err, ORR_EINPUT,
			"model %.80s: expected a number of GPUs per group (tp) that divides the %u heads, found %u", m->name, d->heads,
			p->tp);
	return ORR_OK;
}

/* Sets the links of messages that stay in a node. */
static void find_links(struct place *x)
{
	const struct device *dev = x->p.device;
	double Bps = dev->link_Bps > 0 ? dev->link_Bps : dev->pcie_Bps;
	x->tp_link = x->p.tp_Bps > 0 ? (struct link){ x->p.tp_latency_s, x->p.tp_Bps } : (struct link){ dev->link_latency_s, Bps };
	x->pp_link = x->p.pp_Bps > 0 ? (struct link){ x->p.pp_latency_s, x->p.pp_Bps } : (struct link){ dev->link_latency_s, Bps };
	if (!(Bps > 0)) /* a flat device: messages within a node take no time */
		x->tp_link.Bps = x->pp_link.Bps = INFINITY;
}

int served_network_place(const struct served *m, const struct served_place *p, struct served *out, struct orr_error *err)
{
	struct place x = { .m = m, .d = m->network->dnn, .p = *p };
	struct cost_options o = { .precision = p->precision, .profile = p->profile };
	if (check(m, p, err) || !(x.cost = cost_new(x.d, p->device, &o, err)))
		return ORR_EINPUT;
	find_links(&x);
	int rc = find_stages(&x, err);
	out->latency_s = mem_zalloc(m->n_batches, sizeof *out->latency_s);
	out->stage_s = mem_zalloc(m->n_batches, sizeof *out->stage_s);
	out->network_bytes = mem_zalloc(m->n_batches, sizeof *out->network_bytes);
	for (uint32_t i = 0; !rc && i < m->n_batches; i++) {
		struct batch b = compute(&x, m->batch[i]);
		out->latency_s[i] = b.s;
		out->stage_s[i] = p->pp > 1 ? b.stage_s : b.s;
		out->network_bytes[i] = b.network_bytes;
	}
	out->source = mem_strdup(cost_source(x.cost, 1));
	cost_free(x.cost);
	mem_free(x.stage_end);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixture of experts: docs/models/serve-moe.md. */
#include "hwmodel/served_moe.h"

#include "hwmodel/served_llm.h"

#include <math.h>

/* ---- counts ---- */

static double expert_parameters(const struct served_moe *x)
{
	return 3 * x->hidden * x->expert_width;
}

static double moe_layers(const struct served_moe *x)
{
	return x->layers - x->dense_layers;
}

/* Parameters of a layer outside attention and experts: two norms, and the router. */
static double rest_parameters(const struct served_moe *x)
{
	return x->layers * 2 * x->hidden + x->hidden + moe_layers(x) * (x->experts * x->hidden + x->experts);
}

static double dense_parameters(const struct served_moe *x)
{
	return x->dense_layers * 3 * x->hidden * x->dense_width;
}

double moe_parameters(const struct served_moe *x)
{
	return x->layers * x->attention_parameters + rest_parameters(x) + dense_parameters(x) + 2 * x->vocabulary * x->hidden +
	       moe_layers(x) * (x->experts + x->shared) * expert_parameters(x);
}

double moe_active(const struct served_moe *x)
{
	return x->layers * x->attention_parameters + rest_parameters(x) + dense_parameters(x) + 2 * x->vocabulary * x->hidden +
	       moe_layers(x) * (x->top + x->shared) * expert_parameters(x);
}

double moe_distinct_experts(const struct served_moe *x, double tokens)
{
	return x->experts * -expm1(tokens * log1p(-x->top / x->experts));
}

double moe_distinct_groups(double experts, double top, double groups)
{
	double others = experts - experts / groups, missed = 1; /* C(others, top) / C(experts, top) */
	for (double i = 0; i < top; i++)
		missed *= fmax(0, others - i) / (experts - i);
	return groups * (1 - missed);
}

double moe_exchange_s(const struct served_moe *x, const struct device *d, double tokens, double bytes, double ranks)
{
	double sent = tokens * x->top * bytes, near = fmin(ranks, x->node_gpus);
	if (ranks < 2 || !(tokens > 0))
		return 0;
	double between = x->alltoall_Bps > 0 ? x->alltoall_Bps : d->link_Bps;
	double inside = d->link_Bps > 0 ? d->link_Bps : between;
	/* Both kinds of links work at the same time. */
	return x->alltoall_s + fmax(sent * (ranks - near) / ranks / between, sent * (near - 1) / ranks / inside);
}

/* ---- time ---- */

/* Returns the time of a product: flops or reading its weights. */
static double product_s(const struct served_moe *x, const struct device *d, double flops, double weights)
{
	enum precision p = x->parameter_bytes > 1 ? PRECISION_FP16 : PRECISION_FP8;
	double rate = d->peak_flops[p] * d->gemm_efficiency[p];
	return fmax(flops / rate, weights * x->parameter_bytes / (d->memory_Bps * d->memory_efficiency));
}

static double causal_pairs(const struct llm_load *w)
{
	double square = w->prompts ? w->prompt_tokens * w->prompt_tokens / w->prompts : 0;
	return w->prompt_pairs - 0.5 * (square < w->prompt_pairs ? square : w->prompt_pairs);
}

/* Attention of one layer on the busiest GPU of n. */
static double attention_s(const struct served_moe *x, const struct served_place *p, const struct llm_load *w, double tokens)
{
	const struct device *d = p->device;
	double n = p->tp, parts = x->is_data_parallel ? n : fmin(n, x->kv_heads);
	double flop16 = d->peak_flops[PRECISION_FP16] * d->gemm_efficiency[PRECISION_FP16];
	double bandwidth = d->memory_Bps * d->memory_efficiency, share = w->decodes ? 1 + w->checked / w->decodes : 1;
	double context = w->decode_context + w->decodes;
	double s = product_s(x, d, 2 * x->attention_parameters * tokens / n, x->attention_parameters / (x->is_data_parallel ? 1 : n));
	s += fmax(context / parts * x->kv_values * x->kv_element_bytes / bandwidth, context / n * x->decode_pair_flops * share / flop16);
	s += causal_pairs(w) / n * x->pair_flops / flop16;
	if (!x->is_data_parallel && n > 1)
		s += 2 * ceil(log2(n)) * d->link_latency_s + 2 * (n - 1) / n * tokens * x->hidden * 2 / d->link_Bps;
	return s;
}

/* Experts of one layer on the busiest GPU of n. */
static double experts_s(const struct served_moe *x, const struct served_place *p, double tokens)
{
	double n = p->tp, own = tokens / n, one = expert_parameters(x);
	double s = product_s(x, p->device, 2 * one * tokens * x->top / n * x->imbalance, moe_distinct_experts(x, tokens) / n * one);
	return x->shared > 0 ? s + product_s(x, p->device, 2 * one * x->shared * own, one * x->shared) : s;
}

struct moe_parts served_moe_parts(const struct served_moe *x, const struct served_place *p, const struct llm_load *w)
{
	const struct device *d = p->device;
	double n = p->tp, tokens = w->decodes + w->prompt_tokens + w->checked, words = w->decodes + w->prompts + w->checked;
	struct moe_parts out = { .host = x->constant_s + x->layers * x->kernels * d->launch_s };
	out.attention = x->layers * attention_s(x, p, w, tokens);
	out.experts = moe_layers(x) * experts_s(x, p, tokens);
	double dense = 3 * x->hidden * x->dense_width;
	out.dense = x->dense_layers > 0 ? x->dense_layers * product_s(x, d, 2 * dense * tokens / n, dense) : 0;
	out.head = product_s(x, d, 2 * x->vocabulary * x->hidden * words / n, x->vocabulary * x->hidden / n);
	out.exchange = moe_layers(x) *
		       (moe_exchange_s(x, d, tokens / n, x->dispatch_bytes, n) + moe_exchange_s(x, d, tokens / n, x->combine_bytes, n));
	return out;
}

/* Returns the bandwidth of the device's link; 0: it has none. */
static double device_Bps(const struct device *d)
{
	return d->link_Bps > 0 ? d->link_Bps : d->pcie_Bps;
}

/* A hop between stages sends the hidden states. */
double served_moe_iteration(const struct served_moe *x, const struct served_place *p, const struct llm_load *w)
{
	struct moe_parts t = served_moe_parts(x, p, w);
	double busy = t.attention + t.experts + t.dense, tokens = w->decodes + w->prompt_tokens + w->checked;
	double body = x->has_two_batches ? fmax(busy, t.exchange) : busy + t.exchange;
	double hop = 0;
	if (p->pp > 1 && p->pp_Bps > 0)
		hop = p->pp_latency_s + tokens * x->hidden * 2 / p->tp / p->pp_Bps;
	else if (p->pp > 1)
		hop = p->device->link_latency_s + tokens * x->hidden * 2 / p->tp / device_Bps(p->device);
	return t.host + body + t.head + (p->pp - 1) * hop;
}

/* ---- memory ---- */

void served_moe_settle(struct served *m)
{
	struct served_moe *x = m->llm->moe;
	x->dispatch_bytes = x->dispatch_bytes > 0    ? x->dispatch_bytes
			    : x->parameter_bytes > 1 ? 2 * x->hidden
						     : x->hidden + 4 * x->hidden / 128;
	x->combine_bytes = x->combine_bytes > 0 ? x->combine_bytes : 2 * x->hidden;
	x->decode_pair_flops = x->decode_pair_flops > 0 ? x->decode_pair_flops : x->pair_flops;
	m->layers = (uint32_t)x->layers;
	m->weight_bytes = moe_parameters(x) * x->parameter_bytes;
	m->kv_bytes = x->layers * x->kv_values * x->kv_element_bytes;
}

int served_moe_check(const struct served *m, const struct served_place *p, struct orr_error *err)
{
	const struct served_moe *x = m->llm->moe;
	const struct device *d = p->device;
	if (!d)
		return orr_fail(
			err, ORR_EINPUT, "model %.80s: the times of this model are computed from its shapes: expected a device", m->name);
	enum precision need = x->parameter_bytes > 1 ? PRECISION_FP16 : PRECISION_FP8;
	if (!(d->peak_flops[need] > 0))
		return orr_fail(err, ORR_EINPUT, "model %.80s: device %.80s has no rate for %s: expected $.moe.parameter_bytes=2", m->name,
			d->name, precision_name(need));
	if (fmod(x->experts, p->tp) > 0)
		return orr_fail(err, ORR_EINPUT, "model %.80s: %g experts cannot be shared by %u GPUs: expected a divisor", m->name,
			x->experts, p->tp);
	if (fmod(x->layers, p->pp) > 0)
		return orr_fail(err, ORR_EINPUT, "model %.80s: %g layers: expected a multiple of the %u stages", m->name, x->layers, p->pp);
	if (p->pp > 1 && !(p->pp_Bps > 0) && !(device_Bps(d) > 0))
		return orr_fail(
			err, ORR_EINPUT, "model %.80s: device %.80s has no link: expected pipeline parallelism of 1", m->name, d->name);
	return ORR_OK;
}

/* Data parallelism copies all weights but those of experts and embeddings to each GPU of a stage. */
double served_moe_kv_tokens(const struct served *m, const struct served_place *p, double part)
{
	const struct served_moe *x = m->llm->moe;
	double n = p->tp, experts = moe_layers(x) * x->experts * expert_parameters(x), embeddings = 2 * x->vocabulary * x->hidden;
	double copied = moe_parameters(x) - experts - embeddings;
	double own = ((experts + embeddings) / n + copied / (x->is_data_parallel ? 1 : n)) * x->parameter_bytes / p->pp;
	double room = p->device->memory_bytes * part - own, parts = x->is_data_parallel ? n : fmin(n, x->kv_heads);
	return room > 0 ? floor(room * parts / (m->kv_bytes / p->pp)) : 0;
}

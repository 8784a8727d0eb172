/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/hwmodel/llm_step.h"

#include <math.h>

static double law(const struct llm_link *l, double share, double bytes)
{
	return l->latency_s + share * bytes / l->Bps + l->sqrt_s * sqrt(bytes);
}

double llm_all_reduce_s(const struct llm_link *l, uint32_t n, double bytes)
{
	return n < 2 || bytes <= 0 ? 0 : law(l, 2.0 * (n - 1) / n, bytes);
}

double llm_all_gather_s(const struct llm_link *l, uint32_t n, double bytes)
{
	return n < 2 || bytes <= 0 ? 0 : law(l, (n - 1.0) / n, bytes);
}

/* Compute and tensor-parallel communication of a range of layers, for one micro-batch, s. */
struct part {
	double forward, backward, recompute, tp;
};

static void add_part(struct part *sum, const struct part *p, double times)
{
	sum->forward += times * p->forward;
	sum->backward += times * p->backward;
	sum->recompute += times * p->recompute;
	sum->tp += times * p->tp;
}

static double part_s(const struct part *p)
{
	return p->forward + p->backward + p->recompute + p->tp;
}

/* A transformer as equal blocks of layers, with a head before and a tail after them. */
struct view {
	const struct dnn *d;
	const struct cost *c;
	const struct llm_step *s;
	uint32_t first, per_block, end; /* first and per_block: first layer and number of layers of block 0; end: index of the first layer
					   after the last block */
	double sent;                    /* bytes of a micro-batch's hidden state */
};

static struct part layers(const struct view *v, uint32_t first, uint32_t count)
{
	const struct llm_step *s = v->s;
	struct part p = { 0 };
	p.forward = cost_range_s(v->c, first, count, DNN_FORWARD, s->micro_batch, s->tp, s->sequence_parallel);
	p.backward = cost_range_s(v->c, first, count, DNN_BACKWARD_DATA, s->micro_batch, s->tp, s->sequence_parallel) +
		     cost_range_s(v->c, first, count, DNN_BACKWARD_WEIGHT, s->micro_batch, s->tp, s->sequence_parallel);
	return p;
}

/* Returns the seconds of recomputation per block: all layers, or (selective) those from scores to context. */
static double recomputed(const struct view *v, double forward)
{
	const struct llm_step *s = v->s;
	if (s->recompute == LLM_RECOMPUTE_FULL)
		return forward;
	if (s->recompute == LLM_RECOMPUTE_NONE)
		return 0;
	uint32_t i = v->first, end = v->first + v->per_block;
	while (i < end && v->d->layer[i].kind != ORR_LAYER_MATMUL)
		i++;
	while (end > i && v->d->layer[end - 1].kind != ORR_LAYER_MATMUL)
		end--;
	return cost_range_s(v->c, i, end - i, DNN_FORWARD, s->micro_batch, s->tp, s->sequence_parallel);
}

/*
 * Two collectives per block and direction: after attention and after the MLP (Shoeybi et al. 2019). With sequence parallelism
 * each is a reduce-scatter and an all-gather. Backward also gathers the input of both column-parallel products while it
 * computes their data gradients (Korthikanti et al. 2022, section 4.2). The part of this gather that exceeds the computation is
 * exposed.
 */
static double block_tp_s(const struct view *v)
{
	const struct llm_step *s = v->s;
	double reduce = llm_all_reduce_s(&s->tp_link, s->tp, v->sent), gather = llm_all_gather_s(&s->tp_link, s->tp, v->sent);
	double meeting = s->sequence_parallel ? 2 * gather : reduce;
	double sum = (s->recompute == LLM_RECOMPUTE_FULL ? 6 : 4) * meeting;
	if (!s->sequence_parallel)
		return sum;
	for (uint32_t i = v->first; i < v->first + v->per_block; i++) {
		const struct dnn_layer *l = &v->d->layer[i];
		if (l->kind == ORR_LAYER_LINEAR && l->out_elems > l->in_elems)
			sum += fmax(0, gather - cost_layer_s(v->c, i, DNN_BACKWARD_DATA, s->micro_batch, s->tp, true));
	}
	return sum;
}

static struct part block(const struct view *v)
{
	struct part p = layers(v, v->first, v->per_block);
	p.recompute = recomputed(v, p.forward);
	p.tp = block_tp_s(v);
	return p;
}

/* Adds the sums of the first and last stage: a table split by vocabulary needs a sum after the gather; an output layer sums its
 * input's gradient. */
static struct part ends(const struct view *v, bool is_first, bool is_last)
{
	const struct llm_step *s = v->s;
	struct part p = { 0 };
	double meeting =
		s->sequence_parallel ? llm_all_gather_s(&s->tp_link, s->tp, v->sent) : llm_all_reduce_s(&s->tp_link, s->tp, v->sent);
	struct part head = layers(v, 0, v->first), tail = layers(v, v->end, v->d->n_layers - v->end);
	head.tp = meeting * (s->sequence_parallel ? 2 : 1);
	tail.tp = meeting * (s->sequence_parallel ? 2 : 1);
	if (is_first)
		add_part(&p, &head, 1);
	if (is_last)
		add_part(&p, &tail, 1);
	return p;
}

static int check(const struct dnn *d, const struct llm_step *s, struct orr_error *err)
{
	if (d->blocks == 0)
		return orr_fail(err, ORR_EINPUT, "%s: expected a transformer, found no repeated blocks", d->name);
	if (!s->tp || !s->pp || !s->dp || !s->interleave || !(s->micro_batch > 0))
		return orr_fail(err, ORR_EINPUT, "%s: expected degrees of parallelism and a micro-batch above 0", d->name);
	if (d->blocks % (s->pp * s->interleave))
		return orr_fail(err, ORR_EINPUT, "%s: %u layers: expected a multiple of the %u stages of %u chunks", d->name, d->blocks,
			s->pp, s->interleave);
	if (d->heads % s->tp)
		return orr_fail(err, ORR_EINPUT, "%s: %u heads cannot be split over %u devices", d->name, d->heads, s->tp);
	double m = s->global_batch / (s->dp * s->micro_batch);
	if (m < 1 || m != floor(m))
		return orr_fail(err, ORR_EINPUT, "%s: a batch of %g is not a whole number of micro-batches of %g on %u replicas", d->name,
			s->global_batch, s->micro_batch, s->dp);
	return ORR_OK;
}

static void find_blocks(struct view *v)
{
	const struct dnn *d = v->d;
	uint32_t i = 0;
	while (i < d->n_layers && d->layer[i].block != 0)
		i++;
	v->first = i;
	while (i < d->n_layers && d->layer[i].block == 0)
		i++;
	v->per_block = i - v->first;
	v->end = v->first + v->per_block * d->blocks;
}

/* Returns the time of one hop between stages: every tensor-parallel rank sends its part, and the receivers gather it unless
 * sequence_parallel. */
static double hop_s(const struct view *v)
{
	const struct llm_step *s = v->s;
	if (s->pp < 2)
		return 0;
	double send = law(&s->pp_link, 1, v->sent / s->tp);
	return send + (s->sequence_parallel ? 0 : llm_all_gather_s(&s->tp_link, s->tp, v->sent));
}

static double range_params(const struct dnn *d, uint32_t first, uint32_t end)
{
	double sum = 0;
	for (uint32_t i = first; i < end; i++)
		sum += d->layer[i].params;
	return sum;
}

/* Returns whether the output layer shares the embedding table and so adds no parameters. */
static bool is_tied(const struct view *v)
{
	for (uint32_t i = v->end; i < v->d->n_layers; i++)
		if (v->d->layer[i].kind == ORR_LAYER_LINEAR && v->d->layer[i].params == 0)
			return true;
	return false;
}

/* Adds the work after the last backward pass: the all-reduce of gradients over replicas, the all-reduce of a tied table between first
 * and last stage, and the update. */
static void finish(const struct view *v, struct llm_times *t)
{
	const struct llm_step *s = v->s;
	const struct dnn *d = v->d;
	double head = range_params(d, 0, v->first), tail = range_params(d, v->end, d->n_layers);
	double params = range_params(d, v->first, v->end) / s->pp + (s->pp > 1 ? fmax(head, tail) : head + tail);
	t->dp_s = llm_all_reduce_s(&s->dp_link, s->dp, params / s->tp * s->gradient_bytes);
	if (s->pp > 1 && is_tied(v))
		t->dp_s += llm_all_reduce_s(&s->pp_link, 2, (double)d->vocab * d->hidden / s->tp * s->gradient_bytes);
	t->update_s = cost_update_s(v->c, params / s->tp, s->state_bytes);
}

static double step_flops(const struct dnn *d, double batch)
{
	double sum = 0;
	for (uint32_t i = 0; i < d->n_layers; i++)
		if (d->layer[i].kind == ORR_LAYER_LINEAR || d->layer[i].kind == ORR_LAYER_MATMUL)
			sum += d->layer[i].fwd_flops;
	return 3 * batch * sum;
}

int llm_step_times(const struct dnn *d, const struct cost *c, const struct llm_step *s, struct llm_times *out, struct orr_error *err)
{
	int rc = check(d, s, err);
	if (rc)
		return rc;
	struct view v = { .d = d, .c = c, .s = s };
	find_blocks(&v);
	v.sent = s->micro_batch * d->seq * d->hidden * s->activation_bytes;
	struct part one = block(&v), busiest = { 0 };
	double hops = 2 * s->interleave * hop_s(&v), sum = 0, m = s->global_batch / (s->dp * s->micro_batch);
	for (uint32_t stage = 0; stage < s->pp; stage++) {
		struct part p = ends(&v, stage == 0, stage == s->pp - 1);
		add_part(&p, &one, (double)d->blocks / s->pp);
		sum += part_s(&p) + hops;
		if (part_s(&p) > part_s(&busiest))
			busiest = p;
	}
	*out = (struct llm_times){ .forward_s = m * busiest.forward,
		.backward_s = m * busiest.backward,
		.recompute_s = m * busiest.recompute,
		.tp_s = m * busiest.tp,
		.pp_s = m * hops,
		.bubble_s = (sum - part_s(&busiest) - hops) / s->interleave,
		.micro_batches = m,
		.model_flops = step_flops(d, s->global_batch) };
	finish(&v, out);
	out->total_s =
		out->forward_s + out->backward_s + out->recompute_s + out->tp_s + out->pp_s + out->dp_s + out->bubble_s + out->update_s;
	return ORR_OK;
}

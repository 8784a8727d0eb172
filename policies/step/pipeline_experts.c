/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs of a pipeline, and what experts and context parallelism add to it (pipeline.h). */
#include "pipeline_parts.h"

#include <math.h>

uint32_t pipe_gpu_of(const struct pipeline *p, uint32_t lane, uint32_t stage)
{
	uint32_t tp = p->t.tp, shard = lane % tp, turn = p->dp / p->t.dp_stride;
	uint32_t replica = lane / tp % turn * p->t.dp_stride + lane / tp / turn;
	return p->t.is_pp_inner ? shard + tp * (stage + p->t.pp * replica) : shard + tp * (replica + p->dp * stage);
}

uint32_t pipe_slowest_gpu(const struct pipeline *p, const struct orr_step *s, uint32_t stage, uint32_t first, uint32_t layers)
{
	uint32_t lanes = p->t.tp * p->dp, best = pipe_gpu_of(p, 0, stage);
	double most = -1;
	for (uint32_t l = 0; l < lanes; l++) {
		double x = orr_cost(s, pipe_gpu_of(p, l, stage), ORR_PASS_FORWARD, first, layers, 1, 1);
		if (x > most) {
			most = x;
			best = pipe_gpu_of(p, l, stage);
		}
	}
	return best;
}

/* ---- experts ---- */

int pipe_measure_experts(
	struct pipeline *p, struct orr_step *s, const struct orr_args *args, const struct orr_step_facts *f, struct orr_error *err)
{
	struct orr_step_experts model;
	uint32_t lanes = p->t.tp * p->dp, ep = p->t.ep;
	double samples = p->micro / p->t.cp, bytes = f->hidden * f->activation_bytes, token_bytes[2] = { bytes, bytes };
	if (!orr_step_experts(s, &model) && ep == 1)
		return ORR_OK;
	if (lanes % ep)
		return orr_fail(err, ORR_EINPUT, "ep=%u: expected a divisor of the %u GPUs of a stage", ep, lanes);
	if (p->t.tp > 1 && !p->t.sequence_parallel)
		return orr_fail(err, ORR_EINPUT,
			"tp=%u with experts: expected sequence_parallel=true, which divides the tokens that are sent", p->t.tp);
	uint32_t n = lanes * p->t.pp, *device = orr_alloc(n, sizeof *device);
	for (uint32_t i = 0; i < n; i++)
		device[i] = pipe_gpu_of(p, i % lanes, i / lanes);
	int rc = experts_init(&p->x, s, args, device, n, ep, samples * f->seq / p->t.tp, token_bytes, err);
	orr_free(device);
	if (rc)
		return rc;
	p->seg = orr_alloc(p->parts, sizeof *p->seg);
	for (uint32_t i = 0; i < p->parts; i++) {
		struct stage *g = &p->part[i];
		p->expert_params[i] = experts_params(s, g->first, g->layers);
		experts_measure(&p->x, s, pipe_slowest_gpu(p, s, i % p->t.pp, g->first, g->layers), g->first, g->layers, samples, p->t.tp,
			p->t.sequence_parallel, &p->seg[i]);
		g->forward_s = segments_seconds(&p->x, &p->seg[i], EXPERTS_FORWARD);
		g->backward_s = segments_seconds(&p->x, &p->seg[i], EXPERTS_BACKWARD);
	}
	return ORR_OK;
}

double pipe_params_of(const struct pipeline *p, uint32_t stage, uint32_t lane, double *experts)
{
	double params = 0;
	*experts = 0;
	for (uint32_t c = 0; c < p->t.chunks; c++) {
		double routed = p->expert_params[c * p->t.pp + stage];
		params += (p->part[c * p->t.pp + stage].params - routed) / p->t.tp;
		*experts += routed > 0 ? routed * p->x.routing.rank_experts[lane % p->t.ep] / p->x.model.experts : 0;
	}
	return params;
}

/* ---- passes ---- */

/* Returns the number of attentions of a part. */
static uint32_t attentions(const struct orr_step *s, const struct stage *g)
{
	uint32_t n = 0;
	struct orr_layer_info i;
	for (uint32_t l = g->first; l < g->first + g->layers; l++) {
		orr_step_layer(s, l, &i);
		n += i.kind == ORR_LAYER_MATMUL;
	}
	return n / 2;
}

orr_op pipe_among_context(
	struct pipeline *p, struct orr_step *s, uint32_t stage, const struct stage *g, enum orr_collective_op what, orr_op after)
{
	uint32_t times = p->t.cp > 1 ? attentions(s, g) : 0;
	if (!times || !(p->kv_bytes > 0))
		return after;
	struct orr_collective c = { .op = what, .bytes = p->kv_bytes, .repeat = times };
	orr_op op = orr_collective_lanes(s, stage, p->t.cp, p->t.tp, &c);
	orr_after(s, op, after);
	orr_label(s, op, "keys and values %u", stage);
	return op;
}

orr_op pipe_compute(
	struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t i, enum orr_work work, double seconds, orr_op input, orr_op *first)
{
	orr_op after[2] = { p->tail[stage], input };
	int pass = work == ORR_BACKWARD ? EXPERTS_BACKWARD : work == ORR_RECOMPUTE ? EXPERTS_AGAIN : EXPERTS_FORWARD;
	if (p->seg)
		return experts_build(
			&p->x, s, stage, &p->seg[i], pass, work, after, p->t.chunks > 1 ? STREAM_REDUCE : STREAM_WRAP + 1, first);
	*first = orr_compute(s, stage, work, seconds);
	orr_after(s, *first, after[0]);
	orr_after(s, *first, after[1]);
	return *first;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attention and mixtures of experts of today's language models. Grouped-query attention: Ainslie et al., EMNLP 2023, with norms of
 * queries and keys (Qwen3); multi-head latent attention: DeepSeek-AI, arXiv 2405.04434, 2.1; gated experts, shared experts and
 * node-limited routing: DeepSeek-AI, arXiv 2412.19437, 2.1.2. Shapes: docs/models/step-experts.md.
 *
 * The products of the E routed experts are one layer of E products. A token uses top_k of them, so each has tokens x top_k / E
 * rows if the load is equal.
 */
#include "hwmodel/dnn_plan.h"

int dnn_check_experts(const char *where, const struct dnn_experts *e, struct orr_error *err)
{
	if (e->experts % e->groups)
		return orr_fail(
			err, ORR_EINPUT, "%s: groups: expected a divisor of the %u experts, found %u", where, e->experts, e->groups);
	if (e->top_groups > e->groups)
		return orr_fail(
			err, ORR_EINPUT, "%s: top_groups: expected at most the %u groups, found %u", where, e->groups, e->top_groups);
	if (e->top_k > e->experts / e->groups * e->top_groups)
		return orr_fail(err, ORR_EINPUT, "%s: top_k: expected at most %u, the experts of %u groups, found %u", where,
			e->experts / e->groups * e->top_groups, e->top_groups, e->top_k);
	return ORR_OK;
}

double transformer_head_dim(const struct transformer *t)
{
	if (t->kv_rank)
		return (double)t->nope + t->rope;
	return t->head_dim ? t->head_dim : (double)t->hidden / t->heads;
}

double transformer_v_dim(const struct transformer *t)
{
	return t->kv_rank ? t->v_dim : transformer_head_dim(t);
}

void transformer_attention(struct plan *p, const struct transformer *t)
{
	struct dnn_attention *a = &p->d->attention;
	a->head_dim = (uint32_t)transformer_head_dim(t);
	a->v_dim = (uint32_t)transformer_v_dim(t);
	a->cached = t->kv_rank ? (double)t->kv_rank + t->rope : 2 * t->kv_heads * transformer_head_dim(t);
}

static struct dnn_layer *last(const struct plan *p)
{
	return &p->layer[p->n - 1];
}

static void rotate(struct plan *p, double elems)
{
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, "rope");
	l->fwd_flops = 3 * elems;
	l->in_elems = l->out_elems = elems;
	l->is_in_place = true;
}

/* Adds a norm of `params` parameters over `elems` elements per sample. */
static void norm(struct plan *p, const char *name, double params, double elems)
{
	op_norm(p, name, act_new(p, elems, 1, 1), OP_RMSNORM);
	last(p)->params = params;
}

/* The down-projections are not split: every shard computes them whole. */
static struct act latent(struct plan *p, const struct transformer *t, struct act x)
{
	double nope = t->nope, heads = t->heads;
	struct act q = x;
	if (t->q_rank) {
		q = op_linear(p, "q_down", x, t->q_rank, false, 1);
		last(p)->split = DNN_SPLIT_NONE;
		q = op_norm(p, "q_norm", q, OP_RMSNORM);
	}
	struct act y = op_linear(p, "q_up", q, heads * (nope + t->rope), false, 1);
	last(p)->split = DNN_SPLIT_COLUMNS;
	op_linear(p, "kv_down", x, (double)t->kv_rank + t->rope, false, 1);
	last(p)->split = DNN_SPLIT_NONE;
	struct act kv = op_norm(p, "kv_norm", act_new(p, t->kv_rank, x.h, x.w), OP_RMSNORM);
	op_linear(p, "kv_up", kv, heads * (nope + t->v_dim), false, 1);
	last(p)->split = DNN_SPLIT_COLUMNS;
	rotate(p, x.h * (heads + 1) * t->rope);
	return y;
}

struct act op_qkv(struct plan *p, const struct transformer *t, struct act x, double pieces, bool bias, bool rope)
{
	double d = transformer_head_dim(t), q = t->heads * d, kv = t->kv_heads * d;
	if (t->kv_rank)
		return latent(p, t, x);
	struct act y = op_linear(p, "qkv", x, q + 2 * kv, bias, pieces);
	if (t->qk_norm) {
		norm(p, "q_norm", t->qk_norm == QK_NORM_HEADS ? d : q, x.h * q);
		norm(p, "k_norm", t->qk_norm == QK_NORM_HEADS ? d : kv, x.h * kv);
	}
	if (rope)
		rotate(p, x.h * (q + kv));
	return y;
}

/* Adds the products of all routed experts. x: the inputs of all (token, expert) pairs. */
static struct act products(struct plan *p, const char *name, struct act x, double out, double experts, double pieces, enum dnn_split split)
{
	struct act y = act_new(p, out, x.h, x.w);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_LINEAR, name);
	l->m = x.h * x.w / experts;
	l->n = out;
	l->k = l->columns = x.c;
	l->count = l->experts = experts;
	l->rows = experts * out;
	l->params = experts * out * x.c;
	l->tensors = experts * pieces;
	l->fwd_flops = 2 * x.h * x.w * out * x.c;
	l->in_elems = act_elems(x);
	l->out_elems = act_elems(y);
	l->split = split;
	act_keep(p, l, x);
	return y;
}

static struct act gate(struct plan *p, const char *name, struct act both, double width)
{
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ACTIVATION, name);
	struct act y = act_new(p, width, both.h, both.w);
	l->fwd_flops = 6 * act_elems(y);
	l->in_elems = act_elems(both);
	l->out_elems = act_elems(y);
	act_keep(p, l, both);
	return y;
}

struct act op_mixture(struct plan *p, const struct transformer *t, struct act x)
{
	const struct dnn_experts *e = &t->moe;
	double width = e->width, shared = (double)e->shared * e->width;
	op_linear(p, "router", x, e->experts, false, 1);
	last(p)->split = DNN_SPLIT_NONE;
	last(p)->params += t->has_router_bias ? e->experts : 0;
	last(p)->tensors += t->has_router_bias;
	op_softmax(p, "router_scores", act_new(p, e->experts, x.h, x.w));
	if (shared > 0) {
		struct act both = op_linear(p, "shared_gate_up", x, 2 * shared, false, 2);
		last(p)->split = DNN_SPLIT_COLUMNS;
		op_linear(p, "shared_down", gate(p, "shared_act", both, shared), x.c, false, 1);
		last(p)->split = DNN_SPLIT_ROWS;
	}
	struct act pairs = act_new(p, x.c, x.h * e->top_k, x.w);
	pairs = products(p, "expert_gate_up", pairs, 2 * width, e->experts, 2, DNN_SPLIT_COLUMNS);
	pairs = gate(p, "expert_act", pairs, width);
	last(p)->experts = e->experts;
	pairs = products(p, "expert_down", pairs, x.c, e->experts, 1, DNN_SPLIT_ROWS);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, "expert_sum");
	l->fwd_flops = 2 * act_elems(pairs) + (shared > 0 ? act_elems(x) : 0);
	l->in_elems = act_elems(pairs) + (shared > 0 ? act_elems(x) : 0);
	l->out_elems = act_elems(x);
	act_keep(p, l, pairs);
	return act_new(p, x.c, x.h, x.w);
}

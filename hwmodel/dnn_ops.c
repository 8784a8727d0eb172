/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layers from shapes: parameters, FLOPs (2 x MACs), elements, products. The operation counts of
 * memory-bound kinds are nominal (docs/models/step.md has the table).
 */
#include "hwmodel/dnn_plan.h"

#include "base/mem.h"

#include <math.h>

double act_elems(struct act a)
{
	return a.c * a.h * a.w;
}

struct act act_new(struct plan *p, double c, double h, double w)
{
	MEM_GROW(p->is_saved, p->n_acts, p->act_cap);
	p->is_saved[p->n_acts] = false;
	return (struct act){ c, h, w, p->n_acts++ };
}

void act_keep(struct plan *p, struct dnn_layer *l, struct act a)
{
	if (p->is_saved[a.number])
		return;
	p->is_saved[a.number] = true;
	l->saved_elems += act_elems(a);
}

struct act op_input(struct plan *p, double c, double h, double w)
{
	p->d->input_elems = c * h * w;
	return act_new(p, c, h, w);
}

struct act op_conv(struct plan *p, const char *name, struct act x, struct conv k)
{
	if (!(k.groups > 0))
		k.groups = 1;
	struct act y = act_new(p, k.out, floor((x.h + 2 * k.ph - k.kh) / k.stride) + 1, floor((x.w + 2 * k.pw - k.kw) / k.stride) + 1);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_CONV, name);
	l->m = y.h * y.w;
	l->n = k.out / k.groups;
	l->k = x.c / k.groups * k.kh * k.kw;
	l->count = k.groups;
	l->params = k.out * l->k + (k.bias ? k.out : 0);
	l->tensors = k.bias ? 2 : 1;
	l->rows = k.out;
	l->columns = l->k;
	l->fwd_flops = 2 * l->m * l->n * l->k * l->count;
	l->in_elems = act_elems(x);
	l->out_elems = act_elems(y);
	act_keep(p, l, x);
	return y;
}

struct act op_linear(struct plan *p, const char *name, struct act x, double out, bool bias, double pieces)
{
	struct act y = act_new(p, out, x.h, x.w);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_LINEAR, name);
	l->m = x.h * x.w;
	l->n = l->rows = out;
	l->k = l->columns = x.c;
	l->count = 1;
	l->params = out * x.c + (bias ? out : 0);
	l->tensors = pieces * (bias ? 2 : 1);
	l->fwd_flops = 2 * l->m * l->n * l->k;
	l->in_elems = act_elems(x);
	l->out_elems = act_elems(y);
	act_keep(p, l, x);
	return y;
}

struct act op_norm(struct plan *p, const char *name, struct act x, enum op_norm kind)
{
	static const struct {
		double params, ops; /* parameters per channel; FLOPs per element */
	} of[] = { [OP_BATCHNORM] = { 2, 2 }, [OP_LAYERNORM] = { 2, 8 }, [OP_RMSNORM] = { 1, 4 }, [OP_LRN] = { 0, 1 } };
	struct act y = act_new(p, x.c, x.h, x.w);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_NORM, name);
	l->params = of[kind].params * x.c;
	l->tensors = of[kind].params;
	l->fwd_flops = of[kind].ops * act_elems(x);
	l->in_elems = l->out_elems = act_elems(x);
	act_keep(p, l, x);
	return y;
}

struct act op_activation(struct plan *p, const char *name, struct act x, enum op_activation kind)
{
	struct act y = act_new(p, x.c, x.h, x.w);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ACTIVATION, name);
	l->fwd_flops = (kind == OP_GELU ? 8 : 1) * act_elems(x);
	l->in_elems = l->out_elems = act_elems(x);
	l->is_in_place = kind == OP_RELU;
	act_keep(p, l, kind == OP_GELU ? x : y); /* the derivatives of the other functions are computed from their outputs */
	return y;
}

struct act op_pool(struct plan *p, const char *name, struct act x, enum op_pool kind, double k, double stride, double pad)
{
	bool is_ceil = kind == OP_MAXPOOL_CEIL || kind == OP_AVGPOOL_CEIL;
	double h = (x.h + 2 * pad - k) / stride, w = (x.w + 2 * pad - k) / stride;
	struct act y = act_new(p, x.c, (is_ceil ? ceil(h) : floor(h)) + 1, (is_ceil ? ceil(w) : floor(w)) + 1);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_POOL, name);
	l->fwd_flops = k * k * act_elems(y);
	l->in_elems = act_elems(x);
	l->out_elems = act_elems(y);
	if (kind == OP_MAXPOOL || kind == OP_MAXPOOL_CEIL) {
		act_keep(p, l, x);
		l->saved_elems += act_elems(y); /* the layer keeps the indices of the maxima */
	}
	return y;
}

struct act op_global_pool(struct plan *p, const char *name, struct act x)
{
	struct dnn_layer *l = plan_add(p, ORR_LAYER_POOL, name);
	l->fwd_flops = l->in_elems = act_elems(x);
	l->out_elems = x.c;
	return act_new(p, x.c, 1, 1);
}

struct act op_softmax(struct plan *p, const char *name, struct act x)
{
	struct act y = act_new(p, x.c, x.h, x.w);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_SOFTMAX, name);
	l->fwd_flops = 5 * act_elems(x);
	l->in_elems = l->out_elems = act_elems(x);
	act_keep(p, l, y);
	return y;
}

struct act op_add(struct plan *p, const char *name, struct act x)
{
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, name);
	l->fwd_flops = l->out_elems = act_elems(x);
	l->in_elems = 2 * act_elems(x);
	return act_new(p, x.c, x.h, x.w);
}

struct act op_concat(struct plan *p, const char *name, const struct act *part, size_t n)
{
	double c = 0;
	for (size_t i = 0; i < n; i++)
		c += part[i].c;
	struct act y = act_new(p, c, part[0].h, part[0].w);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, name);
	l->in_elems = l->out_elems = act_elems(y);
	return y;
}

struct act op_embedding(struct plan *p, const char *name, double rows, double c, double tokens, bool is_added)
{
	struct act y = act_new(p, c, tokens, 1);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_EMBEDDING, name);
	l->params = rows * c;
	l->tensors = rows > 0;
	l->rows = rows;
	l->columns = rows > 0 ? c : 0;
	l->out_elems = act_elems(y);
	l->fwd_flops = is_added ? l->out_elems : 0;
	l->in_elems = (is_added ? 2 : 1) * l->out_elems;
	l->saved_elems = is_added ? 0 : tokens; /* the layer keeps the indices of the rows */
	return y;
}

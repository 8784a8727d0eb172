/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recommenders: perceptrons and embedding tables. DeepFM: Guo et al., IJCAI 2017. */
#include "hwmodel/dnn_plan.h"

#include <stdio.h>

struct act op_perceptron(struct plan *p, const char *name, const char *act, struct act x, const int *out, enum op_activation last)
{
	for (int i = 0; out[i]; i++) {
		char part[32];
		snprintf(part, sizeof part, "%s%d", name, i);
		x = op_linear(p, part, x, out[i], true, 1);
		snprintf(part, sizeof part, "%s%d_%s", name, i, act);
		x = op_activation(p, part, x, out[i + 1] ? OP_RELU : last);
	}
	return x;
}

struct act op_tables(struct plan *p, const char *name, double ids, double dim, double fields, bool is_summed)
{
	struct act y = op_embedding(p, name, ids, dim, is_summed ? 1 : fields, false);
	struct dnn_layer *l = &p->layer[p->n - 1];
	l->fwd_flops = is_summed ? fields * dim : 0;
	l->in_elems = dim * fields;
	l->saved_elems = fields;
	return y;
}

struct plan *recommender_deepfm(const char *name, const char *title, const struct deepfm *z)
{
	char input[40], part[32];
	snprintf(input, sizeof input, "%u fields", z->fields);
	struct plan *p = plan_new(name, title, input);
	p->d->input_elems = z->fields;
	op_tables(p, "fm_linear", z->ids, 1, z->fields, true);
	if (z->ids) { /* first-order term: a weight per id, and a bias */
		struct dnn_layer *first = &p->layer[p->n - 1];
		first->params += 1;
		first->tensors = 2;
	}
	struct act x = op_tables(p, "emb", z->ids, z->dim, z->fields, false);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, "fm_second");
	l->fwd_flops = 4.0 * z->fields * z->dim;
	l->in_elems = act_elems(x);
	l->out_elems = z->dim;
	x = (struct act){ act_elems(x), 1, 1, x.number };
	for (uint32_t i = 0; i < z->layers; i++) {
		snprintf(part, sizeof part, "deep%u", i);
		x = op_linear(p, part, x, z->hidden, true, 1);
		snprintf(part, sizeof part, "deep%u_bn", i);
		if (z->has_norm)
			x = op_norm(p, part, x, OP_BATCHNORM);
		snprintf(part, sizeof part, "deep%u_relu", i);
		x = op_activation(p, part, x, OP_RELU);
	}
	op_activation(p, "sigmoid", op_linear(p, "deep_out", x, 1, true, 1), OP_SIGMOID);
	return p;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DLRM (Naumov et al., arXiv:1906.00091) and DeepFM (Guo et al., IJCAI 2017). How many rows their tables
 * have depends on the data set: tables count no parameters here.
 */
#include "hwmodel/modelgen/modelgen.h"

#include <stdio.h>

enum { FIELDS = 39, TABLES = 26, DENSE = 13 };

static struct act perceptron(struct plan *p, const char *name, const char *act, struct act x, const int *out, enum op_activation last)
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

static struct act table(struct plan *p, const char *name, double dim, double rows, bool is_summed)
{
	struct act y = op_embedding(p, name, 0, dim, is_summed ? 1 : rows, false);
	struct dnn_layer *l = &p->layer[p->n - 1];
	l->fwd_flops = is_summed ? rows : 0;
	l->in_elems = dim * rows;
	l->saved_elems = rows;
	return y;
}

struct dlrm {
	int bottom[6], top[8];
	int dim;
	int pad; /* the interaction's output is padded to so many, if more */
};

static struct plan *dlrm(const struct recipe *r)
{
	const struct dlrm *z = r->how;
	double vectors = TABLES + 1, kept = vectors * (vectors - 1) / 2 + z->dim;
	struct plan *p = plan_new(r->name, r->title, "1 record");
	struct act x = perceptron(p, "bot", "relu", op_input(p, DENSE, 1, 1), z->bottom, OP_RELU);
	p->d->input_elems = DENSE + TABLES;
	table(p, "embeddings", z->dim, TABLES, false);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_MATMUL, "interaction");
	l->m = l->n = vectors;
	l->k = z->dim;
	l->count = 1;
	l->fwd_flops = 2 * vectors * vectors * z->dim;
	l->in_elems = l->saved_elems = vectors * z->dim;
	l->out_elems = kept;
	x = act_new(p, kept < z->pad ? z->pad : kept, 1, 1);
	perceptron(p, "top", "act", x, z->top, OP_SIGMOID);
	return p;
}

static struct plan *deepfm(const struct recipe *r)
{
	static const int deep[] = { 400, 400, 400, 0 };
	double dim = 10;
	struct plan *p = plan_new(r->name, r->title, "39 fields");
	p->d->input_elems = FIELDS;
	table(p, "fm_linear", 1, FIELDS, true);
	struct act x = table(p, "emb", dim, FIELDS, false);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, "fm_second");
	l->fwd_flops = 4 * FIELDS * dim;
	l->in_elems = FIELDS * dim;
	l->out_elems = dim;
	x = perceptron(p, "deep", "relu", (struct act){ act_elems(x), 1, 1, x.number }, deep, OP_RELU);
	op_activation(p, "sigmoid", op_linear(p, "deep_out", x, 1, true, 1), OP_SIGMOID);
	return p;
}

static const struct dlrm nvidia = { { 512, 256, 128 }, { 1024, 1024, 512, 256, 1 }, 128, 480 };
static const struct dlrm kaggle = { { 512, 256, 64, 16 }, { 512, 256, 1 }, 16, 0 };

const struct recipe recommenders[] = {
	{ "dlrm_criteo_nvidia", "DLRM, NVIDIA and MLPerf shapes, vectors of 128 (without tables)", "Naumov et al., arXiv:1906.00091", dlrm,
		&nvidia },
	{ "dlrm_rm_small", "DLRM, reference for Criteo Kaggle, vectors of 16 (without tables)", "Naumov et al., arXiv:1906.00091", dlrm,
		&kaggle },
	{ "deepfm_criteo", "DeepFM, 39 fields, vectors of 10, 3 x 400 (without tables)", "Guo et al., IJCAI 2017", deepfm, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

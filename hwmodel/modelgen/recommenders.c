/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DLRM (Naumov et al., arXiv:1906.00091) and DeepFM (Guo et al., IJCAI 2017). The number of rows of their
 * tables depends on the data set, so tables count no parameters here.
 */
#include "hwmodel/modelgen/modelgen.h"

enum { TABLES = 26, DENSE = 13 };

struct dlrm {
	int bottom[6], top[8];
	int dim;
	int pad; /* minimum width of the interaction's output; narrower outputs are padded */
};

static struct plan *dlrm(const struct recipe *r)
{
	const struct dlrm *z = r->how;
	double vectors = TABLES + 1, kept = vectors * (vectors - 1) / 2 + z->dim;
	struct plan *p = plan_new(r->name, r->title, "1 record");
	struct act x = op_perceptron(p, "bot", "relu", op_input(p, DENSE, 1, 1), z->bottom, OP_RELU);
	p->d->input_elems = DENSE + TABLES;
	op_tables(p, "embeddings", 0, z->dim, TABLES, false);
	struct dnn_layer *l = plan_add(p, ORR_LAYER_MATMUL, "interaction");
	l->m = l->n = vectors;
	l->k = z->dim;
	l->count = 1;
	l->fwd_flops = 2 * vectors * vectors * z->dim;
	l->in_elems = l->saved_elems = vectors * z->dim;
	l->out_elems = kept;
	x = act_new(p, kept < z->pad ? z->pad : kept, 1, 1);
	op_perceptron(p, "top", "act", x, z->top, OP_SIGMOID);
	return p;
}

static struct plan *deepfm(const struct recipe *r)
{
	static const struct deepfm criteo = { .fields = 39, .dim = 10, .hidden = 400, .layers = 3 };
	return recommender_deepfm(r->name, r->title, &criteo);
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

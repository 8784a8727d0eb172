/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GoogLeNet (Szegedy et al., CVPR 2015) and Inception-v3 (Szegedy et al., CVPR 2016), both as in torchvision. */
#include "hwmodel/modelgen/modelgen.h"

#include "base/mem.h"

#include <stdio.h>

/* Adds convolution, norm and ReLU under one name. */
static struct act cbr(struct plan *p, const char *name, struct act x, struct conv k)
{
	char part[48];
	x = op_conv(p, name, x, k);
	snprintf(part, sizeof part, "%s.bn", name);
	x = op_norm(p, part, x, OP_BATCHNORM);
	snprintf(part, sizeof part, "%s.relu", name);
	return op_activation(p, part, x, OP_RELU);
}

static struct act sq(struct plan *p, const char *name, struct act x, double out, double k, double s, double pad)
{
	return cbr(p, name, x, square(out, k, s, pad, false));
}

/* Adds a 1 x k or k x 1 convolution that keeps the size. */
static struct act strip(struct plan *p, const char *name, struct act x, double out, double kh, double kw)
{
	return cbr(p, name, x,
		(struct conv){ .out = out, .kh = kh, .kw = kw, .stride = 1, .ph = (kh - 1) / 2, .pw = (kw - 1) / 2, .groups = 1 });
}

static struct act module_a(struct plan *p, const char *name, struct act x, double pooled)
{
	struct act part[4];
	plan_prefix(p, "%s.", name);
	part[0] = sq(p, "b1x1", x, 64, 1, 1, 0);
	part[1] = sq(p, "b5x5_2", sq(p, "b5x5_1", x, 48, 1, 1, 0), 64, 5, 1, 2);
	part[2] = sq(p, "d3", sq(p, "d2", sq(p, "d1", x, 64, 1, 1, 0), 96, 3, 1, 1), 96, 3, 1, 1);
	part[3] = sq(p, "pool", op_pool(p, "avg", x, OP_AVGPOOL, 3, 1, 1), pooled, 1, 1, 0);
	return op_concat(p, "cat", part, 4);
}

static struct act module_b(struct plan *p, struct act x)
{
	struct act part[3];
	plan_prefix(p, "6a.");
	part[0] = sq(p, "3x3", x, 384, 3, 2, 0);
	part[1] = sq(p, "d3", sq(p, "d2", sq(p, "d1", x, 64, 1, 1, 0), 96, 3, 1, 1), 96, 3, 2, 0);
	part[2] = op_pool(p, "max", x, OP_MAXPOOL, 3, 2, 0);
	return op_concat(p, "cat", part, 3);
}

static struct act module_c(struct plan *p, const char *name, struct act x, double c)
{
	struct act part[4], y;
	plan_prefix(p, "%s.", name);
	part[0] = sq(p, "1x1", x, 192, 1, 1, 0);
	y = strip(p, "7_2", sq(p, "7_1", x, c, 1, 1, 0), c, 1, 7);
	part[1] = strip(p, "7_3", y, 192, 7, 1);
	y = strip(p, "d2", sq(p, "d1", x, c, 1, 1, 0), c, 7, 1);
	y = strip(p, "d4", strip(p, "d3", y, c, 1, 7), c, 7, 1);
	part[2] = strip(p, "d5", y, 192, 1, 7);
	part[3] = sq(p, "pool", op_pool(p, "avg", x, OP_AVGPOOL, 3, 1, 1), 192, 1, 1, 0);
	return op_concat(p, "cat", part, 4);
}

static struct act module_d(struct plan *p, struct act x)
{
	struct act part[3], y;
	plan_prefix(p, "7a.");
	part[0] = sq(p, "2", sq(p, "1", x, 192, 1, 1, 0), 320, 3, 2, 0);
	y = strip(p, "4", sq(p, "3", x, 192, 1, 1, 0), 192, 1, 7);
	part[1] = sq(p, "6", strip(p, "5", y, 192, 7, 1), 192, 3, 2, 0);
	part[2] = op_pool(p, "max", x, OP_MAXPOOL, 3, 2, 0);
	return op_concat(p, "cat", part, 3);
}

static struct act module_e(struct plan *p, const char *name, struct act x)
{
	struct act part[6], y;
	plan_prefix(p, "%s.", name);
	part[0] = sq(p, "1x1", x, 320, 1, 1, 0);
	y = sq(p, "3_1", x, 384, 1, 1, 0);
	part[1] = strip(p, "3_2a", y, 384, 1, 3);
	part[2] = strip(p, "3_2b", y, 384, 3, 1);
	y = sq(p, "d2", sq(p, "d1", x, 448, 1, 1, 0), 384, 3, 1, 1);
	part[3] = strip(p, "d3a", y, 384, 1, 3);
	part[4] = strip(p, "d3b", y, 384, 3, 1);
	part[5] = sq(p, "pool", op_pool(p, "avg", x, OP_AVGPOOL, 3, 1, 1), 192, 1, 1, 0);
	return op_concat(p, "cat", part, 6);
}

static void auxiliary(struct plan *p, struct act x)
{
	plan_prefix(p, "aux.");
	x = op_pool(p, "avg", x, OP_AVGPOOL, 5, 3, 0);
	x = sq(p, "conv1", sq(p, "conv0", x, 128, 1, 1, 0), 768, 5, 1, 0);
	op_linear(p, "fc", op_global_pool(p, "gap", x), 1000, true, 1);
}

static void classifier(struct plan *p, struct act x)
{
	plan_prefix(p, "%s", "");
	op_softmax(p, "softmax", op_linear(p, "fc", op_global_pool(p, "avgpool", x), 1000, true, 1));
	p->classifier = mem_strdup("fc");
}

static struct plan *inception_v3(const struct recipe *r)
{
	struct plan *p = plan_new(r->name, r->title, "299x299x3");
	struct act x = sq(p, "1a_3x3", op_input(p, 3, 299, 299), 32, 3, 2, 0);
	x = sq(p, "2b_3x3", sq(p, "2a_3x3", x, 32, 3, 1, 0), 64, 3, 1, 1);
	x = sq(p, "3b_1x1", op_pool(p, "maxpool1", x, OP_MAXPOOL, 3, 2, 0), 80, 1, 1, 0);
	x = op_pool(p, "maxpool2", sq(p, "4a_3x3", x, 192, 3, 1, 0), OP_MAXPOOL, 3, 2, 0);
	x = module_a(p, "5d", module_a(p, "5c", module_a(p, "5b", x, 32), 64), 64);
	x = module_c(p, "6b", module_b(p, x), 128);
	x = module_c(p, "6e", module_c(p, "6d", module_c(p, "6c", x, 160), 160), 192);
	if (r->how)
		auxiliary(p, x);
	classifier(p, module_e(p, "7c", module_e(p, "7b", module_d(p, x))));
	return p;
}

/* Channels: 1x1; 3x3 reduced, 3x3; 5x5 reduced, 5x5 (a 3x3 in torchvision, as in the first released weights); pooled. */
struct google {
	const char *name;
	double c1, c3r, c3, c5r, c5, pool;
};

static struct act google(struct plan *p, struct act x, const struct google *g)
{
	struct act part[4];
	plan_prefix(p, "%s.", g->name);
	part[0] = sq(p, "1x1", x, g->c1, 1, 1, 0);
	part[1] = sq(p, "3x3", sq(p, "3x3_reduce", x, g->c3r, 1, 1, 0), g->c3, 3, 1, 1);
	part[2] = sq(p, "5x5", sq(p, "5x5_reduce", x, g->c5r, 1, 1, 0), g->c5, 3, 1, 1);
	part[3] = sq(p, "pool_proj", op_pool(p, "pool", x, OP_MAXPOOL_CEIL, 3, 1, 1), g->pool, 1, 1, 0);
	struct act y = op_concat(p, "cat", part, 4);
	plan_prefix(p, "%s", "");
	return y;
}

static struct plan *googlenet(const struct recipe *r)
{
	static const struct google modules[] = { { "3a", 64, 96, 128, 16, 32, 32 }, { "3b", 128, 128, 192, 32, 96, 64 },
		{ "4a", 192, 96, 208, 16, 48, 64 }, { "4b", 160, 112, 224, 24, 64, 64 }, { "4c", 128, 128, 256, 24, 64, 64 },
		{ "4d", 112, 144, 288, 32, 64, 64 }, { "4e", 256, 160, 320, 32, 128, 128 }, { "5a", 256, 160, 320, 32, 128, 128 },
		{ "5b", 384, 192, 384, 48, 128, 128 } };
	struct plan *p = plan_new(r->name, r->title, "224x224x3");
	struct act x = sq(p, "conv1", op_input(p, 3, 224, 224), 64, 7, 2, 3);
	x = sq(p, "conv2", op_pool(p, "maxpool1", x, OP_MAXPOOL_CEIL, 3, 2, 0), 64, 1, 1, 0);
	x = op_pool(p, "maxpool2", sq(p, "conv3", x, 192, 3, 1, 1), OP_MAXPOOL_CEIL, 3, 2, 0);
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
		x = google(p, x, &modules[i]);
		if (i == 1)
			x = op_pool(p, "maxpool3", x, OP_MAXPOOL_CEIL, 3, 2, 0);
		else if (i == 6)
			x = op_pool(p, "maxpool4", x, OP_MAXPOOL_CEIL, 2, 2, 0);
	}
	classifier(p, x);
	return p;
}

static const bool yes = true;

const struct recipe inceptions[] = {
	{ "inception_v3", "Inception-v3", "torchvision; Szegedy et al., CVPR 2016", inception_v3, NULL },
	{ "inception_v3_aux", "Inception-v3 with its auxiliary classifier", "torchvision; Szegedy et al., CVPR 2016", inception_v3, &yes },
	{ "googlenet", "GoogLeNet without auxiliary classifiers (torchvision: batch norm, 3x3 for 5x5)",
		"torchvision; Szegedy et al., CVPR 2015", googlenet, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

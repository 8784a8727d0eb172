/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/cost_laws.h"

#include "base/mem.h"
#include "base/rng.h"
#include "hwmodel/profile.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A kernel of the profile that may be used for a pass; lists are in order of preference. */
struct wish {
	const char *family, *op, *variant;
	double flops, tensors; /* FLOPs and tensors per element, as measured; tensors 0: the number of the call */
};

enum { WISHES = 6, PASSES = 3, UPDATES = 2 };

struct slot {
	uint32_t law;          /* number of the law in the profile + 1 */
	double flops_per_byte; /* FLOPs per byte; < 0: as in the call */
};

struct laws {
	const struct profile *p;
	double element_bytes;
	char precision[2][8]; /* requested precision, and another one of the same rate ("": none) */
	uint32_t n_layers, n_slots;
	struct slot *slot;        /* slots [1 ..]; 0: no slot */
	uint32_t *of;             /* slot number, [layer * PASSES + pass] */
	uint32_t update[UPDATES]; /* slot numbers of optimizer updates: [0] SGD, with or without momentum; [1] Adam */
	uint32_t sample;
	double (*z)[LAW_PARAMS]; /* standard normal draws by law, if sample > 0 */
	uint64_t *residual;      /* seeds of residuals by law, if sample > 0 */
};

/* ---- choice of the kernel ---- */

/*
 * Returns the class of a filter by taps / stride^2, inferred from the sizes of the product: with padding the input has stride^2
 * pixels per output pixel. Odd squares have stride 1. The output of a 3x3 without padding is smaller than its input, hence the
 * lower bound 8.4.
 */
static const char *filter_class(const struct dnn_layer *l)
{
	double taps = l->k * l->count * l->m / l->in_elems, off = fabs(taps - round(taps));
	if (taps > 0.99 && taps < 1.01)
		return "1x1";
	if (taps > 8.4 && taps < 9.01)
		return "3x3 s1";
	return taps < 1 ? "1x1 strided" : off < 0.005 ? "large" : "strided";
}

/* Streaming kernels: fallbacks for kernels without a law. */
static const struct wish triad = { "memory", "triad", "", 2, 3 }, copy = { "memory", "copy", "", 0, 2 },
			 add = { "memory", "residual-add", "", 1, 3 };

static void memory_wishes(const struct dnn *d, enum orr_layer_kind kind, struct wish *out)
{
	static const struct wish layer_norm = { "memory", "layer-norm", "", 7, 2 }, batch_norm = { "memory", "batch-norm", "", 7, 2 },
				 gelu = { "memory", "bias-gelu", "", 9, 2 }, softmax = { "memory", "softmax", "", 4, 2 },
				 activation = { "memory", "activation", "", 0, 2 }, gather = { "gather", "embedding", "uniform", 0, 2 };
	const struct wish *first = NULL;
	if (kind == ORR_LAYER_EMBEDDING) {
		out[0] = gather;
		return;
	}
	if (kind == ORR_LAYER_NORM)
		first = d->hidden > 0 ? &layer_norm : &batch_norm;
	else if (kind == ORR_LAYER_ACTIVATION && d->hidden > 0)
		first = &gelu;
	else if (kind == ORR_LAYER_ELEMENTWISE)
		first = &add;
	else if (kind == ORR_LAYER_SOFTMAX)
		first = &softmax;
	if (first)
		*out++ = *first;
	if (first == &gelu)
		*out++ = activation;
	*out++ = triad;
	*out++ = copy;
	*out = add;
}

static void wishes_of(const struct dnn *d, const struct dnn_layer *l, enum dnn_pass pass, struct wish out[WISHES])
{
	static const char *const conv_op[PASSES] = { "forward", "data-gradient", "weight-gradient" }, *const batched[] = { "batched",
		"nn batched", "nt batched" };
	memset(out, 0, WISHES * sizeof *out);
	switch (laws_family(l->kind)) {
	case COST_CONV:
		out[0] = (struct wish){ .family = "conv", .op = conv_op[pass], .variant = filter_class(l) };
		if (!strcmp(out[0].variant, "1x1 strided"))
			out[1] = (struct wish){ .family = "conv", .op = conv_op[pass], .variant = "strided" };
		break;
	case COST_GEMM:
		for (int i = 0; i < 3 && l->kind == ORR_LAYER_MATMUL; i++)
			*out++ = (struct wish){ .family = "gemm", .op = "", .variant = batched[i] };
		out[0] = (struct wish){ .family = "gemm", .op = "", .variant = "" };
		break;
	default:
		memory_wishes(d, l->kind, out);
	}
}

enum cost_family laws_family(enum orr_layer_kind kind)
{
	switch (kind) {
	case ORR_LAYER_CONV:
		return COST_CONV;
	case ORR_LAYER_LINEAR:
	case ORR_LAYER_RNN:
	case ORR_LAYER_MATMUL:
		return COST_GEMM;
	case ORR_LAYER_EMBEDDING:
		return COST_GATHER;
	default:
		return COST_MEMORY;
	}
}

/* ---- choice of the law ---- */

/* Returns a law for the precision, or for one of the same rate; for memory-bound kernels, a law for any precision. */
static const struct law *law_for(const struct laws *x, const struct wish *w)
{
	const struct law *l = NULL;
	for (int i = 0; !l && i < 2 && *x->precision[i]; i++)
		l = profile_law(x->p, w->family, w->op, x->precision[i], w->variant, 0, 0);
	if (!l && w->tensors > 0)
		l = profile_law(x->p, w->family, w->op, "", w->variant, 0, 0);
	return l && l->form != FORM_FACTOR ? l : NULL;
}

/* A law fitted over all classes of filters applies to a class without measurements only if its median held-out error is at
 * most this. */
static const double most_pooled_error = 0.3;

/*
 * Returns whether l covers all filters of a convolution in a profile that also has laws for classes of filters. In such a
 * profile a class without a law was not measured. A mean over other classes is used only if it predicts held-out filters well.
 * This holds on tensor cores, where every class runs as a GEMM, but not in fp32, where algorithms differ (Winograd, FFT, GEMM).
 */
static bool is_unmeasured_class(const struct laws *x, const struct law *l)
{
	if (l->held_out_median <= most_pooled_error)
		return false;
	for (size_t i = 0; !*l->variant && !strcmp(l->family, "conv") && i < x->p->n_laws; i++) {
		const struct law *other = &x->p->law[i];
		if (*other->variant && !strcasecmp(other->family, l->family) && !strcasecmp(other->op, l->op) &&
			!strcasecmp(other->precision, l->precision))
			return true;
	}
	return false;
}

static uint32_t slot_for(struct laws *x, const struct wish *w)
{
	const struct law *l = NULL;
	const struct wish *found = NULL;
	/* The first law of exactly this variant; else the first law for all variants. */
	for (int is_any_good = 0; !found && is_any_good < 2; is_any_good++)
		for (const struct wish *i = w; !found && i->family; i++)
			if ((l = law_for(x, i)) && (is_any_good ? !is_unmeasured_class(x, l) : !strcasecmp(l->variant, i->variant)))
				found = i;
	if (!found)
		return 0;
	w = found;
	double size = strcmp(w->family, "update") ? x->element_bytes : 4; /* optimizers compute in fp32 */
	x->slot[++x->n_slots] =
		(struct slot){ .law = (uint32_t)(l - x->p->law) + 1, .flops_per_byte = w->tensors > 0 ? w->flops / w->tensors / size : -1 };
	return x->n_slots;
}

static void find_all(struct laws *x, const struct dnn *d, bool has_products)
{
	struct wish w[WISHES];
	static const struct wish sgd[] = { { "update", "sgd", "", 2, 3 }, { "memory", "triad", "", 2, 3 }, { NULL, NULL, NULL, 0, 0 } },
				 adam[] = { { "update", "adam", "", 12, 7 }, { "memory", "triad", "", 2, 3 }, { NULL, NULL, NULL, 0, 0 } };
	for (uint32_t l = 0; l < d->n_layers; l++)
		for (int pass = 0; pass < PASSES; pass++) {
			enum cost_family f = laws_family(d->layer[l].kind);
			wishes_of(d, &d->layer[l], (enum dnn_pass)pass, w);
			if (has_products || (f != COST_GEMM && f != COST_CONV))
				x->of[l * PASSES + (uint32_t)pass] = slot_for(x, w);
		}
	x->update[0] = slot_for(x, sgd);
	x->update[1] = slot_for(x, adam);
}

/* ---- draws ---- */

static double normal(struct rng *r)
{
	return gsl_cdf_ugaussian_Pinv(rng_uniform_pos(r));
}

static void draw(struct laws *x, uint64_t seed)
{
	x->z = mem_zalloc(x->p->n_laws, sizeof *x->z);
	x->residual = mem_zalloc(x->p->n_laws, sizeof *x->residual);
	for (size_t i = 0; i < x->p->n_laws; i++) {
		const struct law *l = &x->p->law[i];
		char name[256];
		struct rng r;
		snprintf(name, sizeof name, "cost-law %.20s/%.40s/%.10s/%.50s", l->family, l->op, l->precision, l->variant);
		rng_init(&r, seed, name, x->sample);
		for (int k = 0; k < LAW_PARAMS; k++)
			x->z[i][k] = normal(&r);
		x->residual[i] = rng_u64(&r);
	}
}

/* Returns the residual of a call shape. */
static double residual_of(const struct laws *x, size_t law, double flops, double bytes)
{
	uint64_t a, b;
	struct rng r;
	memcpy(&a, &flops, sizeof a);
	memcpy(&b, &bytes, sizeof b);
	rng_init(&r, x->residual[law] ^ (b << 1 | b >> 63), "cost-residual", a);
	return normal(&r);
}

/* ---- interface for cost.c ---- */

struct laws *laws_new(const struct dnn *d, const struct cost_options *o, double element_bytes)
{
	struct laws *x = mem_zalloc(1, sizeof *x);
	x->p = o->profile;
	x->element_bytes = element_bytes;
	x->n_layers = d->n_layers;
	x->of = mem_zalloc((size_t)d->n_layers * PASSES + 1, sizeof *x->of);
	x->slot = mem_zalloc((size_t)d->n_layers * PASSES + 1 + UPDATES, sizeof *x->slot);
	snprintf(x->precision[0], sizeof x->precision[0], "%s", precision_name(o->precision));
	if (o->precision == PRECISION_FP16 || o->precision == PRECISION_BF16) /* tensor cores run FP16 and BF16 at the same rate */
		snprintf(x->precision[1], sizeof x->precision[1], "%s",
			precision_name(o->precision == PRECISION_FP16 ? PRECISION_BF16 : PRECISION_FP16));
	find_all(x, d, o->efficiency <= 0);
	x->sample = o->sample;
	if (o->sample)
		draw(x, o->seed);
	return x;
}

void laws_free(struct laws *x)
{
	if (!x)
		return;
	mem_free(x->of);
	mem_free(x->slot);
	mem_free(x->z);
	mem_free(x->residual);
	mem_free(x);
}

uint32_t laws_number(const struct laws *x, uint32_t l, enum dnn_pass pass)
{
	return x ? x->of[l * PASSES + (uint32_t)pass] : 0;
}

uint32_t laws_update(const struct laws *x, double state_bytes)
{
	return x ? x->update[state_bytes >= 8] : 0;
}

static double flops_of(const struct slot *s, double flops, double bytes)
{
	return s->flops_per_byte >= 0 ? s->flops_per_byte * bytes : flops;
}

double laws_seconds(const struct laws *x, uint32_t number, double flops, double bytes)
{
	const struct slot *s = &x->slot[number];
	size_t i = s->law - 1;
	flops = flops_of(s, flops, bytes);
	if (x->sample)
		return law_time_drawn(&x->p->law[i], x->z[i], residual_of(x, i, flops, bytes), flops, bytes, bytes);
	return law_time(&x->p->law[i], flops, bytes, bytes, NULL);
}

double laws_error(const struct laws *x, uint32_t number)
{
	const struct law *l = &x->p->law[x->slot[number].law - 1];
	return isnan(l->held_out_median) ? l->median_error : l->held_out_median;
}

bool laws_is_inside(const struct laws *x, uint32_t number, double flops, double bytes)
{
	const struct slot *s = &x->slot[number];
	bool is_inside = true;
	law_time(&x->p->law[s->law - 1], flops_of(s, flops, bytes), bytes, bytes, &is_inside);
	return is_inside;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulas and their sources: docs/models/devices.md, "Compute times". */
#include "hwmodel/cost.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "hwmodel/cost_laws.h"
#include "hwmodel/profile.h"
#include "hwmodel/steptimes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Role of a layer in a fused attention: one of the products around a softmax, or a layer between them. */
enum role { ROLE_PLAIN, ROLE_SCORES, ROLE_BETWEEN, ROLE_CONTEXT };

struct cost {
	const struct dnn *d;
	const struct device *dev;
	struct cost_options o;
	double element_bytes;
	double Bps;                        /* achieved memory bandwidth */
	double ramp_s;                     /* start-up time per matrix product */
	double relative_speed;             /* speed relative to the profiled device, of a model with measured layers */
	struct laws *laws;                 /* NULL: no profile */
	double conv_factor, memory_factor; /* factors on times in whole networks; 1: none */
	double error;                      /* relative error of the laws that this model uses */
	unsigned char *role;
	bool *is_inside; /* whether the layer is between a product split by columns and the next one, split by rows */
	/* Measured steps: at batch[i], times are multiplied by factor[i]. n 0: none. */
	uint32_t n;
	double *batch, *factor;
	char *model_source, **exact_source, **between_source, *beyond_source;
};

/* ---- the roofline ---- */

struct work {
	double flops, rate; /* rate: achieved FLOP/s */
	double bytes;
	double kernels;
	double ramp_s;  /* start-up time per kernel, in addition to flops / rate */
	double exposed; /* share of the memory time that adds to the compute time */
	uint32_t law;   /* number of the law; 0: none, so the roofline applies */
};

static double seconds(const struct cost *c, const struct work *w)
{
	if (w->law && w->kernels > 0)
		return w->kernels * laws_seconds(c->laws, w->law, w->flops / w->kernels, w->bytes / w->kernels);
	double memory = w->bytes / c->Bps;
	double compute = w->flops / w->rate + w->kernels * w->ramp_s + w->exposed * memory;
	return (compute > memory ? compute : memory) + w->kernels * c->dev->launch_s;
}

/* Infers the shape from the sizes of the product: with stride 1 and padding, input and output have the same number of pixels. */
static enum conv_shape conv_shape(const struct dnn_layer *l)
{
	double taps = l->k * l->count * l->m / l->in_elems;
	bool is_pointwise = l->k * l->count <= l->in_elems / l->m; /* a strided 1x1 convolution reads more than it uses */
	return is_pointwise ? CONV_1X1 : taps > 8.99 && taps < 9.01 ? CONV_3X3 : CONV_OTHER;
}

static double product_rate(const struct cost *c, const struct dnn_layer *l, enum dnn_pass pass)
{
	enum precision p = c->o.precision;
	double share = l->kind == ORR_LAYER_CONV ? c->dev->conv_share[p][conv_shape(l)][pass] : c->dev->gemm_efficiency[p];
	return c->dev->peak_flops[p] * (c->o.efficiency > 0 ? c->o.efficiency : share);
}

/* Layers with weights: convolutions, linear and recurrent layers. A split by columns cuts the output, a split by rows the input.
 * The larger of input and output is cut, as in transformer blocks (Shoeybi et al. 2019, section 3). */
static void weighted_work(const struct cost *c, const struct dnn_layer *l, enum dnn_pass pass, double batch, double shards, struct work *w)
{
	bool by_columns = l->split ? l->split == DNN_SPLIT_COLUMNS : l->out_elems > l->in_elems;
	double in = batch * l->in_elems / (by_columns ? 1 : shards), out = batch * l->out_elems / (by_columns ? shards : 1);
	/* The weights include a table that is tied to the layer. */
	double weights = l->kind == ORR_LAYER_LINEAR ? l->n * l->k * (l->experts > 0 ? l->experts : 1) : l->params;
	/* The time steps of a recurrent layer run one after another, and each reads all weights; its weight gradient is one product. */
	w->kernels = l->kind == ORR_LAYER_RNN && pass != DNN_BACKWARD_WEIGHT && l->count > 1 ? l->count : 1;
	weights *= w->kernels;
	w->bytes = c->element_bytes * (in + out + weights / shards);
	if (c->o.operand_bytes > 0)
		w->bytes -= (c->element_bytes - c->o.operand_bytes) * in;
	if (c->o.weight_bytes > 0)
		w->bytes -= (c->element_bytes - c->o.weight_bytes) * weights / shards;
	w->rate = product_rate(c, l, pass);
	if (l->kind != ORR_LAYER_CONV) { /* efficiencies of convolutions include the start-up time */
		w->ramp_s = c->ramp_s;
		w->exposed = c->dev->gemm_exposed_memory;
	}
}

/* Attention: neither operand is a weight, so there are two data gradients. */
static void matmul_work(
	const struct cost *c, const struct dnn_layer *l, enum role role, enum dnn_pass pass, double batch, double shards, struct work *w)
{
	bool is_backward = pass == DNN_BACKWARD_DATA;
	double scores = l->count * l->m * (role == ROLE_SCORES ? l->n : l->k); /* elements that a fused kernel keeps on the chip */
	double in = l->in_elems, out = l->out_elems;
	if (role == ROLE_SCORES)
		out = fmax(0, out - scores);
	else if (role == ROLE_CONTEXT)
		in = fmax(0, in - scores);
	w->flops = batch / shards * l->fwd_flops *
		   (is_backward ? (role == ROLE_SCORES ? 3 : 2) : 1); /* a fused kernel recomputes the scores */
	w->bytes = c->element_bytes * batch / shards * (is_backward ? 2 * in + out : in + out);
	w->rate = product_rate(c, l, pass);
	w->ramp_s = c->ramp_s;
	w->exposed = c->dev->gemm_exposed_memory;
	w->kernels = is_backward ? 2 : 1;
}

/* Returns the elements that memory-bound kinds read and write per sample; 0: no kernel. */
static double moved_elems(const struct cost *c, const struct dnn_layer *l, enum dnn_pass pass)
{
	double in = l->in_elems, out = l->out_elems;
	bool is_layer_norm = c->d->hidden > 0; /* a row fits on the chip; batch statistics need a separate pass */
	bool is_forward = pass == DNN_FORWARD, is_weight = pass == DNN_BACKWARD_WEIGHT;
	switch (l->kind) {
	case ORR_LAYER_NORM:
		if (is_layer_norm)
			return is_forward ? in + out : is_weight ? in + out : 2 * in + out;
		return is_forward ? 2 * in + out : is_weight ? 0 : 3 * in + 2 * out;
	case ORR_LAYER_EMBEDDING:
		return is_forward ? in + out : is_weight && l->params > 0 ? 3 * out : 0;
	case ORR_LAYER_ACTIVATION:
		return is_weight || c->o.fused_elementwise ? 0 : is_forward ? in + out : 2 * out + in;
	case ORR_LAYER_ELEMENTWISE:
		return is_weight || c->o.fused_elementwise ? 0 : in + out;
	case ORR_LAYER_SOFTMAX:
		return is_weight ? 0 : is_forward ? in + out : 2 * out + in;
	default:
		return is_weight ? 0 : in + out;
	}
}

static bool is_addition(const struct dnn_layer *l)
{
	return l->kind == ORR_LAYER_ELEMENTWISE && l->in_elems >= 2 * l->out_elems;
}

/* Returns the bytes of a dropout. After a softmax, dropout is a kernel that reads, writes, and accesses a mask of one byte per
 * element. A dropout that is fused into an addition accesses the mask only. */
static double dropout_bytes(const struct cost *c, const struct dnn_layer *l, enum dnn_pass pass)
{
	if (!c->o.dropout || l->block == DNN_NO_BLOCK || pass == DNN_BACKWARD_WEIGHT)
		return 0;
	if (l->kind == ORR_LAYER_SOFTMAX)
		return l->out_elems * (2 * c->element_bytes + 1);
	return is_addition(l) && !c->o.fused_elementwise ? l->out_elems : 0;
}

/* A model may state the elements of its dropout itself (dropout=1), with a mask of half an element. */
double cost_saved_elems(const struct cost *c, uint32_t i)
{
	const struct dnn_layer *l = &c->d->layer[i];
	double mask = l->out_elems / c->element_bytes;
	if (c->role[i] == ROLE_BETWEEN)
		return 0;
	if (!c->o.dropout || l->block == DNN_NO_BLOCK)
		return l->saved_elems;
	return fmax(l->saved_elems, l->kind == ORR_LAYER_SOFTMAX ? 2 * l->out_elems + mask : is_addition(l) ? mask : 0);
}

static void memory_work(
	const struct cost *c, uint32_t i, enum dnn_pass pass, double batch, double shards, bool sequence_parallel, struct work *w)
{
	const struct dnn_layer *l = &c->d->layer[i];
	double elems = moved_elems(c, l, pass), extra = dropout_bytes(c, l, pass);
	if (elems == 0)
		return;
	double share = batch / (c->is_inside[i] || sequence_parallel ? shards : 1);
	w->bytes = share * (elems * c->element_bytes + extra);
	w->flops = share * l->fwd_flops;
	w->rate = c->dev->vector_flops;
	w->kernels = extra > 0 && l->kind == ORR_LAYER_SOFTMAX ? 2 : 1;
	/* The gates of a recurrent layer are part of each of its time steps. */
	if (i > 0 && l->kind == ORR_LAYER_ELEMENTWISE && l[-1].kind == ORR_LAYER_RNN && l[-1].count > 1)
		w->kernels = l[-1].count;
}

/* Returns the work of a pass; kernels is 0 if the pass does nothing. */
static struct work work_of(const struct cost *c, uint32_t i, enum dnn_pass pass, double batch, double shards, bool sequence_parallel)
{
	const struct dnn_layer *l = &c->d->layer[i];
	struct work w = { .rate = 1, .law = laws_number(c->laws, i, pass) };
	shards = l->split == DNN_SPLIT_NONE ? 1 : shards;
	if ((pass == DNN_BACKWARD_DATA && i == 0) || c->role[i] == ROLE_BETWEEN)
		return w; /* the gradient of the model's input is not computed */
	if (l->kind == ORR_LAYER_MATMUL) {
		if (pass != DNN_BACKWARD_WEIGHT)
			matmul_work(c, l, c->role[i], pass, batch, shards, &w);
	} else if (l->kind == ORR_LAYER_CONV || l->kind == ORR_LAYER_LINEAR || l->kind == ORR_LAYER_RNN) {
		weighted_work(c, l, pass, batch, shards, &w);
		w.flops = batch / shards * (pass == DNN_FORWARD ? l->fwd_flops : dnn_flops(c->d, i, pass));
	} else {
		memory_work(c, i, pass, batch, shards, sequence_parallel, &w);
	}
	return w;
}

/* Returns the time of a measured layer. The backward time counts as its data gradient. A shard takes 1/shards of the time. */
static double measured_layer_s(const struct cost *c, uint32_t i, enum dnn_pass pass, double batch, double shards)
{
	const double *s = c->d->layer[i].measured_s;
	return pass == DNN_BACKWARD_WEIGHT ? 0 : s[pass == DNN_BACKWARD_DATA] * batch / shards / c->relative_speed;
}

/* Returns the factor on the time of a layer in a whole network. */
static double network_factor(const struct cost *c, enum orr_layer_kind kind)
{
	switch (kind) {
	case ORR_LAYER_CONV:
		return c->conv_factor;
	case ORR_LAYER_NORM:
	case ORR_LAYER_ACTIVATION:
	case ORR_LAYER_POOL:
	case ORR_LAYER_SOFTMAX:
	case ORR_LAYER_ELEMENTWISE:
		return c->memory_factor;
	default:
		return 1;
	}
}

static double layer_s(const struct cost *c, uint32_t i, enum dnn_pass pass, double batch, double shards, bool sequence_parallel)
{
	if (c->d->profile_batch > 0)
		return measured_layer_s(c, i, pass, batch, shards);
	struct work w = work_of(c, i, pass, batch, shards, sequence_parallel);
	return network_factor(c, c->d->layer[i].kind) * seconds(c, &w);
}

/* ---- measured step times ---- */

static double step_s(const struct cost *c, double batch)
{
	double sum = 0;
	for (uint32_t i = 0; i < c->d->n_layers; i++)
		for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
			sum += layer_s(c, i, (enum dnn_pass)pass, batch, 1, false);
	return sum;
}

static const char *update_said(const struct steptime *e)
{
	return e->update == STEPTIME_WITH_UPDATE      ? "update of the parameters included and subtracted"
	       : e->update == STEPTIME_WITHOUT_UPDATE ? "without the update of the parameters"
						      : "update of the parameters not stated and not subtracted";
}

static char *text(const struct cost *c, const char *what, double a, double b, const struct steptime *e)
{
	struct sbuf s = { 0 };
	sbuf_printf(&s, "measured (%s), %s", e->setup, what);
	if (a > 0)
		sbuf_printf(&s, " %.10g", a);
	if (b > 0)
		sbuf_printf(&s, " and %.10g", b);
	sbuf_printf(&s, "; %s; %s; shares of layers: %s", update_said(e), e->source, c->model_source);
	return sbuf_steal(&s);
}

static int take_measured(struct cost *c, const struct steptime *e, struct orr_error *err)
{
	double update = e->update == STEPTIME_WITH_UPDATE ? cost_update_s(c, c->d->params, e->state_bytes) : 0;
	c->n = e->n;
	c->batch = mem_zalloc(e->n, sizeof *c->batch);
	c->factor = mem_zalloc(e->n, sizeof *c->factor);
	c->exact_source = mem_zalloc(e->n, sizeof *c->exact_source);
	c->between_source = mem_zalloc(e->n, sizeof *c->between_source);
	for (uint32_t i = 0; i < e->n; i++) {
		if (e->seconds[i] <= update)
			return orr_fail(err, ORR_EINPUT,
				"%s on %s: the measured step takes %g s: expected more than the update of the parameters alone, %g s",
				c->d->name, c->dev->name, e->seconds[i], update);
		c->batch[i] = e->batch[i];
		c->factor[i] = (e->seconds[i] - update) / step_s(c, e->batch[i]);
		c->exact_source[i] = text(c, "at batch", e->batch[i], 0, e);
		if (i + 1 < e->n)
			c->between_source[i] = text(c, "interpolated between batches", e->batch[i], e->batch[i + 1], e);
	}
	c->beyond_source = text(c, "outside the measured batches: scaled as at the nearest measured batches,", e->batch[0],
		e->n > 1 ? e->batch[e->n - 1] : 0, e);
	return ORR_OK;
}

static int look_up(struct cost *c, struct orr_error *err)
{
	struct steptimes *t = steptimes_load(err);
	if (!t)
		return err ? err->code : ORR_EINPUT;
	const struct steptime *e = steptimes_find(t, c->dev->name, c->d->name, c->o.precision, c->o.setup);
	int rc = e ? take_measured(c, e, err) : ORR_OK;
	steptimes_free(t);
	return rc;
}

/* Returns the index of the largest measured batch size <= batch; n if all are larger. */
static uint32_t point_before(const struct cost *c, double batch)
{
	uint32_t i = c->n;
	while (i > 0 && c->batch[i - 1] > batch)
		i--;
	return i ? i - 1 : c->n;
}

static double factor_at(const struct cost *c, double batch)
{
	if (!c->n)
		return 1;
	uint32_t i = point_before(c, batch);
	if (i == c->n)
		return c->factor[0];
	if (i + 1 == c->n || c->batch[i] == batch)
		return c->factor[i];
	double t = (batch - c->batch[i]) / (c->batch[i + 1] - c->batch[i]);
	return c->factor[i] + t * (c->factor[i + 1] - c->factor[i]);
}

const char *cost_source(const struct cost *c, double batch)
{
	if (!c->n)
		return c->model_source;
	uint32_t i = point_before(c, batch);
	if (i == c->n)
		return c->beyond_source;
	if (c->batch[i] == batch)
		return c->exact_source[i];
	return i + 1 < c->n ? c->between_source[i] : c->beyond_source;
}

void cost_put_published(const struct cost *c, struct sbuf *out)
{
	const struct steptimes *t = c->n || c->d->profile_batch > 0 ? NULL : steptimes_shared();
	double least = INFINITY, most = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; t && i < t->n; i++) {
		const struct steptime *e = &t->entry[i];
		if (!steptimes_matches(e, c->dev->name, c->d->name, c->o.precision))
			continue;
		double update = e->update == STEPTIME_WITH_UPDATE ? cost_update_s(c, c->d->params, e->state_bytes) : 0;
		for (uint32_t k = 0; k < e->n; k++, n++) {
			double times = (step_s(c, e->batch[k]) + update) / e->seconds[k];
			least = fmin(least, times);
			most = fmax(most, times);
		}
	}
	if (n == 1)
		sbuf_printf(
			out, "; on one GPU a computed step takes %.2g times the published one (orrery device show %s)", most, c->dev->name);
	else if (n)
		sbuf_printf(out, "; on one GPU computed steps take %.2g to %.2g times the %u published ones (orrery device show %s)", least,
			most, n, c->dev->name);
}

void cost_put_precision(const struct cost *c, struct sbuf *out)
{
	const double *peak = c->dev->peak_flops;
	const struct profile *measured = c->laws ? c->o.profile : NULL;
	uint32_t n = 0;
	if (c->o.precision == PRECISION_FP8 && measured && !profile_law(measured, "gemm", "", "fp8", "", 0, 0) &&
		profile_law(measured, "gemm", "", "fp16", "", 0, 0))
		sbuf_puts(out,
			"; matrix products are not measured in fp8, so small ones may come out slower than in fp16 or bf16, where a law of "
			"measured kernels applies");
	if (c->o.precision != PRECISION_FP32 || c->d->profile_batch > 0)
		return;
	for (int p = 0; p < PRECISION_COUNT; p++)
		if (peak[p] >= 2 * peak[PRECISION_FP32] && !n++)
			sbuf_printf(out, "; in fp32: %s has %.2g times this peak in %s", c->dev->name, peak[p] / peak[PRECISION_FP32],
				precision_name((enum precision)p));
		else if (peak[p] >= 2 * peak[PRECISION_FP32])
			sbuf_printf(out, ", %.2g times in %s", peak[p] / peak[PRECISION_FP32], precision_name((enum precision)p));
	sbuf_puts(out, n ? " (--precision)" : "");
}

/* ---- description of the profile ---- */

const char *cost_family_name(enum cost_family f)
{
	static const char *const names[COST_FAMILIES] = { "gemm", "conv", "memory", "gather", "update" };
	return names[f];
}

void cost_cover(const struct cost *c, double batch, uint32_t shards, bool sequence_parallel, struct cost_coverage *io)
{
	for (uint32_t i = 0; i < c->d->n_layers; i++)
		for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++) {
			struct work w = work_of(c, i, (enum dnn_pass)pass, batch, shards, sequence_parallel);
			uint64_t n = (uint64_t)w.kernels;
			io->kernels += n;
			if (!n || !w.law)
				continue;
			bool is_inside = laws_is_inside(c->laws, w.law, w.flops / w.kernels, w.bytes / w.kernels);
			io->by_law += n;
			io->outside += is_inside ? 0 : n;
			io->outside_of[laws_family(c->d->layer[i].kind)] += is_inside ? 0 : n;
		}
}

double cost_profile_error(const struct cost *c)
{
	return c->laws ? c->error : NAN;
}

/* Returns the median error (held out if known) of the laws that time this model's kernels, averaged over kernels. */
static double error_of_laws(const struct cost *c)
{
	double sum = 0, n = 0;
	for (uint32_t i = 0; i < c->d->n_layers; i++)
		for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++) {
			struct work w = work_of(c, i, (enum dnn_pass)pass, 1, 1, false);
			double e = w.law && w.kernels > 0 ? laws_error(c->laws, w.law) : NAN;
			sum += isnan(e) ? 0 : w.kernels * e;
			n += isnan(e) ? 0 : w.kernels;
		}
	return n > 0 ? sum / n : NAN;
}

/* Counts the kernels of this model at batch 1, by family, that have a law, or (with_law false) that have none. */
static void count_families(const struct cost *c, bool with_law, uint64_t n[COST_FAMILIES])
{
	for (uint32_t i = 0; i < c->d->n_layers; i++)
		for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++) {
			struct work w = work_of(c, i, (enum dnn_pass)pass, 1, 1, false);
			n[laws_family(c->d->layer[i].kind)] += w.kernels > 0 && (w.law != 0) == with_law;
		}
	n[COST_UPDATE] = (laws_update(c->laws, 0) != 0) == with_law;
}

/* Lists the families that have a law, or (with_law false) that have none. */
static void put_families(const struct cost *c, bool with_law, struct sbuf *out)
{
	uint64_t n[COST_FAMILIES] = { 0 };
	count_families(c, with_law, n);
	for (int f = 0; f < COST_FAMILIES; f++)
		if (n[f])
			sbuf_printf(out, "%s%s", out->len ? ", " : "", cost_family_name((enum cost_family)f));
}

/* Says which shares of the peak that the roofline uses for this model are not those of the device. */
static void put_carried_over(const struct cost *c, struct sbuf *out)
{
	uint64_t n[COST_FAMILIES] = { 0 };
	count_families(c, false, n);
	bool gemm = n[COST_GEMM] && c->dev->gemm_is_carried_over && !(c->o.efficiency > 0),
	     conv = n[COST_CONV] && c->dev->conv_is_carried_over;
	if (gemm || conv)
		sbuf_printf(out, "; shares of the peak for %s%s%s carried over or assumed, not measured on %s",
			gemm ? cost_family_name(COST_GEMM) : "", gemm && conv ? ", " : "", conv ? cost_family_name(COST_CONV) : "",
			c->dev->name);
}

/* Describes a model with measured layers. */
static char *describe_measured(const struct cost *c)
{
	struct sbuf source = { 0 };
	sbuf_printf(&source, "layers measured on %s at batch %g", c->d->profile_device, c->d->profile_batch);
	if (c->relative_speed < 1 || c->relative_speed > 1)
		sbuf_printf(&source, ", times %.3g for the peak of %s", 1 / c->relative_speed, c->dev->name);
	return sbuf_steal(&source);
}

static char *describe(const struct cost *c)
{
	if (c->d->profile_batch > 0)
		return describe_measured(c);
	struct sbuf source = { 0 }, by_law = { 0 }, others = { 0 };
	char *summary = c->o.profile ? profile_summary(c->o.profile) : NULL;
	if (summary) {
		put_families(c, true, &by_law);
		put_families(c, false, &others);
	}
	if (by_law.len) {
		char error[32] = "error not known";
		if (isfinite(c->error))
			snprintf(error, sizeof error, "%.2g %%", 100 * c->error);
		sbuf_printf(&source, "profile %s for %s (its laws here: %s)%s%s", summary, by_law.text, error,
			others.len ? "; the data sheet's roofline for " : "", sbuf_text(&others));
	} else
		sbuf_printf(&source, "data sheet only: roofline of %s (%s)%s%s", c->dev->name,
			c->dev->is_measured ? "its shares measured" : "data sheet and published kernel times",
			summary ? "; no law for these kernels in profile " : "", summary ? summary : "");
	put_carried_over(c, &source);
	if (c->conv_factor != 1 || c->memory_factor != 1)
		sbuf_printf(&source, "; factors of whole networks: %.3g on convolutions, %.3g on memory-bound layers", c->conv_factor,
			c->memory_factor);
	if (c->o.efficiency > 0)
		sbuf_puts(&source, ", efficiency of products set by cost.efficiency");
	mem_free(summary);
	sbuf_free(&by_law);
	sbuf_free(&others);
	return sbuf_steal(&source);
}

/* ---- construction ---- */

static void find_inside(struct cost *c)
{
	bool is_inside = false;
	for (uint32_t i = 0; i < c->d->n_layers; i++) {
		const struct dnn_layer *l = &c->d->layer[i];
		if (l->kind == ORR_LAYER_LINEAR)
			is_inside = l->split ? l->split == DNN_SPLIT_COLUMNS : l->out_elems > l->in_elems;
		c->is_inside[i] = is_inside;
	}
}

/* Marks scores, softmax (with the layers between) and context if two products enclose exactly one softmax. */
static void find_attention(const struct dnn *d, uint8_t *role)
{
	uint32_t scores = UINT32_MAX;
	bool has_softmax = false;
	for (uint32_t i = 0; i < d->n_layers; i++) {
		enum orr_layer_kind kind = d->layer[i].kind;
		if (kind == ORR_LAYER_SOFTMAX && scores != UINT32_MAX) {
			has_softmax = true;
		} else if (kind == ORR_LAYER_MATMUL && has_softmax) {
			role[scores] = ROLE_SCORES;
			for (uint32_t k = scores + 1; k < i; k++)
				role[k] = ROLE_BETWEEN;
			role[i] = ROLE_CONTEXT;
			scores = UINT32_MAX;
			has_softmax = false;
		} else if (kind == ORR_LAYER_MATMUL) {
			scores = i;
		} else if (kind != ORR_LAYER_ELEMENTWISE) {
			scores = UINT32_MAX;
			has_softmax = false;
		}
	}
}

double cost_scores_share(const struct cost *c)
{
	const struct dnn *d = c->d;
	uint8_t *role = mem_zalloc(d->n_layers + 1, 1);
	double scores = 0, kept = 0;
	if (!c->o.fused_attention)
		find_attention(d, role);
	for (uint32_t i = 0; i < d->n_layers; i++) {
		kept += d->layer[i].saved_elems;
		scores += role[i] == ROLE_BETWEEN ? d->layer[i].saved_elems : 0;
	}
	mem_free(role);
	return scores > 0 ? scores / kept : 0;
}

/* Sets the factors of whole convolutional networks in 16 bits. They were fitted on top of the laws of convolutions. */
static void find_factors(struct cost *c)
{
	bool has_convolutions = false;
	c->conv_factor = c->memory_factor = 1;
	for (uint32_t i = 0; i < c->d->n_layers; i++)
		has_convolutions |= c->d->layer[i].kind == ORR_LAYER_CONV && laws_number(c->laws, i, DNN_FORWARD);
	if (!has_convolutions || c->d->hidden > 0 || (c->o.precision != PRECISION_FP16 && c->o.precision != PRECISION_BF16))
		return;
	c->conv_factor = c->dev->network_conv_time > 0 ? c->dev->network_conv_time : 1;
	c->memory_factor = c->dev->network_memory_time > 0 ? c->dev->network_memory_time : 1;
}

static int check(const struct device *dev, const struct cost_options *o, struct orr_error *err)
{
	if (o->precision < PRECISION_COUNT && dev->peak_flops[o->precision] > 0)
		return ORR_OK;
	struct sbuf can = { 0 };
	for (int p = 0; p < PRECISION_COUNT; p++)
		if (dev->peak_flops[p] > 0)
			sbuf_printf(&can, "%s%s", can.len ? ", " : "", precision_name((enum precision)p));
	orr_fail(err, ORR_EINPUT, "device %s has no %s: expected %s", dev->name, precision_name(o->precision), sbuf_text(&can));
	sbuf_free(&can);
	return ORR_EINPUT;
}

/* Computes the speed of dev relative to the device on which the layers of d were measured: the ratio of achieved peaks of FP32
 * products. */
static int compare_speed(const struct dnn *d, const struct device *dev, const struct cost_options *o, double *out, struct orr_error *err)
{
	if (o->precision != PRECISION_FP32)
		return orr_fail(err, ORR_EINPUT, "model %.100s: the layers were measured in fp32: expected --precision fp32", d->name);
	struct device *of = device_load(d->profile_device, err);
	if (!of)
		return ORR_EINPUT;
	const enum precision p = PRECISION_FP32;
	*out = dev->peak_flops[p] * dev->gemm_efficiency[p] / (of->peak_flops[p] * of->gemm_efficiency[p]);
	device_free(of);
	return ORR_OK;
}

struct cost *cost_new(const struct dnn *d, const struct device *dev, const struct cost_options *o, struct orr_error *err)
{
	double relative_speed = 1;
	if (check(dev, o, err) || (d->profile_batch > 0 && compare_speed(d, dev, o, &relative_speed, err)))
		return NULL;
	struct cost *c = mem_zalloc(1, sizeof *c);
	c->relative_speed = relative_speed;
	c->d = d;
	c->dev = dev;
	c->o = *o;
	c->o.setup = NULL; /* the caller owns it */
	c->element_bytes = o->precision == PRECISION_FP32 || o->precision == PRECISION_TF32 ? 4 : 2;
	c->Bps = dev->memory_Bps * dev->memory_efficiency;
	c->ramp_s = device_ramp_s(dev);
	c->role = mem_zalloc(d->n_layers + 1, 1);
	c->is_inside = mem_zalloc(d->n_layers + 1, sizeof *c->is_inside);
	find_inside(c);
	if (o->fused_attention)
		find_attention(d, c->role);
	if (o->profile && !(d->profile_batch > 0))
		c->laws = laws_new(d, o, c->element_bytes);
	find_factors(c);
	c->error = c->laws ? error_of_laws(c) : NAN;
	c->model_source = describe(c);
	if (o->use_measured) {
		c->o.setup = o->setup;
		int rc = look_up(c, err);
		c->o.setup = NULL;
		if (rc) {
			cost_free(c);
			return NULL;
		}
	}
	return c;
}

void cost_free(struct cost *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n; i++) {
		mem_free(c->exact_source[i]);
		mem_free(c->between_source[i]);
	}
	mem_free(c->exact_source);
	mem_free(c->between_source);
	mem_free(c->beyond_source);
	mem_free(c->model_source);
	mem_free(c->batch);
	mem_free(c->factor);
	laws_free(c->laws);
	mem_free(c->role);
	mem_free(c->is_inside);
	mem_free(c);
}

const struct profile *cost_profile(const struct cost *c)
{
	return c->o.profile;
}

double cost_layer_s(const struct cost *c, uint32_t l, enum dnn_pass pass, double batch, uint32_t shards, bool sequence_parallel)
{
	return factor_at(c, batch) * layer_s(c, l, pass, batch, shards, sequence_parallel);
}

double cost_range_s(
	const struct cost *c, uint32_t first, uint32_t count, enum dnn_pass pass, double batch, uint32_t shards, bool sequence_parallel)
{
	double sum = 0;
	for (uint32_t i = first; i < first + count; i++)
		sum += layer_s(c, i, pass, batch, shards, sequence_parallel);
	return factor_at(c, batch) * sum;
}

double cost_experts_s(const struct cost *c, uint32_t l, enum dnn_pass pass, double pairs, double experts, uint32_t shards)
{
	const struct dnn_layer *x = &c->d->layer[l];
	double each = (double)c->d->moe.top_k * c->d->seq; /* pairs of a sample */
	if (!(x->experts > 0) || !(pairs > 0) || !(each > 0) || c->d->profile_batch > 0)
		return 0;
	struct work w = work_of(c, l, pass, pairs / each, shards, false);
	double element = c->o.weight_bytes > 0 ? c->o.weight_bytes : c->element_bytes;
	if (x->kind == ORR_LAYER_LINEAR)
		w.bytes -= element * (x->experts - experts) * x->n * x->k / shards;
	return network_factor(c, x->kind) * seconds(c, &w);
}

double cost_update_s(const struct cost *c, double params, double state_bytes)
{
	double bytes = params * (2 * state_bytes + 3 * c->element_bytes);
	uint32_t law = laws_update(c->laws, state_bytes);
	if (params > 0 && law)
		return laws_seconds(c->laws, law, -1, bytes);
	return params > 0 ? bytes / c->Bps + c->dev->launch_s : 0;
}

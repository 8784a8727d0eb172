/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/scale.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "calib/fit.h"

#include <math.h>
#include <string.h>

enum { SIDE = 9 };

static double peak_of(const struct device *d, const char *precision)
{
	enum precision p;
	if (precision_named(precision, &p) && d->peak_flops[p] > 0)
		return d->peak_flops[p];
	return d->vector_flops;
}

/* Returns the factor on the time of a kernel with these FLOPs and bytes. */
static double scale_factor(const struct device *from, const struct device *to, const char *precision, double flops, double bytes)
{
	double compute = peak_of(from, precision) / peak_of(to, precision), memory = from->memory_Bps / to->memory_Bps;
	double ridge = peak_of(to, precision) / to->memory_Bps, x = bytes > 0 ? flops / bytes : INFINITY;
	double g = x < ridge ? 1 - 0.5 * x / ridge : 0.5 * ridge / x;
	return pow(memory, g) * pow(compute, 1 - g);
}

/* ---- points over the range of a law ---- */

static double between(double from, double to, int i, int n)
{
	if (isnan(from) || !(to > 0))
		return 0;
	double low = from > 0 ? from : to * 1e-6;
	return low * pow(to / low, (double)i / (n - 1));
}

/* Returns whether the FLOPs per byte are near those of the law's anchors. */
static bool is_plausible(const struct law *l, double flops, double bytes)
{
	double low = INFINITY, high = 0;
	for (uint32_t i = 0; i < l->n_anchors; i++) {
		double x = l->anchor[i].feature[0] / l->anchor[i].feature[1];
		low = fmin(low, x);
		high = fmax(high, x);
	}
	double x = flops / bytes;
	return !(high > 0) || !isfinite(high) || (x >= low / 4 && x <= high * 4);
}

static uint32_t spread_points(const struct law *l, double out[SCALE_POINTS][LAW_FEATURES])
{
	bool has_flops = !isnan(l->from[0]), has_bytes = !isnan(l->from[1]), has_size = !isnan(l->from[2]);
	uint32_t n = 0;
	int side = has_flops && has_bytes ? SIDE : 1, steps = has_flops || has_bytes || has_size ? side == 1 ? SCALE_POINTS : SIDE : 1;
	for (int i = 0; i < steps; i++)
		for (int k = 0; k < side; k++) {
			double *x = out[n];
			x[0] = has_flops ? between(l->from[0], l->to[0], i, steps) : 0;
			x[1] = has_bytes ? between(l->from[1], l->to[1], side > 1 ? k : i, side > 1 ? side : steps) : 0;
			x[2] = has_size ? between(l->from[2], l->to[2], i, steps) : 0;
			n += side == 1 || is_plausible(l, x[0], x[1]);
		}
	return n;
}

uint32_t law_compare(const struct law *a, const struct law *b, double ratio[SCALE_POINTS])
{
	double x[SCALE_POINTS][LAW_FEATURES];
	uint32_t n = spread_points(b, x);
	for (uint32_t i = 0; i < n; i++)
		ratio[i] = law_time(b, x[i][0], x[i][1], x[i][2], NULL) / law_time(a, x[i][0], x[i][1], x[i][2], NULL);
	return n;
}

/* ---- laws ---- */

static bool is_scaled(const struct law *l)
{
	return !strcmp(l->family, "gemm") || !strcmp(l->family, "conv") || !strcmp(l->family, "memory") || !strcmp(l->family, "gather") ||
	       !strcmp(l->family, "update") || !strcmp(l->family, "attention") || !strcmp(l->family, "launch");
}

static void copy_names(const struct law *from, struct law *to)
{
	to->family = mem_strdup(from->family);
	to->op = mem_strdup(from->op);
	to->precision = mem_strdup(from->precision);
	to->variant = mem_strdup(from->variant);
	to->ranks = from->ranks;
	to->nodes = from->nodes;
}

/* Scales a law. The time of a launch is unchanged, because it is time of the host. Other laws of kernels are evaluated, scaled and
 * fitted again. */
static int scale_law(const struct law *l, const struct device *from, const struct device *to, struct law *out, struct orr_error *err)
{
	double x[SCALE_POINTS][LAW_FEATURES];
	uint32_t n = spread_points(l, x);
	struct point *made = mem_zalloc(n, sizeof *made);
	const struct point **list = mem_zalloc(n, sizeof *list);
	bool is_launch = !strcmp(l->family, "launch");
	for (uint32_t i = 0; i < n; i++) {
		double factor = is_launch ? 1 : scale_factor(from, to, l->precision, x[i][0], x[i][1]);
		made[i] = (struct point){ .flops = x[i][0], .bytes = x[i][1], .size = x[i][2], .low_s = NAN, .high_s = NAN };
		made[i].time_s = law_time(l, x[i][0], x[i][1], x[i][2], NULL) * factor;
		list[i] = &made[i];
	}
	int rc = fit_law(l->form, list, n, out, err);
	mem_free(made);
	mem_free(list);
	return rc;
}

/* Returns whether a law stays as measured: times of collectives depend on the links between the GPUs, so a device with the same
 * links and fabric has the same laws. */
static bool is_kept(const struct law *l, const struct device *from, const struct device *to)
{
	return !strcmp(l->family, "collective") && from->link_Bps > 0 && from->link_Bps == to->link_Bps && *from->fabric &&
	       !strcmp(from->fabric, to->fabric);
}

static void *copied(const void *from, size_t size)
{
	return size ? memcpy(mem_alloc(size), from, size) : NULL;
}

static void keep_law(const struct law *l, struct law *out)
{
	*out = *l;
	copy_names(l, out);
	out->table_x = copied(l->table_x, l->n_table * sizeof *l->table_x);
	out->table_y = copied(l->table_y, l->n_table * sizeof *l->table_y);
	out->anchor = copied(l->anchor, l->n_anchors * sizeof *l->anchor);
	out->point = copied(l->point, l->n_points * sizeof *l->point);
}

static const struct law *same_law(const struct profile *p, const struct law *l)
{
	for (size_t i = 0; i < p->n_laws; i++) {
		const struct law *k = &p->law[i];
		if (!strcmp(k->family, l->family) && !strcmp(k->op, l->op) && !strcmp(k->precision, l->precision) &&
			!strcmp(k->variant, l->variant))
			return k;
	}
	return NULL;
}

/* Returns whether products of this precision run on tensor cores, which have several times the vector rate. */
static bool has_tensor_cores(const struct device *d, const char *precision)
{
	enum precision p;
	return precision_named(precision, &p) && d->peak_flops[p] >= 4 * d->vector_flops;
}

/*
 * Returns the law of p that the check compares with l. Scaling from a device with tensor cores to one without them says nothing
 * about scaling between two devices with tensor cores. Such laws get the error of the same kernel in fp32.
 */
static const struct law *law_to_check(const struct scale_check *c, const struct profile *p, const struct law *l)
{
	struct law in_fp32 = *l;
	if (has_tensor_cores(c->device_a, l->precision) == has_tensor_cores(c->device_b, l->precision))
		return same_law(p, l);
	in_fp32.precision = (char[]){ "fp32" };
	return same_law(p, &in_fp32);
}

/* Computes the error of a's law, scaled to b's device, against b's own law. */
static uint32_t check_error(const struct scale_check *c, const struct law *l, struct law *out)
{
	const struct law *a = law_to_check(c, c->a, l), *b = law_to_check(c, c->b, l);
	double ratio[SCALE_POINTS], ones[SCALE_POINTS];
	struct law scaled = { 0 };
	uint32_t n = 0;
	if (a && b && !scale_law(a, c->device_a, c->device_b, &scaled, NULL)) {
		n = law_compare(b, &scaled, ratio);
		for (uint32_t i = 0; i < n; i++)
			ones[i] = 1;
		fit_errors(ratio, ones, n, &out->held_out_mean, &out->held_out_median, &out->held_out_p90);
	}
	fit_law_free(&scaled);
	return n;
}

static char *scaled_note(const struct profile *p, const struct device *to, const struct scale_check *check, bool has_collectives)
{
	struct sbuf s = { 0 };
	sbuf_printf(&s, "not measured: scaled from the profile %s to the data sheet of the %s", p->name, to->name);
	if (check)
		sbuf_printf(&s,
			"; the stated error of a law is the error of scaling the same law from %s to %s, which were both measured (for "
			"tensor cores, which only one of the two has, the error of the same kernel in fp32); laws that one of the two "
			"lacks state no error",
			check->a->name, check->b->name);
	else
		sbuf_puts(&s, "; its errors are unknown: no pair of measured devices is available for a check");
	sbuf_puts(&s, has_collectives ? "; collectives are those of the same links; copies and interference are left out"
				      : "; collectives, copies and interference are left out");
	return sbuf_steal(&s);
}

struct profile *scale_profile(
	const struct profile *p, const struct device *from, const struct device *to, const struct scale_check *check, struct orr_error *err)
{
	struct profile *out = mem_zalloc(1, sizeof *out);
	int rc = ORR_OK;
	bool has_collectives = false;
	size_t n_scaled = 0;
	out->name = mem_strdup(to->name);
	out->device = mem_strdup(to->name);
	out->title = mem_strdup(to->title);
	out->source = mem_strdup(p->source);
	out->date = mem_strdup(p->date);
	out->backend = mem_strdup("scaled");
	out->environment = mem_strdup("");
	out->is_stable = p->is_stable;
	out->law = mem_zalloc(p->n_laws, sizeof *out->law);
	for (size_t i = 0; !rc && i < p->n_laws; i++) {
		const struct law *l = &p->law[i];
		if (is_kept(l, from, to)) {
			keep_law(l, &out->law[out->n_laws++]);
			has_collectives = true;
		}
		if (!is_scaled(l))
			continue;
		n_scaled++;
		struct law *s = &out->law[out->n_laws];
		rc = scale_law(l, from, to, s, err);
		copy_names(l, s);
		out->n_laws++;
		s->points = l->points;
		s->mean_error = s->median_error = s->p90_error = NAN; /* without measurements, errors are unknown */
		s->held_out = check ? check_error(check, l, s) : 0;
		double known = isnan(s->held_out_median) ? 0 : s->held_out_median;
		s->sigma = hypot(l->sigma, known);
		memcpy(s->covariance, l->covariance, sizeof s->covariance);
	}
	out->note = scaled_note(p, to, check, has_collectives);
	if (!rc && !n_scaled)
		rc = orr_fail(err, ORR_EINPUT, "%.100s: no law can be scaled: expected at least one law of a kernel", p->name);
	if (!rc)
		return out;
	profile_free(out);
	return NULL;
}

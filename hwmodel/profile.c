/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulas and their sources: docs/models/devices.md, "Laws of a profile". */
#include "hwmodel/profile.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "hwmodel/embedded.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const double us = 1e-6, giga = 1e9, mega = 1e6;

static const struct {
	const char *name;
	uint32_t n;
	const char *param[LAW_PARAMS];
} forms[FORM_COUNT] = {
	[FORM_ROOFLINE] = { "roofline", 4, { "time0_us", "rate_GFLOPps", "rate_GBps", "exponent" } },
	[FORM_LINE] = { "line", 2, { "time0_us", "rate_GBps" } },
	[FORM_ENVELOPE] = { "envelope", 6, { "time1_us", "rate1_GBps", "time2_us", "rate2_GBps", "time3_us", "rate3_GBps" } },
	[FORM_TABLE] = { "table", 0, { NULL } },
	[FORM_FACTOR] = { "factor", 1, { "factor" } },
	[FORM_CACHED] = { "cached", 4, { "time0_us", "near_GBps", "far_GBps", "cache_MB" } },
};

const char *law_form_name(enum profile_form form)
{
	return forms[form].name;
}

uint32_t law_form_params(enum profile_form form)
{
	return forms[form].n;
}

const char *law_param_name(enum profile_form form, uint32_t i, double *unit)
{
	if (i >= forms[form].n)
		return NULL;
	const char *name = forms[form].param[i];
	*unit = strstr(name, "_us") ? us : strstr(name, "_G") ? giga : strstr(name, "_MB") ? mega : 1;
	return name;
}

/* ---- evaluation ---- */

/* Returns (x^p + y^p)^(1/p), without overflow. */
static double p_norm(double x, double y, double p)
{
	double big = fmax(x, y), small = fmin(x, y);
	if (big == 0 || small == 0)
		return big;
	return big * pow(1 + pow(small / big, p), 1 / p);
}

/* Interpolates linearly in log-log. Below the first point it returns the value there; beyond the last, times grow in proportion to
 * x. */
static double interpolated(const struct law *l, double x)
{
	uint32_t n = l->n_table;
	if (n == 0)
		return NAN;
	if (n == 1 || x <= l->table_x[0])
		return l->table_y[0];
	if (x >= l->table_x[n - 1])
		return l->table_y[n - 1] * x / l->table_x[n - 1];
	uint32_t i = 1;
	while (l->table_x[i] < x)
		i++;
	double share = log(x / l->table_x[i - 1]) / log(l->table_x[i] / l->table_x[i - 1]);
	return l->table_y[i - 1] * pow(l->table_y[i] / l->table_y[i - 1], share);
}

/* Returns the time of accesses to a cache: hits have one rate, misses another. The hit share falls from 0.94 to 0.06 over a factor
 * of 4 in bytes. */
static double cached(const double *v, double bytes)
{
	double hits = 1 / (1 + pow(bytes / v[3], 4));
	return v[0] + bytes * (hits / v[1] + (1 - hits) / v[2]);
}

static double evaluated(const struct law *l, const double *v, double flops, double bytes, double size)
{
	double best = INFINITY;
	switch (l->form) {
	case FORM_ROOFLINE:
		return v[0] + p_norm(flops / v[1], bytes / v[2], v[3]);
	case FORM_LINE:
		return v[0] + size / v[1];
	case FORM_ENVELOPE:
		for (uint32_t i = 0; i + 1 < l->n_params; i += 2)
			best = fmin(best, v[i] + size / v[i + 1]);
		return best;
	case FORM_CACHED:
		return cached(v, bytes > 0 ? bytes : size);
	case FORM_TABLE:
		return interpolated(l, isnan(l->from[2]) ? (isnan(l->from[0]) ? bytes : flops) : size);
	default:
		return v[0];
	}
}

double law_time(const struct law *l, double flops, double bytes, double size, bool *is_inside)
{
	const double feature[LAW_FEATURES] = { flops, bytes, size };
	for (int i = 0; is_inside && i < LAW_FEATURES; i++)
		if (i == 0 || *is_inside)
			*is_inside = isnan(l->from[i]) || (feature[i] >= 0.99 * l->from[i] && feature[i] <= 1.01 * l->to[i]);
	return evaluated(l, l->param, flops, bytes, size);
}

/* Computes the lower triangle L of L L' = covariance; fixed parameters have rows of zeros. */
static void cholesky(const struct law *l, double out[LAW_PARAMS][LAW_PARAMS])
{
	for (uint32_t i = 0; i < l->n_params; i++)
		for (uint32_t k = 0; k <= i; k++) {
			double sum = l->covariance[i][k];
			for (uint32_t j = 0; j < k; j++)
				sum -= out[i][j] * out[k][j];
			out[i][k] = i == k ? sqrt(fmax(0, sum)) : out[k][k] > 0 ? sum / out[k][k] : 0;
		}
}

double law_time_drawn(const struct law *l, const double *z, double e, double flops, double bytes, double size)
{
	double root[LAW_PARAMS][LAW_PARAMS] = { { 0 } }, v[LAW_PARAMS];
	cholesky(l, root);
	for (uint32_t i = 0; i < l->n_params; i++) {
		double shift = 0;
		for (uint32_t k = 0; k <= i; k++)
			shift += root[i][k] * z[k];
		v[i] = l->param[i] * exp(fmax(-4, fmin(4, shift)));
	}
	return evaluated(l, v, flops, bytes, size) * exp(l->sigma * e);
}

/* ---- choice of the law ---- */

/* Returns how well `has` matches `asked`: 3 if they are equal, 2 if `has` covers all values, 0 if they do not match. If `asked` is
 * empty and is_any_good is true, any other value matches with 1. */
static int match(const char *has, const char *asked, bool is_any_good)
{
	if (!strcasecmp(has, asked))
		return 3;
	if (!*has)
		return 2;
	return !*asked && is_any_good ? 1 : 0;
}

const struct law *profile_law(
	const struct profile *p, const char *family, const char *op, const char *precision, const char *variant, double ranks, double nodes)
{
	const struct law *best = NULL;
	int best_score = 0;
	for (size_t i = 0; i < p->n_laws; i++) {
		const struct law *l = &p->law[i];
		int by_op = match(l->op, op, false), by_precision = match(l->precision, precision, true),
		    by_variant = match(l->variant, variant, true);
		if (strcasecmp(l->family, family) || !by_op || !by_precision || !by_variant || l->ranks != ranks || l->nodes != nodes)
			continue;
		int score = 16 * by_op + 4 * by_precision + by_variant;
		if (score > best_score || (score == best_score && l->points > best->points)) {
			best = l;
			best_score = score;
		}
	}
	return best;
}

/* Fabrics of the machines on which collectives of the catalogue's profiles were measured, by the start of the variant's name. */
static const struct {
	const char *start, *fabric;
} fabrics[] = { { "a100_dgx", "nvswitch" }, { "h100_dgx", "nvswitch" }, { "NVSwitch", "nvswitch" },
	{ "a100_pairwise_nvlink", "nvlink-pairs" }, { "NVLink bridge pair", "nvlink-pairs" }, { "NVLink2", "nvlink-mesh" } };

static bool is_on_fabric(const struct law *l, const char *fabric)
{
	for (size_t i = 0; i < sizeof fabrics / sizeof *fabrics; i++)
		if (!strncasecmp(l->variant, fabrics[i].start, strlen(fabrics[i].start)))
			return fabric && !strcmp(fabrics[i].fabric, fabric);
	return true;
}

bool law_covers(const struct law *l, double size)
{
	return size <= 1.01 * l->to[2] && (size >= 0.99 * l->from[2] || l->from[2] <= 4096);
}

const struct law *profile_collective_at(
	const struct profile *p, const char *op, const char *fabric, double ranks, double nodes, double size)
{
	const struct law *best = NULL;
	double widest = 0;
	for (size_t i = 0; i < p->n_laws; i++) {
		const struct law *l = &p->law[i];
		if (strcasecmp(l->family, "collective") || strcasecmp(l->op, op) || l->nodes != nodes || (ranks > 0 && l->ranks != ranks) ||
			!is_on_fabric(l, fabric))
			continue;
		/* The factor gives precedence to laws whose measurements include this size. */
		double range = l->to[2] / l->from[2] * (law_covers(l, size) ? 1e30 : 1);
		if (!best || range > widest) {
			best = l;
			widest = range;
		}
	}
	return best;
}

const struct law *profile_collective(const struct profile *p, const char *op, const char *fabric, double ranks, double nodes)
{
	return profile_collective_at(p, op, fabric, ranks, nodes, NAN);
}

static double law_median(const struct law *l)
{
	return isnan(l->held_out_median) ? l->median_error : l->held_out_median;
}

/* Returns whether l covers all variants of an op whose variants also have laws; such a law adds no information. */
static bool is_pooled(const struct profile *p, const struct law *l)
{
	for (size_t i = 0; !*l->variant && i < p->n_laws; i++) {
		const struct law *k = &p->law[i];
		if (*k->variant && !strcmp(k->family, l->family) && !strcmp(k->op, l->op) && !strcmp(k->precision, l->precision))
			return true;
	}
	return false;
}

static double law_mean(const struct law *l)
{
	return isnan(l->held_out_mean) ? l->mean_error : l->held_out_mean;
}

static double error_of(const struct profile *p, double (*of)(const struct law *l))
{
	double sum = 0, points = 0;
	for (size_t i = 0; i < p->n_laws; i++) {
		double e = is_pooled(p, &p->law[i]) ? NAN : of(&p->law[i]);
		sum += isnan(e) ? 0 : e * p->law[i].points;
		points += isnan(e) ? 0 : p->law[i].points;
	}
	return points > 0 ? sum / points : NAN;
}

double profile_error(const struct profile *p)
{
	return error_of(p, law_median);
}

double profile_mean_error(const struct profile *p)
{
	return error_of(p, law_mean);
}

char *profile_summary(const struct profile *p)
{
	struct sbuf s = { 0 };
	double error = profile_error(p), mean = profile_mean_error(p);
	int source = (int)strcspn(p->source, ";("); /* `orrery calib show` prints the rest of the source */
	while (source > 0 && p->source[source - 1] == ' ')
		source--;
	sbuf_printf(&s, "%s (%s%.*s, %s", p->name, !strcmp(p->backend, "scaled") ? "not measured, scaled from " : "", source, p->source,
		p->date);
	if (!isnan(error))
		sbuf_printf(&s, "; median error %.2g %%", 100 * error);
	if (!isnan(mean))
		sbuf_printf(&s, ", mean %.2g %%", 100 * mean);
	sbuf_puts(&s, p->is_stable ? ")" : "; unstable)");
	return sbuf_steal(&s);
}

/* ---- the catalogue ---- */

const char *profile_catalogue(size_t i)
{
	for (size_t k = 0; embedded_profiles[k].name; k++)
		if (k == i)
			return embedded_profiles[k].name;
	return NULL;
}

/* Returns whether the profile is of this device. Searches the text for the line that profile_write() writes, which avoids parsing
 * the laws. */
static bool is_of(const struct embedded_file *f, const char *device)
{
	static const char key[] = "\n\t\"device\": \"";
	const char *text = (const char *)f->text;
	size_t n = strlen(device), k = sizeof key - 1;
	for (size_t i = 0; i + k + n < f->n; i++)
		if (text[i] == '\n' && !memcmp(text + i, key, k))
			return !strncasecmp(text + i + k, device, n) && text[i + k + n] == '"';
	return false;
}

const char *profile_for_device(const char *device)
{
	for (size_t i = 0; embedded_profiles[i].name; i++)
		if (is_of(&embedded_profiles[i], device))
			return embedded_profiles[i].name;
	return NULL;
}

static void free_law(struct law *l)
{
	mem_free(l->family);
	mem_free(l->op);
	mem_free(l->precision);
	mem_free(l->variant);
	mem_free(l->table_x);
	mem_free(l->table_y);
	mem_free(l->anchor);
	mem_free(l->point);
}

void profile_remove_law(struct profile *p, size_t i)
{
	free_law(&p->law[i]);
	p->n_laws--;
	memmove(&p->law[i], &p->law[i + 1], (p->n_laws - i) * sizeof *p->law);
}

void profile_free(struct profile *p)
{
	if (!p || p->is_shared)
		return;
	char *const texts[] = { p->name, p->device, p->title, p->source, p->date, p->backend, p->note, p->environment };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		mem_free(texts[i]);
	for (size_t i = 0; i < p->n_laws; i++)
		free_law(&p->law[i]);
	mem_free(p->law);
	mem_free(p);
}

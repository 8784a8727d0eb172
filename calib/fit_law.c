/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits one law: the best of several descents, without parameters that the points do not determine; covariance, range, anchors. */
#include "calib/fit.h"

#include "base/mem.h"
#include "calib/fit_nls.h"
#include "calib/fit_starts.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <string.h>

/*
 * Scales of Cauchy's loss. tuning: 95 % efficiency on normal residuals of standard deviation 1. first_scale: wide, so that the
 * first descents see few local minima. widest_scale: upper bound in the last descent; a residual above 10 % indicates another
 * algorithm.
 */
static const double tuning = 2.385, first_scale = 0.3, widest_scale = 0.1, least_spread = 1e-4;
/* A measured spread above this share lowers a point's weight, because the error of laws is about as large. */
static const double model_spread = 0.03;
/* If a term is below this share of every point's time, the points do not determine it. */
static const double least_share = 0.02;

/* Bounds of the exponent. Below 1 both terms slow each other down; with 12 the time is nearly their maximum. */
static const double least_exponent = 0.5, most_exponent = 12;

enum { MAX_ANCHORS = 6, FINALISTS = 3 };

struct data {
	struct nls q;
	double (*x)[LAW_FEATURES], *y, *weight;
};

/* Returns the standard error of the log of a point's time, from its 95 % interval; NAN: no interval. */
static double spread_of(const struct point *x)
{
	return x->low_s > 0 && x->high_s > 0 ? log(x->high_s / x->low_s) / 3.92 : NAN;
}

/*
 * Lowers the weight of uncertain points. If only some points have an interval, a point without one had too few batches and gets
 * the lowest weight of the others. The most certain points get 1, so weights stay the same if all intervals of a run are
 * widened.
 */
static void weigh(const struct point *const *x, size_t n, double *weight)
{
	double widest = 0, most = 0;
	for (size_t i = 0; i < n; i++)
		widest = fmax(widest, spread_of(x[i])); /* fmax() ignores NAN */
	for (size_t i = 0; i < n; i++) {
		double s = spread_of(x[i]);
		s = isnan(s) ? widest : s;
		weight[i] = 1 / (1 + s * s / (model_spread * model_spread));
		most = fmax(most, weight[i]);
	}
	for (size_t i = 0; i < n; i++)
		weight[i] /= most;
}

static void data_fill(struct data *d, enum profile_form form, const struct point *const *x, size_t n)
{
	d->x = mem_zalloc(n + 1, sizeof *d->x);
	d->y = mem_zalloc(n + 1, sizeof *d->y);
	d->weight = mem_zalloc(n + 1, sizeof *d->weight);
	for (size_t i = 0; i < n; i++) {
		d->x[i][0] = x[i]->flops;
		d->x[i][1] = x[i]->bytes;
		d->x[i][2] = x[i]->size;
		d->y[i] = log(x[i]->time_s);
	}
	weigh(x, n, d->weight);
	d->q = (struct nls){ form, n, (const double(*)[LAW_FEATURES])d->x, d->y, d->weight };
}

static void data_free(struct data *d)
{
	mem_free(d->x);
	mem_free(d->y);
	mem_free(d->weight);
}

/* ---- descents ---- */

/* Descends from every start with the free parameters of `mask` (the others keep its values), finally at the robust scale. */
static void best_descent(const struct nls *q, const struct nls_fit *mask, struct nls_fit *out, double *scale)
{
	double start[MAX_STARTS][LAW_PARAMS];
	uint32_t n = fit_starts(q, start), all = law_form_params(q->form);
	struct nls_fit best[FINALISTS];
	for (int i = 0; i < FINALISTS; i++)
		best[i] = *mask;
	for (uint32_t i = 0; i < n; i++) {
		struct nls_fit f = *mask;
		for (uint32_t k = 0; k < all; k++)
			f.theta[k] = mask->is_free[k] ? start[i][k] : mask->theta[k];
		nls_descend(q, &f, first_scale, NLS_LOOK);
		int at = FINALISTS;
		while (at > 0 && isfinite(f.loss) && f.loss < best[at - 1].loss * (1 - 1e-9))
			at--;
		for (int k = FINALISTS - 1; k > at; k--)
			best[k] = best[k - 1];
		if (at < FINALISTS)
			best[at] = f;
	}
	*out = best[0];
	for (int i = 0; i < FINALISTS; i++) {
		if (isinf(best[i].loss))
			continue;
		nls_descend(q, &best[i], widest_scale, NLS_FULL);
		if (best[i].loss < out->loss)
			*out = best[i];
	}
	for (int i = 0; i < 3; i++) {
		*scale = fmin(widest_scale, tuning * fmax(out->sigma, least_spread));
		nls_descend(q, out, *scale, NLS_FULL);
	}
}

/* Returns the largest share that a term has of any point's time. */
static double largest_share(const struct nls *q, const struct nls_fit *f, uint32_t k)
{
	double g[LAW_PARAMS], best = 0;
	for (size_t i = 0; i < q->n; i++) {
		nls_model(q, f->theta, i, g);
		best = fmax(best, fabs(g[k]));
	}
	return best;
}

static void set_covariance(const struct nls *q, struct nls_fit *f, double scale)
{
	if (!nls_covariance(q, f, scale)) /* singular: parameters without influence are not determined */
		for (uint32_t k = 0; k < law_form_params(q->form); k++)
			f->covariance[k][k] = f->is_free[k] && largest_share(q, f, k) < least_share ? 100 : 0;
}

/* Returns whether the points appear not to determine the parameter. */
static bool is_unclear(const struct nls *q, const struct nls_fit *f, uint32_t k)
{
	double sd = sqrt(f->covariance[k][k]), p = exp(f->theta[k]);
	if (q->form == FORM_ROOFLINE && k == 3)
		return isinf(f->theta[1]) || isinf(f->theta[2]) || !(p >= least_exponent) || p > most_exponent || sd > 0.7;
	return largest_share(q, f, k) < least_share || sd > 1;
}

/* Removes parameter k: a time becomes 0, a rate becomes infinite; an exponent is fixed within its bounds. */
static void fix(const struct nls *q, struct nls_fit *f, uint32_t k)
{
	bool is_exponent = q->form == FORM_ROOFLINE && k == 3;
	f->is_free[k] = false;
	if (is_exponent && (isinf(f->theta[1]) || isinf(f->theta[2])))
		f->theta[k] = 0; /* there is no second term to combine */
	else if (is_exponent)
		f->theta[k] = fmax(log(least_exponent), fmin(log(most_exponent), f->theta[k]));
	else
		f->theta[k] = k == 0 ? -INFINITY : INFINITY;
}

/* Removes parameters that the points do not determine, unless the fit worsens significantly (4: two standard errors). */
static void leave_out(const struct nls *q, struct nls_fit *f, double *scale)
{
	/* A cached law needs both rates, so only its start-up time may be removed. */
	uint32_t most = q->form == FORM_CACHED ? 1 : law_form_params(q->form);
	for (uint32_t k = 0; k < most; k++) {
		if (!f->is_free[k] || !is_unclear(q, f, k))
			continue;
		struct nls_fit mask = *f, without;
		double new_scale;
		fix(q, &mask, k);
		mask.loss = INFINITY;
		best_descent(q, &mask, &without, &new_scale);
		double spread = fmax(f->sigma, least_spread);
		struct nls_fit compared = without;
		nls_descend(q, &compared, *scale, NLS_FULL);
		bool must_go = q->form == FORM_ROOFLINE && k == 3;
		if (!must_go && !(compared.loss < f->loss + 4 * spread * spread))
			continue;
		*f = without;
		*scale = new_scale;
		set_covariance(q, f, *scale);
		k = (uint32_t)-1; /* restart: the other parameters have changed */
	}
}

/* Returns the number of points at which a line of an envelope is the minimum. */
static uint32_t points_of(const struct nls *q, const struct nls_fit *f, uint32_t k)
{
	double g[LAW_PARAMS];
	uint32_t points = 0;
	for (size_t i = 0; i < q->n; i++) {
		nls_model(q, f->theta, i, g);
		points += g[k] > 0 || g[k + 1] < 0;
	}
	return points;
}

/* Replaces f by `without` unless it fits significantly worse. */
static bool accept(const struct nls *q, struct nls_fit *f, struct nls_fit *without, double scale)
{
	double spread = fmax(f->sigma, least_spread);
	nls_descend(q, without, scale, NLS_FULL);
	if (!(without->loss < f->loss + 4 * spread * spread))
		return false;
	*f = *without;
	set_covariance(q, f, scale);
	return true;
}

/* Removes a line that is the minimum at one point or none; returns true if one was removed. */
static bool drop_idle_lines(const struct nls *q, struct nls_fit *f, double scale)
{
	for (uint32_t k = 0; k < LAW_PARAMS; k += 2) {
		if ((!f->is_free[k] && !f->is_free[k + 1]) || points_of(q, f, k) > 1)
			continue;
		f->theta[k] = f->theta[k + 1] = INFINITY; /* never the minimum */
		f->is_free[k] = f->is_free[k + 1] = false;
		nls_descend(q, f, scale, NLS_FULL);
		set_covariance(q, f, scale);
		return true;
	}
	return false;
}

/* Removes a line's start-up time or rate that its points do not determine; returns true if one was removed. */
static bool drop_unclear(const struct nls *q, struct nls_fit *f, double scale)
{
	for (uint32_t k = 0; k < LAW_PARAMS; k++) {
		struct nls_fit without = *f;
		bool is_last = !f->is_free[k ^ 1u]; /* one of the two must stay */
		if (!f->is_free[k] || is_last || !is_unclear(q, f, k))
			continue;
		without.theta[k] = k % 2 ? INFINITY : -INFINITY;
		without.is_free[k] = false;
		if (accept(q, f, &without, scale))
			return true;
	}
	return false;
}

static void first_mask(const struct nls *q, struct nls_fit *f)
{
	bool varies[LAW_FEATURES + 1] = { false };
	*f = (struct nls_fit){ .loss = INFINITY };
	for (size_t i = 0; i < q->n; i++) {
		for (int k = 0; k < LAW_FEATURES; k++)
			varies[k] |= q->x[i][k] != q->x[0][k];
		varies[LAW_FEATURES] |= !(fabs(q->x[i][0] * q->x[0][1] / (q->x[i][1] * q->x[0][0]) - 1) < 0.01);
	}
	for (uint32_t k = 0; k < law_form_params(q->form); k++)
		f->is_free[k] = true;
	if (q->form == FORM_ROOFLINE && q->n < 5) { /* too few points for the exponent: uses a middle value */
		f->theta[3] = log(2);
		f->is_free[3] = false;
	}
	if (q->form == FORM_ROOFLINE)
		for (int k = 0; k < 2; k++)
			if (!varies[k] ||
				(k == 0 && !varies[LAW_FEATURES])) { /* FLOPs proportional to bytes do not determine a second term */
				f->theta[k + 1] = INFINITY;
				f->is_free[k + 1] = f->is_free[3] = false;
				f->theta[3] = 0;
			}
	if (q->form == FORM_LINE && !varies[2]) { /* points of one size determine only a rate or a time */
		uint32_t out = q->x[0][2] > 0 ? 0 : 1;
		f->theta[out] = out ? INFINITY : -INFINITY;
		f->is_free[out] = false;
	}
}

static void descend(const struct nls *q, struct nls_fit *f)
{
	struct nls_fit mask;
	double scale;
	first_mask(q, &mask);
	best_descent(q, &mask, f, &scale);
	set_covariance(q, f, scale);
	if (q->form != FORM_ENVELOPE) {
		leave_out(q, f, &scale);
		return;
	}
	while (drop_idle_lines(q, f, scale) || drop_unclear(q, f, scale))
		continue; /* each round removes at least one parameter */
}

/* ---- the law ---- */

static void take_parameters(const struct nls_fit *f, struct law *out)
{
	uint32_t order[] = { 0, 2, 4 };
	uint32_t lines = out->form == FORM_ENVELOPE ? 3 : 0;
	for (uint32_t i = 0; i < lines; i++) /* lines by ascending time, missing ones last */
		for (uint32_t k = i + 1; k < lines; k++)
			if (f->theta[order[k]] < f->theta[order[i]]) {
				uint32_t t = order[i];
				order[i] = order[k];
				order[k] = t;
			}
	for (uint32_t i = 0; i < out->n_params; i++) {
		uint32_t from = lines ? order[i / 2] + i % 2 : i;
		out->param[i] = exp(f->theta[from]);
		for (uint32_t k = 0; k < out->n_params; k++)
			out->covariance[i][k] = f->covariance[from][lines ? order[k / 2] + k % 2 : k];
	}
	out->sigma = isfinite(f->sigma) ? f->sigma : 0;
}

/* Rounds to the digits of the file, so that a law in memory equals the law read back. */
static double rounded(double v)
{
	char text[32];
	snprintf(text, sizeof text, "%.6g", v);
	return isfinite(v) ? strtod(text, NULL) : v;
}

static void round_parameters(struct law *l)
{
	double unit;
	for (uint32_t i = 0; law_param_name(l->form, i, &unit); i++)
		l->param[i] = rounded(l->param[i] / unit) * unit;
}

static int by_size(const void *a, const void *b)
{
	const struct point *x = *(const struct point *const *)a, *y = *(const struct point *const *)b;
	return x->size != y->size ? (x->size > y->size) - (x->size < y->size) : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* Makes a table of the median time of each size. */
static int make_table(const struct point *const *x, size_t n, struct law *out, struct orr_error *err)
{
	const struct point **sorted = mem_zalloc(n, sizeof *sorted);
	double *same = mem_zalloc(n, sizeof *same);
	memcpy(sorted, x, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, by_size);
	out->table_x = mem_zalloc(n, sizeof *out->table_x);
	out->table_y = mem_zalloc(n, sizeof *out->table_y);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && sorted[k]->size == sorted[i]->size; k++)
			same[k - i] = sorted[k]->time_s;
		if (sorted[i]->size > 0) {
			out->table_x[out->n_table] = sorted[i]->size;
			out->table_y[out->n_table++] = gsl_stats_median_from_sorted_data(same, 1, k - i);
		}
	}
	mem_free(sorted);
	mem_free(same);
	return out->n_table
		       ? ORR_OK
		       : orr_fail(err, ORR_EINPUT, "a law of the form table: no point has a size: expected points with a size above 0");
}

/* Sets the range of each feature. The range is NAN for a feature that is 0 at all points. */
static void set_range(const struct point *const *x, size_t n, struct law *out)
{
	for (int k = 0; k < LAW_FEATURES; k++) {
		double low = INFINITY, high = 0;
		for (size_t i = 0; i < n; i++) {
			double v = k == 0 ? x[i]->flops : k == 1 ? x[i]->bytes : x[i]->size;
			low = fmin(low, v);
			high = fmax(high, v);
		}
		bool is_used = out->form == FORM_ROOFLINE ? k < 2 && !isinf(out->param[k + 1])
			       : out->form == FORM_FACTOR ? false
			       : out->form == FORM_CACHED ? k == (x[0]->bytes > 0 ? 1 : 2)
							  : k == 2;
		out->from[k] = high > 0 && is_used ? low : NAN;
		out->to[k] = high > 0 && is_used ? high : NAN;
	}
}

static void set_errors(const struct point *const *x, size_t n, struct law *out)
{
	double *predicted = mem_zalloc(n, sizeof *predicted), *measured = mem_zalloc(n, sizeof *measured);
	for (size_t i = 0; i < n; i++) {
		predicted[i] = law_time(out, x[i]->flops, x[i]->bytes, x[i]->size, NULL);
		measured[i] = x[i]->time_s;
	}
	fit_errors(predicted, measured, n, &out->mean_error, &out->median_error, &out->p90_error);
	mem_free(predicted);
	mem_free(measured);
}

static void add_anchor(struct law *out, const struct point *p)
{
	struct law_point *a = &out->anchor[out->n_anchors];
	*a = (struct law_point){ { p->flops, p->bytes, p->size }, 0, false };
	for (uint32_t i = 0; i < out->n_anchors; i++)
		if (!memcmp(out->anchor[i].feature, a->feature, sizeof a->feature))
			return;
	a->time_s = law_time(out, p->flops, p->bytes, p->size, NULL);
	out->n_anchors++;
}

/* Returns the middle point among those at which line k of an envelope is the minimum; NULL: no such point. */
static const struct point *middle_of_line(const struct point *const *x, const size_t *order, size_t n, const struct law *l, uint32_t k)
{
	size_t first = n, last = 0;
	for (size_t i = 0; i < n; i++) {
		double size = x[order[i]]->size, t = l->param[k] + size / l->param[k + 1];
		if (t > law_time(l, 0, 0, size, NULL))
			continue;
		first = first == n ? i : first;
		last = i;
	}
	return first == n ? NULL : x[order[first + (last - first) / 2]];
}

/* Sets the anchors: the law's time at the fastest, the median and the slowest point, and at one point per line. */
static void set_anchors(const struct point *const *x, size_t n, struct law *out)
{
	double *time = mem_zalloc(n, sizeof *time);
	size_t *order = mem_zalloc(n, sizeof *order);
	for (size_t i = 0; i < n; i++)
		time[i] = x[i]->time_s;
	gsl_sort_index(order, time, 1, n);
	out->anchor = mem_zalloc(MAX_ANCHORS + 1, sizeof *out->anchor);
	add_anchor(out, x[order[0]]);
	add_anchor(out, x[order[n / 2]]);
	add_anchor(out, x[order[n - 1]]);
	for (uint32_t k = 0; out->form == FORM_ENVELOPE && k < LAW_PARAMS; k += 2) {
		const struct point *p = isinf(out->param[k]) ? NULL : middle_of_line(x, order, n, out, k);
		if (p)
			add_anchor(out, p);
	}
	mem_free(time);
	mem_free(order);
}

/* Returns whether the points show a cache: two different, determined rates, with at least two points on either side. */
static bool shows_cache(const struct nls *q, const struct nls_fit *f)
{
	uint32_t inside = 0, beyond = 0;
	for (size_t i = 0; i < q->n; i++) {
		double bytes = log(q->x[i][1] > 0 ? q->x[i][1] : q->x[i][2]);
		inside += bytes < f->theta[3];
		beyond += bytes > f->theta[3];
	}
	for (uint32_t k = 1; k < 4; k++)
		if (is_unclear(q, f, k))
			return false;
	return inside > 1 && beyond > 1 && f->theta[2] < f->theta[1] - 0.1;
}

static int fit_parameters(const struct point *const *x, size_t n, struct law *out, struct orr_error *err)
{
	static const size_t least[FORM_COUNT] = { [FORM_ROOFLINE] = 3, [FORM_LINE] = 1, [FORM_ENVELOPE] = 7, [FORM_CACHED] = 6 };
	if (n < least[out->form])
		return orr_fail(err, ORR_EINPUT, "a law of the form %s: expected at least %zu points, found %zu", law_form_name(out->form),
			least[out->form], n);
	struct data d;
	struct nls_fit f;
	data_fill(&d, out->form, x, n);
	descend(&d.q, &f);
	bool is_shown = out->form != FORM_CACHED || shows_cache(&d.q, &f);
	take_parameters(&f, out);
	round_parameters(out);
	data_free(&d);
	return is_shown ? ORR_OK
			: orr_fail(err, ORR_EINPUT,
				  "the points show no effect of a cache: expected sizes below and above the size of the cache");
}

/* Sets the factor to the median of the measurements, with their spread. */
static void take_factor(const struct point *const *x, size_t n, struct law *out)
{
	double *v = mem_zalloc(n, sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = log(x[i]->time_s);
	double sd = n > 1 ? gsl_stats_sd(v, 1, n) : 0;
	gsl_sort(v, 1, n);
	out->param[0] = rounded(exp(gsl_stats_median_from_sorted_data(v, 1, n)));
	out->covariance[0][0] = sd * sd / (double)n;
	out->sigma = sd;
	mem_free(v);
}

int fit_law(enum profile_form form, const struct point *const *x, size_t n, struct law *out, struct orr_error *err)
{
	*out = (struct law){ .form = form,
		.n_params = law_form_params(form),
		.points = (uint32_t)n,
		.held_out_mean = NAN,
		.held_out_median = NAN,
		.held_out_p90 = NAN };
	if (n == 0)
		return orr_fail(err, ORR_EINPUT, "a law: no points: expected at least one");
	int rc = ORR_OK;
	if (form == FORM_TABLE)
		rc = make_table(x, n, out, err);
	else if (form == FORM_FACTOR)
		take_factor(x, n, out);
	else
		rc = fit_parameters(x, n, out, err);
	if (rc)
		return rc;
	set_range(x, n, out);
	set_errors(x, n, out);
	set_anchors(x, n, out);
	return ORR_OK;
}

void fit_law_free(struct law *l)
{
	mem_free(l->table_x);
	mem_free(l->table_y);
	mem_free(l->anchor);
	mem_free(l->point);
}

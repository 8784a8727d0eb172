/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups points by kernel, fits a law to each group and collects the laws in a profile. */
#include "calib/fit.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <math.h>
#include <string.h>

/* The points of one law. */
struct group {
	const struct point *first; /* names (family, op, precision), ranks and nodes */
	char variant[80];
	const struct point **x;
	size_t n, cap;
};

struct groups {
	struct group *v;
	size_t n, cap;
};

static bool is_one_of(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(s, *list))
			return true;
	return false;
}

static bool is_kernel(const struct point *p)
{
	static const char *const kernels[] = { "gemm", "conv", "memory", "gather", "update", "attention", NULL };
	return is_one_of(p->family, kernels);
}

static bool is_same_kind(const struct point *a, const struct point *b)
{
	return !strcmp(a->family, b->family) && !strcmp(a->op, b->op) && !strcmp(a->precision, b->precision) && a->ranks == b->ranks &&
	       a->nodes == b->nodes;
}

static void add(struct groups *g, const struct point *p, const char *variant)
{
	size_t i = 0;
	while (i < g->n && !(is_same_kind(g->v[i].first, p) && !strcmp(g->v[i].variant, variant)))
		i++;
	if (i == g->n) {
		MEM_GROW(g->v, g->n, g->cap);
		struct group *x = &g->v[g->n++];
		*x = (struct group){ .first = p };
		snprintf(x->variant, sizeof x->variant, "%s", variant);
	}
	struct group *x = &g->v[i];
	MEM_GROW(x->x, x->n, x->cap);
	x->x[x->n++] = p;
}

static void groups_free(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		mem_free(g->v[i].x);
	mem_free(g->v);
}

/* Returns whether a point of the same kernel is warm (for_cold), or was measured in a sustained run. */
static bool has_better(const struct points *all, const struct point *p, bool for_cold)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct point *q = &all->v[i];
		if (is_same_kind(p, q) && !strcmp(p->variant, q->variant) && (for_cold ? !q->is_cold : q->is_sustained))
			return true;
	}
	return false;
}

/*
 * Groups points by kernel. Points with a cold cache are a separate variant. So are bursts, if sustained runs exist. Kernels
 * with several variants also get a law over all variants ("").
 */
static void make_groups(const struct points *p, struct groups *g)
{
	struct groups pooled = { 0 };
	for (size_t i = 0; i < p->n; i++) {
		const struct point *x = &p->v[i];
		bool is_cold = x->is_cold && has_better(p, x, true), is_burst = !x->is_sustained && has_better(p, x, false);
		char variant[80];
		snprintf(variant, sizeof variant, "%s%s%s", x->variant, is_cold ? (*x->variant ? " cold" : "cold") : "",
			is_burst ? (*x->variant || is_cold ? " burst" : "burst") : "");
		add(g, x, variant);
		/* Fused and unfused attention are different kernels. */
		if (is_kernel(x) && strcmp(x->family, "attention") && !is_cold && !is_burst)
			add(&pooled, x, "");
	}
	for (size_t i = 0; i < pooled.n; i++) {
		size_t variants = 0;
		bool has_all = false;
		for (size_t k = 0; k < g->n; k++)
			if (is_same_kind(g->v[k].first, pooled.v[i].first)) {
				variants++;
				has_all |= !*g->v[k].variant;
			}
		for (size_t k = 0; variants > 1 && !has_all && k < pooled.v[i].n; k++)
			add(g, pooled.v[i].x[k], "");
	}
	groups_free(&pooled);
}

/* ---- one law ---- */

/* Moves the points marked as held out to the end. Returns the number of the other points. */
static size_t set_apart(const struct group *g, const struct point **x)
{
	size_t n = 0, end = g->n;
	for (size_t i = 0; i < g->n; i++)
		if (!g->x[i]->is_held_out)
			x[n++] = g->x[i];
	for (size_t i = g->n; i-- > 0;)
		if (g->x[i]->is_held_out)
			x[--end] = g->x[i];
	return n;
}

/* Fits a form; tests it on the held-out points, else by cross-validation. */
static int try_form(enum profile_form form, const struct point *const *x, size_t n, size_t total, struct law *out, struct orr_error *err)
{
	int rc = fit_law(form, x, n, out, err);
	if (rc)
		return rc;
	double *predicted = mem_zalloc(total + 1, sizeof *predicted), *measured = mem_zalloc(total + 1, sizeof *measured);
	size_t k = 0;
	for (size_t i = n; i < total; i++) {
		predicted[k] = law_time(out, x[i]->flops, x[i]->bytes, x[i]->size, NULL);
		measured[k++] = x[i]->time_s;
	}
	if (k == 0 && !fit_cross_validate(form, x, n, predicted, NULL))
		for (; k < n; k++)
			measured[k] = x[k]->time_s;
	fit_errors(predicted, measured, k, &out->held_out_mean, &out->held_out_median, &out->held_out_p90);
	out->held_out = (uint32_t)k;
	mem_free(predicted);
	mem_free(measured);
	return ORR_OK;
}

/* Fits a law by size: the simplest form whose held-out error is within a tenth of the best. Tries a table only if points are kept. */
static int fit_by_size(
	const struct point *const *x, size_t n, size_t total, const struct fit_options *o, struct law *out, struct orr_error *err)
{
	static const enum profile_form order[] = { FORM_LINE, FORM_CACHED, FORM_ENVELOPE, FORM_TABLE };
	enum { FORMS = sizeof order / sizeof *order };
	struct law law[FORMS];
	bool is_there[FORMS] = { false };
	double best = INFINITY;
	/* Transfers over a bus or a network bypass the caches. */
	bool may_be_cached =
		o->is_measured_here && !strcmp(x[0]->family, "copy") && (!strcmp(x[0]->op, "d2d") || !strcmp(x[0]->op, "host"));
	for (int i = 0; i < FORMS; i++) {
		if ((order[i] == FORM_TABLE && !o->keep_points) || (order[i] == FORM_CACHED && !may_be_cached))
			continue;
		is_there[i] = !try_form(order[i], x, n, total, &law[i], err);
		double e = is_there[i] && !isnan(law[i].held_out_mean) ? law[i].held_out_mean : INFINITY;
		best = fmin(best, e);
	}
	int chosen = -1;
	for (int i = 0; i < FORMS; i++) {
		if (!is_there[i])
			continue;
		if (chosen < 0 && (!(law[i].held_out_mean > 1.1 * best) || isinf(best)))
			chosen = i;
		else
			fit_law_free(&law[i]);
	}
	if (chosen < 0)
		return ORR_EINPUT;
	*out = law[chosen];
	return ORR_OK;
}

static double cross_error(enum profile_form form, const struct point *const *x, size_t n)
{
	double *predicted = mem_zalloc(n + 1, sizeof *predicted), *measured = mem_zalloc(n + 1, sizeof *measured);
	double mean = NAN, median, p90;
	for (size_t i = 0; i < n; i++)
		measured[i] = x[i]->time_s;
	if (!fit_cross_validate(form, x, n, predicted, NULL))
		fit_errors(predicted, measured, n, &mean, &median, &p90);
	mem_free(predicted);
	mem_free(measured);
	return mean;
}

/*
 * Fits a memory-bound kernel: two rates, one of them that of the cache, if this lowers the held-out error by a tenth. Tried
 * only if the state of the cache is known; it is unknown in imported tables.
 */
static int fit_by_bytes(const struct point *const *x, size_t n, size_t total, bool is_cache_known, struct law *out, struct orr_error *err)
{
	struct law two;
	bool may_be_two = is_cache_known && !try_form(FORM_CACHED, x, n, total, &two, NULL);
	if (may_be_two && cross_error(FORM_CACHED, x, total) < 0.9 * cross_error(FORM_ROOFLINE, x, total)) {
		*out = two;
		return ORR_OK;
	}
	if (may_be_two)
		fit_law_free(&two);
	return try_form(FORM_ROOFLINE, x, n, total, out, err);
}

static bool is_streaming(const struct point *p)
{
	static const char *const streaming[] = { "memory", "gather", "update", NULL };
	return is_one_of(p->family, streaming);
}

/* Fits the slowdown of a kernel next to other kernels, relative to its time without them. */
static int fit_slowdown(const struct groups *g, const struct group *self, struct law *out, struct orr_error *err)
{
	const struct group *alone = NULL;
	for (size_t i = 0; i < g->n; i++)
		if (is_same_kind(g->v[i].first, self->first) && !strcmp(g->v[i].variant, "alone"))
			alone = &g->v[i];
	if (!alone || alone == self)
		return orr_fail(
			err, ORR_EINPUT, "the kernel was not measured alone: expected points of this kernel with the variant \"alone\"");
	struct law base;
	int rc = fit_law(FORM_FACTOR, alone->x, alone->n, &base, err);
	if (!rc)
		rc = fit_law(FORM_FACTOR, self->x, self->n, out, err);
	if (!rc) {
		out->param[0] /= base.param[0];
		out->covariance[0][0] += base.covariance[0][0];
		out->mean_error = out->median_error = out->p90_error = NAN;
		fit_law_free(out);
		out->anchor = NULL;
		out->n_anchors = 0;
	}
	fit_law_free(&base);
	return rc;
}

static bool has_sizes(const struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->x[i]->size > 0)
			return true;
	return false;
}

static int fit_group(const struct groups *all, const struct group *g, const struct fit_options *o, struct law *out, struct orr_error *err)
{
	const char *family = g->first->family;
	if (!strcmp(family, "interference"))
		return fit_slowdown(all, g, out, err);
	const struct point **x = mem_zalloc(g->n, sizeof *x);
	size_t n = set_apart(g, x);
	bool is_product = !strcmp(family, "gemm") || !strcmp(family, "conv"); /* two bounds and a start-up time: 4 points are too few */
	int rc;
	if (is_product && n < 5)
		rc = orr_fail(err, ORR_EINPUT, "a GEMM law: expected at least 5 points, found %zu", n);
	else if (is_streaming(g->first))
		rc = fit_by_bytes(x, n, g->n, o->is_measured_here, out, err);
	else if (is_kernel(g->first))
		rc = try_form(FORM_ROOFLINE, x, n, g->n, out, err);
	else if (has_sizes(g))
		rc = fit_by_size(x, n, g->n, o, out, err);
	else
		rc = try_form(FORM_LINE, x, n, g->n, out, err);
	mem_free(x);
	return rc;
}

static void keep_points(const struct group *g, struct law *l)
{
	l->point = mem_zalloc(g->n + 1, sizeof *l->point);
	for (size_t i = 0; i < g->n; i++) {
		const struct point *p = g->x[i];
		l->point[l->n_points++] = (struct law_point){ { p->flops, p->bytes, p->size }, p->time_s, p->is_held_out };
	}
}

static void name_law(const struct group *g, struct law *l)
{
	l->family = mem_strdup(g->first->family);
	l->op = mem_strdup(g->first->op);
	l->precision = mem_strdup(g->first->precision);
	l->variant = mem_strdup(g->variant);
	l->ranks = g->first->ranks;
	l->nodes = g->first->nodes;
}

/* ---- the profile ---- */

static char *text_or(const char *given, const char *other)
{
	return mem_strdup(given && *given ? given : other);
}

struct profile *fit_begin(const struct fit_options *o)
{
	struct profile *p = mem_zalloc(1, sizeof *p);
	p->device = text_or(o->device, "unknown");
	p->name = text_or(o->name, p->device);
	struct device *d = strpbrk(p->device, "/.") ? NULL : device_load(p->device, NULL);
	p->title = text_or(o->title, d ? d->title : p->device);
	device_free(d);
	p->source = text_or(o->source, "not stated");
	p->date = text_or(o->date, "not stated");
	p->backend = text_or(o->backend, "published");
	p->note = text_or(o->note, "");
	p->environment = text_or(o->environment, "");
	p->is_stable = !o->is_unstable;
	p->is_measured_here = o->is_measured_here;
	return p;
}

/* Adds the groups without a law to the note. */
static void add_note(struct profile *p, const struct sbuf *left_out)
{
	struct sbuf s = { 0 };
	if (!left_out->len)
		return;
	sbuf_printf(&s, "%s%stoo few points for a separate law: %s", p->note, *p->note ? "; " : "", sbuf_text(left_out));
	mem_free(p->note);
	p->note = sbuf_steal(&s);
}

struct profile *fit_profile(const struct points *points, const struct fit_options *o, struct orr_error *err)
{
	struct groups g = { 0 };
	struct sbuf left_out = { 0 };
	if (points->n == 0) {
		orr_fail(err, ORR_EINPUT, "nothing to fit: expected at least one point");
		return NULL;
	}
	make_groups(points, &g);
	struct profile *p = fit_begin(o);
	p->law = mem_zalloc(g.n, sizeof *p->law);
	for (size_t i = 0; i < g.n; i++) {
		struct law *l = &p->law[p->n_laws];
		struct orr_error why = { 0 };
		if (fit_group(&g, &g.v[i], o, l, &why)) {
			const struct point *x = g.v[i].first;
			if (strcmp(g.v[i].variant, "alone"))
				sbuf_printf(&left_out, "%s%s%s%s%s%s%s%s", left_out.len ? ", " : "", x->family, *x->op ? " " : "", x->op,
					*x->precision ? " " : "", x->precision, *g.v[i].variant ? " " : "", g.v[i].variant);
			continue;
		}
		name_law(&g.v[i], l);
		if (o->keep_points)
			keep_points(&g.v[i], l);
		p->n_laws++;
	}
	add_note(p, &left_out);
	groups_free(&g);
	sbuf_free(&left_out);
	if (p->n_laws)
		return p;
	orr_fail(err, ORR_EINPUT, "no group of points is large enough for a law: expected more points per kernel");
	profile_free(p);
	return NULL;
}

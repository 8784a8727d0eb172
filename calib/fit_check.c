/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of a law, in sample and by cross-validation. */
#include "calib/fit.h"

#include "base/mem.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 10, KEY = 160 };

void fit_errors(const double *predicted_s, const double *measured_s, size_t n, double *mean, double *median, double *p90)
{
	double *e = mem_zalloc(n + 1, sizeof *e), sum = 0;
	*mean = *median = *p90 = NAN;
	for (size_t i = 0; i < n; i++) {
		e[i] = fabs(predicted_s[i] / measured_s[i] - 1);
		sum += e[i];
	}
	if (n > 0) {
		gsl_sort(e, 1, n);
		*mean = sum / (double)n;
		*median = gsl_stats_median_from_sorted_data(e, 1, n);
		*p90 = gsl_stats_quantile_from_sorted_data(e, 1, n, 0.9);
	}
	mem_free(e);
}

struct member {
	char key[KEY];
	size_t index;
	uint32_t fold;
};

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int c = strcmp(x->key, y->key);
	return c ? c : (x->index > y->index) - (x->index < y->index);
}

static int by_index(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return (x->index > y->index) - (x->index < y->index);
}

/* Writes the point's group or shape; without a shape, its FLOPs and bytes. */
static void put_key(char *key, const struct point *p)
{
	bool has_shape = p->size != 0;
	for (size_t i = 0; i < POINT_DIMS; i++)
		has_shape |= p->d[i] != 0;
	if (*p->group)
		snprintf(key, KEY, "%s", p->group);
	else if (has_shape)
		snprintf(key, KEY, "%.9g %.9g %.9g %.9g %.9g %.9g %.9g", p->d[0], p->d[1], p->d[2], p->d[3], p->d[4], p->d[5], p->size);
	else
		snprintf(key, KEY, "%.9g FLOPs %.9g bytes", p->flops, p->bytes);
}

/* Assigns points to folds; points of one group, or of one shape, share a fold. Returns the number of folds. */
static uint32_t deal(const struct point *const *x, size_t n, struct member *m)
{
	uint32_t groups = 0;
	for (size_t i = 0; i < n; i++) {
		m[i].index = i;
		put_key(m[i].key, x[i]);
	}
	qsort(m, n, sizeof *m, by_key);
	for (size_t i = 0; i < n; i++) {
		groups += i == 0 || strcmp(m[i].key, m[i - 1].key) != 0;
		m[i].fold = (groups - 1) % FOLDS;
	}
	qsort(m, n, sizeof *m, by_index);
	return groups < FOLDS ? groups : FOLDS;
}

int fit_cross_validate(enum profile_form form, const struct point *const *x, size_t n, double *predicted_s, struct orr_error *err)
{
	struct member *m = mem_zalloc(n + 1, sizeof *m);
	const struct point **rest = mem_zalloc(n + 1, sizeof *rest);
	uint32_t folds = deal(x, n, m);
	int rc = folds < 2 ? orr_fail(err, ORR_EINPUT, "all points have one shape: expected at least two shapes for cross-validation")
			   : ORR_OK;
	for (uint32_t fold = 0; !rc && fold < folds; fold++) {
		struct law law;
		size_t k = 0;
		for (size_t i = 0; i < n; i++)
			if (m[i].fold != fold)
				rest[k++] = x[i];
		rc = fit_law(form, rest, k, &law, err);
		for (size_t i = 0; !rc && i < n; i++)
			if (m[i].fold == fold)
				predicted_s[i] = law_time(&law, x[i]->flops, x[i]->bytes, x[i]->size, NULL);
		fit_law_free(&law);
	}
	mem_free(m);
	mem_free(rest);
	return rc;
}

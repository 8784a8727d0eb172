/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distribution functions of the columns of a run's rows. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/param.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 400 };

/* Reads a column in seconds; NAN: the row has no value (a refused request). Returns false if the row is excluded. */
typedef bool (*column)(const struct request_row *q, double *out);

static bool has_ended(const struct request_row *q)
{
	return q->status == REQUEST_COMPLETED;
}

static bool completion(const struct request_row *q, double *out)
{
	*out = has_ended(q) ? q->completed_s - q->arrival_s : NAN;
	return true;
}

static bool ttft(const struct request_row *q, double *out)
{
	*out = has_ended(q) ? q->first_token_s - q->arrival_s : NAN;
	return true;
}

/* With a single token, there is no time per further token. */
static bool tpot(const struct request_row *q, double *out)
{
	*out = has_ended(q) && q->output_tokens > 1 ? (q->completed_s - q->first_token_s) / (q->output_tokens - 1) : NAN;
	return q->output_tokens > 1;
}

static bool queue(const struct request_row *q, double *out)
{
	*out = has_ended(q) ? q->queue_s : NAN;
	return true;
}

static const char *const names[] = { "completion", "ttft", "tpot", "queue", NULL };
static const column columns[] = { completion, ttft, tpot, queue };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Returns the points of n sorted values out of `of` rows: all values, or an evenly spaced subset with the first and the last. */
static size_t thin(const double *v, size_t n, size_t of, struct chart_point *out)
{
	size_t points = n < MOST_POINTS ? n : MOST_POINTS;
	for (size_t k = 0; k < points; k++) {
		size_t rank = n <= MOST_POINTS ? k : k * (n - 1) / (MOST_POINTS - 1);
		out[k] = (struct chart_point){ v[rank], (double)(rank + 1) / (double)of, NAN, NAN };
	}
	return points;
}

static int distribution(const struct run_result *r, column value, struct chart_point **out, size_t *n_out)
{
	double *v = mem_zalloc(r->n_requests + 1, sizeof *v);
	size_t n = 0, of = 0;
	for (size_t i = 0; i < r->n_requests; i++) {
		of += value(&r->requests[i], &v[n]);
		if (!isnan(v[n]))
			n++;
	}
	qsort(v, n, sizeof *v, by_value);
	*out = mem_zalloc(MOST_POINTS, sizeof **out);
	*n_out = thin(v, n, of, *out);
	mem_free(v);
	return ORR_OK;
}

int book_distribution(struct book *b, const char *text, const char *where, struct chart_point **out, size_t *n, struct orr_error *err)
{
	const struct run_result *r = NULL;
	const char *name = NULL;
	int rc = book_result(b, text, where, &r, &name, err), i = 0;
	*out = NULL;
	*n = 0;
	if (rc || !r)
		return rc;
	while (names[i] && strcmp(names[i], name))
		i++;
	if (!names[i]) {
		const char *near = nearest_name(name, names);
		return book_fail(b, where, err, "%.80s: expected completion, ttft, tpot or queue, found \"%.40s\"%s%s%s", text, name,
			near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	}
	if (!r->n_requests)
		return book_fail(b, where, err,
			"%.80s: expected a run with rows of requests: a scenario of the serving world with \"record\": \"all\"", text);
	return distribution(r, columns[i], out, n);
}

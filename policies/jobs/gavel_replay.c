/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * allocation=replay: X from a file with one row per recomputation and job
 *
 *	recompute,time_s,job,GPU_TYPE,GPU_TYPE,..
 *
 * `recompute` starts at 0 and ascends; a number without rows is a recomputation without live jobs. `job` is the job's name in
 * the trace.
 */
#include "csv_rows.h"
#include "gavel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double TIME_TOLERANCE_S = 1e-3;
enum { FIXED_COLUMNS = 3, MAX_TYPES = 64 };

struct row {
	uint64_t recompute;
	double time_s;
	const char *job; /* in text */
};

struct gavel_shares {
	char *text;
	struct row *row;
	double *x; /* [row][type] */
	size_t n, cap, cap_x;
	size_t at;           /* first row of the next recomputation */
	size_t first, found; /* first row of the present recomputation; number of its rows used so far */
	uint64_t recompute;
};

void gavel_replay_free(struct gavel_shares *s)
{
	if (!s)
		return;
	orr_free(s->text);
	orr_free(s->row);
	orr_free(s->x);
	orr_free(s);
}

static const char *const expected = "expected the header recompute,time_s,job and the cluster's GPU types";

/* Reads the GPU type of each column; GAVEL_NOWHERE for types that the cluster lacks. */
static int read_header(char *text, const struct orr_jobs *w, const char *file, uint32_t *type, size_t *n, struct orr_error *err)
{
	static const char *const fixed[FIXED_COLUMNS] = { "recompute", "time_s", "job" };
	uint64_t found = 0;
	*n = 0;
	for (size_t i = 0; i < FIXED_COLUMNS; i++) {
		const char *name = csv_field(&text);
		if (!name || strcmp(name, fixed[i]))
			return orr_fail(err, ORR_EINPUT, "%.200s:1: %s", file, expected);
	}
	for (const char *name; (name = csv_field(&text));) {
		if (*n == MAX_TYPES)
			return orr_fail(err, ORR_EINPUT, "%.200s:1: expected at most %d GPU types", file, MAX_TYPES);
		uint32_t t = 0;
		bool is_only = orr_gpu_types(w) == 1 && !strcmp(name, "x"); /* the column name of Shockwave's files */
		while (!is_only && t < orr_gpu_types(w) && strcasecmp(name, orr_gpu_type_name(w, t)))
			t++;
		type[(*n)++] = t < orr_gpu_types(w) ? t : GAVEL_NOWHERE;
		found |= t < orr_gpu_types(w) ? UINT64_C(1) << t : 0;
	}
	for (uint32_t t = 0; t < orr_gpu_types(w); t++)
		if (!(found >> t & 1))
			return orr_fail(
				err, ORR_EINPUT, "%.200s:1: GPU type %s has no column: %s", file, orr_gpu_type_name(w, t), expected);
	return ORR_OK;
}

static void grow(struct gavel_shares *s, uint32_t n_types)
{
	ORR_GROW(s->row, s->n, s->cap);
	if (s->cap_x == s->cap)
		return;
	s->x = orr_realloc(s->x, s->cap * n_types + 1, sizeof *s->x);
	s->cap_x = s->cap;
}

static int read_row(struct gavel_shares *s, uint32_t n_types, const uint32_t *type, size_t n_columns, char *text, struct orr_error *err)
{
	double recompute, time_s, x;
	char *rest = text;
	if (!csv_number(csv_field(&rest), &recompute) || recompute != floor(recompute))
		return orr_fail(err, ORR_EINPUT, "recompute: expected a whole number >= 0");
	if (s->n && recompute < (double)s->row[s->n - 1].recompute)
		return orr_fail(err, ORR_EINPUT, "recompute: expected at least the value of the previous row");
	if (!csv_number(csv_field(&rest), &time_s))
		return orr_fail(err, ORR_EINPUT, "time_s: expected a number of seconds");
	const char *job = csv_field(&rest);
	if (!job || !*job)
		return orr_fail(err, ORR_EINPUT, "job: expected a job's name");
	grow(s, n_types);
	s->row[s->n] = (struct row){ (uint64_t)recompute, time_s, job };
	for (size_t i = 0; i < n_columns; i++) {
		if (!csv_number(csv_field(&rest), &x))
			return orr_fail(err, ORR_EINPUT, "column %zu: expected a share >= 0", i + 1 + FIXED_COLUMNS);
		if (type[i] != GAVEL_NOWHERE)
			s->x[s->n * n_types + type[i]] = x;
		else if (x > 0)
			return orr_fail(
				err, ORR_EINPUT, "column %zu: expected 0, because the cluster lacks this GPU type", i + 1 + FIXED_COLUMNS);
	}
	if (rest)
		return orr_fail(err, ORR_EINPUT, "expected %zu columns", n_columns + FIXED_COLUMNS);
	s->n++;
	return ORR_OK;
}

static int read_rows(struct gavel_shares *s, const struct orr_jobs *w, const char *file, struct orr_error *err)
{
	uint32_t type[MAX_TYPES];
	size_t n_columns = 0;
	char *rest = s->text, *text = csv_line(&rest);
	if (!text)
		return orr_fail(err, ORR_EINPUT, "%.200s:1: %s", file, expected);
	if (read_header(text, w, file, type, &n_columns, err))
		return err->code;
	struct orr_error why = { 0 };
	for (size_t at = 2; (text = csv_line(&rest)); at++)
		if (read_row(s, orr_gpu_types(w), type, n_columns, text, &why))
			return orr_fail(err, ORR_EINPUT, "%.200s:%zu: %.300s", file, at, why.text);
	return ORR_OK;
}

struct gavel_shares *gavel_replay_read(const struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	size_t n = 0;
	const char *text = orr_arg_file(args, "shares", &n);
	if (!text) {
		orr_fail(err, ORR_EINPUT, "allocation=replay: expected shares=FILE, a CSV file of the shares to replay");
		return NULL;
	}
	struct gavel_shares *s = orr_alloc(1, sizeof *s);
	s->text = orr_alloc(n + 1, 1);
	memcpy(s->text, text, n);
	if (read_rows(s, w, orr_arg_text(args, "shares"), err)) {
		gavel_replay_free(s);
		return NULL;
	}
	return s;
}

static void give_up(struct orr_jobs *w, orr_job j, const struct gavel_shares *s, const char *what)
{
	struct orr_error text;
	orr_fail(&text, ORR_EINPUT,
		"shares: recomputation %llu at %.3f s: %.200s: expected the file of a run on the same trace and cluster",
		(unsigned long long)s->recompute, (double)orr_now(w) / 1e9, what);
	orr_give_up(w, j, text.text);
}

bool gavel_shares_open(struct gavel_shares *s, struct orr_jobs *w, double now_s)
{
	s->first = s->at;
	while (s->at < s->n && s->row[s->at].recompute == s->recompute)
		s->at++;
	s->found = 0;
	if (s->first == s->at || fabs(s->row[s->first].time_s - now_s) <= TIME_TOLERANCE_S)
		return true;
	give_up(w, 0, s, "the time in the file differs");
	return false;
}

const double *gavel_shares_of(struct gavel_shares *s, uint32_t n_types, const char *name)
{
	for (size_t i = s->first; i < s->at; i++)
		if (!strcmp(s->row[i].job, name)) {
			s->found++;
			return s->x + i * n_types;
		}
	return NULL;
}

bool gavel_shares_close(struct gavel_shares *s, struct orr_jobs *w)
{
	if (s->found != s->at - s->first) {
		give_up(w, 0, s, "the file has rows for jobs that are not live");
		return false;
	}
	s->recompute++;
	return true;
}

bool gavel_replay(struct gavel *g, struct orr_jobs *w, double now_s)
{
	if (!gavel_shares_open(g->shares, w, now_s))
		return false;
	for (size_t i = 0; i < g->n; i++) {
		struct gavel_member *m = &g->member[i];
		if (!m->is_allocated)
			continue;
		const double *x = gavel_shares_of(g->shares, g->n_types, orr_job_name(w, m->job));
		if (!x) {
			give_up(w, m->job, g->shares, "the file has no row for this job");
			return false;
		}
		memcpy(m->share, x, g->n_types * sizeof *x);
	}
	return gavel_shares_close(g->shares, w);
}

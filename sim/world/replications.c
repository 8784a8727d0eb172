/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/replications.h"

#include "base/mem.h"
#include "results/estimate.h"
#include "results/summary.h"
#include "results/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "replications:"

/* The values of one replication by column; columns that were added later are missing. */
struct row {
	double *value;
	size_t n;
};

struct replications {
	char **column; /* columns: names of metrics, and two columns for each account */
	size_t n_columns, cap_columns;
	struct row *row;
	uint32_t n, cap; /* n rows; an empty row is not added yet */
};

struct replications *replications_new(void)
{
	return mem_zalloc(1, sizeof(struct replications));
}

void replications_free(struct replications *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n_columns; i++)
		mem_free(x->column[i]);
	for (uint32_t k = 0; k < x->n; k++)
		mem_free(x->row[k].value);
	mem_free(x->column);
	mem_free(x->row);
	mem_free(x);
}

/* Returns the column of that name; SIZE_MAX if it is missing. guess: the index if all replications report the same metrics. */
static size_t find_column(const struct replications *x, const char *name, size_t guess)
{
	if (guess < x->n_columns && !strcmp(x->column[guess], name))
		return guess;
	for (size_t i = 0; i < x->n_columns; i++)
		if (!strcmp(x->column[i], name))
			return i;
	return SIZE_MAX;
}

static size_t make_column(struct replications *x, const char *name, size_t guess)
{
	size_t i = find_column(x, name, guess);
	if (i != SIZE_MAX)
		return i;
	MEM_GROW(x->column, x->n_columns, x->cap_columns);
	x->column[x->n_columns] = mem_strdup(name);
	return x->n_columns++;
}

static void account_columns(const struct account_row *a, char usd[80], char node_s[80])
{
	snprintf(usd, 80, "account usd %.60s", a->account);
	snprintf(node_s, 80, "account node_s %.60s", a->account);
}

static void make_columns(struct replications *x, const struct run_result *r)
{
	char usd[80], node_s[80];
	for (size_t i = 0; i < r->n_metrics; i++)
		make_column(x, r->metrics[i].name, i);
	for (size_t i = 0; i < r->n_accounts; i++) {
		account_columns(&r->accounts[i], usd, node_s);
		make_column(x, usd, r->n_metrics + 2 * i);
		make_column(x, node_s, r->n_metrics + 2 * i + 1);
	}
}

static void make_row(struct replications *x, uint32_t k)
{
	while (x->n <= k) {
		MEM_GROW(x->row, x->n, x->cap);
		x->row[x->n++] = (struct row){ NULL, 0 };
	}
	struct row *row = &x->row[k];
	row->n = x->n_columns;
	row->value = mem_zalloc(row->n + 1, sizeof *row->value);
	for (size_t i = 0; i < row->n; i++)
		row->value[i] = NAN;
}

void replications_add(struct replications *x, uint32_t k, const struct run_result *r)
{
	char usd[80], node_s[80];
#pragma omp critical(orr_replications)
	{
		make_columns(x, r);
		make_row(x, k);
		double *value = x->row[k].value;
		for (size_t i = 0; i < r->n_metrics; i++)
			value[find_column(x, r->metrics[i].name, i)] = r->metrics[i].value;
		for (size_t i = 0; i < r->n_accounts; i++) {
			account_columns(&r->accounts[i], usd, node_s);
			value[find_column(x, usd, r->n_metrics + 2 * i)] = r->accounts[i].usd;
			value[find_column(x, node_s, r->n_metrics + 2 * i + 1)] = r->accounts[i].node_s;
		}
	}
}

/* Fills in v[0..n) with the column's values, NAN where missing. */
static void read_column(const struct replications *x, const char *name, size_t guess, double *v)
{
	size_t i = find_column(x, name, guess);
	for (uint32_t k = 0; k < x->n; k++)
		v[k] = i < x->row[k].n ? x->row[k].value[i] : NAN;
}

static void add_series(struct run_result *r, const char *name, const double *v, uint32_t n)
{
	char text[80];
	snprintf(text, sizeof text, PREFIX "%.60s", name);
	r->series = mem_realloc(r->series, r->n_series + 1, sizeof *r->series);
	struct series *s = &r->series[r->n_series++];
	*s = (struct series){ .name = result_text(r, text), .n = n };
	s->time_ns = mem_zalloc(n, sizeof *s->time_ns);
	s->value = mem_zalloc(n, sizeof *s->value);
	for (uint32_t k = 0; k < n; k++) {
		s->time_ns[k] = k * INT64_C(1000000000);
		s->value[k] = v[k];
	}
}

static double mean_of(const double *v, uint32_t n)
{
	double sum = 0;
	for (uint32_t k = 0; k < n; k++)
		sum += v[k];
	return sum / n;
}

static void put_accounts(const struct replications *x, struct run_result *r, double *v)
{
	char usd[80], node_s[80];
	for (size_t i = 0; i < r->n_accounts; i++) {
		struct account_row *a = &r->accounts[i];
		account_columns(a, usd, node_s);
		read_column(x, usd, r->n_metrics + 2 * i, v);
		a->usd = mean_of(v, x->n);
		read_column(x, node_s, r->n_metrics + 2 * i + 1, v);
		a->node_s = mean_of(v, x->n);
	}
}

/* Copies the values that exist to known[]; returns their number. */
static uint32_t keep_known(const double *v, uint32_t n, double *known)
{
	uint32_t m = 0;
	for (uint32_t k = 0; k < n; k++)
		if (isfinite(v[k]))
			known[m++] = v[k];
	return m;
}

/* Returns the mean over the replications that have a value. */
static struct interval mean_of_known(const double *v, uint32_t n, const char *metric, double level)
{
	double *known = mem_zalloc(n + 1u, sizeof *known);
	uint32_t m = keep_known(v, n, known);
	struct interval mean = m ? estimate_mean(known, m, estimate_range_of(metric), level) : (struct interval){ NAN, NAN, NAN };
	if (m < estimate_least_of(metric))
		mean.low = mean.high = NAN;
	mem_free(known);
	return mean;
}

/* Returns the number of replications whose value differs from the most frequent one. */
static size_t others_of_known(const double *v, uint32_t n, enum estimate_range range)
{
	double *known = mem_zalloc(n + 1u, sizeof *known);
	size_t others = estimate_others(known, keep_known(v, n, known), range);
	mem_free(known);
	return others;
}

/* Returns the interval; if the values vary but have no interval, an unknown one, because such a value is not exact. */
static struct interval or_unknown(struct interval i, const double *v, uint32_t n, const char *metric)
{
	if (isfinite(i.mean) && isnan(i.low) && others_of_known(v, n, estimate_range_of(metric))) {
		i.low = -INFINITY;
		i.high = INFINITY;
	}
	return i;
}

struct interval replications_of(const struct replications *x, const char *metric, double level)
{
	double *v = mem_zalloc(x->n + 1u, sizeof *v);
	read_column(x, metric, 0, v);
	struct interval mean = mean_of_known(v, x->n, metric, level);
	mean = or_unknown(mean, v, x->n, metric);
	mem_free(v);
	return mean;
}

/* Replaces the remark of replication 0 on intervals within one run. */
static void remark_on_intervals(struct run_result *r, uint32_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->n_events; i++)
		if (!r->events[i].detail || strcmp(r->events[i].detail, SUMMARY_NO_INTERVAL) != 0)
			r->events[kept++] = r->events[i];
	r->n_events = kept;
	if (n < ESTIMATE_LEAST)
		result_note(r, "remark", "no intervals: there are fewer than 10 replications; --replications 10 gives intervals");
}

/* Adds a remark on metrics of the table that vary in too few replications for an interval. */
static void remark_on_rare(struct run_result *r, const struct replications *x)
{
	double *v = mem_zalloc(x->n + 1u, sizeof *v);
	char text[600], names[320] = "";
	size_t least = SIZE_MAX;
	for (size_t i = 0; i < r->n_metrics && x->n >= ESTIMATE_LEAST; i++) {
		const char *name = r->metrics[i].name;
		if (!report_column_of(r->world, name) || !isnan(r->metrics[i].ci_low))
			continue;
		read_column(x, name, i, v);
		size_t others = others_of_known(v, x->n, estimate_range_of(name)), used = strlen(names);
		if (!others || others >= ESTIMATE_LEAST_OTHER || x->n < estimate_least_of(name) || used + strlen(name) + 3 > sizeof names)
			continue;
		snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
		least = others < least ? others : least;
	}
	/* Twice the number with ESTIMATE_LEAST_OTHER expected values, because fewer may occur by chance. */
	snprintf(text, sizeof text,
		"no interval of %s: fewer than %d of %u replications differ from the most frequent value by more than %g %%; about %.0f "
		"replications would give one",
		names, ESTIMATE_LEAST_OTHER, x->n, 100 * ESTIMATE_EQUAL, 2. * ESTIMATE_LEAST_OTHER * x->n / (double)least);
	if (*names)
		result_note(r, "remark", text);
	mem_free(v);
}

/* Adds a remark on metrics of the table that need more replications than others. */
static void remark_on_least(struct run_result *r, uint32_t n)
{
	size_t most = 0;
	struct sbuf text = { 0 };
	for (size_t i = 0; i < r->n_metrics && n >= ESTIMATE_LEAST; i++) {
		const char *name = r->metrics[i].name;
		size_t least = estimate_least_of(name);
		if (n >= least || !report_column_of(r->world, name))
			continue;
		sbuf_printf(&text, "%s%s", most ? ", " : "no interval of ", name);
		most = least > most ? least : most;
	}
	sbuf_printf(&text, ": with %u replications, less than 90 %% of such intervals are correct; --replications %zu gives one", n, most);
	if (most)
		result_note(r, "remark", sbuf_text(&text));
	sbuf_free(&text);
}

void replications_put(const struct replications *x, double level, struct run_result *r)
{
	double *v = mem_zalloc(x->n + 1u, sizeof *v);
	put_accounts(x, r, v);
	for (size_t i = 0; i < r->n_metrics; i++) {
		struct metric *m = &r->metrics[i];
		read_column(x, m->name, i, v);
		struct interval mean = mean_of_known(v, x->n, m->name, level);
		if (isfinite(mean.mean)) {
			m->value = mean.mean;
			m->ci_low = mean.low;
			m->ci_high = mean.high;
		}
		if (report_column_of(r->world, m->name))
			add_series(r, m->name, v, x->n);
	}
	remark_on_intervals(r, x->n);
	remark_on_rare(r, x);
	remark_on_least(r, x->n);
	result_metric(r, "replications", x->n, NAN, NAN);
	mem_free(v);
}

/* ---- two policies ---- */

static const struct series *find_series(const struct run_result *r, const char *name)
{
	for (size_t i = 0; i < r->n_series; i++)
		if (!strcmp(r->series[i].name, name))
			return &r->series[i];
	return NULL;
}

const struct series *replications_series(const struct run_result *r, const char *metric)
{
	char name[80];
	snprintf(name, sizeof name, PREFIX "%.60s", metric);
	return find_series(r, name);
}

struct interval replications_interval(const struct run_result *r, const char *metric)
{
	const struct metric *m = result_find(r, metric);
	const struct series *s = replications_series(r, metric);
	struct interval i = m ? (struct interval){ m->value, m->ci_low, m->ci_high } : (struct interval){ NAN, NAN, NAN };
	return s ? or_unknown(i, s->value, (uint32_t)s->n, metric) : i;
}

static void put_pair(struct run_result *r, const char *what, const char *metric, const struct interval *i)
{
	char name[80];
	snprintf(name, sizeof name, "%s_%.60s", what, metric);
	if (isfinite(i->mean))
		result_metric(r, name, i->mean, i->low, i->high);
}

/* Returns the interval of the value of b minus that of a, over the points that both have. */
static struct interval difference(const struct series *b, const struct series *a, double level)
{
	double *x = mem_zalloc(b->n + 1, sizeof *x), *y = mem_zalloc(b->n + 1, sizeof *y);
	size_t n = 0;
	for (size_t k = 0; k < b->n; k++)
		if (isfinite(a->value[k]) && isfinite(b->value[k])) {
			x[n] = b->value[k];
			y[n++] = a->value[k];
		}
	struct interval mean = n ? estimate_difference(x, y, n, level) : (struct interval){ NAN, NAN, NAN };
	mem_free(x);
	mem_free(y);
	return mean;
}

static void compare(const struct run_result *first, struct run_result *r, double level)
{
	for (size_t i = 0; i < r->n_series; i++) {
		const struct series *b = &r->series[i], *a;
		if (strncmp(b->name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		a = find_series(first, b->name);
		if (!a || a->n != b->n)
			continue;
		const char *metric = b->name + strlen(PREFIX);
		struct interval diff = difference(b, a, level), ratio = estimate_ratio(a->value, b->value, (uint32_t)b->n, level);
		if (b->n < estimate_least_of_ratio(metric))
			ratio.low = ratio.high = NAN;
		put_pair(r, "diff", metric, &diff);
		put_pair(r, "ratio", metric, &ratio);
	}
}

void replications_compare(struct run_result *const *runs, size_t n, double level)
{
	for (size_t i = 1; i < n; i++)
		compare(runs[0], runs[i], level);
}

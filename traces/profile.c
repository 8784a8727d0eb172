/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/profile.h"

#include "traces/profile_rows.h"

#include "base/mem.h"
#include "base/strtab.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTS = 32, MAX_FACTS = 64 };

struct series {
	struct trace_profile_series out;
	double *v;
	size_t n, cap;
};

struct tally {
	struct trace_profile_tally out;
	struct strtab *keys;
	struct trace_profile_entry *entry; /* indexed by number of the key until the lists are closed */
	size_t cap;
};

struct trace_profile {
	struct trace_profile_fact fact[MAX_FACTS];
	size_t n_facts;
	struct series series[MAX_LISTS];
	size_t n_series;
	struct tally tally[MAX_LISTS];
	size_t n_tallies;
	struct profile_rows *rows; /* statistics of jobs; NULL until the first row */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static double quantile(const double *v, size_t n, double p)
{
	double index = (double)(n - 1) * p;
	size_t i = (size_t)index;
	return i + 1 < n ? v[i] + (v[i + 1] - v[i]) * (index - (double)i) : v[n - 1];
}

/* Sorts v and returns its summary. If n is 0, all fields but n are NAN. */
static struct summary summary_of(double *v, size_t n)
{
	if (!n)
		return (struct summary){ 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	qsort(v, n, sizeof *v, by_value);
	long double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	long double mean = sum / (long double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	return (struct summary){
		.n = n,
		.mean = (double)mean,
		.sd = (double)sqrtl(squares / (long double)n),
		.min = v[0],
		.p25 = quantile(v, n, 0.25),
		.p50 = quantile(v, n, 0.5),
		.p75 = quantile(v, n, 0.75),
		.p90 = quantile(v, n, 0.9),
		.p95 = quantile(v, n, 0.95),
		.p99 = quantile(v, n, 0.99),
		.max = v[n - 1],
		.sum = (double)sum,
	};
}

struct trace_profile *trace_profile_new(void)
{
	return mem_zalloc(1, sizeof(struct trace_profile));
}

struct profile_rows **profile_rows_slot(struct trace_profile *p)
{
	return &p->rows;
}

void trace_profile_free(struct trace_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_facts; i++)
		mem_free(p->fact[i].text);
	for (size_t i = 0; i < p->n_series; i++)
		mem_free(p->series[i].v);
	for (size_t i = 0; i < p->n_tallies; i++) {
		strtab_free(p->tally[i].keys);
		mem_free(p->tally[i].entry);
	}
	profile_rows_free(p->rows);
	mem_free(p);
}

/* ---- input ---- */

static void add_fact(struct trace_profile *p, const char *name, const char *text, double number)
{
	if (p->n_facts < MAX_FACTS)
		p->fact[p->n_facts++] = (struct trace_profile_fact){ name, mem_strdup(text), number };
}

void trace_profile_fact_text(struct trace_profile *p, const char *name, const char *text)
{
	add_fact(p, name, text, NAN);
}

void trace_profile_fact_number(struct trace_profile *p, const char *name, double value)
{
	char text[48];
	bool is_whole = value == floor(value); /* counts have all digits; the JSON has those of every number */
	snprintf(text, sizeof text, is_whole ? "%.15g" : "%.6g", value);
	add_fact(p, name, text, value);
}

static struct series *find_series(struct trace_profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_series; i++)
		if (p->series[i].out.name == name || !strcmp(p->series[i].out.name, name))
			return &p->series[i];
	if (p->n_series == MAX_LISTS)
		return NULL;
	struct series *s = &p->series[p->n_series++];
	s->out.name = name;
	return s;
}

void trace_profile_value(struct trace_profile *p, const char *series, double value)
{
	struct series *s = find_series(p, series);
	if (!s || isnan(value))
		return;
	MEM_GROW(s->v, s->n, s->cap);
	s->v[s->n++] = value;
}

static struct tally *find_tally(struct trace_profile *p, const char *name, const char *weight_name)
{
	for (size_t i = 0; i < p->n_tallies; i++)
		if (p->tally[i].out.name == name || !strcmp(p->tally[i].out.name, name))
			return &p->tally[i];
	if (p->n_tallies == MAX_LISTS)
		return NULL;
	struct tally *t = &p->tally[p->n_tallies++];
	t->out.name = name;
	t->out.weight = weight_name;
	t->keys = strtab_new();
	return t;
}

void trace_profile_count(
	struct trace_profile *p, const char *tally, const char *weight_name, const char *key, uint64_t count, double weight)
{
	struct tally *t = find_tally(p, tally, weight_name);
	if (!t)
		return;
	uint32_t i = strtab_add_z(t->keys, key);
	while (i >= t->cap) {
		size_t old = t->cap;
		t->cap = old ? old * 2 : 16;
		t->entry = mem_realloc(t->entry, t->cap, sizeof *t->entry);
		memset(t->entry + old, 0, (t->cap - old) * sizeof *t->entry);
	}
	t->entry[i].key = strtab_text(t->keys, i);
	t->entry[i].count += count;
	t->entry[i].gpu_hours += weight;
}

/* ---- results ---- */

/* Sorts sizes and months in ascending order; other keys by frequency. */
static int by_number(const void *a, const void *b)
{
	const struct trace_profile_entry *x = a, *y = b;
	double i = strtod(x->key, NULL), j = strtod(y->key, NULL);
	return i < j ? -1 : i > j;
}

static int by_count(const void *a, const void *b)
{
	const struct trace_profile_entry *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->key, y->key);
}

static void close_tally(struct tally *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->cap; i++)
		if (t->entry[i].count)
			t->entry[n++] = t->entry[i];
	bool is_by_number = !strcmp(t->out.name, PROFILE_GPUS_TALLY) || !strcmp(t->out.name, PROFILE_MONTHS_TALLY);
	qsort(t->entry, n, sizeof *t->entry, is_by_number ? by_number : by_count);
	t->out.entry = t->entry;
	t->out.n = n;
}

void trace_profile_close_lists(struct trace_profile *p)
{
	for (size_t i = 0; i < p->n_series; i++)
		p->series[i].out.summary = summary_of(p->series[i].v, p->series[i].n);
	for (size_t i = 0; i < p->n_tallies; i++)
		close_tally(&p->tally[i]);
}

const struct trace_profile_fact *trace_profile_get_fact(const struct trace_profile *p, size_t i)
{
	return i < p->n_facts ? &p->fact[i] : NULL;
}

const struct trace_profile_series *trace_profile_get_series(const struct trace_profile *p, size_t i)
{
	return i < p->n_series ? &p->series[i].out : NULL;
}

const struct trace_profile_tally *trace_profile_get_tally(const struct trace_profile *p, size_t i)
{
	return i < p->n_tallies ? &p->tally[i].out : NULL;
}

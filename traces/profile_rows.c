/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/profile_rows.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct change {
	int64_t at;
	int64_t gpu_milli; /* > 0 at a start, < 0 at an end */
};

struct profile_rows {
	uint64_t rows;
	int64_t *submit;
	uint64_t *print; /* hash of each row, to find duplicates */
	size_t n, cap, print_cap;
	struct change *change;
	size_t n_changes, change_cap;
	int64_t last_submit, last_end;
	bool is_sorted;
	uint64_t unknown_duration, zero_duration, short_duration, fractional_duration;
	uint64_t no_gpu, shared_gpu, one_whole_gpu;
	uint64_t with_wait, with_limit, over_limit, kept_by_sia, with_types;
	int64_t gpu_milli_asked;
	bool ids_are_numbers, ids_rise;
	int64_t low_id, high_id, last_id;
};

static struct profile_rows *rows_of(struct trace_profile *p)
{
	struct profile_rows **rows = profile_rows_slot(p);
	if (*rows)
		return *rows;
	struct profile_rows *r = *rows = mem_zalloc(1, sizeof *r);
	r->is_sorted = r->ids_are_numbers = r->ids_rise = true;
	r->last_submit = r->last_end = INT64_MIN;
	return r;
}

void profile_rows_free(struct profile_rows *r)
{
	if (!r)
		return;
	mem_free(r->submit);
	mem_free(r->print);
	mem_free(r->change);
	mem_free(r);
}

/* ---- adding ---- */

static uint64_t hash_field(uint64_t h, const char *s)
{
	return hash_bytes(h, s ? s : "", s ? strlen(s) + 1 : 1);
}

static uint64_t fingerprint(const struct orr_trace_job *row)
{
	int64_t v[] = { row->submit_ns, row->duration_ns, row->limit_ns, row->wait_ns, row->gpus, row->gpu_milli, row->cpu_milli,
		row->mem_mib };
	uint64_t h = hash_bytes(HASH_START, v, sizeof v);
	h = hash_bytes(h, &row->iterations, sizeof row->iterations);
	const char *texts[] = { row->user, row->queue, row->model, row->gpu_types, row->status };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		h = hash_field(h, texts[i]);
	return h ^ h >> 29;
}

static double gpu_seconds(const struct orr_trace_job *row)
{
	return row->duration_ns < 0 ? NAN : (double)row->duration_ns / 1e9 * row->gpus * (row->gpus ? row->gpu_milli : 0) / 1000;
}

static void add_id(struct profile_rows *r, const char *id)
{
	int64_t v;
	r->ids_are_numbers = r->ids_are_numbers && id && num_int(id, strlen(id), &v);
	if (!r->ids_are_numbers)
		return;
	r->ids_rise = r->ids_rise && (!r->rows || v > r->last_id);
	r->low_id = !r->rows || v < r->low_id ? v : r->low_id;
	r->high_id = !r->rows || v > r->high_id ? v : r->high_id;
	r->last_id = v;
}

static void add_run(struct profile_rows *r, const struct orr_trace_job *row)
{
	if (row->duration_ns < 0) {
		r->unknown_duration++;
		return;
	}
	int64_t start = num_add_sat(row->submit_ns, row->wait_ns > 0 ? row->wait_ns : 0);
	int64_t end = num_add_sat(start, row->duration_ns);
	int64_t milli = (int64_t)row->gpus * row->gpu_milli;
	r->last_end = end > r->last_end ? end : r->last_end;
	while (r->n_changes + 2 > r->change_cap) {
		r->change_cap = r->change_cap ? r->change_cap * 2 : 1024;
		r->change = mem_realloc(r->change, r->change_cap, sizeof *r->change);
	}
	r->change[r->n_changes++] = (struct change){ start, milli };
	r->change[r->n_changes++] = (struct change){ end, -milli };
	r->zero_duration += row->duration_ns == 0;
	r->short_duration += row->duration_ns < 60 * ORR_SECOND;
	r->fractional_duration += row->duration_ns % ORR_SECOND != 0;
	/* The filter of Pollux and Sia for the Philly list. */
	r->kept_by_sia += row->duration_ns >= 60 * ORR_SECOND && gpu_seconds(row) < 3.6e6;
}

static void add_demand(struct profile_rows *r, const struct orr_trace_job *row)
{
	r->no_gpu += row->gpus == 0;
	r->shared_gpu += row->gpus > 0 && row->gpu_milli < 1000;
	r->one_whole_gpu += row->gpus == 1 && row->gpu_milli == 1000;
	r->gpu_milli_asked += (int64_t)row->gpus * row->gpu_milli;
	r->with_types += row->gpu_types != NULL;
	r->with_wait += row->wait_ns >= 0;
	r->with_limit += row->limit_ns >= 0;
	r->over_limit += row->limit_ns >= 0 && row->duration_ns > row->limit_ns;
}

static double known(int64_t ns)
{
	return ns < 0 ? NAN : (double)ns / 1e9;
}

static void add_series(struct trace_profile *p, const struct orr_trace_job *row)
{
	trace_profile_value(p, "duration s", known(row->duration_ns));
	trace_profile_value(p, "gpus", row->gpus);
	trace_profile_value(p, "gpu_time s", gpu_seconds(row));
	trace_profile_value(p, "wait s", known(row->wait_ns));
	trace_profile_value(p, "limit s", known(row->limit_ns));
	trace_profile_value(p, "iterations", row->iterations > 0 ? row->iterations : NAN);
	trace_profile_value(p, "cpu_milli", (double)row->cpu_milli);
	trace_profile_value(p, "mem_mib", (double)row->mem_mib);
}

static void add_tallies(struct trace_profile *p, const struct orr_trace_job *row)
{
	char text[24];
	double s = gpu_seconds(row), hours = isnan(s) ? 0 : s / 3600;
	snprintf(text, sizeof text, "%u", row->gpus);
	trace_profile_count(p, PROFILE_GPUS_TALLY, "GPU hours", text, 1, hours);
	snprintf(text, sizeof text, "%u", row->gpu_milli);
	trace_profile_count(p, "gpu_milli", "GPU hours", text, 1, hours);
	const struct {
		const char *tally, *key;
	} named[] = { { "queue", row->queue }, { "user", row->user }, { "model", row->model }, { "GPU types", row->gpu_types },
		{ "status", row->status } };
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		trace_profile_count(p, named[i].tally, "GPU hours", named[i].key ? named[i].key : "(none)", 1, hours);
}

void trace_profile_add(struct trace_profile *p, const struct orr_trace_job *row, const char *const *extras, const double *values)
{
	struct profile_rows *r = rows_of(p);
	MEM_GROW(r->submit, r->n, r->cap);
	MEM_GROW(r->print, r->n, r->print_cap);
	r->submit[r->n] = row->submit_ns;
	r->print[r->n++] = fingerprint(row);
	r->is_sorted = r->is_sorted && row->submit_ns >= r->last_submit;
	r->last_submit = row->submit_ns;
	add_id(r, row->id);
	add_run(r, row);
	add_demand(r, row);
	add_series(p, row);
	add_tallies(p, row);
	r->rows++;
	for (size_t i = 0; extras && extras[i]; i++)
		trace_profile_value(p, extras[i], values[i]);
}

/* ---- facts after the last row ---- */

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static int by_print(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* At one instant, ends precede starts, so a job of zero length occupies nothing. */
static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->gpu_milli < y->gpu_milli ? -1 : x->gpu_milli > y->gpu_milli;
}

static double peak_gpus(struct profile_rows *r)
{
	int64_t now = 0, peak = 0;
	qsort(r->change, r->n_changes, sizeof *r->change, by_change);
	for (size_t i = 0; i < r->n_changes; i++) {
		now += r->change[i].gpu_milli;
		peak = now > peak ? now : peak;
	}
	return (double)peak / 1000;
}

static void put_moment(struct trace_profile *p, const char *name, int64_t ns, bool is_absolute)
{
	char text[40];
	struct tm tm;
	time_t seconds = (time_t)(ns / ORR_SECOND);
	if (!is_absolute) {
		trace_profile_fact_number(p, name, (double)ns / 1e9);
		return;
	}
	gmtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
	trace_profile_fact_text(p, name, text);
}

static void put_span(struct profile_rows *r, struct trace_profile *p, bool is_absolute)
{
	qsort(r->submit, r->n, sizeof *r->submit, by_time);
	int64_t first = r->submit[0], last = r->submit[r->n - 1];
	put_moment(p, "first submission", first, is_absolute);
	put_moment(p, "last submission", last, is_absolute);
	trace_profile_fact_number(p, "span days", (double)(last - first) / 86400e9);
	trace_profile_fact_text(p, "sorted by submission", r->is_sorted ? "yes" : "no");
	uint64_t same = 0;
	for (size_t i = 1; i < r->n; i++) {
		trace_profile_value(p, "interarrival s", (double)(r->submit[i] - r->submit[i - 1]) / 1e9);
		same += r->submit[i] == r->submit[i - 1];
	}
	trace_profile_fact_number(p, "submitted at the time of the previous job", (double)same);
	for (size_t i = 0; is_absolute && i < r->n; i++) {
		char month[16];
		struct tm tm;
		time_t seconds = (time_t)(r->submit[i] / ORR_SECOND);
		gmtime_r(&seconds, &tm);
		strftime(month, sizeof month, "%Y-%m", &tm);
		trace_profile_count(p, PROFILE_MONTHS_TALLY, NULL, month, 1, 0);
	}
}

static void put_duplicates(struct profile_rows *r, struct trace_profile *p)
{
	uint64_t n = 0;
	qsort(r->print, r->n, sizeof *r->print, by_print);
	for (size_t i = 1; i < r->n; i++)
		n += r->print[i] == r->print[i - 1];
	trace_profile_fact_number(p, "duplicate rows", (double)n);
}

static void put_load(struct profile_rows *r, struct trace_profile *p, double gpu_s)
{
	if (!r->n_changes)
		return;
	double makespan = (double)(r->last_end - r->submit[0]) / 1e9;
	trace_profile_fact_number(p, "GPU hours", gpu_s / 3600);
	trace_profile_fact_number(p, "makespan s", makespan);
	double span = (double)(r->submit[r->n - 1] - r->submit[0]) / 1e9;
	trace_profile_fact_number(p, "GPU time / span", span > 0 ? gpu_s / span : 0);
	trace_profile_fact_number(p, "GPU time / makespan", makespan > 0 ? gpu_s / makespan : 0);
	trace_profile_fact_number(p, "peak GPUs without waiting", peak_gpus(r));
}

static double total_gpu_seconds(const struct profile_rows *r)
{
	long double sum = 0;
	for (size_t i = 0; i < r->n_changes; i += 2)
		sum += (long double)(r->change[i + 1].at - r->change[i].at) * r->change[i].gpu_milli;
	return (double)(sum / 1e12L);
}

static void put_counts(const struct profile_rows *r, struct trace_profile *p)
{
	const struct {
		const char *name;
		double value;
	} counts[] = {
		{ "duration unknown", (double)r->unknown_duration },
		{ "duration zero", (double)r->zero_duration },
		{ "duration below 60 s", (double)r->short_duration },
		{ "duration not whole seconds", (double)r->fractional_duration },
		{ "duration >= 60 s and below 1000 GPU hours", (double)r->kept_by_sia },
		{ "no GPU", (double)r->no_gpu },
		{ "share of one GPU", (double)r->shared_gpu },
		{ "one whole GPU", (double)r->one_whole_gpu },
		{ "GPUs requested, all jobs", (double)r->gpu_milli_asked / 1000 },
		{ "GPU types named", (double)r->with_types },
		{ "wait recorded", (double)r->with_wait },
		{ "limit given", (double)r->with_limit },
		{ "ran longer than the limit", (double)r->over_limit },
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		trace_profile_fact_number(p, counts[i].name, counts[i].value);
}

static void add_facts(struct profile_rows *r, struct trace_profile *p, bool is_absolute)
{
	trace_profile_fact_number(p, "rows", (double)r->rows);
	if (!r->rows)
		return;
	double gpu_s = total_gpu_seconds(r); /* must precede the sort of the changes */
	put_span(r, p, is_absolute);
	put_duplicates(r, p);
	put_counts(r, p);
	put_load(r, p, gpu_s);
	if (r->ids_are_numbers) {
		trace_profile_fact_number(p, "lowest job number", (double)r->low_id);
		trace_profile_fact_number(p, "highest job number", (double)r->high_id);
		trace_profile_fact_text(p, "job numbers rise", r->ids_rise ? "yes" : "no");
	}
}

void trace_profile_finish(struct trace_profile *p, bool is_absolute)
{
	add_facts(rows_of(p), p, is_absolute);
	trace_profile_close_lists(p);
}

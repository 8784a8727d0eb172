/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile.h - statistics of a trace: counts, distributions, spans
 *
 * Rows are added in file order; trace_profile_finish() turns them into three kinds of
 * lists for a front end: facts (a name and a value), series (a distribution of numbers)
 * and tallies (the frequency of each text).
 *
 * Percentiles interpolate linearly between order statistics, index (n-1)p. Sums
 * and moments are exact for whole numbers up to 2^53. sd divides by n.
 * Times are in seconds. Exact percentiles need every value in memory: about 100
 * bytes per row.
 */
#ifndef ORR_TRACES_PROFILE_H
#define ORR_TRACES_PROFILE_H

#include <orrery/trace.h>

struct trace_profile;

struct summary {
	uint64_t n;
	double mean, sd, min, p25, p50, p75, p90, p95, p99, max, sum;
};

struct trace_profile_fact {
	const char *name;
	char *text;    /* as printed */
	double number; /* NAN: the value is a text */
};

struct trace_profile_series {
	const char *name;
	struct summary summary;
};

struct trace_profile_entry {
	const char *key;
	uint64_t count;
	double gpu_hours; /* GPU hours, or another weight (see `weight` of the tally) */
};

struct trace_profile_tally {
	const char *name;
	const char *weight; /* meaning of gpu_hours; NULL: unused */
	const struct trace_profile_entry *entry;
	size_t n;
};

struct trace_profile *trace_profile_new(void);
void trace_profile_free(struct trace_profile *p);

/* Adds a row. extras: names (NULL-terminated, the same for each row) and values of further series; both may be NULL. */
void trace_profile_add(struct trace_profile *p, const struct orr_trace_job *row, const char *const *extras, const double *values);
/* Computes the lists; call it once, after the last row. is_absolute: submit times are wall-clock times. */
void trace_profile_finish(struct trace_profile *p, bool is_absolute);

/* Add a fact or a value for other kinds of rows. weight may be 0. */
void trace_profile_fact_text(struct trace_profile *p, const char *name, const char *text);
void trace_profile_fact_number(struct trace_profile *p, const char *name, double value);
void trace_profile_count(
	struct trace_profile *p, const char *tally, const char *weight_name, const char *key, uint64_t count, double weight);
void trace_profile_value(struct trace_profile *p, const char *series, double value);
/* Computes series and tallies; trace_profile_finish() includes this. */
void trace_profile_close_lists(struct trace_profile *p);

/* Return the i-th fact, series or tally; NULL past the last. */
const struct trace_profile_fact *trace_profile_get_fact(const struct trace_profile *p, size_t i);
const struct trace_profile_series *trace_profile_get_series(const struct trace_profile *p, size_t i);
const struct trace_profile_tally *trace_profile_get_tally(const struct trace_profile *p, size_t i);

#endif

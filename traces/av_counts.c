/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_counts.c - files with the number of instances: polls, step curves, counts after each event
 *
 * gcp-polls      YYYY-MM-DD, HH:MM:SS, count    a poll about every minute (Thorpe et al., NSDI 2023); times start at the first
 * poll
 * step-curve     time,count                     Bamboo's curves: each change is two rows, the old count and the new count;
 *                                               seconds, or hours if the first time has a decimal point
 * parcae-counts  ms,count                       after each event (Duan et al., NSDI 2024)
 *
 * A count is valid until the next row, so the last row only marks the end.
 */
#include "traces/avail_format.h"
#include "traces/civil.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int end_row(struct table *t, struct avail_row *row)
{
	int rc = table_status(t);
	row->what = AVAIL_ROW_COUNT;
	row->is_bad = rc < 0;
	return rc;
}

/* ---- polls ---- */

static const struct table_column poll_columns[] = { { "date", true }, { "time", true }, { "count", true }, { NULL, false } };
static const struct orr_param count_params[] = { AVAIL_PARAMS, AVAIL_COUNT_PARAMS, ORR_PARAM_END };

/* Returns a field without surrounding blanks. */
static const char *trimmed(const struct table *t, size_t column, size_t *n)
{
	const char *s = table_text(t, column, n);
	while (*n && (*s == ' ' || *s == '\t')) {
		s++;
		--*n;
	}
	while (*n && (s[*n - 1] == ' ' || s[*n - 1] == '\t'))
		--*n;
	return s;
}

static int64_t poll_time(const char *date, size_t n_date, const char *time, size_t n_time)
{
	char text[32];
	if (n_date != 10 || n_time != 8)
		return -1;
	int n = snprintf(text, sizeof text, "%.10s %.8s", date, time);
	return n == 19 ? civil_ns(text, 19) : -1;
}

static bool sniff_polls(const struct trace_head *head)
{
	const char *s = head->line, *comma = strchr(s, ',');
	if (!comma || comma - s != 10)
		return false;
	const char *time = comma + 1 + strspn(comma + 1, " \t");
	return strlen(time) > 8 && time[8] == ',' && poll_time(s, 10, time, 8) >= 0;
}

static void *open_polls(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return table_new(in, poll_columns, 0, err);
}

static int next_poll(void *state, struct avail_row *row, struct orr_error *err)
{
	struct table *t = state;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	size_t n_date, n_time, n_count;
	const char *date = trimmed(t, 0, &n_date), *time = trimmed(t, 1, &n_time), *count = trimmed(t, 2, &n_count);
	row->t_ns = poll_time(date, n_date, time, n_time);
	if (row->t_ns < 0)
		table_refuse(t, n_date == 10 ? 1 : 0, "a date and a time from 1970 to 2199 such as 2021-12-11, 11:11:30");
	if (!num_int(count, n_count, &row->count) || row->count < 0 || row->count > AVAIL_MAX_COUNT)
		table_refuse(t, 2, "a whole number from 0 to 100000");
	return end_row(t, row);
}

static void close_polls(void *state)
{
	table_free(state);
}

const struct trace_format format_gcp_polls = {
	.kind = TRACE_AVAIL,
	.name = "gcp-polls",
	.doc = "polled counts of instances: YYYY-MM-DD, HH:MM:SS, count",
	.params = count_params,
	.is_absolute = true,
	.sniff = sniff_polls,
	.open = open_polls,
	.avail = next_poll,
	.close = close_polls,
};

/* ---- curves ---- */

enum unit { UNIT_AUTO, UNIT_S, UNIT_H, UNIT_MS };

struct curve {
	struct table *table;
	enum unit unit;
};

static const struct table_column curve_columns[] = { { "time", true }, { "count", true }, { NULL, false } };
static const struct orr_param curve_params[] = { ORR_PARAM_CHOICE("unit", "auto", "auto|s|h",
							 "unit of times; auto: hours if the first has a decimal point"),
	AVAIL_PARAMS, AVAIL_COUNT_PARAMS, ORR_PARAM_END };

/* Returns the end of a row "TIME,COUNT"; NULL: not such a row. */
static const char *sniff_row(const char *s, const char *end, int64_t *count)
{
	const char *comma = s, *stop;
	double time;
	while (comma < end && *comma != ',' && *comma != '\n')
		comma++;
	if (comma == end || *comma == '\n' || !num_real(s, (size_t)(comma - s), &time))
		return NULL;
	for (stop = comma + 1; stop < end && *stop != '\n' && *stop != '\r';)
		stop++;
	return num_int(comma + 1, (size_t)(stop - comma - 1), count) ? stop : NULL;
}

static bool sniff_curve(const struct trace_head *head)
{
	int64_t count;
	return sniff_row(head->line, head->line + strlen(head->line), &count) != NULL;
}

/* Recognises parcae-counts: every event changes the count by one, and there are at least two rows. */
static bool sniff_parcae(const struct trace_head *head)
{
	const char *s = head->text, *end = s + head->n;
	int64_t last = 0, count = 0;
	int rows = 0;
	while (s < end && rows < 16) {
		const char *stop = sniff_row(s, end, &count);
		if (!stop || (rows && count != last + 1 && count != last - 1))
			return stop == NULL && rows > 1 && memchr(s, '\n', (size_t)(end - s)) == NULL;
		last = count;
		rows++;
		for (s = stop; s < end && (*s == '\n' || *s == '\r');)
			s++;
	}
	return rows > 1;
}

static struct curve *open_table(struct lines *in, enum unit unit, struct orr_error *err)
{
	struct table *t = table_new(in, curve_columns, 0, err);
	if (!t)
		return NULL;
	struct curve *c = mem_zalloc(1, sizeof *c);
	c->table = t;
	c->unit = unit;
	return c;
}

static void *open_curve(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	const char *unit = orr_arg_text(args, "unit");
	return open_table(in, !strcmp(unit, "s") ? UNIT_S : !strcmp(unit, "h") ? UNIT_H : UNIT_AUTO, err);
}

static void *open_parcae(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	return open_table(in, UNIT_MS, err);
}

static int next_curve(void *state, struct avail_row *row, struct orr_error *err)
{
	struct curve *c = state;
	struct table *t = c->table;
	int rc = table_next(t, NULL, NULL, err);
	if (rc <= 0)
		return rc;
	if (c->unit == UNIT_AUTO)
		c->unit = strchr(table_text(t, 0, NULL), '.') ? UNIT_H : UNIT_S;
	if (c->unit == UNIT_MS)
		row->t_ns = table_milliseconds(t, 0, 0, TRACE_MAX_SECONDS * 1e3);
	else if (c->unit == UNIT_S)
		row->t_ns = table_seconds(t, 0, 0, TRACE_MAX_SECONDS);
	else
		row->t_ns = (int64_t)llround(table_real(t, 0, 0, TRACE_MAX_SECONDS / 3600) * 3600e9);
	row->count = table_int(t, 1, 0, AVAIL_MAX_COUNT);
	return end_row(t, row);
}

static void close_curve(void *state)
{
	struct curve *c = state;
	table_free(c->table);
	mem_free(c);
}

const struct trace_format format_step_curve = {
	.kind = TRACE_AVAIL,
	.name = "step-curve",
	.doc = "counts of instances over time: seconds,count or hours,count, every change as two rows",
	.params = curve_params,
	.sniff = sniff_curve,
	.open = open_curve,
	.avail = next_curve,
	.close = close_curve,
};

const struct trace_format format_parcae_counts = {
	.kind = TRACE_AVAIL,
	.name = "parcae-counts",
	.doc = "Parcae's counts after each event: ms,count",
	.params = count_params,
	.sniff = sniff_parcae,
	.open = open_parcae,
	.avail = next_curve,
	.close = close_curve,
};

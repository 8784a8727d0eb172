/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * av_json.c - availability in JSON: Parcae's segments and SkyPilot's series
 *
 * parcae-segment  one line per interval: [ms, "add" | "remove" | "no-op" | "migration", {"nodes": [..], "duration": ms, ..}]
 *                 (Duan et al., NSDI 2024); a migration does not change the nodes
 * skypilot        {"metadata": {"gap_seconds": g, ..}, "data": [n, ..]}: n instances are available at tick i, from i g until (i+1) g
 *                 (Wu et al., NSDI 2024); one zone per file
 */
#define _GNU_SOURCE /* memmem() */
#include "traces/avail_format.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A position in a text, with its line number. */
struct scan {
	const char *name, *s, *end;
	uint64_t line;
	struct orr_error *err;
};

static void skip_blanks(struct scan *c)
{
	for (; c->s < c->end && strchr(" \t\r\n", *c->s); c->s++)
		c->line += *c->s == '\n';
}

static int refuse(struct scan *c, const char *field, const char *expected)
{
	skip_blanks(c);
	size_t left = strcspn(c->s, "\n");
	orr_fail(c->err, ORR_EINPUT, "%.300s:%" PRIu64 ": %s%sexpected %s, found %s%.*s%s", c->name, c->line, field ? field : "",
		field ? ": " : "", expected, left ? "\"" : "nothing", left > 40 ? 40 : (int)left, c->s,
		left > 40 ? "...\""
		: left    ? "\""
			  : "");
	return -1;
}

static bool take(struct scan *c, char ch)
{
	skip_blanks(c);
	if (c->s == c->end || *c->s != ch)
		return false;
	c->s++;
	return true;
}

/* Returns the raw text between the quotes of a string; NULL if this line has none. */
static const char *take_string(struct scan *c, size_t *n)
{
	if (!take(c, '"'))
		return NULL;
	const char *text = c->s;
	while (c->s < c->end && *c->s != '"' && *c->s != '\n')
		c->s += *c->s == '\\' && c->s + 1 < c->end ? 2 : 1;
	if (c->s >= c->end || *c->s != '"')
		return NULL;
	*n = (size_t)(c->s++ - text);
	return text;
}

/* Returns the length of a number or word. */
static size_t take_word(struct scan *c, const char **text)
{
	skip_blanks(c);
	*text = c->s;
	while (c->s < c->end && !strchr(",]}[{:\" \t\r\n", *c->s))
		c->s++;
	return (size_t)(c->s - *text);
}

static int skip_value(struct scan *c)
{
	size_t depth = 0, n;
	const char *text;
	do {
		if (take(c, '{') || take(c, '['))
			depth++;
		else if (depth && (take(c, '}') || take(c, ']')))
			depth--;
		else if (depth && (take(c, ',') || take(c, ':')))
			;
		else if (!take_string(c, &n) && !take_word(c, &text))
			return refuse(c, NULL, "a value");
	} while (depth);
	return 0;
}

static int take_number(struct scan *c, const char *field, double lo, double hi, const char *expected, double *out)
{
	const char *text, *start = c->s;
	size_t n = take_word(c, &text);
	if (num_real(text, n, out) && *out >= lo && *out <= hi)
		return 0;
	c->s = start;
	return refuse(c, field, expected);
}

static bool is_name(const char *s, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(s, name, n);
}

/* Calls member() for each name of an object; member() reads the value. */
static int read_object(struct scan *c, int (*member)(struct scan *c, const char *name, size_t n, void *ctx), void *ctx)
{
	if (!take(c, '{'))
		return refuse(c, NULL, "an object in braces");
	if (take(c, '}'))
		return 0;
	do {
		size_t n;
		const char *name = take_string(c, &n);
		if (!name || !take(c, ':'))
			return refuse(c, NULL, "the name of a field in quotes and ':'");
		if (member(c, name, n, ctx))
			return -1;
	} while (take(c, ','));
	return take(c, '}') ? 0 : refuse(c, NULL, "',' or '}'");
}

/* ---- Parcae's segments ---- */

struct node_text {
	size_t at, n;
};

struct segment {
	struct lines *in;
	struct sbuf names; /* node names of the line, each with a NUL */
	struct node_text *node;
	size_t n_nodes, cap, next;
	int64_t t_ns, end_ns;
	bool has_line, is_add, has_nodes, has_duration;
};

static bool sniff_segment(const struct trace_head *head)
{
	return *head->line == '[' && strstr(head->line, "\"nodes\"");
}

static void *open_segment(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	(void)err;
	struct segment *s = mem_zalloc(1, sizeof *s);
	s->in = in;
	return s;
}

static int read_nodes(struct scan *c, struct segment *s)
{
	if (!take(c, '['))
		return refuse(c, "nodes", "a list of names");
	if (take(c, ']'))
		return 0;
	do {
		size_t n;
		const char *name = take_string(c, &n);
		if (!name || !n)
			return refuse(c, "nodes", "a name in quotes");
		if (s->n_nodes == AVAIL_MAX_COUNT)
			return refuse(c, "nodes", "at most 100000 names");
		MEM_GROW(s->node, s->n_nodes, s->cap);
		s->node[s->n_nodes++] = (struct node_text){ s->names.len, n };
		sbuf_add(&s->names, name, n);
		sbuf_putc(&s->names, '\0');
	} while (take(c, ','));
	return take(c, ']') ? 0 : refuse(c, "nodes", "',' or ']'");
}

static int segment_member(struct scan *c, const char *name, size_t n, void *ctx)
{
	struct segment *s = ctx;
	double ms;
	if (is_name(name, n, "nodes")) {
		if (s->has_nodes)
			return refuse(c, "nodes", "this field once");
		s->has_nodes = true;
		return read_nodes(c, s);
	}
	if (!is_name(name, n, "duration"))
		return skip_value(c);
	if (take_number(c, "duration", 0, TRACE_MAX_SECONDS * 1e3, "milliseconds from 0 to 4000000000000", &ms))
		return -1;
	s->has_duration = true;
	s->end_ns = s->t_ns + (int64_t)llround(ms * 1e6);
	return 0;
}

static int read_segment(struct scan *c, struct segment *s, bool *is_bad_event)
{
	double ms;
	size_t n;
	if (!take(c, '['))
		return refuse(
			c, NULL, "a list [ms, \"add\" | \"remove\" | \"no-op\" | \"migration\", {\"nodes\": [..], \"duration\": ms}]");
	if (take_number(c, "time", 0, TRACE_MAX_SECONDS * 1e3, "milliseconds from 0 to 4000000000000", &ms))
		return -1;
	s->t_ns = (int64_t)llround(ms * 1e6);
	if (!take(c, ','))
		return refuse(c, NULL, "','");
	struct scan before = *c;
	const char *event = take_string(c, &n);
	bool is_known = event && (is_name(event, n, "add") || is_name(event, n, "remove"));
	if (!event || (!is_known && !is_name(event, n, "no-op") && !is_name(event, n, "migration"))) {
		*is_bad_event = event != NULL;
		return refuse(&before, "event", "\"add\", \"remove\", \"no-op\" or \"migration\"");
	}
	s->is_add = *event == 'a';
	if (!take(c, ','))
		return refuse(c, NULL, "','");
	before = *c;
	if (read_object(c, segment_member, s))
		return -1;
	if (!s->has_nodes || !s->has_duration || (!is_known && s->n_nodes))
		return refuse(&before, NULL, is_known ? "\"nodes\" and \"duration\"" : "\"duration\" and an empty list of \"nodes\"");
	if (!take(c, ']'))
		return refuse(c, NULL, "']'");
	skip_blanks(c);
	return c->s == c->end ? 0 : refuse(c, NULL, "the end of the line");
}

/* Reads a line. Returns 1: a line, 0: the end, -1: an error. */
static int next_line(struct segment *s, struct avail_row *row, struct orr_error *err)
{
	char *text;
	size_t n;
	int rc;
	struct scan c = { .name = lines_name(s->in), .err = err };
	do {
		rc = lines_next(s->in, &text, &n, err);
		if (rc <= 0)
			return rc;
		c.s = text;
		c.end = text + n;
		c.line = lines_number(s->in);
		skip_blanks(&c);
	} while (c.s == c.end);
	s->n_nodes = s->next = 0;
	s->has_nodes = s->has_duration = false;
	sbuf_clear(&s->names);
	row->is_bad = read_segment(&c, s, &row->is_bad_event) != 0;
	return row->is_bad ? -1 : 1;
}

static int next_segment(void *state, struct avail_row *row, struct orr_error *err)
{
	struct segment *s = state;
	if (!s->has_line) {
		int rc = next_line(s, row, err);
		if (rc <= 0)
			return rc;
		s->has_line = true;
	}
	row->t_ns = s->t_ns;
	if (s->next < s->n_nodes) {
		row->what = s->is_add ? AVAIL_ROW_ADD : AVAIL_ROW_REMOVE;
		row->node = s->names.text + s->node[s->next++].at;
		return 1;
	}
	row->what = AVAIL_ROW_END;
	row->t_ns = s->end_ns;
	s->has_line = false;
	return 1;
}

static void close_segment(void *state)
{
	struct segment *s = state;
	sbuf_free(&s->names);
	mem_free(s->node);
	mem_free(s);
}

static const struct orr_param segment_params[] = { AVAIL_PARAMS, ORR_PARAM_END };

const struct trace_format format_parcae_segment = {
	.kind = TRACE_AVAIL,
	.name = "parcae-segment",
	.doc = "Parcae's segments: JSON lines [ms, event, {\"nodes\": [..], \"duration\": ms}]",
	.params = segment_params,
	.sniff = sniff_segment,
	.open = open_segment,
	.avail = next_segment,
	.close = close_segment,
};

/* ---- SkyPilot's series ---- */

struct tick {
	int64_t count; /* -1: invalid */
	uint64_t line;
};

struct series {
	struct lines *in;
	struct tick *tick;
	size_t n, cap, next;
	double gap_s;
	bool is_read, has_data;
};

static bool sniff_series(const struct trace_head *head)
{
	return *head->line == '{' && memmem(head->text, head->n, "\"gap_seconds\"", 13);
}

static void *open_series(struct lines *in, const struct orr_args *args, struct orr_error *err)
{
	(void)args;
	(void)err;
	struct series *s = mem_zalloc(1, sizeof *s);
	s->in = in;
	return s;
}

static int metadata_member(struct scan *c, const char *name, size_t n, void *ctx)
{
	struct series *s = ctx;
	if (!is_name(name, n, "gap_seconds"))
		return skip_value(c);
	return take_number(c, "gap_seconds", 1e-3, 1e7, "seconds from 0.001 to 10000000", &s->gap_s);
}

static int series_member(struct scan *c, const char *name, size_t n, void *ctx)
{
	struct series *s = ctx;
	if (is_name(name, n, "metadata"))
		return read_object(c, metadata_member, s);
	if (!is_name(name, n, "data"))
		return skip_value(c);
	if (s->has_data || !take(c, '['))
		return refuse(c, "data", "exactly one list of counts");
	s->has_data = true;
	if (take(c, ']'))
		return 0;
	do {
		const char *text;
		size_t length = take_word(c, &text);
		int64_t v;
		if (!length)
			return refuse(c, "data", "a whole number from 0 to 100000");
		MEM_GROW(s->tick, s->n, s->cap);
		bool good = num_int(text, length, &v) && v >= 0 && v <= AVAIL_MAX_COUNT;
		s->tick[s->n++] = (struct tick){ good ? v : -1, c->line };
	} while (take(c, ','));
	return take(c, ']') ? 0 : refuse(c, "data", "',' or ']'");
}

static int read_series(struct series *s, struct orr_error *err)
{
	struct sbuf all = { 0 };
	char *text;
	size_t n;
	int rc;
	while ((rc = lines_next(s->in, &text, &n, err)) == 1) {
		sbuf_add(&all, text, n);
		sbuf_putc(&all, '\n');
	}
	struct scan c = { .name = lines_name(s->in), .s = sbuf_text(&all), .line = 1, .err = err };
	c.end = c.s + all.len;
	if (!rc)
		rc = read_object(&c, series_member, s);
	skip_blanks(&c);
	if (!rc && c.s != c.end)
		rc = refuse(&c, NULL, "the end of the file");
	else if (!rc && (!s->has_data || !(s->gap_s > 0)))
		rc = refuse(&c, NULL, "\"data\" and \"metadata\" with \"gap_seconds\" in the object");
	if (!rc && (double)s->n * s->gap_s > TRACE_MAX_SECONDS)
		rc = refuse(&c, "data", "ticks that last at most 4e9 s together");
	sbuf_free(&all);
	return rc;
}

static int next_tick(void *state, struct avail_row *row, struct orr_error *err)
{
	struct series *s = state;
	if (!s->is_read && read_series(s, err))
		return -1;
	s->is_read = true;
	if (s->next > s->n)
		return 0;
	row->t_ns = (int64_t)llround((double)s->next * s->gap_s * 1e9);
	if (s->next == s->n) {
		row->what = AVAIL_ROW_END;
		s->next++;
		return 1;
	}
	const struct tick *tick = &s->tick[s->next++];
	row->what = AVAIL_ROW_COUNT;
	row->count = tick->count;
	row->line = tick->line;
	if (tick->count >= 0)
		return 1;
	row->is_bad = true;
	orr_fail(err, ORR_EINPUT, "%.300s:%" PRIu64 ": data[%zu]: expected a whole number from 0 to 100000", lines_name(s->in), tick->line,
		s->next - 1);
	return -1;
}

static void close_series(void *state)
{
	struct series *s = state;
	mem_free(s->tick);
	mem_free(s);
}

static const struct orr_param series_params[] = { AVAIL_PARAMS, AVAIL_COUNT_PARAMS, ORR_PARAM_END };

const struct trace_format format_skypilot = {
	.kind = TRACE_AVAIL,
	.name = "skypilot",
	.doc = "SkyPilot's counts per tick of a zone: {\"metadata\": {\"gap_seconds\": g}, \"data\": [n, ..]}",
	.params = series_params,
	.sniff = sniff_series,
	.open = open_series,
	.avail = next_tick,
	.close = close_series,
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* avail_rows.c - sorts, checks or repairs the rows of a file of availability, and turns counts into events */
#include "traces/avail_format.h"

#include "base/rng.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct raw {
	struct avail_rec rec;
	int64_t count;
	enum avail_what what;
	size_t order;
};

enum pick { OLDEST, NEWEST, RANDOM };
/* States of a name; other values are the number of its instance. */
#define NEVER_THERE UINT32_MAX
#define IS_GONE (UINT32_MAX - 1)

struct reader {
	struct trace *t;
	struct strtab *strings;
	const char *prefix;
	uint32_t zone, type; /* zone and type of rows that name none */
	bool sorts, drops;
	struct avail_events *e;
	struct raw *raw;
	size_t n, cap;
	struct sbuf name;
	/* State of named instances, by number of the name. */
	uint32_t *state;
	size_t n_names;
	/* Counts: present instances, from index `first` on. */
	uint32_t *there;
	size_t first, n_there, cap_there;
	enum pick pick;
	struct rng rng;
};

const char *avail_repair_name(enum avail_repair what)
{
	static const char *const names[AVAIL_REPAIRS] = { "rows out of order, sorted", "rows of unknown events, skipped",
		"rows of invalid values, skipped", "additions of present instances, skipped", "second removals, skipped",
		"removals without addition, skipped" };
	return names[what];
}

static int fail_at(const struct reader *r, uint64_t line, struct orr_error *err, const char *what)
{
	return orr_fail(err, ORR_EINPUT, "%s:%" PRIu64 ": %s", trace_name(r->t), line, what);
}

static void note(struct reader *r, enum avail_repair what, uint64_t line)
{
	if (!r->e->repairs.rows[what]++)
		r->e->repairs.first_line[what] = line;
}

/* ---- reading ---- */

static uint32_t text_of(struct reader *r, const char *text, uint32_t otherwise)
{
	return text && *text ? strtab_add_z(r->strings, text) : otherwise;
}

static uint32_t node_of(struct reader *r, const char *node)
{
	if (!node || !*node || !r->prefix)
		return strtab_add_z(r->strings, node);
	sbuf_clear(&r->name);
	sbuf_printf(&r->name, "%s/%s", r->prefix, node);
	return strtab_add_z(r->strings, r->name.text);
}

static void keep(struct reader *r, const struct avail_row *row)
{
	MEM_GROW(r->raw, r->n, r->cap);
	r->raw[r->n] = (struct raw){ .what = row->what, .count = row->count, .order = r->n };
	r->raw[r->n++].rec = (struct avail_rec){ .t_ns = row->t_ns,
		.usd_per_hour = row->usd_per_hour,
		.line = row->line,
		.kind = row->what == AVAIL_ROW_REMOVE  ? AVAIL_REMOVE
			: row->what == AVAIL_ROW_PRICE ? AVAIL_PRICE
						       : AVAIL_ADD,
		.node = node_of(r, row->node),
		.zone = text_of(r, row->zone, r->zone),
		.type = text_of(r, row->type, r->type),
		.instance = AVAIL_NO_INSTANCE };
}

static int read_all(struct reader *r, struct orr_error *err)
{
	struct avail_row row;
	int rc;
	while ((rc = trace_next_avail(r->t, &row, err)) != 0) {
		if (rc < 0 && !(r->drops && row.is_bad))
			return ORR_EINPUT;
		if (rc < 0) {
			note(r, row.is_bad_event ? AVAIL_BAD_EVENT : AVAIL_BAD_VALUE, row.line);
			continue;
		}
		if (row.t_ns > r->e->end_ns)
			r->e->end_ns = row.t_ns;
		if (row.what != AVAIL_ROW_END)
			keep(r, &row);
	}
	if (err)
		*err = (struct orr_error){ 0 }; /* clears the error, because the row is skipped */
	return ORR_OK;
}

/* ---- order ---- */

static int by_time(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;
	if (x->rec.t_ns != y->rec.t_ns)
		return x->rec.t_ns < y->rec.t_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Polls within one second have no order, so they are sorted by count, like the command sort does. */
static int by_time_and_count(const void *a, const void *b)
{
	const struct raw *x = a, *y = b;
	if (x->rec.t_ns != y->rec.t_ns || x->count == y->count)
		return by_time(a, b);
	return x->count < y->count ? -1 : 1;
}

static int not_in_order(const struct reader *r, size_t first, uint64_t rows, struct orr_error *err)
{
	const struct avail_rec *above = &r->raw[first - 1].rec, *row = &r->raw[first].rec;
	bool overlaps = row->t_ns >= r->raw[0].rec.t_ns;
	char gap[NUM_REAL_MAX];
	num_put_real(gap, (double)(above->t_ns - row->t_ns) / 1e9);
	return orr_fail(err, ORR_EINPUT,
		"%s:%" PRIu64 ": time: expected at least the time of the row above, found a time that is %s s less (%" PRIu64
		" such row%s%s); repair=sort sorts the rows",
		trace_name(r->t), row->line, gap, rows, rows == 1 ? "" : "s",
		!overlaps                               ? ""
		: r->raw[first].what == AVAIL_ROW_COUNT ? "; sections of the file overlap in time: interleaved pollers"
							: "; sections of the file overlap in time");
}

static int put_in_order(struct reader *r, struct orr_error *err)
{
	uint64_t back = 0;
	size_t first = 0;
	for (size_t i = 1; i < r->n; i++) {
		if (r->raw[i].rec.t_ns >= r->raw[i - 1].rec.t_ns)
			continue;
		if (!back++)
			first = i;
		if (r->sorts)
			note(r, AVAIL_WAS_UNSORTED, r->raw[i].rec.line);
	}
	if (back && !r->sorts)
		return not_in_order(r, first, back, err);
	if (back)
		qsort(r->raw, r->n, sizeof *r->raw, trace_is_absolute(r->t) ? by_time_and_count : by_time);
	return ORR_OK;
}

/* ---- events ---- */

static int put(struct reader *r, const struct avail_rec *rec, struct orr_error *err)
{
	struct avail_events *e = r->e;
	if (e->n == AVAIL_MAX_EVENTS)
		return fail_at(r, rec->line, err, "too many rows: expected at most 4000000 additions and removals");
	MEM_GROW(e->row, e->n, e->cap);
	e->row[e->n++] = *rec;
	return ORR_OK;
}

static int impossible(struct reader *r, enum avail_repair what, const struct avail_rec *rec, struct orr_error *err)
{
	static const char *const text[AVAIL_REPAIRS] = { [AVAIL_ADDED_TWICE] = "added while present",
		[AVAIL_REMOVED_TWICE] = "removed twice",
		[AVAIL_REMOVED_UNKNOWN] = "removed before it was added" };
	if (r->drops) {
		note(r, what, rec->line);
		return ORR_OK;
	}
	return orr_fail(err, ORR_EINPUT, "%s:%" PRIu64 ": node \"%.60s\" is %s: expected repair=drop, which skips such rows",
		trace_name(r->t), rec->line, strtab_text(r->strings, rec->node), text[what]);
}

static uint32_t *state_of(struct reader *r, uint32_t name)
{
	size_t n = strtab_count(r->strings);
	if (name >= r->n_names) {
		r->state = mem_realloc(r->state, n, sizeof *r->state);
		while (r->n_names < n)
			r->state[r->n_names++] = NEVER_THERE;
	}
	return &r->state[name];
}

static int put_named(struct reader *r, struct avail_rec *rec, struct orr_error *err)
{
	uint32_t *state = state_of(r, rec->node);
	bool is_there = *state < IS_GONE;
	if (rec->kind == AVAIL_ADD && is_there)
		return impossible(r, AVAIL_ADDED_TWICE, rec, err);
	if (rec->kind == AVAIL_REMOVE && !is_there)
		return impossible(r, *state == IS_GONE ? AVAIL_REMOVED_TWICE : AVAIL_REMOVED_UNKNOWN, rec, err);
	if (rec->kind == AVAIL_ADD) {
		rec->instance = *state = r->e->instances++;
	} else {
		rec->instance = *state;
		*state = IS_GONE;
	}
	return put(r, rec, err);
}

static uint32_t take(struct reader *r)
{
	if (r->pick == OLDEST)
		return r->there[r->first++];
	if (r->pick == NEWEST)
		return r->there[--r->n_there];
	/* The list is then no longer sorted by age; a random choice needs no such order. */
	size_t at = r->first + (size_t)rng_below(&r->rng, r->n_there - r->first);
	uint32_t out = r->there[at];
	r->there[at] = r->there[--r->n_there];
	return out;
}

static int put_count(struct reader *r, const struct raw *raw, struct orr_error *err)
{
	struct avail_rec rec = raw->rec;
	int rc = ORR_OK;
	while (!rc && (int64_t)(r->n_there - r->first) < raw->count) {
		MEM_GROW(r->there, r->n_there, r->cap_there);
		rec.kind = AVAIL_ADD;
		rec.instance = r->there[r->n_there++] = r->e->instances++;
		rc = put(r, &rec, err);
	}
	while (!rc && (int64_t)(r->n_there - r->first) > raw->count) {
		rec.kind = AVAIL_REMOVE;
		rec.instance = take(r);
		rc = put(r, &rec, err);
	}
	return rc;
}

static int make_events(struct reader *r, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < r->n; i++) {
		struct raw *raw = &r->raw[i];
		if (raw->what == AVAIL_ROW_COUNT) {
			rc = put_count(r, raw, err);
		} else if (raw->what == AVAIL_ROW_PRICE) {
			r->e->has_prices = true;
			rc = put(r, &raw->rec, err);
		} else {
			rc = put_named(r, &raw->rec, err);
		}
	}
	return rc;
}

static void setup(struct reader *r, const struct orr_args *args, const char *zone)
{
	const char *repair = orr_arg_text(args, "repair"), *pick = orr_arg_text(args, "pick");
	r->sorts = !strcmp(repair, "sort") || !strcmp(repair, "all");
	r->drops = !strcmp(repair, "drop") || !strcmp(repair, "all");
	r->pick = !strcmp(pick, "newest") ? NEWEST : !strcmp(pick, "random") ? RANDOM : OLDEST;
	rng_init(&r->rng, (uint64_t)orr_arg_int(args, "seed"), "avail pick", 0);
	r->zone = strtab_add_z(r->strings, *orr_arg_text(args, "zone") ? orr_arg_text(args, "zone") : zone);
	r->type = strtab_add_z(r->strings, orr_arg_text(args, "type"));
}

int avail_read(struct trace *t, struct strtab *strings, const char *prefix, const char *zone, struct avail_events *e, struct orr_error *err)
{
	struct reader r = { .t = t, .strings = strings, .prefix = prefix, .e = e };
	setup(&r, trace_args(t), zone);
	e->end_ns = INT64_MIN;
	int rc = read_all(&r, err);
	if (!rc)
		rc = put_in_order(&r, err);
	if (!rc)
		rc = make_events(&r, err);
	e->is_absolute = trace_is_absolute(t);
	mem_free(r.raw);
	mem_free(r.state);
	mem_free(r.there);
	sbuf_free(&r.name);
	return rc;
}

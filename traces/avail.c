/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/avail.h"

#include "traces/avail_format.h"
#include "traces/generator.h"
#include "traces/rowset.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHIFTS = 4, MAX_FILES = 256 };

struct availset {
	struct rowset rows; /* lists the zones */
	bool has_prices;
	int64_t end_ns;
	struct avail_repairs repairs;
	int64_t length_ns;                    /* length on the clock of the generator */
	struct avail_shift shift[MAX_SHIFTS]; /* transforms of the rows of a generator */
	int n_shifts;
};

struct availcursor {
	const struct availset *set;
	uint64_t next;
	void *state;
	bool has_ended, is_shifted[MAX_SHIFTS]; /* the shifter has received the end of the set */
	struct avail_shifter *shifter[MAX_SHIFTS];
	uint64_t n_out;
	uint32_t live;
};

ROWSET_ACCESSORS(availset, avail_rec)

static struct availset *availset_new(const char *source)
{
	struct availset *s = mem_zalloc(1, sizeof *s);
	rowset_init(&s->rows, sizeof(struct avail_rec), source);
	s->end_ns = ORR_NEVER;
	return s;
}

void availset_free(struct availset *s)
{
	if (!s)
		return;
	rowset_clear(&s->rows);
	mem_free(s);
}

/* ---- files ---- */

struct parts {
	struct avail_events *part;
	size_t n;
};

static void parts_free(struct parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		mem_free(p->part[i].row);
	mem_free(p->part);
}

static void add_repairs(struct avail_repairs *to, const struct avail_repairs *from)
{
	for (int i = 0; i < AVAIL_REPAIRS; i++) {
		to->rows[i] += from->rows[i];
		to->first_line[i] = to->first_line[i] ? to->first_line[i] : from->first_line[i];
	}
}

/* Joins the rows of all files, sorted by time; wall-clock times are relative to the first row. */
static uint32_t join(struct availset *s, const struct parts *p)
{
	int64_t zero = INT64_MAX;
	uint32_t instances = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct avail_events *e = &p->part[i];
		s->rows.count += e->n;
		if (e->is_absolute && e->n && e->row[0].t_ns < zero)
			zero = e->row[0].t_ns;
	}
	struct avail_rec *row = s->rows.row = mem_alloc((s->rows.count + 1) * sizeof *row);
	s->end_ns = 0;
	uint64_t n = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct avail_events *e = &p->part[i];
		int64_t from = e->is_absolute && zero < INT64_MAX ? zero : 0;
		for (size_t k = 0; k < e->n; k++) {
			struct avail_rec *r = &row[n];
			*r = e->row[k];
			r->t_ns -= from;
			r->instance += r->kind == AVAIL_PRICE ? 0 : instances;
			r->number = n++;
		}
		instances += e->instances;
		if (e->end_ns != INT64_MIN && !(e->is_absolute && zero == INT64_MAX) && e->end_ns - from > s->end_ns)
			s->end_ns = e->end_ns - from;
		s->has_prices = s->has_prices || e->has_prices;
		add_repairs(&s->repairs, &e->repairs);
	}
	if (p->n > 1)
		qsort(row, s->rows.count, sizeof *row, row_key_compare);
	return instances;
}

static void number_rows(struct availset *s, uint32_t instances)
{
	struct avail_rec *row = s->rows.row;
	uint32_t *number = mem_alloc(((size_t)instances + 1) * sizeof *number), n = 0, live = 0;
	for (uint64_t i = 0; i < s->rows.count; i++) {
		struct avail_rec *r = &row[i];
		if (r->kind == AVAIL_ADD)
			number[r->instance] = n++;
		if (r->kind != AVAIL_PRICE)
			r->instance = number[r->instance];
		live += r->kind == AVAIL_ADD ? 1 : r->kind == AVAIL_REMOVE ? -1u : 0;
		r->live = live;
		r->number = i;
		rowset_list_number(&s->rows, r->zone);
	}
	mem_free(number);
}

static int finish(struct availset *s, struct parts *p, const struct orr_args *args, struct orr_error *err)
{
	uint64_t instances = 0;
	for (size_t i = 0; i < p->n; i++)
		instances += p->part[i].n;
	if (instances > AVAIL_MAX_EVENTS)
		return orr_fail(
			err, ORR_EINPUT, "%s: too many rows: expected at most %d additions and removals", s->rows.source, AVAIL_MAX_EVENTS);
	number_rows(s, join(s, p));
	s->rows.is_loaded = true;
	struct avail_shift shift = avail_shift_of(args);
	return availset_shift(s, &shift, err);
}

struct availset *availset_read(struct trace *t, const char *source, struct orr_error *err)
{
	struct availset *s = availset_new(source);
	struct avail_events e = { 0 };
	struct parts p = { &e, 1 };
	s->rows.format = trace_format(t);
	int rc = avail_read(t, s->rows.strings, NULL, NULL, &e, err);
	if (!rc) {
		memcpy(s->rows.hash, trace_hash(t), sizeof s->rows.hash);
		rc = finish(s, &p, trace_args(t), err);
	}
	mem_free(e.row);
	if (!rc)
		return s;
	availset_free(s);
	return NULL;
}

struct availset *availset_from(struct trace *t, const char *source, struct orr_error *err)
{
	struct availset *s = availset_read(t, source, err);
	trace_close(t);
	return s;
}

/* ---- several files ---- */

/* Parses "ZONE=FILE", or a file named after its zone. */
static char *zone_and_file(const char *text, size_t n, char **file)
{
	const char *equals = memchr(text, '=', n);
	if (equals) {
		*file = mem_strndup(equals + 1, n - (size_t)(equals + 1 - text));
		return mem_strndup(text, (size_t)(equals - text));
	}
	*file = mem_strndup(text, n);
	const char *slash = strrchr(*file, '/'), *base = slash ? slash + 1 : *file;
	return mem_strndup(base, strcspn(base, "."));
}

static int read_zone(struct availset *s, struct parts *p, const char *text, size_t n, const char *format, const char *const *options,
	struct sbuf *hashes, struct trace **last, struct orr_error *err)
{
	char *file, *zone = zone_and_file(text, n, &file);
	struct trace *t = NULL;
	int rc = ORR_OK;
	if (!*file || !*zone)
		rc = orr_fail(err, ORR_EINPUT, "%.200s: expected zones:ZONE=FILE,ZONE=FILE,.., found \"%.*s\"", s->rows.source,
			(int)(n < 60 ? n : 60), text);
	else if (p->n == MAX_FILES)
		rc = orr_fail(err, ORR_EINPUT, "%.200s: too many files: expected at most %d", s->rows.source, MAX_FILES);
	else if (!(t = trace_open(file, format, options, err)))
		rc = ORR_EINPUT;
	if (!rc) {
		p->part[p->n] = (struct avail_events){ 0 };
		rc = avail_read(t, s->rows.strings, zone, zone, &p->part[p->n++], err);
		sbuf_printf(hashes, "%s %s\n", zone, trace_hash(t));
		s->rows.format = trace_format(t);
	}
	trace_close(*last);
	*last = t;
	mem_free(zone);
	mem_free(file);
	return rc;
}

static struct availset *load_zones(const char *source, const char *format, const char *const *options, struct orr_error *err)
{
	struct availset *s = availset_new(source);
	struct parts p = { mem_zalloc(MAX_FILES, sizeof *p.part), 0 };
	struct sbuf hashes = { 0 };
	struct trace *last = NULL;
	int rc = ORR_OK;
	const char *at = strchr(source, ':') + 1;
	do {
		size_t n = strcspn(at, ",");
		rc = read_zone(s, &p, at, n, format, options, &hashes, &last, err);
		at += n + (at[n] == ',' && at[n + 1]);
	} while (!rc && *at && *at != ',');
	if (!rc) {
		bytes_hash_text(sbuf_text(&hashes), hashes.len, s->rows.hash);
		rc = finish(s, &p, trace_args(last), err);
	}
	trace_close(last);
	sbuf_free(&hashes);
	parts_free(&p);
	if (!rc)
		return s;
	availset_free(s);
	return NULL;
}

/* ---- generators ---- */

static struct availset *load_generator(const struct generator *g, const char *source, uint64_t seed, struct orr_error *err)
{
	struct orr_args *args = generator_args(g, source, err);
	if (!args)
		return NULL;
	struct availset *s = availset_new(source);
	s->has_prices = g->makes_prices;
	struct avail_shift shift = avail_shift_of(args);
	int64_t length = orr_arg_time_ns(args, "length");
	s->end_ns = s->length_ns = length ? length : ORR_NEVER;
	if (rowset_generate(&s->rows, g, args, seed, err) || availset_shift(s, &shift, err)) {
		availset_free(s);
		return NULL;
	}
	return s;
}

struct availset *availset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err)
{
	const struct generator *g;
	if (generator_choose(TRACE_AVAIL, source, format, options, &g, err))
		return NULL;
	if (g)
		return load_generator(g, source, seed, err);
	if (!strncmp(source, "zones:", 6))
		return load_zones(source, format, options, err);
	struct trace *t = trace_open(source, format, options, err);
	return t ? availset_from(t, source, err) : NULL;
}

/* ---- shifting ---- */

static void shift_rows(struct availset *s, const struct avail_shift *shift)
{
	struct avail_shifter *x = avail_shifter_new(shift, s->rows.strings);
	const struct avail_rec *row = s->rows.row;
	struct avail_rec *out = NULL, r;
	size_t n = 0, cap = 0;
	for (uint64_t i = 0; i < s->rows.count; i++)
		avail_shifter_put(x, &row[i]);
	avail_shifter_end(x, row, s->rows.count, s->end_ns);
	while (avail_shifter_get(x, &r)) {
		MEM_GROW(out, n, cap);
		out[n++] = r;
	}
	avail_shifter_free(x);
	mem_free(s->rows.row);
	s->rows.row = out;
	s->rows.count = n;
}

int availset_shift(struct availset *s, const struct avail_shift *shift, struct orr_error *err)
{
	if (avail_shift_is_none(shift))
		return ORR_OK;
	if (shift->wraps && !s->rows.is_loaded)
		return orr_fail(
			err, ORR_EINPUT, "%s: wrap: expected this option only for a file, because a generator has no end", s->rows.source);
	if (s->rows.is_loaded && shift->start_ns > s->end_ns)
		return orr_fail(
			err, ORR_EINPUT, "%s: start: expected a time up to the end at %.9g s", s->rows.source, (double)s->end_ns / 1e9);
	if (s->rows.is_loaded && (double)s->rows.count * shift->scale > AVAIL_MAX_EVENTS)
		return orr_fail(err, ORR_EINPUT, "%s: scale: expected at most %d additions and removals", s->rows.source, AVAIL_MAX_EVENTS);
	if (s->rows.is_loaded) {
		shift_rows(s, shift);
	} else {
		if (s->n_shifts == MAX_SHIFTS)
			return orr_fail(err, ORR_EINPUT, "%s: too many shifts: expected at most %d", s->rows.source, MAX_SHIFTS);
		s->shift[s->n_shifts++] = *shift;
	}
	s->end_ns = avail_shift_end(shift, s->end_ns);
	return ORR_OK;
}

/* ---- properties ---- */

bool availset_has_end(const struct availset *s)
{
	return s->end_ns != ORR_NEVER;
}

int64_t availset_end_ns(const struct availset *s)
{
	return s->end_ns;
}

const struct avail_repairs *availset_repairs(const struct availset *s)
{
	return &s->repairs;
}

bool availset_has_prices(const struct availset *s)
{
	return s->has_prices;
}

const uint32_t *availset_zones(const struct availset *s, uint32_t *n)
{
	*n = s->rows.n_listed;
	return s->rows.listed;
}

const char *availset_name(const struct availset *s, const struct avail_rec *r, char buf[AVAIL_NAME_MAX])
{
	if (r->node)
		return strtab_text(s->rows.strings, r->node);
	snprintf(buf, AVAIL_NAME_MAX, "node%" PRIu64, (uint64_t)r->instance + 1);
	return buf;
}

/* ---- reading ---- */

struct availcursor *availset_open(const struct availset *s, uint64_t seed_shift)
{
	struct availcursor *c = mem_zalloc(1, sizeof *c);
	c->set = s;
	for (int i = 0; i < s->n_shifts; i++)
		c->shifter[i] = avail_shifter_new(&s->shift[i], NULL);
	c->state = rowset_start(&s->rows, seed_shift);
	return c;
}

static bool draw(struct availcursor *c, struct avail_rec *out)
{
	const struct availset *s = c->set;
	*out = (struct avail_rec){ .usd_per_hour = -1, .instance = AVAIL_NO_INSTANCE };
	if (c->has_ended || !s->rows.generator->next_avail(c->state, out) || out->t_ns >= s->length_ns) {
		c->has_ended = true;
		return false;
	}
	c->live += out->kind == AVAIL_ADD ? 1 : out->kind == AVAIL_REMOVE ? -1u : 0;
	out->live = c->live;
	out->number = c->n_out++;
	return true;
}

/* Returns the next row after the first n shifters. */
static bool pull(struct availcursor *c, int n, struct avail_rec *out)
{
	if (!n)
		return draw(c, out);
	struct avail_shifter *s = c->shifter[n - 1];
	while (!avail_shifter_get(s, out)) {
		if (pull(c, n - 1, out)) {
			avail_shifter_put(s, out);
			continue;
		}
		if (c->is_shifted[n - 1])
			return false;
		c->is_shifted[n - 1] = true;
		avail_shifter_end(s, NULL, 0, 0);
	}
	return true;
}

bool availcursor_next(struct availcursor *c, struct avail_rec *out)
{
	const struct availset *s = c->set;
	if (!s->rows.is_loaded)
		return pull(c, s->n_shifts, out);
	if (c->next >= s->rows.count)
		return false;
	*out = ((const struct avail_rec *)s->rows.row)[c->next++];
	return true;
}

void availcursor_close(struct availcursor *c)
{
	if (!c)
		return;
	rowset_stop(&c->set->rows, c->state);
	for (int i = 0; i < MAX_SHIFTS; i++)
		avail_shifter_free(c->shifter[i]);
	mem_free(c);
}

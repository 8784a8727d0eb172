/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/requests.h"

#include "traces/generator.h"
#include "traces/req_format.h"
#include "traces/resample.h"
#include "traces/rowset.h"

#include "base/mem.h"
#include "base/param.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ARENA = 1 << 16 }; /* hashes per chunk */
#define MAX_ROWS UINT64_C(1000000000)
#define MAX_ARRIVAL_NS INT64_C(4000000000000000000)

struct hashes {
	struct hashes *next;
	size_t used, cap;
	uint64_t value[];
};

struct reqset {
	struct rowset rows;
	struct hashes *hashes;
	uint32_t block_tokens;
	double factor; /* divisor of generated arrival times */
	struct resample resample;
	uint64_t most_session;
};

struct reqcursor {
	const struct reqset *set;
	uint64_t next;
	struct resample_cursor drawn;
	void *state;
};

ROWSET_ACCESSORS(reqset, request_rec)

static struct reqset *reqset_new(const char *source)
{
	struct reqset *s = mem_zalloc(1, sizeof *s);
	rowset_init(&s->rows, sizeof(struct request_rec), source);
	s->factor = 1;
	return s;
}

void reqset_free(struct reqset *s)
{
	if (!s)
		return;
	while (s->hashes) {
		struct hashes *next = s->hashes->next;
		mem_free(s->hashes);
		s->hashes = next;
	}
	rowset_clear(&s->rows);
	resample_free(&s->resample);
	mem_free(s);
}

/* ---- files ---- */

/* Copies hashes to memory that does not move. */
static const uint64_t *keep(struct reqset *s, const uint64_t *block, size_t n)
{
	if (!n)
		return NULL;
	if (!s->hashes || s->hashes->cap - s->hashes->used < n) {
		size_t cap = n > ARENA ? n : ARENA;
		struct hashes *h = mem_alloc(sizeof *h + cap * sizeof *h->value);
		h->next = s->hashes;
		h->used = 0;
		h->cap = cap;
		s->hashes = h;
	}
	uint64_t *to = s->hashes->value + s->hashes->used;
	memcpy(to, block, n * sizeof *block);
	s->hashes->used += n;
	return to;
}

static struct request_rec compact(struct reqset *s, const struct req_row *row)
{
	return (struct request_rec){
		.arrival_ns = row->arrival_ns,
		.slo_ns = row->slo_ns,
		.session = row->session,
		.model = row->model ? strtab_add_z(s->rows.strings, row->model) : 0,
		.id = strtab_add_z(s->rows.strings, row->id),
		.samples = row->samples,
		.prompt_tokens = row->prompt_tokens,
		.output_tokens = row->output_tokens,
		.max_output = row->max_output,
		.priority = row->priority,
		.n_blocks = row->n_blocks,
		.block = keep(s, row->block, row->n_blocks),
	};
}

/*
 * Repeats the rows `times` times, end to end. Copies are one mean gap apart, which preserves the rate. Requests lose their ids,
 * each copy gets separate sessions, and prompt hashes stay the same.
 */
static int repeat(struct reqset *s, uint64_t times, struct orr_error *err)
{
	struct request_rec *row = s->rows.row;
	uint64_t n = s->rows.count, most_session = 0;
	if (times == 1 || !n)
		return ORR_OK;
	if (n == 1)
		return orr_fail(err, ORR_EINPUT, "%s: repeat: expected at least 2 requests, found 1", s->rows.source);
	int64_t span = row[n - 1].arrival_ns - row[0].arrival_ns;
	int64_t period = span + span / (int64_t)(n - 1);
	if (n > MAX_ROWS / times || (uint64_t)period > (uint64_t)MAX_ARRIVAL_NS / times)
		return orr_fail(err, ORR_EINPUT, "%s: repeat=%" PRIu64 ": expected at most %" PRIu64 " requests and 127 years in total",
			s->rows.source, times, MAX_ROWS);
	for (uint64_t i = 0; i < n; i++) {
		row[i].id = 0;
		most_session = row[i].session > most_session ? row[i].session : most_session;
	}
	s->rows.row = row = mem_realloc(row, n * times, sizeof *row);
	for (uint64_t i = n; i < n * times; i++) {
		struct request_rec *r = &row[i];
		*r = row[i - n];
		r->number = i;
		r->arrival_ns += period;
		r->session += r->session ? most_session : 0;
	}
	s->rows.count = n * times;
	return ORR_OK;
}

static int load_rows(struct reqset *s, struct trace *t, struct orr_error *err)
{
	struct req_row row;
	int rc;
	while ((rc = trace_next_request(t, &row, err)) == 1) {
		struct request_rec *r = rowset_add(&s->rows);
		*r = compact(s, &row);
		r->line = trace_line(t);
	}
	if (rc < 0)
		return ORR_EINPUT;
	rowset_loaded(&s->rows, t);
	s->block_tokens = trace_block_tokens(t);
	rowset_sort(&s->rows, trace_is_absolute(t));
	trace_arrange(t, s->rows.row, s->rows.count);
	const struct orr_args *args = trace_args(t);
	uint64_t first = (uint64_t)orr_arg_int(args, "first");
	if (first && first < s->rows.count)
		s->rows.count = first;
	rc = repeat(s, (uint64_t)orr_arg_int(args, "repeat"), err);
	reqset_compress(s, orr_arg_real(args, "compress"));
	return rc;
}

struct reqset *reqset_read(struct trace *t, const char *source, struct orr_error *err)
{
	struct reqset *s = reqset_new(source);
	if (!load_rows(s, t, err))
		return s;
	reqset_free(s);
	return NULL;
}

struct reqset *reqset_from(struct trace *t, const char *source, struct orr_error *err)
{
	struct reqset *s = reqset_read(t, source, err);
	trace_close(t);
	return s;
}

/* ---- generators ---- */

static struct reqset *load_generator(const struct generator *g, const char *source, uint64_t seed, struct orr_error *err)
{
	struct orr_args *args = generator_args(g, source, err);
	if (!args)
		return NULL;
	struct reqset *s = reqset_new(source);
	if (rowset_generate(&s->rows, g, args, seed, err)) {
		reqset_free(s);
		return NULL;
	}
	uint64_t n = (uint64_t)orr_arg_int(args, "n");
	s->rows.count = n ? n : UINT64_MAX;
	s->block_tokens = g->block_tokens ? g->block_tokens(s->rows.plan) : 0;
	return s;
}

struct reqset *reqset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err)
{
	const struct generator *g;
	if (generator_choose(TRACE_REQUESTS, source, format, options, &g, err))
		return NULL;
	if (g)
		return load_generator(g, source, seed, err);
	struct trace *t = trace_open(source, format, options, err);
	return t ? reqset_from(t, source, err) : NULL;
}

/* ---- properties ---- */

static int64_t scaled(int64_t ns, double factor)
{
	return (int64_t)fminl(rintl((long double)ns / factor), (long double)MAX_ARRIVAL_NS);
}

void reqset_compress(struct reqset *s, double factor)
{
	if (!(factor > 0) || !(factor < INFINITY))
		return;
	s->factor *= factor;
	struct request_rec *row = s->rows.row;
	if (factor < 1 || factor > 1)
		for (uint64_t i = 0; s->rows.is_loaded && i < s->rows.count; i++)
			row[i].arrival_ns = scaled(row[i].arrival_ns, factor);
}

uint64_t reqset_left_out(const struct reqset *s)
{
	return s->rows.left_out;
}

uint64_t reqset_repaired(const struct reqset *s, const char **first)
{
	*first = s->rows.first_wrong ? s->rows.first_wrong : "";
	return s->rows.repaired;
}

uint32_t reqset_block_tokens(const struct reqset *s)
{
	return s->block_tokens;
}

/* ---- reading ---- */

struct reqcursor *reqset_open(const struct reqset *s, uint64_t seed_shift)
{
	struct reqcursor *c = mem_zalloc(1, sizeof *c);
	c->set = s;
	c->state = rowset_start(&s->rows, seed_shift);
	resample_open(&c->drawn, &s->resample, seed_shift);
	return c;
}

int reqset_resample(struct reqset *s, int64_t block_ns, uint64_t seed, struct orr_error *err)
{
	const struct request_rec *row = s->rows.row;
	for (uint64_t i = 0; s->rows.is_loaded && i < s->rows.count; i++)
		s->most_session = row[i].session > s->most_session ? row[i].session : s->most_session;
	return resample_rows(&s->resample, &s->rows, block_ns, seed, err);
}

uint64_t reqset_blocks(const struct reqset *s)
{
	return s->resample.n_blocks;
}

/* A drawn row gets a new number, which is its id, and each drawn block has separate sessions. */
static bool next_drawn(struct reqcursor *c, struct request_rec *out)
{
	const struct reqset *s = c->set;
	uint64_t row = resample_next(&c->drawn);
	if (row == UINT64_MAX)
		return false;
	*out = ((const struct request_rec *)s->rows.row)[row];
	out->arrival_ns += c->drawn.shift_ns;
	out->number = c->next++;
	out->id = 0;
	if (out->session)
		out->session += (c->drawn.drawn - 1) * s->most_session;
	return true;
}

bool reqcursor_next(struct reqcursor *c, struct request_rec *out)
{
	const struct reqset *s = c->set;
	if (s->resample.block_ns)
		return next_drawn(c, out);
	if (c->next >= s->rows.count)
		return false;
	if (s->rows.is_loaded) {
		*out = ((const struct request_rec *)s->rows.row)[c->next++];
		return true;
	}
	*out = (struct request_rec){ .number = c->next, .slo_ns = -1, .samples = 1 };
	if (!s->rows.generator->next_request(c->state, out))
		return false;
	c->next++;
	if (s->factor < 1 || s->factor > 1)
		out->arrival_ns = scaled(out->arrival_ns, s->factor);
	return true;
}

void reqcursor_close(struct reqcursor *c)
{
	if (!c)
		return;
	rowset_stop(&c->set->rows, c->state);
	mem_free(c);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/requests.h"

#include "traces/req_format.h"
#include "traces/req_generator.h"
#include "traces/trace.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA = 1 << 16 }; /* hashes a piece */
#define MAX_ROWS UINT64_C(1000000000)
#define MAX_ARRIVAL_NS INT64_C(4000000000000000000)

struct hashes {
	struct hashes *next;
	size_t used, cap;
	uint64_t value[];
};

struct reqset {
	char *source;
	const char *format;
	struct strtab *strings;
	char hash[BYTES_HASH_SIZE];
	uint64_t count, left_out;
	struct request_rec *row; /* NULL: generated */
	bool is_loaded;
	struct hashes *hashes;
	uint32_t block_tokens;
	uint32_t *model, n_models, cap_models;
	bool *is_model; /* by number of a text; n_known of them */
	uint32_t n_known;
	const struct req_generator *generator;
	struct orr_args *args;
	void *plan;
	uint64_t seed;
	double factor; /* of generated arrivals */
};

struct reqcursor {
	const struct reqset *set;
	uint64_t next;
	void *state;
};

static struct reqset *reqset_new(const char *source)
{
	struct reqset *s = mem_zalloc(1, sizeof *s);
	s->source = mem_strdup(source);
	s->strings = strtab_new();
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
	if (s->plan && s->generator->unplan)
		s->generator->unplan(s->plan);
	mem_free(s->plan);
	args_free(s->args);
	strtab_free(s->strings);
	mem_free(s->source);
	mem_free(s->row);
	mem_free(s->model);
	mem_free(s->is_model);
	mem_free(s);
}

/* ---- files ---- */

/* A copy of hashes that stays where it is. */
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

uint32_t reqset_add_model(struct reqset *s, const char *name, size_t n)
{
	uint32_t number = strtab_add(s->strings, name, n), was = s->n_known;
	if (number >= s->n_known) {
		s->n_known = number < 32 ? 64 : 2 * number;
		s->is_model = mem_realloc(s->is_model, s->n_known, sizeof *s->is_model);
		memset(s->is_model + was, 0, (s->n_known - was) * sizeof *s->is_model);
	}
	if (!number || s->is_model[number])
		return number;
	s->is_model[number] = true;
	MEM_GROW(s->model, s->n_models, s->cap_models);
	s->model[s->n_models++] = number;
	return number;
}

static struct request_rec compact(struct reqset *s, const struct req_row *row)
{
	return (struct request_rec){
		.arrival_ns = row->arrival_ns,
		.slo_ns = row->slo_ns,
		.session = row->session,
		.model = row->model ? reqset_add_model(s, row->model, strlen(row->model)) : 0,
		.id = strtab_add_z(s->strings, row->id),
		.samples = row->samples,
		.prompt_tokens = row->prompt_tokens,
		.output_tokens = row->output_tokens,
		.max_output = row->max_output,
		.priority = row->priority,
		.n_blocks = row->n_blocks,
		.block = keep(s, row->block, row->n_blocks),
	};
}

/* The file's order, which number still is, decides among equal times. */
static int by_arrival(const void *a, const void *b)
{
	const struct request_rec *x = a, *y = b;
	if (x->arrival_ns != y->arrival_ns)
		return x->arrival_ns < y->arrival_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_in_order(struct reqset *s, bool is_absolute)
{
	bool is_sorted = true;
	for (uint64_t i = 0; i < s->count; i++) {
		s->row[i].number = i;
		is_sorted = is_sorted && (!i || s->row[i - 1].arrival_ns <= s->row[i].arrival_ns);
	}
	if (!is_sorted)
		qsort(s->row, s->count, sizeof *s->row, by_arrival);
	int64_t zero = is_absolute && s->count ? s->row[0].arrival_ns : 0;
	for (uint64_t i = 0; i < s->count; i++) {
		s->row[i].arrival_ns -= zero;
		s->row[i].number = i;
	}
}

/*
 * The rows `times` times, end to end: a copy begins where the one before ends, and one mean gap later, so that the rate
 * stays. Requests are then named by their numbers; the sessions of a copy are its own; hashes of prompts are the same ones.
 */
static int repeat(struct reqset *s, uint64_t times, struct orr_error *err)
{
	uint64_t n = s->count, most_session = 0;
	if (times == 1 || !n)
		return ORR_OK;
	if (n == 1)
		return orr_fail(err, ORR_EINPUT, "%s: repeat: one request has no rate to go on with", s->source);
	int64_t span = s->row[n - 1].arrival_ns - s->row[0].arrival_ns;
	int64_t period = span + span / (int64_t)(n - 1);
	if (n > MAX_ROWS / times || (uint64_t)period > (uint64_t)MAX_ARRIVAL_NS / times)
		return orr_fail(err, ORR_EINPUT, "%s: repeat=%" PRIu64 " makes more than %" PRIu64 " requests, or 127 years", s->source,
			times, MAX_ROWS);
	for (uint64_t i = 0; i < n; i++) {
		s->row[i].id = 0;
		most_session = s->row[i].session > most_session ? s->row[i].session : most_session;
	}
	s->row = mem_realloc(s->row, n * times, sizeof *s->row);
	for (uint64_t i = n; i < n * times; i++) {
		struct request_rec *r = &s->row[i];
		*r = s->row[i - n];
		r->number = i;
		r->arrival_ns += period;
		r->session += r->session ? most_session : 0;
	}
	s->count = n * times;
	return ORR_OK;
}

static int load_rows(struct reqset *s, struct trace *t, struct orr_error *err)
{
	struct req_row row;
	size_t n = 0, cap = 1024;
	int rc;
	s->row = mem_alloc(cap * sizeof *s->row);
	while ((rc = trace_next_request(t, &row, err)) == 1) {
		MEM_GROW(s->row, n, cap);
		s->row[n] = compact(s, &row);
		s->row[n++].line = trace_line(t);
	}
	if (rc < 0)
		return ORR_EINPUT;
	s->count = n;
	s->is_loaded = true;
	s->format = trace_format(t);
	s->left_out = trace_left_out(t);
	s->block_tokens = trace_block_tokens(t);
	memcpy(s->hash, trace_hash(t), sizeof s->hash);
	put_in_order(s, trace_is_absolute(t));
	trace_arrange(t, s->row, s->count);
	const struct orr_args *args = trace_args(t);
	uint64_t first = (uint64_t)orr_arg_int(args, "first");
	if (first && first < s->count)
		s->count = first;
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

static void hash_generator(struct reqset *s)
{
	struct sbuf text = { 0 };
	sbuf_printf(&text, "requests %s\n", s->generator->name);
	for (size_t i = 0; s->generator->params[i].name; i++) {
		bool is_file = s->generator->params[i].kind == ORR_KIND_FILE; /* goes by its contents, not by its name */
		sbuf_printf(&text, "%s=%s\n", s->generator->params[i].name, is_file ? args_file_hash(s->args, i) : args_value(s->args, i));
	}
	sbuf_printf(&text, "seed=%" PRIu64 "\n", s->seed);
	bytes_hash_text(text.text, text.len, s->hash);
	sbuf_free(&text);
}

static struct reqset *load_generator(const struct req_generator *g, const char *source, uint64_t seed, struct orr_error *err)
{
	struct orr_args *args = req_generator_args(g, source, err);
	if (!args)
		return NULL;
	struct reqset *s = reqset_new(source);
	s->generator = g;
	s->format = g->name;
	s->args = args;
	s->seed = seed;
	s->plan = mem_zalloc(1, g->plan_size);
	if (g->make_plan(s->plan, args, s, err)) {
		reqset_free(s);
		return NULL;
	}
	uint64_t n = (uint64_t)orr_arg_int(args, "n");
	s->count = n ? n : UINT64_MAX;
	hash_generator(s);
	return s;
}

struct reqset *reqset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err)
{
	const struct req_generator *g = req_generator_find(source);
	/* A scenario that was shown names the generator as the format; any other format wants a file. */
	if (g && format && *format && strcmp(format, "auto") && strcmp(format, g->name) && strcmp(format, "requests"))
		g = NULL;
	if (g && options && *options) {
		orr_fail(err, ORR_EINPUT, "%s: a generator takes its parameters behind its name, so no option \"%.60s\"", source, *options);
		return NULL;
	}
	if (g)
		return load_generator(g, source, seed, err);
	struct trace *t = trace_open(source, format, options, err);
	return t ? reqset_from(t, source, err) : NULL;
}

/* ---- what it says of itself ---- */

static int64_t scaled(int64_t ns, double factor)
{
	return (int64_t)fminl(rintl((long double)ns / factor), (long double)MAX_ARRIVAL_NS);
}

void reqset_compress(struct reqset *s, double factor)
{
	if (!(factor > 0) || !(factor < INFINITY))
		return;
	s->factor *= factor;
	if (factor < 1 || factor > 1)
		for (uint64_t i = 0; i < s->count && s->row; i++)
			s->row[i].arrival_ns = scaled(s->row[i].arrival_ns, factor);
}

uint64_t reqset_count(const struct reqset *s)
{
	return s->count;
}

uint64_t reqset_left_out(const struct reqset *s)
{
	return s->left_out;
}

bool reqset_is_loaded(const struct reqset *s)
{
	return s->is_loaded;
}

const struct request_rec *reqset_at(const struct reqset *s, uint64_t i)
{
	return s->row && i < s->count ? &s->row[i] : NULL;
}

const struct strtab *reqset_strings(const struct reqset *s)
{
	return s->strings;
}

const char *reqset_source(const struct reqset *s)
{
	return s->source;
}

const char *reqset_format(const struct reqset *s)
{
	return s->format;
}

const char *reqset_hash(const struct reqset *s)
{
	return s->hash;
}

uint32_t reqset_block_tokens(const struct reqset *s)
{
	return s->block_tokens;
}

const uint32_t *reqset_models(const struct reqset *s, uint32_t *n)
{
	*n = s->n_models;
	return s->model;
}

bool reqset_knows_format(const char *format)
{
	for (size_t i = 0; format && trace_formats[i]; i++)
		if (trace_formats[i]->request && !strcmp(trace_formats[i]->name, format))
			return true;
	for (size_t i = 0; format && req_generators[i]; i++)
		if (!strcmp(req_generators[i]->name, format))
			return true;
	return false;
}

/* ---- reading ---- */

struct reqcursor *reqset_open(const struct reqset *s, uint64_t seed_shift)
{
	struct reqcursor *c = mem_zalloc(1, sizeof *c);
	c->set = s;
	if (s->generator) {
		c->state = mem_zalloc(1, s->generator->state_size);
		s->generator->start(c->state, s->plan, s->seed, seed_shift);
	}
	return c;
}

bool reqcursor_next(struct reqcursor *c, struct request_rec *out)
{
	const struct reqset *s = c->set;
	if (c->next >= s->count)
		return false;
	if (s->row) {
		*out = s->row[c->next++];
		return true;
	}
	*out = (struct request_rec){ .number = c->next, .slo_ns = -1, .samples = 1 };
	if (!s->generator->next(c->state, out))
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
	mem_free(c->state);
	mem_free(c);
}

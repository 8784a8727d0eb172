/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/generator.h"
#include "traces/trace.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "base/rng.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct jobset {
	char *source;
	const char *format;
	struct strtab *strings;
	char hash[BYTES_HASH_SIZE];
	uint64_t count, left_out;
	struct job_rec *row; /* NULL: generated */
	const struct generator *generator;
	struct orr_args *args;
	uint64_t seed, limit; /* limit 0: the generator ends by itself or not at all */
	/* GENERATOR_PARAM_TRAINING: numbers of strings. */
	uint32_t *model, n_models, strategy;
	double batch;
	bool has_strategies;
};

struct jobcursor {
	const struct jobset *set;
	uint64_t next;
	void *state;
};

static struct jobset *jobset_new(const char *source)
{
	struct jobset *s = mem_zalloc(1, sizeof *s);
	s->source = mem_strdup(source);
	s->strings = strtab_new();
	return s;
}

void jobset_free(struct jobset *s)
{
	if (!s)
		return;
	args_free(s->args);
	strtab_free(s->strings);
	mem_free(s->source);
	mem_free(s->row);
	mem_free(s->model);
	mem_free(s);
}

/* ---- files ---- */

static struct job_rec compact(struct jobset *s, const struct orr_trace_job *row)
{
	struct strtab *t = s->strings;
	return (struct job_rec){
		.submit_ns = row->submit_ns,
		.duration_ns = row->duration_ns,
		.limit_ns = row->limit_ns,
		.wait_ns = row->wait_ns,
		.iterations = row->iterations,
		.priority = row->priority,
		.cpu_milli = row->cpu_milli,
		.mem_mib = row->mem_mib,
		.gpus = row->gpus,
		.gpu_milli = row->gpu_milli,
		.id = strtab_add_z(t, row->id),
		.user = strtab_add_z(t, row->user),
		.queue = strtab_add_z(t, row->queue),
		.model = strtab_add_z(t, row->model),
		.gpu_types = strtab_add_z(t, row->gpu_types),
		.speedup = strtab_add_z(t, row->speedup),
		.status = strtab_add_z(t, row->status),
		.strategy = strtab_add_z(t, row->strategy),
		.batch = row->batch,
		.line = row->line,
	};
}

/* The file's order, which number still is, decides among equal times. */
static int by_submission(const void *a, const void *b)
{
	const struct job_rec *x = a, *y = b;
	if (x->submit_ns != y->submit_ns)
		return x->submit_ns < y->submit_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void put_in_order(struct jobset *s, bool is_absolute)
{
	bool is_sorted = true;
	for (uint64_t i = 0; i < s->count; i++) {
		s->row[i].number = i;
		is_sorted = is_sorted && (!i || s->row[i - 1].submit_ns <= s->row[i].submit_ns);
	}
	if (!is_sorted)
		qsort(s->row, s->count, sizeof *s->row, by_submission);
	int64_t zero = is_absolute && s->count ? s->row[0].submit_ns : 0;
	for (uint64_t i = 0; i < s->count; i++) {
		s->row[i].submit_ns -= zero;
		s->row[i].number = i;
	}
}

static int load_rows(struct jobset *s, struct trace *t, struct orr_error *err)
{
	struct orr_trace_job row;
	size_t n = 0, cap = 1024;
	int rc;
	s->row = mem_alloc(cap * sizeof *s->row);
	while ((rc = trace_next(t, &row, err)) == 1) {
		MEM_GROW(s->row, n, cap);
		s->row[n++] = compact(s, &row);
		s->has_strategies |= row.strategy != NULL;
	}
	if (rc < 0)
		return -1;
	s->count = n;
	s->format = trace_format(t);
	s->left_out = trace_left_out(t);
	memcpy(s->hash, trace_hash(t), sizeof s->hash);
	put_in_order(s, trace_is_absolute(t));
	return 0;
}

struct jobset *jobset_from(struct trace *t, const char *source, struct orr_error *err)
{
	struct jobset *s = jobset_new(source);
	int rc = load_rows(s, t, err);
	trace_close(t);
	if (!rc)
		return s;
	jobset_free(s);
	return NULL;
}

static struct jobset *load_file(const char *path, const char *format, const char *const *options, struct orr_error *err)
{
	struct trace *t = trace_open(path, format, options, err);
	return t ? jobset_from(t, path, err) : NULL;
}

/* ---- generators ---- */

/* How many rows there are: n if it is given, else counted. */
static void count_rows(struct jobset *s)
{
	bool ends_by_itself = s->generator->ends_by_itself && s->generator->ends_by_itself(s->args);
	s->limit = (uint64_t)orr_arg_int(s->args, "n");
	s->count = s->limit ? s->limit : UINT64_MAX;
	if (!ends_by_itself)
		return;
	struct job_rec row;
	struct jobcursor *c = jobset_open(s);
	uint64_t n = 0;
	while (jobcursor_next(c, &row))
		n++;
	jobcursor_close(c);
	s->count = n;
}

static int read_training(struct jobset *s, struct orr_error *err)
{
	const struct orr_param *p = s->generator->params;
	uint32_t cap = 0;
	while (p->name && strcmp(p->name, "models"))
		p++;
	if (!p->name)
		return ORR_OK;
	const char *models = orr_arg_text(s->args, "models"), *strategy = orr_arg_text(s->args, "strategy");
	s->batch = orr_arg_real(s->args, "batch");
	if ((*strategy || s->batch > 0) && !*models)
		return orr_fail(
			err, ORR_EINPUT, "generator %s: strategy and batch need models (models=resnet50|vgg16)", s->generator->name);
	for (const char *m = models; *m;) {
		size_t n = strcspn(m, "|");
		MEM_GROW(s->model, s->n_models, cap);
		if (n)
			s->model[s->n_models++] = strtab_add(s->strings, m, n);
		m += n + (m[n] == '|');
	}
	s->strategy = strtab_add_z(s->strings, strategy);
	s->has_strategies = s->strategy != 0;
	return ORR_OK;
}

/* A stream of its own for each job: whatever else is drawn, the model stays. */
static void draw_training(const struct jobset *s, struct job_rec *row)
{
	struct rng r;
	if (!s->n_models || !row->gpus || row->gpu_milli < 1000)
		return;
	rng_init(&r, s->seed, "models", row->number);
	row->model = s->model[rng_below(&r, s->n_models)];
	row->strategy = s->strategy;
	row->batch = s->batch;
}

static void hash_generator(struct jobset *s)
{
	struct sbuf text = { 0 };
	sbuf_printf(&text, "generator %s\n", s->generator->name);
	args_canonical(s->args, &text);
	sbuf_printf(&text, "seed=%" PRIu64 "\n", s->seed);
	bytes_hash_text(text.text, text.len, s->hash);
	sbuf_free(&text);
}

static struct jobset *load_generator(const struct generator *g, const char *source, uint64_t seed, struct orr_error *err)
{
	struct orr_args *args = generator_args(g, source, err);
	if (!args)
		return NULL;
	struct jobset *s = jobset_new(source);
	s->generator = g;
	s->format = g->name;
	s->args = args;
	s->seed = seed;
	for (size_t i = 0; g->names && g->names[i]; i++)
		strtab_add_z(s->strings, g->names[i]);
	hash_generator(s);
	if (read_training(s, err)) {
		jobset_free(s);
		return NULL;
	}
	count_rows(s);
	return s;
}

struct jobset *jobset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err)
{
	const struct generator *g = generator_find(source);
	/* A scenario that was shown names the generator as the format; any other format wants a file. */
	if (g && format && strcmp(format, "auto") && strcmp(format, g->name))
		g = NULL;
	return g ? load_generator(g, source, seed, err) : load_file(source, format, options, err);
}

/* ---- reading ---- */

uint64_t jobset_count(const struct jobset *s)
{
	return s->count;
}

uint64_t jobset_left_out(const struct jobset *s)
{
	return s->left_out;
}

bool jobset_is_loaded(const struct jobset *s)
{
	return s->row != NULL;
}

const struct job_rec *jobset_at(const struct jobset *s, uint64_t number)
{
	return s->row && number < s->count ? &s->row[number] : NULL;
}

const struct strtab *jobset_strings(const struct jobset *s)
{
	return s->strings;
}

bool jobset_has_strategies(const struct jobset *s)
{
	return s->has_strategies;
}

const char *jobset_hash(const struct jobset *s)
{
	return s->hash;
}

const char *jobset_format(const struct jobset *s)
{
	return s->format;
}

const char *jobset_source(const struct jobset *s)
{
	return s->source;
}

struct jobcursor *jobset_open(const struct jobset *s)
{
	struct jobcursor *c = mem_zalloc(1, sizeof *c);
	c->set = s;
	if (s->generator) {
		c->state = mem_zalloc(1, s->generator->state_size);
		s->generator->start(c->state, s->args, s->seed);
	}
	return c;
}

bool jobcursor_next(struct jobcursor *c, struct job_rec *out)
{
	const struct jobset *s = c->set;
	if (s->row) {
		if (c->next >= s->count)
			return false;
		*out = s->row[c->next++];
		return true;
	}
	if (s->limit && c->next >= s->limit)
		return false;
	*out = (struct job_rec){ .duration_ns = -1, .limit_ns = -1, .wait_ns = -1, .gpus = 1, .gpu_milli = 1000, .number = c->next };
	if (!s->generator->next(c->state, out))
		return false;
	draw_training(s, out);
	c->next++;
	return true;
}

void jobcursor_close(struct jobcursor *c)
{
	if (!c)
		return;
	mem_free(c->state);
	mem_free(c);
}

void jobset_row(const struct jobset *s, const struct job_rec *rec, struct orr_trace_job *out)
{
	const struct strtab *t = s->strings;
	*out = (struct orr_trace_job){
		.submit_ns = rec->submit_ns,
		.duration_ns = rec->duration_ns,
		.limit_ns = rec->limit_ns,
		.wait_ns = rec->wait_ns,
		.iterations = rec->iterations,
		.priority = rec->priority,
		.gpus = rec->gpus,
		.gpu_milli = rec->gpu_milli,
		.cpu_milli = rec->cpu_milli,
		.mem_mib = rec->mem_mib,
		.id = rec->id ? strtab_text(t, rec->id) : NULL,
		.user = rec->user ? strtab_text(t, rec->user) : NULL,
		.queue = rec->queue ? strtab_text(t, rec->queue) : NULL,
		.model = rec->model ? strtab_text(t, rec->model) : NULL,
		.gpu_types = rec->gpu_types ? strtab_text(t, rec->gpu_types) : NULL,
		.speedup = rec->speedup ? strtab_text(t, rec->speedup) : NULL,
		.status = rec->status ? strtab_text(t, rec->status) : NULL,
		.strategy = rec->strategy ? strtab_text(t, rec->strategy) : NULL,
		.batch = rec->batch,
		.line = rec->line,
	};
}

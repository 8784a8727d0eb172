/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/flow.h"
#include "traces/generator.h"
#include "traces/load.h"
#include "traces/resample.h"
#include "traces/rowset.h"

#include "traces/format.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/rng.h"

#include <string.h>

struct jobset {
	struct rowset rows;
	uint64_t limit; /* parameter n of a generator; 0: the generator ends or is unlimited */
	/* Values of GENERATOR_PARAM_TRAINING, as numbers of strings. */
	uint32_t *model, n_models, strategy;
	double batch;
	bool has_strategies;
	struct resample resample;
	struct flowset *flows; /* NULL: rows are no flows */
};

struct jobcursor {
	const struct jobset *set;
	uint64_t next, replication;
	struct resample_cursor drawn;
	void *state;
};

ROWSET_ACCESSORS(jobset, job_rec)

static struct jobset *jobset_new(const char *source)
{
	struct jobset *s = mem_zalloc(1, sizeof *s);
	rowset_init(&s->rows, sizeof(struct job_rec), source);
	return s;
}

void jobset_free(struct jobset *s)
{
	if (!s)
		return;
	rowset_clear(&s->rows);
	resample_free(&s->resample);
	flowset_free(s->flows);
	mem_free(s->model);
	mem_free(s);
}

/* ---- files ---- */

static struct job_rec compact(struct jobset *s, const struct orr_trace_job *row)
{
	struct strtab *t = s->rows.strings;
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
		.deadline_ns = row->deadline_ns,
		.gpu_mem_mib = (uint32_t)row->gpu_mem_mib,
		.occupancy = (float)row->occupancy,
		.stages = strtab_add_z(t, row->stages),
		.line = row->line,
		.preceding = strtab_add_z(t, row->preceding),
		.think_ns = row->think_ns,
	};
}

static int load_rows(struct jobset *s, struct trace *t, struct orr_error *err)
{
	struct orr_trace_job row;
	int rc;
	while ((rc = trace_next(t, &row, err)) == 1) {
		*(struct job_rec *)rowset_add(&s->rows) = compact(s, &row);
		s->has_strategies |= row.strategy != NULL;
	}
	if (rc < 0)
		return -1;
	rowset_loaded(&s->rows, t);
	s->flows = trace_take_flows(t);
	for (uint64_t i = 0; s->flows && i < s->rows.count; i++)
		((struct job_rec *)s->rows.row)[i].flow = (uint32_t)i + 1;
	rowset_sort(&s->rows, trace_is_absolute(t));
	if (s->flows && trace_is_scaled(t)) {
		orr_fail(err, ORR_EINPUT, "%s: load: expected 1 for flows, whose stages have no single run time", s->rows.source);
		return -1;
	}
	return load_scale(&s->rows, trace_common(t), err) ? -1 : 0;
}

struct jobset *jobset_read(struct trace *t, const char *source, struct orr_error *err)
{
	struct jobset *s = jobset_new(source);
	if (!load_rows(s, t, err))
		return s;
	jobset_free(s);
	return NULL;
}

struct jobset *jobset_from(struct trace *t, const char *source, struct orr_error *err)
{
	struct jobset *s = jobset_read(t, source, err);
	trace_close(t);
	return s;
}

/* ---- generators ---- */

/* Sets the number of rows: the parameter n if it is given, else the number found by counting. */
static void count_rows(struct jobset *s)
{
	const struct rowset *rows = &s->rows;
	bool ends_by_itself = rows->generator->ends_by_itself && rows->generator->ends_by_itself(rows->args);
	s->limit = (uint64_t)orr_arg_int(rows->args, "n");
	s->rows.count = s->limit ? s->limit : UINT64_MAX;
	if (!ends_by_itself)
		return;
	struct job_rec row;
	struct jobcursor *c = jobset_open(s, 0);
	uint64_t n = 0;
	while (jobcursor_next(c, &row))
		n++;
	jobcursor_close(c);
	s->rows.count = n;
}

static int read_training(struct jobset *s, struct orr_error *err)
{
	const struct orr_param *p = s->rows.generator->params;
	uint32_t cap = 0;
	while (p->name && strcmp(p->name, "models"))
		p++;
	if (!p->name)
		return ORR_OK;
	const char *models = orr_arg_text(s->rows.args, "models"), *strategy = orr_arg_text(s->rows.args, "strategy");
	s->batch = orr_arg_real(s->rows.args, "batch");
	if ((*strategy || s->batch > 0) && !*models)
		return orr_fail(err, ORR_EINPUT,
			"generator %s: strategy and batch: expected these parameters only together with models=, as in "
			"models=resnet50|vgg16",
			s->rows.generator->name);
	for (const char *m = models; *m;) {
		size_t n = strcspn(m, "|");
		MEM_GROW(s->model, s->n_models, cap);
		if (n)
			s->model[s->n_models++] = strtab_add(s->rows.strings, m, n);
		m += n + (m[n] == '|');
	}
	s->strategy = strtab_add_z(s->rows.strings, strategy);
	s->has_strategies = s->strategy != 0;
	return ORR_OK;
}

/* One stream per job, so that the model does not depend on other draws. */
static void draw_training(const struct jobset *s, uint64_t replication, struct job_rec *row)
{
	struct rng r;
	if (!s->n_models || !row->gpus || row->gpu_milli < 1000)
		return;
	rng_init(&r, s->rows.seed, "models", replication << 40 | row->number);
	row->model = s->model[rng_below(&r, s->n_models)];
	row->strategy = s->strategy;
	row->batch = s->batch;
}

static struct jobset *load_generator(const struct generator *g, const char *source, uint64_t seed, struct orr_error *err)
{
	struct orr_args *args = generator_args(g, source, err);
	if (!args)
		return NULL;
	struct jobset *s = jobset_new(source);
	bool is_good = !rowset_generate(&s->rows, g, args, seed, err) && !read_training(s, err);
	if (is_good && g->make_flows)
		is_good = (s->flows = g->make_flows(args, err)) != NULL;
	if (!is_good) {
		jobset_free(s);
		return NULL;
	}
	count_rows(s);
	return s;
}

struct jobset *jobset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err)
{
	const struct generator *g;
	if (generator_choose(TRACE_JOBS, source, format, options, &g, err))
		return NULL;
	if (g) {
		limits_begin_input(source);
		struct jobset *s = load_generator(g, source, seed, err);
		limits_begin_input("");
		return s;
	}
	struct trace *t = trace_open(source, format, options, err);
	return t ? jobset_from(t, source, err) : NULL;
}

/* ---- reading ---- */

uint64_t jobset_left_out(const struct jobset *s)
{
	return s->rows.left_out;
}

uint64_t jobset_repaired(const struct jobset *s, const char **first)
{
	*first = s->rows.first_wrong ? s->rows.first_wrong : "";
	return s->rows.repaired;
}

const struct flowset *jobset_flows(const struct jobset *s)
{
	return s->flows;
}

bool jobset_has_strategies(const struct jobset *s)
{
	return s->has_strategies;
}

bool jobset_is_alike(const struct jobset *s)
{
	return s->rows.generator && s->rows.generator->is_alike && !s->n_models && !s->flows;
}

struct jobcursor *jobset_open(const struct jobset *s, uint64_t replication)
{
	struct jobcursor *c = mem_zalloc(1, sizeof *c);
	c->set = s;
	c->replication = replication;
	c->state = rowset_start(&s->rows, replication);
	resample_open(&c->drawn, &s->resample, replication);
	return c;
}

int jobset_resample(struct jobset *s, int64_t block_ns, uint64_t seed, struct orr_error *err)
{
	return resample_rows(&s->resample, &s->rows, block_ns, seed, err);
}

uint64_t jobset_blocks(const struct jobset *s)
{
	return s->resample.n_blocks;
}

/* A drawn row gets a new number, which replaces its id, because several drawn rows may have the same id. */
static bool next_drawn(struct jobcursor *c, struct job_rec *out)
{
	uint64_t row = resample_next(&c->drawn);
	if (row == UINT64_MAX)
		return false;
	*out = ((const struct job_rec *)c->set->rows.row)[row];
	out->submit_ns += c->drawn.shift_ns;
	out->number = c->next++;
	out->id = 0;
	return true;
}

bool jobcursor_next(struct jobcursor *c, struct job_rec *out)
{
	const struct jobset *s = c->set;
	if (s->resample.block_ns)
		return next_drawn(c, out);
	if (s->rows.is_loaded) {
		if (c->next >= s->rows.count)
			return false;
		*out = ((const struct job_rec *)s->rows.row)[c->next++];
		return true;
	}
	if (s->limit && c->next >= s->limit)
		return false;
	*out = (struct job_rec){
		.duration_ns = -1, .limit_ns = -1, .wait_ns = -1, .deadline_ns = -1, .gpus = 1, .gpu_milli = 1000, .number = c->next
	};
	if (!s->rows.generator->next(c->state, out))
		return false;
	draw_training(s, c->replication, out);
	c->next++;
	return true;
}

int jobset_check_submit(const struct jobset *s, const struct job_rec *row, struct orr_error *err)
{
	if (!s->rows.generator || (double)row->submit_ns <= TRACE_MAX_SECONDS * 1e9)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "generator %s: job %llu is submitted later than %g s: expected fewer jobs or more frequent ones",
		s->rows.generator->name, (unsigned long long)row->number, TRACE_MAX_SECONDS);
}

void jobcursor_close(struct jobcursor *c)
{
	if (!c)
		return;
	rowset_stop(&c->set->rows, c->state);
	mem_free(c);
}

void jobset_row(const struct jobset *s, const struct job_rec *rec, struct orr_trace_job *out)
{
	const struct strtab *t = s->rows.strings;
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
		.deadline_ns = rec->deadline_ns,
		.gpu_mem_mib = rec->gpu_mem_mib,
		.occupancy = (double)rec->occupancy,
		.stages = rec->stages ? strtab_text(t, rec->stages) : NULL,
		.line = rec->line,
		.preceding = rec->preceding ? strtab_text(t, rec->preceding) : NULL,
		.think_ns = rec->think_ns,
	};
}

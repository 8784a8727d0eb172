/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/adapt.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/strtab.h"
#include "jobs/application.h"
#include "jobs/world.h"
#include "traces/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_S = 60, N_FILES = 3, MOST_PLACEMENT = 64 };

/* The gradient in one epoch at one batch, and the progress at the end of the epoch. */
struct noise_row {
	uint32_t app, epoch;
	double batch, sqr, var, progress;
};

struct noise_rows {
	struct noise_row *row; /* by application, epoch, batch */
	size_t n, cap;
};

/* Rows of one epoch of an application: row[first .. first + n), in order of batch. */
struct epoch {
	size_t first, n;
	double progress; /* progress at the end of the epoch: the smallest over batches */
};

struct step_time {
	uint32_t app;
	char placement[MOST_PLACEMENT]; /* GPUs of each node, one digit per node */
	double batch, step_s, sync_s;
};

struct step_times {
	struct step_time *row; /* by application, placement, batch */
	size_t n, cap;
};

struct adapt {
	struct adapt_files files;
	char hash[N_FILES][65];
	struct applications *apps;
	struct noise_rows noise;
	struct epoch **epoch; /* [application][epoch] */
	uint32_t *n_epochs;
	struct step_times times;
};

/* ---- reading ---- */

void adapt_free(struct adapt *a)
{
	if (!a)
		return;
	for (size_t i = 0; a->epoch && i < a->apps->n; i++)
		mem_free(a->epoch[i]);
	mem_free(a->epoch);
	mem_free(a->n_epochs);
	applications_free(a->apps);
	mem_free(a->noise.row);
	mem_free(a->times.row);
	mem_free(a);
}

const char *adapt_hash(const struct adapt *a, int file)
{
	return a->hash[file];
}

/* Calls read_row() for each row of a file. */
static int read_table(struct adapt *a, const char *path, const struct table_column *columns,
	int (*read_row)(struct adapt *a, struct table *t, struct orr_error *err), int file, struct orr_error *err)
{
	struct lines *in = lines_open(path, err);
	struct table *t = in ? table_new(in, columns, TABLE_HEADER, err) : NULL;
	int rc = t ? ORR_OK : ORR_EINPUT;
	for (int more; !rc && (more = table_next(t, NULL, NULL, err)) != 0;)
		rc = more < 0 ? ORR_EINPUT : read_row(a, t, err);
	if (!rc)
		snprintf(a->hash[file], sizeof a->hash[file], "%s", lines_hash(in));
	table_free(t);
	lines_close(in);
	return rc;
}

static int find_app(const struct adapt *a, struct table *t, uint32_t *app, struct orr_error *err)
{
	struct orr_error why;
	const struct application *x = applications_find(a->apps, table_text(t, 0, NULL), &why);
	if (!x)
		return lines_fail(table_lines(t), err, "%s", why.text);
	*app = (uint32_t)(x - a->apps->app);
	return ORR_OK;
}

static const struct table_column noise_columns[] = { { "application", true }, { "batch_size", true }, { "epoch", true },
	{ "grad_sqr", true }, { "grad_var", true }, { "progress", true }, { NULL, false } };

static int read_noise(struct adapt *a, struct table *t, struct orr_error *err)
{
	struct noise_row r = { .batch = table_real(t, 1, 1, 1e12),
		.epoch = (uint32_t)table_count(t, 2, 0, 1000000),
		.sqr = table_real(t, 3, 0, 1e300),
		.var = table_real(t, 4, 0, 1e300),
		.progress = table_real(t, 5, 1e-9, 1e15) };
	if (table_status(t) < 0 || find_app(a, t, &r.app, err))
		return ORR_EINPUT;
	if (!(r.sqr > 0) && !(r.var > 0))
		return lines_fail(table_lines(t), err, "grad_sqr, grad_var: expected a number above 0, found 0 for both");
	MEM_GROW(a->noise.row, a->noise.n, a->noise.cap);
	a->noise.row[a->noise.n++] = r;
	return ORR_OK;
}

static int by_epoch(const void *x, const void *y)
{
	const struct noise_row *a = x, *b = y;
	if (a->app != b->app)
		return a->app < b->app ? -1 : 1;
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	return (a->batch > b->batch) - (a->batch < b->batch);
}

/* Groups the rows by epoch. Epochs begin at 0, without gaps, and progress ascends. */
static int index_noise(struct adapt *a, struct orr_error *err)
{
	if (a->noise.n)
		qsort(a->noise.row, a->noise.n, sizeof *a->noise.row, by_epoch);
	a->epoch = mem_zalloc(a->apps->n + 1, sizeof(struct epoch *));
	a->n_epochs = mem_zalloc(a->apps->n + 1, sizeof *a->n_epochs);
	for (size_t i = 0; i < a->noise.n;) {
		const struct noise_row *r = &a->noise.row[i];
		const char *name = a->apps->app[r->app].name;
		uint32_t *n = &a->n_epochs[r->app];
		struct epoch e = { .first = i, .progress = INFINITY };
		if (r->epoch != *n)
			return orr_fail(err, ORR_EINPUT, "%s: application %s: expected rows of epoch %u too", a->files.noise, name, *n);
		for (; i < a->noise.n && a->noise.row[i].app == r->app && a->noise.row[i].epoch == r->epoch; i++, e.n++)
			e.progress = fmin(e.progress, a->noise.row[i].progress);
		if (*n && e.progress <= a->epoch[r->app][*n - 1].progress)
			return orr_fail(err, ORR_EINPUT, "%s: application %s: epoch %u: expected a progress above that of the epoch before",
				a->files.noise, name, *n);
		a->epoch[r->app] = mem_realloc(a->epoch[r->app], *n + 1u, sizeof e);
		a->epoch[r->app][(*n)++] = e;
	}
	for (size_t i = 0; i < a->apps->n; i++)
		if (!a->n_epochs[i] && applications_find(a->apps, a->apps->app[i].name, err) == &a->apps->app[i])
			return orr_fail(err, ORR_EINPUT, "%s: application %s has no rows: expected one per epoch and batch", a->files.noise,
				a->apps->app[i].name);
	return ORR_OK;
}

/* Replaces the digits by their smallest rotation, so that placements that are rotations of one another are equal. */
static void normalise(char *s)
{
	char twice[2 * MOST_PLACEMENT];
	size_t n = strlen(s);
	snprintf(twice, sizeof twice, "%s%s", s, s);
	for (size_t i = 1; i < n; i++)
		if (strncmp(twice + i, s, n) < 0)
			memcpy(s, twice + i, n);
}

enum { T_APPLICATION, T_PLACEMENT, T_ATOMIC, T_LOCAL, T_STEP, T_SYNC };
static const struct table_column time_columns[] = { [T_APPLICATION] = { "application", true },
	[T_PLACEMENT] = { "placement", true },
	[T_ATOMIC] = { "atomic_bsz", false },
	[T_LOCAL] = { "local_bsz", false },
	[T_STEP] = { "step_time_s", true },
	[T_SYNC] = { "sync_time_s", true },
	{ NULL, false } };

static int read_time(struct adapt *a, struct table *t, struct orr_error *err)
{
	struct step_time r = { .batch = table_real(t, table_has(t, T_ATOMIC) ? (size_t)T_ATOMIC : (size_t)T_LOCAL, 1, 1e12),
		.step_s = table_real(t, T_STEP, 1e-9, 1e9),
		.sync_s = table_real(t, T_SYNC, 0, 1e9) };
	size_t n;
	const char *placement = table_text(t, T_PLACEMENT, &n);
	if (!n || n >= MOST_PLACEMENT || strspn(placement, "123456789") != n)
		table_refuse(t, T_PLACEMENT, "the GPUs of each node as digits, such as 444");
	if (table_status(t) < 0 || find_app(a, t, &r.app, err))
		return ORR_EINPUT;
	if (r.sync_s >= r.step_s)
		return lines_fail(table_lines(t), err, "sync_time_s: expected less than step_time_s");
	memcpy(r.placement, placement, n);
	normalise(r.placement);
	MEM_GROW(a->times.row, a->times.n, a->times.cap);
	a->times.row[a->times.n++] = r;
	return ORR_OK;
}

static int by_place(const void *x, const void *y)
{
	const struct step_time *a = x, *b = y;
	if (a->app != b->app)
		return a->app < b->app ? -1 : 1;
	int order = strcmp(a->placement, b->placement);
	return order ? order : (a->batch > b->batch) - (a->batch < b->batch);
}

static int hash_applications(struct adapt *a, struct orr_error *err)
{
	struct lines *in = lines_open(a->files.applications, err);
	char *text;
	size_t n;
	int more = in ? 1 : -1;
	while (more > 0)
		more = lines_next(in, &text, &n, err);
	if (!more)
		snprintf(a->hash[0], sizeof a->hash[0], "%s", lines_hash(in));
	lines_close(in);
	return more < 0 ? ORR_EINPUT : ORR_OK;
}

struct adapt *adapt_load(const struct adapt_files *f, struct orr_error *err)
{
	struct adapt *a = mem_zalloc(1, sizeof *a);
	a->files = *f;
	a->apps = applications_load(f->applications, err);
	int rc = a->apps ? hash_applications(a, err) : ORR_EINPUT;
	if (!rc)
		rc = read_table(a, f->noise, noise_columns, read_noise, 1, err);
	if (!rc)
		rc = index_noise(a, err);
	if (!rc && f->step_times && *f->step_times)
		rc = read_table(a, f->step_times, time_columns, read_time, 2, err);
	if (!rc && a->times.n)
		qsort(a->times.row, a->times.n, sizeof *a->times.row, by_place);
	if (!rc)
		return a;
	adapt_free(a);
	return NULL;
}

/* ---- progress per second ---- */

/* Returns the gradient of an epoch at a batch: linear between the two nearest rows, constant beyond the rows. */
static struct goodput_noise noise_at(const struct adapt *a, uint32_t app, uint32_t epoch, double batch)
{
	const struct epoch *e = &a->epoch[app][epoch];
	const struct noise_row *r = a->noise.row + e->first;
	size_t i = 0;
	while (i + 1 < e->n && r[i].batch < batch)
		i++;
	if (!i || r[i].batch <= batch)
		return (struct goodput_noise){ r[i].sqr, r[i].var };
	double part = (batch - r[i - 1].batch) / (r[i].batch - r[i - 1].batch);
	return (struct goodput_noise){ r[i - 1].sqr + part * (r[i].sqr - r[i - 1].sqr), r[i - 1].var + part * (r[i].var - r[i - 1].var) };
}

/* A choice of placement and batch: GPUs by node, samples per GPU in one pass (atomic), passes before the last one of an update (accum). */
struct way {
	const struct goodput_model *model; /* of the GPU type */
	const char *placement;             /* NULL: the fitted model */
	double nodes, gpus, atomic, accum;
};

/* Sets the step time and the synchronisation time from the table, interpolated linearly over the batch. Returns false if the table has
 * none. */
static bool time_in_table(const struct adapt *a, uint32_t app, const struct way *x, double *step_s, double *sync_s)
{
	size_t low = 0, high = a->times.n;
	struct step_time key = { .app = app, .batch = x->atomic };
	snprintf(key.placement, sizeof key.placement, "%s", x->placement);
	while (low < high) { /* the first row that is not before the key */
		size_t middle = low + (high - low) / 2;
		if (by_place(&a->times.row[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	const struct step_time *above = low < a->times.n ? &a->times.row[low] : NULL, *below = low ? &a->times.row[low - 1] : NULL;
	bool is_same = above && above->app == app && !strcmp(above->placement, key.placement);
	if (!is_same || (above->batch > x->atomic && !(below && below->app == app && !strcmp(below->placement, key.placement))))
		return false;
	double part = above->batch > x->atomic ? (x->atomic - below->batch) / (above->batch - below->batch) : 1;
	*step_s = part < 1 ? below->step_s + part * (above->step_s - below->step_s) : above->step_s;
	*sync_s = part < 1 ? below->sync_s + part * (above->sync_s - below->sync_s) : above->sync_s;
	return true;
}

/* Returns progress per second: steps of batch M0. */
static double speed(const struct adapt *a, uint32_t app, uint32_t epoch, const struct way *x, bool *is_modelled)
{
	const struct goodput_model *m = x->model;
	double batch = x->gpus * x->atomic * (x->accum + 1), step_s, sync_s;
	struct goodput_noise g = noise_at(a, app, epoch, batch);
	double gain = goodput_efficiency(m, &g, batch) * batch / m->init_batch;
	*is_modelled = !x->placement || !time_in_table(a, app, x, &step_s, &sync_s);
	if (*is_modelled)
		return gain / (batch / goodput_throughput(m, x->nodes, x->gpus, x->atomic, x->accum));
	return gain / (step_s + (step_s - sync_s) * x->accum);
}

/* ---- kinds ---- */

struct adapt_kind {
	uint32_t app, gpus;
	double batch;     /* of the trace */
	uint32_t n;       /* epochs */
	double *speed;    /* on the requested GPUs, by epoch */
	int64_t *done_ns; /* work at the end of each epoch */
};

void adapt_kinds_free(struct adapt_kinds *k)
{
	for (size_t i = 0; i < k->n; i++) {
		mem_free(k->kind[i].speed);
		mem_free(k->kind[i].done_ns);
	}
	mem_free(k->kind);
}

static uint32_t most_gpus_per_node(const struct orr_jobs *w)
{
	uint32_t most = 1;
	for (uint32_t i = 0; i < w->config->cluster->n_nodes; i++)
		most = w->config->cluster->node[i].gpus > most ? w->config->cluster->node[i].gpus : most;
	return most;
}

static double fewest_nodes(const struct orr_jobs *w, uint32_t gpus)
{
	return ceil((double)gpus / most_gpus_per_node(w));
}

/* Returns the application's model on a GPU type: its row for the type, else its first row. */
static const struct goodput_model *model_on(const struct orr_jobs *w, uint32_t app, uint32_t type)
{
	const struct applications *all = w->config->adapt->apps;
	const struct cluster *c = w->config->cluster;
	const struct application *own = type < c->n_types ? applications_on(all, &all->app[app], c->type_name[type]) : NULL;
	return own ? &own->model : &all->app[app].model;
}

static void split(double batch, struct way *x)
{
	goodput_split(x->model, batch, x->gpus, &x->atomic, &x->accum);
}

static void fill_kind(const struct orr_jobs *w, struct adapt_kind *k)
{
	const struct adapt *a = w->config->adapt;
	struct way x = { .model = &a->apps->app[k->app].model, .nodes = fewest_nodes(w, k->gpus), .gpus = k->gpus };
	bool is_modelled;
	double done_s = 0;
	split(k->batch, &x);
	x.atomic = fmax(1, x.atomic);
	k->n = a->n_epochs[k->app];
	k->speed = mem_alloc(k->n * sizeof *k->speed);
	k->done_ns = mem_alloc(k->n * sizeof *k->done_ns);
	for (uint32_t e = 0; e < k->n; e++) {
		const struct epoch *of = a->epoch[k->app];
		k->speed[e] = speed(a, k->app, e, &x, &is_modelled);
		done_s += (of[e].progress - (e ? of[e - 1].progress : 0)) / k->speed[e];
		k->done_ns[e] = done_s < 9e9 ? llrint(done_s * 1e9) : -1;
	}
}

uint32_t adapt_kind_of_row(struct orr_jobs *w, const struct job_rec *r)
{
	const struct adapt *a = w->config->adapt;
	struct adapt_kinds *all = &w->adapt_kinds;
	uint32_t app = 0;
	if (!a || !r->model || !r->gpus)
		return NONE;
	const char *name = strtab_text(w->strings, r->model);
	while (app < a->apps->n && strcmp(a->apps->app[app].name, name))
		app++;
	if (app == a->apps->n)
		return NONE;
	const struct goodput_model *m = &a->apps->app[app].model;
	double batch = r->batch > 0 ? fmin(fmax(rint(r->batch * r->gpus), m->init_batch), m->max_batch) : m->init_batch;
	for (uint32_t i = 0; i < all->n; i++)
		if (all->kind[i].app == app && all->kind[i].gpus == r->gpus && all->kind[i].batch == batch)
			return i;
	MEM_GROW(all->kind, all->n, all->cap);
	struct adapt_kind *k = &all->kind[all->n++];
	*k = (struct adapt_kind){ .app = app, .gpus = r->gpus, .batch = batch };
	fill_kind(w, k);
	return (uint32_t)(k - all->kind);
}

int64_t adapt_work(struct orr_jobs *w, uint32_t kind, const struct job_rec *r)
{
	const struct adapt_kind *k = &w->adapt_kinds.kind[kind];
	int64_t work = k->done_ns[k->n - 1];
	if (work < 0)
		orr_fail(&w->error, ORR_EINPUT, "job %llu (line %llu of the trace): expected at most 146 years of work",
			(unsigned long long)r->number, (unsigned long long)r->line);
	return work;
}

/* ---- a live job ---- */

static const struct adapt_kind *kind_of(const struct orr_jobs *w, const struct job *job)
{
	return &w->adapt_kinds.kind[job->adapt];
}

/* Returns the work left: of a running job, at the start of its present piece; of a waiting job, now. */
static int64_t left_of(const struct job *job)
{
	return job->state == ORR_JOB_RUNNING ? job->work.left - job->work.piece_done : job->work.left;
}

/* Returns the epoch of a job. Work added by stops counts as work of the present epoch. */
static uint32_t epoch_of(const struct orr_jobs *w, const struct job *job, int64_t left)
{
	const struct adapt_kind *k = kind_of(w, job);
	uint32_t low = 0, high = k->n - 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (k->done_ns[middle] <= job->duration - left)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct adapt_belief belief_of(const struct orr_jobs *w, const struct job *job)
{
	const struct adapt_files *f = &w->config->adapt->files;
	return (struct adapt_belief){ f->profiles, f->profile_error, rng_seed_of(w->config->seed, w->config->replication), job->number,
		&job->seen };
}

/* Chooses the batch on x's GPUs by what the job believes, and returns the goodput there; 0: none is valid. A job without a model has the
 * batch M0, and believes in perfect scaling. */
static double choose_batch(const struct orr_jobs *w, const struct job *job, uint32_t epoch, struct way *x)
{
	const struct adapt *a = w->config->adapt;
	const struct adapt_kind *k = kind_of(w, job);
	const struct adapt_belief b = belief_of(w, job);
	struct goodput_model m;
	struct goodput_noise g = belief_noise(&b, noise_at(a, k->app, epoch, x->model->init_batch));
	bool has_model = belief_model(&b, x->model, &m);
	if (x->gpus * m.min_local > m.max_batch)
		return 0;
	if (!has_model || a->files.batches == ADAPT_BATCHES_FIXED) {
		split(has_model ? k->batch : m.init_batch, x);
		if (has_model || x->atomic < 1)
			return x->atomic >= 1 ? goodput_at(&m, &g, x->nodes, x->gpus, x->atomic, x->accum).goodput : 0;
		struct way one = { .model = x->model, .nodes = 1, .gpus = 1 };
		split(m.init_batch, &one);
		return x->gpus * goodput_at(x->model, &g, 1, 1, one.atomic, one.accum).goodput;
	}
	struct goodput_choice c = goodput_optimize(&m, &g, x->nodes, x->gpus);
	x->atomic = c.atomic;
	x->accum = c.accum;
	return c.goodput;
}

static void put_placement(const struct job *job, char *text)
{
	const struct pool_piece *x = pool_pieces(&job->alloc);
	size_t n = 0;
	for (uint32_t i = 0; i < job->alloc.n && n + 1 < MOST_PLACEMENT && x[i].gpus < 10; i++)
		text[n++] = (char)('0' + x[i].gpus);
	text[n] = 0;
	normalise(text);
}

/* Returns the progress per second on the requested GPUs, at the batch of the trace, if they are of this type. */
static double speed_requested(const struct orr_jobs *w, const struct adapt_kind *k, uint32_t epoch, const struct goodput_model *m)
{
	struct way x = { .model = m, .nodes = fewest_nodes(w, k->gpus), .gpus = k->gpus };
	bool is_modelled;
	if (m == &w->config->adapt->apps->app[k->app].model)
		return k->speed[epoch];
	split(k->batch, &x);
	return speed(w->config->adapt, k->app, epoch, &x, &is_modelled);
}

double adapt_type_rate(const struct orr_jobs *w, const struct job *job, uint32_t gpu_type)
{
	const struct adapt_kind *k = kind_of(w, job);
	const struct applications *all = w->config->adapt->apps;
	const struct cluster *c = w->config->cluster;
	if (gpu_type >= c->n_types || !applications_on(all, &all->app[k->app], c->type_name[gpu_type]))
		return 0;
	uint32_t epoch = epoch_of(w, job, left_of(job));
	return speed_requested(w, k, epoch, model_on(w, k->app, gpu_type)) / k->speed[epoch];
}

double adapt_rate(struct orr_jobs *w, struct job *job)
{
	const struct adapt_kind *k = kind_of(w, job);
	uint32_t epoch = epoch_of(w, job, left_of(job)), gpus = 0;
	char placement[MOST_PLACEMENT];
	bool is_modelled = false;
	for (uint32_t i = 0; i < job->alloc.n; i++)
		gpus += pool_pieces(&job->alloc)[i].gpus;
	struct way x = { .model = model_on(w, k->app, job->alloc.type), .nodes = job->alloc.n, .gpus = gpus };
	if (!(choose_batch(w, job, epoch, &x) > 0)) /* the requested size, regardless of the limits */
		x.atomic = fmax(1, x.atomic);
	put_placement(job, placement);
	x.placement = w->config->adapt->times.n ? placement : NULL;
	double rate = speed(w->config->adapt, k->app, epoch, &x, &is_modelled) / speed_requested(w, k, epoch, x.model);
	w->totals.untimed_starts += is_modelled && x.placement;
	belief_note(&job->seen, x.nodes, x.gpus, x.atomic);
	return rate;
}

double adapt_rate_at(const struct orr_jobs *w, const struct job *job, uint32_t gpus)
{
	const struct adapt_kind *k = kind_of(w, job);
	uint32_t epoch = epoch_of(w, job, left_of(job));
	struct way x = { .model = &w->config->adapt->apps->app[k->app].model, .nodes = fewest_nodes(w, gpus), .gpus = gpus };
	bool is_modelled;
	double believed = gpus ? choose_batch(w, job, epoch, &x) : 0;
	if (!(believed > 0))
		return gpus == job->gpus;
	if (w->config->adapt->files.profiles == ADAPT_PROFILES_KNOWN)
		return speed(w->config->adapt, k->app, epoch, &x, &is_modelled) / k->speed[epoch];
	return believed / (k->speed[epoch] * x.model->init_batch);
}

double adapt_goodput(const struct orr_jobs *w, const struct job *job, uint32_t gpu_type, uint32_t nodes, uint32_t gpus)
{
	const struct adapt_kind *k = kind_of(w, job);
	struct way x = { .model = model_on(w, k->app, gpu_type), .nodes = nodes, .gpus = gpus };
	return gpus && nodes && nodes <= gpus ? choose_batch(w, job, epoch_of(w, job, left_of(job)), &x) : 0;
}

uint32_t adapt_most_gpus(const struct orr_jobs *w, const struct job *job)
{
	const struct goodput_model *m = &w->config->adapt->apps->app[kind_of(w, job)->app].model;
	return (uint32_t)fmin(UINT32_MAX, floor(m->max_batch / m->min_local));
}

/* The published simulator works in steps of 60 s. An epoch ends after a whole number of seconds, rounded half to even. An end that rounding
 * moves back to the start of a step is after the policy's call at that time. */
static int64_t whole_seconds_end(int64_t from_ns, double seconds)
{
	int64_t from_s = llrint((double)from_ns / 1e9), end_s = from_s + llrint(fmin(seconds, 9e9));
	bool is_moved_back = (double)end_s < (double)from_s + seconds && end_s % STEP_S == 0;
	int64_t end_ns = end_s * INT64_C(1000000000) + is_moved_back;
	return end_ns > from_ns ? end_ns : from_ns;
}

int64_t adapt_epoch_end(const struct orr_jobs *w, const struct job *job, int64_t *left)
{
	const struct adapt_kind *k = kind_of(w, job);
	int64_t now_left = left_of(job);
	uint32_t epoch = epoch_of(w, job, now_left);
	*left = job->duration - k->done_ns[epoch];
	double need_ns = (double)(now_left - *left) / job->work.rate;
	if (w->config->adapt->files.epochs == ADAPT_EPOCHS_SECONDS)
		return whole_seconds_end(job->work.progress_from, need_ns / 1e9);
	return num_add_sat(job->work.progress_from, need_ns < 9e18 ? (int64_t)ceil(need_ns) : INT64_MAX);
}

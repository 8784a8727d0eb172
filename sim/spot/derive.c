/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/derive.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "hwmodel/cost.h"
#include "hwmodel/device.h"
#include "hwmodel/dnn.h"
#include "hwmodel/profile.h"
#include "policies/step/stages.h"
#include "step/step.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { ITERATIONS = 2, LOSSES = 3, MAX_THREADS = 256 };
#define MAX_STEP_S 9e9

/* Input common to all shapes; constant during the runs. */
struct source {
	const struct elastic_step *step;
	const struct orr_policy *policy;
	enum precision precision;
	struct dnn *dnn;
	struct device *device;
	struct profile *profile;
	struct cost *cost;
	uint32_t places; /* number of places at which the model can be cut */
};

static void source_free(struct source *x)
{
	cost_free(x->cost);
	profile_free(x->profile);
	device_free(x->device);
	dnn_free(x->dnn);
}

/* Counts the places. A stage begins at a layer outside any block, except a softmax at the end, which belongs to the output layer, or at the
 * first layer of a block (policies/step/stages.c). */
static uint32_t count_places(const struct dnn *d)
{
	const struct dnn_layer *last = &d->layer[d->n_layers - 1];
	uint32_t n = 0;
	for (uint32_t l = 0; l < d->n_layers; l++)
		n += !l || d->layer[l].block == DNN_NO_BLOCK || d->layer[l].block != d->layer[l - 1].block;
	bool has_loss = d->n_layers > 1 && last->kind == ORR_LAYER_SOFTMAX && last->block == DNN_NO_BLOCK &&
			last[-1].kind == ORR_LAYER_LINEAR && last[-1].block == DNN_NO_BLOCK;
	return n - has_loss;
}

static int wrong(const struct elastic *job, const char *key, const struct orr_error *why, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "job %.80s: $.step.%s: %.400s", job->name, key, why->text);
}

static int source_load(const struct elastic *job, const struct derive *d, struct source *x, struct orr_error *err)
{
	struct orr_error why = { 0 };
	*x = (struct source){ .step = job->step, .policy = d->policy };
	if (!precision_named(job->step->precision, &x->precision))
		return orr_fail(err, ORR_EINPUT, "job %.80s: $.step.precision: unknown: expected fp32, tf32, fp16, bf16 or fp8", job->name);
	if (!(x->dnn = dnn_load(job->step->model, &why)))
		return wrong(job, "model", &why, err);
	if (!(x->device = device_load(job->step->device, &why)))
		return wrong(job, "device", &why, err);
	const char *profile = profile_for_device(x->device->profile_of);
	if (profile && !(x->profile = profile_load(profile, &why)))
		return wrong(job, "device", &why, err);
	struct cost_options o = { .precision = x->precision, .profile = x->profile };
	if (!(x->cost = cost_new(x->dnn, x->device, &o, &why)))
		return wrong(job, "model", &why, err);
	x->places = count_places(x->dnn);
	return ORR_OK;
}

/* ---- one shape ---- */

/* The nodes of a shape and the configuration of its runs. */
struct shape {
	const struct source *source;
	uint32_t pipelines, depth;
	struct cluster *cluster;
	struct topo *topo;
	struct orr_args *options;
	struct step_config config;
	struct orr_error *err;
};

static int set(struct orr_args *a, const char *name, const char *text, struct orr_error *err)
{
	return args_set(a, name, text, err);
}

static int set_number(struct orr_args *a, const char *name, double v, struct orr_error *err)
{
	char text[NUM_REAL_MAX];
	num_put_real(text, v);
	return args_set(a, name, text, err);
}

static void shape_end(struct shape *x)
{
	args_free(x->options);
	topo_free(x->topo);
	cluster_free(x->cluster);
}

static int shape_begin(const struct source *s, uint32_t pipelines, uint32_t depth, struct shape *x, struct orr_error *err)
{
	char cluster[32], net[128], rate[NUM_REAL_MAX], latency[NUM_REAL_MAX];
	*x = (struct shape){ .source = s, .pipelines = pipelines, .depth = depth, .err = err };
	snprintf(cluster, sizeof cluster, "%ux1:gpu", pipelines * depth);
	num_put_real(rate, s->step->node_Bps / 1e9);
	num_put_real(latency, s->step->latency_s * 1e6 / 2); /* two links connect two nodes: each carries half */
	snprintf(net, sizeof net, "star:bw=%sGBps,lat=%sus", rate, latency);
	x->cluster = cluster_load(cluster, err);
	x->topo = x->cluster ? topo_load(x->cluster, net, 1, err) : NULL;
	x->options = x->topo ? args_new(step_options, "step", err) : NULL;
	if (!x->options || set_number(x->options, "iterations", ITERATIONS, err) || set(x->options, "optimizer", s->step->optimizer, err) ||
		set(x->options, "ignore_memory", "true", err))
		return ORR_EINPUT;
	x->config = (struct step_config){ .cluster = x->cluster,
		.topo = x->topo,
		.dnn = s->dnn,
		.cost = (const struct cost *const *)&s->cost,
		.device = (const struct device *const *)&s->device,
		.options = x->options,
		.batch = s->step->micro_batch,
		.precision = s->precision,
		.seed = 1,
		.spans = 1 };
	return ORR_OK;
}

/* Returns the number of micro-batches of the slowest pipeline, when the batch is distributed over the pipelines. */
static uint32_t micro_batches(const struct elastic_step *t, uint32_t pipelines)
{
	uint32_t all = (t->batch + t->micro_batch - 1) / t->micro_batch;
	return (all + pipelines - 1) / pipelines;
}

/* Settings of one run of a shape. */
struct question {
	const char *redundancy;
	int64_t failed; /* stage; -1: none */
	uint32_t micro_batches, redo;
};

static int settings(const struct shape *x, const struct question *q, struct orr_args *a)
{
	const struct elastic_step *t = x->source->step;
	double samples = (double)q->micro_batches * x->pipelines * t->micro_batch;
	return set_number(a, "stages", x->depth, x->err) || set_number(a, "micro_batches", q->micro_batches, x->err) ||
			       set_number(a, "global_batch", samples, x->err) || set(a, "redundancy", q->redundancy, x->err) ||
			       set(a, "cut", t->cut, x->err) || set(a, "recompute", t->recompute, x->err) ||
			       set_number(a, "failed", (double)q->failed, x->err) || set_number(a, "redo", q->redo, x->err)
		       ? ORR_EINPUT
		       : ORR_OK;
}

/* Returns the number of backward passes of a node that are complete, averaged over the time of the last iteration. */
static double mean_done(const struct step_result *r, uint32_t node, double from_s, double step_s)
{
	double sum = 0;
	for (size_t i = 0; i < r->n_spans; i++)
		if (r->span[i].device == node && r->span[i].work == ORR_BACKWARD)
			sum += fmin(fmax((from_s + step_s - r->span[i].end_s) / step_s, 0), 1);
	return sum;
}

/* Returns the end of the last repeated backward pass. All nodes wait for it from the end of the previous iteration. */
static double redo_end(const struct step_result *r, double from_s)
{
	double end = from_s;
	for (size_t i = 0; i < r->n_spans; i++)
		if (r->span[i].label && !strncmp(r->span[i].label, "redo", 4))
			end = fmax(end, r->span[i].end_s);
	return end;
}

static struct derive_kind measured(const struct step_result *r, double step_s, double nodes)
{
	struct derive_kind k = { .step_s = step_s };
	double busy = 0, extra = 0;
	for (size_t i = 0; i < r->n_spans; i++) {
		double part = r->span[i].work < ORR_WORK_KINDS ? r->span[i].end_s - r->span[i].start_s : 0;
		busy += part;
		extra += r->span[i].work == ORR_OTHER_WORK ? part : 0;
	}
	k.bubble = fmax(1 - busy / (nodes * step_s), 0);
	k.redundant = fmin(extra / (nodes * step_s), 1);
	for (size_t i = 0; i < r->n_devices; i++) {
		k.peak_bytes = fmax(k.peak_bytes, r->device[i].peak_memory_bytes);
		k.sent_bytes += r->device[i].sent_bytes;
	}
	return k;
}

/* Performs one run. done: mean_done() by node of the first pipeline; pause_s: time of repeated passes. Either may be NULL. */
static int run(const struct shape *x, const struct question *q, struct derive_kind *out, double *done, double *pause_s)
{
	struct step_result r = { 0 };
	struct orr_args *a = args_new(x->source->policy->params, "bamboo", x->err);
	int rc = a ? settings(x, q, a) : ORR_EINPUT;
	if (!rc)
		rc = step_run(&x->config, x->source->policy, a, "bamboo", &r, x->err);
	if (!rc && (r.n_iterations != ITERATIONS || !(r.iteration[ITERATIONS - 1].end_s < MAX_STEP_S)))
		rc = orr_fail(x->err, ORR_EINPUT, "a step takes too long: expected less than 73 years");
	if (!rc) {
		double from = r.iteration[ITERATIONS - 2].end_s, step_s = r.iteration[ITERATIONS - 1].end_s - from;
		*out = measured(&r, step_s, (r.was_merged ? 1 : x->pipelines) * (double)(q->failed < 0 ? x->depth : x->depth - 1));
		for (uint32_t i = 0; done && i < x->depth; i++)
			done[i] = mean_done(&r, i, from, step_s);
		if (pause_s)
			*pause_s = redo_end(&r, from) - from;
	}
	step_result_free(&r);
	args_free(a);
	return rc;
}

static void add_kind(struct derive_kind *sum, const struct derive_kind *x, double part)
{
	sum->step_s += part * x->step_s;
	sum->bubble += part * x->bubble;
	sum->redundant += part * x->redundant;
	sum->peak_bytes = fmax(sum->peak_bytes, x->peak_bytes);
}

/*
 * Simulates the loss of the first, the middle or the last stage, with equal probability (fewer cases if there are fewer than three stages).
 * The pause does not depend on later micro-batches, so the run that measures it has at most `depth` micro-batches.
 */
static int run_losses(const struct shape *x, const struct question *with, const double *done, struct derive_row *row)
{
	uint32_t stage[LOSSES] = { 0, x->depth / 2, x->depth - 1 }, n = 0;
	for (uint32_t i = 0; i < LOSSES; i++)
		if (!n || stage[i] != stage[n - 1])
			stage[n++] = stage[i];
	for (uint32_t i = 0; i < n; i++) {
		struct question lost = *with, again = *with;
		struct derive_kind k, ignored;
		double pause_s = 0;
		lost.failed = again.failed = stage[i];
		again.micro_batches = again.micro_batches < x->depth ? again.micro_batches : x->depth;
		again.redo = strcmp(with->redundancy, "both") ? (uint32_t)floor(done[stage[i]] + 0.5)
							      : 0; /* if both replicas exist, no pass is repeated */
		if (run(x, &lost, &k, NULL, NULL) || (again.redo && run(x, &again, &ignored, NULL, &pause_s)))
			return ORR_EINPUT;
		add_kind(&row->kind[ELASTIC_DEGRADED], &k, 1.0 / n);
		row->failover_s += pause_s / n;
	}
	return ORR_OK;
}

/* Counts the bytes of activations. A single pipeline sends activations forward, as many bytes of gradients backward, and the sum of
 * the gradients of a table that the first and the last stage share. */
static int count_activations(const struct shape *x, uint32_t micro_batches, struct derive_row *row)
{
	struct orr_step *step = step_facts_new(&x->config, x->err);
	struct orr_step_facts f;
	if (!step)
		return ORR_EINPUT;
	orr_step_facts(step, &f);
	double shared = 2 * stage_tied_params(step) * f.gradient_bytes;
	step_facts_free(step);
	row->activation_bytes = fmax(row->kind[ELASTIC_PLAIN].sent_bytes - shared, 0) / 2 / (row->depth - 1) /
				((double)micro_batches * x->source->step->micro_batch);
	return ORR_OK;
}

static int run_shape(const struct source *s, struct derive_row *row, struct orr_error *err)
{
	struct shape x;
	struct derive_kind *kind = row->kind;
	double *done = mem_zalloc(row->depth, sizeof *done), most = s->device->memory_bytes;
	uint32_t m = micro_batches(s->step, row->pipelines);
	struct question plain = { "none", -1, m, 0 }, with = { s->step->redundancy, -1, m, 0 };
	bool is_redundant = row->depth > 1 && strcmp(s->step->redundancy, "none");
	int rc = shape_begin(s, row->pipelines, row->depth, &x, err);
	if (!rc)
		rc = run(&x, &plain, &kind[ELASTIC_PLAIN], NULL, NULL);
	if (!rc && row->pipelines == 1 && row->depth > 1)
		rc = count_activations(&x, m, row);
	if (!rc && is_redundant && kind[ELASTIC_PLAIN].peak_bytes <= most)
		rc = run(&x, &with, &kind[ELASTIC_REDUNDANT], done, NULL);
	if (!rc && kind[ELASTIC_REDUNDANT].step_s > 0 && kind[ELASTIC_REDUNDANT].peak_bytes <= most)
		rc = run_losses(&x, &with, done, row);
	shape_end(&x);
	mem_free(done);
	return rc;
}

/* ---- all shapes ---- */

struct work {
	const struct source *source;
	struct derive_row *row;
	struct orr_error *err; /* [n] */
	size_t n, next;
	pthread_mutex_t lock;
};

static void *worker(void *ctx)
{
	struct work *w = ctx;
	for (;;) {
		pthread_mutex_lock(&w->lock);
		size_t i = w->next < w->n ? w->next++ : w->n;
		pthread_mutex_unlock(&w->lock);
		if (i == w->n)
			return NULL;
		run_shape(w->source, &w->row[i], &w->err[i]);
	}
}

static int run_all(const struct source *s, struct derive_row *row, size_t n, uint32_t threads, struct orr_error *err)
{
	struct work w = { .source = s, .row = row, .err = mem_zalloc(n + 1, sizeof *w.err), .n = n };
	pthread_t thread[MAX_THREADS];
	uint32_t started = 0;
	int rc = ORR_OK;
	pthread_mutex_init(&w.lock, NULL);
	while (started + 1 < threads && started < MAX_THREADS && started + 1 < n && !pthread_create(&thread[started], NULL, worker, &w))
		started++;
	worker(&w);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_mutex_destroy(&w.lock);
	for (size_t i = 0; i < n && !rc; i++) /* reports the first error in the order of shapes, independent of threads */
		if (w.err[i].code)
			rc = orr_fail(
				err, w.err[i].code, "%u pipelines of depth %u: %.400s", row[i].pipelines, row[i].depth, w.err[i].text);
	mem_free(w.err);
	return rc;
}

static struct derive_row *list_shapes(const struct source *s, size_t *n)
{
	const struct elastic_step *t = s->step;
	struct derive_row *row = NULL;
	size_t cap = 0;
	*n = 0;
	for (uint32_t d = 1; d <= t->max_pipelines; d++)
		for (uint32_t p = t->min_depth; p <= t->max_depth && p <= s->places; p++) {
			if ((uint64_t)d * p > t->max_nodes || (uint64_t)d * t->micro_batch > t->batch)
				continue;
			MEM_GROW(row, *n, cap);
			row[(*n)++] = (struct derive_row){ .pipelines = d, .depth = p };
		}
	return row;
}

static int64_t to_ns(double s)
{
	return s > 0 ? (int64_t)fmax((double)llround(s * 1e9), 1) : 0;
}

/* Computes means over the cuts into `depth` stages, which do not depend on the number of pipelines. */
static double activations(const struct derive_row *row, size_t n, uint32_t depth)
{
	for (size_t i = 0; i < n; i++)
		if (row[i].pipelines == 1 && row[i].depth == depth)
			return row[i].activation_bytes;
	return 0;
}

static void take(struct elastic *job, const struct source *s, const struct derive_row *row, size_t n)
{
	job->point = mem_zalloc(n + 1, sizeof *job->point);
	for (size_t i = 0; i < n; i++) {
		struct elastic_point p = { .pipelines = row[i].pipelines, .depth = row[i].depth };
		for (int k = 0; k < ELASTIC_KINDS; k++)
			if (row[i].kind[k].peak_bytes <= s->device->memory_bytes)
				p.step_ns[k] = to_ns(row[i].kind[k].step_s);
		if (!p.step_ns[ELASTIC_PLAIN])
			continue;
		if (p.step_ns[ELASTIC_REDUNDANT])
			p.redundant = row[i].kind[ELASTIC_REDUNDANT].redundant;
		if (p.step_ns[ELASTIC_DEGRADED])
			p.failover_ns = to_ns(row[i].failover_s);
		p.activation_bytes = activations(row, n, p.depth);
		job->point[job->n_points++] = p;
	}
}

/* Fills in values that the file lacks. The on-demand baseline is the shape with the shortest plain step on its number of nodes. */
static void fill_in(struct elastic *job, const struct source *s)
{
	bool is_mixed = s->precision == PRECISION_FP16 || s->precision == PRECISION_BF16;
	double moments = !strcmp(s->step->optimizer, "adam") ? 2 : !strcmp(s->step->optimizer, "momentum") ? 1 : 0;
	if (!(job->parameters > 0))
		job->parameters = s->dnn->params;
	if (!(job->state_bytes > 0)) /* weights (in mixed precision also master copies) and moments */
		job->state_bytes = job->parameters * ((is_mixed ? 6 : 4) + 4 * moments);
	if (!job->on_demand_nodes || job->on_demand_step_ns)
		return;
	for (uint32_t i = 0; i < job->n_points; i++) {
		const struct elastic_point *p = &job->point[i];
		if ((uint64_t)p->pipelines * p->depth <= job->on_demand_nodes &&
			(!job->on_demand_step_ns || p->step_ns[ELASTIC_PLAIN] < job->on_demand_step_ns))
			job->on_demand_step_ns = p->step_ns[ELASTIC_PLAIN];
	}
}

int elastic_derive(struct elastic *job, const struct derive *d, struct orr_error *err)
{
	struct source s;
	struct derive_row *row = NULL;
	size_t n = 0;
	if (!job->step || job->n_points)
		return ORR_OK;
	int rc = source_load(job, d, &s, err);
	if (!rc) {
		struct orr_error why = { 0 };
		row = list_shapes(&s, &n);
		rc = run_all(&s, row, n, d->threads, &why);
		if (rc)
			orr_fail(err, rc, "job %.80s: %.400s", job->name, why.text);
	}
	if (!rc) {
		take(job, &s, row, n);
		if (!job->n_points)
			rc = orr_fail(err, ORR_EINPUT,
				"job %.80s: $.step: none of the %zu shapes fits into the memory of %s: expected a smaller model or more "
				"memory",
				job->name, n, s.device->name);
		fill_in(job, &s);
	}
	if (!rc && d->report)
		*d->report = (struct derive_report){ row, n };
	else
		mem_free(row);
	source_free(&s);
	return rc;
}

void derive_report_free(struct derive_report *r)
{
	mem_free(r->row);
	*r = (struct derive_report){ 0 };
}

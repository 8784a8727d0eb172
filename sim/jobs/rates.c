/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/world.h"

#include "base/mem.h"
#include "base/num.h"
#include "hwmodel/throughput.h"
#include "jobs/limits.h"
#include "jobs/training.h"
#include "jobs/type_speed.h"

#include <math.h>
#include <string.h>

static double throughput(const struct orr_jobs *w, uint32_t model, uint32_t gpus, const char *type)
{
	return throughput_lookup(w->config->throughput, type, strtab_text(w->strings, model), (int)gpus);
}

/* Returns the GPU type that durations and rates refer to. */
static const char *reference(const struct orr_jobs *w)
{
	return *w->options.reference_type ? w->options.reference_type : w->config->cluster->n_types ? w->config->cluster->type_name[0] : "";
}

/* adapt_kind_of_row() and training_of_row(), which few runs need. */
static uint32_t adapt_of(struct orr_jobs *w, const struct job_rec *r)
{
	return w->config->adapt ? adapt_kind_of_row(w, r) : NONE;
}

static uint32_t training_of(struct orr_jobs *w, const struct job_rec *r, bool *is_good)
{
	*is_good = true;
	return w->places ? training_of_row(w, r, is_good) : NONE;
}

static bool has_table(const struct orr_jobs *w, uint32_t model)
{
	return w->config->throughput && model;
}

/* Returns the time of the iterations on the reference place; 0 if the job fits on no place and will therefore be refused. */
static int64_t work_of_training(struct orr_jobs *w, const struct job_rec *r, uint32_t training)
{
	double ns = r->iterations * training_iteration_s(w, training) * 1e9;
	if (ns < 9e18)
		return llrint(ns);
	orr_fail(&w->error, ORR_EINPUT, "job %llu (line %llu of the trace): %g iterations: expected at most 146 years of work",
		(unsigned long long)r->number, (unsigned long long)r->line, r->iterations);
	return -1;
}

int64_t work_of(struct orr_jobs *w, const struct job_rec *r)
{
	bool is_good;
	uint32_t adapt = adapt_of(w, r);
	if (adapt != NONE)
		return adapt_work(w, adapt, r);
	if (r->duration_ns >= 0)
		return r->duration_ns;
	uint32_t training = training_of(w, r, &is_good);
	if (training != NONE && r->iterations > 0)
		return is_good ? work_of_training(w, r, training) : -1;
	if (r->iterations > 0 && has_table(w, r->model)) {
		double per_s = throughput(w, r->model, r->gpus, reference(w));
		double ns = r->iterations / per_s * 1e9;
		if (per_s > 0 && ns < 9e18)
			return llrint(ns);
		orr_fail(&w->error, ORR_EINPUT,
			"job %llu: --throughputs has no rate for model \"%s\" on %u GPUs of type \"%s\": expected a cluster with a GPU "
			"type that the file has, as in 12x1:v100",
			(unsigned long long)r->number, strtab_text(w->strings, r->model), r->gpus, reference(w));
		return -1;
	}
	orr_fail(&w->error, ORR_EINPUT,
		"job %llu (line %llu of the trace): has no duration: expected a model and a strategy, --throughputs FILE, or "
		"--applications "
		"FILE with its model",
		(unsigned long long)r->number, (unsigned long long)r->line);
	return -1;
}

double rate_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type)
{
	if (job->training != NONE)
		return type < w->config->cluster->n_types ? training_rate_on(w, job->training, type) : 0;
	if (type >= w->config->cluster->n_types)
		return 1;
	double own = job->adapt != NONE ? adapt_type_rate(w, job, type) : 0;
	if (own > 0)
		return own;
	if (job->adapt != NONE || !has_table(w, job->model))
		return w->config->speeds && !job->is_on_own_type ? type_speed_of(w->config->speeds, w->config->draw, job->class_model, type)
								 : 1;
	double ref = throughput(w, job->model, job->gpus, reference(w));
	double on = throughput(w, job->model, job->gpus, w->config->cluster->type_name[type]);
	return ref > 0 && on > 0 ? on / ref : 0;
}

uint32_t rates_order(const struct orr_jobs *w, const struct job *job, uint32_t type[CLUSTER_MAX_TYPES])
{
	uint32_t n = w->config->cluster->n_types;
	double rate[CLUSTER_MAX_TYPES];
	for (uint32_t t = 0; t < n; t++) {
		uint32_t i = t;
		double own = w->options.is_fastest_first ? rate_on_type(w, job, t) : 0;
		for (; i && rate[i - 1] < own; i--) { /* insertion sort: equal rates keep the cluster's order */
			rate[i] = rate[i - 1];
			type[i] = type[i - 1];
		}
		rate[i] = own;
		type[i] = t;
		*w->use |= i < t ? JOBS_USED_TYPE_ORDER | JOBS_USED_SPEEDS : 0;
	}
	*w->use |= JOBS_USED_TRIES;
	return n;
}

double throughput_on_type(const struct orr_jobs *w, const struct job *job, uint32_t type)
{
	double rate = rate_on_type(w, job, type);
	if (!(job->iterations > 0 && job->duration > 0))
		return rate;
	/* Uses the value of the table, without rounding to ns, if it gave the duration. */
	if (job->training == NONE && has_table(w, job->model) && rate > 0 && type < w->config->cluster->n_types) {
		double per_s = throughput(w, job->model, job->gpus, reference(w));
		if (llrint(job->iterations / per_s * 1e9) == job->duration)
			return throughput(w, job->model, job->gpus, w->config->cluster->type_name[type]);
	}
	return rate * job->iterations / ((double)job->duration / 1e9);
}

/* Returns the types whose GPUs have the memory that the job uses. */
static uint64_t types_with_memory(const struct orr_jobs *w, const struct job_rec *r)
{
	uint64_t mask = UINT64_MAX;
	for (uint32_t t = 0; r->gpu_mem_mib && w->config->gpu_mem_mib && t < w->config->cluster->n_types; t++)
		if (w->config->gpu_mem_mib[t] > 0 && r->gpu_mem_mib > w->config->gpu_mem_mib[t])
			mask &= ~(UINT64_C(1) << t);
	return mask;
}

static uint64_t runnable_types(struct orr_jobs *w, const struct job_rec *r)
{
	uint64_t mask =
		cluster_type_mask(w->config->cluster, r->gpu_types ? strtab_text(w->strings, r->gpu_types) : "") & types_with_memory(w, r);
	bool is_good;
	uint32_t training = training_of(w, r, &is_good);
	if (training != NONE)
		return mask & training_types(w, training);
	if (!has_table(w, r->model))
		return mask;
	if (!(throughput(w, r->model, r->gpus, reference(w)) > 0))
		return 0; /* rates are relative to this type, so no rate is known */
	for (uint32_t t = 0; t < w->config->cluster->n_types; t++)
		if (!(throughput(w, r->model, r->gpus, w->config->cluster->type_name[t]) > 0))
			mask &= ~(UINT64_C(1) << t);
	return mask;
}

/* Returns the smaller of `gpus` and the GPUs of the cluster's largest type. */
static uint32_t at_most_of_a_type(const struct cluster *c, uint64_t types, uint32_t gpus)
{
	uint32_t sum[CLUSTER_MAX_TYPES] = { 0 }, most = 0;
	for (uint32_t i = 0; i < c->n_nodes && most < gpus; i++) {
		uint32_t t = c->node[i].type;
		if (t == CLUSTER_NO_TYPE || !(types >> t & 1))
			continue;
		sum[t] += c->node[i].gpus;
		most = sum[t] > most ? sum[t] : most;
	}
	return most && most < gpus ? most : gpus;
}

struct pool_request request_of_row(struct orr_jobs *w, const struct job_rec *r)
{
	uint64_t types = r->gpus ? runnable_types(w, r) : 0;
	uint32_t gpus = adapt_of(w, r) != NONE ? at_most_of_a_type(w->config->cluster, types, r->gpus) : r->gpus;
	return (struct pool_request){ .gpus = gpus,
		.gpu_milli = r->gpus == 1 && r->gpu_milli < 1000 ? r->gpu_milli : 1000,
		.cpu_milli = r->cpu_milli,
		.mem_mib = r->mem_mib,
		.types = types };
}

/* Parses "1:1;2:1.9;4:3.5": ascending sizes, positive rates. */
static bool parse_speedup(const char *text, struct speedup *s)
{
	uint32_t cap = 0;
	for (const char *p = text; *p;) {
		size_t len = strcspn(p, ";");
		const char *colon = memchr(p, ':', len);
		int64_t gpus;
		double rate;
		if (!colon || !num_int(p, (size_t)(colon - p), &gpus) || !num_real(colon + 1, len - (size_t)(colon + 1 - p), &rate))
			return false;
		if (gpus < 1 || gpus > (1 << 20) || !(rate > 0) || rate > 1e9)
			return false;
		if (s->n && gpus <= s->size[s->n - 1].gpus)
			return false;
		MEM_GROW(s->size, s->n, cap);
		s->size[s->n++] = (struct speed){ (uint32_t)gpus, rate };
		p += len + (p[len] == ';');
	}
	return s->n > 0;
}

bool speedup_load(struct orr_jobs *w, const struct job_rec *r)
{
	if (!r->speedup)
		return true;
	if (r->speedup >= w->speedups.n) {
		uint32_t n = (uint32_t)strtab_count(w->strings);
		w->speedups.of = mem_realloc(w->speedups.of, n, sizeof *w->speedups.of);
		memset(w->speedups.of + w->speedups.n, 0, (n - w->speedups.n) * sizeof *w->speedups.of);
		w->speedups.n = n;
	}
	struct speedup *s = &w->speedups.of[r->speedup];
	if (!s->is_parsed) {
		s->is_parsed = true;
		if (!parse_speedup(strtab_text(w->strings, r->speedup), s))
			s->n = 0;
	}
	for (uint32_t i = 0; i < s->n; i++)
		if (s->size[i].gpus == r->gpus)
			return true;
	orr_fail(&w->error, ORR_EINPUT,
		"job %llu (line %llu of the trace): speedup: expected SIZE:RATE;SIZE:RATE.. with ascending sizes, among them %u (its "
		"request), found \"%.100s\"",
		(unsigned long long)r->number, (unsigned long long)r->line, r->gpus, strtab_text(w->strings, r->speedup));
	return false;
}

uint32_t rates_gpu_limit(const struct orr_jobs *w, const struct job *job)
{
	bool has = w->limits && job->user && w->limits->milli < INT64_MAX;
	return has && w->limits->milli / 1000 < UINT32_MAX ? (uint32_t)(w->limits->milli / 1000) : UINT32_MAX;
}

double rate_at_size(struct orr_jobs *w, const struct job *job, uint32_t gpus)
{
	if (w->limits && gpus > rates_gpu_limit(w, job))
		return 0;
	if (job->adapt != NONE)
		return adapt_rate_at(w, job, gpus);
	if (gpus == job->gpus)
		return 1;
	if (job->is_linear)
		return gpus ? (double)gpus / job->gpus : 0;
	if (!job->speedup)
		return 0;
	const struct speedup *s = &w->speedups.of[job->speedup];
	double at = 0, base = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->size[i].gpus == gpus)
			at = s->size[i].rate;
		if (s->size[i].gpus == job->gpus)
			base = s->size[i].rate;
	}
	if (at > 0 && job->training != NONE)
		return training_rate_at(w, job, gpus); /* sizes from the trace, speeds from the step world */
	return base > 0 ? at / base : 0;
}

uint32_t rates_most_gpus(const struct orr_jobs *w, const struct job *job)
{
	if (job->adapt != NONE)
		return adapt_most_gpus(w, job);
	if (job->is_linear || !job->speedup)
		return job->is_linear ? UINT32_MAX : 0;
	const struct speedup *s = &w->speedups.of[job->speedup];
	uint32_t most = job->gpus;
	for (uint32_t i = 0; i < s->n; i++)
		most = s->size[i].gpus > most ? s->size[i].gpus : most;
	return most;
}

static uint32_t class_model_named(struct orr_jobs *w, uint32_t name)
{
	struct class_models *m = &w->class_models;
	if (name >= m->n) {
		uint32_t n = (uint32_t)strtab_count(w->strings);
		m->of = mem_realloc(m->of, n, sizeof *m->of);
		memset(m->of + m->n, 0, (n - m->n) * sizeof *m->of);
		m->n = n;
	}
	if (!m->of[name])
		m->of[name] = type_speeds_model(w->config->speeds, strtab_text(w->strings, name)) + 2;
	return m->of[name] - 2;
}

/* Records the first case of a job that is faster on a later type of the cluster. */
static void note_slower_first(struct orr_jobs *w, const struct job *job)
{
	struct totals *n = &w->totals;
	uint64_t types = w->shapes.shape[job->shape].request.types;
	double last = INFINITY;
	if (n->has_slower_first || w->options.is_fastest_first || !job->gpus)
		return;
	for (uint32_t t = 0; t < w->config->cluster->n_types && !n->has_slower_first; t++) {
		if (!(types >> t & 1))
			continue;
		double rate = rate_on_type(w, job, t);
		n->faster = t;
		n->has_slower_first = rate > last;
		n->slower = n->has_slower_first ? n->slower : t;
		last = rate;
	}
}

void rates_arrive(struct orr_jobs *w, struct job *job, const struct job_rec *r)
{
	const struct jobs_config *c = w->config;
	struct totals *n = &w->totals;
	job->class_model = NONE;
	if (job->adapt != NONE) {
		n->by_goodput++;
		return;
	}
	if (job->training != NONE)
		n->by_training++;
	else if (has_table(w, r->model))
		n->by_table++;
	else if (c->speeds) {
		const char *types = r->gpu_types ? strtab_text(w->strings, r->gpu_types) : "";
		job->is_on_own_type = !*w->options.reference_type && *types && !strchr(types, '|');
		job->class_model = r->model ? class_model_named(w, r->model) : NONE;
		n->by_model += job->class_model != NONE;
		n->by_class += job->class_model == NONE;
		if (c->draw && job->class_model == NONE)
			job->class_model = type_draw_model(c->draw, r->number);
	}
	if (job->training != NONE || has_table(w, r->model))
		note_slower_first(w, job);
}

void rates_free(struct orr_jobs *w)
{
	adapt_kinds_free(&w->adapt_kinds);
	mem_free(w->class_models.of);
	for (uint32_t i = 0; i < w->speedups.n; i++)
		mem_free(w->speedups.of[i].size);
	mem_free(w->speedups.of);
}

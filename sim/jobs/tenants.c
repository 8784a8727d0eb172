/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/tenants.h"

#include "base/mem.h"
#include "jobs/world.h"
#include "results/stats.h"
#include "results/summary.h"

#include <math.h>

/* A job is called unfair if it takes 5 % longer than its fair share would (Zheng et al., NSDI 2023). */
static const double UNFAIR = 1.05;

struct tenant {
	uint64_t live;
	int64_t since_ns;
	double active_ns, asked_ns, gpus; /* asked_ns: GPUs x time; gpus: of all its jobs */
	double *held_ns, *speed;          /* by type; speed: sum of GPUs x rate */
};

struct tenants {
	struct tenant **of;   /* by user; NULL: none yet */
	uint32_t n, users;    /* entries; tenants */
	struct hist *stretch; /* JCT over the time alone of completed jobs */
	double *type_gpus;    /* GPUs of the cluster by type */
};

static struct tenants *all_of(struct orr_jobs *w)
{
	if (!w->tenants) {
		w->tenants = mem_zalloc(1, sizeof *w->tenants);
		w->tenants->stretch = hist_new();
		w->tenants->type_gpus = mem_zalloc(w->config->cluster->n_types + 1u, sizeof(double));
		for (uint32_t i = 0; i < w->config->cluster->n_nodes; i++)
			if (w->config->cluster->node[i].gpus)
				w->tenants->type_gpus[w->config->cluster->node[i].type] += w->config->cluster->node[i].gpus;
	}
	return w->tenants;
}

void tenants_free(struct tenants *t)
{
	for (uint32_t i = 0; t && i < t->n; i++)
		if (t->of[i]) {
			mem_free(t->of[i]->held_ns);
			mem_free(t->of[i]);
		}
	if (t) {
		mem_free(t->of);
		mem_free(t->type_gpus);
		hist_free(t->stretch);
	}
	mem_free(t);
}

/* Returns the tenant of a job; NULL: the job has no user. */
static struct tenant *tenant_of(struct orr_jobs *w, const struct job *job)
{
	struct tenants *t = all_of(w);
	if (!job->user)
		return NULL;
	if (job->user >= t->n) {
		uint32_t n = 2 * job->user + 16;
		t->of = mem_realloc(t->of, n, sizeof(struct tenant *));
		for (uint32_t i = t->n; i < n; i++)
			t->of[i] = NULL;
		t->n = n;
	}
	struct tenant **at = &t->of[job->user];
	if (!*at) {
		uint32_t types = w->config->cluster->n_types;
		*at = mem_zalloc(1, sizeof **at);
		(*at)->held_ns = mem_zalloc(2 * (size_t)types + 1, sizeof(double));
		(*at)->speed = (*at)->held_ns + types;
		t->users++;
	}
	return *at;
}

void tenants_arrive(struct orr_jobs *w, const struct job *job)
{
	struct tenant *t = tenant_of(w, job);
	uint32_t types = w->config->cluster->n_types;
	if (!t || !job->gpus)
		return;
	if (!t->live++)
		t->since_ns = eng_now(w->engine);
	t->gpus += gpus_asked(w, job);
	for (uint32_t i = 0; i < types; i++)
		t->speed[i] += gpus_asked(w, job) * (types > 1 ? rate_on_type(w, job, i) : 1);
}

void tenants_hold(struct orr_jobs *w, const struct job *job, double gpu_milli_ns)
{
	struct tenant *t = tenant_of(w, job);
	if (t && job->gpus && job->alloc.type < w->config->cluster->n_types)
		t->held_ns[job->alloc.type] += gpu_milli_ns / 1000;
}

void tenants_end(struct orr_jobs *w, const struct job *job)
{
	struct tenant *t = tenant_of(w, job);
	if (!t || !job->gpus)
		return;
	t->asked_ns += gpus_asked(w, job) * (double)(eng_now(w->engine) - job->submit);
	if (!--t->live)
		t->active_ns += (double)(eng_now(w->engine) - t->since_ns);
}

double tenants_rate(struct orr_jobs *w, const struct job *job)
{
	const struct tenants *t = all_of(w);
	const struct pool_request *r = &w->shapes.shape[job->shape].request;
	double gpus = 0, sum = 0;
	for (uint32_t i = 0; r->gpus && job->adapt == NONE && i < w->config->cluster->n_types; i++)
		if (r->types >> i & 1) {
			gpus += t->type_gpus[i];
			sum += t->type_gpus[i] * rate_on_type(w, job, i);
		}
	return gpus > 0 && sum > 0 ? sum / gpus : 1;
}

void tenants_complete(struct orr_jobs *w, double jct_s, double alone_s)
{
	if (alone_s > 0)
		hist_add(all_of(w)->stretch, jct_s / alone_s);
}

/* ---- at the end ---- */

/* Finish-time fairness with a share that is the same for all: 1/N of the cluster, N all jobs of the run. */
static void put_static(struct orr_jobs *w, const struct tenants *t)
{
	double gpus = w->config->cluster->gpus, n = (double)hist_count(t->stretch);
	double share = fmax(1, gpus > 0 ? (double)(w->totals.arrived - w->totals.refused) / gpus : 1);
	summary_put(w->result, "ftf_static_mean", n > 0 ? hist_mean(t->stretch) / share : NAN);
	summary_put(w->result, "ftf_static_max", n > 0 ? hist_max(t->stretch) / share : NAN);
	summary_put(w->result, "ftf_unfair", n > 0 ? (double)hist_above(t->stretch, UNFAIR * share) / n : NAN);
}

/* GPUs held by type and requested, means over the time in which the tenant has jobs. */
struct bundle {
	double *held, *speed, asked, best;
};

/* Returns the speed that a bundle gives the tenant, relative to all requested GPUs on its best type; at most 1. */
static double value(const struct bundle *mine, const struct bundle *of, uint32_t types)
{
	double sum = 0, most = mine->asked * mine->best;
	for (uint32_t i = 0; i < types; i++)
		sum += mine->speed[i] * of->held[i];
	return most > 0 ? fmin(1, sum / most) : 0;
}

static uint32_t list_bundles(const struct tenants *t, struct bundle *b, uint32_t types)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tenant *x = t->of[i];
		if (!x || !(x->active_ns > 0) || !(x->asked_ns > 0))
			continue;
		struct bundle *to = &b[n++];
		*to = (struct bundle){ .held = x->held_ns, .speed = x->speed, .asked = x->asked_ns / x->active_ns };
		for (uint32_t k = 0; k < types; k++) {
			to->held[k] /= x->active_ns;
			to->speed[k] /= x->gpus;
			to->best = fmax(to->best, to->speed[k]);
		}
	}
	return n;
}

/* Returns whether a holds at least as much as b on every type. Of equal bundles, the first dominates the others. */
static bool has_all_of(const struct bundle *a, const struct bundle *b, uint32_t types)
{
	bool is_more = a < b;
	for (uint32_t i = 0; i < types; i++) {
		if (a->held[i] < b->held[i])
			return false;
		is_more |= a->held[i] > b->held[i];
	}
	return is_more;
}

/* Lists the bundles that no other bundle dominates; the most envied one is always among them. With one type the list has one bundle. */
static uint32_t list_best(const struct bundle *b, uint32_t n, uint32_t types, const struct bundle **best)
{
	uint32_t n_best = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool is_exceeded = false;
		for (uint32_t k = 0; k < n_best && !is_exceeded; k++)
			is_exceeded = has_all_of(best[k], &b[i], types);
		if (is_exceeded)
			continue;
		uint32_t kept = 0;
		for (uint32_t k = 0; k < n_best; k++)
			if (!has_all_of(&b[i], best[k], types))
				best[kept++] = best[k];
		best[kept++] = &b[i];
		n_best = kept;
	}
	return n_best;
}

static void put_users(struct orr_jobs *w, const struct tenants *t)
{
	uint32_t types = w->config->cluster->n_types;
	struct bundle *b = mem_zalloc(t->users + 1u, sizeof *b);
	uint32_t n = list_bundles(t, b, types);
	double sum = 0, sum2 = 0, envies = 0, most = 0;
	const struct bundle **best = mem_zalloc(n + 1u, sizeof *best);
	uint32_t n_best = list_best(b, n, types, best);
	for (uint32_t i = 0; i < n; i++) {
		double own = value(&b[i], &b[i], types), envy = 0;
		for (uint32_t k = 0; k < n_best; k++)
			envy = fmax(envy, value(&b[i], best[k], types) - own);
		sum += own;
		sum2 += own * own;
		envies += envy;
		most = fmax(most, envy);
	}
	if (n > 1) {
		summary_put(w->result, "tenants", n);
		summary_put(w->result, "jain_tenants", sum2 > 0 ? sum * sum / (n * sum2) : NAN);
		summary_put(w->result, "envy_mean", envies / n);
		summary_put(w->result, "envy_max", most);
	}
	mem_free(best);
	mem_free(b);
}

void tenants_metrics(struct orr_jobs *w)
{
	const struct tenants *t = all_of(w);
	int64_t now = eng_now(w->engine);
	for (uint32_t i = w->slots.first_live; i != NONE; i = w->slots.job[i].next) {
		const struct job *job = &w->slots.job[i];
		if (job->state == ORR_JOB_ENDED)
			continue;
		if (job->state == ORR_JOB_RUNNING)
			tenants_hold(w, job, (double)(now - job->booked_from) * (double)job->milli);
		tenants_end(w, job);
	}
	put_static(w, t);
	put_users(w, t);
}

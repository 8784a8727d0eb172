/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes on a run (result_note()): GPU types, partitions, traces without a job. */
#include "jobs/notes.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "jobs/quota_set.h"
#include "jobs/quota.h"
#include "jobs/type_speed.h"
#include "jobs/world.h"
#include "world/world.h"

#include <math.h>
#include <string.h>

static unsigned long long count(uint64_t n)
{
	return (unsigned long long)n;
}

static void take(struct orr_jobs *w, const char *kind, struct sbuf *b)
{
	if (b->len)
		result_note(w->result, kind, sbuf_text(b));
	sbuf_free(b);
}

/* Adds the reference of speeds, and the number of jobs by source of their speeds. */
static void say_speeds(struct orr_jobs *w)
{
	const struct totals *t = &w->totals;
	const char *ref = *w->options.reference_type ? w->options.reference_type : "the cluster's first type";
	struct sbuf b = { 0 };
	if (t->by_table)
		sbuf_printf(&b, "rates of %llu jobs: the throughput table, relative to %s", count(t->by_table), ref);
	if (t->by_training)
		sbuf_printf(&b, "%srates of %llu jobs: the step world, relative to %s", b.len ? "; " : "", count(t->by_training), ref);
	if (t->by_goodput)
		sbuf_printf(&b, "%srates of %llu jobs: goodput of their applications", b.len ? "; " : "", count(t->by_goodput));
	if (t->untimed_starts)
		sbuf_printf(&b, ", %llu times by the fitted model, because step_times has no time of the placement and batch",
			count(t->untimed_starts));
	if (w->config->speeds && t->by_class + t->by_model) {
		char *text = type_speeds_say(w->config->speeds);
		sbuf_printf(&b, "%s%s", b.len ? "; other jobs: " : "", text);
		if (t->by_model && type_speeds_has_class(w->config->speeds))
			sbuf_printf(&b, "; %llu jobs have the ratio of the model that they name, %llu the class mean", count(t->by_model),
				count(t->by_class));
		mem_free(text);
	}
	take(w, "assumption", &b);
}

static void put_types(const struct cluster *c, struct sbuf *b)
{
	for (uint32_t t = 0; t < c->n_types; t++)
		sbuf_printf(b, "%s%s", t == 0 ? "" : t + 1 == c->n_types ? " and " : ", ", c->type_name[t]);
}

/* Adds a remark if the cluster has several types and all rates are equal. */
static void say_no_effect(struct orr_jobs *w)
{
	const struct cluster *c = w->config->cluster;
	const struct totals *t = &w->totals;
	struct sbuf b = { 0 };
	bool is_stated = false;
	for (uint32_t i = 0; i < c->n_types; i++)
		is_stated |= c->type_speed[i] > 0;
	if (c->n_types < 2 || is_stated || *w->options.reference_type || t->by_table || t->by_training || !(t->by_class + t->by_model))
		return;
	sbuf_puts(&b, "the GPU types ");
	put_types(c, &b);
	sbuf_puts(&b, " change no rate: no reference type is known (jobs.reference_type, --throughputs)");
	take(w, "remark", &b);
}

/* Adds a remark if --applications was given, and no job names one of them. */
static void say_applications(struct orr_jobs *w)
{
	struct sbuf b = { 0 };
	if (w->config->adapt && !w->totals.by_goodput)
		sbuf_puts(&b, "applications has no effect: no job names an application of this table as its model");
	take(w, "remark", &b);
}

/* Adds a remark if jobs try a slower type before a faster one. */
static void say_order(struct orr_jobs *w)
{
	const struct cluster *c = w->config->cluster;
	const struct totals *n = &w->totals;
	struct sbuf b = { 0 };
	uint32_t slower = n->slower, faster = n->faster;
	bool has = n->has_slower_first;
	if (!(n->used & JOBS_USED_TRIES) || w->options.is_fastest_first || w->config->placement->spans_types_by_score)
		return;
	for (uint32_t t = 1; w->config->speeds && t < c->n_types && !has; t++) {
		slower = t - 1;
		faster = t;
		has = type_speed_of(w->config->speeds, NULL, NONE, t) > type_speed_of(w->config->speeds, NULL, NONE, t - 1);
	}
	if (has)
		sbuf_printf(&b,
			"jobs try GPU types in the cluster's order, the slower %s before %s (jobs.type_order=fastest tries the fastest "
			"first)",
			c->type_name[slower], c->type_name[faster]);
	take(w, "remark", &b);
}

/* Adds a remark on jobs that waited because their GPUs must be of one type. */
static void say_split(struct orr_jobs *w)
{
	struct sbuf b = { 0 };
	if (w->totals.split)
		sbuf_printf(&b, "a job runs on GPUs of one type: %llu jobs waited although enough GPUs of several types were free in total",
			count(w->totals.split));
	take(w, "remark", &b);
}

/* Adds a remark on elastic jobs that request less than in the trace. */
static void say_shrunk(struct orr_jobs *w)
{
	struct sbuf b = { 0 };
	bool is_one = w->totals.shrunk == 1;
	if (w->totals.shrunk)
		sbuf_printf(&b,
			"%llu elastic job%s more GPUs than can ever run together here: the largest of %s sizes that can counts as the "
			"request",
			count(w->totals.shrunk), is_one ? " requests" : "s request", is_one ? "its" : "their");
	take(w, "remark", &b);
}

static bool is_built_in(const struct orr_policy *policy)
{
	const struct world *jobs = world_named("jobs");
	for (size_t i = 0; jobs->policies[i]; i++)
		if (jobs->policies[i] == policy)
			return true;
	return false;
}

/* Adds a remark if the trace has priorities that a built-in policy does not read. */
static void say_priorities(struct orr_jobs *w)
{
	const char *name = w->policy.declared->name;
	struct sbuf b = { 0 };
	if (w->totals.has_priorities && is_built_in(w->policy.declared) && strcmp(name, "gavel") && strcmp(name, "max_min") &&
		strcmp(name, "spot_market"))
		sbuf_puts(&b, "the priorities of the trace are ignored: of the built-in policies only gavel, max-min and spot-market read "
			      "them, as weights");
	take(w, "remark", &b);
}

/* Adds a remark if a policy that shares GPUs runs on lent nodes. */
static void say_apart(struct orr_jobs *w)
{
	struct sbuf b = { 0 };
	if (w->totals.kept_apart)
		sbuf_puts(&b, "jobs on lent nodes (--capacity) do not share GPUs: the policy ran each job by itself");
	take(w, "remark", &b);
}

/* States the quotas of partitions, and how they are used. */
static void say_partitions(struct orr_jobs *w)
{
	enum { SHOWN = 8 };
	const struct quotas *q = w->quotas;
	struct sbuf b = { 0 };
	for (uint32_t i = 0; q && i < q->set->n && i < SHOWN; i++)
		sbuf_printf(&b, "%s%s %u", i ? ", " : "quotas in GPUs: ", q->set->of[i].name, q->set->of[i].gpus);
	if (q && q->set->n > SHOWN)
		sbuf_printf(&b, " and %u more partitions", q->set->n - SHOWN);
	if (q)
		sbuf_printf(&b, "; each partition has its own policy; %s",
			!q->borrows                   ? "no borrowing"
			: q->reclaim == QUOTA_PREEMPT ? "idle quota is lent, and borrowing jobs are stopped for jobs within their quota"
						      : "idle quota is lent, and jobs within their quota wait for borrowing jobs");
	take(w, "assumption", &b);
	if (q && q->set->gpus < w->config->cluster->gpus)
		sbuf_printf(&b, "no partition uses %llu of the cluster's %u GPUs: the quotas sum to %llu",
			count(w->config->cluster->gpus - q->set->gpus), w->config->cluster->gpus, count(q->set->gpus));
	take(w, "remark", &b);
	uint64_t idle = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; q && i < q->set->n; i++) {
		if (q->part[i].jobs)
			continue;
		idle += q->set->of[i].gpus;
		if (n++ < SHOWN)
			sbuf_printf(&b, "%s%s", n > 1 ? ", " : "partitions without a job: ", q->set->of[i].name);
	}
	if (n > SHOWN)
		sbuf_printf(&b, " and %u more", n - SHOWN);
	if (n)
		sbuf_printf(&b, "; their quotas of %llu GPUs %s", count(idle), q->borrows ? "are lent to others" : "stay idle");
	take(w, "remark", &b);
}

/* Adds a remark if most of the run is after the last submission, and utilisation until then is larger: a few long jobs set the mean. The
 * time of the last submission falls into a bucket of the timeline, of which its part counts. */
static void say_tail(struct orr_jobs *w)
{
	const struct timeline *busy = &w->measures.line->busy;
	double arrivals_ns = (double)(w->totals.last_submit - busy->start), run_ns = (double)(busy->last - busy->start), held = 0;
	for (size_t i = 0; i < busy->n; i++)
		held += (double)busy->bucket[i] * fmin(1, fmax(0, arrivals_ns / (double)busy->width - (double)i));
	if (arrivals_ns < 2 * (double)busy->width || arrivals_ns > 0.5 * run_ns || held / arrivals_ns < 1.2 * (double)busy->total / run_ns)
		return;
	struct sbuf b = { 0 };
	sbuf_printf(&b, "the last job was submitted at %.3g %% of the run: utilisation until then is %.3g %%", 100 * arrivals_ns / run_ns,
		held / arrivals_ns / (10 * w->config->cluster->gpus));
	take(w, "remark", &b);
}

/* Adds a remark if no job arrived, because the table then has no times. */
static void say_no_job(struct orr_jobs *w)
{
	struct sbuf b = { 0 };
	if (w->totals.arrived)
		return;
	if (w->arrivals.has_next)
		sbuf_printf(&b, "no job was submitted before the end of the run at %.9g s: the first submission is at %.9g s",
			(double)w->config->until_ns / 1e9, (double)w->arrivals.next.submit_ns / 1e9);
	else
		sbuf_puts(&b, "the trace has no job");
	take(w, "remark", &b);
}

void notes_put(struct orr_jobs *w)
{
	say_no_job(w);
	if (!w->config->cluster->n_types || !w->totals.arrived)
		return;
	say_speeds(w);
	say_applications(w);
	say_no_effect(w);
	say_order(w);
	say_shrunk(w);
	say_priorities(w);
	say_split(w);
	say_apart(w);
	say_partitions(w);
	say_tail(w);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mixed/account.h"

#include "results/summary.h"

#include <math.h>

void accounts_begin(struct accounts *a)
{
	for (int i = 0; i < ACCOUNTS; i++)
		timeline_begin(&a->held[i], 0);
}

static void hold(struct timeline *t, int64_t from, uint64_t gpus)
{
	if (t->value != gpus)
		timeline_set(t, from, gpus);
}

void accounts_end(struct accounts *a)
{
	uint32_t held[ACCOUNTS] = { 0 };
	int64_t dt = a->seen_ns - a->until_ns;
	if (!dt)
		return;
	for (uint32_t i = 0; i < a->n_types; i++)
		for (int k = 0; k < ACCOUNTS; k++) {
			ledger_hold(&a->gpu[i][k], a->of_type[i][k], 0, dt);
			held[k] += a->of_type[i][k];
		}
	for (int i = 0; i < ACCOUNTS; i++)
		hold(&a->held[i], a->until_ns, held[i]);
	ledger_hold(&a->jobs_milli, a->milli, 0, dt);
	ledger_hold(&a->up, a->total, 0, dt);
	a->until_ns = a->seen_ns;
}

static void look(struct accounts *a, const struct holding *h)
{
	a->n_types = h->pool->cluster->n_types;
	for (uint32_t i = 0; i < a->n_types; i++) {
		uint32_t idle = h->pool->free[i] + h->fenced[i];
		a->of_type[i][BY_JOBS] = h->pool->total[i] - idle - h->serve[i];
		a->of_type[i][BY_SERVE] = h->serve[i];
		a->of_type[i][IDLE] = idle;
	}
	a->milli = (int64_t)h->pool->used_milli - h->others_milli;
	a->total = h->pool->total_gpus;
	a->pool_changes = h->pool->changes;
}

void accounts_until(struct accounts *a, int64_t t, const struct holding *h)
{
	if (a->pool_changes != h->pool->changes || !a->n_types) {
		accounts_end(a);
		look(a, h);
	}
	a->seen_ns = t;
}

/* ---- results ---- */

/* Returns the cost; NAN if GPUs without a known price were held. */
static double usd_of(const struct accounts *a, enum account who, uint32_t n_types, const double *price)
{
	double usd = 0;
	for (uint32_t i = 0; i < n_types; i++)
		if (a->gpu[i][who].ns)
			usd += price ? ledger_hours((double)a->gpu[i][who].ns) * price[i] : NAN;
	return usd;
}

static double hours(const struct accounts *a, enum account who, uint32_t n_types)
{
	timeline_sum ns = 0;
	for (uint32_t i = 0; i < n_types; i++)
		ns += a->gpu[i][who].ns;
	return ledger_hours((double)ns);
}

void accounts_put(struct accounts *a, uint32_t n_types, const double *price, struct run_result *r)
{
	static const char *const hour_names[ACCOUNTS] = { "jobs_gpu_hours", "serve_gpu_hours", "idle_gpu_hours" };
	static const char *const usd_names[ACCOUNTS] = { "jobs_usd", "serve_usd", "idle_usd" };
	static const char *const series_names[ACCOUNTS] = { "gpus_jobs", "gpus_serve", "gpus_idle" };
	double usd = 0;
	for (int i = 0; i < ACCOUNTS; i++) {
		double one = usd_of(a, (enum account)i, n_types, price);
		summary_put(r, hour_names[i], hours(a, (enum account)i, n_types));
		if (!isnan(one))
			summary_put(r, usd_names[i], one);
		usd += one;
		timeline_set(&a->held[i], a->until_ns, a->held[i].value);
		summary_series(r, series_names[i], &a->held[i], 1);
	}
	summary_put(r, "gpu_hours", ledger_hours((double)a->up.ns));
	if (!isnan(usd))
		summary_put(r, "usd", usd);
}

/* ---- the check ---- */

/* Compares within 1e-9, because replicas count time in floating-point seconds. */
static bool agrees(double account, const struct run_result *r)
{
	const struct metric *m = result_find(r, "gpu_hours");
	return m && fabs(account - m->value) <= 1e-9 * account + 1e-9;
}

const char *accounts_check(const struct accounts *a, uint32_t n_types, const struct run_result *of_jobs, const struct run_result *of_serve)
{
	timeline_sum sum = 0;
	for (uint32_t i = 0; i < n_types; i++)
		sum += ledger_total(a->gpu[i], ACCOUNTS).ns;
	if (sum != a->up.ns)
		return "the sum of the accounts differs from the GPU-time of the nodes that were up";
	if (of_jobs && !agrees(ledger_hours((double)a->jobs_milli.ns) / 1000, of_jobs))
		return "the account of jobs differs from the GPU-hours counted by the jobs world";
	if (of_serve && !agrees(hours(a, BY_SERVE, n_types), of_serve))
		return "the account of replicas differs from the GPU-hours counted by the serving world";
	return NULL;
}

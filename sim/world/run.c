/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/run.h"

#include "base/mem.h"
#include "results/columns.h"
#include "world/remarks.h"
#include "world/replications.h"

#include <stdio.h>
#include <string.h>

double scenario_level(const struct scenario *s)
{
	for (const struct orr_param *p = s->world->options; p && p->name; p++)
		if (!strcmp(p->name, "ci_level"))
			return orr_arg_real(s->options, "ci_level");
	return 0.95;
}

/* ---- replications ---- */

/* By account and replication, so that sums are in order of replications for any number of threads. */
struct accounts {
	size_t n;        /* of each replication */
	double (*of)[2]; /* node_s and usd of account a in replication k: [k * n + a] */
};

static void keep_accounts(struct accounts *all, uint32_t k, const struct run_result *r)
{
	for (size_t a = 0; a < all->n && a < r->n_accounts; a++) {
		all->of[k * all->n + a][0] = r->accounts[a].node_s;
		all->of[k * all->n + a][1] = r->accounts[a].usd;
	}
}

static void put_accounts(const struct accounts *all, uint32_t replications, struct run_result *r)
{
	for (size_t a = 0; a < all->n; a++) {
		double sum[2] = { 0, 0 };
		for (uint32_t k = 0; k < replications; k++)
			for (int i = 0; i < 2; i++)
				sum[i] += all->of[k * all->n + a][i];
		r->accounts[a].node_s = sum[0] / replications;
		r->accounts[a].usd = sum[1] / replications;
	}
}

/* Metrics and accounts of replication k. */
static void run_further(
	struct scenario *s, size_t i, uint32_t k, struct replications *all, struct accounts *accounts, struct orr_error *err)
{
	struct run_result *r = result_new();
	if (!s->world->run(s, i, k, r, NULL, NULL, err)) {
		replications_add(all, k, r);
		keep_accounts(accounts, k, r);
	}
	result_free(r);
}

static int first_error(const struct orr_error *e, long n, struct orr_error *err)
{
	for (long k = 1; k < n; k++)
		if (e[k].code)
			return orr_fail(err, e[k].code, "replication %ld: %s", k, e[k].text);
	return ORR_OK;
}

/* Replications 1.. of policy i, whose replication 0 is r. */
static int replicate(struct scenario *s, size_t i, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	long n = s->replications, n_done = 1;
	struct replications *all = replications_new(s->replications);
	struct accounts accounts = { r->n_accounts, mem_zalloc(s->replications * (r->n_accounts + 1), sizeof *accounts.of) };
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
	replications_add(all, 0, r);
	keep_accounts(&accounts, 0, r);
	/* One thread where policies run side by side. */
#pragma omp parallel for schedule(dynamic, 1) num_threads(world_threads(s->output))
	for (long k = 1; k < n; k++) {
		run_further(s, i, (uint32_t)k, all, &accounts, &e[k]);
		if (!progress)
			continue;
#pragma omp critical(orr_replications)
		progress(ctx, (double)++n_done / (double)n);
	}
	int rc = first_error(e, n, err);
	if (!rc) {
		replications_put(all, scenario_level(s), r);
		put_accounts(&accounts, s->replications, r);
	}
	mem_free(e);
	mem_free(accounts.of);
	replications_free(all);
	return rc;
}

/* Progress of the first of n. */
struct part {
	world_progress progress;
	void *ctx;
	uint32_t n;
};

static void report_part(void *ctx, double done)
{
	const struct part *p = ctx;
	p->progress(p->ctx, done / p->n);
}

void scenario_run(struct scenario *s, size_t i, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	struct part part = { progress, ctx, s->replications };
	int rc = s->world->run(s, i, 0, r, progress ? report_part : NULL, &part, err);
	if (!rc && s->replications > 1)
		rc = replicate(s, i, r, progress, ctx, err);
	if (!rc)
		remarks_add(s, i, r);
}

/* ---- all runs ---- */

static void say_rows(const struct scenario *s, struct run_result *const *runs, size_t n)
{
	const char *counted = s->world->form.counted;
	const struct row_table *rows = counted ? row_table_find(counted) : NULL;
	if (s->output->quiet || !(s->output->db || s->output->out_dir) || s->record == RECORD_SUMMARY)
		return;
	for (size_t i = 0; rows && i < n; i++)
		if (rows_count(rows, runs[i]) < runs[i]->rows_total)
			fprintf(stderr, "orrery: %s: rows of %zu of %llu %s are kept (a sample); means and quantiles are of all\n",
				runs[i]->label, rows_count(rows, runs[i]), (unsigned long long)runs[i]->rows_total, counted);
	if (s->replications > 1)
		fprintf(stderr, "orrery: rows are those of the first replication; metrics and accounts are of all\n");
}

size_t scenario_policy_of(const struct scenario *s, const struct run_result *r)
{
	size_t i = 0;
	while (i + 1 < s->n_policies && strcmp(s->policy[i].label, r->label) != 0)
		i++;
	return i;
}

int scenario_finish(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err)
{
	if (s->replications > 1)
		replications_compare(runs, n, scenario_level(s));
	int rc = s->world->finish ? s->world->finish(s, runs, n, err) : ORR_OK;
	say_rows(s, runs, n);
	return rc;
}

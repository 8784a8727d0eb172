/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Policies end to end: time to a loss for each kind of synchronisation, equal bytes for any number of threads, DS-Sync's consensus,
 * Ako's synchronous case. The tests fix no ranking of policies beyond what their communication implies.
 */
#include "learn/train.h"
#include "tests/learn/learn_peek.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_allreduce, orr_policy_parameter_server, orr_policy_local_sgd, orr_policy_ds_sync, orr_policy_ako;

enum { N = 8 };
static const char cluster[] = "8x1:v100", network[] = "star:bw=10Gbps,lat=10us";
static bool is_slow;
static struct orr_error error;

static void set_all(struct orr_args *a, const char *settings)
{
	char *text = mem_strdup(settings), *save = NULL;
	for (char *s = strtok_r(text, " ", &save); s; s = strtok_r(NULL, " ", &save))
		if (args_set_pair(a, s, &error)) {
			printf("Bail out! %s\n", error.text);
			exit(1);
		}
	mem_free(text);
}

static struct train_result trained(const struct orr_policy *p, const char *settings, const char *learn, const char *stragglers, int threads)
{
	struct fixture *f = fixture_new(cluster, network, "alexnet", 8);
	struct orr_args *options = args_new(learn_options, "learn", &error), *own = args_new(p->params, p->name, &error);
	struct train_config c = { .step = &f->config, .options = options, .threads = threads };
	struct train_result r = { 0 };
	set_all(options, learn);
	set_all(own, settings);
	fixture_set(f, "ignore_memory=true");
	fixture_set(f, "compute_s=0.4");
	fixture_set(f, "straggler_spread=0.5");
	fixture_set(f, stragglers);
	if (train_run(&c, p, own, p->name, &r, &error)) {
		printf("Bail out! %s\n", error.text);
		exit(1);
	}
	args_free(own);
	args_free(options);
	fixture_free(f);
	return r;
}

/* ---- time to a loss ---- */

/* The learning rates let a gradient move the parameters equally far in all policies. Policies with means or servers (step=mean) apply
 * lr / n. Ako sums gradients, so its rate is lr / n. A worker computes for 0.4 s; its gradient takes 0.2 s over its NIC. */
static const struct {
	const char *name;
	const struct orr_policy *policy;
	const char *settings;
	double lr;
} ways[] = {
	{ "BSP, all-reduce", &orr_policy_allreduce, "overlap=false fusion=none", 0.2 },
	{ "BSP, servers", &orr_policy_parameter_server, "", 0.2 },
	{ "SSP", &orr_policy_parameter_server, "mode=ssp staleness=3", 0.2 },
	{ "ASP", &orr_policy_parameter_server, "mode=asp", 0.2 },
	{ "local SGD", &orr_policy_local_sgd, "local_steps=4", 0.2 },
	{ "DS-Sync", &orr_policy_ds_sync, "schedule=hypercube", 0.2 },
	{ "Ako", &orr_policy_ako, "", 0.2 / N },
};
enum { WAYS = sizeof ways / sizeof *ways };
static const char *const straggling[] = { "stragglers=none", "stragglers=exponential" };

static struct train_result to_target(int way, int s, int threads)
{
	char learn[200];
	snprintf(learn, sizeof learn, "problem=mlp rows=512 inputs=8 batch=8 lr=%.17g eval_samples=256 target=0.3 seeds=%d max_samples=%d",
		ways[way].lr, is_slow ? 1 : 3, 20000);
	return trained(ways[way].policy, ways[way].settings, learn, straggling[s], threads);
}

static bool are_same(const struct train_result *a, const struct train_result *b)
{
	bool same = a->n_seeds == b->n_seeds;
	for (uint32_t i = 0; i < a->n_seeds && same; i++) {
		const struct train_seed *x = &a->seed[i], *y = &b->seed[i];
		same = x->n_points == y->n_points && x->time_to_target_s == y->time_to_target_s && x->staleness == y->staleness &&
		       x->updates == y->updates;
		for (size_t k = 0; k < x->n_points && same; k++)
			same = x->point[k].time_s == y->point[k].time_s && x->point[k].loss == y->point[k].loss &&
			       x->point[k].samples == y->point[k].samples;
	}
	return same;
}

static double mean_loss(const struct train_result *t, bool is_first)
{
	double sum = 0;
	for (uint32_t i = 0; i < t->n_seeds; i++)
		sum += t->seed[i].point[is_first ? 0 : t->seed[i].n_points - 1].loss / t->n_seeds;
	return sum;
}

static void times(void)
{
	double rate[2][WAYS];
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < WAYS; i++) {
			struct train_result one = to_target(i, s, 1), four = to_target(i, s, 4);
			rate[s][i] = one.samples_per_s.mean;
			printf("# %-16s %-22s %8.3f s, %7.0f samples, staleness %6.2f, dispersion %.3g\n", ways[i].name, straggling[s],
				one.time_to_target_s.mean, one.samples_to_target.mean, one.seed[0].staleness, one.seed[0].dispersion);
			ok(one.reached == one.n_seeds && mean_loss(&one, true) > 1 && mean_loss(&one, false) <= 0.3 &&
					one.time_to_target_s.mean > 0,
				"%s, %s: every seed meets the target", ways[i].name, straggling[s]);
			ok(are_same(&one, &four), "the numbers are equal on one thread and on four");
			train_result_free(&one);
			train_result_free(&four);
		}
	for (int s = 0; s < 2; s++) { /* the expected ranking follows from the data that each policy sends and waits for */
		const double *r = rate[s];
		ok(r[2] >= 0.99 * r[1] && r[3] >= 0.99 * r[2], "%s: samples/s of ASP >= SSP >= BSP (%.0f %.0f %.0f)", straggling[s], r[3],
			r[2], r[1]);
		ok(r[5] > r[0] && r[4] > r[0], "%s: fewer bytes, more samples/s: DS-Sync %.0f, local SGD %.0f, all-reduce %.0f",
			straggling[s], r[5], r[4], r[0]);
	}
	ok(rate[1][0] < rate[0][0] && rate[1][6] > rate[1][0],
		"stragglers slow down BSP (%.0f to %.0f); Ako does not wait for others (%.0f)", rate[0][0], rate[1][0], rate[1][6]);
}

/* Tests that Ako with one slice and a staleness bound of 0 equals all-reduce with n times the learning rate: the sum of all gradients
 * of a round is applied on all workers at once. */
static void synchronous_ako(void)
{
	static const char learn[] = "problem=logistic rows=512 inputs=16 batch=8 eval_samples=0 eval_updates=8 seeds=1 max_samples=3200 ";
	char text[256];
	snprintf(text, sizeof text, "%slr=%.17g", learn, 0.5 / N);
	struct train_result a = trained(&orr_policy_ako, "partitions=1 staleness_bound=0", text, "stragglers=lognormal", 1);
	snprintf(text, sizeof text, "%slr=0.5", learn);
	struct train_result b = trained(&orr_policy_allreduce, "", text, "stragglers=lognormal", 1);
	double off = 0;
	size_t n = 0;
	for (; n < a.seed[0].n_points && n < b.seed[0].n_points; n++)
		off = fmax(off, fabs(a.seed[0].point[n].loss - b.seed[0].point[n].loss));
	ok(n > 45 && off < 1e-12 && a.seed[0].dispersion < 1e-20,
		"Ako, p=1, bound 0: SGD on the sum of gradients (off by %.2g at %zu points)", off, n);
	train_result_free(&a);
	train_result_free(&b);
}

/* ---- DS-Sync: averaging rounds reach the exact mean of random starts after one full period ---- */

struct ears {
	struct learn *l;
	struct orr_error error;
};

static void hear(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group)
{
	struct ears *e = ctx;
	if (e->error.code)
		return;
	if (is_end)
		learn_end(e->l, time_s, op, group[0], &e->error);
	else
		learn_begin(e->l, time_s, op, u, n_updates, group, n_group, &e->error);
}

enum { DIM = 40, MOST = 32 };

/* Returns the replicas after `rounds` rounds from random starts; mean[]: mean of the starts. */
static struct learn *mixed(uint32_t n, const char *settings, uint32_t rounds, double *mean)
{
	struct learn_config c;
	char text[48];
	learn_config_default(&c);
	c.problem = LEARN_NONE;
	c.inputs = DIM;
	c.init_spread = 1;
	c.eval_samples = 0;
	struct ears e = { .l = learn_new(&c, &error) };
	memset(mean, 0, DIM * sizeof *mean);
	for (uint32_t d = 0; d < n; d++)
		for (int i = 0; i < DIM; i++)
			mean[i] += learn_parameters(e.l, d)[i] / n;
	snprintf(text, sizeof text, "%ux1:v100", n);
	struct fixture *f = fixture_new(text, network, "lenet5", 8);
	snprintf(text, sizeof text, "iterations=%u", rounds);
	fixture_set(f, text);
	fixture_set(f, "stragglers=lognormal");
	f->config.hook = hear;
	f->config.hook_ctx = &e;
	struct step_result r = { 0 };
	if (fixture_run(f, &orr_policy_ds_sync, settings, &r, &error) || e.error.code) {
		printf("Bail out! %s%s\n", error.text, e.error.text);
		exit(1);
	}
	step_result_free(&r);
	fixture_free(f);
	return e.l;
}

/* Returns the largest distance of a replica from `mean`. */
static double farthest(struct learn *l, uint32_t n, const double *mean)
{
	double most = 0;
	for (uint32_t d = 0; d < n; d++)
		for (int i = 0; i < DIM; i++)
			most = fmax(most, fabs(learn_parameters(l, d)[i] - mean[i]));
	return most;
}

static void consensus(void)
{
	static const struct {
		uint32_t n, rounds;
		const char *settings;
	} rows[] = { { 4, 2, "schedule=pairs" }, { 4, 2, "schedule=explicit partitions=0-1,2-3;0-3,1-2" }, { 9, 2, "schedule=grid" },
		{ 16, 2, "schedule=grid" }, { 27, 3, "schedule=grid group_size=3" }, { 8, 3, "schedule=hypercube" },
		{ 32, 5, "schedule=hypercube" }, { 16, 2, "schedule=grid fusion=tensor" } };
	double mean[DIM];
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		struct learn *l = mixed(rows[k].n, rows[k].settings, rows[k].rounds, mean);
		double after = farthest(l, rows[k].n, mean);
		learn_free(l);
		l = mixed(rows[k].n, rows[k].settings, rows[k].rounds - 1, mean);
		double before = farthest(l, rows[k].n, mean);
		learn_free(l);
		ok(after < 1e-12 && before > 0.1, "N=%u, %s: the exact mean after %u rounds (%.2g), not after %u (%.2g)", rows[k].n,
			rows[k].settings, rows[k].rounds, after, rows[k].rounds - 1, before);
	}
	/* After one round, both members of each pair have the mean of their pair. */
	struct learn *start = mixed(4, "schedule=explicit partitions=0,1,2,3", 1, mean), *l = mixed(4, "schedule=pairs", 1, mean);
	double off = 0;
	for (uint32_t d = 0; d < 4; d++)
		for (int i = 0; i < DIM; i++) {
			double x = learn_parameters(start, d)[i], y = learn_parameters(start, d ^ 1)[i];
			off = fmax(off, fabs(learn_parameters(l, d)[i] - (x + y) / 2));
		}
	ok(off < 1e-12, "N=4, pairs: after one round the means of the pairs (%.2g)", off);
	learn_free(start);
	learn_free(l);
}

int main(void)
{
	is_slow = getenv("ORR_SANITIZED") != NULL;
	times();
	synchronous_ako();
	consensus();
	return done();
}

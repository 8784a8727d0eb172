/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Gittins index on distributions with a known index, and compared with its definition on random ones; schedules of the
 * policy computed by hand.
 */
#include "base/rng.h"
#include "policies/jobs/gittins_index.h"
#include "policies/jobs/preemptive.h"
#include "tests/jobs/replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_gittins;

static struct orr_error err;

static struct gittins_table table_of(const double *v, size_t n)
{
	struct gittins_table t = { 0 };
	for (size_t i = 0; i < n; i++)
		gittins_add(&t, v[i]);
	gittins_build(&t);
	return t;
}

/* ---- known indices ---- */

/* Every job needs 100 s of service: at age a, the remaining 100 - a s give one completion. */
static void deterministic(void)
{
	static const double v[] = { 100, 100, 100 };
	struct gittins_table t = table_of(v, 3);
	near_to(gittins_index(&t, 0, 0), 1. / 100, 1e-15, "deterministic 100: 1/100 at age 0");
	near_to(gittins_index(&t, 75, 0), 1. / 25, 1e-15, "deterministic 100: 1/25 at age 75, so the index rises");
	near_to(gittins_index(&t, 75, 50), 1. / 25, 1e-15, "deterministic 100: a D beyond the end does not change the index");
	near_to(gittins_index(&t, 100, 0), 0, 0, "deterministic 100: 0 once every known job is outlived");
	gittins_free(&t);
}

/* Exponential service is memoryless: the index is (1 - e^-Du) / ((1 - e^-Du) / u) = u for every age and quantum D. Mid-quantiles of n
 * samples approximate the distribution; their error determines the tolerance. */
static void exponential(void)
{
	enum { N = 20000, MEAN = 50 };
	static double v[N];
	for (int i = 0; i < N; i++)
		v[i] = -MEAN * log(1 - (i + 0.5) / N);
	struct gittins_table t = table_of(v, N);
	static const double ages[] = { 0, 10, 50, 120 };
	for (int i = 0; i < 4; i++) {
		near_to(gittins_index_fixed(&t, ages[i], 30), 1. / MEAN, 1e-4, "exponential: 1/mean at every age, D fixed");
		near_to(gittins_index(&t, ages[i], 20), 1. / MEAN, 1e-4, "exponential: 1/mean at every age, best D >= 20");
	}
	gittins_free(&t);
}

/* Service is 1 or 10, with equal probability. At age 0, a quantum D = 1 completes the job with probability 1/2 at an expected cost of
 * 1. D = 10 completes it with probability 1 at a cost of 1/2 + 5. After age 1 only long jobs are left. A quantum of at least 2 has
 * probability 1/2 and cost 1/2 + 1. */
static void bimodal(void)
{
	static const double v[] = { 10, 1, 10, 1 };
	struct gittins_table t = table_of(v, 4);
	near_to(gittins_index(&t, 0, 0), 0.5, 1e-15, "1 or 10: 1/2 at age 0");
	near_to(gittins_index(&t, 0.5, 0), 1, 1e-15, "... 1 at age 1/2");
	near_to(gittins_index(&t, 1, 0), 1. / 9, 1e-15, "1 or 10: 1/9 at age 1, so the index falls");
	near_to(gittins_index(&t, 6, 0), 0.25, 1e-15, "1 or 10: 1/4 at age 6");
	near_to(gittins_index(&t, 0, 2), 1. / 3, 1e-15, "1 or 10: 1/3 at age 0 with D >= 2");
	gittins_free(&t);
}

/* Service is 2 with probability 1/10, else 3. At age 0, a quantum D = 2 completes the job with probability 1/10 at a cost of 2. D = 3
 * completes it with probability 1 at an expected cost of 2/10 + 27/10. */
static void later_corner(void)
{
	static const double v[] = { 2, 3, 3, 3, 3, 3, 3, 3, 3, 3 };
	struct gittins_table t = table_of(v, 10);
	near_to(gittins_index(&t, 0, 0), 1 / 2.9, 1e-15, "2 or mostly 3: the best D is not the smallest");
	gittins_free(&t);
}

/* Returns the index by its definition: the maximum over all D that end at a value, and D = least. */
static double by_definition(const double *v, size_t n, double age, double least)
{
	double best = 0;
	for (size_t k = 0; k <= n; k++) {
		double d = k < n ? v[k] - age : least, done = 0, cost = 0;
		if (d < least || d <= 0)
			continue;
		for (size_t i = 0; i < n; i++)
			if (v[i] > age) {
				done += v[i] - age <= d;
				cost += fmin(v[i] - age, d);
			}
		best = cost > 0 && done / cost > best ? done / cost : best;
	}
	return best;
}

static void random_distributions(void)
{
	struct rng rng;
	double v[40];
	bool all = true;
	rng_init(&rng, 1, "gittins", 0);
	for (int round = 0; round < 300; round++) {
		size_t n = 1 + rng_below(&rng, 40);
		for (size_t i = 0; i < n; i++)
			v[i] = (double)rng_below(&rng, 30);
		struct gittins_table t = table_of(v, n);
		for (int age = 0; age < 31; age++)
			for (int least = 0; least < 8; least += 3) {
				double got = gittins_index(&t, age, least), want = by_definition(v, n, age, least);
				if (fabs(got - want) > 1e-12)
					printf("# age %d, D >= %d: %.17g, want %.17g\n", age, least, got, want);
				all &= fabs(got - want) <= 1e-12;
			}
		gittins_free(&t);
	}
	ok(all, "300 random distributions, at every age: as by definition, over every D");
}

/* ---- the policy ---- */

static void by_hand(
	const char *what, const char *csv, const char *cluster, const char *settings, const double *start, const double *end, size_t n)
{
	struct run_result *r = replay(csv, cluster, "count", &orr_policy_gittins, settings, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(replay_matches(r, start, end, n), "%s", what);
	result_free(r);
}

/* One GPU; services of 10 or 100 s, with equal probability; levels from 0, 10, 20, 40 and 80 s. The index at level 0 is (1/2)/10 =
 * 1/20, then 1/90, 1/80, 1/60, and 1/20 again from age 80. A (100 s) starts at 0. B (10 s) arrives at 5 with the same index and
 * waits; at 10 the index of A falls, and B runs 10-20. At 40 A has age 30; D arrives and runs first, 40-50. At 115 A has age 95 and
 * the index of C, 1/20. A reached this index at 100 and C at 115, so A ends at 120 and C runs 120-130. (Under least attained service
 * C would start at once.) */
static void falls_and_rises(void)
{
	static const double start[] = { 0, 10, 40, 120 }, end[] = { 120, 20, 50, 130 };
	by_hand("10 or 100: new jobs preempt a job of middle age, but not one near its end",
		"submit_s,duration_s,gpus\n0,100,1\n5,10,1\n40,10,1\n115,10,1\n", "1x1", "table=10s,100s quantum=10s steps=1 interval=0",
		start, end, 4);
}

/* The distribution is unknown until two jobs of 10 s have ended; until then, jobs run first come, first served. A (100 s) starts at
 * 30. E arrives at 35 with the same index. At 40 A is older than all known services, so E runs 40-50. */
static void learns(void)
{
	static const double start[] = { 0, 10, 30, 40 }, end[] = { 10, 20, 140, 50 };
	by_hand("learnt from completed jobs: a job that outlives them all goes last",
		"submit_s,duration_s,gpus\n0,10,1\n0,10,1\n30,100,1\n35,10,1\n", "1x1", "quantum=10s steps=1 interval=0", start, end, 4);
}

/* Job A on two GPUs has attained 10 GPU-s after 5 s, and 10 s of running time after 10 s. */
static void counts_gpu_time(void)
{
	static const char csv[] = "submit_s,duration_s,gpus\n0,100,2\n1,5,2\n";
	static const double start[] = { 0, 5 }, end[] = { 105, 10 }, start_time[] = { 0, 10 }, end_time[] = { 105, 15 };
	by_hand("service=gpu-time: two GPUs count double", csv, "1x2", "table=10s,200s quantum=10s steps=1 interval=0", start, end, 2);
	by_hand("service=time: two GPUs count once", csv, "1x2", "service=time table=10s,200s quantum=10s steps=1 interval=0", start_time,
		end_time, 2);
}

/* ---- quiet passes ---- */

static int quiet_passes, other_passes;

static const struct orr_jobs_ops *gittins_ops(void)
{
	return orr_policy_gittins.ops;
}

static void count_passes(void *self, struct orr_jobs *w)
{
	gittins_ops()->schedule(self, w);
	if (((struct preemptive *)self)->is_heap)
		quiet_passes++;
	else
		other_passes++;
}

static void *create_without_due(struct orr_jobs *w, const struct orr_args *args, struct orr_error *e)
{
	struct preemptive *p = gittins_ops()->create(w, args, e);
	p->due = NULL;
	return p;
}

/* Draws random jobs in waves: in some passes all jobs fit, in others some jobs wait. */
static void waves(struct rng *r, char *csv, size_t size, int n)
{
	int at = snprintf(csv, size, "submit_s,duration_s,gpus\n");
	double now = 0;
	for (int i = 0; i < n && (size_t)at + 64 < size; i++) {
		now += i / 40 % 2 ? rng_uniform(r) * 4 : rng_uniform(r) * 100;
		at += snprintf(csv + at, size - (size_t)at, "%.3f,%.3f,%d\n", floor(now), 1 + floor(rng_uniform(r) * rng_uniform(r) * 400),
			1 << (int)(rng_uniform(r) * 3));
	}
}

static bool same_rows(const struct run_result *a, const struct run_result *b)
{
	bool same = a && b && a->n_jobs == b->n_jobs;
	for (size_t i = 0; same && i < a->n_jobs; i++)
		same = a->jobs[i].start_ns == b->jobs[i].start_ns && a->jobs[i].end_ns == b->jobs[i].end_ns &&
		       a->jobs[i].preemptions == b->jobs[i].preemptions;
	return same;
}

/* Tests a policy that states when its keys change: its passes must choose the same jobs as passes that query every key. */
static void quiet(const char *settings)
{
	struct orr_jobs_ops counted = *gittins_ops(), asked = counted;
	struct orr_policy with = orr_policy_gittins, without = orr_policy_gittins;
	static char csv[1 << 16];
	int equal = 0, logs = 40;
	counted.schedule = count_passes;
	asked.create = create_without_due;
	with.ops = &counted;
	without.ops = &asked;
	quiet_passes = other_passes = 0;
	for (int i = 0; i < logs; i++) {
		struct rng r;
		rng_init(&r, 1, "waves", (uint64_t)i);
		waves(&r, csv, sizeof csv, 300);
		const char *cluster = i % 2 ? "3x4:a,2x4:b" : "6x4";
		struct run_result *a = replay(csv, cluster, "consolidate", &with, settings, &err);
		struct run_result *b = replay(csv, cluster, "consolidate", &without, settings, &err);
		equal += same_rows(a, b);
		result_free(a);
		result_free(b);
	}
	ok(equal == logs && quiet_passes > 1000 && other_passes > 1000,
		"%s: %d of %d logs as with every key asked in every pass, %d and %d passes", settings, equal, logs, quiet_passes,
		other_passes);
}

int main(void)
{
	deterministic();
	exponential();
	bimodal();
	later_corner();
	random_distributions();
	falls_and_rises();
	learns();
	counts_gpu_time();
	quiet("quantum=1s steps=2 interval=0");
	quiet("quantum=1s steps=4 interval=3s service=time");
	return done();
}

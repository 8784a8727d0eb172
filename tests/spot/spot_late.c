/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Can't Be Late (Wu et al., NSDI 2024): its policies by hand on small traces, and its theorems on random traces. Every policy meets the
 * deadline (safety net), costs at least as much as the omniscient policy, and RSF stays within its bound. Every deterministic policy
 * exceeds this bound on some trace.
 */
#include "tests/spot/late_run.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>

static struct orr_error err;

static int sized(int full, int sanitized)
{
	const char *s = getenv("ORR_SANITIZED");
	return s && *s == '1' ? sanitized : full;
}

/* ---- by hand ---- */

struct hand {
	const char *name;
	const struct orr_policy *policy;
	const char *settings;
	double trace[4];
	size_t n;
	double usd, spot_h, on_demand_h, makespan_h, changeovers;
};

/*
 * All cases have 10 h of work in 20 h, change-overs (d) and probes of half an hour, spot at 1 USD/h and on-demand at 3 USD/h. R is the
 * time left, C the work left, k = 3 the ratio of the prices. The safety net is taken at R < C + 1 h (and a step).
 *
 * No spot. Greedy waits until 9 h (R = 11 h) and then runs on demand for 10.5 h. Uniform progress with hysteresis runs from 0.5 to 3 h,
 * when t - 1 = (t + 1) / 2, and idles until the first probe with t / 2 > 2. So it runs 5 times for 2.5 h, every 4 h. Without hysteresis
 * it runs from 0.5 to 2 h, then every 2 h. At 18 h it takes the net and stays on demand: 9 stints of 1.5 h and the last hour. With two
 * slices, the net of the first slice is taken at 4 h and its share is done at 9.5 h; the second net is taken at 14 h.
 *
 * Spot from 6 to 9 h. Uniform progress runs on demand from 4.5 h on and has done 4 h at 7 h, its share of 8 / 2. On spot it works 1.5 h
 * until 9 h, 5.5 h in total. It runs on demand from 11.5 to 14 and from 15.5 to 18 h (9.5 h), and takes the net at 18.5 h. Without
 * hysteresis it runs on demand from 0.5 to 2, 2.5 to 4 and 4.5 to 6 h, and on spot from 6 h on: 3 + 2.5 = 5.5 h at 9 h. It runs again
 * from 11.5 to 13 h (6.5 h = 13 / 2) and every 2 h until 17 h (8.5 h). At 17.5 h, R = 2.5 = C + 1 is below the net with its step, so it
 * runs on demand until 19.5 h.
 *
 * Greedy has done 2.5 h at 9 h (R = 11 > 8.5) and waits until the probe at 11.5 h (R = 8.5 = C + 1).
 *
 * With an oracle, 3 h of spot exceed 2 k d / (k - 1) = 1.5 h. So the policy changes from on-demand to spot at 6 h and has done 5.5 h at
 * 9 h. It runs on demand from 11.5 to 14, 15.5 to 18 and 18.5 to 19.5 h. Spot from 6 to 7.25 h is too short at 6 h. It is too short at
 * 7 h too, when the policy is idle, because 0.25 < k d / (k - 1) = 0.75.
 */
static const struct hand hands[] = {
	{ "greedy without spot", &orr_policy_spot_greedy, "", { 0 }, 0, 31.5, 0, 10, 19.5, 1 },
	{ "uniform progress without spot", &orr_policy_spot_uniform_progress, "", { 0 }, 0, 37.5, 0, 10, 19, 5 },
	{ "the same without hysteresis", &orr_policy_spot_uniform_progress, "hysteresis=false", { 0 }, 0, 43.5, 0, 10, 19, 9 },
	{ "two slices without spot", &orr_policy_spot_time_sliced, "slices=2", { 0 }, 0, 33, 0, 10, 19.5, 2 },
	{ "omniscient without spot", &orr_policy_spot_omniscient, "", { 0 }, 0, 31.5, 0, 10, 10.5, 1 },
	{ "greedy with spot from 6 to 9 h", &orr_policy_spot_greedy, "", { 6, 9 }, 2, 3 + 24, 2.5, 7.5, 19.5, 2 },
	{ "uniform progress", &orr_policy_spot_uniform_progress, "", { 6, 9 }, 2, 2 + 33, 1.5, 8.5, 19.5, 6 },
	{ "the same without hysteresis", &orr_policy_spot_uniform_progress, "hysteresis=false", { 6, 9 }, 2, 3 + 3 * 11, 2.5, 7.5, 19.5,
		8 },
	{ "the same with the oracle", &orr_policy_spot_uniform_progress, "oracle=true", { 6, 9 }, 2, 3 + 30, 2.5, 7.5, 19.5, 6 },
	{ "the oracle ignores intervals that are too short", &orr_policy_spot_uniform_progress, "oracle=true", { 6, 7.25 }, 2, 37.5, 0, 10,
		19, 5 },
	{ "omniscient", &orr_policy_spot_omniscient, "", { 6, 9 }, 2, 3 + 24, 2.5, 7.5, 0, 2 },
	{ "omniscient with spot throughout", &orr_policy_spot_omniscient, "", { 1, 9, 9, 19 }, 4, 11, 10, 0, 0, 2 },
};

static void test_by_hand(void)
{
	for (size_t i = 0; i < sizeof hands / sizeof *hands; i++) {
		const struct hand *h = &hands[i];
		struct availset *set = late_trace(h->trace, h->n);
		struct late_run x = { .capacity = set,
			.policy = h->policy,
			.settings = h->settings,
			.work_h = 10,
			.deadline_h = 20,
			.changeover_h = 0.5,
			.probe_h = 0.5,
			.is_checked = true };
		struct late_got g = late_go(&x);
		printf("# %s: $ %.4f, spot %.4f h, on demand %.4f h, end %.4f h, %.0f change-overs, idle %.4f h\n", h->name, g.usd,
			g.spot_h, g.on_demand_h, g.makespan_h, g.changeovers, g.idle_h);
		ok(g.good && g.kept && fabs(g.usd - h->usd) < 1e-9 && fabs(g.spot_h - h->spot_h) < 1e-9 &&
				fabs(g.on_demand_h - h->on_demand_h) < 1e-9 &&
				(h->makespan_h <= 0 || fabs(g.makespan_h - h->makespan_h) < 1e-9) &&
				(h->changeovers <= 0 || g.changeovers == h->changeovers),
			"by hand: %s", h->name);
		availset_free(set);
	}
}

/* ---- random traces ---- */

struct member {
	const struct orr_policy *policy;
	const char *settings;
};
static const struct member family[] = { { &orr_policy_spot_greedy, "" }, { &orr_policy_spot_uniform_progress, "" },
	{ &orr_policy_spot_uniform_progress, "hysteresis=false" }, { &orr_policy_spot_uniform_progress, "oracle=true" },
	{ &orr_policy_spot_uniform_progress, "oracle=true hysteresis=false" }, { &orr_policy_spot_time_sliced, "slices=1" },
	{ &orr_policy_spot_time_sliced, "slices=7" }, { &orr_policy_spot_time_sliced, "slices=60 surplus=true" },
	{ &orr_policy_spot_partial_lookahead, "slices=1" }, { &orr_policy_spot_partial_lookahead, "slices=6" },
	{ &orr_policy_spot_rsf, "slices=5" } };
enum { FAMILY = sizeof family / sizeof *family };

static const char *const processes[] = { "renewal:up=3h,down=1h,length=0", "renewal:up=30m,down=30m,length=0",
	"renewal:up=4m,down=2m,length=0", "renewal:up=1h,down=9h,length=0", "renewal:up=12h,down=30m,length=0",
	"renewal:up=5h,down=5h,law=lognormal,cv=2,length=0" };
enum { PROCESSES = sizeof processes / sizeof *processes };

#define SLOW "spot.startup=0.02h spot.on_demand_startup=0.03h"

/* Tests random traces. With room for two change-overs and decisions at most d apart, every policy meets the deadline. The omniscient
 * policy is the cheapest, within one step and its rounding per stint. */
static void test_random(void)
{
	int runs = sized(90, 6), n = 0, late = 0, wrong = 0, cheaper = 0, oracle = 0;
	double nearest = INFINITY;
	struct rng rng;
	rng_init(&rng, 3, "late", 0);
	for (int p = 0; p < PROCESSES; p++) {
		struct availset *set = availset_load(processes[p], NULL, NULL, 11, &err);
		for (int i = 0; i < runs; i++) {
			double d = 0.05 + 0.25 * rng_uniform(&rng), work = 4 + 30 * rng_uniform(&rng),
			       slack = i % 3 ? 20 * rng_uniform(&rng) : 0.001;
			work = floor(work * 3600) / 3600;
			struct late_run x = { .capacity = set,
				.work_h = work,
				.deadline_h = work + 2 * d + slack,
				.changeover_h = d,
				.probe_h = d * (i % 4 ? 0.9 : 1),
				.on_demand_price = 1.2 + 5 * rng_uniform(&rng),
				.replication = (uint64_t)i,
				.seed = (uint64_t)i,
				.is_checked = i % 5 == 0 };
			bool starts_slowly = i % 7 == 0;
			x.deadline_h += starts_slowly ? 0.05 : 0;
			x.policy = &orr_policy_spot_omniscient;
			x.settings = starts_slowly ? SLOW : "";
			struct late_got best = late_go(&x);
			late += !best.kept;
			oracle += best.is_oracle;
			for (int k = 0; k < FAMILY; k++, n++) {
				char settings[120];
				snprintf(settings, sizeof settings, "%s %s", family[k].settings, starts_slowly ? SLOW : "");
				x.policy = family[k].policy;
				x.settings = settings;
				struct late_got g = late_go(&x);
				wrong += !g.good || fabs(g.spot_h + g.on_demand_h - work) > 1e-9;
				late += !g.kept;
				double step = x.on_demand_price / 3600 * (best.changeovers + 1);
				cheaper += !(best.usd <= g.usd + step);
				nearest = fmin(nearest, g.usd / best.usd);
				if (!g.kept || !(best.usd <= g.usd + step))
					printf("# %s %s on %s, run %d: ends %.5f of %.5f h, $ %.4f, omniscient %.4f\n", x.policy->name,
						x.settings, processes[p], i, g.makespan_h, x.deadline_h, g.usd, best.usd);
			}
			x.settings = NULL;
		}
		availset_free(set);
	}
	ok(!wrong && n == FAMILY * PROCESSES * runs, "%d random runs of all policies do all of the work", n);
	ok(!late, "none is late, the least slack being two change-overs and 4 seconds");
	ok(!cheaper, "none is cheaper than the omniscient policy (the nearest at %.4f times its cost)", nearest);
	ok(oracle == PROCESSES * runs, "the omniscient policy is marked as oracle");
}

/* Tests that nothing is rounded with times in whole minutes, steps of a minute and change-overs of whole minutes. */
static void test_whole_minutes(void)
{
	int runs = sized(400, 40), cheaper = 0, equal = 0;
	struct rng rng;
	rng_init(&rng, 4, "late", 0);
	for (int i = 0; i < runs; i++) {
		double hours[200], at = 0;
		size_t n = 0;
		while (at < 40 && n < 198) {
			at += (double)rng_below(&rng, 150) / 60 + 1.0 / 60;
			hours[n++] = at;
			at += (double)(1 + rng_below(&rng, 240)) / 60;
			hours[n++] = at;
		}
		struct availset *set = late_trace(hours, n);
		struct late_run x = { .capacity = set,
			.work_h = 20 + (double)rng_below(&rng, 8),
			.deadline_h = 31,
			.changeover_h = (double)rng_below(&rng, 20) / 60,
			.probe_h = (double)(1 + rng_below(&rng, 15)) / 60,
			.on_demand_price = 2 + (double)rng_below(&rng, 3),
			.step_s = 60,
			.is_checked = true };
		x.policy = &orr_policy_spot_omniscient;
		struct late_got best = late_go(&x);
		for (int k = 0; k < FAMILY; k++) {
			x.policy = family[k].policy;
			x.settings = family[k].settings;
			struct late_got g = late_go(&x);
			cheaper += !(best.usd <= g.usd * (1 + 1e-12));
			equal += g.usd <= best.usd * (1 + 1e-12);
		}
		availset_free(set);
	}
	ok(!cheaper && equal < runs * FAMILY / 4, "in whole minutes none of %d runs is cheaper by a cent (%d are as cheap)", runs * FAMILY,
		equal);
}

/* ---- the bound ---- */

static double cost(struct late_run *x, const struct orr_policy *policy, const char *settings)
{
	x->policy = policy;
	x->settings = settings;
	struct late_got g = late_go(x);
	return g.good && g.kept ? g.usd : NAN;
}

/* Returns the mean over RSF's two random choices, each from its own seed. */
static double rsf_mean(struct late_run *x, const char *settings)
{
	double low = INFINITY, high = -INFINITY;
	for (x->seed = 0; x->seed < 8; x->seed++) {
		double usd = cost(x, &orr_policy_spot_rsf, settings);
		low = fmin(low, usd);
		high = fmax(high, usd);
	}
	x->seed = 0;
	return (low + high) / 2;
}

/* Tests the bound. Its term O(d) is taken as k n (2 d): two change-overs per slice. */
static void test_bound(void)
{
	int runs = sized(90, 9), over = 0, n = 0;
	double worst = 0;
	for (int p = 0; p < PROCESSES; p++) {
		struct availset *set = availset_load(processes[p], NULL, NULL, 5, &err);
		for (int i = 0; i < runs; i++, n++) {
			double k = (double[]){ 1.5, 3, 6 }[i % 3], d = 0.01;
			int slices = (int[]){ 1, 4, 10 }[i / 3 % 3];
			char settings[32];
			snprintf(settings, sizeof settings, "slices=%d", slices);
			struct late_run x = { .capacity = set,
				.work_h = 24,
				.deadline_h = 48 + i % 5,
				.changeover_h = d,
				.probe_h = d,
				.on_demand_price = k,
				.replication = (uint64_t)i };
			double best = cost(&x, &orr_policy_spot_omniscient, NULL), mean = rsf_mean(&x, settings);
			double bound = ((k + 1) / 2 + (k - 1) / (2 * slices)) * best + 2 * d * k * slices;
			over += !(mean <= bound);
			worst = fmax(worst, mean / bound);
		}
		availset_free(set);
	}
	ok(!over, "RSF's mean cost is within ((k+1)/2 + (k-1)/2n) x omniscient + O(d) on %d random traces (%.2f of it at most)", n, worst);
}

/* Tests the adversary: spot becomes permanently available just after greedy switches to on-demand. The omniscient policy costs C + d,
 * greedy k (C + d). The mean of RSF's two choices lies within the bound. */
static void test_adversary(void)
{
	double k = 4, d = 0.01, hours[] = { 24 + 1e-3, 100 };
	struct availset *set = late_trace(hours, 2);
	struct late_run x = {
		.capacity = set, .work_h = 24, .deadline_h = 48 + 2.5 * d, .changeover_h = d, .probe_h = d, .on_demand_price = k
	};
	double best = cost(&x, &orr_policy_spot_omniscient, NULL);
	near_to(best, 24 + d, 1e-9, "the adversary: the omniscient policy is all on spot");
	hours[0] = 24 + d;
	double greedy = cost(&x, &orr_policy_spot_greedy, NULL) / best, uniform = cost(&x, &orr_policy_spot_uniform_progress, NULL) / best;
	for (int n = 2; n <= 12; n += 5) {
		char settings[32];
		snprintf(settings, sizeof settings, "slices=%d", n);
		double rsf = rsf_mean(&x, settings) / best, bound = (k + 1) / 2 + (k - 1) / (2 * n);
		printf("# adversary, k = 4: greedy %.4f, uniform progress %.4f, RSF of %d slices %.4f (bound %.4f)\n", greedy, uniform, n,
			rsf, bound);
		ok(rsf <= bound + 2 * d * k * n / best && rsf > 1.5, "RSF of %d slices is within its bound there", n);
	}
	ok(greedy > k - 0.01 && greedy <= k,
		"greedy costs k times omniscient on the adversary's trace (no deterministic policy is below k - O(d))");
	availset_free(set);
}

/* ---- the world ---- */

static void test_world(void)
{
	struct availset *set = availset_load("renewal:up=2h,down=1h,nodes=4,length=0", NULL, NULL, 2, &err);
	struct availset *one = availset_load("renewal:up=2h,down=1h,length=0", NULL, NULL, 2, &err);
	int different = 0, costly = 0;
	for (int k = 0; k <= FAMILY; k++) {
		struct late_run x = { .capacity = one,
			.policy = k < FAMILY ? family[k].policy : &orr_policy_spot_omniscient,
			.settings = k < FAMILY ? family[k].settings : "",
			.work_h = 10,
			.deadline_h = 14,
			.changeover_h = 0.2,
			.probe_h = 0.2,
			.is_checked = true };
		struct late_got a = late_go(&x);
		x.is_exact = true;
		struct late_got b = late_go(&x);
		different += !a.good || memcmp(&a, &b, sizeof a) != 0;
		x.is_exact = false;
		x.capacity = set;
		x.nodes = 4;
		struct late_got four = late_go(&x);
		costly += !four.good || !four.kept || fabs(four.usd - 4 * a.usd) > 1e-9 * a.usd || four.spot_h != a.spot_h;
	}
	ok(!different, "an event for each step gives the same, to the bit");
	ok(!costly, "four instances that are added and removed together cost four times as much");
	struct late_run x = {
		.capacity = set, .policy = &orr_policy_spot_greedy, .work_h = 10, .deadline_h = 14, .changeover_h = 0.2, .probe_h = 0.2
	};
	x.settings = "spot.deadline=0";
	ok(strstr(late_error(&x), "expected spot.deadline") != NULL, "no deadline: %s", late_error(&x));
	x.settings = "nodes=7";
	ok(strstr(late_error(&x), "no step of 7 x ") != NULL, "a gang without a step: %s", late_error(&x));
	x.policy = &orr_policy_spot_omniscient;
	x.settings = "";
	ok(strstr(late_error(&x), "expected at most the job's nodes") != NULL, "more offers than planned for: %s", late_error(&x));
	availset_free(one);
	availset_free(set);
	one = availset_load("renewal:zones=a|b,length=0", NULL, NULL, 2, &err);
	x.capacity = one;
	ok(strstr(late_error(&x), "one zone") != NULL, "two zones: %s", late_error(&x));
	x.policy = &orr_policy_spot_uniform_progress;
	ok(late_go(&x).kept, "the other policies use the cheapest zone");
	availset_free(one);
}

/* Tests a deadline that cannot be met: the policy runs on demand from the start and is late. */
static void test_too_late(void)
{
	struct availset *set = late_trace(NULL, 0);
	for (int k = 0; k <= FAMILY; k++) {
		struct late_run x = { .capacity = set,
			.policy = k < FAMILY ? family[k].policy : &orr_policy_spot_omniscient,
			.settings = k < FAMILY ? family[k].settings : "",
			.work_h = 10,
			.deadline_h = 10,
			.changeover_h = 0.2,
			.probe_h = 0.2 };
		struct late_got g = late_go(&x);
		ok(g.good && !g.kept && fabs(g.makespan_h - 10.2) < 1e-9, "%s %s: a deadline without room is missed by one change-over",
			x.policy->name, x.settings);
	}
	availset_free(set);
}

int main(void)
{
	test_by_hand();
	test_random();
	test_whole_minutes();
	test_bound();
	test_adversary();
	test_world();
	test_too_late();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_bamboo_published.c - Bamboo against the results of other programs: its authors' simulator (uclasystem/bamboo, commit
 * 8080929) and Oobleck's artifact (SymbioticLab/Oobleck, branch sosp23-artifact)
 *
 * The expected values come from these programs, or from restatements of their rules with simultaneous events in file order;
 * each test states its source. B1 to B9 are ids of scenarios/bamboo/published.csv, O1 and O2 of
 * scenarios/spot-field/published.csv. The traces are read from $ORRERY_DATA_PATH/traces/spot.
 */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_spot_bamboo, orr_policy_spot_on_demand;

#define PRICES "startup=45s price=0.91 on_demand_price=3.06"

static struct orr_error err;

/* Returns the result of one run under --check. On an error, prints it and returns NULL. */
static struct run_result *run_once(
	const char *capacity, const char *job, const struct orr_policy *policy, const char *settings, int64_t until_ns)
{
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, capacity, NULL, job, policy, settings, PRICES, &err)) {
		s.config.until_ns = until_ns == ORR_NEVER ? availset_end_ns(s.set) : until_ns;
		r = spot_runs_run(&s, 0, &err);
	}
	if (!r)
		printf("# %s\n", err.text);
	spot_runs_close(&s);
	return r;
}

/* Returns false, with a message, if the data are missing and the test is skipped. */
static bool find_data(const char *file, char *path, size_t size)
{
	const char *root = getenv("ORRERY_DATA_PATH");
	snprintf(path, size, "%s/traces/spot/%s", root ? root : "", file);
	if (root && access(path, R_OK) == 0)
		return true;
	snprintf(path, size, "traces/spot/%s is not here (ORRERY_DATA_PATH)", file);
	skip(path);
	return false;
}

static double get(const struct run_result *r, const char *name)
{
	return spot_runs_metric(r, name);
}

/* ---- B2: the p3 trace, BERT, 12 hours. Restatements of the rules, with ties in file order ---- */

struct replay {
	const char *rules;
	double steps, fatal, samples_per_s, value, usd_per_hour, nodes;
};

static void test_p3(void)
{
	static const struct replay want[] = { { "authors", 10791, 8, 78.37, 3.385, 23.01, 25.28 },
		{ "clean", 11701, 6, 75.85, 3.452, 21.90, 24.07 } };
	char path[512], settings[32];
	if (!find_data("bamboo/p3-trace.csv", path, sizeof path))
		return;
	for (size_t i = 0; i < 2; i++) {
		const struct replay *p = &want[i];
		snprintf(settings, sizeof settings, "rules=%s", p->rules);
		struct run_result *r = run_once(path, "bamboo-bert", &orr_policy_spot_bamboo, settings, 43200 * ORR_SECOND);
		ok(r && fabs(get(r, "steps") - p->steps) <= 1, "p3, %s: %g steps (%g)", p->rules, p->steps, get(r, "steps"));
		ok(r && get(r, "preemptions") == 167 && get(r, "fatal") == p->fatal, "p3, %s: 167 preemptions, %g fatal", p->rules,
			p->fatal);
		ok(r && fabs(get(r, "samples_per_s") / p->samples_per_s - 1) < 0.005 && fabs(get(r, "value") / p->value - 1) < 0.005,
			"p3, %s: %.2f samples/s (%.2f), value %.3f (%.3f) within 0.5 %%", p->rules, p->samples_per_s,
			get(r, "samples_per_s"), p->value, get(r, "value"));
		ok(r && fabs(get(r, "usd_per_hour") / p->usd_per_hour - 1) < 0.005 && fabs(get(r, "mean_live") / p->nodes - 1) < 0.005,
			"p3, %s: %.2f USD/h (%.2f), %.2f nodes (%.2f) within 0.5 %%", p->rules, p->usd_per_hour, get(r, "usd_per_hour"),
			p->nodes, get(r, "mean_live"));
		/*
		 * B8, B9: the paper's main results: cost lower than on-demand by a factor of 2.4, and almost twice the value
		 * (on-demand: 61.20 USD/h, value 1.719).
		 */
		if (r)
			printf("# p3, %s: %.2fx cheaper by the hour than on demand, %.2fx its value\n", p->rules,
				61.20 / get(r, "usd_per_hour"), get(r, "value") / 1.719);
		result_free(r);
	}
}

/* ---- B1, B4: synthetic preemptions, BERT, 22,194 steps. The authors' simulator, 500 seeds ---- */

struct synthetic {
	const char *p;
	double preemptions, preemptions_sd, fatal, nodes, samples_per_s, usd_per_hour, value;
};

static const struct synthetic table[] = { { "0.01", 4.83, 2.4, 0.022, 43.70, 149.30, 39.77, 3.700 },
	{ "0.10", 53.62, 7.1, 0.138, 40.60, 131.98, 36.95, 3.540 }, { "0.50", 345.78, 21.8, 2.686, 26.87, 83.02, 24.45, 3.311 } };

enum { PREEMPTIONS, FATAL, NODES, RATE, COST, VALUE, MEANS };
static const char *const mean_names[MEANS] = { "preemptions", "fatal", "mean_live", "samples_per_s", "usd_per_hour", "value" };

static bool mean_of(const char *capacity, const char *settings, int seeds, double mean[MEANS])
{
	struct spot_runs s;
	memset(mean, 0, MEANS * sizeof *mean);
	bool good = spot_runs_open(&s, capacity, NULL, "bamboo-bert", &orr_policy_spot_bamboo, settings, PRICES, &err);
	for (int i = 0; good && i < seeds; i++) {
		struct run_result *r = spot_runs_run(&s, (uint64_t)i, &err);
		good = r != NULL;
		for (int k = 0; k < MEANS; k++)
			mean[k] += get(r, mean_names[k]) / seeds;
		result_free(r);
	}
	if (!good)
		printf("# %s\n", err.text);
	spot_runs_close(&s);
	return good;
}

static void test_row(const struct synthetic *w, const char *rules, int seeds, double mean[MEANS])
{
	char capacity[64], settings[32];
	snprintf(capacity, sizeof capacity, "hazard:p=%s,slots=48,length=0", w->p);
	snprintf(settings, sizeof settings, "rules=%s", rules);
	bool good = mean_of(capacity, settings, seeds, mean);
	printf("# p=%s, %s: %.2f preemptions, %.3f fatal, %.2f nodes, %.2f samples/s, %.2f USD/h, value %.3f\n", w->p, rules,
		mean[PREEMPTIONS], mean[FATAL], mean[NODES], mean[RATE], mean[COST], mean[VALUE]);
	/* Both values are sample means, so the tolerance is four standard errors of their difference. */
	double room = 4 * w->preemptions_sd * sqrt(1.0 / seeds + 1.0 / 500);
	ok(good && fabs(mean[PREEMPTIONS] - w->preemptions) < room, "p=%s, %s: %.2f preemptions", w->p, rules, w->preemptions);
	ok(good && fabs(mean[NODES] / w->nodes - 1) < 0.03 && fabs(mean[COST] / w->usd_per_hour - 1) < 0.03,
		"p=%s, %s: %.2f nodes, %.2f USD/h within 3 %%", w->p, rules, w->nodes, w->usd_per_hour);
	ok(good && fabs(mean[RATE] / w->samples_per_s - 1) < 0.04 && fabs(mean[VALUE] / w->value - 1) < 0.04,
		"p=%s, %s: %.2f samples/s, value %.3f within 4 %%", w->p, rules, w->samples_per_s, w->value);
	double fatal_room = fmax(0.15, 0.1 * w->fatal);
	if (seeds >= 500)
		ok(good && fabs(mean[FATAL] - w->fatal) < fatal_room, "p=%s, %s: %.3f fatal failures within %.2f", w->p, rules, w->fatal,
			fatal_room);
}

static void test_synthetic(int seeds)
{
	static const char *const rules[] = { "authors", "clean" };
	for (size_t k = 0; k < 2; k++) {
		double mean[3][MEANS];
		for (size_t i = 0; i < 3; i++)
			test_row(&table[i], rules[k], seeds, mean[i]);
		/* B4 */
		ok(fabs(mean[2][VALUE] / mean[0][VALUE] - 0.895) < 0.02, "%s: from p=0.01 to 0.50 value falls to 0.895 (%.3f)", rules[k],
			mean[2][VALUE] / mean[0][VALUE]);
		ok(fabs(mean[2][RATE] / mean[0][RATE] - 0.556) < 0.02, "%s: throughput falls to 0.556 (%.3f)", rules[k],
			mean[2][RATE] / mean[0][RATE]);
		for (size_t i = 0; i < 3; i++)
			printf("# p=%s, %s: %.2fx cheaper by the hour than on demand, %.2fx its value\n", table[i].p, rules[k],
				61.20 / mean[i][COST], mean[i][VALUE] / 1.719);
	}
}

/* ---- B3: no failures, all nodes from 0. Step times of the authors' simulator: samples / step, nodes x price ---- */

struct ceiling {
	const char *job;
	int nodes;
	double samples_per_s, usd_per_hour, value;          /* Bamboo */
	double od_samples_per_s, od_usd_per_hour, od_value; /* on demand */
};

static const struct ceiling ceilings[] = { { "bamboo-bert", 48, 182.07, 43.68, 4.168, 105.18, 61.20, 1.719 },
	{ "bamboo-gpt2", 48, 31.75, 43.68, 0.727, 9.50, 97.92, 0.0970 }, { "bamboo-resnet", 32, 240.0, 29.12, 8.24, 295.38, 61.20, 4.827 },
	{ "bamboo-gnmt", 24, 303.2, 21.84, 13.88, 320.0, 48.96, 6.536 }, { "bamboo-vgg", 24, 139.6, 21.84, 6.39, 174.55, 48.96, 3.565 },
	{ "bamboo-alexnet", 24, 247.7, 21.84, 11.34, 240.0, 48.96, 4.902 } };

static bool is_near(double got, double want)
{
	return fabs(got / want - 1) < 0.001;
}

static void test_ceilings(void)
{
	for (size_t i = 0; i < sizeof ceilings / sizeof *ceilings; i++) {
		const struct ceiling *c = &ceilings[i];
		char capacity[64];
		snprintf(capacity, sizeof capacity, "hazard:p=0,a=1,slots=%d,length=0", c->nodes);
		struct run_result *r = run_once(capacity, c->job, &orr_policy_spot_bamboo, "rules=authors", 20 * 3600 * ORR_SECOND);
		/* The last step ends up to one step, or 1e-4 of the run, before the run does. */
		ok(r && is_near(get(r, "samples_per_s"), c->samples_per_s) && is_near(get(r, "usd_per_hour"), c->usd_per_hour) &&
				is_near(get(r, "value"), c->value),
			"%s, %d nodes: %.2f samples/s (%.2f), %.2f USD/h (%.2f), value %.3f (%.3f)", c->job, c->nodes, c->samples_per_s,
			get(r, "samples_per_s"), c->usd_per_hour, get(r, "usd_per_hour"), c->value, get(r, "value"));
		result_free(r);
		r = run_once(capacity, c->job, &orr_policy_spot_on_demand, "", 20 * 3600 * ORR_SECOND);
		ok(r && is_near(get(r, "samples_per_s"), c->od_samples_per_s) && is_near(get(r, "usd_per_hour"), c->od_usd_per_hour) &&
				fabs(get(r, "value") / c->od_value - 1) < 0.001,
			"%s, on demand: %.2f samples/s (%.2f), %.2f USD/h (%.2f), value %.4f (%.4f)", c->job, c->od_samples_per_s,
			get(r, "samples_per_s"), c->od_usd_per_hour, get(r, "usd_per_hour"), c->od_value, get(r, "value"));
		result_free(r);
	}
}

/* ---- O1, O2: the artifact's Bamboo. A restatement with simultaneous events in file order ---- */

struct artifact {
	const char *trace, *job;
	double samples_per_s;
};

static const struct artifact artifacts[] = { { "6h", "oobleck-bert", 78.94 }, { "6h", "oobleck-gpt2", 17.89 },
	{ "6h", "oobleck-gpt3-medium", 0 }, { "6h", "oobleck-gpt3-2.7b", 0 }, { "6h", "oobleck-gpt3-6.7b", 0 },
	{ "1h", "oobleck-bert", 80.59 }, { "1h", "oobleck-gpt2", 18.27 }, { "1h", "oobleck-gpt3-medium", 0 },
	{ "1h", "oobleck-gpt3-6.7b", 0 }, { "10m", "oobleck-bert", 68.73 }, { "10m", "oobleck-gpt2", 15.58 },
	{ "10m", "oobleck-gpt3-2.7b", 0 }, { "10m", "oobleck-gpt3-6.7b", 0 }, { "scaled/scale_p3-trace", "oobleck-bert", 64.63 },
	{ "scaled/scale_p3-trace", "oobleck-gpt2", 14.27 }, { "scaled/scale_p3-trace", "oobleck-gpt3-6.7b", 0 } };

static void test_split(const struct run_result *r)
{
	/* Source: the artifact's README and the restatement. 80.29 % of a step counts as redundant. */
	static const struct {
		const char *name;
		double percent;
	} want[] = { { "booked_effective", 15.3 }, { "booked_redundant", 62.2 }, { "booked_rebalance", 6.6 }, { "booked_restart", 0.3 },
		{ "booked_fallback", 15.6 } };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		ok(fabs(100 * get(r, want[i].name) - want[i].percent) < 0.1, "artifact, 10m, BERT: %s %.1f %% (%.2f)", want[i].name,
			want[i].percent, 100 * get(r, want[i].name));
}

static void test_artifact(void)
{
	char path[512], file[64];
	for (size_t i = 0; i < sizeof artifacts / sizeof *artifacts; i++) {
		const struct artifact *a = &artifacts[i];
		snprintf(file, sizeof file, "oobleck/%s.csv", a->trace);
		if (!find_data(file, path, sizeof path))
			return;
		/* The run ends before the last row of the trace. */
		struct run_result *r = run_once(path, a->job, &orr_policy_spot_bamboo, "rules=authors curve=bamboo", ORR_NEVER);
		double got = get(r, "samples_per_s");
		ok(r && fabs(got - a->samples_per_s) <= 0.01 * a->samples_per_s + 1e-9,
			"artifact, %s, %s: %.2f samples/s within 1 %% (%.3f)", a->trace, a->job, a->samples_per_s, got);
		if (r && !strcmp(a->trace, "10m") && !strcmp(a->job, "oobleck-bert"))
			test_split(r);
		result_free(r);
	}
}

/* ---- B6: losses of one zone at a time. The paper: at 7 of 128 (EC2) and 12 of 328 (GCP) instants several zones lost nodes ---- */

static void test_zones(int seeds)
{
	static const struct {
		const char *cross;
		double share;
	} cases[] = { { "0.0547", 7.0 / 128 }, { "0.0366", 12.0 / 328 } };
	for (size_t i = 0; i < 2; i++) {
		double spread[MEANS], block[MEANS];
		char capacity[128];
		snprintf(capacity, sizeof capacity, "bulk:slots=48,zones=a|b|c,every=9m,delay=10m,length=0,cross=%s", cases[i].cross);
		bool good = mean_of(capacity, "rules=clean placement=spread", seeds, spread);
		good = mean_of(capacity, "rules=clean placement=block", seeds, block) && good;
		double share = spread[FATAL] / block[FATAL];
		ok(good && share > cases[i].share / 3 && share < 3 * cases[i].share,
			"neighbours in different zones: %.3f of the fatal failures of zone by zone (%.2f of %.2f); of the order of %.3f",
			share, spread[FATAL], block[FATAL], cases[i].share);
	}
}

int main(void)
{
	bool is_small = getenv("ORR_SANITIZED") != NULL;
	test_p3();
	test_synthetic(is_small ? 40 : 500);
	test_ceilings();
	test_artifact();
	test_zones(is_small ? 20 : 200);
	return done();
}

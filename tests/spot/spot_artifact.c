/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests the rules of the Oobleck artifact's simulators (SymbioticLab/Oobleck, branch sosp23-artifact) over its traces and its
 * jobs.
 *
 * Expected values: the output of the authors' simulators, and the output of an independent restatement ("timed") of their
 * rules. The restatement processes failed checkpoints in order of time, where the authors' simulators scan an event heap in the
 * order of memory. Traces: $ORRERY_DATA_PATH/traces/spot/oobleck.
 */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_spot_varuna, orr_policy_spot_oobleck, orr_policy_spot_bamboo;

static struct orr_error err;

static const char *trace_file(const char *name)
{
	static char path[1024];
	const char *root = getenv("ORRERY_DATA_PATH");
	snprintf(path, sizeof path, "%s/traces/spot/oobleck/%s.csv", root ? root : ".", name);
	return path;
}

/* Returns the result of a run that ends before the last instant of the trace, or NULL on an error. */
static struct run_result *run(const struct orr_policy *policy, const char *trace, const char *job, const char *settings)
{
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, trace_file(trace), NULL, job, policy, settings, "startup=45s", &err)) {
		s.config.until_ns = availset_end_ns(s.set);
		r = spot_runs_run(&s, 0, &err);
	}
	if (!r)
		printf("# %s\n", err.text);
	spot_runs_close(&s);
	return r;
}

static double metric_of(const struct orr_policy *policy, const char *trace, const char *job, const char *settings, const char *metric)
{
	struct run_result *r = run(policy, trace, job, settings);
	double v = spot_runs_metric(r, metric);
	result_free(r);
	return v;
}

static double varuna(const char *trace, const char *job, const char *settings)
{
	char all[200];
	snprintf(all, sizeof all, "rules=artifact %s", settings);
	return metric_of(&orr_policy_spot_varuna, trace, job, all, "artifact_samples_per_s");
}

static double oobleck(const char *trace, const char *job, const char *settings)
{
	char all[200];
	snprintf(all, sizeof all, "rules=artifact %s", settings);
	return metric_of(&orr_policy_spot_oobleck, trace, job, all, "samples_per_s");
}

/* ---- average throughput; O1 to O4 are ids of scenarios/spot-field/published.csv ---- */

static const struct row {
	const char *trace, *job;
	double authors, timed, oobleck; /* throughputs: Varuna as printed by the authors, Varuna by the timed restatement, Oobleck as
					   printed by the authors */
} rows[] = {
	{ "6h", "oobleck-bert", 260.11, 260.16, 287.10 },
	{ "6h", "oobleck-gpt2", 86.51, 86.58, 85.59 },
	{ "6h", "oobleck-gpt3-medium", 29.50, 29.50, 29.30 },
	{ "6h", "oobleck-gpt3-2.7b", 7.27, 7.28, 7.29 },
	{ "6h", "oobleck-gpt3-6.7b", 4.14, 4.14, 4.33 },
	{ "1h", "oobleck-bert", 246.03, 247.10, 286.28 },
	{ "1h", "oobleck-gpt2", 85.17, 85.17, 85.42 },
	{ "1h", "oobleck-gpt3-medium", 28.49, 28.52, 29.21 },
	{ "1h", "oobleck-gpt3-6.7b", 2.69, 2.69, 4.22 },
	{ "10m", "oobleck-bert", 173.52, 179.98, 282.11 },
	{ "10m", "oobleck-gpt2", 76.39, 76.39, 84.81 },
	{ "10m", "oobleck-gpt3-2.7b", 1.76, 2.12, 6.89 },
	{ "10m", "oobleck-gpt3-6.7b", 0.26, 0.38, 3.55 },
	{ "scaled/scale_p3-trace", "oobleck-bert", 187.69, 187.69, 221.40 },
	{ "scaled/scale_p3-trace", "oobleck-gpt2", 64.55, 64.55, 66.83 },
	{ "scaled/scale_p3-trace", "oobleck-gpt3-medium", 21.79, 21.79, 22.49 },
	{ "scaled/scale_p3-trace", "oobleck-gpt3-2.7b", 0.60, 0.85, 5.42 },
	{ "scaled/scale_p3-trace", "oobleck-gpt3-6.7b", 0.00, 0.00, 2.68 },
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Returns whether a value equals the published one, which has two decimals. The curves are published with few digits, so a step may
 * end 1 ms later or earlier, and therefore after a removal instead of before it. This affects one step in 600 to 4,000, or up to 0.1
 * %. */
static bool is_printed(double got, double want)
{
	return fabs(got - want) <= 0.0051 + 0.001 * want;
}

static bool is_small(const struct row *x)
{
	return strncmp(x->job, "oobleck-gpt3-2", 14) && strncmp(x->job, "oobleck-gpt3-6", 14);
}

static void averages(void)
{
	for (const struct row *x = rows; x < rows + ROWS; x++) {
		/* The authors disable losses for their small models on the scaled traces. */
		bool loses = *x->trace != 's' || !is_small(x);
		double v = varuna(x->trace, x->job, loses ? "" : "rollback=false"), o = oobleck(x->trace, x->job, "");
		if (!ok(is_printed(v, x->timed) && is_printed(o, x->oobleck), "O1: %s, %s: Varuna %.2f, Oobleck %.2f", x->trace, x->job,
			    x->timed, x->oobleck))
			printf("# Varuna %.4f Oobleck %.4f\n", v, o);
		if (is_small(x))
			ok(fabs(v / x->authors - 1) < 0.04, "O1b: %s, %s: Varuna within 4 %% of its authors' simulator, %.2f", x->trace,
				x->job, x->authors);
	}
}

/* ---- the quirks, one by one ---- */

static void quirks(void)
{
	/* As published, two removals within one pause stop the job until an instance becomes ready. */
	double one = oobleck("scaled/scale_p3-trace", "oobleck-bert", "compat_timers=false steps_in_pause=false");
	near_to(one, 269.6, 0.001, "O1: Oobleck on the scaled trace with one pending timer: 269.6, 18 % less with stale ones");
	/* The artifact states: "Cancelling them lowers Varuna's BERT by 0.6 % (6h) and 1.6 % (1h), but by about a quarter on 10m".
	 * This is compared with the authors' column and with the timed column, with a tolerance for "about". */
	static const struct {
		const char *trace;
		double loss, tolerance;
	} cut[] = { { "6h", 0.006, 0.002 }, { "1h", 0.016, 0.005 }, { "10m", 0.25, 0.05 } };
	for (int i = 0; i < 3; i++) {
		double with = varuna(cut[i].trace, "oobleck-bert", ""),
		       without = varuna(cut[i].trace, "oobleck-bert", "steps_in_pause=false");
		if (!ok(fabs(1 - without / with - cut[i].loss) < cut[i].tolerance, "Varuna loses %.1f %% on %s without the steps in pauses",
			    100 * cut[i].loss, cut[i].trace))
			printf("# %.4f of %.4f\n", without, with);
	}
}

/* ---- O2: shares of the time ---- */

static void shares(const struct orr_policy *policy, const char *what, const double want[4])
{
	static const char *const parts[] = { "artifact_effective_s", "artifact_checkpoint_s", "artifact_rendezvous_s",
		"artifact_fallback_s" };
	struct run_result *r = run(policy, "10m", "oobleck-bert", "rules=artifact");
	double sum = 0;
	bool good = r;
	for (int i = 0; i < 4; i++)
		sum += spot_runs_metric(r, parts[i]);
	for (int i = 0; i < 4; i++) {
		double share = 100 * spot_runs_metric(r, parts[i]) / sum;
		if (!(fabs(share - want[i]) <= 0.0501)) {
			printf("# %s: %.2f\n", parts[i], share);
			good = false;
		}
	}
	ok(good, "O2: BERT, 10m, %s: effective %.1f, checkpoint %.1f, restart or rebalance %.1f, fallback %.1f %%", what, want[0], want[1],
		want[2], want[3]);
	result_free(r);
}

/* ---- orders of the systems; checkpoints that cost nothing ---- */

static void orders(void)
{
	static const char *const traces[] = { "6h", "1h", "10m" };
	for (int i = 0; i < 3; i++) {
		double b = metric_of(&orr_policy_spot_bamboo, traces[i], "oobleck-bert", "rules=authors curve=bamboo", "samples_per_s");
		double v = varuna(traces[i], "oobleck-bert", ""), o = oobleck(traces[i], "oobleck-bert", "");
		ok(o >= v && v > b && b > 0, "O3: BERT, %s: Oobleck %.1f, Varuna %.1f, Bamboo %.1f", traces[i], o, v, b);
	}
	/* The share is 0.26 of 3.55 with the authors' order of events. In order of time it is 0.38 of 3.55, or 0.107. */
	double share = varuna("10m", "oobleck-gpt3-6.7b", "") / oobleck("10m", "oobleck-gpt3-6.7b", "");
	ok(share > 0 && share < 0.11, "O3: 6.7B, 10m: Varuna collapses, to %.3f of Oobleck", share);
}

static void free_checkpoints(void)
{
	static const struct {
		const char *trace;
		double samples_per_s;
	} want[] = { { "6h", 4.42 }, { "1h", 3.41 }, { "10m", 1.73 } };
	for (int i = 0; i < 3; i++) {
		double v = varuna(want[i].trace, "oobleck-gpt3-6.7b", "free_checkpoints=true"),
		       o = oobleck(want[i].trace, "oobleck-gpt3-6.7b", "");
		if (!ok(is_printed(v, want[i].samples_per_s) && (v > o) == (i == 0) && v > varuna(want[i].trace, "oobleck-gpt3-6.7b", ""),
			    "O4: 6.7B, %s, checkpoints that cost nothing: Varuna %.2f", want[i].trace, want[i].samples_per_s))
			printf("# %.4f, Oobleck %.4f\n", v, o);
	}
}

/* ---- a run by hand ---- */

/* 13 instances from 0 s on, of which one is removed at 50.5 s. Each change starts a rendezvous of 5 s; steps take 1 s, 10 samples at
 * 10 samples/s. Steps end at 6, 7, .. 50 s; the one in flight at 50.5 s is lost. After the second rendezvous they end at 56.5, 57.5, ..
 * 105.5 s. So 45 + 50 steps from 5 to 105.5 s are kept. The effective time includes the lost step and that in flight at the end. */
static void by_hand(void)
{
	static const char job[] =
		"{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":1000,\"curves\":{\"oobleck\":{\"first\":1,"
		"\"values\":[10,10,10,10,10,10,10,10,10,10,10,10,10]}},\"figures\":{\"oobleck.reconfigure_s\":5}}";
	char lines[300] = "";
	for (char c = 'a'; c <= 'm'; c++)
		snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "0,add,%c\n", c);
	strcat(lines, "50500,remove,c\n");
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(
		    &s, NULL, lines, job, &orr_policy_spot_oobleck, "rules=artifact compat_timers=false steps_in_pause=false", "", &err)) {
		s.config.until_ns = 105750000000;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	ok(r != NULL, "a run of the artifact's rules (%s)", err.text);
	near_to(spot_runs_metric(r, "artifact_samples_per_s"), 950 / 100.5, 1e-12,
		"samples per second between the first and the last kept step");
	near_to(spot_runs_metric(r, "artifact_effective_s"), 45 + 1 + 50 + 1, 1e-12, "effective time");
	near_to(spot_runs_metric(r, "artifact_fallback_s"), 1, 1e-12, "a step is lost with the instance");
	near_to(spot_runs_metric(r, "artifact_checkpoint_s"), 0, 1e-12, "no checkpoints");
	result_free(r);
}

int main(void)
{
	by_hand();
	FILE *f = fopen(trace_file("6h"), "r");
	if (!f) {
		skip("the Oobleck artifact's traces are missing (set ORRERY_DATA_PATH): its rules are not checked");
		return done();
	}
	fclose(f);
	averages();
	quirks();
	shares(&orr_policy_spot_varuna, "Varuna", (double[]){ 56.5, 4.2, 7.0, 32.3 });
	shares(&orr_policy_spot_oobleck, "Oobleck", (double[]){ 95.5, 0, 0.3, 4.2 });
	orders();
	free_checkpoints();
	return done();
}

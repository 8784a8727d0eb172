/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Varuna and Oobleck under their own rules: runs computed by hand, and Oobleck's plans against enumeration. Then random runs over
 * generators, options and settings, under --check, with equal bytes when steps are simulated together and one event per step.
 */
#include "base/rng.h"
#include "tests/spot/spot_trial.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_spot_varuna, orr_policy_spot_oobleck;

static struct orr_error err;

struct by_hand {
	const char *what;
	const char *rows, *job, *settings, *options;
	double makespan_s, useful, wasted, pause; /* pause: sum of checkpoint, restart and reconfigure over all instances */
	const char *metric;                       /* or NULL */
	double value;
};

static void by_hand(const struct orr_policy *policy, const struct by_hand *x)
{
	struct spot_trial t = { .policy = policy,
		.rows = x->rows,
		.job = x->job,
		.settings = x->settings,
		.options = x->options,
		.check = true,
		.record = true };
	struct run_result *r = spot_try(&t, &err);
	t.exact = true;
	struct run_result *e = spot_try(&t, &err);
	if (!r || !e)
		printf("# %s\n", err.text);
	double pause = spot_account(r, "checkpoint") + spot_account(r, "restart") + spot_account(r, "reconfigure");
	double wall = spot_metric(r, "makespan_s"), useful = spot_account(r, "useful"), wasted = spot_account(r, "wasted");
	bool good = r && e && spot_same(r, e) && fabs(wall - x->makespan_s) < 1e-7 && fabs(useful - x->useful) < 1e-7 &&
		    fabs(wasted - x->wasted) < 1e-7 && fabs(pause - x->pause) < 1e-7 &&
		    (!x->metric || fabs(spot_metric(r, x->metric) - x->value) < 1e-7);
	if (!ok(good, "%s: %s", policy->name, x->what))
		printf("# makespan %.9g useful %.9g wasted %.9g pause %.9g %s %.9g same %d\n", wall, useful, wasted, pause,
			x->metric ? x->metric : "", x->metric ? spot_metric(r, x->metric) : 0, r && e && spot_same(r, e));
	result_free(r);
	result_free(e);
}

#define JOB(points) \
	"{\"name\":\"small\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":10,\"state_bytes\":1e9,\"points\":[" points "]}"
#define TEN_STEPS JOB("[1,1,10000]")
#define LONG_STEPS JOB("[1,1,100000]")
#define ONE_OR_TWO JOB("[1,1,1000],[2,1,500]")
#define CURVE                                                                                                                   \
	"{\"name\":\"small\",\"source\":\"a "                                                                                   \
	"test\",\"samples_per_step\":10,\"steps\":10,\"curves\":{\"varuna\":{\"first\":2,\"values\":[5,10]},"                   \
	"\"oobleck\":{\"first\":2,\"values\":[5,10]}},\"figures\":{\"varuna.checkpoint_s\":1,\"varuna.restart_s\":4,\"oobleck." \
	"reconfigure_s\":2}}"

static const struct by_hand varuna[] = {
	{ "five checkpoints of 3 s between steps, the last one at the end", "0,add,a\n", TEN_STEPS,
		"setup=5 ckpt_time=3 ckpt_steps=2 background=false", NULL, 5 + 100 + 15, 100, 0, 20, "restarts", 0 },
	{ "background checkpoints: only the last one takes time", "0,add,a\n", TEN_STEPS, "setup=5 ckpt_time=3 ckpt_steps=2", NULL,
		5 + 100 + 3, 100, 0, 8, NULL, 0 },
	/* Times in s. Steps 1 and 2 (7 to 27) are safe at 30. The loss at 40 costs step 3 and 3 of step 4. A restart of 7, eight steps and
	 * a checkpoint of 3 follow from 60 on. */
	{ "a loss costs the steps since the checkpoint, the wait and a restart", "0,add,a\n40000,remove,a\n60000,add,b\n", TEN_STEPS,
		"restart_time=7 ckpt_time=3 ckpt_steps=2", NULL, 60 + 7 + 80 + 3, 100, 13, 17, "restarts", 1 },
	{ "a loss while the checkpoint is written loses the steps that it would have saved", "0,add,a\n29000,remove,a\n29000,add,b\n",
		TEN_STEPS, "restart_time=7 ckpt_time=3 ckpt_steps=2", NULL, 29 + 7 + 100 + 3, 100, 22, 17, "restarts", 1 },
	{ "a loss during the restart starts it again", "0,add,a\n3000,remove,a\n3000,add,b\n", TEN_STEPS, "restart_time=7 ckpt_time=3",
		NULL, 3 + 7 + 100 + 3, 100, 0, 13, "restarts", 1 },
	/* 10^9 bytes are written at 10^8 B/s; a restart reads the same number of bytes. */
	{ "times of checkpoint and restart follow from the state", "0,add,a\n130000,remove,a\n130000,add,b\n", LONG_STEPS,
		"setup=5 ckpt_steps=1", "storage_Bps=1e8", 130 + 5 + 10 + 900 + 10, 1000, 25, 5 + 15 + 10, "restarts", 1 },
	/* Times in s. The notice comes at 130 during step 2, which ends at 220. The step is written by 230; the job is on b by 250.
	 * Eight steps and the last checkpoint follow. */
	{ "a notice of 120 s saves the step", "0,add,a\n0,add,b\n250000,remove,a\n", LONG_STEPS, "restart_time=20 ckpt_time=10",
		"notice=120s", 250 + 800 + 10, 1000, 0, 60, "notice_saves", 1 },
	/* The notice comes at 240 s, 20 s after the start of step 3; the checkpoint is written by 250 s. */
	{ "a notice too short for the step in flight saves the steps before it", "0,add,a\n0,add,b\n270000,remove,a\n", LONG_STEPS,
		"restart_time=20 ckpt_time=10", "notice=30s", 270 + 800 + 10, 1000, 20, 60, "notice_saves", 1 },
	{ "a notice too short for the checkpoint saves nothing", "0,add,a\n0,add,b\n270000,remove,a\n", LONG_STEPS,
		"restart_time=20 ckpt_time=10", "notice=5s", 270 + 20 + 1010, 1000, 250, 50, "notice_saves", 0 },
	/* Times in s. The removal at 270 precedes the end of a checkpoint at 270, so step 2 (120 to 220) cannot be saved in 50. In the
	 * first case the notice comes at 150: step 1 is written by 200. In the second case it comes at 40: the step is written by 170. */
	{ "a checkpoint complete at the removal would come too late: the step in flight is aborted", "0,add,a\n0,add,b\n270000,remove,a\n",
		LONG_STEPS, "restart_time=20 ckpt_time=50", "notice=120s", 200 + 20 + 900 + 50, 1000, 30, 140, "notice_saves", 1 },
	{ "a checkpoint complete at the removal would come too late: the next step does not start", "0,add,a\n0,add,b\n270000,remove,a\n",
		LONG_STEPS, "restart_time=20 ckpt_time=50", "notice=230s", 170 + 20 + 900 + 50, 1000, 0, 140, "notice_saves", 1 },
	{ "on_notice=false: a notice saves nothing", "0,add,a\n0,add,b\n270000,remove,a\n", LONG_STEPS,
		"restart_time=20 ckpt_time=10 on_notice=false", "notice=120s", 270 + 20 + 1010, 1000, 250, 50, "notice_saves", 0 },
	/* Times in s. Step 1 ends at 4 and is written by 5. Nine steps of 0.5 follow from 8 on; they are written by 13.5. */
	{ "the job changes its shape when an instance joins", "0,add,a\n2500,add,b\n", ONE_OR_TWO,
		"restart_time=3 ckpt_time=1 absorb=at-once", NULL, 13.5, 10, 0, 12, "morphs", 1 },
	/* Within the horizon of 6 s, 12 steps of 0.5 s complete with the change, but only 10 steps of 1 s or fewer without the change. */
	{ "the job changes its shape if more steps complete within the horizon", "0,add,a\n2500,add,b\n", ONE_OR_TWO,
		"restart_time=3 ckpt_time=1 horizon=10", NULL, 13.5, 10, 0, 12, "morphs", 1 },
	{ "else not", "0,add,a\n2500,add,b\n", ONE_OR_TWO, "restart_time=3 ckpt_time=1 horizon=8", NULL, 14, 10, 0, 4, "morphs", 0 },
	{ "absorb=at-loss: the job changes its shape only at a loss", "0,add,a\n2500,add,b\n", ONE_OR_TWO,
		"restart_time=3 ckpt_time=1 absorb=at-loss horizon=1h", NULL, 14, 10, 0, 4, "morphs", 0 },
	/* The default horizon is the elapsed time / (losses + 1). The change pays off above 8 s. At 8.5 s, step 6 ends by 9 and is
	 * written by 10 s; four steps of 0.5 s run from 13 s on. */
	{ "the default horizon without a loss: just too short", "0,add,a\n7500,add,b\n", ONE_OR_TWO, "restart_time=3 ckpt_time=1", NULL, 14,
		10, 0, 4, "morphs", 0 },
	{ "the default horizon without a loss: just long enough", "0,add,a\n8500,add,b\n", ONE_OR_TWO, "restart_time=3 ckpt_time=1", NULL,
		16, 10, 0, 12, "morphs", 1 },
	{ "the job takes the shape with the shortest step that fits", "0,add,a\n0,add,b\n0,add,c\n0,add,d\n",
		JOB("[1,2,1000],[1,4,700],[2,2,1200],[4,2,10]"), "setup=0 ckpt_time=1", NULL, 8, 28, 0, 4, NULL, 0 },
	/* The restart takes 4 - 1 s. One node is too few; a step on two nodes takes 2 s. */
	{ "a job with a curve over nodes", "0,add,a\n10000,add,b\n", CURVE, "", NULL, 10 + 3 + 20 + 1, 40, 0, 8, NULL, 0 },
};

#define PAIRS JOB("[2,1,2000],[2,2,1000]")
#define TWO_OR_THREE JOB("[2,1,1000],[3,1,600]")
#define ONE_LOSS "0,add,a\n0,add,b\n2500,remove,b\n2500,add,c\n"
#define FOUR "0,add,a\n0,add,b\n0,add,c\n0,add,d\n"

static const struct by_hand oobleck[] = {
	{ "two pipelines of one node", "0,add,a\n0,add,b\n", PAIRS, "setup=2", NULL, 2 + 20, 40, 0, 4, "reconfigurations", 1 },
	/* Three steps end by 5 s. a and b keep their layers; c gets the half that it lacks, 5 * 10^8 bytes at 10^8 B/s. With one
	 * pipeline of two nodes and one of one node, a step takes 2 / (1/1 + 1/2) s. */
	{ "a loss costs the step, and one node the layers that it lacks", FOUR "5500,remove,d\n", PAIRS, "setup=2 node_Bps=1e8", NULL,
		5.5 + 7 + 28 / 3.0, 12 + 28, 2, 8 + 21, "copied_bytes", 5e8 },
	/* Step 3 ends at the instant of the notice. */
	{ "a node that was given notice is excluded", FOUR "9000,remove,d\n", PAIRS, "setup=2 node_Bps=1e8", "notice=4s", 5 + 7 + 28 / 3.0,
		12 + 28, 0, 8 + 21, "notice_saves", 1 },
	/* Step 7 would end at 9 s, after the removal of that instant. */
	{ "a step that ends at the removal is not saved", FOUR "9000,remove,d\n", PAIRS, "setup=2 node_Bps=1e8", "notice=500ms",
		9 + 7 + 16 / 3.0, 24 + 16, 4, 8 + 21, "notice_saves", 0 },
	/* a and b hold the whole state; the new nodes c and d get one half each. */
	{ "two losses in one pipeline leave a copy of every layer", FOUR "5500,remove,c\n5500,remove,d\n5500,add,e\n5500,add,f\n", PAIRS,
		"setup=2 node_Bps=1e8", NULL, 5.5 + 7 + 7, 40, 2, 8 + 28, "fatal", 0 },
	{ "losses of one stage in both pipelines: all steps since the last checkpoint are lost",
		FOUR "5500,remove,b\n5500,remove,d\n5500,add,e\n5500,add,f\n", PAIRS, "setup=2 node_Bps=1e8", NULL, 5.5 + 2 + 10, 40, 14,
		8 + 8, "fatal", 1 },
	/* The checkpoint that begins at 4.5 s (two steps) is complete at 5.5 s and is read in 1 s. */
	{ "without a copy of a layer the last checkpoint is read", FOUR "5700,remove,b\n5700,remove,d\n5700,add,e\n5700,add,f\n", PAIRS,
		"setup=2 ckpt_interval=4500ms", "storage_Bps=1e9", 5.7 + 2 + 1 + 8, 40, 6.8, 8 + 12, "fatal", 1 },
	{ "the job waits for f + 1 pipelines", "0,add,a\n10000,add,b\n", PAIRS, "setup=2", NULL, 10 + 2 + 20, 40, 0, 4, NULL, 0 },
	{ "f=0: the job runs on one pipeline", "0,add,a\n", JOB("[1,1,1000]"), "setup=2 f=0", NULL, 12, 10, 0, 2, NULL, 0 },
	/* Step 3 ends by 5 s; c gets the whole state in 10 s. */
	{ "absorbs a joiner", "0,add,a\n0,add,b\n4500,add,c\n", JOB("[2,1,1000],[3,1,600]"), "setup=2 node_Bps=1e8 absorb=at-once", NULL,
		5 + 12 + 4.2, 6 + 12.6, 0, 4 + 36, "reconfigurations", 2 },
	/* The default horizon is the elapsed time / (losses + 1). With a pause of 2 s, steps of 0.6 s instead of 1 s pay off above a
	 * horizon of 5 s. There is no loss. c joins at 5.5 s: step 4 ends at 6 s, c copies until 9 s, and six steps follow. */
	{ "the default horizon without a loss: just too short", "0,add,a\n0,add,b\n4500,add,c\n", TWO_OR_THREE, "setup=2 node_Bps=1e9",
		NULL, 12, 20, 0, 4, "reconfigurations", 1 },
	{ "the default horizon without a loss: just long enough", "0,add,a\n0,add,b\n5500,add,c\n", TWO_OR_THREE, "setup=2 node_Bps=1e9",
		NULL, 6 + 3 + 3.6, 8 + 10.8, 0, 4 + 9, "reconfigurations", 2 },
	/* After a loss at 2.5 s, steps continue at 5.5 s. If d joins at 9.9 s, the horizon is 9.9 / 2 s. If d joins at 11 s, step 6
	 * ends at 11.5 s, d copies until 14.5 s, and four steps follow. */
	{ "the default horizon after a loss: just too short", ONE_LOSS "9900,add,d\n", TWO_OR_THREE, "setup=2 node_Bps=1e9", NULL, 15.5, 20,
		1, 4 + 6, "reconfigurations", 2 },
	{ "the default horizon after a loss: just long enough", ONE_LOSS "11000,add,d\n", TWO_OR_THREE, "setup=2 node_Bps=1e9", NULL,
		14.5 + 2.4, 12 + 7.2, 1, 4 + 6 + 9, "reconfigurations", 3 },
	{ "templates of two nodes alone", "0,add,a\n0,add,b\n0,add,c\n0,add,d\n0,add,e\n", PAIRS, "setup=2 min_nodes=2", NULL, 12, 40, 0, 8,
		NULL, 0 },
	{ "a job with a curve over nodes", "0,add,a\n10000,add,b\n", CURVE, "", NULL, 10 + 2 + 20, 40, 0, 4, NULL, 0 },
};

/* ---- Oobleck's plans ---- */

enum { DEPTHS = 4, MOST = 3 };

/* Returns the shortest step of at least two pipelines on at most n nodes, by enumeration. ms[D - 1][d - 1]: step times. */
static double best_of_all(int n, int ms[MOST][DEPTHS])
{
	double best = INFINITY;
	for (int a = 1; a <= DEPTHS; a++)
		for (int b = 1; b <= a; b++)
			for (int c = 0; c <= b; c++) {
				const int *t = ms[c ? 2 : 1];
				if (a + b + c > n || !t[a - 1] || !t[b - 1] || (c && !t[c - 1]))
					continue;
				double sum = 1.0 / t[a - 1] + 1.0 / t[b - 1] + (c ? 1.0 / t[c - 1] : 0), step = (c ? 3 : 2) / sum;
				best = step < best ? step : best;
			}
	return best / 1e3;
}

static void plans(void)
{
	struct rng rng;
	rng_init(&rng, 1, "unit_spot_morph plans", 0);
	int n_trials = getenv("ORR_SANITIZED") ? 40 : 400, ran = 0;
	bool good = true;
	for (int i = 0; i < n_trials && good; i++) {
		int ms[MOST][DEPTHS], n = 2 + (int)rng_below(&rng, 11);
		char job[600], points[400] = "[1,1,5]", rows[300] = "";
		for (int p = 0; p < MOST; p++)
			for (int d = 0; d < DEPTHS; d++) {
				ms[p][d] = p && rng_below(&rng, 5) ? 100 + (int)rng_below(&rng, 1000) : 0;
				if (ms[p][d])
					snprintf(points + strlen(points), sizeof points - strlen(points), ",[%d,%d,%d]", p + 1, d + 1,
						ms[p][d]);
			}
		for (int k = 0; k < n; k++)
			snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "0,add,n%d\n", k);
		snprintf(job, sizeof job, "{\"name\":\"small\",\"source\":\"a test\",\"samples_per_step\":1,\"steps\":1,\"points\":[%s]}",
			points);
		struct spot_trial t = { .policy = &orr_policy_spot_oobleck,
			.rows = rows,
			.job = job,
			.settings = "setup=0",
			.until_ns = 3600 * ORR_SECOND,
			.check = true };
		struct run_result *r = spot_try(&t, &err);
		double want = best_of_all(n, ms), got = r && spot_metric(r, "samples") > 0 ? spot_metric(r, "makespan_s") : INFINITY;
		ran += isfinite(want);
		good = r ? isinf(want) ? isinf(got) : fabs(got - want) < 1e-8 : strstr(err.text, "f=1: 2 pipelines of depths from") != NULL;
		if (!good)
			printf("# %d nodes, %s: got %.9g, want %.9g %s\n", n, points, got, want, err.text);
		result_free(r);
	}
	ok(good && ran > n_trials / 2, "oobleck: the plan is the fastest of all sets of templates, %d times", ran);
}

/* ---- at random ---- */

static const char *const generators[] = { "churn:slots=12,rate=2,delay=5m", "churn:slots=20,rate=10,delay=2m,delays=fixed",
	"bulk:slots=16,every=7m,delay=4m", "bulk:slots=24,every=5m,zones=a|b|c,cross=0.2,delay=1m,delays=fixed",
	"renewal:up=20m,down=5m,nodes=16", "renewal:zones=x|y,up=30m|10m,down=10m|30m,nodes=9,law=lognormal,cv=2",
	"hazard:slots=14,p=0.6" };
static const char *const worlds[] = { "", "startup=45s", "notice=2m", "notice=30s startup=90s", "notice=10m billing=hour",
	"target=13 startup=20s", "quota=15 notice=1m" };
static const char *const varuna_settings[] = { "", "background=false", "background=false ckpt_steps=3 ckpt_time=5", "absorb=at-loss",
	"absorb=at-once", "on_notice=false", "restart_time=5m ckpt_time=2m", "ckpt_time=100 ckpt_steps=2", "setup=0 ckpt_time=1ms",
	"horizon=30m", "rules=artifact", "rules=artifact compat_timers=false", "rules=artifact steps_in_pause=false",
	"rules=artifact rollback=false", "rules=artifact free_checkpoints=true",
	"rules=artifact ckpt_twice=false ckpt_after_removal=false steps_in_pause=false compat_timers=false" };
static const char *const oobleck_settings[] = { "", "f=0", "f=2", "min_nodes=2", "max_nodes=2", "absorb=at-loss", "absorb=at-once",
	"on_notice=false", "node_Bps=1e8", "ckpt_interval=0", "ckpt_interval=2m", "reconfigure_time=90s", "rules=artifact",
	"rules=artifact compat_timers=false", "rules=artifact steps_in_pause=false",
	"rules=artifact compat_timers=false steps_in_pause=false" };

#define PICK(rng, of) (of)[rng_below(rng, sizeof(of) / sizeof *(of))]

#define FIGURES \
	"\"figures\":{\"varuna.checkpoint_s\":15.8,\"varuna.restart_s\":71.3,\"varuna.first_restart_s\":76,\"oobleck.reconfigure_s\":2}"
#define BY_NODES "{\"first\":4,\"values\":[0.1,0.11,0.13,0.14,0.16,0.17,0.18,0.2,0.21,0.23,0.25,0.26,0.28,0.3]}"

static bool random_run(struct rng *rng, uint64_t seed, bool is_oobleck, int *trained)
{
	char job[800];
	struct spot_trial t = { .policy = is_oobleck ? &orr_policy_spot_oobleck : &orr_policy_spot_varuna,
		.generator = PICK(rng, generators),
		.options = PICK(rng, worlds),
		.seed = seed,
		.until_ns = 6 * 3600 * ORR_SECOND,
		.check = true,
		.record = true };
	t.settings = is_oobleck ? PICK(rng, oobleck_settings) : PICK(rng, varuna_settings);
	/* Times are prime numbers of ms, so that few events coincide. */
	bool by_curve = strstr(t.settings, "artifact") || !rng_below(rng, 4);
	int steps = rng_below(rng, 4) ? 3000 : 0;
	if (by_curve)
		snprintf(job, sizeof job,
			"{\"name\":\"small\",\"source\":\"a "
			"test\",\"samples_per_step\":3,\"steps\":%d,\"state_bytes\":2e10,\"curves\":{\"varuna\":" BY_NODES
			",\"oobleck\":" BY_NODES ",\"varuna.restart_s\":{\"first\":4,\"values\":[40,50,60,70,80,90]}}," FIGURES "}",
			steps);
	else
		snprintf(job, sizeof job,
			"{\"name\":\"small\",\"source\":\"a "
			"test\",\"samples_per_step\":3,\"steps\":%d,\"state_bytes\":2e10,\"points\":[[1,1,9001],[1,2,5003],"
			"[2,1,4801],[2,2,3001],[1,4,2903],[2,4,1801],[3,1,3301],[3,2,2203],[3,3,1701],[4,2,1601]]}",
			steps);
	t.job = job;
	return spot_both_ways(t, trained);
}

static void at_random(bool is_oobleck, const char *what)
{
	struct rng rng;
	uint64_t n = getenv("ORR_SANITIZED") ? 60 : 600;
	int trained = 0;
	bool good = true;
	rng_init(&rng, 1, "unit_spot_morph", is_oobleck);
	for (uint64_t i = 0; i < n && good; i++)
		good = random_run(&rng, i, is_oobleck, &trained);
	ok(good && trained > (int)(n * 7 / 10),
		"%s: %d random runs are clean under --check, and the same in one go and step by step; %d got anywhere", what, (int)n,
		trained);
}

/* ---- invalid settings ---- */

static void refused(const struct orr_policy *policy, const char *job, const char *settings, const char *want)
{
	struct spot_trial t = { .policy = policy, .rows = "0,add,a\n", .job = job, .settings = settings };
	struct run_result *r = spot_try(&t, &err);
	if (!ok(!r && strstr(err.text, want), "%s: %s: %s", policy->name, settings, want))
		printf("# %s\n", err.text);
	result_free(r);
}

int main(void)
{
	for (size_t i = 0; i < sizeof varuna / sizeof *varuna; i++)
		by_hand(&orr_policy_spot_varuna, &varuna[i]);
	for (size_t i = 0; i < sizeof oobleck / sizeof *oobleck; i++)
		by_hand(&orr_policy_spot_oobleck, &oobleck[i]);
	plans();
	refused(&orr_policy_spot_varuna, TEN_STEPS, "rules=artifact", "expected a curve \"varuna\"");
	refused(&orr_policy_spot_oobleck, TEN_STEPS, "rules=artifact reconfigure_time=2", "expected a curve \"oobleck\"");
	refused(&orr_policy_spot_oobleck, TEN_STEPS, "rules=artifact", "no number \"oobleck.reconfigure_s\"");
	refused(&orr_policy_spot_oobleck, TEN_STEPS, "f=1", "f=1: 2 pipelines of depths from");
	refused(&orr_policy_spot_oobleck, PAIRS, "min_nodes=3", "of depths from 3 to 256: expected at most 0");
	at_random(false, "varuna");
	at_random(true, "oobleck");
	return done();
}

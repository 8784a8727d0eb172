/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_bamboo.c - Bamboo's rules, one at a time, on a few nodes; expected values are computed by hand from the rules
 *
 * The job has 3 stages; a step of 10 samples takes 1 s with one pipeline and 0.6 s with two. The local rendezvous takes 5 s,
 * the global one 30 s. Nodes are ready when they are added, so the first step begins at 30 s.
 */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_spot_bamboo, orr_policy_spot_on_demand;

#define JOB                                                                                                  \
	"{\"name\":\"three\",\"source\":\"a test\",\"samples_per_step\":10,\"state_bytes\":1e9,\"depth\":3," \
	"\"points\":[[1,3,1000],[2,3,600]],\"figures\":{\"bamboo.local_timer_s\":5},"                        \
	"\"curves\":{\"none\":{\"first\":1,\"values\":[0,0]}}}"
#define JOB_4 "{\"name\":\"four\",\"source\":\"a test\",\"samples_per_step\":10,\"depth\":4,\"points\":[[1,4,1000],[2,4,600]]}"
#define THREE "0,add,a\n0,add,b\n0,add,c\n"
#define FOUR THREE "0,add,d\n"
#define EIGHT FOUR "0,add,e\n0,add,f\n0,add,g\n0,add,h\n"

static struct orr_error err;

/* Metrics that the tables omit. */
static bool has_event_times;

static void give_event_times(struct elastic *job)
{
	for (uint32_t i = 0; i < job->n_points; i++) {
		job->point[i].step_ns[ELASTIC_DEGRADED] = job->point[i].step_ns[ELASTIC_PLAIN] * 13 / 10;
		job->point[i].failover_ns = ORR_SECOND * 4 / 10;
		job->point[i].redundant = 0.25;
	}
}

static struct run_result *run(const char *rows, const char *job, const char *settings, const char *options, double until_s)
{
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, NULL, rows, job, &orr_policy_spot_bamboo, settings, options, &err)) {
		s.config.until_ns = (int64_t)(until_s * 1e9);
		if (has_event_times)
			give_event_times(s.job);
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	return r;
}

/* Checks the metrics of a run; -1: any value. */
static void expect(struct run_result *r, double steps, double takeovers, double fatal, const char *what)
{
	double got[] = { spot_runs_metric(r, "steps"), spot_runs_metric(r, "takeovers"), spot_runs_metric(r, "fatal") };
	const double want[] = { steps, takeovers, fatal };
	bool good = r != NULL;
	for (int i = 0; i < 3; i++)
		good = good && (want[i] < 0 || want[i] == got[i]);
	ok(good, "%s", what);
	if (!good)
		printf("# %g steps, %g takeovers, %g fatal; want %g, %g, %g; %s\n", got[0], got[1], got[2], want[0], want[1], want[2],
			r ? "" : err.text);
}

static void check(const char *rows, const char *job, const char *settings, double until_s, double steps, double takeovers, double fatal,
	const char *what)
{
	struct run_result *r = run(rows, job, settings, "", until_s);
	expect(r, steps, takeovers, fatal, what);
	result_free(r);
}

/* ---- takeovers and fatal losses ---- */

static void test_losses(void)
{
	check(THREE "100000,add,z\n", JOB, "", 50, 19, 0, 0, "the first step begins when the global rendezvous ends");
	/* b is removed at 35.5 s, so the step due at 36 s ends 0.25 s later. O = 1 of A = 2 nodes is more than 5 %, so a rendezvous
	 * follows until 41.25 s. Two nodes are too few for a pipeline. */
	struct run_result *r = run(THREE "35500,remove,b\n", JOB, "", "", 50);
	expect(r, 6, 1, 0, "a loss is taken over, slows its step down, and makes the nodes regroup");
	near_to(spot_runs_metric(r, "samples_per_s"), 60 / 6.25, 1e-9, "the step in flight is stretched by half of its rest");
	result_free(r);
	/* The agent's rule leaves the nodes grouped: steps take 1.5 s from 36.25 s on, and the ninth of them ends at 49.75 s. */
	check(THREE "35500,remove,b\n", JOB, "reconfigure=agent", 50, 15, 1, 0,
		"steps take 1.5 times as long while a node does the work of two");
	check(THREE "35500,remove,b\n", JOB, "reconfigure=agent slowdown=1", 50, 19, 1, 0, "slowdown=1 leaves steps at their length");
	check(THREE "35500,remove,b\n36000,remove,a\n", JOB, "reconfigure=agent", 50, 5, 1, 1, "the loss of a shadow is fatal");
	check(THREE "35500,remove,b\n35500,remove,c\n", JOB, "reconfigure=agent", 50, 5, 1, 1,
		"the loss of the node whose replica the lost node kept is fatal");
	check(THREE "35500,remove,a\n", JOB, "reconfigure=agent", 50, 15, 1, 0, "the last node keeps the first stage");
	check(THREE "35500,remove,a\n35500,remove,c\n", JOB, "reconfigure=agent", 50, 5, 1, 1,
		"the last node is the shadow of the first stage");
	check(FOUR "35500,remove,b\n35500,remove,d\n", JOB_4, "reconfigure=agent", 50, 15, 2, 0,
		"two losses that are not neighbours are taken over, and slow down once");
}

/* ---- the rule ---- */

static void test_rules(void)
{
	/* d waits, so it takes b's stage after a rendezvous. a, c and d run steps from 41.25 s on, which end at 42.25 .. 49.25 s. */
	check(FOUR "35500,remove,b\n", JOB, "", 50, 14, 1, 0, "a waiting node takes the place of a lost one");
	check(FOUR "35500,remove,b\n", JOB, "reconfigure=paper", 50, 14, 1, 0,
		"by the paper's rule a waiting node takes the place of a lost one");
	check(FOUR "35500,remove,b\n", JOB, "reconfigure=agent", 50, 15, 1, 0,
		"by the agent's rule a waiting node does not take the place of a lost one");
	/* Two nodes join at 36 s: six nodes form two pipelines. The step ends at 36 s, the rendezvous at 41 s. Steps then take 0.6 s,
	 * and 14 of them end by 49.4 s. */
	static const char *const rules[] = { "reconfigure=simulator", "reconfigure=paper", "reconfigure=agent" };
	for (size_t i = 0; i < 3; i++)
		check(FOUR "35500,add,e\n35700,add,f\n", JOB, rules[i], 50, 6 + 14, 0, 0,
			"a pipeline is added as soon as there are enough nodes");
	check(FOUR "35500,add,e\n35700,add,f\n", JOB, "pipelines=1", 50, 19, 0, 0, "no pipeline is added beyond `pipelines`");
	check(EIGHT "35500,add,i\n", JOB, "", 40, 16, 0, 0, "no pipeline is added beyond the largest number with a step time");
	/* There is one shadow among 5 nodes, and no node waits. The simulator's rule regroups the nodes as one pipeline: the step
	 * ends at 35.4 s plus a stretch of 0.05 s, and the rendezvous takes 5 s. */
	check(THREE "0,add,d\n0,add,e\n0,add,f\n35300,remove,b\n", JOB, "", 45, 9 + 4, 1, 0,
		"without a waiting node one pipeline is dropped");
	check(THREE "0,add,d\n0,add,e\n0,add,f\n35300,remove,b\n", JOB, "reconfigure=agent", 45, 9 + 10, 1, 0,
		"by the agent's rule all pipelines continue with a shadow");
	struct run_result *r =
		run(THREE "0,add,d\n0,add,e\n0,add,f\n35300,remove,b\n50000,remove,a\n", JOB, "reconfigure=agent", "notice=9s", 60);
	/* A shadow is given notice at 41 s. The nodes regroup at the end of the current step, so a is unused when it is removed. */
	ok(r && spot_runs_metric(r, "reconfigurations") == 1, "the agent's rule regroups when a shadow gets a notice");
	result_free(r);
}

/* ---- quirks ---- */

static void test_quirks(void)
{
	check(FOUR "35500,remove,d\n", JOB, "", 50, 15, 0, 0, "the loss of a waiting node slows steps down, as published");
	check(FOUR "35500,remove,d\n", JOB, "slowdown_any=off", 50, 19, 0, 0,
		"slowdown_any=off: the loss of a waiting node does not slow steps down");
	/* The loss at 36.1 s is fatal. With stale steps, the step ends at 36.25 s, and further steps of 1.5 s follow until the end of
	 * the run. */
	check(THREE "35500,remove,b\n36100,remove,a\n", JOB, "", 50, 5, 1, 1, "a fatal failure stops the step in flight");
	struct run_result *r = run(THREE "35500,remove,b\n36100,remove,a\n", JOB, "stale_steps=on", "", 50);
	expect(r, 15, 1, 1, "stale_steps: steps continue without owners");
	ok(spot_runs_metric(r, "orphaned_steps") == 10, "steps without owners are counted");
	result_free(r);
	/* Two of 8 nodes wait. A loss at 40 s is fatal and starts a global timer until 70 s. Another fatal loss at 45 s, in the other
	 * pipeline, starts a second timer. By the clean rule the second timer replaces the first one, and one pipeline runs from 75 s
	 * on: 16 + 24 steps. */
	const char *twice = EIGHT "40000,remove,b\n40000,remove,c\n45000,remove,e\n45000,remove,f\n";
	check(twice, JOB, "reconfigure=agent", 100, 16 + 24, 2, 2, "a new rendezvous replaces the timer of the one before");
	/* If both timers are kept, the first one ends at 70 s and a pipeline runs. At 75 s the second timer finds an empty list, and
	 * the job stops after 16 + 4 steps. */
	check(twice, JOB, "reconfigure=agent compat_timers=on", 100, 16 + 4, 2, 2, "compat_timers: a stale timer stops the machine");
	/* With stale steps, the step that begins at 39.6 s ends at 40.3 s, stretched by 0.1 s. 32 steps of 0.9 s follow before 70 s. */
	check(twice, JOB, "reconfigure=agent rules=authors", 100, 17 + 32 + 4, 2, 2,
		"stale steps and stale timers together, by the authors' rules");
	/* The job is stopped until an instance becomes ready at 80 s. The rendezvous takes 30 s, and steps end at 111 .. 119 s. */
	check(EIGHT "40000,remove,b\n40000,remove,c\n45000,remove,e\n45000,remove,f\n80000,add,i\n", JOB,
		"reconfigure=agent compat_timers=on", 120, 16 + 4 + 9, 2, 2,
		"a stopped machine starts again when an instance becomes ready");
	/* d is removed while it waits, and the count W of waiting nodes stays 1. With P = 3 no rule depends on W when b is removed at
	 * 37.75 s, because W >= O = 1 regroups anyway. With more nodes W has an effect: with D = 1, d is removed, e and f join, which
	 * are 3+1+2 = 6 nodes by W but 5 actual nodes. */
	check(FOUR "35500,remove,d\n36500,add,e\n36600,add,f\n", JOB, "slowdown_any=off", 45, 14, 0, 0,
		"a waiting node that is lost is no longer counted");
	check(FOUR "35500,remove,d\n36500,add,e\n36600,add,f\n", JOB, "slowdown_any=off keep_waiting=on", 45, 7 + 2, 0, 0,
		"keep_waiting: a lost waiting node is still counted, and the nodes regroup in vain");
}

/* ---- by event ---- */

static void test_event(void)
{
	has_event_times = true;
	/*
	 * At 35.5 s the step has 0.5 s left, which now takes 0.65 s. The failover takes 0.4 s, so the step ends at 36.55 s.
	 * Later steps take 1.3 s, and 10 of them end by 49.55 s. A quarter of the time is redundant computation.
	 */
	struct run_result *r = run(THREE "35500,remove,b\n", JOB, "rules=event reconfigure=agent rollback=off", "", 50);
	expect(r, 16, 1, 0, "event: degraded steps and failover take the job's times");
	near_to(spot_runs_metric(r, "failover_s"), 0.4, 1e-12, "event: seconds of failover are counted");
	near_to(spot_runs_metric(r, "samples_per_s"), 160 / (36.55 + 13 - 30), 1e-9, "event: steps end at the expected times");
	near_to(spot_runs_metric(r, "redundant_part") / spot_runs_metric(r, "useful_part"), 1.0 / 3, 1e-9,
		"event: the redundant share is the job's");
	result_free(r);
	r = run(THREE "35500,remove,b\n", JOB, "rules=event reconfigure=agent rollback=off", "notice=2s", 50);
	near_to(spot_runs_metric(r, "samples_per_s"), 160 / (36.15 + 13 - 30), 1e-9,
		"event: a node that was given notice needs no failover");
	result_free(r);
	/* Checkpoints begin at 33 s (with two steps done, at 31 and 32; safe at 34) and at 36 s (safe at 37). The failure at 36.5 s
	 * is fatal: four of six steps are lost. The timer takes 30 s, the restart 10 s, and reading 1e9 bytes 1 s, so training
	 * continues at 77.5 s. 12 steps end by 89.5 s. */
	const char *rows = THREE "0,add,d\n0,add,e\n36500,remove,b\n36500,remove,c\n";
	r = run(rows, JOB, "rules=event reconfigure=agent checkpoint_interval=3s checkpoint_write=1s restart_time=10s", "", 90);
	ok(r && spot_runs_metric(r, "lost_steps") == 4, "event: the steps since the last checkpoint are lost (%g)",
		spot_runs_metric(r, "lost_steps"));
	/* 2 steps are done before the loss, 12 after the restart. */
	expect(r, 14, 1, 1, "event: a restart takes the rendezvous, reading and restart_time");
	result_free(r);
	/* Each checkpoint pauses training for 0.5 s. Steps end at 31, 32 and 33 s. The checkpoint at the end of the last of them
	 * pauses training until 33.5 s; the next steps end at 34.5, 35.5, 36.5 s, .. */
	r = run(THREE, JOB, "rules=event checkpoint_interval=3s checkpoint_pause=500ms checkpoint_write=100ms", "", 40);
	ok(r && spot_runs_metric(r, "checkpoint_part") > 0.02, "event: checkpoint_pause stops training at each checkpoint (%g)",
		spot_runs_metric(r, "checkpoint_part"));
	/* A checkpoint is due at 33.5 s but waits for the step in flight; the failure at 33.7 s is fatal. Training continues at 64.7
	 * s, after the rendezvous and reading, with a checkpoint and a pause about every 4 s. */
	struct run_result *lost = run(THREE "0,add,d\n0,add,e\n33700,remove,b\n33700,remove,c\n", JOB,
		"rules=event reconfigure=agent checkpoint_interval=3500ms checkpoint_pause=500ms checkpoint_write=100ms", "", 120);
	ok(lost && spot_runs_metric(lost, "checkpoints") >= 10,
		"event: a fatal failure before a pause that is due does not end the checkpoints (%g)",
		lost ? spot_runs_metric(lost, "checkpoints") : NAN);
	result_free(lost);
	double paused = r ? spot_runs_metric(r, "checkpoint_part") : NAN, steps = r ? spot_runs_metric(r, "steps") : NAN;
	result_free(r);
	r = run(THREE, JOB, "rules=event checkpoint_interval=3s checkpoint_copy=sync checkpoint_write=500ms", "", 40);
	ok(r && fabs(spot_runs_metric(r, "checkpoint_part") - paused) < 1e-9 && fabs(spot_runs_metric(r, "steps") - steps) < 1e-9,
		"event: checkpoint_copy=sync stops training for the time to write (%g)", paused);
	result_free(r);
	has_event_times = false;
}

/* ---- more stages on a node; wrong settings ---- */

static void test_groups(void)
{
	/* Two pipelines run. The step due at 36 s ends at 36.25 s; four steps of 0.9 s follow. */
	check("0,add,a\n0,add,b\n0,add,c\n0,add,d\n35500,remove,b\n", JOB_4, "stages_per_node=2 reconfigure=agent", 40, 14, 1, 0,
		"all stages of a node are taken over at once");
	check("0,add,a\n0,add,b\n35500,remove,b\n35600,remove,a\n", JOB_4, "stages_per_node=2 reconfigure=agent", 40, 5, 1, 1, "once");
}

static void refuses(const char *job, const char *settings, const char *text)
{
	struct run_result *r = run(THREE, job, settings, "", 50);
	ok(!r && strstr(err.text, text), "%s: %s", settings, err.text);
	result_free(r);
}

static void test_errors(void)
{
	refuses(JOB, "curve=bamboo", "expected the name of a curve of job three, found \"bamboo\"");
	refuses(JOB, "depth=5", "no redundant step time at depth 5");
	refuses(JOB, "stages_per_node=2", "multiple of stages_per_node");
	refuses(JOB, "rollback=on stale_steps=on", "rollback and stale_steps exclude each other");
	refuses(JOB, "rollback=on checkpoint_interval=0", "checkpoint_interval");
	check(THREE, JOB, "curve=none", 200, 0, 0, 0, "a model that does not fit never runs");
}

/* ---- random traces: no step runs without owners (--check), and --exact gives the same result ---- */

static bool are_equal(const struct run_result *a, const struct run_result *b)
{
	bool same = a && b && a->n_metrics == b->n_metrics;
	for (size_t i = 0; same && i < a->n_metrics; i++)
		same = !strcmp(a->metrics[i].name, b->metrics[i].name) &&
		       !memcmp(&a->metrics[i].value, &b->metrics[i].value, sizeof(double));
	return same;
}

static void test_random(int seeds)
{
	static const char *const settings[] = { "rules=authors", "rules=clean placement=spread", "rules=clean reconfigure=paper",
		"rules=event", "rules=event reconfigure=agent checkpoint_pause=2s checkpoint_interval=1m",
		"rules=event stages_per_node=3 placement=block", "rules=authors reconfigure=agent",
		"rules=event reconfigure=paper checkpoint_write=9m" };
	for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
		struct spot_runs s;
		bool good = spot_runs_open(&s, "bulk:slots=30,zones=a|b,every=2m,delay=3m,length=8h", NULL, "bamboo-bert",
			&orr_policy_spot_bamboo, settings[k], "startup=45s notice=7s", &err);
		s.config.until_ns = 8 * 3600 * ORR_SECOND;
		give_event_times(s.job);
		double steps = 0;
		for (int i = 0; good && i < seeds; i++) {
			s.config.exact = false;
			struct run_result *a = spot_runs_run(&s, (uint64_t)i, &err);
			s.config.exact = true;
			struct run_result *b = a ? spot_runs_run(&s, (uint64_t)i, &err) : NULL;
			good = are_equal(a, b);
			steps += spot_runs_metric(a, "steps");
			result_free(a);
			result_free(b);
		}
		ok(good && steps > 0, "random traces, %s: conservation holds, and --exact gives the same result%s%s", settings[k],
			good ? "" : "; ", good ? "" : err.text);
		spot_runs_close(&s);
	}
}

int main(void)
{
	bool is_small = getenv("ORR_SANITIZED") != NULL;
	test_losses();
	test_rules();
	test_quirks();
	test_event();
	test_groups();
	test_errors();
	test_random(is_small ? 1 : 5);
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_spot_waits.c - runs without their own end: a policy sets a timer each second and trains nothing
 *
 * With a deadline the run ends at the 10,000th instant that has only timers. The instants of the deadline and of the last end of a step
 * count.
 */
#include "tests/tap.h"

#include "tests/spot/spot_runs.h"

#include "base/mem.h"

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };
static const char job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":100,\"points\":[[1,1,1000]]}";

static int64_t step_s, first_at, second_at; /* length of a step, and times at which steps start, s; 0: none */
static uint64_t most;

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	orr_spot_timer(w, ORR_SECOND, 0, 0);
	return mem_zalloc(1, 8);
}

static void run_steps(struct orr_spot *w)
{
	orr_inst i = orr_inst_first(w);
	orr_layout(w, 1, 1, &i);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = step_s * ORR_SECOND, .most = most });
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self, (void)i;
	if (event == ORR_INST_READY && step_s && !first_at && !orr_spot_now(w))
		run_steps(w);
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self, (void)tag;
	int64_t now = orr_spot_now(w) / ORR_SECOND;
	orr_spot_timer(w, orr_spot_now(w) + ORR_SECOND, 0, 0);
	if (now == first_at || now == second_at)
		run_steps(w);
}

static struct run_result *go(const char *rows, const char *options, double until_s)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .instance = instance, .timer = timer };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, NULL, rows, job, &policy, "", options, &err)) {
		s.config.check = false;
		s.config.until_ns = until_s > 0 ? (int64_t)(until_s * 1e9) : ORR_NEVER;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	return r;
}

static void ends_at(const char *rows, double end_s, const char *what)
{
	struct run_result *r = go(rows, "deadline=100s", 0);
	near_to(spot_runs_metric(r, "makespan_s"), end_s, 1e-12, what);
	near_to(spot_runs_metric(r, "is_complete"), 0, 0, "the job is incomplete");
	near_to(spot_runs_metric(r, "deadline_kept"), 0, 0, "the deadline is missed");
	result_free(r);
}

int main(void)
{
	ends_at("0,add,a\n", 10099, "10,000 instants from the deadline on");
	ends_at("0,add,a\n5000000,add,b\n", 15000, "10,000 instants after the last row of the trace");
	ends_at("0,add,a\n50000,add,b\n", 10099, "10,000 instants from the deadline on, after the trace");
	step_s = 7000;
	most = 1;
	ends_at("0,add,a\n", 16999, "10,000 instants from the end of the only step on");
	/* Without a deadline the run fails at this instant, or after a day without progress. */
	struct run_result *r = go("0,add,a\n", "", 0);
	ok(!r && strstr(err.text, "at 16999.000000000 s: no progress since 1.944 h, with step 1 of 100; 1 instances are live"),
		"without a deadline the run fails: %s", err.text);
	result_free(r);
	/* Steps run from 0 to 4 s and from 10 to 14 s. The throughput is measured from the start of the first to the end of the last
	 * step. */
	step_s = 1;
	most = 4;
	second_at = 10;
	r = go("0,add,a\n", "price=3.6", 20);
	near_to(spot_runs_metric(r, "samples_per_s"), 80. / 14, 1e-12, "throughput from a beginning at 0");
	near_to(spot_runs_metric(r, "usd_per_hour"), 3.6, 1e-12, "cost rate until the last step's end");
	/* Seven steps take 1 s and one step takes 7 s; each second costs 3.6 USD/h. */
	near_to(spot_runs_metric(r, "value"), (7 * 10 / 3.6 + 7 * (10 / 7.) / 3.6) / 14, 1e-12, "a pause is part of the step after it");
	result_free(r);
	first_at = 2;
	r = go("0,add,a\n", "price=3.6", 20);
	near_to(spot_runs_metric(r, "samples_per_s"), 80. / 12, 1e-12, "throughput from a beginning at 2 s");
	near_to(spot_runs_metric(r, "value"), (7 * 10 / 3.6 + 5 * (10 / 5.) / 3.6) / 12, 1e-12, "value from a beginning at 2 s");
	result_free(r);
	return done();
}

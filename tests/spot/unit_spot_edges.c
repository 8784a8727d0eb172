/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_spot_edges.c - the spot world's order of calls, its limits, and errors of policies; expected values are computed by hand */
#include "tests/tap.h"

#include "tests/spot/spot_runs.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };
static const char job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":100,\"points\":[[1,1,1000]]}";

/* ---- a policy that logs its calls and performs the actions of a test ---- */

static char told[2048];
static int trick;
static orr_inst kept;
static unsigned count;

static void note(const char *what, const struct orr_spot *w, orr_inst i)
{
	char name[32];
	size_t n = strlen(told);
	snprintf(told + n, sizeof told - n, "%s %s@%g, ", what, orr_inst_name(w, i, name, sizeof name), (double)orr_spot_now(w) / 1e9);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)w, (void)args, (void)e;
	return mem_zalloc(1, 8);
}

static void *create_wanting_none(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	orr_want(w, ORR_ANY_ZONE, 0);
	return create(w, args, e);
}

static const char *const event_names[] = { "added", "ready", "notice", "gone" };

static void run_on(struct orr_spot *w, orr_inst i)
{
	if (orr_steps_in_flight(w, NULL, NULL) || !orr_inst_is_ready(w, i))
		return;
	orr_layout(w, 1, 1, &i);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND });
}

/* Returns the result of one run, or NULL on an error. until: end in s; 0: none. */
static struct run_result *try(const struct orr_spot_ops *ops, const char *capacity, const char *rows, const char *options, double until)
{
	struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, ops,
		sizeof(struct orr_spot_ops) };
	struct spot_runs s;
	struct run_result *r = NULL;
	told[0] = 0;
	count = 0;
	kept = 0;
	if (spot_runs_open(&s, capacity, rows, job, &policy, "", options, &err)) {
		s.config.until_ns = until > 0 ? (int64_t)(until * 1e9) : ORR_NEVER;
		s.config.record_nodes = s.config.record_iterations = true;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	return r;
}

/* ---- order of calls ---- */

static void order_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self;
	note(event_names[event], w, i);
	if ((int)event == trick && count++ == 0)
		orr_request(w, 0, 1);
}

static void order_decide(void *self, struct orr_spot *w)
{
	(void)self;
	if (!orr_spot_now(w) && !orr_inst_live(w))
		orr_request(w, 0, 1);
}

static void test_order(void)
{
	const struct orr_spot_ops ops = {
		.create = create_wanting_none, .destroy = mem_free, .instance = order_instance, .decide = order_decide
	};
	static const struct {
		int event;
		const char *rows, *options, *expected;
	} cases[] = {
		{ ORR_INST_READY, "0,add,a\n0,add,b\n", "", "added a@0, ready a@0, added b@0, ready b@0, " },
		{ ORR_INST_ADDED, "0,add,a\n0,add,b\n", "", "added a@0, added b@0, ready a@0, ready b@0, " },
		{ ORR_INST_NOTICE, "0,add,a\n0,add,b\n100000,remove,a\n100000,remove,b\n", "notice=60s",
			"added a@0, ready a@0, notice a@40, added b@40, notice b@40, ready b@40, gone a@100, gone b@100, " },
		{ ORR_INST_NOTICE, "0,add,a\n0,add,b\n100000,remove,b\n100000,remove,a\n", "notice=60s",
			"added a@0, ready a@0, notice a@40, added b@40, notice b@40, ready b@40, gone b@100, gone a@100, " },
		{ ORR_INST_GONE, "0,add,a\n0,add,b\n100000,remove,a\n100000,remove,b\n", "",
			"added a@0, ready a@0, gone a@100, added b@100, gone b@100, " },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		trick = cases[i].event;
		struct run_result *r = try(&ops, NULL, cases[i].rows, cases[i].options, 200);
		ok(r && !strcmp(told, cases[i].expected), "an instance requested during instance() of another one, %s, %s: %s",
			event_names[trick], cases[i].options, told);
		result_free(r);
	}
}

/* Releases an instance at its notice. The instance is then offered with its known end; when it is taken again, it is given notice
 * again. */
static void again_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self;
	note(event_names[event], w, i);
	if (event != ORR_INST_NOTICE || count++)
		return;
	orr_release(w, i);
	ok(!orr_inst_is_live(w, i) && orr_offers(w, 0) == 1, "an instance released after its notice is offered again");
	orr_spot_timer(w, orr_spot_now(w) + 10 * ORR_SECOND, 0, 0);
}

static void again_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self, (void)tag;
	ok(orr_request(w, ORR_ANY_ZONE, 1) == 1, "the released instance can be taken again");
}

static void test_again(void)
{
	const struct orr_spot_ops ops = {
		.create = create_wanting_none, .destroy = mem_free, .instance = again_instance, .timer = again_timer, .decide = order_decide
	};
	struct run_result *r = try(&ops, NULL, "0,add,a\n100000,remove,a\n", "notice=60s price=36", 200);
	ok(r && !strcmp(told, "added a@0, ready a@0, notice a@40, added a@50, notice a@50, ready a@50, gone a@100, "), "%s", told);
	/* The instances are held for 40 s and 50 s at one cent per second. */
	near_to(spot_runs_metric(r, "usd"), 0.9, 1e-12, "the instance is paid for while it is held");
	near_to(spot_runs_metric(r, "instances"), 2, 0, "an instance released and requested again counts as two");
	result_free(r);
}

/* ---- runs without an end ---- */

static void endless_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self;
	if (trick == 1 && event == ORR_INST_ADDED) {
		orr_release(w, i);
		orr_request(w, 0, 1);
	}
	if (trick == 2 && event == ORR_INST_ADDED) {
		orr_release(w, i);
		orr_request_on_demand(w, 0, 1);
	}
}

static void endless_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self;
	if (trick == 0)
		orr_spot_timer(w, orr_spot_now(w), 0, tag);
}

static void endless_decide(void *self, struct orr_spot *w)
{
	orr_inst some[3] = { 0 };
	struct orr_future f;
	(void)self;
	if (count++ && trick != 3)
		return;
	orr_spot_timer(w, orr_spot_now(w), 0, 0);
	switch (trick) {
	case 4:
		orr_request_on_demand(w, 0, UINT32_MAX);
		break;
	case 5:
		orr_request_on_demand(w, 0, 2000);
		break;
	case 6:
		orr_egress(w, 1e29);
		break;
	case 8:
		orr_layout(w, 1, 3, NULL);
		break;
	case 9:
		some[0] = orr_inst_first(w);
		orr_layout(w, 1, 3, some);
		ok(!orr_owner(w, 0, 0) && !orr_owner(w, 0, 2), "after an error no instance owns a stage");
		break;
	case 10:
	case 11:
	case 12:
	case 13:
		run_on(w, orr_inst_first(w));
		for (int i = 0; i < 6 && trick == 10; i++)
			orr_steps_stretch(w, INT64_MAX / 5);
		if (trick == 11)
			orr_drop_pipeline(w, 0);
		if (trick == 12) {
			orr_steps_stop(w);
			orr_drop_pipeline(w, 0);
			orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND });
		}
		if (trick == 13) {
			orr_steps_stop(w);
			orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND, .egress_bytes = 9e17 });
		}
		break;
	case 14:
		orr_spot_future(w, ORR_NEVER, &f, 1);
		break;
	default:
		break;
	}
}

static void test_endless(void)
{
	const struct orr_spot_ops ops = {
		.create = create, .destroy = mem_free, .instance = endless_instance, .timer = endless_timer, .decide = endless_decide
	};
	static const struct {
		int trick;
		const char *options, *expected;
	} cases[] = {
		{ 0, "",
			"at 0.000000000 s: orr_spot_timer(): timers are set endlessly for this instant: expected at most "
			"spot.max_calls_per_instant" },
		{ 1, "target=1", "instance a at 0.000000000 s: instances are released and taken again endlessly" },
		{ 2, "target=1", "released and taken again endlessly" },
		{ 3, "", "decide() still causes events after 1000 calls at this instant: expected at most spot.max_calls_per_instant" },
		{ 4, "", "too many live instances: expected at most 1048576" },
		{ 5, "on_demand_price=1e6", "the total price too high: expected at most 1e9 USD per hour for all instances" },
		{ 6, "egress_usd_per_GB=1e6", "charges other than for time exceed 2e14 USD" },
		{ 8, "", "orr_layout(): owners is NULL: expected owners of 1 x 3 stages" },
		{ 9, "", "orr_layout(): the handle is 0: expected an instance" },
		{ 10, "", "orr_steps_stretch(): by 1844674407370955161 ns: expected at least 0, and less than 73 years in total" },
		{ 11, "", "a step is in flight although all pipelines were dropped" },
		{ 12, "", "orr_steps_run(): no instance has a stage" },
		{ 13, "egress_usd_per_GB=1e6", "charges other than for time exceed 2e14 USD" },
		{ 14, "", "reads the future: expected a policy that declares ORR_NEEDS_ORACLE" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		trick = cases[i].trick;
		struct run_result *r = try(&ops, NULL, "0,add,a\n0,add,b\n", cases[i].options, 1e6);
		bool good = !r && err.code == ORR_EFAIL && strstr(err.text, "policy script: ") && strstr(err.text, cases[i].expected);
		ok(good, "an error in %zu bytes: %s", strlen(err.text), cases[i].expected);
		if (!good)
			printf("# %s\n", r ? "it ran" : err.text);
		result_free(r);
	}
}

/* ---- runs that end in each function of a policy ---- */

static bool should_end(const struct orr_spot *w, int at)
{
	return trick == at && orr_spot_now(w) >= (at == 0 ? 0 : 10 * ORR_SECOND);
}

static void *ends_create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	orr_steps_are_provisional(w);
	orr_spot_timer(w, 30 * ORR_SECOND, 0, 0);
	if (trick == 0)
		orr_spot_end(w);
	return create(w, args, e);
}

static void ends_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self;
	if (event == ORR_INST_GONE && orr_ownerless(w))
		orr_steps_stop(w);
	if (should_end(w, 1 + (int)event)) {
		orr_spot_end(w);
		orr_request(w, 0, 1);
		if (event != ORR_INST_GONE)
			orr_release(w, i);
		ok(event == ORR_INST_GONE || orr_inst_is_live(w, i), "after orr_spot_end() nothing is done");
	}
}

static void ends_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self, (void)tag;
	if (should_end(w, 5))
		orr_spot_end(w);
	if (trick == 8) /* commits the steps of the job, which has 100 steps */
		orr_commit(w, orr_steps_uncommitted(w));
	orr_steps_last(w);
}

static void ends_steps(void *self, struct orr_spot *w)
{
	(void)self;
	if (should_end(w, 6))
		orr_spot_end(w);
	if (orr_steps_done(w) == 100)
		orr_commit(w, orr_steps_uncommitted(w));
}

static void ends_decide(void *self, struct orr_spot *w)
{
	orr_inst i;
	(void)self;
	if (should_end(w, 7))
		orr_spot_end(w);
	if (orr_inst_ready_list(w, &i, 1))
		run_on(w, i);
}

static void ends_end(void *self, struct orr_spot *w)
{
	(void)self;
	ok(!orr_request_on_demand(w, 0, 3) && !orr_spot_timer(w, orr_spot_now(w), 0, 0), "requests in end() take no instance");
	if (orr_inst_first(w))
		orr_release(w, orr_inst_first(w));
	orr_commit(w, orr_steps_uncommitted(w));
	orr_lose(w, orr_steps_uncommitted(w));
	orr_layout(w, 0, 0, NULL);
	orr_spot_count(w, "ends", 1);
}

static void test_ends(void)
{
	const struct orr_spot_ops ops = { .create = ends_create,
		.destroy = mem_free,
		.instance = ends_instance,
		.timer = ends_timer,
		.steps = ends_steps,
		.decide = ends_decide,
		.end = ends_end };
	static const char rows[] = "0,add,a\n20000,add,b\n50000,remove,a\n60000,add,c\n";
	/* The run ends in create(); at the addition and the readiness of b; at the notice and the removal of a; in the timer; in the
	 * step that ends then; in decide(); at the end of the job; by --until. The 100 steps take 45 s of a, minus the part of a step
	 * that is aborted at its very end, and 56 s of b. */
	static const double ends[] = { 0, 20, 25, 40, 50, 30, 30, 20, 106, 33 };
	for (trick = 0; trick < 10; trick++) {
		struct run_result *r = try(&ops, NULL, rows, "startup=5s notice=10s billing=hour", trick == 9 ? 33 : 0);
		near_to(spot_runs_metric(r, "makespan_s"), ends[trick], 1e-12, "the run ends without an error");
		near_to(spot_runs_metric(r, "ends"), 1, 0, "end() is called");
		result_free(r);
	}
}

/* ---- limits of time and rows ---- */

static void still_decide(void *self, struct orr_spot *w)
{
	orr_inst i;
	(void)self;
	if (orr_inst_ready_list(w, &i, 1) && !orr_steps_in_flight(w, NULL, NULL)) {
		orr_layout(w, 1, 1, &i);
		orr_steps_run(w, &(struct orr_steps){ .step_ns = orr_step_time(w, 1, 1, ORR_STEP_PLAIN) });
	}
}

static void test_long(void)
{
	static const char text[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":%s,\"points\":[[1,1,%s]]}";
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .decide = still_decide };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	char long_job[256];
	struct spot_runs s;
	/* The job has 4e12 steps of a millisecond; a loop over the steps would take hours. */
	snprintf(long_job, sizeof long_job, text, "4e12", "1");
	ok(spot_runs_open(&s, NULL, "0,add,a\n", long_job, &policy, "", "price=3.6 egress_usd_per_GB=0", &err), "4e12 steps");
	for (uint64_t most = 1; most <= 1000; most *= 10) {
		s.config.record_iterations = true;
		s.config.max_rows = most;
		struct run_result *r = spot_runs_run(&s, 0, &err);
		near_to(spot_runs_metric(r, "steps"), 4e12, 0, "all 4e12 steps are done");
		near_to(spot_runs_metric(r, "usd"), 4e6, 1e-12, "the time of all steps is paid for");
		ok(r && r->n_iterations <= most && r->n_iterations * 2 + 1 >= most && r->iterations[0].number == 0 &&
				r->rows_total == UINT64_C(4000000000000),
			"%zu of at most %llu rows are kept", r ? r->n_iterations : 0, (unsigned long long)most);
		for (size_t i = 1; r && i < r->n_iterations; i++)
			if (r->iterations[i].number != i * r->iterations[1].number ||
				r->iterations[i].end_s - r->iterations[i].start_s > 0.0011)
				ok(false, "row %zu belongs to step %llu", i, (unsigned long long)r->iterations[i].number);
		result_free(r);
	}
	spot_runs_close(&s);
	snprintf(long_job, sizeof long_job, text, "1e12", "1000");
	ok(spot_runs_open(&s, NULL, "0,add,a\n1000,add,b\n", long_job, &policy, "", "", &err), "a job of 31,700 years can be opened");
	struct run_result *r = spot_runs_run(&s, 0, &err);
	ok(!r && strstr(err.text, "has not ended after 146 years"), "a run of 31,700 years fails: %s", r ? "it ran" : err.text);
	s.config.until_ns = INT64_MAX / 2 + 1;
	r = spot_runs_run(&s, 0, &err);
	ok(!r && err.code == ORR_EINPUT && strstr(err.text, "--until: expected at most 146 years"),
		"--until is the only end of an endless job");
	s.config.until_ns = INT64_MAX / 2;
	r = spot_runs_run(&s, 0, &err);
	near_to(spot_runs_metric(r, "steps"), 4611686018, 0, "the steps of 146 years are counted");
	result_free(r);
	spot_runs_close(&s);
}

static void hourly_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self;
	if (orr_spot_now(w) == 500000 * ORR_SECOND * 3600)
		run_on(w, orr_inst_first(w));
	orr_spot_timer(w, orr_spot_now(w) + (int64_t)tag * ORR_SECOND, 0, tag);
}

static void hourly_decide(void *self, struct orr_spot *w)
{
	(void)self;
	if (!count++)
		orr_spot_timer(w, trick ? 500000 * ORR_SECOND * 3600 : 0, 0, trick ? 50 : 3600);
}

/* Tests a policy that waits forever. Without a deadline or an end, its run fails after ten times the trace's length, and at least
 * after a day. */
static void fails_at(const struct orr_spot_ops *ops, const char *rows, const char *options, const char *message)
{
	struct run_result *r = try(ops, NULL, rows, options, 0);
	ok(!r && err.code == ORR_EFAIL && strstr(err.text, message) && strstr(err.text, "--until"), "no progress: %s",
		r ? "it ran" : err.text);
	result_free(r);
}

/* Runs a policy that waits forever with a timer each hour, and one that waits for a long but finite time. */
static void test_stuck(void)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .timer = hourly_timer, .decide = hourly_decide };
	trick = 0;
	fails_at(&ops, "0,add,a\n", "", "at 90000.000000000 s: no progress since 0 h, with step 0 of");
	fails_at(&ops, "0,add,a\n36000000,add,b\n", "", "at 363600.000000000 s: no progress since 0 h, with step 0 of");
	fails_at(&ops, "0,add,a\n", "deadline=20000h", "at 72036000.000000000 s: no progress");
	struct run_result *r = try(&ops, NULL, "0,add,a\n", "", 3600 * 40000);
	near_to(spot_runs_metric(r, "makespan_s") / 3600, 40000, 1e-12, "a run with timers only continues to --until");
	result_free(r);
	trick = 1;
	r = try(&ops, NULL, "0,add,a\n", "", 0);
	near_to(spot_runs_metric(r, "makespan_s"), 500000. * 3600 + 100, 1e-12, "a policy that waits for long is not ended");
	near_to(spot_runs_metric(r, "is_complete"), 1, 0, "the job of a policy that waits for long completes");
	result_free(r);
}

/* ---- money ---- */

static void test_money(void)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .decide = still_decide };
	struct run_result *r = try(&ops, NULL, "0,add,a\n", "price=0", 0);
	ok(r && isnan(spot_runs_metric(r, "value")) && isnan(spot_runs_metric(r, "value_ratio")), "a run without cost has no value");
	near_to(spot_runs_metric(r, "usd"), 0, 0, "a run without prices costs nothing");
	result_free(r);
	static const struct {
		const char *rows;
		double usd;
	} hours[] = { { "0,add,a\n3600000,remove,a\n3600001,add,b\n", 1 }, { "0,add,a\n3600001,remove,a\n", 2 },
		{ "0,add,a\n7200000,remove,a\n", 2 } };
	static const char long_job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":1,\"points\":[[1,1,1000]]}";
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params,
		&(const struct orr_spot_ops){ .create = create, .destroy = mem_free } };
	for (size_t i = 0; i < sizeof hours / sizeof *hours; i++) {
		struct spot_runs s;
		ok(spot_runs_open(&s, NULL, hours[i].rows, long_job, &policy, "", "billing=hour price=1", &err), "hours");
		r = spot_runs_run(&s, 0, &err);
		near_to(spot_runs_metric(r, "usd"), hours[i].usd, 1e-12,
			"billing=hour: a started hour is paid, and the next only once it starts");
		result_free(r);
		spot_runs_close(&s);
	}
}

static double price_when_added;

static void price_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct orr_inst_info info;
	(void)self;
	if (event == ORR_INST_ADDED && orr_inst_get(w, i, &info))
		price_when_added = info.usd_per_hour;
}

/* Tests a price series beside the trace: at one instant, prices precede other events. */
static void test_price_first(void)
{
	static const char rows[] = "time_s,zone,type,usd_per_hour\n0,,,1\n100,,,2\n";
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .instance = price_instance };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	struct spot_runs s;
	char path[] = "/tmp/unit_spot_edges_XXXXXX.csv";
	int fd = mkstemps(path, 4);
	FILE *f = fdopen(fd, "w");
	fputs(rows, f);
	fclose(f);
	bool good = spot_runs_open(&s, NULL, "100000,add,a\n200000,remove,a\n", job, &policy, "", "", &err);
	struct availset *prices = good ? availset_load(path, NULL, NULL, 1, &err) : NULL;
	unlink(path);
	s.config.prices = prices;
	struct run_result *r = prices ? spot_runs_run(&s, 0, &err) : NULL;
	near_to(price_when_added, 2, 0, "an instance is taken at the price of that instant");
	near_to(spot_runs_metric(r, "usd"), 200 / 3600.0, 1e-12, "the price of the series is paid");
	result_free(r);
	availset_free(prices);
	spot_runs_close(&s);
}

/* ---- handles ---- */

/* Cancels all small numbers as timers. Timers are cancelled; handles of instances, which have the same form, stay in effect. */
static void handles_timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self;
	note("timer", w, 0);
	ok(tag != 2, "a cancelled timer does not fire");
	for (uint64_t generation = 0; generation < 20 && tag == 1; generation++)
		for (uint64_t slot = 0; slot < 8; slot++)
			orr_spot_cancel(w, generation << 32 | slot);
}

static void handles_instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct orr_inst_info info;
	char name[32];
	(void)self;
	note(event_names[event], w, i);
	if (event == ORR_INST_ADDED && !kept) {
		kept = i;
		orr_spot_timer(w, 10 * ORR_SECOND, 0, 1);
		orr_spot_cancel(w, orr_spot_timer(w, 15 * ORR_SECOND, 0, 2));
	}
	if (event == ORR_INST_GONE)
		ok(orr_inst_get(w, kept, &info) && !info.is_ready && !orr_inst_is_live(w, kept) && !orr_inst_next(w, kept),
			"an ended instance can be queried while ORR_INST_GONE is delivered");
	if (event == ORR_INST_ADDED && kept != i)
		ok(!orr_inst_get(w, kept, &info) && !strcmp(orr_inst_name(w, kept, name, sizeof name), "none") && !orr_inst_mark(w, kept) &&
				orr_inst_slot(i) == orr_inst_slot(kept),
			"an ended instance cannot be queried later, although its slot is reused");
}

static void test_handles(void)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .instance = handles_instance, .timer = handles_timer };
	struct run_result *r = try(&ops, NULL, "0,add,a\n20000,remove,a\n30000,add,b\n", "startup=12s", 100);
	ok(r && !strcmp(told, "added a@0, timer none@10, ready a@12, gone a@20, added b@30, ready b@42, "),
		"forged handles cancel nothing: %s", told);
	result_free(r);
}

int main(void)
{
	test_order();
	test_again();
	test_endless();
	test_ends();
	test_long();
	test_stuck();
	test_money();
	test_price_first();
	test_handles();
	return done();
}

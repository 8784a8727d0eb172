/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_spot_asks.c - queries of a policy of the spot world, its timers, metrics and events; expected values by hand */
#include "tests/tap.h"

#include "tests/spot/spot_runs.h"

#include "base/mem.h"

#include <stdlib.h>

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };
static const char job[] =
	"{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":100,\"depth\":2,\"pipelines\":3,\"state_bytes\":5e9,"
	"\"parameters\":7e8,\"on_demand\":{\"nodes\":4,\"step_s\":2.5},\"figures\":{\"one\":2.5,\"two\":-1},"
	"\"curves\":{\"flat\":{\"first\":2,\"values\":[7]},\"steep\":{\"first\":3,\"values\":[10,20,30]}},"
	"\"points\":[{\"pipelines\":1,\"depth\":2,\"step_ms\":1000,\"redundant_step_ms\":1200,\"degraded_step_ms\":1500,"
	"\"failover_ms\":300,\"redundant\":0.25},[3,4,700]]}";

/* ---- one run of a policy that acts once, at `act_at`, in decide() ---- */

static void (*act)(struct orr_spot *w);
static int64_t act_at;
static unsigned acted, used;
static bool in_end;

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	if (act_at > 0)
		orr_spot_timer(w, act_at, 0, 0);
	return mem_zalloc(1, 8);
}

static void decide(void *self, struct orr_spot *w)
{
	(void)self;
	if (orr_spot_now(w) == act_at && !in_end && !acted++)
		act(w);
}

static void end(void *self, struct orr_spot *w)
{
	(void)self;
	if (in_end)
		act(w);
}

static struct run_result *go_limited(
	void (*what)(struct orr_spot *), double at_s, const char *rows, const char *options, double until_s, uint64_t max_rows)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .decide = decide, .end = end };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", ORR_MAY_ORACLE, no_params, &ops,
		sizeof ops };
	struct spot_runs s;
	struct run_result *r = NULL;
	atomic_uint uses = 0;
	act = what;
	act_at = (int64_t)(at_s * 1e9);
	acted = 0;
	if (spot_runs_open(&s, NULL, rows, job, &policy, "", options, &err)) {
		s.config.until_ns = until_s > 0 ? (int64_t)(until_s * 1e9) : ORR_NEVER;
		s.config.record_nodes = true;
		s.config.max_rows = max_rows;
		s.config.used = &uses;
		r = spot_runs_run(&s, 0, &err);
	}
	used = atomic_load(&uses);
	spot_runs_close(&s);
	return r;
}

static struct run_result *go(void (*what)(struct orr_spot *), double at_s, const char *rows, const char *options, double until_s)
{
	return go_limited(what, at_s, rows, options, until_s, 1000);
}

static void expect_run(void (*what)(struct orr_spot *), double at_s, const char *rows, const char *options)
{
	struct run_result *r = go(what, at_s, rows, options, 1000);
	if (!r)
		printf("# %s\n", err.text);
	ok(r && acted, "the policy was asked, and the run ends well");
	result_free(r);
}

/* ---- the job ---- */

static void ask_job(struct orr_spot *w)
{
	struct orr_elastic_info i;
	uint32_t d = 9, p = 9;
	orr_elastic_get(w, &i);
	same_text(i.name, "j", "the name of the job");
	ok(i.steps == 100 && i.depth == 2 && i.pipelines == 3 && i.on_demand_nodes == 4, "the counts of the job are those of its file");
	near_to(i.samples_per_step, 10, 0, "samples of a step");
	near_to(i.state_bytes, 5e9, 0, "bytes of the state");
	near_to(i.parameters, 7e8, 0, "parameters");
	ok(i.on_demand_step_ns == 2500000000 && i.deadline_ns == 3600 * ORR_SECOND, "baseline and deadline");
	ok(orr_step_time(w, 1, 2, ORR_STEP_PLAIN) == 1000000000 && orr_step_time(w, 1, 2, ORR_STEP_REDUNDANT) == 1200000000 &&
			orr_step_time(w, 1, 2, ORR_STEP_DEGRADED) == 1500000000,
		"three kinds of a step");
	ok(orr_step_time(w, 3, 4, ORR_STEP_PLAIN) == 700000000, "the largest shape has its time");
	ok(!orr_step_time(w, 1, 2, (enum orr_step_kind)3) && !orr_step_time(w, 2, 2, ORR_STEP_PLAIN) &&
			!orr_step_time(w, 3, 5, ORR_STEP_PLAIN) && !orr_step_time(w, 4, 4, ORR_STEP_PLAIN) &&
			!orr_step_time(w, 4, 0, ORR_STEP_PLAIN) && !orr_step_time(w, 0, 0, ORR_STEP_PLAIN),
		"other kinds and shapes have no time");
	near_to(orr_step_redundant(w, 1, 2), 0.25, 0, "the redundant share of a shape");
	near_to(orr_step_redundant(w, 9, 9), 0, 0, "an unknown shape has no redundant share");
	ok(orr_step_failover(w, 1, 2) == 300000000 && !orr_step_failover(w, 2, 1), "failover of a shape; 0 of an unknown one");
	ok(orr_step_point(w, 0, &p, &d) && p == 1 && d == 2 && orr_step_point(w, 1, &p, &d) && p == 3 && d == 4 &&
			!orr_step_point(w, 2, &p, &d),
		"shapes in order");
	near_to(orr_figure(w, "one"), 2.5, 0, "a figure");
	near_to(orr_figure(w, "two"), -1, 0, "another figure");
	ok(isnan(orr_figure(w, "three")), "no such figure");
}

static void ask_curves(struct orr_spot *w)
{
	static const struct {
		uint32_t nodes;
		double value;
	} at[] = { { 0, 10 }, { 2, 10 }, { 3, 10 }, { 4, 20 }, { 5, 30 }, { 6, 30 }, { 1000, 30 } };
	uint32_t first, last;
	int flat = orr_curve_find(w, "flat"), steep = orr_curve_find(w, "steep");
	ok(flat == 0 && steep == 1 && orr_curve_find(w, "none") == -1, "curves by name");
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		near_to(orr_curve_at(w, steep, at[i].nodes), at[i].value, 0, "a curve from 3 to 5 nodes is constant beyond its ends");
	near_to(orr_curve_at(w, flat, 5), 7, 0, "a curve of one value");
	ok(isnan(orr_curve_at(w, -1, 3)) && isnan(orr_curve_at(w, 2, 3)), "no such curve");
	orr_curve_range(w, steep, &first, &last);
	ok(first == 3 && last == 5, "range of a curve: %u to %u", first, last);
	orr_curve_range(w, flat, &first, &last);
	ok(first == 2 && last == 2, "range of a curve of one value: %u to %u", first, last);
	orr_curve_range(w, 2, &first, &last);
	ok(!first && !last, "range of no curve");
	orr_curve_range(w, -1, &first, &last);
	ok(!first && !last, "range of no curve");
}

/* ---- checkpoints: 5 GB ---- */

static int64_t times[8];

static void ask_checkpoint(struct orr_spot *w)
{
	static const uint32_t nodes[] = { 0, 1, 2, 5, 8 };
	for (int i = 0; i < 5; i++)
		times[i] = orr_checkpoint_time(w, nodes[i]);
	times[5] = orr_startup_time(w, false);
	times[6] = orr_startup_time(w, true);
}

static void ask_one_checkpoint(struct orr_spot *w)
{
	times[0] = orr_checkpoint_time(w, 1);
}

static void test_checkpoints(void)
{
	static const struct {
		const char *options;
		double s[5]; /* expected seconds for 0 (as for 1), 1, 2, 5 and 8 nodes */
	} cases[] = {
		{ "", { 5, 5, 5, 5, 5 } }, { "node_Bps=2e8", { 25, 25, 12.5, 5, 5 } },
		{ "node_Bps=2e8 storage_Bps=4e8 storage_latency=250ms", { 25.25, 25.25, 12.75, 12.75, 12.75 } },
		{ "storage_Bps=1e18 node_Bps=1e9", { 5, 5, 2.5, 1, 0.625 } },
		{ "storage_Bps=1", { 4e9, 4e9, 4e9, 4e9, 4e9 } }, /* times of 158 years are clamped to 127 years */
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		expect_run(ask_checkpoint, 0, "0,add,a\n", cases[k].options);
		for (int i = 0; i < 5; i++)
			near_to((double)times[i] / 1e9, cases[k].s[i], 1e-12,
				"a checkpoint takes its bytes / the slower of nodes and storage");
	}
	expect_run(ask_checkpoint, 0, "0,add,a\n", "startup=3s on_demand_startup=7s");
	ok(times[5] == 3 * ORR_SECOND && times[6] == 7 * ORR_SECOND, "startup times of spot and on-demand instances");
	/* Options that change the time for one node, which is the state over min(1.25e9, 1e9) bytes/s by default. */
	static const struct {
		const char *options;
		unsigned want;
	} uses[] = { { "", 0 }, { "storage_Bps=5e8", SPOT_USED_STORAGE }, { "node_Bps=5e8", SPOT_USED_NODE_BPS }, { "node_Bps=2e9", 0 },
		{ "storage_Bps=2e9", SPOT_USED_STORAGE }, { "storage_Bps=2e9 node_Bps=2e9", SPOT_USED_STORAGE | SPOT_USED_NODE_BPS } };
	for (size_t k = 0; k < sizeof uses / sizeof *uses; k++) {
		expect_run(ask_one_checkpoint, 0, "0,add,a\n", uses[k].options);
		ok((used & (SPOT_USED_STORAGE | SPOT_USED_NODE_BPS)) == uses[k].want && used & SPOT_USED_CHECKPOINT,
			"an option counts as used if its default gives another time: %s", uses[k].options);
	}
}

/* ---- instances ---- */

static void ask_instances(struct orr_spot *w)
{
	struct orr_inst_info i;
	orr_inst list[2] = { 0 }, first = orr_inst_first(w), second = orr_inst_next(w, first), third = orr_inst_next(w, second);
	char name[16], shortened[3];
	ok(first && second && third && !orr_inst_next(w, third), "three instances are live");
	ok(orr_inst_live(w) == 3 && orr_inst_ready(w) == 2 && orr_inst_ready_list(w, list, 1) == 2 && list[0] == first && !list[1],
		"ready instances are counted beyond the capacity of the list");
	ok(orr_inst_ready_list(w, list, 2) == 2 && list[1] == second, "ready instances in order");
	ok(orr_inst_get(w, second, &i) && i.number == 1 && i.is_ready && !i.is_on_demand && i.since_ns == 5 * ORR_SECOND &&
			i.ready_ns == 9 * ORR_SECOND && i.goes_ns == ORR_NEVER && !i.stages,
		"the second instance");
	near_to(i.usd_per_hour, 2.5, 0, "the price of the second instance");
	ok(orr_inst_get(w, third, &i) && i.number == 2 && !i.is_ready && i.since_ns == 8 * ORR_SECOND && i.ready_ns == 12 * ORR_SECOND &&
			i.goes_ns == 50 * ORR_SECOND,
		"the third one starts, and has notice");
	ok(orr_inst_is_noticed(w, third) && !orr_inst_is_noticed(w, first) && !orr_inst_is_noticed(w, 0), "notices");
	ok(orr_inst_is_live(w, third) && !orr_inst_is_ready(w, third) && orr_inst_is_ready(w, first) && !orr_inst_is_ready(w, 0), "ready");
	same_text(orr_inst_name(w, second, name, sizeof name), "beta", "the name of the trace");
	same_text(orr_inst_name(w, second, shortened, sizeof shortened), "be", "a name is cut to its buffer");
	ok(!orr_inst_get(w, 0, &i) && !i.number && !i.since_ns, "no instance");
	ok(!orr_inst_get(w, (orr_inst)1 << 32 | 1, &i), "a handle of another generation is refused");
	ok(!orr_inst_is_live(w, 0), "no instance is not live");
	ok(!orr_inst_mark(w, first), "marks begin with 0");
	orr_inst_set_mark(w, first, 77);
	ok(orr_inst_mark(w, first) == 77 && !orr_inst_mark(w, second) && !orr_inst_mark(w, 0), "marks are of one instance");
	ok(orr_inst_slots(w) == 3, "%u slots", orr_inst_slots(w));
}

static void ask_on_demand(struct orr_spot *w)
{
	struct orr_inst_info i;
	char name[16];
	ok(orr_request_on_demand(w, 0, 3) == 2, "the quota of on-demand instances");
	orr_inst od = orr_inst_next(w, orr_inst_next(w, orr_inst_first(w)));
	ok(orr_inst_get(w, od, &i) && i.is_on_demand && i.ready_ns == 10 * ORR_SECOND + 7 * ORR_SECOND, "an on-demand instance");
	near_to(i.usd_per_hour, 9, 0, "the price of an on-demand instance as the instance has it");
	near_to(orr_on_demand_price(w, 0), 9, 0, "the price of on-demand instances");
	same_text(orr_inst_name(w, od, name, sizeof name), "od2", "the name of an on-demand instance");
	ok(orr_inst_true_end(w, od) == ORR_NEVER, "an on-demand instance has no end");
	ok(orr_inst_live(w) == 3 && orr_inst_ready(w) == 1, "three instances are live, one is ready");
}

static void test_instances(void)
{
	expect_run(
		ask_instances, 10, "0,add,alpha\n5000,add,beta\n8000,add,gamma\n50000,remove,gamma\n", "startup=4s notice=45s price=2.5");
	expect_run(ask_on_demand, 10, "0,add,alpha\n", "on_demand_startup=7s on_demand_quota=2 on_demand_price=9");
	ok(used & SPOT_USED_ON_DEMAND_QUOTA, "the quota refused a request");
	struct run_result *r = go(ask_on_demand, 10, "0,add,alpha\n", "on_demand_startup=7s on_demand_quota=2 on_demand_price=9", 1000);
	near_to(spot_runs_metric(r, "refused"), 1, 0, "the refused instance is counted");
	near_to(spot_runs_metric(r, "on_demand_hours"), 2 * 990 / 3600., 1e-12, "hours of two on-demand instances");
	near_to(spot_runs_metric(r, "spot_hours"), 1000 / 3600., 1e-12, "hours of a spot instance");
	near_to(spot_runs_metric(r, "node_hours"), 2980 / 3600., 1e-12, "hours of both");
	near_to(spot_runs_metric(r, "mean_live"), 2.98, 1e-12, "mean number of live instances without a step");
	near_to(spot_runs_metric(r, "usd_per_hour"), 1 + 9 * 1.98, 1e-12, "mean cost without a step");
	near_to(spot_runs_metric(r, "instances"), 3, 0, "instances taken");
	near_to(spot_runs_metric(r, "samples_per_s"), 0, 0, "no samples");
	near_to(spot_runs_metric(r, "value"), 0, 0, "no value");
	result_free(r);
}

static void take_none(struct orr_spot *w)
{
	ok(orr_request_on_demand(w, 0, 2) == 2, "a request up to the quota");
}

/* ---- the future ---- */

static const char changes[] = "0,add,a\n5000,add,b\n10000,add,c\n20000,remove,b\n30000,add,d\n40000,remove,d\n";

static void ask_future(struct orr_spot *w)
{
	struct orr_future f[8];
	memset(f, 0, sizeof f);
	ok(orr_spot_future(w, 19 * ORR_SECOND, f, 8) == 0, "the present is not the future");
	ok(orr_spot_future(w, 20 * ORR_SECOND, f, 8) == 1 && f[0].t_ns == 20 * ORR_SECOND && f[0].change == -1 && !f[0].zone,
		"a change at the end of the window belongs to it");
	ok(orr_spot_future(w, 1000 * ORR_SECOND, f, 2) == 3 && f[1].t_ns == 30 * ORR_SECOND && f[1].change == 1 && !f[2].t_ns,
		"changes beyond the capacity are counted and not written");
	orr_inst a = orr_inst_first(w), b = orr_inst_next(w, a);
	ok(orr_inst_true_end(w, b) == 20 * ORR_SECOND, "the end of b");
	ok(orr_inst_true_end(w, a) == ORR_NEVER, "a has no end in the trace");
	ok(orr_offer_true_end(w, 0) == orr_spot_now(w), "no offer");
}

static void ask_to_the_end(struct orr_spot *w)
{
	struct orr_future f[8];
	ok(orr_spot_future(w, ORR_NEVER, f, 8) == 2 && f[1].t_ns == 30 * ORR_SECOND,
		"changes after 146 years, the end of the run are not seen");
}

static void ask_offer(struct orr_spot *w)
{
	orr_inst a = orr_inst_first(w);
	ok(orr_inst_true_end(w, a) == 90 * ORR_SECOND, "the end of a");
	ok(orr_offers(w, 0) == 1 && orr_offer_true_end(w, 0) == 70 * ORR_SECOND && orr_offer_true_end(w, ORR_ANY_ZONE) == 70 * ORR_SECOND,
		"the end of the offer");
	ok(orr_offer_true_end(w, 1) == orr_spot_now(w), "another zone has no offer");
}

static void test_future(void)
{
	expect_run(ask_future, 10, changes, "");
	expect_run(ask_offer, 10, "0,add,a\n1000,add,b\n70000,remove,b\n90000,remove,a\n", "quota=1");
	struct run_result *r = go(ask_to_the_end, 10, changes, "", 35);
	ok(r && r->is_oracle, "a run that saw the future is marked");
	result_free(r);
	r = go(ask_curves, 10, changes, "", 35);
	ok(r && !r->is_oracle, "a run that did not see it is not marked");
	result_free(r);
}

/* ---- metrics ---- */

static const char *named;
static double reported;

static void report_named(struct orr_spot *w)
{
	orr_spot_report(w, named, reported);
}

static void report_some(struct orr_spot *w)
{
	orr_spot_count(w, "a.b-c_9", 2);
	orr_spot_count(w, "zero", 0);
	orr_spot_count(w, "a.b-c_9", 3);
	orr_spot_report(w, "last", 2);
	orr_spot_report(w, "last", 3);
	orr_spot_report(w, "none", NAN);
}

static void test_metrics(void)
{
	static const char sixty[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz12345678";
	static const char longer[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz123456789";
	static const char *const bad[] = { "", "a b", "a,b", "paused_part", "replications", "ratio_x", longer, NULL };
	struct run_result *r = go(report_some, 0, "0,add,a\n", "", 10);
	near_to(spot_runs_metric(r, "a.b-c_9"), 5, 0, "counts are added");
	near_to(spot_runs_metric(r, "zero"), 0, 0, "a count of 0 is reported");
	near_to(spot_runs_metric(r, "last"), 3, 0, "the last report stays");
	ok(r && isnan(spot_runs_metric(r, "none")), "a value that is no number is not reported");
	result_free(r);
	reported = 4;
	named = sixty;
	r = go(report_named, 0, "0,add,a\n", "", 10);
	near_to(spot_runs_metric(r, sixty), 4, 0, "a name of 60 characters");
	result_free(r);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		named = bad[i];
		r = go(report_named, 0, "0,add,a\n", "", 10);
		ok(!r && strstr(err.text, "cannot name a metric: expected 1 to 60 letters"), "no name of a metric: %s",
			named ? named : "NULL");
		result_free(r);
	}
	named = "steps";
	r = go(report_named, 0, "0,add,a\n", "", 10);
	ok(!r && strstr(err.text, "steps is a metric of the world: expected another name"), "a metric of the world: %s", err.text);
	result_free(r);
	named = "x";
	reported = INFINITY;
	r = go(report_named, 0, "0,add,a\n", "", 10);
	ok(!r && strstr(err.text, "orr_spot_report(): x: expected a finite number, found inf"), "an infinite value: %s", err.text);
	result_free(r);
	in_end = true;
	reported = 6;
	r = go(report_named, 0, "0,add,a\n", "", 10);
	near_to(spot_runs_metric(r, "x"), 6, 0, "a metric may be reported in end()");
	in_end = false;
	result_free(r);
}

/* ---- events ---- */

static void tell_three(struct orr_spot *w)
{
	orr_spot_event(w, "first", "%d of %d", 1, 3);
	orr_spot_event(w, NULL, "%s", "");
	orr_spot_event(w, "third", "x");
}

static void test_events(void)
{
	struct run_result *r = go(tell_three, 10, "0,add,a\n", "", 20);
	ok(r && r->n_events == 3 && r->events[0].time_ns == 10 * ORR_SECOND && r->events[0].subject == 1 && r->events[2].subject == 3 &&
			!strcmp(r->events[0].kind, "first") && !strcmp(r->events[0].detail, "1 of 3") && !*r->events[1].kind &&
			!r->events[1].detail,
		"events are numbered from 1 and have their time");
	result_free(r);
	r = go_limited(tell_three, 10, "0,add,a\n", "", 20, 2);
	ok(r && r->n_events == 2, "events above the limit of rows are left out");
	result_free(r);
}

/* ---- giving up, timers, random numbers ---- */

static void give_up(struct orr_spot *w)
{
	orr_spot_give_up(w, named);
}

static void run_and_give_up(struct orr_spot *w)
{
	orr_inst i = orr_inst_first(w);
	orr_layout(w, 1, 1, &i);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = 1 });
	orr_spot_give_up(w, "no");
}

static void rank_7(struct orr_spot *w)
{
	ok(orr_spot_timer(w, orr_spot_now(w) + 1, 7, 0) != 0, "rank 7 is a timer's last");
}

static void rank_8(struct orr_spot *w)
{
	ok(!orr_spot_timer(w, orr_spot_now(w) + 1, 8, 0), "rank 8 is refused");
}

static void draw(struct orr_spot *w)
{
	double sum = 0;
	bool good = true;
	for (int i = 0; i < 1000; i++) {
		double x = orr_spot_uniform(w);
		good &= x >= 0 && x < 1;
		sum += x;
	}
	/* The standard deviation of the mean of 1000 draws is 0.009. */
	ok(good && fabs(sum / 1000 - 0.5) < 0.05, "draws are uniform from 0 to 1: mean %g", sum / 1000);
}

static void test_errors(void)
{
	static const struct {
		void (*what)(struct orr_spot *);
		double at;
		const char *name;
		int code;
		const char *expected;
	} cases[] = { { give_up, 0, "why", ORR_EINPUT, "at 0.000000000 s: why" }, { give_up, 5, "why", ORR_EFAIL, "at 5.000000000 s: why" },
		{ give_up, 0, NULL, ORR_EINPUT, "the policy failed without a message: expected a message that gives the reason" },
		{ run_and_give_up, 0, "", ORR_EFAIL, ": no" }, { rank_8, 5, "", ORR_EFAIL, "orr_spot_timer(): rank 8: expected 0 to 7" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		named = cases[i].name;
		struct run_result *r = go(cases[i].what, cases[i].at, "0,add,a\n", "", 10);
		ok(!r && err.code == cases[i].code && strstr(err.text, cases[i].expected), "error %d: %s", cases[i].code, err.text);
		result_free(r);
	}
	expect_run(rank_7, 5, "0,add,a\n", "");
	expect_run(draw, 5, "0,add,a\n", "");
	expect_run(take_none, 5, "0,add,a\n", "on_demand_quota=2");
	ok(!(used & SPOT_USED_ON_DEMAND_QUOTA), "a quota that refuses nothing has no effect");
}

int main(void)
{
	expect_run(ask_job, 0, "0,add,a\n", "deadline=1h");
	expect_run(ask_curves, 0, "0,add,a\n", "");
	test_checkpoints();
	test_instances();
	test_future();
	test_metrics();
	test_events();
	test_errors();
	return done();
}

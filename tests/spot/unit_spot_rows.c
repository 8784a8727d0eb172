/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_spot_rows.c - rows of nodes, series, progress, deadlines and ends of runs of the spot world, computed by hand */
#include "tests/spot/spot_script.h"

/* ---- rows of nodes, series ---- */

static void stop_at_120(struct orr_spot *w, int64_t s)
{
	if (s == 120)
		orr_steps_stop(w), orr_layout(w, 0, 0, NULL);
}

static void test_rows(void)
{
	reset();
	every_s = 60;
	at_timer = stop_at_120;
	struct run_result *r = go("0,add,a\n30000,add,b\n90000,remove,b\n", "startup=0 price=3.6", 240);
	static const struct {
		double s;
		unsigned live, ready, in_use;
		double usd;
	} rows[] = { { 0, 1, 1, 1, 0 }, { 30, 2, 2, 1, 0.03 }, { 90, 1, 1, 1, 0.15 } };
	ok(r && r->n_nodes >= 3 && r->n_nodes <= 4, "%zu rows of nodes", r ? r->n_nodes : 0);
	for (size_t i = 0; r && i < 3; i++)
		ok(r->nodes[i].time_ns == (int64_t)(rows[i].s * 1e9) && r->nodes[i].live == rows[i].live &&
				r->nodes[i].ready == rows[i].ready && r->nodes[i].in_use == rows[i].in_use &&
				fabs(r->nodes[i].usd - rows[i].usd) < 1e-12,
			"row %zu: at %g s %u live, %u ready, %u in use, %g USD", i, (double)r->nodes[i].time_ns / 1e9, r->nodes[i].live,
			r->nodes[i].ready, r->nodes[i].in_use, r->nodes[i].usd);
	ok(r && r->n_series == 1 && r->series->n == 240 && !strcmp(r->series->name, "samples_per_s"), "a series of 240 parts");
	result_free(r);
	/* The job ends at 100 s; the series has 240 parts with 10 samples/s each. */
	reset();
	r = go("0,add,a\n", "", 0);
	bool good = r && r->n_series == 1;
	for (size_t b = 0; good && b < 240; b++)
		good = fabs(r->series->value[b] - 10) < 1e-6 && llabs(r->series->time_ns[b] - (int64_t)(100e9 / 240 * (double)b)) <= 1;
	ok(good, "constant throughput");
	result_free(r);
}

/* Runs 48 steps until 48 s and none until 240 s; 20 of them are lost at 60 s. */
static void half_and_lose(struct orr_spot *w, int64_t s)
{
	if (s == 48) {
		orr_steps_stop(w);
		orr_layout(w, 0, 0, NULL);
	}
	if (s == 60)
		orr_lose(w, 20);
	if (s == 72)
		run_steps(w, 0, 0);
}

static void test_series(void)
{
	reset();
	is_provisional = true;
	every_s = 12;
	at_timer = half_and_lose;
	struct run_result *r = go("0,add,a\n", "", 240);
	/* Rows of nodes are at 0, 48 and 72 s; samples are interpolated between them. There are 47 steps, because the step at 48 s
	 * was stopped. */
	bool good = r && r->n_series == 1;
	for (size_t b = 0; good && b < 48; b++)
		good = fabs(r->series->value[b] - 470. / 48) < 1e-9;
	ok(good, "throughput before the first change");
	for (size_t b = 48; good && b < 72; b++)
		good = r->series->value[b] == 0;
	ok(good, "no throughput is below 0 while steps are lost");
	for (size_t b = 73; good && b < 140; b++)
		good = r->series->value[b] > 0;
	ok(good, "the throughput is above 0 afterwards");
	ok(r && r->n_nodes >= 3 && r->nodes[1].time_ns == 48 * ORR_SECOND && !r->nodes[1].in_use &&
			r->nodes[2].time_ns == 72 * ORR_SECOND && r->nodes[2].in_use == 1,
		"rows where the number of owners changes");
	result_free(r);
}

static void add_on_demand(struct orr_spot *w, int64_t s)
{
	if (s == 10)
		orr_request_on_demand(w, 0, 2);
}

static void test_on_demand_rows(void)
{
	reset();
	every_s = 10;
	at_timer = add_on_demand;
	struct run_result *r = go("0,add,a\n", "on_demand_startup=20s", 100);
	ok(r && r->n_nodes == 3 && r->nodes[1].time_ns == 10 * ORR_SECOND && r->nodes[1].live == 3 && r->nodes[1].ready == 1 &&
			r->nodes[2].time_ns == 30 * ORR_SECOND && r->nodes[2].live == 3 && r->nodes[2].ready == 3 &&
			r->nodes[2].in_use == 1,
		"rows count on-demand instances");
	result_free(r);
	/* Nothing is trained; ten times the length of the trace is less than a day. */
	starts_late = true;
	r = go("0,add,a\n", "on_demand_startup=20s", 0);
	ok(!r && strstr(err.text, "no progress since 0 h, with step 0 of 100; 3 instances are live"), "both kinds are live: %s", err.text);
	result_free(r);
}

static void toggle(struct orr_spot *w, int64_t s)
{
	if (s % 2)
		run_steps(w, 0, 0);
	else
		orr_steps_stop(w), orr_layout(w, 0, 0, NULL);
}

static void test_thinning(void)
{
	reset();
	every_s = 1;
	at_timer = toggle;
	for (uint64_t most = 1; most <= 64; most *= 4) {
		struct run_result *r = go_with("0,add,a\n", "", 200, most, NULL);
		bool good = r && r->n_nodes <= most + 1 && 2 * r->n_nodes + 2 >= most && r->nodes[0].time_ns == 0;
		for (size_t i = 1; good && i < r->n_nodes; i++)
			good = r->nodes[i].time_ns > r->nodes[i - 1].time_ns;
		ok(good, "%zu rows of nodes remain of at most %llu, in order of time", r ? r->n_nodes : 0, (unsigned long long)most);
		result_free(r);
	}
}

/* ---- progress, deadlines, ends ---- */

static void test_ends(void)
{
	double part = 0;
	reset();
	every_s = 1;
	struct run_result *r = go_with("0,add,a\n", "endless=true", 5000, 10, &part);
	/* There are 4999 timers at as many instants, and one call per 1024 instants. decide() is called once. */
	ok(r && called >= 4, "progress is reported every 1024 instants: %u", called);
	near_to(part, 4096. / 5000, 2e-3, "progress is the elapsed share of the run's time");
	result_free(r);
	reset();
	static const struct {
		const char *options;
		double kept;
	} deadlines[] = { { "deadline=100s", 1 }, { "deadline=99.999999999s", 0 }, { "deadline=101s", 1 } };
	for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
		r = go("0,add,a\n", deadlines[i].options, 0);
		near_to(spot_runs_metric(r, "deadline_kept"), deadlines[i].kept, 0, "100 steps of a second and a deadline");
		near_to(spot_runs_metric(r, "is_complete"), 1, 0, "the job is complete");
		result_free(r);
	}
	r = go("0,add,a\n", "", 0);
	ok(r && isnan(spot_runs_metric(r, "deadline_kept")), "without a deadline the metric deadline_kept is missing");
	result_free(r);
	/* No events are left, so the run ends with the trace. */
	starts_late = true;
	r = go("0,add,a\n5000,add,b\n70000,remove,a\n", "endless=true", 0);
	near_to(spot_runs_metric(r, "makespan_s"), 70, 1e-12, "an idle run ends with the trace");
	ok(r && isnan(spot_runs_metric(r, "is_complete")), "an endless job cannot be complete");
	result_free(r);
	r = go("0,add,a\n5000,add,b\n70000,remove,a\n", "endless=true", 90);
	near_to(spot_runs_metric(r, "makespan_s"), 90, 1e-12, "an idle run continues until its end");
	near_to(spot_runs_metric(r, "node_hours"), (70 + 85) / 3600., 1e-12, "the instances of an idle run are paid for");
	near_to(spot_runs_metric(r, "idle_part"), 1, 1e-12, "all time of the run was idle");
	near_to(spot_runs_metric(r, "useful_part"), 0, 0, "none of it was useful");
	result_free(r);
	/* The maximum price excludes all instances. */
	r = go("5000,add,b\n", "endless=true target=0 max_price=0.5", 20);
	near_to(spot_runs_metric(r, "node_hours"), 0, 0, "no instance was taken");
	near_to(spot_runs_metric(r, "idle_part"), 0, 0, "shares of no time are 0");
	result_free(r);
}

int main(void)
{
	test_rows();
	test_series();
	test_on_demand_rows();
	test_thinning();
	test_ends();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of a spot policy about its job, by hand; the largest total price; runs without progress. */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include "base/mem.h"

static struct orr_error err;
static const char job[] =
	"{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":60,\"steps\":10,\"state_bytes\":1e9,"
	"\"figures\":{\"x\":2.5},\"points\":[[2,3,350],[1,2,600]],\"curves\":{\"c\":{\"first\":2,\"values\":[10,30,20]}}}";

static int64_t every_s;                  /* interval of a timer, s; 0: none */
static void (*asks)(struct orr_spot *w); /* called in create(); NULL: no call */

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	if (asks)
		asks(w);
	if (every_s)
		orr_spot_timer(w, every_s * ORR_SECOND, 0, 0);
	return mem_zalloc(1, 8);
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self, (void)tag;
	orr_spot_timer(w, orr_spot_now(w) + every_s * ORR_SECOND, 0, 0);
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .timer = timer };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "idle", "of a test", "spot", 0, no_params, &ops, sizeof ops };

static struct run_result *run(const char *capacity, const char *rows, const char *options, double until_s)
{
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, capacity, rows, job, &policy, "", options, &err)) {
		s.config.until_ns = until_s > 0 ? (int64_t)(until_s * 1e9) : ORR_NEVER;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	return r;
}

/* ---- the job ---- */

/* A node writes 1e8 bytes/s, the storage takes 2.5e8 bytes/s, and each write has a latency of 0.5 s. */
static void ask_times(struct orr_spot *w)
{
	static const double s[] = { 10.5, 10.5, 5.5, 4.5, 4.5 };
	for (uint32_t n = 0; n < 5; n++)
		near_to((double)orr_checkpoint_time(w, n) / 1e9, s[n], 1e-12, "a checkpoint by 0 (as by one) to 4 nodes");
	ok(orr_startup_time(w, false) == 3 * ORR_SECOND && orr_startup_time(w, true) == 7 * ORR_SECOND &&
			orr_notice_time(w) == 11 * ORR_SECOND,
		"times of a start and of a notice");
}

static void ask_tables(struct orr_spot *w)
{
	uint32_t p = 0, d = 0, first = 9, last = 9;
	ok(orr_step_point(w, 0, &p, &d) && p == 1 && d == 2 && orr_step_point(w, 1, &p, &d) && p == 2 && d == 3 &&
			!orr_step_point(w, 2, &p, &d),
		"shapes by pipelines and depth");
	ok(orr_step_time(w, 2, 3, ORR_STEP_PLAIN) == 350000000 && orr_step_time(w, 1, 2, ORR_STEP_PLAIN) == 600000000 &&
			!orr_step_time(w, 1, 3, ORR_STEP_PLAIN) && !orr_step_time(w, 3, 3, ORR_STEP_PLAIN) &&
			!orr_step_time(w, 2, 4, ORR_STEP_PLAIN) && !orr_step_time(w, 0, 0, ORR_STEP_PLAIN),
		"step times; 0 for other shapes");
	ok(orr_figure(w, "x") == 2.5 && isnan(orr_figure(w, "y")), "numbers by name");
	int c = orr_curve_find(w, "c");
	ok(c == 0 && orr_curve_find(w, "d") == -1, "curves by name");
	ok(orr_curve_at(w, c, 0) == 10 && orr_curve_at(w, c, 2) == 10 && orr_curve_at(w, c, 3) == 30 && orr_curve_at(w, c, 4) == 20 &&
			orr_curve_at(w, c, 5) == 20,
		"a curve is constant outside its range");
	orr_curve_range(w, c, &first, &last);
	ok(first == 2 && last == 4, "the range of a curve");
	orr_curve_range(w, 1, &first, &last);
	ok(!first && !last && isnan(orr_curve_at(w, 1, 2)) && isnan(orr_curve_at(w, -1, 2)), "an unknown curve");
	orr_curve_range(w, -1, &first, &last);
	ok(!first && !last, "an unknown curve has no range");
}

static void job_asked(void)
{
	asks = ask_times;
	result_free(run(
		NULL, "0,add,a\n", "node_Bps=1e8 storage_Bps=2.5e8 storage_latency=500ms startup=3s on_demand_startup=7s notice=11s", 1));
	asks = ask_tables;
	result_free(run(NULL, "0,add,a\n", "", 1));
	asks = NULL;
}

/* ---- zones ---- */

static uint32_t zone;

static void want(struct orr_spot *w)
{
	orr_want(w, zone, 1);
}

static void request(struct orr_spot *w)
{
	orr_request(w, zone, 1);
}

static void request_on_demand(struct orr_spot *w)
{
	ok(orr_request_on_demand(w, zone, 2) == (zone ? 0 : 2), "on-demand instances requested in zone %u: %d", zone, zone ? 0 : 2);
}

/* A trace with one zone. Spot instances may be of any zone, on-demand instances may not. */
static void zones(void)
{
	static const struct {
		void (*asks)(struct orr_spot *w);
		uint32_t zone;
		const char *error; /* NULL: none */
	} x[] = { { want, 0, NULL }, { want, ORR_ANY_ZONE, NULL }, { want, 1, "orr_want(): zone 1: expected less than 1" },
		{ request, 0, NULL }, { request, ORR_ANY_ZONE, NULL }, { request, 1, "orr_request(): zone 1: expected less than 1" },
		{ request_on_demand, 0, NULL }, { request_on_demand, 1, "orr_request_on_demand(): zone 1: expected less than 1" },
		{ request_on_demand, ORR_ANY_ZONE, "orr_request_on_demand(): zone 4294967295: expected less than 1" } };
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		asks = x[i].asks;
		zone = x[i].zone;
		struct run_result *r = run(NULL, "0,add,a\n", "", 1);
		ok(x[i].error ? !r && strstr(err.text, x[i].error) : r != NULL, "case %zu: %s", i, r ? "no error" : err.text);
		result_free(r);
	}
	asks = NULL;
}

/* ---- the largest total price ---- */

/* n instances at 1 USD per hour, which cost `usd` from 10 s on. */
static struct run_result *priced(unsigned n, const char *usd)
{
	static char rows[40000];
	size_t at = (size_t)snprintf(rows, sizeof rows, "time_s,event,node,zone,price\n0,price,,,1\n");
	for (unsigned i = 0; i < n; i++)
		at += (size_t)snprintf(rows + at, sizeof rows - at, "0,add,i%u,,\n", i);
	snprintf(rows + at, sizeof rows - at, "10,price,,,%s\n", usd);
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, NULL, rows, job, &policy, "", "", &err)) {
		s.config.until_ns = 20 * ORR_SECOND;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	return r;
}

static void prices(void)
{
	struct run_result *r = priced(1000, "1000000");
	near_to(spot_runs_metric(r, "usd"), (10 * 1000 + 10 * 1e9) / 3600, 1e-12, "1,000 instances at 1e6 USD per hour: 1e9 in total");
	result_free(r);
	r = priced(1001, "1000000");
	ok(!r && strstr(err.text, "the new price of this instance makes the total price too high: expected at most 1e9 USD per hour for "
				  "all instances"),
		"one more costs too much: %s", r ? "no error" : err.text);
	result_free(r);
}

/* ---- no progress ---- */

/* The run fails at the first timer after ten times the length of the trace, at least a day; after a year if the trace has no end. */
static void stalls(const char *capacity, const char *rows, int64_t timer_s, const char *expected)
{
	every_s = timer_s;
	struct run_result *r = run(capacity, rows, "", 0);
	ok(!r && strstr(err.text, expected), "%s", r ? "no error" : err.text);
	result_free(r);
}

static void no_progress(void)
{
	stalls(NULL, "0,add,a\n0,add,b\n", 3600, "at 90000.000000000 s: no progress since 0 h");
	stalls(NULL, "0,add,a\n0,add,b\n0,add,c\n8640000,remove,a\n", 3600, "at 90000.000000000 s: no progress since 0 h");
	stalls(NULL, "0,add,a\n0,add,b\n0,add,c\n86400000,remove,a\n", 86400, "at 950400.000000000 s: no progress since 0 h");
	stalls("renewal:up=100h,down=1h,length=0", NULL, 86400, "at 31622400.000000000 s: no progress since 0 h");
	/* Fewer instances than the 2 of the smallest shape are no fault of the policy: the run ends with the trace. */
	every_s = 3600;
	struct run_result *r = run(NULL, "0,add,a\n0,add,b\n8640000,remove,a\n", "", 0);
	near_to(spot_runs_metric(r, "makespan_s"), 8640, 0, "one instance of two: the run ends with the trace");
	near_to(spot_runs_metric(r, "is_complete"), 0, 0, "the job is incomplete");
	result_free(r);
	/* An instance that is offered but not taken could still continue the job. */
	r = run(NULL, "0,add,a\n0,add,b\n", "quota=1", 0);
	ok(!r && strstr(err.text, "no progress"), "an offer is left: %s", r ? "no error" : err.text);
	result_free(r);
}

int main(void)
{
	job_asked();
	zones();
	prices();
	no_progress();
	return done();
}

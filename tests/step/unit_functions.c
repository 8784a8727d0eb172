/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions, their bills, the rows of timelines, and the waits of policies that react, against values computed by hand. */
#include "tests/step/call_policy.h"
#include "tests/tap.h"

#include <string.h>

enum { SECONDS = 1 }; /* seconds of work on GPU 0 */

static const struct orr_functions two = {
	.n = 2, .bandwidth_Bps = 1e9, .start_s = 0.5, .memory_bytes = 0x1p30, .usd_per_GB_s = 0.01, .usd_per_request = 1, .rounding_s = 0.1
};
static const struct orr_functions *wanted;   /* NULL: no functions */
static void (*name_now)(struct orr_step *s); /* called by make(); NULL: no call */
static void (*work_now)(struct orr_step *s);
static uint32_t first;

static void make(struct orr_step *s)
{
	first = wanted ? orr_functions(s, wanted) : 0;
	if (name_now)
		name_now(s);
}

static void work(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, SECONDS);
	work_now(s);
}

/* Runs one iteration on 2 GPUs with links of 1 GB/s. */
static int run(void (*b)(struct orr_step *), void (*e)(struct orr_step *, orr_op), bool check, struct step_result *r, struct orr_error *err)
{
	struct fixture *f = fixture_new("2x1:v100", "star:bw=1GBps,lat=0", "alexnet", 8);
	*r = (struct step_result){ 0 };
	*err = (struct orr_error){ 0 };
	fixture_set(f, "iterations=1");
	fixture_set(f, "prices=v100=3600");
	f->config.check = check;
	f->config.spans = 1;
	create_now = make;
	build_now = work;
	work_now = b;
	ended_now = e;
	int rc = fixture_run(f, call_policy(), "", r, err);
	fixture_free(f);
	return rc;
}

static void nothing(struct orr_step *s)
{
	(void)s;
}

/* ---- an invocation ---- */

/* GPU 1 sends 0.1 GB to the function, which works for 0.25 s and sends 0.05 GB back. */
static void invoke(struct orr_step *s)
{
	orr_op begin = orr_invoke(s, first), pull = orr_transfer(s, 1, first, 1e8), work = orr_compute(s, first, ORR_FORWARD, 0.25),
	       push = orr_transfer(s, first, 1, 5e7);
	orr_after(s, pull, begin);
	orr_after(s, work, pull);
	orr_after(s, push, work);
	orr_returns(s, push, first);
}

static void again(struct orr_step *s)
{
	orr_op begin = orr_invoke(s, first), end = orr_mark(s), next = orr_invoke(s, first),
	       last = orr_compute(s, first, ORR_FORWARD, 0.31);
	orr_after(s, end, begin);
	orr_returns(s, end, first);
	orr_after(s, next, end);
	orr_after(s, last, next);
	orr_returns(s, last, first);
}

static void name_rows(struct orr_step *s)
{
	orr_endpoint_name(s, 1, "server");
	orr_endpoint_name(s, first, "function");
	orr_endpoint_name(s, first + 1, "pool");
	orr_endpoint_name(s, first + 1, "function");
}

static void bills(void)
{
	struct step_result r;
	struct orr_error err;
	wanted = &two;
	name_now = name_rows;
	ok(!run(invoke, NULL, true, &r, &err), "an invocation passes --check%s", err.text);
	/* The function is used for 0.1 + 0.25 + 0.05 = 0.4 s. GPU 0 ends at 1 s, and each of two nodes costs 1 USD/s. */
	near_to(r.money.function_s, 0.4, 1e-9, "used time: from the end of the start to the return");
	near_to(r.money.function_GB_s, 0.4, 1e-9, "a multiple of the unit is not rounded up");
	near_to(r.money.function_usd, 1.004, 1e-9, "memory x time and a request");
	near_to(r.money.node_usd, 2, 1e-9, "two nodes for a second");
	near_to(r.money.time_s, 1, 1e-9, "the invocation ends before");
	ok(r.n_names > first + 1 && !r.name[0] && !strcmp(r.name[1], "server") && !strcmp(r.name[first + 1], "function"),
		"the latest name of an endpoint is kept");
	struct run_result *rows = result_new();
	step_metrics(&r, rows);
	uint32_t servers = 0, functions = 0;
	for (size_t i = 0; i < rows->n_spans; i++) {
		servers += rows->spans[i].device == 1;
		functions += rows->spans[i].device == first;
	}
	ok(rows->n_spans == 3 && servers == 1 && functions == 2, "with names, spans are those of named endpoints, functions included");
	ok(rows->n_endpoints == 3 && rows->endpoints[0].device == 1 && !strcmp(rows->endpoints[2].name, "function"), "names are rows");
	result_free(rows);
	step_result_free(&r);
	name_now = NULL;
	ok(!run(again, NULL, true, &r, &err), "two invocations in sequence%s", err.text);
	near_to(r.money.time_s, 0.5 + 0.5 + 0.31, 1e-9, "each has a start time");
	near_to(r.money.function_s, 0.31, 1e-9, "one of them takes no time");
	near_to(r.money.function_GB_s, 0.4, 1e-9, "0.31 s are billed as 0.4 s");
	ok(r.money.invocations == 2, "both are counted");
	step_result_free(&r);
}

/* ---- waits ---- */

static orr_op gate;

static void send_first(struct orr_step *s)
{
	orr_watch(s, orr_transfer(s, 0, 1, 6e8));
}

static void work_then(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_compute(s, 1, ORR_FORWARD, 0.25);
}

static void at_gate(struct orr_step *s)
{
	gate = orr_gate(s);
	orr_after(s, orr_compute(s, 1, ORR_FORWARD, 0.25), gate);
	send_first(s);
}

static void open_gate(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_open(s, gate, 0);
}

static void wait_first(struct orr_step *s)
{
	orr_watch(s, orr_delay(s, 0.6));
}

static void waits(void)
{
	static const struct {
		void (*build)(struct orr_step *s);
		void (*ended)(struct orr_step *s, orr_op op);
		double exposed, bubble;
		const char *what;
	} c[] = { { send_first, work_then, 0.6, 0, "work that ended() adds waited for the message that ended" },
		{ at_gate, open_gate, 0.6, 0, "so did work at a gate that it opens" },
		{ wait_first, work_then, 0, 0.6, "the wait for a timer is no communication" } };
	wanted = NULL;
	for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
		struct step_result r;
		struct orr_error err;
		ok(!run(c[i].build, c[i].ended, true, &r, &err), "it runs%s", err.text);
		const struct step_device *d = r.n_devices > 1 ? &r.device[1] : NULL;
		near_to(d ? d->exposed_s : NAN, c[i].exposed, 1e-9, c[i].what);
		near_to(d ? d->bubble_s : NAN, c[i].bubble, 1e-9, "the rest is bubble");
		step_result_free(&r);
	}
}

/* ---- mistakes ---- */

static void twice(struct orr_step *s)
{
	orr_functions(s, &two);
}

static void null_functions(struct orr_step *s)
{
	orr_functions(s, NULL);
}

static void co_run_then(struct orr_step *s)
{
	orr_step_co_run(s);
	orr_functions(s, &two);
}

static void nameless(struct orr_step *s)
{
	orr_endpoint_name(s, 1, "");
}

static void name_nothing(struct orr_step *s)
{
	orr_endpoint_name(s, 99, "x");
}

static void name_late(struct orr_step *s)
{
	orr_endpoint_name(s, 0, "x");
}

static void functions_late(struct orr_step *s)
{
	orr_functions(s, &two);
}

static void money_late(struct orr_step *s)
{
	orr_step_money(s);
}

static void invoke_gpu(struct orr_step *s)
{
	orr_invoke(s, 0);
}

static void return_of_gpu(struct orr_step *s)
{
	orr_returns(s, orr_mark(s), 0);
}

static void return_twice(struct orr_step *s)
{
	orr_op begin = orr_invoke(s, first), end = orr_mark(s);
	orr_after(s, end, begin);
	orr_returns(s, end, first);
	orr_returns(s, end, first);
}

static void never_returns(struct orr_step *s)
{
	orr_after(s, orr_compute(s, first, ORR_FORWARD, 0.1), orr_invoke(s, first));
}

static void never_invoked(struct orr_step *s)
{
	orr_returns(s, orr_delay(s, 0.1), first);
}

static void two_at_once(struct orr_step *s)
{
	orr_invoke(s, first);
	orr_invoke(s, first);
}

static void work_idle(struct orr_step *s)
{
	orr_compute(s, first + 1, ORR_FORWARD, 0.1);
}

static void send_idle(struct orr_step *s)
{
	orr_transfer(s, 0, first, 1e6);
}

static void work_after_return(struct orr_step *s)
{
	orr_op begin = orr_invoke(s, first), end = orr_mark(s), late = orr_compute(s, first, ORR_FORWARD, 0.1);
	orr_after(s, end, begin);
	orr_returns(s, end, first);
	orr_after(s, late, end);
}

static void watch_twice(struct orr_step *s)
{
	orr_op op = orr_mark(s);
	orr_watch(s, op);
	orr_watch(s, op);
}

static void cancel_running(struct orr_step *s, orr_op op)
{
	orr_cancel(s, op - 1); /* cancels the work of GPU 0 */
}

static void unused(struct orr_step *s, orr_op op)
{
	(void)s;
	(void)op;
}

static void mistakes(void)
{
	static const struct {
		void (*create)(struct orr_step *s), (*build)(struct orr_step *s), (*ended)(struct orr_step *s, orr_op op);
		const char *message;
	} wrong[] = { { twice, nothing, NULL, "orr_functions: called too late, twice or with lanes: expected one call in create()" },
		{ null_functions, nothing, NULL, "orr_functions: called too late, twice or with lanes: expected one call in create()" },
		{ nameless, nothing, NULL, "orr_endpoint_name: endpoint 1: expected an endpoint below 6 and a name" },
		{ name_nothing, nothing, NULL, "orr_endpoint_name: endpoint 99: expected an endpoint below 6 and a name" },
		{ NULL, name_late, NULL, "orr_endpoint_name: called outside create(): expected a call in create()" },
		{ NULL, functions_late, NULL, "orr_functions: called too late, twice or with lanes: expected one call in create()" },
		{ NULL, money_late, NULL, "orr_step_money: called outside create(): expected a call in create()" },
		{ NULL, invoke_gpu, NULL, "orr_invoke: endpoint 0: expected a function, 4..5" },
		{ NULL, return_of_gpu, NULL, "orr_returns: endpoint 0: expected a function, 4..5" },
		{ NULL, return_twice, NULL, "orr_returns: op 2: expected an op without an invocation, called once" },
		{ NULL, never_returns, NULL,
			"function 4 runs an invocation at the end of the run: expected orr_returns() for each orr_invoke()" },
		{ NULL, never_invoked, NULL,
			"orr_returns: function 4 has no running invocation: expected an earlier call of orr_invoke()" },
		{ NULL, two_at_once, NULL,
			"orr_invoke: function 4 has been running an invocation since 0.5 s: expected an earlier call of orr_returns()" },
		{ NULL, work_idle, NULL, "at 0 s: work on function 5, which runs no invocation: expected an op after orr_invoke()" },
		{ NULL, send_idle, NULL, "at 0 s: a message on function 4, which runs no invocation: expected an op after orr_invoke()" },
		{ NULL, work_after_return, NULL, "at 0.5 s: work on function 4, which runs no invocation" },
		{ NULL, watch_twice, unused, "orr_watch: op 1: expected one call per op" },
		{ NULL, wait_first, cancel_running, "orr_cancel: op 0 of iteration 0 is running: expected an op that has not started" } };
	struct step_result r;
	struct orr_error err;
	wanted = &two;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		name_now = wrong[i].create;
		ok(run(wrong[i].build, wrong[i].ended, false, &r, &err) && strstr(err.text, wrong[i].message), "refused: %s", err.text);
		step_result_free(&r);
	}
	wanted = NULL;
	name_now = co_run_then;
	ok(run(nothing, NULL, false, &r, &err) && strstr(err.text, "before orr_step_co_run()"), "refused: %s", err.text);
	name_now = NULL;
	ok(run(invoke_gpu, NULL, false, &r, &err) &&
			strstr(err.text, "orr_invoke: endpoint 0: there are no functions: expected orr_functions() in create()"),
		"refused: %s", err.text);
}

static void values(void)
{
	struct step_result r;
	struct orr_error err;
	struct {
		size_t offset;
		double value;
		const char *message;
	} wrong[] = { { offsetof(struct orr_functions, bandwidth_Bps), 0, "bandwidth_Bps: expected a number of at least 1e-09, found 0" },
		{ offsetof(struct orr_functions, latency_s), -1, "latency_s: expected a number of at least 0, found -1" },
		{ offsetof(struct orr_functions, start_s), INFINITY, "start_s: expected a number of at least 0, found inf" },
		{ offsetof(struct orr_functions, start_spread), -1, "start_spread: expected a number of at least 0" },
		{ offsetof(struct orr_functions, memory_bytes), -0x1p30,
			"memory_bytes: expected a number of at least 1, found -1.07374e+09" },
		{ offsetof(struct orr_functions, usd_per_GB_s), NAN, "usd_per_GB_s: expected a number of at least 0" },
		{ offsetof(struct orr_functions, usd_per_request), -1, "usd_per_request: expected a number of at least 0" },
		{ offsetof(struct orr_functions, rounding_s), -0.1, "rounding_s: expected a number of at least 0, found -0.1" } };
	struct orr_functions f;
	wanted = &f;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		f = two;
		*(double *)((char *)&f + wrong[i].offset) = wrong[i].value;
		ok(run(nothing, NULL, false, &r, &err) && strstr(err.text, wrong[i].message), "refused: %s", err.text);
	}
	f = two;
	f.n = 0;
	ok(run(nothing, NULL, false, &r, &err) && strstr(err.text, "expected 1 to 1000000 functions, found 0"), "refused: %s", err.text);
	wanted = NULL;
}

int main(void)
{
	bills();
	waits();
	mistakes();
	values();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compute ops that run together on a device, and policies that react to the ends of ops, against times computed by hand. */
#include "tests/step/call_policy.h"
#include "tests/tap.h"

#include <stdlib.h>

static orr_op first_op;
static double last_end; /* end of the last iteration in the last run */

/* Runs one iteration under --check; returns its time, NAN on error. */
static double run(const char *set, void (*b)(struct orr_step *), void (*e)(struct orr_step *, orr_op), struct orr_error *err)
{
	struct fixture *f = fixture_new("2x1:v100", "star:bw=1GBps,lat=0", "alexnet", 8);
	struct step_result r = { 0 };
	char *text = mem_strdup(set), *save = NULL;
	*err = (struct orr_error){ 0 };
	fixture_set(f, "iterations=1");
	for (char *p = strtok_r(text, " ", &save); p; p = strtok_r(NULL, " ", &save))
		fixture_set(f, p);
	mem_free(text);
	build_now = b;
	ended_now = e;
	f->config.check = true;
	int rc = fixture_run(f, call_policy(), "", &r, err);
	double time = rc ? NAN : r.iteration[0].end_s;
	last_end = rc ? NAN : r.iteration[r.n_iterations - 1].end_s;
	step_result_free(&r);
	fixture_free(f);
	return time;
}

/* ---- co-running work ---- */

static void co_run(struct orr_step *s, const double *seconds, const double *share, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		orr_op op = orr_compute(s, 0, ORR_FORWARD, seconds[i]);
		orr_on_stream(s, op, i);
		orr_occupies(s, op, share[i]);
	}
}

static void two_ops(struct orr_step *s)
{
	co_run(s, (double[]){ 1, 2 }, (double[]){ 0.6, 0.6 }, 2);
}

static void three_ops(struct orr_step *s)
{
	co_run(s, (double[]){ 1, 1, 1 }, (double[]){ 0.3, 0.3, 0.3 }, 3);
}

static void five_ops(struct orr_step *s)
{
	co_run(s, (double[]){ 1, 1, 1, 1, 1 }, (double[]){ 0.3, 0.3, 0.3, 0.3, 0.3 }, 5);
}

/* The second op starts 0.5 s after the first. */
static void staggered(struct orr_step *s)
{
	orr_op wait = orr_delay(s, 0.5), a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 0, ORR_BACKWARD, 1);
	orr_on_stream(s, b, 1);
	orr_after(s, b, wait);
	(void)a;
}

static void together(void)
{
	struct orr_error err;
	create_now = orr_step_co_run;
	/* The shares sum to 1.2, so both ops run at 1/1.2 until 1.2 s. Then the second op has 1 s left. */
	near_to(run("", two_ops, NULL, &err), 2.2, 1e-12, "two ops whose shares sum to 1.2");
	near_to(run("interference=none", two_ops, NULL, &err), 2, 1e-12, "interference=none: full speed");
	near_to(run("interference_loss=0.1", two_ops, NULL, &err), 1.32 + 1, 1e-12, "a loss of 0.1 per further op");
	near_to(run("", three_ops, NULL, &err), 1, 1e-12, "shares up to 1 cost nothing");
	near_to(run("", five_ops, NULL, &err), 1.5, 1e-12, "shares of 1.5 take 1.5 times as long");
	near_to(run("interference=curve interference_curve=1,1.1,1.3", three_ops, NULL, &err), 1.3, 1e-12, "a measured curve");
	near_to(run("interference=curve interference_curve=1,1.1,1.3", five_ops, NULL, &err), 1.3, 1e-12,
		"a curve's last value holds beyond it");
	/* With full shares the first op runs at full speed until 0.5 s; then both run at 1/2. The first op ends at 1.5 s, when the
	 * second has 0.5 s left. */
	near_to(run("", staggered, NULL, &err), 2, 1e-12, "an op that joins slows down the one that runs");
	static const struct {
		const char *set, *message;
	} wrong[] = { { "interference=curve", "step.interference=curve: expected the times of 2 and more ops" },
		{ "interference=curve interference_curve=1,0", "step.interference_curve: expected factors from 1 to 1e6, found 0" },
		{ "interference_curve=1,0.9", "step.interference_curve: expected factors from 1 to 1e6, found 0.9" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(isnan(run(wrong[i].set, two_ops, NULL, &err)) && err.code == ORR_EINPUT && strstr(err.text, wrong[i].message),
			"refused: %s", err.text);
	create_now = NULL;
	ok(isnan(run("", two_ops, NULL, &err)) && strstr(err.text, "compute ops: 0, without orr_step_co_run()"), "refused: %s", err.text);
}

static void wrong_share(struct orr_step *s)
{
	orr_occupies(s, orr_compute(s, 0, ORR_FORWARD, 1), 1.5);
}

/* ---- policies that react ---- */

static void watched(struct orr_step *s)
{
	first_op = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_watch(s, first_op);
}

static uint32_t rounds;
static double times[8];

/* Three times, adds an op of 1 s and watches its end; the second op also waits for a message of 0.5 s. */
static void add_three(struct orr_step *s, orr_op op)
{
	times[rounds] = orr_step_now(s);
	if (++rounds > 3)
		return;
	orr_op message = rounds == 2 ? orr_transfer(s, 0, 1, 5e8) : 0, next = orr_compute(s, 0, ORR_BACKWARD, 1);
	orr_after(s, next, op);
	orr_after(s, next, first_op); /* has ended */
	orr_after(s, next, message);
	orr_takes(s, next, 0, 100);
	orr_gives(s, next, 0, 100);
	orr_watch(s, next);
}

static orr_op second, third;

static void chain(struct orr_step *s)
{
	watched(s);
	second = orr_compute(s, 0, ORR_BACKWARD, 5);
	orr_after(s, second, first_op);
	third = orr_transfer(s, 0, 1, 1e9);
	orr_after(s, third, second);
}

static void cancel_second(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_cancel(s, second);
}

static void cancel_both(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_cancel(s, second);
	orr_cancel(s, third);
}

static void cancel_ended(struct orr_step *s, orr_op op)
{
	orr_cancel(s, op);
}

static void cancel_unknown(struct orr_step *s, orr_op op)
{
	orr_cancel(s, op + 100);
}

static void add_to_old(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_after(s, second, orr_compute(s, 0, ORR_FORWARD, 1));
}

static void change_old(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_priority(s, second, 3);
}

static void wait_for_later(struct orr_step *s, orr_op op)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, a, orr_compute(s, 0, ORR_FORWARD, 1));
	(void)op;
}

static void wait_for_unbuilt(struct orr_step *s, orr_op op)
{
	orr_after(s, orr_compute(s, 0, ORR_FORWARD, 1), op + (UINT64_C(7) << 32));
}

static void nothing(struct orr_step *s, orr_op op)
{
	(void)s;
	(void)op;
}

/* Sets a timer that fires while work runs. */
static void timer(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, 2);
	orr_watch(s, orr_delay(s, 0.25));
}

/* ---- gates ---- */

static orr_op gates[8];
static uint32_t n_gates, n_calls;

/* Adds to each iteration 1 s of watched work, after the gate of the previous iteration (the first has no gate). */
static void gated(struct orr_step *s)
{
	orr_op work = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, work, n_gates ? gates[n_gates - 1] : 0);
	orr_watch(s, work);
	gates[n_gates++] = orr_gate(s);
}

/* Adds 0.5 s of work on the other GPU; the end of this work opens the gate. */
static void open_later(struct orr_step *s, orr_op op)
{
	orr_op extra = orr_compute(s, 1, ORR_OPTIMIZER, 0.5);
	orr_after(s, extra, op);
	orr_open(s, gates[n_calls++], extra);
}

static void open_now(struct orr_step *s, orr_op op)
{
	(void)op;
	orr_open(s, gates[n_calls++], 0);
}

static void open_twice(struct orr_step *s, orr_op op)
{
	open_later(s, op);
	orr_open(s, gates[0], 0);
}

static void open_no_gate(struct orr_step *s, orr_op op)
{
	orr_open(s, op, 0);
}

static void open_for_unbuilt(struct orr_step *s, orr_op op)
{
	orr_open(s, gates[0], op + (UINT64_C(7) << 32));
}

/* Makes a circle: the gate waits for an op that waits for the gate. */
static void open_in_circle(struct orr_step *s, orr_op op)
{
	orr_op extra = orr_compute(s, 1, ORR_OPTIMIZER, 0.5);
	(void)op;
	orr_after(s, extra, gates[0]);
	orr_open(s, gates[0], extra);
}

static void gate_alone(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, 1);
	orr_gate(s);
}

static double run_gated(const char *set, void (*e)(struct orr_step *, orr_op), struct orr_error *err)
{
	n_gates = n_calls = 0;
	return run(set, gated, e, err);
}

static void wait_at_gates(void)
{
	struct orr_error err;
	near_to(run_gated("", open_later, &err), 1.5, 1e-12, "a gate ends when the op that ended() names has ended");
	near_to(run_gated("", open_now, &err), 1, 1e-12, "a gate may end at once");
	near_to(run_gated("iterations=3", open_later, &err), 1.5, 1e-12, "the first of three iterations takes as long");
	near_to(last_end, 4.5, 1e-12, "each later iteration waits for the gate of the one before");
	static const struct {
		void (*build)(struct orr_step *s);
		void (*ended)(struct orr_step *s, orr_op op);
		const char *message;
	} wrong[] = { { gated, nothing, "op 1 of iteration 0 is a gate for which orr_open() was not called" },
		{ gated, open_twice, "orr_open: gate 1 of iteration 0 is open already: expected a closed gate" },
		{ gated, open_no_gate, "expected a gate of a live iteration" },
		{ gated, open_for_unbuilt, "expected an op of a built iteration" },
		{ gated, open_in_circle, "op 1 of iteration 0 waits for ops that never end" },
		{ gate_alone, NULL, "orr_gate: expected a policy with a function ended()" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		n_gates = n_calls = 0;
		ok(isnan(run("", wrong[i].build, wrong[i].ended, &err)) && strstr(err.text, wrong[i].message), "refused: %s", err.text);
	}
}

static void react(void)
{
	struct orr_error err;
	rounds = 0;
	near_to(run("", watched, add_three, &err), 4.5, 1e-12, "ops added in ended() belong to the iteration");
	ok(rounds == 4 && times[0] == 1 && times[1] == 2 && times[2] == 3.5 && times[3] == 4.5, "ended() is called when watched ops end");
	near_to(run("", chain, nothing, &err), 7, 1e-12, "a chain of 1 s, 5 s and a message of 1 s");
	near_to(run("", chain, cancel_second, &err), 2, 1e-12, "a cancelled op takes no time");
	near_to(run("", chain, cancel_both, &err), 1, 1e-12, "a cancelled message sends nothing (--check)");
	rounds = 0;
	near_to(run("", timer, add_three, &err), 5.5, 1e-12, "a watched delay is a timer");
	ok(times[0] == 0.25, "which ends at its time");
	static const struct {
		void (*build)(struct orr_step *s);
		void (*ended)(struct orr_step *s, orr_op op);
		const char *message;
	} wrong[] = { { chain, cancel_ended, "orr_cancel: op 0 of iteration 0 has ended: expected an op that has not started" },
		{ chain, cancel_unknown, "expected an op of a built iteration" },
		{ chain, add_to_old, "orr_after: op 1: expected an op that this call of ended() has added" },
		{ chain, change_old, "orr_priority: op 1: expected an op that this call of ended() has added" },
		{ watched, wait_for_later, "expected an op created before it" },
		{ watched, wait_for_unbuilt, "expected an op of this or an earlier iteration" },
		{ watched, NULL, "orr_watch: op 0: expected a policy with a function ended()" },
		{ wrong_share, NULL, "expected a compute op and a share above 0, at most 1" } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(isnan(run("", wrong[i].build, wrong[i].ended, &err)) && strstr(err.text, wrong[i].message), "refused: %s", err.text);
}

int main(void)
{
	together();
	react();
	wait_at_gates();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_spot_laws.c - --check detects each kind of broken account; limits of actions; steps and their samples, computed by hand
 */
#include "results/parts.h"

#include "tests/spot/spot_script.h"

/* ---- --check: at 5 s a trains, b is idle and c is outside the layout ---- */

static int broken;

static void break_one(struct orr_spot *w, int64_t s)
{
	struct slot *a = live_slot(w, live_first(w)), *b = live_slot(w, live_next(w, live_first(w)));
	if (s != 5)
		return;
	switch (broken) {
	case 0:
		w->all.ns += 1;
		break;
	case 1:
		w->all.amount += 1;
		break;
	case 2:
		w->account[ORR_IDLE].ns += 1;
		break;
	case 3:
		w->account[ORR_IDLE].amount += 1;
		break;
	case 4:
		w->account[ORR_RECONFIGURE].ns += 1; /* the account and the total exceed the life of the instances */
		w->all.ns += 1;
		break;
	case 5:
		w->account[ORR_ROUNDING].amount += 1;
		break;
	case 6:
		w->account[ORR_EGRESS].amount += 1;
		break;
	case 7:
		b->since -= 1;
		break;
	case 8:
		b->paid += 1;
		break;
	case 9:
		w->ended.ns += 1;
		break;
	case 10:
		w->steps.bucket.ns += 1;
		break;
	case 11:
		w->steps.pending.amount += 1;
		break;
	case 12:
		w->count[ROLE_STARTING]++;
		break;
	case 13:
		w->rate[ROLE_IDLE]++;
		break;
	case 14:
		w->rate_all++;
		break;
	case 15:
		w->live[0]--;
		w->live[1]++;
		break;
	case 16:
		w->live[1]++;
		break;
	case 17:
		w->ownerless++;
		break;
	case 18:
		b->stages++;
		break;
	case 19:
		a->state = SLOT_STARTING;
		break;
	case 20:
		w->steps.committed++;
		break;
	case 21:
		w->stage[0].owner = NONE;
		w->ownerless++;
		w->steps.flags |= ORR_STEPS_ORPHANED;
		break;
	case 22:
		w->is_dropped[0] = true;
		w->ownerless++;
		w->steps.flags |= ORR_STEPS_ORPHANED;
		break;
	}
}

/* Tests that the error has this text after its place, at 5 s. */
static bool says(const char *text)
{
	const char *at = strstr(err.text, "at 5.000000000 s: ");
	return at && !strcmp(at + strlen("at 5.000000000 s: "), text);
}

#define SECONDS(accounts, lived, integral)                                                                                                 \
	"check: instance-seconds: expected equal values, found " accounts " in the accounts, " lived " as the sum of lifetimes, " integral \
	" as the integral of live instances"
#define USD(lived, total)                                                                                                                  \
	"check: USD: expected equal sums, found 0.00416666666667 in the accounts of time; the cost of instances differs from it by " lived \
	", the total without other charges by " total
#define STAGES(owned, own, ownerless, counter)                                                           \
	"check: " owned " stages have owners, instances own " own ": expected equal numbers; " ownerless \
	" have no owner: expected the counter's value, " counter

static void test_check(void)
{
	static const char *const expected[] = { SECONDS("15.000000000", "15.000000000", "15.000000001"), USD("0", "2.78e-22"),
		SECONDS("15.000000001", "15.000000000", "15.000000000"), USD("-2.78e-22", "-2.78e-22"),
		SECONDS("15.000000001", "15.000000000", "15.000000001"), USD("0", "-2.78e-22"), USD("0", "-2.78e-22"),
		SECONDS("15.000000000", "15.000000001", "15.000000000"), USD("2.78e-22", "0"),
		SECONDS("15.000000000", "15.000000001", "15.000000000"), SECONDS("15.000000001", "15.000000000", "15.000000000"),
		USD("-2.78e-22", "-2.78e-22"),
		"check: 0 instances in role 0 at 0.000000000 USD per hour: expected the counters' values, 1 at 0.000000000",
		"check: 2 instances in role 1 at 2.000000000 USD per hour: expected the counters' values, 2 at 2.000000001",
		"check: the total price is incorrect: expected the sum of the prices of live instances",
		"check: 3 spot and 0 on-demand instances: expected the counters' values, 2 and 1",
		"check: 3 spot and 0 on-demand instances: expected the counters' values, 3 and 1", STAGES("1", "1", "0", "1"),
		"check: this instance owns 1 stages: expected none in its state (3)",
		"check: this instance owns 1 stages: expected none in its state (2)",
		"check: 5 steps are done: expected the sum of 6 committed and 0 pending steps", STAGES("0", "1", "1", "1"),
		STAGES("1", "1", "0", "1") };
	reset();
	every_s = 5;
	at_timer = break_one;
	for (broken = 0; broken < (int)(sizeof expected / sizeof *expected); broken++) {
		struct run_result *r = go("0,add,a\n0,add,b\n0,add,c\n", "", 8);
		bool good = !r && err.code == ORR_EFAIL && says(expected[broken]);
		if (!ok(good, "a broken account is found: %s", expected[broken]))
			printf("# %s\n", r ? "it ran" : err.text);
		result_free(r);
	}
	struct run_result *r = go("0,add,a\n0,add,b\n0,add,c\n", "", 8);
	ok(r != NULL, "accounts that are not broken pass");
	result_free(r);
}

/* ---- actions and their limits ---- */

static orr_inst first;

static void act(struct orr_spot *w, int64_t s)
{
	struct orr_steps r = { .step_ns = ORR_SECOND };
	if (s != 5)
		return;
	first = orr_inst_first(w);
	orr_layout(w, 1, 1, &first);
	switch (broken) {
	case 0:
		orr_steps_run(w, NULL);
		break;
	case 1:
		r.step_ns = 0;
		break;
	case 2:
		r.step_ns = INT64_MAX / 4 + 1;
		break;
	case 3:
		r.redundant = -0.01;
		break;
	case 4:
		r.redundant = 1.01;
		break;
	case 5:
		r.samples = -1;
		break;
	case 6:
		r.samples = 1e18;
		break;
	case 7:
		r.egress_bytes = -1;
		break;
	case 8:
		r.egress_bytes = 1e18;
		break;
	case 9:
		orr_layout(w, 4097, 4097, &first);
		break;
	case 10:
		orr_own(w, 0, 1, first);
		break;
	case 11:
		orr_drop_pipeline(w, 0);
		orr_own(w, 0, 0, first);
		break;
	case 12:
		orr_disown(w, 0, 0, 0);
		orr_disown(w, 0, 0, 0);
		break;
	case 13:
		orr_drop_pipeline(w, 1);
		break;
	case 14:
		orr_pause_as(w, ORR_USEFUL);
		break;
	case 15:
		orr_pause_as(w, ORR_STARTING);
		break;
	case 16:
		orr_egress(w, -1);
		break;
	case 17:
		orr_egress(w, 1e30);
		break;
	case 18:
		orr_steps_pace(w, 0);
		break;
	case 19:
		orr_steps_pace(w, INT64_MAX / 4 + 1);
		break;
	case 20:
		orr_steps_are_provisional(w);
		orr_commit(w, 1);
		break;
	case 21:
		orr_lose(w, 1);
		break;
	case 22:
		orr_spot_timer(w, orr_spot_now(w) - 1, 0, 0);
		break;
	case 23:
		orr_steps_run(w, &r);
		orr_steps_stretch(w, -1);
		return;
	case 24:
		orr_steps_run(w, &r);
		orr_steps_samples(w, -1);
		return;
	case 25:
		orr_steps_run(w, &r);
		orr_steps_samples(w, 1e18);
		return;
	case 26:
		orr_steps_run(w, &r);
		orr_layout(w, 1, 1, &first);
		return;
	case 27:
		orr_own(w, 0, 0, first);
		break;
	case 28:
		orr_release(w, 0);
		break;
	}
	orr_steps_run(w, &r);
}

/* Values at the limits are accepted. */
static void act_at_limits(struct orr_spot *w, int64_t s)
{
	struct orr_steps r = { .step_ns = INT64_MAX / 4, .redundant = 1, .samples = 9.9e17, .egress_bytes = 9.9e17 };
	if (s != 5)
		return;
	first = orr_inst_first(w);
	orr_layout(w, 1, 1, &first);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = 1 });
	orr_steps_stop(w);
	orr_steps_run(w, &r);
	orr_steps_stretch(w, 0);
	orr_steps_samples(w, 0);
	orr_steps_pace(w, INT64_MAX / 4);
	orr_egress(w, 0);
	orr_egress(w, 9e29);
	orr_steps_stop(w);
	orr_pause_as(w, ORR_CHECKPOINT);
	orr_pause_as(w, ORR_RESTART);
	orr_pause_as(w, ORR_RECONFIGURE);
	orr_pause_as(w, ORR_IDLE);
	orr_disown(w, 0, 0, first);
	ok(orr_owner(w, 0, 0) == first, "a stage may be taken from an instance and given back");
	orr_disown(w, 0, 0, 0);
	ok(!orr_owner(w, 0, 0) && orr_ownerless(w) == 1, "a stage without an owner");
	orr_own(w, 0, 0, first);
	ok(!orr_ownerless(w), "no stage is without an owner after orr_own()");
	orr_disown(w, 0, 0, 0);
	orr_drop_pipeline(w, 0);
	ok(!orr_ownerless(w) && !orr_owner(w, 0, 0) && !orr_owner(w, 0, 1) && !orr_owner(w, 1, 0), "a dropped pipeline has no stages");
	called = 100;
}

static void test_actions(void)
{
#define LENGTH "expected more than 0 and less than 73 years (orr_step_time() returns 0 for shapes without a step time)"
#define AMOUNT "expected at least 0 and less than 1e18"
#define PAUSE "expected ORR_CHECKPOINT, ORR_RESTART, ORR_RECONFIGURE or ORR_IDLE"
#define COMMITTED "expected at most 0, the number of uncommitted steps"
	static const char *const expected[] = { "orr_steps_run(): the pointer is NULL: expected a struct orr_steps",
		"orr_steps_run(): a step of 0 ns: " LENGTH, "orr_steps_run(): a step of 2305843009213693952 ns: " LENGTH,
		"orr_steps_run(): redundant is -0.01: expected 0 to 1", "orr_steps_run(): redundant is 1.01: expected 0 to 1",
		"orr_steps_run(): -1 samples, 0 bytes of egress: " AMOUNT, "orr_steps_run(): 1e+18 samples, 0 bytes of egress: " AMOUNT,
		"orr_steps_run(): 0 samples, -1 bytes of egress: " AMOUNT, "orr_steps_run(): 0 samples, 1e+18 bytes of egress: " AMOUNT,
		"orr_layout(): 4097 x 4097 stages: expected at most 16777216",
		"orr_own(): stage 1 of pipeline 0: expected one of the layout's 1 x 1",
		"orr_own(): pipeline 0 was dropped: expected a remaining pipeline of the layout",
		"orr_disown(): stage 0 of pipeline 0 has no owner: expected orr_own() before",
		"orr_drop_pipeline(): stage 0 of pipeline 1: expected one of the layout's 1 x 1", "orr_pause_as(0): " PAUSE,
		"orr_pause_as(6): " PAUSE, "orr_egress(): expected 0 to 1e30 bytes, found -1",
		"orr_egress(): expected 0 to 1e30 bytes, found 1e+30",
		"orr_steps_pace(): 0 ns: expected more than 0 and less than 73 years",
		"orr_steps_pace(): 2305843009213693952 ns: expected more than 0 and less than 73 years",
		"orr_commit(): 1 steps: " COMMITTED, "orr_lose(): 1 steps: " COMMITTED " (orr_steps_are_provisional() was not called)",
		"orr_spot_timer(): at 4.999999999 s: expected a time from now on",
		"orr_steps_stretch(): by -1 ns: expected at least 0, and less than 73 years in total", "orr_steps_samples(): -1: " AMOUNT,
		"orr_steps_samples(): 1e+18: " AMOUNT, "orr_layout() while a step is in flight: expected orr_steps_stop() before",
		"orr_own(): stage 0 of pipeline 0 has an owner, a: expected orr_disown() before",
		"orr_release(): the handle is 0: expected an instance" };
	reset();
	every_s = 5;
	starts_late = true;
	at_timer = act;
	for (broken = 0; broken < (int)(sizeof expected / sizeof *expected); broken++) {
		struct run_result *r = go("0,add,a\n", "", 8);
		bool good = !r && err.code == ORR_EFAIL && says(expected[broken]);
		if (!ok(good, "an impossible action is refused: %s", expected[broken]))
			printf("# %s\n", r ? "it ran" : err.text);
		result_free(r);
	}
	at_timer = act_at_limits;
	struct run_result *r = go("0,add,a\n", "", 8);
	if (!ok(r && called >= 100, "values at the limits are accepted"))
		printf("# %s\n", err.text);
	result_free(r);
}

/* ---- steps: provisional, committed, lost ---- */

static void commit_and_lose(struct orr_spot *w, int64_t s)
{
	if (s == 10) { /* the tenth step ends after the call of the timer */
		ok(orr_steps_done(w) == 9 && orr_steps_uncommitted(w) == 9, "nine steps are done");
		orr_commit(w, 4);
		ok(orr_steps_uncommitted(w) == 5, "four are committed");
		orr_lose(w, 2);
		ok(orr_steps_uncommitted(w) == 3 && orr_steps_done(w) == 7, "two are lost");
		orr_commit(w, 0);
		orr_lose(w, 0);
		ok(orr_steps_uncommitted(w) == 3, "none is committed or lost");
	}
	if (s == 20)
		orr_lose(w, orr_steps_uncommitted(w) - 1);
}

static double account_s(const struct run_result *r, const char *name)
{
	for (size_t i = 0; r && i < r->n_accounts; i++)
		if (!strcmp(r->accounts[i].account, name))
			return r->accounts[i].node_s;
	return NAN;
}

static void test_provisional(void)
{
	reset();
	is_provisional = true;
	every_s = 10;
	at_timer = commit_and_lose;
	struct run_result *r = go("0,add,a\n", "price=3.6", 25.5);
	/* At 20 s 7 + 10 steps are done and 4 of them are committed; 12 of the other 13 are lost. Five and a half steps follow. */
	near_to(spot_runs_metric(r, "lost_steps"), 2 + 12, 0, "steps lost");
	near_to(spot_runs_metric(r, "steps"), 4 + 1 + 6, 0, "steps that count at the end of the run");
	near_to(account_s(r, "useful"), 11, 1e-12, "time of steps that count");
	near_to(account_s(r, "wasted"), 14 + 0.5, 1e-12, "time of lost steps, and of the unfinished one");
	near_to(spot_runs_metric(r, "is_complete"), 0, 0, "the job is not complete");
	ok(r && r->n_iterations == 25 && r->rows_total == 25, "%zu rows of steps", r ? r->n_iterations : 0);
	int zeros = 0;
	for (size_t i = 0; r && i < r->n_iterations; i++) {
		bool is_lost = i >= 5 && i < 19;
		zeros += r->iterations[i].samples == 0;
		if (r->iterations[i].number != i || (r->iterations[i].samples == 0) != is_lost)
			ok(false, "row %zu is of step %llu with %g samples", i, (unsigned long long)r->iterations[i].number,
				r->iterations[i].samples);
	}
	ok(zeros == 14, "%d rows of lost steps have no samples", zeros);
	result_free(r);
	/* The same run with the parts of the job's time. At 10 s, steps 0 to 6 are kept, and steps 7 and 8 are lost. At 20 s, steps 5 and 6
	 * are lost too. */
	called = 0;
	keeps_parts = true;
	r = go("0,add,a\n", "price=3.6", 25.5);
	char parts[300] = "";
	if (r)
		part_rows_form(r);
	for (size_t i = 0; r && i < r->n_parts; i++) {
		const struct part_row *p = &r->parts[i];
		if (!strcmp(p->entity, "job"))
			snprintf(parts + strlen(parts), sizeof parts - strlen(parts), "%s %g-%g%s%s, ", p->kind, (double)p->begin_ns / 1e9,
				(double)p->end_ns / 1e9, p->cause ? ": " : "", p->cause ? p->cause : "");
	}
	same_text(parts, "useful 0-5, wasted 5-19: a decision of the policy, useful 19-25, wasted 25-25.5: the end of the run, ",
		"the parts of the job's time");
	result_free(r);
}

/* ---- calls of steps() at the end of a run of steps ---- */

static char log_of_steps[256];

static void more_steps(struct orr_spot *w)
{
	size_t n = strlen(log_of_steps);
	snprintf(log_of_steps + n, sizeof log_of_steps - n, "%g:%llu ", (double)orr_spot_now(w) / 1e9,
		(unsigned long long)orr_steps_done(w));
	if (orr_steps_done(w) < 12)
		run_steps(w, 0.5, 3);
}

static void start_at_5(struct orr_spot *w, int64_t s)
{
	if (s == 5)
		run_steps(w, 0.5, 4);
	if (s == 10)
		orr_steps_last(w);
	if (s == 15)
		orr_steps_stretch(w, 250000000);
}

static void test_runs_of_steps(void)
{
	reset();
	starts_late = true;
	every_s = 5;
	at_timer = start_at_5;
	at_steps = more_steps;
	log_of_steps[0] = 0;
	struct run_result *r = go("0,add,a\n", "", 30);
	/* Four steps run until 9 s. Only the first of the next three completes, because the timer fires before its end. Then 3 + 3 +
	 * 3 steps follow, one of which is stretched by 0.25 s. */
	same_text(log_of_steps, "9:4 10:5 13:8 16.25:11 19.25:14 ", "steps() is called at the end of each run of steps");
	near_to(account_s(r, "redundant"), 14.25 / 2, 1e-12, "half the owners' time is redundant");
	near_to(account_s(r, "useful"), 14.25 / 2, 1e-12, "the other half is useful");
	near_to(spot_runs_metric(r, "samples_per_s"), 140 / 14.25, 1e-12, "samples from the first step's beginning to the last one's end");
	near_to(account_s(r, "idle"), 5 + 10.75, 1e-12, "owners are idle while no step is in flight");
	result_free(r);
}

/* ---- samples of one step ---- */

static void half_a_sample(struct orr_spot *w, int64_t s)
{
	if (s == 5)
		orr_steps_samples(w, 0.5);
	if (s == 10)
		orr_steps_samples(w, 0);
}

static void test_samples(void)
{
	reset();
	every_s = 5;
	at_timer = half_a_sample;
	struct run_result *r = go("0,add,a\n", "", 20.5);
	near_to(spot_runs_metric(r, "samples"), 18 * 10 + 0.5, 1e-12, "orr_steps_samples() holds for the step in flight");
	ok(r && r->n_iterations == 20 && fabs(r->iterations[4].samples - 0.5) < 1e-12 && r->iterations[9].samples == 0,
		"orr_steps_samples() holds for the row of the step in flight");
	result_free(r);
}

int main(void)
{
	test_check();
	test_actions();
	test_provisional();
	test_runs_of_steps();
	test_samples();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spot policy that makes the mistake named by its parameter `how` (tests/spot/plugins_spot.sh), otherwise runs one stage. */
#include <orrery/spot.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("how", "", "the mistake to make"), ORR_PARAM_END };

struct state {
	const char *how;
	struct orr_spot *world;
	bool is_done;
};

static const orr_inst unknown = UINT64_C(0xdeadbeef00000001);

static void hang(void)
{
	for (volatile int forever = 1; forever;)
		;
}

static void layout(struct orr_spot *w, orr_inst i)
{
	orr_layout(w, 1, 1, &i);
}
static void steps(struct orr_spot *w, struct orr_steps s)
{
	orr_steps_run(w, &s);
}
static void one(struct orr_spot *w, orr_inst i, struct orr_steps s)
{
	layout(w, i);
	steps(w, s);
}

/* ---- mistakes: instance i is ready, no step is in flight ---- */

static void layout_unknown(struct orr_spot *w, orr_inst i)
{
	(void)i;
	layout(w, unknown);
}
static void layout_none(struct orr_spot *w, orr_inst i)
{
	(void)i;
	layout(w, 0);
}
static void layout_null(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_layout(w, 2, 2, NULL);
}
static void layout_huge(struct orr_spot *w, orr_inst i)
{
	orr_layout(w, UINT32_MAX, UINT32_MAX, &i);
}
static void layout_flat(struct orr_spot *w, orr_inst i)
{
	orr_layout(w, UINT32_MAX, 0, &i);
	orr_own(w, 0, 0, i);
}
static void own_two(struct orr_spot *w, orr_inst i)
{
	layout(w, i);
	orr_own(w, 0, 0, i);
}
static void own_nowhere(struct orr_spot *w, orr_inst i)
{
	layout(w, i);
	orr_own(w, UINT32_MAX, UINT32_MAX, i);
}
static void disown_twice(struct orr_spot *w, orr_inst i)
{
	layout(w, i);
	orr_disown(w, 0, 0, 0);
	orr_disown(w, 0, 0, 0);
}
static void disown_to_unknown(struct orr_spot *w, orr_inst i)
{
	layout(w, i);
	orr_disown(w, 0, 0, unknown);
}
static void drop_twice(struct orr_spot *w, orr_inst i)
{
	layout(w, i);
	orr_drop_pipeline(w, 0);
	orr_drop_pipeline(w, 0);
}
static void drop_all(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = ORR_SECOND });
	orr_drop_pipeline(w, 0);
}
static void release_twice(struct orr_spot *w, orr_inst i)
{
	orr_release(w, i);
	orr_release(w, i);
}
static void release_owner(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = ORR_SECOND });
	orr_release(w, i);
}
static void want_nowhere(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_want(w, 77, 1);
}
static void request_nowhere(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_request(w, 77, UINT32_MAX);
}
static void on_demand_anywhere(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_request_on_demand(w, ORR_ANY_ZONE, 1);
}
static void on_demand_most(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_request_on_demand(w, 0, UINT32_MAX);
}
static void steps_null(struct orr_spot *w, orr_inst i)
{
	layout(w, i);
	orr_steps_run(w, NULL);
}
static void steps_of_nothing(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ 0 });
}
static void steps_negative(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = INT64_MIN });
}
static void steps_huge(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = INT64_MAX });
}
static void samples_nan(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = 1, .samples = (double)NAN });
}
static void redundant_two(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = 1, .redundant = 2 });
}
static void egress_huge(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = 1, .egress_bytes = 1e300 });
}
static void egress_infinite(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_egress(w, (double)INFINITY);
}
static void pace_zero(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = 1 });
	orr_steps_pace(w, 0);
}
static void stretch_for_ever(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = 1 });
	for (int k = 0; k < 9; k++)
		orr_steps_stretch(w, INT64_MAX / 4);
}
static void shrink(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = ORR_SECOND });
	orr_steps_stretch(w, -1);
}
static void samples_negative(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = ORR_SECOND });
	orr_steps_samples(w, -1);
}
static void provisional_late(struct orr_spot *w, orr_inst i)
{
	one(w, i, (struct orr_steps){ .step_ns = ORR_SECOND });
	orr_steps_are_provisional(w);
}
static void commit_most(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_commit(w, UINT64_MAX);
}
static void lose_most(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_lose(w, UINT64_MAX);
}
static void pause_as_useful(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_pause_as(w, ORR_USEFUL);
}
static void timer_past(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_timer(w, INT64_MIN, 0, 0);
}
static void timer_rank(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_timer(w, ORR_NEVER, 8, 0);
}
static void future(struct orr_spot *w, orr_inst i)
{
	struct orr_future f;
	(void)i;
	orr_spot_future(w, ORR_NEVER, &f, 1);
}
static void true_end(struct orr_spot *w, orr_inst i)
{
	orr_inst_true_end(w, i);
}
static void offer_end(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_offer_true_end(w, ORR_ANY_ZONE);
}
static void count_nothing(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_count(w, NULL, 1);
}
static void count_usd(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_count(w, "usd", 1);
}
static void report_accounts(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_report(w, "paused_part", 1);
}
static void report_infinite(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_report(w, "lots", (double)INFINITY);
}
static void report_odd(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_report(w, "a,b\n\"c\"", 1);
}
static void give_up(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_give_up(w, "had enough");
}
static void give_up_mutely(struct orr_spot *w, orr_inst i)
{
	(void)i;
	orr_spot_give_up(w, NULL);
}

/* After the first error the policy continues as if no error had occurred. */
static void go_on(struct orr_spot *w, orr_inst i)
{
	uint32_t d, p;
	orr_inst some[2] = { i, unknown };
	orr_layout(w, 1, 2, some);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = 1 });
	orr_release(w, orr_owner(w, 0, 0));
	orr_own(w, 0, 1, i);
	orr_shape(w, &p, &d);
	orr_request_on_demand(w, 0, p + d + 5);
	orr_release(w, i);
	orr_spot_count(w, "n", orr_inst_live(w));
}

/* Calls all queries with invalid handles. */
static void ask_nowhere(struct orr_spot *w, orr_inst i)
{
	struct orr_inst_info info;
	char name[4];
	uint32_t a, b;
	(void)i;
	bool any = orr_inst_get(w, unknown, &info) || orr_inst_is_live(w, unknown) || orr_inst_is_ready(w, unknown) ||
		   orr_inst_is_noticed(w, unknown) || orr_inst_zone(w, unknown) || orr_inst_next(w, unknown) || orr_inst_next(w, 0) ||
		   orr_inst_mark(w, unknown) || strcmp(orr_inst_name(w, unknown, name, sizeof name), "non") || *orr_zone_name(w, 77) ||
		   orr_offers(w, 77) || orr_step_time(w, UINT32_MAX, UINT32_MAX, ORR_STEP_PLAIN) ||
		   orr_step_time(w, 1, 1, (enum orr_step_kind)99) || orr_step_failover(w, UINT32_MAX, 0) ||
		   orr_step_point(w, SIZE_MAX, &a, &b) || !isnan(orr_figure(w, "")) || orr_curve_find(w, "") != -1 ||
		   !isnan(orr_curve_at(w, -1, 3)) || !isnan(orr_curve_at(w, 99, 3)) || orr_owner(w, UINT32_MAX, UINT32_MAX) ||
		   orr_inst_ready_list(w, NULL, 0) != 1 || orr_checkpoint_time(w, 0) < 0 || orr_checkpoint_time(w, UINT32_MAX) < 0;
	orr_curve_range(w, 99, &a, &b);
	orr_inst_set_mark(w, unknown, 1);
	orr_spot_cancel(w, UINT64_MAX);
	orr_spot_cancel(w, unknown);
	orr_spot_event(w, "odd", "%s", "");
	any = any || a || b || orr_step_redundant(w, 0, 0) != 0;
	orr_spot_give_up(w, any ? "something is there" : "nothing is there");
}

#define MISTAKE(name)       \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*make)(struct orr_spot *w, orr_inst i);
} mistakes[] = { MISTAKE(layout_unknown), MISTAKE(layout_none), MISTAKE(layout_null), MISTAKE(layout_huge), MISTAKE(layout_flat),
	MISTAKE(own_two), MISTAKE(own_nowhere), MISTAKE(disown_twice), MISTAKE(disown_to_unknown), MISTAKE(drop_twice), MISTAKE(drop_all),
	MISTAKE(release_twice), MISTAKE(release_owner), MISTAKE(want_nowhere), MISTAKE(request_nowhere), MISTAKE(on_demand_anywhere),
	MISTAKE(on_demand_most), MISTAKE(steps_null), MISTAKE(steps_of_nothing), MISTAKE(steps_negative), MISTAKE(steps_huge),
	MISTAKE(samples_nan), MISTAKE(redundant_two), MISTAKE(egress_huge), MISTAKE(egress_infinite), MISTAKE(pace_zero),
	MISTAKE(stretch_for_ever), MISTAKE(shrink), MISTAKE(samples_negative), MISTAKE(provisional_late), MISTAKE(commit_most),
	MISTAKE(lose_most), MISTAKE(pause_as_useful), MISTAKE(timer_past), MISTAKE(timer_rank), MISTAKE(future), MISTAKE(true_end),
	MISTAKE(offer_end), MISTAKE(count_nothing), MISTAKE(count_usd), MISTAKE(report_accounts), MISTAKE(report_infinite),
	MISTAKE(report_odd), MISTAKE(give_up), MISTAKE(give_up_mutely), MISTAKE(go_on), MISTAKE(ask_nowhere) };

/* ---- the policy ---- */

static bool is(const struct state *s, const char *how)
{
	return !strcmp(s->how, how);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *err)
{
	struct state *s = calloc(1, sizeof *s);
	(void)err;
	if (!s)
		return NULL;
	s->how = orr_arg_text(args, "how");
	s->world = w;
	if (is(s, "give_up_in_create"))
		orr_spot_give_up(w, "not for me");
	if (is(s, "layout_in_create"))
		orr_layout(w, 1, 1, (orr_inst[]){ 1 });
	if (is(s, "hang_in_create"))
		hang();
	if (!is(s, "silent"))
		return s;
	free(s);
	return NULL;
}

static void destroy(void *self)
{
	struct state *s = self;
	if (is(s, "act_in_destroy"))
		orr_release(s->world, orr_inst_first(s->world));
	if (is(s, "hang_in_destroy"))
		hang();
	free(s);
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	struct state *s = self;
	if (event == ORR_INST_GONE && is(s, "use_gone"))
		orr_own(w, 0, 0, i);
	if (event == ORR_INST_GONE && is(s, "release_gone"))
		orr_release(w, i);
	if (event == ORR_INST_GONE && orr_ownerless(w) && !is(s, "no_owner"))
		orr_steps_stop(w);
	if (event != ORR_INST_READY)
		return;
	if (is(s, "hang"))
		hang();
	for (size_t m = 0; m < sizeof mistakes / sizeof *mistakes && !s->is_done; m++)
		if (is(s, mistakes[m].name)) {
			s->is_done = true;
			mistakes[m].make(w, i);
		}
	if (!orr_steps_in_flight(w, NULL, NULL))
		one(w, i, (struct orr_steps){ .step_ns = ORR_SECOND });
	if (is(s, "run_twice"))
		steps(w, (struct orr_steps){ .step_ns = ORR_SECOND });
	if (is(s, "timer_now"))
		orr_spot_timer(w, orr_spot_now(w), 0, 0);
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self;
	orr_spot_timer(w, orr_spot_now(w), 7, tag);
}

static void decide(void *self, struct orr_spot *w)
{
	const struct state *s = self;
	if (is(s, "spin"))
		orr_spot_timer(w, orr_spot_now(w), 0, 0);
	if (is(s, "take_and_give") && orr_inst_first(w))
		orr_release(w, orr_inst_first(w)), orr_request(w, 0, 1);
}

static void end(void *self, struct orr_spot *w)
{
	const struct state *s = self;
	if (is(s, "hang_in_end"))
		hang();
	if (is(s, "lose_in_end"))
		orr_lose(w, 1000000);
	if (is(s, "act_in_end")) {
		orr_request_on_demand(w, 0, 5);
		orr_egress(w, 1e12);
		orr_layout(w, 0, 0, NULL);
	}
}

static const struct orr_spot_ops ops = {
	.create = create, .destroy = destroy, .instance = instance, .timer = timer, .decide = decide, .end = end
};

ORR_POLICY_SPOT(spot_hostile, "does one thing wrong", params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * spot_script.h - runs a scripted policy of the spot world, which acts once at the start and when a timer fires
 *
 * A test sets the functions and flags, and calls go().
 */
#ifndef ORR_TESTS_SPOT_SPOT_SCRIPT_H
#define ORR_TESTS_SPOT_SPOT_SCRIPT_H

#include "tests/tap.h"

#include "tests/spot/spot_runs.h"

#include "base/mem.h"
#include "spot/world.h"

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };
static const char job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":100,\"points\":[[1,1,1000]]}";

static void (*at_timer)(struct orr_spot *w, int64_t s), (*at_end)(struct orr_spot *w), (*at_steps)(struct orr_spot *w);
static int64_t every_s; /* interval of the timer, s */
static bool is_provisional, starts_late, keeps_parts;
static unsigned called;

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)args, (void)e;
	if (is_provisional)
		orr_steps_are_provisional(w);
	if (every_s)
		orr_spot_timer(w, every_s * ORR_SECOND, 0, 0);
	return mem_zalloc(1, 8);
}

static void run_steps(struct orr_spot *w, double redundant, uint64_t most)
{
	orr_inst i;
	if (!orr_inst_ready_list(w, &i, 1) || orr_steps_in_flight(w, NULL, NULL))
		return;
	orr_layout(w, 1, 1, &i);
	orr_steps_run(w, &(struct orr_steps){ .step_ns = ORR_SECOND, .redundant = redundant, .most = most });
}

static void decide(void *self, struct orr_spot *w)
{
	(void)self;
	if (!called++ && !starts_late)
		run_steps(w, 0, 0);
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	(void)self, (void)tag;
	orr_spot_timer(w, orr_spot_now(w) + every_s * ORR_SECOND, 0, 0);
	if (at_timer)
		at_timer(w, orr_spot_now(w) / ORR_SECOND);
}

static void steps(void *self, struct orr_spot *w)
{
	(void)self;
	if (at_steps)
		at_steps(w);
}

static void end(void *self, struct orr_spot *w)
{
	(void)self;
	if (at_end)
		at_end(w);
}

static void count_progress(void *ctx, double part)
{
	double *last = ctx;
	ok(part >= *last && part <= 1, "progress grows: %g", part);
	*last = part;
	called++;
}

static struct run_result *go_with(const char *rows, const char *options, double until_s, uint64_t max_rows, double *progress)
{
	const struct orr_spot_ops ops = {
		.create = create, .destroy = mem_free, .decide = decide, .timer = timer, .steps = steps, .end = end
	};
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	struct spot_runs s;
	struct run_result *r = NULL;
	called = 0;
	if (spot_runs_open(&s, NULL, rows, job, &policy, "", options, &err)) {
		s.config.until_ns = until_s > 0 ? (int64_t)(until_s * 1e9) : ORR_NEVER;
		s.config.record_nodes = s.config.record_iterations = true;
		s.config.explain = keeps_parts;
		s.config.max_rows = max_rows;
		s.config.progress = progress ? count_progress : NULL;
		s.config.progress_ctx = progress;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	return r;
}

static struct run_result *go(const char *rows, const char *options, double until_s)
{
	return go_with(rows, options, until_s, 1000000, NULL);
}

static void reset(void)
{
	at_timer = NULL;
	at_end = NULL;
	at_steps = NULL;
	every_s = 0;
	is_provisional = starts_late = keeps_parts = false;
}

#endif

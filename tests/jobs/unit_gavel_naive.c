/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_gavel_naive.c - gavel with equal shares (allocation=isolated) on random workloads, under its own rules and under those of the
 * published simulator; compared with naive implementations that simulate round by round
 */
#include "base/rng.h"
#include "tests/jobs/replay.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

extern const struct orr_policy orr_policy_gavel;

enum { GPUS = 3, MOST_JOBS = 12, WORKLOADS = 150 };
static const double ROUND_S = 100, RECOMPUTE_S = 1920;

static struct orr_error err;
static struct rng rng;

struct work {
	int gpus, iterations, step_s; /* seconds of an iteration */
	double submit, start, end;
	double left, share, owed, got; /* left: remaining iterations by the published rules, else remaining seconds */
	double finish;
	bool is_admitted, is_allocated, is_chosen, has_ended;
};

static int below(int n)
{
	return (int)rng_below(&rng, (uint64_t)n);
}

static int draw(struct work *job)
{
	int n = 1 + below(MOST_JOBS);
	for (int i = 0; i < n; i++) {
		double gap = below(3) ? below(400) : below(4) ? 0 : 3000;
		job[i] = (struct work){ .gpus = 1 + below(2),
			.iterations = 1 + below(9),
			.step_s = (const int[]){ 1, 2, 32, 256 }[below(4)],
			.submit = (i ? job[i - 1].submit : 1) + gap,
			.start = -1 };
		if (job[i].step_s < 3)
			job[i].iterations *= 50;
	}
	return n;
}

/* Sets the equal shares of n jobs: each GPU's time divided among the jobs, at most 1 per job. */
static void share_out(struct work *job, int n)
{
	int members = 0;
	for (int i = 0; i < n; i++) {
		job[i].is_allocated = job[i].is_admitted && !job[i].has_ended;
		members += job[i].is_allocated;
	}
	for (int i = 0; i < n; i++)
		job[i].share = job[i].is_allocated ? fmin(1, GPUS / (double)members / job[i].gpus) : 0;
}

/* Chooses jobs that fit, by descending priority, then time owed, then (by_share) share, then number. */
static void choose(struct work *job, int n, const double *priority, bool by_share)
{
	bool is_tried[MOST_JOBS] = { false };
	for (int i = 0, left = GPUS; i < n; i++) {
		int best = -1;
		for (int j = 0; j < n; j++) {
			const struct work *a = &job[j], *b = best < 0 ? NULL : &job[best];
			if (is_tried[j])
				continue;
			if (!b || priority[j] > priority[best] ||
				(priority[j] == priority[best] &&
					(a->owed > b->owed || (a->owed == b->owed && by_share && a->share > b->share))))
				best = j;
		}
		is_tried[best] = true;
		job[best].is_chosen = job[best].is_admitted && !job[best].has_ended && job[best].gpus <= left;
		left -= job[best].is_chosen ? job[best].gpus : 0;
	}
}

static double next_arrival(const struct work *job, int n)
{
	double next = INFINITY;
	for (int i = 0; i < n; i++)
		next = job[i].is_admitted ? next : fmin(next, job[i].submit);
	return next;
}

static bool all_ended(const struct work *job, int n)
{
	for (int i = 0; i < n; i++)
		if (!job[i].has_ended)
			return false;
	return true;
}

/* ---- own rules ---- */

static void own_round(struct work *job, int n, double now)
{
	double priority[MOST_JOBS];
	for (int i = 0; i < n; i++) {
		job[i].owed += job[i].has_ended ? 0 : job[i].share;
		priority[i] = job[i].got > 0 ? job[i].owed / job[i].got : INFINITY;
	}
	choose(job, n, priority, false);
	for (int i = 0; i < n; i++) {
		if (!job[i].is_chosen)
			continue;
		job[i].start = job[i].start < 0 ? now : job[i].start;
		job[i].got++;
		job[i].has_ended = job[i].left <= ROUND_S;
		job[i].end = now + job[i].left;
		job[i].left -= ROUND_S;
	}
}

/* Returns the start of the next round: a round later, or the end of the last job if all that ran in this round have ended. */
static double next_round(const struct work *job, int n, double now)
{
	double last = now;
	for (int i = 0; i < n; i++) {
		if (job[i].is_chosen && !job[i].has_ended)
			return now + ROUND_S;
		last = job[i].is_chosen ? fmax(last, job[i].end) : last;
	}
	return last > now ? last : now + ROUND_S;
}

static void own(struct work *job, int n)
{
	double now = 0;
	for (int i = 0; i < n; i++)
		job[i].left = job[i].iterations * job[i].step_s;
	while (!all_ended(job, n)) {
		bool any = false;
		for (int i = 0; i < n; i++) {
			job[i].is_admitted |= job[i].submit <= now;
			any |= job[i].is_admitted && !job[i].has_ended;
		}
		share_out(job, n);
		if (any)
			own_round(job, n, now);
		now = any ? next_round(job, n, now) : next_arrival(job, n);
	}
}

/* ---- the published rules ---- */

struct clock {
	double now, reset, given; /* reset: time of the last computation of shares; given: time assigned since then */
	bool is_changed;
};

static void admit(struct work *job, int n, struct clock *c)
{
	for (int i = 0; i < n; i++)
		if (!job[i].is_admitted && job[i].submit <= c->now) {
			job[i].is_admitted = c->is_changed = true;
			job[i].got = ROUND_S / 2;
			c->given += ROUND_S / 2;
		}
}

static void recompute(struct work *job, int n, struct clock *c)
{
	if (!c->is_changed || (c->reset > 0 && c->now - c->reset < RECOMPUTE_S))
		return;
	c->given = 0;
	for (int i = 0; i < n; i++)
		if (job[i].is_admitted && !job[i].has_ended) {
			job[i].owed += job[i].share * (c->now - c->reset) - (job[i].got - ROUND_S / 2);
			job[i].got = ROUND_S / 2;
			c->given += ROUND_S / 2;
		}
	c->reset = c->now;
	c->is_changed = false;
	share_out(job, n);
}

/* Runs the chosen jobs until the last of them has finished its iterations; returns false if there are none. */
static bool run(struct work *job, int n, struct clock *c)
{
	double latest = -1, began = c->now;
	for (int i = 0; i < n; i++) {
		job[i].is_chosen &= job[i].is_allocated;
		if (!job[i].is_chosen)
			continue;
		double steps = fmin(fmax(1, floor(ROUND_S / job[i].step_s)), job[i].left);
		job[i].start = job[i].start < 0 ? began : job[i].start;
		job[i].finish = began + steps * job[i].step_s;
		job[i].left -= steps;
		latest = fmax(latest, job[i].finish);
	}
	for (;;) {
		int last = -1;
		for (int i = 0; i < n; i++)
			if (job[i].is_chosen && (last < 0 || job[i].finish > job[last].finish))
				last = i;
		if (last < 0)
			break;
		job[last].is_chosen = false;
		job[last].got += job[last].finish - began;
		c->given += job[last].finish - began;
		job[last].has_ended = job[last].left <= 0;
		job[last].end = job[last].finish;
		c->is_changed |= job[last].has_ended;
	}
	c->now = fmax(c->now, latest);
	return latest >= 0;
}

static void published(struct work *job, int n)
{
	struct clock c = { .now = next_arrival(job, n) };
	for (int i = 0; i < n; i++)
		job[i].left = job[i].iterations;
	while (!all_ended(job, n)) {
		double priority[MOST_JOBS];
		admit(job, n, &c);
		recompute(job, n, &c);
		for (int i = 0; i < n; i++)
			priority[i] = job[i].share > 0 ? job[i].share / (job[i].got / c.given) : 0;
		choose(job, n, priority, true);
		if (!run(job, n, &c) && !all_ended(job, n)) {
			/* The policy requests the time of the next computation plus 1,000 ns for rounding. */
			double due = (double)(llrint(c.reset * 1e9) + 1920000001000) / 1e9;
			c.now = fmin(next_arrival(job, n), c.is_changed ? due : INFINITY);
		}
	}
}

static void compare(const char *name, void (*naive)(struct work *job, int n), const char *settings)
{
	int good = 0;
	rng_init(&rng, 1, "gavel", 0);
	for (; good < WORKLOADS; good++) {
		struct work job[MOST_JOBS];
		char csv[2000] = "submit_s,duration_s,gpus,iterations\n";
		double start[MOST_JOBS], end[MOST_JOBS];
		int n = draw(job);
		for (int i = 0; i < n; i++)
			snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%.0f,%d,%d,%d\n", job[i].submit,
				job[i].iterations * job[i].step_s, job[i].gpus, job[i].iterations);
		naive(job, n);
		for (int i = 0; i < n; i++) {
			start[i] = job[i].start;
			end[i] = job[i].end;
		}
		struct run_result *r = replay(csv, "1x3", "count", &orr_policy_gavel, settings, &err);
		bool is_same = replay_matches(r, start, end, (size_t)n);
		if (!r)
			printf("# %s\n", err.text);
		result_free(r);
		if (!is_same) {
			printf("# %s\n", csv);
			break;
		}
	}
	ok(good == WORKLOADS, "gavel agrees with its naive implementation on %d workloads, %s (%d)", WORKLOADS, name, good);
}

int main(void)
{
	compare("own rules", own, "allocation=isolated round=100s");
	compare("published rules", published, "allocation=isolated round=100s rules=gavel");
	return done();
}

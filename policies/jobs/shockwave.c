/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shockwave (Zheng et al., "Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation in Machine Learning", NSDI 2023): a
 * market over the next `window` rounds. A plan gives each job a number of rounds n so that
 *
 *	maximise  sum w log(U + offset) / sum w - lambda H / H0      (shockwave_plan.h)
 *
 * with w = max(1, rho)^k: rho = (age + time left x contention) / (run time alone x mean contention so far), the job's expected finish-time
 * fairness. The published code solves an integer program over rounds with Gurobi. That program does not distinguish the rounds of a window,
 * so the variable here is n. The program is concave; chords of each logarithm make it linear, and GLPK solves it.
 *
 * Each round runs the jobs that need all rounds left of their plan, then the others with rounds left, shortest time left first. GPUs left
 * over go to the other jobs in order of w. A new plan is made if jobs arrived or ended, or the window is over. Run times are estimates that
 * include batch changes.
 */
#include "members.h"
#include "shockwave_plan.h"
#include "time_left.h"

#include <orrery/jobs.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("round", "120s", "length of a round"),
	ORR_PARAM_INT("window", "20", 1, 1000, "rounds of a plan"),
	ORR_PARAM_REAL("k", "10", 0, 100, "power of the finish-time fairness in the weights"),
	ORR_PARAM_REAL("lambda", "12", 0, 1e6, "weight of the makespan"),
	ORR_PARAM_REAL("offset", "1", 1e-6, 1000,
		"constant added to the progress in each logarithm: small values favour jobs with little progress"),
	ORR_PARAM_INT("pieces", "5", 1, 50, "chords of each logarithm"),
	ORR_PARAM_CHOICE(
		"estimate", "exact", "exact|limit", "source of run times: the true ones (an oracle) times `error`, or the users' limits"),
	ORR_PARAM_REAL("error", "1", 0.01, 100, "estimate=exact: factor of every estimate"), ORR_PARAM_END };

struct member {
	orr_job job;
	uint64_t number;
	int64_t gpu_milli; /* requested */
	double submit_s, gpus;
	double present; /* integral of the contention at the arrival */
	double alone_s, left_s, weight;
	double open; /* rounds of the plan that the job has not had */
	bool is_chosen;
};

struct shockwave {
	int64_t round, next;
	double k, lambda, offset, factor, gpus;
	int window, pieces, left; /* left: rounds of the present plan */
	enum orr_estimate estimate;
	bool is_changed;
	struct member *member;
	size_t n, cap;
	int64_t asked_milli;     /* requested by all members */
	double present, since_s; /* integral of the contention over time, up to since_s */
	size_t *order;
	size_t cap_order;
};

static void destroy(void *self)
{
	struct shockwave *s = self;
	orr_free(s->member);
	orr_free(s->order);
	orr_free(s);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	int64_t round = orr_arg_time_ns(args, "round");
	if (round <= 0 || orr_gpu_types(w) > 1) {
		orr_fail(err, ORR_EINPUT, "%s",
			round <= 0 ? "round: expected a time above 0"
				   : "shockwave: expected a cluster with one GPU type: all GPUs are equal");
		return NULL;
	}
	struct shockwave *s = orr_alloc(1, sizeof *s);
	s->round = round;
	s->window = (int)orr_arg_int(args, "window");
	s->pieces = (int)orr_arg_int(args, "pieces");
	s->k = orr_arg_real(args, "k");
	s->lambda = orr_arg_real(args, "lambda");
	s->offset = orr_arg_real(args, "offset");
	s->factor = orr_arg_real(args, "error");
	s->estimate = !strcmp(orr_arg_text(args, "estimate"), "limit") ? ORR_ESTIMATE_LIMIT : ORR_ESTIMATE_EXACT;
	return s;
}

/* ---- members ---- */

/* Returns GPUs requested over GPUs, at least 1. */
static double contention(const struct shockwave *s)
{
	return s->gpus > 0 ? fmax(1, (double)s->asked_milli / 1000 / s->gpus) : 1;
}

/* Adds the contention of the jobs present, from the last call up to now. */
static void pass(struct shockwave *s, struct orr_jobs *w)
{
	double now_s = (double)orr_now(w) / 1e9;
	s->present += contention(s) * (now_s - s->since_s);
	s->since_s = now_s;
	s->gpus = orr_total_gpus(w);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct shockwave *s = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	pass(s, w);
	ORR_GROW(s->member, s->n, s->cap);
	size_t at = s->n++; /* sorted by number, because stages of flows do not arrive in this order */
	for (; at && s->member[at - 1].number > info.number; at--)
		s->member[at] = s->member[at - 1];
	s->member[at] = (struct member){ .job = j,
		.number = info.number,
		.submit_s = (double)orr_now(w) / 1e9, /* a limit of its user may have held it back */
		.gpu_milli = (int64_t)info.gpus * info.gpu_milli,
		.gpus = (double)info.gpus * info.gpu_milli / 1000,
		.present = s->present };
	s->asked_milli += s->member[at].gpu_milli;
	s->is_changed = true;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct shockwave *s = self;
	uint64_t number = orr_job_number(w, j);
	size_t low = members_find(s->member, s->n, sizeof *s->member, offsetof(struct member, number), number);
	(void)how;
	if (low == s->n || s->member[low].number != number)
		return;
	pass(s, w);
	s->asked_milli -= s->member[low].gpu_milli;
	s->n--;
	memmove(s->member + low, s->member + low + 1, (s->n - low) * sizeof *s->member);
	s->is_changed = true;
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j;
}

/* Returns the run time left at this rate, the cost of a start included while the job waits. */
static double time_left(const struct shockwave *s, struct orr_jobs *w, orr_job j, double rate)
{
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return 0;
	int64_t start = orr_job_estimate_start_ns(w, j, s->estimate, s->factor);
	if (s->estimate == ORR_ESTIMATE_LIMIT)
		return time_at_rate_s(orr_job_estimate_ns(w, j, s->estimate, s->factor) - orr_job_done_ns(w, j), start, rate);
	double ran_s = info.state == ORR_JOB_RUNNING ? (double)(orr_now(w) - info.started_ns) / 1e9 : 0;
	return time_at_rate_s(orr_job_estimate_run_ns(w, j, s->estimate, s->factor), start, rate) - ran_s;
}

static void weigh(struct shockwave *s, struct orr_jobs *w)
{
	double now = contention(s), top = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct member *m = &s->member[i];
		double age_s = s->since_s - m->submit_s, rate = rate_of_type(w, m->job);
		int64_t alone = orr_job_estimate_ns(w, m->job, s->estimate, s->factor);
		m->alone_s = fmax(1, time_at_rate_s(alone, orr_job_estimate_start_ns(w, m->job, s->estimate, s->factor), rate));
		m->left_s = fmax(1, fmin(m->alone_s, time_left(s, w, m->job, rate)));
		double mean = age_s > 0 ? (s->present - m->present) / age_s : now;
		double rho = (age_s + m->left_s * now) / (m->alone_s * mean);
		m->weight = s->k * log(fmax(1, rho));
		top = fmax(top, m->weight);
	}
	for (size_t i = 0; i < s->n; i++) /* relative to the largest: powers may exceed the numbers of the machine */
		s->member[i].weight = exp(s->member[i].weight - top);
}

/* ---- the plan ---- */

/* Sets `open` of every member. */
static bool plan(struct shockwave *s, struct orr_jobs *w)
{
	struct shockwave_market market = { s->gpus, (double)s->round / 1e9, s->offset, s->lambda, s->window, s->pieces };
	struct shockwave_job *job = orr_alloc(s->n + 1, sizeof *job);
	struct orr_error err = { 0 };
	for (size_t i = 0; i < s->n; i++) {
		const struct member *m = &s->member[i];
		job[i] = (struct shockwave_job){ .gpus = m->gpus, .alone_s = m->alone_s, .left_s = m->left_s, .weight = m->weight };
	}
	int rc = shockwave_plan(&market, job, s->n, &err);
	for (size_t i = 0; i < s->n && !rc; i++) { /* a plan that ends a job has whole rounds, however little is left */
		bool is_end = job[i].rounds * market.round_s >= job[i].left_s * (1 - 1e-6);
		s->member[i].open = is_end ? ceil(job[i].left_s / market.round_s) : job[i].rounds;
	}
	if (rc)
		orr_give_up(w, 0, err.text);
	orr_free(job);
	s->left = s->window;
	s->is_changed = false;
	return !rc;
}

/* ---- rounds ---- */

/* Order of a round: 0: the plan needs every round that is left; 1: the plan has rounds for the job; 2: others. */
struct ranked {
	int class;
	double key; /* class 2: -weight; else the time left, s */
	size_t at;
};

static int by_rank(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;
	if (a->class != b->class)
		return a->class - b->class;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->at > b->at) - (a->at < b->at);
}

static void choose(struct shockwave *s)
{
	struct ranked *r = orr_alloc(s->n + 1, sizeof *r);
	double left = s->gpus;
	for (size_t i = 0; i < s->n; i++) {
		struct member *m = &s->member[i];
		int class = m->open >= fmax(1, s->left) - 0.5 ? 0 : m->open >= 0.5 ? 1 : 2;
		r[i] = (struct ranked){ class, class == 2 ? -m->weight : m->left_s, i };
		m->is_chosen = false;
	}
	if (s->n)
		qsort(r, s->n, sizeof *r, by_rank);
	for (size_t i = 0; i < s->n; i++) {
		struct member *m = &s->member[r[i].at];
		if (m->gpus > left)
			continue;
		left -= m->gpus;
		m->is_chosen = true;
		m->open -= 1;
	}
	orr_free(r);
}

static void apply(struct shockwave *s, struct orr_jobs *w)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->member[i].is_chosen && orr_job_is_running(w, s->member[i].job))
			orr_stop(w, s->member[i].job);
	for (int chosen = 1; chosen >= 0; chosen--) /* if the placement refuses a chosen job, other jobs use its GPUs */
		for (size_t i = 0; i < s->n; i++)
			if (s->member[i].is_chosen == chosen && !orr_job_is_running(w, s->member[i].job))
				orr_try_start(w, s->member[i].job);
}

/* Finds the jobs on GPUs without visiting all jobs. */
static bool any_runs(const struct shockwave *s, struct orr_jobs *w)
{
	bool runs = orr_free_gpus(w) < orr_total_gpus(w);
	for (size_t i = 0; i < s->n && !runs; i++)
		runs = orr_job_is_running(w, s->member[i].job);
	return runs;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct shockwave *s = self;
	int64_t now = orr_now(w);
	orr_why(w, ORR_WHY_HELD, 0, "next round");
	if (!s->n || (now < s->next && any_runs(s, w)))
		return;
	pass(s, w);
	weigh(s, w);
	if ((s->is_changed || !s->left) && !plan(s, w))
		return;
	choose(s);
	apply(s, w);
	s->left--;
	s->next = now + s->round;
	orr_timer(w, s->next);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(shockwave,
	"a market over the next rounds: proportional fairness of progress, finish-time fairness and makespan by LP (Shockwave)", params,
	ops);

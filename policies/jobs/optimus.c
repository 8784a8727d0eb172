/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs by marginal gain (Peng et al., "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning Clusters", EuroSys 2018,
 * section 4.1).
 *
 * Sizes are chosen in rounds, one per interval. A round first gives every running job its smallest size, then the waiting jobs, in order
 * of submission, skipping jobs that do not fit. While GPUs are left, the job with the greatest gain per GPU grows to the size of that
 * gain. The gain is
 *
 *   gain=time        the reduction of the time to its end: work left / present rate - work left / new rate, where the work
 *                    left is an estimate minus the work done, and rates include the speed of the GPU type
 *   gain=throughput  the increase of its rate, relative to the rate at the requested size
 *
 * Jobs then shrink, start and grow, in this order. Between rounds, an arriving job starts at its smallest size if there is room. Rigid
 * jobs keep their size, and a running job is stopped only to be resized. Optimus adds one worker at a time. Here a job may grow to any
 * larger size at once, so it can skip sizes of its speed-up table that have no gain.
 *
 * GPUs are counted by type: a running job grows on its type, and a waiting job counts on the first type in its order with GPUs left. A job
 * on a part of a GPU counts as on a whole one, and a resized job stays on its GPU type. A job whose
 * change the placement refuses stays unchanged. A resize is a stop and a start, at the world's costs.
 *
 * Cost of a round: O(waiting elastic jobs + shapes) + O(running jobs * GPUs given).
 */
#include "time_left.h"

#include <orrery/jobs.h>

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TIME(
						   "interval", "10m", "time between rounds; 0: a round at every arrival and end of a job"),
	ORR_PARAM_CHOICE("gain", "time", "time|throughput", "gain of an additional GPU"),
	ORR_PARAM_CHOICE("estimate", "limit", "limit|exact",
		"gain=time: source of run times: the user's limit (the true duration if a job has no limit), or always the true duration"),
	ORR_PARAM_REAL("factor", "1", 1e-6, 1e6, "estimate=exact: factor on the true duration, to model an error"), ORR_PARAM_END };

struct size {
	uint32_t gpus;
	double rate;
};

/* A job that runs or will start in this pass. */
struct member {
	orr_job job;
	bool is_running;
	struct size *size;            /* sizes in ascending order; one if the job is rigid */
	uint32_t n_sizes, at, target; /* indices */
	uint32_t type;                /* GPU type; ORR_ANY_TYPE: not chosen, or the job needs no GPU */
	double left_ns;               /* gain=time: estimated work left at `since` */
	double speed;                 /* rate of the GPU type, see rate_of_type() */
	int64_t since;
};

enum { MOST_TYPES = 64 };

struct optimus {
	struct orr_queue *waiting;
	uint32_t n_types, *free; /* by type: GPUs that are left while sizes are chosen */
	uint32_t all;            /* of all types together: less than their sum if a quota of several types has less */
	struct member *member;   /* members in order of start */
	size_t n, cap;
	struct size *scratch;
	uint32_t cap_scratch;
	int64_t interval, next_round;
	bool by_time;
	enum orr_estimate estimate;
	double factor;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct optimus *o = orr_alloc(1, sizeof *o);
	(void)err;
	o->waiting = orr_queue_new(w);
	o->n_types = orr_gpu_types(w);
	o->free = orr_alloc(o->n_types + 1u, sizeof *o->free);
	o->interval = orr_arg_time_ns(args, "interval");
	o->by_time = strcmp(orr_arg_text(args, "gain"), "throughput");
	o->estimate = strcmp(orr_arg_text(args, "estimate"), "exact") ? ORR_ESTIMATE_LIMIT : ORR_ESTIMATE_EXACT;
	o->factor = orr_arg_real(args, "factor");
	return o;
}

static void destroy(void *self)
{
	struct optimus *o = self;
	for (size_t i = 0; i < o->n; i++)
		orr_free(o->member[i].size);
	orr_free(o->member);
	orr_free(o->scratch);
	orr_free(o->free);
	orr_queue_free(o->waiting);
	orr_free(o);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct optimus *o = self;
	orr_queue_add(o->waiting, j, orr_job_submit_ns(w, j), (int64_t)orr_job_number(w, j));
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct optimus *o = self;
	(void)w;
	if (how == ORR_END_PRUNED && orr_queue_remove(o->waiting, j))
		return;
	for (size_t i = 0; i < o->n; i++)
		if (o->member[i].job == j) {
			orr_free(o->member[i].size);
			o->n--;
			memmove(o->member + i, o->member + i + 1, (o->n - i) * sizeof *o->member);
			return;
		}
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	finish(self, w, j, ORR_END_NODE_FAILED);
	arrive(self, w, j);
}

/* ---- sizes ---- */

/* Writes the sizes that the job offers to o->scratch and returns their number, at least 1. */
static uint32_t list_sizes(struct optimus *o, struct orr_jobs *w, const struct orr_job_info *info, orr_job j)
{
	uint32_t most = info->is_elastic ? orr_total_gpus(w) : 0, n = 0;
	if (o->cap_scratch <= most) {
		o->cap_scratch = most + 1;
		o->scratch = orr_realloc(o->scratch, o->cap_scratch, sizeof *o->scratch);
	}
	for (uint32_t g = 1; g <= most; g++)
		if (orr_job_rate_at(w, j, g) > 0)
			o->scratch[n++] = (struct size){ g, orr_job_rate_at(w, j, g) };
	if (!n)
		o->scratch[n++] = (struct size){ info->gpus, 1 };
	return n;
}

/* ---- starting ---- */

/* Returns the GPU type of a job that waits: the first in its order that has that many GPUs left; ORR_ANY_TYPE: none has, or the job needs
 * none. */
static uint32_t type_with_room(const struct optimus *o, const struct orr_jobs *w, const struct orr_job_info *info, orr_job j, uint32_t gpus)
{
	uint32_t order[MOST_TYPES], n = orr_job_type_order(w, j, order, MOST_TYPES);
	for (uint32_t i = 0; gpus && gpus <= o->all && i < n; i++)
		if (info->gpu_types >> order[i] & 1 && o->free[order[i]] >= gpus)
			return order[i];
	return ORR_ANY_TYPE;
}

/* Makes j a member at its smallest size. is_counted: if a type has GPUs left, which it takes. */
static bool count_in(struct optimus *o, struct orr_jobs *w, const struct orr_job_info *info, orr_job j, bool is_counted)
{
	uint32_t n = list_sizes(o, w, info, j), least = o->scratch[0].gpus;
	uint32_t type = is_counted ? type_with_room(o, w, info, j, least) : ORR_ANY_TYPE;
	if (is_counted && least && type == ORR_ANY_TYPE)
		return false;
	if (type != ORR_ANY_TYPE) {
		o->free[type] -= least;
		o->all -= least;
	}
	struct size *sizes = orr_alloc(n, sizeof *sizes);
	ORR_GROW(o->member, o->n, o->cap);
	memcpy(sizes, o->scratch, n * sizeof *sizes);
	o->member[o->n++] = (struct member){ .job = j,
		.size = sizes,
		.n_sizes = n,
		.type = type,
		.speed = rate_of_type(w, j),
		.left_ns = o->by_time && n > 1 ? (double)orr_job_estimate_run_ns(w, j, o->estimate, o->factor) : 0,
		.since = orr_now(w) };
	return true;
}

/* Makes members of the waiting jobs, in order of submission, skipping those for which no type has GPUs left. */
static void count_waiting(struct optimus *o, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(o->waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);)
		if ((info.gpus && !o->all) || (!count_in(o, w, &info, j, true) && !info.is_elastic))
			orr_walk_skip_shape(&walk);
	orr_walk_end(&walk);
}

static bool start_at(struct orr_jobs *w, struct member *m, uint32_t size)
{
	uint32_t gpus = m->size[size].gpus;
	m->at = size;
	if (m->type != ORR_ANY_TYPE && gpus == orr_job_gpus(w, m->job) && orr_try_start_on_type(w, m->job, m->type))
		return true;
	return orr_try_start_sized(w, m->job, gpus);
}

/* Starts the members from `from` on that do not run, at their targets, else at their smallest sizes. Returns false if the placement
 * refused one. */
static bool start_counted(struct optimus *o, struct orr_jobs *w, size_t from)
{
	size_t kept = from;
	for (size_t i = from; i < o->n; i++) {
		struct member m = o->member[i];
		if (!m.is_running) {
			if (!start_at(w, &m, m.target) && !(m.target && start_at(w, &m, 0))) {
				orr_free(m.size);
				continue;
			}
			m.is_running = true;
			orr_queue_remove(o->waiting, m.job);
		}
		o->member[kept++] = m;
	}
	bool all = kept == o->n;
	o->n = kept;
	return all;
}

/* Starts waiting jobs at their smallest sizes, in order of submission, skipping those that the placement refuses. */
static void start_what_fits(struct optimus *o, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(o->waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk)) && orr_job_get(w, j, &info);) {
		bool is_hopeless = info.gpus && info.gpu_milli == 1000 && !orr_free_gpus(w);
		if (is_hopeless || (count_in(o, w, &info, j, false) && !start_counted(o, w, o->n - 1) && !info.is_elastic))
			orr_walk_skip_shape(&walk);
	}
	orr_walk_end(&walk);
}

/* ---- a round ---- */

static void book_progress(struct optimus *o, struct orr_jobs *w, int64_t now)
{
	for (size_t i = 0; i < o->n; i++) {
		struct member *m = &o->member[i];
		m->speed = rate_of_type(w, m->job);
		m->left_ns -= (double)(now - m->since) * m->size[m->at].rate * m->speed;
		m->left_ns = m->left_ns > 0 ? m->left_ns : 0;
		m->since = now;
	}
}

static double gain(const struct optimus *o, const struct member *m, uint32_t to)
{
	double from_rate = m->size[m->target].rate, to_rate = m->size[to].rate;
	double gpus = m->size[to].gpus - m->size[m->target].gpus;
	double left_ns = m->left_ns / m->speed;
	return (o->by_time ? left_ns / from_rate - left_ns / to_rate : to_rate - from_rate) / gpus;
}

/* Finds the best size for m within `free` more GPUs; returns its gain per GPU, 0 if no size has a gain. */
static double best_step(const struct optimus *o, const struct member *m, uint32_t free, uint32_t *to)
{
	double best = 0;
	for (uint32_t k = m->target + 1; k < m->n_sizes && m->size[k].gpus - m->size[m->target].gpus <= free; k++)
		if (gain(o, m, k) > best) {
			best = gain(o, m, k);
			*to = k;
		}
	return best;
}

/* Starts with all members at their smallest sizes and repeatedly gives GPUs to the member with the greatest gain. Ties: the member
 * that started first. */
static void choose_sizes(struct optimus *o)
{
	for (size_t i = 0; i < o->n; i++)
		o->member[i].target = 0;
	for (;;) {
		struct member *first = NULL;
		double best = 0;
		uint32_t to = 0, first_to = 0;
		for (size_t i = 0; i < o->n; i++) {
			uint32_t type = o->member[i].type, left = type == ORR_ANY_TYPE ? 0 : o->free[type];
			left = left < o->all ? left : o->all;
			double g = left ? best_step(o, &o->member[i], left, &to) : 0;
			if (g > best) {
				best = g;
				first = &o->member[i];
				first_to = to;
			}
		}
		if (!first)
			return;
		uint32_t more = first->size[first_to].gpus - first->size[first->target].gpus;
		o->free[first->type] -= more;
		o->all -= more;
		first->target = first_to;
	}
}

static void resize(struct orr_jobs *w, struct member *m)
{
	if (m->target != m->at && orr_resize(w, m->job, m->size[m->target].gpus))
		m->at = m->target;
}

/* The speeds of jobs that adapt their batch change with their epoch. */
static void renew_speeds(struct optimus *o, struct orr_jobs *w)
{
	for (size_t i = 0; i < o->n; i++) {
		struct member *m = &o->member[i];
		for (uint32_t k = 0; orr_job_goodput(w, m->job, 1, 1) > 0 && k < m->n_sizes; k++)
			m->size[k].rate = orr_job_rate_at(w, m->job, m->size[k].gpus);
	}
}

/* Counts the GPUs of each type that are free, or above the smallest sizes of the members. */
static void count_free(struct optimus *o, struct orr_jobs *w)
{
	struct orr_job_info info;
	for (uint32_t t = 0; t < o->n_types; t++)
		o->free[t] = orr_free_gpus_of(w, t);
	o->all = orr_free_gpus(w);
	for (size_t i = 0; i < o->n; i++) {
		struct member *m = &o->member[i];
		m->type = orr_job_get(w, m->job, &info) && info.gpus_held ? info.gpu_type : ORR_ANY_TYPE;
		if (m->type == ORR_ANY_TYPE)
			continue;
		o->free[m->type] += m->size[m->at].gpus - m->size[0].gpus;
		o->all += m->size[m->at].gpus - m->size[0].gpus;
	}
}

static void round_of_sizes(struct optimus *o, struct orr_jobs *w)
{
	book_progress(o, w, orr_now(w));
	renew_speeds(o, w);
	count_free(o, w);
	count_waiting(o, w);
	choose_sizes(o);
	for (size_t i = 0; i < o->n; i++)
		if (o->member[i].is_running && o->member[i].target < o->member[i].at)
			resize(w, &o->member[i]);
	start_counted(o, w, 0);
	start_what_fits(o, w); /* jobs that the placement refused leave room; those on parts of GPUs count as whole ones */
	for (size_t i = 0; i < o->n; i++)
		resize(w, &o->member[i]);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct optimus *o = self;
	int64_t now = orr_now(w);
	if (now < o->next_round) {
		start_what_fits(o, w);
		return;
	}
	round_of_sizes(o, w);
	if (o->interval && (o->n || orr_queue_size(o->waiting))) {
		o->next_round = now + o->interval;
		orr_timer(w, o->next_round);
	}
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(
	optimus, "elastic jobs: minimum sizes first, then each GPU goes to the job with the greatest marginal gain (Optimus)", params, ops);

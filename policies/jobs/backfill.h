/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * backfill.h - what the backfilling policies have in common: the waiting jobs in order
 * of submission, the running ones in order of their estimated ends, and what becomes
 * of a job that outlives its estimate
 *
 * A job's estimate is what orr_job_estimate_ns() says, over its rate on the GPU type;
 * while it waits, over the least rate of the types that it may run on. At the moment
 * where the estimate ends and the job goes on,
 *
 *   overrun=kill    it is killed, as a batch system does at the user's limit;
 *   overrun=extend  its estimate grows by 1 min the first time, by 15 * 2^(i-2) min
 *                   the i-th (Tsafrir, Etsion and Feitelson, "Backfilling Using
 *                   System-Generated Predictions Rather than User Runtime Estimates",
 *                   IEEE TPDS 18(6), 2007).
 *
 * Room is counted, not placed: GPUs (1/1000) per type, CPUs and memory of the whole
 * cluster. So a reservation may find its GPUs scattered over nodes that the run's
 * placement will not use together; who starts now is always the placement's word. But
 * no reservation is made on a type where the placement would refuse the job even if
 * nothing else ran.
 *
 * Invariant: running[] ascends in (end, then order of start).
 */
#ifndef ORR_POLICIES_BACKFILL_H
#define ORR_POLICIES_BACKFILL_H

#include "grow.h"

#include <orrery/jobs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BACKFILL_PARAMS                                                                                                                   \
	ORR_PARAM_CHOICE(                                                                                                                 \
		"estimate", "limit", "limit|exact", "of run times: the user's limit (the truth where the trace has none), or the truth"), \
		ORR_PARAM_REAL("factor", "1", 1e-6, 1e6, "error of the exact estimate: it is multiplied by this"),                        \
		ORR_PARAM_CHOICE("overrun", "extend", "kill|extend", "a job that outlives its estimate is killed, or gets more")

enum { BACKFILL_MAX_TYPES = 64 };
#define BACKFILL_NO_TYPE UINT32_MAX
#define BACKFILL_UNLIMITED (INT64_MAX / 4)

struct backfill_need {
	int64_t gpu_milli, cpu_milli, mem_mib;
};

/* What the cluster has, or what is left of it. */
struct backfill_room {
	int64_t gpu_milli[BACKFILL_MAX_TYPES];
	int64_t cpu_milli, mem_mib;
};

struct backfill_running {
	int64_t end; /* as estimated */
	orr_job job;
	uint32_t type, overruns;
	struct backfill_need need;
};

/* The types where a shape fits when nothing else runs. */
struct backfill_shape {
	bool is_known;
	uint64_t types;
};

struct backfill {
	struct orr_queue *waiting; /* by submission; second: the longest it may take */
	struct backfill_running *running;
	size_t n, cap;
	struct backfill_shape *shape;
	size_t n_shapes;
	struct backfill_room used;
	int64_t cpu_milli, mem_mib; /* of nodes that are up */
	uint32_t n_types;
	enum orr_estimate estimate;
	double factor;
	bool is_kill;
	int64_t next_timer; /* the earliest one that has not fired; ORR_NEVER */
};

static inline void backfill_capacity(void *self, struct orr_jobs *w)
{
	struct backfill *b = self;
	struct orr_node_info node;
	b->cpu_milli = b->mem_mib = 0;
	for (size_t i = 0; i < b->n_shapes; i++)
		b->shape[i].is_known = false;
	for (uint32_t i = 0; orr_node_get(w, i, &node); i++) {
		if (!node.is_up)
			continue;
		b->cpu_milli = node.cpu_milli < BACKFILL_UNLIMITED - b->cpu_milli ? b->cpu_milli + node.cpu_milli : BACKFILL_UNLIMITED;
		b->mem_mib = node.mem_mib < BACKFILL_UNLIMITED - b->mem_mib ? b->mem_mib + node.mem_mib : BACKFILL_UNLIMITED;
	}
}

/* An object of size bytes that begins with a struct backfill. */
static inline void *backfill_new(struct orr_jobs *w, size_t size, const struct orr_args *args, struct orr_error *err)
{
	struct backfill *b = calloc(1, size);
	if (!b) {
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	b->waiting = orr_queue_new(w);
	b->n_types = orr_gpu_types(w);
	b->estimate = strcmp(orr_arg_text(args, "estimate"), "exact") ? ORR_ESTIMATE_LIMIT : ORR_ESTIMATE_EXACT;
	b->factor = orr_arg_real(args, "factor");
	b->is_kill = !strcmp(orr_arg_text(args, "overrun"), "kill");
	b->next_timer = ORR_NEVER;
	backfill_capacity(b, w);
	return b;
}

static inline void backfill_free(void *self)
{
	struct backfill *b = self;
	orr_queue_free(b->waiting);
	free(b->running);
	free(b->shape);
	free(b);
}

/* ---- what jobs need, and how long ---- */

static inline struct backfill_need backfill_need(const struct orr_job_info *i)
{
	return (struct backfill_need){ (int64_t)i->gpus * i->gpu_milli, i->cpu_milli, i->mem_mib };
}

/* The estimate at a rate, rounded up as the world rounds the true one. */
static inline int64_t backfill_at_rate(int64_t estimate, double rate)
{
	if (rate == 1 || !(rate > 0))
		return estimate;
	double ns = ceil((double)estimate / rate);
	return ns < (double)BACKFILL_UNLIMITED ? (int64_t)ns : BACKFILL_UNLIMITED;
}

static inline int64_t backfill_span(struct backfill *b, struct orr_jobs *w, orr_job j, uint32_t type)
{
	int64_t estimate = orr_job_estimate_ns(w, j, b->estimate, b->factor);
	estimate = estimate < BACKFILL_UNLIMITED ? estimate : BACKFILL_UNLIMITED;
	return backfill_at_rate(estimate, type == BACKFILL_NO_TYPE ? 1 : orr_job_rate_on(w, j, type));
}

/* On the slowest type that it may run on. */
static inline int64_t backfill_longest(struct backfill *b, struct orr_jobs *w, orr_job j)
{
	int64_t longest = -1;
	for (uint32_t t = 0; t < b->n_types; t++)
		if (orr_job_rate_on(w, j, t) > 0) {
			int64_t span = backfill_span(b, w, j, t);
			longest = span > longest ? span : longest;
		}
	return longest < 0 ? backfill_span(b, w, j, BACKFILL_NO_TYPE) : longest;
}

static inline struct backfill_shape *backfill_shape_of(struct backfill *b, uint32_t shape)
{
	if (shape >= b->n_shapes) {
		size_t n = 2 * (size_t)shape + 16;
		struct backfill_shape *v = realloc(b->shape, n * sizeof *v);
		if (!v)
			return NULL;
		memset(v + b->n_shapes, 0, (n - b->n_shapes) * sizeof *v);
		b->shape = v;
		b->n_shapes = n;
	}
	return &b->shape[shape];
}

/* The types of GPU on which a reservation for j makes sense. */
static inline uint64_t backfill_types(struct backfill *b, struct orr_jobs *w, orr_job j, const struct orr_job_info *info)
{
	struct backfill_shape *s = backfill_shape_of(b, info->shape);
	if (s && s->is_known)
		return s->types;
	orr_job *all = s ? malloc((b->n + 1) * sizeof *all) : NULL;
	if (!all) {
		orr_give_up(w, j, "out of memory");
		return 0;
	}
	for (size_t i = 0; i < b->n; i++)
		all[i] = b->running[i].job;
	*s = (struct backfill_shape){ .is_known = true };
	for (uint32_t t = 0; t < b->n_types; t++)
		if (info->gpu_types >> t & 1 && orr_fits_without(w, j, t, all, b->n))
			s->types |= UINT64_C(1) << t;
	free(all);
	return s->types;
}

static inline void backfill_room_now(const struct backfill *b, const struct orr_jobs *w, struct backfill_room *room)
{
	for (uint32_t t = 0; t < b->n_types; t++)
		room->gpu_milli[t] = 1000 * (int64_t)orr_total_gpus_of(w, t) - b->used.gpu_milli[t];
	room->cpu_milli = b->cpu_milli - b->used.cpu_milli;
	room->mem_mib = b->mem_mib - b->used.mem_mib;
}

/* Adds (sign 1) or takes (sign -1) what a job on that type of GPU needs. */
static inline void backfill_move(struct backfill_room *room, uint32_t type, const struct backfill_need *need, int sign)
{
	if (type != BACKFILL_NO_TYPE)
		room->gpu_milli[type] += sign * need->gpu_milli;
	room->cpu_milli += sign * need->cpu_milli;
	room->mem_mib += sign * need->mem_mib;
}

static inline bool backfill_has_room(const struct backfill_room *room, uint32_t type, const struct backfill_need *need)
{
	return (type == BACKFILL_NO_TYPE || room->gpu_milli[type] >= need->gpu_milli) && room->cpu_milli >= need->cpu_milli &&
	       room->mem_mib >= need->mem_mib;
}

/* ---- the running ones ---- */

static inline void backfill_insert(struct backfill *b, const struct backfill_running *x)
{
	size_t low = 0, high = b->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (b->running[mid].end <= x->end)
			low = mid + 1;
		else
			high = mid;
	}
	memmove(b->running + low + 1, b->running + low, (b->n - low) * sizeof *b->running);
	b->running[low] = *x;
	b->n++;
}

static inline void backfill_drop(struct backfill *b, size_t i)
{
	b->n--;
	memmove(b->running + i, b->running + i + 1, (b->n - i) * sizeof *b->running);
}

/* Books a job that has just been started; gives its estimated end. */
static inline int64_t backfill_started(struct backfill *b, struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	if (!grow(&b->running, b->n, &b->cap, sizeof *b->running)) {
		orr_give_up(w, j, "out of memory");
		return ORR_NEVER;
	}
	if (!orr_job_get(w, j, &info))
		return ORR_NEVER;
	struct backfill_running x = {
		.job = j, .type = info.gpu_type, .need = backfill_need(&info), .end = orr_now(w) + backfill_span(b, w, j, info.gpu_type)
	};
	backfill_insert(b, &x);
	backfill_move(&b->used, x.type, &x.need, 1);
	orr_queue_remove(b->waiting, j);
	return x.end;
}

/* True if it ran; *left is what was left of its estimate. */
static inline bool backfill_forget(struct backfill *b, struct orr_jobs *w, orr_job j, int64_t *left)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->running[i].job == j) {
			*left = b->running[i].end - orr_now(w);
			backfill_move(&b->used, b->running[i].type, &b->running[i].need, -1);
			backfill_drop(b, i);
			return true;
		}
	return false;
}

/* Deals with those whose estimate is over; true if any was. */
static inline bool backfill_overruns(struct backfill *b, struct orr_jobs *w)
{
	const int64_t minute = 60 * ORR_SECOND;
	int64_t now = orr_now(w);
	bool any = false;
	while (b->n && b->running[0].end <= now) {
		struct backfill_running x = b->running[0];
		any = true;
		backfill_drop(b, 0);
		if (b->is_kill) {
			backfill_move(&b->used, x.type, &x.need, -1);
			orr_kill(w, x.job);
			continue;
		}
		uint32_t doublings = x.overruns ? x.overruns - 1 : 0;
		x.end += x.overruns ? 15 * minute << (doublings < 24 ? doublings : 24) : minute;
		x.overruns++;
		backfill_insert(b, &x);
	}
	return any;
}

/* Asks to be called at the next estimated end, where it matters. */
static inline void backfill_set_timer(struct backfill *b, struct orr_jobs *w)
{
	int64_t now = orr_now(w);
	if (b->next_timer <= now)
		b->next_timer = ORR_NEVER;
	if (b->n && b->running[0].end < b->next_timer && (b->is_kill || orr_queue_size(b->waiting))) {
		b->next_timer = b->running[0].end;
		orr_timer(w, b->next_timer);
	}
}

#endif

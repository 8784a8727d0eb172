/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * EASY backfilling (Lifka, "The ANL/IBM SP Scheduling System", JSSPP 1995; as in Mu'alem
 * and Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in
 * Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001).
 *
 * Jobs start in order of submission. If the head of the queue does not fit, the estimated ends of running jobs give its shadow time:
 * the time at which enough GPUs of one of its types are free (of several such types, the first in the job's order). The extra GPUs are the
 * GPUs of that type that remain free when the head has started at the shadow time. A later job starts if it fits now and meets one of three
 * conditions: it ends before the shadow time, it needs at most the extra GPUs (CPUs, memory), or it runs on another GPU type.
 *
 * Room is counted by type (backfill.h). If the count has room for the head but the placement does not, the shadow time is the
 * next estimated end of a running job.
 *
 * A job that fits but is too long does not block a shorter job of the same shape: the walk is limited to estimates that end in
 * time. A pass costs O(log queue) per job started and per shape, and O(running jobs up to the shadow time).
 */
#include "backfill.h"

static const struct orr_param params[] = { BACKFILL_PARAMS, ORR_PARAM_END };

/* The reservation of the head of the queue. */
struct reservation {
	int64_t shadow; /* shadow time; ORR_NEVER: no reservation was possible */
	uint32_t type;
	struct backfill_room extra; /* extra room at the shadow time, on that type */
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)err;
	return backfill_new(w, sizeof(struct backfill), args);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct backfill *b = self;
	orr_queue_add2(b->waiting, j, orr_job_submit_ns(w, j), (int64_t)orr_job_number(w, j), backfill_longest(b, w, j));
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	int64_t left;
	if (!backfill_forget(self, w, j, &left) && how == ORR_END_PRUNED)
		orr_queue_remove(((struct backfill *)self)->waiting, j);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	finish(self, w, j, ORR_END_NODE_FAILED);
	arrive(self, w, j);
}

static void reserve(struct backfill *b, struct orr_jobs *w, orr_job head, struct reservation *r)
{
	struct orr_job_info info;
	r->shadow = ORR_NEVER;
	r->type = BACKFILL_NO_TYPE;
	if (!orr_job_get(w, head, &info))
		return;
	struct backfill_need need = backfill_need(&info);
	uint64_t types = backfill_types(b, w, head, &info);
	uint32_t order[BACKFILL_MAX_TYPES], n_order = orr_job_type_order(w, head, order, BACKFILL_MAX_TYPES);
	backfill_room_now(b, w, &r->extra);
	for (size_t i = 0; i < b->n && r->shadow == ORR_NEVER;) {
		int64_t end = b->running[i].end;
		for (; i < b->n && b->running[i].end == end; i++)
			backfill_move(&r->extra, b->running[i].type, &b->running[i].need, 1);
		if (!need.gpu_milli && backfill_has_room(&r->extra, BACKFILL_NO_TYPE, &need))
			r->shadow = end;
		for (uint32_t k = 0; need.gpu_milli && k < n_order && r->shadow == ORR_NEVER; k++)
			if (types >> order[k] & 1 && backfill_has_room(&r->extra, order[k], &need)) {
				r->shadow = end;
				r->type = order[k];
			}
	}
	if (r->shadow != ORR_NEVER)
		backfill_move(&r->extra, r->type, &need, -1);
}

/* Starts j on a GPU type other than the type of the reservation. */
static bool start_elsewhere(struct orr_jobs *w, orr_job j, const struct orr_job_info *info, const struct reservation *r)
{
	uint32_t order[BACKFILL_MAX_TYPES], n = orr_job_type_order(w, j, order, BACKFILL_MAX_TYPES);
	for (uint32_t k = 0; k < n; k++)
		if (order[k] != r->type && info->gpu_types >> order[k] & 1 && orr_try_start_on_type(w, j, order[k]))
			return true;
	return false;
}

/* Returns whether j fits in addition to the head from the shadow time on. */
static bool is_within_extra(const struct reservation *r, const struct orr_job_info *info, uint32_t type)
{
	struct backfill_need need = backfill_need(info);
	return backfill_has_room(&r->extra, info->gpus && type != BACKFILL_NO_TYPE ? type : BACKFILL_NO_TYPE, &need);
}

/* Tries to start one job after the head, and restricts the walk of its shape accordingly. */
static void try_behind(struct backfill *b, struct orr_jobs *w, orr_job j, struct reservation *r, struct orr_walk *walk)
{
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	int64_t window = r->shadow == ORR_NEVER ? INT64_MAX : r->shadow - orr_now(w);
	bool wants_type = info.gpus && r->type != BACKFILL_NO_TYPE && info.gpu_types >> r->type & 1;
	bool is_free = orr_queue_second(b->waiting, j) <= window || is_within_extra(r, &info, wants_type ? r->type : BACKFILL_NO_TYPE);
	if (!is_free && !(wants_type && is_within_extra(r, &info, BACKFILL_NO_TYPE) && start_elsewhere(w, j, &info, r))) {
		orr_walk_limit_shape(walk, window);
		return;
	}
	if (is_free && !orr_try_start(w, j)) {
		orr_walk_skip_shape(walk);
		return;
	}
	if (backfill_started(b, w, j) <= r->shadow || !orr_job_get(w, j, &info))
		return;
	struct backfill_need need = backfill_need(&info);
	backfill_move(&r->extra, info.gpu_type == r->type ? r->type : BACKFILL_NO_TYPE, &need, -1);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct backfill *b = self;
	struct reservation r;
	struct orr_walk walk;
	orr_job head;
	backfill_overruns(b, w);
	while ((head = orr_queue_first(b->waiting)) && orr_try_start(w, head))
		backfill_started(b, w, head);
	orr_why(w, head ? ORR_WHY_RESERVED : ORR_WHY_NONE, head, NULL);
	if (orr_queue_size(b->waiting) > 1) {
		reserve(b, w, head, &r);
		orr_walk_begin(b->waiting, &walk);
		for (orr_job j; (j = orr_walk_next(&walk));)
			if (j == head)
				orr_walk_skip_shape(&walk);
			else
				try_behind(b, w, j, &r, &walk);
		orr_walk_end(&walk);
	}
	backfill_set_timer(b, w);
}

static const struct orr_jobs_ops ops = { .create = create,
	.destroy = backfill_free,
	.arrive = arrive,
	.finish = finish,
	.evict = evict,
	.schedule = schedule,
	.capacity = backfill_capacity };

ORR_POLICY_JOBS(easy_backfill, "EASY backfilling: in order of submission; a job may start early if it does not delay the first waiting job",
	params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative backfilling (Mu'alem and Feitelson, "Utilization, Predictability,
 * Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling", IEEE
 * TPDS 12(6), 2001, section 2.3): every job gets a reservation when it arrives, the
 * earliest that delays none before it, and starts when that is due.
 *
 * When a job ends early, the profile is compressed: once over the waiting jobs in order
 * of submission, each gives up its reservation and takes the earliest one there is, which
 * is never later than the old. So without overruns and failures of nodes no job starts
 * later than it was promised. After an overrun (overrun=extend) or a change of capacity
 * the promises cannot be kept: all reservations are made anew, in order of submission.
 *
 * Room is counted by type of GPU (backfill.h), each reservation being on one type. A job
 * that the placement refuses when it is due starts on another type where the profile has
 * room, or takes the earliest reservation from the next estimated end of a running job on.
 *
 * Cost: O(points of the profile) per arrival and start, O(waiting jobs * points) per early
 * end, with points <= 2 * (running + waiting) + 1: quadratic in the length of the queue.
 */
#include "profile.h"

static const struct orr_param params[] = { BACKFILL_PARAMS, ORR_PARAM_END };

struct promise {
	orr_job job;
	uint64_t number;
	int64_t start, end; /* reserved; start ORR_NEVER: nothing is */
	uint32_t type;
	struct backfill_need need;
};

struct conservative {
	struct backfill base;
	struct profile profile;
	struct promise *promise; /* of waiting jobs, in order of submission */
	size_t n, cap;
	bool is_early;  /* somebody ended early: compress */
	bool is_broken; /* promises cannot be kept: make all anew */
};

static void destroy(void *self)
{
	struct conservative *c = self;
	profile_free(&c->profile);
	free(c->promise);
	backfill_free(self);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct conservative *c = backfill_new(w, sizeof *c, args, err);
	if (c && !profile_init(&c->profile, c->base.n_types)) {
		destroy(c);
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	if (c) {
		struct backfill_room room;
		backfill_room_now(&c->base, w, &room);
		profile_reset(&c->profile, orr_now(w), &room);
	}
	return c;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct conservative *c = self;
	struct orr_job_info info;
	if (!grow(&c->promise, c->n, &c->cap, sizeof *c->promise)) {
		orr_give_up(w, j, "out of memory");
		return;
	}
	if (!orr_job_get(w, j, &info))
		return;
	orr_queue_add(c->base.waiting, j, info.submit_ns, (int64_t)info.number);
	size_t i = c->n++;
	for (; i && c->promise[i - 1].number > info.number; i--)
		c->promise[i] = c->promise[i - 1];
	c->promise[i] = (struct promise){
		.job = j, .number = info.number, .start = ORR_NEVER, .type = BACKFILL_NO_TYPE, .need = backfill_need(&info)
	};
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct conservative *c = self;
	struct orr_job_info info;
	int64_t left;
	(void)how;
	if (backfill_forget(&c->base, w, j, &left) && orr_job_get(w, j, &info))
		c->is_early |= left > 0 || info.started_ns == orr_now(w);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct conservative *c = self;
	finish(self, w, j, ORR_END_NODE_FAILED);
	arrive(self, w, j);
	c->is_broken = true;
}

static void capacity(void *self, struct orr_jobs *w)
{
	backfill_capacity(self, w);
	((struct conservative *)self)->is_broken = true;
}

/* ---- promises ---- */

static void move(struct conservative *c, struct orr_jobs *w, const struct promise *x, int sign)
{
	if (x->start != ORR_NEVER && !profile_move(&c->profile, x->start, x->end, x->type, &x->need, sign))
		orr_give_up(w, x->job, "out of memory");
}

/* The types that x may be promised, one after the other, *at being -1 at first. A job without
 * GPUs has one turn, with BACKFILL_NO_TYPE. */
static bool next_type(struct conservative *c, uint64_t types, const struct promise *x, int *at, uint32_t *type)
{
	if (!x->need.gpu_milli) {
		*type = BACKFILL_NO_TYPE;
		return ++*at == 0;
	}
	while (++*at < (int)c->base.n_types)
		if (types >> *at & 1) {
			*type = (uint32_t)*at;
			return true;
		}
	return false;
}

/* It holds its GPUs until others have been told: no span is zero. */
static int64_t span_on(struct conservative *c, struct orr_jobs *w, const struct promise *x, uint32_t type)
{
	int64_t span = backfill_span(&c->base, w, x->job, type);
	return span > 0 ? span : 1;
}

static uint64_t types_of(struct conservative *c, struct orr_jobs *w, const struct promise *x)
{
	struct orr_job_info info;
	return orr_job_get(w, x->job, &info) ? backfill_types(&c->base, w, x->job, &info) : 0;
}

/* Gives up what x has and takes the earliest start from `from` on, on the first type that
 * offers it. */
static void promise(struct conservative *c, struct orr_jobs *w, struct promise *x, int64_t from)
{
	uint64_t types = types_of(c, w, x);
	uint32_t type;
	move(c, w, x, 1);
	x->start = ORR_NEVER;
	for (int at = -1; next_type(c, types, x, &at, &type);) {
		int64_t span = span_on(c, w, x, type);
		int64_t start = profile_find(&c->profile, from, span, type, &x->need);
		if (start < x->start) {
			x->start = start;
			x->end = start + span;
			x->type = type;
		}
	}
	move(c, w, x, -1);
}

/* The profile as the running jobs leave it. */
static void rebuild(struct conservative *c, struct orr_jobs *w)
{
	struct backfill_room room;
	int64_t now = orr_now(w);
	backfill_room_now(&c->base, w, &room);
	for (size_t i = 0; i < c->base.n; i++)
		backfill_move(&room, c->base.running[i].type, &c->base.running[i].need, 1);
	profile_reset(&c->profile, now, &room);
	for (size_t i = 0; i < c->base.n; i++) {
		const struct backfill_running *x = &c->base.running[i];
		if (!profile_move(&c->profile, now, x->end, x->type, &x->need, -1))
			orr_give_up(w, x->job, "out of memory");
	}
}

static void plan(struct conservative *c, struct orr_jobs *w)
{
	int64_t now = orr_now(w);
	bool is_compressed = c->is_early || c->is_broken;
	if (is_compressed) {
		rebuild(c, w);
		for (size_t i = 0; i < c->n && !c->is_broken; i++)
			move(c, w, &c->promise[i], -1);
	}
	for (size_t i = 0; i < c->n; i++) {
		if (c->is_broken)
			c->promise[i].start = ORR_NEVER;
		if (c->promise[i].start == ORR_NEVER || (is_compressed && c->promise[i].start > now))
			promise(c, w, &c->promise[i], now);
	}
	profile_trim(&c->profile, now);
	c->is_early = c->is_broken = false;
}

static bool try_start(struct conservative *c, struct orr_jobs *w, const struct promise *x, uint32_t type)
{
	return c->base.n_types > 1 && type != BACKFILL_NO_TYPE ? orr_try_start_on_type(w, x->job, type) : orr_try_start(w, x->job);
}

/* Starts x, whose time has come, on the type promised or another one where it delays nobody. */
static bool start(struct conservative *c, struct orr_jobs *w, struct promise *x)
{
	int64_t now = orr_now(w);
	uint64_t types = types_of(c, w, x);
	uint32_t type;
	move(c, w, x, 1);
	x->start = ORR_NEVER;
	for (int at = -1; next_type(c, types, x, &at, &type);) {
		int64_t span = span_on(c, w, x, type);
		if (profile_find(&c->profile, now, span, type, &x->need) != now || !try_start(c, w, x, type))
			continue;
		x->start = now;
		x->end = now + span;
		x->type = type;
		move(c, w, x, -1);
		backfill_started(&c->base, w, x->job);
		return true;
	}
	promise(c, w, x, c->base.n ? c->base.running[0].end : ORR_NEVER);
	return false;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct conservative *c = self;
	int64_t now = orr_now(w), next = ORR_NEVER;
	size_t kept = 0;
	if (backfill_overruns(&c->base, w) && !c->base.is_kill)
		c->is_broken = true;
	plan(c, w);
	for (size_t i = 0; i < c->n; i++) {
		if (c->promise[i].start <= now && start(c, w, &c->promise[i]))
			continue;
		next = c->promise[i].start < next ? c->promise[i].start : next;
		c->promise[kept++] = c->promise[i];
	}
	c->n = kept;
	backfill_set_timer(&c->base, w);
	if (next < c->base.next_timer) {
		c->base.next_timer = next;
		orr_timer(w, next);
	}
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule, .capacity = capacity
};

ORR_POLICY_JOBS(conservative_backfill, "a reservation for every job; others may pass if that delays nobody", params, ops);

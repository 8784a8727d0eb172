/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conservative backfilling (Mu'alem and Feitelson, "Utilization, Predictability, Workloads, and User Runtime Estimates in
 * Scheduling the IBM SP2 with Backfilling", IEEE TPDS 12(6), 2001, section 2.3): on arrival every job gets the earliest
 * reservation that delays no earlier job, and starts at the time of its reservation.
 *
 * When a job ends early, the profile is compressed: in order of submission, each waiting job cancels its reservation and takes
 * the earliest possible one, which is never later than the old one. So without overruns and node failures no job starts after
 * its first reservation. After an overrun (overrun=extend) or a change of capacity, reservations cannot be kept: all are
 * recomputed, in order of submission.
 *
 * Room is counted by GPU type (backfill.h); each reservation is on one type. If the placement refuses a job at the time of its
 * reservation, the job starts on another type with room in the profile. Otherwise it takes the earliest reservation from the next
 * estimated end of a running job on.
 *
 * Cost: with points <= 2 * (running + waiting) + 1, O(log points) per move of a reservation, and per gap that is too short for
 * the job. An early end moves all reservations: if there are as many short gaps as waiting jobs, the cost is quadratic in the
 * length of the queue.
 */
#include "availability.h"

#include <string.h>

static const struct orr_param params[] = { BACKFILL_PARAMS, ORR_PARAM_END };

struct promise {
	orr_job job;
	uint64_t number;
	int64_t start, end; /* reserved time; start ORR_NEVER: no reservation */
	uint32_t type;
	struct backfill_need need;
};

struct conservative {
	struct backfill base;
	struct availability profile;
	struct promise *promise; /* reservations of waiting jobs, in order of submission */
	size_t n, cap;
	size_t n_planned; /* number of reservations at the front that a pass has already tried */
	int64_t next;     /* earliest start of a reservation */
	bool has_open;    /* one of these n_planned jobs has no reservation */
	bool is_early;    /* a job ended early, so the profile must be compressed */
	bool is_broken;   /* reservations are invalid: all must be recomputed */
};

static void destroy(void *self)
{
	struct conservative *c = self;
	availability_free(&c->profile);
	orr_free(c->promise);
	backfill_free(self);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct conservative *c = backfill_new(w, sizeof *c, args);
	struct backfill_room room;
	(void)err;
	availability_init(&c->profile, c->base.n_types);
	backfill_room_now(&c->base, w, &room);
	availability_reset(&c->profile, orr_now(w), &room);
	c->next = ORR_NEVER;
	return c;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct conservative *c = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	ORR_GROW(c->promise, c->n, c->cap);
	orr_queue_add(c->base.waiting, j, info.submit_ns, (int64_t)info.number);
	size_t i = c->n++;
	for (; i && c->promise[i - 1].number > info.number; i--)
		c->promise[i] = c->promise[i - 1];
	c->n_planned = i < c->n_planned ? i : c->n_planned;
	c->promise[i] = (struct promise){
		.job = j, .number = info.number, .start = ORR_NEVER, .type = BACKFILL_NO_TYPE, .need = backfill_need(&info)
	};
}

/* Handles the end of a waiting job: other jobs may take its reservation. */
static void forget_waiting(struct conservative *c, orr_job j)
{
	size_t i = 0;
	while (i < c->n && c->promise[i].job != j)
		i++;
	if (i == c->n)
		return;
	orr_queue_remove(c->base.waiting, j);
	c->n_planned -= i < c->n_planned;
	memmove(c->promise + i, c->promise + i + 1, (--c->n - i) * sizeof *c->promise);
	c->is_early = true;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct conservative *c = self;
	struct orr_job_info info;
	int64_t left;
	if (how == ORR_END_PRUNED)
		forget_waiting(c, j);
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

/* ---- reservations ---- */

static void move(struct conservative *c, const struct promise *x, int sign)
{
	if (x->start != ORR_NEVER)
		availability_move(&c->profile, x->start, x->end, x->type, &x->need, sign);
}

/* Writes the types on which x may have a reservation, in the job's order of types; returns their number. A job without GPUs has one
 * entry, BACKFILL_NO_TYPE. */
static uint32_t types_of(struct conservative *c, struct orr_jobs *w, const struct promise *x, uint32_t type[BACKFILL_MAX_TYPES])
{
	struct orr_job_info info;
	uint32_t n = 0;
	if (!x->need.gpu_milli) {
		type[0] = BACKFILL_NO_TYPE;
		return 1;
	}
	uint64_t types = orr_job_get(w, x->job, &info) ? backfill_types(&c->base, w, x->job, &info) : 0;
	uint32_t n_all = orr_job_type_order(w, x->job, type, c->base.n_types);
	for (uint32_t i = 0; i < n_all; i++)
		if (types >> type[i] & 1)
			type[n++] = type[i];
	return n;
}

/* Returns at least 1 ns, because a job of length zero holds its GPUs to the end of its instant. */
static int64_t span_on(struct conservative *c, struct orr_jobs *w, const struct promise *x, uint32_t type)
{
	int64_t span = backfill_span(&c->base, w, x->job, type);
	return span > 0 ? span : 1;
}

/* Cancels the reservation of x and takes the earliest one from `from` on, on the first type that has it. */
static void promise(struct conservative *c, struct orr_jobs *w, struct promise *x, int64_t from)
{
	uint32_t type[BACKFILL_MAX_TYPES], n = types_of(c, w, x, type);
	move(c, x, 1);
	x->start = ORR_NEVER;
	for (uint32_t i = 0; i < n; i++) {
		int64_t span = span_on(c, w, x, type[i]);
		int64_t start = availability_find(&c->profile, from, span, type[i], &x->need);
		if (start < x->start) {
			x->start = start;
			x->end = start + span;
			x->type = type[i];
		}
	}
	move(c, x, -1);
}

/* Rebuilds the profile from the running jobs only. */
static void rebuild(struct conservative *c, struct orr_jobs *w)
{
	struct backfill_room room;
	int64_t now = orr_now(w);
	backfill_room_now(&c->base, w, &room);
	for (size_t i = 0; i < c->base.n; i++)
		backfill_move(&room, c->base.running[i].type, &c->base.running[i].need, 1);
	availability_reset(&c->profile, now, &room);
	for (size_t i = 0; i < c->base.n; i++) {
		const struct backfill_running *x = &c->base.running[i];
		availability_move(&c->profile, now, x->end, x->type, &x->need, -1);
	}
}

static void note_start(struct conservative *c, const struct promise *x)
{
	c->next = x->start < c->next ? x->start : c->next;
	c->has_open |= x->start == ORR_NEVER;
}

/* Makes missing reservations, and renews those that could now be earlier. */
static void plan(struct conservative *c, struct orr_jobs *w)
{
	int64_t now = orr_now(w);
	bool is_compressed = c->is_early || c->is_broken;
	if (is_compressed) {
		rebuild(c, w);
		for (size_t i = 0; i < c->n && !c->is_broken; i++)
			move(c, &c->promise[i], -1);
	}
	bool is_all = is_compressed || c->has_open;
	if (is_all)
		c->next = ORR_NEVER;
	c->has_open = false;
	for (size_t i = is_all ? 0 : c->n_planned; i < c->n; i++) {
		if (c->is_broken)
			c->promise[i].start = ORR_NEVER;
		if (c->promise[i].start == ORR_NEVER || (is_compressed && c->promise[i].start > now))
			promise(c, w, &c->promise[i], now);
		note_start(c, &c->promise[i]);
	}
	c->n_planned = c->n;
	availability_trim(&c->profile, now);
	c->is_early = c->is_broken = false;
}

static bool try_start(struct conservative *c, struct orr_jobs *w, const struct promise *x, uint32_t type)
{
	return c->base.n_types > 1 && type != BACKFILL_NO_TYPE ? orr_try_start_on_type(w, x->job, type) : orr_try_start(w, x->job);
}

/* Starts x at the time of its reservation, on the reserved type, or on another type if it delays no other job. */
static bool start(struct conservative *c, struct orr_jobs *w, struct promise *x)
{
	int64_t now = orr_now(w);
	uint32_t type[BACKFILL_MAX_TYPES], n = types_of(c, w, x, type);
	move(c, x, 1);
	x->start = ORR_NEVER;
	for (uint32_t i = 0; i < n; i++) {
		int64_t span = span_on(c, w, x, type[i]);
		if (availability_find(&c->profile, now, span, type[i], &x->need) != now || !try_start(c, w, x, type[i]))
			continue;
		x->start = now;
		x->end = now + span;
		x->type = type[i];
		move(c, x, -1);
		backfill_started(&c->base, w, x->job);
		return true;
	}
	promise(c, w, x, c->base.n ? c->base.running[0].end : ORR_NEVER);
	return false;
}

/* Starts the jobs whose reservations begin now. */
static void start_due(struct conservative *c, struct orr_jobs *w)
{
	int64_t now = orr_now(w);
	size_t kept = 0;
	c->next = ORR_NEVER;
	for (size_t i = 0; i < c->n; i++) {
		if (c->promise[i].start <= now && start(c, w, &c->promise[i]))
			continue;
		note_start(c, &c->promise[i]);
		if (kept < i)
			c->promise[kept] = c->promise[i];
		kept++;
	}
	c->n = c->n_planned = kept;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct conservative *c = self;
	if (backfill_overruns(&c->base, w) && !c->base.is_kill)
		c->is_broken = true;
	plan(c, w);
	orr_why(w, ORR_WHY_HELD, 0, "reservations of earlier jobs");
	if (c->next <= orr_now(w))
		start_due(c, w);
	backfill_set_timer(&c->base, w);
	if (c->next < c->base.next_timer) {
		c->base.next_timer = c->next;
		orr_timer(w, c->next);
	}
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule, .capacity = capacity
};

ORR_POLICY_JOBS(conservative_backfill,
	"conservative backfilling: every waiting job has a reservation; a job may start early if it delays no reservation", params, ops);

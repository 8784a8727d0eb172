/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "backfill.h"

#include <math.h>
#include <string.h>

void backfill_capacity(void *self, struct orr_jobs *w)
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

void *backfill_new(struct orr_jobs *w, size_t size, const struct orr_args *args)
{
	struct backfill *b = orr_alloc(1, size);
	b->waiting = orr_queue_new(w);
	b->n_types = orr_gpu_types(w);
	b->estimate = strcmp(orr_arg_text(args, "estimate"), "exact") ? ORR_ESTIMATE_LIMIT : ORR_ESTIMATE_EXACT;
	b->factor = orr_arg_real(args, "factor");
	b->is_kill = !strcmp(orr_arg_text(args, "overrun"), "kill");
	b->next_timer = ORR_NEVER;
	backfill_capacity(b, w);
	return b;
}

void backfill_free(void *self)
{
	struct backfill *b = self;
	orr_queue_free(b->waiting);
	orr_free(b->running);
	orr_free(b->shape);
	orr_free(b);
}

/* ---- needs and estimates ---- */

struct backfill_need backfill_need(const struct orr_job_info *i)
{
	return (struct backfill_need){ (int64_t)i->gpus * i->gpu_milli, i->cpu_milli, i->mem_mib };
}

/* Rounds up, like the world's rounding of the true duration. */
static int64_t at_rate(int64_t estimate, double rate)
{
	if (rate == 1 || !(rate > 0))
		return estimate;
	double ns = ceil((double)estimate / rate);
	return ns < (double)BACKFILL_UNLIMITED ? (int64_t)ns : BACKFILL_UNLIMITED;
}

/* Returns the rate at which a job runs on the GPUs that it requests; below 1 for an elastic job whose request is smaller than in the trace.
 */
static double rate_of_request(const struct orr_jobs *w, orr_job j)
{
	double rate = orr_job_goodput(w, j, 1, 1) > 0 ? 1 : orr_job_rate_at(w, j, orr_job_gpus(w, j));
	return rate > 0 ? rate : 1;
}

int64_t backfill_span(const struct backfill *b, struct orr_jobs *w, orr_job j, uint32_t type)
{
	int64_t estimate = orr_job_estimate_run_ns(w, j, b->estimate, b->factor);
	int64_t start = orr_job_estimate_start_ns(w, j, b->estimate, b->factor);
	estimate = estimate < BACKFILL_UNLIMITED ? estimate : BACKFILL_UNLIMITED;
	start = start < estimate ? start : estimate;
	int64_t span = at_rate(estimate - start, rate_of_request(w, j) * (type == BACKFILL_NO_TYPE ? 1 : orr_job_rate_on(w, j, type)));
	return span < BACKFILL_UNLIMITED - start ? span + start : BACKFILL_UNLIMITED;
}

int64_t backfill_longest(const struct backfill *b, struct orr_jobs *w, orr_job j)
{
	int64_t longest = -1;
	for (uint32_t t = 0; t < b->n_types; t++)
		if (orr_job_rate_on(w, j, t) > 0) {
			int64_t span = backfill_span(b, w, j, t);
			longest = span > longest ? span : longest;
		}
	return longest < 0 ? backfill_span(b, w, j, BACKFILL_NO_TYPE) : longest;
}

static struct backfill_shape *shape_of(struct backfill *b, uint32_t shape)
{
	if (shape >= b->n_shapes) {
		size_t n = 2 * (size_t)shape + 16;
		b->shape = orr_realloc(b->shape, n, sizeof *b->shape);
		memset(b->shape + b->n_shapes, 0, (n - b->n_shapes) * sizeof *b->shape);
		b->n_shapes = n;
	}
	return &b->shape[shape];
}

uint64_t backfill_types(struct backfill *b, struct orr_jobs *w, orr_job j, const struct orr_job_info *info)
{
	struct backfill_shape *s = shape_of(b, info->shape);
	if (s->is_known)
		return s->types;
	orr_job *all = orr_alloc(b->n + 1, sizeof *all);
	for (size_t i = 0; i < b->n; i++)
		all[i] = b->running[i].job;
	*s = (struct backfill_shape){ .is_known = true };
	for (uint32_t t = 0; t < b->n_types; t++)
		if (info->gpu_types >> t & 1 && orr_fits_without(w, j, t, all, b->n))
			s->types |= UINT64_C(1) << t;
	orr_free(all);
	return s->types;
}

/* ---- room ---- */

void backfill_room_now(const struct backfill *b, const struct orr_jobs *w, struct backfill_room *room)
{
	for (uint32_t t = 0; t < b->n_types; t++)
		room->gpu_milli[t] = 1000 * (int64_t)orr_total_gpus_of(w, t) - b->used.gpu_milli[t];
	room->cpu_milli = b->cpu_milli - b->used.cpu_milli;
	room->mem_mib = b->mem_mib - b->used.mem_mib;
}

void backfill_move(struct backfill_room *room, uint32_t type, const struct backfill_need *need, int sign)
{
	if (type != BACKFILL_NO_TYPE)
		room->gpu_milli[type] += sign * need->gpu_milli;
	room->cpu_milli += sign * need->cpu_milli;
	room->mem_mib += sign * need->mem_mib;
}

bool backfill_has_room(const struct backfill_room *room, uint32_t type, const struct backfill_need *need)
{
	return (type == BACKFILL_NO_TYPE || room->gpu_milli[type] >= need->gpu_milli) && room->cpu_milli >= need->cpu_milli &&
	       room->mem_mib >= need->mem_mib;
}

/* ---- running jobs ---- */

static void insert(struct backfill *b, const struct backfill_running *x)
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

static void drop(struct backfill *b, size_t i)
{
	b->n--;
	memmove(b->running + i, b->running + i + 1, (b->n - i) * sizeof *b->running);
}

int64_t backfill_started(struct backfill *b, struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return ORR_NEVER;
	struct backfill_running x = {
		.job = j, .type = info.gpu_type, .need = backfill_need(&info), .end = orr_now(w) + backfill_span(b, w, j, info.gpu_type)
	};
	ORR_GROW(b->running, b->n, b->cap);
	insert(b, &x);
	backfill_move(&b->used, x.type, &x.need, 1);
	orr_queue_remove(b->waiting, j);
	return x.end;
}

bool backfill_forget(struct backfill *b, struct orr_jobs *w, orr_job j, int64_t *left)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->running[i].job == j) {
			*left = b->running[i].end - orr_now(w);
			backfill_move(&b->used, b->running[i].type, &b->running[i].need, -1);
			drop(b, i);
			return true;
		}
	return false;
}

bool backfill_overruns(struct backfill *b, struct orr_jobs *w)
{
	const int64_t minute = 60 * ORR_SECOND;
	int64_t now = orr_now(w);
	bool any = false;
	while (b->n && b->running[0].end <= now) {
		struct backfill_running x = b->running[0];
		any = true;
		drop(b, 0);
		if (b->is_kill) {
			backfill_move(&b->used, x.type, &x.need, -1);
			orr_kill(w, x.job);
			continue;
		}
		uint32_t doublings = x.overruns ? x.overruns - 1 : 0;
		x.end += x.overruns ? 15 * minute << (doublings < 24 ? doublings : 24) : minute;
		x.overruns++;
		insert(b, &x);
	}
	return any;
}

void backfill_set_timer(struct backfill *b, struct orr_jobs *w)
{
	int64_t now = orr_now(w);
	if (b->next_timer <= now)
		b->next_timer = ORR_NEVER;
	if (b->n && b->running[0].end < b->next_timer && (b->is_kill || orr_queue_size(b->waiting))) {
		b->next_timer = b->running[0].end;
		orr_timer(w, b->next_timer);
	}
}

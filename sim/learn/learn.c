/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops in flight: found by number, validated at their start, applied at their end. */
#include "learn/state.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

struct learn *learn_new(const struct learn_config *c, struct orr_error *err)
{
	struct problem *p = problem_new(c, err);
	if (!p)
		return NULL;
	struct learn *l = mem_zalloc(1, sizeof *l);
	l->config = *c;
	l->problem = p;
	vec_pool_init(&l->pool, p->dim);
	l->zero = vec_new(&l->pool, p->dim);
	memset(l->zero->v, 0, p->dim * sizeof l->zero->v[0]);
	l->server = vec_new(&l->pool, p->dim);
	problem_start(p, l->server->v);
	l->free_effect = NO_EFFECT;
	l->gcn = p->graph ? gcn_new(l) : NULL;
	l->is_due = true;
	l->next_eval_update = c->eval_updates;
	l->next_eval_sample = c->eval_samples;
	return l;
}

/* ---- the table of flights: open addressing, no tombstones ---- */

static size_t place_of(const struct learn *l, uint64_t op, uint32_t device)
{
	return hash_mix(op * HASH_GOLDEN ^ device) & (l->cap_flights - 1);
}

static bool is_empty(const struct flight *f)
{
	return f->first_effect == NO_EFFECT;
}

/* Returns the flight, or the empty place for it. */
static struct flight *find(const struct learn *l, uint64_t op, uint32_t device)
{
	size_t i = place_of(l, op, device);
	while (!is_empty(&l->flight[i]) && (l->flight[i].op != op || l->flight[i].first_device != device))
		i = (i + 1) & (l->cap_flights - 1);
	return &l->flight[i];
}

static void grow_flights(struct learn *l)
{
	struct flight *old = l->flight;
	size_t n = l->cap_flights;
	l->cap_flights = n ? 2 * n : 64;
	l->flight = mem_zalloc(l->cap_flights, sizeof *l->flight);
	for (size_t i = 0; i < l->cap_flights; i++)
		l->flight[i].first_effect = NO_EFFECT;
	for (size_t i = 0; i < n; i++) {
		if (is_empty(&old[i]))
			mem_free(old[i].group);
		else
			*find(l, old[i].op, old[i].first_device) = old[i];
	}
	mem_free(old);
}

/* Removes a table entry and moves later entries of its probe sequence towards their home slots (Knuth 6.4, algorithm R). */
static void remove_flight(struct learn *l, struct flight *f)
{
	size_t mask = l->cap_flights - 1, hole = (size_t)(f - l->flight), i = hole;
	for (;;) {
		i = (i + 1) & mask;
		struct flight *g = &l->flight[i];
		if (is_empty(g))
			break;
		size_t want = place_of(l, g->op, g->first_device);
		if (((i - want) & mask) < ((i - hole) & mask))
			continue;
		struct flight moved = l->flight[hole]; /* the empty place keeps its memory for reuse */
		l->flight[hole] = *g;
		*g = moved;
		hole = i;
	}
	l->flight[hole].first_effect = NO_EFFECT;
	l->n_flights--;
}

static uint32_t effect_new(struct learn *l)
{
	uint32_t i = l->free_effect;
	if (i != NO_EFFECT) {
		l->free_effect = l->effect[i].next;
		return i;
	}
	MEM_GROW(l->effect, l->n_effects, l->cap_effects);
	return l->n_effects++;
}

static void effect_free(struct learn *l, uint32_t i)
{
	vec_unref(&l->pool, l->effect[i].snapshot);
	l->effect[i].snapshot = NULL;
	l->effect[i].next = l->free_effect;
	l->free_effect = i;
}

void learn_free(struct learn *l)
{
	if (!l)
		return;
	gradients_compute(l);
	for (size_t i = 0; i < l->cap_flights; i++) {
		for (uint32_t e = l->flight[i].first_effect; e != NO_EFFECT; e = l->effect[e].next)
			vec_unref(&l->pool, l->effect[e].snapshot);
		mem_free(l->flight[i].group);
	}
	gcn_free(l, l->gcn);
	for (uint32_t i = 0; i < l->n_replicas; i++)
		replica_free(l, l->replica[i]);
	for (uint32_t i = 0; i < l->n_bases; i++) {
		vec_unref(&l->pool, l->base[i].z);
		vec_unref(&l->pool, l->base[i].previous);
		vec_unref(&l->pool, l->base[i].corrections);
	}
	mem_free(l->base);
	vec_unref(&l->pool, l->zero);
	vec_unref(&l->pool, l->server);
	vec_pool_free(&l->pool);
	for (int i = 0; i < l->n_scratch; i++)
		mem_free(l->scratch[i]);
	void *own[] = { l->replica, l->at_device, l->flight, l->effect, l->task, l->row, l->scratch, l->sources, l->point };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		mem_free(own[i]);
	problem_free(l->problem);
	mem_free(l);
}

/* ---- validation of updates ---- */

static const char *const kind_name[] = {
	[ORR_GRADIENT] = "gradient",
	[ORR_LOCAL_UPDATE] = "local update",
	[ORR_AVERAGE_GRADIENTS] = "average of gradients",
	[ORR_AVERAGE_PARAMETERS] = "average of parameters",
	[ORR_PUSH] = "push",
	[ORR_PULL] = "pull",
	[ORR_ACCUMULATE] = "accumulation",
	[ORR_SEND_SLICE] = "sending of a slice",
	[ORR_APPLY_INBOX] = "update from the inbox",
	[ORR_REMEMBER] = "copy of the parameters",
	[ORR_CORRECT] = "correction",
	[ORR_APPLY_BASE] = "update of the base model",
	[ORR_RESTART] = "restart",
	[ORR_GATHER] = "gather",
	[ORR_APPLY_VERTEX] = "vertex update",
	[ORR_SCATTER] = "scatter",
	[ORR_WEIGHT_GRADIENT] = "gradient of weights",
};

static const char *what_is_wrong(const struct orr_update *u, const uint32_t *group, uint32_t n_group)
{
	enum { MOST_DEVICES = 1 << 24 };
	uint32_t slices = u->slices ? u->slices : 1;
	if (u->slice >= slices)
		return "expected a slice below the number of slices";
	if (u->kind >= ORR_GATHER)
		return NULL;
	if ((u->kind == ORR_GRADIENT || u->kind == ORR_ACCUMULATE) && slices > 1)
		return "does not support slices";
	if (!isfinite(u->scale) || !isfinite(u->momentum))
		return "expected a finite scale and momentum";
	if (u->kind >= ORR_REMEMBER && slices > 1)
		return "does not support slices";
	if (u->learner >= LEARNERS)
		return "expected a learner below 16";
	if (u->learner && u->kind != ORR_GRADIENT && u->kind != ORR_LOCAL_UPDATE && u->kind != ORR_REMEMBER && u->kind != ORR_CORRECT &&
		u->kind != ORR_RESTART)
		return "expected learner 0";
	if (u->kind == ORR_PUSH || u->kind == ORR_PULL)
		return u->worker < MOST_DEVICES ? NULL : "expected the worker's device";
	if (!n_group)
		return "expected an op on at least one device";
	if (u->kind == ORR_GRADIENT && n_group != 1)
		return "expected an op on one device";
	if (u->kind == ORR_SEND_SLICE && n_group != 2)
		return "expected a transfer";
	for (uint32_t i = 0; i < n_group; i++)
		if (group[i] >= MOST_DEVICES)
			return "expected a device number below 2^24";
	return NULL;
}

static int check_update(const struct learn *l, double time_s, uint64_t op, const struct orr_update *u, const uint32_t *group,
	uint32_t n_group, struct orr_error *err)
{
	if ((unsigned)u->kind > ORR_WEIGHT_GRADIENT)
		return orr_fail(err, ORR_EFAIL, "learn: op %llu at %.9f s: update of kind %d: expected a known kind",
			(unsigned long long)op, time_s, (int)u->kind);
	if (l->gcn && u->kind < ORR_GATHER)
		return orr_fail(err, ORR_EINPUT,
			"learn.problem=gcn: the policy reports a %s: expected updates over a graph (policy dorylus)", kind_name[u->kind]);
	if (!l->gcn && u->kind >= ORR_GATHER)
		return orr_fail(err, ORR_EINPUT, "learn.problem: the policy reports a %s over a graph: expected learn.problem=gcn",
			kind_name[u->kind]);
	if (l->gcn && u->chunks > l->config.vertices)
		return orr_fail(err, ORR_EINPUT, "learn.vertices=%u: expected at least one per chunk of the policy: %u", l->config.vertices,
			u->chunks);
	if (l->gcn && u->layer >= GCN_LAYERS)
		return orr_fail(err, ORR_EINPUT, "learn.problem=gcn: the policy reports a task of layer %u: expected a model of two layers",
			u->layer);
	const char *wrong = what_is_wrong(u, group, n_group);
	if (!wrong)
		return 0;
	return orr_fail(err, ORR_EFAIL, "learn: op %llu at %.9f s: %s (device %u, slice %u of %u, scale %g): %s", (unsigned long long)op,
		time_s, kind_name[u->kind], n_group ? group[0] : u->worker, u->slice, u->slices, u->scale, wrong);
}

static int wrong_task(double time_s, uint64_t op, const struct effect *e, const char *wrong, struct orr_error *err)
{
	return orr_fail(err, ORR_EFAIL, "learn: op %llu at %.9f s: %s%s of layer %u, chunk %u of %u, epoch %llu: %s",
		(unsigned long long)op, time_s, e->u.is_backward ? "backward " : "", kind_name[e->u.kind], e->u.layer, e->u.chunk,
		e->u.chunks, (unsigned long long)e->iteration - !!e->iteration, wrong);
}

static int check_time(const struct learn *l, double time_s, uint64_t op, struct orr_error *err)
{
	if (isfinite(time_s) && time_s >= l->now)
		return 0;
	return orr_fail(err, ORR_EFAIL, "learn: op %llu at %.9f s: expected at least %.9f s, the time of the previous op",
		(unsigned long long)op, time_s, l->now);
}

/* ---- the two ends of an op ---- */

static void set_span(const struct learn *l, struct effect *e)
{
	uint64_t d = l->pool.dim, n = e->u.slices;
	e->span.first = (size_t)(d * e->u.slice / n);
	e->span.n = (size_t)(d * (e->u.slice + UINT64_C(1)) / n) - e->span.first;
}

static struct flight *take_off(struct learn *l, uint64_t op, const uint32_t *group, uint32_t n_group)
{
	if (2 * (l->n_flights + 1) > l->cap_flights)
		grow_flights(l);
	struct flight *f = find(l, op, n_group ? group[0] : 0);
	if (!is_empty(f))
		return NULL;
	f->op = op;
	f->first_device = n_group ? group[0] : 0;
	if (n_group > f->cap_group) {
		f->cap_group = n_group;
		f->group = mem_realloc(f->group, n_group, sizeof *f->group);
	}
	if (n_group)
		memcpy(f->group, group, n_group * sizeof *group);
	f->n_group = n_group;
	l->n_flights++;
	return f;
}

int learn_begin(struct learn *l, double time_s, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group, struct orr_error *err)
{
	if (!n_updates)
		return orr_fail(err, ORR_EFAIL, "learn: op %llu at %.9f s has no updates: expected an op with updates",
			(unsigned long long)op, time_s);
	if (check_time(l, time_s, op, err))
		return err->code;
	for (uint32_t i = 0; i < n_updates; i++)
		if (check_update(l, time_s, op, &u[i], group, n_group, err))
			return err->code;
	series_advance(l, time_s);
	struct flight *f = take_off(l, op, group, n_group);
	if (!f)
		return orr_fail(
			err, ORR_EFAIL, "learn: op %llu at %.9f s: started twice: expected one start", (unsigned long long)op, time_s);
	for (uint32_t i = 0, last = NO_EFFECT; i < n_updates; i++) {
		uint32_t k = effect_new(l);
		*(last == NO_EFFECT ? &f->first_effect : &l->effect[last].next) = k;
		last = k;
		struct effect *e = &l->effect[k];
		*e = (struct effect){ .u = u[i], .iteration = op >> 32, .next = NO_EFFECT };
		e->u.scale = e->u.scale != 0 ? e->u.scale : 1;
		e->u.slices = e->u.slices ? e->u.slices : 1;
		set_span(l, e);
		effect_begin(l, e, op, group, n_group);
		if (l->wrong)
			return wrong_task(time_s, op, e, l->wrong, err);
	}
	return 0;
}

bool learn_is_in_flight(const struct learn *l, uint64_t op, uint32_t first_device)
{
	return l->cap_flights && !is_empty(find(l, op, first_device));
}

int learn_end(struct learn *l, double time_s, uint64_t op, uint32_t first_device, struct orr_error *err)
{
	if (check_time(l, time_s, op, err))
		return err->code;
	struct flight *f = learn_is_in_flight(l, op, first_device) ? find(l, op, first_device) : NULL;
	if (!f)
		return orr_fail(err, ORR_EFAIL, "learn: op %llu at %.9f s: ends on device %u: expected a start on this device first",
			(unsigned long long)op, time_s, first_device);
	series_advance(l, time_s);
	for (uint32_t i = f->first_effect; i != NO_EFFECT;) {
		uint32_t next = l->effect[i].next;
		effect_end(l, &l->effect[i], f->group, f->n_group);
		effect_free(l, i);
		i = next;
	}
	remove_flight(l, f);
	return 0;
}

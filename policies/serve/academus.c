/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Academus (student parallelism): a group of shallow students, each trained on the residual of the previous ones, replaces a
 * deep teacher and runs in parallel; under load the last students are removed (Wang et al., arXiv 2408.12526; KDD 2025).
 * Also its baselines: the teacher with static or dynamic padding, and early exit, where a batch runs to its deepest exit.
 *
 * Assumes, as the paper's equations were not available: a group is `gpus` consecutive replicas, and one that leaves is replaced by a
 * replica of an incomplete group; student j runs on replica j mod n of its group, n of which are up; while no group is complete, an
 * incomplete one takes requests; a request completes with its last student. Co-running
 * students slow each other down by serve.interference=occupancy. A batch holds requests of one bucket of `bucket` tokens. Values that the
 * paper does not state are parameters.
 *
 * Residual error of the first m students, as a share of the error without students: floor + (1 - floor) decay^m (boosting:
 * each student removes the same share of the remaining error above the floor). Its mean over requests is the metric
 * `residual`. With serve.quality, student j is sub-learner j, and the mean accuracy of the students that ran is the metric `accuracy`.
 */
#include <orrery/serve.h>

#include "kinds.h"
#include "queues.h"

#include <math.h>
#include <string.h>

enum { MAX_LENGTH = 4096, MAX_BUCKETS = 512, MAX_STUDENTS = 64, MAX_BATCH = 512 };
enum variant { STUDENTS, TEACHER, EARLY_EXIT };

struct group {
	struct orr_fifo *queue; /* by bucket */
	uint32_t active;        /* current number of students */
	uint32_t missing;       /* replicas that are not up, or drain */
	uint32_t present;       /* replicas that are up; they are the first of the group */
	uint32_t model;         /* the only model that its replicas serve; UINT32_MAX: any */
	double crossed_s;       /* time since which the queue has been above the trigger; INFINITY: it is below */
};

struct academus {
	enum variant variant;
	struct group *group;
	uint32_t *order, *at; /* all replicas: order[g x gpus + i] is number i of group g, and at[] is its inverse */
	uint32_t groups, gpus, buckets, bucket;
	uint32_t students, least, batch, longest;
	size_t prune_at, restore_at;
	double prune_delay, floor, decay, exit_mean;
	bool prunes, by_length, pads_all;
	orr_req chosen[MAX_BATCH];
};

static struct group *group_of(struct academus *a, uint32_t replica)
{
	uint32_t g = a->at[replica] / a->gpus;
	return &a->group[g < a->groups ? g : a->groups - 1];
}

static uint32_t member(const struct academus *a, const struct group *g, uint32_t i)
{
	return a->order[(uint32_t)(g - a->group) * a->gpus + i];
}

static bool is_idle(const struct academus *a, const struct orr_serve *w, const struct group *g)
{
	for (uint32_t i = 0; i < g->present; i++)
		if (!orr_replica_is_idle(w, member(a, g, i)))
			return false;
	return g->present > 0;
}

/* ---- the buffer ---- */

static uint32_t bucket_of(const struct academus *a, uint32_t length)
{
	uint32_t b = a->by_length && length ? (length - 1) / a->bucket : 0;
	return b < a->buckets ? b : a->buckets - 1;
}

static size_t waiting(const struct academus *a, const struct group *g)
{
	size_t n = 0;
	for (uint32_t b = 0; b < a->buckets; b++)
		n += g->queue[b].n;
	return n;
}

/* Returns the bucket of the request that has waited longest. */
static uint32_t oldest(const struct academus *a, const struct orr_serve *w, const struct group *g)
{
	uint32_t best = a->buckets;
	for (uint32_t b = 0; b < a->buckets; b++)
		if (g->queue[b].first &&
			(best == a->buckets || orr_req_number(w, g->queue[b].first) < orr_req_number(w, g->queue[best].first)))
			best = b;
	return best;
}

/* Takes the first requests for the model from the bucket of the oldest request; returns their number. */
static uint32_t fill(struct academus *a, struct orr_serve *w, struct group *g, uint32_t model, uint32_t *samples)
{
	uint32_t n = 0, most = orr_model_largest(w, model);
	struct orr_fifo *q = &g->queue[oldest(a, w, g)];
	*samples = 0;
	while (n < a->batch && q->first && orr_req_model(w, q->first) == model && orr_req_samples(w, q->first) <= most - *samples) {
		*samples += orr_req_samples(w, q->first);
		a->chosen[n++] = orr_fifo_pop(w, q);
	}
	return n;
}

/* ---- number of students ---- */

static double residual(const struct academus *a, uint32_t m)
{
	return a->floor + (1 - a->floor) * pow(a->decay, m);
}

/*
 * Halves the students when the queue has been above the trigger for the delay; adds one when the queue is short enough. Called
 * when a batch has been formed: its requests no longer wait.
 */
static void adapt(const struct academus *a, const struct orr_serve *w, struct group *g)
{
	if (!a->prunes)
		return;
	double now = orr_serve_now(w);
	size_t n = waiting(a, g);
	if (n <= a->prune_at)
		g->crossed_s = INFINITY;
	else if (isinf(g->crossed_s))
		g->crossed_s = now;
	if (n > a->prune_at && now - g->crossed_s >= a->prune_delay && g->active > a->least) {
		g->active = g->active / 2 > a->least ? g->active / 2 : a->least;
		g->crossed_s = INFINITY;
	} else if (n <= a->restore_at && g->active < a->students) {
		g->active++;
	}
}

/* ---- running ---- */

/* Returns the deepest exit of the batch, as a share of the model. arrive() has drawn each request's exit. */
static double deepest(const struct academus *a, const struct orr_serve *w, uint32_t n)
{
	double part = 0;
	for (uint32_t i = 0; i < n; i++) {
		double own;
		uint64_t mark = orr_req_mark(w, a->chosen[i]);
		memcpy(&own, &mark, sizeof own);
		part = own > part ? own : part;
	}
	return part;
}

static struct orr_batch batch_of(struct academus *a, struct orr_serve *w, struct group *g, uint32_t n, uint32_t samples)
{
	uint32_t model = orr_req_model(w, a->chosen[0]);
	struct orr_batch b = { .model = model, .req = a->chosen, .n = n };
	if (isnan(orr_model_latency(w, member(a, g, 0), model, samples, a->longest)))
		b.samples = orr_model_batch_for(w, model, samples); /* padded to a size of the table */
	b.length = a->pads_all ? a->longest : 0;
	b.part = a->variant == EARLY_EXIT ? deepest(a, w, n) : 0;
	return b;
}

/* Starts a batch on idle replicas, with as many students as memory allows, at least 1. */
static void start(struct academus *a, struct orr_serve *w, struct group *g)
{
	struct orr_fifo *q = &g->queue[oldest(a, w, g)];
	uint32_t samples, copies = 1;
	uint32_t n = fill(a, w, g, orr_req_model(w, q->first), &samples);
	struct orr_batch b = batch_of(a, w, g, n, samples);
	while (n > 1 && !orr_run_fits(w, member(a, g, 0), &b, 0)) {
		samples -= orr_req_samples(w, a->chosen[--n]);
		orr_fifo_push_front(w, q, a->chosen[n]);
		b = batch_of(a, w, g, n, samples);
	}
	if (!orr_run_fits(w, member(a, g, 0), &b, 0)) { /* the first request alone does not fit */
		orr_refuse_because(w, a->chosen[0], ORR_REQ_REFUSED, "its batch does not fit into memory");
		orr_wake(w, member(a, g, 0));
		return;
	}
	adapt(a, w, g);
	uint32_t most = a->variant == STUDENTS ? g->active : 1;
	orr_run_start(w, member(a, g, 0), &b);
	for (; copies < most && orr_run_fits(w, member(a, g, copies % g->present), &b, 0); copies++)
		orr_run_start(w, member(a, g, copies % g->present), &b);
	double accuracy = orr_serve_quality_members(w) ? orr_serve_quality(w, (UINT64_C(1) << copies) - 1) : NAN;
	for (uint32_t i = 0; i < n && a->variant == STUDENTS; i++) {
		orr_serve_observe(w, "residual", residual(a, copies));
		orr_serve_observe(w, "students", copies);
		if (!isnan(accuracy))
			orr_serve_observe(w, "accuracy", accuracy);
	}
}

/* Returns whether every replica of the group that is up has the model of the oldest request; loads it. */
static bool is_loaded(const struct academus *a, struct orr_serve *w, const struct group *g)
{
	uint32_t model = orr_req_model(w, g->queue[oldest(a, w, g)].first);
	bool is = true;
	for (uint32_t i = 0; i < g->present; i++)
		is &= model_is_ready(w, member(a, g, i), model);
	return is;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct academus *a = self;
	struct group *g = group_of(a, replica);
	if (is_idle(a, w, g) && waiting(a, g) && is_loaded(a, w, g))
		start(a, w, g);
}

static bool serves(const struct orr_serve *w, const struct group *g, orr_req r)
{
	return g->model == UINT32_MAX || g->model == orr_req_model(w, r);
}

/* Returns whether a student of the request alone fits on the first replica of the group. */
static bool holds(const struct academus *a, const struct orr_serve *w, const struct group *g, orr_req r)
{
	uint32_t first = member(a, g, 0);
	struct orr_batch b = smallest_batch(w, first, &r);
	b.length = a->pads_all ? a->longest : 0;
	return fits_if_idle(w, first, &b);
}

/* ---- replicas that join and leave ---- */

static bool is_open(const struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info info;
	return orr_replica_get(w, replica, &info) && info.is_up && !info.is_draining;
}

static bool is_down(const struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info info;
	return !orr_replica_get(w, replica, &info) || !info.is_up;
}

/* Returns whether group x is better for the request than y: complete, with memory for it, fewer requests. */
static bool is_better(const struct academus *a, const struct orr_serve *w, const struct group *x, const struct group *y, orr_req r)
{
	if (!x->missing != !y->missing)
		return !x->missing;
	bool x_holds = holds(a, w, x, r), y_holds = holds(a, w, y, r);
	return x_holds != y_holds ? x_holds : orr_replica_routed(w, member(a, x, 0)) < orr_replica_routed(w, member(a, y, 0));
}

/* Returns the first replica of the best group that serves the model. An incomplete group takes requests only if none is complete. */
static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	const struct academus *a = self;
	const struct group *best = NULL;
	for (uint32_t i = 0; i < a->groups; i++) {
		const struct group *g = &a->group[i];
		if (serves(w, g, r) && is_open(w, member(a, g, 0)) && (!best || is_better(a, w, g, best, r)))
			best = g;
	}
	return best ? member(a, best, 0) : ORR_ANY_REPLICA;
}

static void swap(struct academus *a, uint32_t index, uint32_t k)
{
	uint32_t x = a->order[index], y = a->order[k];
	a->order[index] = y;
	a->order[k] = x;
	a->at[y] = index;
	a->at[x] = k;
}

/* Counts the replicas of the group and orders them: those that take requests, those that drain, those that are down. */
static void count_missing(struct academus *a, const struct orr_serve *w, struct group *g)
{
	uint32_t first = (uint32_t)(g - a->group) * a->gpus, open = 0, present;
	for (uint32_t i = 0; i < a->gpus; i++)
		if (is_open(w, member(a, g, i)))
			swap(a, first + open++, first + i);
	present = open;
	for (uint32_t i = open; i < a->gpus; i++)
		if (!is_down(w, member(a, g, i)))
			swap(a, first + present++, first + i);
	g->missing = a->gpus - open;
	g->present = present;
}

static bool same_model(const struct orr_serve *w, uint32_t x, uint32_t y)
{
	struct orr_replica_info i, k;
	return orr_replica_get(w, x, &i) && orr_replica_get(w, y, &k) && i.model == k.model;
}

/* Replaces a replica of a group by an open one of a later incomplete group, or of none. */
static void replace(struct academus *a, const struct orr_serve *w, uint32_t index)
{
	uint32_t n = orr_replicas(w), old = a->order[index];
	for (uint32_t k = (index / a->gpus + 1) * a->gpus; k < n; k++) {
		uint32_t other = a->order[k];
		bool is_spare = k / a->gpus >= a->groups || a->group[k / a->gpus].missing;
		if (!is_spare || !is_open(w, other) || !same_model(w, old, other))
			continue;
		swap(a, index, k);
		return;
	}
}

/* Moves the requests of a group that cannot run to a complete group. */
static void empty(struct academus *a, struct orr_serve *w, struct group *g)
{
	uint32_t down = 0, to;
	for (uint32_t i = 0; i < a->gpus; i++)
		down += is_down(w, member(a, g, i));
	for (uint32_t b = 0; down && b < a->buckets; b++)
		while (g->queue[b].first && (to = route(a, w, g->queue[b].first)) != ORR_ANY_REPLICA && group_of(a, to) != g) {
			orr_req r = orr_fifo_pop(w, &g->queue[b]);
			orr_assign(w, r, to);
			orr_fifo_push(w, &group_of(a, to)->queue[b], r);
			orr_wake(w, to);
		}
}

static void replica(void *self, struct orr_serve *w, uint32_t number, enum orr_replica_event event)
{
	struct academus *a = self;
	(void)number, (void)event;
	for (uint32_t g = 0; g < a->groups; g++)
		count_missing(a, w, &a->group[g]);
	for (uint32_t i = 0; i < a->groups * a->gpus; i++)
		if (!is_open(w, a->order[i]))
			replace(a, w, i);
	for (uint32_t g = 0; g < a->groups; g++)
		count_missing(a, w, &a->group[g]);
	for (uint32_t g = 0; g < a->groups; g++)
		empty(a, w, &a->group[g]);
	for (uint32_t g = 0; g < a->groups; g++)
		if (a->group[g].present && waiting(a, &a->group[g]))
			orr_wake(w, member(a, &a->group[g], 0));
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct academus *a = self;
	struct group *g = group_of(a, orr_req_replica(w, r));
	if (!serves(w, g, r)) { /* the replica belongs to no group */
		orr_refuse_because(w, r, ORR_REQ_REFUSED, "its replica is in no group");
		return;
	}
	if (a->variant == EARLY_EXIT) {
		double part = -log1p(-orr_serve_uniform(w)) * a->exit_mean;
		uint64_t mark;
		part = part > 1 ? 1 : part < 0.01 ? 0.01 : part;
		memcpy(&mark, &part, sizeof mark);
		orr_req_set_mark(w, r, mark);
	}
	orr_fifo_push(w, &g->queue[bucket_of(a, orr_req_length(w, r))], r);
}

/* ---- the policy ---- */

static void destroy(void *self)
{
	struct academus *a = self;
	for (uint32_t i = 0; a->group && i < a->groups; i++)
		orr_free(a->group[i].queue);
	orr_free(a->group);
	orr_free(a->order);
	orr_free(a->at);
	orr_free(a);
}

static void read_params(struct academus *a, const struct orr_args *args)
{
	const char *variant = orr_arg_text(args, "variant");
	a->variant = !strcmp(variant, "teacher") ? TEACHER : !strcmp(variant, "early-exit") ? EARLY_EXIT : STUDENTS;
	a->gpus = (uint32_t)orr_arg_int(args, "gpus");
	a->students = (uint32_t)orr_arg_int(args, "students");
	a->least = (uint32_t)orr_arg_int(args, "least_students");
	a->batch = (uint32_t)orr_arg_int(args, "max_batch");
	a->longest = (uint32_t)orr_arg_int(args, "longest");
	a->bucket = (uint32_t)orr_arg_int(args, "bucket");
	a->prunes = orr_arg_bool(args, "prune");
	a->prune_at = (size_t)orr_arg_int(args, "prune_trigger");
	a->restore_at = (size_t)orr_arg_int(args, "restore_trigger");
	a->prune_delay = (double)orr_arg_time_ns(args, "prune_delay") / 1e9;
	a->by_length = !strcmp(orr_arg_text(args, "buffer"), "length");
	a->pads_all = !strcmp(orr_arg_text(args, "padding"), "longest");
	a->floor = orr_arg_real(args, "residual_floor");
	a->decay = orr_arg_real(args, "residual_decay");
	a->exit_mean = orr_arg_real(args, "exit_mean");
	a->buckets = a->by_length ? (a->longest + a->bucket - 1) / a->bucket : 1;
	a->buckets = a->buckets < MAX_BUCKETS ? a->buckets : MAX_BUCKETS; /* the last bucket takes all longer requests */
}

/* Sets the model of the group. Returns false if its replicas serve different models. */
static bool settle_model(struct academus *a, const struct orr_serve *w, struct group *g, struct orr_error *err)
{
	struct orr_replica_info info;
	uint32_t first = member(a, g, 0);
	for (uint32_t i = 0; i < a->gpus && orr_replica_get(w, first + i, &info); i++) {
		if (i && info.model != g->model) {
			orr_fail(err, ORR_EINPUT, "gpus: replicas %u and %u are in one group: expected replicas of the same model", first,
				first + i);
			return false;
		}
		g->model = info.model;
	}
	return true;
}

static bool check(const struct academus *a, const struct orr_serve *w, struct orr_error *err)
{
	uint32_t members = orr_serve_quality_members(w);
	uint32_t open = 0;
	for (uint32_t i = 0; i < orr_replicas(w); i++)
		open += is_open(w, i);
	if (!a->groups || open < a->gpus)
		orr_fail(err, ORR_EINPUT, "gpus: expected at least %u replicas at the start, the size of a group, found %u", a->gpus, open);
	else if (a->least > a->students)
		orr_fail(err, ORR_EINPUT, "least_students: expected at most students (%u)", a->students);
	else if (members && a->variant == STUDENTS && a->students > members)
		orr_fail(err, ORR_EINPUT, "students: expected at most %u, the sub-learners of serve.quality, found %u", members,
			a->students);
	else
		return true;
	return false;
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct academus *a = orr_alloc(1, sizeof *a);
	read_params(a, args);
	a->groups = orr_replicas(w) / a->gpus;
	if (!check(a, w, err)) {
		destroy(a);
		return NULL;
	}
	uint32_t n = orr_replicas(w);
	a->group = orr_alloc(a->groups, sizeof *a->group);
	a->order = orr_alloc(n, sizeof *a->order);
	a->at = orr_alloc(n, sizeof *a->at);
	for (uint32_t i = 0; i < n; i++)
		a->order[i] = a->at[i] = i;
	bool is_one = true;
	for (uint32_t i = 0; i < a->groups && is_one; i++) {
		a->group[i].queue = orr_alloc(a->buckets, sizeof *a->group[i].queue);
		a->group[i].active = a->students;
		a->group[i].crossed_s = INFINITY;
		count_missing(a, w, &a->group[i]);
		is_one = settle_model(a, w, &a->group[i], err);
	}
	if (is_one)
		return a;
	destroy(a);
	return NULL;
}

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("variant", "students", "students|teacher|early-exit",
		"a batch runs on a group of students, the whole model, or the model up to its deepest exit"),
	ORR_PARAM_INT("students", "8", 1, MAX_STUDENTS, "number of students per group"),
	ORR_PARAM_INT("least_students", "1", 1, MAX_STUDENTS, "minimum number of students under load"),
	ORR_PARAM_INT("gpus", "1", 1, 1024, "number of replicas per group"),
	ORR_PARAM_INT("max_batch", "8", 1, MAX_BATCH, "largest number of requests in a batch"),
	ORR_PARAM_CHOICE("buffer", "length", "length|fifo", "form batches of requests of similar length, or in order of arrival"),
	ORR_PARAM_INT("bucket", "1", 1, MAX_LENGTH, "with buffer=length: range of lengths in a batch, in tokens"),
	ORR_PARAM_CHOICE("padding", "batch", "batch|longest", "pad to the longest request of the batch, or to `longest`"),
	ORR_PARAM_INT("longest", "128", 1, MAX_LENGTH, "longest input, in tokens"),
	ORR_PARAM_BOOL("prune", true, "remove students while many requests wait"),
	ORR_PARAM_INT("prune_trigger", "8", 0, 1e9, "waiting requests above which the number of students is halved"),
	ORR_PARAM_INT("restore_trigger", "0", 0, 1e9, "waiting requests up to which each batch adds a student"),
	ORR_PARAM_TIME("prune_delay", "0", "time above prune_trigger before the number of students is halved"),
	ORR_PARAM_REAL(
		"residual_floor", "0.1", 0, 1, "residual error in the limit of many students, as a share of the error without students"),
	ORR_PARAM_REAL("residual_decay", "0.5", 0, 1, "factor by which each student multiplies the error above the floor"),
	ORR_PARAM_REAL("exit_mean", "0.5", 0.01, 100,
		"early exit: mean of the exponential exit depth, as a share of the model, before clamping at 1"),
	ORR_PARAM_END
};

static const struct orr_serve_ops ops = {
	.create = create,
	.destroy = destroy,
	.route = route,
	.arrive = arrive,
	.schedule = schedule,
	.replica = replica,
};

ORR_POLICY_SERVE_FLAGS(
	academus, "groups of shallow students in parallel, fewer students under load (student parallelism)", ORR_DRAWS, params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A market for one pool of GPUs on lent nodes: elastic jobs bid, and each GPU is given to the highest bid.
 *
 * At each change (a job arrives or ends; a node joins, leaves, is given notice or changes its price) all GPUs on nodes without
 * notice are allocated again. A job's bids are the slopes of the concave hull of its speed-up from 0 GPUs on, so a bid is the
 * gain per additional GPU:
 *
 *   gain=work   weight x asked x (rate' - rate) / (GPUs' - GPUs), in GPU-hours per hour at the requested size
 *   gain=speed  weight x (rate' - rate) / (GPUs' - GPUs), a gain in speed, regardless of the job's requested size
 *
 * The highest bid goes first (ties: running jobs, then order of arrival). If steps fit exactly, the sum of the gains is
 * maximal: marginal allocation of separable concave functions is optimal (Fox, "Discrete optimization via marginal analysis",
 * Management Science 13 (3), 1966). With bid=USD a GPU is bought only while bid x gain is at least its price per hour; other
 * jobs wait, or shrink, until it is cheaper. The bid of a running job for the GPUs that it holds is higher by the share `keep`.
 *
 * loss=TIME is the time that a job loses on average when one of its nodes leaves. A rate on g GPUs then counts as
 * rate x max(0, 1 - h g loss), where h is the number of GPUs lost so far per GPU-second. A larger gang loses nodes more
 * often, so jobs stay smaller if many nodes are removed with little notice (the idea of Parcae's liveput: Duan et al.,
 * NSDI 2024).
 *
 * Jobs then stop or shrink, jobs on nodes given notice move to others (notice=true), and the rest start and grow. A job grows
 * only `interval` after its last start, because growing is a stop and a start. GPUs are counted by type: a running job grows on its type,
 * and a waiting job gets GPUs of the first type in its order that has enough. Only whole GPUs are used.
 *
 * Cost of a call: O((running + starting jobs) log) + O(GPUs of the cluster) for each elastic job that is considered first.
 */
#include <orrery/jobs.h>

#include <math.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_REAL("bid", "0", 0, 1e6,
						   "maximum USD per hour that a job pays for a gain of 1; 0: any price"),
	ORR_PARAM_CHOICE("gain", "work", "work|speed", "gain of an additional GPU"),
	ORR_PARAM_CHOICE("weight", "none", "none|priority", "factor on a job's bids: none, or the trace's priority if above 0"),
	ORR_PARAM_REAL("keep", "0.1", 0, 1000, "relative increase of a job's bid for GPUs that it holds"),
	ORR_PARAM_TIME("loss", "0", "expected loss of a job when one of its GPUs is removed; 0: not counted"),
	ORR_PARAM_TIME("interval", "10m", "time from a job's start until it may grow"),
	ORR_PARAM_BOOL("notice", true, "jobs leave a node when it is given notice; false: when it is removed"), ORR_PARAM_END };

enum { MOST_TYPES = 64 };
enum { MOST_MISSES = 1000 }; /* limit on waiting jobs skipped in one call */

struct size {
	uint32_t gpus;
	double rate;
};

/* A job that runs or will start in this call. */
struct member {
	orr_job job;
	bool is_running;
	uint32_t held, target; /* GPUs */
	uint32_t type;         /* GPU type, if it runs or its target is above 0 */
	double worth;          /* work per second at rate 1 */
	int64_t started;
	struct size *size; /* ascending */
	uint32_t n_sizes;
};

/* The next bid of a member, for the GPUs up to `gpus`. */
struct offer {
	double gain; /* per GPU */
	size_t member;
	uint32_t gpus;
};

struct market {
	struct orr_queue *waiting; /* waiting jobs by first bid, highest first */
	struct member *member;
	size_t n, cap;
	struct offer *heap; /* heap with the greatest gain on top; ties: lowest member */
	size_t n_offers, cap_offers;
	struct size *scratch;
	uint32_t n_types, *free; /* by type: GPUs that are not sold yet */
	uint32_t most;           /* number of GPUs of the cluster with all nodes present */
	double bid, keep;
	bool by_work, by_priority, minds_notice;
	int64_t interval;
	double loss_s;
	/* GPUs lost and GPU-seconds offered up to the time `seen_ns`, at which `seen` GPUs were present. */
	double gone, gpu_s;
	uint32_t seen;
	int64_t seen_ns;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct market *m = orr_alloc(1, sizeof *m);
	struct orr_node_info node;
	(void)err;
	for (uint32_t i = 0; orr_node_get(w, i, &node); i++)
		m->most += node.gpus;
	m->scratch = orr_alloc(m->most + 1, sizeof *m->scratch);
	m->waiting = orr_queue_new(w);
	m->n_types = orr_gpu_types(w);
	m->free = orr_alloc(m->n_types + 1u, sizeof *m->free);
	m->bid = orr_arg_real(args, "bid");
	m->keep = orr_arg_real(args, "keep");
	m->by_work = !strcmp(orr_arg_text(args, "gain"), "work");
	m->by_priority = !strcmp(orr_arg_text(args, "weight"), "priority");
	m->minds_notice = orr_arg_bool(args, "notice");
	m->interval = orr_arg_time_ns(args, "interval");
	m->loss_s = (double)orr_arg_time_ns(args, "loss") / 1e9;
	return m;
}

static void destroy(void *self)
{
	struct market *m = self;
	for (size_t i = 0; i < m->n; i++)
		orr_free(m->member[i].size);
	orr_free(m->member);
	orr_free(m->heap);
	orr_free(m->scratch);
	orr_free(m->free);
	orr_queue_free(m->waiting);
	orr_free(m);
}

/* ---- bids ---- */

/* Writes the sizes that the job offers to m->scratch and returns their number, at least 1. */
static uint32_t list_sizes(struct market *m, struct orr_jobs *w, const struct orr_job_info *info, orr_job j)
{
	uint32_t n = 0;
	for (uint32_t g = 1; info->is_elastic && g <= m->most; g++)
		if (orr_job_rate_at(w, j, g) > 0)
			m->scratch[n++] = (struct size){ g, orr_job_rate_at(w, j, g) };
	if (!n)
		m->scratch[n++] = (struct size){ info->gpus, 1 };
	return n;
}

static double worth_of(const struct market *m, const struct orr_job_info *info)
{
	double weight = m->by_priority && info->priority > 0 ? info->priority : 1;
	return m->by_work ? weight * info->gpus : weight;
}

static void watch_capacity(struct market *m, const struct orr_jobs *w)
{
	uint32_t there = orr_total_gpus(w);
	m->gpu_s += m->seen * ((double)(orr_now(w) - m->seen_ns) / 1e9);
	m->gone += there < m->seen ? m->seen - there : 0;
	m->seen = there;
	m->seen_ns = orr_now(w);
}

/* Returns the rate minus expected losses. */
static double kept_rate(const struct market *m, const struct size *s)
{
	double lost = m->gpu_s > 0 ? m->gone / m->gpu_s * s->gpus * m->loss_s : 0;
	return lost < 1 ? s->rate * (1 - lost) : 0;
}

/* Returns the best gain per GPU among sizes above `from` and up to `to` GPUs (ties: the largest size); 0: none. */
static double best_gain(
	const struct market *m, const struct size *size, uint32_t n, double worth, uint32_t from, uint32_t to, uint32_t *gpus)
{
	double best = 0, rate = 0;
	for (uint32_t i = 0; i < n && size[i].gpus <= to; i++) {
		if (size[i].gpus <= from) {
			rate = size[i].gpus == from ? kept_rate(m, &size[i]) : rate;
			continue;
		}
		double gain = worth * (kept_rate(m, &size[i]) - rate) / (size[i].gpus - from);
		if (gain > 0 && gain >= best) {
			best = gain;
			*gpus = size[i].gpus;
		}
	}
	return best;
}

/* Returns the key of a gain in the queue: whole numbers, highest gain first. */
static int64_t key_of(double gain)
{
	double v = gain * 1e9;
	return v < 9e18 ? -llrint(v) : -INT64_C(9000000000000000000);
}

static void enqueue(struct market *m, struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	uint32_t gpus;
	if (!orr_job_get(w, j, &info))
		return;
	uint32_t n = list_sizes(m, w, &info, j);
	double first = info.gpus ? best_gain(m, m->scratch, n, worth_of(m, &info), 0, UINT32_MAX, &gpus) : 9e9;
	orr_queue_add(m->waiting, j, key_of(first), (int64_t)info.number);
}

static void drop(struct market *m, size_t i)
{
	orr_free(m->member[i].size);
	m->n--;
	memmove(m->member + i, m->member + i + 1, (m->n - i) * sizeof *m->member);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	enqueue(self, w, j);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct market *m = self;
	(void)w, (void)how;
	orr_queue_remove(m->waiting, j);
	for (size_t i = 0; i < m->n; i++)
		if (m->member[i].job == j) {
			drop(m, i);
			return;
		}
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	finish(self, w, j, ORR_END_NODE_FAILED);
	enqueue(self, w, j);
}

/* ---- allocation ---- */

static bool is_before(const struct offer *a, const struct offer *b)
{
	return a->gain > b->gain || (a->gain == b->gain && a->member < b->member);
}

static void push(struct market *m, const struct offer *o)
{
	ORR_GROW(m->heap, m->n_offers, m->cap_offers);
	size_t i = m->n_offers++;
	for (; i && is_before(o, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
		m->heap[i] = m->heap[(i - 1) / 2];
	m->heap[i] = *o;
}

static struct offer pop(struct market *m)
{
	struct offer top = m->heap[0], last = m->heap[--m->n_offers];
	size_t i = 0;
	for (size_t k; (k = 2 * i + 1) < m->n_offers; i = k) {
		k += k + 1 < m->n_offers && is_before(&m->heap[k + 1], &m->heap[k]);
		if (!is_before(&m->heap[k], &last))
			break;
		m->heap[i] = m->heap[k];
	}
	m->heap[i] = last;
	return top;
}

/* Sets the member's bid for its next GPUs, at most `room` more. Returns false if there is none. */
static bool next_offer(const struct market *m, size_t i, uint32_t room, struct offer *out)
{
	const struct member *x = &m->member[i];
	uint64_t to = (uint64_t)x->target + room;
	*out = (struct offer){ .member = i };
	out->gain = best_gain(m, x->size, x->n_sizes, x->worth, x->target, to < UINT32_MAX ? (uint32_t)to : UINT32_MAX, &out->gpus);
	if (x->is_running && out->gpus <= x->held)
		out->gain *= 1 + m->keep;
	return out->gain > 0;
}

/* Makes a waiting job a member without GPUs. */
static bool admit(struct market *m, struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return false;
	uint32_t n = list_sizes(m, w, &info, j);
	struct size *sizes = orr_alloc(n, sizeof *sizes);
	ORR_GROW(m->member, m->n, m->cap);
	memcpy(sizes, m->scratch, n * sizeof *sizes);
	m->member[m->n++] = (struct member){ .job = j, .worth = worth_of(m, &info), .size = sizes, .n_sizes = n };
	return true;
}

/* Sets the type of a member that has none yet to the first in its order with that many GPUs left, else to the one with most. Returns how
 * many are left on the member's type. */
static uint32_t left_on_type(const struct market *m, const struct orr_jobs *w, struct member *x, uint32_t gpus)
{
	uint32_t order[MOST_TYPES], n;
	struct orr_job_info info;
	if (x->is_running || x->target)
		return m->free[x->type];
	if (!orr_job_get(w, x->job, &info) || !info.gpu_types)
		return 0;
	n = orr_job_type_order(w, x->job, order, MOST_TYPES);
	x->type = UINT32_MAX;
	for (uint32_t i = 0; i < n && (x->type == UINT32_MAX || m->free[x->type] < gpus); i++)
		if (info.gpu_types >> order[i] & 1 && (x->type == UINT32_MAX || m->free[order[i]] > m->free[x->type]))
			x->type = order[i];
	return x->type == UINT32_MAX ? 0 : m->free[x->type];
}

/* Allocates free GPUs to the member's offer, or to a smaller one; returns false if it got none. free_gpus: all that are left. */
static bool serve(struct market *m, const struct orr_jobs *w, struct offer o, double least, uint32_t *free_gpus)
{
	struct member *x = &m->member[o.member];
	struct offer next;
	uint32_t left = left_on_type(m, w, x, o.gpus - x->target);
	left = left < *free_gpus ? left : *free_gpus;
	if (o.gpus - x->target > left && (!next_offer(m, o.member, left, &o) || o.gain < least))
		return false;
	*free_gpus -= o.gpus - x->target;
	m->free[x->type] -= o.gpus - x->target;
	x->target = o.gpus;
	if (next_offer(m, o.member, UINT32_MAX, &next) && next.gain >= least)
		push(m, &next);
	return true;
}

/* Returns the gain below which a GPU is not worth its price. */
static double least_gain(const struct market *m, const struct orr_jobs *w)
{
	double usd = 0, gpus = 0;
	for (uint32_t t = 0; m->bid > 0 && t < orr_gpu_types(w); t++) {
		double price = orr_gpu_usd_per_hour(w, t), n = orr_total_gpus_of(w, t);
		usd += isnan(price) ? 0 : price * n;
		gpus += n;
	}
	return gpus > 0 && m->bid > 0 ? usd / gpus / m->bid : 0;
}

/* Counts the GPUs of each type that are for sale: those of nodes that are up and not given notice, and those that jobs keep despite a
 * notice. */
static void count_free(struct market *m, struct orr_jobs *w)
{
	struct orr_node_info node;
	struct orr_job_info info;
	for (uint32_t t = 0; t < m->n_types; t++)
		m->free[t] = orr_total_gpus_of(w, t);
	for (uint32_t i = 0; orr_going_gpus(w) && orr_node_get(w, i, &node); i++)
		if (node.is_up && node.gpus && orr_node_goes_ns(w, i) != ORR_NEVER)
			m->free[node.gpu_type] -= node.gpus < m->free[node.gpu_type] ? node.gpus : m->free[node.gpu_type];
	for (size_t i = 0; i < m->n; i++) {
		struct member *x = &m->member[i];
		if (!orr_job_get(w, x->job, &info) || !info.gpus_held)
			continue;
		x->type = info.gpu_type;
		m->free[x->type] += m->minds_notice ? 0 : orr_job_going_gpus(w, x->job);
	}
}

static void sell(struct market *m, struct orr_jobs *w, uint32_t free_gpus)
{
	double least = least_gain(m, w);
	uint32_t misses = 0;
	struct orr_walk walk;
	struct offer o;
	m->n_offers = 0;
	count_free(m, w);
	for (size_t i = 0; i < m->n; i++) {
		m->member[i].target = 0;
		if (next_offer(m, i, UINT32_MAX, &o) && o.gain >= least)
			push(m, &o);
	}
	orr_walk_begin(m->waiting, &walk);
	while (free_gpus && misses < MOST_MISSES) {
		orr_job j = orr_walk_peek(&walk);
		bool is_new = j && (!m->n_offers || orr_queue_key(m->waiting, j) < key_of(m->heap[0].gain));
		if (!is_new && !m->n_offers)
			break;
		if (!is_new) {
			serve(m, w, pop(m), least, &free_gpus);
			continue;
		}
		if (!admit(m, w, orr_walk_next(&walk)))
			break;
		if (!next_offer(m, m->n - 1, UINT32_MAX, &o) || o.gain < least || !serve(m, w, o, least, &free_gpus)) {
			if (m->member[m->n - 1].n_sizes == 1)
				orr_walk_skip_shape(&walk);
			drop(m, m->n - 1);
			misses++;
		}
	}
	orr_walk_end(&walk);
}

/* ---- stops, resizes and starts ---- */

static void put_off(struct market *m, struct orr_jobs *w, struct member *x)
{
	orr_stop(w, x->job);
	enqueue(m, w, x->job);
	x->is_running = false;
	x->held = x->target = 0;
}

static void restart(struct market *m, struct orr_jobs *w, struct member *x)
{
	orr_stop(w, x->job);
	if (orr_try_start_sized(w, x->job, x->target)) {
		x->held = x->target;
		x->started = orr_now(w);
		return;
	}
	enqueue(m, w, x->job);
	x->is_running = false;
	x->held = 0;
}

static void shrink(struct market *m, struct orr_jobs *w)
{
	for (size_t i = 0; i < m->n; i++) {
		struct member *x = &m->member[i];
		if (!x->is_running)
			continue;
		bool must_move = m->minds_notice && orr_job_going_gpus(w, x->job);
		if (!x->target)
			put_off(m, w, x);
		else if (x->target < x->held && !must_move && orr_resize(w, x->job, x->target)) {
			x->held = x->target;
			x->started = orr_now(w);
		}
	}
	for (size_t i = 0; m->minds_notice && orr_going_gpus(w) && i < m->n; i++) {
		struct member *x = &m->member[i];
		if (x->is_running && orr_job_going_gpus(w, x->job)) {
			x->target = x->target < x->held ? x->target : x->held;
			restart(m, w, x);
		}
	}
}

static void begin(struct market *m, struct orr_jobs *w, struct member *x)
{
	uint32_t least = x->size[0].gpus;
	bool is_request = x->target == orr_job_gpus(w, x->job);
	if (!(is_request && orr_try_start_on_type(w, x->job, x->type)) && !orr_try_start_sized(w, x->job, x->target) &&
		!(least < x->target && orr_try_start_sized(w, x->job, x->target = least)))
		return;
	orr_queue_remove(m->waiting, x->job);
	x->is_running = true;
	x->held = x->target;
	x->started = orr_now(w);
}

static void enlarge(struct market *m, struct orr_jobs *w, struct member *x, int64_t *soonest)
{
	int64_t from = x->started + m->interval;
	if (orr_now(w) < from) {
		*soonest = from < *soonest ? from : *soonest;
	} else if (orr_resize(w, x->job, x->target)) {
		x->held = x->target;
		x->started = orr_now(w);
	}
}

static void start_and_grow(struct market *m, struct orr_jobs *w)
{
	int64_t soonest = ORR_NEVER;
	size_t kept = 0;
	for (size_t i = 0; i < m->n; i++) {
		struct member *x = &m->member[i];
		if (!x->is_running && x->target)
			begin(m, w, x);
	}
	for (size_t i = 0; i < m->n; i++) {
		struct member x = m->member[i];
		if (!x.is_running) {
			orr_free(x.size);
			continue;
		}
		if (x.target > x.held)
			enlarge(m, w, &x, &soonest);
		m->member[kept++] = x;
	}
	m->n = kept;
	if (soonest != ORR_NEVER)
		orr_timer(w, soonest);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct market *m = self;
	uint32_t there = orr_total_gpus(w) - orr_going_gpus(w);
	watch_capacity(m, w);
	for (orr_job j; (j = orr_queue_first(m->waiting)) && !orr_job_gpus(w, j) && orr_try_start(w, j);)
		orr_queue_remove(m->waiting, j);
	for (size_t i = 0; !m->minds_notice && i < m->n; i++)
		there += orr_job_going_gpus(w, m->member[i].job);
	sell(m, w, there);
	shrink(m, w);
	start_and_grow(m, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(spot_market, "elastic jobs bid for GPUs on lent nodes: each GPU is allocated to the highest bid that covers its price",
	params, ops);

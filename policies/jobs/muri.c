/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Muri (Zhao, Liu, Peng, Zhang, Liu, Jin: "Multi-Resource Interleaving for Deep Learning Training", SIGCOMM 2022): up to four jobs whose
 * stages use different resources (storage, GPU, network) share the same GPUs, so that the cluster holds more jobs. Muri-S: remaining times
 * are known.
 *
 * 1. Jobs in ascending order of remaining time x GPUs (`order`; ties: order of submission) are offered GPUs, each together with the next
 * jobs of its size as if they were one group of `pack` jobs; the jobs of these groups are the candidates. GPUs are counted by type: a group
 * is on one type.
 * 2. If the candidates of a type request more GPUs than it has, groups of equal size are merged by matchings of the greatest total weight,
 * up to four times, the largest sizes first. The weight is the use of the resources: sum of all stages / (4 x period).
 * 3. Groups slower than their members one after the other are dissolved.
 * 4. Groups start by size, the largest first; with rules=own, in the order of their first members.
 *
 * rules=own: decisions in rounds (`round`); groups that stay keep their GPUs; GPUs that are left go to other waiting jobs, in order.
 * rules=muri: as in the published simulator (Rivendile/Muri 4e69a78) every arrival and end is a decision, and every decision charges each
 * running job an overhead by model and GPUs before it makes progress. Its faulty matching is not restated: matching is exact here.
 * `groups` replays groups of a file. docs/models/jobs-packing.md.
 */
#include "muri.h"
#include "time_left.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("rules", "own", "own|muri", "muri: the rules of the published simulator"),
	ORR_PARAM_TIME("round", "360s", "rules=own: time between decisions"),
	ORR_PARAM_CHOICE(
		"order", "gpu-time", "gpu-time|time", "order of jobs: least remaining GPU time first, or least remaining time first"),
	ORR_PARAM_INT("pack", "4", 1, MURI_MOST, "largest number of jobs on the same GPUs"),
	ORR_PARAM_INT("window", "128", 2, 2048, "largest number of groups in one matching; groups are taken in order of remaining time"),
	ORR_PARAM_FILE("groups", "rules=muri: CSV file with columns event, time_s, job and group, to be replayed"), ORR_PARAM_END };

struct muri {
	bool is_published, is_by_time;
	uint32_t pack, window;
	struct orr_round *round;
	struct muri_rows *rows; /* NULL: no replay */
	struct muri_job *job;   /* in order of arrival */
	size_t n, cap;
	struct muri_job **order;
	size_t cap_order;
	uint32_t n_types;
	uint32_t *left, *idle; /* by type: GPUs not yet offered in this decision; those of them that no job uses now */
	uint32_t all;          /* GPUs of all types not yet offered: less than their sum if a quota of several types has less */
	struct muri_list list;
	int64_t last_ns; /* rules=muri: the last decision */
};

static void destroy(void *self)
{
	struct muri *m = self;
	orr_round_free(m->round);
	muri_rows_free(m->rows);
	orr_free(m->job);
	orr_free(m->order);
	orr_free(m->left);
	orr_free(m->idle);
	orr_free(m->list.v);
	orr_free(m);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct muri *m = orr_alloc(1, sizeof *m);
	m->is_published = !strcmp(orr_arg_text(args, "rules"), "muri");
	m->is_by_time = !strcmp(orr_arg_text(args, "order"), "time");
	m->pack = (uint32_t)orr_arg_int(args, "pack");
	m->window = (uint32_t)orr_arg_int(args, "window");
	m->n_types = orr_gpu_types(w);
	m->left = orr_alloc(m->n_types + 1u, sizeof *m->left);
	m->idle = orr_alloc(m->n_types + 1u, sizeof *m->idle);
	m->round = orr_round_new(w, m->is_published ? 0 : orr_arg_time_ns(args, "round"));
	bool is_replay = *orr_arg_text(args, "groups");
	if (is_replay && !m->is_published)
		orr_fail(err, ORR_EINPUT, "groups: expected rules=muri too");
	if (is_replay && m->is_published)
		m->rows = muri_rows_read(args, err);
	if (is_replay && !m->rows) {
		destroy(m);
		return NULL;
	}
	return m;
}

static struct muri_job *find(struct muri *m, orr_job j)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->job[i].job == j)
			return &m->job[i];
	return NULL;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct muri *m = self;
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info))
		return;
	ORR_GROW(m->job, m->n, m->cap);
	m->job[m->n++] = (struct muri_job){ .job = j,
		.number = info.number,
		.gpus = info.gpus,
		.gpu_types = info.gpu_types,
		.gpu_type = info.gpu_types ? (uint32_t)__builtin_ctzll(info.gpu_types) : 0,
		.alone_s = orr_interleaved_iteration_s(w, &j, 1) };
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct muri *m = self;
	struct muri_job *x = find(m, j);
	(void)w, (void)how;
	if (!x)
		return;
	m->n--;
	memmove(x, x + 1, (size_t)(m->job + m->n - x) * sizeof *x);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct muri_job *x = find(self, j);
	(void)w;
	if (x)
		x->is_running = false;
}

/* ---- decisions ---- */

static int shortest_first(const void *a, const void *b)
{
	const struct muri_job *x = *(struct muri_job *const *)a, *y = *(struct muri_job *const *)b;
	if (x->left_gpu_s != y->left_gpu_s)
		return x->left_gpu_s < y->left_gpu_s ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void sort_jobs(struct muri *m, struct orr_jobs *w)
{
	if (m->n > m->cap_order) {
		m->cap_order = m->cap;
		m->order = orr_realloc(m->order, m->cap_order, sizeof *m->order);
	}
	for (size_t i = 0; i < m->n; i++) {
		m->job[i].left_gpu_s = time_left_s(w, m->job[i].job) * (m->is_by_time ? 1 : m->job[i].gpus);
		m->job[i].is_candidate = false;
		m->order[i] = &m->job[i];
	}
	if (m->n)
		qsort(m->order, m->n, sizeof *m->order, shortest_first);
}

static void list_add(struct muri_list *list, struct muri_job *x)
{
	ORR_GROW(list->v, list->n, list->cap);
	list->v[list->n++] = (struct muri_group){ .member = { x }, .n = 1, .gpus = x->gpus, .type = x->gpus ? x->gpu_type : ORR_ANY_TYPE };
}

/* ---- GPUs by type ---- */

static void offer_all(struct muri *m, struct orr_jobs *w)
{
	m->all = orr_total_gpus(w);
	for (uint32_t t = 0; t < m->n_types; t++) {
		m->left[t] = orr_total_gpus_of(w, t);
		m->idle[t] = orr_free_gpus_of(w, t);
	}
}

/* Returns the GPU type that a job runs on; ORR_ANY_TYPE: it waits. */
static uint32_t type_held(const struct orr_jobs *w, const struct muri_job *x)
{
	struct orr_job_info info;
	return orr_job_get(w, x->job, &info) && info.gpus_held ? info.gpu_type : ORR_ANY_TYPE;
}

/* Takes GPUs for a job: of the type that it runs on, else of the first type in its order with GPUs that no job uses, else of the first with
 * GPUs. Sets its type. Returns false if no type has enough. */
static bool take(struct muri *m, struct orr_jobs *w, struct muri_job *x)
{
	uint32_t order[64], n = orr_job_type_order(w, x->job, order, 64), held = type_held(w, x), found = ORR_ANY_TYPE;
	if (!x->gpus)
		return true;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t t = order[i];
		if (!(x->gpu_types >> t & 1) || m->left[t] < x->gpus || m->all < x->gpus)
			continue;
		if (t == held || found == ORR_ANY_TYPE || (found != held && m->idle[t] >= x->gpus && m->idle[found] < x->gpus))
			found = t;
	}
	if (found == ORR_ANY_TYPE)
		return false;
	x->gpu_type = found;
	m->left[found] -= x->gpus;
	m->all -= x->gpus;
	if (found != held)
		m->idle[found] -= m->idle[found] < x->gpus ? m->idle[found] : x->gpus;
	return true;
}

/* Marks x, to which GPUs have been offered, and the next jobs of its size that may join it: those that wait or run on its type. */
static void mark_group(struct muri *m, const struct orr_jobs *w, size_t first)
{
	const struct muri_job *x = m->order[first];
	uint32_t marked = 0;
	for (size_t k = first; k < m->n && marked < m->pack; k++) {
		struct muri_job *y = m->order[k];
		if (y->is_candidate || y->gpus != x->gpus)
			continue;
		uint32_t held = k == first || !y->gpus ? ORR_ANY_TYPE : type_held(w, y);
		if (y->gpus && (!(y->gpu_types >> x->gpu_type & 1) || (held != ORR_ANY_TYPE && held != x->gpu_type)))
			continue;
		y->gpu_type = x->gpu_type;
		y->is_candidate = true;
		marked++;
	}
}

/* Lists the candidates, in order, each as a separate group. */
static void find_candidates(struct muri *m, struct orr_jobs *w)
{
	m->list.n = 0;
	offer_all(m, w);
	for (size_t i = 0; i < m->n; i++)
		if (!m->order[i]->is_candidate && take(m, w, m->order[i]))
			mark_group(m, w, i);
	for (size_t i = 0; i < m->n; i++)
		if (m->order[i]->is_candidate)
			list_add(&m->list, m->order[i]);
}

/* Orders groups by the member that comes first in the order of jobs. */
static int first_member(const void *a, const void *b)
{
	const struct muri_job *least[2];
	for (int k = 0; k < 2; k++) {
		const struct muri_group *g = k ? b : a;
		least[k] = g->member[0];
		for (uint32_t i = 1; i < g->n; i++)
			least[k] = shortest_first(&g->member[i], &least[k]) < 0 ? g->member[i] : least[k];
	}
	return shortest_first(&least[0], &least[1]);
}

/* Takes the GPUs of a group; those of another type for a job that is alone, if its type has none left. */
static bool take_for_group(struct muri *m, struct orr_jobs *w, struct muri_group *g)
{
	if (g->gpus && m->left[g->type] >= g->gpus && m->all >= g->gpus) {
		m->left[g->type] -= g->gpus;
		m->all -= g->gpus;
	} else if (g->n > 1 || !take(m, w, g->member[0])) {
		return false;
	}
	g->type = g->gpus ? g->member[0]->gpu_type : ORR_ANY_TYPE;
	return true;
}

/* Orders the groups, by size if published, and keeps those that fit. */
static void place(struct muri *m, struct orr_jobs *w)
{
	struct muri_list *list = &m->list;
	offer_all(m, w);
	if (!m->is_published && list->n)
		qsort(list->v, list->n, sizeof *list->v, first_member);
	for (size_t i = 1; m->is_published && i < list->n;
		i++) { /* insertion sort: keeps the order of equal sizes; few sizes are out of order */
		struct muri_group g = list->v[i];
		size_t at = i;
		for (; at && list->v[at - 1].gpus < g.gpus; at--)
			list->v[at] = list->v[at - 1];
		list->v[at] = g;
	}
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct muri_group g = list->v[i];
		if (!take_for_group(m, w, &g))
			continue;
		list->v[kept++] = g;
	}
	list->n = kept;
	if (m->is_published)
		return;
	for (size_t i = 0; i < m->n; i++) /* the rest of the GPUs */
		if (!m->order[i]->is_candidate && take(m, w, m->order[i]))
			list_add(list, m->order[i]);
}

static void decide(struct muri *m, struct orr_jobs *w)
{
	sort_jobs(m, w);
	find_candidates(m, w);
	for (uint32_t t = 0; t < m->n_types; t++)
		muri_merge(w, &m->list, t, m->pack, m->window);
	muri_dissolve(w, &m->list);
	place(m, w);
}

/* ---- rules=own ---- */

static size_t members(const struct muri_group *g, orr_job *out)
{
	for (uint32_t i = 0; i < g->n; i++)
		out[i] = g->member[i]->job;
	return g->n;
}

static void own_schedule(struct muri *m, struct orr_jobs *w)
{
	orr_job jobs[MURI_MOST];
	orr_why(w, ORR_WHY_HELD, 0, "next round");
	if (!m->n || !orr_round_is_due(m->round))
		return;
	decide(m, w);
	orr_round_begin(m->round);
	for (size_t i = 0; i < m->list.n; i++)
		orr_round_add(m->round, jobs, members(&m->list.v[i], jobs), 0, m->list.v[i].type);
	size_t waiting = orr_round_apply(m->round);
	for (size_t i = 0; i < m->n && waiting; i++) /* members of groups that fit on no GPU type, or not on the nodes */
		if (!orr_job_is_running(w, m->order[i]->job))
			orr_try_start(w, m->order[i]->job);
}

/* ---- rules=muri ---- */

/* Overheads of the published simulator, s, by 1, 2, 4, .. 32 GPUs. */
static const struct {
	const char *model;
	double s[6];
} overheads[] = { { "vgg16", { 7, 7, 8, 9, 9, 10 } }, { "vgg19", { 7, 7, 8, 9, 10, 10 } }, { "resnet18", { 4, 5, 5, 7, 7, 7 } },
	{ "shufflenet_v2_x1_0", { 4, 4, 5, 5, 7, 8 } }, { "a2c", { 38, 39, 39, 46, 46, 46 } }, { "dqn", { 5, 5, 6, 6, 8, 8 } } };

static double overhead_of(const struct orr_jobs *w, const struct muri_job *x)
{
	struct orr_job_info info;
	size_t at = 0;
	while (at < 5 && (1u << at) < x->gpus)
		at++;
	if (!orr_job_get(w, x->job, &info))
		return 0;
	for (size_t i = 0; i < sizeof overheads / sizeof *overheads; i++)
		if (!strcmp(orr_name(w, info.model), overheads[i].model))
			return overheads[i].s[at];
	return 10;
}

/* Stops every job. The overhead of each group since the last decision made no progress. */
static void stop_all(struct muri *m, struct orr_jobs *w)
{
	double since_s = (double)(orr_now(w) - m->last_ns) / 1e9;
	for (size_t i = 0; i < m->n; i++) {
		struct muri_job *x = &m->job[i];
		if (!x->is_running)
			continue;
		orr_stop_with_cost(w, x->job, llround(fmin(since_s, x->overhead_s) * x->rate * 1e9));
		x->is_running = false;
	}
	m->last_ns = orr_now(w);
}

static void start_group(struct orr_jobs *w, const struct muri_group *g)
{
	double overhead_s = 0, period = muri_period(w, g->member, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		overhead_s += overhead_of(w, g->member[i]);
	for (uint32_t i = 0; i < g->n; i++) {
		struct muri_job *x = g->member[i];
		if (i && orr_fits_beside(w, x->job, g->member[0]->job))
			orr_start_beside(w, x->job, g->member[0]->job);
		else if (i || (g->type == ORR_ANY_TYPE ? !orr_try_start(w, x->job) : !orr_try_start_on_type(w, x->job, g->type)))
			return;
		x->is_running = true;
		x->overhead_s = overhead_s;
		x->rate = period > 0 ? x->alone_s / period : 1;
	}
}

static void published_schedule(struct muri *m, struct orr_jobs *w)
{
	stop_all(m, w);
	m->list.n = 0;
	if (!m->rows)
		decide(m, w);
	else if (!muri_replay(m->rows, w, m->job, m->n, &m->list))
		return;
	for (size_t i = 0; i < m->list.n; i++)
		start_group(w, &m->list.v[i]);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct muri *m = self;
	if (m->is_published)
		published_schedule(m, w);
	else
		own_schedule(m, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(
	muri, "Muri: jobs with different bottlenecks share GPUs, by matching their stages; shortest remaining GPU time first", params, ops);

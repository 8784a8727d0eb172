/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sia (Jayaram Subramanya et al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP 2023): each `interval`, an
 * integer program (sia_choose.h) chooses for every job GPUs of one type, or none.
 *
 * A job's options on a type are 1, 2, 4, .. GPUs of one node, and then whole nodes. It starts on one GPU and at most doubles its largest
 * number so far. A job that does not adapt has the sizes that it offers. A job that has started less than `restart` ago keeps its GPUs.
 *
 * The chosen GPUs are placed type by type: jobs whose option is unchanged keep their GPUs; the others are placed, largest first, on the
 * fullest node with room. If this uses more GPUs, all jobs of the type are placed again, largest first. Then all find room if nodes are
 * equal and have a power of two GPUs. On other nodes, a job that finds no room keeps its former GPUs: it is not stopped if no other job
 * takes them. Else it continues on as many GPUs where these are free, or waits. The rest of a request that no node can hold beside whole
 * nodes is split among nodes. The program considers neither CPUs nor memory: a job for which they do not suffice there is placed by the
 * run's rule, or on fewer GPUs.
 *
 * Jobs on parts of GPUs and jobs without GPUs are no part of the program: they start at once where they fit.
 *
 * rules=own: costs are exact. rules=sia: costs are rounded to 2 decimals, as in the published code, where ties result.
 */
#include "members.h"
#include "sia_choose.h"
#include "small_jobs.h"

#include <orrery/jobs.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("interval", "60s", "time between decisions"),
	ORR_PARAM_TIME("restart", "30s", "time of a restart that the program assumes for a new allocation (the run takes jobs.start_cost)"),
	ORR_PARAM_REAL("p", "-0.5", -10, -0.01, "exponent of the goodputs: lower values favour jobs that gain little"),
	ORR_PARAM_REAL("lambda", "1.1", 0, 1000, "cost of a job without GPUs"),
	ORR_PARAM_CHOICE("rules", "own", "own|sia", "sia: costs rounded as in the published code"),
	ORR_PARAM_REAL("gap", "0.0001", 0, 0.1, "relative distance from the optimum at which the integer program may end on many GPUs"),
	ORR_PARAM_END };

struct type {
	uint32_t node_gpus, nodes; /* GPUs of its largest nodes, and their number */
	uint32_t other_gpus;       /* GPUs of the largest of its other nodes */
	uint32_t n;                /* all its nodes: node[first .. first + n) */
	uint32_t first;
};

struct place {
	uint32_t node, gpus;
};

struct member {
	orr_job job;
	uint64_t number;
	double submit_s;
	int64_t started_ns;
	uint32_t starts, largest;
	struct sia_option option; /* present: type, GPUs; gpus 0: none */
	struct sia_option wanted;
	struct sia_option before; /* until this decision */
	struct place *place;      /* GPUs of the last run */
	size_t n_places;          /* 0: the run's rule has placed it */
	bool lacks_room;          /* for the chosen option */
	uint32_t *size;           /* elastic job that does not adapt: the sizes up to `known` that it offers, ascending */
	size_t n_sizes, cap_sizes;
	uint32_t known;
};

struct sia {
	int64_t interval, next, restart_ns;
	double power, lambda, gap;
	bool is_rounded;
	uint32_t n_types;
	struct type *type;
	uint32_t *node, *room; /* nodes by type; free GPUs while jobs are placed */
	uint32_t *other;       /* scratch: free GPUs that a job cannot use, by node */
	double *gpus_of_type;
	struct small_jobs *small;
	struct member *member;
	size_t n, cap;
	struct sia_option *option; /* options of all jobs, while a program is built */
	size_t n_options, cap_options;
	uint32_t *on, *gpus; /* scratch: one allocation */
};

static void destroy(void *self)
{
	struct sia *s = self;
	small_jobs_free(s->small);
	orr_free(s->type);
	orr_free(s->node);
	orr_free(s->room);
	orr_free(s->other);
	orr_free(s->gpus_of_type);
	for (size_t i = 0; i < s->n; i++) {
		orr_free(s->member[i].size);
		orr_free(s->member[i].place);
	}
	orr_free(s->member);
	orr_free(s->option);
	orr_free(s->on);
	orr_free(s->gpus);
	orr_free(s);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	int64_t interval = orr_arg_time_ns(args, "interval");
	if (interval <= 0) {
		orr_fail(err, ORR_EINPUT, "interval: expected a time above 0");
		return NULL;
	}
	struct sia *s = orr_alloc(1, sizeof *s);
	s->interval = interval;
	s->restart_ns = orr_arg_time_ns(args, "restart");
	s->power = orr_arg_real(args, "p");
	s->lambda = orr_arg_real(args, "lambda");
	s->gap = orr_arg_real(args, "gap");
	s->is_rounded = !strcmp(orr_arg_text(args, "rules"), "sia");
	s->small = small_jobs_new(w);
	s->n_types = orr_gpu_types(w);
	s->type = orr_alloc(s->n_types + 1u, sizeof *s->type);
	s->gpus_of_type = orr_alloc(s->n_types + 1u, sizeof *s->gpus_of_type);
	s->node = orr_alloc(orr_nodes(w) + 1u, sizeof *s->node);
	s->room = orr_alloc(orr_nodes(w) + 1u, sizeof *s->room);
	s->other = orr_alloc(orr_nodes(w) + 1u, sizeof *s->other);
	s->on = orr_alloc(orr_nodes(w) + 1u, sizeof *s->on);
	s->gpus = orr_alloc(orr_nodes(w) + 1u, sizeof *s->gpus);
	return s;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct sia *s = self;
	struct orr_job_info info;
	if (small_jobs_add(s->small, w, j) || !orr_job_get(w, j, &info))
		return;
	ORR_GROW(s->member, s->n, s->cap);
	size_t at = s->n++; /* sorted by number, because stages of flows do not arrive in this order */
	for (; at && s->member[at - 1].number > info.number; at--)
		s->member[at] = s->member[at - 1];
	s->member[at] = (struct member){ .job = j, .number = info.number, .submit_s = (double)info.submit_ns / 1e9 };
}

/* Members are in ascending order of their numbers. */
static struct member *find(struct sia *s, uint64_t number)
{
	size_t at = members_find(s->member, s->n, sizeof *s->member, offsetof(struct member, number), number);
	return at < s->n && s->member[at].number == number ? &s->member[at] : NULL;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct sia *s = self;
	struct member *m = find(s, orr_job_number(w, j));
	(void)how;
	if (!m) {
		small_jobs_remove(s->small, j);
		return;
	}
	orr_free(m->size);
	orr_free(m->place);
	s->n--;
	memmove(m, m + 1, (size_t)(s->member + s->n - m) * sizeof *m);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct sia *s = self;
	struct member *m = find(s, orr_job_number(w, j));
	if (m) {
		m->option.gpus = 0;
		return;
	}
	small_jobs_remove(s->small, j);
	small_jobs_add(s->small, w, j);
}

/* ---- options ---- */

/* Lists the nodes that are up by type, and the size of each type's largest nodes. */
static void observe(struct sia *s, struct orr_jobs *w)
{
	struct orr_node_info info;
	uint32_t n = 0;
	for (uint32_t t = 0; t < s->n_types; t++) {
		struct type *type = &s->type[t];
		*type = (struct type){ .first = n };
		s->gpus_of_type[t] = 0;
		for (uint32_t i = 0; i < orr_nodes(w); i++) {
			if (!orr_node_get(w, i, &info) || !info.is_up || info.gpu_type != t)
				continue;
			s->node[n++] = i;
			s->gpus_of_type[t] += info.gpus;
			if (info.gpus > type->node_gpus) {
				type->other_gpus = type->node_gpus;
				type->node_gpus = info.gpus;
				type->nodes = 1;
			} else if (info.gpus == type->node_gpus) {
				type->nodes++;
			} else if (info.gpus > type->other_gpus) {
				type->other_gpus = info.gpus;
			}
		}
		type->n = n - type->first;
		s->gpus_of_type[t] = fmax(0, s->gpus_of_type[t] - small_jobs_gpus(s->small, t));
	}
}

static double value_of(struct orr_jobs *w, orr_job j, uint32_t type, uint32_t nodes, uint32_t gpus)
{
	double goodput = orr_job_goodput_on(w, j, type, nodes, gpus);
	return goodput > 0 || orr_job_goodput(w, j, 1, 1) > 0 ? goodput : orr_job_rate_at(w, j, gpus) * orr_job_rate_on(w, j, type);
}

static void add_option(struct sia *s, uint32_t type, uint32_t gpus, double value)
{
	if (!(value > 0))
		return;
	ORR_GROW(s->option, s->n_options, s->cap_options);
	s->option[s->n_options++] = (struct sia_option){ .type = type, .gpus = gpus, .s = value };
}

/* Adds the options of a job that adapts on a type: powers of two within a node, then whole nodes. */
static void add_options(struct sia *s, struct orr_jobs *w, const struct member *m, uint32_t t, uint32_t most)
{
	const struct type *type = &s->type[t];
	for (uint32_t g = 1; g < type->node_gpus && g <= most; g *= 2)
		add_option(s, t, g, value_of(w, m->job, t, 1, g));
	for (uint32_t k = 1; k <= type->nodes && k * type->node_gpus <= most; k++)
		add_option(s, t, k * type->node_gpus, value_of(w, m->job, t, k, k * type->node_gpus));
}

/* Adds a size that the job requests or offers, which need not be a power of two. */
static void add_request(struct sia *s, struct orr_jobs *w, const struct member *m, uint32_t t, uint32_t gpus)
{
	const struct type *type = &s->type[t];
	if (!type->node_gpus)
		return;
	uint32_t nodes = (gpus + type->node_gpus - 1) / type->node_gpus;
	add_option(s, t, gpus, value_of(w, m->job, t, nodes, gpus));
}

/* Returns the i-th of the sizes up to `most` that an elastic job offers, which need not be powers of two; 0: there is none. Each size is
 * tried once in the life of the job. */
static uint32_t nth_size(struct orr_jobs *w, struct member *m, size_t i, uint32_t most)
{
	while (m->n_sizes <= i && m->known < most) {
		if (!(orr_job_rate_at(w, m->job, ++m->known) > 0))
			continue;
		ORR_GROW(m->size, m->n_sizes, m->cap_sizes);
		m->size[m->n_sizes++] = m->known;
	}
	return i < m->n_sizes && m->size[i] <= most ? m->size[i] : 0;
}

static uint32_t gpus_of_largest_type(const struct sia *s)
{
	double most = 0;
	for (uint32_t t = 0; t < s->n_types; t++)
		most = fmax(most, s->gpus_of_type[t]);
	return (uint32_t)most;
}

/* Returns the smallest size above `after` that an elastic job offers; 0: none. */
static uint32_t next_size(const struct sia *s, struct orr_jobs *w, struct member *m, uint32_t after)
{
	uint32_t most = gpus_of_largest_type(s), size;
	for (size_t i = 0; (size = nth_size(w, m, i, most)); i++)
		if (size > after)
			return size;
	return 0;
}

/* Returns the largest size that an elastic job may have now: at first its smallest, then twice its largest so far or its next size. */
static uint32_t size_limit(const struct sia *s, struct orr_jobs *w, struct member *m, bool adapts)
{
	uint32_t most = adapts ? orr_job_most_gpus(w, m->job) : UINT32_MAX, limit = m->largest ? 2 * m->largest : 1;
	if (!adapts) {
		uint32_t next = next_size(s, w, m, m->largest);
		limit = next > limit ? next : limit;
	}
	return limit < most ? limit : most;
}

static void fill_job(struct sia *s, struct orr_jobs *w, struct sia_job *to, struct member *m, size_t *first)
{
	struct orr_job_info info;
	double age_s = (double)orr_now(w) / 1e9 - m->submit_s, restart_s = (double)s->restart_ns / 1e9;
	double restarts = m->starts ? m->starts - 1 : 0;
	*first = s->n_options;
	*to = (struct sia_job){ .present = SIZE_MAX, .chosen = SIZE_MAX };
	if (!orr_job_get(w, m->job, &info))
		return;
	bool adapts = orr_job_goodput(w, m->job, 1, 1) > 0;
	uint32_t limit = info.is_elastic ? size_limit(s, w, m, adapts) : info.gpus;
	for (uint32_t t = 0; t < s->n_types; t++) {
		if (adapts)
			add_options(s, w, m, t, limit);
		else if (!info.is_elastic && info.gpus <= s->gpus_of_type[t])
			add_request(s, w, m, t, info.gpus);
		uint32_t most = limit < s->gpus_of_type[t] ? limit : (uint32_t)s->gpus_of_type[t], size;
		for (size_t i = 0; !adapts && info.is_elastic && (size = nth_size(w, m, i, most)); i++)
			add_request(s, w, m, t, size);
	}
	to->n = s->n_options - *first;
	for (size_t i = 0; i < to->n && m->option.gpus; i++) {
		const struct sia_option *o = &s->option[*first + i];
		if (o->type == m->option.type && o->gpus == m->option.gpus)
			to->present = i;
	}
	to->restart_factor = age_s < restart_s ? 1 : fmax(age_s - restarts * restart_s, 0) / (age_s + restart_s);
	to->is_pinned = to->present != SIZE_MAX && m->started_ns + s->restart_ns > orr_now(w);
}

/* Solves the program; sets `wanted` of every member. */
static bool choose(struct sia *s, struct orr_jobs *w)
{
	struct sia_problem p = { .n_jobs = s->n,
		.gpus_of_type = s->gpus_of_type,
		.n_types = s->n_types,
		.power = s->power,
		.lambda = s->lambda,
		.gap = s->gap,
		.is_rounded = s->is_rounded };
	struct orr_error err = { 0 };
	size_t *first = orr_alloc(s->n + 1, sizeof *first);
	p.job = orr_alloc(s->n + 1, sizeof *p.job);
	s->n_options = 0;
	for (size_t i = 0; i < s->n; i++)
		fill_job(s, w, &p.job[i], &s->member[i], &first[i]);
	for (size_t i = 0; i < s->n; i++) { /* the array of options no longer moves */
		p.job[i].option = s->option + first[i];
		sia_normalise(&p, &p.job[i]);
		sia_costs(&p, &p.job[i]);
	}
	const struct sia_option none = { 0 };
	int rc = sia_choose(&p, NULL, &err);
	for (size_t i = 0; i < s->n && !rc; i++)
		s->member[i].wanted = p.job[i].chosen == SIZE_MAX ? none : p.job[i].option[p.job[i].chosen];
	if (rc)
		orr_give_up(w, 0, err.text);
	orr_free(p.job);
	orr_free(first);
	return !rc;
}

/* ---- placement ---- */

static bool is_kept(const struct member *m)
{
	return m->option.gpus && m->option.gpus == m->wanted.gpus && m->option.type == m->wanted.type;
}

static void stop(struct orr_jobs *w, struct member *m)
{
	if (orr_job_is_running(w, m->job))
		orr_stop(w, m->job);
	m->option.gpus = 0;
}

/* Returns whether no node can hold the rest of a request that has all the largest nodes. */
static bool must_split(const struct type *type, uint32_t gpus)
{
	uint64_t whole = (uint64_t)type->nodes * type->node_gpus;
	return gpus > whole && gpus - whole > type->other_gpus;
}

static void take(struct sia *s, size_t *n, uint32_t node, uint32_t *gpus)
{
	uint32_t part = s->room[node] < *gpus ? s->room[node] : *gpus;
	s->on[*n] = node;
	s->gpus[(*n)++] = part;
	s->room[node] -= part;
	*gpus -= part;
}

/* Writes an allocation into on[] and gpus[]; returns its number of nodes, 0: no room. Whole nodes first, then the fullest node that has
 * room for the rest. */
static size_t find_room(struct sia *s, const struct type *type, uint32_t gpus)
{
	size_t n = 0;
	bool is_split = must_split(type, gpus);
	for (uint32_t i = 0; i < type->n && gpus >= type->node_gpus && gpus; i++)
		if (s->room[s->node[type->first + i]] == type->node_gpus)
			take(s, &n, s->node[type->first + i], &gpus);
	uint32_t best = UINT32_MAX;
	for (uint32_t i = 0; i < type->n && gpus; i++) {
		uint32_t node = s->node[type->first + i];
		if (s->room[node] >= gpus && (best == UINT32_MAX || s->room[node] < s->room[best]))
			best = node;
	}
	if (gpus && best != UINT32_MAX)
		take(s, &n, best, &gpus);
	for (uint32_t i = 0; i < type->n && gpus && is_split; i++)
		if (s->room[s->node[type->first + i]])
			take(s, &n, s->node[type->first + i], &gpus);
	if (!gpus)
		return n;
	for (size_t i = 0; i < n; i++) /* not enough room */
		s->room[s->on[i]] += s->gpus[i];
	return 0;
}

/* Like find_room(), for a job that also needs CPUs or memory: uses the GPUs of a node for which these are free. */
static size_t find_room_for(struct sia *s, struct orr_jobs *w, const struct member *m)
{
	const struct type *type = &s->type[m->wanted.type];
	struct orr_job_info job;
	struct orr_node_info node;
	if (!orr_job_get(w, m->job, &job) || (!job.cpu_milli && !job.mem_mib))
		return find_room(s, type, m->wanted.gpus);
	for (uint32_t i = 0; i < type->n; i++) {
		uint32_t at = s->node[type->first + i], usable = orr_node_get(w, at, &node) ? members_room(&node, &job) : 0;
		s->other[at] = s->room[at] > usable ? s->room[at] - usable : 0;
		s->room[at] -= s->other[at];
	}
	size_t n = find_room(s, type, m->wanted.gpus);
	for (uint32_t i = 0; i < type->n; i++)
		s->room[s->node[type->first + i]] += s->other[s->node[type->first + i]];
	return n;
}

/* Starts a job by the run's placement rule: the CPUs or memory that it needs may be free on more nodes than find_room() takes. */
static bool start_anywhere(struct orr_jobs *w, struct member *m)
{
	struct orr_job_info job;
	if (!orr_job_get(w, m->job, &job) || (!job.cpu_milli && !job.mem_mib))
		return false;
	if (job.gpus == m->wanted.gpus ? !orr_try_start_on_type(w, m->job, m->wanted.type)
				       : !orr_try_start_sized(w, m->job, m->wanted.gpus))
		return false;
	if (orr_job_get(w, m->job, &job))
		m->wanted.type = job.gpu_type;
	return true;
}

static bool start_wanted(struct sia *s, struct orr_jobs *w, struct member *m)
{
	size_t n = find_room_for(s, w, m);
	if (n ? !orr_try_start_at(w, m->job, s->on, s->gpus, n) : !start_anywhere(w, m))
		return false;
	m->place = orr_realloc(m->place, n + 1, sizeof *m->place);
	m->n_places = n;
	for (size_t i = 0; i < n; i++)
		m->place[i] = (struct place){ s->on[i], s->gpus[i] };
	m->option = m->wanted;
	m->started_ns = orr_now(w);
	m->starts++;
	m->largest = m->wanted.gpus > m->largest ? m->wanted.gpus : m->largest;
	return true;
}

/* The program considers neither CPUs nor memory. A job for whose size they do not suffice starts on half as many GPUs, and so on. */
static void start(struct sia *s, struct orr_jobs *w, struct member *m)
{
	struct orr_job_info job;
	if (start_wanted(s, w, m) || !orr_job_get(w, m->job, &job) || !job.is_elastic || (!job.cpu_milli && !job.mem_mib))
		return;
	struct sia_option wanted = m->wanted;
	for (m->wanted.gpus /= 2; m->wanted.gpus; m->wanted.gpus /= 2)
		if (orr_job_rate_at(w, m->job, m->wanted.gpus) > 0 && start_wanted(s, w, m))
			return;
	m->wanted = wanted;
}

struct order {
	uint32_t gpus;
	size_t member;
};

static int largest_first(const void *x, const void *y)
{
	const struct order *a = x, *b = y;
	if (a->gpus != b->gpus)
		return a->gpus > b->gpus ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

/* Reads the free GPUs of the nodes of a type; all: those that would be free without jobs. */
static void read_room(struct sia *s, struct orr_jobs *w, uint32_t t, bool all)
{
	struct orr_node_info info;
	for (uint32_t i = 0; i < s->type[t].n; i++) {
		uint32_t node = s->node[s->type[t].first + i];
		if (orr_node_get(w, node, &info))
			s->room[node] = !all ? info.gpus_free : orr_node_goes_ns(w, node) == ORR_NEVER ? info.gpus : 0;
	}
}

/* Lists the members whose chosen option is on the type, largest first; all: also those that keep their GPUs. */
static size_t list_members(const struct sia *s, uint32_t t, bool all, struct order *order)
{
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->member[i].wanted.gpus && s->member[i].wanted.type == t && (all || !is_kept(&s->member[i])))
			order[n++] = (struct order){ s->member[i].wanted.gpus, i };
	if (n)
		qsort(order, n, sizeof *order, largest_first);
	return n;
}

/* Returns the number of GPUs that the members of list_members() would get. */
static uint64_t room_for(struct sia *s, struct orr_jobs *w, uint32_t t, bool all, struct order *order)
{
	uint64_t gpus = 0;
	size_t n = list_members(s, t, all, order);
	read_room(s, w, t, all);
	for (size_t i = 0; i < n; i++)
		gpus += find_room(s, &s->type[t], order[i].gpus) ? order[i].gpus : 0;
	return gpus;
}

/* Stops the running members of the type if more GPUs are used when all are placed again. */
static void make_room(struct sia *s, struct orr_jobs *w, uint32_t t, struct order *order)
{
	uint64_t runs = 0, wanted = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct member *m = &s->member[i];
		runs += m->option.gpus && m->option.type == t ? m->option.gpus : 0;
		wanted += m->wanted.gpus && m->wanted.type == t ? m->wanted.gpus : 0;
	}
	uint64_t stays = runs + room_for(s, w, t, false, order);
	if (stays == wanted || room_for(s, w, t, true, order) <= stays)
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->member[i].option.gpus && s->member[i].option.type == t)
			stop(w, &s->member[i]);
}

/* Starts the waiting members whose chosen option is on the type, largest first. */
static void start_all(struct sia *s, struct orr_jobs *w, uint32_t t, struct order *order)
{
	size_t n = list_members(s, t, false, order);
	read_room(s, w, t, false);
	for (size_t i = 0; i < n; i++)
		start(s, w, &s->member[order[i].member]);
}

/* ---- members that need not stop ---- */

static bool is_moving(const struct member *m)
{
	return m->option.gpus && !is_kept(m);
}

/* Reads the GPUs of a type that are free when the members that move have stopped. */
static void read_room_after_stops(struct sia *s, struct orr_jobs *w, uint32_t t)
{
	read_room(s, w, t, false);
	for (size_t i = 0; i < s->n; i++) {
		const struct member *m = &s->member[i];
		for (size_t k = 0; is_moving(m) && m->option.type == t && k < m->n_places; k++)
			s->room[m->place[k].node] += orr_node_goes_ns(w, m->place[k].node) == ORR_NEVER ? m->place[k].gpus : 0;
	}
}

/* Finds room for the members that start; marks those without. Returns the number of GPUs that run then. A type of which all members
 * would be placed again has no room left and lacks none. */
static uint64_t look_for_room(struct sia *s, struct orr_jobs *w, struct order *order)
{
	uint64_t sum = 0;
	for (uint32_t t = 0; t < s->n_types; t++) {
		uint64_t wanted = 0, stays = 0, packed = room_for(s, w, t, true, order);
		size_t n = list_members(s, t, false, order);
		read_room_after_stops(s, w, t);
		for (size_t i = 0; i < s->n; i++) {
			const struct member *m = &s->member[i];
			wanted += m->wanted.gpus && m->wanted.type == t ? m->wanted.gpus : 0;
			stays += is_kept(m) && m->option.type == t ? m->option.gpus : 0;
		}
		for (size_t i = 0; i < n; i++) {
			struct member *m = &s->member[order[i].member];
			m->lacks_room = !find_room(s, &s->type[t], order[i].gpus);
			stays += m->lacks_room ? 0 : order[i].gpus;
		}
		bool is_packed = stays < wanted && packed > stays;
		for (size_t i = 0; is_packed && i < n; i++)
			s->member[order[i].member].lacks_room = false;
		for (uint32_t i = 0; is_packed && i < s->type[t].n; i++)
			s->room[s->node[s->type[t].first + i]] = 0;
		sum += is_packed ? packed : stays;
	}
	return sum;
}

/* Returns whether the present GPUs of a member stay free, and takes them. */
static bool keep_places(struct sia *s, const struct member *m)
{
	for (size_t k = 0; k < m->n_places; k++)
		if (s->room[m->place[k].node] < m->place[k].gpus)
			return false;
	for (size_t k = 0; k < m->n_places; k++)
		s->room[m->place[k].node] -= m->place[k].gpus;
	return m->n_places > 0;
}

/* A member whose chosen option has no room would start again as before: it keeps its GPUs if they stay free, and no other member is left
 * without room for this. */
static void spare(struct sia *s, struct orr_jobs *w, struct order *order)
{
	struct orr_job_info job;
	struct sia_option *chosen = orr_alloc(s->n + 1, sizeof *chosen);
	uint64_t gpus = look_for_room(s, w, order), spared = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct member *m = &s->member[i];
		chosen[i] = m->wanted;
		if (!is_moving(m) || !m->wanted.gpus || !m->lacks_room || !orr_job_get(w, m->job, &job) || job.cpu_milli || job.mem_mib)
			continue;
		if (!keep_places(s, m))
			continue;
		m->wanted = m->option;
		spared += m->option.gpus;
	}
	bool is_right = !spared || look_for_room(s, w, order) >= gpus + spared;
	for (size_t i = 0; i < s->n && !is_right; i++)
		s->member[i].wanted = chosen[i];
	orr_free(chosen);
}

static void place(struct sia *s, struct orr_jobs *w)
{
	struct order *order = orr_alloc(s->n + 1, sizeof *order);
	spare(s, w, order);
	for (size_t i = 0; i < s->n; i++) {
		s->member[i].before = s->member[i].option;
		if (s->member[i].option.gpus && !is_kept(&s->member[i]))
			stop(w, &s->member[i]);
	}
	for (uint32_t t = 0; t < s->n_types; t++) {
		make_room(s, w, t, order);
		start_all(s, w, t, order);
	}
	for (size_t i = 0; i < s->n; i++) /* the program chose more than the nodes can hold */
		if (s->member[i].wanted.gpus && !s->member[i].option.gpus)
			s->member[i].wanted = s->member[i].before;
	for (uint32_t t = 0; t < s->n_types; t++)
		start_all(s, w, t, order);
	orr_free(order);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct sia *s = self;
	int64_t now = orr_now(w), due = (now + s->interval - 1) / s->interval * s->interval;
	orr_why(w, ORR_WHY_HELD, 0, "next round");
	small_jobs_start(s->small, w);
	if (!s->n)
		return;
	if (due > now || s->next > now) {
		if (s->next <= now) {
			s->next = due;
			orr_timer(w, due);
		}
		return;
	}
	observe(s, w);
	if (choose(s, w))
		place(s, w);
	s->next = now + s->interval;
	orr_timer(w, s->next);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(sia, "jobs that adapt, on several GPU types: GPUs by an integer program over normalised goodputs (Sia)", params, ops);

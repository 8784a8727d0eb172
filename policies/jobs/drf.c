/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dominant resource fairness (Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica: "Dominant Resource Fairness: Fair Allocation of
 * Multiple Resource Types", NSDI 2011), Algorithm 1: progressive filling. While there is room, the user with the smallest dominant share
 * starts its next job. Running jobs are never stopped.
 *
 * A user's dominant share is the largest of its shares of the cluster's GPUs, CPUs and memory; a resource that the cluster does not limit
 * is ignored. GPUs of all types have equal weight. The user of a job is the one that the trace states; if it states none, the job's queue;
 * if it states neither, the job counts as a separate user. A user's jobs start in order of submission; among equal shares, the job
 * submitted first has precedence.
 *
 * when_full=wait: As in algorithm 1, all users wait if the next job of the user with the smallest share does not fit. With when_full=skip,
 * the next jobs of the other users are then tried in order of share.
 *
 * Users are in a hash table while they have jobs. The oldest waiting job of each user is in a queue whose key is the user's share, so a
 * start or an end costs O(log users).
 */
#include <orrery/jobs.h>

#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_CHOICE("when_full", "wait", "wait|skip", "if the next job does not fit: wait, or try the next user"), ORR_PARAM_END
};

enum resource { GPU, CPU, MEMORY, N_RESOURCES };

/* A waiting job in its user's queue. */
struct place {
	orr_job job;
	uint64_t number;
	struct place *next;
};

struct user {
	uint64_t key;
	struct user *next; /* next user in the same bucket */
	int64_t used[N_RESOURCES];
	uint64_t running;
	struct place *first, *last; /* jobs in order of submission */
};

struct drf {
	struct orr_queue *heads; /* first waiting job of each user; key: the user's share */
	bool skips;
	int64_t total[N_RESOURCES]; /* capacity; 0: the resource is unlimited or absent */
	struct user **bucket;
	size_t n_users, n_buckets; /* number of buckets: a power of two */
};

/* ---- the cluster ---- */

static void count_cluster(struct drf *d, struct orr_jobs *w)
{
	struct orr_node_info node;
	int64_t *total = d->total;
	bool is_unlimited[N_RESOURCES] = { false };
	memset(d->total, 0, sizeof d->total);
	total[GPU] = 1000 * (int64_t)orr_total_gpus(w);
	for (uint32_t i = 0; i < orr_nodes(w); i++) {
		if (!orr_node_get(w, i, &node) || !node.is_up)
			continue;
		is_unlimited[CPU] |= node.cpu_milli == INT64_MAX;
		is_unlimited[MEMORY] |= node.mem_mib == INT64_MAX;
		total[CPU] += is_unlimited[CPU] ? 0 : node.cpu_milli;
		total[MEMORY] += is_unlimited[MEMORY] ? 0 : node.mem_mib;
	}
	for (int r = 0; r < N_RESOURCES; r++)
		if (is_unlimited[r])
			total[r] = 0;
}

/* Returns the dominant share as a key: the bits of non-negative doubles have the order of their values. */
static int64_t share_key(const struct drf *d, const struct user *u)
{
	double share = 0;
	for (int r = 0; r < N_RESOURCES; r++)
		if (d->total[r] && (double)u->used[r] / (double)d->total[r] > share)
			share = (double)u->used[r] / (double)d->total[r];
	int64_t key;
	memcpy(&key, &share, sizeof key);
	return key;
}

/* ---- users ---- */

/* Returns the number of a name, tagged with its kind, so that a user and a queue of the same name differ. */
static uint64_t user_key(const struct orr_job_info *info)
{
	if (info->user)
		return (uint64_t)info->user << 2;
	return info->queue ? (uint64_t)info->queue << 2 | 1 : info->number << 2 | 2;
}

static size_t bucket_of(const struct drf *d, uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (d->n_buckets - 1);
}

static struct user *user_find(const struct drf *d, uint64_t key)
{
	struct user *u = d->bucket[bucket_of(d, key)];
	while (u && u->key != key)
		u = u->next;
	return u;
}

/* Doubles the number of buckets. */
static void widen(struct drf *d)
{
	struct user **old = d->bucket, **bucket = orr_alloc(d->n_buckets * 2, sizeof *bucket);
	size_t n = d->n_buckets;
	d->bucket = bucket;
	d->n_buckets *= 2;
	for (size_t i = 0; i < n; i++)
		for (struct user *u = old[i], *next; u; u = next) {
			size_t b = bucket_of(d, u->key);
			next = u->next;
			u->next = bucket[b];
			bucket[b] = u;
		}
	orr_free(old);
}

static struct user *user_get(struct drf *d, uint64_t key)
{
	struct user *u = user_find(d, key);
	if (u)
		return u;
	if (++d->n_users > d->n_buckets)
		widen(d);
	size_t b = bucket_of(d, key);
	u = orr_alloc(1, sizeof *u);
	u->key = key;
	u->next = d->bucket[b];
	d->bucket[b] = u;
	return u;
}

static void user_drop_if_idle(struct drf *d, struct user *u)
{
	if (u->first || u->running)
		return;
	struct user **at = &d->bucket[bucket_of(d, u->key)];
	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	orr_free(u);
	d->n_users--;
}

static void book(struct user *u, const struct orr_job_info *info, int sign)
{
	u->used[GPU] += sign * (int64_t)info->gpus * info->gpu_milli;
	u->used[CPU] += sign * info->cpu_milli;
	u->used[MEMORY] += sign * info->mem_mib;
	u->running += (uint64_t)sign;
}

/* ---- a user's waiting jobs ---- */

/* Adds the user's first waiting job to the queue, with the user's current share as key. */
static void show_head(struct drf *d, const struct user *u)
{
	if (u->first)
		orr_queue_add(d->heads, u->first->job, share_key(d, u), (int64_t)u->first->number);
}

static void line_up(struct drf *d, struct user *u, orr_job j, uint64_t number)
{
	struct place *p = orr_alloc(1, sizeof *p), **at = &u->first;
	if (u->last && u->last->number < number)
		at = &u->last->next;
	while (*at && (*at)->number < number) /* an evicted job returns to its place in order of submission */
		at = &(*at)->next;
	if (at == &u->first && u->first)
		orr_queue_remove(d->heads, u->first->job);
	*p = (struct place){ j, number, *at };
	*at = p;
	if (!p->next)
		u->last = p;
	if (at == &u->first)
		show_head(d, u);
}

static void leave_line(struct drf *d, struct user *u)
{
	struct place *p = u->first;
	orr_queue_remove(d->heads, p->job);
	u->first = p->next;
	if (!u->first)
		u->last = NULL;
	orr_free(p);
}

/* Removes a waiting job from anywhere in the line; returns false if the line does not contain it. */
static bool leave_line_of(struct drf *d, struct user *u, orr_job j)
{
	struct place **at = &u->first, *before = NULL;
	for (; *at && (*at)->job != j; at = &(*at)->next)
		before = *at;
	if (!*at)
		return false;
	if (!before) {
		leave_line(d, u);
		show_head(d, u);
		return true;
	}
	struct place *p = *at;
	*at = p->next;
	u->last = p->next ? u->last : before;
	orr_free(p);
	return true;
}

/* ---- callbacks ---- */

static void destroy(void *self)
{
	struct drf *d = self;
	for (size_t i = 0; i < d->n_buckets; i++)
		while (d->bucket[i]) {
			struct user *u = d->bucket[i];
			d->bucket[i] = u->next;
			for (struct place *p = u->first, *next; p; p = next) {
				next = p->next;
				orr_free(p);
			}
			orr_free(u);
		}
	orr_free(d->bucket);
	orr_queue_free(d->heads);
	orr_free(d);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	enum { BUCKETS = 64 };
	struct drf *d = orr_alloc(1, sizeof *d);
	(void)err;
	d->bucket = orr_alloc(BUCKETS, sizeof(struct user *));
	d->n_buckets = BUCKETS;
	d->heads = orr_queue_new(w);
	d->skips = !strcmp(orr_arg_text(args, "when_full"), "skip");
	count_cluster(d, w);
	return d;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct drf *d = self;
	struct orr_job_info info;
	if (orr_job_get(w, j, &info))
		line_up(d, user_get(d, user_key(&info)), j, info.number);
}

/* Releases the resources of the job and updates its user's share. */
static void release(struct drf *d, struct user *u, const struct orr_job_info *info)
{
	book(u, info, -1);
	if (u->first)
		orr_queue_remove(d->heads, u->first->job);
	show_head(d, u);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct drf *d = self;
	struct orr_job_info info;
	struct user *u = orr_job_get(w, j, &info) ? user_find(d, user_key(&info)) : NULL;
	if (!u)
		return;
	if (how != ORR_END_PRUNED || !leave_line_of(d, u, j))
		release(d, u, &info); /* any other job that ends was running: this policy kills no waiting job */
	user_drop_if_idle(d, u);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct drf *d = self;
	struct orr_job_info info;
	struct user *u = orr_job_get(w, j, &info) ? user_find(d, user_key(&info)) : NULL;
	if (!u)
		return;
	release(d, u, &info);
	line_up(d, u, j, info.number);
}

static void capacity(void *self, struct orr_jobs *w)
{
	struct drf *d = self;
	count_cluster(d, w);
	for (size_t i = 0; i < d->n_buckets; i++)
		for (struct user *u = d->bucket[i]; u; u = u->next) {
			if (u->first)
				orr_queue_remove(d->heads, u->first->job);
			show_head(d, u);
		}
}

/* Records the start of a user's first waiting job, and adds the next one to the queue. */
static void started(struct drf *d, struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	struct user *u = orr_job_get(w, j, &info) ? user_find(d, user_key(&info)) : NULL;
	if (!u || !u->first)
		return;
	leave_line(d, u);
	book(u, &info, 1);
	show_head(d, u);
}

/* Starts the first job of the queue that fits and returns it; 0: none fits. */
static orr_job start_one(struct drf *d, struct orr_jobs *w)
{
	struct orr_walk walk;
	orr_job j, found = 0;
	orr_walk_begin(d->heads, &walk);
	while (!found && (j = orr_walk_next(&walk))) {
		if (orr_try_start(w, j))
			found = j;
		else if (d->skips)
			orr_walk_skip_shape(&walk);
		else
			break;
	}
	orr_walk_end(&walk);
	return found;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct drf *d = self;
	for (orr_job j; (j = start_one(d, w));)
		started(d, w, j);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .evict = evict, .schedule = schedule, .capacity = capacity
};

ORR_POLICY_JOBS(drf, "dominant resource fairness over users, without preemption", params, ops);

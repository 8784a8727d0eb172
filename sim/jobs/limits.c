/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/limits.h"

#include "base/mem.h"
#include "jobs/quota.h"
#include "jobs/world.h"

void limits_begin(struct orr_jobs *w)
{
	int64_t jobs = orr_arg_int(w->config->options, "user_jobs"), gpus = orr_arg_int(w->config->options, "user_gpus");
	if (!jobs && !gpus)
		return;
	w->limits = mem_zalloc(1, sizeof *w->limits);
	w->limits->jobs = jobs ? (uint64_t)jobs : UINT64_MAX;
	w->limits->milli = gpus ? 1000 * gpus : INT64_MAX;
}

void limits_free(struct orr_jobs *w)
{
	if (!w->limits)
		return;
	mem_free(w->limits->user);
	mem_free(w->limits->listed);
	mem_free(w->limits);
}

static struct limit_user *user_of(struct limits *l, uint32_t user)
{
	if (user >= l->n) {
		uint32_t n = 2 * user + 16;
		l->user = mem_realloc(l->user, n, sizeof *l->user);
		for (uint32_t i = l->n; i < n; i++)
			l->user[i] = (struct limit_user){ .first = NONE, .last = NONE };
		l->n = n;
	}
	return &l->user[user];
}

bool limits_exclude(const struct orr_jobs *w, uint32_t user, const struct pool_request *r)
{
	return w->limits && user && quota_request(r) > w->limits->milli;
}

/* Returns what a job counts: its request; if elastic, its largest size within the limit. */
static int64_t weight_of(struct orr_jobs *w, const struct job *job)
{
	int64_t most = 1000 * (int64_t)rates_most_gpus(w, job), request = quota_request(&w->shapes.shape[job->shape].request);
	int64_t n = most ? most : request;
	return n < w->limits->milli ? n : w->limits->milli;
}

static bool has_room(struct orr_jobs *w, const struct limit_user *u, const struct job *job)
{
	return u->jobs < w->limits->jobs && weight_of(w, job) <= w->limits->milli - u->milli;
}

static void count(struct orr_jobs *w, struct limit_user *u, const struct job *job, bool is_more)
{
	u->jobs += is_more ? 1 : UINT64_MAX;
	u->milli += is_more ? weight_of(w, job) : -weight_of(w, job);
}

bool limits_admit(struct orr_jobs *w, struct job *job)
{
	if (!w->limits || !job->user)
		return true;
	struct limit_user *u = user_of(w->limits, job->user);
	if (u->first == NONE && has_room(w, u, job)) {
		count(w, u, job, true);
		return true;
	}
	uint32_t slot = slot_of(w, job);
	job->is_held = true;
	job->next_held = NONE;
	*(u->first == NONE ? &u->first : &w->slots.job[u->last].next_held) = slot;
	u->last = slot;
	w->limits->held++;
	return false;
}

static void list_user(struct limits *l, uint32_t user)
{
	if (l->user[user].is_listed || l->user[user].first == NONE)
		return;
	l->user[user].is_listed = true;
	MEM_GROW(l->listed, l->n_listed, l->cap_listed);
	l->listed[l->n_listed++] = user;
}

struct job *limits_next(struct orr_jobs *w)
{
	struct limits *l = w->limits;
	while (l && l->n_listed) {
		struct limit_user *u = &l->user[l->listed[l->n_listed - 1]];
		struct job *job = u->first == NONE ? NULL : &w->slots.job[u->first];
		if (job && has_room(w, u, job)) {
			u->first = job->next_held;
			job->is_held = false;
			count(w, u, job, true);
			return job;
		}
		u->is_listed = false;
		l->n_listed--;
	}
	return NULL;
}

/* Removes a held job, such as a stage whose branch was pruned. */
static void remove_held(struct orr_jobs *w, struct limit_user *u, uint32_t slot)
{
	uint32_t before = NONE;
	for (uint32_t i = u->first; i != slot; i = w->slots.job[i].next_held)
		before = i;
	uint32_t after = w->slots.job[slot].next_held;
	*(before == NONE ? &u->first : &w->slots.job[before].next_held) = after;
	if (u->last == slot)
		u->last = before;
}

void limits_end(struct orr_jobs *w, struct job *job)
{
	if (!w->limits || !job->user)
		return;
	struct limit_user *u = user_of(w->limits, job->user);
	if (job->is_held)
		remove_held(w, u, slot_of(w, job));
	else
		count(w, u, job, false);
	list_user(w->limits, job->user);
}

const char *limits_check(const struct orr_jobs *w)
{
	const struct limits *l = w->limits;
	if (!l)
		return NULL;
	struct limit_user *sum = mem_zalloc(l->n + 1u, sizeof *sum);
	const char *wrong = NULL;
	for (uint32_t i = 0; i < w->slots.n_running; i++) {
		const struct job *job = &w->slots.job[w->slots.running[i]];
		if (!job->user)
			continue;
		sum[job->user].jobs++;
		sum[job->user].milli += gpu_milli_of(job, job->held);
		if (job->is_held || sum[job->user].jobs > l->jobs)
			wrong = "a user runs more jobs than jobs.user_jobs";
		else if (sum[job->user].milli > l->milli)
			wrong = "a user has more GPUs in use than jobs.user_gpus";
	}
	mem_free(sum);
	return wrong;
}

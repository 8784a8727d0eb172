/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which jobs share GPUs: weights of groups and their matchings. */
#include "matching.h"
#include "muri.h"

#include <math.h>
#include <stdlib.h>

/* Number of rounds of matching: the largest number of jobs in a group, as in the reference. */
enum { ROUNDS = 4 };
static const double scale = (double)(INT64_C(1) << 40);

static size_t handles(struct muri_job *const *member, uint32_t n, orr_job *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = member[i]->job;
	return n;
}

double muri_period(struct orr_jobs *w, struct muri_job *const *member, uint32_t n)
{
	orr_job jobs[MURI_MOST];
	return orr_interleaved_iteration_s(w, jobs, handles(member, n, jobs));
}

/* Returns whether the jobs can share GPUs; *sum: the sum of their rates there. */
static bool can_share(struct orr_jobs *w, struct muri_job *const *member, uint32_t n, double *sum)
{
	orr_job jobs[MURI_MOST];
	handles(member, n, jobs);
	*sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		orr_job own = jobs[0];
		jobs[0] = jobs[i];
		jobs[i] = own; /* the job itself is first, the others follow */
		double rate = orr_job_rate_beside(w, jobs[0], jobs + 1, n - 1, member[i]->gpu_type);
		jobs[i] = jobs[0];
		jobs[0] = own;
		if (!(rate > 0))
			return false;
		*sum += rate;
	}
	return true;
}

/* Returns the share of the four resources' time that the merged group would use, in whole numbers; 0: it cannot exist. Without stages the
 * sum of the rates, which must be above 1, replaces the sum of the stages over the period. */
static int64_t weight_of(struct orr_jobs *w, const struct muri_group *a, const struct muri_group *b)
{
	struct muri_job *all[MURI_MOST];
	uint32_t n = 0;
	double sum = 0, stage[3], rates;
	for (uint32_t i = 0; i < a->n; i++)
		all[n++] = a->member[i];
	for (uint32_t i = 0; i < b->n; i++)
		all[n++] = b->member[i];
	if (!can_share(w, all, n, &rates))
		return 0;
	double period = muri_period(w, all, n);
	for (uint32_t i = 0; period > 0 && i < n; i++)
		if (orr_job_stages(w, all[i]->job, stage))
			sum += stage[0] + stage[1] + stage[2];
	if (!(sum > 0) && rates <= 1 + 1e-9)
		return 0; /* no faster than one after the other */
	double weight = sum > 0 ? sum / (4 * period) : rates / 4;
	return llround(fmin(weight, 1000) * scale);
}

/* Merges the groups at[0..n) of the list by one matching. Merged groups get n = 0. */
static void match(struct orr_jobs *w, struct muri_list *list, const size_t *at, uint32_t n, uint32_t pack)
{
	int64_t *weight = orr_alloc((size_t)n * n + 1, sizeof *weight);
	uint32_t *mate = orr_alloc(n + 1u, sizeof *mate);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++)
			if (list->v[at[i]].n + list->v[at[k]].n <= pack)
				weight[(size_t)i * n + k] = weight[(size_t)k * n + i] = weight_of(w, &list->v[at[i]], &list->v[at[k]]);
	matching_solve(n, weight, mate);
	for (uint32_t i = 0; i < n; i++) {
		if (mate[i] == UINT32_MAX || mate[i] < i)
			continue;
		struct muri_group *a = &list->v[at[i]], *b = &list->v[at[mate[i]]];
		for (uint32_t k = 0; k < b->n; k++)
			a->member[a->n++] = b->member[k];
		b->n = 0;
	}
	orr_free(weight);
	orr_free(mate);
}

static uint64_t gpus_of(const struct muri_list *list, uint32_t type)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < list->n; i++)
		sum += list->v[i].n && list->v[i].type == type ? list->v[i].gpus : 0;
	return sum;
}

static void remove_empty(struct muri_list *list)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].n)
			list->v[kept++] = list->v[i];
	list->n = kept;
}

/* Returns the largest size below `below` of a group of the type; 0: none. */
static uint32_t next_size(const struct muri_list *list, uint32_t type, uint32_t below)
{
	uint32_t most = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].type == type && list->v[i].gpus < below && list->v[i].gpus > most)
			most = list->v[i].gpus;
	return most;
}

void muri_merge(struct orr_jobs *w, struct muri_list *list, uint32_t type, uint32_t pack, uint32_t window)
{
	uint64_t total = orr_total_gpus_of(w, type);
	size_t *at = orr_alloc(window + 1u, sizeof *at);
	for (int round = 0; round < ROUNDS && pack > 1 && gpus_of(list, type) > total; round++) {
		size_t before = list->n;
		for (uint32_t size = UINT32_MAX; (size = next_size(list, type, size)) && gpus_of(list, type) > total;) {
			uint32_t n = 0;
			for (size_t i = 0; i < list->n; i++) {
				if (list->v[i].type == type && list->v[i].gpus == size && list->v[i].n && list->v[i].n < pack)
					at[n++] = i;
				if (n == window || i + 1 == list->n) {
					match(w, list, at, n, pack);
					n = 0;
				}
			}
		}
		remove_empty(list);
		if (list->n == before)
			break;
	}
	orr_free(at);
}

void muri_dissolve(struct orr_jobs *w, struct muri_list *list)
{
	size_t n = list->n;
	for (size_t i = 0; i < n; i++) {
		double one_by_one = 0, together = muri_period(w, list->v[i].member, list->v[i].n);
		for (uint32_t k = 0; k < list->v[i].n; k++)
			one_by_one += list->v[i].member[k]->alone_s;
		if (list->v[i].n < 2 || !(together > one_by_one))
			continue;
		while (list->v[i].n > 1) {
			struct muri_job *last = list->v[i].member[--list->v[i].n];
			ORR_GROW(list->v, list->n, list->cap);
			list->v[list->n++] = (struct muri_group){ .member = { last }, .n = 1, .gpus = last->gpus, .type = list->v[i].type };
		}
	}
}

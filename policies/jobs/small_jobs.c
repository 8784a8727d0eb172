/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "small_jobs.h"

#include <math.h>

struct running {
	orr_job job;
	uint32_t type;
	double gpus;
};

struct small_jobs {
	struct orr_queue *waiting;
	struct running *running;
	size_t n, cap;
};

struct small_jobs *small_jobs_new(struct orr_jobs *w)
{
	struct small_jobs *s = orr_alloc(1, sizeof *s);
	s->waiting = orr_queue_new(w);
	return s;
}

void small_jobs_free(struct small_jobs *s)
{
	if (!s)
		return;
	orr_queue_free(s->waiting);
	orr_free(s->running);
	orr_free(s);
}

bool small_jobs_add(struct small_jobs *s, struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	if (!orr_job_get(w, j, &info) || (info.gpu_milli == 1000 && info.gpus))
		return false;
	orr_queue_add(s->waiting, j, info.submit_ns, (int64_t)info.number);
	return true;
}

void small_jobs_remove(struct small_jobs *s, orr_job j)
{
	if (orr_queue_remove(s->waiting, j))
		return;
	for (size_t i = 0; i < s->n; i++)
		if (s->running[i].job == j) {
			s->running[i] = s->running[--s->n];
			return;
		}
}

void small_jobs_start(struct small_jobs *s, struct orr_jobs *w)
{
	struct orr_walk walk;
	struct orr_job_info info;
	orr_walk_begin(s->waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk));) {
		if (!orr_try_start(w, j)) {
			orr_walk_skip_shape(&walk);
			continue;
		}
		orr_queue_remove(s->waiting, j);
		if (!orr_job_get(w, j, &info) || !info.gpus)
			continue;
		ORR_GROW(s->running, s->n, s->cap);
		s->running[s->n++] = (struct running){ j, info.gpu_type, info.gpus * (double)info.gpu_milli / 1000 };
	}
	orr_walk_end(&walk);
}

double small_jobs_gpus(const struct small_jobs *s, uint32_t type)
{
	double sum = 0;
	for (size_t i = 0; i < s->n; i++)
		sum += s->running[i].type == type ? s->running[i].gpus : 0;
	return ceil(sum - 1e-6);
}

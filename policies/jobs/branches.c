/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "branches.h"

void *branches_new(struct orr_jobs *w, size_t size)
{
	struct branches *b = orr_alloc(1, size);
	b->waiting = orr_queue_new(w);
	return b;
}

void *branches_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	return branches_new(w, sizeof(struct branches));
}

void branches_free(void *self)
{
	orr_queue_free(((struct branches *)self)->waiting);
	orr_free(self);
}

void branches_arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct branches *b = self;
	struct orr_stage s;
	if (orr_stage_get(w, j, &s))
		orr_queue_add(b->waiting, j, (int64_t)s.flow, (int64_t)s.order);
	else
		orr_queue_add(b->waiting, j, (int64_t)orr_job_number(w, j), 0);
}

void branches_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct branches *b = self;
	(void)w, (void)how;
	if (!orr_queue_remove(b->waiting, j))
		b->running--;
}

void branches_evict(void *self, struct orr_jobs *w, orr_job j)
{
	struct branches *b = self;
	b->running--;
	branches_arrive(self, w, j);
}

uint32_t branches_size(const struct orr_jobs *w, orr_job j, double n)
{
	uint32_t most = 0, own = orr_job_gpus(w, j);
	for (uint32_t t = 0; t < orr_gpu_types(w); t++)
		if (orr_job_rate_on(w, j, t) > 0 && orr_total_gpus_of(w, t) > most)
			most = orr_total_gpus_of(w, t);
	uint32_t size = n > most ? 1 : (uint32_t)(most / (n < 1 ? 1 : n));
	return own && size && orr_job_rate_at(w, j, size) > 0 ? size : own;
}

bool branches_start(struct branches *b, struct orr_jobs *w, orr_job j, double n)
{
	uint32_t size = branches_size(w, j, n);
	bool is_started = size == orr_job_gpus(w, j) ? orr_try_start(w, j) : orr_try_start_sized(w, j, size);
	if (!is_started)
		return false;
	orr_queue_remove(b->waiting, j);
	b->running++;
	return true;
}

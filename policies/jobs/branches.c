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

/* Starts j on all GPUs of the type that is fastest as a whole: the greatest number of GPUs x speed of the job on it. Returns false if the
 * cluster has one type, or if the job cannot have all of them. */
static bool start_on_fastest(struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	struct orr_node_info node;
	uint32_t type = 0, nodes = 0, n = 0, gpus = 0;
	double best = 0;
	for (uint32_t t = 0; t < orr_gpu_types(w); t++) {
		double speed = orr_job_rate_on(w, j, t) * orr_total_gpus_of(w, t);
		if (speed > best) {
			best = speed;
			type = t;
		}
	}
	if (orr_gpu_types(w) < 2 || !orr_job_get(w, j, &info) || !info.gpus || info.gpu_milli < 1000)
		return false;
	while (orr_node_get(w, nodes, &node))
		nodes++;
	uint32_t *at = orr_alloc(nodes, sizeof *at), *count = orr_alloc(nodes, sizeof *count);
	for (uint32_t i = 0; i < nodes; i++)
		if (orr_node_get(w, i, &node) && node.is_up && node.gpu_type == type && node.gpus_free) {
			at[n] = i;
			count[n++] = node.gpus_free;
			gpus += node.gpus_free;
		}
	bool is_started = gpus == orr_total_gpus_of(w, type) && orr_job_rate_at(w, j, gpus) > 0 && orr_try_start_at(w, j, at, count, n);
	orr_free(at);
	orr_free(count);
	return is_started;
}

bool branches_start(struct branches *b, struct orr_jobs *w, orr_job j, double n)
{
	uint32_t size = branches_size(w, j, n);
	bool is_started =
		(n <= 1 && start_on_fastest(w, j)) || (size == orr_job_gpus(w, j) ? orr_try_start(w, j) : orr_try_start_sized(w, j, size));
	if (!is_started)
		return false;
	orr_queue_remove(b->waiting, j);
	b->running++;
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gpu_budget.h"

int64_t requested_milli(const struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	return orr_job_get(w, j, &info) ? (int64_t)info.gpus * info.gpu_milli : 0;
}

void gpu_budget_init(struct gpu_budget *b, const struct orr_jobs *w)
{
	b->n_types = orr_gpu_types(w);
	b->left = orr_alloc(b->n_types + 1, sizeof *b->left);
	b->order = orr_alloc(b->n_types + 1, sizeof *b->order);
	b->spare = orr_alloc(b->n_types + 1, sizeof *b->spare);
}

void gpu_budget_free(struct gpu_budget *b)
{
	orr_free(b->left);
	orr_free(b->spare);
	orr_free(b->order);
}

void gpu_budget_note(struct gpu_budget *b, const struct orr_jobs *w, orr_job j)
{
	struct orr_job_info info;
	if (orr_job_get(w, j, &info) && (!info.gpus || info.gpu_milli < 1000))
		b->has_small = true;
}

void gpu_budget_begin(struct gpu_budget *b, const struct orr_jobs *w)
{
	for (uint32_t t = 0; t < b->n_types; t++)
		b->left[t] = b->spare[t] = 1000 * (int64_t)orr_total_gpus_of(w, t);
}

bool gpu_budget_draw(struct gpu_budget *b, const struct orr_jobs *w, orr_job j, uint64_t types, int64_t milli, uint32_t *type)
{
	if (!milli)
		return true;
	uint32_t n = b->n_types > 1 ? orr_job_type_order(w, j, b->order, b->n_types) : b->n_types;
	if (n == 1)
		b->order[0] = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t t = b->order[i];
			if (types >> t & 1 && b->left[t] >= milli && (pass || b->spare[t] >= milli)) {
				b->left[t] -= milli;
				b->spare[t] -= milli;
				*type = t;
				return true;
			}
		}
	return false;
}

uint32_t start_type(const struct gpu_budget *b, uint32_t drawn)
{
	return b->n_types > 1 && drawn < b->n_types ? drawn : ORR_ANY_TYPE;
}

bool try_start_on(struct orr_jobs *w, orr_job j, uint32_t type)
{
	return type == ORR_ANY_TYPE ? orr_try_start(w, j) : orr_try_start_on_type(w, j, type);
}

bool victims_make_room(
	struct victims *v, struct orr_jobs *w, orr_job j, uint32_t type, int64_t (*stop_cost)(const struct orr_job_info *info))
{
	struct orr_job_info info;
	while (v->left && !orr_job_is_running(w, v->job[v->left - 1]))
		v->left--;
	if (!v->left || !orr_fits_without(w, j, type, v->job, v->left))
		return false;
	for (size_t i = v->left; i-- > 0;) {
		if (!orr_job_get(w, v->job[i], &info) || info.state != ORR_JOB_RUNNING || (type != ORR_ANY_TYPE && info.gpu_type != type))
			continue;
		orr_stop_with_cost(w, v->job[i], stop_cost ? stop_cost(&info) : 0);
		v->n_stopped++;
		if (try_start_on(w, j, type))
			return true;
	}
	return false;
}

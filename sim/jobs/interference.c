/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/interference.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "hwmodel/throughput.h"
#include "jobs/world.h"

#include <math.h>
#include <string.h>

/* ---- interleaved stages ---- */

/* Slots of the recursion, and the relative change below which its period is steady. */
enum { SLOTS = 8 };
static const double steady = 1e-3;

static double stage(const double (*s)[ITERATION_STAGES], const uint8_t *order, uint32_t n, uint32_t slot, uint32_t which)
{
	uint32_t at = slot % MOST_INTERLEAVED;
	return at < n ? s[order[at]][which] : -INFINITY; /* an absent job limits nothing */
}

/* Returns the period of one order of the jobs. f[i]: end of slot i, in which the network stage of one job, the GPU stage of the next and
 * the storage stage of the next but one run at the same time. */
static double period_of(const double (*s)[ITERATION_STAGES], const uint8_t *order, uint32_t n)
{
	double f[SLOTS + 1] = { 0 };
	for (uint32_t i = 0; i < SLOTS; i++) {
		f[i + 1] = fmax(0, fmax(f[i] + stage(s, order, n, i + 1, 2), f[i] + stage(s, order, n, i + 2, 1)));
		if (i)
			f[i + 1] = fmax(f[i + 1], f[i - 1] + stage(s, order, n, i + 3, 0));
		if (i < MOST_INTERLEAVED)
			continue;
		double now = f[i + 1] - f[i - 3], before = f[i] - f[i - 4];
		if (fabs(now - before) <= steady * fabs(before))
			return now;
	}
	return f[SLOTS] - f[SLOTS - MOST_INTERLEAVED];
}

/* Puts the least period over the orders of the jobs from `fixed` on into *best. */
static void try_orders(const double (*s)[ITERATION_STAGES], uint8_t *order, uint32_t fixed, uint32_t n, double *best)
{
	if (fixed == n)
		*best = fmin(*best, period_of(s, order, n));
	for (uint32_t i = fixed; i < n; i++) {
		uint8_t a = order[fixed], b = order[i];
		order[fixed] = b;
		order[i] = a;
		try_orders(s, order, fixed + 1, n, best);
		order[fixed] = a;
		order[i] = b;
	}
}

double interleave_s(const double (*s)[ITERATION_STAGES], uint32_t n)
{
	uint8_t order[MOST_INTERLEAVED] = { 0, 1, 2, 3 };
	double best = INFINITY;
	try_orders(s, order, 0, n, &best);
	if (n == 2)
		best = fmin(best, fmax(s[0][0], s[1][1] + s[1][2]) + fmax(s[1][0], s[0][1] + s[0][2]));
	return best;
}

const double *stages_of(struct orr_jobs *w, const struct job *job)
{
	struct stage_table *t = &w->stage_table;
	if (!job->stages)
		return NULL;
	if (job->stages >= t->n) {
		uint32_t n = (uint32_t)strtab_count(w->strings);
		t->of = mem_realloc(t->of, n, sizeof *t->of);
		memset(t->of + t->n, 0, (n - t->n) * sizeof *t->of);
		t->n = n;
	}
	struct stage_times *x = &t->of[job->stages];
	if (!x->is_parsed) { /* the reader of the trace has checked the text */
		const char *text = strtab_text(w->strings, job->stages);
		for (int i = 0; i < ITERATION_STAGES; i++) {
			size_t n = strcspn(text, ";");
			num_real(text, n, &x->s[i]);
			text += n + (text[n] == ';');
		}
		x->is_parsed = true;
	}
	return x->s;
}

void stage_table_free(struct orr_jobs *w)
{
	mem_free(w->stage_table.of);
}

/* Returns the iteration time of the job alone: its duration over its iterations, else the sum of its stages. */
static double iteration_s(const struct job *job, const double *s)
{
	return job->iterations > 0 && job->duration > 0 ? (double)job->duration / 1e9 / job->iterations : s ? s[0] + s[1] + s[2] : 0;
}

double interleaved_iteration_s(struct orr_jobs *w, struct job *const *job, uint32_t n)
{
	double s[MOST_INTERLEAVED][ITERATION_STAGES];
	size_t n_slow;
	const double *slow = orr_arg_list(w->config->options, "group_slowdown", &n_slow);
	if (n == 1)
		return iteration_s(job[0], stages_of(w, job[0]));
	if (n > MOST_INTERLEAVED || n > n_slow)
		return 0;
	*w->use |= JOBS_USED_STAGES;
	for (uint32_t i = 0; i < n; i++) {
		const double *x = stages_of(w, job[i]);
		if (!x)
			return 0;
		memcpy(s[i], x, sizeof s[i]);
	}
	return interleave_s((const double(*)[ITERATION_STAGES])s, n) * slow[n - 1] / slow[0];
}

/* ---- the models ---- */

static double by_table(const struct orr_jobs *w, struct job *const *job, uint32_t n, uint32_t self, uint32_t type)
{
	const struct throughput *t = w->config->throughput;
	const struct job *a = job[self], *b = job[1 - (self & 1)];
	if (!t || n != 2 || !a->model || !b->model)
		return 0;
	const char *on = w->config->cluster->type_name[type];
	const char *mine = strtab_text(w->strings, a->model), *other = strtab_text(w->strings, b->model);
	double alone = throughput_lookup(t, on, mine, (int)a->gpus);
	double shared = throughput_lookup_shared(t, on, mine, (int)a->gpus, other, (int)b->gpus);
	return alone > 0 ? shared / alone : 0;
}

static double by_stages(struct orr_jobs *w, struct job *const *job, uint32_t n, uint32_t self)
{
	double together = interleaved_iteration_s(w, job, n);
	return together > 0 ? fmin(1, iteration_s(job[self], stages_of(w, job[self])) / together) : 0;
}

static double by_occupancy(struct job *const *job, uint32_t n)
{
	double sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!(job[i]->occupancy > 0))
			return 0;
		sum += job[i]->occupancy;
	}
	return sum > 1 ? 1 / sum : 1;
}

const char *cannot_share(const struct orr_jobs *w, const struct job *job)
{
	if (w->bill)
		return "jobs on lent nodes (--capacity) do not share GPUs";
	if (w->places)
		return "jobs do not share GPUs in a run with jobs that name a strategy";
	if (job->adapt != NONE)
		return "jobs that adapt their batch do not share GPUs";
	const struct pool_request *r = &w->shapes.shape[job->shape].request;
	return !r->gpus || r->gpu_milli < 1000 ? "only jobs on whole GPUs share them with other jobs" : NULL;
}

bool exceeds_memory(const struct orr_jobs *w, struct job *const *job, uint32_t n, uint32_t type)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += job[i]->gpu_mem_mib;
	double has = w->config->gpu_mem_mib ? w->config->gpu_mem_mib[type] : 0;
	return has > 0 && (double)sum > has;
}

double interference_rate(struct orr_jobs *w, struct job *const *job, uint32_t n, uint32_t self, uint32_t type)
{
	if (n == 1)
		return 1;
	if (n > ORR_MOST_SHARING || type >= w->config->cluster->n_types || exceeds_memory(w, job, n, type))
		return 0;
	switch (w->config->interference) {
	case GPU_SHARING_TABLE:
		return by_table(w, job, n, self, type);
	case GPU_SHARING_STAGES:
		return by_stages(w, job, n, self);
	case GPU_SHARING_OCCUPANCY:
		return by_occupancy(job, n);
	case GPU_SHARING_SLICES:
		return 1.0 / n;
	case GPU_SHARING_AUTO:
		break;
	}
	bool has_table = w->config->throughput && throughput_has_pairs(w->config->throughput), has_stages = true, has_occupancy = true;
	for (uint32_t i = 0; i < n; i++) {
		has_table &= job[i]->model != 0;
		has_stages &= job[i]->stages != 0;
		has_occupancy &= job[i]->occupancy > 0;
	}
	return has_table       ? by_table(w, job, n, self, type)
	       : has_stages    ? by_stages(w, job, n, self)
	       : has_occupancy ? by_occupancy(job, n)
			       : 1.0 / n;
}

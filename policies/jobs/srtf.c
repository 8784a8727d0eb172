/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shortest remaining time first, with preemption (Tiresias' simulator: "shortest").
 *
 * rules=helios follows HeliosArtifact's simulator:
 * - a pass runs every second while jobs wait;
 * - a stop adds 7 s (1 GPU), 30 s (2 to 8 GPUs) or 60 s (more) of work to the job;
 * - every job runs one second longer, because that simulator detects its end one tick late;
 * - GPUs of a chosen job that the placement refuses stay idle.
 */
#include "preemptive.h"

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("rules", "own", "own|helios",
						   "helios: the rules of the published simulator, with its ticks and costs"),
	ORR_PARAM_END };

struct srtf {
	struct preemptive pass;
	bool is_helios;
	int64_t next_tick;
	orr_job *fresh; /* rules=helios: jobs that arrived since the last pass */
	size_t n_fresh, cap_fresh;
};

static int64_t key(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	return orr_job_remaining_ns(w, j);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct srtf *s = preemptive_new(w, sizeof *s, false, key);
	(void)err;
	s->is_helios = !strcmp(orr_arg_text(args, "rules"), "helios");
	s->next_tick = -1;
	return s;
}

static void destroy(void *self)
{
	orr_free(((struct srtf *)self)->fresh);
	preemptive_free(self);
}

static int64_t helios_cost(const struct orr_job_info *info)
{
	return (info->gpus == 1 ? 7 : info->gpus <= 8 ? 30 : 60) * ORR_SECOND;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct srtf *s = self;
	preemptive_arrive(self, w, j);
	if (!s->is_helios)
		return;
	ORR_GROW(s->fresh, s->n_fresh, s->cap_fresh);
	s->fresh[s->n_fresh++] = j;
}

static void helios_schedule(struct srtf *s, struct orr_jobs *w)
{
	for (size_t i = 0; i < s->n_fresh; i++) {
		orr_job j = s->fresh[i];
		int64_t tie = orr_queue_tie(s->pass.waiting, j);
		orr_add_work(w, j, ORR_SECOND);
		orr_queue_remove(s->pass.waiting, j);
		orr_queue_add(s->pass.waiting, j, key(s, w, j), tie);
	}
	s->n_fresh = 0;
	preemptive_pass(s, w, true, helios_cost);
	if (orr_queue_size(s->pass.waiting) && s->next_tick <= orr_now(w)) {
		s->next_tick = orr_now(w) + ORR_SECOND;
		orr_timer(w, s->next_tick);
	}
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct srtf *s = self;
	if (s->is_helios)
		helios_schedule(s, w);
	else
		preemptive_schedule(self, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = preemptive_finish, .evict = preemptive_evict, .schedule = schedule
};

ORR_POLICY_JOBS_ORACLE(srtf, "shortest remaining time first, preemptive", params, ops);

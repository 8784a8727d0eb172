/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs stages of flows one after another in random order, each on the whole cluster: a baseline of meta-dataflows (the prototype's random
 * scheduler). Each stage draws its position in the queue when it becomes ready.
 */
#include "branches.h"

static const struct orr_param params[] = { ORR_PARAM_INT("seed", "1", 0, 9e15, "seed of the random order"), ORR_PARAM_END };

struct shuffled {
	struct branches base;
	uint64_t seed;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct shuffled *s = branches_new(w, sizeof *s);
	(void)err;
	s->seed = (uint64_t)orr_arg_int(args, "seed");
	return s;
}

/* Returns the SplitMix64 hash of the seed and the job's number. */
static int64_t draw(uint64_t seed, uint64_t number)
{
	uint64_t z = seed + (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (int64_t)((z ^ z >> 31) >> 1);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct shuffled *s = self;
	uint64_t number = orr_job_number(w, j);
	orr_queue_add(s->base.waiting, j, draw(s->seed, number), (int64_t)number);
}

static void evict(void *self, struct orr_jobs *w, orr_job j)
{
	((struct branches *)self)->running--;
	arrive(self, w, j);
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct branches *b = self;
	orr_job j;
	while (!b->running && (j = orr_queue_first(b->waiting)) && branches_start(b, w, j, 1))
		;
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = branches_free, .arrive = arrive, .finish = branches_finish, .evict = evict, .schedule = schedule
};

ORR_POLICY_JOBS(branch_random, "stages of flows one after another on the whole cluster, in random order", params, ops);

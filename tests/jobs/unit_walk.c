/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks with a limit on the second number (orr_walk_limit_shape). At each arrival a policy walks its queue; it skips and limits shapes,
 * peeks and removes at random. Every result is compared with a search over all jobs.
 */
#include "base/rng.h"
#include "tests/jobs/replay.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { JOBS = 400, SHAPES = 5 };

struct entry {
	orr_job job;
	int64_t key, tie, second;
	uint64_t number;
	uint32_t shape;
	bool is_in;
};

struct naive {
	struct entry entry[JOBS];
	int n;
	int64_t bound[64]; /* bound of each shape in this walk; INT64_MIN: skipped */
	const struct entry *last;
};

/* Numbers of checked and of wrong results, kept here because a policy has no output. */
static int asked, wrong;

struct tester {
	struct orr_queue *q;
	struct naive m;
	struct rng rng;
	bool is_over;
};

static bool is_before(const struct entry *a, const struct entry *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	return a->tie != b->tie ? a->tie < b->tie : a->number < b->number;
}

/* Returns the job that the walk must return next. */
static const struct entry *next_of(const struct naive *m)
{
	const struct entry *best = NULL;
	for (int i = 0; i < m->n; i++) {
		const struct entry *e = &m->entry[i];
		bool is_open = e->is_in && e->second <= m->bound[e->shape] && m->bound[e->shape] != INT64_MIN &&
			       (!m->last || is_before(m->last, e));
		if (is_open && (!best || is_before(e, best)))
			best = e;
	}
	return best;
}

static void compare(orr_job got, const struct entry *want)
{
	asked++;
	wrong += got != (want ? want->job : 0);
}

static void step(struct tester *t, struct orr_walk *walk, const struct entry *e)
{
	struct naive *m = &t->m;
	int64_t limit;
	m->last = e;
	if (rng_below(&t->rng, 4) == 0)
		compare(orr_walk_peek(walk), next_of(m));
	switch (rng_below(&t->rng, 6)) {
	case 0:
		orr_walk_skip_shape(walk);
		m->bound[e->shape] = INT64_MIN;
		break;
	case 1:
	case 2:
		limit = (int64_t)rng_below(&t->rng, 30);
		if (limit < m->bound[e->shape])
			m->bound[e->shape] = limit;
		orr_walk_limit_shape(walk, m->bound[e->shape]);
		break;
	case 3:
		wrong += !orr_queue_remove(t->q, e->job);
		m->entry[e - m->entry].is_in = false;
		break;
	default:
		break;
	}
}

static void random_walk(struct tester *t)
{
	struct orr_walk walk;
	for (int i = 0; i < 64; i++)
		t->m.bound[i] = INT64_MAX;
	t->m.last = NULL;
	orr_walk_begin(t->q, &walk);
	for (;;) {
		const struct entry *e = next_of(&t->m);
		compare(orr_walk_next(&walk), e);
		if (!e || wrong)
			break;
		step(t, &walk, e);
	}
	orr_walk_end(&walk);
	t->m.last = NULL;
	for (int i = 0; i < 64; i++)
		t->m.bound[i] = INT64_MAX;
	compare(orr_queue_first(t->q), next_of(&t->m));
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	struct tester *t = calloc(1, sizeof *t);
	t->q = orr_queue_new(w);
	rng_init(&t->rng, 1, "walk", 0);
	return t;
}

static void destroy(void *self)
{
	struct tester *t = self;
	orr_queue_free(t->q);
	free(t);
}

static void add(struct tester *t, struct entry *e)
{
	e->key = (int64_t)rng_below(&t->rng, 20) - 10;
	e->tie = (int64_t)rng_below(&t->rng, 3);
	e->second = (int64_t)rng_below(&t->rng, 30);
	e->is_in = true;
	orr_queue_remove(t->q, e->job);
	orr_queue_add2(t->q, e->job, e->key, e->tie, e->second);
	wrong += orr_queue_key(t->q, e->job) != e->key || orr_queue_tie(t->q, e->job) != e->tie ||
		 orr_queue_second(t->q, e->job) != e->second;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct tester *t = self;
	struct entry *e = &t->m.entry[t->m.n++];
	*e = (struct entry){ .job = j, .number = orr_job_number(w, j), .shape = orr_job_shape(w, j) };
	add(t, e);
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

/* Adds some of the removed jobs again, with different keys. Ends the run when all jobs have arrived. */
static void schedule(void *self, struct orr_jobs *w)
{
	struct tester *t = self;
	size_t in = 0;
	if (t->is_over) /* the run is over; killing a job calls schedule() again */
		return;
	for (int i = 0; i < t->m.n; i++) {
		if (rng_below(&t->rng, 8) == 0)
			add(t, &t->m.entry[i]);
		in += t->m.entry[i].is_in;
	}
	wrong += orr_queue_size(t->q) != in;
	random_walk(t);
	t->is_over = t->m.n == JOBS;
	for (int i = 0; i < JOBS && t->is_over; i++)
		orr_kill(w, t->m.entry[i].job);
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "tester", "walks at random", "jobs", 0, params, &ops,
	sizeof ops };

int main(void)
{
	static char csv[JOBS * 32 + 64];
	struct orr_error err;
	size_t at = (size_t)snprintf(csv, sizeof csv, "submit_s,duration_s,gpus\n");
	for (int i = 0; i < JOBS; i++)
		at += (size_t)snprintf(csv + at, sizeof csv - at, "%d,1,%d\n", i, 1 + i * 7 % SHAPES);
	struct run_result *r = replay(csv, "1x8", "count", &policy, "", &err);
	ok(r && !wrong && asked > 10 * JOBS, "walks with skips, limits, peeks and removals: as by search (%d answers)", asked);
	result_free(r);
	return done();
}

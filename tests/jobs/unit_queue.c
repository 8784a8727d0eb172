/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policies' queue compared with a plain array, under random additions, removals and walks. The queue needs a world to query
 * jobs, so a policy drives it from schedule() and ends the run after enough rounds.
 */
#include "base/param.h"
#include "base/rng.h"
#include "jobs/jobs.h"
#include "tests/tap.h"

#include <orrery/jobs.h>
#include <stdlib.h>
#include <unistd.h>

enum { JOBS = 200, SHAPES = 7 };

struct entry {
	orr_job job;
	int64_t key, tie;
	uint64_t number;
	uint32_t shape;
};

struct game {
	struct orr_queue *queue;
	struct entry all[JOBS]; /* all jobs */
	struct entry in[JOBS];  /* the jobs in the queue, in its order */
	size_t n_all, n;
	struct rng rng;
	int rounds;
	const char *wrong;
};

static struct game game;

static int compare(const struct entry *a, const struct entry *b)
{
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->tie != b->tie)
		return a->tie < b->tie ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static size_t find(orr_job j)
{
	size_t i = 0;
	while (i < game.n && game.in[i].job != j)
		i++;
	return i;
}

static void reference_remove(size_t i)
{
	memmove(game.in + i, game.in + i + 1, (game.n - i - 1) * sizeof *game.in);
	game.n--;
}

static void reference_add(const struct entry *e)
{
	size_t i = find(e->job);
	if (i < game.n)
		reference_remove(i);
	for (i = 0; i < game.n && compare(&game.in[i], e) < 0;)
		i++;
	memmove(game.in + i + 1, game.in + i, (game.n - i) * sizeof *game.in);
	game.in[i] = *e;
	game.n++;
}

static void expect(bool is_good, const char *what)
{
	if (!is_good && !game.wrong)
		game.wrong = what;
}

static int64_t below(uint64_t n)
{
	return (int64_t)rng_below(&game.rng, n);
}

static void change(void)
{
	struct entry e = game.all[below(game.n_all)];
	size_t i = find(e.job);
	expect(orr_queue_has(game.queue, e.job) == (i < game.n), "has");
	if (below(2)) {
		/* Few keys are drawn, so that many are equal; some are at the ends of the range. */
		e.key = below(20) ? below(8) : below(2) ? INT64_MAX : INT64_MIN;
		e.tie = below(3);
		if (i < game.n)
			orr_queue_remove(game.queue, e.job);
		orr_queue_add(game.queue, e.job, e.key, e.tie);
		reference_add(&e);
		expect(orr_queue_key(game.queue, e.job) == e.key && orr_queue_tie(game.queue, e.job) == e.tie, "key and tie");
	} else {
		expect(orr_queue_remove(game.queue, e.job) == (i < game.n), "remove says whether it was in");
		if (i < game.n)
			reference_remove(i);
	}
	expect(orr_queue_size(game.queue) == game.n, "size");
	expect(orr_queue_first(game.queue) == (game.n ? game.in[0].job : 0), "first");
}

/* Returns the next entry of the reference after `last` whose shape is not skipped. */
static size_t following(const struct entry *last, const bool *skipped)
{
	size_t i = 0;
	while (i < game.n && ((last && compare(&game.in[i], last) <= 0) || skipped[game.in[i].shape]))
		i++;
	return i;
}

/* Walks through the queue: removes some of the returned jobs, skips shapes, peeks at random, and sometimes starts an inner walk. */
static void walk(int depth)
{
	struct orr_walk w;
	bool skipped[64] = { false };
	struct entry last;
	bool has_last = false;
	orr_walk_begin(game.queue, &w);
	for (int64_t most = below(3) ? 1000 : below(20); most >= 0; most--) {
		size_t i = following(has_last ? &last : NULL, skipped);
		orr_job want = i < game.n ? game.in[i].job : 0;
		if (!below(3))
			expect(orr_walk_peek(&w) == want, "peek");
		orr_job got = orr_walk_next(&w);
		expect(got == want, "walk: next");
		if (!got || game.wrong)
			break;
		last = game.in[i];
		has_last = true;
		if (!below(4)) {
			expect(orr_queue_remove(game.queue, got), "removal during a walk");
			reference_remove(i);
		}
		if (!below(6)) {
			if (!below(2))
				orr_walk_peek(&w);
			orr_walk_skip_shape(&w);
			skipped[last.shape] = true;
		}
		if (depth && !below(30) && !game.wrong) {
			struct orr_walk inner;
			orr_job first;
			orr_walk_begin(game.queue, &inner);
			first = orr_walk_next(&inner);
			expect(first == (game.n ? game.in[0].job : 0), "a walk inside a walk");
			orr_walk_end(&inner);
		}
	}
	orr_walk_end(&w);
}

/* ---- the world in which the queue runs ---- */

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)args, (void)err;
	game.queue = orr_queue_new(w);
	return &game;
}

static void destroy(void *self)
{
	(void)self;
	orr_queue_free(game.queue);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self;
	game.all[game.n_all++] = (struct entry){ j, 0, 0, orr_job_number(w, j), orr_job_shape(w, j) };
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

static void schedule(void *self, struct orr_jobs *w)
{
	(void)self;
	if (game.n_all < JOBS)
		return;
	for (int i = 0; i < game.rounds && !game.wrong; i++) {
		for (int64_t changes = below(30); changes > 0; changes--)
			change();
		walk(1);
	}
	orr_give_up(w, 0, "played enough");
}

static const struct orr_param params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };
static const struct orr_policy player = { ORR_ABI_VERSION, sizeof player, "player", "", "jobs", 0, params, &ops, sizeof ops };

int main(void)
{
	char path[] = "/tmp/orrery-queue.XXXXXX";
	struct orr_error err = { 0 };
	static struct jobs_blocks blocks;
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		return 2;
	fputs("submit_s,duration_s,gpus\n", f);
	for (int i = 0; i < JOBS; i++)
		fprintf(f, "0,1,%d\n", i * 31 % SHAPES + 1);
	fclose(f);
	game.rounds = getenv("ORR_SANITIZED") ? 3000 : 20000;
	rng_init(&game.rng, 1, "queue", 0);
	struct jobset *jobs = jobset_load(path, "orrery", NULL, 1, &err);
	struct cluster *c = cluster_load("1x8", &err);
	struct orr_args *options = args_new(jobs_options, "jobs", &err), *none = args_new(params, "player", &err);
	struct jobs_config config = { .jobs = jobs,
		.cluster = c,
		.placement = placement_find("count"),
		.options = options,
		.until_ns = ORR_NEVER,
		.policy_timeout_s = 1000 };
	struct run_result *r = result_new();
	int rc = jobs_run(&config, &player, none, "player", r, &blocks, &err);
	ok(rc == ORR_EFAIL && strstr(err.text, "played enough"), "all rounds were played (%s)", err.text);
	ok(game.n_all == JOBS && !game.wrong, "%d rounds as with a sorted array%s%s", game.rounds, game.wrong ? "; differs: " : "",
		game.wrong ? game.wrong : "");
	result_free(r);
	args_free(options);
	args_free(none);
	cluster_free(c);
	jobset_free(jobs);
	unlink(path);
	return done();
}

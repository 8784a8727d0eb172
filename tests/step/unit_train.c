/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The step world and the learner together: a policy's schedule gives the results of the same schedule written by hand, at the
 * times of the step world. The policies are functions of this file, whose times are computed by hand.
 */
#include "learn/train.h"
#include "tests/learn/learn_drive.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

enum { N = 4 };
static const char network[] = "star:bw=1GBps,lat=0"; /* 4e9 bytes take 6 s in a ring of 4 and 4 s in a ring of 2 */

struct state {
	orr_op last[N], sum[2], pull[N];
	bool (*is_silent)(void);
};

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)s, (void)a, (void)err;
	return mem_zalloc(1, sizeof(struct state));
}

static void does(struct orr_step *s, orr_op op, enum orr_update_kind kind)
{
	orr_updates(s, op, &(struct orr_update){ .kind = kind });
}

static orr_op all_reduce(struct orr_step *s, uint32_t *device, uint32_t n, enum orr_update_kind kind)
{
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 4e9 };
	orr_op sum = orr_collective(s, &(struct orr_group){ device, n }, &c);
	does(s, sum, kind);
	return sum;
}

/* Builds an iteration of 7.5 s: 1 s of gradient, 6 s of all-reduce, 0.5 s of update. */
static int bsp_build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)k, (void)err;
	struct state *st = self;
	uint32_t all[N] = { 0, 1, 2, 3 };
	orr_op work[N];
	for (uint32_t d = 0; d < N; d++) {
		work[d] = orr_compute(s, d, ORR_BACKWARD, 1);
		does(s, work[d], ORR_GRADIENT);
		orr_after(s, work[d], st->last[d]);
	}
	orr_op sum = all_reduce(s, all, N, ORR_AVERAGE_GRADIENTS);
	for (uint32_t d = 0; d < N; d++)
		orr_after(s, sum, work[d]);
	for (uint32_t d = 0; d < N; d++) {
		st->last[d] = orr_compute(s, d, ORR_OPTIMIZER, 0.5);
		does(s, st->last[d], ORR_LOCAL_UPDATE);
		orr_after(s, st->last[d], sum);
	}
	return 0;
}

/* Builds an iteration of 5.5 s with pairs as in DS-Sync's code: 1 s of gradient, 0.5 s of update, 4 s of all-reduce in the pair. */
static int pairs_build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)err;
	struct state *st = self;
	uint32_t pair[2][2] = { { 0, k % 2 ? 3 : 1 }, { k % 2 ? 1 : 2, k % 2 ? 2 : 3 } };
	for (int p = 0; p < 2; p++) {
		orr_op update[2];
		for (int i = 0; i < 2; i++) {
			uint32_t d = pair[p][i];
			orr_op work = orr_compute(s, d, ORR_BACKWARD, 1);
			does(s, work, ORR_GRADIENT);
			orr_after(s, work, st->last[d]);
			update[i] = orr_compute(s, d, ORR_OPTIMIZER, 0.5);
			does(s, update[i], ORR_LOCAL_UPDATE);
			orr_after(s, update[i], work);
		}
		st->sum[p] = all_reduce(s, pair[p], 2, ORR_AVERAGE_PARAMETERS);
		orr_after(s, st->sum[p], update[0]);
		orr_after(s, st->sum[p], update[1]);
	}
	for (int p = 0; p < 2; p++)
		for (int i = 0; i < 2; i++)
			st->last[pair[p][i]] = st->sum[p];
	return 0;
}

/* Builds an iteration in which each worker exchanges data separately with the server on host 4: gradient, push, pull. */
static int server_build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)k, (void)err;
	struct state *st = self;
	for (uint32_t d = 0; d < N; d++) {
		orr_op work = orr_compute(s, d, ORR_BACKWARD, 1 + d), push = orr_transfer(s, d, N, 0.1e9);
		does(s, work, ORR_GRADIENT);
		orr_after(s, work, st->pull[d]);
		orr_updates(s, push, &(struct orr_update){ .kind = ORR_PUSH, .worker = d });
		orr_after(s, push, work);
		st->pull[d] = orr_transfer(s, N, d, 0.1e9);
		orr_updates(s, st->pull[d], &(struct orr_update){ .kind = ORR_PULL, .worker = d });
		orr_after(s, st->pull[d], push);
	}
	return 0;
}

static int silent_build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)k, (void)err;
	struct state *st = self;
	orr_op work = orr_compute(s, 0, ORR_BACKWARD, 1);
	orr_after(s, work, st->last[0]);
	st->last[0] = work;
	return 0;
}

static int wrong_build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self, (void)k, (void)err;
	does(s, orr_compute(s, 0, ORR_BACKWARD, 1), ORR_SEND_SLICE);
	return 0;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
#define POLICY(name)                                                                                                             \
	static const struct orr_step_ops name##_ops = { .create = create, .destroy = mem_free, .build = name##_build };          \
	static const struct orr_policy name##_policy = { ORR_ABI_VERSION, sizeof name##_policy, #name, "", "step", 0, no_params, \
		&name##_ops }
POLICY(bsp);
POLICY(pairs);
POLICY(server);
POLICY(silent);
POLICY(wrong);

static struct orr_error error;

static int train(const struct orr_policy *p, const char *settings, int threads, struct train_result *out)
{
	struct fixture *f = fixture_new("4x1:v100", network, "alexnet", 8);
	struct orr_args *a = args_new(learn_options, "learn", &error);
	char *text = mem_strdup(settings), *save = NULL;
	int rc = 0;
	for (char *s = strtok_r(text, " ", &save); s && !rc; s = strtok_r(NULL, " ", &save))
		rc = strncmp(s, "step.", 5) ? args_set_pair(a, s, &error) : (fixture_set(f, s + 5), 0);
	mem_free(text);
	struct orr_args *none = args_new(no_params, p->name, &error);
	struct train_config c = { .step = &f->config, .options = a, .threads = threads };
	if (!rc)
		rc = train_run(&c, p, none, p->name, out, &error);
	args_free(none);
	args_free(a);
	fixture_free(f);
	return rc;
}

static const char common[] = "problem=logistic rows=512 inputs=16 batch=8 lr=0.5 eval_samples=0 eval_updates=4 seeds=2 ";

static struct train_result trained(const struct orr_policy *p, const char *more, int threads)
{
	struct train_result r = { 0 };
	char text[512];
	snprintf(text, sizeof text, "%s%s", common, more);
	if (!ok(!train(p, text, threads, &r), "%s runs%s", p->name, error.text))
		exit(1);
	return r;
}

static struct learn *by_hand(uint64_t seed)
{
	struct learn_config c;
	learn_config_default(&c);
	c.problem = LEARN_LOGISTIC;
	c.rows = 512;
	c.inputs = 16;
	c.batch = 8;
	c.lr = 0.5;
	c.eval_samples = 0;
	c.eval_updates = 4;
	c.seed = seed;
	return learn_new(&c, &drive_error);
}

static void same_as_by_hand(void)
{
	struct train_result t = trained(&bsp_policy, "max_samples=3200", 1);
	bool same = t.n_seeds == 2, in_time = true;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		struct learn *l = by_hand(seed);
		for (int k = 0; k < 100; k++)
			bsp(l, 2 * k, N);
		learn_finish(l);
		size_t n;
		const struct learn_point *p = learn_series(l, &n);
		const struct train_seed *s = &t.seed[seed - 1];
		same &= n == s->n_points;
		for (size_t i = 0; i < n && same; i++) {
			same &= p[i].loss == s->point[i].loss;
			in_time &= fabs(s->point[i].time_s - 7.5 * (double)i) < 1e-6;
		}
		learn_free(l);
	}
	ok(same, "BSP through the step world: the losses of the schedule written by hand, to the bit");
	ok(in_time, "BSP: losses are recorded at the ends of iterations of 7.5 s");
	near_to(t.samples_per_s.mean, 4 * 8 / 7.5, 1e-9, "BSP: throughput is 32 samples per 7.5 s");
	ok(t.seed[0].final_loss != t.seed[1].final_loss, "seeds differ");
	train_result_free(&t);
	t = trained(&pairs_policy, "max_samples=3200", 1);
	struct learn *l = by_hand(1);
	for (uint32_t k = 0; k < 100; k++) {
		uint32_t group[N];
		gradients(l, 2 * k, N);
		for (uint32_t d = 0; d < N; d++)
			one(l, 2 * k + 1, ORR_LOCAL_UPDATE, d);
		pair4_groups(k, group);
		average_groups(l, 2 * k + 1, N, group);
	}
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	ok(p[n - 1].loss == t.seed[0].final_loss && p[n - 1].dispersion == t.seed[0].dispersion && p[n - 1].dispersion > 0,
		"DS-Sync's pairs: the loss and dispersion of the schedule written by hand");
	near_to(t.samples_per_s.mean, 4 * 8 / 5.5, 1e-9, "DS-Sync's pairs: iterations take 5.5 s");
	learn_free(l);
	train_result_free(&t);
}

static void time_to_target(void)
{
	struct train_result b = trained(&bsp_policy, "target=0.45 max_samples=20000 seeds=10", 1),
			    p = trained(&pairs_policy, "target=0.45 max_samples=20000 seeds=10", 1);
	printf("# to a loss of 0.45: BSP %.1f s (%.1f .. %.1f), %.0f samples; pairs %.1f s (%.1f .. %.1f), %.0f samples\n",
		b.time_to_target_s.mean, b.time_to_target_s.low, b.time_to_target_s.high, b.samples_to_target.mean, p.time_to_target_s.mean,
		p.time_to_target_s.low, p.time_to_target_s.high, p.samples_to_target.mean);
	ok(b.reached == 10 && p.reached == 10, "every seed meets the target");
	/* Samples and time are measured at the same points. BSP takes 7.5 s per 32 samples, the pairs take 5.5 s. The tolerance is
	 * one iteration in flight. */
	ok(fabs(b.time_to_target_s.mean - 7.5 * b.samples_to_target.mean / 32) < 7.5 &&
			fabs(p.time_to_target_s.mean - 5.5 * p.samples_to_target.mean / 32) < 5.5,
		"time to the target is its samples times the time of an iteration");
	ok(b.time_to_target_s.low < b.time_to_target_s.mean && b.time_to_target_s.high > b.time_to_target_s.mean,
		"time to the target has a confidence interval over seeds");
	ok(b.seed[0].samples < 20000, "a run ends at its target");
	struct run_result *r = result_new();
	train_metrics(&b, r);
	const struct metric *m = result_find(r, "time_to_target_s");
	ok(m && m->value == b.time_to_target_s.mean && m->ci_low == b.time_to_target_s.low && result_find(r, "seeds_reached")->value == 10,
		"metrics are filled in");
	const struct series *s = &r->series[0];
	ok(r->n_series == 1 && fabs(s->value[0] - log(2)) < 1e-12 && s->value[s->n - 1] < 0.5 && s->time_ns[s->n - 1] > s->time_ns[0],
		"the series of losses falls from log 2");
	result_free(r);
	train_result_free(&b);
	train_result_free(&p);
	b = trained(&bsp_policy, "target=1e-9 max_samples=320", 1);
	ok(!b.reached && isnan(b.time_to_target_s.mean) && isinf(b.seed[0].time_to_target_s), "a target not met has no time");
	train_result_free(&b);
}

static void asynchronous(void)
{
	struct train_result t = trained(&server_policy, "max_samples=4000 step.stragglers=lognormal seeds=3", 1),
			    u = trained(&server_policy, "max_samples=4000 step.stragglers=lognormal seeds=3", 3);
	bool same = true;
	for (int i = 0; i < 3; i++)
		same &= t.seed[i].final_loss == u.seed[i].final_loss && t.seed[i].time_s == u.seed[i].time_s &&
			t.seed[i].staleness == u.seed[i].staleness;
	ok(same && t.seed[0].time_s != t.seed[1].time_s, "seeds in parallel: the same bytes; stragglers differ by seed");
	/* Workers take 1 to 4 s per update. Between two updates of a worker, the other workers make about (total rate) / (its rate) -
	 * 1 updates. The mean over updates is n - 1 = 3 for any speeds; it is smaller if an update arrives during the pull. */
	printf("# staleness %.3f\n", t.seed[0].staleness);
	ok(fabs(t.seed[0].staleness - 3) < 0.5, "four workers and a server: about 3 updates stale");
	train_result_free(&t);
	train_result_free(&u);
}

static void refusals(void)
{
	struct train_result r;
	ok(train(&silent_policy, "seeds=2", 1, &r) == ORR_EFAIL && strstr(error.text, "policy silent") && strstr(error.text, "orr_updates"),
		"a policy that reports no updates is refused: %s", error.text);
	ok(train(&wrong_policy, "seeds=1", 1, &r) == ORR_EFAIL && strstr(error.text, "sending of a slice"),
		"an op whose kind of update does not match its work is refused: %s", error.text);
	ok(train(&bsp_policy, "seeds=1 split=even shards=5000", 1, &r) == ORR_EINPUT && strstr(error.text, "learn.shards"),
		"a wrong option is refused: %s", error.text);
}

int main(void)
{
	same_as_by_hand();
	time_to_target();
	asynchronous();
	refusals();
	ok(!drive_errors, "no unexpected failure");
	return done();
}

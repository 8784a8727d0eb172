/* SPDX-License-Identifier: GPL-3.0-or-later */
/* spot_parcae_run.c - parcae in the spot world: a run computed by hand, a notice, and the ranking of its variants */
#include "tests/tap.h"

#include "spot/spot.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_spot_parcae;

static struct orr_error err;

struct setting {
	const char *rows;      /* bamboo's format */
	const char *generator; /* or that */
	const char *job;       /* a name, or JSON */
	const char *set[6], *options[4];
	uint64_t seed;
	int64_t until;
};

static struct availset *capacity_of(const struct setting *s)
{
	char path[] = "/tmp/spot_parcae_XXXXXX";
	if (s->generator)
		return availset_load(s->generator, NULL, NULL, s->seed, &err);
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fputs(s->rows, f);
	fclose(f);
	struct availset *set = availset_load(path, "bamboo", NULL, 1, &err);
	unlink(path);
	return set;
}

/* Returns the result, or NULL after an error. */
static struct run_result *run(const struct setting *s)
{
	memset(&err, 0, sizeof err);
	struct availset *set = capacity_of(s);
	struct elastic *job = s->job[0] == '{' ? elastic_parse("job", s->job, strlen(s->job), &err) : elastic_load(s->job, &err);
	struct orr_args *options = args_new(spot_options, "spot", &err), *args = args_new(orr_policy_spot_parcae.params, "parcae", &err);
	int rc = !set || !job;
	for (int i = 0; s->options[i]; i++)
		rc |= args_set_pair(options, s->options[i], &err);
	for (int i = 0; s->set[i]; i++)
		rc |= args_set_pair(args, s->set[i], &err);
	struct run_result *r = result_new();
	struct spot_config c = { .capacity = set,
		.job = job,
		.options = options,
		.seed = s->seed,
		.until_ns = s->until,
		.check = true,
		.record_iterations = true,
		.max_rows = 1000000,
		.policy_timeout_s = 60 };
	if (!rc)
		rc = spot_run(&c, &orr_policy_spot_parcae, args, "parcae", r, &err);
	args_free(options);
	args_free(args);
	elastic_free(job);
	availset_free(set);
	if (!rc)
		return r;
	printf("# %s\n", err.text);
	result_free(r);
	return NULL;
}

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}

static const char job[] =
	"{\"name\":\"small-bert\",\"source\":\"a test\",\"samples_per_step\":10,\"points\":[[1,1,1000],[1,2,600],[2,2,400]]}";

static bool step_at(const struct run_result *r, size_t i, double start_s, double end_s)
{
	bool good =
		r && i < r->n_iterations && fabs(r->iterations[i].start_s - start_s) < 1e-6 && fabs(r->iterations[i].end_s - end_s) < 1e-6;
	if (!good && r && i < r->n_iterations)
		printf("# step %zu from %.9g to %.9g s\n", i, r->iterations[i].start_s, r->iterations[i].end_s);
	return good;
}

/*
 * Tests a run computed by hand. Two pipelines of two instances start when their groups exist: after 6.6 + 1.535 + 0.03 + 1.752 = 9.917
 * s. After 225 steps of 0.4 s one instance is removed during a step. A migration within stages takes 1.065 s; one pipeline is left. The
 * instance that joins at 130 s is used after the first full interval. The 132nd step of 0.6 s ends at 180.365 s; copying 2.0448 GB of a
 * stage takes 2.27802535 s, and the start takes 9.917 s again.
 */
static void test_by_hand(void)
{
	struct setting s = { .rows = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n100100,remove,d\n130000,add,e\n300000,remove,a\n",
		.job = job,
		.set = { "predictor=last" },
		.until = 200 * ORR_SECOND };
	struct run_result *r = run(&s);
	ok(r != NULL, "a small run");
	ok(step_at(r, 0, 9.917, 10.317), "training begins once two pipelines are made");
	ok(step_at(r, 224, 99.517, 99.917), "225 steps before the loss");
	ok(step_at(r, 225, 101.165, 101.765), "one pipeline after a migration within stages");
	ok(step_at(r, 356, 179.765, 180.365), "132 steps of the single pipeline, the last one complete");
	ok(step_at(r, 357, 192.56002535, 192.96002535), "two pipelines again after a migration between stages");
	near_to(metric(r, "intra_migrations"), 1, 0, "one migration within stages");
	near_to(metric(r, "inter_migrations"), 1, 0, "one migration between stages");
	near_to(metric(r, "pipeline_migrations"), 1, 0, "one migration at the start");
	result_free(r);
}

/* Tests the throughput-optimal baseline, which trains from checkpoints. Each migration except the first start takes 14 s longer, so
 * the step that begins at 101.165 s without checkpoints begins 14 s later. */
static void test_checkpoints(void)
{
	static const char *const rows = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n100100,remove,d\n300000,remove,a\n";
	struct setting s = { .rows = rows, .job = job, .set = { "choose=throughput" }, .until = 200 * ORR_SECOND };
	struct run_result *r = run(&s);
	ok(step_at(r, 0, 9.917, 10.317), "choose=throughput: the first start reads no checkpoint");
	ok(step_at(r, 225, 115.165, 115.765), "choose=throughput: a migration saves and loads a checkpoint in 14 s");
	result_free(r);
	s = (struct setting){ .rows = rows, .job = job, .set = { "choose=throughput", "checkpoint=0" }, .until = 200 * ORR_SECOND };
	r = run(&s);
	ok(step_at(r, 225, 101.165, 101.765), "checkpoint=0: a migration takes no time for checkpoints");
	result_free(r);
}

/* Tests the same loss with a notice of 60 s: the step in flight at 40.1 s ends at 40.317 s, and the next one begins 1.065 s later. */
static void test_notice(void)
{
	struct setting s = { .rows = "0,add,a\n0,add,b\n0,add,c\n0,add,d\n100100,remove,d\n300000,remove,a\n",
		.job = job,
		.set = { "predictor=last" },
		.options = { "notice=60s" },
		.until = 200 * ORR_SECOND };
	struct run_result *r = run(&s);
	ok(step_at(r, 75, 39.917, 40.317) && step_at(r, 76, 41.382, 41.982), "a loss with notice aborts no step");
	result_free(r);
	s.until = 41 * ORR_SECOND;
	r = run(&s);
	near_to(metric(r, "wasted_part"), 0, 0, "a loss with notice wastes no time");
	result_free(r);
}

/*
 * Tests that the oracle counts each loss once: a removal at 500 s with a notice of 300 s equals a removal at 200 s of an idle instance.
 * c and d join for good. A second pipeline adds 0.5 samples/s and costs 12.2 s of training (300 samples), so it pays off after ten minutes,
 * unless an instance is expected to be lost at 500 s.
 */
static void test_oracle_with_notice(void)
{
	struct setting s = { .rows = "0,add,a\n0,add,b\n0,add,x\n230000,add,c\n230000,add,d\n500000,remove,x\n900000,remove,a\n",
		.job = "{\"name\":\"small-bert\",\"source\":\"a test\",\"samples_per_step\":10,\"points\":[[1,2,408],[2,2,400]]}",
		.set = { "predictor=oracle" },
		.options = { "notice=300s" },
		.until = 600 * ORR_SECOND };
	struct run_result *with = run(&s);
	s.options[0] = NULL;
	s.rows = "0,add,a\n0,add,b\n0,add,x\n200000,remove,x\n230000,add,c\n230000,add,d\n600000,remove,a\n";
	struct run_result *without = run(&s);
	bool is_same = with && without && with->n_iterations == without->n_iterations && with->n_iterations > 1000;
	for (size_t i = 0; is_same && i < with->n_iterations; i++)
		is_same = step_at(with, i, without->iterations[i].start_s, without->iterations[i].end_s);
	ok(is_same, "an instance given notice counts as lost once");
	near_to(metric(with, "inter_migrations"), 1, 0, "the second pipeline is added");
	result_free(with);
	result_free(without);
}

/* Tests the ranking of the variants over half a day of GPT-1.5B at 0.6 losses per instance and hour (means over seeds). Free
 * migrations train the most; the true future is better than predictions; planning is better than the fastest shape. */
static void test_ranks(void)
{
	static const char *const variant[][2] = { { "ideal=true", "predictor=oracle" }, { "predictor=oracle", NULL },
		{ "predictor=arima", NULL }, { "choose=throughput", NULL } };
	enum { VARIANTS = sizeof variant / sizeof *variant };
	uint64_t seeds = getenv("ORR_SANITIZED") ? 2 : 6;
	double sum[VARIANTS] = { 0 }, again = 0;
	for (uint64_t seed = 1; seed <= seeds; seed++)
		for (int v = 0; v < VARIANTS; v++) {
			struct setting s = { .generator = "churn:rate=0.6,slots=32,length=12h,delay=10m",
				.job = "parcae-gpt-1.5b",
				.seed = seed,
				.set = { variant[v][0], variant[v][1] },
				.until = ORR_NEVER };
			struct run_result *r = run(&s);
			sum[v] += metric(r, "samples_per_s") / (double)seeds;
			result_free(r);
		}
	printf("# samples/s: free %.3f, oracle %.3f, arima %.3f, fastest shape %.3f\n", sum[0], sum[1], sum[2], sum[3]);
	ok(sum[0] > sum[1], "free migrations are better than paid ones");
	ok(sum[1] > sum[2], "the known future is better than a forecast");
	ok(sum[2] > sum[3], "planning is better than following the fastest shape");
	for (int i = 0; i < 2; i++) {
		struct setting s = { .generator = "churn:rate=0.6,slots=32,length=2h",
			.job = "parcae-bert",
			.seed = 3,
			.set = { "draws=100" },
			.until = ORR_NEVER };
		struct run_result *r = run(&s);
		if (i)
			near_to(metric(r, "samples_per_s"), again, 0, "the same seed draws the same");
		again = metric(r, "samples_per_s");
		result_free(r);
	}
}

static void test_errors(void)
{
	struct setting s = { .rows = "0,add,a\n1000,remove,a\n",
		.job = "{\"name\":\"x\",\"source\":\"a test\",\"samples_per_step\":1,\"points\":[[1,1,5]]}",
		.set = { "interval=0" },
		.until = ORR_NEVER };
	ok(!run(&s) && strstr(err.text, "interval: expected at least 1s"), "an interval of 0 is an error");
	s.set[0] = "interval=0.999s";
	ok(!run(&s) && strstr(err.text, "interval: expected at least 1s"), "one below 1 s, too");
	s.set[0] = "interval=1s";
	struct run_result *r = run(&s);
	ok(r != NULL, "an interval of 1 s is accepted");
	result_free(r);
}

int main(void)
{
	test_by_hand();
	test_checkpoints();
	test_notice();
	test_oracle_with_notice();
	test_ranks();
	test_errors();
	return done();
}

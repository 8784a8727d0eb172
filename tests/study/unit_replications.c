/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replications in every world: the result of N is the mean of N single runs with the same streams, in any order. Replication k
 * of a generated trace of jobs equals a run of a file with the rows of stream k. A scenario without random draws is rejected.
 */
#include "base/mem.h"
#include "tests/tap.h"
#include "traces/trace.h"
#include "world/run.h"

#include <stdlib.h>
#include <unistd.h>

enum { N = 4 };

static const struct world_output quiet = { .quiet = true, .threads = 1 };

static struct scenario *opened(const char *text, struct orr_error *err)
{
	cJSON *o = cJSON_Parse(text);
	struct scenario *s = o ? scenario_open(o, &quiet, err) : NULL;
	cJSON_Delete(o);
	return s;
}

static struct run_result *named(const struct scenario *s)
{
	struct run_result *r = result_new();
	r->world = mem_strdup(s->world->name);
	r->label = mem_strdup(s->policy[0].label);
	return r;
}

/* Returns all replications, the last one first. */
static struct run_result *all_of(struct scenario *s, struct orr_error *err)
{
	struct run_result *r = named(s);
	struct trial *t = trial_new(s, 0, r);
	for (uint32_t k = N; k-- > 0;)
		trial_run(t, k, NULL, NULL);
	trial_end(t, err);
	trial_free(t);
	return r;
}

static const char *const worlds_of[][3] = {
	{ "jobs", "{\"trace\": \"poisson:rate=0.01,n=40\", \"cluster\": \"2x4\", \"policies\": [\"fifo\"], \"replications\": 4}",
		"jct_mean" },
	{ "jobs on lent nodes",
		"{\"trace\": \"poisson:rate=0.01,n=40\", \"cluster\": \"4x4\", \"policies\": [\"fifo\"], \"replications\": 4,"
		" \"capacity\": {\"trace\": \"churn:slots=4,rate=1,length=2h\", \"repeat\": true, \"price\": 3}}",
		"usd" },
	{ "step",
		"{\"world\": \"step\", \"model\": \"lenet5\", \"cluster\": \"2x2:v100\", \"policies\": [\"allreduce\"],"
		" \"step\": {\"stragglers\": \"lognormal\"}, \"replications\": 4}",
		"iteration_s" },
	{ "serve",
		"{\"world\": \"serve\", \"trace\": \"poisson:rate=5,n=40,prompt=200,output=20\", \"cluster\": \"1x2:a100\", \"models\": "
		"[\"llama2-7b\"],"
		" \"policies\": [\"vllm\"], \"replications\": 4}",
		"ttft_mean" },
	{ "spot",
		"{\"world\": \"spot\", \"trace\": \"hazard:p=0.3,slots=16,length=4h\", \"job\": \"bamboo-bert\", \"policies\": "
		"[\"bamboo\"],"
		" \"replications\": 4}",
		"samples_per_s" },
	{ "mixed",
		"{\"world\": \"mixed\", \"cluster\": \"2x4:a100\", \"jobs\": {\"trace\": \"poisson:rate=0.01,n=20\"},"
		" \"serve\": {\"trace\": \"poisson:rate=5,n=40,prompt=200,output=20\", \"models\": [\"llama2-7b\"], \"deployments\": "
		"[{\"replicas\": 1}]},"
		" \"policies\": [\"fifo+vllm\"], \"replications\": 4}",
		"jobs.jct_mean" },
};
enum { WORLDS = sizeof worlds_of / sizeof *worlds_of };

static double value(const struct run_result *r, const char *metric)
{
	const struct metric *m = result_find(r, metric);
	return m ? m->value : NAN;
}

static void is_mean(const char *what, const char *text, const char *metric)
{
	struct orr_error err = { 0 };
	struct scenario *s = opened(text, &err);
	if (!ok(s != NULL, "%s: opened %s", what, err.text))
		return;
	double v[N], sum = 0;
	bool is_equal = true, differs = false;
	struct run_result *all = all_of(s, &err);
	for (uint32_t k = 0; k < N; k++) {
		struct run_result *one = named(s);
		is_equal &= !s->world->run(s, 0, k, one, NULL, NULL, &err);
		v[k] = value(one, metric);
		sum += v[k];
		differs |= fabs(v[k] - v[0]) > 0;
		result_free(one);
	}
	ok(is_equal && differs, "%s: %s differs between replications %s", what, metric, err.text);
	near_to(value(all, metric), sum / N, 1e-14, "the result is the mean of single runs with those streams");
	ok(value(all, "replications") == N, "over their number");
	is_equal = false;
	for (size_t i = 0; i < all->n_series; i++)
		if (!strncmp(all->series[i].name, "replications:", 13) && !strcmp(all->series[i].name + 13, metric))
			is_equal = all->series[i].n == N && !memcmp(all->series[i].value, v, sizeof v);
	ok(is_equal, "the values of the replications are a series");
	result_free(all);
	scenario_close(s);
}

/* ---- streams ---- */

static char path[] = "/tmp/orrery-replications.XXXXXX";

static void write_rows(const struct jobset *set, uint64_t k)
{
	FILE *f = fopen(path, "w");
	struct jobcursor *c = jobset_open(set, k);
	struct job_rec r;
	fprintf(f, "submit_s,duration_s,gpus\n");
	while (jobcursor_next(c, &r))
		fprintf(f, "%.9f,%.9f,%u\n", (double)r.submit_ns / 1e9, (double)r.duration_ns / 1e9, r.gpus);
	jobcursor_close(c);
	fclose(f);
}

static void is_like_a_file(void)
{
	struct orr_error err = { 0 };
	struct scenario *s = opened(
		"{\"trace\": \"philly-like:days=2\", \"cluster\": \"8x8\", \"policies\": [\"las\"], \"replications\": 4, \"seed\": 3}",
		&err);
	struct jobset *set = jobset_load("philly-like:days=2", NULL, NULL, 3, &err);
	char text[200];
	for (uint32_t k = 0; s && set && k < 3; k++) {
		write_rows(set, k);
		snprintf(text, sizeof text, "{\"trace\": \"%s\", \"format\": \"orrery\", \"cluster\": \"8x8\", \"policies\": [\"las\"]}",
			path);
		struct scenario *file = opened(text, &err);
		struct run_result *a = named(s), *b = named(s);
		bool is_run = file && !s->world->run(s, 0, k, a, NULL, NULL, &err) && !file->world->run(file, 0, 0, b, NULL, NULL, &err);
		ok(is_run && value(a, "jct_mean") == value(b, "jct_mean") && value(a, "preemptions") == value(b, "preemptions"),
			"replication %u runs the jobs of stream %u %s", k, k, err.text);
		result_free(a);
		result_free(b);
		scenario_close(file);
	}
	jobset_free(set);
	scenario_close(s);
}

/* Tests replications of a run whose only random input is the failures of nodes. */
static void failures_differ(void)
{
	char text[512];
	FILE *f = fopen(path, "w");
	fprintf(f, "submit_s,duration_s,gpus\n");
	for (int i = 0; i < 40; i++)
		fprintf(f, "%d,3600,1\n", i);
	fclose(f);
	snprintf(text, sizeof text,
		"{\"trace\": \"%s\", \"cluster\": \"2x4\", \"policies\": [\"fifo\"], \"failures\": {\"mtbf\": \"4h\"}, \"replications\": "
		"4}",
		path);
	is_mean("jobs whose nodes fail", text, "jct_mean");
	f = fopen(path, "w");
	fprintf(f, "arrival_s,prompt_tokens,output_tokens\n");
	for (int i = 0; i < 200; i++)
		fprintf(f, "%d,500,100\n", i);
	fclose(f);
	snprintf(text, sizeof text,
		"{\"world\": \"serve\", \"trace\": \"%s\", \"cluster\": \"2x2:a100\", \"models\": [\"llama2-7b\"], \"policies\": "
		"[\"vllm\"],"
		" \"failures\": {\"mtbf\": \"2m\", \"mttr\": \"1m\"}, \"replications\": 4}",
		path);
	is_mean("serving on nodes that fail", text, "completion_mean");
}

/* ---- scenarios without random draws ---- */

static void refuse(const char *what, const char *text, const char *change)
{
	struct orr_error err = { 0 };
	struct scenario *s = opened(text, &err);
	ok(!s && err.code == ORR_EINPUT && strstr(err.text, "no input is random, so 3 replications would be 3 equal runs: expected 1"),
		"%s: equal runs are refused (%s)", what, err.text);
	scenario_close(s);
	err = (struct orr_error){ 0 };
	char *random = mem_alloc(strlen(text) + strlen(change) + 8);
	sprintf(random, "%.*s, %s}", (int)strlen(text) - 1, text, change);
	s = opened(random, &err);
	ok(s != NULL, "%s: not with %s %s", what, change, err.text);
	scenario_close(s);
	mem_free(random);
}

static void refusals(void)
{
	char text[512];
	FILE *f = fopen(path, "w");
	fprintf(f, "submit_s,duration_s,gpus\n0,10,1\n5,10,1\n");
	fclose(f);
	snprintf(text, sizeof text, "{\"trace\": \"%s\", \"cluster\": \"2x4\", \"policies\": [\"fifo\"], \"replications\": 3}", path);
	refuse("jobs", text, "\"failures\": {\"mtbf\": \"1h\"}");
	refuse("step",
		"{\"world\": \"step\", \"model\": \"lenet5\", \"cluster\": \"2x2:v100\", \"policies\": [\"allreduce\"], \"replications\": "
		"3}",
		"\"step\": {\"contention_p\": 0.5}");
	snprintf(text, sizeof text,
		"{\"world\": \"mixed\", \"cluster\": \"2x4\", \"jobs\": {\"trace\": \"%s\"}, \"policies\": [\"fifo\"], \"replications\": "
		"3}",
		path);
	refuse("mixed", text, "\"failures\": {\"mtbf\": \"1h\"}");
	f = fopen(path, "w");
	fprintf(f, "arrival_s,prompt_tokens,output_tokens\n0,10,10\n5,10,10\n");
	fclose(f);
	snprintf(text, sizeof text,
		"{\"world\": \"serve\", \"trace\": \"%s\", \"cluster\": \"1x2:a100\", \"models\": [\"llama2-7b\"], \"policies\": "
		"[\"vllm\"],"
		" \"replications\": 3}",
		path);
	refuse("serve", text, "\"serve\": {\"router\": \"power-of-two\"}");
	f = fopen(path, "w");
	fprintf(f, "time_s,event,node\n0,add,a\n5,add,b\n60,remove,a\n");
	fclose(f);
	snprintf(text, sizeof text,
		"{\"world\": \"spot\", \"trace\": \"%s\", \"job\": \"bamboo-bert\", \"policies\": [\"checkpoint\"], \"until\": \"1h\","
		" \"replications\": 3}",
		path);
	refuse("spot", text, "\"prices\": \"price:mean=2\"");
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	for (size_t w = 0; w < WORLDS; w++)
		is_mean(worlds_of[w][0], worlds_of[w][1], worlds_of[w][2]);
	is_like_a_file();
	failures_differ();
	refusals();
	unlink(path);
	return done();
}

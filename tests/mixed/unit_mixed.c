/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several worlds on one clock: random small clusters, traces and failures under all laws of --check, and policies that fail or never
 * act in either world. By definition every run ends; jobs lose GPUs only to a failed node or, with serve_first, to replicas; equal
 * inputs give equal results.
 */
#include "base/mem.h"
#include "cluster/placement.h"
#include "mixed/mixed.h"

#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const struct orr_policy orr_policy_fifo, orr_policy_fjf, orr_policy_srtf, orr_policy_las, orr_policy_easy_backfill,
	orr_policy_optimus, orr_policy_gavel, orr_policy_serve_fifo, orr_policy_serve_clipper, orr_policy_serve_orca, orr_policy_serve_vllm;

static const char table[] = "{\"name\": \"m\", \"source\": \"made up for the test\", \"kind\": \"table\", \"batch\": [1, 4], "
			    "\"latency_ms\": [4000, 6000]}";
static const char language[] =
	"{\"name\": \"m\", \"source\": \"made up for the test\", \"kind\": \"llm\", \"weight_bytes\": 1e9, "
	"\"kv_bytes_per_token\": 1e5, \"curves\": {\"prompt_tokens\": [1, 1000], \"prompt_s\": [0.1, 1], \"decodes\": [1, 64], "
	"\"decode_s\": [0.05, 0.1]}}";

static uint64_t dice_state;
static uint32_t dice(uint32_t n)
{
	dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice_state >> 33) % n;
}

struct mixed_case {
	const char *cluster, *jobs, *requests, *model, *serve_options, *placement;
	const struct orr_policy *jobs_policy, *serve_policy;
	struct serve_deployment deployment;
	double mtbf_s, mttr_s, until_s;
	bool serve_first;
	uint64_t seed;
};

static bool set_all(struct orr_args *args, const char *settings, struct orr_error *err)
{
	char text[512], *save = NULL;
	snprintf(text, sizeof text, "%s", settings);
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
		if (args_set_pair(args, pair, err))
			return false;
	return true;
}

/* Runs a case; returns NULL if the run ended with an error. The rows have no names, because the traces own the names. */
static struct run_result *run(const struct mixed_case *c, struct orr_error *err)
{
	struct run_result *r = result_new();
	struct cluster *cluster = cluster_load(c->cluster, err);
	struct served *model = served_parse("model", c->model, strlen(c->model), err);
	struct device device = { .memory_bytes = 4e9 };
	const struct device *devices[CLUSTER_MAX_TYPES];
	for (size_t i = 0; i < CLUSTER_MAX_TYPES; i++)
		devices[i] = &device;
	struct orr_args *jobs_options_args = args_new(jobs_options, "jobs", err), *serve_args = args_new(serve_options, "serve", err);
	struct mixed_config m = { .jobs_policy = c->jobs_policy,
		.serve_policy = c->serve_policy,
		.cluster = cluster,
		.placement = placement_find(c->placement ? c->placement : "consolidate"),
		.serve_first = c->serve_first,
		.seed = c->seed,
		.until_ns = c->until_s > 0 ? (int64_t)(c->until_s * 1e9) : ORR_NEVER,
		.check = true,
		.jobs_args = args_new(c->jobs_policy->params, "policy", err),
		.serve_args = args_new(c->serve_policy->params, "policy", err) };
	struct failures *failures = c->mtbf_s > 0 ? failures_from_hazard((int64_t)(c->mtbf_s * 1e9), (int64_t)(c->mttr_s * 1e9)) : NULL;
	m.failures = failures;
	struct jobset *jobs = jobset_load(c->jobs, "auto", NULL, c->seed, err);
	struct reqset *requests = reqset_load(c->requests, NULL, NULL, c->seed, err);
	m.jobs = (struct jobs_config){ .jobs = jobs,
		.cluster = cluster,
		.placement = m.placement,
		.options = jobs_options_args,
		.seed = c->seed,
		.until_ns = m.until_ns,
		.drop_unfit = true,
		.check = true,
		.record_jobs = true,
		.max_rows = 100000,
		.policy_timeout_s = 60 };
	m.serve = (struct serve_config){ .requests = requests,
		.cluster = cluster,
		.placement = m.placement,
		.model = &model,
		.n_models = 1,
		.device = devices,
		.deployment = &c->deployment,
		.n_deployments = 1,
		.options = serve_args,
		.seed = c->seed,
		.until_ns = m.until_ns,
		.check = true,
		.max_rows = 100000,
		.policy_timeout_s = 60,
		.failures = failures };
	if (!err->code && set_all(serve_args, c->serve_options, err) && args_set_pair(jobs_options_args, "checkpoint=20s", err) == ORR_OK)
		mixed_run(&m, "tested", r, err);
	for (size_t i = 0; i < r->n_jobs; i++)
		r->jobs[i].job_id = r->jobs[i].user = r->jobs[i].queue = r->jobs[i].model = NULL;
	args_free((struct orr_args *)(uintptr_t)m.jobs_args);
	args_free((struct orr_args *)(uintptr_t)m.serve_args);
	args_free(jobs_options_args);
	args_free(serve_args);
	jobset_free(jobs);
	reqset_free(requests);
	failures_free(failures);
	served_free(model);
	cluster_free(cluster);
	if (!err->code)
		return r;
	result_free(r);
	return NULL;
}

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

/* ---- random cases ---- */

static const struct orr_policy *const jobs_policies[] = { &orr_policy_fifo, &orr_policy_fjf, &orr_policy_srtf, &orr_policy_las,
	&orr_policy_easy_backfill, &orr_policy_optimus, &orr_policy_gavel };
static const struct orr_policy *const serve_policies[] = { &orr_policy_serve_fifo, &orr_policy_serve_clipper, &orr_policy_serve_orca,
	&orr_policy_serve_vllm };

enum { TEXT = 200 };
struct drawn {
	struct mixed_case c;
	char jobs[TEXT], requests[TEXT], options[TEXT];
};

static void draw(struct drawn *d, uint64_t number)
{
	static const char *const clusters[] = { "2x4:a", "4x2:a", "1x8:a,3x2:b", "6x1:a" }, *const rules[] = { "consolidate", "spread",
		"count" };
	dice_state = number * 77 + 1;
	uint32_t serve = dice(4), most = 1 + dice(4), least = dice(2), tp = 1 + dice(2), jobs = 1 + dice(40), requests = 1 + dice(150);
	snprintf(d->jobs, TEXT, "poisson:n=%u,rate=0.%u,mean=%u,gpus=%u", jobs, 1 + dice(9), 10 + dice(100), 1 + dice(4));
	snprintf(d->requests, TEXT, "mmpp:rates=2|0.1,durations=20s|60s,n=%u%s", requests, serve > 1 ? ",prompt=50,output=1-40" : "");
	snprintf(d->options, TEXT, "autoscale=outstanding scale_interval=%us scale_quiet=%us scale_target=%u start_up=%us notice=%us",
		1 + dice(20), dice(60), 1 + dice(6), dice(20), dice(2) * dice(40));
	d->c = (struct mixed_case){ .cluster = clusters[dice(4)],
		.jobs = d->jobs,
		.requests = d->requests,
		.model = serve > 1 ? language : table,
		.serve_options = d->options,
		.placement = rules[dice(3)],
		.jobs_policy = jobs_policies[dice(sizeof jobs_policies / sizeof *jobs_policies)],
		.serve_policy = serve_policies[serve],
		.deployment = { least, serve > 1 ? 0 : UINT32_MAX, tp, 1, ORR_ROLE_BOTH, 0, 0, least, most },
		.mtbf_s = dice(2) ? 100 + dice(500) : 0,
		.mttr_s = 1 + dice(60),
		.serve_first = dice(2),
		.seed = number };
}

/* Returns a description of the fault in the outcome, or NULL. */
static const char *wrong(const struct mixed_case *c, const struct run_result *r)
{
	double held = metric(r, "jobs_gpu_hours") + metric(r, "serve_gpu_hours") + metric(r, "idle_gpu_hours");
	if (metric(r, "jobs.jobs_completed") + metric(r, "jobs.jobs_refused") != metric(r, "jobs.jobs"))
		return "not all jobs have completed";
	if (metric(r, "serve.requests_completed") + metric(r, "serve.requests_refused") != metric(r, "serve.requests"))
		return "not all requests have completed";
	if (!(fabs(held - metric(r, "gpu_hours")) <= 1e-12 * held))
		return "accounts do not add up";
	if (!c->serve_first && result_find(r, "reclaims"))
		return "GPUs were taken from jobs without serve_first";
	if (c->mtbf_s == 0 && metric(r, "jobs.restarts") != (c->serve_first ? metric(r, "jobs_reclaimed") : 0))
		return "jobs have lost GPUs without a cause";
	return NULL;
}

static void random_cases(uint32_t n)
{
	uint32_t bad = 0, differ = 0;
	double reclaims = 0, losses = 0, restarts = 0;
	for (uint32_t i = 0; i < n && bad < 5; i++) {
		struct drawn d;
		struct orr_error err = { 0 }, again = { 0 };
		draw(&d, i);
		struct run_result *r = run(&d.c, &err), *twin = i % 8 ? NULL : run(&d.c, &again);
		const char *what = r ? wrong(&d.c, r) : err.text;
		if (what) {
			printf("# case %u: %s; %s; %s; %s; %s+%s: %s\n", i, d.c.cluster, d.jobs, d.requests, d.options,
				d.c.jobs_policy->name, d.c.serve_policy->name, what);
			bad++;
		}
		if (r && twin)
			for (size_t k = 0; k < r->n_metrics; k++)
				differ +=
					k >= twin->n_metrics || memcmp(&r->metrics[k].value, &twin->metrics[k].value, sizeof(double)) != 0;
		if (r) {
			reclaims += d.c.serve_first ? metric(r, "reclaims") : 0;
			losses += fmax(0, metric(r, "serve.replicas_lost"));
			restarts += metric(r, "jobs.restarts");
		}
		result_free(r);
		result_free(twin);
	}
	ok(!bad, "%u random cases end, and everything in them (%g times GPUs were taken back, %g replicas and %g times jobs were lost)", n,
		reclaims, losses, restarts);
	ok(reclaims > 0 && losses > 0 && restarts > reclaims, "every kind of loss occurs in the random cases");
	ok(!differ, "equal inputs give equal results");
}

/* ---- policies that fail, or never act ---- */

static void *sloth_create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)args, (void)err;
	return &dice_state;
}
static void sloth_event(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j;
}
static void sloth_finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}
static void sloth_schedule(void *self, struct orr_jobs *w)
{
	(void)self, (void)w;
}
static void rogue_schedule(void *self, struct orr_jobs *w)
{
	(void)self;
	orr_try_start(w, 12345);
}
static void sloth_destroy(void *self)
{
	(void)self;
}
static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops sloth_ops = {
	.create = sloth_create, .destroy = sloth_destroy, .arrive = sloth_event, .finish = sloth_finish, .schedule = sloth_schedule
};
static const struct orr_jobs_ops rogue_ops = {
	.create = sloth_create, .destroy = sloth_destroy, .arrive = sloth_event, .finish = sloth_finish, .schedule = rogue_schedule
};
static const struct orr_policy sloth = { ORR_ABI_VERSION, sizeof(struct orr_policy), "sloth", "starts nothing", "jobs", 0, no_params,
	&sloth_ops };
static const struct orr_policy rogue = { ORR_ABI_VERSION, sizeof(struct orr_policy), "rogue", "starts what there is not", "jobs", 0,
	no_params, &rogue_ops, sizeof rogue_ops };

static void refuses(const struct mixed_case *c, const char *text, const char *what)
{
	struct orr_error err = { 0 };
	struct run_result *r = run(c, &err);
	ok(!r && strstr(err.text, text), "%s", what);
	if (r || !strstr(err.text, text))
		printf("# got %s\n", err.text);
	result_free(r);
}

static void failing_policies(void)
{
	struct mixed_case c = { .cluster = "2x4:a",
		.jobs = "poisson:n=5,rate=1,mean=10",
		.requests = "poisson:rate=1,n=10",
		.model = table,
		.serve_options = "",
		.jobs_policy = &sloth,
		.serve_policy = &orr_policy_serve_fifo,
		.deployment = { 1, UINT32_MAX, 1, 1, ORR_ROLE_BOTH, 0, 0, 0, 0 },
		.seed = 1 };
	refuses(&c, "5 jobs wait, no job runs and no timer is set",
		"jobs that the policy never starts end the run after the service has ended");
	c.mtbf_s = 50;
	c.mttr_s = 10;
	refuses(&c, "5 jobs wait, no job runs and no timer is set",
		"jobs that the policy never starts end the run although nodes fail and return");
	c.mtbf_s = 0;
	c.jobs_policy = &rogue;
	c.requests = "poisson:rate=1,n=100000";
	refuses(&c, "start of a job that has ended or never existed", "an error of the jobs policy ends the run");
	c.jobs_policy = &orr_policy_fifo;
	c.requests = "poisson:rate=1,n=10";
	c.deployment.tp = 9;
	refuses(&c, "10 requests have not ended, and no GPUs will become free for replicas: expected more capacity, or --until",
		"a replica that never fits: the message names the requests that wait");
	c.until_s = 3;
	struct orr_error err = { 0 };
	struct run_result *r = run(&c, &err);
	ok(r && metric(r, "serve.requests_unfinished") > 0 && metric(r, "serve.requests_completed") == 0 &&
			fabs(metric(r, "gpu_hours") * 3600 - 24) < 1e-9,
		"with --until before, the run ends with eight GPUs for 3 s");
	result_free(r);
}

int main(void)
{
	const char *s = getenv("ORR_SANITIZED");
	random_cases(s && *s == '1' ? 80 : 600);
	failing_policies();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_jobs_scenario.c - queries and actions of a policy in scenarios with rate tables, jobs that train, and many shapes; messages for
 * inputs that no run can serve. Expected values are computed by hand. The scenario's policy is replaced by a function of the test.
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "jobs/scenario.h"
#include "jobs/world.h"
#include "tests/tap.h"
#include "world/remarks.h"
#include "world/run.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <unistd.h>

static void (*act)(struct orr_jobs *w, double now);
static orr_job job[512]; /* by number */
static uint32_t n_jobs, n_finished;
static struct orr_error err;
static const char *create_says;

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *e)
{
	(void)w, (void)args;
	n_jobs = n_finished = 0;
	if (!create_says)
		return &n_jobs;
	if (*create_says)
		orr_fail(e, ORR_EFAIL, "%s", create_says);
	return NULL;
}

static void destroy(void *self)
{
	(void)self;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w;
	job[n_jobs++ % 512] = j;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
	n_finished++;
}

static void schedule(void *self, struct orr_jobs *w)
{
	(void)self;
	act(w, (double)orr_now(w) / 1e9);
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };
static const struct orr_policy script = { ORR_ABI_VERSION, sizeof script, "script", "of a test", "jobs", 0, no_params, &ops, sizeof ops };

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	fputs(text, f);
	fclose(f);
}

static double progress[8];
static uint32_t n_progress;

static void on_progress(void *ctx, double done_part)
{
	(void)ctx;
	progress[n_progress++ % 8] = done_part;
}

/* Runs the scenario with the trace t.csv. keys: further members of the scenario, as JSON. Returns NULL, with err filled in, if the
 * scenario is refused or fails. */
static struct run_result *go(void (*what)(struct orr_jobs *, double), const char *csv, const char *cluster, const char *keys)
{
	static const struct world_output output = { .quiet = true, .threads = 1, .db = "unused", .check = true };
	char text[2000];
	write_file("t.csv", csv);
	snprintf(text, sizeof text, "{\"world\": \"jobs\", \"trace\": \"t.csv\", \"policies\": [\"fifo\"], \"cluster\": \"%s\"%s%s}",
		cluster, *keys ? ", " : "", keys);
	cJSON *o = cJSON_Parse(text);
	struct run_result *r = NULL;
	err = (struct orr_error){ 0 };
	act = what;
	struct scenario *s = scenario_open(o, &output, &err);
	if (s) {
		r = result_new();
		r->label = mem_strdup("script");
		r->world = mem_strdup("jobs");
		s->policy[0].entry.policy = &script;
		struct trial *t = trial_new(s, 0, r);
		trial_run(t, 0, on_progress, NULL);
		bool is_bad = trial_end(t, &err);
		trial_free(t);
		for (size_t i = 0; i < r->n_jobs; i++) /* names live in the jobset */
			r->jobs[i].job_id = r->jobs[i].user = r->jobs[i].queue = r->jobs[i].model = NULL;
		if (is_bad) {
			result_free(r);
			r = NULL;
		}
	}
	scenario_close(s);
	cJSON_Delete(o);
	return r;
}

static void start_all(struct orr_jobs *w, double now)
{
	(void)now;
	for (orr_job j = orr_job_first(w), next; j; j = next) {
		next = orr_job_next(w, j);
		if (!orr_job_is_running(w, j))
			orr_try_start(w, j);
	}
}

static double ends(const struct run_result *r, size_t i)
{
	return r && i < r->n_jobs ? (double)r->jobs[i].end_ns / 1e9 : NAN;
}

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = r ? result_find(r, name) : NULL;
	return m ? m->value : NAN;
}

static void worked(const struct run_result *r, const char *what)
{
	if (!ok(r != NULL, "%s", what))
		printf("# %s\n", err.text);
}

static bool has_note(const struct run_result *r, const char *kind, const char *want)
{
	const char *text;
	for (size_t i = 0; r && (text = result_note_at(r, kind, i)); i++)
		if (strstr(text, want))
			return true;
	return false;
}

/* ---- a table of rates: M takes 1/10 s on fast, 1/5 s on slow and is not in the table for bare ---- */

static const char table[] =
	"{\"fast\": {\"('M', 1)\": {\"null\": 10.0}, \"('M', 2)\": {\"null\": 16.0}},"
	" \"slow\": {\"('M', 1)\": {\"null\": 5.0}, \"('M', 2)\": {\"null\": 8.0}}, \"bare\": {\"('N', 1)\": {\"null\": 1.0}}}";
static const char of_table[] = "submit_s,duration_s,gpus,model,iterations\n0,100,1,M,\n0,,1,M,500\n0,50,1,,\n";

static void ask_rates(struct orr_jobs *w, double now)
{
	uint32_t type[4] = { 9, 9, 9, 9 };
	start_all(w, now);
	if (now != 0 || n_jobs != 3)
		return;
	near_to(orr_job_rate_on(w, job[0], 2), 1, 0, "the reference type");
	near_to(orr_job_rate_on(w, job[0], 0), 0.5, 1e-12, "half the rate");
	near_to(orr_job_rate_on(w, job[0], 1), 0, 0, "a type without a row");
	near_to(orr_job_rate_on(w, job[0], 3), 0, 0, "no such type");
	ok(orr_job_type_order(w, job[0], type, 4) == 3 && type[0] == 2 && type[1] == 0 && type[2] == 1 && type[3] == 9,
		"the fastest type first, that without a rate last (%u %u %u)", type[0], type[1], type[2]);
	ok(orr_job_type_order(w, job[2], type, 4) == 3 && type[0] == 0 && type[1] == 1 && type[2] == 2,
		"equal rates keep the cluster's order");
	near_to(orr_job_throughput(w, job[1], 2), 10, 0, "iterations a second of the table");
	near_to(orr_job_throughput(w, job[1], 0), 5, 0, "on the slower type");
	near_to(orr_job_throughput(w, job[1], 1), 0, 0, "none on a type without a row");
	near_to(orr_job_throughput(w, job[0], 0), 0.5, 1e-12, "a job without iterations: the rate");
	near_to(orr_job_iterations_left(w, job[1]), 500, 0, "iterations of a job that has just started");
}

static void ask_thirds(struct orr_jobs *w, double now)
{
	start_all(w, now);
	if (now > 0)
		return;
	near_to(orr_job_throughput(w, job[0], 0), 3, 0, "three a second, exactly");
	near_to(orr_job_throughput(w, job[0], 1), 0.7, 0, "0.7 a second on the other type");
}

static void test_table(void)
{
	static const char keys[] = "\"throughputs\": \"rates.json\", \"jobs\": {\"reference_type\": \"fast\", \"type_order\": \"fastest\"}";
	write_file("rates.json", table);
	/* The fast GPU takes job 0. The slow GPU takes job 1: 500 iterations at 5 per second. Job 2 has no model, so its speed on
	 * bare is 1. */
	struct run_result *r = go(ask_rates, of_table, "1x1:slow,1x1:bare,1x1:fast", keys);
	worked(r, "a table of rates");
	ok(ends(r, 0) == 100 && ends(r, 1) == 100 && ends(r, 2) == 50, "ends: 100, 500 / 5 and 50 s (%g %g %g)", ends(r, 0), ends(r, 1),
		ends(r, 2));
	ok(has_note(r, "assumption", "rates of 2 jobs: the throughput table, relative to fast; other jobs: "),
		"the source of the rates is said");
	result_free(r);
	/* Seven iterations at 3/s and at 0.7/s take fractions of a nanosecond; the policy must see the exact values of the table. */
	write_file("rates.json", "{\"fast\": {\"('M', 1)\": {\"null\": 3.0}}, \"slow\": {\"('M', 1)\": {\"null\": 0.7}}}");
	r = go(ask_thirds, "submit_s,duration_s,gpus,model,iterations\n0,,1,M,7\n", "1x1:fast,1x1:slow", "\"throughputs\": \"rates.json\"");
	worked(r, "a rate of a third");
	result_free(r);
	write_file("rates.json", table);
	r = go(start_all, "submit_s,duration_s,gpus,model,iterations\n0,,2,M,500\n", "1x2:slow,1x2:fast",
		"\"throughputs\": \"rates.json\"");
	near_to(ends(r, 0), 500 / 8., 1e-9, "the cluster's first type is the reference of a table");
	result_free(r);
	r = go(start_all, "submit_s,duration_s,gpus,model,iterations\n0,,1,N,500\n", "1x1:slow", "\"throughputs\": \"rates.json\"");
	ok(!r && strstr(err.text, "job 0: --throughputs has no rate for model \"N\" on 1 GPUs of type \"slow\""),
		"a model without a rate: %s", err.text);
	r = go(start_all, "submit_s,duration_s,gpus,model,iterations\n0,,1,M,1e15\n", "1x1:slow", "\"throughputs\": \"rates.json\"");
	ok(!r && strstr(err.text, "job 0: "), "iterations beyond the end of the clock: %s", err.text);
}

/* ---- jobs that train: types v100 and p100, in that order ---- */

static const char training[] =
	"submit_s,gpus,model,strategy,batch,iterations\n0,2,alexnet,allreduce,32,1000\n0,1,alexnet,allreduce,32,1000\n";
static double p100, iteration_s;

static void ask_training(struct orr_jobs *w, double now)
{
	struct orr_job_info i;
	if (now > 0) {
		start_all(w, now);
		return;
	}
	near_to(orr_job_rate_on(w, job[0], 0), 1, 0, "a job that trains: the reference type");
	p100 = orr_job_rate_on(w, job[0], 1);
	ok(p100 > 0.2 && p100 < 1, "a slower type (%g)", p100);
	near_to(orr_job_rate_on(w, job[0], 2), 0, 0, "no such type");
	near_to(orr_job_rate_at(w, job[0], 2), 1, 0, "its own size");
	near_to(orr_job_rate_at(w, job[0], 4), 0, 0, "a size that it does not offer");
	near_to(orr_job_iterations(w, job[0]), 1000, 0, "its iterations");
	iteration_s = 1 / orr_job_throughput(w, job[0], 0);
	near_to(orr_job_throughput(w, job[0], 1), p100 / iteration_s, 1e-9, "iterations a second on the slower type");
	/* Tests that a job that starts, stops and starts again at one instant has one place and one rate. */
	static const uint32_t first[] = { 0 }, second[] = { 1 }, two[] = { 2 }, one[] = { 1 };
	orr_start_at(w, job[0], first, two, 1);
	orr_stop(w, job[0]);
	orr_start_at(w, job[0], first, two, 1);
	orr_start_at(w, job[1], second, one, 1);
	ok(orr_job_get(w, job[0], &i) && i.preemptions == 1 && i.gpus_held == 2 && i.gpu_type == 0, "it holds the GPUs of its last start");
	orr_stop(w, job[1]);
}

static void test_training(void)
{
	struct run_result *r = go(ask_training, training, "2x2:v100,1x2:p100", "\"network\": \"star:bw=10Gbps\"");
	worked(r, "jobs that train");
	near_to(ends(r, 0), 1000 * iteration_s, 1e-9, "it ends after its iterations");
	ok(metric(r, "sharing_sets") == 0 && metric(r, "sharing_largest") == 1 && metric(r, "step_shapes") == 2,
		"two shapes of placements, none shares a link (%g %g %g)", metric(r, "sharing_sets"), metric(r, "sharing_largest"),
		metric(r, "step_shapes"));
	ok(has_note(r, "assumption", "rates of 2 jobs: the step world, relative to the cluster's first type"),
		"the source of the rates is said");
	result_free(r);
	/* If only the p100 is allowed, the reference is the first type that can run the job. */
	r = go(start_all, "submit_s,gpus,model,strategy,batch,iterations,gpu_types\n0,2,alexnet,allreduce,32,1000,p100\n",
		"2x2:v100,1x2:p100", "\"network\": \"star:bw=10Gbps\"");
	near_to(ends(r, 0), 1000 * iteration_s / p100, 1e-9, "the same iterations on the slower type");
	result_free(r);
	r = go(start_all, training, "2x2:v100,1x2:p100", "\"network\": \"star:bw=10Gbps\", \"jobs\": {\"reference_type\": \"p100\"}");
	near_to(ends(r, 0), 1000 * iteration_s, 1e-9, "the end of iterations is the same for another reference");
	result_free(r);
	r = go(start_all, training, "2x2:v100", "\"network\": \"star:bw=10Gbps\", \"jobs\": {\"reference_type\": \"p100\"}");
	ok(!r && strstr(err.text, "jobs.reference_type=p100: expected a GPU type of the cluster, because jobs name a strategy"),
		"a reference outside the cluster");
	r = go(start_all, "submit_s,gpus,model,strategy,batch,iterations\n0,1,alexnet,allreduce,32,1e15\n", "1x1:v100", "");
	ok(!r && strstr(err.text, "1e+15 iterations: expected at most 146 years of work"), "iterations beyond the end of the clock: %s",
		err.text);
}

static void ask_elastic(struct orr_jobs *w, double now)
{
	if (now == 0) {
		double half = orr_job_rate_at(w, job[0], 1);
		near_to(orr_job_rate_at(w, job[0], 2), 1, 0, "its own size");
		ok(half > 0.4 && half < 1, "a smaller size has the rate of the step world, whatever the trace states (%g)", half);
		near_to(orr_job_rate_at(w, job[0], 4), 0, 0, "a size that the trace does not list");
	}
	start_all(w, now);
}

static void test_elastic_training(void)
{
	struct run_result *r =
		go(ask_elastic, "submit_s,gpus,model,strategy,batch,iterations,speedup\n0,2,alexnet,allreduce,32,10,1:100;2:200\n",
			"1x4:v100", "\"network\": \"star:bw=10Gbps\"");
	worked(r, "an elastic job that trains");
	result_free(r);
}

/* ---- progress: after 4096 instants of 5000, at each of which a job arrives and another ends ---- */

static void test_progress(void)
{
	struct sbuf csv = { 0 };
	sbuf_puts(&csv, "submit_s,duration_s,gpus\n");
	for (int i = 0; i < 5000; i++)
		sbuf_printf(&csv, "%d,1,1\n", i);
	n_progress = 0;
	struct run_result *r = go(start_all, sbuf_text(&csv), "1x1:v100", "");
	ok(metric(r, "jobs_completed") >= 5000 && n_progress == 1, "5000 jobs: progress is told once (%u)", n_progress);
	near_to(progress[0], 4095 / 5000., 1e-12, "the share of jobs that have ended");
	result_free(r);
	sbuf_free(&csv);
}

/* ---- queues, handles and shapes ---- */

static struct orr_queue *queue;

static void use_queue(struct orr_jobs *w, double now)
{
	if (now == 0) {
		queue = orr_queue_new(w);
		orr_queue_add2(queue, job[0], 5, 6, 7);
		ok(orr_queue_key(queue, job[0]) == 5 && orr_queue_tie(queue, job[0]) == 6 && orr_queue_second(queue, job[0]) == 7,
			"key, tie and second of a job in the queue");
		ok(!orr_queue_key(queue, job[1]) && !orr_queue_tie(queue, job[1]) && !orr_queue_second(queue, job[1]) &&
				!orr_queue_has(queue, job[1]),
			"those of a job that is not in it");
		orr_queue_add(queue, 0, 1, 1);
		ok(orr_queue_size(queue) == 1 && orr_queue_first(queue) == job[0], "the handle of no job is not added");
		ok(orr_queue_remove(queue, job[0]) && !orr_queue_remove(queue, job[0]) && !orr_queue_first(queue) && !orr_queue_size(queue),
			"removed once");
		ok(!orr_queue_key(queue, job[0]) && !orr_queue_second(queue, job[0]), "and then it has no key");
		orr_queue_free(queue);
	}
	if (now == 20 && n_jobs == 3) {
		struct orr_job_info i;
		ok(job[2] != job[0] && !orr_job_get(w, job[0], &i) && !orr_job_gpus(w, job[0]) && !orr_job_is_running(w, job[0]),
			"the handle of a job that has ended is invalid, also where its place has been taken");
		same_text(orr_job_name(w, job[0]), "", "nor has it a name");
		ok(orr_job_get(w, job[2], &i) && i.number == 2 && i.started_ns < 0 && !i.attained_ns && !i.preemptions &&
				i.gpu_type == CLUSTER_NO_TYPE,
			"a job that waits");
	}
	start_all(w, now);
}

static uint32_t distinct;

static void count_shapes(struct orr_jobs *w, double now)
{
	bool seen[1024] = { false };
	start_all(w, now);
	if (now != 1 || n_jobs != 301)
		return;
	distinct = 0;
	for (uint32_t i = 0; i < 300; i++) {
		struct orr_job_info a;
		if (!orr_job_get(w, job[i], &a))
			continue;
		uint32_t shape = orr_job_shape(w, job[i]);
		if (i % 50 == 0)
			ok(a.shape == shape && a.mem_mib == i % 150 + 1 && a.gpus == 1, "job %u keeps its request", i);
		distinct += shape < 1024 && !seen[shape];
		seen[shape % 1024] = true;
	}
}

static void test_handles(void)
{
	struct run_result *r = go(use_queue, "submit_s,duration_s,gpus\n0,10,1\n0,30,1\n20,5,1\n", "1x2:v100", "");
	worked(r, "queues");
	result_free(r);
	/* Starts 300 jobs with 150 different requests, which differ only in memory. */
	char *csv = mem_alloc(20000);
	strcpy(csv, "submit_s,duration_s,gpus,mem_mib\n");
	for (int i = 0; i < 300; i++)
		sprintf(csv + strlen(csv), "0,100,1,%d\n", i % 150 + 1);
	strcat(csv, "1,1,1,1\n");
	r = go(count_shapes, csv, "300x1:v100:mem=1", "");
	worked(r, "300 jobs");
	ok(distinct == 150, "equal requests have equal shapes, others differ (%u)", distinct);
	result_free(r);
	mem_free(csv);
}

/* ---- the Gantt chart covers the first 200 jobs unless jobs.gantt is given ---- */

static uint32_t starts_of(const struct run_result *r)
{
	uint32_t n = 0;
	for (size_t i = 0; r && i < r->n_events; i++)
		n += !strcmp(r->events[i].kind, "start");
	return n;
}

static void gantt(int jobs, const char *keys, uint32_t want, bool has_remark)
{
	char csv[3000] = "submit_s,duration_s,gpus\n";
	for (int i = 0; i < jobs; i++)
		strcat(csv, "0,1,1\n");
	struct run_result *r = go(start_all, csv, "300x1:v100", keys);
	ok(starts_of(r) == want, "%d jobs, %s: %u starts are recorded (%u)", jobs, *keys ? keys : "by default", want, starts_of(r));
	ok(has_note(r, "remark", "jobs.gantt has no effect: the run has fewer jobs than the default covers") == has_remark,
		"and the remark");
	result_free(r);
}

static void test_gantt(void)
{
	gantt(201, "", 200, false);
	gantt(201, "\"jobs\": {\"gantt\": 300}", 201, false);
	gantt(200, "\"jobs\": {\"gantt\": 300}", 200, true);
	gantt(200, "\"jobs\": {\"gantt\": 199}", 199, false);
	gantt(5, "\"jobs\": {\"gantt\": 0}", 0, false);
	gantt(5, "\"jobs\": {\"gantt\": 3}", 3, false);
}

/* ---- refusals ---- */

static void refused(const char *csv, const char *cluster, const char *keys, const char *want)
{
	struct run_result *r = go(start_all, csv, cluster, keys);
	same_text(r ? "it ran" : err.text, want, want);
	result_free(r);
}

static void start_beyond(struct orr_jobs *w, double now)
{
	(void)now;
	orr_try_start_on_type(w, job[0], 2);
}

static void test_refusals(void)
{
	struct run_result *r = go(start_beyond, "submit_s,duration_s,gpus\n0,1,1\n", "1x1:v100,1x1:p100", "");
	ok(!r && strstr(err.text, "start on GPU type 2: expected a number below 2"), "a type beyond the last: %s", err.text);
	static const char ending[] = ": expected a larger --cluster, or --drop-unfit, which omits such jobs";
	char want[400];
	snprintf(want, sizeof want, "t.csv:2: job 0 requests 8 GPUs (2.5 cores, 3 GiB) and can never be placed on this cluster%s", ending);
	refused("submit_s,duration_s,gpus,cpus,mem_mib\n0,10,8,2.5,3072\n1,1,1,,\n", "1x4:v100", "", want);
	snprintf(want, sizeof want,
		"t.csv:3: job 1 requests 1 GPU (0 cores, 0.5 GiB) and can never be placed on this cluster, and so do 2 others%s", ending);
	refused("submit_s,duration_s,gpus,mem_mib\n0,10,1,256\n0,10,1,512\n0,1,2,\n0,1,1,512\n", "1x1:v100:mem=0.4", "", want);
	snprintf(want, sizeof want,
		"t.csv:3: job 1 requests 2 GPUs of type v100|h100 and can never be placed on this cluster, and so do 1 others%s", ending);
	refused("submit_s,duration_s,gpus,gpu_types\n0,10,1,\n0,1,2,v100|h100\n0,1,2,h100\n", "1x1:v100,1x4:p100", "", want);
	refused("submit_s,duration_s,gpus,gpu_types\n0,1,2,h100|a100\n", "1x4:p100", "",
		"t.csv:2: job 0 requests 2 GPUs of type h100|a100, and this cluster has none of them: expected GPUs of that type "
		"(--cluster "
		"2x8:h100), trace_options.gpu_types=ignore to let jobs run on any type, or --drop-unfit, which omits such jobs");
	refused("submit_s,duration_s,gpus,iterations\n0,,1,5\n", "1x1:v100", "",
		"job 0 (line 2 of the trace): has no duration: expected a model and a strategy, --throughputs FILE, or --applications FILE "
		"with its model");
	create_says = "no luck";
	refused("submit_s,duration_s,gpus\n0,1,1\n", "1x1:v100", "", "policy fifo: at 0.000000000 s: no luck");
	create_says = "";
	refused("submit_s,duration_s,gpus\n0,1,1\n", "1x1:v100", "",
		"policy fifo: at 0.000000000 s: create() returned NULL without an error message: expected an object, or *err filled in");
	create_says = NULL;
}

int main(void)
{
	char folder[] = "/tmp/unit_jobs_scenario.XXXXXX";
	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	test_table();
	test_training();
	test_elastic_training();
	test_progress();
	test_handles();
	test_gantt();
	test_refusals();
	unlink("t.csv");
	unlink("rates.json");
	rmdir(folder);
	return done();
}

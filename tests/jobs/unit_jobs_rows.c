/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_jobs_rows.c - rows, events and means of the jobs world, jobs evicted for another world, runs on a shared clock, and limits;
 * expected values are computed by hand
 */
#include "cluster/capacity.h"
#include "sim/engine/engine.h"
#include "tests/jobs/script_run.h"

static uint64_t most_rows;
static bool completed_only;
static const struct capacity_config *capacity; /* lent nodes; NULL: none */
static const char *placement;
static atomic_uint used;
static uint32_t acts; /* number of actions that a test has done; limits them to one */

static void change(struct jobs_config *c)
{
	acts = 0;
	if (most_rows)
		c->max_rows = most_rows;
	c->completed_only = completed_only;
	c->capacity = capacity;
	if (placement)
		c->placement = placement_find(placement);
	c->used = &used;
}

/* ---- rows ---- */

/* Runs n jobs; job i runs from i to i + 1 s. Writes the numbers of the stored rows. */
static void kept_rows(int n, uint64_t most, char *out, size_t size)
{
	char csv[1000] = "submit_s,duration_s,gpus\n";
	for (int i = 0; i < n; i++)
		strcat(csv, "0,1,1\n");
	most_rows = most;
	struct run_result *r = go(start_all, csv, "1x1:a", "", 0);
	most_rows = 0;
	*out = '\0';
	for (size_t i = 0; r && i < r->n_jobs; i++)
		snprintf(out + strlen(out), size - strlen(out), "%llu ", (unsigned long long)r->jobs[i].number);
	ok(r && r->rows_total == (uint64_t)n, "%d rows in total", n);
	result_free(r);
}

/* With room for ten rows, nine jobs keep all rows. From the tenth row on every second row is kept, from the twentieth on every fourth. */
static void test_rows(void)
{
	char got[200];
	kept_rows(10, 10, got, sizeof got);
	same_text(got, "0 1 2 3 4 5 6 7 8 9 ", "ten rows fit");
	kept_rows(11, 10, got, sizeof got);
	same_text(got, "0 2 4 6 8 10 ", "the eleventh row halves them");
	kept_rows(12, 10, got, sizeof got);
	same_text(got, "0 2 4 6 8 10 ", "the twelfth is left out");
	kept_rows(20, 10, got, sizeof got);
	same_text(got, "0 2 4 6 8 10 12 14 16 18 ", "ten rows of twenty jobs");
	kept_rows(30, 10, got, sizeof got);
	same_text(got, "0 4 8 12 16 20 24 28 ", "every fourth row");
}

static void see_names(const struct run_result *r)
{
	ok(r->n_jobs == 2, "two rows");
	same_text(r->jobs[0].job_id, "first", "name of a job");
	same_text(r->jobs[0].user, "ann", "its user");
	same_text(r->jobs[0].queue, "short", "its queue");
	same_text(r->jobs[0].model, "resnet", "its model");
	ok(!r->jobs[1].user && !r->jobs[1].queue && !r->jobs[1].model, "a job without user, queue and model");
	ok(r->jobs[0].recorded_wait_ns == 3 * ORR_SECOND && r->jobs[1].recorded_wait_ns < 0, "waits of the trace");
	ok(r->jobs[0].submit_ns == ORR_SECOND && r->jobs[0].duration_ns == 10 * ORR_SECOND && r->jobs[1].gpu_milli == 250 &&
			r->jobs[1].status == JOB_COMPLETED,
		"times, parts of a GPU, status");
}

static void test_names(void)
{
	inspect = see_names;
	struct run_result *r = go(start_all,
		"submit_s,duration_s,gpus,gpu_milli,user,queue,model,job_id,wait_s\n1,10,2,,ann,short,resnet,first,3\n2,5,1,250,,,,,\n",
		"1x4:a", "", 0);
	if (!ok(r != NULL, "jobs with names"))
		printf("# %s\n", err.text);
	inspect = NULL;
	result_free(r);
}

/* ---- rows of lent nodes ---- */

/* A node joins each second from 0 on; a job runs from 0 to 12.5 s. Rows: time:live/ready/in use. */
static void node_rows(uint64_t most, const char *want, const char *what)
{
	char path[] = "/tmp/orrery-rows.XXXXXX", got[400] = "";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	fputs("time_s,event,node\n", f);
	for (int i = 0; i < 12; i++)
		fprintf(f, "%d,add,i%d\n", i, i);
	fclose(f);
	struct capacity_config lent = { .set = availset_load(path, "availability", NULL, 1, &err), .usd_per_hour = 3600 };
	unlink(path);
	capacity = &lent;
	most_rows = most;
	struct run_result *r = go(start_all, "submit_s,duration_s,gpus\n0,12.5,1\n", "12x1:a", "", 0);
	capacity = NULL;
	most_rows = 0;
	for (size_t i = 0; r && i < r->n_nodes; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%g:%u/%u/%u ", (double)r->nodes[i].time_ns / 1e9, r->nodes[i].live,
			r->nodes[i].ready, r->nodes[i].in_use);
	same_text(got, want, what);
	/* Nodes cost 1 USD/s; the nodes are present for 12.5 + 11.5 + .. + 1.5 s. */
	expect(r, "usd", 84);
	expect(r, "usd_per_job", 84);
	expect(r, "job_usd_mean", 12.5);
	expect(r, "job_usd_max", 12.5);
	expect(r, "capacity_used", 12.5 / 84);
	expect(r, "past_capacity", 1.5);
	result_free(r);
	availset_free((struct availset *)(uintptr_t)lent.set);
}

static void test_node_rows(void)
{
	node_rows(100,
		"0:1/1/0 0:1/1/1 1:2/2/1 2:3/3/1 3:4/4/1 4:5/5/1 5:6/6/1 6:7/7/1 7:8/8/1 8:9/9/1 9:10/10/1 10:11/11/1 11:12/12/1 "
		"12.5:12/12/0 ",
		"all rows of nodes are kept");
	/* Row k of 14 has number k. With room for six rows, every second row is kept, and from the twelfth on every fourth. The last
	 * row is at the end of the run. */
	node_rows(6, "0:1/1/0 3:4/4/1 7:8/8/1 11:12/12/1 ", "of many rows of nodes, every fourth is kept");
}

/* ---- the mix of requests, for placements that use it ---- */

static bool has_seen_mix;

static void see_mix(struct orr_jobs *w, double now)
{
	const struct pool_mix *m = &w->pool->mix;
	start_all(w, now);
	if (has_seen_mix || n_jobs < 1)
		return;
	has_seen_mix = true;
	ok(m->n == 3 && m->shape[0].gpus == 1 && m->shape[0].gpu_milli == 500 && m->shape[1].gpus == 2 && m->shape[2].gpus == 0 &&
			m->shape[2].cpu_milli == 4000,
		"the shapes of the trace in the order of their first rows");
	ok(m->n == 3 && m->share[0] == 0.5 && m->share[1] == 0.25 && m->share[2] == 0.25, "and their shares of its rows");
}

static void test_mix(void)
{
	placement = "fgd";
	has_seen_mix = false;
	struct run_result *r =
		go(see_mix, "submit_s,duration_s,gpus,gpu_milli,cpus\n0,1,1,500,\n1,1,2,,\n2,1,0,,4\n9,1,1,500,\n", "2x2:a:cpus=8", "", 0);
	ok(r && has_seen_mix, "a run with a placement by fragmentation: %s", r ? "good" : err.text);
	result_free(r);
	placement = NULL;
}

/* ---- events ---- */

static void stop_one(struct orr_jobs *w, double now)
{
	if (now == 0)
		orr_timer(w, 4 * ORR_SECOND);
	if (now == 4 && !acts++) {
		orr_stop(w, job[0]);
		orr_kill(w, job[1]);
	}
	start_all(w, now);
}

static void events(const struct run_result *r, char *out, size_t size)
{
	*out = '\0';
	for (size_t i = 0; r && i < r->n_events; i++) {
		const struct event_row *e = &r->events[i];
		if (strcmp(e->kind, "assumption") && strcmp(e->kind, "remark"))
			snprintf(out + strlen(out), size - strlen(out), "%g %s %llu %s|", (double)e->time_ns / 1e9, e->kind,
				(unsigned long long)e->subject, e->detail ? e->detail : "-");
	}
}

static void test_events(void)
{
	char got[1000];
	struct run_result *r = go(stop_one, "submit_s,duration_s,gpus\n0,10,3\n0,10,1\n0,2,2\n", "3x2:a", "gantt=2", 0);
	events(r, got, sizeof got);
	same_text(got, "0 start 0 n0:2,n1:1|0 start 1 n1:1|4 stop 0 -|4 kill 1 -|4 start 0 n0:2,n1:1|10 finish 0 -|",
		"starts with their nodes, stops and ends of the first two jobs");
	same_text(ends, "2:2 1!4 0:10 ", "a stop without cost loses no work");
	expect(r, "jobs_killed", 1);
	/* The jobs use 3 x 10 + 1 x 4 + 2 x 2 GPU-seconds. */
	expect(r, "gpu_hours", 38 / 3600.);
	expect(r, "utilisation", 38 / 60.);
	expect(r, "events", 6); /* three arrivals, the timer, two ends */
	result_free(r);
}

/* ---- means ---- */

/* Jobs are recorded as completed, failed, killed, with an unknown status, and without a status. They run for 1, 2, 4, 8 and 16 s,
 * each on its own GPU. */
static void test_completed_only(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,status\n0,1,1,completed\n0,2,1,failed\n0,4,1,killed\n0,8,1,running\n0,16,1,\n";
	struct run_result *r = go(start_all, csv, "5x1:a", "", 0);
	expect(r, "jct_mean", 31 / 5.);
	expect(r, "recorded_failed", 1);
	expect(r, "recorded_killed", 1);
	expect(r, "recorded_other", 1);
	expect(r, "jobs_completed", 5);
	result_free(r);
	completed_only = true;
	r = go(start_all, csv, "5x1:a", "", 0);
	completed_only = false;
	expect(r, "jct_mean", 17 / 2.);
	expect(r, "jct_max", 16);
	expect(r, "jobs_completed", 5);
	expect(r, "makespan", 16);
	result_free(r);
}

/* Job i of 100 waits i s and runs for 1 s. The warm-up excludes the jobs with the lowest numbers. */
static void test_warmup(void)
{
	char csv[1000] = "submit_s,duration_s,gpus\n", set[40];
	double warm;
	for (int i = 0; i < 100; i++)
		strcat(csv, "0,1,1\n");
	for (int k = 0; k < 3; k++) {
		warm = 0.25 * k;
		snprintf(set, sizeof set, "warmup=%g", warm);
		atomic_store(&used, 0);
		struct run_result *r = go(start_all, csv, "1x1:a", set, 0);
		expect(r, "jct_mean", (100 * warm + 1 + 100) / 2);
		expect(r, "wait_mean", (100 * warm + 99) / 2);
		expect(r, "jct_max", 100);
		ok(!(atomic_load(&used) & JOBS_USED_WARMUP) == !k, "a warm-up of %g %s", warm, k ? "changes the means" : "is the default");
		result_free(r);
	}
}

/* ---- elastic jobs: costs of a resize ---- */

static void grow(struct orr_jobs *w, double now)
{
	struct orr_job_info i;
	if (now == 0) {
		ok(orr_try_start_sized(w, job[0], 1), "a job starts with one GPU of two");
		orr_timer(w, 20 * ORR_SECOND);
	}
	if (now == 20) {
		ok(orr_job_remaining_ns(w, job[0]) == 90500000000, "19 s at half the rate");
		ok(orr_resize(w, job[0], 4) && orr_job_get(w, job[0], &i) && i.gpus_held == 4 && i.started_ns == 20 * ORR_SECOND,
			"it grows to four GPUs");
		ok(i.attained_ns == 20 * ORR_SECOND && i.is_elastic && !i.preemptions, "which is no preemption");
		near_to(i.attained_gpu_s, 20, 1e-12, "GPU seconds before");
		ok(orr_job_remaining_ns(w, job[0]) == 92500000000, "the resize adds 2 s of work");
	}
	if (now == 0)
		orr_timer(w, ORR_NEVER);
}

/* The job has 1 s of start cost and 19 s at rate 1/2. The resize adds 2 s of work; then follow 1 s of start cost and 92.5 s at rate
 * 3/2. */
static void test_grow(void)
{
	flags = ORR_NEEDS_ORACLE;
	struct run_result *r =
		go(grow, "submit_s,duration_s,gpus,speedup\n0,100,2,1:1;2:2;4:3\n", "1x4:a", "start_cost=1s preempt_cost=2s", 0);
	flags = 0;
	expect(r, "jct_mean", 21 + 92.5 / 1.5);
	expect(r, "gpu_hours", (20 + 4 * (1 + 92.5 / 1.5)) / 3600);
	ok(r && r->is_oracle, "a run that reads true durations is marked");
	result_free(r);
}

/* ---- GPUs split over types ---- */

static uint32_t tries;

/* Job 2 holds all of c, job 1 one or two GPUs of a. Job 0 requests three GPUs of any type. */
static void try_any(struct orr_jobs *w, double now)
{
	static const uint32_t node[] = { 2 }, four[] = { 4 };
	if (now == 0 && n_jobs == 3 && !acts++) {
		orr_start_at(w, job[2], node, four, 1);
		ok(!orr_try_start_on_type(w, job[1], 1) && orr_try_start_on_type(w, job[1], 0), "a job starts on the type that it accepts");
		ok(!orr_try_start(w, job[0]) && !orr_try_start(w, job[0]), "three GPUs of one type are not free");
		tries = (uint32_t)w->totals.split;
		orr_kill(w, job[0]);
	}
}

static bool reports_split(const struct run_result *r)
{
	const char *text;
	for (size_t i = 0; r && (text = result_note_at(r, "remark", i)); i++)
		if (strstr(text, ": 1 jobs waited although enough GPUs of several types were free in total"))
			return true;
	return false;
}

static void test_split(void)
{
	struct run_result *r = go(try_any, "submit_s,duration_s,gpus,gpu_types\n0,10,3,\n0,10,1,a\n0,5,4,c\n", "1x2:a,1x2:b,1x4:c", "", 0);
	ok(r && tries == 1 && reports_split(r), "three GPUs of two types are free: the job is counted once, and reported (%u)", tries);
	result_free(r);
	r = go(try_any, "submit_s,duration_s,gpus,gpu_types\n0,10,3,\n0,10,2,a\n0,5,4,c\n", "1x2:a,1x2:b,1x4:c", "", 0);
	ok(r && tries == 0 && !reports_split(r), "two are free: it is not counted (%u)", tries);
	result_free(r);
	r = go(try_any, "submit_s,duration_s,gpus,gpu_types\n0,10,3,b|c\n0,10,1,a\n0,5,4,c\n", "1x2:a,1x2:b,1x4:c", "", 0);
	ok(r && tries == 0 && !reports_split(r), "GPUs of types that it does not accept do not count (%u)", tries);
	result_free(r);
}

/* ---- limits ---- */

static uint32_t calls;

static void again(struct orr_jobs *w, double now)
{
	(void)now;
	calls++;
	orr_timer(w, orr_now(w));
}

static void idle(struct orr_jobs *w, double now)
{
	(void)now;
	if (orr_job_is_running(w, job[0]) || !n_jobs)
		return;
	if (orr_now(w) == 0)
		orr_try_start(w, job[0]);
}

static void half(struct orr_jobs *w, double now)
{
	if (now == 0 && !orr_job_is_running(w, job[0]))
		orr_try_start_sized(w, job[0], 1);
}

static void test_limits(void)
{
	calls = 0;
	struct run_result *r = go(again, "submit_s,duration_s,gpus\n0,1,1\n", "1x1:a", "max_calls_per_instant=5", 0);
	ok(!r && calls == 5 &&
			strstr(err.text,
				"schedule() still acts after 5 calls at this instant: expected at most jobs.max_calls_per_instant"),
		"five calls are allowed (%u): %s", calls, err.text);
	r = go(idle, "submit_s,duration_s,gpus\n0,1,1\n0,1,1\n0,1,1\n", "1x1:a", "", 0);
	ok(!r && strstr(err.text, "policy script: job 1 at 1.000000000 s: 2 jobs wait, no job runs and no timer is set"),
		"a policy that starts no job: %s", err.text);
	r = go(half, "submit_s,duration_s,gpus,speedup\n0,4000000000,2,1:1;2:2\n", "1x2:a", "", 0);
	ok(!r && strstr(err.text, "job 0 at 0.000000000 s: the job would end after 146 years, the end of the clock"),
		"a job of 253 years: %s", err.text);
	r = go(half, "submit_s,duration_s,gpus,speedup\n0,2000000000,2,1:1;2:2\n", "1x2:a", "", 0);
	expect(r, "makespan", 4e9);
	result_free(r);
}

/* ---- eviction for another world: at 5 s, the request takes GPUs from the jobs that started last ---- */

static struct pool_request wanted;
static const uint32_t *but_nodes;
static size_t n_but;
static uint32_t taken;
static char lost[64];

static void reclaim(struct orr_jobs *w, double now)
{
	struct bitset but;
	start_all(w, now);
	if (now != 5 || acts++)
		return;
	bitset_init(&but, w->config->cluster->n_nodes);
	for (size_t i = 0; i < n_but; i++)
		bitset_add(&but, but_nodes[i]);
	bool was[8] = { false };
	for (uint32_t i = 0; i < n_jobs; i++)
		was[i] = orr_job_is_running(w, job[i]);
	taken = jobs_reclaim(w, &wanted, n_but ? &but : NULL);
	lost[0] = '\0';
	for (uint32_t i = 0; i < n_jobs; i++)
		if (was[i] && !orr_job_is_running(w, job[i]))
			snprintf(lost + strlen(lost), sizeof lost - strlen(lost), "%u ", i);
	bitset_free(&but);
}

/* Runs jobs on a cluster. At 5 s another world requests GPUs of `types`. Writes which jobs are evicted. */
static void reclaims(const char *csv, const char *cluster, uint32_t gpus, uint64_t types, const uint32_t *nodes, size_t n, const char *want,
	uint32_t count, const char *what)
{
	wanted = (struct pool_request){ .gpus = gpus, .gpu_milli = 1000, .types = types };
	but_nodes = nodes;
	n_but = n;
	struct run_result *r = go(reclaim, csv, cluster, "", 0);
	if (!r)
		printf("# %s\n", err.text);
	same_text(lost, want, what);
	ok(r && taken == count && evicted == count, "%u jobs are evicted and told so", count);
	expect(r, "restarts", count);
	result_free(r);
}

static void test_reclaim(void)
{
	static const char full[] = "submit_s,duration_s,gpus\n0,20,2\n1,20,2\n2,20,2\n3,20,2\n5,1,0\n";
	static const uint32_t last[] = { 3 }, others[] = { 1, 2, 3 };
	reclaims(full, "4x2:a", 2, 1, NULL, 0, "3 ", 1, "two GPUs: of the job that started last");
	reclaims(full, "4x2:a", 4, 1, NULL, 0, "2 3 ", 2, "four GPUs: of the last two");
	reclaims(full, "4x2:a", 2, 1, last, 1, "2 ", 1, "the job on the excepted node keeps its GPUs");
	reclaims(full, "4x2:a", 2, 1, others, 3, "0 ", 1, "only one node is not excepted");
	reclaims(full, "4x2:a", 4, 1, others, 3, "", 0, "four GPUs are not there without the excepted nodes: no job is evicted");
	reclaims(full, "2x2:a,2x2:b", 2, 1, NULL, 0, "1 ", 1, "the first type: of the last job on it");
	reclaims(full, "2x2:a,2x2:b", 2, 2, NULL, 0, "3 ", 1, "the second type");
	reclaims(full, "4x2:a", 2, 2, NULL, 0, "", 0, "a type that no job uses");
	/* The last job holds one GPU of n1. Its eviction alone does not free two GPUs on n0; that of job 0 does, so job 1 continues. */
	reclaims("submit_s,duration_s,gpus\n0,20,4\n3,20,1\n5,1,0\n", "1x4:a,1x1:a", 4, 1, NULL, 0, "0 ", 1,
		"a job whose GPUs do not help is spared");
	reclaims("submit_s,duration_s,gpus\n0,20,2\n0,20,2\n0,20,2\n5,1,0\n", "3x2:a", 2, 1, NULL, 0, "2 ", 1,
		"of jobs that started together, the one with the highest number");
}

/* ---- a clock and a pool of the host ---- */

static int64_t others;
static uint64_t gave;
static bool was_due;
static double part_done;

/* Runs the world on an engine and a pool of the test, as the mixed world does. */
static int run_shared(const struct jobs_config *c, const struct orr_policy *p, struct run_result *r, struct jobs_blocks *blocks)
{
	struct jobs_host host = { eng_new(), pool_new(c->cluster, c->placement), &others };
	struct orr_jobs *w = jobs_begin(c, &host, p, NULL, "script", r, blocks);
	int64_t t;
	was_due = false;
	while (!jobs_is_over(w) && eng_next_time(host.engine, &t)) {
		jobs_begin_instant(w, t);
		do {
			int64_t next;
			while (!jobs_is_over(w) && eng_next_time(host.engine, &next) && next == t) {
				eng_step(host.engine);
				was_due |= jobs_is_due(w);
				jobs_after_event(w);
			}
		} while (jobs_decide(w));
		if (jobs_is_due(w))
			was_due = false;
		jobs_end_instant(w);
		if (t == 10 * ORR_SECOND)
			part_done = jobs_part_done(w);
	}
	gave = jobs_given(w);
	bool failed = jobs_has_failed(w);
	int rc = jobs_end(w, &err);
	ok(failed == (rc != 0), "the state says whether the run failed");
	pool_free(host.pool);
	eng_free(host.engine);
	return rc;
}

static void test_shared(void)
{
	static const char csv[] = "submit_s,duration_s,gpus\n0,10,2\n0,20,2\n5,10,4\n12,3,1\n";
	struct run_result *alone = go(start_all, csv, "1x4:a", "start_cost=1s", 0);
	runner = run_shared;
	struct run_result *r = go(start_all, csv, "1x4:a", "start_cost=1s", 0);
	uint32_t equal = 0;
	for (size_t i = 0; r && alone && i < r->n_metrics; i++)
		equal += !strcmp(r->metrics[i].name, alone->metrics[i].name) &&
			 !(r->metrics[i].value < alone->metrics[i].value || r->metrics[i].value > alone->metrics[i].value);
	ok(r && alone && r->n_metrics == alone->n_metrics && equal == r->n_metrics, "on the clock of a host, all metrics are the same");
	ok(gave == 4 && was_due, "each of the four jobs has released its GPUs once (%u)", (unsigned)gave);
	near_to(part_done, 0, 0, "no job has ended at 10 s, because of the start cost");
	result_free(r);
	/* Another world uses 1 of four GPUs. The utilisation counts only the GPUs of jobs. */
	others = 0;
	r = go(start_all, "submit_s,duration_s,gpus\n0,10,2\n5,10,1\n10,5,1\n", "1x4:a", "", 0);
	near_to(part_done, 1 / 3., 1e-12, "one of three jobs has ended at 10 s");
	expect(r, "utilisation", 35 / 60.);
	result_free(r);
	runner = NULL;
	result_free(alone);
}

int main(void)
{
	adjust = change;
	test_rows();
	test_names();
	test_node_rows();
	test_mix();
	test_events();
	test_completed_only();
	test_warmup();
	test_grow();
	test_split();
	test_limits();
	test_reclaim();
	test_shared();
	return done();
}

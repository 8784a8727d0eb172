/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_jobs_acts.c - queries and actions of a policy of the jobs world, on runs computed by hand; --check detects each law that
 * a test violates
 */
#include "jobs/bill.h"
#include "tests/jobs/script_run.h"

/* ---- metrics: three jobs on four GPUs ---- */

static void test_metrics(void)
{
	/* Job 0 has 2 GPUs from 0 to 20 s. Job 1 requests 4 GPUs at 5 s and runs from 20 to 30 s. Job 2 (2 GPUs, arrives at 10 s)
	 * runs after job 1 until 110 s, or greedily from 10 s on. */
	struct run_result *r = go(start_all, "submit_s,duration_s,gpus\n0,20,2\n5,10,4\n10,20,2\n", "1x4:a", "", 0);
	/* Times in s: job 0 runs 0-20, job 2 10-30, job 1 30-40. The JCTs are 20, 35 and 20; the waits 0, 25 and 0; the slowdowns 1,
	 * 3.5 and 1. */
	same_text(ends, "0:20 2:30 1:40 ", "jobs start as soon as they fit");
	expect(r, "jct_mean", 75 / 3.);
	expect(r, "jct_max", 35);
	expect(r, "jct_p50", 20);
	expect(r, "wait_mean", 25 / 3.);
	expect(r, "slowdown_mean", 5.5 / 3);
	expect(r, "makespan", 40);
	expect(r, "gpu_hours", (40 + 40 + 40) / 3600.);
	expect(r, "utilisation", 120 / 160.);
	expect(r, "queue_length_mean", 25 / 40.);
	expect(r, "queue_length_max", 1);
	/* Two GPUs are free while job 1 waits: from 5 to 10 s and from 20 to 30 s. From 0 to 5 s, too, two GPUs are free on a node in
	 * use. */
	expect(r, "stranded_gpus", 2 * 15 / 40.);
	expect(r, "fragmentation", 2 * 20 / 160.);
	/* The speeds, 1 / slowdown, are 1, 1/3.5 and 1. */
	expect(r, "jain_slowdown", (2 + 1 / 3.5) * (2 + 1 / 3.5) / (3 * (2 + 1 / 12.25)));
	/* The fair share of a job is 4 GPUs divided by the mean number of jobs present. For job 0 this number is (5 x 1 + 5 x 2 + 10
	 * x 3) / 20 = 2.25, for job 1 (5 x 2 + 10 x 3 + 10 x 2 + 10 x 1) / 35 = 2, for job 2 (10 x 3 + 10 x 2) / 20 = 2.5. */
	double rho[3] = { 20 / (20 * 2 / (4 / 2.25)), 35 / (10 * 4 / (4 / 2.)), 20 / (20 * 2 / (4 / 2.5)) };
	expect(r, "ftf_mean", (rho[0] + rho[1] + rho[2]) / 3);
	expect(r, "ftf_max", 1.75);
	expect(r, "jobs", 3);
	expect(r, "jobs_completed", 3);
	expect(r, "jobs_unfinished", 0);
	expect(r, "recorded_failed", NAN);
	expect(r, "preemptions", 0);
	ok(r && r->n_jobs == 3 && r->jobs[1].start_ns == 30 * ORR_SECOND && r->jobs[1].end_ns == 40 * ORR_SECOND &&
			r->jobs[1].wait_ns == 25 * ORR_SECOND && r->jobs[1].run_ns == 10 * ORR_SECOND && r->jobs[1].gpus == 4 &&
			r->jobs[1].gpu_milli == 1000 && r->jobs[1].status == JOB_COMPLETED,
		"the row of the second job");
	result_free(r);
	r = go(start_all, "submit_s,duration_s,gpus\n0,20,2\n5,10,4\n10,20,2\n", "1x4:a", "", 25);
	expect(r, "jobs_completed", 1);
	expect(r, "jobs_unfinished", 2);
	expect(r, "gpu_hours", (40 + 30) / 3600.);
	ok(r && r->n_jobs == 3 && r->jobs[1].status == JOB_UNFINISHED && r->jobs[1].end_ns < 0 && r->jobs[1].start_ns < 0 &&
			r->jobs[1].wait_ns == 20 * ORR_SECOND && r->jobs[2].run_ns == 15 * ORR_SECOND,
		"rows of unfinished jobs");
	result_free(r);
	/* Shared GPUs: two jobs of 0.4 GPU each share one GPU. */
	r = go(start_all, "submit_s,duration_s,gpus,gpu_milli\n0,10,1,400\n0,20,1,400\n0,10,1,400\n", "1x2:a", "", 0);
	expect(r, "gpu_hours", 0.4 * 40 / 3600);
	expect(r, "makespan", 20);
	result_free(r);
}

/* A hundred jobs that arrive together and run one after the other, for 1 s each: JCTs 1 to 100, waits 0 to 99. The quantile p of n
 * values is at p (n - 1) from the smallest, interpolated linearly. */
static void test_quantiles(void)
{
	char csv[1000] = "submit_s,duration_s,gpus\n";
	for (int i = 0; i < 100; i++)
		strcat(csv, "0,1,1\n");
	struct run_result *r = go(start_all, csv, "1x1:a", "", 0);
	expect(r, "jct_p50", 1 + 99 * 0.5);
	expect(r, "jct_p95", 1 + 99 * 0.95);
	expect(r, "jct_p99", 1 + 99 * 0.99);
	expect(r, "jct_max", 100);
	expect(r, "wait_p50", 99 * 0.5);
	expect(r, "wait_p99", 99 * 0.99);
	/* The bounded slowdown is the JCT over 10 s, but at least 1. */
	expect(r, "slowdown_p99", (1 + 99 * 0.99) / 10);
	result_free(r);
}

/* ---- queries ---- */

static const char three_kinds[] = "submit_s,duration_s,gpus,cpus,mem_mib,limit_s,priority,user,queue,model,job_id,gpu_types,iterations\n"
				  "1,100,2,4,8192,50,7,ann,short,resnet,first,,500\n2,30,1,,,,,,,,,b,\n3,40,0,1,,,,,,,,,\n";

static void ask(struct orr_jobs *w, double now)
{
	struct orr_job_info i;
	struct orr_node_info x;
	uint32_t types[4] = { 9, 9, 9, 9 };
	start_all(w, now);
	if (now != 3)
		return;
	ok(n_jobs == 3 && orr_job_first(w) == job[0] && orr_job_next(w, job[0]) == job[1] && orr_job_next(w, job[1]) == job[2] &&
			!orr_job_next(w, job[2]) && !orr_job_next(w, 0),
		"live jobs in order of submission");
	ok(orr_job_get(w, job[0], &i) && i.number == 0 && i.state == ORR_JOB_RUNNING && i.submit_ns == ORR_SECOND &&
			i.started_ns == ORR_SECOND && i.attained_ns == 2 * ORR_SECOND && i.limit_ns == 50 * ORR_SECOND && i.gpus == 2 &&
			i.gpus_held == 2 && i.gpu_milli == 1000 && i.cpu_milli == 4000 && i.mem_mib == 8192 && !i.is_elastic &&
			!i.preemptions,
		"the first job");
	near_to(i.attained_gpu_s, 4, 1e-12, "GPU-seconds of two GPUs for two seconds");
	near_to(i.priority, 7, 0, "priority");
	same_text(orr_name(w, i.user), "ann", "user");
	same_text(orr_name(w, i.queue), "short", "queue");
	same_text(orr_name(w, i.model), "resnet", "model");
	same_text(orr_job_name(w, job[0]), "first", "name of a job");
	ok(i.gpu_type == 0 && orr_job_get(w, job[1], &i) && i.gpu_type == 1 && i.gpu_types == 2 && i.limit_ns < 0, "types of GPUs");
	ok(orr_job_gpus(w, job[0]) == 2 && orr_job_gpus(w, job[2]) == 0 && orr_job_gpus(w, 0) == 0, "GPUs requested");
	ok(orr_job_shape(w, job[0]) != orr_job_shape(w, job[1]) && !orr_job_shape(w, 0), "shapes of requests");
	ok(orr_job_submit_ns(w, job[1]) == 2 * ORR_SECOND && !orr_job_submit_ns(w, 0), "time of submission");
	ok(orr_job_number(w, job[1]) == 1 && !orr_job_number(w, 0), "numbers");
	ok(orr_job_attained_ns(w, job[1]) == ORR_SECOND && !orr_job_attained_ns(w, 0), "time attained");
	ok(orr_job_remaining_ns(w, job[0]) == 98 * ORR_SECOND && orr_job_remaining_ns(w, job[2]) == 40 * ORR_SECOND &&
			orr_job_duration_ns(w, job[0]) == 100 * ORR_SECOND && !orr_job_duration_ns(w, 0) && !orr_job_remaining_ns(w, 0),
		"true durations");
	near_to(orr_job_iterations(w, job[0]), 500, 0, "iterations");
	near_to(orr_job_iterations(w, 0), 0, 0, "iterations of no job");
	near_to(orr_job_iterations_left(w, 0), 0, 0, "iterations left of no job");
	near_to(orr_job_throughput(w, 0, 0), 0, 0, "throughput of no job");
	near_to(orr_job_rate_at(w, 0, 1), 0, 0, "rate of no job");
	near_to(orr_job_iterations_left(w, job[0]), 490, 1e-9, "iterations left");
	near_to(orr_job_iterations_left(w, job[1]), 0, 0, "iterations of a job without");
	near_to(orr_job_throughput(w, job[0], 0), 5, 1e-12, "iterations a second");
	ok(orr_job_done_ns(w, job[0]) == 2 * ORR_SECOND && !orr_job_done_ns(w, job[2]) && !orr_job_done_ns(w, 0), "work done");
	ok(orr_job_estimate_ns(w, job[0], ORR_ESTIMATE_LIMIT, 1) == 50 * ORR_SECOND &&
			orr_job_estimate_ns(w, job[1], ORR_ESTIMATE_LIMIT, 3) == 30 * ORR_SECOND,
		"an estimate by the limit; without a limit, by the duration");
	ok(orr_job_estimate_ns(w, job[0], ORR_ESTIMATE_EXACT, 1) == 100 * ORR_SECOND &&
			orr_job_estimate_ns(w, job[0], ORR_ESTIMATE_EXACT, 2.5) == 250 * ORR_SECOND &&
			!orr_job_estimate_ns(w, 0, ORR_ESTIMATE_EXACT, 1),
		"an estimate by the duration");
	near_to(orr_job_rate_on(w, job[1], 0), 0, 0, "a type that the job does not accept");
	near_to(orr_job_rate_on(w, job[1], 1), 1, 0, "a type that it accepts");
	near_to(orr_job_rate_on(w, job[1], 2), 0, 0, "no such type");
	near_to(orr_job_rate_at(w, job[0], 2), 1, 0, "the size requested");
	near_to(orr_job_rate_at(w, job[0], 1), 0, 0, "another size of a job that is not elastic");
	ok(orr_gpu_types(w) == 2 && !strcmp(orr_gpu_type_name(w, 1), "b") && !*orr_gpu_type_name(w, 2), "types of the cluster");
	ok(orr_job_type_order(w, job[0], types, 4) == 2 && types[0] == 0 && types[1] == 1 && types[2] == 9 &&
			orr_job_type_order(w, job[0], types, 1) == 1 && !orr_job_type_order(w, 0, types, 4),
		"order of types");
	ok(orr_total_gpus(w) == 6 && orr_free_gpus(w) == 3 && orr_total_gpus_of(w, 0) == 4 && orr_free_gpus_of(w, 0) == 2 &&
			orr_total_gpus_of(w, 1) == 2 && orr_free_gpus_of(w, 1) == 1 && !orr_total_gpus_of(w, 2) && !orr_free_gpus_of(w, 2),
		"GPUs of the cluster");
	ok(orr_nodes(w) == 2 && orr_node_get(w, 1, &x) && x.is_up && x.gpu_type == 1 && x.gpus == 2 && x.gpus_free == 1 &&
			!orr_node_get(w, 2, &x),
		"nodes");
	ok(orr_node_goes_ns(w, 0) == ORR_NEVER && !orr_going_gpus(w) && !orr_job_going_gpus(w, job[0]) && isnan(orr_gpu_usd_per_hour(w, 0)),
		"nodes that are not lent do not leave and have no price");
	ok(orr_fits(w, job[0]) && !orr_fits(w, 0), "another job of that request would fit");
	ok(orr_fits_without(w, job[0], UINT32_MAX, NULL, 0) && !orr_fits_without(w, job[0], 1, NULL, 0) &&
			orr_fits_without(w, job[0], 1, &job[1], 1) && !orr_fits_without(w, 0, 1, &job[1], 1),
		"two GPUs of b are free without the second job");
}

static void test_queries(void)
{
	flags = ORR_NEEDS_ORACLE;
	struct run_result *r = go(ask, three_kinds, "1x4:a,1x2:b", "", 0);
	if (!ok(r != NULL, "the policy that asks runs"))
		printf("# %s\n", err.text);
	result_free(r);
	flags = 0;
}

/* ---- costs of starts, stops and moves ---- */

static void move(struct orr_jobs *w, double now)
{
	static const uint32_t first[] = { 0 }, second[] = { 1 }, two[] = { 2 };
	if (now == 0)
		orr_start_at(w, job[0], first, two, 1);
	if (now == 0)
		orr_timer(w, 30 * ORR_SECOND);
	if (now == 30) {
		orr_stop_with_cost(w, job[0], 4 * ORR_SECOND);
		orr_add_work(w, job[0], 6 * ORR_SECOND);
		orr_start_at(w, job[0], second, two, 1);
	}
}

static void move_and_back(struct orr_jobs *w, double now)
{
	static const uint32_t first[] = { 0 }, two[] = { 2 };
	if (now == 0)
		orr_timer(w, 30 * ORR_SECOND);
	if (now == 30)
		orr_stop(w, job[0]);
	if (now == 0 || now == 30)
		orr_start_at(w, job[0], first, two, 1);
}

static uint32_t kills;

static void kill_one(struct orr_jobs *w, double now)
{
	if (now == 0)
		orr_timer(w, 10 * ORR_SECOND);
	if (now == 10 && !kills++) {
		orr_kill(w, job[0]);
		orr_kill(w, job[1]); /* waits */
	}
	start_all(w, now);
}

static void test_costs(void)
{
	/* The job has 100 s of work. After 5 s of start cost, 25 s are done at 30 s. Then 75 + 4 + 3 + 6 s are left, and start and
	 * migration take 5 + 2 s. */
	struct run_result *r = go(move, "submit_s,duration_s,gpus\n0,100,2\n", "2x2:a", "start_cost=5s preempt_cost=3s migrate_cost=2s", 0);
	same_text(ends, "0:125 ", "a job that moves pays for the start, the stop, the policy's cost and the migration");
	expect(r, "preemptions", 1);
	expect(r, "migrations", 1);
	expect(r, "gpu_hours", 250 / 3600.);
	expect(r, "jct_mean", 125);
	expect(r, "wait_mean", 0);
	result_free(r);
	/* On the same node there is no migration: the job takes 5 + 25 s, then 5 + 75 + 3 s. */
	r = go(move_and_back, "submit_s,duration_s,gpus\n0,100,2\n", "2x2:a", "start_cost=5s preempt_cost=3s migrate_cost=2s", 0);
	same_text(ends, "0:113 ", "a job that restarts in place pays for the start and the stop");
	expect(r, "migrations", 0);
	result_free(r);
	kills = 0;
	r = go(kill_one, "submit_s,duration_s,gpus\n0,100,2\n0,100,2\n0,50,2\n", "1x2:a", "", 0);
	same_text(ends, "0!10 1!10 2:60 ", "killed jobs end at once");
	expect(r, "jobs_killed", 2);
	expect(r, "jct_mean", 60);
	expect(r, "gpu_hours", 120 / 3600.);
	result_free(r);
}

/* ---- elastic jobs ---- */

static void resize(struct orr_jobs *w, double now)
{
	if (now == 0) {
		ok(orr_try_start_sized(w, job[0], 1), "a job starts with one GPU of two");
		orr_timer(w, 20 * ORR_SECOND);
	}
	if (now == 20) {
		ok(!orr_resize(w, job[0], 8), "eight GPUs are not free");
		ok(orr_resize(w, job[0], 4) && orr_resize(w, job[0], 4), "the job grows to four");
		near_to(orr_job_rate_at(w, job[0], 1), 0.5, 1e-12, "rates are relative to the size requested");
		near_to(orr_job_rate_at(w, job[0], 4), 1.5, 1e-12, "rates are relative to the size requested");
		near_to(orr_job_rate_at(w, job[0], 3), 0, 0, "a size that the job does not offer");
	}
}

static void test_elastic(void)
{
	/* 100 s of work at 2 GPUs: the first 20 s run at rate 1/2, the other 90 s of work at rate 3/2. */
	struct run_result *r = go(resize, "submit_s,duration_s,gpus,speedup\n0,100,2,1:1;2:2;4:3;8:4\n", "1x4:a", "", 0);
	if (!r)
		printf("# %s\n", err.text);
	same_text(ends, "0:80 ", "an elastic job runs at the rate of its size");
	expect(r, "gpu_hours", (20 + 4 * 60) / 3600.);
	expect(r, "preemptions", 0);
	result_free(r);
	static const char *const bad[] = { "2", "2:x", "x:1", "2:1;1:1", "2:1;2:1", "2:0", "2:-1", "0:1;2:1", "1:1;4:3", "2:2e9",
		"2000000:1;2:1" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char csv[100];
		snprintf(csv, sizeof csv, "submit_s,duration_s,gpus,speedup\n0,100,2,%s\n", bad[i]);
		r = go(start_all, csv, "1x4:a", "", 0);
		ok(!r && err.code == ORR_EINPUT && strstr(err.text, "speedup: expected "), "refused: %s", bad[i]);
		result_free(r);
	}
}

/* ---- mistakes ---- */

static int trick;

static void mistake(struct orr_jobs *w, double now)
{
	static const uint32_t node[] = { 0 }, three[] = { 3 }, nowhere[] = { 7 }, two[] = { 2 };
	struct orr_queue *queue;
	if (now != 0)
		return;
	switch (trick) {
	case 0:
		orr_try_start(w, 99);
		break;
	case 1:
		orr_stop(w, job[0]);
		break;
	case 2:
		orr_try_start(w, job[0]);
		orr_try_start(w, job[0]);
		break;
	case 3:
		orr_try_start_on_type(w, job[0], 5);
		break;
	case 4:
		orr_try_start_sized(w, job[0], 3);
		break;
	case 5:
		orr_start_at(w, job[0], node, three, 1);
		break;
	case 6:
		orr_start_at(w, job[0], nowhere, two, 1);
		break;
	case 7:
		orr_try_start(w, job[0]);
		orr_stop_with_cost(w, job[0], -1);
		break;
	case 8:
		orr_add_work(w, job[0], -1);
		break;
	case 9:
		orr_resize(w, job[0], 1);
		break;
	case 10:
		orr_try_start(w, job[0]);
		orr_resize(w, job[0], 1);
		break;
	case 11:
		orr_job_remaining_ns(w, job[0]);
		break;
	case 12:
		orr_give_up(w, job[0], "enough");
		break;
	case 13:
		orr_kill(w, job[0]);
		orr_kill(w, job[0]);
		break;
	case 14:
		orr_try_start(w, job[0]);
		orr_add_work(w, job[0], 1);
		break;
	case 15:
		orr_job_number(w, 99);
		break;
	case 16:
		queue = orr_queue_new(w);
		orr_queue_add(queue, 99, 1, 1);
		orr_queue_free(queue);
		break;
	case 17:
		queue = orr_queue_new(w);
		orr_queue_remove(queue, 99);
		orr_queue_free(queue);
		break;
	case 18:
		queue = orr_queue_new(w);
		orr_queue_add(queue, job[0], 1, 1);
		orr_queue_add(queue, job[0], 2, 1);
		orr_queue_free(queue);
		break;
	}
}

static void test_mistakes(void)
{
	static const char *const expected[] = { "start of a job that has ended or never existed (handle 63)",
		"job 0 at 0.000000000 s: stop of a job that does not run: expected a running job",
		"start of a job that runs already: expected a waiting job", "start on GPU type 5: expected a number below 1",
		"start on 3 GPUs: expected a size that the job offers", "start on 3 GPUs: expected 2, the request of the job",
		"job 0 at 0.000000000 s: start: ", "stop with a negative cost: expected a cost of at least 0",
		"negative extra work: expected work of at least 0", "resize of a job that does not run: expected a running job",
		"resize to 1 GPUs: expected a size that the job offers",
		"the policy reads a true duration: expected a policy that declares ORR_NEEDS_ORACLE", "job 0 at 0.000000000 s: enough",
		"kill of a job that has ended", "adding work of a job that runs already: expected a waiting job",
		"no job ever had the handle 63: expected a handle that the world gave", "no job ever had the handle 63",
		"no job ever had the handle 63", "orr_queue_add() of a job that is in the queue: expected orr_queue_remove() before" };
	for (trick = 0; trick < (int)(sizeof expected / sizeof *expected); trick++) {
		struct run_result *r = go(mistake, "submit_s,duration_s,gpus\n0,20,2\n", "1x4:a", "", 0);
		ok(!r && err.code == ORR_EFAIL && strstr(err.text, "policy script: ") && strstr(err.text, expected[trick]), "%s: %s",
			expected[trick], r ? "it ran" : err.text);
		result_free(r);
	}
}

/* ---- laws: at 5 s job 0 runs and job 1 waits ---- */

static void break_one(struct orr_jobs *w, double now)
{
	start_all(w, now);
	if (now != 5)
		return;
	struct job *a = &w->slots.job[w->slots.running[0]], *b = job_of(w, job[1]);
	switch (trick) {
	case 0:
		w->slots.live++;
		break;
	case 1:
		w->slots.waiting++;
		break;
	case 2:
		w->totals.arrived++;
		break;
	case 3:
		b->held = 1;
		break;
	case 4:
		b->work.left = -1;
		break;
	case 5:
		b->submit = -1;
		break;
	case 6:
		b->state = ORR_JOB_RUNNING;
		break;
	case 7:
		a->work.booked += 1;
		break;
	case 8:
		a->attained += 1;
		break;
	case 9:
		w->totals.job_milli_ns += 1;
		break;
	}
}

static void test_laws(void)
{
	static const char *const expected[] = { "conservation: jobs are lost or duplicated", "conservation: jobs are lost or duplicated",
		"conservation: the number of jobs that arrived is not the sum of refused, ended, waiting and running jobs",
		"conservation: a waiting job holds GPUs", "conservation: a job has done more work than it requested",
		"conservation: live jobs are not in order of submission", "conservation: jobs are lost or duplicated",
		"conservation: did 20000000001 ns of work, requested 20000000000 ns",
		"conservation: ran 20000000001 ns, requested 20000000000 ns plus 0 ns of start cost",
		"conservation: the integral of GPUs in use differs from the GPU-time of the jobs" };
	for (trick = 0; trick < (int)(sizeof expected / sizeof *expected); trick++) {
		struct run_result *r = go(break_one, "submit_s,duration_s,gpus\n0,20,4\n5,10,4\n", "1x4:a", "", 0);
		ok(!r && err.code == ORR_EFAIL && strstr(err.text, expected[trick]), "--check finds: %s: %s", expected[trick],
			r ? "it ran" : err.text);
		result_free(r);
	}
}

int main(void)
{
	test_metrics();
	test_quantiles();
	test_queries();
	test_costs();
	test_elastic();
	test_mistakes();
	test_laws();
	return done();
}

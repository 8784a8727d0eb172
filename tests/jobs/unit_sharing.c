/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_sharing.c - jobs that share GPUs, on runs computed by hand: their speeds by each model of interference, GPU time, memory, time
 * slices, and the errors of impossible actions. Every run is under --check.
 */
#include "tests/jobs/script_run.h"

static enum interference model;
static double memory_mib[CLUSTER_MAX_TYPES];

static void set_model(struct jobs_config *c)
{
	c->interference = model;
	c->gpu_mem_mib = memory_mib;
}

/* Starts every job: the first on its own GPUs, the others beside it. */
static void all_together(struct orr_jobs *w, double now)
{
	orr_job first = orr_job_first(w);
	(void)now;
	for (orr_job j = first; j; j = orr_job_next(w, j)) {
		if (orr_job_is_running(w, j))
			continue;
		if (j == first)
			orr_try_start(w, j);
		else
			orr_start_beside(w, j, first);
	}
}

static struct run_result *together(enum interference how, const char *csv, const char *settings)
{
	model = how;
	adjust = set_model;
	return go(all_together, csv, "1x2:a", settings, 0);
}

static void test_slices(void)
{
	/* Three jobs on one GPU from 0 s: a third of the speed each. At 30 s job 0 has done 10 s of work; the other two then have a half
	 * each: job 1 has 10 s left and ends at 50 s; job 2 has 30 - 10 - 10 s left, alone until 60 s. */
	struct run_result *r = together(GPU_SHARING_SLICES, "submit_s,duration_s,gpus\n0,10,1\n0,20,1\n0,30,1\n", "");
	same_text(ends, "0:30 1:50 2:60 ", "slices: three jobs on one GPU, work conserved");
	expect(r, "gpu_hours", 60 / 3600.);
	expect(r, "utilisation", 0.5);
	expect(r, "shared_starts", 2);
	expect(r, "preemptions", 0);
	result_free(r);
	/* The holder of the GPUs ends first in the run above; here the one beside it does. */
	r = together(GPU_SHARING_SLICES, "submit_s,duration_s,gpus\n0,30,2\n0,10,2\n", "");
	same_text(ends, "1:20 0:40 ", "slices: the job beside ends first");
	expect(r, "gpu_hours", 80 / 3600.);
	result_free(r);
}

static void test_occupancy(void)
{
	/* 0.3 + 0.5 of the GPU: no slowdown. 0.9 + 0.6: both at 1 / 1.5. */
	struct run_result *r = together(GPU_SHARING_OCCUPANCY, "submit_s,duration_s,gpus,occupancy\n0,10,1,0.3\n0,20,1,0.5\n", "");
	same_text(ends, "0:10 1:20 ", "occupancy: jobs that fit together run at full speed");
	result_free(r);
	r = together(GPU_SHARING_OCCUPANCY, "submit_s,duration_s,gpus,occupancy\n0,10,1,0.9\n0,20,1,0.6\n", "");
	same_text(ends, "0:15 1:25 ", "occupancy: 1.5 GPUs on one slow both down to 2/3");
	result_free(r);
}

static void test_stages(void)
{
	/* Job 0: storage 1, GPU 2, network 1; job 1: 2, 1, 1. Taking turns takes max(1, 1 + 1) + max(2, 2 + 1) = 5 s. Slots in the order
	 * 0, 1: network of 1 (1 s), beside it the storage of 0; then GPU of 0 beside storage of 1 (2 s); then network of 0 beside GPU of
	 * 1 (1 s): a period of 4 s, the iteration time of both alone. So the rate is 1 without slowdown, 1/2 with a slowdown of 2. */
	static const double pair[][ITERATION_STAGES] = { { 1, 2, 1 }, { 2, 1, 1 } };
	near_to(interleave_s(pair, 2), 4, 1e-12, "stages: the period of two jobs");
	/* GPU 3 s and network 1 s against storage 3 s: in turn max(0, 0) + max(3, 4) = 4 s; in slots 3 + 1 s too. */
	static const double other[][ITERATION_STAGES] = { { 0, 3, 1 }, { 3, 0, 0 } };
	near_to(interleave_s(other, 2), 4, 1e-12, "stages: a job that only loads, beside one that only computes and sends");
	const char *csv = "submit_s,duration_s,gpus,iterations,stages\n0,40,1,10,1;2;1\n0,40,1,10,2;1;1\n";
	struct run_result *r = together(GPU_SHARING_STAGES, csv, "group_slowdown=1,1,1,1");
	same_text(ends, "1:40 0:40 ", "stages: two jobs without slowdown");
	result_free(r);
	r = together(GPU_SHARING_STAGES, csv, "group_slowdown=2,4,4,4");
	same_text(ends, "1:80 0:80 ", "stages: the slowdown is relative to that of one job");
	result_free(r);
	r = together(GPU_SHARING_AUTO, csv, "group_slowdown=1,1,1,1");
	same_text(ends, "1:40 0:40 ", "auto: jobs with stages are interleaved");
	result_free(r);
	r = together(GPU_SHARING_AUTO, "submit_s,duration_s,gpus,iterations,stages\n0,40,1,10,1;2;1\n0,40,1,10,\n", "");
	same_text(ends, "1:80 0:80 ", "auto: jobs without data have slices");
	result_free(r);
}

static void fails(enum interference how, const char *csv, const char *text)
{
	struct run_result *r = together(how, csv, "");
	ok(!r && strstr(err.text, text), "%s (%s)", text, r ? "no error" : err.text);
	result_free(r);
}

static void test_errors(void)
{
	fails(GPU_SHARING_SLICES, "submit_s,duration_s,gpus\n0,10,1\n0,10,2\n", "start beside job 0: the job does not offer the number");
	fails(GPU_SHARING_SLICES, "submit_s,duration_s,gpus,gpu_milli\n0,10,1,400\n0,10,1,400\n", "only jobs on whole GPUs share them");
	fails(GPU_SHARING_STAGES, "submit_s,duration_s,gpus\n0,10,1\n0,10,1\n", "the rates of these jobs on shared GPUs are unknown");
	fails(GPU_SHARING_TABLE, "submit_s,duration_s,gpus\n0,10,1\n0,10,1\n", "the rates of these jobs on shared GPUs are unknown");
	fails(GPU_SHARING_SLICES, "submit_s,duration_s,gpus\n0,9,1\n0,9,1\n0,9,1\n0,9,1\n0,9,1\n0,9,1\n0,9,1\n0,9,1\n0,9,1\n",
		"at most 8 jobs share GPUs");
	memory_mib[0] = 16000;
	fails(GPU_SHARING_SLICES, "submit_s,duration_s,gpus,gpu_mem_mib\n0,10,1,8000\n0,10,1,8001\n",
		"use more memory than their GPUs have");
	struct run_result *r = together(GPU_SHARING_SLICES, "submit_s,duration_s,gpus,gpu_mem_mib\n0,10,1,8000\n0,10,1,8000\n", "");
	same_text(ends, "1:20 0:20 ", "memory that is just enough");
	result_free(r);
	fails(GPU_SHARING_SLICES, "submit_s,duration_s,gpus,gpu_mem_mib\n0,10,1,16001\n", "can never be placed on this cluster");
	memory_mib[0] = 0;
}

/* Job 0 has a slice of 1/4 from 0 s, of all from 20 s. */
static void slice(struct orr_jobs *w, double now)
{
	start_all(w, now);
	orr_job j = orr_job_first(w);
	if (now < 20) {
		orr_set_slice(w, j, 0.25);
		orr_timer(w, 20 * ORR_SECOND);
	} else if (j) {
		orr_set_slice(w, j, 1);
	}
}

/* At 10 s: stops the job that holds the GPU, asks what fits, and starts it again beside the other. */
static void stop_holder(struct orr_jobs *w, double now)
{
	static orr_job mates[8];
	orr_job a = orr_job_first(w), b = a ? orr_job_next(w, a) : 0;
	if (now < 10) {
		all_together(w, now);
		orr_timer(w, 10 * ORR_SECOND);
		return;
	}
	if (now > 10 || !b) {
		start_all(w, now);
		return;
	}
	orr_job c = orr_job_next(w, b), both[] = { a, b };
	ok(orr_job_mates(w, a, mates, 8) == 1 && mates[0] == b, "the job on the same GPU");
	ok(!orr_fits_without(w, c, ORR_ANY_TYPE, both, 1) && !orr_fits_without(w, c, ORR_ANY_TYPE, both + 1, 1) &&
			orr_fits_without(w, c, ORR_ANY_TYPE, both, 2),
		"GPUs are free only without all jobs that share them");
	near_to(orr_job_rate_beside(w, c, both, 2, 0), 0, 0, "a job of another size cannot share");
	near_to(orr_job_rate_beside(w, a, both + 1, 1, 0), 0.5, 0, "the rate of a pair");
	orr_stop(w, a);
	ok(orr_job_is_running(w, b) && orr_free_gpus(w) == 0, "the other job keeps the GPUs");
	ok(orr_fits_beside(w, a, b) && !orr_fits_beside(w, c, b), "what fits beside it");
	orr_start_beside(w, a, b);
}

static void test_actions(void)
{
	adjust = set_model;
	model = GPU_SHARING_SLICES;
	/* 5 s of work until 20 s, then 25 s. */
	struct run_result *r = go(slice, "submit_s,duration_s,gpus\n0,30,1\n", "1x1:a", "", 0);
	same_text(ends, "0:45 ", "a slice of the time");
	result_free(r);
	r = go(stop_holder, "submit_s,duration_s,gpus\n0,30,2\n0,30,2\n10,5,1\n", "1x2:a", "preempt_cost=1s", 0);
	ok(r != NULL, "the holder stops and starts beside the other (%s)", err.text);
	/* 30 s of work each at 1/2, and 1 s of work added to job 0. */
	same_text(ends, "1:60 0:61 2:66 ", "work is conserved when the holder changes");
	expect(r, "gpu_hours", (2 * 61 + 5) / 3600.);
	result_free(r);
}

int main(void)
{
	test_slices();
	test_occupancy();
	test_stages();
	test_errors();
	test_actions();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rounds of gavel under its own rules, with times worked out by hand. */
#include "tests/jobs/replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_gavel;

static void expect(
	const char *csv, const char *cluster, const char *settings, const double *start_s, const double *end_s, size_t n, const char *what)
{
	struct orr_error err = { 0 };
	struct run_result *r = replay(csv, cluster, "consolidate", &orr_policy_gavel, settings, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(r && replay_matches(r, start_s, end_s, n), "%s", what);
	result_free(r);
}

/* Two jobs of two rounds on one GPU: each has half of the time, so they take turns. */
static void turns(const char *settings, const char *what)
{
	static const double start[] = { 0, 360 }, end[] = { 1080, 1440 };
	expect("submit_s,duration_s,gpus\n0,720,1\n0,720,1\n", "1x1", settings, start, end, 2, what);
}

/* 2/3 of the time each: jobs with the fewest rounds go first, so a job runs in two of three rounds: 0 and 1 in the first, 2 and 0 in
 * the second, 1 and 2 in the third. */
static void two_thirds(void)
{
	static const double start[] = { 0, 0, 360 }, end[] = { 720, 1080, 1080 };
	expect("submit_s,duration_s,gpus\n0,720,1\n0,720,1\n0,720,1\n", "1x2", "allocation=max_min_fairness", start, end, 3,
		"three jobs on two GPUs get two rounds of three");
}

static void rounds(void)
{
	static const double start[] = { 0, 360 }, end[] = { 100, 460 };
	expect("submit_s,duration_s,gpus\n0,100,1\n0,100,1\n", "1x1", "allocation=fifo", start, end, 2,
		"a GPU released inside a round is allocated at its end");
	static const double start2[] = { 50, 170 }, end2[] = { 1050, 270 };
	expect("submit_s,duration_s,gpus\n50,1000,1\n60,100,1\n", "1x2", "allocation=fifo round=120s", start2, end2, 2,
		"if no job runs, a round starts at once, and the grid of rounds with it");
	static const double start3[] = { 0, 1000 }, end3[] = { 10, 1010 };
	expect("submit_s,duration_s,gpus\n0,10,1\n1,10,1\n", "1x1", "allocation=fifo recompute=1000s", start3, end3, 2,
		"the allocation is not computed again before recompute is over");
}

/* Two nodes of two GPUs: 1 and 3 end at 100 and leave one free GPU on each node. The fifth job requests both GPUs of a node: the
 * other jobs move to one node at the next round. */
static void fragments(void)
{
	static const double start[] = { 0, 0, 0, 0, 360 }, end[] = { 1000, 100, 1000, 100, 460 };
	expect("submit_s,duration_s,gpus\n0,1000,1\n0,100,1\n0,1000,1\n0,100,1\n5,100,2\n", "2x2", "allocation=fifo", start, end, 5,
		"a chosen job gets room despite fragmentation");
}

/* A job that requests only CPUs takes no part in rounds. */
static void cpus(void)
{
	static const double start[] = { 0, 10 }, end[] = { 500, 20 };
	expect("submit_s,duration_s,gpus,cpus\n0,500,1,1\n10,10,0,1\n", "1x1:cpus=4", "allocation=isolated", start, end, 2,
		"a job that asks for no GPU starts when it fits");
}

/* 16 cores: no node of the first type has them, though its GPUs are free. The second job waits for the round after the first job's
 * end. */
static void no_place(const char *settings)
{
	static const double start[] = { 0, 360 }, end[] = { 100, 460 };
	expect("submit_s,duration_s,gpus,cpus\n0,100,1,16\n0,100,1,16\n", "1x4:a:cpus=4,1x1:b:cpus=16", settings, start, end, 2, settings);
}

static void errors(void)
{
	struct orr_error err = { 0 };
	struct run_result *r =
		replay("job_id,submit_s,duration_s,gpus\nlone,0,500,1\n", "1x1", "consolidate", &orr_policy_gavel, "rules=gavel", &err);
	ok(!r && strstr(err.text, "lone") && strstr(err.text, "iterations"), "rules=gavel needs iterations: %s", err.text);
	result_free(r);
	r = replay("submit_s,duration_s,gpus\n0,500,1\n", "1x1", "consolidate", &orr_policy_gavel, "round=0", &err);
	ok(!r && strstr(err.text, "round"), "a round of length zero is refused: %s", err.text);
	result_free(r);
}

int main(void)
{
	turns("allocation=isolated", "isolated: two jobs on one GPU take turns");
	turns("allocation=max_min_fairness", "max-min fairness: two jobs on one GPU take turns");
	two_thirds();
	rounds();
	fragments();
	cpus();
	no_place("allocation=fifo");
	no_place("allocation=fifo_perf");
	no_place("allocation=isolated");
	no_place("allocation=max_min_fairness");
	no_place("allocation=max_sum_throughput");
	no_place("allocation=finish_time_fairness");
	errors();
	return done();
}

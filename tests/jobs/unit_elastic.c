/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The elastic policy (optimus): allocations and ends computed by hand. --check verifies that the pieces of a job add up to its
 * work. With rigid jobs its schedule is that of fjf.
 */
#include "base/rng.h"
#include "tests/jobs/replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_optimus, orr_policy_fjf;

static struct orr_error err;

static void by_hand(
	const char *what, const char *csv, const char *cluster, const char *settings, const double *start, const double *end, size_t n)
{
	struct run_result *r = replay(csv, cluster, "consolidate", &orr_policy_optimus, settings, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(replay_matches(r, start, end, n), "%s", what);
	result_free(r);
}

/* A and B have 1 of 4 GPUs each; 2 are left. A size of 2 gains 0.8 per GPU for A and 0.2 for B. So A grows first, then B (A would
 * need two more GPUs for its next size, 4). A ends at 100 / 1.8 s and B at 100 / 1.2 s. With a round at 60 s, B is alone and has 100
 * - 72 = 28 s of work left. A size of 4 gains 0.05 per GPU, and B ends 28 / 1.3 s later. */
static void where_the_gain_is(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,speedup\n0,100,1,1:1;2:1.8;4:2.4\n0,100,1,1:1;2:1.2;4:1.3\n";
	static const double start[] = { 0, 0 }, end[] = { 100 / 1.8, 100 / 1.2 }, end_later[] = { 100 / 1.8, 60 + 28 / 1.3 };
	by_hand("GPUs go to the job whose rate grows most", csv, "1x4", "gain=throughput interval=100s", start, end, 2);
	by_hand("GPUs go to the job whose rate grows most, again in the next round", csv, "1x4", "gain=throughput interval=30s", start,
		end_later, 2);
}

/* 3 GPUs, of which one is left to assign. By throughput A and B have equal gains, and A started first. By time B gains more. */
static void time_or_throughput(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,speedup\n0,10,1,1:1;2:1.5\n0,1000,1,1:1;2:1.5\n";
	static const double start[] = { 0, 0 }, by_rate[] = { 10 / 1.5, 1000 }, by_time[] = { 10, 1000 / 1.5 };
	by_hand("gain=throughput: equal gains, the job that started first", csv, "1x3", "gain=throughput interval=1h", start, by_rate, 2);
	by_hand("gain=time: the job with more work left", csv, "1x3", "gain=time interval=1h", start, by_time, 2);
}

/* 2 GPUs, times in s. A takes both. B (rigid) arrives at 10 and gets one GPU in the round at 20, when A has done 40 s of work. B ends
 * at 50. In the round at 60, A has done 80 s of work and grows; it ends 20 / 2 later. */
static void makes_room(void)
{
	static const double start[] = { 0, 20 }, end[] = { 70, 50 };
	by_hand("waiting jobs get their smallest size before any job grows",
		"submit_s,duration_s,gpus,speedup\n0,100,1,1:1;2:2\n10,30,1,\n", "1x2", "gain=throughput interval=20s", start, end, 2);
}

/* A size of 2 GPUs has no gain over one, a size of 4 has. A job that requests 4 and also accepts 2 starts on 2, at half its rate,
 * while another job holds the rest. */
static void odd_tables(void)
{
	static const double start[] = { 0 }, end[] = { 25 };
	by_hand("a flat step of the table is skipped", "submit_s,duration_s,gpus,speedup\n0,100,1,1:1;2:1;4:4\n", "1x4", "gain=throughput",
		start, end, 1);
	static const double start2[] = { 0, 0 }, end2[] = { 100, 20 };
	by_hand("a job starts below the size that it asks for", "submit_s,duration_s,gpus,speedup\n0,100,2,\n0,10,4,2:2;4:4\n", "1x4", "",
		start2, end2, 2);
	static const double start3[] = { 0, 100, 2 }, end3[] = { 100, 110, 22 };
	by_hand("it starts beside a rigid job that waits for as many GPUs",
		"submit_s,duration_s,gpus,speedup\n0,100,2,\n1,10,4,\n2,10,4,2:2;4:4\n", "1x4", "", start3, end3, 3);
}

/* A round counts a job on a quarter of a GPU as on a whole one, but all four start at once. */
static void parts_of_gpus(void)
{
	static const double start[] = { 0, 0, 0, 0 }, end[] = { 10, 10, 10, 10 };
	by_hand("jobs on parts of a GPU share it", "submit_s,duration_s,gpus,gpu_milli\n0,10,1,250\n0,10,1,250\n0,10,1,250\n0,10,1,250\n",
		"1x1", "", start, end, 4);
}

static char text[32768];

static const char *rigid_workload(struct rng *rng)
{
	size_t at = (size_t)snprintf(text, sizeof text, "submit_s,duration_s,gpus\n");
	uint64_t t = 0;
	for (int i = 0; i < 200; i++) {
		t += rng_below(rng, 20);
		at += (size_t)snprintf(
			text + at, sizeof text - at, "%u,%u,%u\n", (unsigned)t, (unsigned)rng_below(rng, 100), 1u << rng_below(rng, 5));
	}
	return text;
}

static void rigid_jobs(void)
{
	struct rng rng;
	int equal = 0;
	rng_init(&rng, 1, "elastic", 0);
	for (int round = 0; round < 20; round++) {
		const char *csv = rigid_workload(&rng);
		struct run_result *a = replay(csv, "4x4", "consolidate", &orr_policy_optimus, "", &err);
		struct run_result *b = replay(csv, "4x4", "consolidate", &orr_policy_fjf, "", &err);
		bool same = a && b && a->n_jobs == 200 && b->n_jobs == 200;
		for (size_t i = 0; same && i < 200; i++)
			same = a->jobs[i].start_ns == b->jobs[i].start_ns && a->jobs[i].end_ns == b->jobs[i].end_ns;
		equal += same;
		result_free(a);
		result_free(b);
	}
	ok(equal == 20, "rigid jobs: the schedule of fjf, 20 workloads of 200 jobs");
}

int main(void)
{
	where_the_gain_is();
	time_or_throughput();
	makes_room();
	odd_tables();
	parts_of_gpus();
	rigid_jobs();
	return done();
}

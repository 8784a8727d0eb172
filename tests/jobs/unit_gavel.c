/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rounds of gavel under its own rules, with times computed by hand. */
#include "tests/jobs/replay.h"
#include "tests/tap.h"

#include "policies/jobs/gavel.h"

#include <unistd.h>

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

/* Two jobs of two rounds each on one GPU have half of the time, so they take turns. */
static void turns(const char *settings, const char *what)
{
	static const double start[] = { 0, 360 }, end[] = { 1080, 1440 };
	expect("submit_s,duration_s,gpus\n0,720,1\n0,720,1\n", "1x1", settings, start, end, 2, what);
}

/* Each job has 2/3 of the time. The job with the fewest rounds is first, so each job runs in two of three rounds: jobs 0 and 1, then
 * 2 and 0, then 1 and 2. */
static void two_thirds(void)
{
	static const double start[] = { 0, 0, 360 }, end[] = { 720, 1080, 1080 };
	expect("submit_s,duration_s,gpus\n0,720,1\n0,720,1\n0,720,1\n", "1x2", "allocation=max_min_fairness", start, end, 3,
		"three jobs on two GPUs get two rounds of three");
}

static void rounds(void)
{
	static const double start[] = { 0, 0, 360 }, end[] = { 100, 500, 460 };
	expect("submit_s,duration_s,gpus\n0,100,1\n0,500,1\n0,100,1\n", "1x2", "allocation=fifo", start, end, 3,
		"a GPU released inside a round is allocated at its end");
	static const double start1[] = { 0, 100, 210 }, end1[] = { 100, 200, 310 };
	expect("submit_s,duration_s,gpus\n0,100,1\n0,100,1\n210,100,1\n", "1x1", "allocation=fifo", start1, end1, 3,
		"if the last running job ends, a round starts at once");
	static const double start2[] = { 50, 170 }, end2[] = { 1050, 270 };
	expect("submit_s,duration_s,gpus\n50,1000,1\n60,100,1\n", "1x2", "allocation=fifo round=120s", start2, end2, 2,
		"if no job runs, a round starts at once, and the grid of rounds with it");
	static const double start3[] = { 0, 1000 }, end3[] = { 10, 1010 };
	expect("submit_s,duration_s,gpus\n0,10,1\n1,10,1\n", "1x1", "allocation=fifo recompute=1000s", start3, end3, 2,
		"the allocation is not computed again before recompute is over");
}

/* Two nodes of two GPUs. Jobs 1 and 3 end at 100 s and leave one free GPU on each node. The fifth job requests both GPUs of a node,
 * so the other jobs move to one node at the next round. */
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

/* The job needs 16 cores. The first type has free GPUs, but no node with enough cores. The second job starts when the
 * first job has ended. */
static void no_place(const char *settings)
{
	static const double start[] = { 0, 100 }, end[] = { 100, 200 };
	expect("submit_s,duration_s,gpus,cpus\n0,100,1,16\n0,100,1,16\n", "1x4:a:cpus=4,1x1:b:cpus=16", settings, start, end, 2, settings);
}

/* The largest total throughput on one GPU gives the first of two equal jobs X = 1. It ends at 110 s. X is computed again 1920 s after
 * the first computation. The second job has X = 0 until then and runs in the next round. */
static void leftovers(void)
{
	static const double start[] = { 10, 110 }, end[] = { 110, 210 };
	expect("submit_s,duration_s,gpus,iterations\n10,100,1,100\n10,100,1,100\n", "1x1", "rules=gavel allocation=max_sum_throughput",
		start, end, 2, "rules=gavel: a job whose X is 0 gets the GPUs left over");
	static const double start2[] = { 10, 1930.000001 }, end2[] = { 110, 2030.000001 };
	expect("submit_s,duration_s,gpus,iterations\n10,100,1,100\n10,100,1,100\n", "1x1", "rules=gavel allocation=fifo", start2, end2, 2,
		"rules=gavel: under fifo a job without a share waits");
}

/* Tests the shuffle against Python 3: r = random.Random(seed); r.shuffle(v). */
static void shuffles(void)
{
	static const uint32_t first[] = { 2, 3, 1, 0, 8, 7, 6, 5, 4, 9 }, last[] = { 0, 7, 1, 5, 2, 6, 4, 8, 3, 9 };
	static const uint32_t third[] = { 251, 80, 147, 328, 197 };
	struct gavel_twister r;
	uint32_t v[700];
	for (uint32_t i = 0; i < 10; i++)
		v[i] = i;
	gavel_shuffle_seed(&r, 5);
	gavel_shuffle(&r, v, 10);
	ok(!memcmp(v, first, sizeof first), "a shuffle with seed 5 is Python's");
	for (uint32_t i = 0; i < 10; i++)
		v[i] = i;
	gavel_shuffle_seed(&r, UINT32_MAX);
	gavel_shuffle(&r, v, 10);
	ok(!memcmp(v, last, sizeof last), "a shuffle with seed 4294967295 is Python's");
	for (uint32_t i = 0; i < 700; i++)
		v[i] = i;
	gavel_shuffle_seed(&r, 0);
	for (int i = 0; i < 3; i++)
		gavel_shuffle(&r, v, 700);
	ok(!memcmp(v, third, sizeof third), "the third shuffle of 700 numbers, past the generator's first 624, is Python's");
}

static void write_shares(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		ok(false, "%s is written", path);
}

static void refused(const char *path, const char *text, const char *part)
{
	char settings[256];
	struct orr_error err = { 0 };
	write_shares(path, text);
	snprintf(settings, sizeof settings, "rules=gavel allocation=replay shares=%s", path);
	struct run_result *r = replay("job_id,submit_s,duration_s,gpus,iterations\na,0,100,1,100\nb,0,100,1,100\n", "1x1:x,1x1:y",
		"consolidate", &orr_policy_gavel, settings, &err);
	ok(!r && strstr(err.text, part), "refused: %s", err.text);
	result_free(r);
}

static void replays(void)
{
	static const double start[] = { 0, 0 }, end[] = { 100, 100 };
	char path[128], settings[256];
	snprintf(path, sizeof path, "/tmp/orrery-unit_gavel.%ld.csv", (long)getpid());
	write_shares(path, "recompute,time_s,job,Y,X\n0,0,a,1,0\n0,0,b,0,1\n");
	snprintf(settings, sizeof settings, "rules=gavel allocation=replay shares=%s", path);
	expect("job_id,submit_s,duration_s,gpus,iterations\na,0,100,1,100\nb,0,100,1,100\n", "1x1:x,1x1:y", settings, start, end, 2,
		"X from a file: columns in any order, names in any case");
	refused(path, "", ":1: expected the header");
	refused(path, "recompute,time_s,job,x\n",
		":1: GPU type y has no column: expected the header recompute,time_s,job and the cluster's GPU types");
	refused(path, "recompute,time_s,job,x,y\n0,0,a,1\n", ":2: column 5");
	refused(path, "recompute,time_s,job,x,y\n0,0,a,1,-1\n", ":2: column 5");
	refused(path, "recompute,time_s,job,x,y\n0,0,a,1,0,0\n", ":2: expected 5 columns");
	refused(path, "recompute,time_s,job,x,y,z\n0,0,a,1,0,1\n", ":2: column 6: expected 0");
	refused(path, "recompute,time_s,job,x,y\n1,0,a,1,0\n0,0,b,0,1\n", ":3: recompute");
	refused(path, "recompute,time_s,job,x,y\n0,x,a,1,0\n", ":2: time_s");
	refused(path, "recompute,time_s,job,x,y\n0,0,,1,0\n", ":2: job");
	refused(path, "recompute,time_s,job,x,y\n0,0,a,1,0\n", "job b");
	refused(path, "recompute,time_s,job,x,y\n0,0,a,1,0\n0,0,b,1,0\n0,0,c,0,1\n", "recomputation 0");
	refused(path, "recompute,time_s,job,x,y\n0,5,a,1,0\n0,5,b,1,0\n", "the time in the file differs");
	remove(path);
	struct orr_error err = { 0 };
	struct run_result *r =
		replay("submit_s,duration_s,gpus\n0,500,1\n", "1x1", "consolidate", &orr_policy_gavel, "allocation=replay", &err);
	ok(!r && strstr(err.text, "shares=FILE"), "refused: %s", err.text);
	result_free(r);
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
	leftovers();
	shuffles();
	replays();
	errors();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_order_hand.c - policies on runs computed by hand: qssf, las, las-gpu, srtf by Helios' rules, spot-market, optimus, and the policies
 * for flows; drf on random workloads compared with a naive implementation
 */
#include "base/rng.h"
#include "tests/jobs/flow_run.h"
#include "tests/jobs/replay.h"

extern const struct orr_policy orr_policy_fifo, orr_policy_qssf, orr_policy_las, orr_policy_las_gpu, orr_policy_srtf,
	orr_policy_spot_market, orr_policy_optimus, orr_policy_drf, orr_policy_gavel, orr_policy_gandiva, orr_policy_branch_random,
	orr_policy_branch_locality;

static struct orr_error err;

static void by_hand(const char *what, const struct orr_policy *policy, const char *csv, const char *cluster, const char *settings,
	const double *start, const double *end, size_t n)
{
	struct run_result *r = replay(csv, cluster, "consolidate", policy, settings, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(replay_matches(r, start, end, n), "%s: %s", policy->name, what);
	result_free(r);
}

#define TIMES(...)          \
	(const double[])    \
	{                   \
		__VA_ARGS__ \
	}

/* ---- qssf: two GPUs; A 10 s x 2, B 15 s x 1, C 30 s x 1 ---- */

static void test_qssf(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,limit_s\n0,10,2,5\n0,15,1,100\n0,30,1,1\n";
	/* The jobs have 20, 15 and 30 GPU-s: B is first. A is next, does not fit, and blocks C. */
	by_hand("least GPU time first", &orr_policy_qssf, csv, "1x2", "", TIMES(15, 0, 25), TIMES(25, 15, 55), 3);
	by_hand("a factor on all durations changes nothing", &orr_policy_qssf, csv, "1x2", "factor=7", TIMES(15, 0, 25), TIMES(25, 15, 55),
		3);
	/* By their limits the jobs have 10, 100 and 1 GPU-s: the order is C, A, B. */
	by_hand("by limits", &orr_policy_qssf, csv, "1x2", "estimate=limit", TIMES(30, 40, 0), TIMES(40, 55, 30), 3);
	/* Jobs that arrive together are ordered by GPUs only: B and C start. D (1 GPU-s) arrives at 10 while A waits; ordered by GPU
	 * time, D starts at 15. */
	by_hand("Helios' order", &orr_policy_qssf, "submit_s,duration_s,gpus\n0,10,2\n0,15,1\n0,30,1\n10,1,1\n", "1x2", "rules=helios",
		TIMES(30, 0, 0, 15), TIMES(40, 15, 30, 16), 4);
	/* At 20 s all waiting jobs have arrived together: the job of 50 s on one GPU is ahead of the wider job of 1 s. */
	by_hand("Helios' order of jobs that arrive together", &orr_policy_qssf, "submit_s,duration_s,gpus\n0,10,2\n20,1,2\n20,50,1\n",
		"1x2", "rules=helios", TIMES(0, 70, 20), TIMES(10, 71, 70), 3);
	by_hand("and without these rules", &orr_policy_qssf, "submit_s,duration_s,gpus\n0,10,2\n20,1,2\n20,50,1\n", "1x2", "",
		TIMES(0, 20, 21), TIMES(10, 21, 71), 3);
}

/* ---- las: a limit of 10 s ---- */

static void test_las(void)
{
	/* Times in s. A reaches the limit at 10 and waits for B (8 s). C arrives at 20, runs until its limit at 30, and goes behind A. */
	by_hand("queues by attained time", &orr_policy_las, "submit_s,duration_s,gpus\n0,30,1\n5,8,1\n20,15,1\n", "1x1", "limits=10s",
		TIMES(0, 10, 20), TIMES(48, 18, 53), 3);
	/* At 20 s, when B ends, A has waited for 10 s. With promote=8s it is ahead of D, which arrives at 25 s. It runs for 10 s, from 30
	 * to 40 s, moves down again, and continues when D ends. */
	static const char csv[] = "submit_s,duration_s,gpus\n0,30,1\n5,10,1\n12,10,1\n25,10,1\n";
	by_hand("without promotion", &orr_policy_las, csv, "1x1", "limits=10s", TIMES(0, 10, 20, 30), TIMES(60, 20, 30, 40), 4);
	by_hand("promotion after 8 s of wait", &orr_policy_las, csv, "1x1", "limits=10s promote=8s", TIMES(0, 10, 20, 40),
		TIMES(60, 20, 30, 50), 4);
	by_hand("promotion after 10 s", &orr_policy_las, csv, "1x1", "limits=10s promote=10s", TIMES(0, 10, 20, 40), TIMES(60, 20, 30, 50),
		4);
	by_hand("no promotion before 10.5 s", &orr_policy_las, csv, "1x1", "limits=10s promote=10500ms", TIMES(0, 10, 20, 30),
		TIMES(60, 20, 30, 40), 4);
	/* The same 100 s later. */
	static const char later[] = "submit_s,duration_s,gpus\n100,30,1\n105,10,1\n112,10,1\n125,10,1\n";
	by_hand("promotion after 10 s, later", &orr_policy_las, later, "1x1", "limits=10s promote=10s", TIMES(100, 110, 120, 140),
		TIMES(160, 120, 130, 150), 4);
	/* B waits for A until 20 s, reaches the limit at 40 s and waits for C. At 50 s it has waited for 10 s since, so it is not ahead of
	 * E. */
	by_hand("waits before the last stop do not count", &orr_policy_las,
		"submit_s,duration_s,gpus\n0,20,1\n5,30,1\n28,10,1\n32,10,1\n55,10,1\n", "1x1", "limits=20s promote=12s",
		TIMES(0, 20, 40, 50, 60), TIMES(20, 80, 50, 60, 70), 5);
	by_hand("no promotion before 10.5 s, later", &orr_policy_las, later, "1x1", "limits=10s promote=10500ms", TIMES(100, 110, 120, 130),
		TIMES(160, 120, 130, 140), 4);
	/* A on two of four GPUs reaches 10 GPU-s at 5 s. B runs on all four from 5 s on, reaches them at 7.5 s, and waits for A. */
	static const char wide[] = "submit_s,duration_s,gpus\n0,30,2\n3,10,4\n";
	by_hand("GPU time", &orr_policy_las_gpu, wide, "1x4", "limits=10s", TIMES(0, 5), TIMES(32.5, 40), 2);
	/* The simulator of Tiresias checks A at 3 + floor((10 - 3) / 2) = 6 s, and B at 6 + floor(10 / 4) = 8 and 8 + floor(8 / 4) =
	 * 10 s. */
	by_hand("Tiresias' rules", &orr_policy_las_gpu, wide, "1x4", "limits=10s rules=tiresias", TIMES(0, 6), TIMES(34, 40), 2);
	static const char *const bad[] = { "limits=5s,3s", "limits=5s,5s", "limits=0s",
		"limits=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct run_result *r = replay(wide, "1x4", "consolidate", &orr_policy_las, bad[i], &err);
		ok(!r && strstr(err.text, i < 3 ? "limits: expected numbers above 0 in ascending order"
						: "limits: expected at most 16 numbers, found 17"),
			"refused: %s", err.text);
		result_free(r);
		err = (struct orr_error){ 0 };
	}
	by_hand("sixteen limits", &orr_policy_las, "submit_s,duration_s,gpus\n0,30,1\n", "1x4",
		"limits=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", TIMES(0), TIMES(30), 1);
}

/* Many jobs end in passes that have room for all jobs, before their attained time is looked at again. At 60 s a job on all GPUs stops the
 * long one, which has passed the limit. */
static void test_many(void)
{
	enum { SHORT = 300, ALL = SHORT + 2 };
	static char csv[ALL * 40];
	static double start[ALL], end[ALL];
	size_t n = (size_t)snprintf(csv, sizeof csv, "submit_s,duration_s,gpus\n0,100,1\n");
	start[0] = 0;
	end[0] = 110;
	for (int i = 1; i <= SHORT; i++) {
		start[i] = 0.05 * i;
		end[i] = start[i] + 1;
		n += (size_t)snprintf(csv + n, sizeof csv - n, "%.2f,1,1\n", start[i]);
	}
	snprintf(csv + n, sizeof csv - n, "60,10,100\n");
	start[ALL - 1] = 60;
	end[ALL - 1] = 70;
	by_hand("many short jobs", &orr_policy_las, csv, "1x100", "limits=10s", start, end, ALL);
}

/* Every job takes 1 s longer. B (3 s) preempts A at 2 s, when A has 9 of 11 s left. The preemption adds 7, 30 or 60 s of work. */
static void test_helios(void)
{
	static const uint32_t gpus[] = { 1, 2, 8, 9, 16 };
	static const double cost[] = { 7, 30, 30, 60, 60 };
	for (int i = 0; i < 5; i++) {
		char csv[100], cluster[16];
		snprintf(csv, sizeof csv, "submit_s,duration_s,gpus\n0,10,%u\n2,3,%u\n", gpus[i], gpus[i]);
		snprintf(cluster, sizeof cluster, "1x%u", gpus[i]);
		by_hand("stops by Helios' rules", &orr_policy_srtf, csv, cluster, "rules=helios", TIMES(0, 2), TIMES(15 + cost[i], 6), 2);
	}
	/* A thousandth of the GPU is missing for the second job: the first one stops. */
	by_hand("a small share of a GPU", &orr_policy_srtf, "submit_s,duration_s,gpus,gpu_milli\n0,100,1,1\n10,20,1,1000\n", "1x1", "",
		TIMES(0, 10), TIMES(120, 30), 2);
	by_hand("and one that leaves enough", &orr_policy_srtf, "submit_s,duration_s,gpus,gpu_milli\n0,100,1,1\n10,20,1,999\n", "1x1", "",
		TIMES(0, 10), TIMES(100, 30), 2);
	by_hand("stops without a cost", &orr_policy_srtf, "submit_s,duration_s,gpus\n0,10,1\n2,3,1\n", "1x1", "", TIMES(0, 2), TIMES(13, 5),
		2);
}

/* ---- elastic jobs ---- */

static void test_elastic(void)
{
	/* Three GPUs. A (1 GPU) gains 1 by its first GPU and 0.5 by its second. B (2 GPUs) has rates 0.625 and 1, so it gains 0.625
	 * and 0.375 in speed, and twice as much in work. */
	static const char csv[] = "submit_s,duration_s,gpus,speedup\n0,100,1,1:1;2:1.5\n0,100,2,1:1;2:1.6\n";
	by_hand("gain=work: the third GPU to B", &orr_policy_spot_market, csv, "1x3", "", TIMES(0, 0), TIMES(100, 100), 2);
	by_hand("gain=speed: the third GPU to A; B may not grow before 10 min", &orr_policy_spot_market, csv, "1x3", "gain=speed",
		TIMES(0, 0), TIMES(100 / 1.5, 160), 2);
	/* At 66.7 s, B has done 41.67 s of its work. */
	by_hand("interval=0: B grows when A ends", &orr_policy_spot_market, csv, "1x3", "gain=speed interval=0", TIMES(0, 0),
		TIMES(100 / 1.5, 125), 2);
	by_hand("interval=80s: B grows 80 s after its start", &orr_policy_spot_market, csv, "1x3", "gain=speed interval=80s", TIMES(0, 0),
		TIMES(100 / 1.5, 130), 2);
	/* B arrives at 10 s. Its first GPU gains as much as the second GPU of A; `keep` decides which job gets it. */
	static const char late[] = "submit_s,duration_s,gpus,speedup\n0,100,1,1:1;2:2\n10,100,1,1:1.0;2:1.9\n";
	by_hand("ties and keep: A keeps both GPUs", &orr_policy_spot_market, late, "1x2", "keep=0.1", TIMES(0, 50),
		TIMES(50, 50 + 100 / 1.9), 2);
	/* One GPU is left. A has more work by the limits, B by the true durations. */
	static const char pair[] = "submit_s,duration_s,gpus,speedup,limit_s\n0,10,1,1:1;2:1.5,1000\n0,1000,1,1:1;2:1.5,10\n";
	by_hand("by limits", &orr_policy_optimus, pair, "1x3", "gain=time estimate=limit interval=1h", TIMES(0, 0), TIMES(10 / 1.5, 1000),
		2);
	by_hand("by true durations", &orr_policy_optimus, pair, "1x3", "gain=time estimate=exact interval=1h", TIMES(0, 0),
		TIMES(10, 1000 / 1.5), 2);
	/* Until 100 s, A does 190 of 200 s of work on two GPUs. The factor 0.9 predicts 180 s, so A has nothing left to gain, and B
	 * gets two GPUs. */
	static const char three[] = "submit_s,duration_s,gpus,speedup\n0,200,1,1:1;2:1.9\n100,90,1,1:1;2:1.9\n";
	by_hand("work done so far counts", &orr_policy_optimus, three, "1x3", "gain=time estimate=exact factor=0.9 interval=100s",
		TIMES(0, 100), TIMES(110, 100 + 90 / 1.9), 2);
	/* With the factor 1.1, A has 30 s left, and the 99 s of B gain more. With the factor 3, A has 410 s left, which gain more
	 * than the 270 s of B. */
	by_hand("the estimate of the rest", &orr_policy_optimus, three, "1x3", "gain=time estimate=exact factor=1.1 interval=100s",
		TIMES(0, 100), TIMES(110, 100 + 90 / 1.9), 2);
	by_hand("a large estimate of the rest", &orr_policy_optimus, three, "1x3", "gain=time estimate=exact factor=3 interval=100s",
		TIMES(0, 100), TIMES(100 + 10 / 1.9, 190), 2);
}

/* Job A holds two of three GPUs. B and C request two, and both bid 1 per GPU. B has no smaller size and waits; C is after B and starts on
 * the third GPU at half its speed. At 100 s B starts on three GPUs. */
static void test_misses(void)
{
	by_hand("sizes are those of a job, also of jobs with equal requests", &orr_policy_spot_market,
		"submit_s,duration_s,gpus,speedup\n0,100,2,\n1,30,2,2:1;3:1.2\n1,30,2,1:0.5;2:1\n", "1x3", "", TIMES(0, 100, 1),
		TIMES(100, 125, 61), 3);
}

/* Between rounds, jobs start as soon as their GPUs are free; a share of a GPU, or no GPU, needs no whole one. A has 0.6 and B 0.4 of the
 * GPU. C needs all of it, and waits until A ends. D needs a CPU only. */
static void test_between_rounds(void)
{
	by_hand("starts between rounds", &orr_policy_optimus,
		"submit_s,duration_s,gpus,gpu_milli,cpus\n0,100,1,600,1\n10,50,1,400,1\n20,30,1,1000,1\n30,20,0,0,1\n", "1x1:cpus=4",
		"interval=1h", TIMES(0, 10, 100, 30), TIMES(100, 60, 130, 50), 4);
}

/* ---- flows ---- */

static double flow_time(const char *json, const char *cluster, const struct orr_policy *p, const char *options)
{
	struct run_result *r = flow_run(json, cluster, p, DATASETS_NONE, false, options);
	double t = flow_metric(r, "flow_time_mean");
	result_free(r);
	return t;
}

static const char *fan(int f)
{
	static char json[400];
	snprintf(json, sizeof json,
		"{\"operators\":[{\"name\":\"p\",\"work_s\":8},{\"name\":\"e\",\"inputs\":[\"p\"],\"explore\":%d},{\"name\":\"b\","
		"\"inputs\":"
		"[\"e\"],\"work_s\":4,\"score\":{\"law\":\"linear\"}},{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{\"keep\":1}}]}",
		f);
	return json;
}

/* Stage p takes 2 s on four GPUs. Each of f branches of 4 s has 4 / f GPUs, rounded down, at least one. */
static void test_branches(void)
{
	static const struct {
		int f;
		double parallel;
	} cases[] = { { 1, 1 }, { 2, 2 }, { 3, 4 }, { 4, 4 }, { 5, 8 }, { 8, 8 }, { 9, 12 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int f = cases[i].f;
		double mdf = flow_time(fan(f), "1x4", &orr_policy_mdf, ""), all = flow_time(fan(f), "1x4", &orr_policy_branch_parallel, ""),
		       near = flow_time(fan(f), "1x4", &orr_policy_branch_locality, "");
		ok(fabs(mdf - (2 + f)) < 1e-9 && fabs(all - (2 + cases[i].parallel)) < 1e-9 && fabs(near - all) < 1e-9,
			"%d branches: %d s one after another, %g s at once (%g, %g, %g)", f, 2 + f, 2 + cases[i].parallel, mdf, all, near);
	}
}

/* Compares the starts on two nodes of one GPU, as "TIME:NODE:GPUS ". */
static void flow_starts(const char *json, const char *cluster, const struct orr_policy *policy, const char *want, const char *what)
{
	struct run_result *r = flow_run(json, cluster, policy, DATASETS_NONE, false, "");
	char got[200] = "";
	for (size_t k = 0; r && k < r->n_events; k++)
		if (!strcmp(r->events[k].kind, "start"))
			snprintf(got + strlen(got), sizeof got - strlen(got), "%g:%s ", (double)r->events[k].time_ns / 1e9,
				r->events[k].detail);
	same_text(got, want, what);
	result_free(r);
}

/* p leaves 10 bytes on n0 and q leaves 100 bytes on n1. r reads both and takes one GPU. */
static void test_locality(void)
{
	static const char json[] =
		"{\"operators\":[{\"name\":\"p\",\"work_s\":1,\"scaling\":\"none\",\"output_bytes\":10},{\"name\":\"q\",\"work_s\":1,"
		"\"scaling\":\"none\",\"output_bytes\":100},{\"name\":\"r\",\"inputs\":[\"p\",\"q\"],\"work_s\":1,\"scaling\":\"none\"}]}";
	flow_starts(json, "2x1", &orr_policy_branch_parallel, "0:n0:1 0:n1:1 1:n0:1 ", "a stage starts on the first node");
	flow_starts(json, "2x1", &orr_policy_branch_locality, "0:n0:1 0:n1:1 1:n1:1 ", "or where most of its bytes are");
	/* Two stages read the 100 bytes: s, and r, which is after s and finds n1 full. The nodes have GPUs of two types, and a stage runs
	 * on one. */
	static const char full[] =
		"{\"operators\":[{\"name\":\"p\",\"work_s\":1,\"scaling\":\"none\",\"output_bytes\":10},{\"name\":\"q\",\"work_s\":1,"
		"\"scaling\":\"none\",\"output_bytes\":100},{\"name\":\"s\",\"inputs\":[\"p\",\"q\"],\"work_s\":5,\"scaling\":\"none\"},"
		"{\"name\":\"r\",\"inputs\":[\"q\"],\"work_s\":5,\"scaling\":\"none\"}]}";
	flow_starts(full, "1x1:a:speed=1,1x1:b:speed=1", &orr_policy_branch_locality, "0:n0:1 0:n1:1 1:n1:1 1:n0:1 ",
		"or on another node if that one is full");
}

/* Hashes the seed and the stage's number with SplitMix64 (Steele, Lea, Flood 2014). The hashes give the order of stages. */
static uint64_t splitmix(uint64_t seed, uint64_t number)
{
	uint64_t z = seed;
	for (uint64_t i = 0; i <= number; i++)
		z += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return z >> 1;
}

static void test_random(void)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		char option[40];
		snprintf(option, sizeof option, "policy:seed=%d", (int)seed);
		flow_records = true;
		struct run_result *r = flow_run(fan(6), "1x1", &orr_policy_branch_random, DATASETS_NONE, false, option);
		flow_records = false;
		bool good = r && r->n_jobs == 7;
		for (size_t i = 1; good && i < 7; i++) {
			double before = 0; /* number of branches with lower hashes */
			for (size_t k = 1; k < 7; k++)
				before += splitmix(seed, r->jobs[k].number) < splitmix(seed, r->jobs[i].number);
			good = (double)r->jobs[i].start_ns / 1e9 == 8 + 4 * before;
		}
		ok(good, "branches run in the order of their hashes, seed %d", (int)seed);
		result_free(r);
	}
}

/* Three rungs of 1, 2 and 4 s per stage. After a rung, the best 1/eta of the branches continue, rounded up. */
static void test_halving(void)
{
	static const char json[] =
		"{\"operators\":[{\"name\":\"e\",\"explore\":8},{\"name\":\"r1\",\"inputs\":[\"e\"],\"work_s\":1,\"score\":{\"values\":"
		"[3,8,1,6,2,7,4,5]}},{\"name\":\"r2\",\"inputs\":[\"r1\"],\"work_s\":2,\"score\":{\"values\":[3,6,1,8,2,7,4,5]}},"
		"{\"name\":\"r3\",\"inputs\":[\"r2\"],\"work_s\":4,\"score\":{\"values\":[1,2,3,4,5,6,7,8]}},"
		"{\"name\":\"c\",\"inputs\":[\"r3\"],\"choose\":{\"keep\":1%s}}]}";
	static const struct {
		const char *cluster, *options, *choose;
		double time, kept, killed;
	} cases[] = {
		/* Branches 1, 5, 3 and 7 reach the second rung; 3 and 5 reach the third. */
		{ "1x1", "", "", 8 + 4 * 2 + 2 * 4, 6, 6 },
		{ "1x2", "", "", 12, 6, 6 },                        /* each stage runs on both GPUs */
		{ "1x2", "policy:workers=2", "", 12, 6, 6 },        /* two stages run at a time, on one GPU each */
		{ "1x4", "policy:workers=4", "", 2 + 2 + 4, 6, 6 }, /* four stages run at a time; the last two leave two GPUs idle */
		/* Branches 1, 5 and 3 reach the second rung; 3 reaches the third. */
		{ "1x1", "policy:eta=3", "", 8 + 3 * 2 + 4, 4, 7 },
		/* Branches 1 and 5 reach the second rung; 5 reaches the third. */
		{ "1x1", "policy:eta=4", "", 8 + 2 * 2 + 4, 6, 7 },
		/* Lower scores are better: branches 2, 4, 0 and 6 reach the second rung; 2 and 4 reach the third. */
		{ "1x1", "", ",\"better\":\"lower\"", 24, 3, 6 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[900];
		snprintf(text, sizeof text, json, cases[i].choose);
		struct run_result *r =
			flow_run(text, cases[i].cluster, &orr_policy_successive_halving, DATASETS_NONE, false, cases[i].options);
		ok(flow_metric(r, "makespan") == cases[i].time && flow_metric(r, "score_kept") == cases[i].kept &&
				flow_metric(r, "jobs_killed") == cases[i].killed,
			"successive halving on %s %s%s: %g s, %g is kept (%g, %g, %g)", cases[i].cluster, cases[i].options, cases[i].choose,
			cases[i].time, cases[i].kept, flow_metric(r, "makespan"), flow_metric(r, "score_kept"),
			flow_metric(r, "jobs_killed"));
		result_free(r);
	}
}

/* ---- drf compared with a naive implementation ---- */

enum { MOST_JOBS = 24, USERS = 4, CPUS = 16, MEMORY = 16, GPUS = 8 };

struct load {
	int n, submit[MOST_JOBS], duration[MOST_JOBS], user[MOST_JOBS],
		need[MOST_JOBS][3]; /* need: GPUs, CPUs, GiB; user 0: each such job is a separate user */
};

static struct rng rng;

static int below(int n)
{
	return (int)rng_below(&rng, (uint64_t)n);
}

static void draw_load(struct load *l)
{
	*l = (struct load){ .n = 2 + below(MOST_JOBS - 1) };
	for (int i = 0; i < l->n; i++) {
		l->submit[i] = (i ? l->submit[i - 1] : 0) + (below(3) ? 0 : below(10));
		l->duration[i] = 1 + below(20);
		l->user[i] = below(USERS);
		l->need[i][0] = below(4);
		l->need[i][1] = 1 + below(6);
		l->need[i][2] = below(6);
	}
}

static int user_of(const struct load *l, int j)
{
	return l->user[j] ? l->user[j] : USERS + j;
}

static double share_of(const struct load *l, const bool *runs, int user)
{
	static const int total[] = { GPUS, CPUS, MEMORY };
	double most = 0;
	for (int r = 0; r < 3; r++) {
		int used = 0;
		for (int i = 0; i < l->n; i++)
			used += runs[i] && user_of(l, i) == user ? l->need[i][r] : 0;
		most = fmax(most, (double)used / total[r]);
	}
	return most;
}

static bool has_room(const struct load *l, const bool *runs, int j)
{
	int left[] = { GPUS, CPUS, MEMORY };
	for (int i = 0; i < l->n; i++)
		for (int r = 0; r < 3; r++)
			left[r] -= runs[i] ? l->need[i][r] : 0;
	return l->need[j][0] <= left[0] && l->need[j][1] <= left[1] && l->need[j][2] <= left[2];
}

/* Starts the first job of the user with the smallest share, among the users that were not tried yet; returns false if no job starts. */
static bool start_one(const struct load *l, int now, bool skips, bool *runs, double *start)
{
	bool tried[USERS + MOST_JOBS] = { false };
	for (;;) {
		int best = -1;
		for (int j = 0; j < l->n; j++) {
			bool is_head = start[j] < 0 && l->submit[j] <= now;
			for (int i = 0; i < j; i++)
				is_head &= !(start[i] < 0 && user_of(l, i) == user_of(l, j));
			if (is_head && !tried[user_of(l, j)] &&
				(best < 0 || share_of(l, runs, user_of(l, j)) < share_of(l, runs, user_of(l, best))))
				best = j;
		}
		if (best < 0)
			return false;
		if (has_room(l, runs, best)) {
			runs[best] = true;
			start[best] = now;
			return true;
		}
		if (!skips)
			return false;
		tried[user_of(l, best)] = true;
	}
}

static void naive_drf(const struct load *l, bool skips, double *start, double *end)
{
	bool runs[MOST_JOBS] = { false };
	for (int j = 0; j < l->n; j++)
		start[j] = end[j] = -1;
	for (int now = 0, left = l->n; left; now++) {
		for (int j = 0; j < l->n; j++)
			if (runs[j] && start[j] + l->duration[j] == now) {
				runs[j] = false;
				end[j] = now;
				left--;
			}
		while (start_one(l, now, skips, runs, start))
			continue;
	}
}

static void test_drf(bool skips)
{
	int good = 0;
	rng_init(&rng, 1, "drf", skips);
	for (; good < 200; good++) {
		struct load l;
		char csv[2000] = "submit_s,duration_s,gpus,cpus,mem_mib,user\n";
		double start[MOST_JOBS], end[MOST_JOBS];
		draw_load(&l);
		for (int i = 0; i < l.n; i++)
			snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%d,%d,%d,%d,%d,%s\n", l.submit[i], l.duration[i],
				l.need[i][0], l.need[i][1], 1024 * l.need[i][2],
				l.user[i] ? (const char *[]){ "A", "B", "C" }[l.user[i] - 1] : "");
		naive_drf(&l, skips, start, end);
		struct run_result *r = replay(csv, "1x8:cpus=16:mem=16", "count", &orr_policy_drf, skips ? "when_full=skip" : "", &err);
		bool is_same = replay_matches(r, start, end, (size_t)l.n);
		if (!r)
			printf("# %s\n", err.text);
		result_free(r);
		if (!is_same)
			break;
	}
	ok(good == 200, "drf agrees with its naive implementation on 200 workloads%s (%d)", skips ? ", when_full=skip" : "", good);
}

/* A hundred users with two jobs each share ten GPUs. Between waves no job runs, so all shares are 0 and users are taken by number:
 * the first jobs of users 0 to 9, their second jobs, the first jobs of users 10 to 19, and so on. */
static void test_many_users(void)
{
	char csv[8000] = "submit_s,duration_s,gpus,user\n";
	double start[200], end[200];
	for (int i = 0; i < 200; i++) {
		snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "0,10,1,user%d\n", i / 2);
		start[i] = 10 * (i / 20 * 2 + i % 2);
		end[i] = start[i] + 10;
	}
	by_hand("a hundred users", &orr_policy_drf, csv, "1x10", "", start, end, 200);
}

/* ---- gavel by the published simulator's rules ---- */

/* Two jobs of 1,000 iterations of 1 s run in rounds of 100 s. Each has half of the GPU and runs in every second round, because a
 * round lowers its priority. A job is preempted after each of its rounds except the last. */
static void test_gavel(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,iterations\n0,1000,1,1000\n0,1000,1,1000\n";
	struct run_result *r = replay(csv, "1x1", "consolidate", &orr_policy_gavel, "rules=gavel round=100s", &err);
	ok(replay_matches(r, TIMES(0, 100), TIMES(1900, 2000), 2) && r->jobs[0].preemptions == 9 && r->jobs[1].preemptions == 9,
		"gavel: two jobs take turns, with a stop after each round");
	result_free(r);
	/* A round has whole iterations: 33 of 3 s, 99 s. The first job ends in its second round; the other job has the GPU for its
	 * remaining iterations. */
	by_hand("a round has whole iterations", &orr_policy_gavel, "submit_s,duration_s,gpus,iterations\n0,150,1,50\n0,300,1,100\n", "1x1",
		"rules=gavel round=100s", TIMES(0, 99), TIMES(99 + 99 + 51, 99 + 99 + 51 + 201), 2);
	/* An iteration of 250 s is longer than a round; a round has at least one iteration. */
	by_hand("a round has at least one iteration", &orr_policy_gavel, "submit_s,duration_s,gpus,iterations\n0,500,1,2\n0,250,1,1\n",
		"1x1", "rules=gavel round=100s", TIMES(0, 250), TIMES(750, 500), 2);
}

/* ---- gandiva by the published simulator's rules: rounds of 100 s on one GPU ---- */

static void test_gandiva(void)
{
	/* Two jobs with iterations of 1 and 4 s alone. Occupancies of 0.75 + 0.75 give both 2/3 of their speeds. A round has floor(66.7) =
	 * 66 iterations of the first job and floor(16.7) = 16 of the second, in 99 and 96 s: the second one waits for the first. After four
	 * rounds, at 396 s, both have 36 left. The fifth round has the last 36 of the first job (54 s) and 16 of the second (96 s); both
	 * end together at 492 s. The second job's last 20 iterations take 80 s alone. */
	static const char pair[] = "submit_s,duration_s,gpus,iterations,occupancy\n0,300,1,300,0.75\n0,400,1,100,0.75\n";
	by_hand("a pair ends its rounds together", &orr_policy_gandiva, pair, "1x1", "rules=gavel round=100s", TIMES(0, 0), TIMES(492, 572),
		2);
	/* All iterations take 1 s, in pairs too. Seed 0 pairs B and C. A pair begins with half a round (50 s) owed, a job without any: at
	 * equal priorities BC is first. BC, A and BC have a round each until 1300 s. D arrived at 1250 s, and shares are computed again: A
	 * and D are the other pair. Of the 300 s BC was owed half, and got 200 s: 50 + 150 - 200 = 0. AD is owed 50 s and runs; D ends at
	 * 1400 s. Then BC, which has received less, has its last round, and A the rest. */
	static const char owed[] = "submit_s,duration_s,gpus,iterations,occupancy\n1000,300,1,300,0.5\n1000,300,1,300,0.5\n"
				   "1000,300,1,300,0.5\n1250,100,1,100,0.5\n";
	by_hand("time owed", &orr_policy_gandiva, owed, "1x1", "rules=gavel round=100s recompute=300s", TIMES(1100, 1000, 1000, 1300),
		TIMES(1600, 1500, 1500, 1400), 4);
}

/* A job on several GPUs has them alone, even if its row has a share of a GPU. */
static void test_shares(void)
{
	by_hand("shares of a GPU are for jobs on one GPU", &orr_policy_fifo,
		"submit_s,duration_s,gpus,gpu_milli\n0,100,2,500\n0,100,2,500\n", "1x2", "", TIMES(0, 100), TIMES(100, 200), 2);
	by_hand("a share of a GPU", &orr_policy_fifo, "submit_s,duration_s,gpus,gpu_milli\n0,100,1,500\n0,100,1,500\n", "1x1", "",
		TIMES(0, 0), TIMES(100, 100), 2);
}

int main(void)
{
	test_shares();
	test_gandiva();
	test_qssf();
	test_las();
	test_many();
	test_helios();
	test_elastic();
	test_misses();
	test_between_rounds();
	test_branches();
	test_locality();
	test_random();
	test_halving();
	test_drf(false);
	test_drf(true);
	test_many_users();
	test_gavel();
	return done();
}

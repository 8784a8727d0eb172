/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The assignment of allox against all assignments of small problems; water filling and least makespan by hand, and water filling by linear
 * programs against its closed form on one GPU type; the shares of gandiva-fair by hand.
 */
#include "policies/jobs/allox_assign.h"
#include "policies/jobs/gavel_lp.h"

#include "base/rng.h"
#include "tests/jobs/replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_gandiva_fair;

enum { MOST_JOBS = 5, MOST_WORKERS = 3, MANY = 12 };

/* ---- assignment ---- */

/* Returns the smallest sum of position x time over all assignments of jobs [job, n) to columns that are not taken. */
static double best_of_rest(size_t job, size_t n, size_t workers, const double *time, unsigned taken)
{
	double best = INFINITY;
	if (job == n)
		return 0;
	for (size_t c = 0; c < n * workers; c++)
		if (!(taken >> c & 1))
			best = fmin(best, (double)(c / workers + 1) * time[job * workers + c % workers] +
						  best_of_rest(job + 1, n, workers, time, taken | 1u << c));
	return best;
}

static void assignments(void)
{
	enum { PROBLEMS = 200 };
	int optimal = 0, valid = 0;
	struct rng r;
	rng_init(&r, 1, "assignments", 0);
	for (int i = 0; i < PROBLEMS; i++) {
		size_t n = 1 + rng_below(&r, MOST_JOBS), workers = 1 + rng_below(&r, MOST_WORKERS), worker[MOST_JOBS], position[MOST_JOBS];
		double time[MOST_JOBS * MOST_WORKERS], sum = 0;
		for (size_t k = 0; k < n * workers; k++) /* few values, so that there are ties */
			time[k] = i % 2 ? rng_uniform(&r) * 10 : (double)rng_below(&r, 4);
		allox_assign(n, workers, time, NULL, worker, position);
		unsigned taken = 0;
		for (size_t j = 0; j < n; j++) {
			sum += (double)position[j] * time[j * workers + worker[j]];
			taken |= 1u << ((position[j] - 1) * workers + worker[j]);
		}
		valid += __builtin_popcount(taken) == (int)n;
		optimal += fabs(sum - best_of_rest(0, n, workers, time, 0)) < 1e-9;
	}
	ok(valid == PROBLEMS, "each job has a place of its own (%d of %d)", valid, PROBLEMS);
	ok(optimal == PROBLEMS, "the sum of completion times is the smallest of all assignments (%d of %d)", optimal, PROBLEMS);
	/* Equal jobs on equal workers: the first row takes the last of its cheapest columns in the order highest first, so column 0. */
	static const double same[] = { 1, 1, 1, 1 }, late[] = { 5, 0 };
	size_t worker[2], position[2];
	allox_assign(2, 2, same, late, worker, position);
	ok(worker[0] == 0 && worker[1] == 1 && position[0] == 1 && position[1] == 1, "equal jobs on equal workers: in order");
}

/* ---- linear programs ---- */

static void by_hand(void)
{
	static const double on_a[] = { 2, 0 }, on_b[] = { 0, 1 }, on_both[] = { 2, 1 }, one_each[] = { 1, 1 };
	struct orr_error err = { 0 };
	double x[6] = { 0 }, value = 0;
	/* A has type 0 to itself; B and C share type 1. The least is 1/2 of a GPU; A need not stop there. */
	struct gavel_job split[] = { { 1, 1, on_a, 0, 0, 1 }, { 1, 1, on_b, 0, 0, 1 }, { 1, 1, on_b, 0, 0, 1 } };
	struct gavel_problem p = { split, 3, one_each, 2 };
	ok(!gavel_lp_solve(GAVEL_WATER_FILLING, &p, x, &value, &err) && fabs(x[0] - 1) < 1e-5 && fabs(x[3] - 0.5) < 1e-5 &&
			fabs(x[5] - 0.5) < 1e-5,
		"water filling: %.6f of type 0, %.6f and %.6f of type 1", x[0], x[3], x[5]);
	/* One GPU at 1 step/s: 100 and 300 steps take 400 s. */
	static const double one = 1, single[] = { 1 };
	struct gavel_job two[] = { { 1, 1, &one, 0, 0, 100 }, { 1, 1, &one, 0, 0, 300 } };
	struct gavel_problem serial = { two, 2, single, 1 };
	ok(!gavel_lp_solve(GAVEL_MIN_DURATION, &serial, x, &value, &err) && fabs(value - 400) < 1e-4 && fabs(x[0] - 0.25) < 1e-6,
		"least makespan of one GPU: %.6f s", value);
	/* One job of 400 steps at 2 steps/s on type 0: 200 s, regardless of the shorter job on type 1. */
	struct gavel_job wide[] = { { 1, 1, on_both, 0, 0, 400 }, { 1, 1, on_both, 0, 0, 100 } };
	struct gavel_problem mixed = { wide, 2, one_each, 2 };
	ok(!gavel_lp_solve(GAVEL_MIN_DURATION, &mixed, x, &value, &err) && fabs(value - 200) < 1e-4, "two types: %.6f s", value);
}

static void one_type_or_programs(void)
{
	enum { PROBLEMS = 100 };
	struct rng r;
	int same = 0, good = 0;
	rng_init(&r, 2, "water", 0);
	for (int i = 0; i < PROBLEMS; i++) {
		struct gavel_job job[MANY];
		double rate[MANY][2], x[MANY], y[MANY * 2], gpus[] = { (double)(4 + rng_below(&r, 8)), 1 }, least = 0;
		size_t n = 1 + rng_below(&r, MANY);
		struct orr_error err;
		for (size_t j = 0; j < n; j++) {
			rate[j][0] = 0.5 + rng_uniform(&r);
			rate[j][1] = 0; /* on the second type no job runs: the programs have to find the same shares */
			job[j] = (struct gavel_job){ (double)(1 + rng_below(&r, 4)), (double)(1 + rng_below(&r, 2)), rate[j], 0, 0, 1 };
		}
		struct gavel_problem one = { job, n, gpus, 1 }, two = { job, n, gpus, 2 };
		good += !gavel_lp_solve(GAVEL_WATER_FILLING, &one, x, &least, &err) &&
			!gavel_lp_solve(GAVEL_WATER_FILLING, &two, y, NULL, &err);
		double off = 0, used = 0;
		for (size_t j = 0; j < n; j++) {
			off = fmax(off, fabs(x[j] - y[2 * j]));
			used += job[j].gpus * x[j];
		}
		same += off < 1e-4 && used <= gpus[0] + 1e-7; /* x is rounded to 1e-9 */
	}
	ok(good == PROBLEMS && same == PROBLEMS, "water filling by programs is that of the closed form (%d of %d)", same, PROBLEMS);
}

/* ---- shares of users ---- */

/* Two users on two GPUs have one each, so job 3 is due one GPU and the others a third. Jobs that have not run come first, by what they are
 * due: jobs 3 and 0; then jobs 1 and 2; then job 3, which is alone. */
static void users(void)
{
	static const double start[] = { 0, 360, 360, 0 }, end[] = { 360, 720, 720, 1440 };
	static const double equal_start[] = { 0, 0, 360, 360 }, equal_end[] = { 360, 360, 720, 1440 };
	struct orr_error err = { 0 };
	const char *csv = "submit_s,duration_s,gpus,user\n0,360,1,a\n0,360,1,a\n0,360,1,a\n0,1080,1,b\n";
	struct run_result *r = replay(csv, "1x2", "consolidate", &orr_policy_gandiva_fair, "", &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(r && replay_matches(r, start, end, 4), "users have equal shares, whatever the number of their jobs");
	result_free(r);
	/* Without users each job has half of a GPU: job 3 waits for its turn. */
	csv = "submit_s,duration_s,gpus\n0,360,1\n0,360,1\n0,360,1\n0,1080,1\n";
	r = replay(csv, "1x2", "consolidate", &orr_policy_gandiva_fair, "", &err);
	ok(r && replay_matches(r, equal_start, equal_end, 4), "jobs without users have equal shares");
	result_free(r);
}

int main(void)
{
	assignments();
	by_hand();
	one_type_or_programs();
	users();
	return done();
}

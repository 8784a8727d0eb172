/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dominant resource fairness: the paper's example, and shares as jobs arrive and end. */
#include "tests/jobs/replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_drf;

static void expect(
	const char *csv, const char *cluster, const char *settings, const double *start_s, const double *end_s, size_t n, const char *what)
{
	struct orr_error err = { 0 };
	struct run_result *r = replay(csv, cluster, "consolidate", &orr_policy_drf, settings, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(r && replay_matches(r, start_s, end_s, n), "%s", what);
	result_free(r);
}

/* Ghodsi et al., section 4.1: 9 CPUs and 18 GB. Tasks of A request <1 CPU, 4 GB>, tasks of B <3 CPUs, 1 GB>. A runs three tasks and B
 * two; both have a dominant share of 2/3. */
static void worked_example(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,cpus,mem_mib,user\n"
				  "0,100,0,1,4096,A\n0,100,0,1,4096,A\n0,100,0,1,4096,A\n0,100,0,1,4096,A\n"
				  "0,100,0,3,1024,B\n0,100,0,3,1024,B\n0,100,0,3,1024,B\n";
	static const double start[] = { 0, 0, 0, 100, 0, 0, 100 }, end[] = { 100, 100, 100, 200, 100, 100, 200 };
	expect(csv, "1x0:cpus=9:mem=18", "", start, end, 7, "the paper's example: three tasks of A, two of B");
}

/* Without other users A has the whole cluster. When its jobs end, A and B fill it alternately, the older job first. */
static void turns(void)
{
	static const double start[] = { 0, 0, 0, 0, 100, 100, 100, 100, 200, 200 };
	static const double end[] = { 100, 100, 100, 100, 200, 200, 200, 200, 300, 300 };
	static const char rows[] = "0,100,1,A\n0,100,1,A\n0,100,1,A\n0,100,1,A\n0,100,1,A\n0,100,1,A\n"
				   "10,100,1,B\n10,100,1,B\n10,100,1,B\n10,100,1,B\n";
	char csv[512];
	snprintf(csv, sizeof csv, "submit_s,duration_s,gpus,user\n%s", rows);
	expect(csv, "1x4", "", start, end, 10, "two users with equal jobs get equal shares");
	snprintf(csv, sizeof csv, "submit_s,duration_s,gpus,queue\n%s", rows);
	expect(csv, "1x4", "", start, end, 10, "without a user, the queue counts as the user");
}

/* A job without a user counts as a separate user: it starts before the second job of A. */
static void nameless(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,user\n0,100,1,A\n0,100,1,A\n0,100,1,\n0,100,1,\n";
	static const double start[] = { 0, 100, 0, 0 }, end[] = { 100, 200, 100, 100 };
	expect(csv, "1x3", "", start, end, 4, "a job without a user is its own user");
}

/* A holds 1/4 of the GPUs and 3/4 of the memory; B holds 2/4 of the GPUs. The dominant share of B is smaller, so the last GPU goes to
 * B. */
static void dominance(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,mem_mib,user\n"
				  "0,100,1,6144,A\n0,100,2,0,B\n1,100,1,0,A\n1,100,1,0,B\n";
	static const double start[] = { 0, 0, 100, 1 }, end[] = { 100, 100, 200, 101 };
	expect(csv, "1x4:mem=8", "", start, end, 4, "the dominant share decides, not the share of the requested resource");
}

static void when_full(void)
{
	static const char csv[] = "submit_s,duration_s,gpus,user\n0,100,3,A\n0,100,2,B\n0,10,1,C\n";
	static const double wait_start[] = { 0, 100, 100 }, wait_end[] = { 100, 200, 110 };
	static const double skip_start[] = { 0, 100, 0 }, skip_end[] = { 100, 200, 10 };
	expect(csv, "1x4", "when_full=wait", wait_start, wait_end, 3, "wait: Algorithm 1 waits for the user with the smallest share");
	expect(csv, "1x4", "when_full=skip", skip_start, skip_end, 3, "skip: the next user whose job fits starts it");
}

int main(void)
{
	worked_example();
	turns();
	nameless();
	dominance();
	when_full();
	return done();
}

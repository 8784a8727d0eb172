/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_serve_llm - simulated iterations of language models per CPU second
 *
 * Runs Vidur's 2,000 requests under vllm, as in tests/oracle/oracle_vidur.c, 20 times per case, without rows. Includes the
 * calls of the policy through its table, and metrics. Best of three.
 */
#include <time.h>

#include "tests/serve/llm_run.h"

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi;

enum { RUNS = 20 };

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best(const struct llm_run *x, double *iterations, double *events)
{
	double least = 1e300;
	for (int round = 0; round < 3; round++) {
		double start = cpu_s();
		for (int i = 0; i < RUNS; i++) {
			struct orr_error err = { 0 };
			struct run_result *r = llm_serve(x, &err);
			if (!r) {
				fprintf(stderr, "serve_llm: %s\n", err.text);
				return 0;
			}
			*iterations = llm_metric(r, "iterations");
			*events = llm_metric(r, "events");
			result_free(r);
		}
		double took = cpu_s() - start;
		least = took < least ? took : least;
	}
	return least;
}

static void measure(const char *what, const struct reqset *set, const struct orr_policy *policy, uint32_t blocks)
{
	double iterations = 0, events = 0;
	double s =
		best(&(struct llm_run){ .requests = set, .policy = policy, .kv_blocks = blocks, .is_quick = true }, &iterations, &events);
	if (s > 0)
		printf("%-34s %8.0f iterations %7.0f events  %6.2f ms a run  %12.0f iterations/s\n", what, iterations, events,
			1e3 * s / RUNS, iterations * RUNS / s);
}

int main(void)
{
	struct reqset *set = llm_vidur_requests();
	if (!set) {
		printf("serve_llm: skipped: no oracles/vidur under ORRERY_DATA_PATH\n");
		return 0;
	}
	measure("vllm, 30208 blocks", set, &orr_policy_serve_vllm, 30208);
	measure("vllm, 400 blocks", set, &orr_policy_serve_vllm, 400);
	measure("sarathi, 30208 blocks", set, &orr_policy_serve_sarathi, 30208);
	reqset_compress(set, 10);
	measure("vllm, 30208 blocks, arrivals / 10", set, &orr_policy_serve_vllm, 30208);
	measure("sarathi, 30208 blocks, arrivals / 10", set, &orr_policy_serve_sarathi, 30208);
	reqset_free(set);
	return 0;
}

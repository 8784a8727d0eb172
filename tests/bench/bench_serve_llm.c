/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_serve_llm - simulated iterations of language models per CPU second (user time)
 *
 * Runs Vidur's 2,000 requests under vllm, as in tests/oracle/oracle_vidur.c, 20 times per case, without rows. Includes the
 * calls of the policy through its table, and metrics. Best of seven. The last column is the cost of --record explain: the median
 * over pairs of rounds, one without and one with parts.
 *
 * usage: bench_serve_llm [--requests]; --requests runs 10 million turns of conversations on 64 replicas with prefix caches instead (some
 * CPU minutes).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/serve/llm_run.h"

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_distserve;

enum { RUNS = 20, PAIRS = 7 };

static double user_s(void)
{
	struct rusage t;
	getrusage(RUSAGE_SELF, &t);
	return (double)t.ru_utime.tv_sec + 1e-6 * (double)t.ru_utime.tv_usec;
}

/* Returns the CPU seconds of RUNS runs; 0: a run failed. */
static double time_of(const struct llm_run *x, double *iterations, double *events)
{
	double start = user_s();
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
	return user_s() - start;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void measure_run(const char *what, struct llm_run x)
{
	double iterations = 0, events = 0, least = 1e300, cost[PAIRS];
	for (int i = 0; i < PAIRS; i++) {
		x.explains = false;
		double without = time_of(&x, &iterations, &events);
		x.explains = true;
		double with = time_of(&x, &iterations, &events);
		if (!(without > 0) || !(with > 0))
			return;
		least = without < least ? without : least;
		cost[i] = with / without - 1;
	}
	qsort(cost, PAIRS, sizeof *cost, by_value);
	printf("%-34s %8.0f iterations %7.0f events  %6.2f ms a run  %12.0f iterations/s  explain %+5.1f %% (%+.1f to %+.1f)\n", what,
		iterations, events, 1e3 * least / RUNS, iterations * RUNS / least, 100 * cost[PAIRS / 2], 100 * cost[0],
		100 * cost[PAIRS - 1]);
}

static void measure(const char *what, const struct reqset *set, const struct orr_policy *policy, uint32_t blocks)
{
	measure_run(what, (struct llm_run){ .requests = set, .policy = policy, .kv_blocks = blocks, .is_quick = true });
}

/* Two prefill and three decode replicas. */
static void measure_apart(const char *what, const struct reqset *set, const struct orr_policy *policy)
{
	struct serve_deployment d[2] = { { .replicas = 2, .tp = 1, .pp = 1, .role = ORR_ROLE_PREFILL, .kv_blocks = 30208 },
		{ .replicas = 3, .tp = 1, .pp = 1, .role = ORR_ROLE_DECODE, .kv_blocks = 30208 } };
	measure_run(what,
		(struct llm_run){
			.requests = set, .policy = policy, .deployments = d, .n_deployments = 2, .cluster = "5x1", .is_quick = true });
}

/* Mean prompt 986 tokens, output 151; 807 of 1,000 blocks of prompts were in an earlier prompt: a prefix of 796 tokens. */
static int measure_many(void)
{
	static const char turns[] = "chat:rate=60,n=10000000,turns=3,gap=30s,system=512,assistants=64,prompt=lognormal:100:400,"
				    "output=lognormal:150:500";
	struct orr_error err = { 0 };
	struct rusage t;
	struct reqset *set = reqset_load(turns, NULL, NULL, 1, &err);
	struct run_result *r = set ? llm_serve(&(struct llm_run){ .requests = set,
						       .model = "llama2-7b",
						       .device = "a100",
						       .replicas = 64,
						       .policy = &orr_policy_serve_vllm,
						       .options = "prefix_cache=true",
						       .is_quick = true },
					     &err)
				   : NULL;
	reqset_free(set);
	if (!r) {
		fprintf(stderr, "serve_llm: %s\n", err.text);
		return 1;
	}
	getrusage(RUSAGE_SELF, &t);
	printf("%s, vllm on 64 replicas with prefix caches\n", turns);
	printf("%.0f requests, %.0f refused, %.0f iterations, %.2f of the prompt tokens in a cache: %.1f s user, %.1f s system, %.0f MiB\n",
		llm_metric(r, "requests"), llm_metric(r, "requests_refused"), llm_metric(r, "iterations"),
		llm_metric(r, "prefix_hit_share"), user_s(), (double)t.ru_stime.tv_sec + 1e-6 * (double)t.ru_stime.tv_usec,
		(double)t.ru_maxrss / 1024);
	result_free(r);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--requests"))
		return measure_many();
	struct reqset *set = llm_vidur_requests();
	if (!set) {
		printf("serve_llm: skipped: no oracles/vidur under ORRERY_DATA_PATH\n");
		return 0;
	}
	measure("vllm, 30208 blocks", set, &orr_policy_serve_vllm, 30208);
	measure("vllm, 400 blocks", set, &orr_policy_serve_vllm, 400);
	measure("sarathi, 30208 blocks", set, &orr_policy_serve_sarathi, 30208);
	struct reqset *half = llm_vidur_requests_at(.5);
	measure_apart("vllm, 2p3d, arrivals / 2", half, &orr_policy_serve_vllm);
	measure_apart("sarathi, 2p3d, arrivals / 2", half, &orr_policy_serve_sarathi);
	measure_apart("distserve, 2p3d, arrivals / 2", half, &orr_policy_serve_distserve);
	reqset_free(half);
	reqset_compress(set, 10);
	measure("vllm, 30208 blocks, arrivals / 10", set, &orr_policy_serve_vllm, 30208);
	measure("sarathi, 30208 blocks, arrivals / 10", set, &orr_policy_serve_sarathi, 30208);
	reqset_free(set);
	return 0;
}

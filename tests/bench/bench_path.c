/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_path - the critical path of the events of a serving run: an upper bound of the gain of parallel discrete-event simulation
 *
 * Wraps vllm and follows what each event depends on. An arrival follows the arrival before it, and the events of every replica whose
 * state the router reads: all of them under jsq, none under round-robin. An event of a replica (the end of an iteration, a
 * schedule() call) follows the replica's last event and the arrivals that were routed to it. All events count 1. The ratio of all
 * events to the longest chain of dependent ones bounds the gain of any parallel execution of this run on any number of processors, with any
 * synchronisation (Jefferson and Reiher 1991; supercritical executions are excluded).
 */
#include <stdlib.h>
#include <string.h>

#include "tests/serve/llm_run.h"

extern const struct orr_policy orr_policy_serve_vllm;

enum { MOST = 1024 };

static struct {
	const struct orr_serve_ops *ops;
	bool reads_replicas; /* the router reads the state of all replicas */
	uint64_t events, router, deepest, replica[MOST];
} path;

static void extend(uint64_t *depth, uint64_t to)
{
	*depth = to;
	path.deepest = to > path.deepest ? to : path.deepest;
	path.events++;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	uint64_t *replica = &path.replica[orr_req_replica(w, r)];
	extend(&path.router, (path.reads_replicas ? path.deepest : path.router) + 1);
	if (*replica < path.router)
		*replica = path.router;
	path.ops->arrive(self, w, r);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	extend(&path.replica[replica], path.replica[replica] + 1);
	path.ops->schedule(self, w, replica);
}

static void measure(uint32_t replicas, const char *router, bool reads_replicas)
{
	char source[96], options[64];
	struct orr_error err = { 0 };
	path.ops = orr_policy_serve_vllm.ops;
	path.reads_replicas = reads_replicas;
	path.events = path.router = path.deepest = 0;
	memset(path.replica, 0, sizeof path.replica);
	struct orr_serve_ops ops = *path.ops;
	ops.arrive = arrive;
	ops.schedule = schedule;
	struct orr_policy policy = orr_policy_serve_vllm;
	policy.ops = &ops;
	snprintf(source, sizeof source, "poisson:rate=%u,n=%u,prompt=azure-conv,output=azure-conv", 2 * replicas, 1000 * replicas);
	snprintf(options, sizeof options, "router=%s", router);
	struct reqset *set = reqset_load(source, NULL, NULL, 1, &err);
	struct llm_run x = {
		.requests = set, .policy = &policy, .kv_blocks = 30208, .replicas = replicas, .is_quick = true, .options = options
	};
	struct run_result *r = set ? llm_serve(&x, &err) : NULL;
	if (r)
		printf("vllm, %4u replicas, %-18s %10llu events, longest chain %9llu: at most %6.1f times\n", replicas, router,
			(unsigned long long)path.events, (unsigned long long)path.deepest, (double)path.events / (double)path.deepest);
	else
		fprintf(stderr, "path: %s\n", err.text);
	result_free(r);
	reqset_free(set);
}

int main(void)
{
	for (uint32_t replicas = 1; replicas <= MOST; replicas *= 8) {
		measure(replicas, "round-robin", false);
		measure(replicas, "jsq", true);
	}
	return 0;
}

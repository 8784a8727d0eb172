/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_serve - Poisson requests through fifo on a table model, one at a time
 *
 * Each row is a separate process: CPU seconds (user and system) and peak memory. At load 0.9 memory must not depend on the
 * number of requests. At load 2 half of the requests wait when the last one arrives: user time per request must
 * not grow with the queue (system time is the kernel's allocation of their memory). Quantiles are exact up
 * to a million values, and cost a sort.
 *
 * usage: bench_serve [--all]; --all adds 100 million requests (about a minute).
 */
#include "base/param.h"
#include "cluster/placement.h"
#include "serve/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_serve_fifo;

struct row {
	const char *requests;
	unsigned long n;
	uint32_t replicas;
};

static const struct row rows[] = {
	{ "poisson:rate=90,n=10000000", 10000000, 1 },
	{ "poisson:rate=1440,n=10000000", 10000000, 16 },
	{ "poisson:rate=200,n=2000000", 2000000, 1 },
	{ "poisson:rate=200,n=4000000", 4000000, 1 },
	{ "poisson:rate=90,n=100000000", 100000000, 1 },
};

static const char *const MODEL = "{\"name\":\"unit\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[10],"
				 "\"noise\":\"exponential\"}";

static void measure(const struct row *x)
{
	struct orr_error err = { 0 };
	struct rusage u;
	char spec[32];
	snprintf(spec, sizeof spec, "%ux1", x->replicas);
	struct served *model = served_parse("bench", MODEL, strlen(MODEL), &err);
	struct reqset *requests = reqset_load(x->requests, NULL, NULL, 1, &err);
	struct cluster *cluster = cluster_load(spec, &err);
	struct orr_args *options = args_new(serve_options, "serve", &err), *args = args_new(orr_policy_serve_fifo.params, "policy", &err);
	struct serve_deployment deployment = { .replicas = x->replicas, .model = UINT32_MAX, .tp = 1, .pp = 1 };
	struct serve_config config = { .requests = requests,
		.cluster = cluster,
		.placement = placement_find("count"),
		.model = &model,
		.n_models = 1,
		.deployment = &deployment,
		.n_deployments = 1,
		.options = options,
		.seed = 1,
		.until_ns = ORR_NEVER,
		.policy_timeout_s = 60 };
	struct run_result *r = result_new();
	if (!model || !requests || !cluster || serve_run(&config, &orr_policy_serve_fifo, args, "fifo", r, &err)) {
		fprintf(stderr, "bench_serve: %s\n", err.text);
		_exit(1);
	}
	getrusage(RUSAGE_SELF, &u);
	double user = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
	double system = (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
	printf("%-28s %8u %8.2f %8.2f %10.0f %8.0f\n", x->requests, x->replicas, user, system, 1e9 * (user + system) / (double)x->n,
		(double)u.ru_maxrss / 1024);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	bool is_all = argc > 1 && !strcmp(argv[1], "--all");
	printf("requests                     replicas   user s system s ns/request      MiB\n");
	fflush(stdout);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int status = 1;
		if (!is_all && rows[i].n > 10000000)
			continue;
		pid_t child = fork();
		if (!child)
			measure(&rows[i]);
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			return 1;
	}
	return 0;
}

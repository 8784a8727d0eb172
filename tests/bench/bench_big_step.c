/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_big_step.c - a training step of GPT-3 175B on many GPUs
 *
 * TP 8, PP 16, replicas with 32 micro-batches of one sample each; sequence parallelism, selective recomputation, Adam, BF16;
 * nodes of 8 A100 with a 200 Gb/s NIC each, on a fat tree with D-mod-k routes; collectives as flows. Simulates one iteration,
 * with and without merged lanes. Each row is a separate process. It shows CPU seconds (user and system), from the loading of
 * model and network on, and peak memory.
 *
 * usage: bench_big_step [--all]; --all adds 10,240 GPUs unmerged (one to two minutes).
 */
#include "tests/step/step_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_megatron;

struct row {
	uint32_t gpus, k, micro_batches, dp_stride;
	bool is_merged;
};

static const struct row rows[] = {
	{ 1024, 16, 8, 1, false },
	{ 1024, 16, 8, 1, true },
	{ 1024, 16, 32, 1, false },
	{ 1024, 16, 32, 1, true },
	{ 2048, 64, 32, 8, true },
	{ 5120, 64, 32, 8, true },
	{ 10240, 64, 32, 8, true },
	{ 10240, 48, 32, 1, false },
};

static void measure(const struct row *r)
{
	char cluster[64], network[64], set[512];
	struct orr_error e = { 0 };
	struct step_result out;
	struct rusage u;
	struct cost_options o = { .precision = PRECISION_BF16 };
	snprintf(cluster, sizeof cluster, "%ux8:a100-80g", r->gpus / 8);
	snprintf(network, sizeof network, "fat-tree:k=%u,bw=200Gbps,nics=8", r->k);
	snprintf(set, sizeof set,
		"tp=8 pp=16 micro_batch=1 global_batch=%u sequence_parallel=true recompute=selective order=tp-pp-dp dp_stride=%u",
		r->gpus / 128 * r->micro_batches, r->dp_stride);
	struct fixture *f = fixture_new(cluster, network, "gpt3_175b", 1);
	cost_free(f->cost[0]);
	f->cost[0] = cost_new(f->dnn, f->device[0], &o, &e);
	f->config.precision = PRECISION_BF16;
	f->config.check = false;
	fixture_set(f, "optimizer=adam");
	fixture_set(f, "iterations=1");
	fixture_set(f, r->is_merged ? "merge=on" : "merge=off");
	if (!f->cost[0] || fixture_run(f, &orr_policy_megatron, set, &out, &e)) {
		fprintf(stderr, "bench_big_step: %s\n", e.text);
		_exit(1);
	}
	getrusage(RUSAGE_SELF, &u);
	printf("%6u %3u %3u %13u %8s %12.6f %12llu %8.2f %8.0f\n", r->gpus, r->k, r->gpus / 128, r->micro_batches,
		r->is_merged ? "merged" : "each", out.iteration_s, (unsigned long long)out.flows,
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
		(double)u.ru_maxrss / 1024);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	bool is_all = argc > 1 && !strcmp(argv[1], "--all");
	printf("  GPUs   k  DP micro-batches    lanes  iteration s        flows    CPU s      MiB\n");
	fflush(stdout);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		int status = 1;
		if (!is_all && !rows[i].is_merged && rows[i].gpus > 1024)
			continue;
		pid_t child = fork();
		if (!child)
			measure(&rows[i]);
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			return 1;
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The updates that the data-parallel policies report, in the order in which the simulated step applies them. Expected: the
 * definitions of synchronous, stale and asynchronous training.
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_allreduce, orr_policy_bytescheduler, orr_policy_parameter_server, orr_policy_local_sgd,
	orr_policy_zero, orr_policy_fsdp;

enum { MAX_EVENTS = 100000, WORKERS = 4, ITERATIONS = 12 };

struct event {
	uint64_t iteration;
	uint8_t kind;
	bool is_end;
	uint32_t worker, slice, slices, group;
	double scale;
};
static struct event *event;
static uint32_t n_events;

static void hook(
	void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n, const uint32_t *group, uint32_t n_group)
{
	(void)ctx, (void)time_s;
	for (uint32_t i = 0; i < n && n_events < MAX_EVENTS; i++) {
		bool is_server = u[i].kind == ORR_PUSH || u[i].kind == ORR_PULL;
		event[n_events++] = (struct event){ (op >> 32) - 1, (uint8_t)u[i].kind, is_end, is_server ? u[i].worker : group[0],
			u[i].slice, u[i].slices, n_group, u[i].scale };
	}
}

static void run(const char *cluster, const char *sets, const struct orr_policy *p, const char *settings)
{
	struct orr_error e = { 0 };
	struct step_result r = { 0 };
	struct fixture *f = fixture_new(cluster, "star:bw=1GBps", "alexnet", 32);
	n_events = 0;
	f->config.hook = hook;
	fixture_set(f, "compute_s=0.25");
	fixture_set(f, "iterations=12");
	fixture_set(f, "ignore_memory=true");
	if (*sets)
		fixture_set(f, sets);
	if (fixture_run(f, p, settings, &r, &e))
		printf("# %s\n", e.text);
	step_result_free(&r);
	fixture_free(f);
}

static uint32_t count(enum orr_update_kind kind)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < n_events; i++)
		n += event[i].kind == kind && event[i].is_end && event[i].iteration < ITERATIONS;
	return n;
}

/* Returns the index of the event, or -1. */
static int64_t find(enum orr_update_kind kind, bool is_end, uint64_t iteration, uint32_t worker)
{
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == kind && event[i].is_end == is_end && event[i].iteration == iteration &&
			(worker == UINT32_MAX || event[i].worker == worker))
			return i;
	return -1;
}

/* Returns whether the updates are those of BSP: gradients, their mean, updates, then the next gradients. */
static bool is_synchronous(void)
{
	for (uint64_t k = 0; k < ITERATIONS; k++) {
		int64_t mean = find(ORR_AVERAGE_GRADIENTS, true, k, UINT32_MAX);
		for (uint32_t w = 0; w < WORKERS; w++) {
			int64_t g = find(ORR_GRADIENT, true, k, w), x = find(ORR_LOCAL_UPDATE, true, k, w);
			int64_t next = find(ORR_GRADIENT, false, k + 1, w);
			if (g < 0 || x < 0 || mean < 0 || !(g < mean && mean < x) || (k + 1 < ITERATIONS && next < x))
				return false;
		}
	}
	return true;
}

static void synchronous(void)
{
	static const struct {
		const struct orr_policy *policy;
		const char *settings, *sets;
	} cases[] = { { &orr_policy_allreduce, "", "" }, { &orr_policy_allreduce, "fusion=tensor overlap=false", "" },
		{ &orr_policy_allreduce, "fusion=horovod", "" }, { &orr_policy_bytescheduler, "", "" }, { &orr_policy_zero, "stage=1", "" },
		{ &orr_policy_zero, "stage=2 overlap=false", "" }, { &orr_policy_zero, "stage=3", "" }, { &orr_policy_fsdp, "", "" },
		{ &orr_policy_allreduce, "", "compression=powersgd:rank=2" }, { &orr_policy_bytescheduler, "", "compression=topk" },
		{ &orr_policy_allreduce, "", "stragglers=lognormal" }, { &orr_policy_bytescheduler, "", "stragglers=lognormal" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		run("4x1:v100", cases[i].sets, cases[i].policy, cases[i].settings);
		ok(count(ORR_GRADIENT) == WORKERS * ITERATIONS && count(ORR_LOCAL_UPDATE) == WORKERS * ITERATIONS &&
				count(ORR_AVERAGE_GRADIENTS) == ITERATIONS && is_synchronous(),
			"%s %s %s: gradient, mean of all, update, next gradient", cases[i].policy->name, cases[i].settings, cases[i].sets);
	}
}

/* Tests that the mean of all gradients is the mean of the means of the nodes. */
static void means_of_means(void)
{
	run("2x2:v100", "", &orr_policy_allreduce, "dense_inside=true");
	bool right = count(ORR_AVERAGE_GRADIENTS) == (2 + 2) * ITERATIONS;
	uint32_t seen = 0;
	for (uint32_t i = 0; i < n_events && right; i++) {
		if (event[i].kind != ORR_AVERAGE_GRADIENTS || !event[i].is_end)
			continue;
		/* Groups of two alternate: GPUs 0 1 and 2 3 (the nodes), then 0 2 and 1 3. */
		uint32_t place = seen++ % 4;
		right = event[i].group == 2 && (place < 2 ? event[i].worker % 2 == 0 : event[i].worker < 2);
	}
	ok(right, "dense_inside: means inside both nodes, then between them");
}

static void local(void)
{
	run("4x1:v100", "", &orr_policy_local_sgd, "local_steps=3");
	bool right = count(ORR_AVERAGE_PARAMETERS) == ITERATIONS / 3 && count(ORR_LOCAL_UPDATE) == WORKERS * ITERATIONS;
	for (uint64_t k = 0; k < ITERATIONS; k++)
		right = right && (find(ORR_AVERAGE_PARAMETERS, true, k, UINT32_MAX) >= 0) == (k % 3 == 2);
	ok(right, "local SGD averages parameters after iterations 2, 5, 8, 11");
	run("4x1:v100", "", &orr_policy_local_sgd, "local_steps=4 post_local=4");
	right = count(ORR_AVERAGE_PARAMETERS) == 4 + 2 && find(ORR_AVERAGE_PARAMETERS, true, 7, UINT32_MAX) >= 0 &&
		find(ORR_AVERAGE_PARAMETERS, true, 5, UINT32_MAX) < 0;
	ok(right, "post-local SGD: after each of the first 4 iterations, then every 4");
	run("2x2:v100", "", &orr_policy_local_sgd, "local_steps=2 node_averages=3");
	uint32_t pairs = 0, all = 0;
	for (uint32_t i = 0; i < n_events; i++) {
		pairs += event[i].kind == ORR_AVERAGE_PARAMETERS && event[i].is_end && event[i].group == 2;
		all += event[i].kind == ORR_AVERAGE_PARAMETERS && event[i].is_end && event[i].group == 4;
	}
	ok(pairs == 4 * 2 && all == 2, "hierarchical: of 6 averages every third is over all nodes (%u, %u)", pairs, all);
}

/* Returns the largest number of iterations between a pull and the newest push that the pull lacks. */
static int worst_staleness(uint32_t workers)
{
	int worst = 0;
	uint64_t pushed[16] = { 0 }; /* number of iterations whose push of slice 0 has taken effect */
	for (uint32_t i = 0; i < n_events; i++) {
		if (event[i].kind == ORR_PUSH && event[i].is_end && !event[i].slice)
			pushed[event[i].worker] = event[i].iteration + 1;
		if (event[i].kind != ORR_PULL || event[i].is_end || event[i].slice)
			continue;
		for (uint32_t w = 0; w < workers; w++) {
			int lacks = (int)(event[i].iteration + 1) - (int)pushed[w];
			if (lacks > worst)
				worst = lacks;
		}
	}
	return worst;
}

static void servers(void)
{
	run("4x1:v100", "", &orr_policy_parameter_server, "");
	double scale = 0;
	for (uint32_t i = 0; i < n_events; i++)
		if (event[i].kind == ORR_PUSH && event[i].is_end && event[i].iteration == 3 && event[i].slice == 1)
			scale += event[i].scale;
	ok(count(ORR_PUSH) == WORKERS * 4 * ITERATIONS && count(ORR_PULL) == WORKERS * 4 * ITERATIONS,
		"each worker pushes and pulls each of 4 slices once an iteration, however many messages that takes");
	near_to(scale, 1, 1e-12, "the pushes of an iteration add up to the mean gradient");
	ok(worst_staleness(WORKERS) == 0, "BSP: no worker pulls before all have pushed");
	static const char *const slow = "speeds=0:0.2";
	run("4x1:v100", slow, &orr_policy_parameter_server, "mode=ssp staleness=2");
	ok(worst_staleness(WORKERS) == 2, "SSP: a pull lacks at most `staleness` iterations of the slowest (%d)", worst_staleness(WORKERS));
	run("4x1:v100", slow, &orr_policy_parameter_server, "mode=asp");
	ok(worst_staleness(WORKERS) > 2, "ASP: no worker waits for the slowest (%d behind)", worst_staleness(WORKERS));
	run("2x2:v100", "", &orr_policy_parameter_server, "node_sum=true");
	ok(count(ORR_PUSH) == WORKERS * 2 * ITERATIONS && worst_staleness(WORKERS) == 0, "a node's sum counts for each of its workers");
	run("4x1:v100", "", &orr_policy_parameter_server, "shard=tensor servers=3 step=sum");
	bool ones = true, three = true;
	for (uint32_t i = 0; i < n_events; i++) {
		ones = ones && (event[i].kind != ORR_PUSH || event[i].scale == 1);
		three = three && ((event[i].kind != ORR_PUSH && event[i].kind != ORR_PULL) || event[i].slices == 3);
	}
	ok(ones && three && worst_staleness(WORKERS) == 0,
		"by tensor over 3 servers there are 3 slices; step=sum counts each gradient once");
}

int main(void)
{
	event = mem_zalloc(MAX_EVENTS, sizeof *event);
	synchronous();
	means_of_means();
	local();
	servers();
	mem_free(event);
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chains.h - random chains of measured layers, and runs of plan policies on them */
#ifndef ORR_TESTS_PLAN_CHAINS_H
#define ORR_TESTS_PLAN_CHAINS_H

#include "base/rng.h"
#include "base/sbuf.h"
#include "world/scenario.h"

#include <orrery/plan.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_PIECES = 7, MOST_GPUS = 16 };

struct chain {
	uint32_t n, gpus, nodes;
	double fwd_ms[MOST_PIECES], bwd_ms[MOST_PIECES], out_bytes[MOST_PIECES], param_bytes[MOST_PIECES];
};

static char path[] = "/tmp/orrery-chain-XXXXXX.csv";

static inline void draw(struct chain *c, struct rng *r)
{
	static const uint32_t nodes[] = { 1, 2, 4 };
	c->n = 2 + (uint32_t)rng_below(r, MOST_PIECES - 1);
	c->nodes = nodes[rng_below(r, 3)];
	c->gpus = c->nodes * (1 + (uint32_t)rng_below(r, MOST_GPUS / c->nodes));
	for (uint32_t i = 0; i < c->n; i++) {
		c->fwd_ms[i] = round(100 * (0.1 + 9 * rng_uniform(r))) / 100;
		c->bwd_ms[i] = round(100 * (0.1 + 18 * rng_uniform(r))) / 100;
		c->out_bytes[i] = 4e3 * (1 + (double)rng_below(r, 1000));
		c->param_bytes[i] = 4e3 * (double)rng_below(r, 200000);
	}
}

static inline void write_chain(const struct chain *c)
{
	FILE *f = fopen(path, "w");
	fprintf(f, "idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n");
	for (uint32_t i = 0; i < c->n; i++)
		fprintf(f, "%u,layer%u,%.17g,%.17g,%.17g,%.17g\n", i, i, c->fwd_ms[i], c->bwd_ms[i], c->out_bytes[i], c->param_bytes[i]);
	fclose(f);
}

/* Runs a policy on the chain, with the functions of another policy if given. Returns a metric, or NAN on an error. */
static inline double planned_as(const struct chain *c, const char *policy, const char *metric, const struct orr_policy *own)
{
	struct sbuf text = { 0 };
	struct orr_error err = { 0 };
	struct world_output o = { .quiet = true };
	struct run_result *r = result_new();
	double value = NAN;
	sbuf_printf(&text,
		"{\"world\":\"plan\",\"model\":\"%s:batch=4\",\"cluster\":\"%ux%u:v100\",\"global_batch\":64,\"micro_batch\":16,"
		"\"plan\":{\"checked\":0},\"policies\":[%s]}",
		path, c->nodes, c->gpus / c->nodes, policy);
	cJSON *j = cJSON_Parse(text.text);
	struct scenario *s = scenario_open(j, &o, &err);
	if (s && own)
		s->policy[0].entry.policy = own;
	/* A policy of the test computes its metric even if no plan that it evaluates fits in memory. */
	if (s && (!s->world->run(s, 0, 0, r, NULL, NULL, &err) || own) && result_find(r, metric))
		value = result_find(r, metric)->value;
	if (err.code)
		printf("# %s\n", err.text);
	scenario_close(s);
	result_free(r);
	cJSON_Delete(j);
	sbuf_free(&text);
	return value;
}

static inline double planned(const struct chain *c, const char *policy, const char *metric)
{
	return planned_as(c, policy, metric, NULL);
}

#endif

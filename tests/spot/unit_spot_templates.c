/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Oobleck's plans (policies/spot/templates.h) against all sets of pipelines, on jobs with random step times. */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include "base/mem.h"
#include "base/rng.h"
#include "policies/spot/templates.h"

#include <stdlib.h>

enum { PIPELINES = 4, DEPTHS = 5, NODES = 24 };

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };

static int64_t ns[PIPELINES + 1][DEPTHS + 1]; /* step times by pipelines and depth; 0: none */
static uint32_t from, to, replicas;           /* arguments of templates_init() */

/* ---- all sets of pipelines ---- */

static struct plan best;
static uint32_t best_depth[PIPELINES];

/* Adds depths no deeper than `most` to depth[0..k), on `nodes` nodes so far, and keeps the best set of n pipelines. */
static void search(uint32_t n, uint32_t k, uint32_t most, uint32_t nodes, uint32_t limit, uint32_t *depth)
{
	if (k == n) {
		double rate = 0;
		for (uint32_t i = 0; i < n; i++)
			rate += 1e9 / (double)ns[n][depth[i]];
		struct plan x = { .pipelines = n, .nodes = nodes, .step_ns = llround(n * 1e9 / rate), .depth = depth[0] };
		if (!best.step_ns || x.step_ns < best.step_ns || (x.step_ns == best.step_ns && n == best.pipelines && nodes < best.nodes)) {
			best = x;
			memcpy(best_depth, depth, n * sizeof *depth);
		}
		return;
	}
	for (uint32_t d = from; d <= most && nodes + d <= limit; d++)
		if (ns[n][d]) {
			depth[k] = d;
			search(n, k + 1, d, nodes + d, limit, depth);
		}
}

static int compare_plans(struct templates *t, uint32_t nodes)
{
	uint32_t depth[PIPELINES] = { 0 }, got[PIPELINES] = { 0 };
	best = (struct plan){ 0 };
	for (uint32_t n = replicas; n <= PIPELINES; n++)
		search(n, 0, to ? to : DEPTHS, 0, nodes, depth);
	struct plan p = templates_plan(t, nodes);
	templates_depths(t, &p, got);
	int wrong = p.pipelines != best.pipelines || p.nodes != best.nodes || p.depth != best.depth || llabs(p.step_ns - best.step_ns) > 1;
	for (uint32_t i = 0; i < best.pipelines && !wrong; i++)
		wrong = got[i] != best_depth[i];
	if (wrong)
		printf("# %u nodes: got %u pipelines on %u nodes, %lld ns, deepest %u; expected %u on %u, %lld ns, deepest %u\n", nodes,
			p.pipelines, p.nodes, (long long)p.step_ns, p.depth, best.pipelines, best.nodes, (long long)best.step_ns,
			best.depth);
	return wrong;
}

/* ---- a policy that compares at its creation ---- */

static int wrong, plans;

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	struct templates t;
	(void)args;
	if (templates_init(&t, w, from, to, replicas, e))
		return NULL;
	/* The first question is for few nodes, so that later ones need more plans. */
	for (uint32_t n = 0; n <= NODES && t.max_depth; n++, plans++)
		wrong += compare_plans(&t, n);
	templates_free(&t);
	return mem_zalloc(1, 8);
}

static void decide(void *self, struct orr_spot *w)
{
	(void)self, (void)w;
}

static bool run(const char *job)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = mem_free, .decide = decide };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	struct spot_runs s;
	struct run_result *r = NULL;
	err = (struct orr_error){ 0 };
	wrong = plans = 0;
	if (spot_runs_open(&s, NULL, "0,add,a\n", job, &policy, "", "", &err)) {
		s.config.until_ns = ORR_SECOND;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	bool good = r;
	result_free(r);
	return good;
}

/* Writes the job with these step times. */
static const char *job_of(void)
{
	static char text[2000];
	snprintf(text, sizeof text, "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":100,\"points\":[");
	for (int p = 1; p <= PIPELINES; p++)
		for (int d = 1; d <= DEPTHS; d++)
			if (ns[p][d])
				snprintf(text + strlen(text), sizeof text - strlen(text), "[%d,%d,%.6f],", p, d, (double)ns[p][d] / 1e6);
	strcpy(text + strlen(text) - 1, "]}");
	return text;
}

static void random_jobs(void)
{
	struct rng rng;
	int failed = 0, differ = 0, compared = 0;
	rng_init(&rng, 5, "templates", 0);
	for (int i = 0; i < 60; i++) {
		for (int p = 1; p <= PIPELINES; p++)
			for (int d = 1; d <= DEPTHS; d++)
				ns[p][d] = rng_uniform(&rng) < 0.7 ? (int64_t)(1e9 * (1 + 4 * rng_uniform(&rng)) / (p * sqrt(d))) : 0;
		from = 1 + (uint32_t)(i % 3);
		to = i % 4 ? 0 : 4;
		replicas = 1 + (uint32_t)(i % 2);
		ns[PIPELINES][4] = 1234567891; /* at least one shape is within all bounds */
		failed += !run(job_of());
		differ += wrong;
		compared += plans;
	}
	if (failed)
		printf("# %s\n", err.text);
	ok(!failed && !differ && compared == 60 * (NODES + 1), "plans of 60 random jobs for 0 to 24 nodes are the best of all sets");
}

/* Equal step times: the plan has the fewest pipelines, then the fewest nodes. */
static void ties(void)
{
	for (int p = 1; p <= PIPELINES; p++)
		for (int d = 1; d <= DEPTHS; d++)
			ns[p][d] = d == 2 || d == 3 ? ORR_SECOND : 0;
	from = to = 0;
	replicas = 2;
	from = 1;
	ok(run(job_of()) && !wrong && plans == NODES + 1, "ties of plans");
}

static void errors(void)
{
	replicas = 5;
	from = 2;
	to = 3;
	ok(!run(job_of()) &&
			strstr(err.text, "f=4: 5 pipelines of depths from 2 to 3: expected at most 4, the number for which the job has "
					 "step times"),
		"more replicas than the job has step times for: %s", err.text);
	replicas = 1;
	from = 4;
	to = 0;
	ok(!run(job_of()) && strstr(err.text, "f=0: 1 pipelines of depths from 4 to 256: expected at most 0"),
		"no shape within the bounds: %s", err.text);
}

int main(void)
{
	random_jobs();
	ties();
	errors();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The on-demand baseline: nodes and step time for its parameters and the job's tables, by hand. */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_spot_on_demand;

static struct orr_error err;

#define JOB(more) "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":60,\"steps\":10," more "}"
#define POINTS "\"points\":[[1,1,1000],[1,2,600],[2,2,400],[4,1,300],[2,3,350]]"
#define CURVE "\"curves\":{\"oobleck\":{\"first\":2,\"values\":[10,30,20,30]},\"falling\":{\"first\":3,\"values\":[30,20,0]}}"

static const struct on_demand_case {
	const char *job, *settings;
	double nodes, step_s; /* nodes 0: the run fails with this text */
	const char *error;
} cases[] = {
	/* The fastest shape within the parameters; among equals, the smallest. */
	{ JOB(POINTS), "", 4, 0.3, NULL },
	{ JOB(POINTS), "depth=2", 4, 0.4, NULL },
	{ JOB(POINTS), "depth=3", 6, 0.35, NULL },
	{ JOB(POINTS), "depth=2 nodes=3", 2, 0.6, NULL },
	{ JOB(POINTS), "nodes=4", 4, 0.3, NULL },
	{ JOB(POINTS), "nodes=3", 2, 0.6, NULL },
	{ JOB(POINTS), "nodes=1", 1, 1, NULL },
	{ JOB(POINTS), "pipelines=2", 6, 0.35, NULL },
	{ JOB(POINTS), "pipelines=2 nodes=5", 4, 0.4, NULL },
	{ JOB("\"points\":[[1,4,500],[2,1,500],[3,1,500]]"), "", 2, 0.5, NULL },
	{ JOB("\"points\":[[3,1,500],[1,2,500],[1,4,500]]"), "", 2, 0.5, NULL },
	/* A shape or a step time that is given. */
	{ JOB(POINTS), "pipelines=2 depth=2", 4, 0.4, NULL },
	{ JOB(POINTS), "nodes=6 depth=3", 6, 0.35, NULL },
	{ JOB(POINTS), "nodes=5 step=2s", 5, 2, NULL },
	{ JOB(POINTS), "nodes=6 depth=2 step=1s", 6, 1, NULL },
	{ JOB(POINTS), "pipelines=3 depth=3", 0, 0, "job j has no step time of this shape: expected \"nodes\" and \"step\", or \"curve\"" },
	/* The job's defaults. */
	{ JOB(POINTS ",\"depth\":2,\"pipelines\":2"), "", 4, 0.4, NULL },
	{ JOB(POINTS ",\"depth\":2,\"pipelines\":2"), "nodes=2", 2, 0.6, NULL },
	{ JOB(POINTS ",\"depth\":2,\"pipelines\":2"), "depth=3", 6, 0.35, NULL },
	{ JOB(POINTS ",\"depth\":2,\"pipelines\":2"), "pipelines=1", 2, 0.6, NULL },
	{ JOB(POINTS ",\"on_demand\":{\"nodes\":8,\"step_s\":0.25}"), "", 8, 0.25, NULL },
	{ JOB(POINTS ",\"on_demand\":{\"nodes\":8,\"step_s\":0.25}"), "nodes=8", 8, 0.25, NULL },
	{ JOB(POINTS ",\"on_demand\":{\"nodes\":8,\"step_s\":0.25}"), "nodes=7", 4, 0.3, NULL },
	{ JOB(POINTS ",\"on_demand\":{\"nodes\":8,\"step_s\":0.25}"), "step=1s", 8, 1, NULL },
	/* Curves of samples/s by nodes: the first maximum, or the given number of nodes. */
	{ JOB(CURVE), "", 3, 2, NULL },
	{ JOB(CURVE), "nodes=2", 2, 6, NULL },
	{ JOB(CURVE), "nodes=4", 4, 3, NULL },
	{ JOB(CURVE), "curve=falling", 3, 2, NULL },
	{ JOB(CURVE), "curve=falling nodes=4", 4, 3, NULL },
	{ JOB(CURVE), "curve=falling nodes=5", 0, 0,
		"job j has no step time of this shape: expected \"nodes\" and \"step\", or \"curve\"" },
	{ JOB(CURVE), "curve=none", 0, 0, "job j has no step time: expected \"nodes\" and \"step\", or \"curve\"" },
	{ JOB(CURVE), "depth=3", 0, 0, "job j has no step time of this shape" },
	{ JOB(CURVE), "pipelines=3", 0, 0, "job j has no step time of this shape" },
};

static struct run_result *run(const struct orr_policy *policy, const char *rows, const char *job, const char *settings, const char *options)
{
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, NULL, rows, job, policy, settings, options, &err))
		r = spot_runs_run(&s, 0, &err);
	spot_runs_close(&s);
	return r;
}

/* At 1 USD per second of an instance, the cost is the nodes times the run's time, 10 steps. */
static void shapes(void)
{
	for (const struct on_demand_case *x = cases; x < cases + sizeof cases / sizeof *cases; x++) {
		struct run_result *r = run(&orr_policy_spot_on_demand, "0,add,a\n", x->job, x->settings, "on_demand_price=3600");
		double s = spot_runs_metric(r, "makespan_s"), usd = spot_runs_metric(r, "usd");
		if (x->nodes > 0)
			ok(r && fabs(s - 10 * x->step_s) < 1e-9 && fabs(usd - x->nodes * s) < 1e-6,
				"\"%s\": %g nodes, a step takes %g s%s%s", x->settings, x->nodes, x->step_s, r ? "" : ": ",
				r ? "" : err.text);
		else
			ok(!r && strstr(err.text, x->error), "\"%s\": %s", x->settings, err.text);
		if (r && x->nodes > 0 && !(fabs(s - 10 * x->step_s) < 1e-9 && fabs(usd - x->nodes * s) < 1e-6))
			printf("# %g nodes, %g s\n", usd / s, s / 10);
		result_free(r);
	}
}

static void zones_and_quota(void)
{
	struct run_result *r = run(&orr_policy_spot_on_demand, "0,add,a\n", JOB(POINTS), "", "on_demand_quota=4 on_demand_startup=5s");
	near_to(spot_runs_metric(r, "makespan_s"), 8, 1e-12, "a quota of 4 suffices for 4 nodes, which start in 5 s");
	result_free(r);
	r = run(&orr_policy_spot_on_demand, "0,add,a\n", JOB(POINTS), "", "on_demand_quota=3");
	ok(!r && strstr(err.text, "fewer on-demand instances than the job needs: expected a larger spot.on_demand_quota"),
		"a quota of 3 does not: %s", r ? "no error" : err.text);
	result_free(r);
}

int main(void)
{
	shapes();
	zones_and_quota();
	return done();
}

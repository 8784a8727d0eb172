/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of the numbers that options of the spot world and its policies accept: both bounds, and the next numbers beyond them. */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include "base/param.h"

extern const struct orr_policy orr_policy_spot_bamboo, orr_policy_spot_checkpoint, orr_policy_spot_elastic_dp, orr_policy_spot_on_demand,
	orr_policy_spot_oobleck, orr_policy_spot_parcae, orr_policy_spot_greedy, orr_policy_spot_omniscient,
	orr_policy_spot_uniform_progress, orr_policy_spot_partial_lookahead, orr_policy_spot_rsf, orr_policy_spot_time_sliced,
	orr_policy_spot_varuna;

static const struct bound {
	const struct orr_policy *policy; /* NULL: the world */
	const char *name;
	double least, most;
} bounds[] = {
	{ NULL, "price", 0, 1e6 },
	{ NULL, "on_demand_price", 0, 1e6 },
	{ NULL, "max_price", 0, 1e6 },
	{ NULL, "target", 0, 1e6 },
	{ NULL, "quota", 0, 1e6 },
	{ NULL, "on_demand_quota", 0, 1e6 },
	{ NULL, "storage_Bps", 1, 1e18 },
	{ NULL, "node_Bps", 1, 1e18 },
	{ NULL, "egress_usd_per_GB", 0, 1e6 },
	{ NULL, "max_calls_per_instant", 1, 1e9 },
	{ NULL, "ci_level", 0.5, 0.999999 },
	{ &orr_policy_spot_bamboo, "depth", 0, 10000 },
	{ &orr_policy_spot_bamboo, "pipelines", 0, 10000 },
	{ &orr_policy_spot_bamboo, "stages_per_node", 1, 64 },
	{ &orr_policy_spot_bamboo, "rho_frc", 0, 100 },
	{ &orr_policy_spot_bamboo, "redundant", 0, 1 },
	{ &orr_policy_spot_bamboo, "slowdown", 1, 100 },
	{ &orr_policy_spot_checkpoint, "depth", 0, 100000 },
	{ &orr_policy_spot_checkpoint, "pipelines", 0, 100000 },
	{ &orr_policy_spot_checkpoint, "every_steps", 1, 1e15 },
	{ &orr_policy_spot_checkpoint, "gain", 0, 1 },
	{ &orr_policy_spot_elastic_dp, "part", 0.01, 1 },
	{ &orr_policy_spot_on_demand, "nodes", 0, 100000 },
	{ &orr_policy_spot_on_demand, "pipelines", 0, 100000 },
	{ &orr_policy_spot_on_demand, "depth", 0, 100000 },
	{ &orr_policy_spot_oobleck, "f", 0, 15 },
	{ &orr_policy_spot_oobleck, "min_nodes", 0, 256 },
	{ &orr_policy_spot_oobleck, "max_nodes", 0, 256 },
	{ &orr_policy_spot_oobleck, "node_Bps", 1, 1e13 },
	{ &orr_policy_spot_parcae, "lookahead", 1, 60 },
	{ &orr_policy_spot_parcae, "draws", 0, 1e6 },
	{ &orr_policy_spot_parcae, "history", 2, 1000 },
	{ &orr_policy_spot_parcae, "limit", 0, 1e6 },
	{ &orr_policy_spot_parcae, "least", 0, 1e6 },
	{ &orr_policy_spot_parcae, "most", 1, 1e6 },
	{ &orr_policy_spot_greedy, "nodes", 0, 1e5 },
	{ &orr_policy_spot_omniscient, "nodes", 0, 1e5 },
	{ &orr_policy_spot_uniform_progress, "nodes", 0, 1e5 },
	{ &orr_policy_spot_partial_lookahead, "nodes", 0, 1e5 },
	{ &orr_policy_spot_partial_lookahead, "slices", 1, 1e6 },
	{ &orr_policy_spot_rsf, "nodes", 0, 1e5 },
	{ &orr_policy_spot_rsf, "slices", 1, 1e6 },
	{ &orr_policy_spot_time_sliced, "nodes", 0, 1e5 },
	{ &orr_policy_spot_time_sliced, "slices", 1, 1e6 },
	{ &orr_policy_spot_varuna, "ckpt_steps", 1, 1000 },
};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

static const struct orr_param *params_of(const struct bound *b)
{
	return b->policy ? b->policy->params : spot_options;
}

static bool is_number(const struct orr_param *p)
{
	return p->kind == ORR_KIND_INT || p->kind == ORR_KIND_REAL;
}

/* Returns whether the option accepts the number. */
static bool accepts(const struct bound *b, double x)
{
	struct orr_error err = { 0 };
	char pair[80];
	struct orr_args *args = args_new(params_of(b), "test", &err);
	snprintf(pair, sizeof pair, "%s=%.17g", b->name, x);
	bool good = args && !args_set_pair(args, pair, &err);
	args_free(args);
	return good;
}

int main(void)
{
	for (const struct bound *b = bounds; b < bounds + BOUNDS; b++) {
		const struct orr_param *p = params_of(b);
		while (p->name && strcmp(p->name, b->name))
			p++;
		bool is_int = p->name && p->kind == ORR_KIND_INT;
		double below = is_int ? b->least - 1 : nextafter(b->least, -INFINITY),
		       above = is_int ? b->most + 1 : nextafter(b->most, INFINITY);
		ok(p->name && accepts(b, b->least) && accepts(b, b->most) && !accepts(b, below) && !accepts(b, above),
			"%s.%s accepts %g to %g", b->policy ? b->policy->name : "spot", b->name, b->least, b->most);
	}
	/* Checks that the table above is complete. */
	for (size_t i = 0; i < BOUNDS; i++) {
		uint32_t listed = 0, known = 0;
		for (size_t j = 0; j < BOUNDS; j++)
			listed += bounds[j].policy == bounds[i].policy;
		for (const struct orr_param *p = params_of(&bounds[i]); p->name; p++)
			known += is_number(p);
		if (!i || bounds[i].policy != bounds[i - 1].policy)
			ok(listed == known, "%s has %u options with numbers", bounds[i].policy ? bounds[i].policy->name : "spot", listed);
	}
	return done();
}

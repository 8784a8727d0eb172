/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * options.h - options of `--set serve.NAME=VALUE`, resolved once per run
 *
 * Invariant after settings_new(): every choice is a value of its enum, a limit that is not set is INFINITY or the largest
 * integer, and every model named is served.
 */
#ifndef ORR_SERVE_OPTIONS_H
#define ORR_SERVE_OPTIONS_H

#include "serve/serve.h"

enum serve_router {
	ROUTER_AUTO, /* the policy's route(), or jsq if it has none */
	ROUTER_ROUND_ROBIN,
	ROUTER_RANDOM,
	ROUTER_JSQ,
	ROUTER_POWER_OF_TWO,
	ROUTER_LEAST_OUTSTANDING,
	ROUTER_PREFIX_AWARE
};
enum serve_shed { SHED_NO, SHED_LATE, SHED_HOPELESS };
enum serve_interference { INTERFERENCE_NONE, INTERFERENCE_PAIRWISE, INTERFERENCE_OCCUPANCY, INTERFERENCE_CURVE };
/* Defaults: serve.scale_interval and serve.scale_quiet in ns, serve.exit_interval in s. */
#define SERVE_SCALE_INTERVAL (15 * ORR_SECOND)
#define SERVE_SCALE_QUIET (300 * ORR_SECOND)
/* Default of serve.scale_target. */
#define SERVE_SCALE_TARGET 8.0
#define SERVE_EXIT_INTERVAL_S 0.0
enum serve_exit { EXIT_NOW, EXIT_INTERVAL, EXIT_LAYER };
enum serve_front { FRONT_NONE, FRONT_SHARED, FRONT_PER_REPLICA };
enum serve_tbt { TBT_TPOT, TBT_SPLITWISE };

struct serve_settings {
	enum serve_router router;
	uint64_t queue_limit; /* UINT64_MAX: none */
	enum serve_shed shed;
	double slo_s, slo_ttft_s, slo_tpot_s; /* INFINITY: not set */
	bool any_model;                       /* requests for models that are not served go to the first model */

	enum serve_interference interference;
	double *slowdown;         /* factors, [model * n_models + beside]; NULL unless pairwise */
	const double *curve;      /* factors, [runs - 1]; owned by the options */
	size_t n_curve;           /* SIZE_MAX unless curve */
	double utilisation_limit; /* INFINITY: none */
	enum serve_exit exit;
	double exit_interval_s, resume_cost_s;
	bool preloaded;

	uint32_t kv_block; /* tokens */
	double kv_part;    /* usable share of a replica's memory */
	bool prefix_cache;
	double swap_Bps, kv_Bps, kv_latency_s;
	bool kv_overlap;

	enum serve_front front;
	double front_Bps, front_latency_s; /* bandwidth and latency of a link, in each direction */
	double loss;                       /* probability that an answer is lost */

	enum serve_tbt tbt;
	int64_t max_calls;
	double ci_level, warmup;
};

/* Resolves the options. Returns NULL, with *err filled in, if one is invalid. */
struct serve_settings *settings_new(const struct serve_config *c, struct orr_error *err);
void settings_free(struct serve_settings *s);

#endif

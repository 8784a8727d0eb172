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

/* Returns whether a time misses a limit, both in s. Clocks count whole ns, and a difference of two of them is rounded, so a time that
 * equals its limit may be a little above it. */
static inline bool serve_misses(double time_s, double limit_s)
{
	return time_s > limit_s + 0.5e-9;
}

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
enum serve_pipeline { PIPELINE_SERIAL, PIPELINE_MICRO_BATCHES };
enum serve_decode_router { DECODE_FEWEST_REQUESTS, DECODE_FEWEST_WAITING, DECODE_ROUND_ROBIN, DECODE_SHORTEST_ITERATION };
enum serve_kv_load { KV_LOAD_COST, KV_LOAD_ALWAYS, KV_LOAD_NEVER };
enum serve_kv_link { KV_LINK_INDEPENDENT, KV_LINK_FIFO };
enum serve_tbt { TBT_TPOT, TBT_SPLITWISE };

struct speculation; /* speculate.h */

struct serve_settings {
	uint64_t queue_limit; /* UINT64_MAX: none */
	struct speculation *speculation;
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
	uint32_t steps; /* iterations without prompts per call of the scheduler */
	double swap_Bps, kv_Bps, kv_latency_s;
	bool kv_overlap;
	enum serve_kv_link kv_link;
	enum serve_decode_router decode_router;
	bool decode_reserves; /* serve.decode_admission=reserve */
	enum serve_kv_load kv_load;
	bool kv_prefetch;
	bool roles_adapt;
	int64_t role_interval; /* ns */
	double role_waiting, role_kv;
	enum serve_pipeline pipeline;

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

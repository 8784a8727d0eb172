/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve.h - the serving world: one policy's run over a trace of requests
 *
 * serve_run() creates all state of a run, so parallel threads may run one reqset, cluster and policy. Several worlds on one
 * clock use its parts: serve_begin() with an engine and a pool of GPUs of the host, serve_instant() at each instant,
 * serve_end().
 */
#ifndef ORR_SERVE_SERVE_H
#define ORR_SERVE_SERVE_H

#include <orrery/serve.h>

#include "base/param.h"
#include "cluster/cluster.h"
#include "cluster/pool.h"
#include "engine/engine.h"
#include "hwmodel/served.h"
#include "results/result.h"

#include <stdatomic.h>
#include "results/stats.h"
#include "results/warmup.h"
#include "traces/requests.h"

struct topo;
struct failures;

/* Replicas of one kind. */
struct serve_deployment {
	uint32_t replicas; /* number of replicas at the start */
	uint32_t model;    /* index of serve_config.model; UINT32_MAX: any model (models share the GPUs) */
	uint32_t tp, pp;   /* numbers of GPUs of a replica: tp x pp, on one node if they fit there */
	enum orr_replica_role role;
	uint64_t gpu_types;   /* bit mask of the cluster's types; 0: all */
	uint32_t kv_blocks;   /* number of KV blocks; 0: as memory allows */
	uint32_t least, most; /* bounds of autoscaling; most 0: a fixed number */
};

/* Inputs that a run depended on. */
enum serve_use {
	SERVE_USED_PLACEMENT = 1,        /* the default placement rule would have chosen other GPUs */
	SERVE_USED_ROUTER = 1 << 1,      /* jsq, or the policy without serve.router, might have chosen another replica */
	SERVE_USED_START_UP = 1 << 2,    /* a replica was added after the start */
	SERVE_USED_ANY_MODEL = 1 << 3,   /* serve.any_model sent a request to the first model */
	SERVE_USED_UTILISATION = 1 << 4, /* serve.utilisation_limit rejected a run or a request on a replica */
	SERVE_USED_SLOWDOWN = 1 << 5,    /* interference slowed a run, or its curve rejected a run on a replica */
	SERVE_USED_EXIT = 1 << 6,        /* a run was aborted at another point than under the default of serve.exit */
	SERVE_USED_EXIT_INTERVAL = 1 << 7,
	SERVE_USED_DECISION = 1 << 8,       /* the autoscaler made a decision */
	SERVE_USED_SCALE_QUIET = 1 << 9,    /* a decision depended on serve.scale_quiet */
	SERVE_USED_WARMUP = 1 << 10,        /* a mean differs without serve.warmup */
	SERVE_USED_RESUME = 1 << 13,        /* a suspended run was resumed */
	SERVE_USED_OTHER_ROUTE = 1 << 14,   /* jsq might have chosen another replica, or the router rejected a request */
	SERVE_USED_SCALE_TARGET = 1 << 12,  /* a decision depended on serve.scale_target */
	SERVE_USED_KV_LOAD = 1 << 16,       /* serve.kv_load=cost would have loaded other blocks than a request did */
	SERVE_USED_STEPS = 1 << 17,         /* a request waited for the end of a call of the scheduler (serve.host_steps) */
	SERVE_USED_ROLES = 1 << 18,         /* serve.roles=fixed would have refused a request */
	SERVE_USED_SESSIONS = 1 << 19,      /* a session of the trace has several requests */
	SERVE_USED_SLO = 1 << 20,           /* serve.slo is the deadline of a request */
	SERVE_USED_DECODE_ROOM = 1 << 15,   /* serve.decode_admission=reserve: a decode replica had no room for a cache */
	SERVE_USED_SCALE_INTERVAL = 1 << 11 /* the last request ended after the first decision of the autoscaler, or after the first
					       decision with the default of serve.scale_interval */
};

struct quality;

struct serve_config {
	const struct reqset *requests;
	uint64_t replication; /* index of the random streams (reqset_open()) */
	const struct cluster *cluster;
	const struct placement *placement;
	const struct topo *topo;       /* topology for KV transfers; NULL: serve.kv_Bps applies */
	const struct topo *group_topo; /* topology for messages within a replica on several nodes; NULL: timed as on one node */
	struct served *const *model;   /* models by the number that policies see */
	uint32_t n_models;
	/* Tables of models on the devices of deployments, [(deployment * types of the cluster + type) * n_models + model]; an entry of
	 * NULL, or NULL: the table of model[]. A table has the batches, lengths and bytes of model[]. */
	struct served *const *placed;
	const struct device *const *device;   /* devices by GPU type; may be NULL for tables and closed forms */
	const struct profile *const *profile; /* the same */
	enum precision precision;
	const struct serve_deployment *deployment;
	uint32_t n_deployments;
	const struct failures *failures; /* node failures; NULL: nodes never fail */
	const struct orr_args *options;  /* of serve_options */
	struct quality *quality;         /* trained accuracy by answers (serve.quality); NULL: none */
	const double *usd_per_gpu_hour;  /* price by GPU type; NULL: unknown */
	uint64_t seed;
	int64_t until_ns;      /* end of the run; ORR_NEVER: after the last request */
	struct warmup warm_up; /* values excluded from means and quantiles over requests */
	bool check;            /* check the conservation laws at run time */
	bool record_requests;  /* fill in result->requests */
	bool explain;          /* fill in result->parts */
	uint64_t max_rows;
	double policy_timeout_s;
	const struct placement *compare; /* rule for pool_compare(): the default rule; NULL: none */
	atomic_uint *used;               /* receives bits of enum serve_use; may be NULL */
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

/* Returns the number of reads of a key or value by the queries that share it: serve.kv_reads, or the value of serve.engine. */
double serve_kv_reads(const struct orr_args *options);
/* Returns the host of the engine, with the options that replace its values. */
struct served_host serve_engine_host(const struct orr_args *options);
/* Options of `--set serve.NAME=VALUE`. */
extern const struct orr_param serve_options[];

int serve_run(const struct serve_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct orr_error *err);

/* ---- on a shared clock ---- */

struct serve_host {
	struct engine *engine;
	struct pool *pool;
	/* Take and give back the GPUs of a replica; NULL: pool_take() and pool_give(). take() returns false if none are free now;
	 * the host calls serve_capacity() when it may be tried again. */
	bool (*take)(void *ctx, const struct pool_request *r, struct pool_alloc *out);
	void (*give)(void *ctx, struct pool_alloc *a);
	/* Returns whether no other world acts before the engine's next event. NULL: always false. */
	bool (*is_quiet)(void *ctx);
	void *ctx;
};

struct orr_serve *serve_begin(const struct serve_config *c, const struct serve_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct orr_error *err);
/* Calls the policy after the events of an instant. Returns whether new events are due at this instant. */
bool serve_instant(struct orr_serve *w);
bool serve_is_over(const struct orr_serve *w); /* true: all requests have ended, or an error occurred */
bool serve_has_failed(const struct orr_serve *w);
/* Returns the number of pending events of this world that alone do not let a waiting request continue: ticks of autoscaling,
 * failures. */
uint64_t serve_background(const struct orr_serve *w);
/* Requests wait and no event is pending: fails the run with an error that names the policy. Returns true instead if this world goes on,
 * because it refuses requests that no replica is large enough for. */
bool serve_starving(struct orr_serve *w);
double serve_part_done(const struct orr_serve *w); /* returns the progress, 0 to 1 */
/* Reports that GPUs may have become free. */
void serve_capacity(struct orr_serve *w);
/* Reports that a node has failed or returned. The replicas of a failed node are lost and release their GPUs; the host calls
 * serve_capacity() when the pool is up to date. */
void serve_node(struct orr_serve *w, uint32_t node, bool is_up);
/* Reports that a node is given notice: its replicas drain, and with serve.notice replacements start elsewhere. */
void serve_notice(struct orr_serve *w, uint32_t node);
/* Ends the run now: writes metrics to the result, and all replicas release their GPUs. Only serve_end() may follow. */
void serve_leave(struct orr_serve *w);
/* Writes metrics to the result and frees the world. GPUs that replicas still hold are returned to the pool without the host's
 * give(). */
int serve_end(struct orr_serve *w, struct orr_error *err);

#endif

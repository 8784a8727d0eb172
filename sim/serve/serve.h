/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * serve.h - the serving world: one policy's run over a trace of requests
 *
 * serve_run() makes everything anew for one run, so any number of runs may go on in parallel threads over one
 * reqset, cluster and policy. Several worlds on one clock use the parts below it: serve_begin() on an engine and a
 * pool of GPUs that somebody else owns, serve_instant() at each of its instants, serve_end().
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
#include "results/stats.h"
#include "traces/requests.h"

struct topo;
struct failures;

/* Replicas of one kind. */
struct serve_deployment {
	uint32_t replicas; /* at the start */
	uint32_t model;    /* index of serve_config.model; UINT32_MAX: any of them (GPUs shared by models) */
	uint32_t tp, pp;   /* GPUs of a replica: tp x pp, on one node if they fit there */
	enum orr_replica_role role;
	uint64_t gpu_types;   /* bit mask of the cluster's types; 0: any */
	uint32_t kv_blocks;   /* 0: as memory allows */
	uint32_t least, most; /* autoscaling; most 0: fixed */
};

struct serve_config {
	const struct reqset *requests;
	uint64_t replication; /* index of the random streams (reqset_open()) */
	const struct cluster *cluster;
	const struct placement *placement;
	const struct topo *topo;     /* for moving KV caches; NULL: at serve.kv_Bps */
	struct served *const *model; /* by the number that policies see */
	uint32_t n_models;
	const struct device *const *device;   /* by GPU type; may be NULL for models that are tables or closed forms */
	const struct profile *const *profile; /* likewise */
	enum precision precision;
	const struct serve_deployment *deployment;
	uint32_t n_deployments;
	const struct failures *failures; /* NULL: nodes never fail */
	const struct orr_args *options;  /* of serve_options */
	const double *usd_per_gpu_hour;  /* by GPU type; NULL: not known */
	uint64_t seed;
	int64_t until_ns;     /* stop there; ORR_NEVER: when all requests have ended */
	bool check;           /* prove conservation laws as it goes */
	bool record_requests; /* fill in result->requests */
	uint64_t max_rows;
	double policy_timeout_s;
	void (*progress)(void *ctx, double part);
	void *progress_ctx;
};

/* What `--set serve.NAME=VALUE` sets. */
extern const struct orr_param serve_options[];

int serve_run(const struct serve_config *c, const struct orr_policy *policy, const struct orr_args *policy_args, const char *label,
	struct run_result *result, struct orr_error *err);

/* ---- on a clock that is not its own ---- */

struct serve_host {
	struct engine *engine;
	struct pool *pool;
	/* A replica wants (or gives back) GPUs; NULL: pool_take() and pool_give(). False: not now; serve_capacity() tells
	 * when to ask again. */
	bool (*take)(void *ctx, const struct pool_request *r, struct pool_alloc *out);
	void (*give)(void *ctx, struct pool_alloc *a);
	/* True: others will do nothing before the engine's next event. NULL: they may. */
	bool (*is_quiet)(void *ctx);
	void *ctx;
};

struct orr_serve *serve_begin(const struct serve_config *c, const struct serve_host *host, const struct orr_policy *policy,
	const struct orr_args *policy_args, const char *label, struct run_result *result, struct orr_error *err);
/* After the events of an instant have happened: lets the policy act. True: it made something due now. */
bool serve_instant(struct orr_serve *w);
bool serve_is_over(const struct orr_serve *w); /* nothing left to do, or an error */
bool serve_has_failed(const struct orr_serve *w);
/* Events of this world among those pending that will not by themselves let a request go on. */
uint64_t serve_background(const struct orr_serve *w);
void serve_starving(struct orr_serve *w);          /* nothing will ever happen and requests wait: the run fails, naming the policy */
double serve_part_done(const struct orr_serve *w); /* 0..1, as far as is known */
/* GPUs may have become free; a node goes (its replicas are lost and give their GPUs back; serve_capacity() follows when
 * the pool knows) or came back; a node will go, and its replicas drain (with serve.notice set others are started elsewhere
 * meanwhile). */
void serve_capacity(struct orr_serve *w);
void serve_node(struct orr_serve *w, uint32_t node, bool is_up);
void serve_notice(struct orr_serve *w, uint32_t node);
/* Its end, now: metrics go to the result, and every replica gives its GPUs back. Nothing but serve_end() comes after it. */
void serve_leave(struct orr_serve *w);
/* Metrics go to the result; frees the world. GPUs that replicas still hold go to the pool, without the host's give(). */
int serve_end(struct orr_serve *w, struct orr_error *err);

#endif

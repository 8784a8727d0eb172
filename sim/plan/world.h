/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - one run of the plan world: a problem, a search, the best plan
 *
 * costs.c computes the costs of pieces, network.c those of messages, closed.c the time and memory of a plan; draft.c checks and copies
 * plans; lookups.c turns a code of embedding tables into a served model; lower.c turns a plan into a scenario of the step world, which
 * run.c executes. search.c keeps the state of a search.
 */
#ifndef ORR_PLAN_WORLD_H
#define ORR_PLAN_WORLD_H

#include <orrery/plan.h>

#include "base/rng.h"
#include "embed/quality.h"
#include "engine/watch.h"
#include "step/step.h"

#include <cjson/cJSON.h>

/* Inputs that a run depended on. The lower bits are those of enum step_use, for the executed plans. */
enum plan_use {
	PLAN_USED_BUDGET = 1 << 16,   /* the search ended because its budget was exhausted */
	PLAN_USED_CHECKED = 1 << 17,  /* the number of plans executed at the end differed from one */
	PLAN_USED_EXECUTOR = 1 << 18, /* a plan was executed */
	PLAN_USED_MESSAGES = 1 << 19, /* flag: the search computed the time of a message */
	PLAN_USED_NETWORK = 1 << 20,  /* flag: the search computed the time of a message between nodes */
	PLAN_USED_RANDOM = 1 << 21,   /* the run drew random numbers */
	PLAN_USED_MAP = 1 << 22       /* flag: the compressed embedding tables have a map */
};

/* Data that all policies of a scenario share; constant during runs. */
struct plan_problem {
	struct step_config config; /* config of the executor; batch: samples per GPU */
	double global_batch, micro_batch;
	uint64_t budget;
	uint32_t checked; /* number of best plans that the executor runs at the end */
	uint64_t seed;
	double policy_timeout_s;
	/* Header of plan files: model, cluster, network and so on as given. Owned by the descriptor. */
	const cJSON *header;
	const struct orr_policy *dapple, *megatron; /* the executor's policies */
	const struct embed_table *table;            /* embeddings only (budget and seed above apply); else NULL */
	struct embed_task task;
	/* Embeddings only. */
	const struct device *server; /* device that performs the lookups; NULL: unknown */
	double indirection_s;        /* time to read an id from the map, in addition to the time of its bytes */
};

/* A copy of a plan, whose memory is in `gpu` and `share`. */
struct plan_copy {
	struct orr_plan_draft d;
	struct orr_plan_stage *stage;
	uint32_t *gpu;
	double *share;
	struct orr_plan_value value;
};

struct cost_table; /* costs.c */

struct orr_plan {
	const struct plan_problem *of;
	const char *label;
	struct orr_step *step; /* used only for its cost functions */
	struct orr_plan_facts facts;
	uint32_t *first_layer; /* first layer of each piece; the last entry is the number of layers */
	uint32_t *type_of;     /* by GPU */
	double tied_params;
	struct cost_table *costs;
	double *load; /* scratch of network.c, by link: its busy time, s; users: stages that use it */
	uint32_t *users;
	uint32_t *touched, n_touched;
	double flow_bytes; /* of the largest of these messages */
	struct rng rng;
	struct watch *watch;
	struct orr_error error;
	uint64_t used, unfit;
	unsigned *uses; /* enum plan_use and enum step_use */
	bool is_ended;  /* the search has ended: the best plans are executed */
	double done;
	void (*progress)(void *ctx, double done);
	void *progress_ctx;
	struct plan_copy *best; /* the `checked` best plans, in descending order; at least one */
	uint32_t n_best, cap_best;
	struct plan_copy chosen;
	bool has_chosen;
	double own_s;
	struct embed_code *code; /* embeddings: the last code */
	struct orr_plan_code_value code_value;
	struct run_result *result;
	/* At each improvement: the number of evaluations, and the best time. */
	double *improved_s;
	uint64_t *improved_at;
	size_t n_improved, cap_improved, cap_improved_at;
};

/* ---- costs.c ---- */
void costs_new(struct orr_plan *p);
void costs_free(struct orr_plan *p);

/* ---- network.c ---- */
/* The messages of one micro-batch from a stage to another one: their time, and the seconds of each link that they use. */
struct cut {
	double s;
	uint32_t n, *link;
	double *load_s;
	double flow_bytes; /* of the largest message */
};
/* The last message that a stage receives from the stage after it, and the backward pass that follows. */
struct last {
	struct cut back;
	double backward_s;
};
/* bytes: of the whole micro-batch. The caller frees *out with cut_free(). */
void network_cut(struct orr_plan *p, const struct orr_plan_stage *from, const struct orr_plan_stage *to, double bytes, struct cut *out);
void cut_free(struct cut *x);
/* Advances end_s[i], the start of the all-reduces of stage i's gradients (each shard over the groups; bytes[i] of one GPU), to their end.
 * Stages share links, also with the last messages; last: of the first n - 1 stages. is_halved: reduce-scatters and all-gathers instead of
 * all-reduces (sharded optimizer state). */
void network_sums(struct orr_plan *p, const struct orr_plan_stage *stage, uint32_t n, const double *bytes, const struct last *last,
	bool is_halved, double *end_s);
/* Returns the time of one all-reduce of a group of shards, while all groups of the stage run theirs, s. */
double network_shards_s(struct orr_plan *p, const struct orr_plan_stage *x, uint32_t group, double bytes);
/* Returns the time of all-reduces over the first and the last stage, s; bytes: of one GPU. Each GPU of the stage with fewer GPUs
 * communicates with its counterparts in the other stage. */
double network_ends_s(struct orr_plan *p, const struct orr_plan_stage *a, const struct orr_plan_stage *b, double bytes);
double network_ring_s(const struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes, uint32_t rings);

/* ---- draft.c ---- */
uint32_t stage_shards(const struct orr_plan_stage *x);
uint32_t stage_groups(const struct orr_plan_stage *x);
double stage_share(const struct orr_plan_stage *x, uint32_t group);
uint32_t draft_interleave(const struct orr_plan_draft *d);
/* Fails with a message about an invalid plan. */
int draft_check(const struct orr_plan *p, const struct orr_plan_draft *d, struct orr_error *err);
/* Order of the GPUs of a grid: equal stages, with equal shares, of all GPUs of the cluster; neighbours first. Policy megatron runs
 * grids, policy dapple all other plans. */
enum draft_order { ORDER_NONE, ORDER_TP_DP_PP, ORDER_TP_PP_DP };
enum draft_order draft_order(const struct orr_plan *p, const struct orr_plan_draft *d);
void plan_copy(struct plan_copy *to, const struct orr_plan_draft *d, const struct orr_plan_value *value);
void plan_copy_free(struct plan_copy *c);
bool draft_is_equal(const struct orr_plan_draft *a, const struct orr_plan_draft *b);

/* ---- closed.c ---- */
/* Evaluates the closed form. why: receives the reason if the plan does not fit; may be NULL. */
void closed_form(struct orr_plan *p, const struct orr_plan_draft *d, struct orr_plan_value *out, struct orr_error *why);

/* ---- lower.c ---- */
/* Returns the scenario of the step world that runs the plan; the caller deletes it. value: predicted. */
cJSON *lower(const struct orr_plan *p, const struct orr_plan_draft *d, const struct orr_plan_value *value, struct orr_error *err);
/* Runs the plan. */
int lower_run(const struct orr_plan *p, const struct orr_plan_draft *d, struct step_result *out, struct orr_error *err);

/* ---- search.c ---- */
void search_fail(struct orr_plan *p, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Returns whether the user has pressed Ctrl-C since interrupt_begin(). */
bool search_is_interrupted(void);
const volatile sig_atomic_t *search_interrupt(void); /* the flag that search_is_interrupted() reads */
void interrupt_begin(void);
void interrupt_end(void);

/* ---- embeddings.c ---- */
bool embeddings_named(const char *problem); /* begins with "embeddings:" */
/* Parses "embeddings:NAME=VALUE,.." (embed_shape_params) or "embeddings:file=CSV"; returns NULL on error. *is_held: runs hold the vectors
 * (embed_table_hold()), which are not drawn yet. */
struct embed_table *embeddings_open(const char *problem, bool *is_held, struct orr_error *err);
int embeddings_report(struct orr_plan *p, struct run_result *r, struct orr_error *err);

/* ---- lookups.c ---- */
/* Adds the times of lookups on the device, the number of codes that its memory holds, and the served model (served.h) as the note
 * "plan-file". Without a device, adds nothing. */
void lookups_report(const struct orr_plan *p, struct run_result *r);

/* ---- run.c ---- */
/* Searches, then executes the best plans. Fills in metrics and notes of r; the note "plan-file" is the file of the plan. *used: enum
 * plan_use and enum step_use. */
int plan_run(const struct plan_problem *of, const struct orr_policy *policy, const struct orr_args *args, const char *label, uint32_t k,
	struct run_result *r, unsigned *used, void (*progress)(void *, double), void *ctx, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * plan.h - the interface of plan policies
 *
 * A plan policy searches for a distributed plan: which layers of a model form a stage, which GPUs run it, and how they split
 * the work. It reads the model's chain of pieces, the cluster and costs, and passes plans to orr_plan_evaluate(). The best plan
 * that fits in memory is the result, unless orr_plan_choose() selects another one.
 *
 *	static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
 *	{
 *		for (each plan; orr_plan_goes_on(p); ..)
 *			orr_plan_evaluate(p, &plan, &value);
 *		return 0;
 *	}
 *
 * search() is called once per run. Times are seconds, sizes bytes. A call with an invalid plan (a GPU used twice, a piece left
 * out) ends the run with an error that names the policy. This call and all later calls return a value whose `fits` is false.
 *
 * Kinds of problems. orr_plan_facts.problem names the kind: the plan of a training step, or the compression of embedding tables, for
 * which a policy calls orr_plan_compress(). A policy of the second kind declares ORR_PLANS_EMBEDDINGS; the program refuses
 * policies of the other kind.
 */
#ifndef ORRERY_PLAN_H
#define ORRERY_PLAN_H

#include <orrery/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

struct orr_plan; /* the world */

enum orr_plan_problem { ORR_PLAN_TRAINING, ORR_PLAN_EMBEDDINGS };

struct orr_plan_facts {
	enum orr_plan_problem problem;
	uint64_t budget; /* number of evaluations that the search may use */
	/* Training. */
	uint32_t gpus, nodes, types; /* numbers of GPUs, nodes and GPU types */
	uint32_t pieces;             /* number of pieces: a piece is a block of a transformer, or one layer */
	uint32_t blocks, heads;      /* transformer blocks and attention heads, which shards divide; 0 for other models, 1 with experts */
	double global_batch;         /* samples per iteration */
	double micro_batch;          /* samples of a micro-batch, over all replicas of a stage; 0: chosen by the policy */
	double params;
	double gradient_bytes; /* per parameter */
	/* Embeddings. */
	uint32_t fields, dim; /* dim: number of values of a vector, 4 bytes each */
	uint64_t features;    /* number of features of all fields */
};

/* ---- the search ---- */

ORR_API void orr_plan_facts(const struct orr_plan *p, struct orr_plan_facts *out);
/* Returns false if the budget is used up, the user has interrupted the run, or a call has failed. The search must then return; the
 * best plan so far is kept. */
ORR_API bool orr_plan_goes_on(const struct orr_plan *p);
/* Reports the completed share of the search, 0 to 1, and restarts the limit of --policy-timeout. */
ORR_API void orr_plan_progress(struct orr_plan *p, double done);
ORR_API double orr_plan_uniform(struct orr_plan *p); /* returns a number in [0,1) from the policy's own random stream */
/* Adds a metric to the run. name: letters, digits and '_'; copied. */
ORR_API void orr_plan_put(struct orr_plan *p, const char *name, double value);

/* ---- training: the model and the cluster ---- */

struct orr_plan_piece {
	const char *name; /* name of the first layer of the piece; valid during the run */
	double params;
	double out_bytes; /* bytes of the output for one sample; its gradient has the same size */
	bool is_block;    /* the piece is a block of a transformer */
};
struct orr_plan_gpu {
	uint32_t type, node;
	double memory_bytes; /* INFINITY with step.ignore_memory */
};
ORR_API void orr_plan_piece(const struct orr_plan *p, uint32_t piece, struct orr_plan_piece *out);
ORR_API void orr_plan_gpu(const struct orr_plan *p, uint32_t gpu, struct orr_plan_gpu *out);

enum orr_plan_recompute { ORR_PLAN_KEEP, ORR_PLAN_RECOMPUTE_SELECTIVE, ORR_PLAN_RECOMPUTE_FULL };

/* How a GPU computes its share of a stage. */
struct orr_plan_terms {
	double samples;  /* per micro-batch */
	uint32_t shards; /* number of GPUs that split each layer; 0 or 1: layers are not split */
	enum orr_plan_recompute recompute;
	bool sequence_parallel;
};
/* Returns the costs of pieces first..first+count-1 for one micro-batch on one GPU. */
struct orr_plan_cost {
	double forward_s, backward_s, recompute_s;
	double params;       /* of all shards together; a table that the first and the last piece share counts in both */
	double stored_bytes; /* bytes kept from the forward to the backward pass */
	double working_bytes;
	double forward_sums, backward_sums, recompute_sums; /* numbers of tensor-parallel all-reduces */
	double sum_bytes;                                   /* bytes of one such all-reduce for `samples` samples */
};
ORR_API void orr_plan_cost(
	const struct orr_plan *p, uint32_t type, uint32_t first, uint32_t count, const struct orr_plan_terms *t, struct orr_plan_cost *out);
ORR_API double orr_plan_update_s(const struct orr_plan *p, uint32_t type, double params);
/* Returns the bytes held per parameter: weight, gradient, and the optimizer state divided by state_shards. */
ORR_API double orr_plan_state_bytes(const struct orr_plan *p, double state_shards);
/* Returns the time of one message on an idle network. */
ORR_API double orr_plan_transfer_s(const struct orr_plan *p, uint32_t from, uint32_t to, double bytes);
/* Returns the time of an all-reduce over n GPUs, in this order, on an idle network. `rings`: number of all-reduces that use the same NICs
 * at the same time. */
ORR_API double orr_plan_all_reduce_s(const struct orr_plan *p, const uint32_t *gpu, uint32_t n, double bytes, uint32_t rings);

/* ---- training: a plan ---- */

struct orr_plan_stage {
	uint32_t first, count; /* pieces */
	const uint32_t *gpu;
	uint32_t n_gpus;
	uint32_t shards;     /* n > 1: n consecutive entries of gpu[] form a group that splits each layer; 0 or 1: groups of one GPU */
	const double *share; /* share[group]: part of a micro-batch; the shares sum to 1; NULL: equal shares */
};
/*
 * Stages in the order of the model; together they cover all pieces. A micro-batch of a stage is split over its groups. With interleave v >
 * 1, `stages` is v times the number of sets of GPUs: stage i and stage i + stages/v have the same GPUs.
 */
struct orr_plan_draft {
	uint32_t stages;
	const struct orr_plan_stage *stage;
	double micro_batch;  /* samples of a micro-batch over all groups of a stage; divides the global batch */
	uint32_t interleave; /* virtual stages per set of GPUs; 0 or 1: not interleaved */
	enum orr_plan_recompute recompute;
	bool sequence_parallel;
	bool zero; /* the optimizer's state is sharded over the groups of a stage */
};
struct orr_plan_value {
	bool fits;           /* the plan fits in the memory of every GPU */
	double iteration_s;  /* time of an iteration; INFINITY if the plan does not fit */
	double memory_share; /* largest ratio over the GPUs of the bytes held to the memory */
};
/* Evaluates a plan by the closed form (docs/models/plan.md). Consumes one evaluation of the budget. */
ORR_API void orr_plan_evaluate(struct orr_plan *p, const struct orr_plan_draft *d, struct orr_plan_value *out);
/* Evaluates a plan by the executor of the step world, which takes longer. Consumes one evaluation of the budget. */
ORR_API void orr_plan_execute(struct orr_plan *p, const struct orr_plan_draft *d, struct orr_plan_value *out);
/* Makes this plan the result, even if others are faster. The plan must fit in memory. own_s: its iteration time by the policy's own
 * cost model; NAN: none. */
ORR_API void orr_plan_choose(struct orr_plan *p, const struct orr_plan_draft *d, double own_s);

/* ---- embeddings: compressed tables ---- */

struct orr_plan_field {
	uint32_t features;
	const double *frequency, *cumulated; /* frequencies of features, descending, and their running sums. Valid during the run */
};
ORR_API void orr_plan_field(const struct orr_plan *p, uint32_t field, struct orr_plan_field *out);

enum orr_plan_method {
	ORR_CODE_SHARED, /* features of a cluster share a vector */
	ORR_CODE_HASHED, /* features of equal hash share a vector */
	ORR_CODE_ROUNDED,
	ORR_CODE_PRODUCT /* product quantisation */
};
/* Members that the method does not name are ignored. Formulas: docs/models/embed.md. */
struct orr_plan_code {
	enum orr_plan_method method;
	double reduction;    /* shared, hashed: number of features per vector, at least 1 */
	double head_share;   /* shared: clustered share of a field's features, the most frequent ones; above 0, at most 1 */
	double head_mass;    /* shared: if above 0, cluster the fewest features whose frequencies sum to this value instead */
	uint32_t iterations; /* shared, product: number of k-means iterations */
	bool is_weighted;    /* shared: k-means is weighted by frequency */
	uint32_t id_bytes;   /* shared: bytes of a cluster number, 1 to 4 */
	uint32_t bits;       /* rounded: bits of a value: 8, 16 or 32 (unchanged) */
	uint32_t parts;      /* product: divides dim */
};
struct orr_plan_code_value {
	double bytes, vectors;
	double plain_error, weighted_error; /* mean squared error of a value, over features and over samples */
};
/* Compresses the table. The last code given is the result of the run. Returns false if the run has failed or the user has
 * interrupted it. */
ORR_API bool orr_plan_compress(struct orr_plan *p, const struct orr_plan_code *c, struct orr_plan_code_value *out);

/* ---- the policy ---- */

#define ORR_PLANS_EMBEDDINGS 64u /* flag: the policy compresses embeddings instead of planning training */

struct orr_plan_ops {
	/* Searches for a plan. A non-zero return value ends the run with *err. */
	int (*search)(struct orr_plan *p, const struct orr_args *args, struct orr_error *err);
};

/* Declares a policy of the plan world: see policy.h. */
#define ORR_POLICY_PLAN_FLAGS(ident, doc, flags, params, ops) \
	ORR_POLICY_DECLARE(plan_##ident, ident, doc, "plan", flags, params, struct orr_plan_ops, ops)
#define ORR_POLICY_PLAN(ident, doc, params, ops) ORR_POLICY_PLAN_FLAGS(ident, doc, 0u, params, ops)

#ifdef __cplusplus
}
#endif
#endif

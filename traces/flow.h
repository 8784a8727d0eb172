/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * flow.h - flows: workflows of operators that explore and choose (meta-dataflows)
 *
 * A flow is a graph of operators. An explore fans its readers out into branches, one per value; a choose scores the branches of
 * one explore and keeps some. A stage is one operator in one branch. Stages are made when their inputs are ready, so a flow
 * is small even if it has millions of stages.
 *
 * The scope of an operator is the innermost explore around it, FLOW_ROOT outside. The scope of an explore and of its choose is that
 * around both. A path is the number of a branch among all combinations of values of the explores around it, the outermost most
 * significant.
 *
 * Source: meta-dataflows (SIGMOD 2018) and their prototype; docs/models/jobs-flows.md.
 */
#ifndef ORR_TRACES_FLOW_H
#define ORR_TRACES_FLOW_H

#include <orrery/api.h>

#define FLOW_ROOT UINT32_MAX
#define FLOW_MAX_STAGES 1000000000000ull

enum flow_kind { FLOW_WORK, FLOW_EXPLORE, FLOW_CHOOSE };
enum flow_scaling { FLOW_LINEAR, FLOW_FIXED };
enum flow_order { FLOW_UNORDERED, FLOW_MONOTONE, FLOW_CONVEX };
enum flow_stop { FLOW_NEVER, FLOW_SATISFIED, FLOW_IMPROVING };
enum flow_scorer { FLOW_NO_SCORE, FLOW_SCORE_VALUES, FLOW_SCORE_LINEAR, FLOW_SCORE_QUADRATIC, FLOW_SCORE_RANDOM, FLOW_SCORE_SGD };

/* One value per branch: the value of path p is v[p % n]. n is 1 or a product of the numbers of values of the innermost explores. */
struct flow_values {
	double *v;
	uint32_t n;
};

/* Stages that a stage of the operator reads: those of `op`, whose scope is `up` levels above. import: index in the imports of the reader's
 * scope, if up > 0. */
struct flow_source {
	uint32_t op, up, import;
};

/* An import: an operator outside a scope whose stages are read inside. uses: number of reads per branch of the scope, of one stage or of
 * all kept results. parent: import of the scope above, if up > 1. */
struct flow_import {
	uint32_t op, up, parent;
	uint64_t uses;
};

struct flow_score {
	enum flow_scorer how;
	struct flow_values values;
	double best, slope, noise; /* of laws */
	/* sgd */
	char problem[24], parameter[16];
	double lr;
	uint32_t steps, rows, inputs, hidden, batch;
	uint64_t seed;
};

struct flow_op {
	char *name;
	enum flow_kind kind;
	uint32_t scope, depth; /* depth: number of explores around it */
	uint32_t *input, n_inputs;
	uint64_t instances; /* number of its stages in the flow, one per path */
	uint64_t position;  /* position of its first stage in the scope, in a depth-first walk from the sink */
	uint32_t local;     /* index in the list of items of its scope */
	/* Dependencies between items of one scope: an explore waits for all inputs of its branches, a choose for its explore. */
	uint32_t *after, n_after; /* items that wait for this item */
	uint32_t n_before;        /* items for which this item waits */
	/* FLOW_WORK */
	struct flow_values work_s, bytes, scratch; /* time on `gpus` GPUs; output; memory held while a stage runs */
	int64_t limit_ns;                          /* -1: none */
	uint32_t gpus;
	enum flow_scaling scaling;
	struct flow_source *source;
	uint32_t n_sources;
	uint64_t uses; /* number of stages that read its output (for a choose: each kept result) */
	uint32_t rung; /* number of scored stages before it in its scope */
	bool is_result;
	struct flow_score score;
	/* FLOW_EXPLORE */
	struct flow_values value;
	uint32_t choose;
	uint32_t *item, n_items; /* operators of the scope, in the order of the walk */
	struct flow_import *import;
	uint32_t n_imports;
	uint64_t stages; /* per branch */
	/* FLOW_CHOOSE */
	uint32_t explore, scorer, keep;
	enum flow_order order;
	enum flow_stop stop;
	double threshold; /* NAN: none */
	bool is_incremental, is_lower_better;
};

struct flow {
	char *name, *user;
	int64_t submit_ns;
	uint64_t line;
	struct flow_op *op; /* operators in the order of the file */
	uint32_t n_ops;
	uint32_t *item, n_items; /* operators of FLOW_ROOT */
	uint32_t *ordered;       /* all operators, each after its inputs */
	uint64_t stages;
};

struct flowset {
	struct flow **flow;
	uint32_t n, cap;
};

/* Adds an operator without inputs; its name is copied. Valid until the next one is added. */
struct flow_op *flow_add(struct flow *f, const char *name, enum flow_kind kind);
void flow_input(struct flow_op *op, uint32_t input);
uint32_t flow_find(const struct flow *f, const char *name); /* FLOW_ROOT: none */
struct flow *flow_new(void);
void flow_free(struct flow *f);
/* Computes scopes, sources, uses and positions. where: prefix of messages, "FILE: $". Errors name the operator. */
int flow_finish(struct flow *f, const char *where, struct orr_error *err);
void flowset_free(struct flowset *s);
void flowset_add(struct flowset *s, struct flow *f);
/* Returns the flows of a JSON text, or NULL on error. name: name of the file. */
struct flowset *flowset_read(const char *name, const char *text, size_t n, struct orr_error *err);

static inline double flow_value(const struct flow_values *x, uint64_t path)
{
	return x->n ? x->v[path % x->n] : 0;
}
/* Returns the number of branches of a scope; 1 for FLOW_ROOT. */
static inline uint64_t flow_branches(const struct flow *f, uint32_t scope)
{
	return scope == FLOW_ROOT ? 1 : f->op[scope].value.n;
}
/* Returns the number of paths into the branches of a scope. */
static inline uint64_t flow_paths(const struct flow *f, uint32_t scope)
{
	return scope == FLOW_ROOT ? 1 : f->op[scope].instances * f->op[scope].value.n;
}
/* Return the work of all stages of the flow in GPU seconds: with shared stages, and with separate runs of sources and prefix for each
 * branch. */
double flow_work_shared(const struct flow *f);
double flow_work_unshared(const struct flow *f);
/* Returns the flow in which each innermost branch is one job with its own sources and prefix. NULL: explores are not nested one in another.
 */
struct flow *flow_unshared(const struct flow *f, const char *where, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pipeline_parts.h - the state of a pipeline: private to pipeline*.c */
#ifndef ORR_POLICIES_STEP_PIPELINE_PARTS_H
#define ORR_POLICIES_STEP_PIPELINE_PARTS_H

#include "experts.h"
#include "pipeline.h"

/* Streams. Neighbours use different streams, so that a stage sends and receives at the same time, each in order. */
enum { STREAM_FORWARD = 1, STREAM_BACKWARD = 3, STREAM_WRAP = 5, STREAM_REDUCE = 7 };

struct pipeline {
	struct pipe_terms t;
	uint32_t dp, m, parts; /* parts = pp * chunks */
	uint32_t multiple;     /* m is a multiple of it */
	double samples, micro; /* samples of a replica, of a micro-batch */
	double tp_bytes;       /* bytes of one tensor-parallel collective */
	double tied_params;    /* parameters of a table shared by the first and the last stage; 0: none */
	double gradient_bytes, weight_bytes;
	bool overlap_p2p, is_core_only; /* is_core_only: only the core of attention is recomputed */
	struct experts x;
	struct segments *seg;             /* by part; NULL: no expert parallelism */
	double *expert_params;            /* by part */
	double kv_bytes;                  /* keys and values of all tokens of a layer, of a shard */
	struct stage *part;               /* parts in the order of the model */
	double *update_s;                 /* by stage */
	double *dp_bytes;                 /* bytes by stage; < 0: the bytes of the model */
	struct pass *order;               /* passes in order: 2 m chunks of each stage */
	uint32_t *next;                   /* number of passes built, by stage */
	orr_op *tail;                     /* op that the next pass waits for, by stage */
	orr_op *forward_in, *backward_in; /* arrival of the input, [part * m + micro] */
	orr_op *reduced;                  /* last collective that the update waits for, by stage */
	orr_op *averaged;                 /* last collective that all replicas of the stage take part in; 0: none */
	uint32_t *left;                   /* number of backward passes not yet built, [stage * chunks + chunk] */
};

/* ---- pipeline_experts.c ---- */
uint32_t pipe_gpu_of(const struct pipeline *p, uint32_t lane, uint32_t stage);
/* Returns the slowest GPU of a stage, which determines its speed, because its replicas are summed at the end. */
uint32_t pipe_slowest_gpu(const struct pipeline *p, const struct orr_step *s, uint32_t stage, uint32_t first, uint32_t layers);
/* Routes tokens, and replaces the times of the parts by those of their segments. */
int pipe_measure_experts(
	struct pipeline *p, struct orr_step *s, const struct orr_args *args, const struct orr_step_facts *f, struct orr_error *err);
/* Returns the parameters of a stage on a lane. *experts receives the parameters of routed experts, which ep lanes divide. */
double pipe_params_of(const struct pipeline *p, uint32_t stage, uint32_t lane, double *experts);
/* Makes the collectives of keys and values over the GPUs that share sequences, one for each attention. */
orr_op pipe_among_context(
	struct pipeline *p, struct orr_step *s, uint32_t stage, const struct stage *g, enum orr_collective_op what, orr_op after);
/* Computes a part's pass after the stage's last op and its input; returns the last op, and the first one in *first. */
orr_op pipe_compute(struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t i, enum orr_work work, double seconds, orr_op input,
	orr_op *first);

#endif

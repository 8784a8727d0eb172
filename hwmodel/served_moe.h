/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served_moe.h - time and memory of an iteration of a mixture-of-experts model (form `moe` of served_llm.h)
 *
 * The GPUs of a pipeline stage share the experts (expert parallelism); attention is split by requests (data parallelism) or by heads
 * (tensor parallelism). Each part is a roofline on the device's data sheet. docs/models/serve-moe.md.
 */
#ifndef ORR_HWMODEL_SERVED_MOE_H
#define ORR_HWMODEL_SERVED_MOE_H

#include "hwmodel/served.h"

/* Shapes and parameters of the file; flops and bytes are per token unless stated. */
struct served_moe {
	double layers, dense_layers, hidden, dense_width, vocabulary;
	double attention_parameters;          /* per layer */
	double pair_flops, decode_pair_flops; /* per layer and pair of a query and a key */
	double kv_values, kv_heads;           /* cached values per token and layer; parts into which tensor parallelism can split them */
	double experts, top, shared, expert_width;
	double parameter_bytes, kv_element_bytes;
	double dispatch_bytes, combine_bytes; /* bytes of a token sent to one expert, and of its result */
	double alltoall_s, alltoall_Bps;      /* start-up; rate per GPU between nodes, 0: the device's link */
	double node_gpus;                     /* GPUs of a node, which exchange tokens over the device's link */
	double imbalance;                     /* largest load of a GPU's experts / mean load */
	double kernels, constant_s;           /* launches per layer; host time per iteration */
	bool is_data_parallel, has_two_batches;
};

/* Parts of an iteration, s, over all layers; with two batches the exchange hides behind the rest, or the rest behind it. */
struct moe_parts {
	double attention, experts, dense, head, exchange, host;
};

/* Returns the number of parameters, and of those that a token uses. */
double moe_parameters(const struct served_moe *x);
double moe_active(const struct served_moe *x);
/* Returns the expected number of different experts that `tokens` tokens choose, uniformly and independently. */
double moe_distinct_experts(const struct served_moe *x, double tokens);
/* Returns the expected number of different groups, of `groups` equal ones, that one token reaches with `top` different experts of
 * `experts`. */
double moe_distinct_groups(double experts, double top, double groups);
/* Returns the time of an all-to-all in which each of `ranks` GPUs sends `tokens` tokens to `top` experts. */
double moe_exchange_s(const struct served_moe *x, const struct device *d, double tokens, double bytes, double ranks);

/* Completes x: bytes that the file leaves out, and the model's totals. */
void served_moe_settle(struct served *m);
struct served_place;
int served_moe_check(const struct served *m, const struct served_place *p, struct orr_error *err);
struct moe_parts served_moe_parts(const struct served_moe *x, const struct served_place *p, const struct llm_load *w);
double served_moe_iteration(const struct served_moe *x, const struct served_place *p, const struct llm_load *w);
/* Returns the tokens of KV cache that fit beside the weights. */
double served_moe_kv_tokens(const struct served *m, const struct served_place *p, double part);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * experts.h - expert parallelism: routed experts divided over `ep` GPUs
 *
 * Used by expert-parallel and megatron. A run of layers is a list of segments: layers that every GPU computes for its own tokens (dense),
 * and layers of routed experts. Before routed layers a dispatch sends each token to the GPUs of its experts, after them a
 * combine returns the results. Backward, gradients take the same ways: the backward of a combine is a dispatch.
 *
 * With two batches the tokens of a pass are two halves; the exchanges of one run while the other computes. The copies that the exchanges
 * make occupy comm_sms multiprocessors, so computing slows down by sms / (sms - comm_sms).
 *
 * Formulas and sources: docs/models/step-experts.md.
 */
#ifndef ORR_POLICIES_STEP_EXPERTS_H
#define ORR_POLICIES_STEP_EXPERTS_H

#include <orrery/step.h>

#define EXPERT_PARAMS(dispatch_default, combine_default)                                                                            \
	ORR_PARAM_CHOICE("ep_mode", "per-node", "per-expert|per-rank|per-node",                                                     \
		"a token is sent once for each of its experts, of their GPUs, or of their nodes (then passed on inside the node)"), \
		ORR_PARAM_REAL("expert_skew", "0", 0, 10, "Zipf exponent of the loads of experts; 0: equal"),                       \
		ORR_PARAM_FILE("expert_load", "relative loads of the experts in order; none: by expert_skew"),                      \
		ORR_PARAM_INT("expert_copies", "0", 0, 65536, "redundant copies of hot experts"),                                   \
		ORR_PARAM_CHOICE("expert_placement", "auto", "auto|contiguous|balanced",                                            \
			"experts in order, or balanced by load; auto: balanced with copies"),                                       \
		ORR_PARAM_INT("expert_groups", "0", 0, 64, "groups of experts that limit routing; 0: the model's"),                 \
		ORR_PARAM_INT("top_groups", "0", 0, 64, "groups that a token may use; 0: the model's, or all of expert_groups"),    \
		ORR_PARAM_REAL("capacity", "0", 0, 1e6,                                                                             \
			"limit on the pairs of an expert, relative to the mean; pairs above it are dropped; 0: no limit"),          \
		ORR_PARAM_REAL("dispatch_bytes", "-1", -1, 1e9, "bytes of a token in a dispatch; -1: " dispatch_default),           \
		ORR_PARAM_REAL("combine_bytes", "-1", -1, 1e9, "bytes of a token in a combine; -1: " combine_default),              \
		ORR_PARAM_CHOICE("ep_overlap", "none", "none|two-batch",                                                            \
			"overlap of exchanges: none, or exchanges of one half of the tokens with computing of the other half"),     \
		ORR_PARAM_INT("comm_sms", "20", 0, 1e4, "multiprocessors that exchanges occupy, with ep_overlap=two-batch"),        \
		ORR_PARAM_REAL("ep_alpha", "2e-5", 0, 1e3, "start-up seconds of an exchange")

/* AGAIN: forward, for recomputation. */
enum { EXPERTS_FORWARD, EXPERTS_BACKWARD, EXPERTS_AGAIN, EXPERTS_PASSES };

struct segment {
	double dense_s[EXPERTS_PASSES];   /* layers before the routed layers; the last segment has no routed layers */
	double *routed_s[EXPERTS_PASSES]; /* times of the routed layers, by rank of the group; NULL: none */
	uint32_t number[EXPERTS_PASSES];  /* number of the table of these times by lane */
};
struct segments {
	struct segment *of;
	uint32_t n;
};

struct experts {
	struct orr_step_experts model;
	struct orr_routing routing;
	uint32_t ep, batches; /* batches: 2 with two-batch, else 1 */
	double tokens;        /* tokens of a batch on one GPU */
	double slowdown;      /* slowdown of computing, by comm_sms */
	double dispatch_bytes, combine_bytes;
	uint32_t dispatch, combine; /* numbers of messages */
	uint32_t lanes;
	/* Times by lane that have been declared. */
	const double **known;
	uint32_t *known_number, n_known;
};

/* Computes routing and messages of groups of `ep` GPUs, which follow one another in device[0..n-1]. All groups must be spread over nodes
 * alike. tokens: of a GPU in a pass; bytes: defaults of dispatch_bytes and combine_bytes. Precondition: ep divides n, and the model has
 * experts. */
int experts_init(struct experts *x, struct orr_step *s, const struct orr_args *args, const uint32_t *device, uint32_t n, uint32_t ep,
	double tokens, const double bytes[2], struct orr_error *err);
void experts_free(struct experts *x);

/* Makes the segments of layers first..first+count-1. samples: of a GPU in a pass. Dense layers are split over `shards`. */
void experts_measure(const struct experts *x, const struct orr_step *s, uint32_t device, uint32_t first, uint32_t count, double samples,
	uint32_t shards, bool sequence_parallel, struct segments *out);
void segments_free(struct segments *g);
/* Returns the seconds of a pass without exchanges, of a GPU with mean load. */
double segments_seconds(const struct experts *x, const struct segments *g, int pass);
void segments_scale(const struct experts *x, struct segments *g, int pass, double factor);
/* Declares the times by lane; call it after orr_step_lanes(). */
void segments_declare(struct experts *x, struct orr_step *s, struct segments *g, uint32_t lanes);

/* Builds a pass of a position; an exchange is among lanes l - l % ep + 0..ep-1. The first op, *first, waits for after[0..1]. Returns the
 * last one. stream: of exchanges with two batches. */
orr_op experts_build(const struct experts *x, struct orr_step *s, uint32_t position, const struct segments *g, int pass, enum orr_work work,
	const orr_op after[2], uint32_t stream, orr_op *first);

/* Returns the parameters of the routed experts in layers first..first+count-1. */
double experts_params(const struct orr_step *s, uint32_t first, uint32_t count);

#endif

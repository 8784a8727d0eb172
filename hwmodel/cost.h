/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cost.h - compute time of a layer on a device, in seconds
 *
 * Each family of kernels takes its time from the first of these that applies:
 *  1. the law of a profile (hwmodel/profile.h), if a given profile has a law for the family;
 *  2. the roofline: per kernel, max(FLOPs / (peak x efficiency), bytes / (bandwidth x efficiency)) + launch
 *     (Williams, Waterman, Patterson, CACM 52(4), 2009).
 * With use_measured, if the table of step times has (device, model, batch, precision), all layers are scaled so that
 * their sum is the measured time. cost_source() reports which source applies. docs/models/devices.md ("Compute times")
 * lists what each kind of layer reads and writes.
 */
#ifndef ORR_HWMODEL_COST_H
#define ORR_HWMODEL_COST_H

#include "hwmodel/device.h"
#include "hwmodel/dnn.h"

#include <stddef.h>

struct profile;

struct cost_options {
	enum precision precision; /* precision of products; FP16 and BF16 mean mixed precision */
	bool use_measured;        /* scale times to a measured step time, if the table has one */
	bool fused_attention;     /* attention scores stay on the chip (FlashAttention) */
	bool fused_elementwise;   /* activations, biases and residual adds are fused into the preceding product */
	double efficiency;        /* if > 0, replaces the device's efficiency of matrix products */
	/* Bytes per input element and per weight of products with weights; 0: as other elements (4 or 2). */
	double operand_bytes, weight_bytes;
	bool dropout;                  /* dropout in transformer blocks: after the softmax and in residual additions */
	const char *setup;             /* use_measured: only entries whose setup contains this text; NULL: the first entry */
	const struct profile *profile; /* profile of the device; NULL: data sheet only. Must outlive the struct cost */
	uint32_t sample;               /* if > 0, the index of a draw of the profile's laws (hwmodel/cost_laws.h) */
	uint64_t seed;                 /* seed of the draws */
};

enum cost_family { COST_GEMM, COST_CONV, COST_MEMORY, COST_GATHER, COST_UPDATE, COST_FAMILIES };

struct cost;
struct sbuf;

/* Makes the cost model. d and dev must outlive the result, which is read-only and may be shared by threads. */
struct cost *cost_new(const struct dnn *d, const struct device *dev, const struct cost_options *o, struct orr_error *err);
void cost_free(struct cost *c);

/* Returns the profile whose laws are used; NULL: none. */
const struct profile *cost_profile(const struct cost *c);
/*
 * Returns the seconds of one pass over layer l for `batch` samples. Each product is split over `shards` devices (tensor
 * parallelism: 1/shards of the columns or rows). Element-wise kinds outside the split run whole unless sequence_parallel.
 */
double cost_layer_s(const struct cost *c, uint32_t l, enum dnn_pass pass, double batch, uint32_t shards, bool sequence_parallel);
/* Returns the sum over layers first..first+count-1. */
double cost_range_s(
	const struct cost *c, uint32_t first, uint32_t count, enum dnn_pass pass, double batch, uint32_t shards, bool sequence_parallel);
/* Returns the elements per sample that layer l keeps for backward: 0 for scores that a fused attention kernel does not write; with the
 * option dropout also masks, and the output of dropout after a softmax (docs/models/step.md, Memory of training). */
double cost_saved_elems(const struct cost *c, uint32_t l);
/* Returns the seconds of a pass over layer l, of routed experts, on a device that holds `experts` of them (split over `shards` devices)
 * and computes `pairs` (token, expert) pairs. 0: layer l is of no routed experts. */
double cost_experts_s(const struct cost *c, uint32_t l, enum dnn_pass pass, double pairs, double experts, uint32_t shards);
/*
 * Returns the seconds of an update of `params` parameters: bytes over memory bandwidth. state_bytes is the optimizer state per parameter in
 * addition to weight and gradient (12: Adam in mixed precision; 4: momentum; 0: plain SGD). The update reads and writes the state and the
 * weight, and reads the gradient.
 */
double cost_update_s(const struct cost *c, double params, double state_bytes);
/* Returns the share of the elements kept for backward that are attention scores; 0 if attention is fused or the model has none. */
double cost_scores_share(const struct cost *c);
/* Returns the source of the times at this batch size. For a profile: its date, its error and the kernels for which it has no law;
 * without one, "datasheet only". For a measured step: exact, interpolated or outside the measured batch sizes, and whether it
 * includes the optimizer's update. */
const char *cost_source(const struct cost *c, double batch);

/* Appends how the times compare with the published steps of this model, device and precision (hwmodel/steptimes.json), such as "; on one
 * GPU computed steps take 0.9 to 1.1 times the 2 published ones". Nothing if no step is published, or if the published one is used. */
void cost_put_published(const struct cost *c, struct sbuf *out);

/* Appends the precision if it is fp32 and the device computes products at least twice as fast in others. */
void cost_put_precision(const struct cost *c, struct sbuf *out);

/* Numbers of kernels in the forward and backward passes over all layers: those timed by a law, and those outside the range that the
 * law was fitted on. cost_coverage() adds to the counts. */
struct cost_coverage {
	uint64_t kernels, by_law, outside;
	uint64_t outside_of[COST_FAMILIES];
};
void cost_cover(const struct cost *c, double batch, uint32_t shards, bool sequence_parallel, struct cost_coverage *io);
/* Returns the median relative error of the laws that time this model's kernels, averaged over kernels. Held-out errors are
 * preferred. NAN: no law applies, or no law states an error. */
double cost_profile_error(const struct cost *c);
/* Returns the family's name in profiles: "gemm", "conv", .. */
const char *cost_family_name(enum cost_family f);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cost.h - seconds that a layer takes on a device
 *
 * In this order, family of kernels by family: the law of a profile (hwmodel/profile.h), if one is given and
 * has it; else the roofline: per kernel, max(FLOPs / (peak x efficiency), bytes / (bandwidth x
 * efficiency)) + launch (Williams, Waterman, Patterson, CACM 52(4), 2009). If asked for, where the
 * table has a measured step time of (device, model, batch, precision) all layers are scaled so that their
 * sum is that time. cost_source() says which. docs/models.md ("Step: compute times") lists what
 * each kind of layer reads and writes.
 */
#ifndef ORR_HWMODEL_COST_H
#define ORR_HWMODEL_COST_H

#include "hwmodel/device.h"
#include "hwmodel/dnn.h"

#include <stddef.h>

struct profile;

struct cost_options {
	enum precision precision;      /* of products; FP16 and BF16 mean mixed precision */
	bool use_measured;             /* scale to a measured step time, if there is one */
	bool fused_attention;          /* scores never leave the chip (FlashAttention) */
	bool fused_elementwise;        /* activations, biases, residual adds are fused into the product before */
	double efficiency;             /* > 0 replaces the device's efficiencies of products */
	bool dropout;                  /* in a transformer's blocks: after the softmax and in additions */
	const char *setup;             /* use_measured: only entries whose setup contains this; NULL: the first */
	const struct profile *profile; /* NULL: data sheet only. Must outlive the cost */
	uint32_t sample;               /* above 0: draw number so many of the profile's laws (hwmodel/cost_laws.h) */
	uint64_t seed;                 /* of the draws */
};

enum cost_family { COST_GEMM, COST_CONV, COST_MEMORY, COST_GATHER, COST_UPDATE, COST_FAMILIES };

struct cost;

/* d and dev must outlive it. Safe for several threads once made. */
struct cost *cost_new(const struct dnn *d, const struct device *dev, const struct cost_options *o, struct orr_error *err);
void cost_free(struct cost *c);

/*
 * Seconds of one pass over layer l for batch samples, if each product is split over `shards` devices
 * (tensor parallelism: 1/shards of the columns or rows; element-wise kinds outside the split run whole
 * unless sequence_parallel).
 */
double cost_layer_s(const struct cost *c, uint32_t l, enum dnn_pass pass, double batch, uint32_t shards, bool sequence_parallel);
/* A sum over layers first..first+count-1. */
double cost_range_s(
	const struct cost *c, uint32_t first, uint32_t count, enum dnn_pass pass, double batch, uint32_t shards, bool sequence_parallel);
/*
 * Updating n parameters: bytes over memory bandwidth. state_bytes: optimizer state held per parameter beside
 * weight and gradient (12: Adam in mixed precision; 4: momentum; 0: plain SGD), read and written once; the
 * gradient is read, the weight read and written.
 */
double cost_update_s(const struct cost *c, double params, double state_bytes);
/* Where the times at this batch come from: which profile, its date and error, and what it has no law for; or "datasheet
 * only". If measured: whether exactly, interpolated or beyond the measured batches, and whether the optimizer's update was
 * part of it. */
const char *cost_source(const struct cost *c, double batch);

/* How many kernels of forward and backward passes over all layers are timed by a law, and how many of those lie outside what it
 * was fitted on. Added to what is there. */
struct cost_coverage {
	uint64_t kernels, by_law, outside;
	uint64_t outside_of[COST_FAMILIES];
};
void cost_cover(const struct cost *c, double batch, uint32_t shards, bool sequence_parallel, struct cost_coverage *io);
/* Median relative error of the laws that this model's kernels go by, on points that they were not fitted to where that is known;
 * the mean over kernels. NAN: none goes by a law, or none says. */
double cost_profile_error(const struct cost *c);
/* "gemm", "conv", ..: as profiles call them. */
const char *cost_family_name(enum cost_family f);

#endif

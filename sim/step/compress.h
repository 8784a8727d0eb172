/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * compress.h - gradient compression: bytes sent, collectives used, and the cost of coding
 *
 * Volumes: top-k (Deep Gradient Compression, Lin et al., ICLR 2018): k values and k indices of 4 bytes from each worker,
 * gathered by all. 1-bit SGD (Seide et al., Interspeech 2014): one bit per element and a scale per column, gathered by all.
 * PowerSGD (Vogels et al., NeurIPS 2019): an a x b matrix becomes P (a x r) and Q (b x r), each all-reduced; other tensors
 * are sent uncompressed.
 *
 * A message may be part of its layers' gradient (a partition, one tensor, a server's share). It then has the same part of the
 * compressed bytes, regardless of its contents.
 */
#ifndef ORR_STEP_COMPRESS_H
#define ORR_STEP_COMPRESS_H

#include "hwmodel/dnn.h"

enum compression_method { COMPRESSION_NONE, COMPRESSION_TOPK, COMPRESSION_ONEBIT, COMPRESSION_POWERSGD };

struct compression {
	enum compression_method method;
	double density;   /* top-k: density, k / elements */
	double warmup[8]; /* densities of the warm-up periods */
	uint32_t n_warmup;
	uint64_t warmup_iterations; /* per density */
	uint32_t rank;
	double min_rate;  /* PowerSGD: matrices that would shrink by less than this factor are sent uncompressed */
	double min_elems; /* minimum number of parameters: smaller layers are sent uncompressed */
	double codec_Bps; /* rate of a pass over dense bytes; 0: coding takes no time */
};

/*
 * Parses one of
 *	none | onebit | topk:density=0.001 | dgc:warmup_iterations=5005,density=0.001 | powersgd:rank=2,min_rate=1
 * All methods also take compress_Bps=0,min_elems=0. dgc is top-k with densities 0.25, 0.063, 0.015 and 0.004 during the
 * first four warm-up periods. Errors name the key.
 */
int compression_parse(const char *text, struct compression *out, struct orr_error *err);

/* Returns the first iteration from which the volume is constant. */
uint64_t compression_settles(const struct compression *c);

struct compressed_shape {
	struct {
		enum orr_collective_op op;
		double bytes; /* bytes, as in struct orr_collective */
	} round[2];
	uint32_t n_rounds;
	double encode_s, decode_s;
	double sent_bytes; /* bytes that one worker sends to a server */
};

/*
 * Computes the shape of a message of dense_bytes at an iteration (warm-up). The message is the gradients of layers
 * first..first+count-1, or part of them, of element_bytes per element, among n workers.
 */
void compression_shape(const struct compression *c, const struct dnn *d, uint32_t first, uint32_t count, uint32_t n, uint64_t iteration,
	double element_bytes, double dense_bytes, struct compressed_shape *out);

/* Adds an encoding to the iteration being built. It precedes other ready work of its device, so messages overlap the rest of the backward
 * pass. */
static inline orr_op compression_encode(struct orr_step *s, uint32_t device, double seconds)
{
	orr_op op = orr_compute(s, device, ORR_CODEC, seconds);
	orr_priority(s, op, INT32_MIN);
	return op;
}

#endif

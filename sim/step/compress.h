/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * compress.h - gradient compression: how many bytes travel, by which collective, and what coding costs
 *
 * Volumes: top-k (Deep Gradient Compression, Lin et al., ICLR 2018): k values and k indices of
 * 4 bytes from each worker, gathered by all; 1-bit SGD (Seide et al., Interspeech 2014): one bit
 * per element and a scale per column; PowerSGD (Vogels et al., NeurIPS 2019): an a x b matrix
 * becomes P (a x r) and Q (b x r), each all-reduced.
 */
#ifndef ORR_STEP_COMPRESS_H
#define ORR_STEP_COMPRESS_H

#include "hwmodel/dnn.h"

enum compression_method { COMPRESSION_NONE, COMPRESSION_TOPK, COMPRESSION_ONEBIT, COMPRESSION_POWERSGD };

struct compression {
	enum compression_method method;
	double density;      /* top-k: k / elements */
	double warmup[8];    /* densities of the first warm-up periods */
	uint32_t n_warmup;
	uint64_t warmup_iterations; /* per density */
	uint32_t rank;
	double codec_Bps;    /* dense bytes coded per second; 0: coding costs no time */
};

/* "none", "topk:density=0.001,compress_Bps=5e9", .. ; errors name the key. */
int compression_parse(const char *text, struct compression *out, struct orr_error *err);

struct compressed_shape {
	struct {
		enum orr_collective_op op;
		double bytes; /* as in struct orr_collective: all-gather: the whole result */
	} round[2];
	uint32_t n_rounds;
	double encode_s, decode_s;
};

/* Gradients of layers first..first+count-1 among n workers, at an iteration (warm-up). */
void compression_shape(const struct compression *c, const struct dnn *d, uint32_t first, uint32_t count, uint32_t n,
	uint64_t iteration, struct compressed_shape *out);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_law.h - distributions of tokens and samples of generated requests
 *
 *	128                 a constant
 *	16-512              whole numbers from 16 to 512 with equal probability
 *	lognormal:35:120    lognormal with mean 35 and 99 % quantile 120, to the nearest whole number;
 *	lognormal:35:120:128   the same, at most 128
 *	exp:200             exponential with mean 200, to the nearest whole number above 0
 *	azure-code, azure-conv, mooncake   measured quantiles of the trace's prompts or outputs (docs/traces.md)
 *
 * A draw takes one uniform number; a constant takes none, a lognormal as many as the ziggurat of GSL needs.
 */
#ifndef ORR_TRACES_REQ_LAW_H
#define ORR_TRACES_REQ_LAW_H

#include <orrery/api.h>

#include "traces/draw.h"

enum req_law_kind { LAW_CONSTANT, LAW_UNIFORM, LAW_LOGNORMAL, LAW_EXPONENTIAL, LAW_QUANTILES };
enum req_law_column { LAW_OF_PROMPTS, LAW_OF_OUTPUTS, LAW_OF_SAMPLES };

struct req_law {
	enum req_law_kind kind;
	uint32_t low, high; /* bounds of the values; for a constant, both are equal */
	double mean;        /* exponential */
	double mu, sigma;   /* lognormal: mean and standard deviation of the logarithm */
	const struct quantile *table;
};

/* Parses a distribution. where and name identify the parameter in messages; samples must not be 0. */
int req_law_parse(
	struct req_law *law, const char *where, const char *name, const char *text, enum req_law_column column, struct orr_error *err);
uint32_t req_law_draw_slow(const struct req_law *law, struct rng *r);

static inline uint32_t req_law_draw(const struct req_law *law, struct rng *r)
{
	return law->kind == LAW_CONSTANT ? law->low : req_law_draw_slow(law, r);
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_content.h - content of generated requests: model, samples, tokens
 *
 * Model, samples, prompt and output are independent of each other and of arrivals; each has its own random stream. With
 * lengths=FILE, prompt and output come from one row of a trace, drawn with equal probability.
 */
#ifndef ORR_TRACES_REQ_CONTENT_H
#define ORR_TRACES_REQ_CONTENT_H

#include "traces/generator.h"
#include "traces/req_law.h"

#define REQUEST_PARAMS_CONTENT                                                                                                          \
	ORR_PARAM_TEXT("model", "", "model, or A|B*2|C, drawn by weight; empty: the only served model"),                                \
		ORR_PARAM_TEXT("samples", "1", "samples per request; values have the same forms as those of prompt"),                   \
		ORR_PARAM_TEXT("prompt", "0",                                                                                           \
			"prompt tokens: a number, LOW-HIGH, exp:MEAN, lognormal:MEAN:P99[:MOST], "                                      \
			"azure-code, azure-conv, mooncake"),                                                                            \
		ORR_PARAM_TEXT("output", "0", "tokens to generate; values have the same forms as those of prompt"),                     \
		ORR_PARAM_FILE("lengths", "trace of requests; prompt and output are those of a random row"),                            \
		ORR_PARAM_INT(                                                                                                          \
			"max_output", "0", 0, REQUEST_MAX_TOKENS, "largest number of output tokens that a client accepts; 0: unknown"), \
		ORR_PARAM_TIME("slo", "0", "deadline after arrival; 0: that of the model"),                                             \
		ORR_PARAM_INT("priority", "0", 0, 1e9, "priority of all requests")

/* Names with weights: a draw u, uniform in [0, 1), selects the first name with u < end[i]. */
struct req_mix {
	uint32_t n, *model;
	uint32_t *samples; /* samples from "NAME:SAMPLES"; default 1 */
	double *end;
};

struct req_lengths {
	uint32_t prompt, output;
};

struct req_content {
	struct req_mix mix;
	struct req_law samples, prompt, output;
	struct req_lengths *row; /* lengths=FILE */
	uint64_t n_rows;
	uint32_t max_output, priority;
	int64_t slo_ns;
	bool is_constant; /* a single name needs no random number */
};

struct req_content_draw {
	const struct req_content *law;
	struct rng models, samples, prompts, outputs, rows;
};

/* Parses "A|B*2|C"; with has_samples, "A:8|B:128*2". */
int req_mix_parse(struct req_mix *m, const char *where, const char *name, const char *text, bool has_samples, struct rowset *set,
	struct orr_error *err);
void req_mix_free(struct req_mix *m);
uint32_t req_mix_draw(const struct req_mix *m, struct rng *r); /* an index */

int req_content_plan(struct req_content *c, const char *where, const struct orr_args *args, struct rowset *set, struct orr_error *err);
void req_content_free(struct req_content *c);
void req_content_start(struct req_content_draw *d, const struct req_content *c, uint64_t seed, uint64_t index);
void req_content_draw(struct req_content_draw *d, struct request_rec *row);

#endif

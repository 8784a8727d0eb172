/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_content.h - what generated requests ask for, whenever they arrive
 *
 * Model, samples, prompt and output are drawn independently of each other and of arrivals, each from a stream of its own;
 * or, with lengths=FILE, prompt and output together as those of one row of a trace, drawn with equal chance.
 */
#ifndef ORR_TRACES_REQ_CONTENT_H
#define ORR_TRACES_REQ_CONTENT_H

#include "traces/generator.h"
#include "traces/req_law.h"

#define REQUEST_PARAMS_CONTENT                                                                                                \
	ORR_PARAM_TEXT("model", "", "their model, or A|B*2|C: drawn by weight; empty: the only one that is served"),          \
		ORR_PARAM_TEXT("samples", "1", "inputs of a request: a number, LOW-HIGH, ..: as prompt"),                     \
		ORR_PARAM_TEXT("prompt", "0",                                                                                 \
			"its tokens: a number, LOW-HIGH, exp:MEAN, lognormal:MEAN:P99[:MOST], "                               \
			"azure-code, azure-conv, mooncake"),                                                                  \
		ORR_PARAM_TEXT("output", "0", "tokens to be generated: as prompt"),                                           \
		ORR_PARAM_FILE("lengths", "a trace of requests: prompt and output are those of a row drawn from it"),         \
		ORR_PARAM_INT("max_output", "0", 0, REQUEST_MAX_TOKENS, "the most outputs that a client takes; 0: not said"), \
		ORR_PARAM_TIME("slo", "0", "from arrival to completion; 0: the model's"),                                     \
		ORR_PARAM_INT("priority", "0", 0, 1e9, "of all of them")

/* Names with weights: text is number[i] while u < end[i], u uniform in [0, 1). */
struct req_mix {
	uint32_t n, *model;
	uint32_t *samples; /* of "NAME:SAMPLES", else 1 */
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
	bool is_constant; /* nothing is drawn */
};

struct req_content_draw {
	const struct req_content *law;
	struct rng models, samples, prompts, outputs, rows;
};

/* "A|B*2|C"; with has_samples "A:8|B:128*2". */
int req_mix_parse(struct req_mix *m, const char *where, const char *name, const char *text, bool has_samples, struct rowset *set,
	struct orr_error *err);
void req_mix_free(struct req_mix *m);
uint32_t req_mix_draw(const struct req_mix *m, struct rng *r); /* an index */

int req_content_plan(struct req_content *c, const char *where, const struct orr_args *args, struct rowset *set, struct orr_error *err);
void req_content_free(struct req_content *c);
void req_content_start(struct req_content_draw *d, const struct req_content *c, uint64_t seed, uint64_t index);
void req_content_draw(struct req_content_draw *d, struct request_rec *row);

#endif

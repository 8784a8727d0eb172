/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served_llm.h - the three forms of a served language model, inside
 *
 * served_json.c fills in struct served_llm, served_llm.c answers by it; the form by layers is in served_layers.c.
 * docs/models.md, "Serving: how long an iteration takes".
 */
#ifndef ORR_HWMODEL_SERVED_LLM_H
#define ORR_HWMODEL_SERVED_LLM_H

#include "hwmodel/dnn.h"
#include "hwmodel/served.h"

enum served_form { SERVED_CLOSED, SERVED_CURVES, SERVED_LAYERS };

/* Straight lines between knots; the first and the last go on beyond. Two knots or more. */
struct served_curve {
	double *x, *y; /* x ascending; y in s */
	uint32_t n;
};

struct served_llm {
	enum served_form form;
	/* closed: ms per iteration, token, token of context, pair */
	double constant_ms, token_ms, context_ms, pair_ms;
	/* curves */
	struct served_curve prompt, decode;
	double mixed_factor;
	/* layers */
	struct dnn *dnn;
	double element_bytes;        /* of weights and of the KV cache */
	double overhead_s;           /* per iteration, beside the GPU */
	double attention_efficiency; /* of prompts' attention, as a share of the peak; 0: the device's of products */
};

double served_curve_at(const struct served_curve *c, double v);

/* ---- served_layers.c ---- */

struct served_layers;
/* The table by layers behind x; NULL: another form. */
struct served_layers *served_layers_of(struct served_on *x);
struct served_layers *served_layers_new(const struct served *m, const struct served_place *p, struct orr_error *err);
void served_layers_free(struct served_layers *x);
/* Seconds through all stages; *stage_s: of the busiest. */
double served_layers_iteration(struct served_layers *x, const struct llm_load *load, double *stage_s);
const char *served_layers_source(const struct served_layers *x);
/* Tokens for which every stage has memory. */
double served_layers_kv_tokens(const struct served_layers *x, double part);

/* Of one layer of the DNN, attention's own aside, for so many tokens on one GPU of the group. */
double served_layers_layer_s(const struct served_layers *x, uint32_t layer, double tokens);

void served_layers_parts(struct served_layers *x, const struct llm_load *load, struct served_parts *out);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served_llm.h - the forms of a served language model (private to served_*.c)
 *
 * served_json.c fills in struct served_llm. served_llm.c evaluates it, except the form by layers (served_layers.c).
 * docs/models/serve-llm.md, "Time of an iteration".
 */
#ifndef ORR_HWMODEL_SERVED_LLM_H
#define ORR_HWMODEL_SERVED_LLM_H

#include "hwmodel/dnn.h"
#include "hwmodel/served.h"

enum served_form { SERVED_CLOSED, SERVED_CURVES, SERVED_LAYERS, SERVED_FITS, SERVED_MOE };

/* A curve, linear between knots; the first and the last segment extend beyond the ends. At least two knots. */
struct served_curve {
	double *x, *y; /* x ascending; y in s */
	uint32_t n;
};

/* Times, ms, of prompts and of decodes on tp GPUs: a constant, per token of prompt or context, and per pair of prompt tokens or decode. */
struct served_fit {
	uint32_t tp, large_from; /* large_from: number of decodes from which large_ms applies */
	double prefill_ms[3], decode_ms[3], large_ms[3];
};

struct served_llm {
	enum served_form form;
	/* coefficients of form `closed`: ms per iteration, token, context token, pair */
	double constant_ms, token_ms, context_ms, pair_ms;
	/* the same form: ms per stage of an iteration; per hop between stages, and per token of a hop */
	double stage_ms, hop_ms, hop_token_ms;
	/* fits */
	struct served_fit *fit;
	uint32_t n_fits;
	double prompt_pp_ms, first_ms,
		first_token_ms; /* with prompts, in each stage, times their number; in the first stage, per iteration and per token */
	struct served_moe *moe; /* served_moe.h; NULL: another form */
	/* curves */
	struct served_curve prompt, decode;
	double mixed_factor;
	/* layers */
	struct dnn *dnn;
	struct quantisation quant;
	double element_bytes;                           /* bytes per element of the KV cache */
	bool has_bytes, has_weight_bytes, has_kv_bytes; /* the file gives these bytes */
	double overhead_s;                              /* time per iteration outside the GPU */
	double attention_efficiency; /* efficiency of prefill attention, as a share of the peak; 0: the device's efficiency of
				      * products */
};

double served_curve_at(const struct served_curve *c, double v);

/* ---- served_layers.c ---- */

struct served_layers;
/* Returns the layers form of x; NULL for other forms. */
struct served_layers *served_layers_of(struct served_on *x);
struct served_layers *served_layers_new(const struct served *m, const struct served_place *p, struct orr_error *err);
void served_layers_free(struct served_layers *x);
/* Returns the time, s, through all stages; sets *stage_s to that of the busiest stage. */
double served_layers_iteration(struct served_layers *x, const struct llm_load *load, double *stage_s);
/* See served_decodes(). */
bool served_layers_decodes(struct served_layers *x, uint32_t n, struct served_decodes *out);
/* Returns the time, s, of one stage; the sum over the stages is that of the iteration. */
double served_layers_stage(struct served_layers *x, const struct llm_load *load, uint32_t stage);
double served_layers_network_bytes(struct served_layers *x, const struct llm_load *load);
const char *served_layers_source(const struct served_layers *x);
/* Returns the number of tokens that fit into the memory of every stage. */
double served_layers_kv_tokens(const struct served_layers *x, double part);

/* Returns the time, s, of one layer of the DNN, without attention, for `tokens` tokens on one GPU of the group. */
double served_layers_layer_s(const struct served_layers *x, uint32_t layer, double tokens);

void served_layers_parts(struct served_layers *x, const struct llm_load *load, struct served_parts *out);

#endif

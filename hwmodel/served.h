/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served.h - models as they are served: how long a batch or an iteration takes, and what memory it needs
 *
 * A served model is a JSON file (docs/served-model.schema.json) or the name of one that ships
 * (hwmodel/served/NAME.json). Of two kinds:
 *
 *  table  latency by batch size, and by length where the model has one. A size that is not in the table is
 *         refused, unless the file says that it is padded up to the next ("between": "up") or read off the
 *         straight line between its neighbours ("linear"). Memory by batch size, with the time of its peak.
 *  llm    a language model: the time of an iteration from what it processes (struct llm_load), by
 *          - closed  constant + per token + per context token + per pair of tokens in prompts
 *                    (the form that the test oracle of microsoft/vidur was run with);
 *          - curves  a curve over prompt tokens, one over the number of decodes, and a factor for both together
 *                    (Mutinifni/splitwise-sim's performance model);
 *          - layers  the layers of a DNN table: products by the profile of the device (hwmodel/profile.h), attention by
 *                    roofline on the bytes of the KV cache, collectives of tensor parallelism.
 *         One token of KV cache takes kv_bytes; weights weight_bytes; both over all GPUs of a replica.
 *
 * Times s, sizes bytes. A struct served does not change once made and may be shared by threads; what
 * depends on the replica's GPUs is a struct served_on.
 */
#ifndef ORR_HWMODEL_SERVED_H
#define ORR_HWMODEL_SERVED_H

#include "hwmodel/device.h"

struct profile;
struct dnn;

enum served_kind { SERVED_TABLE, SERVED_LLM };
enum served_between { SERVED_REFUSE, SERVED_UP, SERVED_LINEAR };
enum served_noise { SERVED_EXACT, SERVED_EXPONENTIAL }; /* a run's time is the table's, or exponential with that mean */
enum { SERVED_MAX_BATCHES = 512, SERVED_MAX_LENGTHS = 64 };

/* Memory of a batch while it runs: before until peak_from_s after its start, peak from then to its end. Beside the weights. */
struct served_memory {
	double before, peak, peak_from_s;
};

struct served {
	char *name, *title, *source;
	enum served_kind kind;
	uint32_t layers; /* exit points; 0 unknown */
	double load_s, weight_bytes;
	double slo_s; /* INFINITY: none */
	char hash[65];
	/* table */
	enum served_between between;
	enum served_noise noise;
	uint32_t n_batches, n_lengths; /* n_lengths 0: latency does not depend on length */
	uint32_t *batch, *length;      /* ascending */
	double *latency_s;             /* [length * n_batches + batch] */
	struct served_memory *memory;  /* [batch] */
	double utilisation;            /* average part of the GPU that a run keeps busy (stacking); 1 */
	double occupancy;              /* part of the GPU's units that a run fills: u(m) = max(1, m x occupancy) */
	/* llm */
	double kv_bytes;        /* per token */
	uint32_t longest;       /* prompt + output tokens; 0: no limit */
	struct served_llm *llm; /* which form, and its numbers (served_llm.c) */
};

/* A file that ends in .json, or a name of the catalogue. NULL on error. */
struct served *served_load(const char *name_or_file, struct orr_error *err);
struct served *served_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void served_free(struct served *m);
const char *served_catalogue(size_t i); /* names that ship; NULL past the last */

/* ---- tables ---- */
/* Seconds alone on the device; NAN: not in the table, whose rule says to refuse it. */
double served_latency(const struct served *m, uint32_t samples, uint32_t length);
/* The smallest size of the table that is at least samples; 0: none. */
uint32_t served_batch_for(const struct served *m, uint32_t samples);
struct served_memory served_memory_of(const struct served *m, uint32_t samples);

/* ---- language models ---- */

/* What one iteration processes. */
struct llm_load {
	uint32_t decodes;      /* requests past their prompt, one token each */
	uint32_t prompts;      /* requests in their prompt */
	double prompt_tokens;  /* processed now, over all of them */
	double decode_context; /* tokens done before, over decodes */
	double prompt_pairs;   /* over prompts: tokens x (done before + tokens) */
};

/* The GPUs of a replica. */
struct served_place {
	const struct device *device;
	const struct profile *profile; /* NULL: data sheet only */
	uint32_t tp, pp;
	enum precision precision;
	double tp_Bps, tp_latency_s; /* link between GPUs of a tensor-parallel group, one direction */
	double pp_Bps, pp_latency_s; /* between stages */
};

struct served_on;
/* An error if the model cannot be there (tp does not divide its heads, no DNN of that name, ..). Both must outlive it. */
struct served_on *served_on_new(const struct served *m, const struct served_place *p, struct orr_error *err);
void served_on_free(struct served_on *x);
/* Seconds of an iteration. May keep tables inside: one per thread. Increasing in each argument. */
double served_iteration(struct served_on *x, const struct llm_load *load);
/* The same, split: stage_s is what the busiest pipeline stage is busy for (with pp = 1 all of it). */
double served_iteration_stage(struct served_on *x, const struct llm_load *load, double *stage_s);
/* Parts of an iteration, s, over all stages, that add up to the whole. False: the model's form does not tell them apart. */
struct served_parts {
	double linear, elementwise, collective, attention_prompt, attention_decode;
	double head; /* the output layer, for the tokens that need it */
	double hops; /* between stages */
	double overhead;
};
bool served_iteration_parts(struct served_on *x, const struct llm_load *load, struct served_parts *out);
/* Where the times come from: the closed form, the curves, which profile, "data sheet only". */
const char *served_source(const struct served_on *x);
/* Tokens of KV cache that fit into a replica's memory beside the weights; part: of its memory that may be used. NAN: its memory is not
 * known. */
double served_kv_tokens(const struct served_on *x, double part);

#endif

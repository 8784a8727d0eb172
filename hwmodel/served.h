/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served.h - served models: time of a batch or an iteration, and memory
 *
 * A served model is a JSON file (docs/served-model.schema.json) or a name of the catalogue
 * (hwmodel/served/NAME.json). There are two kinds:
 *
 *  table  latency by batch size (from a file, or from the layers of a DNN and the device: served_network.c), and by length if the
 *         model depends on it. A size that the table lacks is refused, unless the file allows padding to the next size
 *         ("between": "up") or linear interpolation ("linear"). Memory by batch size, with the time of its peak.
 *  llm    a language model: the time of an iteration from the work of the iteration (struct llm_load), by
 *          - closed  constant + per token + per context token + per pair of prompt tokens
 *                    (the form that the test oracle of microsoft/vidur uses);
 *          - curves  a curve over prompt tokens, one over the number of decodes, and a factor for mixed iterations
 *                    (performance model of Mutinifni/splitwise-sim);
 *          - layers  the layers of a DNN: products by the device's profile (hwmodel/profile.h), attention by
 *                    roofline on the bytes of the KV cache, collectives of tensor parallelism.
 *         One token of KV cache takes kv_bytes, the weights weight_bytes; both are summed over the GPUs of a replica.
 *
 * Times s, sizes bytes. A struct served is read-only once loaded and may be shared by threads; state that
 * depends on the replica's GPUs is in struct served_on.
 */
#ifndef ORR_HWMODEL_SERVED_H
#define ORR_HWMODEL_SERVED_H

#include "hwmodel/engines.h"
#include "hwmodel/quantise.h"

struct profile;
struct sbuf;
struct dnn;

enum served_kind { SERVED_TABLE, SERVED_LLM };
enum served_between { SERVED_REFUSE, SERVED_UP, SERVED_LINEAR };
enum served_noise { SERVED_EXACT, SERVED_EXPONENTIAL }; /* execution time: the time in the table, or exponential with this mean */
enum { SERVED_MAX_BATCHES = 512, SERVED_MAX_LENGTHS = 64 };

/* Memory of a batch in addition to the weights: `before` until peak_from_s after its start, then `peak` until its end. */
struct served_memory {
	double before, peak, peak_from_s;
};

struct served {
	char *name, *title, *source;
	enum served_kind kind;
	uint32_t layers; /* number of exit points; 0: unknown */
	double load_s, weight_bytes;
	double input_bytes, output_bytes; /* tables: bytes per sample that cross the links between the front and a replica (serve.front) */
	double slo_s;                     /* INFINITY: none */
	char hash[65];
	/* table */
	enum served_between between;
	enum served_noise noise;
	uint32_t n_batches, n_lengths;  /* n_lengths 0: latency does not depend on length */
	uint32_t *batch, *length;       /* ascending */
	double *latency_s;              /* latency, s, [length * n_batches + batch]; NULL: it depends on the place (served_placed()) */
	struct served_memory *memory;   /* [batch] */
	double *stage_s;                /* time that a batch occupies the busiest pipeline stage, s, [batch]; NULL: the latency */
	double *network_bytes;          /* bytes of a batch that leave nodes, summed over nodes, [batch]; NULL: none */
	double utilisation;             /* average share of the GPU that a batch keeps busy (stacking); default 1 */
	double occupancy;               /* share of the GPU's units that the smallest batch fills: u(m) = max(1, m x occupancy) */
	struct served_network *network; /* DNN that gives latency and memory (served_network.c); NULL: the file states them */
	/* llm */
	double kv_bytes;        /* per token */
	uint32_t longest;       /* limit of prompt + output tokens; 0: no limit */
	struct served_llm *llm; /* form of the model and its parameters (served_llm.c) */
};

/* name_or_file: a file that ends in .json, a name of the catalogue of served models, or a DNN (dnn.h), whose table follows from its layers
 * and the device: "resnet50", "vit:width=384,image=192". With a last dimension "largest=N" batches have up to N samples. NULL on error. */
struct served *served_load(const char *name_or_file, struct orr_error *err);
/* Reads a model from the text of a file. The hash is of the text and, with the key `network`, of the DNN. */
struct served *served_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void served_free(struct served *m);
/* Sets the formats of weights and KV cache of a model by layers. Values of its file stay unchanged if the format is auto:
 * bytes_per_element and weight_bytes for weights, bytes_per_element and kv_bytes_per_token for the cache. A loaded model has
 * quant_default. */
void served_set_precision(struct served *m, const struct quantisation *q);
/* Describes how weights and cache are stored: "13.5 GB of weights (fp16, 2 bytes per parameter), 524288 bytes of KV cache per token
 * (..)". */
void served_describe_memory(const struct served *m, const struct quantisation *q, struct sbuf *out);
/* Returns whether the precision affects times and bytes of the model: true for models and tables by layers. */
bool served_has_precision(const struct served *m);
/* Returns whether the model is by layers, and several queries of its attention share a key and a value. */
bool served_shares_keys(const struct served *m);
const char *served_catalogue(size_t i); /* returns name i of the catalogue; NULL past the last */

/* ---- tables ---- */
/* Returns the seconds of a batch alone on the device; NAN: the size is not in the table and the model refuses it, or the latency depends
 * on the device. */
double served_latency(const struct served *m, uint32_t samples, uint32_t length);
/* Returns whether the table has the size. */
bool served_has_batch(const struct served *m, uint32_t samples, uint32_t length);
/* Returns the smallest batch size of the table that is at least samples; 0: none. */
uint32_t served_batch_for(const struct served *m, uint32_t samples);
/* Returns the smallest length of the table that is at least `length`; `length` itself if the table has no lengths or lacks a larger one. */
uint32_t served_length_for(const struct served *m, uint32_t length);
struct served_memory served_memory_of(const struct served *m, uint32_t samples);
/* Returns the share of the GPU's units that a batch fills: in proportion to its samples, at most 1. */
double served_occupancy(const struct served *m, uint32_t samples);

/* ---- language models ---- */

/* Work of one iteration. */
struct llm_load {
	uint32_t decodes;      /* number of requests in decode, one token each */
	uint32_t prompts;      /* requests in prefill */
	double prompt_tokens;  /* number of prompt tokens of this iteration, over all requests */
	double decode_context; /* number of tokens in the KV cache, over all decodes */
	double prompt_pairs;   /* sum over prompts: tokens in this iteration x (tokens done before + tokens in this iteration) */
	double checked;        /* number of draft tokens that decodes check, over all decodes (serve.draft_tokens) */
};

/*
 * Times, s, of messages of a replica whose GPUs are on several nodes. Each function adds the bytes that leave the nodes to
 * *network_bytes. A negative result means that the GPUs concerned are on one node, so the device's law or link applies.
 */
struct served_net {
	void *ctx;
	/* Returns the time of an all-reduce (bytes of the buffer) or all-gather (bytes of the result) among the tp GPUs of a stage. */
	double (*reduce_s)(void *ctx, uint32_t stage, bool is_gather, double bytes, double *network_bytes);
	/* Returns the time of a hop: each GPU of a stage sends bytes / tp to the GPU of the same rank in the next stage. */
	double (*hop_s)(void *ctx, uint32_t stage, double bytes, double *network_bytes);
};

/* The GPUs of a replica. */
struct served_place {
	const struct device *device;
	const struct profile *profile; /* profile of the device; NULL: data sheet only */
	uint32_t tp, pp;
	enum precision precision;
	double tp_Bps, tp_latency_s;  /* link between GPUs of a tensor-parallel group, one direction */
	double pp_Bps, pp_latency_s;  /* between stages */
	double kv_reads;              /* number of times that decode attention reads a key or value shared by several queries; 0:
				       * once */
	struct served_host host;      /* host costs of models by layers */
	bool is_spread;               /* the GPUs of a stage are on several nodes */
	const struct served_net *net; /* network; NULL: all GPUs are on one node. Must outlive the struct served_on */
};

/* Makes the table of a DNN (m->network) for a place: a copy of m with latencies and the source of the times. Fails if the model does
 * not fit the place. The result does not depend on the lifetime of m and p. */
struct served *served_placed(const struct served *m, const struct served_place *p, struct orr_error *err);
/* Returns the seconds after which the replica can take the next batch: the latency or, with several pipeline stages, the time of the
 * busiest stage.
 */
double served_stage(const struct served *m, uint32_t samples, uint32_t length);
/* Returns the bytes of a batch of a known size that leave nodes, summed over nodes. */
double served_sent(const struct served *m, uint32_t samples);

struct served_on;
/* Makes the model for a place. Fails if the model does not fit the place (tp does not divide its heads, no DNN of that name, ..). m,
 * p->device and p->profile must outlive the result. */
struct served_on *served_on_new(const struct served *m, const struct served_place *p, struct orr_error *err);
void served_on_free(struct served_on *x);
/* Returns the seconds of an iteration, increasing in each field of load. Caches results in x: use one x per thread. */
double served_iteration(struct served_on *x, const struct llm_load *load);
/* Times of iterations of the same decodes, without prompts, as a function of their context; equal to served_iteration(), bit by bit. */
struct served_decodes {
	double base_s, kernel_s, context_s; /* of all layers except attention; of attention: constant, per token of context */
	double n;
};
/* Returns false if the model has no such form. n > 0. */
bool served_decodes(struct served_on *x, uint32_t n, struct served_decodes *out);
static inline double served_decodes_s(const struct served_decodes *d, double context)
{
	return d->base_s + (d->kernel_s + d->context_s * (context + d->n));
}
/* Like served_iteration(); also sets *stage_s to the busy time of the busiest pipeline stage (with pp = 1, the whole iteration). */
double served_iteration_stage(struct served_on *x, const struct llm_load *load, double *stage_s);
/* Returns the seconds of one pipeline stage of an iteration, with its hop to the next stage. The stages of an iteration sum to
 * served_iteration(), except for rounding. docs/models/serve-pipeline.md, "Time of a stage". */
double served_stage_s(struct served_on *x, const struct llm_load *load, uint32_t stage);
/* Returns the bytes of an iteration that leave nodes, summed over nodes; 0 without served_place.net. */
double served_network_bytes(struct served_on *x, const struct llm_load *load);
/* Returns the DNN of a language model by layers or of a table by layers; NULL for other forms. */
const struct dnn *served_dnn(const struct served *m);
/* Parts of an iteration in seconds, over all stages; their sum is the whole. served_parts() returns false for a form without parts. */
struct served_parts {
	double linear, elementwise, collective, attention_prompt, attention_decode;
	double head; /* the output layer, for the tokens that have an output */
	double hops; /* transfers between stages */
	double overhead;
};
bool served_iteration_parts(struct served_on *x, const struct llm_load *load, struct served_parts *out);
/* Returns the source of the times: the closed form, the curves, a profile, "data sheet only". */
const char *served_source(const struct served_on *x);
/* Returns the number of tokens of KV cache that fit in a replica's memory beside the weights. part: usable share of the memory. NAN:
 * the memory is unknown. */
double served_kv_tokens(const struct served_on *x, double part);

#endif

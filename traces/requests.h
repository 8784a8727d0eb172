/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * requests.h - inference requests from a file in one of several formats, or from a generator
 *
 * A struct reqset holds rows sorted by arrival (file order on ties), read once and shared by any number of threads; or a
 * generator, which makes the same rows again for each cursor and stores none.
 * Formats: azure-llm, mooncake, burstgpt, splitwise, vidur, requests (orrery's CSV), auto. Generators:
 * "poisson:rate=10,n=1000" and others (traces/generator.h).
 *
 * Columns of orrery's CSV, in any order, all but the first optional:
 *	arrival_s,request_id,model,samples,prompt_tokens,output_tokens,max_output,priority,session,slo_s,blocks
 */
#ifndef ORR_TRACES_REQUESTS_H
#define ORR_TRACES_REQUESTS_H

#include <orrery/param.h>

#include "base/strtab.h"

enum { REQUEST_MAX_TOKENS = 100000000, REQUEST_MAX_SAMPLES = 100000000 };

struct request_rec {
	uint64_t number; /* number of the request: 0, 1, .. in order of arrival */
	int64_t arrival_ns;
	int64_t slo_ns;                        /* limit from arrival to completion; -1: the limit of the model */
	uint64_t session;                      /* session; 0: none; at most 10^18 */
	uint64_t line;                         /* line in the file, for messages; 0: none */
	uint32_t id, model;                    /* texts of reqset_strings(), 0: none (id: the number is the id; model: the only one) */
	uint32_t samples;                      /* >= 1 */
	uint32_t prompt_tokens, output_tokens; /* numbers of tokens; 0: not in the format */
	uint32_t max_output;                   /* 0: unknown */
	uint32_t priority;
	uint32_t n_blocks;     /* hashes of the blocks of the prompt (prefix cache) */
	const uint64_t *block; /* hashes; valid as long as the reqset (a file) or until the next row of the cursor (a generator) */
};

struct reqset;
struct reqcursor;

struct trace;

/* Loads a set. source: a file, "-", or a generator. format NULL or "auto": recognised by sniffing. options: "name=value" texts of
 * the format's parameters, NULL-terminated; may be NULL. seed: for generators. */
struct reqset *reqset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err);
/* Loads the rows of an open trace of requests. Closes the trace, even on error. */
struct reqset *reqset_from(struct trace *t, const char *source, struct orr_error *err);
void reqset_free(struct reqset *s);
/* Returns the number of rows skipped because of options of the format. */
uint64_t reqset_left_out(const struct reqset *s);
/* Returns the number of wrong rows that repair=all left out; *first: the message of the first one. */
uint64_t reqset_repaired(const struct reqset *s, const char **first);
/* Divides arrival times by factor (> 1: denser). Call it before any cursor is open. */
void reqset_compress(struct reqset *s, double factor);
uint64_t reqset_count(const struct reqset *s); /* number of rows; UINT64_MAX: unlimited or unknown */
bool reqset_is_loaded(const struct reqset *s); /* true for a file: reqset_at() works */
const struct request_rec *reqset_at(const struct reqset *s, uint64_t i);
const struct strtab *reqset_strings(const struct reqset *s);
const char *reqset_source(const struct reqset *s);
const char *reqset_format(const struct reqset *s);
/* Returns the SHA-256 in hex of the bytes of a file or of the parameters of a generator. */
const char *reqset_hash(const struct reqset *s);
uint32_t reqset_block_tokens(const struct reqset *s); /* number of tokens per block (Mooncake: 512); 0: no hashes */
/* Like jobset_resample(), on arrival times after compression. */
int reqset_resample(struct reqset *s, int64_t block_ns, uint64_t seed, struct orr_error *err);
uint64_t reqset_blocks(const struct reqset *s);
/* Opens a cursor for one run. seed_shift: index of the random streams, for replications. */
struct reqcursor *reqset_open(const struct reqset *s, uint64_t seed_shift);
bool reqcursor_next(struct reqcursor *c, struct request_rec *out);
void reqcursor_close(struct reqcursor *c);

#endif

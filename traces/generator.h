/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * generator.h - models that make traces: what one is to the rest
 *
 * A generator is one struct in a synth_*.c file with one line in generators.c. It
 * makes rows in order of submission, the same ones for the same parameters and
 * seed, and keeps no row: memory does not grow with their number. Random numbers
 * come from the streams "arrivals" and "service" (and others named in its file).
 *
 * "NAME:param=value,param=value" is the text that names a generator as a source.
 */
#ifndef ORR_TRACES_GENERATOR_H
#define ORR_TRACES_GENERATOR_H

#include "traces/trace.h"

struct generator {
	const char *name, *doc;
	const struct orr_param *params;
	/* Texts that rows refer to: number i+1 is names[i]. NULL-terminated; may be NULL. */
	const char *const *names;
	size_t state_size;
	/* Checks what the bounds of single parameters cannot; may be NULL. */
	int (*check)(const struct orr_args *args, struct orr_error *err);
	/* Whether next() ends even without n; may be NULL: it never does. */
	bool (*ends_by_itself)(const struct orr_args *args);
	/* state is cleared memory, and does not move afterwards. */
	void (*start)(void *state, const struct orr_args *args, uint64_t seed);
	/* Fills in a row that has been set to "unknown" with one whole GPU; false: the end. */
	bool (*next)(void *state, struct job_rec *row);
};

/* Ends with NULL. */
extern const struct generator *const generators[];

/* The generator that a source text names, NULL if it names none. A bare name counts
 * unless there is a file of that name. */
const struct generator *generator_find(const char *source);
/* Checked parameters from the source's text; NULL on error. Free with args_free(). */
struct orr_args *generator_args(const struct generator *g, const char *source, struct orr_error *err);

/* No file has the name that a source was given: a generator of jobs, requests or instances that was meant, or may have been, and was
 * misspelt. ORR_OK: the source is no such text, or a file. */
int generator_suggest(const char *source, struct orr_error *err);

/* The same for generators of other rows (requests, availability), which have tables of their own. */
bool generator_is_named(const char *name, const char *source);
struct orr_args *generator_read_args(const char *name, const struct orr_param *params, const char *source, struct orr_error *err);

/* What jobs train: jobset.c gives every job with whole GPUs a model, the generator has nothing to do for it. */
#define GENERATOR_PARAM_TRAINING                                                                                  \
	ORR_PARAM_TEXT("models", "", "networks that jobs train, | between them, drawn with equal chance"),        \
		ORR_PARAM_TEXT("strategy", "", "step policy of those jobs, as allreduce:fusion=none;overlap=no"), \
		ORR_PARAM_REAL("batch", "0", 0, 1e9, "their samples per GPU and iteration; 0: not said")

#define GENERATOR_PARAM_N(def) ORR_PARAM_INT("n", def, 0, 1e12, "how many jobs; 0: no end")

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * generator.h - models that make traces: the interface of one
 *
 * A generator is one struct generator in a file of its family and one line in generators.def. It makes rows in order of
 * time, the same rows for the same parameters, seed and index, and keeps none: memory does not grow with their number.
 *
 * What the parameters mean is worked out once, as a plan that all cursors share and none changes. A generator without a
 * plan gets its parameters in place of one. A cursor's state draws the rows. The random streams of jobs are named
 * "arrivals", "service" and others; those of requests "request ..", of availability "avail ..", so that traces on one
 * clock draw different numbers.
 *
 * "NAME:param=value,param=value" is the text that names a generator as a source.
 */
#ifndef ORR_TRACES_GENERATOR_H
#define ORR_TRACES_GENERATOR_H

#include "traces/avail.h"
#include "traces/requests.h"
#include "traces/rowset.h"

struct generator {
	enum trace_kind kind;
	const char *name, *doc;
	const struct orr_param *params; /* jobs and requests have n, 0: no end; availability has length, 0: no end */
	/* Texts that rows refer to: number i+1 is names[i]. NULL-terminated; may be NULL. */
	const char *const *names;
	size_t plan_size, state_size; /* plan_size 0: no plan */
	bool makes_prices;
	/* Checks what the bounds of single parameters cannot; may be NULL. */
	int (*check)(const struct orr_args *args, struct orr_error *err);
	/* Whether next() ends even without n; may be NULL: it never does. */
	bool (*ends_by_itself)(const struct orr_args *args);
	/* plan is cleared memory. Texts of rows go into the set: rowset_text(), rowset_list(). */
	int (*make_plan)(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err);
	/* Frees what the plan owns, but not the plan; also after a plan that failed; may be NULL. */
	void (*unplan)(void *plan);
	/* state is cleared memory, and does not move afterwards. */
	void (*start)(void *state, const void *plan, uint64_t seed, uint64_t index);
	/* Fills in a row in which everything is unknown; false: the end. One of these, by kind. */
	union {
		bool (*next)(void *state, struct job_rec *row); /* set to one whole GPU */
		bool (*next_request)(void *state, struct request_rec *row);
		/* Set to an addition without a zone; the time may lie beyond the length. */
		bool (*next_avail)(void *state, struct avail_rec *row);
	};
	void (*stop)(void *state); /* frees what the state owns, but not the state; may be NULL */
};

/* Ends with NULL. */
extern const struct generator *const generators[];

/* The generator of such rows that a source text names; NULL: none. A bare name counts unless there is a file of that name. */
const struct generator *generator_find(enum trace_kind kind, const char *source);
/* The generator for a source, *out NULL if the source is a file: the format may ask for one. An error if there are
 * options, which belong to files. */
int generator_choose(enum trace_kind kind, const char *source, const char *format, const char *const *options, const struct generator **out,
	struct orr_error *err);
/* Checked parameters from the source's text; NULL on error. Free with args_free(). */
struct orr_args *generator_args(const struct generator *g, const char *source, struct orr_error *err);

/* ORR_OK if the source may be a file; otherwise an error that names the generator that was probably meant. */
int generator_suggest(const char *source, struct orr_error *err);
/* The error for a source that has to be a generator and is none. */
int generator_unknown(const char *source, struct orr_error *err);

/* What jobs train: jobset.c gives every job with whole GPUs a model, after the generator. */
#define GENERATOR_PARAM_TRAINING                                                                                  \
	ORR_PARAM_TEXT("models", "", "networks that jobs train, | between them, drawn with equal chance"),        \
		ORR_PARAM_TEXT("strategy", "", "step policy of those jobs, as allreduce:fusion=none;overlap=no"), \
		ORR_PARAM_REAL("batch", "0", 0, 1e9, "their samples per GPU and iteration; 0: not said")

#define GENERATOR_PARAM_N(def) ORR_PARAM_INT("n", def, 0, 1e12, "how many jobs; 0: no end")
#define REQUEST_PARAM_N(def) ORR_PARAM_INT("n", def, 0, 1e15, "how many requests; 0: no end")
#define AVAIL_PARAM_LENGTH(def) ORR_PARAM_TIME("length", def, "time that it covers; 0: no end")
enum { AVAIL_MAX_ZONES = 64, AVAIL_MAX_SLOTS = 100000 };

#endif

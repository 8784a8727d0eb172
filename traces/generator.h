/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * generator.h - the interface of a generator, a model that makes traces
 *
 * A generator is one struct generator in a file of its family and one line in generators.def. It draws rows in order of time,
 * the same rows for the same parameters, seed and index. It stores no rows, so memory does not grow with their number.
 *
 * The parameters are evaluated once into a plan, which is read-only and shared by all cursors. A generator without a plan gets
 * its parameters instead. The state of a cursor draws the rows. The random streams of jobs are named "arrivals", "service" and
 * others; those of requests "request ..", of availability "avail ..", so that traces on one clock draw different numbers.
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
	const struct orr_param *params; /* parameters; jobs and requests have n (0: no end), availability has length (0: no end) */
	/* Texts that rows refer to: text number i+1 is names[i]. NULL-terminated; may be NULL. */
	const char *const *names;
	size_t plan_size, state_size; /* plan_size 0: no plan */
	bool makes_prices;
	bool is_alike; /* all rows have equal requests; only their times differ */
	/* Checks combinations of parameters; may be NULL. */
	int (*check)(const struct orr_args *args, struct orr_error *err);
	/* Returns whether the rows end even without n; NULL: they do not end. */
	bool (*ends_by_itself)(const struct orr_args *args);
	/* Makes the plan in cleared memory. rowset_text() and rowset_list() add the texts of rows to the set. */
	int (*make_plan)(void *plan, const struct orr_args *args, struct rowset *set, struct orr_error *err);
	/* Frees the memory that the plan owns, but not the plan itself; also after a failed make_plan(); may be NULL. */
	void (*unplan)(void *plan);
	/* Starts a cursor. state is cleared memory and does not move afterwards. */
	void (*start)(void *state, const void *plan, uint64_t seed, uint64_t index);
	/* Fills in a row in which every field is unknown; returns false at the end. Each generator has one of these, by kind. */
	union {
		bool (*next)(void *state, struct job_rec *row); /* the row is initially one whole GPU */
		bool (*next_request)(void *state, struct request_rec *row);
		/* The row is initially an addition without a zone; its time may exceed the length. */
		bool (*next_avail)(void *state, struct avail_rec *row);
	};
	/* Makes the flows of the generated rows; may be NULL. */
	struct flowset *(*make_flows)(const struct orr_args *args, struct orr_error *err);
	/* Returns the number of tokens of the blocks whose hashes the requests have; NULL: they have none. */
	uint32_t (*block_tokens)(const void *plan);
	void (*stop)(void *state); /* frees the memory that the state owns, but not the state itself; may be NULL */
};

/* Ends with NULL. */
extern const struct generator *const generators[];

/* Returns the generator of such rows that a source names; NULL: none. A name without ":" is a file if one exists. */
const struct generator *generator_find(enum trace_kind kind, const char *source);
/* Sets *out to the generator of a source; NULL if the source, or the format, means a file. Options with a generator are an error:
 * they belong to files. */
int generator_choose(enum trace_kind kind, const char *source, const char *format, const char *const *options, const struct generator **out,
	struct orr_error *err);
/* Returns the checked parameters in a source; NULL on error. Free with args_free(). */
struct orr_args *generator_args(const struct generator *g, const char *source, struct orr_error *err);

/* Returns ORR_OK if the source may be a file, else an error with the nearest generator. */
int generator_suggest(const char *source, struct orr_error *err);
/* Sets the error for a source that is not a generator although it must be one. */
int generator_unknown(const char *source, struct orr_error *err);

/* Models and strategies of jobs: jobset.c assigns a model to every generated job with whole GPUs. */
#define GENERATOR_PARAM_TRAINING                                                                                       \
	ORR_PARAM_TEXT("models", "", "networks that jobs train, separated by |, drawn with equal probability"),        \
		ORR_PARAM_TEXT("strategy", "", "step policy of those jobs, such as allreduce:fusion=none;overlap=no"), \
		ORR_PARAM_REAL("batch", "0", 0, 1e9, "samples per GPU and iteration of those jobs; 0: unknown")

#define GENERATOR_PARAM_N(def) ORR_PARAM_INT("n", def, 0, 1e12, "number of jobs; 0: unlimited")
#define REQUEST_PARAM_N(def) ORR_PARAM_INT("n", def, 0, 1e15, "number of requests; 0: unlimited")
#define AVAIL_PARAM_LENGTH(def) ORR_PARAM_TIME("length", def, "duration of the trace; 0: unlimited")
enum { AVAIL_MAX_ZONES = 64, AVAIL_MAX_SLOTS = 100000 };

#endif

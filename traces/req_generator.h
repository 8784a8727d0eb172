/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_generator.h - models that make requests: what one is to the rest
 *
 * A generator is one struct with one line in req_generators.c. What its parameters say is worked out once, as a plan that
 * all cursors share and none changes; a cursor's state draws rows in order of arrival, the same ones for the same
 * parameters, seed and index, and keeps none. Streams are named "request ..." so that jobs on the same clock draw others.
 *
 * "NAME:param=value,param=value" is the text that names a generator as a source. Jobs have generators of their own
 * (traces/generator.h), some by the same names: the command that reads decides.
 */
#ifndef ORR_TRACES_REQ_GENERATOR_H
#define ORR_TRACES_REQ_GENERATOR_H

#include "traces/requests.h"

struct req_generator {
	const char *name, *doc;
	const struct orr_param *params; /* one is n: how many, 0: no end */
	size_t plan_size, state_size;
	/* plan is cleared memory. Models that rows name go into the set by reqset_add_model(). */
	int (*make_plan)(void *plan, const struct orr_args *args, struct reqset *set, struct orr_error *err);
	void (*unplan)(void *plan); /* frees what the plan owns, but not the plan; may be NULL; also after a plan that failed */
	/* state is cleared memory, and does not move afterwards. */
	void (*start)(void *state, const void *plan, uint64_t seed, uint64_t index);
	/* Fills in a row of which all is "not known"; false: the end. */
	bool (*next)(void *state, struct request_rec *row);
};

/* Ends with NULL. */
extern const struct req_generator *const req_generators[];

/* The generator that a source text names, NULL if it names none. A bare name counts unless there is a file of that name. */
const struct req_generator *req_generator_find(const char *source);
/* Checked parameters from the source's text; NULL on error. Free with args_free(). */
struct orr_args *req_generator_args(const struct req_generator *g, const char *source, struct orr_error *err);

/* For plans: the number of a model's text. */
uint32_t reqset_add_model(struct reqset *s, const char *name, size_t n);
/* As reqset_from(), but t stays open. */
struct reqset *reqset_read(struct trace *t, const char *source, struct orr_error *err);

#define REQUEST_PARAM_N(def) ORR_PARAM_INT("n", def, 0, 1e15, "how many requests; 0: no end")

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail_generator.h - processes by which instances come and go: what one is to the rest
 *
 * A generator is one struct with one line in avail_generators.c. What its parameters say is worked out once, as a plan
 * that all cursors share and none changes; a cursor's state draws rows in order of time. Instances have the numbers
 * 0, 1, .. in order of addition and no names. Streams are named "avail ..", so that other generators draw others.
 */
#ifndef ORR_TRACES_AVAIL_GENERATOR_H
#define ORR_TRACES_AVAIL_GENERATOR_H

#include "traces/avail.h"

#include "base/rng.h"

struct avail_generator {
	const char *name, *doc;
	const struct orr_param *params; /* one is length, 0: no end; and AVAIL_SHIFT_PARAMS */
	bool makes_prices;
	size_t plan_size, state_size;
	/* plan is cleared memory. Names of zones and types go into the set by availset_add_text() and availset_add_zone(). */
	int (*make_plan)(void *plan, const struct orr_args *args, struct availset *set, struct orr_error *err);
	/* state is cleared memory, and does not move afterwards. */
	void (*start)(void *state, const void *plan, uint64_t seed, uint64_t index);
	/* Fills in a row of which all is "not known" (an addition without zone); its time may lie beyond the length. False: no more. */
	bool (*next)(void *state, struct avail_rec *row);
	void (*stop)(void *state); /* frees what the state owns, but not the state; may be NULL */
};

/* Ends with NULL. */
extern const struct avail_generator *const avail_generators[];

/* The generator that a source text names, NULL if it names none. A bare name counts unless there is a file of that name. */
const struct avail_generator *avail_generator_find(const char *source);
/* Checked parameters from the source's text; NULL on error. Free with args_free(). */
struct orr_args *avail_generator_args(const struct avail_generator *g, const char *source, struct orr_error *err);

/* For plans: the number of a text. */
uint32_t availset_add_text(struct availset *s, const char *text, size_t n);
uint32_t availset_add_zone(struct availset *s, const char *text, size_t n);
/* For plans: "a|b|c" as zones, at most `most`; the number of them, 0 and an error if it is no such list. "" is one zone without a name. */
uint32_t availset_add_zones(struct availset *s, const char *text, uint32_t zone[], uint32_t most, const char *where, struct orr_error *err);

#define AVAIL_PARAM_LENGTH(def) ORR_PARAM_TIME("length", def, "time that it covers; 0: no end")
enum { AVAIL_MAX_ZONES = 64, AVAIL_MAX_SLOTS = 100000 };

#endif

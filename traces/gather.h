/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gather.h - jobs that a reader puts together from several rows of its file before it returns them
 *
 * A reader adds jobs under a key, changes jobs that it has added, and returns all after the last row. Texts are copied.
 */
#ifndef ORR_TRACES_GATHER_H
#define ORR_TRACES_GATHER_H

#include "traces/mapped.h"

#include <orrery/trace.h>

#include "base/strtab.h"

struct gathered {
	struct orr_trace_job job; /* all texts are NULL: see the numbers below */
	uint32_t id, user, queue, model, gpu_types, status;
	uint32_t parts;   /* of the reader */
	int64_t start_ns; /* first start; -1: none; of the reader */
	bool is_gone;     /* belongs to another job, so it is not returned */
};

struct gather;

struct gather *gather_new(void);
void gather_free(struct gather *g);
/* Returns the job with this key; *is_new: whether it was just made, with duration, limit and wait unknown and one whole GPU. Valid
 * until the next call. key NULL: a job without a key. */
struct gathered *gather_job(struct gather *g, const char *key, size_t n, bool *is_new);
size_t gather_count(const struct gather *g);
struct gathered *gather_at(struct gather *g, size_t i);
uint32_t gather_text(struct gather *g, const char *text, size_t n); /* returns the number of a text; NULL counts as "" */
const char *gather_text_of(const struct gather *g, uint32_t number);
/* Returns the next job, in the order of gather_job(); false: the last was returned. */
bool gather_next(struct gather *g, struct orr_trace_job *row);
/* As gather_next(), for a reader with the option unknown_runtime: returns 1 and a job, or 0 after the last. Jobs without a duration are
 * returned (MAPPED_KEEP) or counted in *left_out (MAPPED_DROP); for MAPPED_ERROR returns -1, and the caller reports *row. */
int gather_next_known(struct gather *g, enum mapped_unknown unknown, uint64_t *left_out, struct orr_trace_job *row);

#endif

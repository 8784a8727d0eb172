/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_format.h - what readers of request formats share
 *
 * A request format is a struct trace_format (traces/format.h) whose `request` is set: sniffing, options, packing and
 * messages are those of all traces. Its state and the texts and hashes of a row belong to the reader and are good
 * until its next row.
 */
#ifndef ORR_TRACES_REQ_FORMAT_H
#define ORR_TRACES_REQ_FORMAT_H

#include "traces/format.h"
#include "traces/requests.h"
#include "traces/table.h"

struct req_row {
	const char *id, *model; /* NULL: the row's number; the only model */
	int64_t arrival_ns, slo_ns;
	uint64_t session;
	uint32_t samples, prompt_tokens, output_tokens, max_output, priority;
	uint32_t n_blocks;
	const uint64_t *block;
};

enum { REQUEST_MAX_BLOCKS = 1 << 20, REQUEST_MAX_PRIORITY = 1000000000 };
#define REQUEST_MAX_SESSION INT64_C(1000000000000)
#define REQUEST_MAX_REPEAT 1e6

/* What every format of requests understands; reqset_from() does it. */
#define REQUEST_PARAMS                                                                                      \
	ORR_PARAM_INT("first", "0", 0, 1e12, "only so many requests, the first to arrive; 0: all"),         \
		ORR_PARAM_INT("repeat", "1", 1, REQUEST_MAX_REPEAT, "the trace so many times, end to end"), \
		ORR_PARAM_REAL("compress", "1", 1e-6, 1e6, "arrival times divided by this: 2 is twice the rate")

/* As reqset_from(), but t stays open. */
struct reqset *reqset_read(struct trace *t, const char *source, struct orr_error *err);

/* Seconds from the trace's start. */
static inline int64_t request_arrival(struct table *t, size_t column)
{
	return table_seconds(t, column, 0, TRACE_MAX_SECONDS);
}

/* "8" or "8.0": simulators write their counts as either. */
static inline uint32_t request_tokens(struct table *t, size_t column)
{
	return (uint32_t)table_count(t, column, 0, REQUEST_MAX_TOKENS);
}

#endif

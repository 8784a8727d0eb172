/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * req_format.h - shared by the formats of requests
 *
 * A format of requests is a struct trace_format (traces/format.h) of kind TRACE_REQUESTS. Texts and hashes of a row belong
 * to the reader and are valid until its next row.
 */
#ifndef ORR_TRACES_REQ_FORMAT_H
#define ORR_TRACES_REQ_FORMAT_H

#include "traces/format.h"
#include "traces/requests.h"
#include "traces/table.h"

struct req_row {
	const char *id, *model; /* id NULL: the number of the row; model NULL: the only model */
	int64_t arrival_ns, slo_ns;
	uint64_t session;
	uint32_t samples, prompt_tokens, output_tokens, max_output, priority;
	uint32_t n_blocks;
	const uint64_t *block;
};

enum { REQUEST_MAX_BLOCKS = 1 << 20, REQUEST_MAX_PRIORITY = 1000000000 };
#define REQUEST_MAX_SESSION INT64_C(1000000000000)
#define REQUEST_MAX_REPEAT 1e6

/* Parameters of every format of requests, applied by reqset_from(). */
#define REQUEST_PARAMS                                                                                  \
	ORR_PARAM_INT("first", "0", 0, 1e12, "number of requests, in order of arrival; 0: all"),        \
		ORR_PARAM_INT("repeat", "1", 1, REQUEST_MAX_REPEAT, "copies of the trace, end to end"), \
		ORR_PARAM_REAL("compress", "1", 1e-6, 1e6, "divisor of arrival times: 2 doubles the rate")

/* Like reqset_from(), but t stays open. */
struct reqset *reqset_read(struct trace *t, const char *source, struct orr_error *err);

/* Reads seconds since the start of the trace. */
static inline int64_t request_arrival(struct table *t, size_t column)
{
	return table_seconds(t, column, 0, TRACE_MAX_SECONDS);
}

/* Reads "8" or "8.0", because simulators write both. */
static inline uint32_t request_tokens(struct table *t, size_t column)
{
	return (uint32_t)table_count(t, column, 0, REQUEST_MAX_TOKENS);
}

#endif

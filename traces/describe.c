/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/avail_profile.h"
#include "traces/profile.h"
#include "traces/req_profile.h"

/* Describes jobs whose load the options scale. */
static int describe_scaled(struct trace *t, struct trace_profile *p, struct orr_error *err)
{
	struct orr_trace_job row;
	struct jobset *s = jobset_read(t, trace_name(t), err);
	for (uint64_t i = 0; s && i < jobset_count(s); i++) {
		jobset_row(s, jobset_at(s, i), &row);
		trace_profile_add(p, &row, NULL, NULL);
	}
	if (s)
		trace_profile_finish(p, false);
	jobset_free(s);
	return s ? 0 : -1;
}

int trace_describe(struct trace *t, struct trace_profile *p, struct orr_error *err)
{
	switch (trace_kind(t)) {
	case TRACE_REQUESTS:
		return req_profile_trace(t, p, err);
	case TRACE_AVAIL:
		return avail_profile_trace(t, p, err);
	default:
		return trace_is_scaled(t) ? describe_scaled(t, p, err) : trace_profile_rows(t, p, err);
	}
}

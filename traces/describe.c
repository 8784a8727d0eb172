/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/avail_profile.h"
#include "traces/req_profile.h"

int trace_describe(struct trace *t, struct trace_profile *p, struct orr_error *err)
{
	switch (trace_kind(t)) {
	case TRACE_REQUESTS:
		return req_profile_trace(t, p, err);
	case TRACE_AVAIL:
		return avail_profile_trace(t, p, err);
	default:
		return trace_profile_rows(t, p, err);
	}
}

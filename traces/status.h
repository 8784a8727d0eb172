/* SPDX-License-Identifier: GPL-3.0-or-later */
/* status.h - how a job ended when the trace was recorded, from the words that traces use (docs/reference/traces-jobs.md) */
#ifndef ORR_TRACES_STATUS_H
#define ORR_TRACES_STATUS_H

enum trace_status {
	TRACE_STATUS_NONE, /* not recorded */
	TRACE_STATUS_COMPLETED,
	TRACE_STATUS_FAILED,
	TRACE_STATUS_KILLED,
	TRACE_STATUS_OTHER, /* still running or waiting at the end of the trace, or an unknown word */
	TRACE_STATUSES
};

/* Returns the status of a text: a word in any case, or a code of the Standard Workload Format; NULL or empty: none. */
enum trace_status trace_status_of(const char *text);

#endif

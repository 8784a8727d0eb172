/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/status.h"

#include <stddef.h>
#include <strings.h>

/* Codes of the Standard Workload Format, version 2.2, field 11. Code 2 is a part of a job that continues, so it is OTHER. */
static const struct {
	const char *text;
	enum trace_status status;
} words[] = { { "1", TRACE_STATUS_COMPLETED }, { "3", TRACE_STATUS_COMPLETED }, { "completed", TRACE_STATUS_COMPLETED },
	{ "complete", TRACE_STATUS_COMPLETED }, { "succeeded", TRACE_STATUS_COMPLETED }, { "success", TRACE_STATUS_COMPLETED },
	{ "pass", TRACE_STATUS_COMPLETED }, { "passed", TRACE_STATUS_COMPLETED }, { "finished", TRACE_STATUS_COMPLETED },
	{ "done", TRACE_STATUS_COMPLETED }, { "terminated", TRACE_STATUS_COMPLETED }, { "0", TRACE_STATUS_FAILED },
	{ "4", TRACE_STATUS_FAILED }, { "failed", TRACE_STATUS_FAILED }, { "failure", TRACE_STATUS_FAILED },
	{ "fail", TRACE_STATUS_FAILED }, { "error", TRACE_STATUS_FAILED }, { "node_fail", TRACE_STATUS_FAILED },
	{ "out_of_memory", TRACE_STATUS_FAILED }, { "timeout", TRACE_STATUS_FAILED }, { "boot_fail", TRACE_STATUS_FAILED },
	{ "deadline", TRACE_STATUS_FAILED }, { "5", TRACE_STATUS_KILLED }, { "killed", TRACE_STATUS_KILLED },
	{ "cancelled", TRACE_STATUS_KILLED }, { "canceled", TRACE_STATUS_KILLED } };

enum trace_status trace_status_of(const char *text)
{
	if (!text || !*text)
		return TRACE_STATUS_NONE;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcasecmp(text, words[i].text))
			return words[i].status;
	return TRACE_STATUS_OTHER;
}

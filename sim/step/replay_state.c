/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors of a replay, and ends of nodes. */
#include "step/replay_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void replay_fail(struct replay *r, uint32_t rank, uint32_t node, const char *format, ...)
{
	char text[420];
	va_list ap;
	if (r->err.code)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	const struct chakra_rank *k = r->rank[rank].trace;
	orr_fail(&r->err, ORR_EINPUT, "%.250s: rank %u: node %" PRIu64 ": %s", k->path, rank, k->node[node].id, text);
}

void replay_end_at(struct replay *r, int64_t t_ns, uint32_t rank, uint32_t node)
{
	if (t_ns >= REPLAY_END || t_ns < 0)
		replay_fail(r, rank, node, "would end after 2^62 ns: expected shorter durations, or a faster network");
	else
		eng_at(r->engine, t_ns, 0, r->node_ends, r, rank, node);
}

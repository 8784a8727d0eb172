/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of the times of requests (--record explain): sums over whole runs, and hand-made cases.
 *
 * In the hand-made cases an iteration of T tokens takes 10 + T ms; a decode is one token.
 */
#include "results/parts.h"
#include "tests/serve/llm_run.h"
#include "tests/serve/serve_replay.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca, orr_policy_serve_mlfq,
	orr_policy_serve_splitwise, orr_policy_serve_fastertransformer, orr_policy_serve_fifo, orr_policy_serve_clipper,
	orr_policy_serve_tf_serving, orr_policy_serve_nexus, orr_policy_serve_clockwork;

static struct orr_error err;

/* ---- sums ---- */

static int64_t ns(double s)
{
	return llrint(s * 1e9);
}

/* Returns the number of requests whose parts do not cover [arrival, end] without a gap and without overlap. */
static size_t count_wrong(const struct run_result *r)
{
	size_t wrong = 0, at = 0;
	for (size_t i = 0; i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		int64_t end = ns(q->arrival_s);
		for (at = 0; at < r->n_parts; at++) { /* rows are in order of subjects; the search starts at a guess */
			if (r->parts[at].subject == q->number)
				break;
		}
		bool is_good = true;
		for (; at < r->n_parts && r->parts[at].subject == q->number; at++) {
			is_good &= r->parts[at].begin_ns == end && r->parts[at].end_ns > end && !strcmp(r->parts[at].entity, "request");
			end = r->parts[at].end_ns;
		}
		is_good &= q->status != REQUEST_COMPLETED || end == ns(q->completed_s);
		wrong += !is_good;
	}
	return wrong;
}

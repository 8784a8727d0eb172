/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remarks of a run: refused and shed requests with reasons, lost answers, and rows of the trace that lacked values. */
#include "serve/remarks.h"

#include "serve/fleet.h"
#include "serve/metrics.h"

#include "base/sbuf.h"

#include <math.h>

/* ---- reasons ---- */

/* Names the context of the only language model: "llama2-7b: 4096 tokens of prompt and output". */
static void put_context(const struct orr_serve *w, struct sbuf *b)
{
	const struct served *only = NULL;
	for (uint32_t m = 0; m < w->config->n_models; m++) {
		const struct served *x = w->config->model[m];
		if (!x->longest)
			continue;
		if (only) {
			sbuf_puts(b, "longer than the context of their model");
			return;
		}
		only = x;
	}
	if (only)
		sbuf_printf(b, "longer than the context of %.80s (%u tokens of prompt and output)", only->name, only->longest);
}

/* Returns the tokens of the largest KV cache so far of a replica without this role; NAN: none yet. */
static double largest_cache(const struct orr_serve *w, enum orr_replica_role role)
{
	double most = NAN;
	for (uint32_t d = 0; d < w->config->n_deployments; d++)
		if (w->set->roles_adapt || w->config->deployment[d].role != role)
			most = fmax(most, w->fleet->part[d].kv_tokens);
	return most;
}

static void put_cache(const struct orr_serve *w, struct sbuf *b)
{
	double prompt = largest_cache(w, ORR_ROLE_DECODE), whole = largest_cache(w, ORR_ROLE_PREFILL);
	sbuf_puts(b, "larger than the KV cache of a replica");
	if (prompt < whole || prompt > whole)
		sbuf_printf(b, " (%.0f tokens for the prompt, %.0f for prompt and output)", prompt, whole);
	else if (!isnan(prompt) || !isnan(whole))
		sbuf_printf(b, " (%.0f tokens)", fmax(prompt, whole));
}

static void put_policy(const struct orr_serve *w, enum orr_req_end how, struct sbuf *b)
{
	const struct serve_metrics *m = w->metrics;
	const char *before = ": ";
	sbuf_puts(b, "by the policy");
	for (uint32_t i = 0; i < m->n_policy_reason; i++) {
		if (m->policy_reason[i].how != how)
			continue;
		sbuf_printf(b, "%s%s", before, m->policy_reason[i].text);
		before = "; ";
	}
}

static void put_reason(const struct orr_serve *w, enum orr_req_end how, enum req_reason why, struct sbuf *b)
{
	switch (why) {
	case REASON_CONTEXT:
		put_context(w, b);
		return;
	case REASON_KV:
		put_cache(w, b);
		return;
	case REASON_BATCH:
		sbuf_puts(b, "of a size or length that the model's table lacks");
		return;
	case REASON_MEMORY:
		sbuf_puts(b, "larger than the memory of a replica");
		return;
	case REASON_NO_REPLICA:
		sbuf_puts(b, "for a model that no deployment serves");
		return;
	case REASON_QUEUE_LIMIT:
		sbuf_printf(b, "by serve.queue_limit=%llu", (unsigned long long)w->set->queue_limit);
		return;
	case REASON_DEADLINE:
		sbuf_printf(b, "by serve.shed=%s", w->set->shed == SHED_LATE ? "late" : "hopeless");
		return;
	default:
		put_policy(w, how, b);
	}
}

/* Adds "12 of 400 requests were refused: 10 longer than ..; 2 .." */
static void remark_on(struct orr_serve *w, enum orr_req_end how, const char *verb, uint64_t n, const uint64_t *by)
{
	struct sbuf b = { 0 };
	const char *before = "";
	if (!n)
		return;
	sbuf_printf(&b, "%llu of %llu requests were %s: ", (unsigned long long)n, (unsigned long long)w->metrics->arrived, verb);
	for (int why = REASON_NONE + 1; why < REASONS; why++) {
		if (!by[why])
			continue;
		sbuf_printf(&b, "%s%llu ", before, (unsigned long long)by[why]);
		put_reason(w, how, (enum req_reason)why, &b);
		before = "; ";
	}
	result_note(w->result, "remark", sbuf_text(&b));
	sbuf_free(&b);
}

static void remark_on_tokens(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	struct sbuf b = { 0 };
	if (!m->without_tokens)
		return;
	sbuf_printf(&b, "%llu of %llu requests have no prompt or no output tokens in the trace and count as one token of each",
		(unsigned long long)m->without_tokens, (unsigned long long)m->arrived);
	result_note(w->result, "remark", sbuf_text(&b));
	sbuf_free(&b);
}

/* Adds remarks on answers that never came and on requests that completed without them. */
static void remark_on_answers(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	struct sbuf b = { 0 };
	if (m->answers_lost) {
		sbuf_printf(&b, "%llu of %llu answers were lost by serve.loss", (unsigned long long)m->answers_lost,
			(unsigned long long)(m->answers + m->answers_lost));
		result_note(w->result, "remark", sbuf_text(&b));
		sbuf_clear(&b);
	}
	if (m->completed_partial) {
		sbuf_printf(&b, "%llu of %llu completed requests have only part of their answers", (unsigned long long)m->completed_partial,
			(unsigned long long)m->completed);
		result_note(w->result, "remark", sbuf_text(&b));
	}
	sbuf_free(&b);
}

bool remarks_begin_is_late(double begin_s, double end_s, uint64_t requests)
{
	static const double least_share = 0.2, least_gaps = 10;
	double mean_gap_s = (end_s - begin_s) / (double)(requests ? requests : 1);
	return begin_s > least_share * end_s && begin_s > least_gaps * mean_gap_s;
}

void remarks_put_begin(struct sbuf *b, const char *what, double begin_s, double end_s)
{
	sbuf_printf(b, "%s the %.0f s before the first request, %.3g %% of the run (orrery trace slice --rebase begins a trace at 0)", what,
		begin_s, 100 * begin_s / end_s);
}

/* Adds that times of the fleet include a long time before the first request, as in a part of a trace that keeps its times. */
static void remark_on_start(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	double end_s = fmax(m->last_end_s, w->now_s);
	struct sbuf b = { 0 };
	if (!m->has_begun || !remarks_begin_is_late(m->begun_s, end_s, m->arrived))
		return;
	remarks_put_begin(&b, "GPU hours, cost, utilisation and mean use of memory include", m->begun_s, end_s);
	result_note(w->result, "remark", sbuf_text(&b));
	sbuf_free(&b);
}

/* Adds that rates include a long time after the last arrival, in which the load ends. If this time is longer than that of the arrivals, the
 * trace is a burst or the load exceeds the capacity, and the rates are those of the work. */
static void remark_on_end(struct orr_serve *w)
{
	static const double least_share = 0.1, least_requests = 50;
	const struct serve_metrics *m = w->metrics;
	double arrivals_s = m->last_arrival_s - m->begun_s, after_s = m->last_end_s - m->last_arrival_s;
	struct sbuf b = { 0 };
	if ((double)m->arrived < least_requests || after_s > arrivals_s || after_s < least_share * (arrivals_s + after_s))
		return;
	sbuf_printf(&b,
		"requests/s, other rates and cost per token include the %.3g s after the last arrival, %.3g %% of the run: more requests "
		"bring "
		"them closer to those of a steady load",
		after_s, 100 * after_s / (arrivals_s + after_s));
	result_note(w->result, "remark", sbuf_text(&b));
	sbuf_free(&b);
}

/* Adds that replicas took no time to start: with the default of serve.start_up, autoscaling follows the load without a delay. */
static void remark_on_cold_starts(struct orr_serve *w)
{
	struct sbuf b = { 0 };
	if (!w->fleet->at_once)
		return;
	sbuf_printf(&b,
		"replicas added after the start: %llu, which served at once (serve.start_up=0): no time to get GPUs and to load weights "
		"is counted",
		(unsigned long long)w->fleet->at_once);
	result_note(w->result, "remark", sbuf_text(&b));
	sbuf_free(&b);
}

void serve_remarks(struct orr_serve *w)
{
	const struct serve_metrics *m = w->metrics;
	remark_on(w, ORR_REQ_REFUSED, "refused", m->refused, m->refused_by);
	remark_on(w, ORR_REQ_SHED, "shed", m->shed, m->shed_by);
	remark_on_tokens(w);
	remark_on_answers(w);
	remark_on_start(w);
	remark_on_end(w);
	remark_on_cold_starts(w);
}

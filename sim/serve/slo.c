/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/slo.h"

#include "base/num.h"
#include "serve/metrics.h"
#include "serve/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int slo_parse(const char *flag, const char *text, struct slo *out, struct orr_error *err)
{
	static const char *const names[] = { "ttft", "tpot", "e2e", NULL };
	double *const limit[] = { &out->ttft_s, &out->tpot_s, &out->e2e_s };
	*out = (struct slo){ INFINITY, INFINITY, INFINITY, TBT_TPOT };
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ","), name = strcspn(p, "=,");
		int64_t ns = 0;
		int i = 0;
		while (names[i] && (strlen(names[i]) != name || memcmp(names[i], p, name) != 0))
			i++;
		if (!names[i] || name == n || !num_duration_ns(p + name + 1, n - name - 1, &ns) || ns <= 0)
			return orr_fail(err, ORR_EINPUT, "--%s: expected ttft=TIME, tpot=TIME or e2e=TIME, comma-separated, found \"%.*s\"",
				flag, (int)(n < 80 ? n : 80), p);
		if (isfinite(*limit[i]))
			return orr_fail(err, ORR_EINPUT, "--%s: %s is given twice: expected it once", flag, names[i]);
		*limit[i] = (double)ns / 1e9;
		p += n + (p[n] == ',');
	}
	if (!isfinite(out->ttft_s) && !isfinite(out->tpot_s) && !isfinite(out->e2e_s))
		return orr_fail(err, ORR_EINPUT, "--%s: expected ttft=TIME, tpot=TIME or e2e=TIME, comma-separated, found nothing", flag);
	return ORR_OK;
}

/* Counts of completed requests by the limit that they miss. */
struct missed {
	bool ttft, tpot, e2e;
};

static struct missed missed_by(const struct slo *s, const struct request_row *q)
{
	/* A request without tokens counts the whole answer as the first token. */
	double first_s = isnan(q->first_token_s) ? q->completed_s : q->first_token_s;
	uint32_t omitted = s->tbt == TBT_SPLITWISE ? 0 : 1; /* number of output tokens that do not count */
	return (struct missed){ .ttft = serve_misses(first_s - q->arrival_s, s->ttft_s),
		.tpot = q->output_tokens > omitted && serve_misses((q->completed_s - first_s) / (q->output_tokens - omitted), s->tpot_s),
		.e2e = serve_misses(q->completed_s - q->arrival_s, s->e2e_s) };
}

static bool keeps(const struct slo *s, const struct request_row *q)
{
	struct missed m = missed_by(s, q);
	return q->status == REQUEST_COMPLETED && !m.ttft && !m.tpot && !m.e2e;
}

double slo_attainment(const struct slo *s, const struct request_row *rows, size_t n)
{
	size_t good = 0;
	for (size_t i = 0; i < n; i++)
		good += keeps(s, &rows[i]);
	return n ? (double)good / (double)n : NAN;
}

double slo_arrivals_span(const struct request_row *rows, size_t n)
{
	double sum_s = 0, completed = 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].status == REQUEST_COMPLETED) {
			sum_s += rows[i].completed_s - rows[i].arrival_s;
			completed++;
		}
	return sum_s > 0 ? (rows[n - 1].arrival_s - rows[0].arrival_s) / (sum_s / completed) : NAN;
}

void slo_count(const struct slo *s, const struct request_row *rows, size_t n, struct slo_misses *sum)
{
	sum->requests += (double)n;
	for (size_t i = 0; i < n; i++) {
		const struct request_row *q = &rows[i];
		struct missed m = missed_by(s, q);
		if (q->status == REQUEST_COMPLETED) {
			sum->completed++;
			sum->ttft += m.ttft;
			sum->tpot += m.tpot;
			sum->e2e += m.e2e;
		}
	}
}

void slo_count_reasons(const struct run_result *r, struct slo_misses *sum)
{
	static const char *const metric[REASONS] = { [REASON_CONTEXT] = "refused_context",
		[REASON_KV] = "refused_kv_cache",
		[REASON_BATCH] = "refused_batch_size",
		[REASON_MEMORY] = "refused_memory",
		[REASON_NO_REPLICA] = "refused_no_replica",
		[REASON_QUEUE_LIMIT] = "shed_queue_limit",
		[REASON_DEADLINE] = "shed_deadline",
		[REASON_POLICY] = "refused_policy" };
	const struct metric *shed = result_find(r, "shed_policy");
	for (int why = REASON_NONE + 1; why < REASONS; why++) {
		const struct metric *m = result_find(r, metric[why]);
		sum->turned_away[why] += m ? m->value : 0;
	}
	sum->turned_away[REASON_POLICY] += shed ? shed->value : 0;
}

static double unanswered(const struct slo_misses *m)
{
	return m->requests - m->completed;
}

double slo_never(const struct slo_misses *m)
{
	static const enum req_reason always[] = { REASON_CONTEXT, REASON_KV, REASON_BATCH, REASON_MEMORY, REASON_NO_REPLICA };
	double n = 0;
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		n += m->turned_away[always[i]];
	return m->requests > 0 ? n / m->requests : 0;
}

const char *slo_bound(const struct slo_misses *m)
{
	double of_rate = unanswered(m) - slo_never(m) * m->requests, most = fmax(fmax(m->ttft, m->tpot), fmax(m->e2e, of_rate));
	if (!(unanswered(m) + m->ttft + m->tpot + m->e2e > 0))
		return NULL;
	if (!(most > 0.5) || most == of_rate) /* of_rate is rounded */
		return "refused";
	return most == m->ttft ? "ttft" : most == m->tpot ? "tpot" : "e2e";
}

/* ---- output ---- */

void slo_put_number(struct sbuf *b, const char *key, double v, const char *end)
{
	char text[NUM_REAL_MAX] = "null";
	if (isfinite(v))
		num_put_real(text, v);
	sbuf_printf(b, "\"%s\": %s%s", key, text, end);
}

/* Returns the share of the completed requests that meet a limit; NAN: no such limit. */
static double kept(const struct slo_misses *m, double limit_s, double misses)
{
	return isfinite(limit_s) && m->completed > 0 ? 1 - misses / m->completed : NAN;
}

/* Appends one of the keys that begin with a side, "above_ttft_attainment". */
static void put_side(struct sbuf *b, const char *side, const char *what, double v)
{
	char key[48];
	snprintf(key, sizeof key, "%s_%s", side, what);
	slo_put_number(b, key, v, ", ");
}

void slo_put_bound_json(struct sbuf *b, const struct slo *slo, const struct slo_misses *m, const char *bound, const char *side)
{
	const char *before = "";
	sbuf_printf(b, "\"bound\": %s%s%s, ", bound ? "\"" : "", bound ? bound : "null", bound ? "\"" : "");
	put_side(b, side, "ttft_attainment", kept(m, slo->ttft_s, m->ttft));
	put_side(b, side, "tpot_attainment", kept(m, slo->tpot_s, m->tpot));
	put_side(b, side, "e2e_attainment", kept(m, slo->e2e_s, m->e2e));
	put_side(b, side, "refused", m->requests > 0 ? unanswered(m) / m->requests : NAN);
	sbuf_printf(b, "\"%s_refused_by\": {", side);
	for (int why = REASON_NONE + 1; why < REASONS; why++) {
		if (!(m->turned_away[why] > 0))
			continue;
		sbuf_puts(b, before);
		slo_put_number(b, serve_reason_name((enum req_reason)why), m->turned_away[why] / m->requests, "");
		before = ", ";
	}
	sbuf_puts(b, "}, ");
}

/* Appends "refused 12 % (context 10 %, policy 2 %)". */
static void put_refused(struct sbuf *b, const struct slo_misses *m)
{
	const char *before = " (";
	sbuf_printf(b, "refused %.4g %%", 100 * unanswered(m) / m->requests);
	for (int why = REASON_NONE + 1; why < REASONS; why++) {
		if (!(m->turned_away[why] > 0))
			continue;
		sbuf_printf(b, "%s%s %.4g %%", before, serve_reason_name((enum req_reason)why), 100 * m->turned_away[why] / m->requests);
		before = ", ";
	}
	sbuf_puts(b, *before == ',' ? ")" : "");
}

void slo_put_bound(struct sbuf *b, const struct slo *slo, const struct slo_misses *m, const char *bound)
{
	const char *before = ": of the completed requests ";
	const struct {
		const char *name;
		double kept;
	} limit[] = { { "ttft", kept(m, slo->ttft_s, m->ttft) }, { "tpot", kept(m, slo->tpot_s, m->tpot) },
		{ "e2e", kept(m, slo->e2e_s, m->e2e) } };
	if (!bound)
		return;
	sbuf_printf(b, ", bound by %s", strcmp(bound, "refused") ? bound : "refused requests");
	for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
		if (isnan(limit[i].kept))
			continue;
		sbuf_printf(b, "%s%.4g %% keep %s", before, 100 * limit[i].kept, limit[i].name);
		before = ", ";
	}
	if (unanswered(m) > 0) {
		sbuf_puts(b, "; ");
		put_refused(b, m);
	}
}

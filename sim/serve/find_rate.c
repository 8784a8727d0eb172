/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/find_rate.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"
#include "serve/metrics.h"
#include "serve/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 20000000 };

/* ---- the SLO ---- */

int slo_parse(const char *text, struct slo *out, struct orr_error *err)
{
	static const char *const names[] = { "ttft", "tpot", "e2e", NULL };
	double *const limit[] = { &out->ttft_s, &out->tpot_s, &out->e2e_s };
	*out = (struct slo){ INFINITY, INFINITY, INFINITY };
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ","), name = strcspn(p, "=,");
		int64_t ns = 0;
		int i = 0;
		while (names[i] && (strlen(names[i]) != name || memcmp(names[i], p, name) != 0))
			i++;
		if (!names[i] || name == n || !num_duration_ns(p + name + 1, n - name - 1, &ns) || ns <= 0)
			return orr_fail(err, ORR_EINPUT,
				"--find-rate: expected ttft=TIME, tpot=TIME or e2e=TIME, comma-separated, found \"%.*s\"",
				(int)(n < 80 ? n : 80), p);
		if (isfinite(*limit[i]))
			return orr_fail(err, ORR_EINPUT, "--find-rate: %s is given twice: expected it once", names[i]);
		*limit[i] = (double)ns / 1e9;
		p += n + (p[n] == ',');
	}
	if (!isfinite(out->ttft_s) && !isfinite(out->tpot_s) && !isfinite(out->e2e_s))
		return orr_fail(err, ORR_EINPUT, "--find-rate: expected ttft=TIME, tpot=TIME or e2e=TIME, comma-separated, found nothing");
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
	return (struct missed){ .ttft = first_s - q->arrival_s > s->ttft_s,
		.tpot = q->output_tokens >= 2 && (q->completed_s - first_s) / (q->output_tokens - 1) > s->tpot_s,
		.e2e = q->completed_s - q->arrival_s > s->e2e_s };
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

/* ---- bisection ---- */

struct search {
	rate_try try;
	void *ctx;
	double enough;
	struct rate_found *out;
};

/* Tries a factor and moves the lower or the upper end of the bracket to it. */
static int probe(struct search *s, double factor, struct orr_error *err)
{
	struct rate_tried t = { .attainment = NAN, .rate = NAN };
	int rc = s->try(s->ctx, factor, &t, err);
	if (rc)
		return rc;
	s->out->runs++;
	if (t.attainment >= s->enough) {
		s->out->factor = factor;
		s->out->rate = t.rate;
		s->out->attainment = t.attainment;
	} else {
		s->out->above = factor;
		s->out->above_rate = t.rate;
		s->out->above_attainment = t.attainment;
		s->out->above_misses = t.misses;
		s->out->is_never = 1 - slo_never(&t.misses) < s->enough;
	}
	return ORR_OK;
}

static const double most = 0x1p20, least = 0x1p-20, climb_to = 0x1p10;

static int go_up(struct search *s, struct orr_error *err)
{
	int rc = ORR_OK;
	while (!rc && isinf(s->out->above) && s->out->factor < most)
		rc = probe(s, s->out->factor * 2, err);
	return rc;
}

/* Tries higher rates, which may fill batches sooner, for traces of which too few requests meet the SLO at their own rate and below. */
static int climb(struct search *s, struct orr_error *err)
{
	struct rate_found before = *s->out;
	int rc = ORR_OK;
	for (double factor = 2; !rc && factor <= climb_to && !(s->out->factor > 0); factor *= 2)
		rc = probe(s, factor, err);
	if (rc || !(s->out->factor > 0)) {
		before.runs = s->out->runs;
		*s->out = before;
		return rc;
	}
	s->out->above = INFINITY;
	s->out->above_rate = s->out->above_attainment = NAN;
	s->out->above_misses = (struct slo_misses){ 0 };
	return go_up(s, err);
}

int rate_search(rate_try try, void *ctx, double enough, struct rate_found *out, struct orr_error *err)
{
	struct search s = { try, ctx, enough, out };
	*out = (struct rate_found){ .above = INFINITY, .rate = NAN, .attainment = NAN, .above_rate = NAN, .above_attainment = NAN };
	int rc = probe(&s, 1, err);
	if (rc || out->is_never)
		return rc;
	if (out->factor > 0)
		rc = go_up(&s, err);
	while (!rc && !(out->factor > 0) && out->above > least)
		rc = probe(&s, out->above / 2, err);
	if (!rc && !(out->factor > 0))
		rc = climb(&s, err);
	while (!rc && out->factor > 0 && isfinite(out->above) && out->above > out->factor * (1 + FIND_RATE_STEP))
		rc = probe(&s, sqrt(out->factor * out->above), err);
	return rc;
}

/* ---- one policy of a scenario ---- */

struct attempt {
	const struct scenario *scenario;
	size_t policy;
	struct slo slo;
};

/* Returns the requests per second between the first and the last arrival. */
static double rate_of(const struct run_result *r)
{
	size_t n = r->n_requests;
	double span = n ? r->requests[n - 1].arrival_s - r->requests[0].arrival_s : 0;
	return span > 0 ? (double)(n - 1) / span : NAN;
}

static int run_at(const struct attempt *a, uint32_t k, double factor, struct run_result *r, struct orr_error *err)
{
	const struct scenario *s = a->scenario;
	const struct scenario_policy *p = &s->policy[a->policy];
	struct serve_config config = ((const struct serve_state *)s->state)->config;
	struct reqset *trace = serve_state_trace(s, factor, err);
	if (!trace)
		return err->code;
	config.requests = trace;
	config.replication = k;
	config.record_requests = true;
	config.max_rows = MAX_ROWS;
	int rc = serve_run(&config, p->entry.policy, p->args, p->label, r, err);
	reqset_free(trace);
	return rc;
}

/* Runs one replication and adds it to the sums of out. */
static int try_replication(const struct attempt *a, uint32_t k, double factor, struct rate_tried *out, struct orr_error *err)
{
	struct run_result *r = result_new();
	int rc = run_at(a, k, factor, r, err);
	if (!rc && r->n_requests < r->rows_total)
		rc = orr_fail(err, ORR_EINPUT, "--find-rate: expected a trace of at most %d requests", MAX_ROWS);
	if (!rc && r->n_requests < 2)
		rc = orr_fail(err, ORR_EINPUT, "--find-rate: expected a trace of at least two requests");
	if (!rc && factor == 1 && isnan(rate_of(r)))
		rc = orr_fail(err, ORR_EINPUT, "--find-rate: all requests arrive at the same time: expected different arrival times");
	if (!rc) {
		out->attainment += slo_attainment(&a->slo, r->requests, r->n_requests);
		out->rate += rate_of(r);
		slo_count(&a->slo, r->requests, r->n_requests, &out->misses);
		slo_count_reasons(r, &out->misses);
	}
	result_free(r);
	return rc;
}

/* Averages over the replications. */
static int try_factor(void *ctx, double factor, struct rate_tried *out, struct orr_error *err)
{
	const struct attempt *a = ctx;
	uint32_t n = a->scenario->replications;
	int rc = ORR_OK;
	*out = (struct rate_tried){ 0 };
	for (uint32_t k = 0; k < n && !rc; k++)
		rc = try_replication(a, k, factor, out, err);
	out->attainment /= n;
	out->rate /= n;
	return rc;
}

/* ---- output ---- */

static void put_number(struct sbuf *b, const char *key, double v, const char *end)
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

static const char *bound_of(const struct rate_found *f)
{
	return f->is_never ? "refused" : slo_bound(&f->above_misses);
}

static void put_bound_json(struct sbuf *b, const struct slo *slo, const struct rate_found *f)
{
	const struct slo_misses *m = &f->above_misses;
	const char *bound = bound_of(f), *before = "";
	sbuf_printf(b, "\"bound\": %s%s%s, ", bound ? "\"" : "", bound ? bound : "null", bound ? "\"" : "");
	put_number(b, "above_ttft_attainment", kept(m, slo->ttft_s, m->ttft), ", ");
	put_number(b, "above_tpot_attainment", kept(m, slo->tpot_s, m->tpot), ", ");
	put_number(b, "above_e2e_attainment", kept(m, slo->e2e_s, m->e2e), ", ");
	put_number(b, "above_refused", m->requests > 0 ? unanswered(m) / m->requests : NAN, ", ");
	sbuf_puts(b, "\"above_refused_by\": {");
	for (int why = REASON_NONE + 1; why < REASONS; why++) {
		if (!(m->turned_away[why] > 0))
			continue;
		sbuf_puts(b, before);
		put_number(b, serve_reason_name((enum req_reason)why), m->turned_away[why] / m->requests, "");
		before = ", ";
	}
	sbuf_puts(b, "}, ");
}

static void put_json(struct sbuf *b, const char *label, const struct slo *slo, const struct rate_found *f, bool is_last)
{
	cJSON *name = cJSON_CreateString(label);
	char *text = cJSON_PrintUnformatted(name);
	sbuf_printf(b, "\t\t{\"policy\": %s, ", text);
	cJSON_free(text);
	cJSON_Delete(name);
	put_number(b, "rate_per_s", f->rate, ", ");
	put_number(b, "factor", f->factor > 0 ? f->factor : NAN, ", ");
	put_number(b, "attainment", f->attainment, ", ");
	put_number(b, "above_rate_per_s", f->above_rate, ", ");
	put_number(b, "above_factor", f->above, ", ");
	put_number(b, "above_attainment", f->above_attainment, ", ");
	put_bound_json(b, slo, f);
	sbuf_printf(b, "\"runs\": %u}%s\n", f->runs, is_last ? "" : ",");
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

/* Appends "bound by ttft: completed requests keep ttft 88.2 %, tpot 99.8 %; refused 1 % (context 1 %)". */
static void put_bound(struct sbuf *b, const struct slo *slo, const struct rate_found *f)
{
	const struct slo_misses *m = &f->above_misses;
	const char *bound = bound_of(f), *before = ": of the completed requests ";
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

static void put_line(struct sbuf *b, const char *label, const struct slo *slo, const struct rate_found *f, double enough)
{
	sbuf_printf(b, "%s: ", label);
	if (!(f->factor > 0)) {
		sbuf_printf(b, "no rate was found at which %.4g %% of the requests meet the SLO (%.4g %% at %.4g requests/s, the %s tried",
			100 * enough, 100 * f->above_attainment, f->above_rate, f->is_never ? "only rate" : "lowest");
		put_bound(b, slo, f);
		sbuf_puts(b, ")");
	} else {
		sbuf_printf(b, "%.4g requests/s, %.4g times the trace's rate: %.4g %% of the requests meet the SLO", f->rate, f->factor,
			100 * f->attainment);
		if (isfinite(f->above)) {
			sbuf_printf(b, "; at %.4g requests/s %.4g %%", f->above_rate, 100 * f->above_attainment);
			put_bound(b, slo, f);
		} else {
			sbuf_puts(b, "; enough requests also meet it at every higher rate tried");
		}
	}
	sbuf_printf(b, " (%u run%s)\n", f->runs, f->runs == 1 ? "" : "s");
}

static int search_all(const struct scenario *s, const struct slo *slo, double enough, struct rate_found *found, struct orr_error *err)
{
	long n = (long)s->n_policies;
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
	int rc = ORR_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(limits_threads(world_threads(s->output), (size_t)n))
	for (long i = 0; i < n; i++) {
		struct attempt a = { s, (size_t)i, *slo };
		rate_search(try_factor, &a, enough, &found[i], &e[i]);
	}
	for (long i = 0; i < n && !rc; i++)
		if (e[i].code)
			rc = orr_fail(err, e[i].code, "%s", e[i].text);
	mem_free(e);
	return rc;
}

static void show_found(const struct scenario *s, const char *slo, const struct slo *limits, double enough, const struct rate_found *found,
	struct sbuf *out)
{
	size_t n = s->n_policies;
	if (s->output->json) {
		sbuf_printf(out, "{\n\t\"slo\": \"%s\",\n\t\"enough\": %.17g,\n\t\"rates\": [\n", slo, enough);
		for (size_t i = 0; i < n; i++)
			put_json(out, s->policy[i].label, limits, &found[i], i + 1 == n);
		sbuf_puts(out, "\t]\n}\n");
	} else if (!s->output->quiet) {
		for (size_t i = 0; i < n; i++)
			put_line(out, s->policy[i].label, limits, &found[i], enough);
	}
}

int find_rate(const struct scenario *s, const char *slo, const char *attainment, struct sbuf *out, struct orr_error *err)
{
	struct slo limits;
	double enough = 0.9;
	int rc = slo_parse(slo, &limits, err);
	if (!rc && attainment && (!num_real(attainment, strlen(attainment), &enough) || !(enough > 0) || enough > 1))
		rc = orr_fail(err, ORR_EINPUT, "--attainment: expected a share of the requests above 0 and at most 1, found \"%.40s\"",
			attainment);
	if (!rc && s->until_ns != ORR_NEVER)
		rc = orr_fail(err, ORR_EINPUT,
			"--find-rate: expected no --until, because an end of the run cuts off requests, and more of them at lower rates");
	if (!rc && orr_arg_int(s->options, "clients"))
		rc = orr_fail(err, ORR_EINPUT,
			"--find-rate: expected no serve.clients, because the rate of closed-loop users does not follow the trace");
	if (rc)
		return rc;
	struct rate_found *found = mem_zalloc(s->n_policies, sizeof *found);
	rc = search_all(s, &limits, enough, found, err);
	if (!rc)
		show_found(s, slo, &limits, enough, found, out);
	mem_free(found);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/slo_run.h"
#include "serve/remarks.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 20000000 };

/* Returns the requests per second between the first and the last arrival. */
static double rate_of(const struct run_result *r)
{
	size_t n = r->n_requests;
	double span = n ? r->requests[n - 1].arrival_s - r->requests[0].arrival_s : 0;
	return span > 0 ? (double)(n - 1) / span : NAN;
}

static double metric_of(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

static int run_at(
	const struct slo_attempt *a, uint32_t k, double factor, const uint32_t *replicas, struct run_result *r, struct orr_error *err)
{
	const struct scenario *s = a->scenario;
	const struct scenario_policy *p = &s->policy[a->policy];
	struct serve_config config = ((const struct serve_state *)s->state)->config;
	struct reqset *trace = serve_state_trace(s, factor, err);
	if (!trace)
		return err->code;
	struct serve_deployment *deployment = mem_alloc(config.n_deployments * sizeof *deployment);
	for (uint32_t d = 0; d < config.n_deployments; d++) {
		deployment[d] = config.deployment[d];
		if (replicas)
			deployment[d].replicas = replicas[d];
	}
	config.deployment = deployment;
	config.requests = trace;
	config.replication = k;
	config.record_requests = true;
	config.max_rows = MAX_ROWS;
	int rc = serve_run(&config, p->entry.policy, p->args, p->label, r, err);
	reqset_free(trace);
	mem_free(deployment);
	return rc;
}

/* Sets begin_s and end_s if the first request arrives late. */
static void find_begin(const struct run_result *r, struct slo_tried *out)
{
	double begin_s = r->requests[0].arrival_s, end_s = begin_s;
	for (size_t i = 0; i < r->n_requests; i++)
		end_s = fmax(end_s, r->requests[i].completed_s); /* fmax() ignores NaN */
	if (out->begin_s > 0 || !remarks_begin_is_late(begin_s, end_s, r->n_requests))
		return;
	out->begin_s = begin_s;
	out->end_s = end_s;
}

void slo_put_begin(struct sbuf *b, const char *label, const struct slo_tried *t)
{
	if (!(t->begin_s > 0) || !isfinite(t->usd_per_million_tokens))
		return;
	sbuf_printf(b, "%s: ", label);
	remarks_put_begin(b, "USD per million output tokens include", t->begin_s, t->end_s);
	sbuf_puts(b, "\n");
}

void slo_put_span(struct sbuf *b, const char *label, double arrivals_span, const char *answer, const char *effect)
{
	if (arrivals_span < SLO_SPAN)
		sbuf_printf(b,
			"%s: %s all requests arrive within %.3g mean latencies, too few for queues to build up: a longer trace (at least "
			"%d) %s\n",
			label, answer, arrivals_span, SLO_SPAN, effect);
}

/* Runs one replication and adds it to the sums of out. */
static int run_replication(
	const struct slo_attempt *a, uint32_t k, double factor, const uint32_t *replicas, struct slo_tried *out, struct orr_error *err)
{
	struct run_result *r = result_new();
	struct slo slo = a->slo;
	slo.tbt = strcmp(orr_arg_text(a->scenario->options, "tbt"), "splitwise") ? TBT_TPOT : TBT_SPLITWISE;
	int rc = run_at(a, k, factor, replicas, r, err);
	if (!rc && r->n_requests < r->rows_total)
		rc = orr_fail(err, ORR_EINPUT, "--%s: expected a trace of at most %d requests", a->flag, MAX_ROWS);
	if (!rc && r->n_requests < 2)
		rc = orr_fail(err, ORR_EINPUT, "--%s: expected a trace of at least two requests", a->flag);
	if (!rc && factor == 1 && isnan(rate_of(r)))
		rc = orr_fail(err, ORR_EINPUT, "--%s: all requests arrive at the same time: expected different arrival times", a->flag);
	if (!rc) {
		double share = slo_attainment(&slo, r->requests, r->n_requests), duration = metric_of(r, "duration");
		out->attainment += share;
		out->rate += rate_of(r);
		out->arrivals_span += slo_arrivals_span(r->requests, r->n_requests);
		out->good_rate += duration > 0 ? share * (double)r->n_requests / duration : NAN;
		out->usd += metric_of(r, "usd");
		out->gpu_hours += metric_of(r, "gpu_hours");
		out->usd_per_million_tokens += metric_of(r, "usd_per_million_tokens");
		find_begin(r, out);
		slo_count(&slo, r->requests, r->n_requests, &out->misses);
		slo_count_reasons(r, &out->misses);
	}
	result_free(r);
	return rc;
}

int slo_run(const struct slo_attempt *a, double factor, const uint32_t *replicas, struct slo_tried *out, struct orr_error *err)
{
	uint32_t n = a->scenario->replications;
	int rc = ORR_OK;
	*out = (struct slo_tried){ 0 };
	for (uint32_t k = 0; k < n && !rc; k++)
		rc = run_replication(a, k, factor, replicas, out, err);
	double *const mean[] = { &out->attainment, &out->rate, &out->arrivals_span, &out->good_rate, &out->usd, &out->gpu_hours,
		&out->usd_per_million_tokens };
	for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
		*mean[i] /= n;
	return rc;
}

int slo_search_all(struct scenario *s, isolate_work search, const struct slo_search *in, void *found, size_t size, bool *is_found,
	struct orr_error *err)
{
	long n = (long)s->n_policies;
	struct orr_error *e = mem_zalloc((size_t)n, sizeof *e);
	bool is_isolated = false;
	for (long i = 0; i < n; i++)
		is_isolated |= isolate_has(&s->policy[i]);
	int rc = is_isolated ? isolate_start(err) : ORR_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(limits_threads(world_threads(s->output), (size_t)n)) if (!rc)
	for (long i = 0; i < n; i++)
		is_found[i] = !rc && !isolate_call(s, (size_t)i, search, in, sizeof *in, (char *)found + (size_t)i * size, size, &e[i]);
	isolate_stop();
	for (long i = 0; i < n && !rc; i++)
		if (e[i].code)
			rc = orr_fail(err, e[i].code, "%s", e[i].text);
	mem_free(e);
	return rc;
}

size_t slo_last_found(const struct scenario *s, const bool *is_found)
{
	size_t i = s->n_policies;
	while (i-- && !is_found[i])
		;
	return i;
}

int slo_parse_share(const char *text, double *enough, struct orr_error *err)
{
	*enough = 0.9;
	if (text && (!num_real(text, strlen(text), enough) || !(*enough > 0) || *enough > 1))
		return orr_fail(
			err, ORR_EINPUT, "--attainment: expected a share of the requests above 0 and at most 1, found \"%.40s\"", text);
	return ORR_OK;
}

int slo_check_scenario(const struct scenario *s, const char *flag, struct orr_error *err)
{
	if (s->until_ns != ORR_NEVER)
		return orr_fail(err, ORR_EINPUT,
			"--%s: expected no --until, because an end of the run cuts off requests, and more of them at lower rates", flag);
	if (orr_arg_int(s->options, "clients"))
		return orr_fail(err, ORR_EINPUT,
			"--%s: expected no serve.clients, because the rate of closed-loop users does not follow the trace", flag);
	return ORR_OK;
}

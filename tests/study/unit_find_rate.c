/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for a rate under an SLO, and means and ratios over replications. */
#include "serve/find_rate.h"
#include "world/replications.h"

#include "base/mem.h"
#include "results/estimate.h"
#include "tests/tap.h"

#include <math.h>

/* ---- the SLO ---- */

static void slo_texts(void)
{
	static const struct {
		const char *text, *why;
	} wrong[] = { { "", "found nothing" }, { "ttft", "found \"ttft\"" }, { "ttft=", "found \"ttft=\"" },
		{ "ttft=1s,e2=3s", "found \"e2=3s\"" }, { "ttft=-1s", "found \"ttft=-1s\"" }, { "tpot=0", "found \"tpot=0\"" },
		{ "ttft=1s,ttft=2s", "ttft is given twice" }, { ",", "found \"\"" }, { "e2e=x", "found \"e2e=x\"" } };
	struct orr_error err = { 0 };
	struct slo s;
	ok(!slo_parse("find-rate", "ttft=1s,tpot=100ms,e2e=0.5h", &s, &err), "an SLO is read");
	ok(s.ttft_s == 1 && s.tpot_s == 0.1 && s.e2e_s == 1800, "each limit in seconds");
	ok(!slo_parse("find-rate", "e2e=2", &s, &err) && isinf(s.ttft_s) && isinf(s.tpot_s) && s.e2e_s == 2,
		"a metric that is not named has no limit");
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		err = (struct orr_error){ 0 };
		ok(slo_parse("find-rate", wrong[i].text, &s, &err) == ORR_EINPUT && strstr(err.text, wrong[i].why), "\"%s\": %s",
			wrong[i].text, err.text);
	}
}

/* Tests six requests. The first one has its first token after 1 s and 4 more tokens at 0.1 s each. Each other request differs from it
 * in one value. */
static void attainments(void)
{
	const struct request_row good = { .arrival_s = 10, .first_token_s = 11, .completed_s = 11.4, .output_tokens = 5 };
	struct request_row q[6] = { good, good, good, good, good, good };
	q[1].first_token_s = 11.1; /* the first token is later; the other tokens take 0.075 s each */
	q[2].completed_s = 11.8;   /* the other tokens take 0.2 s each */
	q[3].status = REQUEST_SHED;
	q[4].output_tokens = 1, q[4].completed_s = 11; /* the output has one token */
	q[5].first_token_s = NAN, q[5].output_tokens = 0,
	q[5].completed_s = 10.9; /* the output has no tokens, so the answer arrives as a whole */
	struct slo all = { INFINITY, INFINITY, INFINITY, TBT_TPOT }, ttft = all, tpot = all, e2e = all;
	ttft.ttft_s = 1;
	tpot.tpot_s = 0.101;
	e2e.e2e_s = 1.41;
	near_to(slo_attainment(&all, q, 6), 5. / 6, 1e-15, "an unfinished request misses the SLO");
	near_to(slo_attainment(&ttft, q, 6), 4. / 6, 1e-15, "the first token counts from arrival; a whole answer is its own first token");
	near_to(slo_attainment(&tpot, q, 6), 4. / 6, 1e-15, "time per further token is (end - first) / (n - 1)");
	near_to(slo_attainment(&e2e, q, 6), 4. / 6, 1e-15, "e2e counts from arrival to the end");
	ok(isnan(slo_attainment(&all, q, 0)), "without requests the attained share is undefined");
}

/* ---- bisection ---- */

/* Computes M/M/1 with service rate 1 at arrival rate 0.4 x factor: P(time in system <= 3) = 1 - exp(-3 (1 - rate)). */
static int mm1(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	(void)err;
	++*(int *)ctx;
	*out = (struct slo_tried){ .rate = 0.4 * factor };
	out->attainment = out->rate < 1 ? 1 - exp(-3 * (1 - out->rate)) : 0;
	return ORR_OK;
}

static int constant(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	(void)err;
	*out = (struct slo_tried){ .rate = factor, .attainment = *(const double *)ctx };
	return ORR_OK;
}

/* Attains the SLO only at 5 to 40 times the rate of the trace. */
static int window(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	(void)ctx, (void)err;
	*out = (struct slo_tried){ .rate = factor, .attainment = factor >= 5 && factor <= 40 ? 0.95 : 0.1 };
	return ORR_OK;
}

static int broken(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	return factor > 3 ? orr_fail(err, ORR_EFAIL, "at %g", factor) : mm1(ctx, factor / 10, out, err);
}

/* At any rate, a fifth of the requests exceeds the model's context. */
static int too_long(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	(void)ctx, (void)err;
	*out = (struct slo_tried){ .rate = factor, .attainment = 0.8, .misses = { .requests = 10, .completed = 8 } };
	out->misses.turned_away[REASON_CONTEXT] = 2;
	return ORR_OK;
}

static void bounds(void)
{
	struct orr_error err = { 0 };
	struct rate_found f = { 0 };
	ok(!rate_search(too_long, NULL, 0.9, &f, &err) && f.is_never && f.runs == 1 && f.factor == 0 && f.above == 1,
		"requests that no rate lets in end the search after a run (%u)", f.runs);
	ok(!strcmp(slo_bound(&f.above_misses), "refused"), "refused requests bound the rate");
	ok(!rate_search(too_long, NULL, 0.8, &f, &err) && !f.is_never && f.factor > 1,
		"refused requests do not bound the rate if enough others are in time");
	const struct request_row good = { .first_token_s = 1, .completed_s = 2, .output_tokens = 11 }; /* 0.1 s per token after the first */
	struct request_row q[5] = { good, good, good, good, good };
	q[1].first_token_s = q[2].first_token_s = 1.5;
	q[3].status = REQUEST_REFUSED;
	struct slo slo = { 1.2, 0.11, INFINITY, TBT_TPOT }, loose = { 2, 0.09, INFINITY, TBT_TPOT };
	struct slo_misses m = { 0 };
	slo_count(&slo, q, 5, &m);
	struct run_result *r = result_new();
	result_metric(r, "refused_kv_cache", 1, NAN, NAN);
	slo_count_reasons(r, &m);
	result_free(r);
	ok(m.requests == 5 && m.completed == 4 && m.ttft == 2 && m.tpot == 0 && m.turned_away[REASON_KV] == 1,
		"misses are counted by limit");
	ok(!strcmp(slo_bound(&m), "ttft") && slo_never(&m) == 0.2, "the first token binds");
	m = (struct slo_misses){ 0 };
	slo_count(&loose, q, 5, &m);
	ok(m.tpot == 2 && !strcmp(slo_bound(&m), "tpot"), "the time per token binds");
}

static void searches(void)
{
	struct orr_error err = { 0 };
	struct rate_found f;
	int calls = 0;
	/* The share is 0.9 at the rate 1 - ln(10) / 3 and 0.5 at the rate 1 - ln(2) / 3. */
	ok(!rate_search(mm1, &calls, 0.9, &f, &err), "the search ends");
	ok(f.factor <= (1 - log(10) / 3) / 0.4 && f.above > (1 - log(10) / 3) / 0.4, "its bracket holds the true factor");
	ok(f.above <= f.factor * 1.003 && f.attainment >= 0.9 && f.above_attainment < 0.9, "the final bracket is narrow");
	near_to(f.rate, 1 - log(10) / 3, 0.01 * (1 - log(10) / 3), "the rate is that of the closed form to 1 %");
	ok(f.runs == (uint32_t)calls && calls < 25, "the search takes few runs (%d)", calls);
	ok(!rate_search(mm1, &calls, 0.5, &f, &err) && fabs(f.rate / (1 - log(2) / 3) - 1) < 0.01,
		"a rate above that of the trace is found");
	double share = 1;
	ok(!rate_search(constant, &share, 0.9, &f, &err) && f.factor > 1e5 && isinf(f.above), "a search without an upper end reports it");
	share = 0.5;
	ok(!rate_search(constant, &share, 0.9, &f, &err) && f.factor == 0 && f.above < 1e-5, "a search without a lower end reports it");
	ok(!rate_search(window, NULL, 0.9, &f, &err) && f.factor <= 40 && f.factor > 40 / 1.003 && f.above > 40,
		"if only high rates attain the SLO, the result is their upper end (%g)", f.factor);
	ok(rate_search(broken, &calls, 0.5, &f, &err) == ORR_EFAIL && !strcmp(err.text, "at 4"), "an error ends it");
}

/* ---- replications ---- */

/* Tests intervals of means. Without skewness, Hall's interval equals Student's: with 9 degrees of freedom t(0.975) is 2.262157 and
 * t(0.9825) is 2.479851 (any table). Values below 0 have no logarithm, so the upper end is that of the tail. */
static void means(void)
{
	const double v[] = { -9, -7, -5, -3, -1, 1, 3, 5, 7, 9 };
	struct interval i = estimate_mean(v, 10, ESTIMATE_REAL, 0.95);
	double error = sqrt(330. / 9 / 10);
	ok(fabs(i.mean) < 1e-12, "mean over replications");
	near_to(i.high, 2.479851 * error, 1e-6, "the upper end, with a chance of error of 1.75 %");
	near_to(-i.low, 2.262157 * error, 1e-6, "the lower end, with one of 2.5 %");
	i = estimate_mean(v, 9, ESTIMATE_REAL, 0.95);
	ok(i.mean == -1 && isnan(i.low) && isnan(i.high), "nine replications have no interval");
}

/* Tests ratios with a = 2 b + d. The d sum to 0 and have no skewness, so R = 2, the sum of squares of the residuals is 10, and the
 * mean of b is 5. The larger upper end is that from the logarithm. */
static void ratios(void)
{
	double a[10], b[10];
	for (int k = 0; k < 10; k++) {
		b[k] = k / 2 == 2 ? 5 : k / 2 + 3;
		a[k] = 2 * b[k] + (k % 2 ? 1 : -1);
	}
	struct interval i = estimate_ratio(a, b, 10, 0.95);
	double error = sqrt(10. / 9 / 10) / 5;
	near_to(i.mean, 2, 1e-15, "ratio of sums");
	near_to(i.high, 2 * exp(2.479851 * error / 2), 1e-6, "the upper end on the scale of logarithms");
	near_to(i.low, 2 - 2.262157 * error, 1e-6, "the lower end of Student's, which is lower");
	i = estimate_ratio(b, b, 10, 0.95);
	ok(i.mean == 1 && isnan(i.low) && isnan(i.high), "the ratio of a policy to itself is 1, with no interval");
}

static struct run_result *run(double x, double y)
{
	struct run_result *r = result_new();
	r->world = mem_strdup("serve");
	result_metric(r, "completion_mean", x, NAN, NAN);
	result_metric(r, "own_series", y, 0, 1);
	return r;
}

static void put_together(void)
{
	enum { N = 10 };
	struct run_result *runs[2];
	for (int p = 0; p < 2; p++) {
		struct replications *all = replications_new();
		runs[p] = run(p ? 2 : 6, 7);
		for (uint32_t k = 0; k < N; k++) {
			struct run_result *r = run(p ? 2. + k : 6. + 2 * k, k == 1 ? NAN : 7. + k);
			replications_add(all, k, r);
			result_free(r);
		}
		replications_put(all, 0.95, runs[p]);
		replications_free(all);
	}
	const struct metric *m = result_find(runs[0], "completion_mean"), *own = result_find(runs[0], "own_series");
	ok(m->value == 15 && m->ci_low < 15 && m->ci_high > 15, "a metric is the mean of all replications");
	ok(own->value == (115 - 8) / 9. && isnan(own->ci_low), "a mean is taken over the replications that have the metric");
	ok(result_find(runs[1], "replications")->value == N, "the number of replications is a metric");
	ok(runs[1]->n_series == 1 && runs[1]->series[0].n == N && runs[1]->series[0].value[2] == 4,
		"the values of all replications are a series");
	replications_compare(runs, 2, 0.95);
	/* The ratio is (6 + 8 + .. + 24) / (2 + 3 + .. + 11). */
	near_to(result_find(runs[1], "ratio_completion_mean")->value, 150. / 65, 1e-15,
		"replications of two policies are compared by their ratio");
	near_to(result_find(runs[1], "diff_completion_mean")->value, (65 - 150) / 10., 1e-14,
		"replications of two policies are compared by their difference");
	ok(!result_find(runs[0], "ratio_completion_mean") && !result_find(runs[0], "diff_completion_mean"),
		"the first run has neither ratio nor difference");
	result_free(runs[0]);
	result_free(runs[1]);
}

int main(void)
{
	slo_texts();
	attainments();
	searches();
	bounds();
	means();
	ratios();
	put_together();
	return done();
}

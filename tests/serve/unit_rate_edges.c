/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for the largest rate that meets an SLO: limits, counts of misses and the bisection, by hand on made-up functions. */
#include "serve/find_rate.h"

#include "base/param.h"

#include "tests/tap.h"

/* ---- limits ---- */

static void limits_are(const char *text, double ttft_s, double tpot_s, double e2e_s)
{
	struct slo s;
	struct orr_error err = { 0 };
	int rc = slo_parse("find-rate", text, &s, &err);
	ok(!rc && s.ttft_s == ttft_s && s.tpot_s == tpot_s && s.e2e_s == e2e_s, "\"%s\": %s", text, rc ? err.text : "its limits");
}

static void limits_fail(const char *text, const char *found)
{
	struct slo s;
	struct orr_error err = { 0 };
	int rc = slo_parse("find-rate", text, &s, &err);
	ok(rc == ORR_EINPUT && strstr(err.text, found), "\"%s\" is refused: %s", text, rc ? err.text : "no error");
}

static void check_limits(void)
{
	limits_are("ttft=1s", 1, INFINITY, INFINITY);
	limits_are("tpot=100ms", INFINITY, 0.1, INFINITY);
	limits_are("e2e=2m", INFINITY, INFINITY, 120);
	limits_are("e2e=30s,ttft=500ms,tpot=20us", 0.5, 20e-6, 30);
	limits_are("tpot=1ns,", INFINITY, 1e-9, INFINITY);
	limits_fail("", "found nothing");
	limits_fail(",ttft=1s", "found \"\"");
	limits_fail("ttft", "found \"ttft\"");
	limits_fail("ttft=", "found \"ttft=\"");
	limits_fail("ttft=0s", "found \"ttft=0s\"");
	limits_fail("ttft=1s,tpot=-1s", "found \"tpot=-1s\"");
	limits_fail("ttft=1s,tp=1s", "found \"tp=1s\"");
	limits_fail("ttft1=1s", "found \"ttft1=1s\"");
	limits_fail("e2f=1s", "found \"e2f=1s\"");
	limits_fail("ttft=1s,ttft=2s", "ttft is given twice");
	limits_fail("e2e=1s,tpot=1s,e2e=1s", "e2e is given twice");
}

/* ---- requests ---- */

static const struct slo slo = { 1, 0.5, 4, TBT_TPOT };

/* The comment is TTFT, TPOT and time to completion. */
static const struct request_row rows[] = {
	{ .arrival_s = 0, .first_token_s = 1, .completed_s = 2, .output_tokens = 3 },    /* 1, 0.5, 2: meets all limits */
	{ .arrival_s = 1, .first_token_s = 2.25, .completed_s = 3, .output_tokens = 3 }, /* 1.25, 0.375, 2 */
	{ .arrival_s = 0, .first_token_s = 0.5, .completed_s = 2, .output_tokens = 2 },  /* 0.5, 1.5, 2 */
	{ .arrival_s = 0, .first_token_s = 1, .completed_s = 5, .output_tokens = 9 },    /* 1, 0.5, 5 */
	{ .arrival_s = 0, .first_token_s = 1, .completed_s = 4, .output_tokens = 1 },    /* 1, none, 4: meets all limits */
	{ .arrival_s = 0, .first_token_s = NAN, .completed_s = 1 },                      /* no tokens, 1: meets all limits */
	{ .arrival_s = 0, .first_token_s = NAN, .completed_s = 2 },                      /* no tokens, 2: the answer counts as a token */
	{ .arrival_s = 0, .first_token_s = NAN, .completed_s = NAN, .status = REQUEST_REFUSED },
	{ .arrival_s = 0, .first_token_s = 2, .completed_s = NAN, .output_tokens = 3, .status = REQUEST_UNFINISHED },
	{ .arrival_s = 0, .first_token_s = 2, .completed_s = 8, .output_tokens = 3 },   /* 2, 3, 8: misses all limits */
	{ .arrival_s = 0, .first_token_s = 1, .completed_s = 1.5, .output_tokens = 2 }, /* 1, 0.5, 1.5: meets all limits */
};
enum { ROWS = sizeof rows / sizeof *rows };

static void check_counts(void)
{
	static const struct slo none = { INFINITY, INFINITY, INFINITY, TBT_TPOT };
	static const bool meets[ROWS] = { [0] = true, [4] = true, [5] = true, [10] = true };
	struct slo_misses sum = { 0 };
	for (size_t i = 0; i < ROWS; i++)
		ok(slo_attainment(&slo, &rows[i], 1) == meets[i], "request %zu %s", i, meets[i] ? "meets the SLO" : "misses the SLO");
	ok(slo_attainment(&slo, rows, ROWS) == 4.0 / 11, "4 of 11 requests meet the SLO");
	ok(slo_attainment(&none, rows, ROWS) == 9.0 / 11, "without limits, completed requests meet the SLO");
	ok(isnan(slo_attainment(&slo, rows, 0)), "no requests: no share");
	for (int twice = 1; twice <= 2; twice++) {
		slo_count(&slo, rows, ROWS, &sum);
		ok(sum.requests == 11 * twice && sum.completed == 9 * twice, "requests, and completed ones, of %d runs", twice);
		ok(sum.ttft == 3 * twice && sum.tpot == 2 * twice && sum.e2e == 2 * twice,
			"requests 1, 6 and 9 miss TTFT, 2 and 9 TPOT, 3 and 9 the time to completion");
	}
}

static void check_reasons(void)
{
	static const struct {
		const char *metric;
		enum req_reason why;
	} part[] = { { "refused_context", REASON_CONTEXT }, { "refused_kv_cache", REASON_KV }, { "refused_batch_size", REASON_BATCH },
		{ "refused_memory", REASON_MEMORY }, { "refused_no_replica", REASON_NO_REPLICA },
		{ "shed_queue_limit", REASON_QUEUE_LIMIT }, { "shed_deadline", REASON_DEADLINE }, { "refused_policy", REASON_POLICY },
		{ "shed_policy", REASON_POLICY } };
	enum { PARTS = sizeof part / sizeof *part };
	double want[REASONS] = { 0 };
	struct slo_misses sum = { .requests = 124 };
	struct run_result *r = result_new(), *empty = result_new();
	slo_count_reasons(empty, &sum);
	for (int i = 0; i < PARTS; i++) {
		result_metric(r, part[i].metric, 1 << i, NAN, NAN);
		want[part[i].why] += 1 << i;
	}
	for (int twice = 1; twice <= 2; twice++) {
		slo_count_reasons(r, &sum);
		for (int why = REASON_NONE; why < REASONS; why++)
			ok(sum.turned_away[why] == twice * want[why], "reason %d counts %g requests", why, twice * want[why]);
	}
	/* 2 x (1 + 2 + 4 + 8 + 16) of 124 requests can never be served. */
	ok(slo_never(&sum) == 0.5, "shares of requests refused at any rate");
	sum.requests = 0;
	ok(slo_never(&sum) == 0, "no requests: no share is refused");
	result_free(r);
	result_free(empty);
}

static void bound_is(struct slo_misses m, const char *want, const char *what)
{
	const char *got = slo_bound(&m);
	ok(want ? got && !strcmp(got, want) : !got, "%s: %s", what, got ? got : "none");
}

static void check_bound(void)
{
	bound_is((struct slo_misses){ .requests = 5, .completed = 5 }, NULL, "no request misses a limit");
	bound_is((struct slo_misses){ .requests = 9, .completed = 9, .ttft = 3, .tpot = 2, .e2e = 1 }, "ttft", "most miss TTFT");
	bound_is((struct slo_misses){ .requests = 9, .completed = 9, .ttft = 1, .tpot = 3, .e2e = 2 }, "tpot", "most miss TPOT");
	bound_is((struct slo_misses){ .requests = 9, .completed = 9, .ttft = 1, .tpot = 2, .e2e = 3 }, "e2e", "most miss the completion");
	bound_is((struct slo_misses){ .requests = 9, .completed = 9, .ttft = 1 }, "ttft", "one misses TTFT");
	bound_is((struct slo_misses){ .requests = 9, .completed = 9, .e2e = 1 }, "e2e", "one misses the completion");
	bound_is(
		(struct slo_misses){ .requests = 9, .completed = 9, .ttft = 2, .tpot = 2, .e2e = 2 }, "ttft", "ties go to the first limit");
	bound_is((struct slo_misses){ .requests = 9, .completed = 9, .tpot = 2, .e2e = 2 }, "tpot", "a tie of the last two limits");
	bound_is((struct slo_misses){ .requests = 9, .completed = 6, .ttft = 2 }, "refused", "three of nine are shed, two miss TTFT");
	bound_is((struct slo_misses){ .requests = 9, .completed = 7, .ttft = 2 }, "refused", "two are shed, two miss TTFT");
	bound_is((struct slo_misses){ .requests = 9, .completed = 8, .ttft = 2 }, "ttft", "one is shed, two miss TTFT");
	bound_is((struct slo_misses){ .requests = 8, .completed = 4, .ttft = 2, .turned_away = { [REASON_CONTEXT] = 3 } }, "ttft",
		"three of four refused requests are refused at any rate");
	bound_is((struct slo_misses){ .requests = 8, .completed = 4, .turned_away = { [REASON_KV] = 4 } }, "refused",
		"all refused requests are refused at any rate, and no limit is missed");
}

/* ---- the search ---- */

/* Attainment by factor: 1 from `from` to `to`, else `beyond`. */
struct curve {
	double from, to, beyond, never; /* never: share of the requests that is refused at any rate */
	int fails_at;                   /* number of the call that fails; 0: none */
	int calls;
	double factor[64];
};

static int try_curve(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	struct curve *c = ctx;
	if (c->calls < 64)
		c->factor[c->calls] = factor;
	if (++c->calls == c->fails_at)
		return orr_fail(err, ORR_EFAIL, "call %d", c->calls);
	out->attainment = factor >= c->from && factor <= c->to ? 1 : c->beyond;
	out->rate = 10 * factor;
	out->misses = (struct slo_misses){ .requests = 100, .completed = 100 - 100 * c->never, .ttft = factor };
	out->misses.turned_away[REASON_CONTEXT] = 100 * c->never;
	return ORR_OK;
}

static struct rate_found found;
static struct orr_error failure;

static int search(struct curve *c, double enough)
{
	memset(&found, 0x55, sizeof found);
	failure = (struct orr_error){ 0 };
	return rate_search(try_curve, c, enough, &found, &failure);
}

/* A point of the grid that has 256 points between a factor and its double. */
static double grid_point(double from, int i)
{
	return from * exp2(i / 256.0);
}

/*
 * Compares the factors tried with `first`; then with a bisection of the grid between `low` and its double `high`, until two neighbours
 * differ; then with the points 1, 2, 4 and 8 beyond them on both sides, where they were not tried before.
 */
static void search_is(struct curve c, double enough, const double *first, size_t n, double low, double high, const char *what)
{
	double want[64], from = low;
	bool was_tried[257] = { [0] = true, [256] = true };
	int below = 0, above = 256;
	size_t k = 0;
	for (; k < n; k++)
		want[k] = first[k];
	while (above - below > 1 && k < 64) {
		int middle = below + (above - below) / 2;
		double factor = grid_point(from, middle);
		want[k++] = factor;
		was_tried[middle] = true;
		*(factor >= c.from && factor <= c.to ? &below : &above) = middle;
	}
	for (int distance = 1; distance <= 8; distance *= 2)
		for (int side = 0; side < 2; side++) {
			int i = side ? below - distance : above + distance;
			if (i >= 0 && i <= 256 && !was_tried[i])
				want[k++] = grid_point(from, i);
		}
	low = grid_point(from, below);
	high = grid_point(from, above);
	int rc = search(&c, enough);
	bool same = !rc && c.calls == (int)k && found.runs == k;
	for (size_t i = 0; same && i < k; i++)
		same = fabs(c.factor[i] - want[i]) <= 1e-12 * want[i];
	ok(same && !found.is_scanned, "%s: %d factors are tried (%zu)", what, c.calls, k);
	ok(fabs(found.factor - low) <= 1e-12 * low && found.rate == 10 * found.factor && found.attainment == 1,
		"%s: the largest sufficient factor is %.6g (%.6g)", what, found.factor, low);
	ok(fabs(found.above - high) <= 1e-12 * high && found.above_rate == 10 * found.above && found.above_attainment == c.beyond &&
			found.above_misses.requests == 100 && found.above_misses.ttft == found.above && !found.is_never,
		"%s: the smallest insufficient factor is %.6g (%.6g)", what, found.above, high);
	ok(fabs(found.missed_rate - 10 * high) <= 1e-11 * high || high == grid_point(from, 256), "%s: the lowest rate that misses", what);
}

/* The share is sufficient up to 5 times the rate, and again from 5.05 to 5.1 times: the search may not stop at 5. */
static int try_gap(void *ctx, double factor, struct slo_tried *out, struct orr_error *err)
{
	(void)err;
	++*(int *)ctx;
	out->attainment = factor <= 5 || (factor >= 5.05 && factor <= 5.1) ? 1 : 0.5;
	out->rate = factor;
	return ORR_OK;
}

static void check_gap(void)
{
	struct rate_found f;
	struct orr_error err = { 0 };
	int calls = 0;
	ok(!rate_search(try_gap, &calls, 0.9, &f, &err) && f.is_scanned && f.runs == (uint32_t)calls,
		"two crossings: the points between are tried");
	ok(f.factor <= 5.1 && f.factor > 5.1 / exp2(1.0 / 256) && f.above > 5.1 && f.above < 5.1 * exp2(1.0 / 256),
		"the answer is the upper crossing (%g, %g)", f.factor, f.above);
	ok(f.missed_rate > 5 && f.missed_rate < 5.05, "the lowest rate that misses is said (%g)", f.missed_rate);
}

/* Halving 21 times ends at 2^-20. */
static size_t downwards(double *factor)
{
	size_t n = 0;
	for (; n <= 20; n++)
		factor[n] = ldexp(1, -(int)n);
	return n;
}

static void check_search(void)
{
	check_gap();
	double down[32];
	size_t n = downwards(down);
	struct curve c;
	search_is((struct curve){ .to = 5, .beyond = 0.25 }, 0.9, (double[]){ 1, 2, 4, 8 }, 4, 4, 8, "5 times the rate");
	search_is((struct curve){ .to = 0.3 }, 0.9, (double[]){ 1, 0.5, 0.25 }, 3, 0.25, 0.5, "0.3 times the rate");
	search_is(
		(struct curve){ .to = 1, .beyond = 0.5 }, 1, (double[]){ 1, 2 }, 2, 1, 2, "just the rate, and all requests are asked for");
	search_is((struct curve){ .to = ldexp(1, -20) }, 0.9, down, n, ldexp(1, -20), ldexp(1, -19), "the lowest factor");
	search_is((struct curve){ .to = 0x1.4p19 }, 0.9,
		(double[]){ 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288,
			1048576 },
		21, 524288, 1048576, "just below the highest factor");
	/* Higher rates alone suffice: 2 does not, 4 does; then 8 does and 16 does not. */
	memcpy(down + n, (double[]){ 2, 4, 8, 16 }, 4 * sizeof *down);
	search_is((struct curve){ .from = 3, .to = 10 }, 0.9, down, n + 4, 8, 16, "from 3 to 10 times the rate");

	c = (struct curve){ .to = INFINITY };
	ok(!search(&c, 0.9) && found.runs == 21 && c.calls == 21 && found.factor == 0x1p20 && found.rate == 10 * 0x1p20 &&
			found.attainment == 1 && isinf(found.above) && isnan(found.above_rate) && isnan(found.above_attainment),
		"every rate suffices: the search ends at 2^20");
	c = (struct curve){ .from = INFINITY, .beyond = 0.125 };
	ok(!search(&c, 0.9) && found.runs == 31 && c.calls == 31 && found.factor == 0 && isnan(found.rate) && isnan(found.attainment) &&
			found.above == 0x1p-20 && found.above_rate == 10 * 0x1p-20 && found.above_attainment == 0.125 &&
			found.above_misses.ttft == 0x1p-20 && c.factor[20] == 0x1p-20 && c.factor[21] == 2 && c.factor[30] == 1024,
		"no rate suffices: 2^-20 is the lowest tried, 2^10 the highest");
	c = (struct curve){ .from = 1000, .to = INFINITY };
	ok(!search(&c, 0.9) && c.calls == 41 && found.factor == 0x1p20 && isinf(found.above) && isnan(found.above_rate) &&
			isnan(found.above_attainment) && found.above_misses.ttft == 0,
		"from 2^10 on every rate suffices: nothing remains of the low rates");
	c = (struct curve){ .from = INFINITY, .never = 0.25 };
	ok(!search(&c, 0.9) && found.is_never && c.calls == 1 && found.runs == 1 && found.factor == 0 && found.above == 1,
		"a quarter is refused at any rate, so that 90 %% are out of reach: one run");
	c.calls = 0;
	ok(!search(&c, 0.75) && !found.is_never && c.calls == 31, "75 %% are within reach: all rates are tried");
	/* An error at the first call, while doubling, halving, climbing and in the bisection. */
	static const struct {
		double from, to;
		int fails_at;
	} wrong[] = { { 0, 5, 1 }, { 0, 5, 3 }, { 0, 5, 6 }, { 0, 0.1, 2 }, { 3, 10, 22 }, { 3, 10, 24 } };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char text[32];
		c = (struct curve){ .from = wrong[i].from, .to = wrong[i].to, .fails_at = wrong[i].fails_at };
		int rc = search(&c, 0.9);
		snprintf(text, sizeof text, "call %d", c.fails_at);
		ok(rc == ORR_EFAIL && c.calls == c.fails_at && !strcmp(failure.text, text) && found.runs == (uint32_t)c.fails_at - 1,
			"an error of call %d ends the search", c.fails_at);
	}
}

int main(void)
{
	check_limits();
	check_counts();
	check_reasons();
	check_bound();
	check_search();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_request_models.c - generators of requests: moments, and equal rows for equal seeds
 *
 * Tolerances are four standard errors of the estimate: with a new seed a correct generator fails once in 16,000. The seeds
 * below are fixed. A formula for a standard error is given with its source.
 */
#include "tests/tap.h"

#include "traces/draw.h"
#include "traces/generator.h"
#include "traces/requests.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <stdlib.h>
#include <time.h>

static struct orr_error err;
static uint64_t many = 400000;

static struct reqset *make(const char *source)
{
	struct reqset *s = reqset_load(source, NULL, NULL, 7, &err);
	if (!s)
		printf("# %s\n", err.text);
	return s;
}

struct moments {
	uint64_t n;
	double gap, cv, prompt, output, samples;
	int64_t last_ns;
	uint64_t unsorted;
};

static struct moments measure(const char *source)
{
	char text[512];
	snprintf(text, sizeof text, "%s%sn=%llu", source, strchr(source, ':') ? "," : ":", (unsigned long long)many);
	struct reqset *s = make(text);
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	struct moments m = { 0 };
	double squares = 0;
	while (reqcursor_next(c, &r)) {
		double gap = (double)(r.arrival_ns - m.last_ns) / 1e9;
		m.unsorted += r.arrival_ns < m.last_ns || r.number != m.n;
		m.gap += gap;
		squares += gap * gap;
		m.prompt += r.prompt_tokens;
		m.output += r.output_tokens;
		m.samples += r.samples;
		m.last_ns = r.arrival_ns;
		m.n++;
	}
	double n = (double)m.n;
	m.gap /= n, m.prompt /= n, m.output /= n, m.samples /= n;
	m.cv = sqrt(squares / n / (m.gap * m.gap) - 1);
	reqcursor_close(c);
	reqset_free(s);
	return m;
}

static void within(double got, double want, double standard_error, const char *what)
{
	bool good = fabs(got - want) <= 4 * standard_error;
	ok(good, "%s: %.6g, expected %.6g +- %.2g", what, got, want, 4 * standard_error);
}

/* ---- arrivals ---- */

/*
 * Tests n gaps with mean m, coefficient of variation c and excess kurtosis k. The mean has the standard error m c/sqrt(n); the standard
 * deviation has the relative error sqrt((k + 2)/n)/2 (Cramer, Mathematical Methods of Statistics, 27.7). For the gamma distribution k =
 * 6 c^2.
 */
static void renewal(const char *source, double rate, double cv)
{
	struct moments m = measure(source);
	double n = (double)m.n, relative = cv / sqrt(n);
	ok(m.n == many && !m.unsorted, "%s: the requested number of rows, numbered, in order of arrival", source);
	within(m.gap * rate, 1, relative, "mean gap times rate");
	within(m.cv / cv, 1, sqrt((6 * cv * cv + 2) / n) / 2 + relative, "ratio of coefficients of variation");
}

/*
 * Tests two phases with rates l1 and l2, which are left at rates s1 and s2. The mean gap is (s1 + s2) / (l1 s2 + l2 s1). Its squared
 * coefficient of variation is 1 + 2 s1 s2 (l1 - l2)^2 / ((s1 + s2)^2 (l1 l2 + l1 s2 + l2 s1)) (Fischer and Meier-Hellstern, 1993; equal
 * to -2 p (Q - L)^-1 e by hand). Gaps are correlated, so the standard error comes from 50 runs with other indices.
 */
static void mmpp(void)
{
	const double l1 = 20, l2 = 2, s1 = 1 / 0.5, s2 = 1 / 1.5;
	double gap = 0, gaps = 0, scv = 0, scvs = 0;
	enum { RUNS = 50 };
	struct reqset *s = make("mmpp:rates=20|2,durations=500ms|1.5s,n=20000");
	for (uint64_t k = 0; k < RUNS; k++) {
		struct reqcursor *c = reqset_open(s, k);
		struct request_rec r;
		double sum = 0, squares = 0, n = 0;
		int64_t last = 0;
		for (; reqcursor_next(c, &r); n++) {
			double x = (double)(r.arrival_ns - last) / 1e9;
			sum += x, squares += x * x;
			last = r.arrival_ns;
		}
		double mean = sum / n, v = squares / n / mean / mean - 1;
		gap += mean, gaps += mean * mean;
		scv += v, scvs += v * v;
		reqcursor_close(c);
	}
	reqset_free(s);
	gap /= RUNS, gaps = gaps / RUNS - gap * gap, scv /= RUNS, scvs = scvs / RUNS - scv * scv;
	double want = 1 + 2 * s1 * s2 * (l1 - l2) * (l1 - l2) / ((s1 + s2) * (s1 + s2) * (l1 * l2 + l1 * s2 + l2 * s1));
	within(gap, (s1 + s2) / (l1 * s2 + l2 * s1), sqrt(gaps / (RUNS - 1)), "mmpp: mean gap");
	within(scv, want, sqrt(scvs / (RUNS - 1)), "mmpp: squared coefficient of variation of gaps");
	ok(sqrt(gaps / (RUNS - 1)) < 0.01 * gap && sqrt(scvs / (RUNS - 1)) < 0.02 * scv,
		"mmpp: the confidence intervals of both moments are narrow");
}

/* Tests phases of 1000 s with rates 2 and 6 per second (Poisson counts: 20,000 and 60,000 in ten phases each), and 4 cyclic phases. */
static void phases(void)
{
	struct reqset *s = make("alternating:low=2,high=6,phase=1000s,n=1000000");
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	double count[2] = { 0 };
	while (reqcursor_next(c, &r) && r.arrival_ns < 20000 * ORR_SECOND)
		count[r.arrival_ns / (1000 * ORR_SECOND) % 2]++;
	reqcursor_close(c);
	reqset_free(s);
	within(count[0], 20000, sqrt(20000), "alternating: the low phase comes first");
	within(count[1], 60000, sqrt(60000), "alternating: the high phase comes second");
	/* The phases have 1/10, 2/10, 3/10 and 4/10 of the time: 6 + 0 + 3 + 2 requests per second. With cycles of 1 s four standard
	 * errors are near 1 %. */
	struct moments m = measure("mmpp:rates=60|0|10|5,durations=100ms|200ms|300ms|400ms");
	ok(fabs(1 / m.gap - (6 + 0 + 3 + 2)) < 0.02 * 11, "mmpp of four phases: %.4g a second, expected 11", 1 / m.gap);
	m = measure("periodic:rate=3");
	ok(m.last_ns == (int64_t)((double)many / 3 * 1e9 + 0.5), "periodic: rounding errors do not accumulate over %llu rows",
		(unsigned long long)m.n);
}

/* ---- content ---- */

/* Returns the mean of a piecewise logarithmic quantile table: a segment from a to b has mean (b - a)/ln(b/a). */
static double table_mean(const double *v)
{
	static const double p[] = { 0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1 };
	double sum = 0;
	for (int i = 0; i < 7; i++)
		sum += (p[i + 1] - p[i]) * (v[i + 1] - v[i]) / log(v[i + 1] / v[i]);
	return sum;
}

static void lengths(void)
{
	double n = (double)many;
	struct moments m = measure("poisson:samples=4,prompt=10-20,output=exp:200");
	within(m.samples, 4, 0, "samples=4 gives 4 in every row");
	within(m.prompt, 15, sqrt((11 * 11 - 1) / 12.) / sqrt(n), "10-20: mean of a discrete uniform law");
	/* Values are rounded to the nearest integer, at least 1. The mean of max(1, round(X)) is 1 + sum over k >= 1 of P(X > k +
	 * 1/2). */
	within(m.output, 1 + exp(-1.5 / 200) / (1 - exp(-1 / 200.)), 200 / sqrt(n), "exp:200");
	/* sigma solves p99/mean = exp(z s - s^2/2). Rounding has little effect on a mean of 1000. */
	m = measure("gamma:prompt=lognormal:1000:5000,output=azure-conv");
	double z = 2.3263478740408408, sigma = z - sqrt(z * z - 2 * log(5));
	within(m.prompt, 1000, 1000 * sqrt(exp(sigma * sigma) - 1) / sqrt(n), "lognormal:1000:5000: mean");
	static const double conv[] = { 7, 85, 129, 395, 424, 451, 601, 1000 };
	within(m.output, table_mean(conv), 163 / sqrt(n), "azure-conv: mean of the quantiles' law (sd 163 as published)");
	/* A mean below 1: values are 1, or with P(X > 1.5) above it. */
	m = measure("poisson:prompt=lognormal:0.5:2,output=10");
	sigma = z - sqrt(z * z - 2 * log(4));
	double above_1 = 0, from = log(0.5) - sigma * sigma / 2;
	for (int k = 1; k < 60; k++)
		above_1 += 0.5 * erfc((log(k + 0.5) - from) / sigma / sqrt(2));
	within(m.prompt, 1 + above_1, 0.2 / sqrt(n), "lognormal:0.5:2: mean of the rounded values");
	struct reqset *s = make("poisson:n=100000,prompt=lognormal:1000:5000,output=lognormal:35:200:128");
	struct reqcursor *c = reqset_open(s, 3);
	struct request_rec r;
	double above = 0, cut = 0, most = 0;
	while (reqcursor_next(c, &r)) {
		above += r.prompt_tokens > 5000;
		cut += r.output_tokens == 128;
		most = fmax(most, r.output_tokens);
	}
	reqcursor_close(c);
	reqset_free(s);
	within(above / 1e5, 0.01, sqrt(0.01 * 0.99 / 1e5), "one prompt in a hundred is above the 99 % quantile");
	ok(most <= 128 && cut > 1000, "values are clamped");
}

static void mixes(void)
{
	struct reqset *s = make("poisson:n=100000,model=a*3|b|c*0.5,slo=1.5s,priority=4,max_output=9,output=5-20");
	static const char *const model[] = { "a", "b", "c" };
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	double count[3] = { 0 };
	uint64_t wrong = 0;
	while (reqcursor_next(c, &r)) {
		for (uint32_t i = 0; i < 3; i++)
			count[i] += !strcmp(strtab_text(reqset_strings(s), r.model), model[i]);
		wrong += r.slo_ns != 1500000000 || r.priority != 4 || r.max_output != 9 || r.output_tokens > 9 || r.output_tokens < 5;
	}
	reqcursor_close(c);
	const double want[] = { 3 / 4.5, 1 / 4.5, 0.5 / 4.5 };
	for (int i = 0; i < 3; i++)
		within(count[i] / 1e5, want[i], sqrt(want[i] * (1 - want[i]) / 1e5), model[i]);
	ok(!wrong, "slo, priority, and no output beyond max_output");
	reqset_free(s);
}

/* The workload of Irina's simulation (Wu et al., APNet 2020): a share p is ad-hoc, uniform over three models with their samples. */
static void irina(void)
{
	struct reqset *s = make("irina:p=0.3,n=100000,slo=200ms");
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	double regular = 0, vgg = 0;
	uint64_t wrong = 0, n = 0;
	int64_t last = 0;
	for (; reqcursor_next(c, &r); n++) {
		const char *name = strtab_text(reqset_strings(s), r.model);
		uint32_t samples = !strcmp(name, "irina-yolov3") || !strcmp(name, "irina-vgg16") ? 8
				   : !strcmp(name, "irina-googlenet")                            ? 32
												 : 128;
		wrong += r.samples != samples || r.slo_ns != 200000000 || (samples == 128 && strcmp(name, "irina-alexnet"));
		regular += !strcmp(name, "irina-yolov3");
		vgg += !strcmp(name, "irina-vgg16");
		last = r.arrival_ns;
	}
	reqcursor_close(c);
	reqset_free(s);
	ok(n == 100000 && !wrong, "irina: the requested number of queries, each with the samples of its model");
	within(regular / 1e5, 0.7, sqrt(0.3 * 0.7 / 1e5), "irina: regular with probability 1 - p");
	within(vgg / 1e5, 0.1, sqrt(0.1 * 0.9 / 1e5), "irina: ad-hoc models with equal probability");
	within((double)last / 1e5, 13e6, 13e6 / sqrt(1e5), "irina: mean gap 13 ms");
	s = make("irina:arrivals=periodic,mean=13ms,n=10");
	c = reqset_open(s, 0);
	for (wrong = 0, n = 1; reqcursor_next(c, &r); n++)
		wrong += r.arrival_ns != (int64_t)n * 13000000;
	ok(!wrong && n == 11, "irina: periodic");
	reqcursor_close(c);
	reqset_free(s);
}

/* Tests cameras: regular queries arrive exactly every 13/0.75 ms, ad-hoc queries in bursts of three; together there is one query per
 * 13 ms. */
static void cameras(void)
{
	struct reqset *s = make("irina:arrivals=cameras,p=0.25,burst=3,n=100000");
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	uint64_t regulars = 0, adhocs = 0, off = 0, alone = 0, unsorted = 0;
	int64_t last = 0, burst_at = 0;
	while (reqcursor_next(c, &r)) {
		unsorted += r.arrival_ns < last;
		last = r.arrival_ns;
		if (!strcmp(strtab_text(reqset_strings(s), r.model), "irina-yolov3")) {
			off += fabs((double)r.arrival_ns - (double)++regulars * 13e6 / 0.75) > 1;
		} else {
			alone += adhocs++ % 3 && r.arrival_ns != burst_at;
			burst_at = r.arrival_ns;
		}
	}
	reqcursor_close(c);
	reqset_free(s);
	ok(!off && !unsorted, "irina, cameras: regular queries at fixed intervals (%llu are not)", (unsigned long long)off);
	ok(!alone, "irina, cameras: ad-hoc queries in bursts of three");
	/* The span is 75,000 intervals; its error comes from the Poisson number of bursts, 8333. */
	within((double)adhocs / 1e5, 0.25, 3 * sqrt(8333.) * 0.75 / 1e5, "irina, cameras: share of ad-hoc queries");
}

/* ---- equal rows for equal seeds ---- */

static bool same_rows(struct reqcursor *a, struct reqcursor *b, uint64_t n, bool whole)
{
	struct request_rec x, y;
	bool same = true;
	for (uint64_t i = 0; i < n; i++) {
		if (!reqcursor_next(a, &x) || !reqcursor_next(b, &y))
			return false;
		same = same && x.arrival_ns == y.arrival_ns && x.number == y.number && x.prompt_tokens == y.prompt_tokens &&
		       (!whole || (x.output_tokens == y.output_tokens && x.model == y.model && x.samples == y.samples));
	}
	return same;
}

static const char *const rich[] = { "poisson:n=2000,prompt=azure-code,output=exp:9,model=a|b,samples=1-8",
	"gamma:n=2000,cv=3,prompt=mooncake,output=azure-conv,model=a|b", "mmpp:n=2000,prompt=1-9,output=lognormal:9:40",
	"alternating:n=2000,phase=1s,prompt=1-9", "irina:n=2000", "irina:n=2000,arrivals=cameras,burst=4", NULL };

static void repeats(void)
{
	for (size_t i = 0; rich[i]; i++) {
		struct reqset *s = make(rich[i]);
		struct reqcursor *a = reqset_open(s, 5), *b = reqset_open(s, 5), *other = reqset_open(s, 6);
		struct request_rec r;
		for (int k = 0; k < 100; k++)
			reqcursor_next(other, &r);
		bool same = same_rows(a, b, 2000, true);
		ok(same && !reqcursor_next(a, &r) && !reqcursor_next(b, &r), "%s: interleaved cursors give the same rows", rich[i]);
		reqcursor_close(a);
		reqcursor_close(other);
		a = reqset_open(s, 5), other = reqset_open(s, 6);
		ok(!same_rows(a, other, 2000, true), "%s: another index gives different rows", rich[i]);
		reqcursor_close(a);
		reqcursor_close(b);
		reqcursor_close(other);
		reqset_free(s);
	}
	/* Each quantity has its own random stream: changes of outputs and models leave arrivals and prompts unchanged. */
	struct reqset *s = make("poisson:n=2000,prompt=1-100,output=1"),
		      *t = make("poisson:n=2000,prompt=1-100,output=1-50,model=a|b,samples=1-4");
	struct reqcursor *a = reqset_open(s, 0), *b = reqset_open(t, 0);
	ok(same_rows(a, b, 2000, false), "other draws change neither arrivals nor prompts");
	ok(strcmp(reqset_hash(s), reqset_hash(t)) != 0, "generators with other parameters have other hashes");
	reqcursor_close(a);
	reqcursor_close(b);
	reqset_free(t);
	t = make("poisson:n=2000,prompt=1-100,output=1");
	reqset_compress(t, 4);
	a = reqset_open(s, 0), b = reqset_open(t, 0);
	struct request_rec x, y;
	double worst = 0;
	while (reqcursor_next(a, &x) && reqcursor_next(b, &y))
		worst = fmax(worst, fabs((double)x.arrival_ns / 4 - (double)y.arrival_ns));
	ok(worst <= 0.5, "compress divides arrivals of generators, to the nearest ns");
	reqcursor_close(a);
	reqcursor_close(b);
	reqset_free(s);
	reqset_free(t);
	s = make("poisson:n=0");
	a = reqset_open(s, 0);
	bool goes_on = true;
	for (int i = 0; i < 20000; i++)
		goes_on = goes_on && reqcursor_next(a, &x);
	ok(goes_on && reqset_count(s) == UINT64_MAX && !reqset_is_loaded(s) && !reqset_at(s, 0), "n=0: no end");
	reqcursor_close(a);
	reqset_free(s);
}

/* Tests that prompt and output are drawn as a pair: the fixture has (374,44), (396,109) and (879,0). */
static void from_a_trace(void)
{
	const char *srcdir = getenv("srcdir");
	char source[700];
	snprintf(source, sizeof source, "poisson:n=30000,lengths=%s/tests/data/traces/vidur.csv", srcdir ? srcdir : ".");
	struct reqset *s = make(source);
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	double first = 0;
	uint64_t wrong = 0;
	while (reqcursor_next(c, &r)) {
		first += r.prompt_tokens == 374;
		wrong += !(r.prompt_tokens == 374 && r.output_tokens == 44) && !(r.prompt_tokens == 396 && r.output_tokens == 109) &&
			 !(r.prompt_tokens == 879 && r.output_tokens == 0);
	}
	within(first / 30000, 1 / 3., sqrt(2 / 9. / 30000), "lengths=FILE: rows with equal probability");
	ok(!wrong, "lengths=FILE: prompt and output of one row");
	reqcursor_close(c);
	reqset_free(s);
}

static void errors(void)
{
	static const char *const wrong[][2] = {
		{ "poisson:rate=0", "generator poisson: rate: expected a number from 1e-09 to 1000000000000, found \"0\"" },
		{ "poisson:prmpt=1", "generator poisson: unknown parameter \"prmpt\": did you mean \"prompt\"?" },
		{ "poisson:prompt=-4",
			"generator poisson: prompt: expected a whole number up to 100000000, LOW-HIGH, exp:MEAN, lognormal:MEAN:P99[:MOST] "
			"(P99 up to 14.9 times MEAN), azure-code, azure-conv, mooncake, found \"-4\"" },
		{ "poisson:output=9-8", "found \"9-8\"" },
		{ "poisson:output=lognormal:10:160", "found \"lognormal:10:160\"" },
		{ "poisson:samples=0", "generator poisson: samples: expected" },
		{ "poisson:samples=mooncake", "found \"mooncake\"" },
		{ "poisson:model=a||b", "generator poisson: model: expected models separated by |" },
		{ "poisson:lengths=/nonexistent", "/nonexistent" },
		{ "mmpp:rates=0|0,durations=1s|1s", "generator mmpp: rates: expected at most 16 rates" },
		{ "mmpp:rates=1|2,durations=1s", "generator mmpp: durations: expected 2 times above 0 such as 10s|5m" },
		{ "alternating:low=0,high=0", "generator alternating: low and high are 0: expected one above 0" },
		{ "alternating:low=0,high=1e-9,phase=1ns", "generator alternating: 1e-18 requests per cycle of the phases" },
		{ "mmpp:rates=1e-9|0,durations=1ns|1ns", "generator mmpp: 1e-18 requests per cycle of the phases" },
		{ "alternating:phase=0", "generator alternating: phase: expected a time above 0" },
		{ "irina:mean=0", "generator irina: mean: expected a time above 0" },
		{ "irina:regular=", "generator irina: regular: expected a model" },
		{ "irina:burst=2", "generator irina: burst: expected arrivals=cameras" },
		{ "irina:adhoc=a:0", "generator irina: adhoc: expected models" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		err = (struct orr_error){ 0 };
		struct reqset *s = reqset_load(wrong[i][0], NULL, NULL, 1, &err);
		if (!strstr(err.text, wrong[i][1]))
			printf("# %s\n", err.text);
		ok(!s && err.code == ORR_EINPUT && strstr(err.text, wrong[i][1]), "%s", wrong[i][0]);
	}
}

/* Tests the speed. The limit of 200 ns per row is about five times the time of a slow machine; 10 million requests take at most 2 CPU
 * seconds. */
static void speed(void)
{
	struct reqset *s = make("poisson:n=2000000");
	struct reqcursor *c = reqset_open(s, 0);
	struct request_rec r;
	clock_t start = clock();
	while (reqcursor_next(c, &r))
		;
	double ns = (double)(clock() - start) / CLOCKS_PER_SEC / 2e6 * 1e9;
	if (getenv("ORR_SANITIZED"))
		skip("speed under sanitizers is meaningless");
	else
		ok(ns < 200, "a Poisson row takes %.1f ns", ns);
	reqcursor_close(c);
	reqset_free(s);
}

int main(void)
{
	if (getenv("ORR_SANITIZED"))
		many = 50000;
	renewal("poisson:rate=10", 10, 1);
	renewal("gamma:rate=250,cv=2", 250, 2);
	renewal("gamma:rate=0.1,cv=0.5", 0.1, 0.5);
	mmpp();
	phases();
	lengths();
	mixes();
	irina();
	cameras();
	repeats();
	from_a_trace();
	errors();
	speed();
	return done();
}

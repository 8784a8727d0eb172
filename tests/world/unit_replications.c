/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics over replications: means and intervals are computed from the values that exist (estimate.h), in any order of the runs. */
#include "world/replications.h"

#include "base/mem.h"
#include "results/estimate.h"
#include "tests/tap.h"

enum { RUNS = 12 };

static double throughput(uint32_t k)
{
	return 10 + k % 5 + 0.25 * k;
}

static double other(uint32_t k)
{
	return 1.0 + k * k % 7;
}

static struct run_result *run(uint32_t k)
{
	struct run_result *r = result_new();
	bool is_odd = k % 2;
	r->world = mem_strdup("spot");
	if (is_odd)
		result_metric(r, "other", other(k), NAN, NAN);
	result_metric(r, "ttft_p90", throughput(k), NAN, NAN);
	result_metric(r, "samples_per_s", throughput(k), 1, 2);
	if (!is_odd)
		result_metric(r, "other", other(k), NAN, NAN);
	result_metric(r, "never", NAN, NAN, NAN);
	if (k < 11) /* the metric is missing in one run and infinite in another */
		result_metric(r, "sometimes", k == 3 ? INFINITY : 1.0 + k, NAN, NAN);
	return r;
}

static bool has(const struct run_result *r, const char *name, const double *v, size_t n, enum estimate_range range, double level)
{
	const struct metric *m = result_find(r, name);
	struct interval want = estimate_mean(v, n, range, level);
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return m && fabs(m->value - sum / (double)n) < 1e-12 && m->value == want.mean && m->ci_low == want.low && m->ci_high == want.high &&
	       m->ci_low < m->value && m->value < m->ci_high;
}

int main(void)
{
	double a[RUNS], b[RUNS], c[RUNS];
	size_t n = 0;
	struct replications *x = replications_new();
	struct run_result *first = run(0);
	replications_add(x, 0, first);
	for (uint32_t k = RUNS - 1; k > 0; k--) {
		struct run_result *r = run(k);
		replications_add(x, k, r);
		result_free(r);
	}
	for (uint32_t k = 0; k < RUNS; k++) {
		a[k] = throughput(k);
		b[k] = other(k);
		if (k < 11 && k != 3)
			c[n++] = 1.0 + k;
	}
	replications_put(x, 0.9, first);
	ok(has(first, "samples_per_s", a, RUNS, ESTIMATE_NON_NEGATIVE, 0.9),
		"a metric is the mean over the replications, with its interval");
	ok(isnan(result_find(first, "ttft_p90")->ci_low), "a 90 %% quantile of times to first tokens has no interval with 12 replications");
	ok(has(first, "other", b, RUNS, estimate_range_of("other"), 0.9), "a metric is found at any position among the metrics of a run");
	ok(has(first, "sometimes", c, n, estimate_range_of("sometimes"), 0.9),
		"a metric is a mean over the runs in which it exists and is finite");
	ok(isnan(result_find(first, "never")->value), "a metric that no run has stays unknown");
	ok(result_find(first, "replications")->value == RUNS, "the number of replications is a metric");
	const struct series *s = first->series;
	bool is_good = first->n_series == 1 && !strcmp(s->name, "replications:samples_per_s") && s->n == RUNS;
	for (uint32_t k = 0; is_good && k < RUNS; k++)
		is_good = s->value[k] == throughput(k) && s->time_ns[k] == k * INT64_C(1000000000);
	ok(is_good, "the values of a column of the world's table are kept by replication, those of other metrics are not");
	replications_free(x);
	replications_free(NULL);

	/* The second policy has half the throughput in the same replications. Their ratio is exact up to the rounding of the sums. */
	struct run_result *second = run(0), *runs[3] = { first, second, run(0) };
	x = replications_new();
	for (uint32_t k = 0; k < RUNS; k++) {
		struct run_result *r = result_new();
		r->world = mem_strdup("spot");
		result_metric(r, "samples_per_s", throughput(k) / 2 + k % 3, NAN, NAN);
		b[k] = throughput(k) / 2 + k % 3;
		replications_add(x, k, r);
		if (!k)
			runs[1] = r;
		else
			result_free(r);
	}
	result_free(second);
	replications_put(x, 0.9, runs[1]);
	replications_free(x);
	replications_compare(runs, 3, 0.9);
	struct interval want = estimate_ratio(a, b, RUNS, 0.9);
	const struct metric *m = result_find(runs[1], "ratio_samples_per_s");
	double sum[2] = { 0, 0 };
	for (int k = 0; k < RUNS; k++) {
		sum[0] += a[k];
		sum[1] += b[k];
	}
	ok(m && fabs(m->value - sum[0] / sum[1]) < 1e-12 && m->ci_low == want.low && m->ci_high == want.high,
		"the ratio of the first policy to the second, over pairs of replications");
	want = estimate_difference(b, a, RUNS, 0.9);
	m = result_find(runs[1], "diff_samples_per_s");
	ok(m && fabs(m->value - (sum[1] - sum[0]) / RUNS) < 1e-12 && m->ci_low == want.low && m->ci_high == want.high,
		"the difference of the second policy to the first");
	ok(!result_find(first, "ratio_samples_per_s") && !result_find(runs[2], "ratio_samples_per_s"),
		"neither the first policy nor a run without replications has a ratio");
	for (int i = 0; i < 3; i++)
		result_free(runs[i]);
	return done();
}

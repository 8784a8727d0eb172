/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job believes about its speed (jobs/adapt_belief.h): the rules of docs/models/jobs-goodput.md#profiles, worked by hand. */
#include "jobs/adapt_belief.h"

#include "tests/tap.h"

static const struct goodput_model truth = { .init_batch = 100,
	.max_batch = 1000,
	.min_local = 10,
	.max_local = 100,
	.alpha_c = 0.5,
	.beta_c = 0.01,
	.alpha_n = 2,
	.beta_n = 0.25,
	.alpha_r = 1,
	.beta_r = 0.125,
	.gamma = 2 };

static void learning(void)
{
	struct adapt_seen seen = { .pass = { { 0, 0 } } };
	struct adapt_belief b = { .profiles = ADAPT_PROFILES_LEARNED, .seen = &seen };
	struct goodput_model m;
	ok(!belief_model(&b, &truth, &m), "before the first step there is no model");
	belief_note(&seen, 1, 1, 50);
	ok(belief_model(&b, &truth, &m), "a model after the first step");
	near_to(m.alpha_c, 0.5, 1e-12, "one batch of 50, 1 s: alpha_c is half of it");
	near_to(m.beta_c, 0.01, 1e-12, "and beta_c the other half per sample");
	ok(m.alpha_r == 0 && m.alpha_n == 0 && m.gamma == 1, "networks that were not used cost nothing");
	near_to(goodput_throughput(&m, 1, 4, 50, 0), 200, 1e-9, "so four GPUs are four times as fast");
	belief_note(&seen, 1, 2, 50);
	belief_model(&b, &truth, &m);
	/* an update takes (1^2 + 1^2)^(1/2) s; with gamma 1 the network has 0.4142 s of it */
	near_to(m.alpha_r, sqrt(2) - 1, 1e-7, "one point within a node: what exceeds the pass is alpha_r");
	near_to(goodput_throughput(&m, 1, 2, 50, 0), goodput_throughput(&truth, 1, 2, 50, 0), 1e-6, "the point itself is exact");
	belief_note(&seen, 1, 4, 50);
	belief_model(&b, &truth, &m);
	ok(m.alpha_r == truth.alpha_r && m.beta_r == truth.beta_r && m.gamma == truth.gamma, "two numbers of GPUs: exact within a node");
	ok(m.alpha_n == 0, "and still nothing about several nodes");
	belief_note(&seen, 2, 8, 80);
	belief_note(&seen, 3, 12, 80);
	belief_model(&b, &truth, &m);
	ok(m.alpha_c == truth.alpha_c && m.alpha_n == truth.alpha_n && m.beta_n == truth.beta_n, "two batches and two spans: the truth");
}

static void errors(void)
{
	struct adapt_belief b = { .profiles = ADAPT_PROFILES_WRONG, .error = 0.3, .seed = 1 };
	struct goodput_model m;
	double sum = 0, sum2 = 0;
	enum { N = 4000 };
	for (uint64_t i = 0; i < N; i++) {
		b.number = i;
		belief_model(&b, &truth, &m);
		double z = log(m.alpha_n / truth.alpha_n);
		sum += z;
		sum2 += z * z;
	}
	/* standard errors: 0.3 / sqrt(4000) = 0.0047, and 0.3 / sqrt(8000) */
	ok(fabs(sum / N) < 0.024, "the logarithm of the factor has mean 0 (%.4f)", sum / N);
	ok(fabs(sqrt(sum2 / N) - 0.3) < 0.017, "and the stated standard deviation (%.4f)", sqrt(sum2 / N));
	struct goodput_noise g = belief_noise(&b, (struct goodput_noise){ 2, 3 });
	ok(g.sqr == 2 && g.var > 0 && g.var != 3, "the variance of the gradient is wrong too");
}

int main(void)
{
	learning();
	errors();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The goodput model (hwmodel/goodput.h): values worked by hand, limits of the formulas, and invariants over random models: efficiency is
 * in (0, 1] and 1 at M0, throughput grows with the batch of a pass, the chosen batch is valid and the best of all valid candidates.
 */
#include "hwmodel/goodput.h"

#include "base/rng.h"
#include "tests/tap.h"

/* gamma 1: no overlap, so times add up. */
static const struct goodput_model plain = { .init_batch = 100,
	.max_batch = 1000,
	.min_local = 10,
	.max_local = 100,
	.alpha_c = 0.5,
	.beta_c = 0.01,
	.alpha_n = 2,
	.beta_n = 0.25,
	.alpha_r = 1,
	.beta_r = 0.125,
	.gamma = 1 };

static void by_hand(void)
{
	/* pass 0.5 + 0.01 * 50 = 1 s; one node, 4 GPUs: 1 + 0.125 * 2 = 1.25 s; 4 * 50 / 2.25 samples/s */
	near_to(goodput_throughput(&plain, 1, 4, 50, 0), 200 / 2.25, 1e-14, "one node: the pass plus alpha_r + 2 beta_r");
	/* two nodes: 2 + 0.25 * 2 = 2.5 s */
	near_to(goodput_throughput(&plain, 2, 4, 50, 0), 200 / 3.5, 1e-14, "several nodes: alpha_n and beta_n");
	/* three passes of 1 s, of which the last is followed by the network */
	near_to(goodput_throughput(&plain, 2, 4, 50, 2), 600 / 5.5, 1e-14, "accumulation: passes without network");
	near_to(goodput_throughput(&plain, 1, 1, 50, 0), 50, 1e-7, "one GPU: no network");
	struct goodput_model overlapped = plain;
	overlapped.gamma = 2;
	near_to(goodput_throughput(&overlapped, 2, 2, 50, 0), 100 / sqrt(1 + 4), 1e-8, "gamma 2: root of the sum of squares");
	/* phi = 100 * 3 / 1 = 300: (300 + 100) / (300 + 500) */
	struct goodput_noise g = { 1, 3 };
	near_to(goodput_efficiency(&plain, &g, 500), 0.5, 1e-15, "efficiency (phi + M0) / (phi + M)");
	struct goodput_noise quiet = { 1, 0 };
	near_to(goodput_efficiency(&plain, &quiet, 500), 0.2, 1e-15, "no noise: additional samples are useless");
	struct goodput_noise loud = { 0, 1 };
	near_to(goodput_efficiency(&plain, &loud, 500), 1, 1e-15, "noise only: all samples are useful");
	struct goodput_choice c = goodput_at(&plain, &g, 2, 4, 50, 2);
	ok(c.batch == 600 && fabs(c.goodput - c.throughput * c.efficiency) < 1e-12, "goodput is throughput x efficiency");
}

static void splits(void)
{
	double b, a;
	goodput_split(&plain, 1000, 4, &b, &a); /* 250 per GPU: 3 passes of at most 100 */
	ok(a == 2 && b == 83, "1000 samples on 4 GPUs: three passes of at most 84, not above max_batch: %.0f, %.0f", a, b);
	goodput_split(&plain, 100, 1, &b, &a);
	ok(a == 0 && b == 100, "M0 on one GPU: one pass");
	struct goodput_model small = plain;
	small.init_batch = 50;
	goodput_split(&small, 80, 1, &b, &a);
	ok(a == 1 && b == 40, "above M0 on one GPU: two passes, which the noise estimate needs");
	struct goodput_noise g = { 1, 3 };
	struct goodput_choice none = goodput_optimize(&plain, &g, 30, 101);
	ok(none.goodput == 0 && none.atomic == 0, "no valid batch: 10 samples on each of 101 GPUs are above max_batch");
	struct goodput_choice last = goodput_optimize(&plain, &g, 25, 100);
	ok(last.atomic == 10 && last.accum == 0, "exactly max_batch is valid");
}

static void refusals(void)
{
	struct orr_error err = { 0 };
	struct goodput_model m = plain;
	ok(!goodput_check(&m, "x", &err), "a valid model");
	m.gamma = 0.9;
	ok(goodput_check(&m, "x", &err) == ORR_EINPUT && !strcmp(err.text, "x: gamma: expected a number from 1 to 10, found 0.9"), "%s",
		err.text);
	m = plain;
	m.max_batch = 99;
	ok(goodput_check(&m, "x", &err) == ORR_EINPUT && strstr(err.text, "max_batch_size: expected a number from 100 "), "%s", err.text);
	m = plain;
	m.max_local = NAN;
	ok(goodput_check(&m, "x", &err) == ORR_EINPUT && strstr(err.text, "max_local_bsz"), "NaN: %s", err.text);
	m = plain;
	m.alpha_c = m.beta_c = 0;
	ok(goodput_check(&m, "x", &err) == ORR_EINPUT && strstr(err.text, "above 0"), "%s", err.text);
}

static double draw(struct rng *r, double from, double to)
{
	return from * pow(to / from, rng_uniform(r));
}

/* Returns the greatest goodput over all whole b and a with a total batch in range. */
static double best_of_all(const struct goodput_model *m, const struct goodput_noise *g, double nodes, double gpus)
{
	double best = 0;
	for (double a = 0; a < 4000 && gpus * m->min_local * a <= m->max_batch; a++)
		for (double b = m->min_local; b <= m->max_local; b++) {
			double batch = gpus * b * (a + 1);
			if (batch >= m->init_batch && batch <= m->max_batch + gpus * (a + 1))
				best = fmax(best, goodput_at(m, g, nodes, gpus, b, a).goodput);
		}
	return best;
}

/* Returns the greater goodput of the smallest and of the largest batch, where their splits are valid. */
static double at_least(const struct goodput_model *m, const struct goodput_noise *g, double nodes, double gpus)
{
	const double batch[] = { fmax(m->init_batch, m->min_local * gpus), m->max_batch };
	double best = 0, b, a;
	for (int i = 0; i < 2; i++) {
		a = fmax(ceil(batch[i] / gpus / m->max_local - 1e-8) - 1, gpus == 1 && batch[i] > m->init_batch);
		b = ceil(batch[i] / gpus / (a + 1) - 1e-8);
		if (b >= m->min_local)
			best = fmax(best, goodput_at(m, g, nodes, gpus, b, a).goodput);
	}
	return best;
}

static void invariants(void)
{
	enum { MODELS = 300 };
	struct rng r;
	rng_init(&r, 1, "goodput", 0);
	int good = 0, grows = 0, valid = 0, best = 0;
	for (int i = 0; i < MODELS; i++) {
		struct goodput_model m = { .init_batch = rint(draw(&r, 4, 200)),
			.min_local = rint(draw(&r, 1, 16)),
			.alpha_c = draw(&r, 1e-3, 1),
			.beta_c = draw(&r, 1e-4, 0.1),
			.alpha_n = draw(&r, 1e-3, 2),
			.beta_n = draw(&r, 1e-5, 0.1),
			.alpha_r = draw(&r, 1e-4, 1),
			.beta_r = draw(&r, 1e-6, 0.1),
			.gamma = draw(&r, 1, 10) };
		m.max_local = m.min_local + rint(draw(&r, 4, 100));
		m.max_batch = m.init_batch * rint(draw(&r, 2, 20)) + 64 * m.min_local;
		struct goodput_noise g = { 1, draw(&r, 1e-3, 1e3) };
		double gpus = rint(draw(&r, 1, 64)), nodes = ceil(gpus / 4);
		struct goodput_choice c = goodput_optimize(&m, &g, nodes, gpus);
		double at_m0 = goodput_efficiency(&m, &g, m.init_batch);
		good += c.efficiency > 0 && c.efficiency <= 1 && at_m0 == 1;
		grows += goodput_throughput(&m, nodes, gpus, m.min_local + 1, 0) > goodput_throughput(&m, nodes, gpus, m.min_local, 0);
		bool is_below = c.batch <= m.max_batch + gpus * (c.accum + 1);
		valid += c.atomic >= m.min_local && c.atomic <= m.max_local && c.atomic == floor(c.atomic) && c.batch >= m.init_batch &&
			 is_below;
		double all = best_of_all(&m, &g, nodes, gpus);
		best += c.goodput <= all * (1 + 1e-12) && c.goodput >= at_least(&m, &g, nodes, gpus);
	}
	ok(good == MODELS, "efficiency in (0, 1], and 1 at M0 (%d of %d)", good, MODELS);
	ok(grows == MODELS, "throughput grows with the batch of a pass (%d of %d)", grows, MODELS);
	ok(valid == MODELS, "the choice is whole and within the limits (%d of %d)", valid, MODELS);
	ok(best == MODELS,
		"the choice is at most the best of all whole choices, and at least the smallest and the largest batch (%d of %d)", best,
		MODELS);
}

int main(void)
{
	by_hand();
	splits();
	refusals();
	invariants();
	return done();
}

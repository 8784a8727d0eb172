/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of boosted sub-learners: logits, loss and accuracy by hand, gradients against finite differences, images, determinism, residuals
 * of the training images, accuracy with missing answers against bagging.
 */
#include "learn/boost.h"

#include "tests/tap.h"

#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

static struct orr_error err;

static struct boost_config config(const char *spec)
{
	struct boost_config c;
	if (boost_config_read(&c, spec, &err)) {
		printf("# %s\n", err.text);
		exit(1);
	}
	return c;
}

/* ---- by hand ---- */

/*
 * The network has an input of 2, two hidden units and two classes: W1 = (1, -1), b1 = (0, 1), W2 = ((1, 0), (0, 1)), b2 = 0. The hidden
 * values are (2, 0), because the second unit gets -2 + 1 < 0. The logits are (2, 0).
 */
static void one_image(void)
{
	const double image = 2, before[] = { 0, 2 };
	double w[] = { 1, -1, 0, 1, 1, 0, 0, 1, 0, 0 }, hidden[2], logit[2], error[4], g[10] = { 0 };
	struct boost_net n = { 1, 2, 2, w };
	ok(boost_net_dim(&n) == 10, "a network of 1 input, 2 units and 2 classes has 10 weights");
	boost_net_forward(&n, &image, hidden, logit);
	ok(hidden[0] == 2 && hidden[1] == 0 && logit[0] == 2 && logit[1] == 0, "hidden units and logits by hand");
	/* With earlier logits of (0, 2) the sum is (2, 2): both probabilities are 1/2 and the loss is ln 2. Without them, the
	 * probability is e^2 / (e^2 + 1) and the loss ln(1 + e^-2). */
	double p = 1 / (1 + exp(-2.)), loss = boost_net_gradient(&n, &image, 0, before, 3, 1, hidden, logit, error, g);
	near_to(loss, log(2) + 3 * log(1 + exp(-2.)), 1e-14, "loss = ln 2 + 3 ln(1 + e^-2)");
	double e = -0.5 + 3 * (p - 1); /* error of the first logit; the second logit has the opposite error */
	near_to(g[8], e, 1e-14, "gradient of the first output's bias");
	near_to(g[9], -e, 1e-14, "gradient of the second");
	near_to(g[4], 2 * e, 1e-14, "gradient of its weight of the first unit: error x 2");
	near_to(g[0], 2 * e, 1e-14, "gradient of the first unit's weight: error x 1 x input");
	ok(g[1] == 0 && g[3] == 0 && g[5] == 0, "a unit below 0 has no gradient");
}

static void fusion(void)
{
	/* Three rows of two classes, labels 0, 1, 0; answers of two sub-learners. */
	const double a[] = { 2, 0, 1, 0, 0, 3 }, b[] = { 0, 1, 0, 2, 5, 0 }, *const logit[] = { a, b };
	const uint32_t label[] = { 0, 1, 0 };
	near_to(boost_accuracy(logit, 2, 3, 2, label, 1), 1 / 3., 1e-15, "the first answer alone is right for one row of three");
	near_to(boost_accuracy(logit, 2, 3, 2, label, 2), 2 / 3., 1e-15, "the second answer alone is right for two rows");
	near_to(boost_accuracy(logit, 2, 3, 2, label, 3), 1, 1e-15, "the sum of both, (2 1), (1 2), (5 3), is right for all rows");
	near_to(boost_accuracy(logit, 2, 3, 2, label, 0), 0.5, 1e-15, "no answer: chance");
}

static void shrinking(void)
{
	const double image[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	double same[9], one, two[4];
	boost_shrink(image, 3, 3, same);
	ok(!memcmp(image, same, sizeof same), "an image of its own size is unchanged");
	boost_shrink(image, 3, 1, &one);
	near_to(one, 5, 1e-14, "an image shrunk to one pixel is the mean");
	boost_shrink(image, 3, 2, two);
	/* A pixel of the smaller image covers 1.5 x 1.5 pixels: (1 + 0.5 x 2 + 0.5 x 4 + 0.25 x 5) / 2.25. */
	near_to(two[0], 5.25 / 2.25, 1e-14, "2 x 2 of 3 x 3: pixels count by area");
	near_to(two[0] + two[1] + two[2] + two[3], 20, 1e-13, "the mean is kept");
}

static void list_of_learners(void)
{
	struct boost_config c = config("widths=3|5,sizes=2|12");
	ok(c.n == 2 && c.learner[1].width == 5 && c.learner[1].size == 12, "widths and sizes");
	ok(boost_config_read(&c, "widths=3|5,sizes=2", &err) && strstr(err.text, "expected 2 values"), "a width without a size is refused");
	ok(boost_config_read(&c, "widths=0,sizes=2", &err) && strstr(err.text, "widths: expected"), "a width of 0 is refused");
	ok(boost_config_read(&c, "widths=3,sizes=13", &err) && strstr(err.text, "from 1 to 12"),
		"an input larger than the image is refused");
	ok(boost_config_read(&c, "wdths=3", &err) && strstr(err.text, "widths"), "an unknown name: the nearest one");
}

/* ---- gradients ---- */

static void gradients(void)
{
	enum { INPUTS = 4, WIDTH = 3, CLASSES = 3 };
	double w[WIDTH * (INPUTS + 1) + CLASSES * (WIDTH + 1)], g[sizeof w / sizeof *w] = { 0 }, scratch[sizeof w / sizeof *w];
	double image[INPUTS], before[CLASSES], hidden[WIDTH], logit[CLASSES], error[CLASSES + WIDTH], worst = 0;
	struct boost_net n = { INPUTS, WIDTH, CLASSES, w };
	struct rng r;
	rng_init(&r, 1, "test", 0);
	for (size_t i = 0; i < sizeof w / sizeof *w; i++)
		w[i] = rng_uniform(&r) - 0.4;
	for (int i = 0; i < INPUTS; i++)
		image[i] = rng_uniform(&r);
	for (int i = 0; i < CLASSES; i++)
		before[i] = rng_uniform(&r);
	boost_net_forward(&n, image, hidden, logit);
	boost_net_gradient(&n, image, 1, before, 0.7, 2, hidden, logit, error, g);
	for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
		double loss[2], was = w[i];
		for (int k = 0; k < 2; k++) {
			w[i] = was + (k ? 1e-5 : -1e-5);
			boost_net_forward(&n, image, hidden, logit);
			loss[k] = boost_net_gradient(&n, image, 1, before, 0.7, 0, hidden, logit, error, scratch);
		}
		w[i] = was;
		worst = fmax(worst, fabs(2 * (loss[1] - loss[0]) / 2e-5 - g[i]));
	}
	ok(worst < 1e-8, "gradients agree with finite differences within %.1e", worst);
}

/* ---- data ---- */

static void images(void)
{
	struct boost_config c = config("rows=4000,tested=10,noise=0");
	struct boost_data train, test, again, other;
	size_t pixels = 144, n = 4000 * pixels;
	double square = 0;
	uint32_t count[10] = { 0 };
	boost_data_new(&c, &train, &test);
	boost_data_new(&c, &again, &other);
	ok(!memcmp(train.pixel, again.pixel, n * sizeof *train.pixel) && !memcmp(test.pixel, other.pixel, 10 * pixels * sizeof *test.pixel),
		"the same seed gives the same images");
	ok(memcmp(train.pixel, test.pixel, 10 * pixels * sizeof *test.pixel) != 0, "test images are other images");
	for (size_t i = 0; i < n; i++)
		square += train.pixel[i] * train.pixel[i] / (double)n;
	for (int i = 0; i < 4000; i++)
		count[train.label[i]]++;
	/* The mean square of a pixel has 1 from the prototype and 0.25 from the image's own field. With 30 prototypes its standard
	 * error is about 0.1. */
	ok(fabs(square - 1.25) < 0.4, "mean square of a pixel without noise: %.3f, expected 1.25", square);
	bool is_even = true;
	for (int k = 0; k < 10; k++)
		is_even &= count[k] > 320 && count[k] < 480;
	ok(is_even, "classes are equally frequent, within 4 standard errors");
	boost_data_free(&train);
	boost_data_free(&test);
	boost_data_free(&again);
	boost_data_free(&other);
}

/* ---- training ---- */

static void nothing_learned(void)
{
	struct boost_config c = config("rows=100,tested=200,epochs=0,seeds=1");
	struct boost_result r;
	boost_run(&c, &r, NULL);
	near_to(r.loss[4], log(10), 1e-12, "without training the loss is ln(classes)");
	/* A sub-learner has width x (size^2 + 1) + 10 x (width + 1) weights. */
	near_to(r.weights, 8 * 17 + 12 * 37 + 16 * 65 + 24 * 145 + 10 * (9 + 13 + 17 + 25), 0, "number of weights");
}

static void threads(void)
{
	struct boost_config c = config("rows=500,tested=300,epochs=2,seeds=4");
	struct boost_result one, four, each[4];
	c.threads = 1;
	boost_run(&c, &one, each);
	c.threads = 4;
	boost_run(&c, &four, NULL);
	ok(!memcmp(&one, &four, sizeof one), "one thread and four give the same bytes");
	ok(memcmp(&each[0], &each[1], sizeof *each) != 0, "another seed gives another ensemble");
}

/* Returns the number of seeds whose training loss falls with each sub-learner. */
static int falling(const struct boost_result *each, uint32_t seeds)
{
	int n = 0;
	for (uint32_t s = 0; s < seeds; s++) {
		bool falls = true;
		for (uint32_t k = 0; k < each[s].n; k++)
			falls &= each[s].loss[k + 1] < each[s].loss[k];
		n += falls;
	}
	return n;
}

/* Tests missing answers with half of the default images and 4 seeds. docs/models/boost.md has the intervals over 20 seeds of the
 * default. */
static void missing_answers(void)
{
	enum { SEEDS = 4 };
	static const char *const spec[] = { "supervised=1", "supervised=0", "method=bagging", "method=wide" };
	struct boost_result mean[4], each[SEEDS];
	double lost[4];
	for (int i = 0; i < 4; i++) {
		char text[128];
		snprintf(text, sizeof text, "rows=10000,tested=2000,seeds=%d,%s", SEEDS, spec[i]);
		struct boost_config c = config(text);
		boost_run(&c, &mean[i], each);
		if (i < 2)
			ok(falling(each, SEEDS) == SEEDS, "%s: the residual on the training images falls with each sub-learner", spec[i]);
		lost[i] = boost_all(&mean[i]) - boost_one_missing(&mean[i], NULL);
		printf("# %s: %.2f %% with all answers, one missing costs %.2f points\n", spec[i], 100 * boost_all(&mean[i]),
			100 * lost[i]);
	}
	ok(boost_all(&mean[0]) >= boost_all(&mean[2]), "boosting with supervision is at least as accurate as bagging");
	ok(lost[0] <= 0.03, "one answer missing: at most 3 points with supervision");
	ok(lost[1] >= 0.05, "at least 5 points without");
	ok(mean[3].n == 1 && fabs(mean[3].weights / mean[0].weights - 1) < 0.02, "the wide learner has as many weights, within 2 %%");
}

int main(void)
{
	one_image();
	fusion();
	shrinking();
	list_of_learners();
	gradients();
	images();
	nothing_learned();
	threads();
	missing_answers();
	return done();
}

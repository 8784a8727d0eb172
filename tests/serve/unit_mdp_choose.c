/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Choice of sub-models by device, compared with all choices of random menus and with an example. The example has three devices of
 * 0.472, 1.33 and 1.69 TFLOP/s (Jetson Nano, TX2, Xavier NX: peaks in FP16). Their times are the multiply-adds of a vision transformer
 * over the rate: MAC = p 768 D + L (12 n D^2 + 2 n^2 D) + D 1000, with p = (r / 16)^2 patches and n = p + 1 tokens.
 */
#include "base/rng.h"
#include "policies/serve/mdp_plan.h"
#include "tests/tap.h"

#include <math.h>

enum { MODELS = 28, DEVICES = 3 };
static const double WIDTHS[] = { 192, 384, 768, 1024 }, IMAGES[] = { 96, 112, 128, 160, 192, 224, 384 };
static const double RATES[DEVICES] = { 0.472e12, 1.33e12, 1.69e12 };

static double macs(double width, double image)
{
	double patches = (image / 16) * (image / 16), n = patches + 1, layers = width > 1000 ? 24 : 12;
	return patches * 768 * width + layers * (12 * n * width * width + 2 * n * n * width) + width * 1000;
}

/* Times of the models on the devices, at [device * models + model]. */
struct menu {
	uint32_t devices, models;
	const double *time_s;
};

static double longest_of(const struct menu *m, const uint32_t *model, double *shortest_s)
{
	double longest = 0, shortest = INFINITY;
	for (uint32_t d = 0; d < m->devices; d++) {
		double s = m->time_s[d * m->models + model[d]];
		longest = fmax(longest, s);
		shortest = fmin(shortest, s);
	}
	*shortest_s = shortest;
	return longest;
}

/* Balances the times that are at most the target; writes the chosen models. Returns the ratio of the longest to the shortest time;
 * INFINITY: a device has no such time. */
static double balance(const struct menu *m, double target_s, uint32_t *model)
{
	struct mdp_choice entry[4][MODELS], *choice[4];
	uint32_t n[4] = { 0 }, picked[4];
	for (uint32_t d = 0; d < m->devices; d++) {
		choice[d] = entry[d];
		for (uint32_t i = 0; i < m->models; i++)
			if (m->time_s[d * m->models + i] <= target_s)
				entry[d][n[d]++] = (struct mdp_choice){ i, m->time_s[d * m->models + i] };
		if (!n[d])
			return INFINITY;
	}
	mdp_balance(choice, n, m->devices, picked);
	for (uint32_t d = 0; d < m->devices; d++)
		model[d] = choice[d][picked[d]].model;
	double shortest, longest = longest_of(m, model, &shortest);
	return longest / shortest;
}

/* Returns the smallest ratio over all choices, by enumeration; *longest: the longest time of a choice with this ratio. */
static double least_ratio(const struct menu *m, double target_s, double *longest)
{
	uint32_t choice[4] = { 0 };
	double best = INFINITY;
	*longest = 0;
	for (;;) {
		double shortest, most = longest_of(m, choice, &shortest);
		if (most <= target_s && (most / shortest < best || (most / shortest <= best && most > *longest))) {
			best = most / shortest;
			*longest = most;
		}
		uint32_t d = 0;
		while (d < m->devices && ++choice[d] == m->models)
			choice[d++] = 0;
		if (d == m->devices)
			return best;
	}
}

static void random_menus(void)
{
	enum { CASES = 2000 };
	struct rng r;
	uint32_t wrong = 0, impossible = 0, ties = 0;
	rng_init(&r, 5, "menus", 0);
	for (int c = 0; c < CASES; c++) {
		double time_s[4 * 6], longest, shortest, target = rng_uniform(&r) < 0.5 ? INFINITY : 12 * rng_uniform(&r);
		struct menu m = { 1 + (uint32_t)(4 * rng_uniform(&r)), 1 + (uint32_t)(6 * rng_uniform(&r)), time_s };
		for (uint32_t i = 0; i < m.devices * m.models; i++)
			time_s[i] = 1 + floor(12 * rng_uniform(&r)); /* whole numbers, so that equal ratios occur */
		uint32_t choice[4];
		double least = least_ratio(&m, target, &longest), got = balance(&m, target, choice);
		impossible += isinf(least) ? 1 : 0;
		if (isinf(least) || isinf(got)) {
			wrong += !isinf(least) != !isinf(got);
			continue;
		}
		wrong += fabs(got - least) > 1e-12;
		ties += longest_of(&m, choice, &shortest) < longest;
	}
	ok(!wrong, "%d random menus: the least ratio of all choices", CASES);
	ok(!ties, "of choices with equal ratio, the one with the longest times");
	ok(impossible > 50, "%u of them have no choice within the target", impossible);
}

/* ---- inputs that share a link ---- */

enum { SHARED_DEVICES = 6, SHARED_MODELS = 8 };

/* The longest time of a choice, and *ratio of it to the shortest: device k computes for time_s[k][i], and inputs of s[k] and s[j] that
 * start together share the link until the smaller one has been sent. */
static double longest_shared(double (*time_s)[SHARED_MODELS], const double *input_s, const uint32_t *model, uint32_t n, double *ratio)
{
	double longest = 0, shortest = INFINITY;
	for (uint32_t k = 0; k < n; k++) {
		double t = time_s[k][model[k]];
		for (uint32_t j = 0; j < n; j++)
			t += fmin(input_s[model[k]], input_s[model[j]]);
		longest = fmax(longest, t);
		shortest = fmin(shortest, t);
	}
	*ratio = longest / shortest;
	return longest;
}

/* Draws a menu; computes the ratio that mdp_balance_shared() reaches, and the smallest one by enumeration. INFINITY: none meets the target.
 */
static void balance_shared(struct rng *r, uint32_t n, uint32_t models, double *got, double *least, double *first)
{
	double time_s[SHARED_DEVICES][SHARED_MODELS], input_s[SHARED_MODELS], ratio;
	double target = rng_uniform(r) < 0.5 ? INFINITY : 40 * rng_uniform(r);
	struct mdp_choice entry[SHARED_DEVICES][SHARED_MODELS], *choice[SHARED_DEVICES];
	uint32_t n_choice[SHARED_DEVICES], picked[SHARED_DEVICES], model[SHARED_DEVICES] = { 0 };
	for (uint32_t i = 0; i < models; i++)
		input_s[i] = 5 * rng_uniform(r);
	for (uint32_t k = 0; k < n; k++) {
		choice[k] = entry[k];
		n_choice[k] = models;
		for (uint32_t i = 0; i < models; i++) {
			time_s[k][i] = 1 + 12 * rng_uniform(r);
			entry[k][i] = (struct mdp_choice){ i, time_s[k][i] + input_s[i], input_s[i] };
		}
	}
	bool found = mdp_balance_shared(choice, n_choice, n, target, picked);
	*least = INFINITY;
	for (uint32_t k = 0; k < n;) {
		if (longest_shared(time_s, input_s, model, n, &ratio) <= target)
			*least = fmin(*least, ratio);
		for (k = 0; k < n && ++model[k] == models; k++)
			model[k] = 0;
	}
	for (uint32_t k = 0; k < n; k++)
		model[k] = choice[k][picked[k]].model;
	double longest = longest_shared(time_s, input_s, model, n, &ratio);
	*got = found && longest <= target ? ratio : INFINITY;
	mdp_balance(choice, n_choice, n, picked); /* as if each input had its own link */
	for (uint32_t k = 0; k < n; k++)
		model[k] = choice[k][picked[k]].model;
	*first = longest_shared(time_s, input_s, model, n, &ratio) <= target ? ratio : INFINITY;
}

static void shared_link(void)
{
	struct rng r;
	uint32_t wrong = 0, improved = 0, impossible = 0;
	double got, least, first;
	rng_init(&r, 6, "shared", 0);
	for (int c = 0; c < 1000; c++) {
		balance_shared(&r, 1 + (uint32_t)(4 * rng_uniform(&r)), 1 + (uint32_t)(5 * rng_uniform(&r)), &got, &least, &first);
		wrong += isinf(least) ? !isinf(got) : fabs(got - least) > 1e-12;
		improved += got < first;
		impossible += isinf(least) ? 1 : 0;
	}
	ok(!wrong, "inputs that share a link: the least ratio of all choices");
	ok(improved > 200 && impossible > 50, "%u ratios below those of separate links; %u without a choice", improved, impossible);
	wrong = 0;
	for (int c = 0; c < 10; c++) {
		balance_shared(&r, SHARED_DEVICES, SHARED_MODELS, &got, &least, &first);
		wrong += isinf(least) ? !isinf(got) : got < least - 1e-12 || got > first;
	}
	ok(!wrong, "many choices: between the least ratio and that of separate links");
}

static void example(void)
{
	double time_s[DEVICES * MODELS], shortest;
	struct menu m = { DEVICES, MODELS, time_s };
	for (uint32_t d = 0; d < DEVICES; d++)
		for (uint32_t i = 0; i < MODELS; i++)
			time_s[d * MODELS + i] = 2 * macs(WIDTHS[i / 7], IMAGES[i % 7]) / RATES[d];
	uint32_t same[] = { 7 + 4, 7 + 4, 7 + 4 }, matched[] = { 7 + 2, 7 + 5, 14 + 2 }, chosen[DEVICES];
	double uniform = longest_of(&m, same, &shortest) / shortest;
	ok(fabs(uniform / 3.58 - 1) < 0.01, "S at 192 px on all devices: spread %.4g (3.58)", uniform);
	double even = longest_of(&m, matched, &shortest) / shortest;
	ok(fabs(even / 1.135 - 1) < 0.01, "S 128, S 224, B 128: spread %.4g (1.135)", even);
	double best = balance(&m, longest_of(&m, matched, &shortest), chosen);
	ok(best <= even, "balanced within the same time: spread %.4g", best);
	double free = balance(&m, INFINITY, chosen);
	ok(free <= best, "balanced without a limit: spread %.4g", free);
}

int main(void)
{
	random_menus();
	shared_link();
	example();
	return done();
}

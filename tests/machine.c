/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * machine PROFILE.json THREADS - a real training step of this machine, and what a profile of it says
 *
 * The step: LAYERS dense layers of WIDTH at batch SAMPLES in fp32, each forward a product and bias + GELU, each backward
 * two products (data, weights); then a residual add for each layer and Adam over all parameters. It is timed as
 * a whole, with its own shapes, none of which the sweep was told of; the prediction is the sum of its laws.
 * `make check-machine` runs it; it is no part of `make check`, which must not depend on who else is running.
 */
#include "calib/backend.h"
#include "calib/cpu.h"
#include "calib/rand.h"
#include "calib/sample.h"
#include "calib/work.h"
#include "hwmodel/profile.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, WIDTH = 640, SAMPLES = 96, STEPS = 41 };

struct net {
	struct cpu cpu;
	float *weight, *gradient, *moments, *x[LAYERS + 1], *dx[LAYERS + 1], *bias;
};

static float *numbers(size_t n, float scale)
{
	static uint64_t state = 3;
	float *v = mem_alloc(n * sizeof *v);
	for (size_t i = 0; i < n; i++)
		v[i] = scale * (float)rand_normal(&state);
	return v;
}

static void step(struct net *n)
{
	const size_t w = (size_t)WIDTH * WIDTH, a = (size_t)SAMPLES * WIDTH;
	for (int l = 0; l < LAYERS; l++) {
		cpu_gemm(&n->cpu, false, false, SAMPLES, WIDTH, WIDTH, n->x[l], n->weight + (size_t)l * w, n->x[l + 1], false);
		cpu_bias_gelu(n->x[l + 1], n->bias, n->x[l + 1], SAMPLES, WIDTH);
	}
	for (int l = LAYERS - 1; l >= 0; l--) {
		cpu_gemm(&n->cpu, true, false, WIDTH, WIDTH, SAMPLES, n->x[l], n->dx[l + 1], n->gradient + (size_t)l * w, false);
		cpu_gemm(&n->cpu, false, true, SAMPLES, WIDTH, WIDTH, n->dx[l + 1], n->weight + (size_t)l * w, n->dx[l], false);
		cpu_add(n->dx[l], n->dx[l + 1], n->dx[l], a);
	}
	cpu_adam(n->weight, n->gradient, n->moments, LAYERS * w);
}

/* One kernel by its law; NAN if the profile has none. */
static double law_of(const struct profile *p, struct kernel k)
{
	bool is_inside;
	kernel_work(&k);
	const struct law *l = profile_law(p, k.family, k.op, k.precision, k.variant, 0, 0);
	double seconds = l ? law_time(l, k.flops, k.bytes, k.size, &is_inside) : NAN;
	char name[KERNEL_NAME_MAX];
	kernel_name(&k, name);
	printf("  %-40s %10.1f us%s\n", name, 1e6 * seconds, l && !is_inside ? "  (outside of what was measured)" : "");
	return seconds;
}

static double predict(const struct profile *p)
{
	struct kernel forward = { .family = "gemm", .precision = "fp32", .variant = "nn", .d = { SAMPLES, WIDTH, WIDTH, 1 } };
	struct kernel weight = { .family = "gemm", .precision = "fp32", .variant = "tn", .d = { WIDTH, WIDTH, SAMPLES, 1 } };
	struct kernel data = { .family = "gemm", .precision = "fp32", .variant = "nt", .d = { SAMPLES, WIDTH, WIDTH, 1 } };
	struct kernel gelu = { .family = "memory", .op = "bias-gelu", .precision = "fp32", .d = { SAMPLES, WIDTH } };
	struct kernel sum = { .family = "memory", .op = "residual-add", .precision = "fp32", .d = { SAMPLES * WIDTH, 1 } };
	struct kernel adam = { .family = "update", .op = "adam", .precision = "fp32", .d = { (double)LAYERS * WIDTH * WIDTH } };
	double layer = law_of(p, forward) + law_of(p, gelu) + law_of(p, weight) + law_of(p, data) + law_of(p, sum);
	return LAYERS * layer + law_of(p, adam);
}

static void measure(struct net *n, double *seconds)
{
	for (int i = -5; i < STEPS; i++) {
		double start = monotonic_s();
		step(n);
		if (i >= 0)
			seconds[i] = monotonic_s() - start;
	}
	sort_values(seconds, STEPS);
}

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	struct net n = { .cpu = { .threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1 } };
	const size_t w = (size_t)WIDTH * WIDTH, a = (size_t)SAMPLES * WIDTH;
	double seconds[STEPS];
	struct profile *p = argc > 2 ? profile_load(argv[1], &err) : NULL;
	if (!p) {
		fprintf(stderr, "machine: %s\n", argc > 2 ? err.text : "usage: machine PROFILE.json THREADS");
		return ORR_EINPUT;
	}
	cpu_use_threads(n.cpu.threads);
	cpu_find_blas(&n.cpu);
	n.weight = numbers(LAYERS * w, 0.02f);
	n.gradient = numbers(LAYERS * w, 1);
	n.moments = numbers(2 * LAYERS * w, 1e-3f);
	n.bias = numbers(WIDTH, 1);
	for (int l = 0; l <= LAYERS; l++) {
		n.x[l] = numbers(a, 1);
		n.dx[l] = numbers(a, 1e-2f);
	}
	double predicted = predict(p);
	measure(&n, seconds);
	double median = seconds[STEPS / 2], fast = seconds[STEPS / 10], slow = seconds[STEPS - 1 - STEPS / 10];
	bool is_quiet = p->is_stable && slow < 1.25 * fast;
	printf("step: %.2f ms (10 %% of steps below %.2f, 10 %% above %.2f); predicted %.2f ms: %+.1f %%\n", 1e3 * median, 1e3 * fast,
		1e3 * slow, 1e3 * predicted, 100 * (predicted / median - 1));
	if (!is_quiet)
		printf("this was a loud run (%s): nothing can be said about the prediction; try again on an idle machine\n",
			p->is_stable ? "steps differ by more than 25 %" : "the device drifted while it was measured");
	bool is_near = fabs(predicted / median - 1) <= 0.25;
	if (is_quiet)
		printf("%s\n", is_near ? "within 25 %" : "NOT within 25 %");
	void *all[] = { n.weight, n.gradient, n.moments, n.bias };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		mem_free(all[i]);
	for (int l = 0; l <= LAYERS; l++) {
		mem_free(n.x[l]);
		mem_free(n.dx[l]);
	}
	profile_free(p);
	return is_quiet && !is_near;
}

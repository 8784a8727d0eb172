/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * machine PROFILE.json THREADS - a real training step of this machine against the prediction of its profile
 *
 * The step: LAYERS dense layers of WIDTH at batch SAMPLES in fp32. Forward is a product and bias + GELU per layer; backward is
 * two products (data, weights). A residual add per layer and Adam over all parameters follow. The step is timed as a
 * whole, with shapes that the sweep does not contain; the prediction is the sum of the laws.
 *
 * Three noise measures decide whether the machine was quiet enough for a verdict: the drift of the anchors while the profile
 * was measured, the difference of the kernels' times before and after the steps, and half of the range from the 10 % to the
 * 90 % quantile of steps. Each must be within half of the bound of 25 %.
 *
 * `make check-machine` runs it. `make check` does not, because the result depends on other programs that run.
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

/* ---- the kernels of the step, each run alone */

static void forward(struct net *n)
{
	cpu_gemm(&n->cpu, false, false, SAMPLES, WIDTH, WIDTH, n->x[0], n->weight, n->x[1], false);
}

static void weights(struct net *n)
{
	cpu_gemm(&n->cpu, true, false, WIDTH, WIDTH, SAMPLES, n->x[0], n->dx[1], n->gradient, false);
}

static void data(struct net *n)
{
	cpu_gemm(&n->cpu, false, true, SAMPLES, WIDTH, WIDTH, n->dx[1], n->weight, n->dx[0], false);
}

static void gelu(struct net *n)
{
	cpu_bias_gelu(n->x[1], n->bias, n->x[2], SAMPLES, WIDTH);
}

static void sum(struct net *n)
{
	cpu_add(n->dx[0], n->dx[1], n->dx[2], (size_t)SAMPLES * WIDTH);
}

static void adam(struct net *n)
{
	cpu_adam(n->weight, n->gradient, n->moments, (size_t)LAYERS * WIDTH * WIDTH);
}

static const struct part {
	void (*run)(struct net *n);
	int times; /* calls per step */
	struct kernel k;
} parts[] = {
	{ forward, LAYERS, { .family = "gemm", .precision = "fp32", .variant = "nn", .d = { SAMPLES, WIDTH, WIDTH, 1 } } },
	{ gelu, LAYERS, { .family = "memory", .op = "bias-gelu", .precision = "fp32", .d = { SAMPLES, WIDTH } } },
	{ weights, LAYERS, { .family = "gemm", .precision = "fp32", .variant = "tn", .d = { WIDTH, WIDTH, SAMPLES, 1 } } },
	{ data, LAYERS, { .family = "gemm", .precision = "fp32", .variant = "nt", .d = { SAMPLES, WIDTH, WIDTH, 1 } } },
	{ sum, LAYERS, { .family = "memory", .op = "residual-add", .precision = "fp32", .d = { SAMPLES * WIDTH, 1 } } },
	{ adam, 1, { .family = "update", .op = "adam", .precision = "fp32", .d = { (double)LAYERS * WIDTH * WIDTH } } },
};
enum { PARTS = sizeof parts / sizeof *parts };

/* Times STEPS calls one by one and sorts the times. */
static void measure(struct net *n, void (*run)(struct net *n), double *seconds)
{
	for (int i = -5; i < STEPS; i++) {
		double start = monotonic_s();
		run(n);
		if (i >= 0)
			seconds[i] = monotonic_s() - start;
	}
	sort_values(seconds, STEPS);
}

/* Sets the median of each kernel. Returns their sum over a step. */
static double measure_parts(struct net *n, double *median)
{
	double seconds[STEPS], total = 0;
	for (int i = 0; i < PARTS; i++) {
		measure(n, parts[i].run, seconds);
		median[i] = seconds[STEPS / 2];
		total += parts[i].times * median[i];
	}
	return total;
}

/* Returns the step's time by the laws; NAN if the profile lacks one. now: the kernels' times just measured. */
static double predict(const struct profile *p, const double *now)
{
	double total = 0;
	for (int i = 0; i < PARTS; i++) {
		struct kernel k = parts[i].k;
		bool is_inside = true;
		char name[KERNEL_NAME_MAX];
		kernel_work(&k);
		kernel_name(&k, name);
		const struct law *l = profile_law(p, k.family, k.op, k.precision, k.variant, 0, 0);
		double seconds = l ? law_time(l, k.flops, k.bytes, k.size, &is_inside) : NAN;
		printf("  %d x %-36s law %9.1f us, timed now %9.1f us, %+6.1f %%%s\n", parts[i].times, name, 1e6 * seconds, 1e6 * now[i],
			100 * (seconds / now[i] - 1), is_inside ? "" : "  (outside of what was measured)");
		total += parts[i].times * seconds;
	}
	return total;
}

/* Returns the drift of the anchors while the profile was measured, from its environment. */
static double drift_of(const struct profile *p)
{
	const char *at = strstr(p->environment, "\ndrift_percent: ");
	return at ? strtod(at + strlen("\ndrift_percent: "), NULL) / 100 : p->is_stable ? 0 : NAN;
}

static int judge(double predicted, double median, double noise)
{
	/* With noise within half the bound, only an error of the law itself can exceed the bound. */
	const double bound = 0.25, most_noise = bound / 2;
	bool is_quiet = noise <= most_noise, is_near = fabs(predicted / median - 1) <= bound;
	if (!is_quiet)
		printf("noise of %.1f %% exceeds %.1f %%, so the prediction cannot be judged: expected an idle machine\n", 100 * noise,
			100 * most_noise);
	else
		printf("%s\n", is_near ? "within 25 %" : "NOT within 25 %");
	return is_quiet && !is_near;
}

static int test(struct net *n, const struct profile *p)
{
	double seconds[STEPS], before[PARTS], after[PARTS];
	double parts_before = measure_parts(n, before);
	measure(n, step, seconds);
	double parts_after = measure_parts(n, after), predicted = predict(p, after);
	double median = seconds[STEPS / 2], fast = seconds[STEPS / 10], slow = seconds[STEPS - 1 - STEPS / 10];
	double spread = slow / fast - 1, moved = fabs(parts_after / parts_before - 1), drift = drift_of(p);
	printf("step: %.2f ms (10 %% of steps below %.2f, 10 %% above %.2f); its kernels one by one %.2f ms; predicted %.2f ms: %+.1f %%\n",
		1e3 * median, 1e3 * fast, 1e3 * slow, 1e3 * parts_after, 1e3 * predicted, 100 * (predicted / median - 1));
	printf("noise: anchors of the calibration drifted by %.1f %%; its kernels by %.1f %% between before and after the steps; steps "
	       "spread "
	       "over %.1f %% (half of that counts)\n",
		100 * drift, 100 * moved, 100 * spread);
	return judge(predicted, median, isnan(drift) ? INFINITY : fmax(fmax(drift, moved), spread / 2));
}

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	struct net n = { .cpu = { .threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1 } };
	const size_t w = (size_t)WIDTH * WIDTH, a = (size_t)SAMPLES * WIDTH;
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
	int rc = test(&n, p);
	void *all[] = { n.weight, n.gradient, n.moments, n.bias };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		mem_free(all[i]);
	for (int l = 0; l <= LAYERS; l++) {
		mem_free(n.x[l]);
		mem_free(n.dx[l]);
	}
	profile_free(p);
	return rc;
}

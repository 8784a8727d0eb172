/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_learn - updates and gradients per second, relative to bounds of memory and compute
 *
 * The bound of an update is memcpy() of the bytes that it must read and write, on vectors that exceed
 * the caches. The bound of a gradient is its floating-point operations at the speed of one dot product of a row that
 * stays in the first-level cache. Wall time, best of three.
 */
#include <gsl/gsl_blas.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "learn/vec.h"
#include "tests/learn/learn_drive.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_of(double (*run)(void *), void *ctx)
{
	double best = 1e300;
	for (int i = 0; i < 3; i++) {
		double t = run(ctx);
		best = t < best ? t : best;
	}
	return best;
}

/* ---- bounds ---- */

struct copy {
	size_t n;
	int times;
	char *from, *to;
};

static double copy(void *ctx)
{
	struct copy *c = ctx;
	double start_s = now();
	for (int i = 0; i < c->times; i++) {
		memcpy(c->to, c->from, c->n);
		c->from[(size_t)i % c->n] = c->to[(size_t)i % 7 % c->n];
	}
	return (now() - start_s) / c->times;
}

/* Returns bytes/s, read plus written. */
static double memcpy_rate(size_t n)
{
	struct copy c = { n, (int)(2000000000 / n) + 1, mem_zalloc(n, 1), mem_zalloc(n, 1) };
	memset(c.to, 1, n);
	double rate = 2 * (double)n / best_of(copy, &c);
	mem_free(c.from);
	mem_free(c.to);
	return rate;
}

enum { ROW = 1024, DOTS = 300000 };
static double row_a[ROW], row_b[ROW];
static volatile double sink;

static double own_dots(void *ctx)
{
	(void)ctx;
	double start_s = now(), sum = 0;
	for (int i = 0; i < DOTS; i++) {
		row_a[i % ROW] += 1e-9;
		sum += vec_dot(row_a, row_b, ROW);
	}
	sink = sum;
	return (now() - start_s) / DOTS;
}

static double gsl_dots(void *ctx)
{
	(void)ctx;
	gsl_vector_view a = gsl_vector_view_array(row_a, ROW), b = gsl_vector_view_array(row_b, ROW);
	double start_s = now(), sum = 0, one_dot;
	for (int i = 0; i < DOTS; i++) {
		row_a[i % ROW] += 1e-9;
		gsl_blas_ddot(&a.vector, &b.vector, &one_dot);
		sum += one_dot;
	}
	sink = sum;
	return (now() - start_s) / DOTS;
}

/* ---- schedules ---- */

struct load {
	struct learn_config config;
	uint32_t workers;
	int rounds;
	void (*round)(struct learn *l, double t, uint32_t n);
	double ops; /* per round */
};

static double run_load(void *ctx)
{
	struct load *o = ctx;
	struct learn *l = learn_new(&o->config, &drive_error);
	drive_check(!l);
	o->round(l, 0, o->workers);
	double start_s = now();
	for (int k = 1; k <= o->rounds; k++)
		o->round(l, 2 * k, o->workers);
	double t = (now() - start_s) / o->rounds;
	sink = learn_parameters(l, 0)[0];
	learn_free(l);
	return t;
}

static void local(struct learn *l, double t, uint32_t n)
{
	for (uint32_t d = 0; d < n; d++)
		one(l, t, ORR_LOCAL_UPDATE, d);
}

static void server(struct learn *l, double t, uint32_t n)
{
	for (uint32_t d = 0; d < n; d++) {
		struct orr_update push = { .kind = ORR_PUSH, .worker = d }, pull = { .kind = ORR_PULL, .worker = d };
		at_once(l, t, push, (uint32_t[]){ d, 99 }, 2);
		at_once(l, t, pull, (uint32_t[]){ 99, d }, 2);
	}
}

static void pair_means(struct learn *l, double t, uint32_t n)
{
	for (uint32_t d = 0; d < n; d += 2)
		at_once(l, t, (struct orr_update){ .kind = ORR_AVERAGE_PARAMETERS }, (uint32_t[]){ d, d + 1 }, 2);
	local(l, t, n);
}

static void all_gradients(struct learn *l, double t, uint32_t n)
{
	gradients(l, t, n);
	for (uint32_t d = 0; d < n; d++)
		learn_gradient(l, d);
}

static struct load load_of(
	enum learn_problem p, uint32_t inputs, uint32_t workers, int rounds, void (*round)(struct learn *, double, uint32_t))
{
	struct load o = { .workers = workers, .rounds = rounds, .round = round };
	learn_config_default(&o.config);
	o.config.problem = p;
	o.config.inputs = inputs;
	o.config.eval_samples = 0;
	return o;
}

/* Measures updates. bytes: traffic of one update. */
static void updates(const char *what, struct load o, double per_round, double bytes)
{
	double t = best_of(run_load, &o) / per_round, copied = memcpy_rate((size_t)(bytes / 2));
	printf("%-52s %10.0f updates/s  %6.2f GB/s, memcpy %6.2f GB/s: %.2f of the bound\n", what, 1 / t, bytes / t * 1e-9, copied * 1e-9,
		bytes / t / copied);
}

static void gradients_of(const char *what, struct load o, double flops, double peak)
{
	double t = best_of(run_load, &o) / o.workers;
	printf("%-52s %10.0f gradients/s  %5.2f Gflop/s, dot product %5.2f: %.2f of the bound\n", what, 1 / t,
		flops * o.config.batch / t * 1e-9, peak * 1e-9, flops * o.config.batch / t / peak);
}

int main(void)
{
	for (int i = 0; i < ROW; i++)
		row_b[i] = i;
	double own = 2 * ROW / best_of(own_dots, NULL), gsl = 2 * ROW / best_of(gsl_dots, NULL);
	printf("%-52s %5.2f Gflop/s, gsl_blas_ddot %5.2f\n", "dot product of 1,024 in the cache", own * 1e-9, gsl * 1e-9);

	enum { BIG = 4000000, SMALL = 2000 };
	struct load o;
	updates("x -= eta g, 4M parameters (read 2, write 1)", load_of(LEARN_NONE, BIG, 2, 20, local), 2, 24. * BIG);
	updates("push and pull, 4M (read 2, write 1)", load_of(LEARN_NONE, BIG, 4, 8, server), 4, 24. * BIG);
	updates("mean of pairs and update, 4M (2 workers: 5 and 2)", load_of(LEARN_NONE, BIG, 2, 10, pair_means), 2, 28. * BIG);
	updates("x -= eta g, 2,000 parameters (cache)", load_of(LEARN_NONE, SMALL, 16, 20000, local), 16, 24. * SMALL);
	updates("push and pull, 2,000 (cache)", load_of(LEARN_NONE, SMALL, 16, 20000, server), 16, 24. * SMALL);
	o = load_of(LEARN_NONE, 1, 16, 100000, local);
	printf("%-52s %10.0f ops/s\n", "an op that updates 1 parameter, begin to end", 16 / best_of(run_load, &o));

	o = load_of(LEARN_LEAST_SQUARES, 1000, 8, 50, all_gradients);
	o.config.threads = 1;
	gradients_of("least squares, 1,000 inputs, batch 32, 32 MB of data", o, 4e3, own);
	o.config.threads = 0;
	gradients_of("... with all threads", o, 4e3, own);
	o.config.rows = 128;
	o.config.threads = 1;
	gradients_of("... 1 MB of data", o, 4e3, own);
	o = load_of(LEARN_LOGISTIC, 32, 8, 2000, all_gradients);
	o.config.threads = 1;
	gradients_of("logistic regression, 32 inputs, batch 32", o, 128, own);
	o = load_of(LEARN_MLP, 64, 8, 100, all_gradients);
	o.config.hidden = 64;
	o.config.classes = 10;
	o.config.threads = 1;
	gradients_of("perceptron 64-64-10, batch 32", o, 4. * 64 * 64 + 6. * 64 * 10, own);
	o.config.threads = 0;
	gradients_of("... with all threads", o, 4. * 64 * 64 + 6. * 64 * 10, own);
	return drive_errors != 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/load.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"

static int64_t exponential(uint64_t bits, double uniform)
{
	(void)bits;
	return (int64_t)(-log(uniform) * 1e9);
}

static int64_t bimodal(uint64_t bits, double uniform)
{
	return bits % 10 ? (int64_t)(uniform * 1e8) : (int64_t)(1e10 + uniform * 1e9);
}

static int64_t all_equal(uint64_t bits, double uniform)
{
	(void)bits;
	(void)uniform;
	return 1000000000;
}

static int64_t whole_ms(uint64_t bits, double uniform)
{
	(void)uniform;
	return (int64_t)(bits % 10) * 1000000;
}

const struct load loads[] = {
	{ "exponential", "mean 1 s", exponential },
	{ "bimodal", "nine in ten below 0.1 s, the others 10 to 11 s", bimodal },
	{ "all equal", "1 s: all events at one instant", all_equal },
	{ "ties", "0 to 9 whole ms: a tenth of all events at each instant", whole_ms },
};
const int loads_count = sizeof loads / sizeof *loads;

int64_t *load_draws(const struct load *l)
{
	int64_t *draws = mem_alloc(LOAD_DRAWS * sizeof *draws);
	struct rng r;
	rng_init(&r, 1, l->name, 0);
	for (int i = 0; i < LOAD_DRAWS; i++) {
		uint64_t bits = rng_u64(&r) >> 32;
		draws[i] = l->draw(bits, rng_uniform_pos(&r));
	}
	return draws;
}

double cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *va, const void *vb)
{
	double a = *(const double *)va, b = *(const double *)vb;
	return (a > b) - (a < b);
}

double median(double *v, int n)
{
	qsort(v, (size_t)n, sizeof *v, by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

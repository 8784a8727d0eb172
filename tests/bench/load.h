/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * load.h - the HOLD model's increments, CPU time and medians, for benchmarks
 *
 * HOLD (J. G. Vaucher and P. Duval, "A comparison of simulation event list
 * algorithms", CACM 18(4), 1975): each hold pops the earliest of N pending events
 * and pushes it again at its time plus a random increment. Increments are ns and
 * come from a table drawn beforehand, so that drawing is not measured.
 */
#ifndef ORR_TESTS_BENCH_LOAD_H
#define ORR_TESTS_BENCH_LOAD_H

#include <stdint.h>

enum { LOAD_DRAWS = 1 << 20 };

struct load {
	const char *name, *what;
	int64_t (*draw)(uint64_t bits, double uniform); /* uniform: in (0, 1), from other bits */
};

extern const struct load loads[];
extern const int loads_count;

/* Returns LOAD_DRAWS increments, the same each time; the caller frees them with mem_free(). */
int64_t *load_draws(const struct load *l);

double cpu_seconds(void);        /* CPU time of this process so far */
double median(double *v, int n); /* sorts v */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sample_run.h - synthetic results for the tests of results/
 *
 * sample_run(label, n, seed) has n jobs with every kind of value that the store
 * must keep: times that never happened, missing texts, values with and without intervals, empty
 * and full series, quotes in texts. Equal arguments give equal results.
 */
#ifndef ORR_TESTS_SAMPLE_RUN_H
#define ORR_TESTS_SAMPLE_RUN_H

#include "results/result.h"

struct run_result *sample_run(const char *label, size_t n, uint64_t seed);
/* Adds n rows of each table of the step world. */
void sample_add_step(struct run_result *r, size_t n);
/* Adds n requests of the serving world in all states, with missing times and texts. */
void sample_add_requests(struct run_result *r, size_t n);
/* Adds n rows of instances of the spot world, and accounts. */
void sample_add_spot(struct run_result *r, size_t n);
/* Returns whether all values that the store keeps are equal. */
bool same_run(const struct run_result *a, const struct run_result *b);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pace.h - expected lengths of runs, learned from finished runs of the same study
 *
 * The expected length of a run is its size, as its world states it (world.size), times the CPU time per unit of size of finished runs
 * of its label; of all finished runs if none has the label; 1 s if there are none. Runs without a size take the mean CPU time of their
 * label. Expected lengths choose the order in which runs start, and nothing else.
 */
#ifndef ORR_STUDY_PACE_H
#define ORR_STUDY_PACE_H

#include <stddef.h>

struct pace;
struct pace *pace_new(void);
void pace_free(struct pace *p);
/* Learns from a finished run. size 0: unknown; cpu_s: CPU time of one replication. */
void pace_learn(struct pace *p, const char *label, double size, double cpu_s);
/* Returns the expected length of a replication in seconds; in an arbitrary unit until the first run has finished. */
double pace_expect(const struct pace *p, const char *label, double size);

/* A run that waits to start. */
struct pace_run {
	size_t run;
	double expected;
};
/* Orders the last `window` runs by expected length, longest first, so that all threads end at about the same time; runs of equal length
 * keep their order. The runs before this window keep their order too. */
void pace_order(struct pace_run *list, size_t n, size_t window);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * learn_drive.h - hand-written schedules of updates, for tests of sim/learn
 *
 * Each function applies one op, or the ops of one round, to the learner. Failures are printed and counted in drive_errors.
 */
#ifndef ORR_TESTS_LEARN_DRIVE_H
#define ORR_TESTS_LEARN_DRIVE_H

#include "tests/learn/learn_peek.h"

#include <stdio.h>
#include <stdlib.h>

enum { DRIVE_MOST = 64 };

static struct orr_error drive_error;
static int drive_errors;
static uint64_t drive_op = 1;

__attribute__((unused)) static void drive_check(int rc)
{
	if (rc && drive_errors++ < 5)
		printf("# %s\n", drive_error.text);
}

__attribute__((unused)) static uint64_t start(
	struct learn *l, double t, const struct orr_update *u, uint32_t n, const uint32_t *group, uint32_t n_group)
{
	drive_check(learn_begin(l, t, drive_op, u, n, group, n_group, &drive_error));
	return drive_op++;
}

__attribute__((unused)) static void end(struct learn *l, double t, uint64_t op, uint32_t first)
{
	drive_check(learn_end(l, t, op, first, &drive_error));
}

/* Applies an op of one kind that takes no time. */
__attribute__((unused)) static void at_once(struct learn *l, double t, struct orr_update u, const uint32_t *group, uint32_t n)
{
	end(l, t, start(l, t, &u, 1, group, n), group[0]);
}

__attribute__((unused)) static void one(struct learn *l, double t, enum orr_update_kind kind, uint32_t device)
{
	at_once(l, t, (struct orr_update){ .kind = kind }, &device, 1);
}

__attribute__((unused)) static void gradients_start(struct learn *l, double t, uint32_t n, uint64_t op[DRIVE_MOST])
{
	struct orr_update u = { .kind = ORR_GRADIENT };
	for (uint32_t d = 0; d < n; d++)
		op[d] = start(l, t, &u, 1, &d, 1);
}

__attribute__((unused)) static void gradients_end(struct learn *l, double t, uint32_t n, const uint64_t op[DRIVE_MOST])
{
	for (uint32_t d = 0; d < n; d++)
		end(l, t, op[d], d);
}

/* Applies a gradient of each of the n devices, from t to t + 1. */
__attribute__((unused)) static void gradients(struct learn *l, double t, uint32_t n)
{
	uint64_t op[DRIVE_MOST];
	gradients_start(l, t, n, op);
	gradients_end(l, t + 1, n, op);
}

/* Applies one iteration of bulk-synchronous training. */
__attribute__((unused)) static void bsp(struct learn *l, double t, uint32_t n)
{
	uint32_t all[DRIVE_MOST] = { 0 };
	for (uint32_t d = 0; d < n; d++)
		all[d] = d;
	gradients(l, t, n);
	at_once(l, t + 1, (struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS }, all, n);
	for (uint32_t d = 0; d < n; d++)
		one(l, t + 1, ORR_LOCAL_UPDATE, d);
}

/* Averages parameters in groups: group[d] is the number of device d's group. */
__attribute__((unused)) static void average_groups(struct learn *l, double t, uint32_t n, const uint32_t *group)
{
	for (uint32_t g = 0; g < n; g++) {
		uint32_t member[DRIVE_MOST], m = 0;
		for (uint32_t d = 0; d < n; d++)
			if (group[d] == g)
				member[m++] = d;
		if (m)
			at_once(l, t, (struct orr_update){ .kind = ORR_AVERAGE_PARAMETERS }, member, m);
	}
}

/* Computes the groups of round k of the line schedule of a `side`^dims grid: the lines along axis k mod dims. */
__attribute__((unused)) static void grid_groups(uint32_t side, uint32_t dims, uint32_t k, uint32_t n, uint32_t *group)
{
	uint32_t stride = 1;
	for (uint32_t i = 0; i < k % dims; i++)
		stride *= side;
	for (uint32_t d = 0; d < n; d++)
		group[d] = d - d / stride % side * stride;
}

/* Returns the schedule of DS-Sync's public code: {0,1} {2,3}, then {0,3} {1,2}. */
__attribute__((unused)) static void pair4_groups(uint32_t k, uint32_t *group)
{
	static const uint32_t partition[2][4] = { { 0, 0, 1, 1 }, { 0, 1, 1, 0 } };
	for (int d = 0; d < 4; d++)
		group[d] = partition[k % 2][d];
}

#endif

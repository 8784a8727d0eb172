/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdp_plan.h - chooses one sub-model per device so that the times of the devices are nearly equal */
#ifndef ORR_POLICIES_SERVE_MDP_PLAN_H
#define ORR_POLICIES_SERVE_MDP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* A sub-model that a device can run. */
struct mdp_choice {
	uint32_t model;
	double time_s;
};

/*
 * Chooses one entry for each of n devices so that the ratio of the largest to the smallest time is least; of equal ratios, the
 * choice with the largest times. choice[k]: the n_choice[k] >= 1 entries of device k; they are sorted by time. Writes picked[k], the index
 * of the entry of device k. O(n x sum of n_choice).
 */
void mdp_balance(struct mdp_choice *const *choice, const uint32_t *n_choice, uint32_t n, uint32_t *picked);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdp_plan.h - chooses one sub-model per device so that the times of the devices are nearly equal */
#ifndef ORR_POLICIES_SERVE_MDP_PLAN_H
#define ORR_POLICIES_SERVE_MDP_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* A sub-model that a device can run. */
struct mdp_choice {
	uint32_t model;
	double time_s;  /* alone, from arrival to answer */
	double input_s; /* part of time_s for which its input occupies a link that all inputs share; 0: a link of its own */
};

/*
 * Chooses one entry for each of n devices so that the ratio of the largest to the smallest time is least; of equal ratios, the
 * choice with the largest times. choice[k]: the n_choice[k] >= 1 entries of device k; they are sorted by time. Writes picked[k], the index
 * of the entry of device k. O(n x sum of n_choice).
 */
void mdp_balance(struct mdp_choice *const *choice, const uint32_t *n_choice, uint32_t n, uint32_t *picked);

/*
 * The same for inputs that share a link: the time of device k is its time_s + the sum over the other devices j of min(input_s of k, input_s
 * of j). Only choices whose largest time is at most target_s count; if none is found, returns false and picks the choice with the
 * smallest largest time that was seen. All choices are tried if they are at most MDP_ALL; otherwise that of mdp_balance(), those of its
 * kind of search, and single changes to the best of these, which may miss the least ratio.
 */
enum { MDP_ALL = 50000 };
bool mdp_balance_shared(struct mdp_choice *const *choice, const uint32_t *n_choice, uint32_t n, double target_s, uint32_t *picked);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parcae_odds.h - expected pipelines after random losses, the basis of "liveput" (Duan et al., "Parcae: Proactive,
 * Liveput-Optimized DNN Training on Preemptible Instances", NSDI 2024)
 *
 * D pipelines of P stages have D x P workers. j of them are lost; all sets of j are equally likely. The cost of the next
 * migration depends on the fewest replicas that any stage keeps, and on the number of stages that keep none. Invariant: keep[0]
 * = 1, keep is non-increasing, keep[1] = lost[0], lost sums to 1.
 */
#ifndef ORR_POLICIES_SPOT_PARCAE_ODDS_H
#define ORR_POLICIES_SPOT_PARCAE_ODDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Computes keep[k], k = 0..D, the probability that every stage keeps at least k replicas, and lost[e], e = 0..P, the
 * probability that exactly e stages keep none.
 */
void parcae_odds_exact(uint32_t pipelines, uint32_t depth, uint32_t workers_lost, double *keep, double *lost);
/* Estimates the same from random draws; equal keys give equal draws. */
void parcae_odds_drawn(uint32_t pipelines, uint32_t depth, uint32_t workers_lost, uint32_t draws, uint64_t key, double *keep, double *lost);
/* Returns SplitMix64 (Steele, Lea, Flood 2014) of x: a counter-based stream of random numbers, and a hash. */
uint64_t parcae_mix(uint64_t x);
/* Returns the probability that j of r lost nodes, out of n, are among the w working nodes. */
double parcae_hit_chance(uint32_t n, uint32_t w, uint32_t r, uint32_t j);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mdp_plan.h"

#include <orrery/serve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
	const struct mdp_choice *x = a, *y = b;
	return (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

/* Computes the largest time of the entries at[k], and its ratio to the smallest time. Returns the device with the smallest time. */
static uint32_t measure(struct mdp_choice *const *choice, const uint32_t *at, uint32_t n, double *ratio, double *largest)
{
	uint32_t least = 0;
	*largest = 0;
	for (uint32_t k = 0; k < n; k++) {
		double t = choice[k][at[k]].time_s;
		*largest = fmax(*largest, t);
		if (t < choice[least][at[least]].time_s)
			least = k;
	}
	*ratio = *largest / choice[least][at[least]].time_s;
	return least;
}

/* Of all choices with a given smallest time, the ratio is least if every other device has its smallest time that is at least this
 * time. The loop starts with the smallest time of each device and visits this choice for each possible smallest time: it repeatedly
 * moves the device with the smallest time to its next larger time, until that device has none. */
void mdp_balance(struct mdp_choice *const *choice, const uint32_t *n_choice, uint32_t n, uint32_t *picked)
{
	static const double rounding = 1e-12;
	double best = INFINITY, ratio, largest, best_largest = 0;
	uint32_t *at = orr_alloc(n, sizeof *at);
	for (uint32_t k = 0; k < n; k++)
		qsort(choice[k], n_choice[k], sizeof *choice[k], by_time);
	for (;;) {
		uint32_t least = measure(choice, at, n, &ratio, &largest);
		if (ratio < best * (1 - rounding) || (ratio <= best * (1 + rounding) && largest > best_largest)) {
			best = ratio;
			best_largest = largest;
			memcpy(picked, at, n * sizeof *at);
		}
		if (++at[least] == n_choice[least])
			break;
	}
	orr_free(at);
}

/* ---- inputs that share a link ---- */

/* A search over choices of entries whose inputs share a link. */
struct search {
	struct mdp_choice *const *choice;
	const uint32_t *n_choice;
	uint32_t n;
	double target_s;
	double ratio, largest; /* of the best choice so far */
	uint32_t *best;
};

/* Computes the largest time of the entries at[k], and its ratio to the smallest time. Returns the device with the smallest time. */
static uint32_t measure_shared(const struct search *s, const uint32_t *at, double *ratio, double *largest)
{
	uint32_t least = 0;
	double smallest = INFINITY;
	*largest = 0;
	for (uint32_t k = 0; k < s->n; k++) {
		const struct mdp_choice *own = &s->choice[k][at[k]];
		double t = own->time_s;
		for (uint32_t j = 0; j < s->n; j++)
			t += j == k ? 0 : fmin(own->input_s, s->choice[j][at[j]].input_s);
		*largest = fmax(*largest, t);
		if (t < smallest) {
			smallest = t;
			least = k;
		}
	}
	*ratio = *largest / smallest;
	return least;
}

static bool is_better(const struct search *s, double ratio, double largest)
{
	static const double rounding = 1e-12;
	bool meets = largest <= s->target_s, met = s->largest <= s->target_s;
	if (!meets || !met)
		return meets || (!met && largest < s->largest);
	return ratio < s->ratio * (1 - rounding) || (ratio <= s->ratio * (1 + rounding) && largest > s->largest);
}

/* Compares a choice with the best one; sets *least, unless it is NULL, to the device with the smallest time. Returns whether the choice is
 * better. */
static bool visit(struct search *s, const uint32_t *at, uint32_t *least)
{
	double ratio, largest;
	uint32_t device = measure_shared(s, at, &ratio, &largest);
	if (least)
		*least = device;
	if (!is_better(s, ratio, largest))
		return false;
	s->ratio = ratio;
	s->largest = largest;
	memcpy(s->best, at, s->n * sizeof *at);
	return true;
}

static void try_all(struct search *s, uint32_t *at)
{
	for (uint32_t k = 0; k < s->n;) {
		visit(s, at, NULL);
		for (k = 0; k < s->n && ++at[k] == s->n_choice[k]; k++)
			at[k] = 0;
	}
}

static void try_some(struct search *s, uint32_t *at)
{
	mdp_balance(s->choice, s->n_choice, s->n, at);
	visit(s, at, NULL);
	memset(at, 0, s->n * sizeof *at);
	for (uint32_t least; visit(s, at, &least), ++at[least] < s->n_choice[least];)
		;
	bool improved;
	do {
		improved = false;
		for (uint32_t k = 0; k < s->n; k++)
			for (uint32_t i = 0; i < s->n_choice[k]; i++) {
				memcpy(at, s->best, s->n * sizeof *at);
				at[k] = i;
				improved |= visit(s, at, NULL);
			}
	} while (improved);
}

bool mdp_balance_shared(struct mdp_choice *const *choice, const uint32_t *n_choice, uint32_t n, double target_s, uint32_t *picked)
{
	struct search s = { choice, n_choice, n, target_s, INFINITY, INFINITY, picked };
	uint32_t *at = orr_alloc(n, sizeof *at);
	double choices = 1;
	memset(picked, 0, n * sizeof *picked);
	for (uint32_t k = 0; k < n; k++) {
		qsort(choice[k], n_choice[k], sizeof *choice[k], by_time);
		choices *= n_choice[k];
	}
	if (choices <= MDP_ALL)
		try_all(&s, at);
	else
		try_some(&s, at);
	orr_free(at);
	return s.largest <= target_s;
}

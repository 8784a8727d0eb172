/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "parcae_odds.h"

#include <orrery/api.h>

#include <math.h>
#include <string.h>

/*
 * Computes the probabilities for a stage. Losses are polynomials: the coefficient of x^i is the probability that i of a stage's
 * D replicas are lost if each is lost with probability p. In a product over stages, it is the probability that i are lost in
 * total. Given j losses in total, all sets are equally likely for any p, so p is only a scale; p = j / (D P) avoids underflow.
 */
static void stage_chances(uint32_t replicas, double p, double *out)
{
	out[0] = pow(1 - p, replicas);
	for (uint32_t i = 0; i < replicas; i++)
		out[i + 1] = out[i] * (replicas - i) / (i + 1) * p / (1 - p);
}

/* Computes a *= b, up to x^j; b has terms 0..top. In place, from the highest term down. */
static void times(double *a, uint32_t j, const double *b, uint32_t top)
{
	for (uint32_t i = j + 1; i-- > 0;) {
		double sum = 0;
		for (uint32_t k = 0; k <= top && k <= i; k++)
			sum += a[i - k] * b[k];
		a[i] = sum;
	}
}

/* Returns the coefficient of x^j in (polynomial of a stage with at most `most` losses)^depth. */
static double product_term(const double *stage, uint32_t most, uint32_t depth, uint32_t j, double *scratch)
{
	memset(scratch, 0, (j + 1) * sizeof *scratch);
	scratch[0] = 1;
	for (uint32_t s = 0; s < depth; s++)
		times(scratch, j, stage, most);
	return scratch[j];
}

static void nothing_or_all(uint32_t pipelines, uint32_t depth, bool all, double *keep, double *lost)
{
	for (uint32_t k = 0; k <= pipelines; k++)
		keep[k] = k == 0 || !all;
	for (uint32_t e = 0; e <= depth; e++)
		lost[e] = e == (all ? depth : 0);
}

void parcae_odds_exact(uint32_t pipelines, uint32_t depth, uint32_t workers_lost, double *keep, double *lost)
{
	uint32_t workers = pipelines * depth, j = workers_lost;
	if (j == 0 || j >= workers) {
		nothing_or_all(pipelines, depth, j > 0, keep, lost);
		return;
	}
	double *stage = orr_alloc(pipelines + 1 + j + 1, sizeof *stage), *scratch = stage + pipelines + 1;
	stage_chances(pipelines, (double)j / workers, stage);
	double all = product_term(stage, pipelines, depth, j, scratch);
	keep[0] = 1;
	for (uint32_t k = 1; k <= pipelines; k++)
		keep[k] = product_term(stage, pipelines - k, depth, j, scratch) / all;
	/* e stages are lost completely, the other stages in part: C(P, e) (x^D's term)^e (the other terms)^(P - e). */
	memset(scratch, 0, (j + 1) * sizeof *scratch);
	scratch[0] = 1;
	for (uint32_t partly = 0; partly <= depth; partly++) {
		uint32_t e = depth - partly;
		double ways = 1;
		for (uint32_t i = 0; i < e; i++)
			ways *= (double)(depth - i) / (i + 1) * stage[pipelines];
		lost[e] = (uint64_t)e * pipelines <= j ? ways * scratch[j - e * pipelines] / all : 0;
		times(scratch, j, stage, pipelines - 1);
	}
	orr_free(stage);
}

uint64_t parcae_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Returns a whole number below n: the high half of a product, with an error of at most n / 2^32. */
static uint32_t below(uint64_t *counter, uint32_t n)
{
	return (uint32_t)(((parcae_mix((*counter)++) >> 32) * n) >> 32);
}

/* Draws one set of losses: Floyd's sampling of j out of all workers, counted by stage. */
static void draw(uint32_t workers, uint32_t depth, uint32_t j, uint64_t *counter, bool *is_lost, uint32_t *by_stage)
{
	memset(is_lost, 0, workers * sizeof *is_lost);
	memset(by_stage, 0, depth * sizeof *by_stage);
	for (uint32_t i = workers - j; i < workers; i++) {
		uint32_t one = below(counter, i + 1);
		if (is_lost[one])
			one = i;
		is_lost[one] = true;
		by_stage[one % depth]++;
	}
}

void parcae_odds_drawn(uint32_t pipelines, uint32_t depth, uint32_t workers_lost, uint32_t draws, uint64_t key, double *keep, double *lost)
{
	uint32_t workers = pipelines * depth, j = workers_lost;
	if (j == 0 || j >= workers) {
		nothing_or_all(pipelines, depth, j > 0, keep, lost);
		return;
	}
	bool *is_lost = orr_alloc(workers, sizeof *is_lost);
	uint32_t *by_stage = orr_alloc(depth, sizeof *by_stage);
	memset(keep, 0, (pipelines + 1) * sizeof *keep);
	memset(lost, 0, (depth + 1) * sizeof *lost);
	uint64_t counter = parcae_mix(parcae_mix(parcae_mix(key ^ pipelines) ^ depth) ^ j);
	for (uint32_t i = 0; i < draws; i++) {
		draw(workers, depth, j, &counter, is_lost, by_stage);
		uint32_t worst = 0, gone = 0;
		for (uint32_t s = 0; s < depth; s++) {
			worst = by_stage[s] > worst ? by_stage[s] : worst;
			gone += by_stage[s] == pipelines;
		}
		keep[pipelines - worst]++;
		lost[gone]++;
	}
	for (uint32_t k = pipelines; k-- > 0;)
		keep[k] += keep[k + 1];
	for (uint32_t k = 0; k <= pipelines; k++)
		keep[k] /= draws;
	for (uint32_t e = 0; e <= depth; e++)
		lost[e] /= draws;
	orr_free(is_lost);
	orr_free(by_stage);
}

static double log_choose(uint32_t n, uint32_t k)
{
	double sum = 0;
	for (uint32_t i = 1; i <= k; i++)
		sum += log((double)(n - k + i) / i);
	return sum;
}

double parcae_hit_chance(uint32_t n, uint32_t w, uint32_t r, uint32_t j)
{
	if (j > w || j > r || r - j > n - w)
		return 0;
	return exp(log_choose(w, j) + log_choose(n - w, r - j) - log_choose(n, r));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/speculation.h"

#include "base/mem.h"

#include <math.h>

double speculation_chance(const struct acceptance *a, uint32_t g, uint32_t j)
{
	double p = 1;
	for (uint32_t i = 0; i + 1 < j; i++)
		p *= acceptance_rate(a, i);
	return j <= g ? p * (1 - acceptance_rate(a, j - 1)) : p;
}

double speculation_tokens(const struct acceptance *a, uint32_t g)
{
	double p = 1, sum = 1;
	for (uint32_t i = 0; i < g; i++)
		sum += p *= acceptance_rate(a, i);
	return sum;
}

double speculation_passes(const struct acceptance *a, uint32_t g, uint32_t n)
{
	double *e = mem_zalloc((size_t)n + 1, sizeof *e);
	for (uint32_t left = 1; left <= n; left++) {
		e[left] = 1;
		for (uint32_t j = 1; j <= g + 1 && j < left; j++)
			e[left] += speculation_chance(a, g, j) * e[left - j];
	}
	double passes = e[n];
	mem_free(e);
	return passes;
}

double speculation_speedup(const struct acceptance *a, uint32_t g, double cost)
{
	return speculation_tokens(a, g) / (g * cost + 1);
}

uint32_t speculation_best(const struct acceptance *a, uint32_t most, double cost)
{
	uint32_t best = 0;
	for (uint32_t g = 1; g <= most; g++)
		if (speculation_speedup(a, g, cost) > speculation_speedup(a, best, cost))
			best = g;
	return best;
}

double speculation_operations(const struct acceptance *a, uint32_t g, double cost)
{
	return (g * cost + g + 1) / speculation_tokens(a, g);
}

double speculation_lookahead(double rate, uint32_t g, uint32_t b)
{
	double sum = g + 1;
	for (uint32_t i = 1; i <= g; i++)
		sum -= pow(1 - pow(rate, i), b);
	return sum;
}

double speculation_s(struct served_on *x, const struct llm_load *load, uint32_t g, uint32_t check, double cost)
{
	struct llm_load checks = *load, plain = { .decodes = load->decodes, .decode_context = load->decode_context };
	if (!g)
		return served_iteration(x, load);
	checks.checked = (double)load->decodes * (check ? check - 1 : g);
	return served_iteration(x, &checks) + (cost > 0 ? g * cost * served_iteration(x, &plain) : 0);
}

uint32_t speculation_best_for(
	struct served_on *x, const struct llm_load *load, const struct acceptance *a, uint32_t most, uint32_t check, double cost)
{
	uint32_t best = 0;
	double fastest = 1 / speculation_s(x, load, 0, check, cost);
	for (uint32_t g = 1; g <= most; g++) {
		double rate = speculation_tokens(a, g) / speculation_s(x, load, g, check, cost);
		if (rate > fastest) {
			fastest = rate;
			best = g;
		}
	}
	return best;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/goodput.h"

#include <math.h>

enum { SAMPLES = 50 };
static const double LEAST = 1e-8;
static const double EPSILON = 1e-8; /* absorbs the rounding of batch / gpus before ceil() */

int goodput_check(const struct goodput_model *m, const char *where, struct orr_error *err)
{
	const struct {
		const char *name;
		double value, least, most;
	} limits[] = { { "init_batch_size", m->init_batch, 1, 1e12 }, { "max_batch_size", m->max_batch, m->init_batch, 1e12 },
		{ "min_local_bsz", m->min_local, 1, 1e12 }, { "max_local_bsz", m->max_local, m->min_local, 1e12 },
		{ "alpha_c", m->alpha_c, 0, 1e9 }, { "beta_c", m->beta_c, 0, 1e9 }, { "alpha_n", m->alpha_n, 0, 1e9 },
		{ "beta_n", m->beta_n, 0, 1e9 }, { "alpha_r", m->alpha_r, 0, 1e9 }, { "beta_r", m->beta_r, 0, 1e9 },
		{ "gamma", m->gamma, 1, 10 } };
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (!(limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
			return orr_fail(err, ORR_EINPUT, "%.300s: %s: expected a number from %.15g to %.15g, found %.15g", where,
				limits[i].name, limits[i].least, limits[i].most, limits[i].value);
	if (m->alpha_c + m->beta_c * m->min_local > 0)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%.300s: alpha_c, beta_c: expected a time of a pass above 0", where);
}

static double pass_time(const struct goodput_model *m, double atomic)
{
	return m->alpha_c + m->beta_c * atomic;
}

static double network_time(const struct goodput_model *m, double nodes, double gpus)
{
	double above = fmax(gpus - 2, LEAST);
	if (nodes > 1)
		return m->alpha_n + m->beta_n * above;
	return gpus > 1 ? m->alpha_r + m->beta_r * above : LEAST + LEAST * above;
}

double goodput_throughput(const struct goodput_model *m, double nodes, double gpus, double atomic, double accum)
{
	double pass = pass_time(m, atomic), net = network_time(m, nodes, gpus);
	double update = exp(log(pow(pass, m->gamma) + pow(net, m->gamma)) / m->gamma);
	return gpus * atomic * (accum + 1) / (accum * pass + update);
}

double goodput_efficiency(const struct goodput_model *m, const struct goodput_noise *g, double batch)
{
	double scale = batch / m->init_batch, below = g->var / scale + g->sqr;
	return (below > 0 ? (g->var + g->sqr) / below : 1) / scale;
}

struct goodput_choice goodput_at(
	const struct goodput_model *m, const struct goodput_noise *g, double nodes, double gpus, double atomic, double accum)
{
	struct goodput_choice c = { .atomic = atomic, .accum = accum, .batch = gpus * atomic * (accum + 1) };
	c.throughput = goodput_throughput(m, nodes, gpus, atomic, accum);
	c.efficiency = goodput_efficiency(m, g, c.batch);
	c.goodput = c.throughput * c.efficiency;
	return c;
}

/* Splits a GPU's share of the batch into an atomic batch and accumulation steps. */
static void split(const struct goodput_model *m, double share, double gpus, double margin, double *atomic, double *accum)
{
	*accum = ceil(share / m->max_local - EPSILON) - 1;
	if (gpus == 1 && share > m->init_batch + margin)
		*accum = fmax(*accum, 1);
	*accum = fmax(*accum, 0);
	*atomic = ceil(share / (*accum + 1) - EPSILON);
}

struct goodput_choice goodput_optimize(const struct goodput_model *m, const struct goodput_noise *g, double nodes, double gpus)
{
	double first = fmax(m->init_batch, m->min_local * gpus);
	double from = log10(first), step = (log10(m->max_batch) - from) / (SAMPLES - 1);
	struct goodput_choice best = { .atomic = 0 };
	for (int i = 0; first <= m->max_batch && i < SAMPLES; i++) {
		double batch = i == 0 ? first : i == SAMPLES - 1 ? m->max_batch : pow(10, i * step + from), atomic, accum;
		split(m, batch / gpus, gpus, EPSILON, &atomic, &accum);
		if (atomic < m->min_local || atomic > m->max_local)
			continue;
		struct goodput_choice c = goodput_at(m, g, nodes, gpus, atomic, accum);
		if (c.goodput > best.goodput)
			best = c;
	}
	return best;
}

void goodput_split(const struct goodput_model *m, double batch, double gpus, double *atomic, double *accum)
{
	split(m, batch / gpus, gpus, 0, atomic, accum);
	*atomic = fmin(*atomic, floor(m->max_batch / (gpus * (*accum + 1))));
}

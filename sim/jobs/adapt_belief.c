/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/adapt_belief.h"

#include "base/rng.h"

#include <gsl/gsl_randist.h>
#include <math.h>

static void note(struct adapt_point *point, double gpus, double atomic, bool is_new)
{
	if (!(point[0].gpus > 0))
		point[0] = (struct adapt_point){ gpus, atomic };
	else if (!(point[1].gpus > 0) && is_new)
		point[1] = (struct adapt_point){ gpus, atomic };
}

void belief_note(struct adapt_seen *seen, double nodes, double gpus, double atomic)
{
	note(seen->pass, gpus, atomic, atomic != seen->pass[0].atomic);
	if (nodes > 1)
		note(seen->net, gpus, atomic, gpus != seen->net[0].gpus);
	else if (gpus > 1)
		note(seen->node, gpus, atomic, gpus != seen->node[0].gpus);
}

/* Sets the beliefs alpha and beta unless two points determine them. With one point, alpha is the network's share of the update time at that
 * point, and beta is 0; without a point, both are 0. */
static void learn_network(const struct goodput_model *truth, struct goodput_model *m, const struct adapt_point point[2], double nodes,
	double *alpha, double *beta)
{
	if (point[1].gpus > 0)
		return;
	*alpha = *beta = 0;
	if (!(point[0].gpus > 0))
		return;
	double b = point[0].atomic, update = point[0].gpus * b / goodput_throughput(truth, nodes, point[0].gpus, b, 0);
	double pass = m->alpha_c + m->beta_c * b;
	*alpha = pow(fmax(pow(update, m->gamma) - pow(pass, m->gamma), 0), 1 / m->gamma);
}

static bool learn(const struct adapt_seen *seen, const struct goodput_model *truth, struct goodput_model *m)
{
	double b = seen->pass[0].atomic, pass = truth->alpha_c + truth->beta_c * b;
	if (!(seen->pass[0].gpus > 0))
		return false;
	if (!(seen->pass[1].gpus > 0)) {
		m->alpha_c = pass / 2;
		m->beta_c = pass / 2 / b;
	}
	if (!(seen->node[1].gpus > 0) && !(seen->net[1].gpus > 0))
		m->gamma = 1;
	learn_network(truth, m, seen->node, 1, &m->alpha_r, &m->beta_r);
	learn_network(truth, m, seen->net, 2, &m->alpha_n, &m->beta_n);
	return true;
}

/* Draws for one job, in this order: alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, variance. */
static void factors(const struct adapt_belief *b, double factor[7])
{
	struct rng r;
	rng_init(&r, b->seed, "profiles", b->number);
	for (int i = 0; i < 7; i++)
		factor[i] = exp(b->error * gsl_ran_ugaussian(rng_gsl(&r)));
}

bool belief_model(const struct adapt_belief *b, const struct goodput_model *truth, struct goodput_model *model)
{
	const struct goodput_model m = *truth;
	*model = m;
	if (b->profiles == ADAPT_PROFILES_LEARNED)
		return learn(b->seen, &m, model);
	if (b->profiles == ADAPT_PROFILES_KNOWN)
		return true;
	double f[7];
	factors(b, f);
	model->alpha_c *= f[0];
	model->beta_c *= f[1];
	model->alpha_n *= f[2];
	model->beta_n *= f[3];
	model->alpha_r *= f[4];
	model->beta_r *= f[5];
	return true;
}

struct goodput_noise belief_noise(const struct adapt_belief *b, struct goodput_noise truth)
{
	if (b->profiles != ADAPT_PROFILES_WRONG)
		return truth;
	double f[7];
	factors(b, f);
	truth.var *= f[6];
	return truth;
}

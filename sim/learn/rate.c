/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The learning rate of an update. */
#include "learn/state.h"
#include "step/step.h"

#include <math.h>

double learn_rate(struct learn *l)
{
	const struct learn_config *c = &l->config;
	double u = c->decay_samples > 0 ? l->samples / c->decay_samples : 0, factor = 1;
	switch (c->schedule) {
	case LEARN_RATE_CONSTANT:
		break;
	case LEARN_RATE_STEP:
		factor = pow(c->decay, floor(u));
		break;
	case LEARN_RATE_INVERSE:
		factor = 1 / (1 + u);
		break;
	case LEARN_RATE_INVERSE_SQRT:
		factor = 1 / sqrt(1 + u);
		break;
	case LEARN_RATE_COSINE:
		factor = (1 + cos(M_PI * (u < 1 ? u : 1))) / 2;
		break;
	}
	l->used |= factor < 1 ? STEP_USED_LEARN_RATE : 0;
	if (c->schedule == LEARN_RATE_STEP && (u >= 1 || l->samples >= LEARN_DECAY_SAMPLES))
		l->used |= STEP_USED_LEARN_DECAY;
	if (l->samples < c->warmup_samples)
		factor *= l->samples / c->warmup_samples;
	return c->lr * factor;
}

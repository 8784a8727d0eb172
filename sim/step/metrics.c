/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/step.h"

void step_metrics(const struct step_result *s, struct run_result *r)
{
	result_metric(r, "samples_per_s", s->samples_per_s, s->samples_per_s, s->samples_per_s);
	result_metric(r, "iteration_s", s->iteration_s, s->iteration_s, s->iteration_s);
}

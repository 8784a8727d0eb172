/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of this folder that the step world's descriptor uses. */
#include "learn/train.h"
#include "step/learning.h"

static int run(const struct step_config *step, const struct orr_args *options, const struct orr_policy *policy, const struct orr_args *args,
	const char *label, int threads, struct run_result *r, unsigned *used, struct orr_error *err)
{
	struct train_config config = { .step = step, .options = options, .threads = threads };
	struct train_result result = { 0 };
	int rc = train_run(&config, policy, args, label, &result, err);
	for (uint32_t i = 0; !rc && i < result.n_seeds; i++)
		*used |= result.seed[i].used;
	if (!rc)
		train_metrics(&result, r);
	train_result_free(&result);
	return rc;
}

const struct step_learning step_learning = { run };

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/spot.h"

int spot_run(const struct spot_config *c, const struct orr_policy *policy, const struct orr_args *policy_args,
	const char *label, struct run_result *result, struct orr_error *err)
{
	(void)c, (void)policy, (void)policy_args, (void)result;
	return orr_fail(err, ORR_EFAIL, "policy %s: the spot world is not there yet", label);
}

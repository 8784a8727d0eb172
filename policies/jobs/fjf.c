/* SPDX-License-Identifier: GPL-3.0-or-later */
/* First job first: in order of submission, skipping jobs that do not fit (Tiresias' fjf). */
#include "queue_order.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static const struct orr_jobs_ops ops = { .create = queue_order_create,
	.destroy = queue_order_free,
	.arrive = queue_order_arrive,
	.finish = queue_order_finish,
	.schedule = queue_order_skipping };

ORR_POLICY_JOBS(fjf, "in order of submission, skipping jobs that do not fit", params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy that a test adds: fifo under another name. */
#include "queue_order.h"

static const struct orr_param params[] = { ORR_PARAM_END };

static const struct orr_jobs_ops ops = { .create = queue_order_create,
	.destroy = queue_order_free,
	.arrive = queue_order_arrive,
	.finish = queue_order_finish,
	.schedule = queue_order_strict };

ORR_POLICY_JOBS(first_of_all, "in order of submission, for a test", params, ops);

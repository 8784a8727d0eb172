/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two modes of the network for execution traces (orrery step --graph): the traces have their own graphs, so these policies build none. The
 * rules are those of ASTRA-sim's analytical network (W. Won et al., "ASTRA-sim2.0: Modeling Hierarchical Networks and Disaggregated
 * Systems for Large-model Training at Scale", ISPASS 2023); docs/models/step-traces.md.
 */
#include <orrery/step.h>

static const struct orr_param params[] = { ORR_PARAM_END };

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	(void)s, (void)args;
	orr_fail(err, ORR_EINPUT, "builds no graph: expected an execution trace (orrery step --graph DIR)");
	return NULL;
}

static void destroy(void *self)
{
	(void)self;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	(void)self, (void)s, (void)iteration;
	return orr_fail(err, ORR_EFAIL, "builds no graph");
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build };

ORR_POLICY_STEP(congestion_unaware, "execution traces (--graph): a message takes latency plus transfer time, regardless of other messages",
	params, ops);
ORR_POLICY_STEP(congestion_aware, "execution traces (--graph): messages are stored and forwarded over links, one at a time", params, ops);

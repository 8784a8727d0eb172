/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Quasi-shortest service first (Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale GPU Datacenters", SC
 * 2021, section 5.2): jobs start strictly in order of estimated duration times GPUs and are never preempted.
 *
 * rules=helios copies a deviation of the published simulator: if all waiting jobs arrived at this instant, they start in order of GPUs
 * only.
 */
#include "gpu_budget.h"
#include "queue_order.h"

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("estimate", "exact", "exact|limit",
						   "source of the duration: the true one, or the user's limit"),
	ORR_PARAM_REAL("factor", "1", 1e-6, 1e6, "estimate=exact: factor on the true duration, to model an error"),
	ORR_PARAM_CHOICE("rules", "own", "own|helios", "helios: the rules of the published simulator"), ORR_PARAM_END };

struct qssf {
	struct queue_order order;
	enum orr_estimate estimate;
	double factor;
	bool is_helios;
	struct orr_queue *fresh; /* rules=helios: jobs that arrived at this instant, ordered by GPUs */
};

static int64_t key(void *self, struct orr_jobs *w, orr_job j)
{
	const struct qssf *q = self;
	double k = (double)orr_job_estimate_ns(w, j, q->estimate, q->factor) * ((double)requested_milli(w, j) / 1000);
	return k < 9e18 ? (int64_t)k : INT64_MAX;
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct qssf *q = queue_order_new(w, sizeof *q, key);
	(void)err;
	q->estimate = strcmp(orr_arg_text(args, "estimate"), "limit") ? ORR_ESTIMATE_EXACT : ORR_ESTIMATE_LIMIT;
	q->factor = orr_arg_real(args, "factor");
	q->is_helios = !strcmp(orr_arg_text(args, "rules"), "helios");
	q->fresh = orr_queue_new(w);
	return q;
}

static void destroy(void *self)
{
	orr_queue_free(((struct qssf *)self)->fresh);
	queue_order_free(self);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct qssf *q = self;
	queue_order_arrive(self, w, j);
	if (q->is_helios)
		orr_queue_add(q->fresh, j, requested_milli(w, j), (int64_t)orr_job_number(w, j));
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct qssf *q = self;
	bool only_fresh = orr_queue_size(q->fresh) == orr_queue_size(q->order.waiting);
	orr_job j;
	while (q->is_helios && only_fresh && (j = orr_queue_first(q->fresh)) && orr_try_start(w, j)) {
		orr_queue_remove(q->fresh, j);
		orr_queue_remove(q->order.waiting, j);
	}
	while ((j = orr_queue_first(q->fresh)))
		orr_queue_remove(q->fresh, j);
	if (!q->is_helios || !only_fresh)
		queue_order_strict(self, w);
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = queue_order_finish, .schedule = schedule
};

ORR_POLICY_JOBS(qssf, "least estimated GPU time first, strictly (Helios)", params, ops);

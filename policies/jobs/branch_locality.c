/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs all branches of an explore concurrently on equal parts of the cluster (branch_parallel.c). A stage runs on the nodes that hold
 * most bytes of its inputs; on ties, the first node is used. It takes the first type with enough free GPUs, in the order of these nodes. If
 * these nodes lack CPUs or memory, the run's placement chooses the nodes. A baseline of meta-dataflows: the prototype's parallel scheduler
 * with input locality.
 */
#include "branches.h"

#include <stdlib.h>

static const struct orr_param params[] = { ORR_PARAM_END };

struct near {
	int64_t bytes;
	uint32_t node, gpus, type;
};

struct local {
	struct branches base;
	struct near *near;
	uint32_t *node, *gpus;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct local *l = branches_new(w, sizeof *l);
	(void)args, (void)err;
	l->near = orr_alloc(orr_nodes(w) + 1u, sizeof *l->near);
	l->node = orr_alloc(orr_nodes(w) + 1u, sizeof *l->node);
	l->gpus = orr_alloc(orr_nodes(w) + 1u, sizeof *l->gpus);
	return l;
}

static void destroy(void *self)
{
	struct local *l = self;
	orr_free(l->near);
	orr_free(l->node);
	orr_free(l->gpus);
	branches_free(self);
}

static int by_bytes(const void *a, const void *b)
{
	const struct near *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Lists the nodes with free GPUs, in descending order of the bytes of the stage's inputs. Returns their number. */
static uint32_t list_nodes(struct local *l, struct orr_jobs *w, orr_job j)
{
	struct orr_node_info info;
	uint32_t n = 0;
	for (uint32_t i = 0; orr_node_get(w, i, &info); i++)
		if (info.is_up && info.gpus_free && orr_job_rate_on(w, j, info.gpu_type) > 0)
			l->near[n++] = (struct near){ orr_stage_bytes_on(w, j, i), i, info.gpus_free, info.gpu_type };
	qsort(l->near, n, sizeof *l->near, by_bytes);
	return n;
}

/* Takes `size` GPUs of one type from the first of n nodes. Returns the number of nodes; 0 if the type has too few free GPUs. */
static uint32_t take_type(struct local *l, uint32_t n, uint32_t type, uint32_t size)
{
	uint32_t used = 0;
	for (uint32_t i = 0; i < n && size; i++) {
		if (l->near[i].type != type)
			continue;
		l->node[used] = l->near[i].node;
		l->gpus[used] = l->near[i].gpus < size ? l->near[i].gpus : size;
		size -= l->gpus[used++];
	}
	return size ? 0 : used;
}

/* Starts j on the nodes with most bytes of its inputs, on the first type with enough free GPUs. Returns false also if these nodes lack CPUs
 * or memory. */
static bool start_near(struct local *l, struct orr_jobs *w, orr_job j, uint32_t size)
{
	struct orr_job_info info;
	if (!size || !orr_job_get(w, j, &info) || info.gpu_milli < 1000)
		return false;
	uint64_t tried = 0;
	uint32_t n = list_nodes(l, w, j);
	for (uint32_t i = 0; i < n; i++) {
		if (tried >> l->near[i].type & 1)
			continue;
		tried |= UINT64_C(1) << l->near[i].type;
		uint32_t used = take_type(l, n, l->near[i].type, size);
		if (used && orr_try_start_at(w, j, l->node, l->gpus, used))
			return true;
	}
	return false;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct local *l = self;
	struct orr_walk walk;
	struct orr_stage s;
	orr_walk_begin(l->base.waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk));) {
		double n = orr_stage_get(w, j, &s) ? s.parallel : 1;
		if (start_near(l, w, j, branches_size(w, j, n))) {
			orr_queue_remove(l->base.waiting, j);
			l->base.running++;
		} else if (!branches_start(&l->base, w, j, n)) {
			break;
		}
	}
	orr_walk_end(&walk);
}

static const struct orr_jobs_ops ops = { .create = create,
	.destroy = destroy,
	.arrive = branches_arrive,
	.finish = branches_finish,
	.evict = branches_evict,
	.schedule = schedule };

ORR_POLICY_JOBS(branch_locality, "all branches of a flow concurrently, each on the nodes with its inputs", params, ops);

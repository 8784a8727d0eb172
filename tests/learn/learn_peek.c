/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/learn/learn_peek.h"

#include "base/mem.h"
#include "base/param.h"

#include <string.h>

void learn_config_default(struct learn_config *c)
{
	struct orr_args *a = args_new(learn_options, "learn", NULL);
	learn_config_read(c, a);
	args_free(a);
}

uint64_t learn_updates(const struct learn *l)
{
	return l->updates;
}

size_t learn_dim(const struct learn *l)
{
	return l->pool.dim;
}

const double *learn_parameters(struct learn *l, uint32_t device)
{
	return replica_of(l, device)->x->v;
}

const double *learn_gradient(struct learn *l, uint32_t device)
{
	return gradient_of(l, replica_of(l, device))->v;
}

const double *learn_inbox(struct learn *l, uint32_t device)
{
	return replica_of(l, device)->inbox->v;
}

const double *learn_server(struct learn *l)
{
	return l->server->v;
}

void learn_set_parameters(struct learn *l, uint32_t device, const double *x)
{
	memcpy(vec_writable(&l->pool, &replica_of(l, device)->x, false), x, l->pool.dim * sizeof *x);
}

double learn_loss_at(struct learn *l, const double *x)
{
	return problem_loss(l->problem, x, l->config.threads);
}

void learn_gradient_at(struct learn *l, const double *x, const uint32_t *rows, uint32_t n, double *g)
{
	double *scratch = mem_alloc(l->problem->scratch * sizeof *scratch);
	problem_gradient(l->problem, x, rows, n, l->config.seed, g, scratch);
	mem_free(scratch);
}

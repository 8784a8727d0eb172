/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building plans: sends and phases; names of operations and algorithms. */
#include "net/collective_plan.h"

#include "base/mem.h"

#include <string.h>

static const char *const algorithm_names[] = { "default", "ring", "halving-doubling", "double-tree", "hierarchical", "direct",
	"hierarchical-leader", "multi-ring", "multi-tree", "nvls-tree" };
static const char *const op_names[] = { "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all" };

bool coll_algorithm_named(const char *name, enum orr_collective_algorithm *out)
{
	for (size_t i = 0; i < sizeof algorithm_names / sizeof *algorithm_names; i++)
		if (!strcmp(name, algorithm_names[i])) {
			*out = (enum orr_collective_algorithm)i;
			return true;
		}
	return false;
}

const char *coll_algorithm_name(enum orr_collective_algorithm a)
{
	return algorithm_names[a];
}

const char *coll_op_name(enum orr_collective_op op)
{
	return op_names[op];
}

void plan_send(struct coll_plan *p, struct coll_send s)
{
	MEM_GROW(p->send, p->n_sends, p->cap_sends);
	p->send[p->n_sends++] = s;
}

void plan_phase(struct coll_plan *p, uint32_t repeat)
{
	uint32_t first = p->n_phases ? p->phase[p->n_phases - 1].first + p->phase[p->n_phases - 1].count : 0;
	if (p->n_sends == first || !repeat)
		return;
	MEM_GROW(p->phase, p->n_phases, p->cap_phases);
	p->phase[p->n_phases++] = (struct coll_phase){ first, p->n_sends - first, repeat };
}

void coll_plan_free(struct coll_plan *p)
{
	mem_free(p->send);
	mem_free(p->phase);
	mem_free(p->list);
	*p = (struct coll_plan){ 0 };
}

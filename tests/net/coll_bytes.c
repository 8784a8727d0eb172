/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/net/coll_bytes.h"

#include "net/collective_plan.h"

#include <math.h>

/* Returns the bytes that leave the busiest rank of a tree, in units of M. */
static double tree_share(const struct coll_shape *s)
{
	if (s->op != ORR_ALL_REDUCE)
		return 1;
	return s->n == 2 ? 1 : s->n == 3 ? 1.5 : 2; /* a rank that has two children in one tree is a leaf of the other tree */
}

static double halving_share(const struct coll_shape *s)
{
	double p = ldexp(1, (int)floor_log2(s->n)), once = (p - 1) / p;
	switch (s->op) {
	case ORR_ALL_REDUCE:
		return 2 * once + (p < s->n);
	case ORR_BROADCAST:
		return 2 * once;
	case ORR_REDUCE:
		return once + 0.5;
	default:
		return once;
	}
}

static double hierarchical_share(const struct coll_shape *s)
{
	double m = s->inner, islands = s->n / m;
	if (s->leader && s->op == ORR_ALL_REDUCE)
		return fmax(2 * (islands - 1) / islands + (m > 1), m > 2 ? 2 : 0);
	return (s->op == ORR_ALL_REDUCE ? 2 : 1) * ((m - 1) / m + (islands - 1) / s->n);
}

double coll_bytes_per_rank(const struct coll_shape *shape)
{
	struct coll_shape s = *shape;
	double n = s.n, once = (n - 1) / n;
	if (s.n < 2)
		return 0;
	s.algorithm = coll_usable(s.op, s.algorithm, s.n);
	coll_name_leader(&s);
	if (s.algorithm == ORR_HALVING_DOUBLING)
		return halving_share(&s) * s.bytes;
	if (s.algorithm == ORR_DOUBLE_TREE)
		return tree_share(&s) * s.bytes;
	if (s.algorithm == ORR_HIERARCHICAL)
		return s.inner ? hierarchical_share(&s) * s.bytes : NAN;
	if (s.op == ORR_REDUCE)
		return s.bytes;
	if (s.op == ORR_BROADCAST)
		return s.algorithm == ORR_DIRECT ? (n - 1) * s.bytes : s.bytes;
	return (s.op == ORR_ALL_REDUCE ? 2 : 1) * once * s.bytes;
}

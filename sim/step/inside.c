/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times of collectives inside a node: by the profile's laws for the device's fabric (hwmodel/profile.h), else by the device's
 * published all-reduce. The switch reduces long messages if the device's switch can reduce (NVLS). Formulas:
 * docs/models/net.md.
 */
#include "step/world.h"

#include "hwmodel/profile.h"

#include <math.h>
#include <string.h>

/* Returns the bytes that each of n GPUs sends per byte of the buffer. The bus bandwidth of nccl-tests is this number x bytes / time. */
static double sent_share(enum orr_collective_op op, uint32_t n)
{
	double others = (n - 1.) / n;
	return op == ORR_ALL_REDUCE ? 2 * others : op == ORR_BROADCAST || op == ORR_REDUCE ? 1 : others;
}

const struct device *device_beside(const struct orr_step *s, const uint32_t *member, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (member[i] >= s->facts.gpus || s->node_of[member[i]] != s->node_of[member[0]])
			return NULL; /* all nodes must have one type */
	const struct device *d = n > 1 ? s->config->device[s->type_of[member[0]]] : NULL;
	return d && d->link_Bps > 0 && topo_bandwidth(s->config->topo, member[0], member[1]) == d->link_Bps ? d : NULL;
}

double inside_bus_Bps(const struct device *d, uint32_t n)
{
	/* A DGX-1's hybrid cube mesh: of a GPU's 6 links, 1 leads to its first neighbour, and 4 stay in its quad. */
	bool is_mesh = !strcmp(d->fabric, "nvlink-mesh");
	return d->allreduce_Bps * (is_mesh && n < 5 ? n == 4 ? 4 / 6. : (n - 1) / 6. : 1);
}

double inside_switch_Bps(const struct device *d)
{
	return d->nvls_Bps * 9 / 14; /* nvls_Bps is 2 (n - 1) / n x bytes / time of n = 8, and each link carries (n + 1) / n of the bytes */
}

/* Returns the law for `bytes` of op among n GPUs, and the size at which it is evaluated. A law of another operation is evaluated at
 * the size at which each GPU sends as much. A law that was measured at that size is preferred. NULL: no law. */
static const struct law *law_of(
	const struct profile *p, const struct device *d, enum orr_collective_op op, uint32_t n, double bytes, double *size)
{
	for (int covered = 1; covered >= 0; covered--)
		for (int is_own = 1; is_own >= 0; is_own--)
			for (int other = ORR_ALL_REDUCE; other < ORR_ALL_TO_ALL; other++) {
				enum orr_collective_op o = (enum orr_collective_op)other;
				*size = bytes * sent_share(op, n) / sent_share(o, n);
				const struct law *l =
					(o == op) == is_own ? profile_collective_at(p, coll_op_name(o), d->fabric, n, 1, *size) : NULL;
				if (l && (!covered || law_covers(l, *size)))
					return l;
			}
	return NULL;
}

/* Returns the time of an all-reduce by the switch, s. */
static double switch_s(const struct device *d, uint32_t n, double bytes)
{
	return (n + 1.) / n * bytes / inside_switch_Bps(d);
}

struct inside_time {
	double start_s, total_s; /* times for zero bytes and for all bytes */
	const char *source;      /* NULL: unknown */
};

static struct inside_time time_of(const struct profile *p, const struct device *d, enum orr_collective_op op, uint32_t n, double bytes)
{
	bool has_switch = op == ORR_ALL_REDUCE && d->nvls_Bps > 0;
	double size, ring = sent_share(op, n) * bytes / d->link_Bps;
	const struct law *l = p ? law_of(p, d, op, n, bytes, &size) : NULL;
	if (l) {
		struct inside_time t = { law_time(l, 0, 0, 0, NULL), law_time(l, 0, 0, size, NULL), l->variant };
		if (has_switch && size > l->to[2])
			t.total_s = fmin(t.total_s, law_time(l, 0, 0, l->to[2], NULL) + switch_s(d, n, size - l->to[2]));
		return t;
	}
	struct inside_time t = { d->allreduce_latency_s, INFINITY, NULL };
	if (p && d->allreduce_Bps > 0) {
		ring = sent_share(op, n) * bytes / inside_bus_Bps(d, n);
		t.total_s = t.start_s + ring;
		t.source = d->title;
	}
	if (has_switch && switch_s(d, n, bytes) < ring) {
		t.total_s = t.start_s + switch_s(d, n, bytes);
		t.source = d->title;
	}
	return t;
}

const char *inside_shape(const struct orr_step *s, const uint32_t *member, struct coll_shape *shape)
{
	uint32_t n = shape->n;
	if (n < 2 || shape->op == ORR_ALL_TO_ALL || shape->algorithm != ORR_RING || shape->bytes <= 0)
		return NULL;
	const struct device *d = device_beside(s, member, n);
	if (!d)
		return NULL;
	struct inside_time t = time_of(cost_profile(s->config->cost[s->type_of[member[0]]]), d, shape->op, n, shape->bytes);
	if (!t.source)
		return NULL;
	bool is_chain = shape->op == ORR_BROADCAST || shape->op == ORR_REDUCE;
	double parts = is_chain ? coll_chunks(shape) : n;
	double rounds = is_chain ? parts + n - 2 : shape->op == ORR_ALL_REDUCE ? 2 * (n - 1.) : n - 1.;
	shape->is_measured = true;
	shape->hop_s = t.start_s / rounds;
	shape->stretch = (t.total_s - t.start_s) / (rounds * shape->bytes / parts / d->link_Bps);
	return t.source;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DS-Sync: divide-and-shuffle synchronisation (Wang et al., "DS-Sync: Addressing Network Bottlenecks with
 * Divide-and-Shuffle Synchronization for Distributed DNN Training", arXiv 2007.03298; pairs as in the code of its first
 * version, github neurips10899/divide-and-shuffle).
 *
 * After its local update each worker averages its parameters with its group only; iteration k uses partition k mod p of a list.
 * A worker waits only for its own group. Schedules:
 *
 *	pairs      {0,1}{2,3}.., then {1,2}{3,4}..{N-1,0}: for N = 4 the authors' two partitions
 *	grid       N = n^d workers in a d-dimensional array, lines along axis 0, 1, .. d-1 (group_size = n)
 *	hypercube  round k pairs i with i xor 2^(k mod log2 N)
 *	random     a new random partition into groups of group_size every round
 *	rack       the racks of the cluster, then one worker of each rack per group (needs racks of equal size)
 *         rack-one   one group crosses racks (worker k mod size of each rack), the rest of each rack is a group: an uplink
 *  carries the traffic of one worker
 *	aware      workers sorted by their current bandwidth, groups of neighbours: slow workers share groups;
 *	           ties are shuffled. Regrouped every regroup_interval rounds
 *	explicit   as given: 0-1,2-3;0-3,1-2 (partitions by ';', groups by ',', members by '-'), or by a file,
 *	           {"partitions": [[[0,1],[2,3]],[[0,3],[1,2]]]}
 *
 * The paper's second version does not state how it forms groups; the last four schedules are candidates.
 */
#include "messages.h"
#include "partitions.h"

#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_CHOICE("schedule", "pairs", "pairs|grid|hypercube|random|rack|rack-one|aware|explicit",
						   "list of partitions"),
	ORR_PARAM_TEXT_OR_FILE("partitions", "", ".json", "schedule=explicit: the list of partitions, 0-1,2-3;0-3,1-2, or FILE.json"),
	ORR_PARAM_INT("group_size", "0", 0, 1048576,
		"grid, random, aware: workers in a group; 0: the square root of the number of workers (grid), else 2"),
	ORR_PARAM_INT("regroup_interval", "1", 1, 1000000, "aware: rounds between two measurements of the network"),
	ORR_PARAM_CHOICE("average", "parameters", "parameters|gradients", "values that a group averages"),
	ORR_PARAM_CHOICE("fusion", "none", "none|tensor", "one all-reduce for the whole model, or one per tensor in turn"),
	ORR_PARAM_CHOICE("algorithm", "ring",
		"default|ring|halving-doubling|double-tree|hierarchical|direct|hierarchical-leader|multi-ring|multi-tree|nvls-tree",
		"algorithm of the all-reduce"),
	ORR_PARAM_END };

struct dssync {
	struct orr_step_facts facts;
	uint32_t n, size;
	const char *schedule;
	bool averages_gradients;
	enum orr_collective_algorithm algorithm;
	uint64_t interval;
	struct partition_list list;
	struct partition fresh; /* partition for random and aware */
	struct chunks chunks;
	struct messages m;
	double *bandwidth;
	orr_op *tail; /* [n] */
};

static void destroy(void *self)
{
	struct dssync *d = self;
	partitions_free(&d->list);
	partition_free(&d->fresh);
	chunks_free(&d->chunks);
	messages_free(&d->m);
	orr_free(d->bandwidth);
	orr_free(d->tail);
	orr_free(d);
}

/* ---- schedules ---- */

static int make_pairs(struct dssync *d, struct orr_error *err)
{
	if (d->n % 2)
		return orr_fail(err, ORR_EINPUT, "schedule=pairs: expected an even number of workers, found %u", d->n);
	partitions_new(&d->list, d->n > 2 ? 2 : 1, d->n);
	for (uint32_t k = 0; k < d->list.n; k++)
		for (uint32_t i = 0; i < d->n; i++) {
			d->list.item[k].member[i] = (i + k) % d->n;
			if (i % 2)
				d->list.item[k].end[d->list.item[k].groups++] = i + 1;
		}
	return ORR_OK;
}

/* Makes the lines of an array of extent `size` in each dimension, the last dimension first. */
static int make_grid(struct dssync *d, uint32_t size, struct orr_error *err)
{
	uint32_t dims = 0;
	uint64_t all = 1;
	while (size > 1 && all < d->n) {
		all *= size;
		dims++;
	}
	if (all != d->n || !dims)
		return orr_fail(err, ORR_EINPUT, "schedule=%s: expected a number of workers that is a power of the group size %u, found %u",
			d->schedule, size, d->n);
	partitions_new(&d->list, dims, d->n);
	uint32_t stride = 1;
	for (uint32_t k = 0; k < dims; k++, stride *= size)
		for (uint32_t g = 0, at = 0; g < d->n / size; g++) {
			uint32_t first = g / stride * stride * size + g % stride;
			for (uint32_t i = 0; i < size; i++)
				d->list.item[k].member[at++] = first + i * stride;
			d->list.item[k].end[d->list.item[k].groups++] = at;
		}
	return ORR_OK;
}

/* Returns the number of workers per rack, if it is the same in all racks and workers of a rack are consecutive; else 0. */
static uint32_t rack_size(const struct dssync *d, const struct orr_step *s)
{
	uint32_t run = 1;
	while (run < d->n && orr_rack_of(s, run) == orr_rack_of(s, 0))
		run++;
	for (uint32_t i = 0; i < d->n; i++)
		if (d->n % run || orr_rack_of(s, i) != orr_rack_of(s, i - i % run) ||
			(i % run == 0 && i && orr_rack_of(s, i) == orr_rack_of(s, i - 1)))
			return 0;
	return run;
}

static int make_racks(struct dssync *d, const struct orr_step *s, bool is_one, struct orr_error *err)
{
	uint32_t k = rack_size(d, s), racks = k ? d->n / k : 0;
	if (racks < 2 || k < 2)
		return orr_fail(err, ORR_EINPUT,
			"schedule=%s: expected at least two racks with the same number of workers (at least two), as in "
			"--cluster 16x1:v100:racks=4",
			d->schedule);
	if (!is_one) {
		d->size = k;
		partitions_new(&d->list, 2, d->n);
		for (uint32_t i = 0; i < d->n; i++) {
			d->list.item[0].member[i] = i;
			if ((i + 1) % k == 0)
				d->list.item[0].end[d->list.item[0].groups++] = i + 1;
			d->list.item[1].member[i] = i % racks * k + i / racks;
			if ((i + 1) % racks == 0)
				d->list.item[1].end[d->list.item[1].groups++] = i + 1;
		}
		return ORR_OK;
	}
	partitions_new(&d->list, k, d->n);
	for (uint32_t round = 0; round < k; round++) {
		struct partition *p = &d->list.item[round];
		uint32_t at = 0;
		for (uint32_t r = 0; r < racks; r++)
			p->member[at++] = r * k + round;
		p->end[p->groups++] = at;
		for (uint32_t r = 0; r < racks; r++) {
			for (uint32_t i = 0; i < k; i++)
				if (i != round)
					p->member[at++] = r * k + i;
			p->end[p->groups++] = at;
		}
	}
	return ORR_OK;
}

static int make_explicit(struct dssync *d, const struct orr_args *args, struct orr_error *err)
{
	size_t size;
	const char *text = orr_arg_text(args, "partitions"), *file = orr_arg_file(args, "partitions", &size);
	if (!*text)
		return orr_fail(err, ORR_EINPUT,
			"schedule=explicit: expected partitions=0-1,2-3;0-3,1-2, or the name of a file that ends in .json");
	return file ? partitions_from_json(&d->list, text, file, size, d->n, err) : partitions_from_text(&d->list, text, d->n, err);
}

static void shuffle(struct dssync *d, struct orr_step *s, uint32_t *v)
{
	for (uint32_t i = 0; i < d->n; i++)
		v[i] = i;
	for (uint32_t i = d->n; i > 1; i--) {
		uint32_t j = (uint32_t)(orr_step_uniform(s) * i), t = v[i - 1];
		v[i - 1] = v[j];
		v[j] = t;
	}
}

/* Returns the current bandwidth of a worker towards its best-connected peer: the bandwidth of its own NIC, if other links are idle. */
static double bandwidth_now(const struct dssync *d, const struct orr_step *s, uint32_t i)
{
	double best = 0;
	for (uint32_t j = 0; j < d->n; j++)
		if (j != i)
			best = fmax(best, fmin(orr_bandwidth_now(s, i, j), orr_bandwidth_now(s, j, i)));
	return best;
}

/* Sorts shuffled workers by stable insertion, so that workers with equal keys stay in random order. */
static void sort_by_bandwidth(const struct dssync *d, uint32_t *v)
{
	for (uint32_t i = 1; i < d->n; i++) {
		uint32_t x = v[i], j = i;
		for (; j && d->bandwidth[v[j - 1]] > d->bandwidth[x]; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

static const struct partition *partition_of(struct dssync *d, struct orr_step *s, uint64_t k)
{
	bool is_aware = !strcmp(d->schedule, "aware");
	if (d->list.n)
		return &d->list.item[k % d->list.n];
	struct partition *p = &d->fresh;
	if (is_aware && k % d->interval)
		return p;
	shuffle(d, s, p->member);
	if (is_aware) {
		for (uint32_t i = 0; i < d->n; i++)
			d->bandwidth[i] = bandwidth_now(d, s, i);
		sort_by_bandwidth(d, p->member);
	}
	p->groups = 0;
	for (uint32_t at = d->size; at <= d->n; at += d->size)
		p->end[p->groups++] = at;
	return p;
}

/* Refuses a size that the schedule does not use. */
static int check_size(const struct dssync *d, struct orr_error *err)
{
	bool has_pairs = !strcmp(d->schedule, "pairs") || !strcmp(d->schedule, "hypercube");
	bool is_free = !strcmp(d->schedule, "grid") || !strcmp(d->schedule, "random") || !strcmp(d->schedule, "aware");
	if (!d->size || is_free || (has_pairs && d->size == 2))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "group_size: %u: expected 0%s with schedule=%s, or schedule=grid, random or aware", d->size,
		has_pairs ? " or 2" : "", d->schedule);
}

static int make_schedule(struct dssync *d, const struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	if (check_size(d, err))
		return err->code;
	if (!strcmp(d->schedule, "pairs"))
		return make_pairs(d, err);
	if (!strcmp(d->schedule, "explicit"))
		return make_explicit(d, args, err);
	if (!strncmp(d->schedule, "rack", 4))
		return make_racks(d, s, !strcmp(d->schedule, "rack-one"), err);
	if (!strcmp(d->schedule, "hypercube"))
		return make_grid(d, 2, err);
	if (!strcmp(d->schedule, "grid"))
		return make_grid(d, d->size ? d->size : (uint32_t)lround(sqrt(d->n)), err);
	if (!d->size)
		d->size = 2;
	if (d->n % d->size)
		return orr_fail(err, ORR_EINPUT, "group_size: %u: expected a divisor of the %u workers", d->size, d->n);
	d->bandwidth = orr_alloc(d->n, sizeof *d->bandwidth);
	partition_new(&d->fresh, d->n);
	return ORR_OK;
}

/* ---- the policy ---- */

static enum orr_collective_algorithm algorithm_named(const char *name)
{
	static const char *const names[] = { "default", "ring", "halving-doubling", "double-tree", "hierarchical", "direct",
		"hierarchical-leader", "multi-ring", "multi-tree", "nvls-tree" };
	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
		if (!strcmp(name, names[i]))
			return (enum orr_collective_algorithm)i;
	return ORR_ALGORITHM_DEFAULT;
}

static void plan(struct dssync *d, const struct orr_step *s, bool is_tensor)
{
	chunks_by_params(&d->chunks, s, INFINITY, INFINITY);
	if (is_tensor)
		messages_by_tensor(&d->m, &d->chunks, s);
	else
		messages_by_chunk(&d->m, &d->chunks);
	d->tail = orr_alloc(d->n, sizeof *d->tail);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct dssync *d = orr_alloc(1, sizeof *d);
	orr_step_facts(s, &d->facts);
	d->n = d->facts.gpus;
	d->size = (uint32_t)orr_arg_int(args, "group_size");
	d->schedule = orr_arg_text(args, "schedule");
	d->averages_gradients = !strcmp(orr_arg_text(args, "average"), "gradients");
	d->algorithm = algorithm_named(orr_arg_text(args, "algorithm"));
	d->interval = (uint64_t)orr_arg_int(args, "regroup_interval");
	plan(d, s, !strcmp(orr_arg_text(args, "fusion"), "tensor"));
	if (make_schedule(d, s, args, err)) {
		destroy(d);
		return NULL;
	}
	if (d->list.n)
		orr_step_period(s, d->list.n);
	for (uint32_t i = 0; i < d->n; i++) {
		double saved = 0;
		for (uint32_t l = 0; l < d->facts.layers; l++) {
			struct orr_layer_info info;
			orr_step_layer(s, l, &info);
			saved += info.saved_elems;
		}
		orr_hold(s, i, ORR_MEMORY_WEIGHTS, d->facts.params * d->facts.weight_bytes, "worker");
		orr_hold(s, i, ORR_MEMORY_GRADIENTS, d->facts.params * d->facts.gradient_bytes, "worker");
		orr_hold(s, i, ORR_MEMORY_OPTIMIZER, d->facts.params * d->facts.optimizer_bytes, "worker");
		orr_hold(s, i, ORR_MEMORY_ACTIVATIONS, d->facts.batch * saved * d->facts.activation_bytes, "worker");
	}
	return d;
}

static orr_op compute(struct dssync *d, struct orr_step *s, uint32_t i)
{
	uint32_t n = d->facts.layers;
	orr_op forward = orr_compute(s, i, ORR_FORWARD, orr_cost(s, i, ORR_PASS_FORWARD, 0, n, d->facts.batch, 1));
	orr_op backward = orr_compute(s, i, ORR_BACKWARD,
		orr_cost(s, i, ORR_PASS_BACKWARD_DATA, 0, n, d->facts.batch, 1) +
			orr_cost(s, i, ORR_PASS_BACKWARD_WEIGHT, 0, n, d->facts.batch, 1));
	orr_after(s, forward, d->tail[i]);
	orr_after(s, backward, forward);
	orr_updates(s, backward, &(struct orr_update){ .kind = ORR_GRADIENT });
	return backward;
}

static orr_op update(struct dssync *d, struct orr_step *s, uint32_t i, orr_op after)
{
	orr_op u = orr_compute(s, i, ORR_OPTIMIZER, orr_update_cost(s, i, d->facts.params));
	orr_after(s, u, after);
	orr_updates(s, u, &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
	return u;
}

/* Makes the group's all-reduces, one after the other, after all members are ready. */
static orr_op average(struct dssync *d, struct orr_step *s, const uint32_t *member, uint32_t n)
{
	orr_op last = 0;
	for (uint32_t i = 0; i < d->m.n; i++) {
		const struct message *m = &d->m.message[i];
		double element = d->averages_gradients ? d->facts.gradient_bytes : d->facts.weight_bytes;
		orr_op sum = orr_collective(s, &(struct orr_group){ member, n },
			&(struct orr_collective){ .op = ORR_ALL_REDUCE,
				.algorithm = d->algorithm,
				.bytes = m->params * element,
				.first_layer = m->first,
				.n_layers = d->averages_gradients ? m->count : 0 });
		orr_on_stream(s, sum, 1);
		orr_after(s, sum, last);
		for (uint32_t j = 0; j < n && !last; j++)
			orr_after(s, sum, d->tail[member[j]]);
		orr_label(s, sum, "group of %u", n);
		last = sum;
	}
	orr_updates(s, last, &(struct orr_update){ .kind = d->averages_gradients ? ORR_AVERAGE_GRADIENTS : ORR_AVERAGE_PARAMETERS });
	return last;
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	struct dssync *d = self;
	(void)err;
	for (uint32_t i = 0; i < d->n; i++) {
		d->tail[i] = compute(d, s, i);
		if (!d->averages_gradients)
			d->tail[i] = update(d, s, i, d->tail[i]);
	}
	const struct partition *p = partition_of(d, s, k);
	for (uint32_t g = 0, first = 0; g < p->groups; first = p->end[g++]) {
		uint32_t n = p->end[g] - first;
		orr_op sum = n > 1 ? average(d, s, p->member + first, n) : 0;
		for (uint32_t i = first; i < p->end[g]; i++) {
			uint32_t w = p->member[i];
			if (d->averages_gradients)
				d->tail[w] = update(d, s, w, sum ? sum : d->tail[w]);
			else if (sum)
				d->tail[w] = sum;
		}
	}
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct dssync *d = self;
	const struct partition *p = d->list.n ? &d->list.item[0] : &d->fresh;
	snprintf(out, size, "%s: period %u, %u groups of %u", d->schedule, d->list.n, p->groups, p->groups ? p->end[0] : 0);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP_FLAGS(
	ds_sync, "divide and shuffle: small groups average gradients, and the groups change every round", ORR_DRAWS, params, ops);

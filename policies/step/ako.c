/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ako: decentralised training by partial gradient exchange (Watcharapichat, Lopez Morales,
 * Fernandez, Pietzuch, "Ako: Decentralised Deep Learning with Partial Gradient Exchange",
 * SoCC 2016; details where the paper was not at hand as in its re-implementations TF.AKO and
 * early KungFu).
 *
 * Every node is a worker with a replica of the model. In iteration t worker i computes its
 * gradient g, keeps A = the sum of its last p gradients, and sends one of p slices of A to
 * each other worker, as n - 1 messages of G / p bytes. What arrives is added to the
 * receiver's inbox R at once, and nobody waits for it: the worker's own update is
 * x -= eta (g + R). As slice t mod p leaves in iteration t, each gradient reaches each peer
 * exactly once per slice, at most p iterations late.
 *
 * p keeps the traffic within the NIC: (n - 1) G / p <= B t_c, hence
 * p = max(1, ceil((n - 1) G / (B t_c))).
 *
 * A worker has at most `outstanding` rounds of messages under way beside the one that it
 * makes; where the network is too slow for p, that is what slows it down.
 */
#include <orrery/policy.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = {
	ORR_PARAM_INT("partitions", "0", 0, 1000000, "slices of the gradient, p; 0: from bandwidth and compute time"),
	ORR_PARAM_INT("workers", "0", 0, 1048576, "GPUs that take part; 0: all"),
	ORR_PARAM_CHOICE("slice_choice", "round", "round|peer",
		"round: all peers get slice t mod p; peer: peer j gets slice (t + j) mod p"),
	ORR_PARAM_CHOICE("window_reduce", "sum", "sum|average", "what is sent of the last p gradients"),
	ORR_PARAM_CHOICE("partition_method", "equal", "equal|layers",
		"slices of equal size, or whole layers in order with the largest slice as small as can be"),
	ORR_PARAM_INT("staleness_bound", "-1", -1, 1000000, "iterations that a worker may be ahead of the slowest; -1: any"),
	ORR_PARAM_INT("outstanding", "1", 1, 1000, "rounds of messages under way beside the one being made"),
	ORR_PARAM_END
};

struct ako {
	struct orr_step_facts facts;
	uint32_t n, p;
	bool is_per_peer, is_average;
	int64_t bound;
	uint32_t depth;       /* rounds whose messages may be under way: outstanding and the one being made */
	double *slice_bytes;  /* [p] */
	double compute_s;     /* of worker 0 */
	double load;          /* share of the NIC that the exchange takes at full compute speed */
	orr_op *update;       /* [worker]: the last one */
	orr_op *sent;         /* [worker * depth + k % depth]: all messages of round k have arrived */
	orr_op *round;        /* [k % (bound + 1)]: all updates of iteration k */
};

static void destroy(void *self)
{
	struct ako *a = self;
	free(a->slice_bytes);
	free(a->update);
	free(a->sent);
	free(a->round);
	free(a);
}

static double work_s(const struct orr_step *s, uint32_t device, const struct orr_step_facts *f, bool is_forward)
{
	if (is_forward)
		return orr_cost(s, device, ORR_PASS_FORWARD, 0, f->layers, f->batch, 1);
	return orr_cost(s, device, ORR_PASS_BACKWARD_DATA, 0, f->layers, f->batch, 1) +
		orr_cost(s, device, ORR_PASS_BACKWARD_WEIGHT, 0, f->layers, f->batch, 1);
}

/* Slices needed if none may hold more than limit parameters (layers stay whole and in order). */
static uint32_t slices_needed(const struct orr_step *s, uint32_t layers, double limit, double *size, uint32_t room)
{
	uint32_t n = 1;
	double held = 0;
	for (uint32_t l = 0; l < layers; l++) {
		double x = orr_step_params(s, l, 1);
		if (held > 0 && held + x > limit) {
			if (size && n <= room)
				size[n - 1] = held;
			n++;
			held = 0;
		}
		held += x;
	}
	if (size && n <= room)
		size[n - 1] = held;
	return n;
}

/* The smallest largest slice, by bisection between the largest layer and the whole. */
static void cut_by_layers(struct ako *a, const struct orr_step *s)
{
	double low = 0, high = a->facts.params;
	for (uint32_t l = 0; l < a->facts.layers; l++)
		low = fmax(low, orr_step_params(s, l, 1));
	while (high - low > 0.5) {
		double middle = floor((low + high) / 2);
		if (slices_needed(s, a->facts.layers, middle, NULL, 0) <= a->p)
			high = middle;
		else
			low = middle + 1;
	}
	slices_needed(s, a->facts.layers, high, a->slice_bytes, a->p);
	for (uint32_t i = 0; i < a->p; i++)
		a->slice_bytes[i] *= a->facts.gradient_bytes;
}

static void choose_partitions(struct ako *a, const struct orr_step *s, int64_t asked)
{
	double bytes = a->facts.params * a->facts.gradient_bytes * (a->n - 1);
	double bandwidth = a->n > 1 ? orr_bandwidth(s, 0, 1) : INFINITY;
	a->compute_s = work_s(s, 0, &a->facts, true) + work_s(s, 0, &a->facts, false);
	double p = asked ? (double)asked : ceil(bytes / (bandwidth * a->compute_s));
	a->p = p < 1 || !(p < 1e9) ? 1 : (uint32_t)p;
	a->load = bytes / a->p / (bandwidth * a->compute_s);
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct ako *a = calloc(1, sizeof *a);
	if (!a) {
		orr_fail(err, ORR_EFAIL, "out of memory");
		return NULL;
	}
	orr_step_facts(s, &a->facts);
	a->n = (uint32_t)orr_arg_int(args, "workers");
	if (a->n > a->facts.gpus) {
		orr_fail(err, ORR_EINPUT, "workers: %u asked for, the cluster has %u GPUs", a->n, a->facts.gpus);
		free(a);
		return NULL;
	}
	if (!a->n)
		a->n = a->facts.gpus;
	a->is_per_peer = !strcmp(orr_arg_text(args, "slice_choice"), "peer");
	a->is_average = !strcmp(orr_arg_text(args, "window_reduce"), "average");
	a->bound = orr_arg_int(args, "staleness_bound");
	a->depth = (uint32_t)orr_arg_int(args, "outstanding") + 1;
	choose_partitions(a, s, orr_arg_int(args, "partitions"));
	a->slice_bytes = calloc(a->p, sizeof *a->slice_bytes);
	a->update = calloc(a->n, sizeof *a->update);
	a->sent = calloc((size_t)a->n * a->depth, sizeof *a->sent);
	a->round = calloc((size_t)(a->bound < 0 ? 1 : a->bound + 1), sizeof *a->round);
	if (!a->slice_bytes || !a->update || !a->sent || !a->round) {
		orr_fail(err, ORR_EFAIL, "out of memory");
		destroy(a);
		return NULL;
	}
	for (uint32_t i = 0; i < a->p; i++)
		a->slice_bytes[i] = a->facts.params * a->facts.gradient_bytes / a->p;
	if (!strcmp(orr_arg_text(args, "partition_method"), "layers"))
		cut_by_layers(a, s);
	orr_step_samples(s, a->facts.batch * a->n);
	for (uint32_t i = 0; i < a->n; i++) {
		double bytes = a->facts.params * a->facts.gradient_bytes;
		orr_hold(s, i, ORR_MEMORY_WEIGHTS, a->facts.params * a->facts.weight_bytes, "worker");
		orr_hold(s, i, ORR_MEMORY_GRADIENTS, bytes, "worker");
		orr_hold(s, i, ORR_MEMORY_BUFFERS, bytes * (a->p + 1), "worker"); /* the window and the inbox */
		orr_hold(s, i, ORR_MEMORY_OPTIMIZER, a->facts.params * a->facts.optimizer_bytes, "worker");
	}
	return a;
}

static orr_op compute(struct ako *a, struct orr_step *s, uint32_t i)
{
	orr_op forward = orr_compute(s, i, ORR_FORWARD, work_s(s, i, &a->facts, true));
	orr_op backward = orr_compute(s, i, ORR_BACKWARD, work_s(s, i, &a->facts, false));
	orr_after(s, backward, forward);
	orr_after(s, forward, a->update[i]);
	orr_updates(s, backward, &(struct orr_update){ .kind = ORR_GRADIENT });
	orr_updates(s, backward, &(struct orr_update){ .kind = ORR_ACCUMULATE, .window = a->p });
	return backward;
}

static void exchange(struct ako *a, struct orr_step *s, uint32_t i, uint64_t k, orr_op gradient)
{
	orr_op last = a->sent[(size_t)i * a->depth + (k + a->depth - 1) % a->depth];
	uint32_t first = (uint32_t)(k % a->p), n = 0;
	orr_op *out = malloc(a->n * sizeof *out);
	for (uint32_t step = 1; out && step < a->n; step++) {
		uint32_t j = (i + step) % a->n, slice = a->is_per_peer ? (first + j) % a->p : first;
		orr_op m = orr_transfer(s, i, j, a->slice_bytes[slice]);
		orr_after(s, m, gradient);
		orr_after(s, m, last);
		orr_detach(s, m);
		orr_updates(s, m, &(struct orr_update){ .kind = ORR_SEND_SLICE, .slice = slice, .slices = a->p,
			.scale = a->is_average ? 1.0 / a->p : 1 });
		out[n++] = m;
	}
	orr_op all = orr_mark(s);
	orr_detach(s, all);
	for (uint32_t x = 0; x < n; x++)
		orr_after(s, all, out[x]);
	free(out);
	a->sent[(size_t)i * a->depth + k % a->depth] = all;
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	struct ako *a = self;
	(void)err;
	uint64_t ring = a->bound < 0 ? 1 : (uint64_t)a->bound + 1;
	orr_op everyone = a->bound < 0 ? 0 : a->round[k % ring]; /* of iteration k - bound - 1 */
	orr_op *update = malloc(a->n * sizeof *update);
	if (!update)
		return orr_fail(err, ORR_EFAIL, "out of memory");
	for (uint32_t i = 0; i < a->n; i++) {
		/* Messages of depth rounds ago have arrived before this round's work begins. */
		orr_op gate = orr_mark(s);
		orr_after(s, gate, a->update[i]);
		orr_after(s, gate, a->n > 1 ? a->sent[(size_t)i * a->depth + k % a->depth] : 0);
		orr_after(s, gate, everyone);
		a->update[i] = gate;
		orr_op gradient = compute(a, s, i);
		if (a->n > 1)
			exchange(a, s, i, k, gradient);
		update[i] = orr_compute(s, i, ORR_OPTIMIZER, orr_update_cost(s, i, a->facts.params));
		orr_after(s, update[i], gradient);
		orr_updates(s, update[i], &(struct orr_update){ .kind = ORR_APPLY_INBOX });
		orr_counts(s, update[i], a->facts.batch);
	}
	memcpy(a->update, update, a->n * sizeof *update);
	free(update);
	if (a->bound >= 0) {
		orr_op all = orr_mark(s);
		for (uint32_t i = 0; i < a->n; i++)
			orr_after(s, all, a->update[i]);
		a->round[k % ring] = all;
	}
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	struct ako *a = self;
	snprintf(out, size, "p=%u of %u workers, NIC load %.3f", a->p, a->n, a->load);
}

static const struct orr_step_ops ops = { .size = sizeof ops,
	.create = create,
	.destroy = destroy,
	.build = build,
	.describe = describe };

ORR_POLICY_STEP(ako, "decentralised: each round one slice of the summed gradients to each peer (Ako)", params, ops);

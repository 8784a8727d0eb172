/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ako: decentralised training by partial gradient exchange (Watcharapichat, Lopez Morales, Fernandez, Pietzuch, "Ako:
 * Decentralised Deep Learning with Partial Gradient Exchange", SoCC 2016; details as in its re-implementations TF.AKO and
 * early KungFu).
 *
 * Every node is a worker with a replica of the model. In iteration t worker i computes its gradient g, keeps A = the sum of
 * its last p gradients, and sends one of p slices of A to each other worker, as n - 1 messages of G / p bytes. A message is
 * added to the receiver's inbox R when it arrives. Workers do not wait for messages: the update is x -= eta (g + R). Slice
 * t mod p leaves in iteration t, so each gradient reaches each peer exactly once per slice, at most p iterations late.
 *
 * p limits the traffic to the NIC's bandwidth: (n - 1) G / p <= B t_c, so p = max(1, ceil((n - 1) G / (B t_c))), for the worker
 * with the largest value. If the k workers of a node share a NIC, it carries k (n - k) G / p bytes, and each worker's own link
 * (n - 1) G / p. Links above the NICs and a shared PCIe root are assumed to be no bottleneck; otherwise set p.
 *
 * Messages to one peer arrive in order. A worker may have at most `outstanding` rounds of messages in flight besides the
 * current one. So a network that is too slow for p slows the worker down.
 *
 * staleness_bound = s, as in TF.AKO: a worker's clock is the number of rounds whose slices it has all received. No worker is more
 * than s rounds ahead of the slowest: the update of round t waits until all workers have round t - s. With s = 0 training is
 * synchronous; if p = 1 too, it is SGD on the sum of all gradients. (Messages that carry clocks take no time here.)
 *
 * A worker holds the last p gradients, A and R. The recursion A + g_t - g_(t-p) needs these gradients; the newest is the
 * gradient buffer.
 */
#include "replicas.h"

#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("partitions", "0", 0, 1000000,
						   "slices of the gradient, p; 0: computed from bandwidth and compute time"),
	ORR_PARAM_INT("workers", "0", 0, 1048576, "GPUs that take part; 0: all"),
	ORR_PARAM_CHOICE(
		"slice_choice", "round", "round|peer", "round: all peers get slice t mod p; peer: peer j gets slice (t + j) mod p"),
	ORR_PARAM_CHOICE("window_reduce", "sum", "sum|average", "reduction of the last p gradients that is sent"),
	ORR_PARAM_CHOICE("partition_method", "equal", "equal|layers",
		"slices of equal size, or of whole layers in order with the largest slice minimised"),
	ORR_PARAM_INT("staleness_bound", "-1", -1, 1000000, "rounds that a worker may be ahead of the slowest; 0: synchronous, -1: any"),
	ORR_PARAM_INT("outstanding", "1", 1, 1000, "rounds of messages in flight besides the current one"), ORR_PARAM_END };

struct ako {
	struct orr_step_facts facts;
	uint32_t n, p;
	bool is_average, is_per_peer, is_by_layers;
	int64_t bound;
	uint32_t depth;      /* number of rounds whose messages may be in flight: outstanding and the current one */
	double *slice_bytes; /* [p] */
	double load;         /* share of the busiest link (mostly a NIC) that the exchange uses at full compute speed */
	orr_op *update;      /* [worker]: the latest */
	orr_op *gradient;    /* gradients of this iteration, by worker */
	orr_op *message;     /* latest messages, [from * n + to] */
	orr_op *sent;        /* all messages of round k have arrived, [worker * depth + k % depth] */
	orr_op *received;    /* all workers have received all of round k, [k % (bound + 1)] */
};

static void destroy(void *self)
{
	struct ako *a = self;
	orr_free(a->slice_bytes);
	orr_free(a->update);
	orr_free(a->gradient);
	orr_free(a->message);
	orr_free(a->sent);
	orr_free(a->received);
	orr_free(a);
}

static double work_s(const struct orr_step *s, uint32_t device, const struct orr_step_facts *f, bool is_forward)
{
	if (is_forward)
		return orr_cost(s, device, ORR_PASS_FORWARD, 0, f->layers, f->batch, 1);
	return orr_cost(s, device, ORR_PASS_BACKWARD_DATA, 0, f->layers, f->batch, 1) +
	       orr_cost(s, device, ORR_PASS_BACKWARD_WEIGHT, 0, f->layers, f->batch, 1);
}

/* Returns the number of slices if none may exceed `limit` parameters; layers stay whole and in order. With `size`, cuts exactly p
 * slices: the last ones start early enough that each has a layer. */
static uint32_t cut(const struct orr_step *s, uint32_t layers, double limit, double *size, uint32_t p, uint32_t filled)
{
	uint32_t n = 1;
	double held = 0;
	for (uint32_t l = 0; l < layers; l++) {
		double x = orr_step_params(s, l, 1);
		if (x <= 0)
			continue;
		if (held > 0 && (held + x > limit || (size && filled <= p - n))) {
			if (size)
				size[n - 1] = held;
			n++;
			held = 0;
		}
		held += x;
		filled--;
	}
	if (size)
		size[n - 1] = held;
	return n;
}

/* Minimises the largest slice by bisection, between the largest layer and the whole model. */
static void cut_by_layers(struct ako *a, const struct orr_step *s)
{
	double low = 0, high = a->facts.params;
	uint32_t filled = 0; /* layers with parameters */
	for (uint32_t l = 0; l < a->facts.layers; l++) {
		double x = orr_step_params(s, l, 1);
		low = fmax(low, x);
		filled += x > 0;
	}
	a->p = a->p < filled ? a->p : filled ? filled : 1;
	while (high - low > 0.5) {
		double middle = floor((low + high) / 2);
		if (cut(s, a->facts.layers, middle, NULL, a->p, filled) <= a->p)
			high = middle;
		else
			low = middle + 1;
	}
	cut(s, a->facts.layers, high, a->slice_bytes, a->p, filled);
	for (uint32_t i = 0; i < a->p; i++)
		a->slice_bytes[i] *= a->facts.gradient_bytes;
}

/* Returns the bytes that worker i's slices of the whole gradient put on a link, over the bandwidth of this link, s: on its NIC,
 * which workers of its node share, or on its own link inside the node. */
static double busiest_s(const struct ako *a, const struct orr_step *s, uint32_t i)
{
	double bytes = a->facts.params * a->facts.gradient_bytes, most = 0;
	uint32_t beside = 1, inside = i, outside = i; /* workers on the node; another worker on it, one on another node */
	for (uint32_t j = 0; j < a->n; j++) {
		bool is_near = orr_node_of(s, j) == orr_node_of(s, i);
		if (j == i)
			continue;
		beside += is_near;
		*(is_near ? &inside : &outside) = j;
	}
	if (inside != i)
		most = (a->n - 1) * bytes / orr_bandwidth(s, i, inside);
	if (outside != i)
		most = fmax(most, fmax(1, (double)beside / orr_step_nics(s)) * (a->n - beside) * bytes / orr_bandwidth(s, i, outside));
	return most;
}

/* Returns the largest share of a link that the exchange of whole gradients would use at full compute speed. */
static double full_load(const struct ako *a, const struct orr_step *s)
{
	double most = 0;
	for (uint32_t i = 0; i < a->n; i++)
		most = fmax(most, busiest_s(a, s, i) / replica_cost_s(s, i, &a->facts));
	return most;
}

static void choose_partitions(struct ako *a, const struct orr_step *s, int64_t asked)
{
	double load = full_load(a, s);
	double p = asked ? (double)asked : ceil(load - 1e-9); /* rounding must not turn a load of 3 into 4 */
	a->p = p < 1 ? 1 : p < 1e6 ? (uint32_t)p : 1000000;
	a->load = load;
}

static void make_room(struct ako *a)
{
	a->slice_bytes = orr_alloc(a->p, sizeof *a->slice_bytes);
	a->update = orr_alloc(a->n, sizeof *a->update);
	a->gradient = orr_alloc(a->n, sizeof *a->gradient);
	a->message = orr_alloc((size_t)a->n * a->n, sizeof *a->message);
	a->sent = orr_alloc((size_t)a->n * a->depth, sizeof *a->sent);
	a->received = orr_alloc((size_t)(a->bound < 0 ? 1 : a->bound + 1), sizeof *a->received);
}

static void hold(const struct ako *a, struct orr_step *s)
{
	const struct orr_step_facts *f = &a->facts;
	double bytes = f->params * f->gradient_bytes, activations = activation_bytes(s, f);
	char what[120] = "worker";
	if (a->p > 1)
		snprintf(what, sizeof what, "a worker keeps its last p=%u gradients (with a smaller `partitions` fewer)", a->p);
	for (uint32_t i = 0; i < a->n; i++) {
		orr_hold(s, i, ORR_MEMORY_WEIGHTS, f->params * f->weight_bytes, what);
		orr_hold(s, i, ORR_MEMORY_GRADIENTS, bytes, what);
		orr_hold(s, i, ORR_MEMORY_BUFFERS, bytes * (a->p - 1 + 2), what); /* memory for older gradients, A, and R */
		orr_hold(s, i, ORR_MEMORY_OPTIMIZER, f->params * f->optimizer_bytes, what);
		orr_hold(s, i, ORR_MEMORY_ACTIVATIONS, activations, what);
	}
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct ako *a = orr_alloc(1, sizeof *a);
	orr_step_facts(s, &a->facts);
	a->n = (uint32_t)orr_arg_int(args, "workers");
	if (a->n > a->facts.gpus) {
		orr_fail(err, ORR_EINPUT, "workers: %u: expected at most %u, the number of GPUs", a->n, a->facts.gpus);
		orr_free(a);
		return NULL;
	}
	if (!a->n)
		a->n = a->facts.gpus;
	a->is_per_peer = !strcmp(orr_arg_text(args, "slice_choice"), "peer");
	a->is_average = !strcmp(orr_arg_text(args, "window_reduce"), "average");
	a->bound = orr_arg_int(args, "staleness_bound");
	a->depth = (uint32_t)orr_arg_int(args, "outstanding") + 1;
	choose_partitions(a, s, orr_arg_int(args, "partitions"));
	make_room(a);
	for (uint32_t i = 0; i < a->p; i++)
		a->slice_bytes[i] = a->facts.params * a->facts.gradient_bytes / a->p;
	a->is_by_layers = !strcmp(orr_arg_text(args, "partition_method"), "layers");
	if (a->is_by_layers)
		cut_by_layers(a, s);
	a->load /= a->p;
	orr_step_period(s, a->is_by_layers ? a->p : 1);
	orr_step_samples(s, a->facts.batch * a->n);
	hold(a, s);
	return a;
}

/* Builds the passes of an iteration. The forward pass waits for the messages that were sent `depth` rounds earlier. */
static void compute(struct ako *a, struct orr_step *s, uint32_t i, uint64_t k)
{
	orr_op forward = orr_compute(s, i, ORR_FORWARD, work_s(s, i, &a->facts, true));
	orr_op backward = orr_compute(s, i, ORR_BACKWARD, work_s(s, i, &a->facts, false));
	orr_after(s, forward, a->update[i]);
	orr_after(s, forward, a->sent[(size_t)i * a->depth + k % a->depth]);
	orr_after(s, backward, forward);
	orr_updates(s, backward, &(struct orr_update){ .kind = ORR_GRADIENT });
	orr_updates(s, backward, &(struct orr_update){ .kind = ORR_ACCUMULATE, .window = a->p });
	a->gradient[i] = backward;
}

static void exchange(struct ako *a, struct orr_step *s, uint32_t i, uint64_t k)
{
	uint32_t first = (uint32_t)(k % a->p);
	for (uint32_t step = 1; step < a->n; step++) {
		uint32_t j = (i + step) % a->n, slice = a->is_per_peer ? (first + j) % a->p : first;
		orr_op *last = &a->message[(size_t)i * a->n + j], m = orr_transfer(s, i, j, a->slice_bytes[slice]);
		orr_after(s, m, a->gradient[i]);
		orr_after(s, m, *last);
		orr_detach(s, m);
		orr_label(s, m, "slice %u", slice);
		orr_updates(s, m,
			&(struct orr_update){
				.kind = ORR_SEND_SLICE, .slice = slice, .slices = a->p, .scale = a->is_average ? 1.0 / a->p : 1 });
		*last = m;
	}
	orr_op all = orr_mark(s);
	orr_detach(s, all);
	for (uint32_t j = 0; j < a->n; j++)
		orr_after(s, all, j != i ? a->message[(size_t)i * a->n + j] : a->gradient[i]);
	a->sent[(size_t)i * a->depth + k % a->depth] = all;
}

/* Returns the op that the updates of round k wait for, in addition to the worker's own gradient; 0: none. */
static orr_op slowest(struct ako *a, struct orr_step *s, uint64_t k)
{
	if (a->bound < 0)
		return 0;
	uint64_t ring = (uint64_t)a->bound + 1;
	orr_op all = orr_mark(s);
	orr_detach(s, all);
	for (uint32_t i = 0; i < a->n; i++)
		orr_after(s, all, a->sent[(size_t)i * a->depth + k % a->depth]);
	a->received[k % ring] = all;
	return a->received[(k + 1) % ring]; /* received messages of round k - bound */
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	struct ako *a = self;
	(void)err;
	for (uint32_t i = 0; i < a->n; i++) {
		compute(a, s, i, k);
		exchange(a, s, i, k);
	}
	orr_op round = slowest(a, s, k);
	for (uint32_t i = 0; i < a->n; i++) {
		orr_op update = orr_compute(s, i, ORR_OPTIMIZER, orr_update_cost(s, i, a->facts.params));
		orr_after(s, update, a->gradient[i]);
		orr_after(s, update, round);
		orr_updates(s, update, &(struct orr_update){ .kind = ORR_APPLY_INBOX });
		orr_counts(s, update, a->facts.batch);
		a->update[i] = update;
	}
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct ako *a = self;
	double largest = 0, all = 0;
	for (uint32_t i = 0; i < a->p; i++) {
		largest = fmax(largest, a->slice_bytes[i]);
		all += a->slice_bytes[i];
	}
	snprintf(out, size, "p=%u, workers=%u, load=%.4f, largest_slice=%.4f", a->p, a->n, a->load, all > 0 ? largest / all : 1);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(ako, "decentralised: each round sends one slice of the summed gradients to each peer (Ako)", params, ops);

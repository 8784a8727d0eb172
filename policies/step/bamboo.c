/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One iteration of Bamboo (Thorpe et al., "Bamboo: Making Preemptible Instances Resilient for Affordable Training of Large
 * DNNs", NSDI 2023, and its code, uclasystem/bamboo): 1F1B with redundant computation on a replica of the next stage.
 *
 * Node i of p has stage i and a replica of stage (i + 1) % p: its layers and optimizer state. FRC and BRC are the replica's
 * forward and backward:
 *
 *	none   no replica
 *	lazy   the replica is kept up to date (sync) and computes nothing
 *         eager  FRC of each micro-batch, directly before the next gradient is received, so that it fills a bubble; without a
 *  bubble it delays later work. The last node, which receives no gradient, does FRC of stage 0 directly before the next
 *  activation is received. Activations of FRC are swapped to the host's memory; at most two micro-batches wait for the swap.
 *	both   FRC and BRC: the stage after the next also sends its gradients to the node
 *
 * sync: when the gradients of a stage have been summed over pipelines, its node sends the sum to the node with the replica, which
 * updates it. That node then begins its next iteration. The authors state that replica and original are equal before each iteration,
 * but not by which messages. This sync sends the fewest bytes that keep the optimizer state equal.
 *
 * failed=f: the state after the loss of node f. The node before it, its shadow, computes both stages; messages between
 * them are local, backward passes precede forward passes, both gradients are summed, and it no longer has a replica.
 * The other pipelines wait for this one when gradients are summed, so all lanes are built in the same way.
 *
 * redo=n: the pause directly after the loss, before each iteration. The shadow recomputes the lost gradient sum of n
 * micro-batches, one backward (and forward, if that was lazy) after the other, from swapped activations and from gradients that
 * the next stage sends again. All stages wait.
 */
#include "bamboo.h"
#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_FORWARD = 1, STREAM_BACKWARD, STREAM_COPY, STREAM_SYNC, STREAM_REDUCE };
enum { FIRST = -1, LAST = 1 }; /* priorities: backward before forward before unordered work */
enum { SWAPS = 2 };

static const struct orr_param params[] = { ORR_PARAM_INT("stages", "0", 0, 1e6, "stages of the pipeline; 0: one per GPU"),
	PIPELINE_BATCH_PARAMS,
	ORR_PARAM_CHOICE("redundancy", "eager", "none|lazy|eager|both",
		"none: no replicas; lazy: replicas without work; eager: forward passes; both: forward and backward passes"),
	ORR_PARAM_CHOICE("cut", "memory", "memory|time|blocks",
		"minimise peak memory, minimise the longest stage, or equal numbers of blocks per stage"),
	ORR_PARAM_INT("failed", "-1", -1, 1e6, "stage whose node is lost in each pipeline; its shadow does the work of both; -1: none"),
	ORR_PARAM_INT("redo", "0", 0, 1e6, "with failed: micro-batches whose backward passes the shadow repeats first"),
	ORR_PARAM_BOOL("sync", true, "a node waits until its replica is up to date"),
	ORR_PARAM_BOOL("swap", true, "swap the activations of replicas to the host's memory"),
	ORR_PARAM_REAL("host_GBps", "12", 1e-6, 1e6, "GB/s from GPU to host: PCIe 3.0 x16 gives about 12"),
	ORR_PARAM_REAL("load_s", "0", 0, 1e6,
		"time to load the input of a micro-batch, on the first stage and on the last, which holds its replica"),
	PIPELINE_STAGE_PARAMS, ORR_PARAM_END };

/* Frees what depends on the number of micro-batches. */
static void release(struct bamboo *b)
{
	void *array[] = { b->stage, b->copy_of, b->update_s, b->copy_update_s, b->order, b->next, b->tail, b->fresh, b->reduced, b->replica,
		b->forward_in, b->backward_in, b->copy, b->swapped };
	for (size_t i = 0; i < sizeof array / sizeof *array; i++)
		orr_free(array[i]);
}

static void destroy(void *self)
{
	struct bamboo *b = self;
	if (!b)
		return;
	release(b);
	orr_free(b->dp_bytes);
	orr_free(b);
}

/* ---- create ---- */

static int size_it(struct bamboo *b, struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct orr_step_facts f;
	double global = orr_arg_real(args, "global_batch");
	int64_t failed = orr_arg_int(args, "failed");
	orr_step_facts(s, &f);
	b->p = orr_arg_int(args, "stages") ? (uint32_t)orr_arg_int(args, "stages") : f.gpus;
	if (f.gpus % b->p)
		return orr_fail(err, ORR_EINPUT, "%u GPUs: expected a multiple of the %u stages", f.gpus, b->p);
	if (failed >= b->p || (failed >= 0 && b->p == 1))
		return orr_fail(err, ORR_EINPUT, "failed=%lld: expected a stage from 0 to %u, and at least two stages", (long long)failed,
			b->p - 1);
	b->failed = failed < 0 ? UINT32_MAX : (uint32_t)failed;
	b->redo = failed < 0 ? 0 : (uint32_t)orr_arg_int(args, "redo");
	b->d = f.gpus / b->p;
	global = global > 0 ? global : f.batch * f.gpus;
	b->samples = global / b->d;
	b->m = pipe_micro_batches(args, global, b->d, b->p, 1, err);
	if (!b->m)
		return err->code ? err->code : ORR_EINPUT;
	if ((double)b->m * b->p > 1e7)
		return orr_fail(err, ORR_EINPUT, "%u micro-batches of %u stages: expected at most 1e7 passes", b->m, b->p);
	b->gradient_bytes = f.gradient_bytes;
	b->dp_bytes = orr_alloc(b->p, sizeof *b->dp_bytes);
	if (pipe_dp_bytes(args, b->p, b->dp_bytes, err))
		return err->code;
	b->host_Bps = orr_arg_real(args, "host_GBps") * 1e9;
	b->load_s = orr_arg_real(args, "load_s");
	b->has_sync = orr_arg_bool(args, "sync");
	b->tied_params = b->dp_bytes[0] >= 0 && b->dp_bytes[b->p - 1] >= 0 ? 0 : stage_tied_params(s);
	orr_step_samples(s, global);
	return ORR_OK;
}

static void allocate(struct bamboo *b)
{
	size_t p = b->p, passes = p * b->m;
	b->stage = orr_alloc(p, sizeof *b->stage);
	b->copy_of = orr_alloc(p, sizeof *b->copy_of);
	b->update_s = orr_alloc(p, sizeof *b->update_s);
	b->copy_update_s = orr_alloc(p, sizeof *b->copy_update_s);
	b->order = orr_alloc(2 * passes, sizeof *b->order);
	b->next = orr_alloc(p, sizeof *b->next);
	b->tail = orr_alloc(p, sizeof *b->tail);
	b->fresh = orr_alloc(p, sizeof *b->fresh);
	b->reduced = orr_alloc(p, sizeof *b->reduced);
	b->replica = orr_alloc(p, sizeof *b->replica);
	b->forward_in = orr_alloc(passes, sizeof *b->forward_in);
	b->backward_in = orr_alloc(passes, sizeof *b->backward_in);
	b->copy = orr_alloc(passes, sizeof *b->copy);
	b->swapped = orr_alloc(passes, sizeof *b->swapped);
}

static enum redundancy redundancy_named(const char *name)
{
	return !strcmp(name, "none")    ? REDUNDANCY_NONE
	       : !strcmp(name, "lazy")  ? REDUNDANCY_LAZY
	       : !strcmp(name, "eager") ? REDUNDANCY_EAGER
					: REDUNDANCY_BOTH;
}

struct attempt {
	struct bamboo *b;
	struct orr_step *s;
	const struct orr_args *args;
};

static int lay_out(void *self, uint32_t m, double *spare, struct orr_error *err)
{
	const struct attempt *x = self;
	struct bamboo *b = x->b;
	release(b);
	b->m = m;
	b->micro = b->samples / m;
	allocate(b);
	int rc = bamboo_stages(b, x->s, x->args, err);
	if (!rc)
		*spare = bamboo_spare(b, x->s, b->has_swap ? SWAPS : UINT32_MAX);
	return rc;
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct bamboo *b = orr_alloc(1, sizeof *b);
	b->mode = redundancy_named(orr_arg_text(args, "redundancy"));
	b->has_swap = orr_arg_bool(args, "swap") && b->mode == REDUNDANCY_EAGER;
	int rc = size_it(b, s, args, err);
	if (!rc)
		rc = pipe_fit(&(struct attempt){ b, s, args }, args, b->samples, b->p, 1, b->m, lay_out, err);
	if (rc) {
		destroy(b);
		return NULL;
	}
	bamboo_place(b, s, orr_arg_real(args, "update_s"));
	for (uint32_t i = 0; i < b->p; i++)
		schedule_make(SCHEDULE_1F1B, b->order + 2 * (size_t)b->m * i, b->m, b->p, 1, i);
	return b;
}

/* ---- build: redundant passes ---- */

static bool computes_replica(const struct bamboo *b, uint32_t node)
{
	return b->mode >= REDUNDANCY_EAGER && bamboo_has_replica(b, node);
}

static void send(struct orr_step *s, uint32_t from, uint32_t to, double bytes, uint32_t stream, const char *what, uint32_t micro,
	orr_op after, orr_op *out)
{
	*out = after;
	if (from == to)
		return;
	*out = orr_transfer(s, from, to, bytes);
	orr_after(s, *out, after);
	orr_on_stream(s, *out, stream);
	orr_label(s, *out, "%s %u", what, micro);
}

/* Builds FRC of a micro-batch, next in the node's order. Its input is the output of the node's own forward pass, or loaded data. */
static void build_frc(struct bamboo *b, struct orr_step *s, uint32_t node, uint32_t micro)
{
	const struct stage *g = &b->copy_of[bamboo_next(b, node)];
	orr_op *swapped = b->swapped + (size_t)node * b->m, op = orr_compute(s, node, ORR_OTHER_WORK, g->forward_s);
	orr_after(s, op, b->tail[node]);
	if (b->has_swap && micro >= SWAPS)
		orr_after(s, op, swapped[micro - SWAPS]);
	orr_takes(s, op, node, g->stored_bytes);
	orr_label(s, op, "FRC%u", micro);
	b->tail[node] = op;
	if (!b->has_swap)
		return;
	swapped[micro] = orr_delay(s, g->stored_bytes / b->host_Bps);
	orr_after(s, swapped[micro], op);
	if (micro)
		orr_after(s, swapped[micro], swapped[micro - 1]);
	orr_gives(s, swapped[micro], node, g->stored_bytes);
	orr_detach(s, swapped[micro]);
}

/* Builds BRC of a micro-batch after its gradient has arrived: next in the node's order, or when the node is idle. */
static void build_brc(struct bamboo *b, struct orr_step *s, uint32_t node, uint32_t micro, bool is_in_order)
{
	uint32_t of = bamboo_next(b, node);
	const struct stage *g = &b->copy_of[of];
	orr_op op = orr_compute(s, node, ORR_OTHER_WORK, g->recompute_s + g->backward_s);
	orr_after(s, op, b->copy[(size_t)of * b->m + micro]);
	orr_gives(s, op, node, g->stored_bytes);
	orr_label(s, op, "BRC%u", micro);
	if (is_in_order) {
		orr_after(s, op, b->tail[node]);
		b->tail[node] = op;
		return;
	}
	orr_after(s, op, b->replica[node]);
	orr_priority(s, op, LAST);
	b->replica[node] = op;
}

/* Builds the redundant passes of the last node, whose places in the order differ: FRC of stage 0, and BRC after the gradient of
 * stage 1. */
static void redundant_before_backward(struct bamboo *b, struct orr_step *s, uint32_t stage, uint32_t micro)
{
	if (stage != b->failed && stage + 1 < b->p && computes_replica(b, stage))
		build_frc(b, s, stage, micro);
}

static void redundant_after_backward(struct bamboo *b, struct orr_step *s, uint32_t stage, uint32_t micro, orr_op backward)
{
	uint32_t last = b->p - 1, holder = (stage + b->p - 2) % b->p;
	if (b->p == 1 || b->mode < REDUNDANCY_EAGER)
		return;
	if (stage == last && computes_replica(b, last))
		build_frc(b, s, last, micro);
	if (b->mode != REDUNDANCY_BOTH)
		return;
	/* The gradient that this stage sends back is also sent to the node with the replica of the previous stage. */
	if (stage && computes_replica(b, holder)) {
		send(s, bamboo_node(b, stage), holder, b->stage[stage - 1].out_bytes, STREAM_COPY, "gradient copy", micro, backward,
			&b->copy[(size_t)(stage - 1) * b->m + micro]);
		if (stage == 1)
			build_brc(b, s, holder, micro, false);
	}
	if (stage + 1 < b->p && stage != b->failed && computes_replica(b, stage))
		build_brc(b, s, stage, micro, true);
}

/* ---- build: passes ---- */

static void build_forward(struct bamboo *b, struct orr_step *s, uint32_t stage, uint32_t micro)
{
	const struct stage *g = &b->stage[stage];
	size_t at = (size_t)stage * b->m + micro;
	uint32_t node = bamboo_node(b, stage);
	orr_op op = orr_compute(s, node, ORR_FORWARD, g->forward_s);
	orr_after(s, op, b->tail[stage]);
	orr_after(s, op, b->forward_in[at]);
	orr_takes(s, op, node, g->stored_bytes);
	orr_label(s, op, "F%u", micro);
	b->tail[stage] = op;
	if (stage + 1 == b->p)
		b->backward_in[at] = op;
	else
		send(s, node, bamboo_node(b, stage + 1), g->out_bytes, STREAM_FORWARD, "activation", micro, op, &b->forward_in[at + b->m]);
}

static orr_op build_recompute(struct bamboo *b, struct orr_step *s, uint32_t stage, uint32_t micro, orr_op input)
{
	const struct stage *g = &b->stage[stage];
	orr_op op = orr_compute(s, bamboo_node(b, stage), ORR_RECOMPUTE, g->recompute_s);
	orr_after(s, op, b->tail[stage]);
	orr_after(s, op, input);
	orr_takes(s, op, bamboo_node(b, stage), g->working_bytes);
	orr_priority(s, op, FIRST);
	orr_label(s, op, "R%u", micro);
	return op;
}

static void build_backward(struct bamboo *b, struct orr_step *s, uint32_t stage, uint32_t micro)
{
	const struct stage *g = &b->stage[stage];
	size_t at = (size_t)stage * b->m + micro;
	uint32_t node = bamboo_node(b, stage);
	bool is_again = g->working_bytes > 0 || g->recompute_s > 0;
	redundant_before_backward(b, s, stage, micro);
	if (is_again)
		b->tail[stage] = build_recompute(b, s, stage, micro, b->backward_in[at]);
	orr_op op = orr_compute(s, node, ORR_BACKWARD, g->backward_s);
	orr_after(s, op, b->tail[stage]);
	orr_after(s, op, b->backward_in[at]);
	orr_gives(s, op, node, g->stored_bytes + (is_again ? g->working_bytes : 0));
	orr_priority(s, op, FIRST);
	orr_label(s, op, "B%u", micro);
	b->tail[stage] = op;
	if (stage)
		send(s, node, bamboo_node(b, stage - 1), b->stage[stage - 1].out_bytes, STREAM_BACKWARD, "gradient", micro, op,
			&b->backward_in[at - b->m]);
	redundant_after_backward(b, s, stage, micro, op);
}

/* ---- build: the end of the iteration ---- */

static double reduced_bytes(const struct bamboo *b, uint32_t stage)
{
	return b->dp_bytes[stage] >= 0 ? b->dp_bytes[stage] : bamboo_params(b, stage) * b->gradient_bytes;
}

static void build_reduce(struct bamboo *b, struct orr_step *s, uint32_t stage)
{
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = reduced_bytes(b, stage) };
	b->reduced[stage] = b->tail[stage];
	if (b->d == 1 || !(c.bytes > 0))
		return;
	if (b->dp_bytes[stage] < 0) {
		c.first_layer = b->stage[stage].first;
		c.n_layers = b->stage[stage].layers;
	}
	orr_op op = orr_collective_lanes(s, bamboo_node(b, stage), b->d, 1, &c);
	orr_after(s, op, b->tail[stage]);
	orr_on_stream(s, op, STREAM_REDUCE);
	orr_label(s, op, "gradients %u", stage);
	b->reduced[stage] = op;
}

/* Sums the gradients of a table that both ends share, after those of the pipelines. */
static void build_tied(struct bamboo *b, struct orr_step *s)
{
	uint32_t last = b->p - 1, ends[2] = { bamboo_node(b, 0), bamboo_node(b, last) };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = b->tied_params * b->gradient_bytes };
	if (ends[0] == ends[1] || !(c.bytes > 0))
		return;
	orr_op op = orr_collective(s, &(struct orr_group){ ends, 2 }, &c);
	orr_after(s, op, b->reduced[0]);
	orr_after(s, op, b->reduced[last]);
	orr_label(s, op, "tied table");
	b->reduced[0] = b->reduced[last] = op;
}

static void build_update(struct bamboo *b, struct orr_step *s, uint32_t stage)
{
	struct orr_update average = { .kind = ORR_AVERAGE_GRADIENTS }, step = { .kind = ORR_LOCAL_UPDATE };
	orr_op op = orr_compute(s, bamboo_node(b, stage), ORR_OPTIMIZER, b->update_s[stage]);
	if (b->d > 1 && reduced_bytes(b, stage) > 0)
		orr_updates(s, b->reduced[stage], &average);
	orr_updates(s, op, &step);
	orr_after(s, op, b->tail[stage]);
	orr_after(s, op, b->reduced[stage]);
	orr_after(s, op, b->replica[bamboo_node(b, stage)]);
	orr_label(s, op, "update");
	b->tail[stage] = op;
}

/* Sends the sum of gradients to the replica, unless the replica has them (BRC, one pipeline); frees kept activations of FRC. */
static void build_sync(struct bamboo *b, struct orr_step *s, uint32_t node)
{
	uint32_t of = bamboo_next(b, node);
	double kept = b->mode == REDUNDANCY_EAGER && !b->has_swap ? b->m * b->stage[of].stored_bytes : 0;
	orr_op sum = b->reduced[of];
	if (!bamboo_has_replica(b, node))
		return;
	if (kept > 0)
		orr_gives(s, b->tail[node], node, kept);
	if (!b->has_sync)
		return;
	if (b->mode != REDUNDANCY_BOTH || b->d > 1)
		send(s, bamboo_node(b, of), node, reduced_bytes(b, of), STREAM_SYNC, "gradients of", of, sum, &sum);
	orr_op op = orr_compute(s, node, ORR_OTHER_WORK, b->copy_update_s[of]);
	orr_after(s, op, sum);
	orr_after(s, op, b->tail[node]);
	orr_label(s, op, "update of replica");
	b->fresh[node] = op;
}

/* Builds the redo of the shadow, the first op of the iteration; all stages wait for it. */
static orr_op build_redo(struct bamboo *b, struct orr_step *s, orr_op before)
{
	const struct stage *g = &b->stage[b->failed];
	uint32_t shadow = bamboo_node(b, b->failed), next = bamboo_next(b, b->failed);
	bool is_lazy = b->mode < REDUNDANCY_EAGER, is_last = b->failed + 1 == b->p;
	orr_op in = before, gradient = before, last = before;
	for (uint32_t k = 0; k < b->redo; k++) {
		if (b->has_swap) {
			orr_op swap = orr_delay(s, g->stored_bytes / b->host_Bps);
			orr_after(s, swap, in);
			in = swap;
		}
		if (!is_last) {
			orr_op sent;
			send(s, bamboo_node(b, next), shadow, g->out_bytes, STREAM_COPY, "gradient again", k, gradient, &sent);
			gradient = sent;
		}
		orr_op op = orr_compute(s, shadow, ORR_RECOMPUTE, (is_lazy ? g->forward_s : 0) + g->recompute_s + g->backward_s);
		orr_after(s, op, last);
		orr_after(s, op, in);
		orr_after(s, op, gradient);
		orr_label(s, op, "redo %u", k);
		last = op;
	}
	return last;
}

/* ---- build ---- */

static void begin_redo(struct bamboo *b, struct orr_step *s)
{
	orr_op all = orr_mark(s);
	for (uint32_t i = 0; i < b->p; i++)
		orr_after(s, all, b->tail[i]);
	all = build_redo(b, s, all);
	for (uint32_t i = 0; i < b->p; i++)
		b->tail[i] = all;
}

static void begin(struct bamboo *b, struct orr_step *s)
{
	size_t passes = (size_t)b->m * b->p;
	memset(b->next, 0, b->p * sizeof *b->next);
	memset(b->reduced, 0, b->p * sizeof *b->reduced);
	memset(b->replica, 0, b->p * sizeof *b->replica);
	memset(b->forward_in, 0, passes * sizeof *b->forward_in);
	memset(b->backward_in, 0, passes * sizeof *b->backward_in);
	memset(b->copy, 0, passes * sizeof *b->copy);
	memset(b->swapped, 0, passes * sizeof *b->swapped);
	for (uint32_t i = 0; i < b->p; i++)
		if (b->fresh[bamboo_node(b, i)]) {
			orr_op both = orr_mark(s);
			orr_after(s, both, b->tail[i]);
			orr_after(s, both, b->fresh[bamboo_node(b, i)]);
			b->tail[i] = both;
		}
	if (b->redo)
		begin_redo(b, s);
	for (uint32_t k = 0; k < b->m && b->load_s > 0; k++) {
		b->forward_in[k] = orr_delay(s, b->load_s);
		orr_after(s, b->forward_in[k], k ? b->forward_in[k - 1] : b->tail[0]);
	}
}

static bool has_input(const struct bamboo *b, uint32_t stage, const struct pass *x)
{
	size_t i = (size_t)stage * b->m + x->micro;
	return x->is_backward ? b->backward_in[i] != 0 : !stage || b->forward_in[i] != 0;
}

/* Builds the next pass of a stage; returns false if its input is not built yet. */
static bool build_pass(struct bamboo *b, struct orr_step *s, uint32_t stage)
{
	uint32_t at = b->next[stage];
	const struct pass *x = &b->order[2 * (size_t)b->m * stage + at];
	if (at == 2 * b->m || !has_input(b, stage, x))
		return false;
	b->next[stage]++;
	if (x->is_backward)
		build_backward(b, s, stage, x->micro);
	else
		build_forward(b, s, stage, x->micro);
	if (at + 1 == 2 * b->m) {
		struct orr_update gradient = { .kind = ORR_GRADIENT };
		orr_updates(s, b->tail[stage], &gradient);
		build_reduce(b, s, stage);
	}
	return true;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct bamboo *b = self;
	size_t passes = 2 * (size_t)b->m * b->p, built = 0;
	(void)iteration;
	begin(b, s);
	for (bool any = true; any;) {
		any = false;
		for (uint32_t stage = 0; stage < b->p; stage++)
			while (build_pass(b, s, stage)) {
				built++;
				any = true;
			}
	}
	/* If the step world has reported an error, inputs are missing. */
	if (built < passes)
		return orr_fail(err, ORR_EFAIL, "the schedule stops after %zu of %zu passes: expected all of them", built, passes);
	build_tied(b, s);
	for (uint32_t stage = 0; stage < b->p; stage++)
		build_update(b, s, stage);
	for (uint32_t node = 0; node < b->p; node++)
		build_sync(b, s, node);
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct bamboo *b = self;
	size_t n = (size_t)snprintf(out, size, "%u pipelines of %u, %u micro-batches of %g, layers", b->d, b->p, b->m, b->micro);
	for (uint32_t i = 0, run; i < b->p && n + 24 < size; i += run) {
		for (run = 1; i + run < b->p && b->stage[i + run].layers == b->stage[i].layers; run++)
			;
		n += (size_t)snprintf(out + n, size - n, run > 1 ? "%c%ux%u" : "%c%u", i ? ',' : ' ', b->stage[i].layers, run);
	}
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(bamboo, "pipeline: 1F1B with redundant computation of the next stage (Bamboo)", params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline, tensor and data parallelism together (pipeline.h). */
#include "pipeline_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Frees what depends on the number of micro-batches. */
static void release(struct pipeline *p)
{
	for (uint32_t i = 0; p->seg && i < p->parts; i++)
		segments_free(&p->seg[i]);
	orr_free(p->seg);
	p->seg = NULL;
	experts_free(&p->x);
	p->x = (struct experts){ 0 };
	void *array[] = { p->expert_params, p->part, p->update_s, p->dp_bytes, p->order, p->next, p->tail, p->forward_in, p->backward_in,
		p->reduced, p->averaged, p->left };
	for (size_t i = 0; i < sizeof array / sizeof *array; i++)
		orr_free(array[i]);
}

void pipe_free(void *self)
{
	struct pipeline *p = self;
	if (!p)
		return;
	release(p);
	orr_free(p);
}

struct pipe_terms pipe_plain(const struct orr_args *args, enum schedule_kind schedule)
{
	return (struct pipe_terms){ .pp = (uint32_t)orr_arg_int(args, "stages"),
		.tp = 1,
		.chunks = 1,
		.dp_stride = 1,
		.schedule = schedule,
		.by_time = !strcmp(orr_arg_text(args, "cut"), "time"),
		.is_pp_inner = !strcmp(orr_arg_text(args, "order"), "pp-dp"),
		.dp_overlap = true };
}

/* ---- create: sizes ---- */

int pipe_dp_bytes(const struct orr_args *args, uint32_t n, double *out, struct orr_error *err)
{
	size_t n_given;
	const double *given = orr_arg_list(args, "dp_bytes", &n_given);
	if (n_given > 1 && n_given != n)
		return orr_fail(err, ORR_EINPUT, "dp_bytes: expected 1 or %u numbers, one for each stage, found %zu", n, n_given);
	for (uint32_t i = 0; i < n; i++) {
		out[i] = n_given ? given[n_given > 1 ? i : 0] : -1;
		if (!(out[i] >= 0) && out[i] != -1)
			return orr_fail(err, ORR_EINPUT, "dp_bytes: stage %u: expected at least 0 bytes, or -1 for the model's, found %g",
				i, out[i]);
	}
	return ORR_OK;
}

/* Sets pp if it is not given: one stage per pair of stage_times, else per remaining GPU. */
static int size_grid(struct pipeline *p, const struct orr_step_facts *f, size_t n_times, struct orr_error *err)
{
	struct pipe_terms *t = &p->t;
	if (!t->pp)
		t->pp = n_times > 2 && n_times % 2 == 0 ? (uint32_t)(n_times / 2 / t->chunks) : f->gpus / t->tp;
	if (!t->pp || f->gpus % (t->pp * t->tp))
		return orr_fail(err, ORR_EINPUT, "%u GPUs: expected a multiple of %u (%u stages x %u shards)", f->gpus,
			(t->pp ? t->pp : 1) * t->tp, t->pp ? t->pp : 1, t->tp);
	p->dp = f->gpus / (t->pp * t->tp);
	p->parts = t->pp * t->chunks;
	if (p->dp % t->cp)
		return orr_fail(err, ORR_EINPUT, "cp=%u: expected a divisor of the %u GPUs of a stage and shard", t->cp, p->dp);
	if (t->dp_stride > 1 && (t->cp > 1 || t->ep > 1))
		return orr_fail(err, ORR_EINPUT, "dp_stride=%u: expected 1 with context or expert parallelism", t->dp_stride);
	if (p->dp % t->dp_stride)
		return orr_fail(err, ORR_EINPUT, "dp_stride=%u: expected a divisor of the %u replicas", t->dp_stride, p->dp);
	if (n_times && n_times != 2 && n_times != 2 * (size_t)t->pp && n_times != 2 * (size_t)p->parts)
		return t->chunks > 1
			       ? orr_fail(err, ORR_EINPUT,
					 "stage_times: expected 2 or %u numbers (forward and backward of each stage), or %u (of each part "
					 "of the model), found %zu",
					 2 * t->pp, 2 * p->parts, n_times)
			       : orr_fail(err, ORR_EINPUT,
					 "stage_times: expected 2 or %u numbers (forward and backward of each stage), found %zu", 2 * t->pp,
					 n_times);
	if (t->tp > 1 && !f->blocks)
		return orr_fail(err, ORR_EINPUT, "tensor parallelism: expected a transformer: the model has no repeated blocks");
	if (t->tp > 1 && fmod(f->heads, t->tp) != 0)
		return orr_fail(err, ORR_EINPUT, "%u shards: expected a divisor of the model's %g attention heads", t->tp, f->heads);
	return ORR_OK;
}

static int size_batch(
	struct pipeline *p, struct orr_step *s, const struct orr_args *args, const struct orr_step_facts *f, struct orr_error *err)
{
	double global = orr_arg_real(args, "global_batch");
	if (!(global > 0))
		global = f->batch * f->gpus;
	p->samples = global / (p->dp / p->t.cp);
	p->multiple = p->t.chunks > 1 ? p->t.pp : 1;
	p->m = pipe_micro_batches(args, global, p->dp / p->t.cp, p->t.pp, p->multiple, err);
	if (!p->m)
		return err->code ? err->code : ORR_EINPUT;
	if (p->t.chunks > 1 && p->m % p->t.pp)
		return orr_fail(err, ORR_EINPUT, "%u micro-batches: expected a multiple of the %u stages (interleaving)", p->m, p->t.pp);
	if ((double)p->m * p->parts > 5e7)
		return orr_fail(err, ORR_EINPUT, "%u micro-batches of %u stages: expected at most 5e7 passes", p->m, p->parts);
	orr_step_samples(s, global);
	return ORR_OK;
}

static void allocate(struct pipeline *p)
{
	size_t pp = p->t.pp, passes = (size_t)p->m * p->parts;
	p->part = orr_alloc(p->parts, sizeof *p->part);
	p->update_s = orr_alloc(pp, sizeof *p->update_s);
	p->dp_bytes = orr_alloc(pp, sizeof *p->dp_bytes);
	p->order = orr_alloc(2 * passes, sizeof *p->order);
	p->next = orr_alloc(pp, sizeof *p->next);
	p->tail = orr_alloc(pp, sizeof *p->tail);
	p->forward_in = orr_alloc(passes, sizeof *p->forward_in);
	p->backward_in = orr_alloc(passes, sizeof *p->backward_in);
	p->reduced = orr_alloc(pp, sizeof *p->reduced);
	p->averaged = orr_alloc(pp, sizeof *p->averaged);
	p->left = orr_alloc(p->parts, sizeof *p->left);
	p->expert_params = orr_alloc(p->parts, sizeof *p->expert_params);
}

/* ---- create: placement and costs ---- */

/* Replaces values of the cost model by those of the user. */
static void override(struct pipeline *p, const struct orr_args *args)
{
	size_t n;
	const double *times = orr_arg_list(args, "stage_times", &n);
	double p2p = orr_arg_real(args, "p2p_bytes");
	for (uint32_t i = 0; i < p->parts; i++) {
		struct stage *g = &p->part[i];
		if (n) {
			/* The times of a stage are divided evenly among its parts. */
			bool is_part = n == 2 * (size_t)p->parts;
			uint32_t at = is_part ? i : n == 2 ? 0 : i % p->t.pp, shares = is_part ? 1 : p->t.chunks;
			if (p->seg) {
				segments_scale(&p->x, &p->seg[i], EXPERTS_FORWARD, times[2 * at] / shares / g->forward_s);
				segments_scale(&p->x, &p->seg[i], EXPERTS_BACKWARD, times[2 * at + 1] / shares / g->backward_s);
				segments_scale(&p->x, &p->seg[i], EXPERTS_AGAIN, 0);
			}
			g->forward_s = times[2 * at] / shares;
			g->backward_s = times[2 * at + 1] / shares;
			g->recompute_s = 0;
		}
		if (p2p >= 0)
			g->out_bytes = p2p;
	}
}

static int check_times(const struct pipeline *p, struct orr_error *err)
{
	for (uint32_t i = 0; i < p->parts; i++)
		if (!(p->part[i].forward_s >= 0) || !(p->part[i].backward_s >= 0))
			return orr_fail(err, ORR_EINPUT, "stage_times: stage %u: expected at least 0 seconds, found %g and %g", i,
				p->part[i].forward_s, p->part[i].backward_s);
	return ORR_OK;
}

static int measure(
	struct pipeline *p, struct orr_step *s, const struct orr_args *args, const struct orr_step_facts *f, struct orr_error *err)
{
	size_t n_counts;
	const double *counts = orr_arg_list(args, "stage_layers", &n_counts);
	struct stage_terms terms = { p->micro / p->t.cp, recompute_named(orr_arg_text(args, "recompute")), p->t.tp,
		p->t.sequence_parallel };
	uint32_t *device = orr_alloc(p->parts, sizeof *device), *first = orr_alloc((p->parts + 1), sizeof *first);
	for (uint32_t i = 0; i < p->parts; i++)
		device[i] = pipe_gpu_of(p, 0, i % p->t.pp);
	int rc = stage_cut(s, &terms, p->parts, device, NULL, p->t.by_time, counts, n_counts, first, err);
	for (uint32_t i = 0; !rc && i < p->parts; i++) {
		uint32_t layers = first[i + 1] - first[i];
		stage_measure(s, &terms, pipe_slowest_gpu(p, s, i % p->t.pp, first[i], layers), first[i], layers, &p->part[i]);
	}
	orr_free(device);
	orr_free(first);
	if (rc)
		return rc;
	p->tp_bytes = p->t.tp_bytes >= 0 ? p->t.tp_bytes : terms.samples * f->seq * f->hidden * f->activation_bytes;
	rc = p->t.ep ? pipe_measure_experts(p, s, args, f, err) : ORR_OK;
	override(p, args);
	return rc ? rc : check_times(p, err);
}

/* Returns the parameters of a stage's copy of a shared table on each of its GPUs. The first stage counts them as its own. */
static double copied_params(const struct pipeline *p, uint32_t stage)
{
	return stage && stage + 1 == p->t.pp ? p->tied_params / p->t.tp : 0;
}

/* Returns the bytes of weights, gradients and optimizer state on a lane's GPU of a stage. */
static double held_bytes(const struct pipeline *p, const struct orr_step_facts *f, uint32_t stage, uint32_t lane)
{
	double experts, params = pipe_params_of(p, stage, lane, &experts) + copied_params(p, stage),
			fixed = f->weight_bytes + f->gradient_bytes;
	double state_shards = p->t.zero ? p->dp : 1, expert_shards = p->t.zero && p->seg ? p->t.tp * p->dp / p->t.ep : 1;
	return params * (fixed + f->optimizer_bytes / state_shards) + experts * (fixed + f->optimizer_bytes / expert_shards);
}

/* Returns the most bytes of activations that a stage keeps, in the order of its passes. */
static double peak_bytes(const struct pipeline *p, uint32_t stage)
{
	size_t passes = 2 * (size_t)p->m * p->t.chunks;
	double now = 0, peak = 0;
	for (const struct pass *x = p->order + passes * stage, *end = x + passes; x < end; x++) {
		const struct stage *g = &p->part[x->chunk * p->t.pp + stage];
		now += x->is_backward ? 0 : g->stored_bytes;
		peak = fmax(peak, now + (x->is_backward ? g->working_bytes : 0));
		now -= x->is_backward ? g->stored_bytes : 0;
	}
	return peak;
}

static double spare_bytes(const struct pipeline *p, const struct orr_step *s, const struct orr_step_facts *f)
{
	double least = INFINITY;
	for (uint32_t i = 0; i < p->t.pp; i++) {
		double peak = peak_bytes(p, i);
		for (uint32_t l = 0; l < p->t.tp * p->dp; l++) {
			double room = orr_device_memory(s, pipe_gpu_of(p, l, i)) - held_bytes(p, f, i, l);
			least = fmin(least, room < 0 ? -INFINITY : room - peak);
		}
	}
	return least;
}

static void place(struct pipeline *p, struct orr_step *s, double given_update_s)
{
	uint32_t lanes = p->t.tp * p->dp, pp = p->t.pp;
	uint32_t *map = orr_alloc((size_t)lanes * pp, sizeof *map);
	char what[32];
	for (uint32_t i = 0; i < pp; i++) {
		double state_shards = p->t.zero ? p->dp : 1, expert_shards = p->t.zero && p->seg ? lanes / p->t.ep : 1;
		snprintf(what, sizeof what, "stage %u", i);
		for (uint32_t l = 0; l < lanes; l++) {
			uint32_t gpu = map[(size_t)l * pp + i] = pipe_gpu_of(p, l, i);
			double experts, params = pipe_params_of(p, i, l, &experts) + copied_params(p, i);
			stage_hold(s, gpu, params, state_shards, what);
			if (experts > 0)
				stage_hold(s, gpu, experts, expert_shards, what);
			p->update_s[i] = fmax(p->update_s[i], orr_update_cost(s, gpu, params / state_shards + experts / expert_shards));
		}
		if (given_update_s >= 0)
			p->update_s[i] = given_update_s;
	}
	orr_step_lanes(s, lanes, pp, map);
	for (uint32_t i = 0; p->seg && i < p->parts; i++)
		segments_declare(&p->x, s, &p->seg[i], lanes);
	orr_free(map);
}

struct attempt {
	struct pipeline *p;
	struct orr_step *s;
	const struct orr_args *args;
	const struct orr_step_facts *f;
};

static int lay_out(void *self, uint32_t m, double *spare, struct orr_error *err)
{
	const struct attempt *x = self;
	struct pipeline *p = x->p;
	release(p);
	p->m = m;
	p->micro = p->samples / m;
	allocate(p);
	int rc = pipe_dp_bytes(x->args, p->t.pp, p->dp_bytes, err);
	if (!rc)
		rc = measure(p, x->s, x->args, x->f, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < p->t.pp; i++)
		schedule_make(p->t.schedule, p->order + 2 * (size_t)m * p->t.chunks * i, m, p->t.pp, p->t.chunks, i);
	*spare = spare_bytes(p, x->s, x->f);
	return ORR_OK;
}

void *pipe_new(struct orr_step *s, const struct orr_args *args, const struct pipe_terms *t, struct orr_error *err)
{
	struct orr_step_facts f;
	size_t n_times;
	struct pipeline *p = orr_alloc(1, sizeof *p);
	p->t = *t;
	p->t.cp = t->cp ? t->cp : 1;
	orr_step_facts(s, &f);
	orr_arg_list(args, "stage_times", &n_times);
	p->overlap_p2p = orr_arg_bool(args, "overlap_p2p");
	p->is_core_only = recompute_named(orr_arg_text(args, "recompute")) == RECOMPUTE_SELECTIVE;
	p->gradient_bytes = f.gradient_bytes;
	p->weight_bytes = f.weight_bytes;
	p->tied_params = stage_tied_params(s);
	int rc = size_grid(p, &f, n_times, err);
	if (!rc)
		rc = size_batch(p, s, args, &f, err);
	if (!rc)
		rc = pipe_fit(&(struct attempt){ p, s, args, &f }, args, p->samples, p->parts, p->multiple, p->m, lay_out, err);
	if (rc) {
		pipe_free(p);
		return NULL;
	}
	struct orr_step_attention a;
	orr_step_attention(s, &a);
	p->kv_bytes = p->micro * f.seq * a.kv_heads * (a.head_dim + a.v_dim) * f.activation_bytes / p->t.tp;
	place(p, s, orr_arg_real(args, "update_s"));
	return p;
}

/* ---- build ---- */

/* Makes the collectives of a stage's tensor-parallel group, one after the other, after `after`. */
static orr_op among_shards(
	struct pipeline *p, struct orr_step *s, uint32_t stage, enum orr_collective_op what, double bytes, uint32_t times, orr_op after)
{
	if (p->t.tp == 1 || !times || !(bytes > 0))
		return after;
	struct orr_collective c = { .op = what, .bytes = bytes, .repeat = times };
	orr_op op = orr_collective_lanes(s, stage, p->t.tp, 1, &c);
	orr_after(s, op, after);
	orr_label(s, op, "tensor parallel %u", stage);
	return op;
}

/* Forward: sums after products split by rows; with sequence parallelism, also gathers before products split by columns. */
static orr_op shards_forward(struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t columns, uint32_t rows, orr_op after)
{
	if (!p->t.sequence_parallel)
		return among_shards(p, s, stage, ORR_ALL_REDUCE, p->tp_bytes, rows, after);
	after = among_shards(p, s, stage, ORR_ALL_GATHER, p->tp_bytes, columns, after);
	return among_shards(p, s, stage, ORR_REDUCE_SCATTER, p->tp_bytes, rows, after);
}

/* Backward: like forward, with the two kinds of product exchanged. */
static orr_op shards_backward(struct pipeline *p, struct orr_step *s, uint32_t stage, const struct stage *g, orr_op after)
{
	if (!p->t.sequence_parallel)
		return among_shards(p, s, stage, ORR_ALL_REDUCE, p->tp_bytes, g->columns, after);
	after = among_shards(p, s, stage, ORR_ALL_GATHER, p->tp_bytes, g->rows + (p->t.gather_redo ? g->columns : 0), after);
	return among_shards(p, s, stage, ORR_REDUCE_SCATTER, p->tp_bytes, g->columns, after);
}

/* Sends the output of a pass to the neighbour; returns the op that delivers it. */
static orr_op send(
	struct pipeline *p, struct orr_step *s, uint32_t from, uint32_t to, double bytes, bool is_backward, uint32_t micro, orr_op after)
{
	if (from == to)
		return after;
	bool is_wrap = is_backward ? to > from : to < from;
	bool is_split = p->t.sequence_parallel || p->t.scatter_gather;
	orr_op op = orr_transfer(s, from, to, is_split ? bytes / p->t.tp : bytes);
	orr_after(s, op, after);
	uint32_t base = is_wrap ? STREAM_WRAP : is_backward ? STREAM_BACKWARD : STREAM_FORWARD;
	orr_on_stream(s, op, base + (is_wrap ? is_backward : from % 2));
	orr_label(s, op, "%s %u", is_backward ? "gradient" : "activation", micro);
	return op;
}

/* Returns the received activations; under scatter_gather the receiver gathers the parts. */
static orr_op received(struct pipeline *p, struct orr_step *s, uint32_t stage, double bytes, orr_op sent)
{
	bool is_split = p->t.scatter_gather && !p->t.sequence_parallel;
	return is_split ? among_shards(p, s, stage, ORR_ALL_GATHER, bytes, 1, sent) : sent;
}

static void build_forward(struct pipeline *p, struct orr_step *s, uint32_t stage, const struct pass *x)
{
	uint32_t i = x->chunk * p->t.pp + stage;
	const struct stage *g = &p->part[i];
	orr_op first, op = pipe_compute(p, s, stage, i, ORR_FORWARD, g->forward_s, p->forward_in[(size_t)i * p->m + x->micro], &first);
	orr_takes(s, first, stage, g->stored_bytes);
	orr_label(s, first, "F%u", x->micro);
	op = shards_forward(p, s, stage, g->columns, g->rows, op);
	p->tail[stage] = op = pipe_among_context(p, s, stage, g, ORR_ALL_GATHER, op);
	if (i + 1 == p->parts) {
		p->backward_in[(size_t)i * p->m + x->micro] = op;
		return;
	}
	uint32_t to = (stage + 1) % p->t.pp;
	orr_op sent = send(p, s, stage, to, g->out_bytes, false, x->micro, op);
	if (!p->overlap_p2p)
		p->tail[stage] = sent;
	p->forward_in[(size_t)(i + 1) * p->m + x->micro] = received(p, s, to, g->out_bytes, sent);
}

/* Recomputes a part's forward pass, or (of experts: without exchanges) only the core of attention. */
static orr_op build_recompute(struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t i, const struct pass *x, orr_op input)
{
	const struct stage *g = &p->part[i];
	orr_op first, op;
	if (p->seg && p->is_core_only) {
		op = first = orr_compute(s, stage, ORR_RECOMPUTE, g->recompute_s);
		orr_after(s, op, p->tail[stage]);
		orr_after(s, op, input);
	} else {
		op = pipe_compute(p, s, stage, i, ORR_RECOMPUTE, g->recompute_s, input, &first);
	}
	orr_takes(s, first, stage, g->working_bytes);
	orr_label(s, first, "R%u", x->micro);
	return op;
}

static orr_op build_backward(struct pipeline *p, struct orr_step *s, uint32_t stage, const struct pass *x)
{
	uint32_t i = x->chunk * p->t.pp + stage;
	const struct stage *g = &p->part[i];
	orr_op input = p->backward_in[(size_t)i * p->m + x->micro], again = 0;
	if (g->working_bytes > 0 || g->recompute_s > 0) {
		again = build_recompute(p, s, stage, i, x, input);
		p->tail[stage] = shards_forward(p, s, stage, g->again_columns, g->again_rows, again);
	}
	orr_op backward, op = pipe_compute(p, s, stage, i, ORR_BACKWARD, g->backward_s, input, &backward);
	orr_gives(s, op, stage, g->stored_bytes + (again ? g->working_bytes : 0));
	orr_label(s, backward, "B%u", x->micro);
	op = shards_backward(p, s, stage, g, op);
	op = pipe_among_context(p, s, stage, g, ORR_ALL_GATHER, op);
	p->tail[stage] = op = pipe_among_context(p, s, stage, g, ORR_REDUCE_SCATTER, op);
	if (!i)
		return backward;
	uint32_t to = (stage + p->t.pp - 1) % p->t.pp;
	double bytes = p->part[i - 1].out_bytes;
	orr_op sent = send(p, s, stage, to, bytes, true, x->micro, op);
	if (!p->overlap_p2p)
		p->tail[stage] = sent;
	p->backward_in[(size_t)(i - 1) * p->m + x->micro] = received(p, s, to, bytes, sent);
	return backward;
}

/* Sums gradients over groups of lanes, after the sums of the stage before it. */
static void add_reduce(struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t size, uint32_t stride,
	const struct orr_collective *c, orr_op after)
{
	if (size == 1 || !(c->bytes > 0))
		return;
	orr_op op = orr_collective_lanes(s, stage, size, stride, c);
	orr_after(s, op, after);
	orr_on_stream(s, op, STREAM_REDUCE);
	orr_after(s, op, p->reduced[stage]);
	orr_label(s, op, "gradients %u", stage);
	p->reduced[stage] = op;
}

/* Sums the gradients of a chunk (or of all chunks of the stage) over replicas; those of routed experts over the lanes that hold the same
 * experts. */
static void build_reduce(struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t chunk, bool is_whole, orr_op after)
{
	const struct stage *g = &p->part[chunk * p->t.pp + stage];
	double params = 0, experts = 0, portion = is_whole ? 1 : 1.0 / p->t.chunks;
	for (uint32_t c = 0; c < p->t.chunks; c++)
		if (is_whole || c == chunk) {
			params += (p->part[c * p->t.pp + stage].params - p->expert_params[c * p->t.pp + stage]) / p->t.tp;
			experts += p->expert_params[c * p->t.pp + stage];
			params += c + 1 == p->t.chunks ? copied_params(p, stage) : 0;
		}
	struct orr_collective c = { .op = p->t.zero ? ORR_REDUCE_SCATTER : ORR_ALL_REDUCE,
		.bytes = p->dp_bytes[stage] >= 0 ? p->dp_bytes[stage] * portion : params * p->gradient_bytes };
	if (p->t.tp == 1 && !p->seg && p->dp_bytes[stage] < 0 && (!is_whole || p->t.chunks == 1)) {
		c.first_layer = g->first;
		c.n_layers = g->layers;
	}
	add_reduce(p, s, stage, p->dp, p->t.tp, &c, after);
	p->averaged[stage] = p->reduced[stage];
	c.bytes = p->dp_bytes[stage] >= 0 || !p->seg ? 0 : experts / p->t.ep * p->gradient_bytes;
	add_reduce(p, s, stage, p->seg ? p->t.tp * p->dp / p->t.ep : 1, p->t.ep, &c, after);
}

/* Sums the gradients of a table that both end stages share, after those of the replicas. */
static void build_tied(struct pipeline *p, struct orr_step *s)
{
	uint32_t ends[2] = { 0, p->t.pp - 1 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = p->tied_params / p->t.tp * p->gradient_bytes };
	if (p->t.pp == 1 || p->dp_bytes[ends[0]] >= 0 || p->dp_bytes[ends[1]] >= 0 || !(c.bytes > 0))
		return;
	orr_op op = orr_collective(s, &(struct orr_group){ ends, 2 }, &c);
	for (int i = 0; i < 2; i++) {
		orr_after(s, op, p->tail[ends[i]]);
		orr_after(s, op, p->reduced[ends[i]]);
	}
	orr_label(s, op, "tied table");
	p->tail[ends[0]] = p->tail[ends[1]] = op;
}

static void add_gather(
	struct pipeline *p, struct orr_step *s, uint32_t stage, uint32_t size, uint32_t stride, const struct orr_collective *c)
{
	if (!p->t.zero || size == 1 || !(c->bytes > 0))
		return;
	orr_op op = orr_collective_lanes(s, stage, size, stride, c);
	orr_after(s, op, p->tail[stage]);
	orr_on_stream(s, op, STREAM_REDUCE);
	orr_label(s, op, "parameters %u", stage);
	p->tail[stage] = op;
}

/* Builds the update; under ZeRO-1 also the gather of the parameters after it. */
static void build_update(struct pipeline *p, struct orr_step *s, uint32_t stage)
{
	struct orr_update average = { .kind = ORR_AVERAGE_GRADIENTS }, step = { .kind = ORR_LOCAL_UPDATE };
	orr_op op = orr_compute(s, stage, ORR_OPTIMIZER, p->update_s[stage]);
	double experts, params = pipe_params_of(p, stage, 0, &experts) + copied_params(p, stage);
	orr_after(s, op, p->tail[stage]);
	orr_after(s, op, p->reduced[stage]);
	orr_label(s, op, "update");
	if (p->averaged[stage])
		orr_updates(s, p->averaged[stage], &average);
	orr_updates(s, op, &step);
	p->tail[stage] = op;
	struct orr_collective c = { .op = ORR_ALL_GATHER,
		.bytes = p->dp_bytes[stage] >= 0 ? p->dp_bytes[stage] : params * p->weight_bytes };
	add_gather(p, s, stage, p->dp, p->t.tp, &c);
	c.bytes = p->dp_bytes[stage] >= 0 ? 0 : experts * p->weight_bytes;
	add_gather(p, s, stage, p->seg ? p->t.tp * p->dp / p->t.ep : 1, p->t.ep, &c);
}

static bool has_input(const struct pipeline *p, uint32_t stage, const struct pass *x)
{
	size_t i = (size_t)(x->chunk * p->t.pp + stage) * p->m + x->micro;
	return x->is_backward ? p->backward_in[i] != 0 : !(x->chunk * p->t.pp + stage) || p->forward_in[i] != 0;
}

/* Builds the next pass of a stage; returns false if its input is not built yet. */
static bool build_pass(struct pipeline *p, struct orr_step *s, uint32_t stage)
{
	uint32_t per_stage = 2 * p->m * p->t.chunks, at = p->next[stage];
	const struct pass *x = &p->order[(size_t)per_stage * stage + at];
	if (at == per_stage || !has_input(p, stage, x))
		return false;
	p->next[stage]++;
	if (!x->is_backward) {
		build_forward(p, s, stage, x);
		return true;
	}
	struct orr_update gradient = { .kind = ORR_GRADIENT };
	orr_op op = build_backward(p, s, stage, x);
	bool is_last = at + 1 == per_stage;
	if (is_last)
		orr_updates(s, op, &gradient);
	bool ends_chunk = !--p->left[(size_t)stage * p->t.chunks + x->chunk];
	if (p->t.dp_overlap ? ends_chunk : is_last)
		build_reduce(p, s, stage, x->chunk, !p->t.dp_overlap, p->tail[stage]);
	return true;
}

int pipe_build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct pipeline *p = self;
	size_t passes = (size_t)p->m * p->parts, built = 0;
	(void)iteration;
	memset(p->next, 0, p->t.pp * sizeof *p->next);
	memset(p->reduced, 0, p->t.pp * sizeof *p->reduced);
	memset(p->averaged, 0, p->t.pp * sizeof *p->averaged);
	memset(p->forward_in, 0, passes * sizeof *p->forward_in);
	memset(p->backward_in, 0, passes * sizeof *p->backward_in);
	for (uint32_t i = 0; i < p->parts; i++)
		p->left[i] = p->m;
	for (bool any = true; any;) {
		any = false;
		for (uint32_t stage = 0; stage < p->t.pp; stage++)
			while (build_pass(p, s, stage)) {
				built++;
				any = true;
			}
	}
	/* If the step world has reported an error, inputs are missing. */
	if (built < 2 * passes)
		return orr_fail(err, ORR_EFAIL, "the schedule stops after %zu of %zu passes: expected all of them", built, 2 * passes);
	build_tied(p, s);
	for (uint32_t stage = 0; stage < p->t.pp; stage++)
		build_update(p, s, stage);
	return ORR_OK;
}

void pipe_describe(void *self, char *out, size_t size)
{
	const struct pipeline *p = self;
	size_t passes = 2 * (size_t)p->m * p->t.chunks, n;
	n = (size_t)snprintf(out, size, "pp=%u", p->t.pp);
	if (p->t.chunks > 1 && n < size)
		n += (size_t)snprintf(out + n, size - n, "x%u", p->t.chunks);
	if (n < size)
		n += (size_t)snprintf(out + n, size - n, " tp=%u dp=%u", p->t.tp, p->dp / p->t.cp);
	if (p->t.cp > 1 && n < size)
		n += (size_t)snprintf(out + n, size - n, " cp=%u", p->t.cp);
	if (p->seg && n < size)
		n += (size_t)snprintf(out + n, size - n, " ep=%u nodes_per_token=%.7g gpus_per_token=%.7g imbalance=%.7g", p->t.ep,
			p->x.routing.distinct_nodes, p->x.routing.distinct_ranks, p->x.routing.imbalance);
	if (n < size)
		n += (size_t)snprintf(out + n, size - n, ", %u micro-batches of %g, at most %u in flight, layers", p->m, p->micro,
			schedule_in_flight(p->order, passes));
	for (uint32_t i = 0, run; i < p->parts && n + 24 < size; i += run) {
		for (run = 1; i + run < p->parts && p->part[i + run].layers == p->part[i].layers; run++)
			;
		n += (size_t)snprintf(out + n, size - n, run > 1 ? "%c%ux%u" : "%c%u", i ? ',' : ' ', p->part[i].layers, run);
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stages of the step policy bamboo: cuts of the model, and contents of each node (bamboo.h). */
#include "bamboo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a cut by memory ---- */

/* Places where the model can be cut, and sums over the layers before each. */
struct pieces {
	uint32_t n;
	uint32_t *place;                   /* [n + 1] */
	double *state, *activation, *time; /* n + 1 entries each: bytes, bytes of a micro-batch, s */
};

static void pieces_free(struct pieces *x)
{
	orr_free(x->place);
	orr_free(x->state);
	orr_free(x->activation);
	orr_free(x->time);
}

static void pieces_room(struct pieces *x, uint32_t layers)
{
	size_t n = (size_t)layers + 1;
	x->place = orr_alloc(n, sizeof *x->place);
	x->state = orr_alloc(n, sizeof *x->state);
	x->activation = orr_alloc(n, sizeof *x->activation);
	x->time = orr_alloc(n, sizeof *x->time);
}

/* Finds the pieces. A transformer block is never cut (stages.h). */
static void pieces_find(struct pieces *x, const struct orr_step *s, const struct stage_terms *t, const struct orr_step_facts *f)
{
	double per_param = f->weight_bytes + f->gradient_bytes + f->optimizer_bytes;
	uint32_t before = UINT32_MAX, slowest = stage_slowest_gpu(s);
	for (uint32_t l = 0; l < f->layers; l++) {
		struct orr_layer_info info;
		orr_step_layer(s, l, &info);
		if (!l || info.block == UINT32_MAX || info.block != before)
			x->place[x->n++] = l;
		before = info.block;
	}
	x->place[x->n] = f->layers;
	for (uint32_t i = 0; i < x->n; i++) {
		struct stage g;
		stage_measure(s, t, slowest, x->place[i], x->place[i + 1] - x->place[i], &g);
		x->state[i + 1] = x->state[i] + g.params * per_param;
		x->activation[i + 1] = x->activation[i] + g.stored_bytes;
		x->time[i + 1] = x->time[i] + g.forward_s + g.recompute_s + g.backward_s;
	}
}

/* Returns the bytes that stage k of p holds for pieces i..j-1; in 1F1B it has min(p - k, m) micro-batches in flight. */
static double held(const struct pieces *x, const struct bamboo *b, uint32_t k, uint32_t i, uint32_t j)
{
	return x->state[j] - x->state[i] + schedule_min(b->p - k, b->m) * (x->activation[j] - x->activation[i]);
}

/*
 * Minimises the peak; among cuts with that peak, minimises the longest stage. Both use the same recursion over stages: best[j],
 * for stages 0..k on pieces 0..j-1, is the minimum over i of max(best of stages 0..k-1 on 0..i-1, cost of i..j-1). A stage may
 * hold at most `limit`.
 */
static double cut_least(const struct pieces *x, const struct bamboo *b, double limit, bool by_time, uint32_t *from, double *best)
{
	uint32_t n = x->n;
	for (uint32_t j = 0; j <= n; j++)
		best[j] = j ? INFINITY : 0;
	for (uint32_t k = 0; k < b->p; k++)
		for (uint32_t j = n; j + 1 > 0; j--) { /* downwards, because best[i] for i < j must still be that of k - 1 */
			double least = INFINITY;
			for (uint32_t i = 0; i < j; i++) {
				double bytes = held(x, b, k, i, j);
				double worst = fmax(best[i], by_time ? x->time[j] - x->time[i] : bytes);
				if (bytes <= limit && worst < least) {
					least = worst;
					from[(size_t)k * (n + 1) + j] = i;
				}
			}
			best[j] = least;
		}
	return best[n];
}

static int cut_by_memory(
	const struct bamboo *b, const struct orr_step *s, const struct stage_terms *t, uint32_t *first, struct orr_error *err)
{
	struct orr_step_facts f;
	struct pieces x = { 0 };
	orr_step_facts(s, &f);
	double *best = orr_alloc((size_t)f.layers + 1, sizeof *best);
	uint32_t *from = orr_alloc(b->p * ((size_t)f.layers + 1), sizeof *from);
	int rc = ORR_OK;
	pieces_room(&x, f.layers);
	pieces_find(&x, s, t, &f);
	if (x.n < b->p) {
		rc = orr_fail(err, ORR_EINPUT, "%u stages: expected at most %u, the parts into which the model can be cut", b->p, x.n);
	} else {
		double peak = cut_least(&x, b, INFINITY, false, from, best);
		cut_least(&x, b, peak * (1 + 1e-12), true, from, best);
		first[b->p] = f.layers;
		for (uint32_t k = b->p, at = x.n; k-- > 0;) {
			at = from[(size_t)k * (x.n + 1) + at];
			first[k] = x.place[at];
		}
	}
	pieces_free(&x);
	orr_free(best);
	orr_free(from);
	return rc;
}

/* ---- stages ---- */

/* Replaces values of the cost model by those of the user. */
static int override(struct bamboo *b, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *times = orr_arg_list(args, "stage_times", &n);
	double p2p = orr_arg_real(args, "p2p_bytes");
	if (n && n != 2 && n != 2 * (size_t)b->p)
		return orr_fail(err, ORR_EINPUT, "stage_times: expected 2 or %u numbers (forward and backward of each stage), found %zu",
			2 * b->p, n);
	for (uint32_t j = 0; j < 2 * b->p; j++) {
		uint32_t i = j % b->p;
		struct stage *g = j < b->p ? &b->stage[i] : &b->copy_of[i];
		if (n) {
			g->forward_s = times[n == 2 ? 0 : 2 * i];
			g->backward_s = times[n == 2 ? 1 : 2 * i + 1];
			g->recompute_s = 0;
		}
		if (!(g->forward_s >= 0) || !(g->backward_s >= 0))
			return orr_fail(err, ORR_EINPUT, "stage_times: stage %u: expected at least 0 seconds, found %g and %g", i,
				g->forward_s, g->backward_s);
		if (p2p >= 0)
			g->out_bytes = p2p;
	}
	return ORR_OK;
}

/* Measures layers on the slowest of the GPUs of a node's place in all pipelines. */
static void measure(const struct bamboo *b, const struct orr_step *s, const struct stage_terms *t, uint32_t node, uint32_t first,
	uint32_t layers, struct stage *out)
{
	uint32_t slowest = node;
	double most = -1;
	for (uint32_t lane = 0; lane < b->d; lane++) {
		double seconds = orr_cost(s, lane * b->p + node, ORR_PASS_FORWARD, first, layers, 1, 1);
		slowest = seconds > most ? lane * b->p + node : slowest;
		most = fmax(most, seconds);
	}
	stage_measure(s, t, slowest, first, layers, out);
}

int bamboo_stages(struct bamboo *b, struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	size_t n_counts;
	const double *counts = orr_arg_list(args, "stage_layers", &n_counts);
	const char *cut = orr_arg_text(args, "cut");
	struct stage_terms t = { b->micro, recompute_named(orr_arg_text(args, "recompute")), 1, false };
	uint32_t *first = orr_alloc((size_t)b->p + 1, sizeof *first), *device = orr_alloc(b->p, sizeof *device);
	int rc;
	for (uint32_t i = 0; i < b->p; i++)
		device[i] = bamboo_node(b, i);
	if (!n_counts && !strcmp(cut, "memory"))
		rc = cut_by_memory(b, s, &t, first, err);
	else
		rc = stage_cut(s, &t, b->p, device, NULL, !strcmp(cut, "time"), counts, n_counts, first, err);
	for (uint32_t i = 0; !rc && i < b->p; i++) {
		measure(b, s, &t, bamboo_node(b, i), first[i], first[i + 1] - first[i], &b->stage[i]);
		measure(b, s, &t, (i + b->p - 1) % b->p, first[i], first[i + 1] - first[i], &b->copy_of[i]);
	}
	orr_free(first);
	orr_free(device);
	return rc ? rc : override(b, args, err);
}

/* ---- nodes ---- */

/* Declares the memory of a replica: layers and optimizer state, and gradients if it does backward passes. */
static void hold_replica(const struct bamboo *b, struct orr_step *s, uint32_t gpu, uint32_t stage, const struct orr_step_facts *f)
{
	double params = bamboo_params(b, stage);
	orr_hold(s, gpu, ORR_MEMORY_WEIGHTS, params * f->weight_bytes, "replica");
	orr_hold(s, gpu, ORR_MEMORY_OPTIMIZER, params * f->optimizer_bytes, "replica");
	if (b->mode == REDUNDANCY_BOTH)
		orr_hold(s, gpu, ORR_MEMORY_GRADIENTS, params * f->gradient_bytes, "replica");
}

double bamboo_spare(const struct bamboo *b, const struct orr_step *s, uint32_t copies)
{
	struct orr_step_facts f;
	double least = INFINITY;
	orr_step_facts(s, &f);
	for (uint32_t i = 0; i < b->p; i++) {
		uint32_t in_flight = schedule_min(b->p - i, b->m), next = bamboo_next(b, i);
		double held = bamboo_params(b, i) * (f.weight_bytes + f.gradient_bytes + f.optimizer_bytes);
		double kept = in_flight * b->stage[i].stored_bytes + b->stage[i].working_bytes;
		if (bamboo_has_replica(b, i))
			held += bamboo_params(b, next) *
				(f.weight_bytes + f.optimizer_bytes + (b->mode == REDUNDANCY_BOTH ? f.gradient_bytes : 0));
		if (bamboo_has_replica(b, i) && b->mode >= REDUNDANCY_EAGER)
			kept += schedule_min(copies, in_flight) * b->copy_of[next].stored_bytes;
		for (uint32_t lane = 0; lane < b->d; lane++) {
			double room = orr_device_memory(s, lane * b->p + i) - held;
			least = fmin(least, room < 0 ? -INFINITY : room - kept);
		}
	}
	return least;
}

/* Returns the longest update of a stage on a node's place in all pipelines. */
static double update_on(const struct bamboo *b, const struct orr_step *s, uint32_t node, uint32_t stage, double given_s)
{
	double longest = 0;
	for (uint32_t lane = 0; lane < b->d && given_s < 0; lane++)
		longest = fmax(longest, orr_update_cost(s, lane * b->p + node, bamboo_params(b, stage)));
	return given_s >= 0 ? given_s : longest;
}

void bamboo_place(struct bamboo *b, struct orr_step *s, double update_s)
{
	struct orr_step_facts f;
	uint32_t *map = orr_alloc((size_t)b->d * b->p, sizeof *map);
	char what[32];
	orr_step_facts(s, &f);
	for (uint32_t i = 0; i < b->p; i++) {
		b->update_s[i] = update_on(b, s, bamboo_node(b, i), i, update_s);
		b->copy_update_s[i] = update_on(b, s, (i + b->p - 1) % b->p, i, update_s);
		snprintf(what, sizeof what, "stage %u", i);
		for (uint32_t lane = 0; lane < b->d; lane++) {
			uint32_t gpu = map[(size_t)lane * b->p + i] = lane * b->p + i;
			stage_hold(s, lane * b->p + bamboo_node(b, i), bamboo_params(b, i), 1, what);
			if (bamboo_has_replica(b, i))
				hold_replica(b, s, gpu, bamboo_next(b, i), &f);
		}
	}
	orr_step_lanes(s, b->d, b->p, map);
	orr_free(map);
}

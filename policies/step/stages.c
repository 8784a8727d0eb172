/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts a model into stages and computes their costs (stages.h). */
#include "stages.h"

#include <math.h>
#include <string.h>

enum recompute recompute_named(const char *name)
{
	return !strcmp(name, "selective") ? RECOMPUTE_SELECTIVE
	       : !strcmp(name, "full")    ? RECOMPUTE_FULL
	       : !strcmp(name, "stage")   ? RECOMPUTE_STAGE
					  : RECOMPUTE_NONE;
}

static double pass_s(
	const struct orr_step *s, const struct stage_terms *t, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t layers)
{
	return t->sequence_parallel ? orr_cost_sequence_parallel(s, device, pass, first, layers, t->samples, t->shards)
				    : orr_cost(s, device, pass, first, layers, t->samples, t->shards);
}

/* ---- where to cut ---- */

uint32_t stage_places(const struct orr_step *s, uint32_t layers, uint32_t *place)
{
	uint32_t n = 0, before = UINT32_MAX;
	enum orr_layer_kind kind = ORR_LAYER_KINDS;
	for (uint32_t l = 0; l < layers; l++) {
		struct orr_layer_info info;
		orr_step_layer(s, l, &info);
		bool is_loss = l + 1 == layers && info.kind == ORR_LAYER_SOFTMAX && kind == ORR_LAYER_LINEAR;
		if (!l || (info.block == UINT32_MAX && !is_loss) || info.block != before)
			place[n++] = l;
		before = info.block;
		kind = info.kind;
	}
	place[n] = layers;
	return n;
}

static double work_s(const struct orr_step *s, const struct stage_terms *t, uint32_t device, uint32_t first, uint32_t layers)
{
	return pass_s(s, t, device, ORR_PASS_FORWARD, first, layers) + pass_s(s, t, device, ORR_PASS_BACKWARD_DATA, first, layers) +
	       pass_s(s, t, device, ORR_PASS_BACKWARD_WEIGHT, first, layers);
}

/*
 * Computes best[k][j], the smallest possible length of the longest of stages 0..k on pieces 0..j-1; from[k][j] is the start of
 * stage k then. It is the minimum over i of max(best[k-1][i], sum of pieces i..j-1). The first term increases with i and the
 * second decreases, so the minimum is at their crossing. sum: prefix sums on the stage's device.
 */
static void best_stage(const double *before, const double *sum, uint32_t k, uint32_t pieces, double *best, uint32_t *from)
{
	for (uint32_t j = k + 1; j <= pieces; j++) {
		uint32_t low = k, high = j - 1;
		while (low < high) {
			uint32_t mid = low + (high - low) / 2;
			if (before[mid] >= sum[j] - sum[mid])
				high = mid;
			else
				low = mid + 1;
		}
		from[j] = low;
		best[j] = fmax(before[low], sum[j] - sum[low]);
		if (low > k && fmax(before[low - 1], sum[j] - sum[low - 1]) <= best[j]) {
			from[j] = low - 1;
			best[j] = fmax(before[low - 1], sum[j] - sum[low - 1]);
		}
	}
}

static void cut_by_time(const struct orr_step *s, const struct stage_terms *terms, uint32_t n, const uint32_t *device,
	const double *samples, const uint32_t *place, uint32_t pieces, uint32_t *first)
{
	struct stage_terms t = *terms;
	double *sum = orr_alloc(pieces + 1, sizeof *sum), *before = orr_alloc(pieces + 1, sizeof *before);
	double *best = orr_alloc(pieces + 1, sizeof *best);
	uint32_t *from = orr_alloc((size_t)n * (pieces + 1), sizeof *from);
	for (uint32_t k = 0; k < n; k++) {
		bool is_same = k && device[k] == device[k - 1] && (!samples || samples[k] == samples[k - 1]);
		t.samples = samples ? samples[k] : terms->samples;
		for (uint32_t i = 0; i < pieces && !is_same; i++)
			sum[i + 1] = sum[i] + work_s(s, &t, device[k], place[i], place[i + 1] - place[i]);
		if (!k)
			memcpy(best, sum, (pieces + 1) * sizeof *best);
		else
			best_stage(before, sum, k, pieces, best, from + (size_t)k * (pieces + 1));
		memcpy(before, best, (pieces + 1) * sizeof *before);
	}
	for (uint32_t k = n, at = pieces; k-- > 0;) {
		at = k ? from[(size_t)k * (pieces + 1) + at] : 0;
		first[k] = place[at];
	}
	orr_free(sum);
	orr_free(before);
	orr_free(best);
	orr_free(from);
}

/* Cuts equal numbers of blocks. Layers before the first block belong to the first stage, layers after the last block to the last
 * stage. */
static int cut_by_blocks(const struct orr_step *s, const struct orr_step_facts *f, uint32_t n, uint32_t *first, struct orr_error *err)
{
	struct orr_layer_info info;
	if (!f->blocks)
		return orr_fail(err, ORR_EINPUT, "cut=blocks: expected a transformer: the model has no repeated blocks");
	if (f->blocks < n)
		return orr_fail(err, ORR_EINPUT,
			"cut=blocks: a model cut into %u parts, one or more per stage: expected at most %u, its transformer blocks", n,
			f->blocks);
	first[0] = 0;
	for (uint32_t k = 1, l = 0; k < n; k++) {
		uint32_t block = (uint32_t)((uint64_t)k * f->blocks / n);
		for (; l < f->layers; l++) {
			orr_step_layer(s, l, &info);
			if (info.block != UINT32_MAX && info.block >= block)
				break;
		}
		first[k] = l;
	}
	return ORR_OK;
}

static int cut_by_counts(const struct orr_step *s, const struct orr_step_facts *f, uint32_t n, const double *counts, size_t n_counts,
	uint32_t *first, struct orr_error *err)
{
	double sum = 0;
	for (size_t i = 0; i < n_counts; i++) {
		if (!(counts[i] >= 1) || counts[i] != floor(counts[i]))
			return orr_fail(
				err, ORR_EINPUT, "stage_layers: stage %zu: expected a whole number of at least 1, found %g", i, counts[i]);
		sum += counts[i];
	}
	bool are_blocks = f->blocks && sum == (double)f->blocks;
	if (n_counts != n || (!are_blocks && sum != (double)f->layers))
		return orr_fail(err, ORR_EINPUT, "stage_layers: %zu numbers with sum %g: expected %u numbers with sum %u (layers)%s%.0u%s",
			n_counts, sum, n, f->layers, f->blocks ? " or " : "", f->blocks, f->blocks ? " (transformer blocks)" : "");
	uint32_t at = 0, l = 0;
	for (uint32_t k = 0; k < n; k++) {
		struct orr_layer_info info;
		for (; are_blocks && k && l < f->layers; l++) {
			orr_step_layer(s, l, &info);
			if (info.block != UINT32_MAX && info.block >= at)
				break;
		}
		first[k] = are_blocks ? l : at;
		at += (uint32_t)counts[k];
	}
	return ORR_OK;
}

int stage_cut(const struct orr_step *s, const struct stage_terms *t, uint32_t n, const uint32_t *device, const double *samples,
	bool by_time, const double *counts, size_t n_counts, uint32_t *first, struct orr_error *err)
{
	struct orr_step_facts f;
	orr_step_facts(s, &f);
	first[n] = f.layers;
	if (n_counts)
		return cut_by_counts(s, &f, n, counts, n_counts, first, err);
	if (!by_time)
		return cut_by_blocks(s, &f, n, first, err);
	uint32_t *place = orr_alloc(((size_t)f.layers + 1), sizeof *place);
	uint32_t pieces = stage_places(s, f.layers, place);
	if (pieces >= n)
		cut_by_time(s, t, n, device, samples, place, pieces, first);
	orr_free(place);
	return pieces >= n ? ORR_OK
			   : orr_fail(err, ORR_EINPUT,
				     "a model cut into %u parts, one or more per stage: expected at most %u, the pieces into which it can "
				     "be cut",
				     n, pieces);
}

/* ---- costs of a stage ---- */

/* Elements kept by one block, or by a layer outside blocks. */
struct kept {
	double all;   /* elements kept for backward, without recomputation */
	double core;  /* elements between attention's two products (scores, context) */
	double input; /* elements of the input of the block */
};

/*
 * Megatron's split of a block: a product whose input is not split is split by columns, so its output is split; the next product
 * is split by rows, so its output is not split. Layers may state their split (orr_layer_split()); of neighbours split by columns the
 * first needs a collective. Routed experts are not split. A layer keeps its input. Every shard keeps whole inputs; under sequence
 * parallelism, it keeps its part.
 */
struct walk {
	const struct orr_step *s;
	const struct stage_terms *t;
	uint32_t device;
	bool is_split;
	uint32_t core_first, core_last; /* attention's products without parameters: scores, context */
	double out_before;              /* output elements of the previous layer */
	struct stage *out;
};

static double share(const struct walk *w, bool is_split)
{
	return is_split || w->t->sequence_parallel ? 1.0 / w->t->shards : 1;
}

/* Finds the range from the first to the last MATMUL of the block that begins at layer l; empty if it has none. */
static void find_core(struct walk *w, uint32_t l, uint32_t block)
{
	struct orr_layer_info i;
	w->core_first = UINT32_MAX;
	w->core_last = 0;
	for (; block != UINT32_MAX && l < w->out->first + w->out->layers; l++) {
		orr_step_layer(w->s, l, &i);
		if (i.block != block)
			break;
		if (i.kind == ORR_LAYER_MATMUL) {
			w->core_first = w->core_first == UINT32_MAX ? l : w->core_first;
			w->core_last = l;
		}
	}
}

/* The products of the core keep queries, keys and values, from which recomputation starts. */
static void walk_layer(struct walk *w, uint32_t l, const struct orr_layer_info *i, struct kept *k)
{
	bool is_core = l >= w->core_first && l <= w->core_last;
	double kept = i->saved_elems * share(w, w->is_split);
	k->all += kept;
	if (is_core && i->kind != ORR_LAYER_MATMUL)
		k->core += kept;
	if (w->t->recompute == RECOMPUTE_SELECTIVE && is_core)
		w->out->recompute_s += pass_s(w->s, w->t, w->device, ORR_PASS_FORWARD, l, 1);
	enum orr_split split = orr_layer_split(w->s, l);
	if (i->kind == ORR_LAYER_LINEAR && split != ORR_SPLIT_NONE && !orr_layer_experts(w->s, l)) {
		bool is_again = w->t->recompute == RECOMPUTE_FULL && i->block != UINT32_MAX;
		bool is_rows = split ? split == ORR_SPLIT_ROWS : w->is_split, is_first = !is_rows && !w->is_split;
		w->out->columns += is_first;
		w->out->rows += is_rows;
		w->out->again_columns += is_again && is_first;
		w->out->again_rows += is_again && is_rows;
		w->is_split = !is_rows;
	}
	w->out_before = i->out_elems;
}

/* Adds the elements that a block (or a layer outside blocks) keeps. */
static void book(const struct walk *w, const struct kept *k, bool is_block)
{
	struct stage *o = w->out;
	double stored = k->all, working = 0;
	if (is_block && w->t->recompute == RECOMPUTE_FULL) {
		stored = k->input;
		working = k->all - k->input;
	} else if (w->t->recompute == RECOMPUTE_SELECTIVE) {
		stored = k->all - k->core;
		working = k->core;
	}
	o->stored_bytes += stored;
	o->working_bytes = fmax(o->working_bytes, working);
}

static void walk_stage(struct walk *w, const struct orr_step_facts *f)
{
	struct stage *o = w->out;
	struct orr_layer_info i;
	double embeddings = 0, input = w->out_before;
	for (uint32_t l = o->first; l < o->first + o->layers;) {
		orr_step_layer(w->s, l, &i);
		uint32_t block = i.block;
		struct kept k = { .input = w->out_before * share(w, false) };
		embeddings += block == UINT32_MAX && i.kind == ORR_LAYER_EMBEDDING;
		w->is_split = w->is_split && block == UINT32_MAX;
		find_core(w, l, block);
		do {
			walk_layer(w, l, &i, &k);
			if (++l < o->first + o->layers)
				orr_step_layer(w->s, l, &i);
		} while (block != UINT32_MAX && l < o->first + o->layers && i.block == block);
		book(w, &k, block != UINT32_MAX);
	}
	o->rows += embeddings > 0;
	if (w->t->recompute == RECOMPUTE_STAGE || (w->t->recompute == RECOMPUTE_FULL && !f->blocks)) {
		o->working_bytes = o->stored_bytes;
		o->stored_bytes = input * share(w, false);
		o->recompute_s = o->forward_s;
		o->again_columns = o->columns;
		o->again_rows = o->rows;
	}
}

static double blocks_forward_s(const struct walk *w)
{
	double sum = 0;
	struct orr_layer_info i;
	for (uint32_t l = w->out->first, end = l + w->out->layers; l < end;) {
		uint32_t from = l;
		bool is_block;
		orr_step_layer(w->s, l, &i);
		is_block = i.block != UINT32_MAX;
		for (l++; l < end; l++) {
			orr_step_layer(w->s, l, &i);
			if ((i.block != UINT32_MAX) != is_block)
				break;
		}
		if (is_block)
			sum += pass_s(w->s, w->t, w->device, ORR_PASS_FORWARD, from, l - from);
	}
	return sum;
}

uint32_t stage_slowest_gpu(const struct orr_step *s)
{
	struct orr_step_facts f;
	uint32_t slowest = 0;
	double most = -1;
	orr_step_facts(s, &f);
	for (uint32_t gpu = 0; gpu < f.gpus; gpu++) {
		double seconds = orr_cost(s, gpu, ORR_PASS_FORWARD, 0, f.layers, 1, 1);
		slowest = seconds > most ? gpu : slowest;
		most = fmax(most, seconds);
	}
	return slowest;
}

void stage_measure(
	const struct orr_step *s, const struct stage_terms *t, uint32_t device, uint32_t first, uint32_t layers, struct stage *out)
{
	struct orr_step_facts f;
	struct orr_layer_info info;
	struct walk w = { .s = s, .t = t, .device = device, .out = out };
	orr_step_facts(s, &f);
	memset(out, 0, sizeof *out);
	out->first = first;
	out->layers = layers;
	out->params = orr_step_params(s, first, layers);
	out->forward_s = pass_s(s, t, device, ORR_PASS_FORWARD, first, layers);
	out->backward_s =
		pass_s(s, t, device, ORR_PASS_BACKWARD_DATA, first, layers) + pass_s(s, t, device, ORR_PASS_BACKWARD_WEIGHT, first, layers);
	if (first) {
		orr_step_layer(s, first - 1, &info);
		w.out_before = info.out_elems;
	}
	walk_stage(&w, &f);
	if (t->recompute == RECOMPUTE_FULL && f.blocks)
		out->recompute_s = blocks_forward_s(&w);
	double bytes = f.activation_bytes * t->samples;
	orr_step_layer(s, first + layers - 1, &info);
	out->out_bytes = info.out_elems * bytes;
	out->stored_bytes *= bytes;
	out->working_bytes *= bytes;
	if (t->shards == 1)
		out->columns = out->rows = out->again_columns = out->again_rows = 0;
}

double stage_tied_params(const struct orr_step *s)
{
	struct orr_step_facts f;
	double table = 0;
	bool is_tied = false;
	orr_step_facts(s, &f);
	for (uint32_t l = 0; l < f.layers; l++) {
		struct orr_layer_info i;
		orr_step_layer(s, l, &i);
		if (i.kind == ORR_LAYER_EMBEDDING && !(table > 0))
			table = i.params;
		is_tied |= i.kind == ORR_LAYER_LINEAR && i.block == UINT32_MAX && i.params == 0;
	}
	return is_tied ? table : 0;
}

void stage_hold(struct orr_step *s, uint32_t device, double params, double state_shards, const char *what)
{
	struct orr_step_facts f;
	orr_step_facts(s, &f);
	orr_hold(s, device, ORR_MEMORY_WEIGHTS, params * f.weight_bytes, what);
	orr_hold(s, device, ORR_MEMORY_GRADIENTS, params * f.gradient_bytes, what);
	orr_hold(s, device, ORR_MEMORY_OPTIMIZER, params * f.optimizer_bytes / state_shards, what);
}

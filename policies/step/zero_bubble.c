/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipelines whose backward pass is split in two: model, graph (zero_bubble.h). */
#include "zero_bubble.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Streams of messages: one for each kind and direction, so that a stage sends them at the same time, each in order. */
enum { STREAM_FORWARD = 1, STREAM_BACKWARD = 3, STREAM_REDUCE = 5 };

struct zero_bubble {
	struct zb_plan plan;
	uint32_t p, dp, m, chunks, parts, micros; /* micros: micro-batches of one chunk */
	bool is_pp_inner, post_validation;
	uint32_t multiple;            /* m is a multiple of it */
	double samples, micro, hop_s; /* samples of a replica, of a micro-batch; hop_s < 0: on the network */
	double pair_s, tied_params, gradient_bytes;
	struct stage *part; /* in the order of the model */
	double *part_seconds[3], *part_bytes[3];
	double *update_s, *dp_bytes; /* by stage */
	uint32_t *next;              /* ops built, by stage */
	orr_op *tail;                /* last op of the stage */
	orr_op *done[2];             /* F and B: op that delivers the output, [(chunk * p + stage) * micros + micro] */
	orr_op *reduced;
};

/* Frees what depends on the number of micro-batches. */
static void release(struct zero_bubble *z)
{
	for (int k = 0; k < 3; k++) {
		orr_free(z->plan.seconds[k]);
		orr_free(z->plan.bytes[k]);
		orr_free(z->part_seconds[k]);
		orr_free(z->part_bytes[k]);
	}
	for (uint32_t s = 0; z->plan.order && s < z->p; s++)
		orr_free(z->plan.order[s].pass);
	void *array[] = { z->plan.order, z->part, z->update_s, z->dp_bytes, z->next, z->tail, z->done[0], z->done[1], z->reduced };
	for (size_t i = 0; i < sizeof array / sizeof *array; i++)
		orr_free(array[i]);
}

void zb_free(void *self)
{
	struct zero_bubble *z = self;
	if (!z)
		return;
	release(z);
	orr_free(z);
}

/* ---- placement ---- */

/* Returns the part of the model that is chunk c of a stage. */
static uint32_t part_of(const struct zero_bubble *z, uint32_t stage, uint32_t c)
{
	if (!c)
		return stage;
	return z->plan.placement == ZB_V ? 2 * z->p - 1 - stage : z->p - 1 - stage;
}

static uint32_t gpu_of(const struct zero_bubble *z, uint32_t replica, uint32_t stage)
{
	return z->is_pp_inner ? stage + z->p * replica : replica + z->dp * stage;
}

/* Sets *stage and *chunk to where the pass of the next part runs (previous: to where that of the part before runs). Returns false at
 * the ends of the model. */
static bool neighbour(const struct zero_bubble *z, uint32_t *stage, uint32_t *chunk, bool is_previous)
{
	bool is_down = (*chunk == 0) != is_previous;
	if (is_down ? *stage + 1 < z->p : *stage > 0) {
		*stage = is_down ? *stage + 1 : *stage - 1;
		return true;
	}
	if (z->plan.placement != ZB_V || *chunk == !is_previous)
		return false;
	*chunk = !*chunk;
	return true;
}

/* ---- create: sizes ---- */

static int size_grid(struct zero_bubble *z, const struct orr_step_facts *f, const struct orr_args *args, struct orr_error *err)
{
	double global = orr_arg_real(args, "global_batch");
	z->p = (uint32_t)orr_arg_int(args, "stages");
	z->p = z->p ? z->p : f->gpus;
	if (f->gpus % z->p)
		return orr_fail(err, ORR_EINPUT, "%u GPUs: expected a multiple of the %u stages", f->gpus, z->p);
	z->dp = f->gpus / z->p;
	z->chunks = zb_chunks(z->plan.placement);
	z->parts = z->plan.placement == ZB_V ? 2 * z->p : z->p;
	global = global > 0 ? global : f->batch * f->gpus;
	z->multiple = z->plan.placement == ZB_BOTH_ENDS ? 2 : 1;
	z->samples = global / z->dp;
	z->m = pipe_micro_batches(args, global, z->dp, z->p, z->multiple, err);
	if (!z->m)
		return err->code ? err->code : ORR_EINPUT;
	if (z->plan.placement == ZB_BOTH_ENDS && z->m % 2)
		return orr_fail(err, ORR_EINPUT, "%u micro-batches: expected an even number, half for each direction", z->m);
	if (3.0 * z->m * z->p * z->chunks > 5e7)
		return orr_fail(err, ORR_EINPUT, "%u micro-batches of %u stages: expected at most 5e7 ops", z->m, z->p);
	z->plan.p = z->p;
	return ORR_OK;
}

static void allocate(struct zero_bubble *z)
{
	size_t places = (size_t)z->chunks * z->p;
	for (int k = 0; k < 3; k++) {
		z->plan.seconds[k] = orr_alloc(places, sizeof(double));
		z->plan.bytes[k] = orr_alloc(places, sizeof(double));
		z->part_seconds[k] = orr_alloc(z->parts, sizeof(double));
		z->part_bytes[k] = orr_alloc(z->parts, sizeof(double));
	}
	z->plan.order = orr_alloc(z->p, sizeof *z->plan.order);
	z->part = orr_alloc(z->parts, sizeof *z->part);
	z->update_s = orr_alloc(z->p, sizeof *z->update_s);
	z->dp_bytes = orr_alloc(z->p, sizeof *z->dp_bytes);
	z->next = orr_alloc(z->p, sizeof *z->next);
	z->tail = orr_alloc(z->p, sizeof *z->tail);
	z->done[0] = orr_alloc(places * z->micros, sizeof *z->done[0]);
	z->done[1] = orr_alloc(places * z->micros, sizeof *z->done[1]);
	z->reduced = orr_alloc(z->p, sizeof *z->reduced);
}

/* ---- create: costs ---- */

/* Measures a part on the slowest of the GPUs that run it. */
static void measure_part(
	struct zero_bubble *z, const struct orr_step *s, const struct stage_terms *terms, uint32_t i, uint32_t first, uint32_t layers)
{
	static const enum orr_pass pass[3] = { ORR_PASS_FORWARD, ORR_PASS_BACKWARD_DATA, ORR_PASS_BACKWARD_WEIGHT };
	uint32_t copies = z->plan.placement == ZB_BOTH_ENDS ? 2 : 1;
	uint32_t stage = i < z->p ? i : 2 * z->p - 1 - i;
	for (uint32_t copy = 0; copy < copies; copy++)
		for (uint32_t r = 0; r < z->dp; r++)
			for (int k = 0; k < 3; k++)
				z->part_seconds[k][i] = fmax(z->part_seconds[k][i],
					orr_cost(s, gpu_of(z, r, copy ? z->p - 1 - stage : stage), pass[k], first, layers, z->micro, 1));
	stage_measure(s, terms, gpu_of(z, 0, stage), first, layers, &z->part[i]);
	z->part_bytes[ZB_F][i] = z->part[i].stored_bytes;
	z->part_bytes[ZB_W][i] = -z->part[i].stored_bytes;
}

/* Reads a list of three numbers for all parts, or for each, into out[0..2][part]. */
static int read_triples(
	const struct zero_bubble *z, const struct orr_args *args, const char *name, double *const out[3], struct orr_error *err)
{
	size_t n;
	const double *given = orr_arg_list(args, name, &n);
	if (n && n != 3 && n != 3 * (size_t)z->parts)
		return orr_fail(err, ORR_EINPUT,
			"%s: expected 3 numbers (forward, gradient of the input, gradient of the weights), or 3 for each of the %u parts "
			"of the "
			"model, found %zu",
			name, z->parts, n);
	for (uint32_t i = 0; n && i < z->parts; i++)
		for (int k = 0; k < 3; k++)
			out[k][i] = given[(n > 3 ? 3 * i : 0) + (uint32_t)k];
	return ORR_OK;
}

static int check_costs(const struct zero_bubble *z, struct orr_error *err)
{
	for (uint32_t i = 0; i < z->parts; i++) {
		const double f = z->part_bytes[ZB_F][i], b = z->part_bytes[ZB_B][i], w = z->part_bytes[ZB_W][i];
		for (int k = 0; k < 3; k++)
			if (!(z->part_seconds[k][i] >= 0) || isinf(z->part_seconds[k][i]))
				return orr_fail(err, ORR_EINPUT, "stage_times: part %u: expected at least 0 seconds, found %g", i,
					z->part_seconds[k][i]);
		if (!(f >= 0) || !(b <= 0) || !(w <= 0) || !(fabs(f + b + w) <= 1e-9 * f))
			return orr_fail(err, ORR_EINPUT,
				"op_memory: part %u: expected F at least 0, B and W at most 0, and F + B + W = 0, found %g, %g, %g", i, f,
				b, w);
	}
	return ORR_OK;
}

static int measure(
	struct zero_bubble *z, struct orr_step *s, const struct orr_args *args, const struct orr_step_facts *f, struct orr_error *err)
{
	size_t n_counts;
	const double *counts = orr_arg_list(args, "stage_layers", &n_counts);
	double p2p = orr_arg_real(args, "p2p_bytes");
	struct stage_terms terms = { z->micro, RECOMPUTE_NONE, 1, false };
	uint32_t *device = orr_alloc(z->parts, sizeof *device), *first = orr_alloc((size_t)z->parts + 1, sizeof *first);
	(void)f;
	for (uint32_t i = 0; i < z->parts; i++)
		device[i] = gpu_of(z, 0, i < z->p ? i : 2 * z->p - 1 - i);
	int rc = stage_cut(s, &terms, z->parts, device, NULL, !strcmp(orr_arg_text(args, "cut"), "time"), counts, n_counts, first, err);
	for (uint32_t i = 0; !rc && i < z->parts; i++) {
		measure_part(z, s, &terms, i, first[i], first[i + 1] - first[i]);
		if (p2p >= 0)
			z->part[i].out_bytes = p2p;
	}
	orr_free(device);
	orr_free(first);
	if (rc || read_triples(z, args, "stage_times", z->part_seconds, err) || read_triples(z, args, "op_memory", z->part_bytes, err))
		return ORR_EINPUT;
	return check_costs(z, err);
}

/* Returns the seconds of a message between neighbouring stages, for generators: the longest over all cuts. */
static double hop_of(const struct zero_bubble *z, const struct orr_step *s)
{
	double longest = 0;
	for (uint32_t c = 0; c < z->chunks; c++)
		for (uint32_t stage = 0; stage < z->p; stage++) {
			uint32_t to = stage, chunk = c;
			if (!neighbour(z, &to, &chunk, false) || to == stage)
				continue;
			uint32_t from_gpu = gpu_of(z, 0, stage), to_gpu = gpu_of(z, 0, to);
			longest = fmax(longest, orr_latency(s, from_gpu, to_gpu) +
							z->part[part_of(z, stage, c)].out_bytes / orr_bandwidth(s, from_gpu, to_gpu));
		}
	return longest;
}

/* Sets the limit of the activations: max_memory, no limit, or a number of times those of 1F1B. With one part per stage, 1F1B keeps p - s
 * of them on stage s. */
static int set_limit(struct zero_bubble *z, double bytes, double depth, struct orr_error *err)
{
	double most = 0, first = 0, kept;
	const double *forward = z->plan.bytes[ZB_F];
	for (uint32_t i = 0; i < z->chunks * z->p; i++)
		most = fmax(most, forward[i]);
	for (uint32_t c = 0; c < z->chunks; c++)
		first += forward[c * z->p];
	kept = z->p * first;
	for (uint32_t stage = 1; stage < z->p && z->chunks == 1; stage++)
		kept = fmax(kept, (z->p - stage) * forward[stage]);
	z->plan.limit = bytes > 0 ? bytes : bytes < 0 ? INFINITY : depth * kept;
	if (z->plan.limit < most)
		return orr_fail(err, ORR_EINPUT, "%s=%g: expected at least the %g bytes of one forward", bytes > 0 ? "max_memory" : "depth",
			bytes > 0 ? bytes : depth, most);
	z->plan.limit *= 1 + 1e-9; /* sums of activations are rounded */
	return ORR_OK;
}

static int generate_valid(struct zero_bubble *z, const struct orr_args *args, zb_generate generate, struct orr_error *err)
{
	int rc = generate(&z->plan, args, err);
	return rc ? rc : zb_check(&z->plan, err);
}

/* Generates the orders for parts that all take the mean time, and the memory of the largest, as the authors' code assumes. */
static int generate_equal(struct zero_bubble *z, const struct orr_args *args, zb_generate generate, struct orr_error *err)
{
	uint32_t n = z->chunks * z->p, largest = 0;
	double *kept = orr_alloc(6 * (size_t)n, sizeof *kept);
	for (uint32_t i = 1; i < n; i++)
		largest = z->plan.bytes[ZB_F][i] > z->plan.bytes[ZB_F][largest] ? i : largest;
	for (uint32_t k = 0; k < 3; k++) {
		double *seconds = z->plan.seconds[k], *bytes = z->plan.bytes[k], sum = 0, most = bytes[largest];
		memcpy(kept + 2 * k * n, seconds, n * sizeof *kept);
		memcpy(kept + (2 * k + 1) * n, bytes, n * sizeof *kept);
		for (uint32_t i = 0; i < n; i++)
			sum += seconds[i];
		for (uint32_t i = 0; i < n; i++) {
			seconds[i] = sum / n;
			bytes[i] = most;
		}
	}
	for (uint32_t stage = 0; stage < z->p; stage++)
		z->plan.order[stage].n = 0;
	int rc = set_limit(z, 0, 1, err);
	if (!rc)
		rc = generate_valid(z, args, generate, err);
	for (uint32_t k = 0; k < 3; k++) {
		memcpy(z->plan.seconds[k], kept + 2 * k * n, n * sizeof *kept);
		memcpy(z->plan.bytes[k], kept + (2 * k + 1) * n, n * sizeof *kept);
	}
	orr_free(kept);
	return rc;
}

/* Generates the orders under the given limit. depth=0: under that of depth 1, or, if the heuristic finds no order for the parts as they
 * are, for equal parts. */
static int generate_below(struct zero_bubble *z, const struct orr_args *args, zb_generate generate, struct orr_error *err)
{
	double bytes = orr_arg_real(args, "max_memory"), depth = orr_arg_real(args, "depth");
	bool is_given = bytes != 0 || depth > 0;
	int rc = set_limit(z, bytes, is_given ? depth : 1, err);
	if (!rc)
		rc = generate_valid(z, args, generate, err);
	if (!rc || is_given)
		return rc;
	err->code = ORR_OK;
	rc = generate_equal(z, args, generate, err);
	size_t n = strlen(z->plan.choice);
	snprintf(z->plan.choice + n, sizeof z->plan.choice - n, " for equal parts");
	return rc;
}

static int plan_orders(struct zero_bubble *z, const struct orr_step *s, const struct orr_args *args, zb_generate generate, bool has_limit,
	struct orr_error *err)
{
	for (uint32_t c = 0; c < z->chunks; c++)
		for (uint32_t stage = 0; stage < z->p; stage++)
			for (int k = 0; k < 3; k++) {
				uint32_t i = part_of(z, stage, c);
				z->plan.seconds[k][c * z->p + stage] = z->part_seconds[k][i];
				z->plan.bytes[k][c * z->p + stage] = z->part_bytes[k][i];
			}
	z->hop_s = orr_arg_real(args, "hop_s");
	z->plan.hop_s = z->hop_s >= 0 ? z->hop_s : hop_of(z, s);
	return has_limit ? generate_below(z, args, generate, err) : generate_valid(z, args, generate, err);
}

/* Declares memory and lanes. With ZB_BOTH_ENDS a table that both ends of the model share is part of both stages that hold it. */
/* Returns the parameters of a stage's copy of a shared table. The first stage counts them as its own. */
static double copied_params(const struct zero_bubble *z, uint32_t stage)
{
	return stage && stage + 1 == z->p && z->plan.placement == ZB_STRAIGHT ? z->tied_params : 0;
}

/* Returns the parameters on a stage. */
static double params_of(const struct zero_bubble *z, uint32_t stage)
{
	double params = 0;
	for (uint32_t c = 0; c < z->chunks; c++)
		params += z->part[part_of(z, stage, c)].params;
	return params + copied_params(z, stage);
}

static void place(struct zero_bubble *z, struct orr_step *s, double given_update_s)
{
	uint32_t *map = orr_alloc((size_t)z->dp * z->p, sizeof *map);
	char what[32];
	for (uint32_t stage = 0; stage < z->p; stage++) {
		double params = params_of(z, stage);
		snprintf(what, sizeof what, "stage %u", stage);
		for (uint32_t r = 0; r < z->dp; r++) {
			uint32_t gpu = map[(size_t)r * z->p + stage] = gpu_of(z, r, stage);
			stage_hold(s, gpu, params, 1, what);
			z->update_s[stage] = fmax(z->update_s[stage], orr_update_cost(s, gpu, params));
		}
		if (given_update_s >= 0)
			z->update_s[stage] = given_update_s;
	}
	orr_step_lanes(s, z->dp, z->p, map);
	orr_step_stages(s);
	orr_free(map);
}

/* Returns the most bytes of activations that a stage keeps, in the order of its ops. */
static double peak_bytes(const struct zero_bubble *z, uint32_t stage)
{
	const struct zb_order *o = &z->plan.order[stage];
	double now = 0, peak = 0;
	for (uint32_t i = 0; i < o->n; i++) {
		uint32_t part = part_of(z, stage, o->pass[i].chunk);
		uint8_t kind = o->pass[i].kind;
		for (int k = ZB_F; k <= ZB_W; k++)
			now += kind == k || (kind == ZB_D && k != ZB_F) ? z->part_bytes[k][part] : 0;
		peak = fmax(peak, now);
	}
	return peak;
}

static double spare_bytes(const struct zero_bubble *z, const struct orr_step *s, const struct orr_step_facts *f)
{
	double least = INFINITY, per_param = f->weight_bytes + f->gradient_bytes + f->optimizer_bytes;
	for (uint32_t stage = 0; stage < z->p; stage++)
		for (uint32_t r = 0; r < z->dp; r++) {
			double room = orr_device_memory(s, gpu_of(z, r, stage)) - params_of(z, stage) * per_param;
			least = fmin(least, room < 0 ? -INFINITY : room - peak_bytes(z, stage));
		}
	return least;
}

struct attempt {
	struct zero_bubble *z;
	struct orr_step *s;
	const struct orr_args *args;
	const struct orr_step_facts *f;
	zb_generate generate;
	bool has_limit;
};

static int lay_out(void *self, uint32_t m, double *spare, struct orr_error *err)
{
	const struct attempt *x = self;
	struct zero_bubble *z = x->z;
	release(z);
	z->m = z->plan.m = m;
	z->micros = z->plan.placement == ZB_BOTH_ENDS ? m / 2 : m;
	z->micro = z->samples / m;
	z->plan.choice[0] = 0;
	allocate(z);
	int rc = pipe_dp_bytes(x->args, z->p, z->dp_bytes, err);
	if (!rc)
		rc = measure(z, x->s, x->args, x->f, err);
	if (!rc)
		rc = plan_orders(z, x->s, x->args, x->generate, x->has_limit, err);
	if (!rc)
		*spare = spare_bytes(z, x->s, x->f);
	return rc;
}

void *zb_new(struct orr_step *s, const struct orr_args *args, enum zb_placement placement, zb_generate generate, bool has_limit,
	struct orr_error *err)
{
	struct orr_step_facts f;
	struct zero_bubble *z = orr_alloc(1, sizeof *z);
	orr_step_facts(s, &f);
	z->plan.placement = placement;
	z->is_pp_inner = !strcmp(orr_arg_text(args, "order"), "pp-dp");
	z->post_validation = orr_arg_bool(args, "post_validation");
	z->gradient_bytes = f.gradient_bytes;
	z->tied_params = stage_tied_params(s);
	z->pair_s = placement == ZB_STRAIGHT ? -1 : orr_arg_real(args, "pair_s");
	int rc = size_grid(z, &f, args, err);
	if (!rc)
		rc = pipe_fit(&(struct attempt){ z, s, args, &f, generate, has_limit }, args, z->samples, z->parts, z->multiple, z->m,
			lay_out, err);
	if (rc) {
		zb_free(z);
		return NULL;
	}
	orr_step_samples(s, z->micro * z->m * z->dp);
	place(z, s, orr_arg_real(args, "update_s"));
	return z;
}

/* ---- build ---- */

static size_t index_of(const struct zero_bubble *z, uint32_t stage, uint32_t chunk, uint32_t micro)
{
	return ((size_t)chunk * z->p + stage) * z->micros + micro;
}

/* Sets *op to the op that delivers the input of F, B or D (0: none). Returns false if it is not built yet. */
static bool input_of(const struct zero_bubble *z, uint32_t stage, const struct zb_pass *x, orr_op *op)
{
	uint32_t at = stage, chunk = x->chunk;
	bool is_forward = x->kind == ZB_F;
	*op = 0;
	if (x->kind == ZB_W)
		return true;
	if (neighbour(z, &at, &chunk, is_forward))
		*op = z->done[!is_forward][index_of(z, at, chunk, x->micro)];
	else if (is_forward)
		return true;
	else
		*op = z->done[0][index_of(z, stage, x->chunk, x->micro)];
	return *op != 0;
}

/* Sends the output of a pass to the stage that uses it. */
static void deliver(struct zero_bubble *z, struct orr_step *s, uint32_t stage, const struct zb_pass *x, orr_op op)
{
	uint32_t to = stage, chunk = x->chunk;
	bool is_forward = x->kind == ZB_F, has_next;
	if (x->kind == ZB_W)
		return;
	has_next = neighbour(z, &to, &chunk, !is_forward);
	orr_op sent = op;
	if (has_next && to != stage && z->hop_s >= 0) {
		sent = orr_delay(s, z->hop_s);
		orr_after(s, sent, op);
	} else if (has_next && to != stage) {
		uint32_t part = is_forward ? part_of(z, stage, x->chunk) : part_of(z, to, chunk);
		sent = orr_transfer(s, stage, to, z->part[part].out_bytes);
		orr_after(s, sent, op);
		orr_on_stream(s, sent, (uint32_t)(is_forward ? STREAM_FORWARD : STREAM_BACKWARD) + (to < stage));
		orr_label(s, sent, "%s %u", is_forward ? "activation" : "gradient", x->micro);
	}
	z->done[!is_forward][index_of(z, stage, x->chunk, x->micro)] = sent;
}

static double seconds_of(const struct zero_bubble *z, uint32_t part, const struct zb_pass *x)
{
	if (x->kind == ZB_D)
		return z->part_seconds[ZB_B][part] + z->part_seconds[ZB_W][part];
	return z->part_seconds[x->kind][part];
}

/* Declares the activations that a pass takes or frees. */
static void remember(struct zero_bubble *z, struct orr_step *s, uint32_t stage, const struct zb_pass *x, orr_op op)
{
	uint32_t part = part_of(z, stage, x->chunk);
	if (x->kind == ZB_F)
		orr_takes(s, op, stage, z->part_bytes[ZB_F][part]);
	if (x->kind == ZB_B || x->kind == ZB_D)
		orr_gives(s, op, stage, -z->part_bytes[ZB_B][part]);
	if (x->kind == ZB_W || x->kind == ZB_D)
		orr_gives(s, op, stage, -z->part_bytes[ZB_W][part]);
}

/* Builds the next op of a stage, or pair. Returns the number of passes built; 0: the input is missing. */
static uint32_t build_next(struct zero_bubble *z, struct orr_step *s, uint32_t stage)
{
	static const enum orr_work work[ZB_KINDS] = { ORR_FORWARD, ORR_BACKWARD, ORR_BACKWARD_WEIGHT, ORR_BACKWARD };
	const struct zb_order *o = &z->plan.order[stage];
	if (z->next[stage] == o->n)
		return 0;
	const struct zb_pass *x = &o->pass[z->next[stage]], *y = x->joins ? x + 1 : NULL;
	orr_op from[2] = { 0, 0 };
	if (!input_of(z, stage, x, &from[0]) || (y && !input_of(z, stage, y, &from[1])))
		return 0;
	char name[32], partner[32] = "";
	double seconds = seconds_of(z, part_of(z, stage, x->chunk), x);
	zb_name(&z->plan, x, name);
	if (y) {
		zb_name(&z->plan, y, partner);
		seconds = z->pair_s >= 0 ? z->pair_s : seconds + seconds_of(z, part_of(z, stage, y->chunk), y);
	}
	orr_op op = orr_compute(s, stage, y ? ORR_OTHER_WORK : work[x->kind], seconds);
	orr_after(s, op, z->tail[stage]);
	orr_after(s, op, from[0]);
	orr_after(s, op, from[1]);
	remember(z, s, stage, x, op);
	if (y)
		remember(z, s, stage, y, op);
	orr_label(s, op, "%s%s%s", name, y ? "&" : "", partner);
	z->tail[stage] = op;
	deliver(z, s, stage, x, op);
	if (y)
		deliver(z, s, stage, y, op);
	z->next[stage] += 1 + x->joins;
	if (z->next[stage] == o->n) {
		struct orr_update gradient = { .kind = ORR_GRADIENT };
		orr_updates(s, op, &gradient);
	}
	return 1 + x->joins;
}

/* Runs a sum of gradients after two ops. is_whole: of all gradients of its members, which then have the mean. Returns the sum. */
static orr_op reduce(struct orr_step *s, orr_op sum, orr_op after, orr_op and_after, const char *label, uint32_t stage, bool is_whole)
{
	orr_after(s, sum, after);
	orr_after(s, sum, and_after);
	orr_on_stream(s, sum, STREAM_REDUCE);
	orr_label(s, sum, "%s %u", label, stage);
	if (is_whole)
		orr_updates(s, sum, &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
	return sum;
}

/* Sums the gradients of a stage: over replicas, and with ZB_BOTH_ENDS with the stage that holds the same parts. */
static void build_reduce(struct zero_bubble *z, struct orr_step *s)
{
	for (uint32_t stage = 0; stage < z->p && z->dp > 1; stage++) {
		struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = z->dp_bytes[stage] };
		for (uint32_t k = 0; k < z->chunks && z->dp_bytes[stage] < 0; k++)
			c.bytes = fmax(c.bytes, 0) + z->part[part_of(z, stage, k)].params * z->gradient_bytes;
		if (z->dp_bytes[stage] < 0)
			c.bytes += copied_params(z, stage) * z->gradient_bytes;
		if (c.bytes > 0)
			z->reduced[stage] =
				reduce(s, orr_collective_lanes(s, stage, z->dp, 1, &c), z->tail[stage], 0, "gradients", stage, true);
	}
	for (uint32_t stage = 0; stage < z->p / 2 && z->plan.placement == ZB_BOTH_ENDS; stage++) {
		uint32_t pair[2] = { stage, z->p - 1 - stage };
		double params = z->part[pair[0]].params + z->part[pair[1]].params;
		double given = fmax(z->dp_bytes[pair[0]], z->dp_bytes[pair[1]]);
		struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = given >= 0 ? given : params * z->gradient_bytes };
		if (!(c.bytes > 0))
			continue;
		orr_op op = orr_collective(s, &(struct orr_group){ pair, 2 }, &c);
		for (int i = 0; i < 2; i++)
			orr_after(s, op, z->reduced[pair[i]]);
		z->reduced[pair[0]] = z->reduced[pair[1]] = reduce(s, op, z->tail[pair[0]], z->tail[pair[1]], "copies", stage, true);
	}
	uint32_t ends[2] = { 0, z->p - 1 };
	struct orr_collective c = { .op = ORR_ALL_REDUCE, .bytes = z->tied_params * z->gradient_bytes };
	if (z->plan.placement != ZB_STRAIGHT || z->p == 1 || z->dp_bytes[0] >= 0 || z->dp_bytes[ends[1]] >= 0 || !(c.bytes > 0))
		return;
	orr_op op = orr_collective(s, &(struct orr_group){ ends, 2 }, &c);
	for (int i = 0; i < 2; i++)
		orr_after(s, op, z->reduced[ends[i]]);
	z->reduced[0] = z->reduced[ends[1]] = reduce(s, op, z->tail[0], z->tail[ends[1]], "tied table", 0, false);
}

/* Builds the updates. Without post-validation all wait for the norm of all gradients. */
static void build_updates(struct zero_bubble *z, struct orr_step *s)
{
	struct orr_update step = { .kind = ORR_LOCAL_UPDATE };
	orr_op norm = z->post_validation ? 0 : orr_mark(s);
	for (uint32_t stage = 0; stage < z->p && norm; stage++) {
		orr_after(s, norm, z->tail[stage]);
		orr_after(s, norm, z->reduced[stage]);
	}
	for (uint32_t stage = 0; stage < z->p; stage++) {
		orr_op op = orr_compute(s, stage, ORR_OPTIMIZER, z->update_s[stage]);
		orr_after(s, op, z->tail[stage]);
		orr_after(s, op, z->reduced[stage]);
		orr_after(s, op, norm);
		orr_label(s, op, "update");
		orr_updates(s, op, &step);
		z->tail[stage] = op;
	}
}

int zb_build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct zero_bubble *z = self;
	size_t places = (size_t)z->chunks * z->p * z->micros, built = 0, all = 0;
	uint32_t stuck = 0;
	(void)iteration;
	memset(z->next, 0, z->p * sizeof *z->next);
	memset(z->reduced, 0, z->p * sizeof *z->reduced);
	memset(z->done[0], 0, places * sizeof *z->done[0]);
	memset(z->done[1], 0, places * sizeof *z->done[1]);
	for (bool any = true; any;) {
		any = false;
		for (uint32_t stage = 0; stage < z->p; stage++)
			for (uint32_t n; (n = build_next(z, s, stage)) > 0; any = true)
				built += n;
	}
	for (uint32_t stage = z->p; stage-- > 0;) {
		all += z->plan.order[stage].n;
		stuck = z->next[stage] < z->plan.order[stage].n ? stage : stuck;
	}
	/* If the step world has reported an error, inputs are missing. */
	if (built < all) {
		char name[32];
		zb_name(&z->plan, &z->plan.order[stuck].pass[z->next[stuck]], name);
		return orr_fail(err, ORR_EINPUT,
			"the order stops after %zu of %zu ops: %s of stage %u waits for an op that waits for it: expected an order without "
			"cycles",
			built, all, name, stuck);
	}
	build_reduce(z, s);
	build_updates(z, s);
	return ORR_OK;
}

void zb_describe(void *self, char *out, size_t size)
{
	const struct zero_bubble *z = self;
	size_t n = (size_t)snprintf(out, size, "pp=%u%s dp=%u, %u micro-batches of %g%s%s, layers", z->p,
		z->plan.placement == ZB_STRAIGHT ? ""
		: z->plan.placement == ZB_V      ? " in a V"
						 : " from both ends",
		z->dp, z->m, z->micro, z->plan.choice[0] ? ", setting " : "", z->plan.choice);
	for (uint32_t i = 0, run; i < z->parts && n + 24 < size; i += run) {
		for (run = 1; i + run < z->parts && z->part[i + run].layers == z->part[i].layers; run++)
			;
		n += (size_t)snprintf(out + n, size - n, run > 1 ? "%c%ux%u" : "%c%u", i ? ',' : ' ', z->part[i].layers, run);
	}
}

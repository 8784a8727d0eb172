/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DAPPLE's runtime (Fan et al., "DAPPLE: A Pipelined Data Parallel Approach for Training Large Models", PPoPP 2021, 3): early backward,
 * with a degree of replication per stage.
 *
 * Stage i of S does K_i forward passes, then alternates one backward and one forward pass:
 *
 * 	policy A: K_i = min(S - i, D)            policy B: K_i = min(2 (S - i) - 1, D)
 *
 * Rule A suits short transfers of activations; rule B suits transfers that take about as long as computing. D is the number of
 * micro-batches whose activations fit into the memory of the stage's devices. Peak activations are those of K_i micro-batches (GPipe: of
 * all). K_i is at most K_(i-1): a stage that began more micro-batches than the previous one would cause a deadlock.
 *
 * A stage on g devices splits every micro-batch into g parts. Between stages of g and h devices, each device sends to those whose parts
 * overlap with its own. Messages between two stages go in order of micro-batches. After its last backward a stage sums its gradients over
 * its devices and updates.
 *
 * With stage_shards, groups of stage_shards neighbours of a stage split each layer (tensor parallelism, as in megatron), and a part of a
 * micro-batch belongs to a group. A receiving group gets one part per shard and gathers them. `devices` names the GPUs in the order of the
 * stages; "position" below is an index into it.
 */
#include "pipeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("stages", "0", 0, 1e6,
						   "stages of the pipeline; 0: given by stage_devices, or one per GPU"),
	ORR_PARAM_LIST("stage_devices", "", "GPUs of each stage; none: equal numbers"),
	ORR_PARAM_LIST("devices", "", "numbers of the GPUs, in the order of the stages; none: all, in the order of the cluster"),
	ORR_PARAM_LIST("stage_shards", "", "GPUs that split each layer, per stage or once for all; none: 1"),
	ORR_PARAM_LIST("device_shares", "", "share of each GPU in its stage's micro-batch, in the order of devices; none: equal shares"),
	ORR_PARAM_CHOICE("warmup", "A", "A|B", "forward passes before the first backward pass: S - i, or 2 (S - i) - 1"),
	ORR_PARAM_INT("max_in_flight", "0", 0, 1e6, "D, micro-batches whose activations fit; 0: computed from the devices' memory"),
	PIPELINE_BATCH_PARAMS,
	ORR_PARAM_CHOICE("cut", "time", "time|blocks", "minimise the longest stage, or equal numbers of blocks per stage"),
	PIPELINE_STAGE_PARAMS, ORR_PARAM_END };

struct dapple_stage {
	uint32_t first_gpu, gpus, k; /* first_gpu: a position */
	uint32_t shards, groups;
	double tp_bytes;          /* bytes of a tensor-parallel collective, for a whole micro-batch */
	double params, out_bytes; /* out_bytes: bytes of the output for a whole micro-batch */
	uint32_t first, layers;
	struct pass *order;
	uint32_t next;
	orr_op sent_forward, sent_backward; /* latest arrival of a micro-batch at the next stage, and at the previous stage */
};

struct dapple {
	uint32_t n, gpus, m;
	double micro, gradient_bytes, *dp_bytes; /* dp_bytes: by stage; < 0: the bytes of the model */
	double tied_params;                      /* parameters of a table shared by the first and the last stage; 0: none */
	bool overlap_p2p;
	double exposed_s;    /* transfer time per micro-batch that the schedule does not hide; 0: none */
	uint32_t exposed_at; /* stage that sends these transfers */
	struct dapple_stage *stage;
	/* By position. */
	uint32_t *device;
	double *from, *to;  /* part of a micro-batch, as fractions of the whole */
	struct stage *cost; /* costs of the part of a micro-batch */
	double *update_s;
	orr_op *tail, *forward;           /* op that the next pass waits for; latest pass */
	orr_op *forward_in, *backward_in; /* arrivals, by [position * m + micro] */
};

/* Frees what depends on the number of micro-batches. */
static void release(struct dapple *d)
{
	for (uint32_t i = 0; d->stage && i < d->n; i++)
		orr_free(d->stage[i].order);
	void *array[] = { d->stage, d->from, d->to, d->cost, d->update_s, d->dp_bytes, d->tail, d->forward, d->forward_in, d->backward_in };
	for (size_t i = 0; i < sizeof array / sizeof *array; i++)
		orr_free(array[i]);
}

static void destroy(void *self)
{
	struct dapple *d = self;
	if (!d)
		return;
	release(d);
	orr_free(d->device);
	orr_free(d);
}

/* ---- create ---- */

static int count_stages(struct dapple *d, const struct orr_args *args, struct orr_error *err)
{
	size_t n_devices, n_times;
	orr_arg_list(args, "stage_devices", &n_devices);
	orr_arg_list(args, "stage_times", &n_times);
	d->n = (uint32_t)orr_arg_int(args, "stages");
	if (!d->n)
		d->n = n_devices ? (uint32_t)n_devices : n_times > 2 && n_times % 2 == 0 ? (uint32_t)(n_times / 2) : d->gpus;
	if (n_devices && n_devices != d->n)
		return orr_fail(err, ORR_EINPUT, "stage_devices: expected %u numbers, one for each stage, found %zu", d->n, n_devices);
	if (n_times && n_times != 2 && n_times != 2 * (size_t)d->n)
		return orr_fail(err, ORR_EINPUT, "stage_times: expected 2 or %u numbers (forward and backward of each stage), found %zu",
			2 * d->n, n_times);
	if (!n_devices && d->gpus % d->n)
		return orr_fail(err, ORR_EINPUT, "%u GPUs: expected a multiple of the %u stages, or stage_devices", d->gpus, d->n);
	return ORR_OK;
}

/* Lists the GPUs in use, by position. */
static int name_devices(struct dapple *d, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *list = orr_arg_list(args, "devices", &n);
	uint32_t all = d->gpus;
	bool *is_used = orr_alloc(all, sizeof *is_used);
	d->device = orr_alloc(all, sizeof *d->device);
	for (uint32_t i = 0; i < all; i++)
		d->device[i] = i;
	int rc = n > all ? orr_fail(err, ORR_EINPUT, "devices: expected at most %u numbers, the GPUs of the cluster, found %zu", all, n)
			 : ORR_OK;
	for (size_t i = 0; !rc && i < n; i++) {
		if (!(list[i] >= 0) || list[i] >= all || list[i] != floor(list[i]))
			rc = orr_fail(err, ORR_EINPUT, "devices: expected numbers of GPUs from 0 to %u, found %g", all - 1, list[i]);
		else if (is_used[(uint32_t)list[i]])
			rc = orr_fail(err, ORR_EINPUT, "devices: GPU %g is named twice: expected it once", list[i]);
		else
			is_used[d->device[i] = (uint32_t)list[i]] = true;
	}
	d->gpus = n ? (uint32_t)n : all;
	orr_free(is_used);
	return rc;
}

/* Computes the share of a micro-batch of each GPU: equal shares, or device_shares repeated for each group. */
static int share_out(struct dapple *d, const struct dapple_stage *x, const double *share, size_t n, struct orr_error *err)
{
	double at = 0;
	for (uint32_t g = 0; g < x->gpus; g++) {
		uint32_t p = x->first_gpu + g, leader = p - g % x->shards;
		double part = n ? share[leader] : 1.0 / x->groups;
		if (!(part > 0))
			return orr_fail(err, ORR_EINPUT, "device_shares: expected numbers above 0, found %g", part);
		d->from[p] = at;
		d->to[p] = at + part;
		at += (g + 1) % x->shards ? 0 : part;
	}
	if (fabs(at - 1) > 1e-6)
		return orr_fail(err, ORR_EINPUT, "device_shares: expected the sum 1 in each stage, found %.9g", at);
	return ORR_OK;
}

static int split_stages(struct dapple *d, const struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct orr_step_facts f;
	size_t n_shards, n_shares;
	const double *shards = orr_arg_list(args, "stage_shards", &n_shards);
	const double *share = orr_arg_list(args, "device_shares", &n_shares);
	orr_step_facts(s, &f);
	if (n_shards > 1 && n_shards != d->n)
		return orr_fail(err, ORR_EINPUT, "stage_shards: expected 1 or %u numbers, found %zu", d->n, n_shards);
	if (n_shares && n_shares != d->gpus)
		return orr_fail(err, ORR_EINPUT, "device_shares: expected %u numbers, one for each GPU, found %zu", d->gpus, n_shares);
	for (uint32_t i = 0; i < d->n; i++) {
		struct dapple_stage *x = &d->stage[i];
		double t = n_shards ? shards[n_shards > 1 ? i : 0] : 1;
		if (!(t >= 1) || t != floor(t) || fmod(x->gpus, t) != 0)
			return orr_fail(
				err, ORR_EINPUT, "stage_shards: stage %u: expected a divisor of its %u GPUs, found %g", i, x->gpus, t);
		if (t > 1 && (!f.blocks || fmod(f.heads, t) != 0))
			return orr_fail(err, ORR_EINPUT,
				"stage_shards: stage %u: %g: expected a transformer whose attention heads (%g) it divides", i, t, f.heads);
		x->shards = (uint32_t)t;
		x->groups = x->gpus / x->shards;
		x->tp_bytes = d->micro * f.seq * f.hidden * f.activation_bytes;
		int rc = share_out(d, x, share, n_shares, err);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

static int place_stages(struct dapple *d, const struct orr_args *args, struct orr_error *err)
{
	size_t n_devices;
	const double *devices = orr_arg_list(args, "stage_devices", &n_devices);
	double at = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		double g = n_devices ? devices[i] : d->gpus / d->n;
		if (!(g >= 1) || g != floor(g) || at + g > d->gpus)
			return orr_fail(err, ORR_EINPUT, "stage_devices: stage %u: %g: expected whole numbers of at least 1 with sum %u", i,
				g, d->gpus);
		d->stage[i].first_gpu = (uint32_t)at;
		d->stage[i].gpus = (uint32_t)g;
		at += g;
	}
	if (at != d->gpus)
		return orr_fail(err, ORR_EINPUT, "stage_devices: expected numbers with sum %u, the GPUs in use, found %g", d->gpus, at);
	return ORR_OK;
}

static void allocate(struct dapple *d)
{
	size_t inputs = (size_t)d->gpus * d->m;
	d->stage = orr_alloc(d->n, sizeof *d->stage);
	d->from = orr_alloc(d->gpus, sizeof *d->from);
	d->to = orr_alloc(d->gpus, sizeof *d->to);
	d->cost = orr_alloc(d->gpus, sizeof *d->cost);
	d->dp_bytes = orr_alloc(d->n, sizeof *d->dp_bytes);
	d->update_s = orr_alloc(d->gpus, sizeof *d->update_s);
	d->tail = orr_alloc(d->gpus, sizeof *d->tail);
	d->forward = orr_alloc(d->gpus, sizeof *d->forward);
	d->forward_in = orr_alloc(inputs, sizeof *d->forward_in);
	d->backward_in = orr_alloc(inputs, sizeof *d->backward_in);
	for (uint32_t i = 0; i < d->n; i++)
		d->stage[i].order = orr_alloc(2 * (size_t)d->m, sizeof *d->stage[i].order);
}

static int cut(struct dapple *d, struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	size_t n_counts;
	const double *counts = orr_arg_list(args, "stage_layers", &n_counts);
	struct stage_terms t = { d->micro, recompute_named(orr_arg_text(args, "recompute")), 1, false };
	uint32_t *device = orr_alloc(d->n, sizeof *device), *first = orr_alloc(d->n + 1, sizeof *first);
	double *samples = orr_alloc(d->n, sizeof *samples);
	for (uint32_t i = 0; i < d->n; i++) {
		device[i] = d->device[d->stage[i].first_gpu];
		samples[i] = d->micro / d->stage[i].gpus;
	}
	int rc = stage_cut(s, &t, d->n, device, samples, !strcmp(orr_arg_text(args, "cut"), "time"), counts, n_counts, first, err);
	for (uint32_t i = 0; !rc && i < d->n; i++) {
		struct dapple_stage *x = &d->stage[i];
		t.shards = x->shards;
		x->first = first[i];
		x->layers = first[i + 1] - first[i];
		for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++) {
			t.samples = d->micro * (d->to[g] - d->from[g]);
			stage_measure(s, &t, d->device[g], x->first, x->layers, &d->cost[g]);
		}
		x->params = (d->cost[x->first_gpu].params + (i && i + 1 == d->n ? d->tied_params : 0)) / x->shards;
		x->out_bytes = d->cost[x->first_gpu].out_bytes / (d->to[x->first_gpu] - d->from[x->first_gpu]);
	}
	orr_free(device);
	orr_free(first);
	orr_free(samples);
	return rc;
}

/* Replaces values of the cost model by those of the user; times are those of a stage as placed. */
static int override(struct dapple *d, const struct orr_args *args, struct orr_error *err)
{
	size_t n;
	const double *times = orr_arg_list(args, "stage_times", &n);
	double p2p = orr_arg_real(args, "p2p_bytes");
	for (uint32_t i = 0; i < d->n; i++) {
		struct dapple_stage *x = &d->stage[i];
		double forward = n ? times[n == 2 ? 0 : 2 * i] : 0, backward = n ? times[n == 2 ? 1 : 2 * i + 1] : 0;
		if (!(forward >= 0) || !(backward >= 0))
			return orr_fail(err, ORR_EINPUT, "stage_times: stage %u: expected at least 0 seconds, found %g and %g", i, forward,
				backward);
		for (uint32_t g = x->first_gpu; n && g < x->first_gpu + x->gpus; g++) {
			d->cost[g].forward_s = forward;
			d->cost[g].backward_s = backward;
			d->cost[g].recompute_s = 0;
		}
		if (p2p >= 0)
			x->out_bytes = p2p;
	}
	return ORR_OK;
}

/* Returns D, the number of micro-batches that fit into the memory of each device of the stage. Below 1, the world reports the stage. */
static double fitting(const struct dapple *d, const struct orr_step *s, const struct dapple_stage *x)
{
	struct orr_step_facts f;
	double most = d->m;
	orr_step_facts(s, &f);
	for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++) {
		double held = x->params * (f.weight_bytes + f.gradient_bytes + f.optimizer_bytes) + d->cost[g].working_bytes;
		double room = orr_device_memory(s, d->device[g]) - held;
		if (d->cost[g].stored_bytes > 0)
			most = fmin(most, floor(room / d->cost[g].stored_bytes));
	}
	return most;
}

/* Sets K of each stage. Returns a number below 0 if a stage has no memory for the passes of policy A. */
static double choose_warmup(struct dapple *d, const struct orr_step *s, const struct orr_args *args)
{
	double spare = 0;
	bool is_b = !strcmp(orr_arg_text(args, "warmup"), "B");
	uint32_t given = (uint32_t)orr_arg_int(args, "max_in_flight"), before = d->m;
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t want = is_b ? 2 * (d->n - i) - 1 : d->n - i;
		double fit = fitting(d, s, &d->stage[i]);
		spare = fmin(spare, fit - schedule_min(given ? schedule_min(given, d->n - i) : d->n - i, d->m));
		want = schedule_min(want, given ? given : fit >= 1 ? (uint32_t)fit : 1);
		d->stage[i].k = before = schedule_min(want, before);
		schedule_early_backward(d->stage[i].order, d->m, d->stage[i].k);
	}
	return spare;
}

static double pass_s(const struct dapple *d, uint32_t stage)
{
	const struct dapple_stage *x = &d->stage[stage];
	double most = 0;
	for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++)
		most = fmax(most, d->cost[g].forward_s + d->cost[g].recompute_s + d->cost[g].backward_s);
	return most;
}

/* Returns the time of the longest message of a micro-batch to the next stage on idle links, s. */
static double transfer_s(const struct dapple *d, const struct orr_step *s, uint32_t stage)
{
	const struct dapple_stage *x = &d->stage[stage], *to = x + 1;
	uint32_t a = d->device[x->first_gpu + x->gpus - 1], b = d->device[to->first_gpu];
	return orr_latency(s, a, b) + x->out_bytes / (x->gpus > to->gpus ? x->gpus : to->gpus) / orr_bandwidth(s, a, b);
}

/*
 * Computes the exposed transfers. K_i - K_(i+1) + 1 micro-batches are in flight between stages i and i + 1. Each takes both
 * passes of both stages and two transfers. If this time per micro-batch in flight exceeds that of the longest stage, the stages
 * wait for transfers. Under policy A with equal stages, they wait for one whole transfer per micro-batch.
 */
static void find_exposed(struct dapple *d, const struct orr_step *s)
{
	double longest = 0;
	for (uint32_t i = 0; i < d->n; i++)
		longest = fmax(longest, pass_s(d, i));
	for (uint32_t i = 0; i + 1 < d->n; i++) {
		double loop = pass_s(d, i) + pass_s(d, i + 1) + 2 * transfer_s(d, s, i);
		double exposed = loop / (d->stage[i].k - d->stage[i + 1].k + 1) - longest;
		if (exposed > fmax(d->exposed_s, 1e-3 * longest) && d->m > d->stage[i].k) {
			d->exposed_s = exposed;
			d->exposed_at = i;
		}
	}
}

static void hold(struct dapple *d, struct orr_step *s, double given_update_s)
{
	char what[32];
	for (uint32_t i = 0; i < d->n; i++) {
		const struct dapple_stage *x = &d->stage[i];
		snprintf(what, sizeof what, "stage %u", i);
		for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++) {
			stage_hold(s, d->device[g], x->params, 1, what);
			d->update_s[g] = given_update_s >= 0 ? given_update_s : orr_update_cost(s, d->device[g], x->params);
		}
	}
}

struct attempt {
	struct dapple *d;
	struct orr_step *s;
	const struct orr_args *args;
	double global;
};

static int lay_out(void *self, uint32_t m, double *spare, struct orr_error *err)
{
	const struct attempt *x = self;
	struct dapple *d = x->d;
	release(d);
	d->m = m;
	d->micro = x->global / m;
	allocate(d);
	if (place_stages(d, x->args, err) || pipe_dp_bytes(x->args, d->n, d->dp_bytes, err) || split_stages(d, x->s, x->args, err) ||
		cut(d, x->s, x->args, err) || override(d, x->args, err))
		return err->code ? err->code : ORR_EINPUT;
	*spare = choose_warmup(d, x->s, x->args);
	return ORR_OK;
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct orr_step_facts f;
	struct dapple *d = orr_alloc(1, sizeof *d);
	orr_step_facts(s, &f);
	double global = orr_arg_real(args, "global_batch");
	global = global > 0 ? global : f.batch * f.gpus;
	d->gpus = f.gpus;
	d->gradient_bytes = f.gradient_bytes;
	d->tied_params = stage_tied_params(s);
	d->overlap_p2p = orr_arg_bool(args, "overlap_p2p");
	if (name_devices(d, args, err) || count_stages(d, args, err) || !(d->m = pipe_micro_batches(args, global, 1, d->n, 1, err)) ||
		pipe_fit(&(struct attempt){ d, s, args, global }, args, global, d->n, 1, d->m, lay_out, err)) {
		destroy(d);
		return NULL;
	}
	find_exposed(d, s);
	hold(d, s, orr_arg_real(args, "update_s"));
	orr_step_samples(s, global);
	return d;
}

/* ---- build ---- */

/* Returns the fraction of a micro-batch that the parts of positions a and b have in common. */
static double overlap(const struct dapple *d, uint32_t a, uint32_t b)
{
	double low = fmax(d->from[a], d->from[b]), high = fmin(d->to[a], d->to[b]);
	return high - low > 1e-12 ? high - low : 0;
}

/* Returns an op that ends when all n ops have ended. */
static orr_op join(struct orr_step *s, const orr_op *op, uint32_t n)
{
	if (n == 1)
		return op[0];
	orr_op all = orr_mark(s);
	for (uint32_t i = 0; i < n; i++)
		orr_after(s, all, op[i]);
	return all;
}

/* Makes a collective of the group that begins at a position, after the given ops; returns 0 if it is not needed. */
static orr_op among_shards(struct dapple *d, struct orr_step *s, const struct dapple_stage *x, uint32_t leader, enum orr_collective_op what,
	double bytes, uint32_t times, const orr_op *after)
{
	if (x->shards == 1 || !times || !(bytes > 0))
		return 0;
	struct orr_collective c = { .op = what, .bytes = bytes, .repeat = times };
	orr_op op = orr_collective(s, &(struct orr_group){ d->device + leader, x->shards }, &c);
	for (uint32_t k = 0; k < x->shards; k++)
		orr_after(s, op, after[k]);
	orr_label(s, op, "tensor parallel");
	return op;
}

enum sums { SUMS_FORWARD, SUMS_RECOMPUTE, SUMS_BACKWARD };

/* Sums the activations of every group of a stage; its next passes wait for the sums. */
static void sum_shards(struct dapple *d, struct orr_step *s, const struct dapple_stage *x, enum sums when)
{
	for (uint32_t p = x->first_gpu; p < x->first_gpu + x->gpus; p += x->shards) {
		const struct stage *c = &d->cost[p];
		uint32_t times = when == SUMS_FORWARD ? c->rows : when == SUMS_RECOMPUTE ? c->again_rows : c->columns;
		orr_op op = among_shards(d, s, x, p, ORR_ALL_REDUCE, x->tp_bytes * (d->to[p] - d->from[p]), times, d->tail + p);
		for (uint32_t k = 0; op && k < x->shards; k++)
			d->tail[p + k] = d->forward[p + k] = op;
	}
}

/* Sends to position b its part of a micro-batch; appends the transfers to sent[]. Returns the op after which all have arrived. */
static orr_op send_to(struct dapple *d, struct orr_step *s, const struct dapple_stage *from, const struct dapple_stage *to, uint32_t b,
	double bytes, orr_op before, const char *what, orr_op *sent, uint32_t *n)
{
	uint32_t first = *n, shard = (b - to->first_gpu) % to->shards;
	for (uint32_t a = from->first_gpu + shard % from->shards; a < from->first_gpu + from->gpus; a += from->shards) {
		double part = overlap(d, a, b);
		if (!(part > 0))
			continue;
		orr_op op = sent[(*n)++] = orr_transfer(s, d->device[a], d->device[b], bytes * part / to->shards);
		orr_after(s, op, d->forward[a]);
		orr_after(s, op, before);
		orr_label(s, op, "%s", what);
	}
	return join(s, sent + first, *n - first);
}

/* Sends a micro-batch (or its gradient) to the neighbour stage. in[] of a receiver is the op after which all its parts have arrived. */
static void send(struct dapple *d, struct orr_step *s, struct dapple_stage *from, struct dapple_stage *to, bool is_backward, uint32_t micro)
{
	orr_op *in = is_backward ? d->backward_in : d->forward_in;
	orr_op *order = is_backward ? &from->sent_backward : &from->sent_forward, before = *order;
	double bytes = is_backward ? to->out_bytes : from->out_bytes;
	uint32_t n = 0, end = to->first_gpu + to->gpus;
	orr_op *sent = orr_alloc((size_t)(from->groups + to->groups) * to->shards, sizeof *sent);
	orr_op *arrived = orr_alloc(to->shards, sizeof *arrived);
	char what[32];
	snprintf(what, sizeof what, "%s %u", is_backward ? "gradient" : "activation", micro);
	for (uint32_t b = to->first_gpu; b < end; b += to->shards) {
		for (uint32_t k = 0; k < to->shards; k++)
			arrived[k] = send_to(d, s, from, to, b + k, bytes, before, what, sent, &n);
		orr_op whole = among_shards(d, s, to, b, ORR_ALL_GATHER, bytes * (d->to[b] - d->from[b]), 1, arrived);
		for (uint32_t k = 0; k < to->shards; k++)
			in[(size_t)(b + k) * d->m + micro] = whole ? whole : arrived[k];
	}
	*order = join(s, sent, n);
	for (uint32_t a = from->first_gpu; a < from->first_gpu + from->gpus && !d->overlap_p2p; a++)
		d->tail[a] = *order;
	orr_free(sent);
	orr_free(arrived);
}

static void build_forward(struct dapple *d, struct orr_step *s, uint32_t stage, uint32_t micro)
{
	struct dapple_stage *x = &d->stage[stage];
	for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++) {
		orr_op op = orr_compute(s, d->device[g], ORR_FORWARD, d->cost[g].forward_s);
		orr_after(s, op, d->tail[g]);
		orr_after(s, op, d->forward_in[(size_t)g * d->m + micro]);
		orr_takes(s, op, d->device[g], d->cost[g].stored_bytes);
		orr_label(s, op, "F%u", micro);
		d->tail[g] = d->forward[g] = op;
	}
	sum_shards(d, s, x, SUMS_FORWARD);
	for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus && stage + 1 == d->n; g++)
		d->backward_in[(size_t)g * d->m + micro] = d->forward[g];
	if (stage + 1 < d->n)
		send(d, s, x, x + 1, false, micro);
}

/* Returns whether backward recomputes activations. */
static bool is_again(const struct stage *c)
{
	return c->working_bytes > 0 || c->recompute_s > 0;
}

static void build_recompute(struct dapple *d, struct orr_step *s, const struct dapple_stage *x, uint32_t micro)
{
	for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++) {
		const struct stage *c = &d->cost[g];
		if (!is_again(c))
			return;
		orr_op op = orr_compute(s, d->device[g], ORR_RECOMPUTE, c->recompute_s);
		orr_after(s, op, d->tail[g]);
		orr_after(s, op, d->backward_in[(size_t)g * d->m + micro]);
		orr_takes(s, op, d->device[g], c->working_bytes);
		d->tail[g] = op;
	}
	sum_shards(d, s, x, SUMS_RECOMPUTE);
}

static void build_backward(struct dapple *d, struct orr_step *s, uint32_t stage, uint32_t micro, bool is_last)
{
	struct dapple_stage *x = &d->stage[stage];
	struct orr_update gradient = { .kind = ORR_GRADIENT };
	build_recompute(d, s, x, micro);
	for (uint32_t g = x->first_gpu; g < x->first_gpu + x->gpus; g++) {
		const struct stage *c = &d->cost[g];
		orr_op op = orr_compute(s, d->device[g], ORR_BACKWARD, c->backward_s);
		orr_after(s, op, d->tail[g]);
		orr_after(s, op, d->backward_in[(size_t)g * d->m + micro]);
		orr_gives(s, op, d->device[g], c->stored_bytes + (is_again(c) ? c->working_bytes : 0));
		orr_label(s, op, "B%u", micro);
		if (is_last)
			orr_updates(s, op, &gradient);
		d->tail[g] = d->forward[g] = op;
	}
	sum_shards(d, s, x, SUMS_BACKWARD);
	if (stage)
		send(d, s, x, x - 1, true, micro);
}

/* Sums gradients over n positions when all are ready; returns 0 if there is nothing to sum. */
static orr_op sum(struct dapple *d, struct orr_step *s, const uint32_t *at, uint32_t n, struct orr_collective c)
{
	c.op = ORR_ALL_REDUCE;
	if (n < 2 || !(c.bytes > 0))
		return 0;
	uint32_t *device = orr_alloc(n, sizeof *device);
	for (uint32_t i = 0; i < n; i++)
		device[i] = d->device[at[i]];
	orr_op op = orr_collective(s, &(struct orr_group){ device, n }, &c);
	for (uint32_t i = 0; i < n; i++)
		orr_after(s, op, d->tail[at[i]]);
	for (uint32_t i = 0; i < n; i++)
		d->tail[at[i]] = op;
	orr_free(device);
	return op;
}

/* Sums each shard over the groups of its stage. */
static void sum_stage(struct dapple *d, struct orr_step *s, uint32_t i, uint32_t *at)
{
	struct orr_update average = { .kind = ORR_AVERAGE_GRADIENTS };
	const struct dapple_stage *x = &d->stage[i];
	for (uint32_t k = 0; k < x->shards; k++) {
		struct orr_collective c = { .bytes = d->dp_bytes[i] >= 0 ? d->dp_bytes[i] : x->params * d->gradient_bytes };
		if (d->dp_bytes[i] < 0 && x->shards == 1) {
			c.first_layer = x->first;
			c.n_layers = x->layers;
		}
		for (uint32_t r = 0; r < x->groups; r++)
			at[r] = x->first_gpu + r * x->shards + k;
		orr_op op = sum(d, s, at, x->groups, c);
		orr_updates(s, op, &average);
		orr_label(s, op, "gradients %u", i);
	}
}

/* Sums a shared table over both ends. All GPUs of a stage already have the same sum, so each GPU of the end with fewer GPUs exchanges
 * it with its counterparts at the other end. */
static void sum_tied(struct dapple *d, struct orr_step *s, uint32_t *at)
{
	const struct dapple_stage *few = &d->stage[0], *many = &d->stage[d->n - 1];
	double bytes = d->tied_params * d->gradient_bytes / (few->shards > many->shards ? few->shards : many->shards);
	if (d->n == 1 || d->dp_bytes[0] >= 0 || d->dp_bytes[d->n - 1] >= 0)
		return;
	if (few->gpus > many->gpus) {
		const struct dapple_stage *other = few;
		few = many;
		many = other;
	}
	for (uint32_t g = 0; g < few->gpus; g++) {
		uint32_t n = 0;
		at[n++] = few->first_gpu + g;
		for (uint32_t k = g; k < many->gpus; k += few->gpus)
			at[n++] = many->first_gpu + k;
		orr_label(s, sum(d, s, at, n, (struct orr_collective){ .bytes = bytes }), "tied table");
	}
}

/* Sums each stage over its groups, then a shared table over both ends. */
static void build_sums(struct dapple *d, struct orr_step *s)
{
	uint32_t *at = orr_alloc(d->gpus, sizeof *at);
	for (uint32_t i = 0; i < d->n; i++)
		sum_stage(d, s, i, at);
	sum_tied(d, s, at);
	orr_free(at);
}

static void build_update(struct dapple *d, struct orr_step *s, uint32_t gpu)
{
	struct orr_update step = { .kind = ORR_LOCAL_UPDATE };
	orr_op op = orr_compute(s, d->device[gpu], ORR_OPTIMIZER, d->update_s[gpu]);
	orr_after(s, op, d->tail[gpu]);
	orr_updates(s, op, &step);
	orr_label(s, op, "update");
	d->tail[gpu] = op;
}

/* Builds the next pass of a stage; returns false if its input is not built yet. */
static bool build_pass(struct dapple *d, struct orr_step *s, uint32_t stage)
{
	struct dapple_stage *x = &d->stage[stage];
	if (x->next == 2 * d->m)
		return false;
	const struct pass *at = &x->order[x->next];
	size_t in = (size_t)x->first_gpu * d->m + at->micro;
	if (at->is_backward ? !d->backward_in[in] : stage && !d->forward_in[in])
		return false;
	x->next++;
	if (at->is_backward)
		build_backward(d, s, stage, at->micro, x->next == 2 * d->m);
	else
		build_forward(d, s, stage, at->micro);
	return true;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct dapple *d = self;
	size_t inputs = (size_t)d->gpus * d->m, built = 0;
	(void)iteration;
	memset(d->forward_in, 0, inputs * sizeof *d->forward_in);
	memset(d->backward_in, 0, inputs * sizeof *d->backward_in);
	for (uint32_t i = 0; i < d->n; i++)
		d->stage[i].next = 0;
	for (size_t before = 1; before;) {
		before = 0;
		for (uint32_t i = 0; i < d->n; i++)
			while (build_pass(d, s, i))
				before++;
		built += before;
	}
	if (built < 2 * (size_t)d->m * d->n)
		return orr_fail(
			err, ORR_EFAIL, "the schedule stops after %zu of %zu passes: expected all of them", built, 2 * (size_t)d->m * d->n);
	build_sums(d, s);
	for (uint32_t g = 0; g < d->gpus; g++)
		build_update(d, s, g);
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct dapple *d = self;
	size_t n = (size_t)snprintf(out, size, "%u micro-batches of %g, stages of layers x GPUs (K)", d->m, d->micro);
	for (uint32_t i = 0; i < d->n && n + 40 < size; i++)
		n += (size_t)snprintf(out + n, size - n, " %ux%u (%u)", d->stage[i].layers, d->stage[i].gpus, d->stage[i].k);
	if (d->exposed_s > 0 && n < size)
		snprintf(out + n, size - n, "; transfers after stage %u add %.3g ms to each micro-batch (warmup=B hides more than A)",
			d->exposed_at, d->exposed_s * 1e3);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(dapple, "pipeline: early backward passes, separate replication of each stage (DAPPLE)", params, ops);

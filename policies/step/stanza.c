/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stanza: layer separation (Wu, Xu, Li, Xiong, "Stanza: Layer Separation for Distributed Training in Deep Learning", IEEE
 * Transactions on Services Computing 2020; arXiv 1812.10624).
 *
 * Of N workers, C hold the convolutional layers and F the fully connected layers, so the large gradients of the fully connected
 * layers stay among the F workers:
 *
 *	1  each CONV worker: forward over its layers
 *	2  its last activations go to its FC worker
 *	3  FC worker: forward over the batches of its C / F CONV workers
 *	4  FC worker: backward
 *	5  the gradient of the activations goes back
 *	6  CONV workers: backward
 *	7  the FC workers average their gradients
 *	8  the CONV workers average theirs: ring, or through servers
 *	9  update
 *
 * The separation is that of the paper's abstract and introduction. This is the only order of steps that is consistent with
 * them; details are parameters. The closed form of the step (docs/models/step-stanza-ds-sync-ako.md) gives F, because the
 * paper's own rule is unknown.
 */
#include <orrery/step.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("workers", "0", 0, 1048576, "GPUs that take part, CONV and FC together; 0: all"),
	ORR_PARAM_INT("fc_workers", "0", 0, 1048576, "workers that hold the fully connected layers; 0: the best by the closed form"),
	ORR_PARAM_CHOICE("conv_sync", "ring", "ring|server|servers",
		"how CONV gradients are averaged: ring all-reduce, one server, conv_servers servers"),
	ORR_PARAM_INT("conv_servers", "1", 1, 4096, "number of servers with conv_sync=servers"),
	ORR_PARAM_BOOL("overlap_conv_sync", false, "average the gradients of a layer during the backward pass"),
	ORR_PARAM_CHOICE("fc_batching", "one", "one|worker", "FC workers process all batches at once, or each as it arrives"),
	ORR_PARAM_CHOICE(
		"fc_sync", "late", "late|early", "FC workers average at the same time as the CONV workers, or as soon as possible"),
	ORR_PARAM_END };

enum sync { SYNC_RING, SYNC_SERVER, SYNC_SERVERS };

struct stanza {
	struct orr_step_facts facts;
	uint32_t n, conv, fc; /* CONV workers are GPUs 0..conv-1, FC workers are the next fc */
	uint32_t cut;         /* first fully connected layer */
	enum sync sync;
	uint32_t servers;
	uint32_t *server; /* endpoints: hosts without GPUs if there are any, else FC workers */
	bool does_overlap, is_per_worker, is_early;
	double conv_bytes, fc_bytes, activation_bytes; /* conv, fc: bytes of the gradients; activation: bytes of the activations of one
							  worker's batch, in one direction */
	double step_s;                                 /* step time by the closed form */
	orr_op *update;                                /* [n] */
	orr_op *scratch;                               /* [4 n] */
};

/* ---- the closed form ---- */

static double passes(const struct orr_step *s, const struct stanza *z, uint32_t device, bool is_conv, double batch, int which)
{
	uint32_t first = is_conv ? 0 : z->cut, count = is_conv ? z->cut : z->facts.layers - z->cut;
	double forward = orr_cost(s, device, ORR_PASS_FORWARD, first, count, batch, 1);
	double backward = orr_cost(s, device, ORR_PASS_BACKWARD_DATA, first, count, batch, 1) +
			  orr_cost(s, device, ORR_PASS_BACKWARD_WEIGHT, first, count, batch, 1);
	return which < 0 ? forward : which > 0 ? backward : forward + backward;
}

/* Workers that are neighbours share nodes, so the route between the first and the last one of a ring is its slowest hop. */
static double ring_s(const struct orr_step *s, uint32_t first, uint32_t n, double bytes)
{
	return n < 2 ? 0 : 2 * (n - 1.0) / n * bytes / orr_bandwidth(s, first, first + n - 1);
}

/* Returns the largest number of n workers that share a NIC, from the first one on; 1 if all workers are on one node. */
static double sharers(const struct orr_step *s, const struct stanza *z, uint32_t first, uint32_t n)
{
	uint32_t run = 0, most = 0;
	if (orr_node_of(s, 0) == orr_node_of(s, z->n - 1))
		return 1;
	for (uint32_t i = first; i < first + n; i++) {
		run = i > first && orr_node_of(s, i) == orr_node_of(s, i - 1) ? run + 1 : 1;
		most = run > most ? run : most;
	}
	return fmax(1, (double)most / orr_step_nics(s));
}

static double closed_form(const struct orr_step *s, const struct stanza *z, uint32_t fc)
{
	uint32_t conv = z->n - fc;
	double c = conv, f = fc, per = fmax(1, c / f), B = orr_bandwidth(s, 0, z->n - 1); /* a batch is not divided among FC workers */
	double sync_c = z->sync == SYNC_RING ? ring_s(s, 0, conv, z->conv_bytes)
					     : 2 * c / (z->sync == SYNC_SERVERS ? z->servers : 1) * z->conv_bytes / B;
	double sync_f = ring_s(s, conv, fc, z->fc_bytes);
	double busiest = fmax(per * sharers(s, z, conv, fc), sharers(s, z, 0, conv)); /* batches over the busiest NIC */
	return passes(s, z, 0, true, z->facts.batch, 0) + passes(s, z, z->n - 1, false, z->facts.batch * per, 0) +
	       2 * busiest * z->activation_bytes / B + fmax(sync_c, sync_f);
}

static void choose_fc(const struct orr_step *s, struct stanza *z)
{
	double best = 0;
	for (uint32_t f = 1; f < z->n; f++) {
		double rate = (z->n - f) * z->facts.batch / closed_form(s, z, f);
		if (rate > best) {
			best = rate;
			z->fc = f;
		}
	}
}

/* ---- setting up ---- */

static void destroy(void *self)
{
	struct stanza *z = self;
	orr_free(z->server);
	orr_free(z->update);
	orr_free(z->scratch);
	orr_free(z);
}

static int place_servers(struct orr_step *s, struct stanza *z, struct orr_error *err)
{
	bool *has_gpu = orr_alloc(z->facts.nodes + 1u, sizeof *has_gpu);
	z->server = orr_alloc(z->servers, sizeof *z->server);
	for (uint32_t g = 0; g < z->facts.gpus; g++)
		has_gpu[orr_node_of(s, g)] = true;
	uint32_t n = 0;
	for (uint32_t i = 0; i < z->facts.nodes && n < z->servers; i++)
		if (!has_gpu[i])
			z->server[n++] = z->facts.gpus + i;
	orr_free(has_gpu);
	for (uint32_t i = 0; n < z->servers; i++, n++) {
		if (i == z->fc)
			return orr_fail(err, ORR_EINPUT,
				"conv_servers: %u: expected at most one per node without GPUs (%u) and FC worker (%u)", z->servers, n - i,
				z->fc);
		z->server[n] = z->conv + i;
	}
	return ORR_OK;
}

static int set_up(struct orr_step *s, struct stanza *z, const struct orr_args *args, struct orr_error *err)
{
	struct orr_layer_info border;
	z->cut = z->facts.fc_first;
	if (!z->cut || z->cut >= z->facts.layers)
		return orr_fail(err, ORR_EINPUT, "the model: expected a fully connected classifier after other layers");
	if (z->facts.gpus < 2)
		return orr_fail(
			err, ORR_EINPUT, "the cluster: expected at least 2 GPUs, one for each of the parts, found %u", z->facts.gpus);
	if (z->n > z->facts.gpus || z->n < 2)
		return orr_fail(err, ORR_EINPUT, "workers: expected 2 to %u, the GPUs of the cluster, found %u", z->facts.gpus, z->n);
	orr_step_layer(s, z->cut - 1, &border);
	z->conv_bytes = orr_step_params(s, 0, z->cut) * z->facts.gradient_bytes;
	z->fc_bytes = orr_step_params(s, z->cut, z->facts.layers - z->cut) * z->facts.gradient_bytes;
	z->activation_bytes = z->facts.batch * border.out_elems * z->facts.activation_bytes;
	z->fc = (uint32_t)orr_arg_int(args, "fc_workers");
	if (!z->fc)
		choose_fc(s, z);
	if (z->fc >= z->n)
		return orr_fail(err, ORR_EINPUT, "fc_workers: expected fewer than the %u workers, found %u", z->n, z->fc);
	z->conv = z->n - z->fc;
	z->step_s = closed_form(s, z, z->fc);
	return z->sync == SYNC_RING ? ORR_OK : place_servers(s, z, err);
}

static void hold(struct orr_step *s, const struct stanza *z)
{
	for (uint32_t i = 0; i < z->n; i++) {
		bool is_conv = i < z->conv;
		uint32_t first = is_conv ? 0 : z->cut, count = is_conv ? z->cut : z->facts.layers - z->cut;
		const char *what = is_conv ? "CONV worker" : "FC worker";
		double n = orr_step_params(s, first, count), saved = 0;
		double batch = is_conv ? z->facts.batch : z->facts.batch * ceil((double)z->conv / z->fc);
		for (uint32_t l = first; l < first + count; l++) {
			struct orr_layer_info info;
			orr_step_layer(s, l, &info);
			saved += info.saved_elems;
		}
		orr_hold(s, i, ORR_MEMORY_WEIGHTS, n * z->facts.weight_bytes, what);
		orr_hold(s, i, ORR_MEMORY_GRADIENTS, n * z->facts.gradient_bytes, what);
		orr_hold(s, i, ORR_MEMORY_OPTIMIZER, n * z->facts.optimizer_bytes, what);
		orr_hold(s, i, ORR_MEMORY_ACTIVATIONS, batch * saved * z->facts.activation_bytes, what);
	}
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	struct stanza *z = orr_alloc(1, sizeof *z);
	const char *sync = orr_arg_text(args, "conv_sync");
	orr_step_facts(s, &z->facts);
	z->n = (uint32_t)orr_arg_int(args, "workers");
	if (!z->n)
		z->n = z->facts.gpus;
	z->sync = !strcmp(sync, "ring") ? SYNC_RING : !strcmp(sync, "server") ? SYNC_SERVER : SYNC_SERVERS;
	z->servers = z->sync == SYNC_SERVERS ? (uint32_t)orr_arg_int(args, "conv_servers") : 1;
	z->does_overlap = orr_arg_bool(args, "overlap_conv_sync");
	z->is_per_worker = !strcmp(orr_arg_text(args, "fc_batching"), "worker");
	z->is_early = !strcmp(orr_arg_text(args, "fc_sync"), "early");
	z->update = orr_alloc(z->n + 1u, sizeof *z->update);
	z->scratch = orr_alloc(4 * ((size_t)z->n + 1), sizeof *z->scratch);
	if (set_up(s, z, args, err)) {
		destroy(z);
		return NULL;
	}
	hold(s, z);
	orr_step_samples(s, z->conv * z->facts.batch);
	return z;
}

/* ---- the graph ---- */

static uint32_t fc_of(const struct stanza *z, uint32_t conv)
{
	return z->conv + conv % z->fc;
}

static uint32_t served(const struct stanza *z, uint32_t fc)
{
	return z->conv / z->fc + (fc - z->conv < z->conv % z->fc);
}

/* Builds steps 1 to 5: fills in back[i], the arrival of the gradient at CONV worker i, and fc_done[f]. */
static void forth_and_back(struct orr_step *s, const struct stanza *z, orr_op *back, orr_op *fc_done)
{
	double b = z->facts.batch;
	orr_op *arrived = z->scratch + 2 * z->n;
	for (uint32_t i = 0; i < z->conv; i++) {
		orr_op forward = orr_compute(s, i, ORR_FORWARD, passes(s, z, i, true, b, -1));
		orr_after(s, forward, z->update[i]);
		arrived[i] = orr_transfer(s, i, fc_of(z, i), z->activation_bytes);
		orr_label(s, arrived[i], "activations");
		orr_after(s, arrived[i], forward);
	}
	for (uint32_t f = z->conv; f < z->n; f++) {
		orr_op last = z->update[f];
		uint32_t batches = z->is_per_worker ? served(z, f) : 1;
		for (uint32_t k = 0; k < batches; k++) {
			double size = z->is_per_worker ? b : b * served(z, f);
			orr_op forward = orr_compute(s, f, ORR_FORWARD, passes(s, z, f, false, size, -1));
			orr_op backward = orr_compute(s, f, ORR_BACKWARD, passes(s, z, f, false, size, 1));
			orr_after(s, forward, last);
			orr_after(s, backward, forward);
			for (uint32_t i = f - z->conv, at = 0; i < z->conv; i += z->fc, at++) {
				if (z->is_per_worker && at != k)
					continue;
				orr_after(s, forward, arrived[i]);
				back[i] = orr_transfer(s, f, i, z->activation_bytes);
				orr_label(s, back[i], "gradient of activations");
				orr_after(s, back[i], backward);
			}
			fc_done[f - z->conv] = backward;
			last = z->is_per_worker ? z->update[f] : backward;
		}
	}
}

/* Averages layers first..first+count-1 among the CONV workers. ready[i]: worker i's gradient is ready. The last average of an
 * iteration reports the update to sim/learn for all layers. */
static orr_op average(
	struct orr_step *s, const struct stanza *z, uint32_t first, uint32_t count, const orr_op *ready, const uint32_t *device)
{
	double bytes = orr_step_params(s, first, count) * z->facts.gradient_bytes;
	bool is_last = first == 0;
	if (z->sync == SYNC_RING) {
		orr_op sum = orr_collective(s, &(struct orr_group){ device, z->conv },
			&(struct orr_collective){
				.op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = bytes, .first_layer = first, .n_layers = count });
		for (uint32_t i = 0; i < z->conv; i++)
			orr_after(s, sum, ready[i]);
		orr_on_stream(s, sum, 1);
		orr_label(s, sum, "average layers %u..%u", first, first + count - 1);
		if (is_last)
			orr_updates(s, sum, &(struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS });
		return sum;
	}
	orr_op *pulls = orr_alloc((size_t)z->conv * z->servers, sizeof *pulls);
	uint32_t n = 0;
	for (uint32_t j = 0; j < z->servers; j++) {
		orr_op *pushes = orr_alloc(z->conv, sizeof *pushes);
		for (uint32_t i = 0; i < z->conv; i++) {
			pushes[i] = orr_transfer(s, i, z->server[j], bytes / z->servers);
			orr_carries(s, pushes[i], first, count);
			orr_after(s, pushes[i], ready[i]);
			if (is_last)
				orr_updates(s, pushes[i],
					&(struct orr_update){ .kind = ORR_PUSH,
						.worker = i,
						.slice = j,
						.slices = z->servers,
						.window = z->conv,
						.scale = 1.0 / z->conv });
		}
		orr_op all = orr_mark(s);
		for (uint32_t i = 0; i < z->conv; i++)
			orr_after(s, all, pushes[i]);
		for (uint32_t i = 0; i < z->conv; i++) {
			pulls[n] = orr_transfer(s, z->server[j], i, bytes / z->servers);
			orr_after(s, pulls[n], all);
			if (is_last)
				orr_updates(s, pulls[n],
					&(struct orr_update){ .kind = ORR_PULL, .worker = i, .slice = j, .slices = z->servers });
			n++;
		}
		orr_free(pushes);
	}
	orr_op done = orr_mark(s);
	for (uint32_t i = 0; i < n; i++)
		orr_after(s, done, pulls[i]);
	orr_free(pulls);
	return done;
}

/* Builds steps 6 and 8 with overlap: layer by layer from the last; a layer without parameters is sent with the next. */
static orr_op backward_overlapped(struct orr_step *s, const struct stanza *z, orr_op *at, const uint32_t *device)
{
	orr_op all = 0;
	uint32_t end = z->cut;
	for (uint32_t l = z->cut; l--;) {
		if (l && orr_step_params(s, l, 1) <= 0)
			continue;
		for (uint32_t i = 0; i < z->conv; i++) {
			orr_op part = orr_compute(s, i, ORR_BACKWARD,
				orr_cost(s, i, ORR_PASS_BACKWARD_DATA, l, end - l, z->facts.batch, 1) +
					orr_cost(s, i, ORR_PASS_BACKWARD_WEIGHT, l, end - l, z->facts.batch, 1));
			orr_after(s, part, at[i]);
			if (end == z->cut)
				orr_updates(s, part, &(struct orr_update){ .kind = ORR_GRADIENT });
			at[i] = part;
		}
		if (orr_step_params(s, l, end - l) > 0) {
			orr_op sum = average(s, z, l, end - l, at, device), both = orr_mark(s);
			orr_after(s, both, all);
			orr_after(s, both, sum);
			all = both;
		}
		end = l;
	}
	return all;
}

static orr_op backward_whole(struct orr_step *s, const struct stanza *z, orr_op *at, const uint32_t *device)
{
	for (uint32_t i = 0; i < z->conv; i++) {
		orr_op backward = orr_compute(s, i, ORR_BACKWARD, passes(s, z, i, true, z->facts.batch, 1));
		orr_after(s, backward, at[i]);
		orr_updates(s, backward, &(struct orr_update){ .kind = ORR_GRADIENT });
		at[i] = backward;
	}
	return z->conv > 1 ? average(s, z, 0, z->cut, at, device) : at[0];
}

static orr_op average_fc(struct orr_step *s, const struct stanza *z, const orr_op *fc_done, const orr_op *conv_done, const uint32_t *device)
{
	if (z->fc < 2)
		return 0;
	orr_op sum = orr_collective(s, &(struct orr_group){ device + z->conv, z->fc },
		&(struct orr_collective){ .op = ORR_ALL_REDUCE,
			.algorithm = ORR_RING,
			.bytes = z->fc_bytes,
			.first_layer = z->cut,
			.n_layers = z->facts.layers - z->cut });
	for (uint32_t f = 0; f < z->fc; f++)
		orr_after(s, sum, fc_done[f]);
	for (uint32_t i = 0; i < z->conv && !z->is_early; i++)
		orr_after(s, sum, conv_done[i]);
	orr_label(s, sum, "average FC layers");
	return sum;
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct stanza *z = self;
	orr_op *at = z->scratch, *fc_done = z->scratch + z->n;
	uint32_t *device = orr_alloc(z->n, sizeof *device);
	(void)iteration, (void)err;
	for (uint32_t i = 0; i < z->n; i++)
		device[i] = i;
	forth_and_back(s, z, at, fc_done);
	orr_op conv_sum = z->does_overlap && z->conv > 1 ? backward_overlapped(s, z, at, device) : backward_whole(s, z, at, device);
	orr_op fc_sum = average_fc(s, z, fc_done, at, device);
	orr_free(device);
	for (uint32_t i = 0; i < z->n; i++) {
		bool is_conv = i < z->conv;
		uint32_t first = is_conv ? 0 : z->cut, count = is_conv ? z->cut : z->facts.layers - z->cut;
		orr_op update = orr_compute(s, i, ORR_OPTIMIZER, orr_update_cost(s, i, orr_step_params(s, first, count)));
		orr_after(s, update, is_conv ? conv_sum : fc_sum);
		orr_after(s, update, is_conv ? at[i] : fc_done[i - z->conv]);
		if (is_conv && (z->sync == SYNC_RING || z->conv == 1)) /* servers have already updated the pulled parameters */
			orr_updates(s, update, &(struct orr_update){ .kind = ORR_LOCAL_UPDATE });
		z->update[i] = update;
	}
	/* A barrier ends the iteration. */
	orr_op barrier = orr_mark(s);
	for (uint32_t i = 0; i < z->n; i++)
		orr_after(s, barrier, z->update[i]);
	for (uint32_t i = 0; i < z->n; i++)
		z->update[i] = barrier;
	return ORR_OK;
}

static void describe(void *self, char *out, size_t size)
{
	const struct stanza *z = self;
	snprintf(out, size, "C=%u CONV workers, F=%u FC workers; closed form %.6g s", z->conv, z->fc, z->step_s);
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(stanza, "layer separation: most workers train the CONV layers, a few train the FC layers", params, ops);

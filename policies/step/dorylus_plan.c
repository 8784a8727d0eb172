/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters, list of tasks, sizes and times. Formulas: docs/models/step-dorylus.md. */
#include "dorylus.h"

#include <math.h>
#include <string.h>

enum { VALUE_BYTES = 4 };

/* clang-format off */
const struct orr_param dorylus_params[] = {
	ORR_PARAM_CHOICE("mode", "lambda", "lambda|cpu|gpu", "where tensor tasks run: on functions, on the graph servers' CPUs, on GPUs"),
	ORR_PARAM_CHOICE("variant", "pipe", "pipe|no-pipe|async",
		"pipe: barriers after scatters; no-pipe: after every task; async: none, epochs drift apart by `staleness`; cpu and gpu: no-pipe"),
	ORR_PARAM_INT("staleness", "0", 0, 1000, "async: a chunk runs epoch e when all chunks have ended e - staleness - 1"),
	ORR_PARAM_INT("weight_servers", "1", 0, 100000, "number of weight servers, the last devices of the cluster; 0: each graph server keeps weights"),
	ORR_PARAM_INT("chunks", "0", 0, 100000, "vertex intervals per graph server; 0: lambdas (cpu, gpu: 1)"),
	ORR_PARAM_INT("peers", "0", 0, 100000, "number of servers that receive the ghosts of one chunk, in turn; 0: all servers"),
	ORR_PARAM_BOOL("fuse", true, "the task AV of the last layer also does that layer's backward task"),
	ORR_PARAM_BOOL("rematerialise", true, "the backward task of AV recomputes the layer's output; false: functions pull it"),
	ORR_PARAM_INT("lambdas", "50", 1, 10000, "concurrent functions per graph server"),
	ORR_PARAM_BOOL("lambda_autotune", false, "start with min(chunks, 100) functions and adjust the number after each epoch by the value of the epoch"),
	ORR_PARAM_REAL("lambda_memory", "192", 1, 1e6, "memory of a function, MiB"),
	ORR_PARAM_REAL("lambda_start", "0.02", 0, 1000, "median start time of an invocation, s"),
	ORR_PARAM_REAL("lambda_start_spread", "0", 0, 10, "sigma of the logarithm of the start time"),
	ORR_PARAM_REAL("lambda_bandwidth", "25e6", 1, 1e12, "link of a function, bytes/s each direction"),
	ORR_PARAM_REAL("lambda_bandwidth_loss", "0", 0, 1e6, "decrease with concurrency: the bandwidth is divided by 1 + loss x (lambdas - 1)"),
	ORR_PARAM_REAL("lambda_rate", "0", 0, 1e15, "FLOP/s of a function; 0: 40e9 per vCPU, a vCPU per 1769 MiB"),
	ORR_PARAM_REAL("lambda_tail_p", "0", 0, 1, "probability that an invocation takes longer"),
	ORR_PARAM_REAL("lambda_tail", "1", 0, 1e6, "the least additional time of such an invocation, s"),
	ORR_PARAM_REAL("lambda_tail_exponent", "1.5", 0.1, 100, "exponent of the Pareto law of this time"),
	ORR_PARAM_REAL("lambda_usd_per_GB_s", "1.66667e-5", 0, 1e3, "price of memory x billed time"),
	ORR_PARAM_REAL("lambda_usd_per_request", "2e-7", 0, 1e3, "price of an invocation"),
	ORR_PARAM_REAL("lambda_rounding", "0.1", 0, 1000, "the billed time is rounded up to a multiple of this, s; 0: exact"),
	ORR_PARAM_BOOL("relaunch", true, "start stragglers again; the first result is used"),
	ORR_PARAM_REAL("relaunch_ratio", "5", 0, 1e6, "a vertex task is a straggler when older than this multiple of the moving mean of its layer"),
	ORR_PARAM_REAL("relaunch_after", "0.5", 0, 1e6, "minimum age at which a vertex task is a straggler, s"),
	ORR_PARAM_REAL("relaunch_edge", "6", 0, 1e6, "age at which an edge task is a straggler, s"),
	ORR_PARAM_REAL("relaunch_check", "0.5", 1e-6, 1e6, "time between two checks, s"),
	ORR_PARAM_BOOL("gpu_copies", true, "gpu: inputs and results of every task cross PCIe"),
	ORR_PARAM_REAL("pcie_Bps", "15.75e9", 1, 1e15, "gpu: rate of these copies, bytes/s"),
	ORR_PARAM_LIST("task_s", "", "times of GA, AV, SC, AE and WU of a chunk, s, in place of the models; no bytes are sent"),
	ORR_PARAM_END
};
/* clang-format on */

static double width_of(const struct orr_step *s, const struct dorylus *d, uint32_t layer, bool of_output)
{
	struct orr_layer_info info;
	orr_step_layer(s, layer * d->g.of_each + d->g.apply, &info);
	return of_output ? info.rows : info.columns;
}

static double params_of(const struct orr_step *s, const struct dorylus *d, uint32_t layer)
{
	return orr_step_params(s, layer * d->g.of_each + d->g.apply, 1);
}

/* Returns the time of a pass over one model layer, given by layer and place, for a chunk on a graph server, s. */
static double server_s(
	const struct orr_step *s, const struct dorylus *d, uint32_t server, enum orr_pass pass, uint32_t layer, uint32_t place)
{
	return orr_cost(s, server, pass, layer * d->g.of_each + place, 1, d->rows, 1);
}

static double copies_s(const struct dorylus *d, double bytes)
{
	bool has_copies = d->mode == BY_GPU && orr_arg_bool(d->args, "gpu_copies");
	return has_copies ? bytes / orr_arg_real(d->args, "pcie_Bps") : 0;
}

static double lambda_rate(const struct dorylus *d)
{
	double given = orr_arg_real(d->args, "lambda_rate");
	return given > 0 ? given : 40e9 * orr_arg_real(d->args, "lambda_memory") / 1769;
}

/* ---- tasks ---- */

static struct task *add(struct dorylus *d, enum task_kind kind, uint32_t layer, bool is_backward)
{
	struct task *t = &d->task[d->tasks++];
	*t = (struct task){ .kind = kind, .layer = layer, .is_backward = is_backward };
	t->seconds = orr_alloc(d->servers, sizeof *t->seconds);
	t->has_barrier = d->variant == NO_PIPE || kind == SC;
	return t;
}

/* Returns the width of the rows that GA sums: the layer's input width for GCN, its output width for GAT. */
static double gathered_width(const struct orr_step *s, const struct dorylus *d, uint32_t layer)
{
	return width_of(s, d, layer, d->g.has_attention);
}

static void add_gather(struct dorylus *d, const struct orr_step *s, uint32_t layer, bool is_backward)
{
	struct task *t = add(d, GA, layer, is_backward);
	double width = gathered_width(s, d, layer);
	for (uint32_t i = 0; i < d->servers; i++)
		t->seconds[i] = server_s(s, d, i, is_backward ? ORR_PASS_BACKWARD_DATA : ORR_PASS_FORWARD, layer, d->g.gather) +
				copies_s(d, VALUE_BYTES * width * (2 * d->rows + d->ghosts));
}

static void add_scatter(struct dorylus *d, double width, uint32_t layer, bool is_backward)
{
	struct task *t = add(d, SC, layer, is_backward);
	t->out_bytes = VALUE_BYTES * width * d->ghosts;
}

static void add_edges(struct dorylus *d, const struct orr_step *s, uint32_t layer, bool is_backward)
{
	struct task *t = add(d, AE, layer, is_backward);
	double edges = d->g.edges / d->n;
	t->in_bytes = 2 * VALUE_BYTES * edges;
	t->out_bytes = VALUE_BYTES * edges;
	for (uint32_t i = 0; i < d->servers; i++)
		t->seconds[i] = d->mode == BY_LAMBDA
					? 6 * edges / lambda_rate(d)
					: server_s(s, d, i, is_backward ? ORR_PASS_BACKWARD_DATA : ORR_PASS_FORWARD, layer, d->g.edge) +
						  copies_s(d, t->in_bytes + t->out_bytes);
}

/*
 * Adds AV. The forward task computes the matrix product of the input and the layer's weights. It pulls the input and pushes the output.
 * The backward task pulls the input and the output gradient. It computes the weight gradient and, except in layer 0, the input gradient.
 */
static void add_apply(struct dorylus *d, const struct orr_step *s, uint32_t layer, bool is_backward, bool is_fused)
{
	struct task *t = add(d, AV, layer, is_backward);
	double in = VALUE_BYTES * d->rows * width_of(s, d, layer, false), out = VALUE_BYTES * d->rows * width_of(s, d, layer, true);
	bool recomputes = is_backward && d->rematerialises, has_rows = layer > 0;
	double forward = 2 * d->rows * width_of(s, d, layer, false) * width_of(s, d, layer, true), flops = 0;
	t->is_fused = is_fused;
	t->has_gradient = is_backward || is_fused;
	t->weight_bytes = VALUE_BYTES * params_of(s, d, layer);
	t->in_bytes = in + (is_backward ? out + (recomputes ? 0 : out) : 0) + (is_fused ? VALUE_BYTES * d->rows : 0); /* labels */
	t->out_bytes = t->has_gradient ? has_rows ? in : 0 : out;
	flops += !is_backward || recomputes ? forward : 0;
	flops += t->has_gradient ? forward * (1 + has_rows) : 0;
	for (uint32_t i = 0; i < d->servers; i++) {
		double *seconds = &t->seconds[i];
		if (d->mode == BY_LAMBDA) {
			*seconds = flops / lambda_rate(d);
			continue;
		}
		*seconds += !is_backward || recomputes ? server_s(s, d, i, ORR_PASS_FORWARD, layer, d->g.apply) : 0;
		*seconds += t->has_gradient ? server_s(s, d, i, ORR_PASS_BACKWARD_WEIGHT, layer, d->g.apply) : 0;
		*seconds += t->has_gradient && has_rows ? server_s(s, d, i, ORR_PASS_BACKWARD_DATA, layer, d->g.apply) : 0;
		*seconds += copies_s(d, t->in_bytes + t->out_bytes);
	}
}

/* Adds all tasks in order. GCN: GA, AV, SC per layer; backward AV, SC, GA. GAT: AV, SC, AE, GA; backward SC, GA, AE, AV. */
static void add_all(struct dorylus *d, const struct orr_step *s)
{
	uint32_t last = d->g.layers - 1;
	bool is_gat = d->g.has_attention;
	for (uint32_t l = 0; l <= last; l++) {
		if (!is_gat)
			add_gather(d, s, l, false);
		add_apply(d, s, l, false, !is_gat && d->is_fused && l == last);
		if (is_gat || l < last)
			add_scatter(d, width_of(s, d, l, true), l, false);
		if (!is_gat)
			continue;
		add_edges(d, s, l, false);
		add_gather(d, s, l, false);
	}
	for (uint32_t l = last; l <= last; l--) {
		if (is_gat) {
			add_scatter(d, width_of(s, d, l, true), l, true);
			add_gather(d, s, l, true);
			add_edges(d, s, l, true);
		}
		if (is_gat || !d->is_fused || l < last)
			add_apply(d, s, l, true, false);
		if (!is_gat && l > 0) {
			add_scatter(d, width_of(s, d, l, false), l, true);
			add_gather(d, s, l, true);
		}
	}
}

static int give_times(struct dorylus *d, struct orr_error *err)
{
	size_t n;
	d->given_s = orr_arg_list(d->args, "task_s", &n);
	if (!n) {
		d->given_s = NULL;
		return ORR_OK;
	}
	for (size_t i = 0; i < n; i++)
		if (!(d->given_s[i] >= 0) || d->given_s[i] > 1e6)
			n = 0;
	if (n != TASK_KINDS)
		return orr_fail(err, ORR_EINPUT, "dorylus: task_s: expected 5 times from 0 to 1e6 s: of GA, AV, SC, AE and WU");
	for (uint32_t i = 0; i < d->tasks; i++) {
		struct task *t = &d->task[i];
		for (uint32_t j = 0; j < d->servers; j++)
			t->seconds[j] = d->given_s[t->kind];
		t->in_bytes = t->out_bytes = t->weight_bytes = 0;
	}
	for (uint32_t i = 0; i < d->weight_servers; i++)
		d->update_s[i] = d->given_s[WU];
	return ORR_OK;
}

/* ---- parameters ---- */

static int place(struct dorylus *d, struct orr_error *err)
{
	uint32_t w = (uint32_t)orr_arg_int(d->args, "weight_servers");
	double rate = orr_arg_real(d->args, "lambda_rate");
	if (rate > 0 && rate < 1e6)
		return orr_fail(err, ORR_EINPUT, "dorylus: lambda_rate: expected 0, or FLOP/s from 1e6 (a vCPU has 40e9), found %g", rate);
	if (orr_arg_real(d->args, "lambda_bandwidth") < 1e3)
		return orr_fail(err, ORR_EINPUT, "dorylus: lambda_bandwidth: expected bytes/s from 1000, found %g",
			orr_arg_real(d->args, "lambda_bandwidth"));
	if (w >= d->f.gpus)
		return orr_fail(err, ORR_EINPUT, "dorylus: weight_servers: expected fewer than the %u devices of the cluster, found %u",
			d->f.gpus, w);
	d->servers = d->f.gpus - w;
	d->weight_servers = w ? w : d->servers;
	d->lambdas = (uint32_t)orr_arg_int(d->args, "lambdas");
	d->chunks_each = (uint32_t)orr_arg_int(d->args, "chunks");
	if (!d->chunks_each)
		d->chunks_each = d->mode == BY_LAMBDA ? d->lambdas : 1;
	if ((double)d->chunks_each * d->servers > d->g.vertices || (double)d->chunks_each * d->servers > 1e7)
		return orr_fail(err, ORR_EINPUT,
			"dorylus: %u chunks on each of %u graph servers: expected at most 10 million and at most one per vertex (%.15g)",
			d->chunks_each, d->servers, d->g.vertices);
	d->n = d->chunks_each * d->servers;
	d->peers = (uint32_t)orr_arg_int(d->args, "peers");
	if (!d->peers || d->peers > d->servers - 1)
		d->peers = d->servers - 1;
	return ORR_OK;
}

static void hold(const struct dorylus *d, struct orr_step *s)
{
	double widths = width_of(s, d, 0, false), ghosts = 0, rows = d->rows * d->chunks_each;
	for (uint32_t l = 0; l < d->g.layers; l++) {
		widths += gathered_width(s, d, l) + width_of(s, d, l, true);
		ghosts = fmax(ghosts, gathered_width(s, d, l));
	}
	/* Rows stay in the memory of the server. A GPU has a task's inputs and results, those of a gather with the edges. */
	double task = 8 * d->g.edges / d->n + VALUE_BYTES * ghosts * (2 * d->rows + d->ghosts);
	for (uint32_t i = 0; i < d->tasks && d->mode == BY_GPU; i++)
		task = fmax(task, d->task[i].in_bytes + d->task[i].out_bytes);
	for (uint32_t i = 0; i < d->servers; i++) {
		if (d->mode == BY_GPU) {
			orr_hold(s, i, ORR_MEMORY_ACTIVATIONS, task, "the rows of a task (larger `chunks`: smaller tasks)");
			continue;
		}
		orr_hold(s, i, ORR_MEMORY_ACTIVATIONS, VALUE_BYTES * rows * widths, "vertices of a graph server");
		orr_hold(s, i, ORR_MEMORY_BUFFERS, VALUE_BYTES * (2 * d->g.edges / d->servers + ghosts * d->ghosts * d->chunks_each), NULL);
	}
}

int dorylus_plan(struct dorylus *d, struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	const char *mode = orr_arg_text(args, "mode"), *variant = orr_arg_text(args, "variant");
	d->args = args;
	orr_step_facts(s, &d->f);
	if (!orr_step_graph(s, &d->g))
		return orr_fail(err, ORR_EINPUT,
			"dorylus: expected a graph neural network, a GCN or GAT, such as gcn_amazon or "
			"gcn:vertices=10000,edges=80000,widths=64-16-7");
	d->mode = !strcmp(mode, "cpu") ? BY_CPU : !strcmp(mode, "gpu") ? BY_GPU : BY_LAMBDA;
	d->variant = d->mode != BY_LAMBDA || !strcmp(variant, "no-pipe") ? NO_PIPE : !strcmp(variant, "async") ? ASYNC : PIPE;
	d->staleness = d->variant == ASYNC ? (uint32_t)orr_arg_int(args, "staleness") : 0;
	d->is_fused = orr_arg_bool(args, "fuse");
	d->rematerialises = orr_arg_bool(args, "rematerialise");
	if (place(d, err))
		return err->code;
	d->rows = d->g.vertices / d->n;
	d->ghosts = orr_step_ghosts(s, d->servers) / d->n;
	for (uint32_t l = 0; l < d->g.layers; l++)
		d->step_bytes[l] = VALUE_BYTES * params_of(s, d, l);
	add_all(d, s);
	d->update_s = orr_alloc(d->weight_servers, sizeof *d->update_s);
	for (uint32_t i = 0; i < d->weight_servers; i++) {
		for (uint32_t l = 0; l < d->g.layers; l++)
			d->update_s[i] += orr_update_cost(s, d->f.gpus - d->weight_servers + i, params_of(s, d, l)) / d->g.layers;
		d->update_s[i] *= (double)d->weight_servers / d->n;
	}
	hold(d, s);
	orr_step_samples(s, d->g.vertices);
	return give_times(d, err);
}

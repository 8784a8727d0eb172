/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of step policies: the model, the cluster, costs. */
#include "step/exec.h"
#include "step/functions.h"
#include "step/wire.h"

#include "base/mem.h"

#include <string.h>

void orr_step_facts(const struct orr_step *s, struct orr_step_facts *out)
{
	*out = s->facts;
}

void orr_step_layer(const struct orr_step *s, uint32_t layer, struct orr_layer_info *out)
{
	*out = (struct orr_layer_info){ .name = "", .block = NONE };
	if (layer >= s->facts.layers)
		return;
	const struct dnn_layer *l = &s->config->dnn->layer[layer];
	const struct cost *c = s->facts.gpus ? s->config->cost[s->type_of[0]] : NULL; /* options of costs are the same for all types */
	*out = (struct orr_layer_info){ .name = l->name,
		.kind = l->kind,
		.params = l->params,
		.fwd_flops = l->fwd_flops,
		.out_elems = l->out_elems,
		.saved_elems = c ? cost_saved_elems(c, layer) : l->saved_elems,
		.rows = l->rows,
		.columns = l->columns,
		.block = l->block,
		.tensors = l->tensors };
}

double orr_step_params(const struct orr_step *s, uint32_t first, uint32_t count)
{
	double sum = 0;
	for (uint32_t i = first; i < s->facts.layers && i - first < count; i++)
		sum += s->config->dnn->layer[i].params;
	return sum;
}

uint32_t orr_node_of(const struct orr_step *s, uint32_t device)
{
	return device < s->endpoints ? s->node_of[device] : NONE;
}

uint32_t orr_rack_of(const struct orr_step *s, uint32_t device)
{
	return device < s->first_function ? s->config->cluster->node[s->node_of[device]].rack : NONE;
}

double orr_device_memory(const struct orr_step *s, uint32_t device)
{
	if (is_function(s, device))
		return functions_memory(s, device);
	return device < s->facts.gpus ? s->config->device[s->type_of[device]]->memory_bytes : INFINITY;
}

bool orr_step_graph(const struct orr_step *s, struct orr_step_graph *out)
{
	const struct dnn *d = s->config->dnn;
	uint32_t each = d->has_attention ? 3 : 2;
	*out = (struct orr_step_graph){ .vertices = d->graph.vertices,
		.edges = d->graph.edges,
		.has_attention = d->has_attention,
		.layers = d->n_layers / each,
		.of_each = each,
		.gather = d->has_attention ? 2 : 0,
		.apply = d->has_attention ? 0 : 1,
		.edge = d->has_attention ? 1 : NONE };
	return d->graph.vertices > 0;
}

double orr_step_ghosts(const struct orr_step *s, uint32_t parts)
{
	const struct graph_shape *g = &s->config->dnn->graph;
	if (!(g->vertices > 0) || parts < 2)
		return 0;
	return g->edges <= 2e6 ? graph_ghosts_counted(g, parts, s->config->seed) : graph_ghosts_expected(g, parts);
}

static const struct cost *cost_of(const struct orr_step *s, uint32_t device)
{
	return device < s->facts.gpus ? s->config->cost[s->type_of[device]] : NULL;
}

static const enum dnn_pass passes[] = { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_WEIGHT };

/* Returns the time of all passes over layers first..end-1 by the cost model, for the batch of the scenario, s. */
static double all_passes(const struct orr_step *s, const struct cost *c, uint32_t first, uint32_t end)
{
	double sum = 0;
	for (int p = 0; p < 3; p++)
		sum += cost_range_s(c, first, end - first, passes[p], s->config->batch, 1, false);
	return sum;
}

/*
 * Applies step.compute_s: the option gives the sum, the cost model the shares of layers and passes. step.fc_share divides the
 * sum between the classifier and the layers before it. Other devices keep their speed relative to type 0.
 */
int facts_scale(struct orr_step *s)
{
	double given = orr_arg_real(s->config->options, "compute_s"), fc = orr_arg_real(s->config->options, "fc_share");
	uint32_t n = s->facts.layers, cut = s->facts.fc_first;
	s->scale_conv = s->scale_fc = 0;
	if (given <= 0) {
		if (fc >= 0)
			return orr_fail(
				&s->error, ORR_EINPUT, "step.fc_share: this option divides \"step.compute_s\": expected both options");
		return ORR_OK;
	}
	const struct cost *c = s->config->cost[0];
	double conv_s = all_passes(s, c, 0, cut), fc_s = all_passes(s, c, cut, n);
	if (fc < 0)
		fc = fc_s / (conv_s + fc_s);
	else if (cut >= n && fc > 0)
		return orr_fail(&s->error, ORR_EINPUT, "step.fc_share: model %s: expected a model with a fully connected classifier",
			s->config->dnn->name);
	s->scale_conv = conv_s > 0 ? given * (1 - fc) / conv_s : 0;
	s->scale_fc = fc_s > 0 ? given * fc / fc_s : 0;
	s->is_scaled = true;
	return ORR_OK;
}

static double scaled(
	const struct orr_step *s, const struct cost *c, enum orr_pass pass, uint32_t first, uint32_t end, double batch, uint32_t shards)
{
	uint32_t cut = s->facts.fc_first, to = end < cut ? end : cut, from = first > cut ? first : cut;
	double t = 0, b = s->config->batch;
	if (first < to)
		t += s->scale_conv * cost_range_s(c, first, to - first, passes[pass], b, 1, false);
	if (from < end)
		t += s->scale_fc * cost_range_s(c, from, end - from, passes[pass], b, 1, false);
	return t * batch / b / shards;
}

static double cost_of_range(const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch,
	uint32_t shards, bool is_sequence_parallel)
{
	const struct cost *c = cost_of(s, device);
	uint32_t n = s->facts.layers;
	if (!c || (unsigned)pass > ORR_PASS_BACKWARD_WEIGHT || first >= n || !(batch > 0))
		return 0;
	if (count > n - first)
		count = n - first;
	if (!shards)
		shards = 1;
	source_asked(s, device, s->is_scaled ? s->config->batch : batch, s->is_scaled ? 1 : shards, is_sequence_parallel);
	if (s->is_scaled)
		return scaled(s, c, pass, first, first + count, batch, shards);
	return cost_range_s(c, first, count, passes[pass], batch, shards, is_sequence_parallel);
}

double orr_cost(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards)
{
	return cost_of_range(s, device, pass, first, count, batch, shards, false);
}

double orr_cost_sequence_parallel(
	const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch, uint32_t shards)
{
	return cost_of_range(s, device, pass, first, count, batch, shards, true);
}

double orr_update_cost(const struct orr_step *s, uint32_t device, double params)
{
	const struct cost *c = cost_of(s, device);
	*s->uses |= STEP_USED_UPDATE;
	return c && !s->has_free_update ? cost_update_s(c, params, s->facts.optimizer_bytes) : 0;
}

static bool are_endpoints(const struct orr_step *s, uint32_t a, uint32_t b)
{
	return a < s->endpoints && b < s->endpoints && a != b;
}

static void note_network(const struct orr_step *s, uint32_t from, uint32_t to)
{
	if (are_endpoints(s, from, to) && (is_function(s, from) || s->node_of[from] != s->node_of[to]))
		*s->uses |= STEP_USED_NETWORK;
}

double orr_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to)
{
	note_network(s, from, to);
	return are_endpoints(s, from, to) ? wire_bandwidth(s, from, to) : INFINITY;
}

uint32_t orr_step_nics(const struct orr_step *s)
{
	return topo_nics(s->config->topo);
}

double orr_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to)
{
	note_network(s, from, to);
	return are_endpoints(s, from, to) ? wire_bandwidth_now(s, from, to) : INFINITY;
}

double orr_latency(const struct orr_step *s, uint32_t from, uint32_t to)
{
	note_network(s, from, to);
	return are_endpoints(s, from, to) ? wire_latency(s, from, to) : 0;
}

double orr_step_uniform(struct orr_step *s)
{
	s->is_random = true; /* after this call, iterations may no longer repeat */
	*s->uses |= STEP_USED_RANDOM;
	return rng_uniform(&s->policy_rng);
}

/* Returns whether create() is running: settings made there hold for all iterations. */
static bool is_creating(struct orr_step *s, const char *what)
{
	if (s->built || s->building)
		step_fail(s, ORR_EFAIL, "%s: called outside create(): expected a call in create()", what);
	return !s->built && !s->building;
}

void orr_step_samples(struct orr_step *s, double samples)
{
	if (!is_creating(s, "orr_step_samples"))
		return;
	if (!(samples > 0) || isinf(samples))
		step_fail(s, ORR_EFAIL, "orr_step_samples: expected a number above 0, found %g", samples);
	else
		s->samples = samples;
}

void orr_iteration_samples(struct orr_step *s, double samples)
{
	if (!s->building || s->reacting)
		step_fail(s, ORR_EFAIL, "orr_iteration_samples: called outside build(): expected a call in build()");
	else if (!(samples > 0) || isinf(samples))
		step_fail(s, ORR_EFAIL, "orr_iteration_samples: expected a number above 0, found %g", samples);
	else
		s->building->samples = samples;
}

void orr_step_period(struct orr_step *s, uint32_t period)
{
	if (!is_creating(s, "orr_step_period"))
		return;
	s->graph_period = period;
	s->has_period = true;
}

void orr_step_co_run(struct orr_step *s)
{
	if (is_creating(s, "orr_step_co_run"))
		corun_allow(s);
}

void orr_step_lanes(struct orr_step *s, uint32_t lanes, uint32_t positions, const uint32_t *map)
{
	if (!is_creating(s, "orr_step_lanes"))
		return;
	if (s->map || !map) {
		step_fail(s, ORR_EFAIL,
			s->map ? "orr_step_lanes: called twice: expected one call"
			       : "orr_step_lanes: the map is NULL: expected GPU numbers");
		return;
	}
	if (!lanes || !positions || (uint64_t)lanes * positions > s->facts.gpus) {
		step_fail(s, ORR_EFAIL, "orr_step_lanes: %u lanes of %u positions: expected at most %u GPUs, the number in the cluster",
			lanes, positions, s->facts.gpus);
		return;
	}
	size_t n = (size_t)lanes * positions;
	uint8_t *seen = mem_zalloc(s->facts.gpus, 1);
	for (size_t i = 0; i < n && !s->error.code; i++) {
		if (map[i] >= s->facts.gpus || seen[map[i]])
			step_fail(s, ORR_EFAIL,
				"orr_step_lanes: lane %zu, position %zu: GPU %u is %s: expected distinct GPUs of the cluster",
				i / positions, i % positions, map[i], map[i] >= s->facts.gpus ? "unknown" : "in the map twice");
		else
			seen[map[i]] = 1;
	}
	mem_free(seen);
	if (s->error.code)
		return;
	s->map = mem_alloc(n * sizeof *s->map);
	memcpy(s->map, map, n * sizeof *s->map);
	s->lanes = lanes;
	s->positions = positions;
	*s->uses |= lanes > 1 ? STEP_USED_LANES : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a step policy may ask. */
#include "step/world.h"

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
	*out = (struct orr_layer_info){ .name = l->name,
		.kind = l->kind,
		.params = l->params,
		.fwd_flops = l->fwd_flops,
		.out_elems = l->out_elems,
		.saved_elems = l->saved_elems,
		.rows = l->params > 0 ? l->k : 0,
		.columns = l->params > 0 ? l->n : 0,
		.block = l->block };
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
	return device < s->endpoints ? s->config->cluster->node[s->node_of[device]].rack : NONE;
}

double orr_device_memory(const struct orr_step *s, uint32_t device)
{
	return device < s->facts.gpus ? s->config->device[s->type_of[device]]->memory_bytes : INFINITY;
}

static const struct cost *cost_of(const struct orr_step *s, uint32_t device)
{
	return device < s->facts.gpus ? s->config->cost[s->type_of[device]] : NULL;
}

static const enum dnn_pass passes[] = { DNN_FORWARD, DNN_BACKWARD_DATA, DNN_BACKWARD_WEIGHT };

static double cost_of_range(const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count,
	double batch, uint32_t shards, bool is_sequence_parallel)
{
	const struct cost *c = cost_of(s, device);
	uint32_t n = s->facts.layers;
	if (!c || (unsigned)pass > ORR_PASS_BACKWARD_WEIGHT || first >= n || !(batch > 0))
		return 0;
	return cost_range_s(c, first, count < n - first ? count : n - first, passes[pass], batch, shards ? shards : 1,
		is_sequence_parallel);
}

double orr_cost(const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first, uint32_t count, double batch,
	uint32_t shards)
{
	return cost_of_range(s, device, pass, first, count, batch, shards, false);
}

double orr_cost_sequence_parallel(const struct orr_step *s, uint32_t device, enum orr_pass pass, uint32_t first,
	uint32_t count, double batch, uint32_t shards)
{
	return cost_of_range(s, device, pass, first, count, batch, shards, true);
}

double orr_update_cost(const struct orr_step *s, uint32_t device, double params)
{
	const struct cost *c = cost_of(s, device);
	return c ? cost_update_s(c, params, s->facts.optimizer_bytes) : 0;
}

static bool are_endpoints(const struct orr_step *s, uint32_t a, uint32_t b)
{
	return a < s->endpoints && b < s->endpoints && a != b;
}

double orr_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to)
{
	return are_endpoints(s, from, to) ? topo_bandwidth(s->config->topo, from, to) : INFINITY;
}

double orr_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to)
{
	return are_endpoints(s, from, to) ? wire_bandwidth_now(s, from, to) : INFINITY;
}

double orr_latency(const struct orr_step *s, uint32_t from, uint32_t to)
{
	return are_endpoints(s, from, to) ? topo_latency(s->config->topo, from, to) : 0;
}

double orr_step_uniform(struct orr_step *s)
{
	s->is_random = true; /* what follows need not repeat */
	return rng_uniform(&s->policy_rng);
}

void orr_step_samples(struct orr_step *s, double samples)
{
	if (!(samples > 0) || isinf(samples))
		step_fail(s, ORR_EFAIL, "orr_step_samples: expected more than 0, found %g", samples);
	else
		s->samples = samples;
}

void orr_step_lanes(struct orr_step *s, uint32_t lanes, uint32_t positions, const uint32_t *map)
{
	if (s->map || s->built || s->building) {
		step_fail(s, ORR_EFAIL, "orr_step_lanes: is for create(), once");
		return;
	}
	if (!lanes || !positions || (uint64_t)lanes * positions > s->facts.gpus) {
		step_fail(s, ORR_EFAIL, "orr_step_lanes: %u lanes of %u positions: there are %u GPUs", lanes, positions, s->facts.gpus);
		return;
	}
	size_t n = (size_t)lanes * positions;
	uint8_t *seen = mem_zalloc(s->facts.gpus, 1);
	for (size_t i = 0; i < n && !s->error.code; i++) {
		if (map[i] >= s->facts.gpus || seen[map[i]])
			step_fail(s, ORR_EFAIL, "orr_step_lanes: lane %zu, position %zu: GPU %u is %s", i / positions, i % positions, map[i],
				map[i] >= s->facts.gpus ? "not there" : "in the map twice");
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
}

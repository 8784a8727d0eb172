/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The storage of checkpoints: which node writes how many bytes over which links. docs/models/step-checkpoints.md */
#include "step/checkpoint.h"
#include "step/wire_state.h"

#include "base/mem.h"

#include <string.h>

/* ---- options ---- */

static bool rate(struct orr_step *s, const char *name, const char *because, double *out)
{
	const char *text = orr_arg_text(s->config->options, name);
	*out = 0;
	if (topo_rate(text, strlen(text), out) && *out > 0 && isfinite(*out))
		return true;
	orr_fail(&s->error, ORR_EINPUT, "step.%s: expected a rate such as 100GBps (bytes) or 800Gbps (bits)%s, found \"%.60s\"", name,
		because, text);
	return false;
}

/* ---- shares of the devices ---- */

/* Writes the bytes of a checkpoint by device: in proportion to the weights and the optimizer state that it holds. Policies that declare
 * none: equal shares of the GPUs. */
static int share(struct orr_step *s, double *bytes)
{
	uint32_t nodes = (uint32_t)orr_arg_int(s->config->options, "checkpoint_nodes"), n = s->first_function;
	double sum = 0;
	if (nodes > s->facts.nodes)
		return orr_fail(&s->error, ORR_EINPUT, "step.checkpoint_nodes: expected at most the %u nodes of the cluster, found %u",
			s->facts.nodes, nodes);
	for (int is_equal = 0; is_equal < 2 && !(sum > 0); is_equal++)
		for (uint32_t d = 0; d < n; d++) {
			const struct device_state *x = &s->device[d];
			bytes[d] = is_equal ? d < s->facts.gpus : x->by_kind[ORR_MEMORY_WEIGHTS] + x->by_kind[ORR_MEMORY_OPTIMIZER];
			if (nodes && s->node_of[d] >= nodes) {
				s->used |= bytes[d] > 0 ? STEP_USED_SOME_NODES : 0;
				bytes[d] = 0;
			}
			sum += bytes[d];
		}
	if (!(sum > 0))
		return orr_fail(
			&s->error, ORR_EINPUT, "step.checkpoint_nodes: the first %u nodes have no GPU: expected at least one", nodes);
	for (uint32_t d = 0; d < n; d++)
		bytes[d] *= s->checkpoint->bytes / sum;
	return ORR_OK;
}

/* Computes the longest copy of a GPU's share to host memory. State in host memory is not copied. */
static int find_snapshot(struct orr_step *s, const double *bytes)
{
	bool is_given = *orr_arg_text(s->config->options, "snapshot_bw");
	double given;
	if (is_given && !rate(s, "snapshot_bw", "", &given))
		return s->error.code;
	for (uint32_t d = 0; d < s->facts.gpus; d++) {
		const struct device *x = s->config->device[s->type_of[d]];
		double Bps = is_given ? given : x->pcie_Bps;
		if (!(Bps > 0))
			return orr_fail(&s->error, ORR_EINPUT,
				"step.snapshot_bw: the PCIe rate of device %.60s is unknown: expected a rate such as 25GBps", x->name);
		s->checkpoint->snapshot_s = fmax(s->checkpoint->snapshot_s, bytes[d] / Bps);
	}
	return ORR_OK;
}

/* ---- links ---- */

static void add_flow(struct wire *w, uint32_t *flow_of, uint32_t out, double bytes)
{
	if (flow_of[out] == NONE) {
		flow_of[out] = w->n_stored;
		w->stored[w->n_stored++] = (struct stored){ .out = out };
	}
	struct stored *x = &w->stored[flow_of[out]];
	x->bytes += bytes;
}

/* One flow for each NIC. Devices without NIC share a flow that only the storage limits. */
static int make_flows(struct orr_step *s, const double *bytes)
{
	struct wire *w = s->wire;
	bool is_dedicated = !strcmp(orr_arg_text(s->config->options, "storage_network"), "dedicated");
	double storage_Bps, nic_Bps = 0;
	if (!rate(s, "storage_bw", ", because step.checkpoint_every is set", &storage_Bps) ||
		(is_dedicated && !rate(s, "storage_nic_bw", ", because step.storage_network is dedicated", &nic_Bps)))
		return s->error.code;
	uint32_t count = is_dedicated ? 1 + s->facts.nodes : 1, first = w->n_links, none = first + count;
	struct flow_link *link = mem_zalloc(count, sizeof *link);
	uint32_t *flow_of = mem_alloc((none + 1) * sizeof *flow_of);
	memset(flow_of, 0xff, (none + 1) * sizeof *flow_of);
	w->stored = mem_zalloc(s->first_function + 1, sizeof *w->stored);
	for (uint32_t i = 0; i < count; i++)
		link[i].capacity_Bps = i ? nic_Bps : storage_Bps;
	for (uint32_t d = 0; d < s->first_function; d++) {
		uint32_t out = is_dedicated ? first + 1 + s->node_of[d] : topo_nic(s->config->topo, d, true);
		if (bytes[d] > 0)
			add_flow(w, flow_of, out == NONE ? none : out, bytes[d]);
	}
	for (uint32_t i = 0; i < w->n_stored; i++)
		w->stored[i].out = w->stored[i].out == none ? NONE : w->stored[i].out;
	w->first_storage = first;
	wire_add_links(s, link, count);
	mem_free(flow_of);
	mem_free(link);
	s->checkpoint->is_dedicated = is_dedicated;
	return ORR_OK;
}

int storage_begin(struct orr_step *s)
{
	struct checkpoint *c = s->checkpoint;
	double *bytes = mem_alloc((s->first_function + 1) * sizeof *bytes);
	if (!share(s, bytes) && (!c->is_async || !find_snapshot(s, bytes)))
		make_flows(s, bytes);
	mem_free(bytes);
	return s->error.code;
}

uint32_t stored_route(const struct wire *w, uint32_t i, uint32_t out[2])
{
	uint32_t n = 0;
	if (w->stored[i].out != NONE)
		out[n++] = w->stored[i].out;
	out[n++] = w->first_storage;
	return n;
}

/* Returns the time of a write with storage of this rate, on NICs of this rate (0: their own). */
static double write_s(const struct orr_step *s, double storage_Bps, double nic_Bps)
{
	const struct wire *w = s->wire;
	uint32_t n = w->n_stored, route[2];
	struct flow_link *link = mem_zalloc(n + 1, sizeof *link);
	double next, last = 0;
	uint64_t tag;
	link[n].capacity_Bps = storage_Bps;
	for (uint32_t i = 0; i < n; i++)
		if (w->stored[i].out != NONE)
			link[i] = (struct flow_link){ nic_Bps > 0 ? nic_Bps : w->nominal[w->stored[i].out],
				wire_link_latency(s, w->stored[i].out) };
	struct flownet *net = flownet_new(link, n + 1, FLOW_MAX_MIN);
	for (uint32_t i = 0; i < n; i++) {
		struct flow_hop hop[2] = { { i, 1 }, { n, 1 } };
		uint32_t hops = stored_route(w, i, route);
		flownet_start(net, w->stored[i].bytes, 0, hop + 2 - hops, hops, i);
	}
	for (uint32_t left = n; left && !isinf(last);) {
		next = flownet_next(net);
		if (isinf(next)) {
			last = INFINITY; /* a link has zero capacity */
			break;
		}
		flownet_advance(net, next);
		while (flownet_pop(net, &tag, &last))
			left--;
	}
	flownet_free(net);
	mem_free(link);
	return last;
}

double storage_alone_s(struct orr_step *s)
{
	static const double fast = 1e30, longer = 1 + 1e-9;
	double storage_Bps = s->wire->nominal[s->wire->first_storage], time = write_s(s, storage_Bps, 0);
	s->used |= time > write_s(s, fast, 0) * longer ? STEP_USED_STORAGE : 0;
	s->used |= time > write_s(s, storage_Bps, fast) * longer ? STEP_USED_STORAGE_NIC : 0;
	return time;
}

/* ---- merged runs ---- */

/* Flows of equal bytes get one colour. */
void storage_merge(struct orr_step *s, uint32_t colour)
{
	struct wire *w = s->wire;
	uint32_t first = s->config->topo->n_links, count = w->n_links - w->first_storage, route[2];
	if (!s->checkpoint || !s->checkpoint->in_network)
		return;
	struct flow_link *link = mem_zalloc(count, sizeof *link);
	for (uint32_t i = 0; i < count; i++)
		link[i].capacity_Bps = w->nominal[w->first_storage + i];
	quotient_add_links(w->quotient, link, count);
	mem_free(link);
	for (uint32_t i = 0; i < w->n_stored; i++) {
		uint32_t n = stored_route(w, i, route), shade = 0;
		while (fabs(w->stored[shade].bytes - w->stored[i].bytes) > 1e-12 * w->stored[i].bytes)
			shade++;
		for (uint32_t h = 0; h < n; h++)
			route[h] = route[h] < w->first_storage ? route[h] : route[h] - w->first_storage + first;
		w->stored[i].flow = quotient_flow_on(w->quotient, route, n, colour + shade);
	}
}

/* ---- a write ---- */

static void stored_flow(const struct orr_step *s, uint32_t i, struct phase_flow *out)
{
	const struct wire *w = s->wire;
	*out = (struct phase_flow){ .from = FROM_STORED, .to = FROM_STORED, .key = i, .bytes = w->stored[i].bytes };
	out->n = stored_route(w, i, out->link);
	for (uint32_t h = 0; h < out->n; h++) {
		out->hop[h] = (struct flow_hop){ out->link[h], 1 };
		out->latency_s += wire_link_latency(s, out->link[h]);
	}
}

/* Returns whether flow i is the first of its class in a merged run. */
static bool is_first(const struct wire *w, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (quotient_class(w->quotient, w->stored[j].flow) == quotient_class(w->quotient, w->stored[i].flow))
			return false;
	return true;
}

static void part_flow(const struct orr_step *s, uint32_t class, double bytes, struct phase_flow *out)
{
	struct sent_class c = { .flow_class = class, .bytes = bytes, .hop_s = NAN };
	class_flow(s, &c, out);
}

void storage_write(struct orr_step *s)
{
	const struct wire *w = s->wire;
	struct checkpoint *c = s->checkpoint;
	struct phase_flow f;
	c->n_flows = 0;
	for (uint32_t i = 0; i < w->n_stored; i++) {
		if (!s->is_merged)
			stored_flow(s, i, &f);
		else if (is_first(w, i))
			part_flow(s, quotient_class(w->quotient, w->stored[i].flow), w->stored[i].bytes, &f);
		else
			continue;
		MEM_GROW(c->flow, c->n_flows, c->cap_flows);
		c->flow[c->n_flows] = (struct writing){ .slot = NONE };
		c->flow[c->n_flows].slot = flow_start(s, NULL, c->n_flows, &f, f.bytes, 0);
		c->n_flows++;
	}
}

double storage_left(const struct orr_step *s, uint32_t slot)
{
	return flownet_left(s->wire->net, s->wire->going[slot].handle);
}

void storage_shorten(struct orr_step *s, uint32_t slot, double bytes)
{
	struct wire *w = s->wire;
	struct going *g = &w->going[slot];
	struct phase_flow f;
	double left = storage_left(s, slot) - bytes;
	if (g->from == FROM_STORED)
		stored_flow(s, (uint32_t)g->key, &f);
	else
		part_flow(s, (uint32_t)g->key, left, &f);
	for (uint32_t h = 0; h < f.n; h++)
		w->offered -= bytes * f.hop[h].load;
	flownet_cancel(w->net, g->handle);
	g->handle = flownet_start(w->net, left, f.more_latency_s - f.latency_s, f.hop, f.n, flow_tag(s, slot));
}

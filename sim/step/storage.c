/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The storage of checkpoints: which node writes how many bytes over which links. docs/models/step-checkpoints.md */
#include "step/checkpoint.h"
#include "step/wire_state.h"

#include "base/mem.h"

#include <string.h>

/* ---- options ---- */

static int rate(const struct orr_args *o, const char *name, const char *because, double *out, struct orr_error *err)
{
	const char *text = orr_arg_text(o, name);
	*out = 0;
	if (topo_rate(text, strlen(text), out) && *out > 0 && isfinite(*out))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "step.%s: expected a rate such as 100GBps (bytes) or 800Gbps (bits)%s, found \"%.60s\"", name,
		because, text);
}

static bool is_dedicated(const struct orr_args *o)
{
	return !strcmp(orr_arg_text(o, "storage_network"), "dedicated");
}

static bool is_async(const struct orr_args *o)
{
	return !strcmp(orr_arg_text(o, "checkpoint_mode"), "async");
}

/* Returns the rate of the copy from a device to host memory; 0: unknown. */
static double snapshot_Bps(const struct orr_args *o, const struct device *d)
{
	double given;
	return !*orr_arg_text(o, "snapshot_bw") ? d->pcie_Bps : rate(o, "snapshot_bw", "", &given, NULL) ? 0 : given;
}

int storage_check(const struct orr_args *o, const struct cluster *c, const struct device *const *device, struct orr_error *err)
{
	double Bps;
	int64_t nodes = orr_arg_int(o, "checkpoint_nodes");
	if (!orr_arg_int(o, "checkpoint_every"))
		return ORR_OK;
	if (nodes > c->n_nodes)
		return orr_fail(err, ORR_EINPUT, "step.checkpoint_nodes: expected at most the %u nodes of the cluster, found %lld",
			c->n_nodes, (long long)nodes);
	if (rate(o, "storage_bw", ", because step.checkpoint_every is set", &Bps, err) ||
		(is_dedicated(o) && rate(o, "storage_nic_bw", ", because step.storage_network is dedicated", &Bps, err)) ||
		(*orr_arg_text(o, "snapshot_bw") && rate(o, "snapshot_bw", "", &Bps, err)))
		return err->code;
	for (uint32_t t = 0; t < c->n_types && is_async(o); t++)
		if (device[t] && !(snapshot_Bps(o, device[t]) > 0))
			return orr_fail(err, ORR_EINPUT,
				"step.snapshot_bw: the PCIe rate of device %.60s is unknown: expected a rate such as 25GBps",
				device[t]->name);
	return ORR_OK;
}

/* ---- shares of the devices ---- */

/* Writes the bytes of a checkpoint by device: in proportion to the weights and the optimizer state that it holds. Policies that declare
 * none: equal shares of the GPUs. */
static int share(struct orr_step *s, double *bytes)
{
	uint32_t nodes = (uint32_t)orr_arg_int(s->config->options, "checkpoint_nodes"), n = s->first_function;
	double sum = 0;
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
static void find_snapshot(struct orr_step *s, const double *bytes)
{
	for (uint32_t d = 0; d < s->facts.gpus; d++) {
		double Bps = snapshot_Bps(s->config->options, s->config->device[s->type_of[d]]);
		s->checkpoint->snapshot_s = fmax(s->checkpoint->snapshot_s, bytes[d] / Bps);
	}
}

/* ---- links ---- */

static void add_flow(struct wire *w, uint32_t *flow_of, const uint32_t *up, uint32_t n, double bytes)
{
	uint32_t *flow = &flow_of[n ? up[0] : w->n_links];
	if (*flow == NONE) {
		*flow = w->n_stored;
		w->stored[w->n_stored] = (struct stored){ .n = n };
		memcpy(w->stored[w->n_stored++].up, up, n * sizeof *up);
	}
	w->stored[*flow].bytes += bytes;
}

/* One flow for each NIC. Devices without NIC share a flow that only the storage limits. */
static void make_flows(struct orr_step *s, const double *bytes)
{
	struct wire *w = s->wire;
	const struct orr_args *o = s->config->options;
	bool has_nics = s->checkpoint->is_dedicated = is_dedicated(o);
	double storage_Bps, nic_Bps;
	rate(o, "storage_bw", "", &storage_Bps, NULL);
	rate(o, "storage_nic_bw", "", &nic_Bps, NULL);
	uint32_t count = has_nics ? 1 + s->facts.nodes : 1, first = w->n_links, up[TOPO_MAX_UP];
	struct flow_link *link = mem_zalloc(count, sizeof *link);
	for (uint32_t i = 0; i < count; i++)
		link[i].capacity_Bps = i ? nic_Bps : storage_Bps;
	wire_add_links(s, link, count);
	w->first_storage = first;
	w->stored = mem_zalloc(s->first_function + 1, sizeof *w->stored);
	uint32_t *flow_of = mem_alloc((w->n_links + 1) * sizeof *flow_of);
	memset(flow_of, 0xff, (w->n_links + 1) * sizeof *flow_of);
	for (uint32_t d = 0; d < s->first_function; d++) {
		if (!(bytes[d] > 0))
			continue;
		up[0] = first + 1 + s->node_of[d];
		add_flow(w, flow_of, up, has_nics ? 1 : topo_up(s->config->topo, d, up), bytes[d]);
	}
	mem_free(flow_of);
	mem_free(link);
}

int storage_begin(struct orr_step *s)
{
	const struct step_config *c = s->config;
	if (storage_check(c->options, c->cluster, c->device, &s->error))
		return s->error.code;
	s->checkpoint->is_async = is_async(c->options);
	double *bytes = mem_alloc((s->first_function + 1) * sizeof *bytes);
	if (!share(s, bytes)) {
		if (s->checkpoint->is_async)
			find_snapshot(s, bytes);
		make_flows(s, bytes);
	}
	mem_free(bytes);
	return s->error.code;
}

uint32_t stored_route(const struct wire *w, uint32_t i, uint32_t out[TOPO_MAX_UP + 1])
{
	uint32_t n = w->stored[i].n;
	memcpy(out, w->stored[i].up, n * sizeof *out);
	out[n] = w->first_storage;
	return n + 1;
}

/* Returns the time until all flows of a net have ended; INFINITY: a link has zero capacity. */
static double drain(struct flownet *net, uint32_t flows)
{
	double last = 0;
	uint64_t tag;
	while (flows) {
		double next = flownet_next(net);
		if (isinf(next))
			return INFINITY;
		flownet_advance(net, next);
		while (flownet_pop(net, &tag, &last))
			flows--;
	}
	return last;
}

/* Returns the time of a write with storage of this rate, over links of this rate (0: their own). */
static double write_s(const struct orr_step *s, double storage_Bps, double link_Bps)
{
	const struct wire *w = s->wire;
	uint32_t route[TOPO_MAX_UP + 1], n_links = 0, *here = mem_alloc((w->n_links + 1) * sizeof *here);
	struct flow_link *link = mem_alloc(((TOPO_MAX_UP + 1) * (size_t)w->n_stored + 1) * sizeof *link);
	struct flow_hop hop[TOPO_MAX_UP + 1];
	memset(here, 0xff, (w->n_links + 1) * sizeof *here);
	for (uint32_t i = 0; i < w->n_stored; i++)
		for (uint32_t h = 0, n = stored_route(w, i, route); h < n; h++) {
			uint32_t l = route[h];
			if (here[l] != NONE)
				continue;
			here[l] = n_links;
			double Bps = l == w->first_storage ? storage_Bps : link_Bps > 0 ? link_Bps : w->nominal[l];
			link[n_links++] = (struct flow_link){ Bps, wire_link_latency(s, l) };
		}
	struct flownet *net = flownet_new(link, n_links, FLOW_MAX_MIN);
	for (uint32_t i = 0; i < w->n_stored; i++) {
		uint32_t n = stored_route(w, i, route);
		for (uint32_t h = 0; h < n; h++)
			hop[h] = (struct flow_hop){ here[route[h]], 1 };
		flownet_start(net, w->stored[i].bytes, 0, hop, n, i);
	}
	double time = drain(net, w->n_stored);
	flownet_free(net);
	mem_free(link);
	mem_free(here);
	return time;
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
	uint32_t first = s->config->topo->n_links, count = w->n_links - w->first_storage, route[TOPO_MAX_UP + 1];
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

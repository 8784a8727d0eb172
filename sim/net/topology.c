/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, NICs and links: elements common to all kinds of topologies. */
#include "net/topology_shape.h"

#include "base/mem.h"
#include "base/num.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t shape_link(struct topo *t, double capacity_Bps, double latency_s, uint32_t from, uint32_t to, const char *name, ...)
{
	struct topo_shape *s = t->shape;
	if (t->n_links == s->cap_links) {
		s->cap_links = s->cap_links ? 2 * s->cap_links : 64;
		t->link = mem_realloc(t->link, s->cap_links, sizeof *t->link);
		s->name_at = mem_realloc(s->name_at, s->cap_links, sizeof *s->name_at);
	}
	char text[256];
	va_list ap;
	va_start(ap, name);
	vsnprintf(text, sizeof text, name, ap);
	va_end(ap);
	s->name_at[t->n_links] = s->text.len;
	sbuf_puts(&s->text, text);
	sbuf_putc(&s->text, '\0');
	t->link[t->n_links] =
		(struct topo_link){ .flow = { .capacity_Bps = capacity_Bps, .latency_s = latency_s }, .from = from, .to = to };
	return t->n_links++;
}

void shape_nic(struct topo *t, uint32_t port, uint32_t sw)
{
	struct topo_shape *s = t->shape;
	uint32_t node = port / s->nics, vertex = shape_port(t, port);
	char nic[32] = "";
	if (s->nics > 1)
		snprintf(nic, sizeof nic, ".nic%u", port % s->nics);
	s->up[port] = shape_link(t, s->bw, s->lat, vertex, sw, "host%u%s.up", node, nic);
	s->down[port] = shape_link(t, s->bw, s->lat, sw, vertex, "host%u%s.down", node, nic);
}

void topo_free(struct topo *t)
{
	if (!t)
		return;
	struct topo_shape *s = t->shape;
	mem_free(s->gpu_node);
	mem_free(s->first_gpu);
	mem_free(s->out);
	mem_free(s->in);
	mem_free(s->up);
	mem_free(s->down);
	mem_free(s->fabric.rack);
	mem_free(s->fabric.step);
	mem_free(s->names);
	mem_free(s->name_at);
	mem_free(s->endpoint_of);
	mem_free(s->link_here);
	sbuf_free(&s->text);
	graph_free(s->graph);
	mem_free(s);
	mem_free(t->link);
	mem_free(t);
}

uint32_t topo_node(const struct topo *t, uint32_t endpoint)
{
	return endpoint < t->n_gpus ? t->shape->gpu_node[endpoint] : endpoint - t->n_gpus;
}

uint32_t topo_nics(const struct topo *t)
{
	return t->shape->nics;
}

uint32_t nic_of_gpu(const struct topo *t, uint32_t gpu)
{
	const struct topo_shape *s = t->shape;
	uint32_t node = s->gpu_node[gpu], first = s->first_gpu[node];
	return (uint32_t)((uint64_t)(gpu - first) * s->nics / (s->first_gpu[node + 1] - first));
}

/* Returns the NIC that an endpoint uses towards a peer. A host has no NIC and uses that of its peer. */
static uint32_t nic_of(const struct topo *t, uint32_t endpoint, uint32_t peer)
{
	const struct topo_shape *s = t->shape;
	if (s->nics == 1)
		return 0;
	uint32_t gpu = endpoint < t->n_gpus ? endpoint : peer;
	return gpu >= t->n_gpus ? topo_node(t, peer) % s->nics : nic_of_gpu(t, gpu);
}

uint32_t topo_port(const struct topo *t, uint32_t endpoint, uint32_t peer)
{
	const struct topo_shape *s = t->shape;
	if (s->whole)
		return topo_port(s->whole, s->endpoint_of[endpoint], s->endpoint_of[peer]);
	return topo_node(t, endpoint) * s->nics + nic_of(t, endpoint, peer);
}

bool topo_rate(const char *text, size_t n, double *out_Bps)
{
	static const char prefix[] = " kMGTP";
	size_t digits = 0;
	while (digits < n && !isalpha((unsigned char)text[digits]))
		digits++;
	if (digits + 2 < n && (text[digits] == 'e' || text[digits] == 'E') && strchr("+-0123456789", text[digits + 1]))
		for (digits++; digits < n && !isalpha((unsigned char)text[digits]);)
			digits++;
	const char *unit = text + digits;
	size_t len = n - digits;
	double scale = 1;
	if (len == 4) {
		const char *p = *unit == ' ' ? NULL : strchr(prefix, *unit == 'K' ? 'k' : *unit);
		if (!p)
			return false;
		scale = pow(1000, (double)(p - prefix));
		unit++;
		len--;
	}
	if (len != 3 || (memcmp(unit, "bps", 3) && memcmp(unit, "Bps", 3)))
		return false;
	if (!num_real(text, digits, out_Bps))
		return false;
	*out_Bps *= *unit == 'b' ? scale / 8 : scale;
	return true;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/topology_shape.h"

uint32_t topo_nic(const struct topo *t, uint32_t endpoint, bool out)
{
	const struct topo_shape *s = t->shape;
	if (s->whole) {
		uint32_t link = topo_nic(s->whole, s->endpoint_of[endpoint], out);
		return link == NO_LINK ? NO_LINK : s->link_here[link];
	}
	const uint32_t *links = out ? t->shape->up : t->shape->down;
	return links ? links[topo_port(t, endpoint, endpoint)] : NO_LINK;
}

uint32_t topo_up(const struct topo *t, uint32_t endpoint, uint32_t out[TOPO_MAX_UP])
{
	const struct topo_shape *s = t->shape;
	uint32_t n = 0, nic = topo_nic(t, endpoint, true);
	if (s->whole) {
		n = topo_up(s->whole, s->endpoint_of[endpoint], out);
		for (uint32_t i = 0; i < n; i++)
			out[i] = s->link_here[out[i]];
		return n;
	}
	if (nic == NO_LINK)
		return 0;
	out[n++] = nic;
	return n + shape_up(t, topo_port(t, endpoint, endpoint), out + n);
}

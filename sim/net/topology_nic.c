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

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/topology_shape.h"

uint32_t topo_nic(const struct topo *t, uint32_t endpoint, bool out)
{
	const uint32_t *links = out ? t->shape->up : t->shape->down;
	return links ? links[topo_port(t, endpoint, endpoint)] : NO_LINK;
}

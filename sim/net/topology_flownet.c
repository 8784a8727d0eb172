/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/topology.h"

#include "base/mem.h"

struct flownet *topo_flownet(const struct topo *t, enum flow_fairness fairness)
{
	struct flow_link *link = mem_alloc((t->n_links ? t->n_links : 1) * sizeof *link);
	for (uint32_t i = 0; i < t->n_links; i++)
		link[i] = t->link[i].flow;
	struct flownet *f = flownet_new(link, t->n_links, fairness);
	mem_free(link);
	return f;
}

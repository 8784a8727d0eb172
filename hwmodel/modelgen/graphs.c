/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GCN and GAT of two layers with the shapes that Dorylus trains (Thorpe et al., OSDI 2021). Widths: the public benchmark scripts. Vertices
 * and edges: the graphs' published sizes, rounded as there; directed edges. The law of the degrees is our choice.
 */
#include "hwmodel/modelgen/modelgen.h"

static struct plan *network(const struct recipe *r)
{
	return graph_network(r->name, r->title, r->how);
}

#define REDDIT_SMALL                                \
	{                                           \
		232.9e3, 114.8e6, DEGREE_POISSON, 0 \
	}
#define REDDIT_LARGE                            \
	{                                       \
		1.1e6, 1.3e9, DEGREE_POISSON, 0 \
	}
#define AMAZON                                    \
	{                                         \
		9.2e6, 313.9e6, DEGREE_POISSON, 0 \
	}
#define FRIENDSTER                               \
	{                                        \
		65.6e6, 3.6e9, DEGREE_POISSON, 0 \
	}

static const struct graph_network gcn_reddit_small = { REDDIT_SMALL, false, 2, { 602, 128, 41 } };
static const struct graph_network gat_reddit_small = { REDDIT_SMALL, true, 2, { 602, 128, 41 } };
static const struct graph_network gcn_reddit_large = { REDDIT_LARGE, false, 2, { 301, 128, 50 } };
static const struct graph_network gcn_amazon = { AMAZON, false, 2, { 300, 64, 25 } };
static const struct graph_network gat_amazon = { AMAZON, true, 2, { 300, 64, 25 } };
static const struct graph_network gcn_friendster = { FRIENDSTER, false, 2, { 32, 48, 51 } };

#define SOURCE "widths: uclasystem/dorylus (bdd672f); sizes of the graph: Thorpe et al., OSDI 2021"

const struct recipe graphs[] = {
	{ "gcn_reddit_small", "GCN 602-128-41 on Reddit (small)", SOURCE, network, &gcn_reddit_small },
	{ "gat_reddit_small", "GAT 602-128-41 on Reddit (small)", SOURCE, network, &gat_reddit_small },
	{ "gcn_reddit_large", "GCN 301-128-50 on Reddit (large)", SOURCE, network, &gcn_reddit_large },
	{ "gcn_amazon", "GCN 300-64-25 on Amazon", SOURCE, network, &gcn_amazon },
	{ "gat_amazon", "GAT 300-64-25 on Amazon", SOURCE, network, &gat_amazon },
	{ "gcn_friendster", "GCN 32-48-51 on Friendster", SOURCE, network, &gcn_friendster },
	{ NULL, NULL, NULL, NULL, NULL },
};

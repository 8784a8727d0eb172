/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quotient.h - classes of equivalent flows and links
 *
 * Colour refinement. The caller gives the first colour of a flow; the first colour of a link is its capacity and latency. Each round
 * replaces a link's colour by (its colour, the multiset of colours of its flows), and a flow's colour by (its colour, the
 * sequence of colours of its links), until no class splits. The result is an equitable partition: every link of a class carries
 * the same number of flows of each class. Progressive filling then gives all flows of a class the same rate if whole classes
 * are active together, so the colour must also distinguish bytes. A network of one flow per class on one link per class, each
 * hop with its load, has the same rates (flow.h).
 *
 * The partition is refined by splitters, the smaller parts of split classes (Paige and Tarjan, "Three partition refinement
 * algorithms", SIAM J. Comput. 16(6), 1987). Counts and positions are exact: there are no hash collisions. O(m log m), m
 * the sum of the lengths of the routes.
 */
#ifndef ORR_NET_QUOTIENT_H
#define ORR_NET_QUOTIENT_H

#include "net/topology.h"

struct quotient;

struct quotient *quotient_new(const struct topo *t);
void quotient_free(struct quotient *q);
/* Adds a flow of the given colour and returns its number (0, 1, ..). The key is for ECMP. */
uint32_t quotient_flow(struct quotient *q, uint32_t src, uint32_t dst, uint64_t key, uint32_t colour);
/* Adds links beside those of the topology, numbered from topo.n_links on. Call it once, before the first flow. */
void quotient_add_links(struct quotient *q, const struct flow_link *link, uint32_t n);
/* Adds a flow over the given links, at most TOPO_MAX_HOPS. */
uint32_t quotient_flow_on(struct quotient *q, const uint32_t *link, uint32_t n, uint32_t colour);
/* Computes the partition. Call it once, after the last quotient_flow(). */
void quotient_refine(struct quotient *q);

uint32_t quotient_class(const struct quotient *q, uint32_t flow); /* returns the class of a flow; classes are numbered in the order
								   * of their first flows */
/* Returns the class of a link of the topology; UINT32_MAX if no flow uses it. */
uint32_t quotient_link_class(const struct quotient *q, uint32_t link);
uint32_t quotient_links(const struct quotient *q); /* number of classes of links */
void quotient_link(const struct quotient *q, uint32_t link_class, struct flow_link *out, uint32_t *members);
/* Returns the route of a class: link classes and loads. Several links of one class on a route are one hop, with their total load.
 * This omits some latency, which quotient_more_latency() returns. */
uint32_t quotient_route(const struct quotient *q, uint32_t flow_class, struct flow_hop out[TOPO_MAX_HOPS]);
double quotient_more_latency(const struct quotient *q, uint32_t flow_class);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quotient.h - classes of flows and links that are alike
 *
 * Colour refinement: flows and links start with the colour that the caller gave
 * (links: capacity and latency too); then a link's colour becomes (its colour, the
 * multiset of colours of its flows), a flow's (its colour, the sequence of colours
 * of its links), until nothing splits. The result is an equitable partition: every
 * link of a class carries equally many flows of each class, so progressive filling
 * gives all flows of a class the same rate whenever whole classes are active
 * together (so a colour stands for the bytes, too). One flow per class on one link per class, each hop with its load, then
 * has the same rates (flow.h).
 *
 * The partition is refined by splitters, the smaller parts of what was split (Paige and Tarjan,
 * "Three partition refinement algorithms", SIAM J. Comput. 16(6), 1987), on exact counts and
 * positions: nothing is hashed, so nothing is merged by chance. O(m log m), m the sum of the
 * lengths of the routes.
 */
#ifndef ORR_NET_QUOTIENT_H
#define ORR_NET_QUOTIENT_H

#include "net/topology.h"

struct quotient;

struct quotient *quotient_new(const struct topo *t);
void quotient_free(struct quotient *q);
/* A flow of the given colour; returns its number, 0, 1, .. in order. The key is for ECMP. */
uint32_t quotient_flow(struct quotient *q, uint32_t src, uint32_t dst, uint64_t key, uint32_t colour);
/* Refines; call once, after the last quotient_flow(). */
void quotient_refine(struct quotient *q);

uint32_t quotient_class(const struct quotient *q, uint32_t flow); /* classes are numbered in the order of their first flows */
/* The class of a link of the topology; UINT32_MAX if no flow takes it. */
uint32_t quotient_link_class(const struct quotient *q, uint32_t link);
uint32_t quotient_links(const struct quotient *q); /* classes of links that carry flows */
void quotient_link(const struct quotient *q, uint32_t link_class, struct flow_link *out, uint32_t *members);
/* The route of a class: link classes and loads. Links of one class on a route are one hop, as long as all of them
 * in load but not in latency: quotient_more_latency() is what is missing. */
uint32_t quotient_route(const struct quotient *q, uint32_t flow_class, struct flow_hop out[TOPO_MAX_HOPS]);
double quotient_more_latency(const struct quotient *q, uint32_t flow_class);

#endif

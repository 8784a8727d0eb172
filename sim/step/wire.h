/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wire.h - messages in flight: interface for the rest of the step world */
#ifndef ORR_STEP_WIRE_H
#define ORR_STEP_WIRE_H

#include "step/world.h"

/* ---- wire_state.c ---- */
struct wire *wire_new(struct orr_step *s);
void wire_free(struct wire *w);
struct flownet *wire_net(const struct orr_step *s);
uint32_t wire_link(const struct orr_step *s, uint32_t link); /* returns the link of wire_net() for a link of the topology; NONE:
							      * unused */
/* Adds links after those of the topology, before the first flow starts. */
void wire_add_links(struct orr_step *s, const struct flow_link *more, uint32_t count);
/* Adds the functions' links, in create(). */
void wire_extend(struct orr_step *s, const struct orr_functions *f);
/* Writes a route like topo_route(), also between functions and devices. Link numbers are those of the topology, then a link out and in per
 * function. */
uint32_t wire_route(const struct orr_step *s, uint32_t from, uint32_t to, uint64_t key, uint32_t *out);
double wire_link_latency(const struct orr_step *s, uint32_t link);
double wire_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to); /* nominal */
double wire_latency(const struct orr_step *s, uint32_t from, uint32_t to);
double wire_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to);

/* ---- wire_merge.c ---- */
/* Computes the quotient of a merged run over all iterations built so far. Returns ORR_EINPUT if the lanes differ. */
int wire_classes(struct orr_step *s);

/* ---- wire.c ---- */
int wire_start(struct orr_step *s, struct iteration *k, uint32_t i);
void wire_leap_over(struct orr_step *s, uint32_t leap, uint32_t generation); /* handles the timer of a leap */
double wire_next(struct orr_step *s);
double wire_calm_s(const struct orr_step *s); /* returns the time of the last capacity change; INFINITY: more changes follow */
void wire_advance(struct orr_step *s, double t);
void wire_deliver(struct orr_step *s, uint64_t tag); /* handles the end of a flow of this run */
int wire_verify(struct orr_step *s);
int wire_balance(struct orr_step *s);
int wire_check_functions(struct orr_step *s); /* bytes over their links */

#endif

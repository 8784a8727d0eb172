/* SPDX-License-Identifier: GPL-3.0-or-later */
/* routing_parts.h - parts of a routing: private to routing*.c */
#ifndef ORR_HWMODEL_ROUTING_PARTS_H
#define ORR_HWMODEL_ROUTING_PARTS_H

#include "hwmodel/routing.h"

enum { ROUTING_MOST_K = 64, ROUTING_MOST_GROUPS = 64 };

/* ---- routing_law.c ---- */
/* Fills in pairs and weight. */
int routing_law(const struct orr_routing_terms *t, struct routing *r, struct orr_error *err);
/* Returns the probability that a token uses at least one expert of a place, which holds the share here[e] of expert e. */
double routing_visits(const struct routing *r, const double *here);

/* ---- routing_place.c ---- */
/* Fills in expert, rank, copies and all values by rank and node. */
void routing_place(struct routing *r, bool is_balanced);

#endif

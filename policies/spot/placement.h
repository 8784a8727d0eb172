/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * placement.h - the order in which nodes take the stages of pipelines, by zone
 *
 * order: nodes take stages in the given order. spread: consecutive stages are in different zones, if possible. Simultaneous losses are
 * mostly in one zone, so a node and the node with its replica are rarely lost together (Thorpe et al., NSDI 2023). block: zone by zone.
 */
#ifndef ORR_SPOT_PLACEMENT_H
#define ORR_SPOT_PLACEMENT_H

#include <orrery/spot.h>

#include <string.h>

enum placement { PLACE_ORDER, PLACE_SPREAD, PLACE_BLOCK };
#define PLACEMENT_CHOICES "order|spread|block"

static inline enum placement placement_of(const char *text)
{
	return !strcmp(text, "spread") ? PLACE_SPREAD : !strcmp(text, "block") ? PLACE_BLOCK : PLACE_ORDER;
}

/* Returns the zone with the most nodes left, among the zones other than a and b; if these have none, among the zones other than a; else
 * among all zones. */
static inline uint32_t placement_zone(const uint32_t *left, uint32_t zones, uint32_t a, uint32_t b)
{
	uint32_t best[3] = { ORR_ANY_ZONE, ORR_ANY_ZONE, ORR_ANY_ZONE };
	for (uint32_t z = 0; z < zones; z++) {
		if (!left[z])
			continue;
		if (best[2] == ORR_ANY_ZONE || left[z] > left[best[2]])
			best[2] = z;
		if (z != a && (best[1] == ORR_ANY_ZONE || left[z] > left[best[1]]))
			best[1] = z;
		if (z != a && z != b && (best[0] == ORR_ANY_ZONE || left[z] > left[best[0]]))
			best[0] = z;
	}
	return best[0] != ORR_ANY_ZONE ? best[0] : best[1] != ORR_ANY_ZONE ? best[1] : best[2];
}

/* Sorts v[0..n) for pipelines of `depth` nodes; the last node of a pipeline is a neighbour of the first one. */
static inline void placement_sort(const struct orr_spot *w, orr_inst *v, uint32_t n, uint32_t depth, enum placement how)
{
	uint32_t zones = orr_zones(w);
	if (how == PLACE_ORDER || zones < 2 || !n)
		return;
	orr_inst *sorted = orr_alloc(n, sizeof *sorted);
	uint32_t *left = orr_alloc(2 * (size_t)zones, sizeof *left), *next = left + zones, at = 0;
	for (uint32_t i = 0; i < n; i++)
		left[orr_inst_zone(w, v[i])]++;
	for (uint32_t z = 0; z < zones; z++) {
		next[z] = at;
		at += left[z];
	}
	for (uint32_t i = 0; i < n; i++)
		sorted[next[orr_inst_zone(w, v[i])]++] = v[i];
	for (uint32_t z = 0; z < zones; z++)
		next[z] -= left[z];
	uint32_t first = ORR_ANY_ZONE, last = ORR_ANY_ZONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t stage = depth ? i % depth : i;
		if (stage == 0)
			first = last = ORR_ANY_ZONE;
		uint32_t z = placement_zone(left, zones, last, stage + 1 == depth ? first : last);
		if (stage == 0)
			first = z;
		last = z;
		v[i] = how == PLACE_BLOCK ? sorted[i] : sorted[next[z]];
		next[z]++;
		left[z]--;
	}
	orr_free(sorted);
	orr_free(left);
}

#endif

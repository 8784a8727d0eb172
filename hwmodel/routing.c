/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of terms, and the object (routing.h). */
#include "hwmodel/routing_parts.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <string.h>

static int check_load(const struct orr_routing_terms *t, struct orr_error *err)
{
	uint32_t above = 0;
	for (uint32_t e = 0; t->load && e < t->experts; e++) {
		if (!(t->load[e] >= 0) || isinf(t->load[e]))
			return orr_fail(err, ORR_EINPUT, "load of expert %u: expected a number of at least 0, found %g", e, t->load[e]);
		above += t->load[e] > 0;
	}
	if (t->load && above < t->top_k)
		return orr_fail(err, ORR_EINPUT, "loads of experts: expected at least %u above 0, the experts of a token, found %u",
			t->top_k, above);
	if (!(t->skew >= 0) || t->skew > 10)
		return orr_fail(err, ORR_EINPUT, "expert_skew=%g: expected a number from 0 to 10", t->skew);
	return ORR_OK;
}

static int check(const struct orr_routing_terms *t, struct orr_error *err)
{
	if (!t->experts || !t->top_k || t->top_k > ROUTING_MOST_K || !t->groups || t->groups > ROUTING_MOST_GROUPS ||
		t->experts % t->groups)
		return orr_fail(err, ORR_EINPUT,
			"%u of %u experts in %u groups: expected 1 to %d experts per token, and a number of groups that divides the "
			"experts, at most %d",
			t->top_k, t->experts, t->groups, ROUTING_MOST_K, ROUTING_MOST_GROUPS);
	if (!t->top_groups || t->top_groups > t->groups || t->top_k > t->experts / t->groups * t->top_groups)
		return orr_fail(err, ORR_EINPUT, "top_groups=%u: expected at most %u groups, with at least %u experts", t->top_groups,
			t->groups, t->top_k);
	if (!t->ranks || !t->per_node || t->ranks % (t->per_node < t->ranks ? t->per_node : t->ranks))
		return orr_fail(
			err, ORR_EINPUT, "%u GPUs share the experts: expected a multiple of the %u GPUs of a node", t->ranks, t->per_node);
	if ((uint64_t)t->experts + t->copies < t->ranks)
		return orr_fail(err, ORR_EINPUT, "%u experts and copies on %u GPUs: expected at least one for each", t->experts + t->copies,
			t->ranks);
	bool is_balanced = t->placement == ORR_PLACE_BALANCED || (t->placement == ORR_PLACE_AUTO && t->copies);
	if (is_balanced && (t->experts + t->copies) % t->ranks)
		return orr_fail(err, ORR_EINPUT, "%u experts and %u copies: expected a sum that the %u GPUs divide", t->experts, t->copies,
			t->ranks);
	if (t->copies && t->placement == ORR_PLACE_CONTIGUOUS)
		return orr_fail(err, ORR_EINPUT, "expert_placement=contiguous: expected no copies of experts, found %u", t->copies);
	if (!(t->capacity >= 0))
		return orr_fail(err, ORR_EINPUT, "capacity=%g: expected 0 (none), or a multiple of the mean load", t->capacity);
	return check_load(t, err);
}

/* ---- the object ---- */

void routing_free(struct routing *r)
{
	mem_free(r->pairs);
	mem_free(r->kept);
	mem_free(r->weight);
	mem_free(r->copies);
	mem_free(r->expert);
	mem_free(r->rank);
	mem_free(r->rank_pairs);
	mem_free(r->rank_visits);
	mem_free(r->node_visits);
	mem_free(r->rank_slots);
	*r = (struct routing){ 0 };
}

static void allocate(struct routing *r)
{
	r->pairs = mem_zalloc(r->experts, sizeof *r->pairs);
	r->kept = mem_zalloc(r->experts, sizeof *r->kept);
	r->weight = mem_zalloc(r->experts, sizeof *r->weight);
	r->copies = mem_zalloc(r->experts, sizeof *r->copies);
	r->expert = mem_zalloc(r->slots, sizeof *r->expert);
	r->rank = mem_zalloc(r->slots, sizeof *r->rank);
	r->rank_pairs = mem_zalloc(r->ranks, sizeof *r->rank_pairs);
	r->rank_visits = mem_zalloc(r->ranks, sizeof *r->rank_visits);
	r->node_visits = mem_zalloc(r->nodes, sizeof *r->node_visits);
	r->rank_slots = mem_zalloc(r->ranks, sizeof *r->rank_slots);
}

static void limit_capacity(struct routing *r, double capacity)
{
	double most = capacity > 0 ? capacity * r->top_k / r->experts : INFINITY, kept = 0;
	for (uint32_t e = 0; e < r->experts; e++) {
		r->kept[e] = r->pairs[e] > most ? most / r->pairs[e] : 1;
		kept += r->kept[e] * r->pairs[e];
	}
	r->dropped = fmax(0, 1 - kept / r->top_k);
}

int routing_new(const struct orr_routing_terms *t, struct routing *out, struct orr_error *err)
{
	struct routing r = { .experts = t->experts,
		.top_k = t->top_k,
		.groups = t->groups,
		.top_groups = t->top_groups,
		.ranks = t->ranks,
		.per_node = t->per_node < t->ranks ? t->per_node : t->ranks,
		.slots = t->experts + t->copies };
	*out = (struct routing){ 0 };
	if (check(t, err))
		return ORR_EINPUT;
	r.nodes = r.ranks / r.per_node;
	allocate(&r);
	if (routing_law(t, &r, err)) {
		routing_free(&r);
		return ORR_EINPUT;
	}
	limit_capacity(&r, t->capacity);
	routing_place(&r, t->placement == ORR_PLACE_BALANCED || t->copies);
	*out = r;
	return ORR_OK;
}

/* ---- loads from a file ---- */

int routing_read_loads(const char *file, const char *text, size_t size, uint32_t n, double *out, struct orr_error *err)
{
	uint32_t found = 0, line = 1;
	for (size_t i = 0; i < size;) {
		if (text[i] == '#')
			while (i < size && text[i] != '\n')
				i++;
		if (i < size && strchr(" \t\r\n,", text[i])) {
			line += text[i++] == '\n';
			continue;
		}
		size_t from = i;
		while (i < size && !strchr(" \t\r\n,#", text[i]))
			i++;
		double v;
		if (i > from && (!num_real(text + from, i - from, &v) || !(v >= 0) || isinf(v)))
			return orr_fail(err, ORR_EINPUT, "%.200s:%u: expected a number of at least 0, found \"%.*s\"", file, line,
				(int)(i - from < 40 ? i - from : 40), text + from);
		if (i > from && found < n)
			out[found] = v;
		found += i > from;
	}
	return found == n
		       ? ORR_OK
		       : orr_fail(err, ORR_EINPUT, "%.200s:%u: expected %u numbers, one for each expert, found %u", file, line, n, found);
}

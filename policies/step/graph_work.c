/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the work of an op: compute, transfer, collective, delay or mark. */
#include "document.h"
#include "graph_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES 1e18
#define MAX_SECONDS 1e9

/* ---- layers ---- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

static int layer_named(const struct graph_reader *r, const struct place *p, uint32_t *out)
{
	const char *text;
	int rc = place_own_text(p, &text);
	if (rc)
		return rc;
	*out = graph_find_name(r->layer, r->facts->layers, text);
	return *out == UINT32_MAX ? graph_unknown(p, "unknown layer", text, r->layer, r->facts->layers) : ORR_OK;
}

static void add_range(struct graph_op *o, uint32_t first, uint32_t count)
{
	o->range = orr_realloc(o->range, o->n_ranges + 1u, sizeof *o->range);
	o->range[o->n_ranges++] = (struct graph_range){ first, count };
}

/* Reads ["conv1", "conv2"]: any order, each layer once. */
static int list_of_layers(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	uint32_t n = (uint32_t)cJSON_GetArraySize(p->value), i = 0, *number = orr_alloc(n + 1u, sizeof *number);
	int rc = ORR_OK;
	r->stamp++;
	for (const cJSON *v = p->value->child; !rc && v; v = v->next, i++) {
		struct place item = place_item(p, v, i);
		rc = layer_named(r, &item, &number[i]);
		if (!rc && r->mark[number[i]] == r->stamp)
			rc = place_fail(&item, "duplicate layer \"%.80s\": expected it once", v->valuestring);
		if (!rc)
			r->mark[number[i]] = r->stamp;
	}
	if (!rc && !n)
		rc = place_fail(p, "expected layers, found an empty list");
	if (!rc)
		qsort(number, n, sizeof *number, by_number);
	for (uint32_t from = 0; !rc && from < n; from = i) {
		for (i = from + 1; i < n && number[i] == number[i - 1] + 1; i++)
			;
		add_range(o, number[from], i - from);
	}
	orr_free(number);
	return rc;
}

/* Reads {"first": "conv1", "last": "fc8"}. */
static int range_of_layers(const struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { "first", "last", NULL };
	struct place first = place_key(p, "first"), last = place_key(p, "last");
	uint32_t from = 0, to = 0;
	int rc = place_keys(p, known);
	if (!rc)
		rc = layer_named(r, &first, &from);
	if (!rc)
		rc = layer_named(r, &last, &to);
	if (!rc && to < from)
		rc = place_fail(p, "layer \"%.80s\" comes before \"%.80s\" in the model: expected the layers in the order of the model",
			last.value->valuestring, first.value->valuestring);
	if (!rc)
		add_range(o, from, to - from + 1);
	return rc;
}

static int read_layers(struct graph_reader *r, const struct place *work, struct graph_op *o)
{
	struct place p = place_key(work, "layers");
	if (cJSON_IsArray(p.value))
		return list_of_layers(r, &p, o);
	if (cJSON_IsObject(p.value))
		return range_of_layers(r, &p, o);
	if (cJSON_IsString(p.value) && !strcmp(p.value->valuestring, "all")) {
		add_range(o, 0, r->facts->layers);
		return ORR_OK;
	}
	return place_fail(&p, "expected a list of names, {\"first\": .., \"last\": ..} or \"all\"");
}

/* Merges the ranges of a message into one. Gaps between them may contain only layers without parameters. */
static int one_range(const struct graph_reader *r, const struct place *work, struct graph_op *o)
{
	struct place p = place_key(work, "layers");
	uint32_t first = o->range[0].first, end = o->range[o->n_ranges - 1].first + o->range[o->n_ranges - 1].count;
	for (uint32_t i = 0; i + 1 < o->n_ranges; i++)
		for (uint32_t l = o->range[i].first + o->range[i].count; l < o->range[i + 1].first; l++)
			if (r->facts->params[l] > 0)
				return place_fail(&p, "layer \"%.80s\", which has parameters, is missing: expected consecutive layers",
					r->facts->layer[l]);
	o->n_ranges = 1;
	o->range[0] = (struct graph_range){ first, end - first };
	return ORR_OK;
}

/* Reads "bytes", or "layers" whose gradients are sent. */
static int read_size(struct graph_reader *r, const struct place *work, struct graph_op *o)
{
	if (place_has(work, "bytes") && place_has(work, "layers"))
		return place_fail(work, "has both \"bytes\" and \"layers\": expected only one of them");
	if (!place_has(work, "layers"))
		return place_real(work, "bytes", 0, MAX_BYTES, true, &o->amount);
	int rc = read_layers(r, work, o);
	return rc ? rc : one_range(r, work, o);
}

/* ---- the kinds ---- */

static int read_device(const struct graph_reader *r, const struct place *p, const char *key, uint32_t *out)
{
	struct place v = place_key(p, key);
	return place_own_whole(&v, 0, r->facts->endpoints - 1.0, out);
}

static int read_compute(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { "device", "work", "seconds", "layers", "pass", "batch", "shards", NULL };
	static const char *const works[ORR_WORK_KINDS + 1] = { "forward", "backward", "recompute", "optimizer", "codec", "other",
		"weight-gradient", NULL };
	static const char *const passes[] = { "forward", "backward", "backward-data", "backward-weight", "update", NULL };
	static const enum orr_work work_of[] = { ORR_FORWARD, ORR_BACKWARD, ORR_BACKWARD, ORR_BACKWARD, ORR_OPTIMIZER };
	int work = -1, pass = -1;
	double shards = 1;
	if (place_keys(p, known) || read_device(r, p, "device", &o->device) || place_choice(p, "work", works, false, &work))
		return ORR_EINPUT;
	if (place_has(p, "seconds") == place_has(p, "layers"))
		return place_fail(p, "%s: expected one of them",
			place_has(p, "layers") ? "has both \"seconds\" and \"layers\"" : "has neither \"seconds\" nor \"layers\"");
	if (place_has(p, "seconds")) {
		static const char *const alone[] = { "pass", "batch", "shards" };
		o->work = work < 0 ? ORR_OTHER_WORK : (enum orr_work)work;
		for (int i = 0; i < 3; i++)
			if (place_has(p, alone[i]))
				return place_fail(p, "%s: expected this key only together with \"layers\"", alone[i]);
		return place_real(p, "seconds", 0, MAX_SECONDS, true, &o->amount);
	}
	if (o->device >= r->facts->gpus) {
		struct place device = place_key(p, "device");
		return place_fail(
			&device, "is a host, for which layers have no cost: expected a GPU, 0..%u, or \"seconds\"", r->facts->gpus - 1);
	}
	if (read_layers(r, p, o) || place_choice(p, "pass", passes, true, &pass) || place_real(p, "batch", 1e-9, 1e9, false, &o->batch) ||
		place_whole(p, "shards", 1, 1e6, false, &shards))
		return ORR_EINPUT;
	o->pass = (enum graph_pass)pass;
	o->work = work < 0 ? work_of[pass] : (enum orr_work)work;
	o->shards = (uint32_t)shards;
	return ORR_OK;
}

static int read_transfer(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { "from", "to", "bytes", "layers", NULL };
	if (place_keys(p, known) || read_device(r, p, "from", &o->device) || read_device(r, p, "to", &o->peer) || read_size(r, p, o))
		return ORR_EINPUT;
	struct place to = place_key(p, "to");
	return o->device == o->peer ? place_fail(&to, "is the sender: expected another device") : ORR_OK;
}

static int read_group(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	struct graph *g = r->graph;
	struct place v = place_key(p, "group");
	if (cJSON_IsString(v.value)) {
		uint32_t n = 0;
		struct graph_name *names = orr_alloc(g->n_groups + 1u, sizeof *names);
		for (uint32_t i = 0; i < g->n_groups; i++)
			if (g->group[i].name)
				names[n++] = (struct graph_name){ g->group[i].name, i };
		graph_sort_names(names, n);
		o->group = graph_find_name(names, n, v.value->valuestring);
		int rc = o->group == UINT32_MAX ? graph_unknown(&v, "unknown group", v.value->valuestring, names, n) : ORR_OK;
		orr_free(names);
		return rc;
	}
	if (!cJSON_IsArray(v.value))
		return place_fail(&v, "expected the name of a group, such as \"all\", or a list of devices");
	g->group = orr_realloc(g->group, g->n_groups + 1u, sizeof *g->group);
	g->group[g->n_groups] = (struct graph_group){ NULL, NULL, 0 };
	o->group = g->n_groups++;
	return graph_read_members(r, &v, &g->group[o->group]);
}

static const char *const op_names[] = { "all-reduce", "reduce-scatter", "all-gather", "broadcast", "reduce", "all-to-all", NULL };
static const char *const algorithms[] = { "default", "ring", "halving-doubling", "double-tree", "hierarchical", "direct",
	"hierarchical-leader", "multi-ring", "multi-tree", "nvls-tree", NULL };

/* Rejects operations that the network's collectives do not support (docs/models/net.md). The scenario's default algorithm falls back
 * to a ring. */
static int check_algorithm(const struct place *p, const struct orr_collective *c, uint32_t n)
{
	struct place v = place_key(p, "algorithm"), group = place_key(p, "group");
	bool can = true, is_hierarchical = c->algorithm == ORR_HIERARCHICAL || c->algorithm == ORR_HIERARCHICAL_LEADER;
	if (c->algorithm == ORR_HALVING_DOUBLING && c->op != ORR_ALL_REDUCE && c->op != ORR_ALL_TO_ALL && (n & (n - 1)))
		return place_fail(&group, "has %u members: expected a power of two for %s by halving-doubling", n, op_names[c->op]);
	if (c->algorithm == ORR_HALVING_DOUBLING)
		can = c->op != ORR_ALL_TO_ALL;
	else if (c->algorithm == ORR_DOUBLE_TREE)
		can = c->op == ORR_ALL_REDUCE || c->op == ORR_BROADCAST || c->op == ORR_REDUCE;
	else if (is_hierarchical || c->algorithm == ORR_MULTI_RING)
		can = c->op == ORR_ALL_REDUCE || c->op == ORR_REDUCE_SCATTER || c->op == ORR_ALL_GATHER;
	else if (c->algorithm == ORR_MULTI_TREE || c->algorithm == ORR_NVLS_TREE)
		can = c->op == ORR_ALL_REDUCE;
	if (!can)
		return place_fail(&v, "%s does not support %s: expected ring or direct", algorithms[c->algorithm], op_names[c->op]);
	v = place_key(p, "inner");
	if (c->inner && !is_hierarchical)
		return place_fail(&v, "expected this key only for hierarchical algorithms");
	if (c->inner && n % c->inner)
		return place_fail(&v, "expected a divisor of the group's %u members, found %u", n, c->inner);
	v = place_key(p, "root");
	if (v.value && c->op != ORR_BROADCAST && c->op != ORR_REDUCE)
		return place_fail(&v, "expected this key only for broadcast and reduce");
	if (c->root >= n)
		return place_fail(&v, "expected a rank of the group, 0..%u, found %u", n - 1, c->root);
	return ORR_OK;
}

static int read_collective(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { "op", "group", "bytes", "layers", "algorithm", "repeat", "root", "inner", "chunks", NULL };
	int op = 0, algorithm = 0;
	double repeat = 1, root = 0, inner = 0, chunks = 0;
	if (place_keys(p, known) || place_choice(p, "op", op_names, true, &op) || read_group(r, p, o) || read_size(r, p, o) ||
		place_choice(p, "algorithm", algorithms, false, &algorithm) || place_whole(p, "repeat", 1, 1e6, false, &repeat) ||
		place_whole(p, "root", 0, 1e9, false, &root) || place_whole(p, "inner", 1, 1e9, false, &inner) ||
		place_whole(p, "chunks", 1, 65536, false, &chunks))
		return ORR_EINPUT;
	o->collective = (struct orr_collective){ .op = (enum orr_collective_op)op,
		.algorithm = (enum orr_collective_algorithm)algorithm,
		.root = (uint32_t)root,
		.inner = (uint32_t)inner,
		.repeat = (uint32_t)repeat,
		.chunks = (uint32_t)chunks };
	return check_algorithm(p, &o->collective, r->graph->group[o->group].n);
}

static int read_delay(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { "seconds", NULL };
	(void)r;
	return place_keys(p, known) || place_real(p, "seconds", 0, MAX_SECONDS, true, &o->amount) ? ORR_EINPUT : ORR_OK;
}

static int read_mark(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { NULL };
	(void)r, (void)o;
	return place_keys(p, known);
}

static const struct {
	const char *key;
	int (*read)(struct graph_reader *r, const struct place *p, struct graph_op *o);
} kinds[GRAPH_KINDS] = { { "compute", read_compute }, { "transfer", read_transfer }, { "collective", read_collective },
	{ "delay", read_delay }, { "mark", read_mark } };

int graph_read_work(struct graph_reader *r, const struct place *op, struct graph_op *out)
{
	int found = -1;
	for (int i = 0; i < GRAPH_KINDS; i++) {
		if (!place_has(op, kinds[i].key))
			continue;
		if (found >= 0)
			return place_fail(op, "has both \"%s\" and \"%s\": expected only one of them", kinds[found].key, kinds[i].key);
		found = i;
	}
	if (found < 0)
		return place_fail(
			op, "has no work: expected one of the keys \"compute\", \"transfer\", \"collective\", \"delay\" and \"mark\"");
	struct place work = place_key(op, kinds[found].key);
	out->kind = (enum graph_kind)found;
	return kinds[found].read(r, &work, out);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "graph_read.h"

#include "document.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 100, MAX_STREAM = 7 };

#define MAX_BYTES 1e18
#define MAX_SAMPLES 1e15

/* ---- texts ---- */

static char *copy_of(const char *text)
{
	size_t n = strlen(text) + 1;
	return memcpy(orr_alloc(n, 1), text, n);
}

/* Reads a name for the timeline. */
static int read_name(const struct place *p, const char *key, bool is_needed, char **out)
{
	const char *text = NULL;
	struct place v = place_key(p, key);
	int rc = place_text(p, key, is_needed, &text);
	if (rc || !text)
		return rc;
	if (strlen(text) > MAX_NAME)
		return place_fail(&v, "expected at most %d bytes", MAX_NAME);
	*out = copy_of(text);
	return ORR_OK;
}

/* ---- groups ---- */

/* Sets the default of group "all". */
static void all_gpus(struct graph_group *out, uint32_t gpus)
{
	out->name = copy_of("all");
	out->member = orr_alloc(gpus, sizeof *out->member);
	for (out->n = 0; out->n < gpus; out->n++)
		out->member[out->n] = out->n;
}

static int read_groups(struct graph_reader *r, const struct place *root)
{
	struct place p = place_key(root, "groups");
	struct graph *g = r->graph;
	if (p.value && !cJSON_IsObject(p.value))
		return place_fail(&p, "expected an object of lists of devices");
	g->group = orr_alloc((size_t)cJSON_GetArraySize(p.value) + 1, sizeof *g->group);
	for (const cJSON *v = p.value ? p.value->child : NULL; v; v = v->next) {
		struct place list = place_key(&p, v->string);
		for (const cJSON *w = v->next; w; w = w->next)
			if (!strcmp(w->string, v->string))
				return place_fail(&p, "duplicate group \"%.60s\": expected it once", v->string);
		struct graph_group *x = &g->group[g->n_groups++];
		x->name = copy_of(v->string);
		if (graph_read_members(r, &list, x))
			return ORR_EINPUT;
	}
	if (!place_has(&p, "all"))
		all_gpus(&g->group[g->n_groups++], r->facts->gpus);
	return ORR_OK;
}

/* ---- ops ---- */

/* Reads all ids first, because an op may wait for a later one. */
static int read_ids(struct graph_reader *r, const struct place *ops)
{
	struct graph *g = r->graph;
	int n = place_list(ops, "ops") ? -1 : cJSON_GetArraySize(ops->value);
	if (n <= 0)
		return n ? ORR_EINPUT : place_fail(ops, "expected a list with at least one op, found an empty list");
	g->op = orr_alloc((size_t)n, sizeof *g->op);
	r->id = orr_alloc((size_t)n, sizeof *r->id);
	for (const cJSON *v = ops->value->child; v; v = v->next) {
		struct place p = place_item(ops, v, g->n);
		struct graph_op *o = &g->op[g->n];
		o->at = g->n++;
		if (!cJSON_IsObject(v))
			return place_fail(&p, "expected an object");
		if (read_name(&p, "id", true, &o->id))
			return p.doc->err->code;
		r->id[o->at] = (struct graph_name){ o->id, o->at };
	}
	graph_sort_names(r->id, g->n);
	for (uint32_t i = 1; i < g->n; i++)
		if (!strcmp(r->id[i].text, r->id[i - 1].text)) {
			struct place p = place_item(ops, NULL, r->id[i].number);
			return place_fail(
				&p, "duplicate id \"%.60s\" (of $.ops[%u]): expected a unique id", r->id[i].text, r->id[i - 1].number);
		}
	return ORR_OK;
}

static int read_waits(struct graph_reader *r, const struct place *op, const char *key, uint32_t **out, uint32_t *n)
{
	struct place p = place_key(op, key);
	size_t i = 0;
	if (!p.value)
		return ORR_OK;
	if (place_list(&p, "ids of ops"))
		return ORR_EINPUT;
	*out = orr_alloc((size_t)cJSON_GetArraySize(p.value) + 1, sizeof **out);
	for (const cJSON *v = p.value->child; v; v = v->next) {
		struct place item = place_item(&p, v, i++);
		const char *text;
		if (place_own_text(&item, &text))
			return ORR_EINPUT;
		uint32_t number = graph_find_name(r->id, r->graph->n, text);
		if (number == UINT32_MAX)
			return graph_unknown(&item, "unknown op id", text, r->id, r->graph->n);
		(*out)[(*n)++] = number;
	}
	return ORR_OK;
}

/* Reads {"device", "bytes"} or a list of such objects; holds also have a kind. */
static int read_memory(
	const struct graph_reader *r, const struct place *op, const char *key, bool is_hold, struct graph_memory **out, uint32_t *n)
{
	static const char *const plain[] = { "device", "bytes", NULL }, *const held[] = { "device", "bytes", "kind", NULL };
	static const char *const kinds[ORR_MEMORY_KINDS + 1] = { "weights", "gradients", "optimizer", "activations", "buffers", NULL };
	struct place p = place_key(op, key);
	size_t i = 0;
	if (!p.value)
		return ORR_OK;
	bool is_list = cJSON_IsArray(p.value);
	*out = orr_alloc((is_list ? (size_t)cJSON_GetArraySize(p.value) : 1) + 1, sizeof **out);
	for (const cJSON *v = is_list ? p.value->child : p.value; v; v = is_list ? v->next : NULL) {
		struct place item = is_list ? place_item(&p, v, i++) : p;
		struct place device = place_key(&item, "device");
		struct graph_memory *m = &(*out)[(*n)++];
		int kind = ORR_MEMORY_BUFFERS;
		if (place_keys(&item, is_hold ? held : plain) || place_choice(&item, "kind", kinds, is_hold, &kind) ||
			place_own_whole(&device, 0, r->facts->endpoints - 1.0, &m->device) ||
			place_real(&item, "bytes", 0, MAX_BYTES, true, &m->bytes))
			return ORR_EINPUT;
		m->kind = (enum orr_memory)kind;
	}
	return ORR_OK;
}

static int read_order(const struct place *p, struct graph_op *o)
{
	double stream = 0, priority = 0;
	struct place v = place_key(p, "stream");
	if (place_whole(p, "stream", 0, MAX_STREAM, false, &stream) ||
		place_whole(p, "priority", -2147483647.0, 2147483647.0, false, &priority))
		return ORR_EINPUT;
	if (stream > 0 && o->kind != GRAPH_TRANSFER && o->kind != GRAPH_COLLECTIVE)
		return place_fail(&v, "expected a transfer or collective: compute is on stream 0, delays and marks on none");
	o->stream = (uint32_t)stream;
	o->priority = (int32_t)priority;
	return ORR_OK;
}

static int read_op(struct graph_reader *r, const struct place *p, struct graph_op *o)
{
	static const char *const known[] = { "id", "compute", "transfer", "collective", "delay", "mark", "after", "after_previous",
		"stream", "priority", "detach", "label", "takes", "gives", "samples", NULL };
	if (place_keys(p, known) || graph_read_work(r, p, o) || read_waits(r, p, "after", &o->after, &o->n_after) ||
		read_waits(r, p, "after_previous", &o->previous, &o->n_previous) || read_order(p, o) ||
		place_bool(p, "detach", &o->is_detached) || read_name(p, "label", false, &o->label) ||
		read_memory(r, p, "takes", false, &o->takes, &o->n_takes) || read_memory(r, p, "gives", false, &o->gives, &o->n_gives) ||
		place_real(p, "samples", 0, MAX_SAMPLES, false, &o->samples))
		return p->doc->err->code;
	return ORR_OK;
}

static int read_ops(struct graph_reader *r, const struct place *root)
{
	struct place ops = place_key(root, "ops");
	uint32_t attached = 0, busy = 0, i = 0;
	int rc = read_ids(r, &ops);
	for (const cJSON *v = rc ? NULL : ops.value->child; !rc && v; v = v->next, i++) {
		struct place p = place_item(&ops, v, i);
		rc = read_op(r, &p, &r->graph->op[i]);
		attached += !r->graph->op[i].is_detached;
		busy += r->graph->op[i].kind != GRAPH_MARK;
	}
	if (!rc && !busy)
		rc = place_fail(&ops, "all ops are marks: expected an op that takes time");
	if (!rc && !attached)
		rc = place_fail(&ops, "all ops are detached: expected an attached op, which ends the iteration");
	return rc ? rc : graph_order(r->graph, &ops);
}

/* ---- files ---- */

static int read_all(struct graph_reader *r, const struct place *root)
{
	static const char *const known[] = { "ops", "groups", "samples", "barrier", "holds", "title", NULL };
	const struct graph_facts *f = r->facts;
	const char *title;
	uint32_t most = f->layers > f->endpoints ? f->layers : f->endpoints;
	r->layer = orr_alloc(f->layers + 1u, sizeof *r->layer);
	r->mark = orr_alloc(most + 1u, sizeof *r->mark);
	for (uint32_t i = 0; i < f->layers; i++)
		r->layer[i] = (struct graph_name){ f->layer[i], i };
	graph_sort_names(r->layer, f->layers);
	if (place_keys(root, known) || place_text(root, "title", false, &title) ||
		place_real(root, "samples", 1e-9, MAX_SAMPLES, false, &r->graph->samples) ||
		place_bool(root, "barrier", &r->graph->is_barrier) ||
		read_memory(r, root, "holds", true, &r->graph->holds, &r->graph->n_holds) || read_groups(r, root) || read_ops(r, root))
		return root->doc->err->code;
	return ORR_OK;
}

struct graph *graph_file_read(const char *file, const char *text, size_t n, const struct graph_facts *facts, struct orr_error *err)
{
	struct document d;
	struct orr_error e = { 0 };
	struct graph_reader r = { .facts = facts };
	int rc = document_open(&d, file, text, n, &e);
	if (!rc) {
		struct place root = place_root(&d);
		r.graph = orr_alloc(1, sizeof *r.graph);
		rc = read_all(&r, &root);
		document_close(&d);
	}
	orr_free(r.layer);
	orr_free(r.id);
	orr_free(r.mark);
	if (!rc)
		return r.graph;
	graph_file_free(r.graph);
	if (err)
		*err = e;
	return NULL;
}

void graph_file_free(struct graph *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->n && g->op; i++) {
		struct graph_op *o = &g->op[i];
		orr_free(o->id);
		orr_free(o->label);
		orr_free(o->range);
		orr_free(o->after);
		orr_free(o->previous);
		orr_free(o->takes);
		orr_free(o->gives);
	}
	for (uint32_t i = 0; i < g->n_groups && g->group; i++) {
		orr_free(g->group[i].name);
		orr_free(g->group[i].member);
	}
	orr_free(g->op);
	orr_free(g->group);
	orr_free(g->holds);
	orr_free(g);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of one rank: sorted by id, with dependencies as indices, checked.
 *
 * Dependencies are read as ids, in the order of the file, and turned into lists of children (compressed rows). A topological sort then
 * finds cycles.
 */
#include "traces/chakra_load.h"

#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a rank before its nodes are sorted. */
struct draft {
	struct chakra *c;
	const char *path;
	uint32_t rank;
	struct chakra_node *node; /* in the order of the file; first_child: first index in dep[] */
	size_t n, cap;
	uint64_t *dep; /* ids */
	size_t n_deps, cap_deps;
	struct orr_error *err;
	uint32_t looked_up[64]; /* groups that hold the rank, by a hash of the name; 0: none yet */
};

__attribute__((format(printf, 3, 4))) static int fail(const struct draft *d, uint64_t id, const char *format, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	return orr_fail(d->err, ORR_EINPUT, "%.250s: rank %u: node %" PRIu64 ": %s", d->path, d->rank, id, text);
}

/* ---- attributes ---- */

static bool is_name(const struct chakra_attribute *a, const char *name, size_t n)
{
	return a->name.n == n && !memcmp(a->name.s, name, n);
}
#define IS(a, text) is_name(a, text, sizeof(text) - 1)

/* Reads an integer of any type, at least 0. */
static int whole(const struct draft *d, const struct chakra_record *r, const struct chakra_attribute *a, uint64_t most, uint64_t *out)
{
	bool is_signed = a->kind == CHAKRA_SIGNED;
	if (is_signed && a->i < 0)
		return fail(d, r->id, "%.*s: expected at least 0, found %" PRId64, (int)a->name.n, a->name.s, a->i);
	if (!is_signed && a->kind != CHAKRA_UNSIGNED)
		return fail(d, r->id, "%.*s: expected an integer", (int)a->name.n, a->name.s);
	*out = is_signed ? (uint64_t)a->i : a->u;
	if (*out > most)
		return fail(d, r->id, "%.*s: expected at most %" PRIu64 ", found %" PRIu64, (int)a->name.n, a->name.s, most, *out);
	return ORR_OK;
}

struct values {
	uint64_t comm_size, tensor_size, num_ops, comm_type, src, dst, tag, duration_ns, slot, is_instant, is_detached;
	bool has_src, has_dst, has_comm_type, is_host;
	struct chakra_text group;
};

static int take_value(const struct draft *d, const struct chakra_record *r, const struct chakra_attribute *a, struct values *v)
{
	uint64_t most_rank = d->c->n_ranks - 1u;
	if (IS(a, "is_cpu_op")) {
		if (a->kind != CHAKRA_BOOL && a->kind != CHAKRA_UNSIGNED && a->kind != CHAKRA_SIGNED)
			return fail(d, r->id, "is_cpu_op: expected a bool");
		v->is_host = a->u != 0;
		return ORR_OK;
	}
	if (IS(a, "comm_size"))
		return whole(d, r, a, CHAKRA_MOST_BYTES, &v->comm_size);
	if (IS(a, "tensor_size"))
		return whole(d, r, a, CHAKRA_MOST_BYTES, &v->tensor_size);
	if (IS(a, "num_ops"))
		return whole(d, r, a, UINT64_MAX, &v->num_ops);
	if (IS(a, "comm_type")) {
		v->has_comm_type = true;
		return whole(d, r, a, CHAKRA_COLLECTIVES - 1, &v->comm_type);
	}
	if (IS(a, "comm_src")) {
		v->has_src = true;
		return whole(d, r, a, most_rank, &v->src);
	}
	if (IS(a, "comm_dst")) {
		v->has_dst = true;
		return whole(d, r, a, most_rank, &v->dst);
	}
	if (IS(a, "orrery_duration_ns"))
		return whole(d, r, a, CHAKRA_MOST_MICROS * 1000, &v->duration_ns);
	if (IS(a, "orrery_slot")) {
		int rc = whole(d, r, a, CHAKRA_STREAMS, &v->slot);
		v->slot++;
		return rc;
	}
	if (IS(a, "orrery_instant"))
		return whole(d, r, a, 1, &v->is_instant);
	if (IS(a, "orrery_detached"))
		return whole(d, r, a, 1, &v->is_detached);
	if (IS(a, "comm_tag"))
		return whole(d, r, a, UINT32_MAX, &v->tag);
	if (IS(a, "pg_name")) {
		if (a->kind != CHAKRA_TEXT)
			return fail(d, r->id, "pg_name: expected a text");
		v->group = a->text;
	}
	return ORR_OK;
}

/* ---- nodes ---- */

static bool is_member(const struct chakra_group *g, uint32_t rank)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->member[i] == rank)
			return true;
	return false;
}

/* Sets the group of a collective. */
static int set_group(struct draft *d, const struct chakra_record *r, const struct chakra_text *name, struct chakra_node *x)
{
	if (!name->n || (name->n == 1 && *name->s == '0'))
		return ORR_OK;
	uint32_t *slot = &d->looked_up[hash_bytes(HASH_START, name->s, name->n) % 64];
	const char *last = d->c->group[*slot].name;
	x->group = *slot;
	if (*slot && strlen(last) == name->n && !memcmp(last, name->s, name->n))
		return ORR_OK;
	x->group = chakra_group_named(d->c, name->s, name->n);
	if (x->group == UINT32_MAX)
		return fail(d, r->id,
			"pg_name \"%.*s\": expected a group of the file of groups (groups.json beside the trace, or --groups)",
			name->n > 60 ? 60 : (int)name->n, name->s);
	if (!is_member(&d->c->group[x->group], d->rank))
		return fail(d, r->id, "pg_name \"%.60s\": the group does not hold rank %u: expected a group of the rank",
			d->c->group[x->group].name, d->rank);
	*slot = x->group;
	return ORR_OK;
}

static int set_peer(const struct draft *d, const struct chakra_record *r, const struct values *v, struct chakra_node *x)
{
	bool is_send = r->type == CHAKRA_SEND;
	uint64_t own = is_send ? v->src : v->dst, peer = is_send ? v->dst : v->src;
	const char *own_name = is_send ? "comm_src" : "comm_dst", *peer_name = is_send ? "comm_dst" : "comm_src";
	if (!(is_send ? v->has_dst : v->has_src))
		return fail(d, r->id, "a %s without %s: expected the other rank", chakra_type_name(r->type), peer_name);
	if ((is_send ? v->has_src : v->has_dst) && own != d->rank)
		return fail(d, r->id, "%s: expected %u, the rank of the file, found %" PRIu64, own_name, d->rank, own);
	if (peer == d->rank)
		return fail(d, r->id, "%s: expected another rank, found its own", peer_name);
	x->peer = (uint32_t)peer;
	x->tag = (uint32_t)v->tag;
	return ORR_OK;
}

static int add_ids(struct draft *d, const struct chakra_record *r, const uint64_t *id, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (d->n_deps >= UINT32_MAX)
			return fail(d, r->id, "the rank has more than 2^32 dependencies");
		MEM_GROW(d->dep, d->n_deps, d->cap_deps);
		d->dep[d->n_deps++] = id[i];
	}
	return ORR_OK;
}

static int add_node(struct draft *d, const struct chakra_record *r)
{
	struct values v = { .duration_ns = UINT64_MAX };
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < r->n_attributes; i++)
		rc = take_value(d, r, &r->attribute[i], &v);
	if (rc)
		return rc;
	if (d->n && d->node[d->n - 1].id == r->id)
		return fail(d, r->id, "the file has two nodes of this id: expected one");
	if (d->n >= CHAKRA_MOST_NODES)
		return fail(d, r->id, "the rank has more than %d nodes", CHAKRA_MOST_NODES);
	if (r->duration_us > CHAKRA_MOST_MICROS)
		return fail(d, r->id, "duration_micros: expected at most %" PRIu64 ", found %" PRIu64, CHAKRA_MOST_MICROS, r->duration_us);
	bool is_comm = r->type == CHAKRA_SEND || r->type == CHAKRA_RECEIVE || r->type == CHAKRA_COLLECTIVE;
	struct chakra_node x = { .id = r->id,
		.duration_ns = v.duration_ns < UINT64_MAX ? v.duration_ns : r->duration_us * 1000,
		.bytes = is_comm ? v.comm_size : v.tensor_size,
		.num_ops = v.num_ops,
		.first_child = (uint32_t)d->n_deps,
		.waits = (uint32_t)(r->n_ctrl + r->n_data),
		.type = (uint8_t)r->type,
		.collective = (uint8_t)v.comm_type,
		.is_host = v.is_host,
		.slot = (uint8_t)v.slot,
		.is_instant = v.is_instant != 0,
		.is_detached = v.is_detached != 0 };
	if (r->type == CHAKRA_COLLECTIVE && !v.has_comm_type)
		return fail(d, r->id, "a collective without comm_type: expected 0 (all-reduce) to 9 (barrier)");
	if (r->type == CHAKRA_COLLECTIVE)
		rc = set_group(d, r, &v.group, &x);
	else if (is_comm)
		rc = set_peer(d, r, &v, &x);
	if (!rc && !(rc = add_ids(d, r, r->ctrl, r->n_ctrl)))
		rc = add_ids(d, r, r->data, r->n_data);
	if (rc)
		return rc;
	MEM_GROW(d->node, d->n, d->cap);
	d->node[d->n++] = x;
	return ORR_OK;
}

/* ---- order, children ---- */

static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct chakra_node *)a)->id, y = ((const struct chakra_node *)b)->id;
	return x < y ? -1 : x > y;
}

static bool is_ascending(const struct draft *d)
{
	for (size_t i = 1; i < d->n; i++)
		if (d->node[i].id <= d->node[i - 1].id)
			return false;
	return true;
}

/* Index of nodes by id: a table if ids are dense, else a search. */
struct lookup {
	const struct chakra_node *node;
	size_t n;
	uint32_t *table; /* index + 1, by id - base; NULL: search */
	uint64_t base, span;
};

static void lookup_begin(struct lookup *l, const struct draft *d)
{
	*l = (struct lookup){ .node = d->node, .n = d->n };
	if (!d->n)
		return;
	l->base = d->node[0].id;
	l->span = d->node[d->n - 1].id - l->base;
	if (l->span / 4 > d->n)
		return;
	l->table = mem_zalloc(l->span + 1, sizeof *l->table);
	for (size_t i = 0; i < d->n; i++)
		l->table[d->node[i].id - l->base] = (uint32_t)i + 1;
}

static uint32_t lookup_find(const struct lookup *l, uint64_t id)
{
	if (l->table)
		return id < l->base || id - l->base > l->span || !l->table[id - l->base] ? UINT32_MAX : l->table[id - l->base] - 1;
	const struct chakra_node key = { .id = id };
	const struct chakra_node *x = l->n ? bsearch(&key, l->node, l->n, sizeof key, by_id) : NULL;
	return x ? (uint32_t)(x - l->node) : UINT32_MAX;
}

/* Turns ids of dependencies into lists of children. Sets first_child of nodes and of the end. */
static int set_children(struct draft *d, struct chakra_rank *k)
{
	struct lookup l;
	uint32_t *before = mem_zalloc(d->n_deps + 1, sizeof *before), *start = mem_zalloc(d->n + 1, sizeof *start);
	int rc = ORR_OK;
	lookup_begin(&l, d);
	for (size_t i = 0; i < d->n && !rc; i++)
		for (uint32_t j = 0; j < d->node[i].waits && !rc; j++) {
			uint64_t id = d->dep[d->node[i].first_child + j];
			uint32_t p = lookup_find(&l, id);
			if (p == UINT32_MAX)
				rc = fail(d, d->node[i].id, "waits for node %" PRIu64 ", which the file lacks: expected the id of a node",
					id);
			else
				start[(before[d->node[i].first_child + j] = p) + 1]++;
		}
	for (size_t i = 0; i < d->n; i++)
		start[i + 1] += start[i];
	k->child = mem_alloc((d->n_deps + 1) * sizeof *k->child);
	uint32_t *next = mem_alloc((d->n + 1) * sizeof *next);
	memcpy(next, start, (d->n + 1) * sizeof *next);
	for (size_t i = 0; i < d->n && !rc; i++)
		for (uint32_t j = 0; j < d->node[i].waits; j++)
			k->child[next[before[d->node[i].first_child + j]]++] = (uint32_t)i;
	for (size_t i = 0; i <= d->n; i++)
		d->node[i].first_child = start[i];
	mem_free(l.table);
	mem_free(next);
	mem_free(start);
	mem_free(before);
	return rc;
}

/* ---- cycles ---- */

/* Names a cycle: each node that is left waits for another one that is left. */
static int name_cycle(const struct draft *d, const struct chakra_rank *k, const uint32_t *left)
{
	uint32_t *waits_for = mem_alloc(d->n * sizeof *waits_for), *seen = mem_zalloc(d->n, sizeof *seen), at = UINT32_MAX, from;
	for (uint32_t i = 0; i < d->n; i++)
		for (uint32_t j = k->node[i].first_child; left[i] && j < k->node[i + 1].first_child; j++)
			waits_for[k->child[j]] = i;
	for (uint32_t i = 0; i < d->n && at == UINT32_MAX; i++)
		if (left[i])
			at = i;
	while (!seen[at]) {
		seen[at] = 1;
		at = waits_for[at];
	}
	char text[320] = "";
	size_t n = 0;
	unsigned named = 0;
	from = at;
	do {
		uint32_t next = waits_for[at];
		if (named++ < 5)
			n += (size_t)snprintf(
				text + n, sizeof text - n, "%swaits for node %" PRIu64, n ? ", which " : "", k->node[next].id);
		at = next;
	} while (at != from);
	if (named > 5)
		snprintf(text + n, sizeof text - n, ", .. (a cycle of %u nodes)", named);
	mem_free(waits_for);
	mem_free(seen);
	return fail(d, k->node[from].id, "%s: expected dependencies without a cycle", text);
}

static int check_cycles(const struct draft *d, const struct chakra_rank *k)
{
	uint32_t *left = mem_alloc((d->n + 1) * sizeof *left), *ready = mem_alloc((d->n + 1) * sizeof *ready);
	size_t n = 0, first = 0;
	for (uint32_t i = 0; i < d->n; i++)
		if (!(left[i] = k->node[i].waits))
			ready[n++] = i;
	for (; first < n; first++)
		for (uint32_t i = ready[first], j = k->node[i].first_child; j < k->node[i + 1].first_child; j++)
			if (!--left[k->child[j]])
				ready[n++] = k->child[j];
	int rc = n < d->n ? name_cycle(d, k, left) : ORR_OK;
	mem_free(left);
	mem_free(ready);
	return rc;
}

static int finish(struct draft *d, struct chakra_rank *k)
{
	if (!is_ascending(d)) {
		qsort(d->node, d->n, sizeof *d->node, by_id);
		for (size_t i = 1; i < d->n; i++)
			if (d->node[i].id == d->node[i - 1].id)
				return fail(d, d->node[i].id, "the file has two nodes of this id: expected one");
	}
	d->node = mem_realloc(d->node, d->n + 1, sizeof *d->node);
	d->node[d->n] = (struct chakra_node){ 0 };
	int rc = set_children(d, k);
	k->node = d->node;
	k->n = (uint32_t)d->n;
	d->node = NULL;
	d->c->nodes += k->n;
	return rc ? rc : check_cycles(d, k);
}

int chakra_rank_read(struct chakra *c, struct chakra_file *f, uint32_t rank, struct orr_error *err)
{
	struct draft d = { .c = c, .path = c->rank[rank].path, .rank = rank, .err = err };
	const struct chakra_record *r;
	int got, rc = ORR_OK;
	while (!rc && (got = chakra_next(f, &r, err)) != 0)
		rc = got < 0 ? ORR_EINPUT : add_node(&d, r);
	if (!rc)
		rc = finish(&d, &c->rank[rank]);
	mem_free(d.node);
	mem_free(d.dep);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instances of the first iteration become nodes:
 *
 *	compute     a compute node of the device's rank
 *	transfer    a send node and a receive node
 *	collective  a collective node on each member, `repeat` times in sequence
 *	delay       a node of the host slot, on the rank of the first op that it waits for
 *	mark        the same, of 1 ns. Nodes that wait for a metadata node start at the next end of a node of the rank, so ranks that only
 *	            receive would wait for ever. In an iteration with delays, which occupy the slot, a metadata node
 *
 * A dependency between ops without a common rank becomes a message of 1 byte. Ids of a rank ascend by priority, then by creation, which is
 * the order in which both executors start ready ops.
 */
#include "step/export.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/strtab.h"
#include "step/experts.h"
#include "traces/chakra.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	uint32_t rank, peer, tag, group;
	int32_t priority;
	uint64_t order; /* order of creation */
	uint8_t type, collective;
	uint8_t slot; /* 0: none; s + 1: stream s */
	bool is_host, is_instant, is_detached;
	double seconds, bytes;
	uint64_t id;
	uint32_t first_dep; /* list of struct wait; NONE: none */
};
struct wait {
	uint32_t on, next;
};
/* The nodes of an instance on one rank: the one that waits for others, and the one that others wait for. */
struct place {
	uint32_t rank, in, out;
};

struct export
{
	const struct orr_step *s;
	const struct iteration *k;
	struct node *node;
	size_t n, cap;
	struct wait *wait;
	size_t n_waits, cap_waits;
	struct place *place;
	uint32_t *first_place; /* by instance; n_instances + 1 */
	uint32_t *by_rank;     /* places of each instance in order of rank, then of number */
	size_t n_places, cap_places;
	struct strtab *groups; /* lists of ranks as JSON; number 0: all */
	uint32_t tags;
	struct export_counts *counts;
	struct orr_error *err;
	const char *dir, *name, *label;
	bool is_done;
};

static uint32_t add_node(struct export *x, struct node v)
{
	v.first_dep = NONE;
	MEM_GROW(x->node, x->n, x->cap);
	x->node[x->n] = v;
	if (v.rank >= x->counts->ranks)
		x->counts->ranks = v.rank + 1;
	return (uint32_t)x->n++;
}

/* on: a node for which this node does not wait yet. */
static void add_new_wait(struct export *x, uint32_t node, uint32_t on)
{
	MEM_GROW(x->wait, x->n_waits, x->cap_waits);
	x->wait[x->n_waits] = (struct wait){ on, x->node[node].first_dep };
	x->node[node].first_dep = (uint32_t)x->n_waits++;
}

static void add_wait(struct export *x, uint32_t node, uint32_t on)
{
	for (uint32_t w = x->node[node].first_dep; w != NONE; w = x->wait[w].next)
		if (x->wait[w].on == on)
			return;
	add_new_wait(x, node, on);
}

static void add_place(struct export *x, uint32_t rank, uint32_t in, uint32_t out)
{
	MEM_GROW(x->place, x->n_places, x->cap_places);
	x->place[x->n_places++] = (struct place){ rank, in, out };
}

/* ---- instances ---- */

/* Returns the number of the group of a collective. */
static uint32_t group_of(struct export *x, const struct coll *c, uint32_t lane)
{
	struct sbuf list = { 0 };
	bool is_all = c->n == x->s->config->cluster->gpus;
	for (uint32_t r = 0; r < c->n; r++) {
		uint32_t d = rank_device(x->s, x->k, c, lane, r);
		is_all = is_all && d == r;
		sbuf_printf(&list, "%s%u", r ? ", " : "[", d);
	}
	sbuf_putc(&list, ']');
	uint32_t number = is_all ? 0 : strtab_add_z(x->groups, sbuf_text(&list));
	sbuf_free(&list);
	return number;
}

static int collective_of(enum orr_collective_op op)
{
	switch (op) {
	case ORR_ALL_REDUCE:
		return CHAKRA_ALL_REDUCE;
	case ORR_REDUCE_SCATTER:
		return CHAKRA_REDUCE_SCATTER;
	case ORR_ALL_GATHER:
		return CHAKRA_ALL_GATHER;
	case ORR_ALL_TO_ALL:
		return CHAKRA_ALL_TO_ALL;
	default:
		return -1;
	}
}

static int add_collective(struct export *x, const struct op *o, const struct instance *i, struct node v)
{
	const struct coll *c = &x->k->coll[o->collective];
	int type = collective_of(c->what.op);
	uint32_t repeat = c->what.repeat ? c->what.repeat : 1;
	if (type < 0)
		return orr_fail(x->err, ORR_EINPUT,
			"--export chakra: policy %.60s has a broadcast or a reduce, for which ASTRA-sim has no algorithm: expected "
			"all-reduce, "
			"reduce-scatter, all-gather, all-to-all and transfers",
			x->label);
	v.type = CHAKRA_COLLECTIVE;
	v.collective = (uint8_t)type;
	v.group = group_of(x, c, i->lane);
	v.bytes = type == CHAKRA_ALL_GATHER ? c->what.bytes / c->n : c->what.bytes;
	double rounds = type == CHAKRA_ALL_REDUCE ? 2 * (c->n - 1.0) / c->n : type == CHAKRA_ALL_GATHER ? c->n - 1.0 : (c->n - 1.0) / c->n;
	for (uint32_t r = 0; r < c->n; r++) {
		uint32_t first = NONE, last = NONE;
		v.rank = rank_device(x->s, x->k, c, i->lane, r);
		for (uint32_t j = 0; j < repeat; j++) {
			uint32_t next = add_node(x, v);
			if (last == NONE)
				first = next;
			else
				add_wait(x, next, last);
			last = next;
		}
		add_place(x, v.rank, first, last);
		x->counts->sent_bytes += repeat * rounds * v.bytes;
	}
	return ORR_OK;
}

/* Returns whether ops of this and of the streams before it run together and slow each other. The trace has the times of ops alone. */
static bool is_slowed(const struct orr_step *s, const struct op *o)
{
	const char *law = orr_arg_text(s->config->options, "interference");
	if (!s->corun || !(o->occupancy > 0) || !o->stream || !strcmp(law, "none"))
		return false;
	return strcmp(law, "occupancy") || orr_arg_real(s->config->options, "interference_loss") > 0 ||
	       (o->stream + 1) * o->occupancy > 1 + 1e-9;
}

static int add_instance(struct export *x, uint32_t at)
{
	const struct instance *i = &x->k->instance[at];
	const struct op *o = &x->k->op[i->op];
	struct node v = { .priority = o->priority,
		.order = at,
		.slot = o->stream == NO_STREAM ? 0 : (uint8_t)(o->stream + 1),
		.is_detached = o->is_detached };
	uint32_t n;
	x->first_place[at] = (uint32_t)x->n_places;
	if (o->function || o->is_gate || o->is_watched)
		return orr_fail(x->err, ORR_EINPUT,
			"--export chakra: policy %.60s reacts to ends of ops: expected one whose graph is known before", x->label);
	if (o->type == OP_COMPUTE && is_slowed(x->s, o))
		return orr_fail(x->err, ORR_EINPUT,
			"--export chakra: policy %.60s runs ops together on a GPU, which slows them: expected one op at a time (crossbow: "
			"learners=1), or step.interference=none",
			x->label);
	switch (o->type) {
	case OP_COMPUTE:
		v.type = CHAKRA_COMPUTE;
		v.rank = real_device(x->s, i->lane, o->device);
		v.seconds = compute_s(x->s, o, i->lane) * stretch((struct orr_step *)(uintptr_t)x->s, v.rank, x->k->number, i->op);
		n = add_node(x, v);
		add_place(x, v.rank, n, n);
		return ORR_OK;
	case OP_TRANSFER:
		v.rank = real_device(x->s, i->lane, o->device);
		v.peer = real_device(x->s, i->lane, o->peer);
		v.bytes = o->amount;
		v.tag = x->tags++;
		v.type = v.rank == v.peer ? CHAKRA_METADATA : CHAKRA_SEND;
		n = add_node(x, v);
		add_place(x, v.rank, n, n);
		if (v.type == CHAKRA_METADATA)
			return ORR_OK;
		x->counts->sent_bytes += v.bytes;
		struct node to = v;
		to.rank = v.peer;
		to.peer = v.rank;
		to.type = CHAKRA_RECEIVE;
		to.slot = 0;
		n = add_node(x, to);
		add_place(x, to.rank, n, n);
		return ORR_OK;
	case OP_COLLECTIVE:
		return add_collective(x, o, i, v);
	default: /* placed when its dependencies are known */
		return ORR_OK;
	}
}

/* ---- dependencies ---- */

static bool is_floating(const struct export *x, uint32_t at)
{
	return x->first_place[at] == x->first_place[at + 1];
}

/* Joins node `on` of one rank to node `to` of another by a message of 1 byte. */
static void add_message(struct export *x, uint32_t on, uint32_t to)
{
	struct node v = { .rank = x->node[on].rank,
		.peer = x->node[to].rank,
		.tag = x->tags++,
		.priority = x->node[to].priority,
		.order = x->node[to].order,
		.type = CHAKRA_SEND,
		.is_instant = true,
		.is_detached = x->node[to].is_detached,
		.bytes = 1 };
	uint32_t send = add_node(x, v);
	v.rank = x->node[to].rank;
	v.peer = x->node[on].rank;
	v.type = CHAKRA_RECEIVE;
	uint32_t receive = add_node(x, v);
	add_new_wait(x, send, on);
	add_new_wait(x, to, receive);
	x->counts->messages++;
}

/* A place by rank, for qsort(). */
struct ranked {
	uint32_t rank, place;
};

static int by_rank_and_place(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void sort_places(struct export *x)
{
	struct ranked *list = mem_alloc((x->n_places + 1) * sizeof *list);
	x->by_rank = mem_alloc((x->n_places + 1) * sizeof *x->by_rank);
	for (size_t p = 0; p < x->n_places; p++)
		list[p] = (struct ranked){ x->place[p].rank, (uint32_t)p };
	for (uint32_t i = 0; i < x->k->n_instances; i++)
		qsort(list + x->first_place[i], x->first_place[i + 1] - x->first_place[i], sizeof *list, by_rank_and_place);
	for (size_t p = 0; p < x->n_places; p++)
		x->by_rank[p] = list[p].place;
	mem_free(list);
}

/* Returns the index in by_rank of the first place of instance i on a rank or on a later one. */
static uint32_t find_rank(const struct export *x, uint32_t i, uint32_t rank)
{
	uint32_t low = x->first_place[i], high = x->first_place[i + 1];
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (x->place[x->by_rank[middle]].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes the places of instance b that are below `until` and on the rank of place p wait for p. Returns whether b has such a place. */
static bool join_after(struct export *x, uint32_t p, uint32_t b, uint32_t until)
{
	bool has = false;
	for (uint32_t k = find_rank(x, b, x->place[p].rank); k < x->first_place[b + 1]; k++) {
		uint32_t q = x->by_rank[k];
		if (x->place[q].rank != x->place[p].rank)
			break;
		if (q < until) {
			add_wait(x, x->place[q].in, x->place[p].out);
			has = true;
		}
	}
	return has;
}

/* Makes place q of an instance wait for instance a on its rank. */
static bool join_before(struct export *x, uint32_t q, uint32_t a)
{
	bool has = false;
	for (uint32_t k = find_rank(x, a, x->place[q].rank); k < x->first_place[a + 1]; k++) {
		uint32_t p = x->by_rank[k];
		if (x->place[p].rank != x->place[q].rank)
			break;
		add_wait(x, x->place[q].in, x->place[p].out);
		has = true;
	}
	return has;
}

/* Makes instance b wait for instance a: on each rank that both have, else by a message. A transfer is waited for where it arrives, and
 * waits where it is sent. */
static void join(struct export *x, uint32_t a, uint32_t b)
{
	const struct op *to = &x->k->op[x->k->instance[b].op];
	uint32_t last = x->first_place[a + 1] - 1, first = x->first_place[b];
	uint32_t until = to->type == OP_TRANSFER ? first + 1 : x->first_place[b + 1];
	bool is_joined = false;
	/* Goes over the ranks of the instance with fewer ranks, and looks up each of them in the other instance. */
	if (last + 1 - x->first_place[a] < until - first)
		for (uint32_t i = x->first_place[a]; i <= last; i++)
			is_joined |= join_after(x, i, b, until);
	else
		for (uint32_t j = first; j < until; j++)
			is_joined |= join_before(x, j, a);
	if (!is_joined)
		add_message(x, x->place[last].out, x->place[first].in);
}

static bool has_delays(const struct export *x)
{
	for (uint32_t i = 0; i < x->k->n_instances; i++)
		if (x->k->op[x->k->instance[i].op].type == OP_DELAY)
			return true;
	return false;
}

/* Marks and delays get the rank of the first instance that they wait for; instances are in the order of creation, so it has one. */
static void place_floating(struct export *x)
{
	uint32_t n = x->k->n_instances, *rank = mem_alloc((n + 1u) * sizeof *rank), *fresh = mem_alloc((n + 1u) * sizeof *fresh);
	bool may_delay = has_delays(x);
	for (uint32_t i = 0; i < n; i++)
		rank[i] = is_floating(x, i) ? NONE : x->place[x->first_place[i + 1] - 1].rank;
	for (uint32_t i = 0; i < n; i++) {
		if (rank[i] == NONE)
			rank[i] = real_device(x->s, x->k->instance[i].lane, 0);
		for (uint32_t e = x->k->instance[i].first_edge; e != NONE; e = x->k->edge[e].next)
			if (x->k->edge[e].of == x->k && rank[x->k->edge[e].to] == NONE)
				rank[x->k->edge[e].to] = rank[i];
	}
	/* Lists the places again, now including those of floating instances. */
	struct place *old = x->place;
	size_t n_old = x->n_places;
	x->place = NULL;
	x->n_places = x->cap_places = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = x->first_place[i], until = i + 1 < n ? x->first_place[i + 1] : (uint32_t)n_old;
		const struct op *o = &x->k->op[x->k->instance[i].op];
		fresh[i] = (uint32_t)x->n_places;
		for (uint32_t p = from; p < until; p++)
			add_place(x, old[p].rank, old[p].in, old[p].out);
		if (from < until)
			continue;
		bool is_delay = o->type == OP_DELAY;
		uint32_t v = add_node(x, (struct node){ .rank = rank[i],
						 .priority = o->priority,
						 .order = i,
						 .is_detached = o->is_detached,
						 .type = is_delay || !may_delay ? CHAKRA_COMPUTE : CHAKRA_METADATA,
						 .is_host = is_delay || !may_delay,
						 .seconds = is_delay ? o->amount : 0 });
		add_place(x, rank[i], v, v);
	}
	fresh[n] = (uint32_t)x->n_places;
	memcpy(x->first_place, fresh, (n + 1u) * sizeof *fresh);
	mem_free(old);
	mem_free(rank);
	mem_free(fresh);
}

static int translate(struct export *x)
{
	uint32_t n = x->k->n_instances;
	int rc = ORR_OK;
	x->groups = strtab_new();
	x->first_place = mem_zalloc(n + 1u, sizeof *x->first_place);
	x->counts->ranks = x->s->config->cluster->gpus;
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = add_instance(x, i);
	x->first_place[n] = (uint32_t)x->n_places;
	if (rc)
		return rc;
	place_floating(x);
	sort_places(x);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t e = x->k->instance[i].first_edge; e != NONE; e = x->k->edge[e].next)
			if (x->k->edge[e].of == x->k)
				join(x, i, x->k->edge[e].to);
	return ORR_OK;
}

/* ---- files ---- */

static int by_rank(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x < y ? -1 : x > y;
}

static struct chakra_attribute number(const char *name, double v)
{
	return (struct chakra_attribute){ .name = { name, strlen(name) }, .kind = CHAKRA_SIGNED, .i = llround(fmin(v, 9e15)) };
}

static void put_node(struct sbuf *out, const struct export *x, const struct node *v, struct sbuf *group)
{
	struct chakra_attribute a[12] = { { .name = { "is_cpu_op", 9 }, .kind = CHAKRA_BOOL, .u = v->is_host } };
	uint64_t *dep = NULL;
	size_t n = 0, cap = 0;
	for (uint32_t w = v->first_dep; w != NONE; w = x->wait[w].next) {
		MEM_GROW(dep, n, cap);
		dep[n++] = x->node[x->wait[w].on].id;
	}
	struct chakra_record r = { .id = v->id,
		.name = { chakra_type_name(v->type), strlen(chakra_type_name(v->type)) },
		.type = (enum chakra_type)v->type,
		.duration_us = (uint64_t)llround(v->seconds * 1e6),
		.data = dep,
		.n_data = n,
		.attribute = a,
		.n_attributes = 1 };
	bool is_send = v->type == CHAKRA_SEND;
	if (v->seconds > 0)
		a[r.n_attributes++] = number("orrery_duration_ns", v->seconds * 1e9);
	if (v->type != CHAKRA_METADATA && v->type != CHAKRA_RECEIVE)
		a[r.n_attributes++] = number("orrery_slot", v->slot);
	if (v->is_instant && is_send)
		a[r.n_attributes++] = number("orrery_instant", 1);
	if (v->is_detached)
		a[r.n_attributes++] = number("orrery_detached", 1);
	if (is_send || v->type == CHAKRA_RECEIVE) {
		a[r.n_attributes++] = number("comm_src", is_send ? v->rank : v->peer);
		a[r.n_attributes++] = number("comm_dst", is_send ? v->peer : v->rank);
		a[r.n_attributes++] = number("comm_tag", v->tag);
	}
	if (v->type == CHAKRA_COLLECTIVE)
		a[r.n_attributes++] = number("comm_type", v->collective);
	if (is_send || v->type == CHAKRA_RECEIVE || v->type == CHAKRA_COLLECTIVE)
		a[r.n_attributes++] = number("comm_size", v->bytes);
	if (v->group) {
		sbuf_clear(group);
		sbuf_printf(group, "%u", v->group);
		a[r.n_attributes++] =
			(struct chakra_attribute){ .name = { "pg_name", 7 }, .kind = CHAKRA_TEXT, .text = { group->text, group->len } };
	}
	chakra_put_node(out, &r);
	mem_free(dep);
}

static int put_file(const struct export *x, const char *file, const struct sbuf *text)
{
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s/%s", x->dir, file);
	int rc = outfile_put(sbuf_text(&path), sbuf_text(text), text->len, x->err);
	sbuf_free(&path);
	return rc;
}

static int write_ranks(struct export *x)
{
	const struct node **list = mem_alloc((x->n + 1) * sizeof *list);
	struct sbuf out = { 0 }, group = { 0 };
	char file[160];
	int rc = ORR_OK;
	size_t i = 0;
	for (size_t k = 0; k < x->n; k++)
		list[k] = &x->node[k];
	qsort(list, x->n, sizeof *list, by_rank);
	for (size_t k = 0; k < x->n; k++)
		x->node[list[k] - x->node].id = k && list[k]->rank == list[k - 1]->rank ? list[k - 1]->id + 1 : 1;
	for (uint32_t r = 0; r < x->counts->ranks && !rc; r++) {
		sbuf_clear(&out);
		chakra_put_head(&out);
		for (; i < x->n && list[i]->rank == r; i++)
			put_node(&out, x, list[i], &group);
		snprintf(file, sizeof file, "%.100s.%u.et", x->name, r);
		rc = put_file(x, file, &out);
	}
	x->counts->nodes = x->n;
	mem_free(list);
	sbuf_free(&out);
	sbuf_free(&group);
	return rc;
}

/* Writes network.yml, a full mesh with the least bandwidth and the largest latency of the routes from GPU 0; system.json, with rings, one
 * chunk and no delays; and groups.json. */
static int write_setting(const struct export *x)
{
	const struct topo *t = x->s->config->topo;
	struct sbuf b = { 0 };
	double bandwidth = INFINITY, latency = 0;
	for (uint32_t i = 1; i < t->n_gpus; i++) {
		bandwidth = fmin(bandwidth, topo_bandwidth(t, 0, i));
		latency = fmax(latency, topo_latency(t, 0, i));
	}
	if (!isfinite(bandwidth))
		bandwidth = 1e12;
	sbuf_printf(&b, "topology: [ FullyConnected ]\nnpus_count: [ %u ]\nbandwidth: [ %.17g ]\nlatency: [ %.17g ]\n", x->counts->ranks,
		bandwidth / 1073741824.0, latency * 1e9);
	int rc = put_file(x, "network.yml", &b);
	sbuf_clear(&b);
	sbuf_puts(&b, "{\n  \"scheduling-policy\": \"LIFO\",\n  \"endpoint-delay\": 0,\n  \"active-chunks-per-dimension\": 1,\n"
		      "  \"preferred-dataset-splits\": 1,\n  \"all-reduce-implementation\": [\"ring\"],\n  \"all-gather-implementation\": "
		      "[\"ring\"],\n"
		      "  \"reduce-scatter-implementation\": [\"ring\"],\n  \"all-to-all-implementation\": [\"direct\"],\n"
		      "  \"collective-optimization\": \"localBWAware\",\n  \"local-mem-bw\": 1000000000,\n  \"boost-mode\": 0\n}\n");
	rc = rc ? rc : put_file(x, "system.json", &b);
	sbuf_clear(&b);
	for (uint32_t g = 1; g < strtab_count(x->groups); g++)
		sbuf_printf(&b, "%s\"%u\": %s", g > 1 ? ", " : "{", g, strtab_text(x->groups, g));
	sbuf_puts(&b, strtab_count(x->groups) > 1 ? "}\n" : "{}\n");
	rc = rc ? rc : put_file(x, "groups.json", &b);
	sbuf_free(&b);
	return rc;
}

/* ---- the run ---- */

static void built(void *ctx, const struct orr_step *s, const struct iteration *k)
{
	struct export *x = ctx;
	if (k->number || x->is_done)
		return;
	x->s = s;
	x->k = k;
	x->is_done = true;
	if (!translate(x) && !outfile_make_dir(x->dir, x->err) && !write_ranks(x))
		write_setting(x);
}

static bool stop(void *ctx, double time_s)
{
	(void)time_s;
	return ((struct export *)ctx)->is_done;
}

int export_chakra(const struct step_config *c, const struct orr_policy *policy, const struct orr_args *args, const char *label,
	const char *dir, const char *name, struct export_counts *out, struct orr_error *err)
{
	struct export x = { .counts = out, .err = err, .dir = dir, .name = name, .label = label };
	struct step_config own = *c;
	struct step_result result = { 0 };
	struct orr_error why = { 0 };
	*out = (struct export_counts){ 0 };
	own.spans = 0;
	own.paths = own.check = false;
	own.built = built;
	own.built_ctx = own.hook_ctx = &x;
	own.stop = stop;
	int rc = step_run(&own, policy, args, label, &result, &why);
	if (rc && !err->code)
		*err = why;
	step_result_free(&result);
	mem_free(x.node);
	mem_free(x.wait);
	mem_free(x.place);
	mem_free(x.first_place);
	mem_free(x.by_rank);
	strtab_free(x.groups);
	return err->code;
}

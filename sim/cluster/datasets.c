/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/datasets.h"

#include "base/heap.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define NONE UINT32_MAX

/* The id of a set has its index in the low bits and its serial number in the high bits. */
enum { INDEX_BITS = 28 };
#define INDEX(set) ((uint32_t)((set) & ((UINT64_C(1) << INDEX_BITS) - 1)))

struct piece {
	uint32_t set, node, next; /* next piece of the set, or of the free list */
	uint32_t at;              /* position in the heap of the node; NONE: not ranked */
	int64_t bytes;
	bool is_in_memory;
};

struct set {
	uint64_t serial; /* number in order of creation; 0: freed */
	uint32_t first, next_free;
	int64_t bytes, bytes_on_disk;
	uint64_t uses, used, touches, touched; /* touched: clock of the last touch */
	double unit, value;
	bool is_making;
};

struct node {
	int64_t memory, in_use, making; /* making: part of in_use that belongs to unfinished outputs, bytes */
	uint32_t *heap, n, cap;
	int64_t io;
	uint64_t io_mark;
};

struct datasets {
	struct datasets_config config;
	struct node *node;
	struct set *set; /* set[0] is unused */
	uint32_t n_sets, cap_sets, free_set;
	struct piece *piece;
	uint32_t n_pieces, cap_pieces, free_piece;
	uint64_t serial, clock, mark;
	int64_t io_most;
	struct datasets_count count;
	const char *wrong;
};

/* ---- ranks ---- */

static bool is_before(const struct datasets *d, const uint32_t *a, const uint32_t *b)
{
	const struct set *x = &d->set[d->piece[*a].set], *y = &d->set[d->piece[*b].set];
	switch (d->config.rule) {
	case DATASETS_AMM:
		if (x->value < y->value || x->value > y->value)
			return x->value < y->value;
		break;
	case DATASETS_LRU:
		if (x->touched != y->touched)
			return x->touched < y->touched;
		break;
	default:
		if (x->touches != y->touches)
			return x->touches < y->touches;
	}
	return x->serial > y->serial;
}

#define MOVED(ctx, x, i) ((ctx)->piece[*(x)].at = (i))
HEAP(rank, uint32_t, struct datasets, is_before, MOVED)

static void rank_in(struct datasets *d, uint32_t p)
{
	struct node *n = &d->node[d->piece[p].node];
	MEM_GROW(n->heap, n->n, n->cap);
	rank_up(d, n->heap, n->n++, p);
}

static void rank_out(struct datasets *d, uint32_t p)
{
	struct node *n = &d->node[d->piece[p].node];
	uint32_t at = d->piece[p].at;
	uint32_t last = n->heap[--n->n];
	if (at < n->n)
		rank_place(d, n->heap, n->n, at, last);
	d->piece[p].at = NONE;
}

/* Restores the heaps of the nodes after the rank of a set has changed. */
static void rank_again(struct datasets *d, const struct set *s)
{
	for (uint32_t p = s->first; p != NONE; p = d->piece[p].next)
		if (d->piece[p].at != NONE) {
			struct node *n = &d->node[d->piece[p].node];
			rank_place(d, n->heap, n->n, d->piece[p].at, p);
		}
}

static void set_value(const struct datasets *d, struct set *s)
{
	double left = s->used < s->uses ? (double)(s->uses - s->used) : 0;
	s->value = left * s->unit;
	/* As in the prototype, the first use does not reduce the value of the set. */
	if (d->config.first_use_free && s->used && s->uses > 1)
		s->value *= (double)s->uses / (double)(s->uses - 1);
}

/* ---- memory of a node ---- */

static void transfer(struct datasets *d, uint32_t node, int64_t bytes)
{
	struct node *n = &d->node[node];
	if (n->io_mark != d->mark) {
		n->io_mark = d->mark;
		n->io = 0;
	}
	n->io += bytes;
	d->io_most = n->io > d->io_most ? n->io : d->io_most;
}

static void put_on_disk(struct datasets *d, uint32_t p)
{
	struct piece *x = &d->piece[p];
	x->is_in_memory = false;
	d->set[x->set].bytes_on_disk += x->bytes;
	d->count.on_disk += (uint64_t)x->bytes;
	d->count.spilled++;
	d->count.bytes_spilled += (uint64_t)x->bytes;
	transfer(d, x->node, x->bytes);
}

static void put_in_memory(struct datasets *d, uint32_t p)
{
	struct piece *x = &d->piece[p];
	x->is_in_memory = true;
	d->node[x->node].in_use += x->bytes;
	d->count.in_memory += (uint64_t)x->bytes;
	if (d->count.in_memory > d->count.most_in_memory)
		d->count.most_in_memory = d->count.in_memory;
}

static void leave_memory(struct datasets *d, uint32_t p)
{
	struct piece *x = &d->piece[p];
	d->node[x->node].in_use -= x->bytes;
	d->count.in_memory -= (uint64_t)x->bytes;
}

/* Spills pieces until `bytes` are free. Returns false, without a spill, if unfinished outputs leave too little memory. */
static bool make_room(struct datasets *d, uint32_t node, int64_t bytes)
{
	struct node *n = &d->node[node];
	if (d->config.rule == DATASETS_NONE)
		return true;
	if (bytes > n->memory - n->making)
		return false;
	while (n->in_use + bytes > n->memory) {
		uint32_t p = n->heap[0];
		rank_out(d, p);
		leave_memory(d, p);
		put_on_disk(d, p);
	}
	return true;
}

/* ---- sets ---- */

struct datasets *datasets_new(const struct datasets_config *c)
{
	struct datasets *d = mem_zalloc(1, sizeof *d);
	d->config = *c;
	d->node = mem_zalloc(c->n_nodes + 1u, sizeof *d->node);
	for (uint32_t i = 0; i < c->n_nodes; i++)
		d->node[i].memory = c->memory ? c->memory[i] : 0;
	d->config.memory = NULL;
	d->free_set = d->free_piece = NONE;
	d->mark = 1;
	MEM_GROW(d->set, d->n_sets, d->cap_sets);
	d->set[d->n_sets++] = (struct set){ .first = NONE };
	return d;
}

void datasets_free(struct datasets *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->config.n_nodes; i++)
		mem_free(d->node[i].heap);
	mem_free(d->node);
	mem_free(d->set);
	mem_free(d->piece);
	mem_free(d);
}

void datasets_begin(struct datasets *d)
{
	d->mark++;
	d->io_most = 0;
}

int64_t datasets_io_ns(const struct datasets *d)
{
	double ns = d->config.disk_Bps > 0 ? (double)d->io_most / d->config.disk_Bps * 1e9 : 0;
	return ns < 4e18 ? llrint(ns) : INT64_MAX / 2;
}

static struct set *live(struct datasets *d, uint64_t set, const char *wrong)
{
	if (datasets_exists(d, set))
		return &d->set[INDEX(set)];
	d->wrong = d->wrong ? d->wrong : wrong;
	return NULL;
}

static uint32_t new_piece(struct datasets *d)
{
	if (d->free_piece == NONE) {
		MEM_GROW(d->piece, d->n_pieces, d->cap_pieces);
		return d->n_pieces++;
	}
	uint32_t p = d->free_piece;
	d->free_piece = d->piece[p].next;
	return p;
}

static void touch(struct datasets *d, struct set *s)
{
	s->touched = ++d->clock;
}

uint64_t datasets_add(struct datasets *d, const uint32_t *node, uint32_t n, int64_t bytes, double unit, uint64_t uses)
{
	uint32_t i = d->free_set;
	if (i == NONE) {
		MEM_GROW(d->set, d->n_sets, d->cap_sets);
		i = d->n_sets++;
	} else {
		d->free_set = d->set[i].next_free;
	}
	struct set *s = &d->set[i];
	*s = (struct set){ .serial = ++d->serial, .first = NONE, .bytes = bytes, .unit = unit, .uses = uses, .is_making = true };
	set_value(d, s);
	touch(d, s);
	d->count.made++;
	for (uint32_t k = n; k-- > 0;) {
		uint32_t p = new_piece(d);
		d->piece[p] = (struct piece){ i, node[k], s->first, NONE, bytes / n + (k < bytes % n), false };
		s->first = p;
		if (make_room(d, node[k], d->piece[p].bytes)) {
			put_in_memory(d, p);
			d->node[node[k]].making += d->piece[p].bytes;
		} else {
			put_on_disk(d, p);
		}
	}
	return s->serial << INDEX_BITS | i;
}

void datasets_made(struct datasets *d, uint64_t set)
{
	struct set *s = live(d, set, "a data set is finished twice");
	if (!s)
		return;
	s->is_making = false;
	for (uint32_t p = s->first; p != NONE; p = d->piece[p].next)
		if (d->piece[p].is_in_memory) {
			d->node[d->piece[p].node].making -= d->piece[p].bytes;
			if (d->config.rule != DATASETS_NONE)
				rank_in(d, p);
		}
	if (s->used >= s->uses)
		datasets_drop(d, set);
}

void datasets_read(struct datasets *d, uint64_t set)
{
	struct set *s = live(d, set, "a data set is read after it was freed");
	if (!s)
		return;
	if (s->is_making)
		d->wrong = "a data set is read before it is made";
	touch(d, s);
	s->touches++;
	rank_again(d, s);
	for (uint32_t p = s->first; p != NONE; p = d->piece[p].next) {
		struct piece *x = &d->piece[p];
		if (x->is_in_memory) {
			d->count.bytes_memory += (uint64_t)x->bytes;
			continue;
		}
		d->count.bytes_disk += (uint64_t)x->bytes;
		d->count.read_disk++;
		transfer(d, x->node, x->bytes);
		if (!d->config.reloads || !make_room(d, x->node, x->bytes))
			continue;
		s->bytes_on_disk -= x->bytes;
		d->count.on_disk -= (uint64_t)x->bytes;
		put_in_memory(d, p);
		rank_in(d, p);
	}
}

void datasets_drop(struct datasets *d, uint64_t set)
{
	struct set *s = live(d, set, "a data set is freed twice");
	if (!s)
		return;
	for (uint32_t p = s->first, next; p != NONE; p = next) {
		struct piece *x = &d->piece[p];
		next = x->next;
		if (x->at != NONE)
			rank_out(d, p);
		if (x->is_in_memory) {
			leave_memory(d, p);
			d->node[x->node].making -= s->is_making ? x->bytes : 0;
		} else {
			d->count.on_disk -= (uint64_t)x->bytes;
		}
		x->next = d->free_piece;
		d->free_piece = p;
	}
	s->serial = 0;
	s->next_free = d->free_set;
	d->free_set = INDEX(set);
}

void datasets_used(struct datasets *d, uint64_t set, uint64_t n)
{
	struct set *s = live(d, set, "a data set is used after it was freed");
	if (!s)
		return;
	s->used += n;
	if (s->used > s->uses)
		d->wrong = d->wrong ? d->wrong : "a data set has more readers than the flow states";
	if (s->used >= s->uses && !s->is_making) {
		datasets_drop(d, set);
		return;
	}
	set_value(d, s);
	if (d->config.rule == DATASETS_AMM)
		rank_again(d, s);
}

/* ---- queries ---- */

bool datasets_exists(const struct datasets *d, uint64_t set)
{
	uint32_t i = INDEX(set);
	return i && i < d->n_sets && d->set[i].serial && d->set[i].serial == set >> INDEX_BITS;
}

int64_t datasets_bytes(const struct datasets *d, uint64_t set)
{
	return datasets_exists(d, set) ? d->set[INDEX(set)].bytes : 0;
}

int64_t datasets_bytes_on(const struct datasets *d, uint64_t set, uint32_t node)
{
	int64_t sum = 0;
	for (uint32_t p = datasets_exists(d, set) ? d->set[INDEX(set)].first : NONE; p != NONE; p = d->piece[p].next)
		sum += d->piece[p].node == node ? d->piece[p].bytes : 0;
	return sum;
}

double datasets_disk_share(const struct datasets *d, uint64_t set)
{
	int64_t bytes = datasets_bytes(d, set);
	return bytes > 0 ? (double)d->set[INDEX(set)].bytes_on_disk / (double)bytes : 0;
}

const struct datasets_count *datasets_counts(const struct datasets *d)
{
	return &d->count;
}

const char *datasets_wrong(const struct datasets *d)
{
	for (uint32_t i = 0; !d->wrong && d->config.rule != DATASETS_NONE && i < d->config.n_nodes; i++)
		if (d->node[i].in_use > d->node[i].memory || d->node[i].making > d->node[i].in_use)
			return "data sets exceed the memory of a node";
	return d->wrong;
}

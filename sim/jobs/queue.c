/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue.c - the policies' queue (orrery/jobs.h): one treap per request shape
 *
 * Aragon and Seidel, "Randomized search trees" (FOCS 1989); priorities come from a
 * generator that is seeded alike in every queue, so equal calls give equal trees.
 * Order: (key, tie, job number). A walk merges the shapes by a heap of their next
 * jobs. Nodes are pooled; a job's node is found through its slot.
 */
#include "jobs/world.h"

#include "base/mem.h"

struct node {
	int64_t key, tie;
	uint64_t number;
	orr_job job;
	uint32_t left, right, priority, shape;
};

struct head {
	uint32_t root, first; /* of a shape; NONE when empty */
};

struct walk_state {
	uint32_t *heap; /* nodes, least on top, one per shape still in the walk */
	uint32_t n, cap;
	bool is_given; /* the top has been given and is to be replaced by what follows it */
	struct node last; /* a copy of what was given last: the node may be gone */
	struct walk_state *next_spare;
};

struct orr_queue {
	const struct orr_jobs *world;
	struct node *node;
	uint32_t n_nodes, cap_nodes, free_node; /* free nodes are linked by `left` */
	uint32_t *of_slot; /* node + 1 */
	uint32_t cap_slots;
	struct head *shape;
	uint32_t n_shapes;
	uint32_t *active, *active_at; /* shapes that are not empty, and where each one stands */
	uint32_t n_active;
	size_t size;
	uint64_t random;
	struct walk_state *spare;
};

static bool is_before(const struct node *a, const struct node *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (a->tie != b->tie)
		return a->tie < b->tie;
	return a->number < b->number;
}

struct orr_queue *orr_queue_new(const struct orr_jobs *w)
{
	struct orr_queue *q = mem_zalloc(1, sizeof *q);
	q->world = w;
	q->free_node = NONE;
	q->random = UINT64_C(0x9e3779b97f4a7c15);
	return q;
}

void orr_queue_free(struct orr_queue *q)
{
	if (!q)
		return;
	while (q->spare) {
		struct walk_state *next = q->spare->next_spare;
		mem_free(q->spare->heap);
		mem_free(q->spare);
		q->spare = next;
	}
	mem_free(q->node);
	mem_free(q->of_slot);
	mem_free(q->shape);
	mem_free(q->active);
	mem_free(q->active_at);
	mem_free(q);
}

/* ---- one treap ---- */

static uint32_t leftmost(const struct orr_queue *q, uint32_t i)
{
	while (i != NONE && q->node[i].left != NONE)
		i = q->node[i].left;
	return i;
}

/* Splits the tree at *x: what comes before it, and the rest. */
static void split(struct orr_queue *q, uint32_t root, const struct node *x, uint32_t *before, uint32_t *after)
{
	while (root != NONE) {
		struct node *n = &q->node[root];
		if (is_before(n, x)) {
			*before = root;
			before = &n->right;
			root = n->right;
		} else {
			*after = root;
			after = &n->left;
			root = n->left;
		}
	}
	*before = *after = NONE;
}

static uint32_t join(struct orr_queue *q, uint32_t a, uint32_t b)
{
	uint32_t root = NONE, *at = &root;
	while (a != NONE && b != NONE) {
		if (q->node[a].priority >= q->node[b].priority) {
			*at = a;
			at = &q->node[a].right;
			a = *at;
		} else {
			*at = b;
			at = &q->node[b].left;
			b = *at;
		}
	}
	*at = a != NONE ? a : b;
	return root;
}

static void insert(struct orr_queue *q, struct head *h, uint32_t i)
{
	struct node *x = &q->node[i];
	uint32_t *at = &h->root;
	while (*at != NONE && q->node[*at].priority >= x->priority)
		at = is_before(&q->node[*at], x) ? &q->node[*at].right : &q->node[*at].left;
	uint32_t below = *at;
	*at = i;
	split(q, below, x, &x->left, &x->right);
	if (h->first == NONE || is_before(x, &q->node[h->first]))
		h->first = i;
}

static void erase(struct orr_queue *q, struct head *h, uint32_t i)
{
	uint32_t *at = &h->root;
	while (*at != i)
		at = is_before(&q->node[*at], &q->node[i]) ? &q->node[*at].right : &q->node[*at].left;
	*at = join(q, q->node[i].left, q->node[i].right);
	if (h->first == i)
		h->first = leftmost(q, h->root);
}

/* The first node of the tree after *x. */
static uint32_t following(const struct orr_queue *q, uint32_t root, const struct node *x)
{
	uint32_t best = NONE;
	while (root != NONE) {
		if (is_before(x, &q->node[root])) {
			best = root;
			root = q->node[root].left;
		} else {
			root = q->node[root].right;
		}
	}
	return best;
}

/* ---- the queue ---- */

static uint32_t node_of(const struct orr_queue *q, orr_job j)
{
	uint32_t slot = (uint32_t)j - 1u;
	if (!j || slot >= q->cap_slots || !q->of_slot[slot])
		return NONE;
	uint32_t i = q->of_slot[slot] - 1;
	return q->node[i].job == j ? i : NONE;
}

static struct head *head_of(struct orr_queue *q, uint32_t shape)
{
	if (shape >= q->n_shapes) {
		uint32_t n = q->n_shapes ? q->n_shapes * 2 : 32;
		while (n <= shape)
			n *= 2;
		q->shape = mem_realloc(q->shape, n, sizeof *q->shape);
		q->active = mem_realloc(q->active, n, sizeof *q->active);
		q->active_at = mem_realloc(q->active_at, n, sizeof *q->active_at);
		for (uint32_t i = q->n_shapes; i < n; i++)
			q->shape[i] = (struct head){ NONE, NONE };
		q->n_shapes = n;
	}
	return &q->shape[shape];
}

static void map_slot(struct orr_queue *q, uint32_t slot, uint32_t value)
{
	if (slot >= q->cap_slots) {
		uint32_t n = q->cap_slots ? q->cap_slots * 2 : 256;
		while (n <= slot)
			n *= 2;
		q->of_slot = mem_realloc(q->of_slot, n, sizeof *q->of_slot);
		for (uint32_t i = q->cap_slots; i < n; i++)
			q->of_slot[i] = 0;
		q->cap_slots = n;
	}
	q->of_slot[slot] = value;
}

static uint32_t node_new(struct orr_queue *q)
{
	if (q->free_node != NONE) {
		uint32_t i = q->free_node;
		q->free_node = q->node[i].left;
		return i;
	}
	MEM_GROW(q->node, q->n_nodes, q->cap_nodes);
	return q->n_nodes++;
}

static uint32_t draw(struct orr_queue *q)
{
	q->random ^= q->random << 13; /* xorshift64, Marsaglia 2003 */
	q->random ^= q->random >> 7;
	q->random ^= q->random << 17;
	return (uint32_t)(q->random >> 32);
}

void orr_queue_add(struct orr_queue *q, orr_job j, int64_t key, int64_t tie)
{
	const struct job *job = job_of(q->world, j);
	if (!job)
		return;
	orr_queue_remove(q, j);
	struct head *h = head_of(q, job->shape);
	if (h->root == NONE) {
		q->active_at[job->shape] = q->n_active;
		q->active[q->n_active++] = job->shape;
	}
	uint32_t i = node_new(q);
	q->node[i] = (struct node){ key, tie, job->number, j, NONE, NONE, draw(q), job->shape };
	map_slot(q, (uint32_t)j - 1u, i + 1);
	insert(q, h, i);
	q->size++;
}

bool orr_queue_remove(struct orr_queue *q, orr_job j)
{
	uint32_t i = node_of(q, j);
	if (i == NONE)
		return false;
	uint32_t shape = q->node[i].shape;
	erase(q, &q->shape[shape], i);
	if (q->shape[shape].root == NONE) {
		uint32_t last = q->active[--q->n_active];
		q->active[q->active_at[shape]] = last;
		q->active_at[last] = q->active_at[shape];
	}
	q->of_slot[(uint32_t)j - 1u] = 0;
	q->node[i].job = 0;
	q->node[i].left = q->free_node;
	q->free_node = i;
	q->size--;
	return true;
}

bool orr_queue_has(const struct orr_queue *q, orr_job j)
{
	return node_of(q, j) != NONE;
}

size_t orr_queue_size(const struct orr_queue *q)
{
	return q->size;
}

orr_job orr_queue_first(struct orr_queue *q)
{
	uint32_t best = NONE;
	for (uint32_t k = 0; k < q->n_active; k++) {
		uint32_t i = q->shape[q->active[k]].first;
		if (best == NONE || is_before(&q->node[i], &q->node[best]))
			best = i;
	}
	return best == NONE ? 0 : q->node[best].job;
}

int64_t orr_queue_key(const struct orr_queue *q, orr_job j)
{
	uint32_t i = node_of(q, j);
	return i == NONE ? 0 : q->node[i].key;
}

int64_t orr_queue_tie(const struct orr_queue *q, orr_job j)
{
	uint32_t i = node_of(q, j);
	return i == NONE ? 0 : q->node[i].tie;
}

/* ---- walking ---- */

static void sift_down(const struct orr_queue *q, struct walk_state *s, uint32_t i)
{
	uint32_t x = s->heap[i];
	for (uint32_t k; (k = 2 * i + 1) < s->n; i = k) {
		if (k + 1 < s->n && is_before(&q->node[s->heap[k + 1]], &q->node[s->heap[k]]))
			k++;
		if (is_before(&q->node[x], &q->node[s->heap[k]]))
			break;
		s->heap[i] = s->heap[k];
	}
	s->heap[i] = x;
}

static void drop(const struct orr_queue *q, struct walk_state *s, uint32_t i)
{
	s->heap[i] = s->heap[--s->n];
	for (uint32_t k = i < s->n ? i + 1 : 0; k-- > 0;)
		sift_down(q, s, k); /* i and all above it */
}

void orr_walk_begin(struct orr_queue *q, struct orr_walk *walk)
{
	struct walk_state *s = q->spare;
	if (s)
		q->spare = s->next_spare;
	else
		s = mem_zalloc(1, sizeof *s);
	if (s->cap < q->n_active) {
		s->cap = q->n_shapes;
		s->heap = mem_realloc(s->heap, s->cap, sizeof *s->heap);
	}
	s->n = q->n_active;
	s->is_given = false;
	for (uint32_t k = 0; k < s->n; k++)
		s->heap[k] = q->shape[q->active[k]].first;
	for (uint32_t k = s->n / 2; k-- > 0;)
		sift_down(q, s, k);
	*walk = (struct orr_walk){ q, s, 0 };
}

/* Replaces the job given last by the one that follows it in its shape. */
static void advance(struct orr_queue *q, struct walk_state *s)
{
	if (!s->is_given)
		return;
	s->is_given = false;
	uint32_t i = following(q, q->shape[s->last.shape].root, &s->last);
	if (i == NONE) {
		s->heap[0] = s->heap[--s->n];
	} else {
		s->heap[0] = i;
	}
	if (s->n)
		sift_down(q, s, 0);
}

orr_job orr_walk_peek(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	advance(walk->queue, s);
	return s->n ? walk->queue->node[s->heap[0]].job : 0;
}

orr_job orr_walk_next(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	walk->at = orr_walk_peek(walk);
	if (walk->at) {
		s->is_given = true;
		s->last = walk->queue->node[s->heap[0]];
	}
	return walk->at;
}

void orr_walk_skip_shape(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	if (s->is_given) {
		s->is_given = false;
		s->heap[0] = s->heap[--s->n];
		if (s->n)
			sift_down(walk->queue, s, 0);
		return;
	}
	for (uint32_t i = 0; walk->at && i < s->n; i++) /* peeked since: look for it */
		if (walk->queue->node[s->heap[i]].shape == s->last.shape) {
			drop(walk->queue, s, i);
			return;
		}
}

void orr_walk_end(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	s->next_spare = walk->queue->spare;
	walk->queue->spare = s;
	walk->state = NULL;
}

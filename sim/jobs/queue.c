/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * queue.c - the policies' queue (orrery/jobs.h): one treap per request shape
 *
 * Aragon and Seidel, "Randomized search trees" (FOCS 1989). Priorities come from a generator with the same seed in every queue, so
 * equal calls give equal trees. Order: (key, tie, job number). A walk merges the shapes by a heap of their next jobs. Nodes are
 * pooled; a job's node is found through its slot.
 *
 * Invariant: `least` of a node is the smallest `second` in its subtree, including the node. So the next job of a shape with second
 * <= bound is found in O(log n) (a priority search tree: McCreight, SIAM J. Computing 14(2), 1985, on a treap).
 */
#include "jobs/world.h"

#include "base/heap.h"
#include "base/mem.h"

struct node {
	int64_t key, tie, second, least;
	uint64_t number;
	orr_job job;
	uint32_t left, right, priority, shape;
};

struct head {
	uint32_t root, first; /* tree of a shape; NONE: empty */
};

/* The next job of a shape in a walk: the first remaining job with second <= bound. */
struct step {
	uint32_t node;
	int64_t bound;
};

struct walk_state {
	struct step *heap; /* heap of one step per shape that is still in the walk; the least step is on top */
	uint32_t n, cap;
	bool is_given;    /* the top was returned last and will be replaced by the next job of its shape */
	struct node last; /* copy of the node returned last, which may have been removed */
	struct walk_state *next_spare;
};

struct orr_queue {
	const struct orr_jobs *world;
	struct node *node;
	uint32_t n_nodes, cap_nodes, free_node; /* free nodes are linked by `left` */
	uint32_t *of_slot;                      /* node + 1 */
	uint32_t cap_slots;
	struct head *shape;
	uint32_t n_shapes;
	uint32_t *active, *active_at; /* numbers of the non-empty shapes, and the index of each shape in active[] */
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
	struct orr_queue *q = orr_alloc(1, sizeof *q); /* counted: a policy that does not free it gets an error */
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
	orr_free(q);
}

/* ---- one treap ---- */

static uint32_t leftmost(const struct orr_queue *q, uint32_t i)
{
	while (i != NONE && q->node[i].left != NONE)
		i = q->node[i].left;
	return i;
}

static int64_t least_of(const struct orr_queue *q, uint32_t i)
{
	return i == NONE ? INT64_MAX : q->node[i].least;
}

static void pull(struct orr_queue *q, uint32_t i)
{
	struct node *n = &q->node[i];
	int64_t left = least_of(q, n->left), right = least_of(q, n->right);
	n->least = left < right ? left : right;
	if (n->second < n->least)
		n->least = n->second;
}

/* Splits the tree at *x into the nodes before it and the rest. */
static void split(struct orr_queue *q, uint32_t root, const struct node *x, uint32_t *before, uint32_t *after)
{
	if (root == NONE) {
		*before = *after = NONE;
		return;
	}
	struct node *n = &q->node[root];
	if (is_before(n, x)) {
		*before = root;
		split(q, n->right, x, &n->right, after);
	} else {
		*after = root;
		split(q, n->left, x, before, &n->left);
	}
	pull(q, root);
}

static uint32_t join(struct orr_queue *q, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	if (q->node[a].priority >= q->node[b].priority) {
		q->node[a].right = join(q, q->node[a].right, b);
		pull(q, a);
		return a;
	}
	q->node[b].left = join(q, a, q->node[b].left);
	pull(q, b);
	return b;
}

static void insert(struct orr_queue *q, struct head *h, uint32_t i)
{
	struct node *x = &q->node[i];
	uint32_t *at = &h->root;
	while (*at != NONE && q->node[*at].priority >= x->priority) {
		struct node *above = &q->node[*at];
		if (x->second < above->least)
			above->least = x->second;
		at = is_before(above, x) ? &above->right : &above->left;
	}
	uint32_t below = *at;
	*at = i;
	split(q, below, x, &x->left, &x->right);
	pull(q, i);
	if (h->first == NONE || is_before(x, &q->node[h->first]))
		h->first = i;
}

/* Returns the tree at root without node i. */
static uint32_t without(struct orr_queue *q, uint32_t root, uint32_t i)
{
	struct node *n = &q->node[root];
	if (root == i)
		return join(q, n->left, n->right);
	if (is_before(n, &q->node[i]))
		n->right = without(q, n->right, i);
	else
		n->left = without(q, n->left, i);
	pull(q, root);
	return root;
}

static void erase(struct orr_queue *q, struct head *h, uint32_t i)
{
	h->root = without(q, h->root, i);
	if (h->first == i)
		h->first = leftmost(q, h->root);
}

/* Returns the first node of the tree with second <= bound. */
static uint32_t first_within(const struct orr_queue *q, uint32_t root, int64_t bound)
{
	if (least_of(q, root) > bound)
		return NONE;
	while (root != NONE) { /* the tree has such a node: in the left subtree, at the root, or in the right subtree */
		const struct node *n = &q->node[root];
		if (n->left != NONE && least_of(q, n->left) <= bound)
			root = n->left;
		else if (n->second <= bound)
			return root;
		else
			root = n->right;
	}
	return NONE;
}

/* Returns the first node of the tree after *x with second <= bound. */
static uint32_t following(const struct orr_queue *q, uint32_t root, const struct node *x, int64_t bound)
{
	if (root == NONE || least_of(q, root) > bound)
		return NONE;
	const struct node *n = &q->node[root];
	if (!is_before(x, n))
		return following(q, n->right, x, bound);
	uint32_t i = following(q, n->left, x, bound);
	if (i != NONE)
		return i;
	return n->second <= bound ? root : first_within(q, n->right, bound);
}

/* ---- the queue ---- */

static uint32_t node_of(const struct orr_queue *q, orr_job j)
{
	uint32_t slot = (uint32_t)j - 1u;
	if (!j || slot >= q->cap_slots || !q->of_slot[slot]) {
		if (slot >= q->world->slots.n)
			world_refuse_handle(q->world, j);
		return NONE;
	}
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
	orr_queue_add2(q, j, key, tie, 0);
}

void orr_queue_add2(struct orr_queue *q, orr_job j, int64_t key, int64_t tie, int64_t second)
{
	const struct job *job = job_of(q->world, j);
	if (!job)
		return;
	if (node_of(q, j) != NONE) {
		world_fail((struct orr_jobs *)(uintptr_t)q->world, ORR_EFAIL, job,
			"orr_queue_add() of a job that is in the queue: expected "
			"orr_queue_remove() before");
		return;
	}
	struct head *h = head_of(q, job->shape);
	if (h->root == NONE) {
		q->active_at[job->shape] = q->n_active;
		q->active[q->n_active++] = job->shape;
	}
	uint32_t i = node_new(q);
	q->node[i] = (struct node){ key, tie, second, second, job->number, j, NONE, NONE, draw(q), job->shape };
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

int64_t orr_queue_second(const struct orr_queue *q, orr_job j)
{
	uint32_t i = node_of(q, j);
	return i == NONE ? 0 : q->node[i].second;
}

/* ---- walking ---- */

static inline bool is_step_before(const struct orr_queue *q, const struct step *a, const struct step *b)
{
	return is_before(&q->node[a->node], &q->node[b->node]);
}

HEAP(step, struct step, const struct orr_queue, is_step_before, HEAP_UNTRACKED)

/* Replaces the node of the i-th step by a later node; NONE: ends the walk of this shape. */
static void replace(const struct orr_queue *q, struct walk_state *s, uint32_t i, uint32_t node)
{
	if (node != NONE) {
		step_down(q, s->heap, s->n, i, (struct step){ node, s->heap[i].bound });
		return;
	}
	s->heap[i] = s->heap[--s->n];
	for (uint32_t k = i < s->n ? i + 1 : 0; k-- > 0;)
		step_down(q, s->heap, s->n, k, s->heap[k]); /* updates step i and all its ancestors */
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
		s->heap[k] = (struct step){ q->shape[q->active[k]].first, INT64_MAX };
	for (uint32_t k = s->n / 2; k-- > 0;)
		step_down(q, s->heap, s->n, k, s->heap[k]);
	*walk = (struct orr_walk){ q, s, 0 };
}

/* Replaces the job returned last by its successor in its shape. */
static void advance(struct orr_queue *q, struct walk_state *s)
{
	if (!s->is_given)
		return;
	s->is_given = false;
	replace(q, s, 0, following(q, q->shape[s->last.shape].root, &s->last, s->heap[0].bound));
}

orr_job orr_walk_peek(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	advance(walk->queue, s);
	return s->n ? walk->queue->node[s->heap[0].node].job : 0;
}

orr_job orr_walk_next(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	walk->at = orr_walk_peek(walk);
	if (walk->at) {
		s->is_given = true;
		s->last = walk->queue->node[s->heap[0].node];
	}
	return walk->at;
}

/* Returns the step of the shape of the job returned last; s->n if the walk of this shape has ended. */
static uint32_t step_of_last(const struct orr_queue *q, const struct orr_walk *walk, const struct walk_state *s)
{
	if (s->is_given)
		return 0;
	uint32_t i = walk->at ? 0 : s->n; /* after a peek, the step has to be searched */
	while (i < s->n && q->node[s->heap[i].node].shape != s->last.shape)
		i++;
	return i;
}

void orr_walk_skip_shape(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	uint32_t i = step_of_last(walk->queue, walk, s);
	s->is_given = false;
	if (i < s->n)
		replace(walk->queue, s, i, NONE);
}

void orr_walk_limit_shape(struct orr_walk *walk, int64_t max_second)
{
	struct walk_state *s = walk->state;
	const struct orr_queue *q = walk->queue;
	uint32_t i = step_of_last(q, walk, s);
	if (i >= s->n)
		return;
	s->heap[i].bound = max_second;
	if (!s->is_given && q->node[s->heap[i].node].second > max_second)
		replace(q, s, i, following(q, q->shape[s->last.shape].root, &s->last, max_second));
}

void orr_walk_end(struct orr_walk *walk)
{
	struct walk_state *s = walk->state;
	s->next_spare = walk->queue->spare;
	walk->queue->spare = s;
	walk->state = NULL;
}

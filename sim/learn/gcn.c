/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training of the graph convolutional network chunk by chunk: tasks, visible rows, stashed weights, weight servers. */
#include "learn/gcn.h"

#include "base/mem.h"
#include "learn/state.h"

#include <math.h>
#include <string.h>

/* The tasks of a chunk in one epoch, in order. */
enum task_of_chunk {
	GATHER_0,      /* the features: constant */
	APPLY_0,       /* stashes the weights */
	GATHER_1,      /* rows of layer 1 */
	APPLY_1,       /* outputs, loss */
	BACK_APPLY_1,  /* intermediate gradients: of W2, and of the gathered rows */
	BACK_GATHER_1, /* gradients of the rows of layer 1 */
	BACK_APPLY_0,  /* gradient of W1 */
	TASKS,
	NOT_A_TASK = TASKS
};
enum { FORWARD, BACKWARD, DIRECTIONS, MOST_SERVERS = 4096 };

/* Rows of a chunk. Forward: the rows of layer 1. Backward: the gradients that neighbours of the chunk gather. */
struct rows {
	struct vec *v; /* NULL: zero */
	uint64_t epoch;
};

/* A computed gradient that has not been sent to its weight server. */
struct due {
	struct vec *v;
	uint64_t epoch, step; /* step: number of optimizer steps of the layer before its weights were stashed */
	uint32_t layer;
};

struct chunk {
	uint64_t epoch;        /* current epoch, counted as in learn_begin(); 0: none yet */
	uint32_t begun, ended; /* numbers of tasks of the epoch that have begun and that have ended */
	uint64_t op;           /* op of the last task that began */
	uint32_t server;       /* index of its graph server */
	struct vec *stash;
	uint64_t stash_step[GCN_LAYERS];
	struct vec *z, *error, *back;                  /* gathered rows of layer 1; outputs, then their gradient; gathered gradients */
	struct rows made[DIRECTIONS], own[DIRECTIONS]; /* newest rows; the rows that are visible on its server */
	struct due *due;
	uint32_t n_due, cap_due;
};

/* Rows of remote chunks that are visible on a graph server. */
struct view {
	struct rows *rows[DIRECTIONS]; /* [chunk] */
};

/* Sums of one layer's gradients at a weight server, oldest first. All sums but the last are complete. */
struct sums {
	struct vec **v;
	double *step; /* by sum: total of due.step over its gradients */
	uint32_t *count, n, cap;
};

struct gcn {
	const struct gcn_graph *graph;
	uint32_t n_chunks;
	struct chunk *chunk;
	uint32_t *chunk_of, *start; /* chunk of each vertex; first vertex of each chunk, [n_chunks + 1] */
	struct view *view;          /* [server]; [0]: rows scattered to all servers */
	uint32_t n_views, cap_views;
	uint32_t *at_device, n_devices; /* [device] index of its server; 0: none yet */
	uint32_t n_weight_servers;
	struct sums *sums; /* [weight server x GCN_LAYERS + layer] */
	uint64_t steps[GCN_LAYERS];
	struct vec *moment[2], *velocity; /* moments of Adam; velocity of SGD with momentum */
	double ghost_age, n_ghosts;
};

static size_t first_weight(const struct gcn_graph *g, uint32_t layer)
{
	return layer ? (size_t)g->features * g->hidden : 0;
}

static size_t n_weights(const struct gcn_graph *g, uint32_t layer)
{
	return (size_t)g->hidden * (layer ? g->classes : g->features);
}

struct gcn *gcn_new(struct learn *l)
{
	struct gcn *s = mem_zalloc(1, sizeof *s);
	s->graph = l->problem->graph;
	return s;
}

static void rows_free(struct learn *l, struct rows *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		vec_unref(&l->pool, r[i].v);
}

static void chunk_free(struct learn *l, struct chunk *c)
{
	struct vec *own[] = { c->stash, c->z, c->error, c->back };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		vec_unref(&l->pool, own[i]);
	rows_free(l, c->made, DIRECTIONS);
	rows_free(l, c->own, DIRECTIONS);
	for (uint32_t i = 0; i < c->n_due; i++)
		vec_unref(&l->pool, c->due[i].v);
	mem_free(c->due);
}

void gcn_free(struct learn *l, struct gcn *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_chunks; i++)
		chunk_free(l, &s->chunk[i]);
	for (uint32_t i = 0; i < s->n_views; i++)
		for (int d = 0; d < DIRECTIONS; d++) {
			rows_free(l, s->view[i].rows[d], s->n_chunks);
			mem_free(s->view[i].rows[d]);
		}
	for (uint32_t i = 0; i < s->n_weight_servers * GCN_LAYERS; i++) {
		for (uint32_t k = 0; k < s->sums[i].n; k++)
			vec_unref(&l->pool, s->sums[i].v[k]);
		mem_free(s->sums[i].v);
		mem_free(s->sums[i].step);
		mem_free(s->sums[i].count);
	}
	vec_unref(&l->pool, s->moment[0]);
	vec_unref(&l->pool, s->moment[1]);
	vec_unref(&l->pool, s->velocity);
	void *own[] = { s->chunk, s->chunk_of, s->start, s->view, s->at_device, s->sums, s };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		mem_free(own[i]);
}

/* ---- servers and the rows that they can read ---- */

static void keep_rows(struct learn *l, struct rows *to, struct rows from)
{
	if (from.v)
		vec_ref(from.v);
	vec_unref(&l->pool, to->v);
	*to = from;
}

/* Adds the view of a new server. Rows that were scattered to all servers are visible on it. */
static void add_view(struct learn *l, struct gcn *s)
{
	MEM_GROW(s->view, s->n_views, s->cap_views);
	for (int d = 0; d < DIRECTIONS; d++) {
		s->view[s->n_views].rows[d] = mem_zalloc(s->n_chunks, sizeof(struct rows));
		for (uint32_t i = 0; s->n_views && i < s->n_chunks; i++)
			keep_rows(l, &s->view[s->n_views].rows[d][i], s->view[0].rows[d][i]);
	}
	s->n_views++;
}

static uint32_t server_of(struct learn *l, struct gcn *s, uint32_t device)
{
	if (device >= s->n_devices) {
		uint32_t n = 2 * device + 2;
		s->at_device = mem_realloc(s->at_device, n, sizeof *s->at_device);
		memset(s->at_device + s->n_devices, 0, (n - s->n_devices) * sizeof *s->at_device);
		s->n_devices = n;
	}
	if (!s->at_device[device]) {
		s->at_device[device] = s->n_views;
		add_view(l, s);
	}
	return s->at_device[device];
}

static void cut(struct learn *l, struct gcn *s, uint32_t chunks)
{
	uint64_t n = s->graph->vertices;
	s->n_chunks = chunks;
	s->chunk = mem_zalloc(chunks, sizeof *s->chunk);
	s->start = mem_alloc((chunks + (size_t)1) * sizeof *s->start);
	s->chunk_of = mem_alloc(n * sizeof *s->chunk_of);
	for (uint32_t c = 0; c <= chunks; c++)
		s->start[c] = (uint32_t)(n * c / chunks);
	for (uint32_t c = 0; c < chunks; c++)
		for (uint32_t i = s->start[c]; i < s->start[c + 1]; i++)
			s->chunk_of[i] = c;
	add_view(l, s); /* view [0] has the rows scattered to all servers */
}

/* ---- gathers ---- */

struct reading {
	struct gcn *s;
	const struct chunk *chunk;
	uint32_t width, number;
	int direction;
};

static const double *visible_row(void *ctx, uint32_t vertex)
{
	struct reading *r = ctx;
	struct gcn *s = r->s;
	uint32_t c = s->chunk_of[vertex];
	const struct chunk *from = &s->chunk[c];
	const struct rows *rows = &s->view[r->chunk->server].rows[r->direction][c];
	if (c == r->number)
		rows = &from->made[r->direction];
	else if (from->server == r->chunk->server)
		rows = &from->own[r->direction];
	if (c != r->number) {
		s->ghost_age += r->chunk->epoch > rows->epoch ? (double)(r->chunk->epoch - rows->epoch) : 0;
		s->n_ghosts++;
	}
	return rows->v ? rows->v->v + (size_t)(vertex - s->start[c]) * r->width : NULL;
}

static struct vec *gather(struct learn *l, struct gcn *s, uint32_t number, int direction)
{
	const struct chunk *c = &s->chunk[number];
	uint32_t first = s->start[number], n = s->start[number + 1] - first, width = s->graph->hidden;
	struct vec *v = vec_new(&l->pool, (size_t)n * width);
	struct reading r = { s, c, width, number, direction };
	gcn_gather(s->graph, first, n, width, visible_row, &r, v->v);
	return v;
}

/* ---- vertex updates ---- */

static void replace(struct learn *l, struct vec **to, struct vec *v)
{
	vec_unref(&l->pool, *to);
	*to = v;
}

static void make_rows(struct learn *l, struct chunk *c, int direction, struct vec *v)
{
	replace(l, &c->made[direction].v, v);
	c->made[direction].epoch = c->epoch;
}

static void add_due(struct chunk *c, uint32_t layer, struct vec *v)
{
	MEM_GROW(c->due, c->n_due, c->cap_due);
	c->due[c->n_due++] = (struct due){ v, c->epoch, c->stash_step[layer], layer };
}

static void stash(struct learn *l, struct gcn *s, struct chunk *c)
{
	replace(l, &c->stash, vec_ref(l->server));
	memcpy(c->stash_step, s->steps, sizeof c->stash_step);
}

/* Computes the results of a task. gcn_end() makes them visible. */
static void compute_task(struct learn *l, struct gcn *s, uint32_t number, enum task_of_chunk task)
{
	struct chunk *c = &s->chunk[number];
	const struct gcn_graph *g = s->graph;
	uint32_t first = s->start[number], n = s->start[number + 1] - first;
	const double *sum = g->sum + (size_t)first * g->features, *w2 = c->stash ? c->stash->v + first_weight(g, 1) : NULL;
	struct vec *v;
	switch (task) {
	case APPLY_0:
		stash(l, s, c);
		v = vec_new(&l->pool, (size_t)n * g->hidden);
		gcn_apply(n, g->features, g->hidden, sum, c->stash->v, true, v->v);
		make_rows(l, c, FORWARD, v);
		break;
	case GATHER_1:
		replace(l, &c->z, gather(l, s, number, FORWARD));
		break;
	case APPLY_1:
		replace(l, &c->error, vec_new(&l->pool, (size_t)n * g->classes));
		gcn_apply(n, g->hidden, g->classes, c->z->v, w2, false, c->error->v);
		gcn_softmax(g, first, n, c->error->v);
		break;
	case BACK_APPLY_1:
		v = vec_new(&l->pool, n_weights(g, 1));
		gcn_weight_gradient(n, g->hidden, g->classes, c->z->v, c->error->v, v->v);
		add_due(c, 1, v);
		v = vec_new(&l->pool, (size_t)n * g->hidden);
		gcn_row_gradient(n, g->hidden, g->classes, c->error->v, w2, v->v);
		make_rows(l, c, BACKWARD, v);
		break;
	case BACK_GATHER_1:
		replace(l, &c->back, gather(l, s, number, BACKWARD));
		break;
	case BACK_APPLY_0:
		for (size_t i = 0; i < (size_t)n * g->hidden; i++) /* derivative of ReLU */
			c->back->v[i] = c->made[FORWARD].v->v[i] > 0 ? c->back->v[i] : 0;
		v = vec_new(&l->pool, n_weights(g, 0));
		gcn_weight_gradient(n, g->features, g->hidden, sum, c->back->v, v->v);
		add_due(c, 0, v);
		break;
	default:
		break;
	}
}

/* ---- weight servers ---- */

static void adam(struct learn *l, struct gcn *s, double *w, const double *gradient, size_t first, size_t n, uint64_t step)
{
	const double beta[2] = { 0.9, 0.999 }, small = 1e-8;
	for (int i = 0; i < 2; i++)
		if (!s->moment[i])
			s->moment[i] = vec_ref(l->zero);
	double *m = vec_writable(&l->pool, &s->moment[0], true) + first, *v = vec_writable(&l->pool, &s->moment[1], true) + first;
	double rest[2] = { 1 - pow(beta[0], (double)step), 1 - pow(beta[1], (double)step) }, lr = l->config.adam_lr;
	for (size_t i = 0; i < n; i++) {
		m[i] = beta[0] * m[i] + (1 - beta[0]) * gradient[i];
		v[i] = beta[1] * v[i] + (1 - beta[1]) * gradient[i] * gradient[i];
		w[i] -= lr * (m[i] / rest[0]) / (sqrt(v[i] / rest[1]) + small);
	}
}

static void sgd(struct learn *l, struct gcn *s, double *w, const double *gradient, size_t first, size_t n)
{
	if (!s->velocity)
		s->velocity = vec_ref(l->zero);
	double *v = vec_writable(&l->pool, &s->velocity, true) + first, lr = learn_rate(l);
	for (size_t i = 0; i < n; i++) {
		v[i] = l->config.momentum * v[i] + gradient[i];
		w[i] -= lr * v[i];
	}
}

static void step(struct learn *l, struct gcn *s, uint32_t layer, struct vec *total)
{
	size_t first = first_weight(s->graph, layer), n = n_weights(s->graph, layer);
	uint64_t before = s->steps[0] < s->steps[1] ? s->steps[0] : s->steps[1];
	if (s->steps[layer] >= l->config.epochs)
		return;
	double *w = vec_writable(&l->pool, &l->server, true) + first;
	if (l->config.l2 != 0)
		vec_axpy(total->v, total->v, l->config.l2, w, n);
	s->steps[layer]++;
	if (l->config.optimizer == LEARN_ADAM)
		adam(l, s, w, total->v, first, n, s->steps[layer]);
	else
		sgd(l, s, w, total->v, first, n);
	uint64_t after = s->steps[0] < s->steps[1] ? s->steps[0] : s->steps[1];
	if (after > before) {
		l->updates = after;
		l->is_due = true;
	}
}

/* Makes an optimizer step of a layer with the oldest sums of all weight servers, if all are complete. The staleness of a gradient is the
 * number of steps of its layer since its weights were stashed. */
static void try_step(struct learn *l, struct gcn *s, uint32_t layer, uint32_t window)
{
	for (uint32_t k = 0; k < s->n_weight_servers; k++) {
		const struct sums *q = &s->sums[k * GCN_LAYERS + layer];
		if (!q->n || (q->n == 1 && q->count[0] < window))
			return;
	}
	struct vec *total = NULL;
	for (uint32_t k = 0; k < s->n_weight_servers; k++) {
		struct sums *q = &s->sums[k * GCN_LAYERS + layer];
		l->staleness += (double)s->steps[layer] * q->count[0] - q->step[0];
		l->n_stale += q->count[0];
		if (total) {
			vec_axpy(total->v, total->v, 1, q->v[0]->v, n_weights(s->graph, layer));
			vec_unref(&l->pool, q->v[0]);
		} else {
			total = q->v[0];
		}
		q->n--;
		memmove(q->v, q->v + 1, q->n * sizeof *q->v);
		memmove(q->step, q->step + 1, q->n * sizeof *q->step);
		memmove(q->count, q->count + 1, q->n * sizeof *q->count);
	}
	step(l, s, layer, total);
	vec_unref(&l->pool, total);
}

static void arrive(struct learn *l, struct gcn *s, struct effect *e)
{
	struct sums *q = &s->sums[e->u.slice * GCN_LAYERS + e->u.layer];
	uint32_t window = e->u.window ? e->u.window : 1;
	size_t n = n_weights(s->graph, e->u.layer);
	if (!q->n || q->count[q->n - 1] == window) {
		if (q->n == q->cap) {
			q->cap = q->cap ? 2 * q->cap : 4;
			q->v = mem_realloc(q->v, q->cap, sizeof *q->v);
			q->step = mem_realloc(q->step, q->cap, sizeof *q->step);
			q->count = mem_realloc(q->count, q->cap, sizeof *q->count);
		}
		q->v[q->n] = vec_new(&l->pool, n);
		memset(q->v[q->n]->v, 0, n * sizeof(double));
		q->step[q->n] = 0;
		q->count[q->n++] = 0;
	}
	double *sum = q->v[q->n - 1]->v;
	vec_axpy(sum, sum, 1, e->snapshot->v, n);
	q->step[q->n - 1] += (double)e->pushes;
	q->count[q->n - 1]++;
	if (!e->u.layer)
		l->samples += s->start[e->u.chunk + 1] - s->start[e->u.chunk];
	try_step(l, s, e->u.layer, window);
}

/* ---- the two ends of an op ---- */

static enum task_of_chunk task_of(const struct orr_update *u)
{
	if (u->kind == ORR_GATHER)
		return u->is_backward ? (u->layer == 1 ? BACK_GATHER_1 : NOT_A_TASK) : u->layer ? GATHER_1 : GATHER_0;
	if (u->is_backward)
		return u->layer ? BACK_APPLY_1 : BACK_APPLY_0;
	return u->layer ? APPLY_1 : APPLY_0;
}

static const char *begin_task(struct learn *l, struct gcn *s, struct effect *e, uint64_t op)
{
	struct chunk *c = &s->chunk[e->u.chunk];
	enum task_of_chunk task = task_of(&e->u);
	if (task == NOT_A_TASK)
		return "expected layer 1: the gradients of the features are not gathered";
	if (task == GATHER_0 && e->iteration > c->epoch) {
		if (c->epoch && c->ended < TASKS)
			return "expected the chunk's last task of its epoch to end first";
		c->epoch = e->iteration;
		c->begun = c->ended = 0;
		c->server = server_of(l, s, e->u.worker);
	}
	if (e->iteration < c->epoch || (e->iteration == c->epoch && task < c->begun))
		return NULL; /* relaunched: already computed */
	if (e->iteration > c->epoch || task > c->begun || (c->begun > c->ended && c->op != op))
		return "expected the chunk's previous task to end first: gather and vertex update of layer 0, of layer 1, then backward";
	c->begun++;
	c->op = op;
	compute_task(l, s, e->u.chunk, task);
	return NULL;
}

/* Moves the chunk's gradient of the op's epoch to the effect. A relaunched op gets none. */
static const char *begin_gradient(struct gcn *s, struct effect *e)
{
	struct chunk *c = &s->chunk[e->u.chunk];
	for (uint32_t i = 0; i < c->n_due; i++) {
		if (c->due[i].epoch != e->iteration || c->due[i].layer != e->u.layer)
			continue;
		e->snapshot = c->due[i].v;
		e->pushes = c->due[i].step;
		c->n_due--;
		memmove(c->due + i, c->due + i + 1, (c->n_due - i) * sizeof *c->due);
		return NULL;
	}
	uint32_t last = e->u.layer ? BACK_APPLY_1 : BACK_APPLY_0;
	if (c->epoch > e->iteration || (c->epoch == e->iteration && c->begun > last))
		return NULL;
	return "expected the chunk's backward vertex update of this layer to end first";
}

static const char *check_sizes(struct learn *l, struct gcn *s, const struct orr_update *u)
{
	enum { MOST_DEVICES = 1 << 24 };
	if (!u->chunks || u->chunk >= u->chunks)
		return "expected a chunk below the number of chunks";
	if (u->worker >= MOST_DEVICES)
		return "expected the device of a graph server";
	if (s->n_views >= MOST_SERVERS)
		return "expected at most 4095 graph servers";
	uint32_t slices = u->slices ? u->slices : 1;
	if (!s->n_chunks)
		cut(l, s, u->chunks);
	if (u->kind == ORR_WEIGHT_GRADIENT && !s->n_weight_servers) {
		s->n_weight_servers = slices;
		s->sums = mem_zalloc((size_t)slices * GCN_LAYERS, sizeof *s->sums);
	}
	if (u->chunks != s->n_chunks || (u->kind == ORR_WEIGHT_GRADIENT && slices != s->n_weight_servers))
		return "expected the same numbers of chunks and weight servers as in the first update";
	return NULL;
}

const char *gcn_begin(struct learn *l, struct effect *e, uint64_t op)
{
	struct gcn *s = l->gcn;
	const char *wrong = check_sizes(l, s, &e->u);
	if (wrong)
		return wrong;
	if (!e->iteration)
		return "expected an op of an iteration";
	if (e->u.kind == ORR_WEIGHT_GRADIENT)
		return begin_gradient(s, e);
	if (e->u.kind != ORR_SCATTER)
		return begin_task(l, s, e, op);
	const struct rows *made = &s->chunk[e->u.chunk].made[e->u.is_backward ? BACKWARD : FORWARD];
	if (!made->v)
		return "expected a vertex update of the chunk to end first";
	e->snapshot = vec_ref(made->v);
	e->pushes = made->epoch;
	return NULL;
}

static void end_scatter(struct learn *l, struct gcn *s, struct effect *e, const uint32_t *group, uint32_t n_group)
{
	int d = e->u.is_backward ? BACKWARD : FORWARD;
	struct rows rows = { e->snapshot, e->pushes };
	if (n_group < 2) {
		for (uint32_t i = 0; i < s->n_views; i++)
			keep_rows(l, &s->view[i].rows[d][e->u.chunk], rows);
		return;
	}
	for (uint32_t i = n_group == 2; i < n_group; i++)
		keep_rows(l, &s->view[server_of(l, s, group[i])].rows[d][e->u.chunk], rows);
}

static void end_task(struct learn *l, struct gcn *s, struct effect *e)
{
	struct chunk *c = &s->chunk[e->u.chunk];
	enum task_of_chunk task = task_of(&e->u);
	if (c->epoch != e->iteration || task != c->ended)
		return; /* a relaunched task whose other op has ended first */
	c->ended++;
	if (task == APPLY_0)
		keep_rows(l, &c->own[FORWARD], c->made[FORWARD]);
	else if (task == BACK_APPLY_1)
		keep_rows(l, &c->own[BACKWARD], c->made[BACKWARD]);
}

void gcn_end(struct learn *l, struct effect *e, const uint32_t *group, uint32_t n_group)
{
	struct gcn *s = l->gcn;
	if (e->u.kind == ORR_SCATTER)
		end_scatter(l, s, e, group, n_group);
	else if (e->u.kind != ORR_WEIGHT_GRADIENT)
		end_task(l, s, e);
	else if (e->snapshot)
		arrive(l, s, e);
}

double gcn_ghost_staleness(const struct gcn *s)
{
	return s->n_ghosts > 0 ? s->ghost_age / s->n_ghosts : NAN;
}

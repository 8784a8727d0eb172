/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of the graph neural network: its graph, its gradients against finite differences, whole schedules against a naive reference. The
 * reference uses dense matrices. It shares only the edges, features and initial weights with the code under test.
 */
#include "tests/learn/gcn_drive.h"
#include "tests/tap.h"

#include "base/mem.h"

static struct learn_config config_of(uint32_t vertices, enum learn_optimizer optimizer, uint64_t seed)
{
	struct learn_config c;
	learn_config_default(&c);
	c.problem = LEARN_GCN;
	c.vertices = vertices;
	c.communities = 3;
	c.inputs = 5;
	c.hidden = 4;
	c.degree_in = 4;
	c.degree_out = 2;
	c.feature_noise = 1;
	c.optimizer = optimizer;
	c.lr = 1;
	c.seed = c.data_seed = seed;
	return c;
}

static struct learn *open_learn(const struct learn_config *c)
{
	struct orr_error err = { 0 };
	struct learn *l = learn_new(c, &err);
	if (!l)
		printf("# %s\n", err.text);
	return l;
}

/* ---- the graph ---- */

static double degree_to(const struct gcn_graph *g, uint32_t i, bool is_own)
{
	double n = 0;
	for (size_t k = g->first[i]; k < g->first[i + 1]; k++)
		n += g->neighbour[k] != i && (g->label[g->neighbour[k]] == g->label[i]) == is_own;
	return n;
}

static bool has_edge(const struct gcn_graph *g, uint32_t i, uint32_t j)
{
	for (size_t k = g->first[i]; k < g->first[i + 1]; k++)
		if (g->neighbour[k] == j)
			return true;
	return false;
}

/* Tests that the degrees are binomial with the given means: the mean over 4,000 vertices must be within 4 standard errors. */
static void graph(void)
{
	struct learn_config c;
	struct orr_error err = { 0 };
	learn_config_default(&c);
	c.problem = LEARN_GCN;
	struct gcn_graph *g = gcn_graph_new(&c, &err);
	double own = 0, others = 0, squares = 0, centre[6] = { 0 }, spread = 0;
	uint32_t size[6] = { 0 }, wrong = 0, unequal = 0;
	for (uint32_t i = 0; i < g->vertices; i++) {
		double d = degree_to(g, i, true);
		own += d / g->vertices;
		squares += d * d / g->vertices;
		others += degree_to(g, i, false) / g->vertices;
		size[g->label[i]]++;
		centre[g->label[i]] += g->x[(size_t)i * g->features];
		for (size_t k = g->first[i]; k < g->first[i + 1]; k++) {
			uint32_t j = g->neighbour[k];
			wrong += !has_edge(g, j, i) || (k > g->first[i] && j <= g->neighbour[k - 1]);
			double want = 1 / sqrt((1 + degree_to(g, i, true) + degree_to(g, i, false)) *
						  (1 + degree_to(g, j, true) + degree_to(g, j, false)));
			unequal += fabs(g->weight[k] - want) > 1e-15;
		}
	}
	for (uint32_t i = 0; i < g->vertices; i++)
		spread += pow(g->x[(size_t)i * g->features] - centre[g->label[i]] / size[g->label[i]], 2) / g->vertices;
	ok(fabs(own - 8) < 4 * sqrt(2 * 8. / g->vertices) && fabs(others - 4) < 4 * sqrt(2 * 4. / g->vertices),
		"degrees: %.3f in the community, %.3f outside", own, others);
	ok(fabs(squares - own * own - 8) < 1, "the degree in the community has the variance of a binomial (%.2f)", squares - own * own);
	ok(!wrong, "edges are symmetric and in ascending order");
	ok(!unequal, "weights are 1 / sqrt(degree + 1) of both ends");
	ok(size[0] == 667 && size[5] == 666 && g->n_training == 2640, "classes are equal within one, 0.66 of the vertices for training");
	ok(fabs(sqrt(spread) - 4) < 0.2, "features have the given deviation (%.3f)", sqrt(spread));
	gcn_graph_free(g);
	struct gcn_graph *again = gcn_graph_new(&c, &err);
	c.degree_in = c.degree_out = 0;
	g = gcn_graph_new(&c, &err);
	ok(g->first[4000] == 4000 && again->first[4000] > 40000, "degrees of 0: only self-loops");
	gcn_graph_free(g);
	gcn_graph_free(again);
	c.vertices = 6;
	c.communities = 2;
	c.degree_in = 2;
	c.degree_out = 3;
	g = gcn_graph_new(&c, &err);
	ok(g && g->first[6] == 36, "the largest degrees: every pair has an edge");
	gcn_graph_free(g);
}

/* ---- the reference: dense matrices, one value per line of the definition ---- */

enum { N = 48, F = 5, H = 4, C = 3, MOST_CHUNKS = 12, MOST_SERVERS_HERE = 4, W1 = F * H, DIM = F * H + H * C };

struct copy { /* state of one chunk */
	double w[DIM], z[N][H], h[N][H], out[N][C], dz[N][H], back[N][H], g[DIM];
	uint64_t read[2];
};
struct reference {
	const struct gcn_graph *g;
	struct gcn_drive *drive;
	double a[N][N], w[DIM], m[DIM], v[DIM], sum[MOST_SERVERS_HERE][2][64][DIM]; /* sum[server][layer][step] */
	uint32_t arrived[MOST_SERVERS_HERE][2], share[MOST_SERVERS_HERE];
	uint64_t steps[2];
	/* Rows of h and dz of each vertex that are visible on each server. */
	double seen[MOST_SERVERS_HERE][2][N][H];
	double sent[MOST_CHUNKS][2][N][H]; /* rows of the scatter in flight */
	struct copy chunk[MOST_CHUNKS];
	enum learn_optimizer optimizer;
	double lr, stale, n_stale;
	uint64_t epochs;
};

static uint32_t low(const struct reference *r, uint32_t chunk)
{
	return N * chunk / r->drive->chunks;
}

static void reference_step(struct reference *r, uint32_t layer)
{
	for (;;) {
		uint64_t t = r->steps[layer];
		for (uint32_t s = 0; s < r->drive->weight_servers; s++)
			if (r->arrived[s][layer] < (t + 1) * r->share[s])
				return;
		r->steps[layer]++;
		if (t >= r->epochs)
			continue;
		for (int i = layer ? W1 : 0; i < (layer ? DIM : W1); i++) {
			double g = 0;
			for (uint32_t s = 0; s < r->drive->weight_servers; s++)
				g += r->sum[s][layer][t][i];
			r->m[i] = 0.9 * r->m[i] + 0.1 * g;
			r->v[i] = 0.999 * r->v[i] + 0.001 * g * g;
			double k = (double)t + 1, m = r->m[i] / (1 - pow(0.9, k)), v = r->v[i] / (1 - pow(0.999, k));
			r->w[i] -= r->optimizer == LEARN_SGD ? r->lr * g : 0.01 * m / (sqrt(v) + 1e-8);
		}
	}
}

static void reference_begin(struct reference *r, uint32_t c, int task)
{
	struct copy *x = &r->chunk[c];
	uint32_t server = c % r->drive->servers;
	const double *w2 = x->w + W1;
	for (uint32_t i = low(r, c); i < low(r, c + 1); i++)
		switch (task) {
		case 1:
			memcpy(x->w, r->w, sizeof x->w);
			memcpy(x->read, r->steps, sizeof x->read);
			for (int k = 0; k < H; k++) {
				x->h[i][k] = 0;
				for (int j = 0; j < N; j++)
					for (int f = 0; f < F; f++)
						x->h[i][k] += r->a[i][j] * r->g->x[j * F + f] * x->w[f * H + k];
				x->h[i][k] = fmax(0, x->h[i][k]);
			}
			break;
		case 3:
		case 8:
			for (int k = 0; k < H; k++) {
				double sum = 0;
				for (uint32_t j = 0; j < N; j++)
					sum += r->a[i][j] * r->seen[server][task == 8][j][k];
				*(task == 8 ? &x->back[i][k] : &x->z[i][k]) = sum;
			}
			break;
		case 4: {
			double total = 0;
			for (int k = 0; k < C; k++) {
				x->out[i][k] = 0;
				for (int j = 0; j < H; j++)
					x->out[i][k] += x->z[i][j] * w2[j * C + k];
				total += exp(x->out[i][k]);
			}
			for (uint32_t k = 0; k < C; k++)
				x->out[i][k] =
					r->g->is_training[i] ? (exp(x->out[i][k]) / total - (k == r->g->label[i])) / r->g->n_training : 0;
			break;
		}
		case 5:
			for (int j = 0; j < H; j++) {
				x->dz[i][j] = 0;
				for (int k = 0; k < C; k++) {
					x->dz[i][j] += x->out[i][k] * w2[j * C + k];
					x->g[W1 + j * C + k] = (i == low(r, c) ? 0 : x->g[W1 + j * C + k]) + x->z[i][j] * x->out[i][k];
				}
			}
			break;
		case 9:
			for (int f = 0; f < F; f++)
				for (int k = 0; k < H; k++) {
					double sum = 0;
					for (int j = 0; j < N; j++)
						sum += r->a[i][j] * r->g->x[j * F + f];
					x->g[f * H + k] =
						(i == low(r, c) ? 0 : x->g[f * H + k]) + (x->h[i][k] > 0 ? sum * x->back[i][k] : 0);
				}
			break;
		case 2:
		case 7:
			memcpy(r->sent[c][task == 7][i], task == 7 ? x->dz[i] : x->h[i], sizeof x->h[i]);
			break;
		default:
			break;
		}
}

static void reference_end(struct reference *r, uint32_t c, int task)
{
	struct copy *x = &r->chunk[c];
	uint32_t own = c % r->drive->servers, ws = c % r->drive->weight_servers, layer = task == 6;
	for (uint32_t i = low(r, c); i < low(r, c + 1); i++) {
		if (task == 1 || task == 5)
			memcpy(r->seen[own][task == 5][i], task == 5 ? x->dz[i] : x->h[i], sizeof x->h[i]);
		for (uint32_t s = 0; (task == 2 || task == 7) && s < r->drive->servers; s++)
			if (s != own)
				memcpy(r->seen[s][task == 7][i], r->sent[c][task == 7][i], sizeof x->h[i]);
	}
	if (task != 6 && task != 10)
		return;
	uint64_t t = r->arrived[ws][layer] / r->share[ws];
	for (int i = layer ? W1 : 0; i < (layer ? DIM : W1); i++)
		r->sum[ws][layer][t][i] += x->g[i];
	r->arrived[ws][layer]++;
	reference_step(r, layer);
}

static void told(void *ctx, bool is_end, uint32_t chunk, uint64_t epoch, int task)
{
	struct reference *r = ctx;
	(void)epoch;
	if (is_end)
		reference_end(r, chunk, task);
	else
		reference_begin(r, chunk, task);
}

static struct reference *reference_new(struct gcn_drive *d, const struct learn_config *c)
{
	struct reference *r = mem_zalloc(1, sizeof *r);
	const struct gcn_graph *g = d->l->problem->graph;
	*r = (struct reference){ .g = g, .drive = d, .optimizer = c->optimizer, .lr = c->lr, .epochs = c->epochs };
	double degree[N] = { 0 };
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < N; i++)
			for (size_t k = g->first[i]; k < g->first[i + 1]; k++) {
				degree[i] += !pass;
				r->a[i][g->neighbour[k]] = pass ? 1 / sqrt(degree[i] * degree[g->neighbour[k]]) : 0;
			}
	for (uint32_t c2 = 0; c2 < d->chunks; c2++)
		r->share[c2 % d->weight_servers]++;
	memcpy(r->w, learn_server(d->l), sizeof r->w);
	d->told = told;
	d->ctx = r;
	return r;
}

static double difference(const double *a, const double *b, size_t n)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs(a[i] - b[i]));
	return most;
}

/* Compares the weights with the reference after each epoch, for schedules with random times. */
static void against_reference(void)
{
	for (uint64_t seed = 1; seed <= 24; seed++) {
		struct learn_config c = config_of(N, seed % 2 ? LEARN_ADAM : LEARN_SGD, seed);
		c.epochs = 12 + seed % 3;
		struct gcn_drive d = { .l = open_learn(&c),
			.chunks = seed % 4 == 3 ? 1 : 1 + (uint32_t)(seed * 7 % MOST_CHUNKS),
			.servers = 1 + (uint32_t)seed % 3,
			.bound = (int)(seed % 5) - 1,
			.epochs = 14 };
		d.weight_servers = d.chunks > 1 ? 1 + (uint32_t)seed % 2 : 1;
		struct reference *r = reference_new(&d, &c);
		gcn_drive_run(&d, seed);
		double most = difference(learn_server(d.l), r->w, DIM);
		ok(most < 1e-12 && learn_updates(d.l) == c.epochs && isfinite(r->w[0]),
			"S %d, %u chunks, %u servers, %u weight servers, %s: equals the dense reference (%.1e)", d.bound, d.chunks,
			d.servers, d.weight_servers, c.optimizer ? "SGD" : "Adam", most);
		learn_free(d.l);
		mem_free(r);
	}
}

/* ---- gradients ---- */

/* Compares gradients with finite differences. One synchronous epoch of SGD with rate 1 moves the weights by the gradient. */
static void finite_differences(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct learn_config c = config_of(90, LEARN_SGD, seed);
		c.l2 = seed == 4 ? 0.1 : 0;
		c.hidden = 7;
		struct gcn_drive d = {
			.l = open_learn(&c), .chunks = 6, .servers = 2, .weight_servers = 1, .bound = GCN_SYNCHRONOUS, .epochs = 1
		};
		double before[8 * 7], most = 0, largest = 0;
		memcpy(before, learn_server(d.l), sizeof before);
		gcn_drive_run(&d, seed);
		for (int i = 0; i < 8 * 7; i++) {
			const double h = 1e-5;
			double x[8 * 7], loss[2];
			memcpy(x, before, sizeof x);
			for (int side = 0; side < 2; side++) {
				x[i] = before[i] + (side ? h : -h);
				loss[side] = learn_loss_at(d.l, x);
			}
			double gradient = before[i] - learn_server(d.l)[i];
			largest = fmax(largest, fabs(gradient));
			most = fmax(most, fabs(gradient - (loss[1] - loss[0]) / (2 * h)));
		}
		ok(most < 1e-8 && largest > 1e-3, "seed %d: the gradient equals finite differences of the loss (%.1e of %.1e)", (int)seed,
			most, largest);
		learn_free(d.l);
	}
}

/* ---- bounds and staleness ---- */

static void staleness(void)
{
	double weights[4], ghosts[4];
	for (int bound = GCN_SYNCHRONOUS; bound <= 2; bound++) {
		struct learn_config c = config_of(N, LEARN_ADAM, 1);
		c.epochs = 30;
		struct gcn_drive d = { .l = open_learn(&c), .chunks = 12, .servers = 3, .weight_servers = 1, .bound = bound, .epochs = 32 };
		gcn_drive_run(&d, 5);
		weights[bound + 1] = learn_staleness(d.l);
		ghosts[bound + 1] = learn_ghost_staleness(d.l);
		ok(d.most_apart == (uint32_t)(bound < 0 ? 0 : bound), "S %d: epochs under way differ by at most %u, which is reached",
			bound, d.most_apart);
		size_t n;
		const struct learn_point *p = learn_series(d.l, &n);
		ok(n == 31 && p[30].updates == 30 && p[7].updates == 7, "S %d: one point per step of the weights", bound);
		learn_free(d.l);
	}
	ok(weights[0] == 0 && ghosts[0] == 0, "synchronous: all rows and weights are of the same epoch");
	ok(weights[1] == 0 && ghosts[1] > 0 && ghosts[1] < 1, "S 0: stale ghosts (%.3f epochs), fresh weights", ghosts[1]);
	ok(weights[2] > 0 && ghosts[2] > ghosts[1], "S 1: weights are %.3f steps old, ghosts %.3f epochs", weights[2], ghosts[2]);
	ok(weights[3] > 0 && ghosts[3] > ghosts[2], "S 2: weights are %.3f steps old, ghosts %.3f epochs", weights[3], ghosts[3]);
}

/* Returns the update of a task. A single chunk has no ghosts. Tasks may be relaunched, or may share an op. */
static struct orr_update task_of(int task, uint32_t chunk, uint32_t chunks)
{
	return (struct orr_update){ .kind = gcn_chain[task].kind,
		.layer = gcn_chain[task].layer,
		.is_backward = gcn_chain[task].is_backward,
		.chunk = chunk,
		.chunks = chunks,
		.window = chunks };
}

static void relaunch(void)
{
	struct learn_config c = config_of(N, LEARN_ADAM, 3);
	const uint32_t device = 0;
	double result[3][DIM];
	for (int way = 0; way < 3; way++) { /* 0: each op once; 1: each op twice; 2: vertex updates of the last layer on one op */
		struct learn *l = open_learn(&c);
		double t = 0;
		for (uint64_t epoch = 1; epoch <= 5; epoch++)
			for (int task = 0; task < GCN_TASKS; task++, t++) {
				struct orr_update u[2] = { task_of(task, 0, 1), task_of(task + 1 < GCN_TASKS ? task + 1 : task, 0, 1) };
				uint64_t op = epoch << 32 | (uint64_t)task;
				uint32_t n = way == 2 && task == 4 ? 2 : 1;
				drive_check(learn_begin(l, t, op, u, n, &device, 1, &drive_error));
				if (way == 1)
					drive_check(learn_begin(l, t + 0.2, op | 64, u, 1, &device, 1, &drive_error));
				if (way == 1)
					drive_check(learn_end(l, t + 0.4, op | 64, 0, &drive_error));
				drive_check(learn_end(l, t + 0.5, op, 0, &drive_error));
				task += (int)n - 1;
			}
		memcpy(result[way], learn_server(l), sizeof result[way]);
		ok(learn_updates(l) == 5 && learn_samples(l) == 5 * N, "five epochs");
		learn_free(l);
	}
	ok(!memcmp(result[0], result[1], sizeof result[0]), "tasks that are started twice count once");
	ok(!memcmp(result[0], result[2], sizeof result[0]), "two tasks on one op");
}

/* Tests that a transfer makes rows visible only on its receiver, and a compute op on all servers. */
static void receivers(void)
{
	double gathered[3];
	for (int way = 0; way < 3; way++) { /* scatter to no server, to another server, to this server */
		struct learn_config c = config_of(N, LEARN_ADAM, 3);
		struct learn *l = open_learn(&c);
		for (int task = 0; task < 2; task++)
			for (uint32_t chunk = 0; chunk < 3; chunk++) {
				struct orr_update u = task_of(task, chunk, 3);
				u.worker = 4 + chunk;
				drive_check(learn_begin(l, 1, UINT64_C(1) << 32 | chunk, &u, 1, &u.worker, 1, &drive_error));
				drive_check(learn_end(l, 1, UINT64_C(1) << 32 | chunk, u.worker, &drive_error));
			}
		struct orr_update send = task_of(2, 0, 3), read = task_of(3, 1, 3);
		const uint32_t group[2] = { 4, way == 1 ? 6 : 5 };
		read.worker = 5;
		if (way)
			drive_check(learn_begin(l, 2, UINT64_C(1) << 32, &send, 1, group, 2, &drive_error));
		if (way)
			drive_check(learn_end(l, 2, UINT64_C(1) << 32, 4, &drive_error));
		drive_check(learn_begin(l, 3, UINT64_C(1) << 32, &read, 1, &read.worker, 1, &drive_error));
		drive_check(learn_end(l, 3, UINT64_C(1) << 32, 5, &drive_error));
		gathered[way] = learn_ghost_staleness(l);
		learn_free(l);
	}
	ok(gathered[0] == 1 && gathered[1] == 1, "rows that were not sent to this server are of no epoch: age 1");
	ok(gathered[2] > 0 && gathered[2] < 1, "rows that arrived are of this epoch (%.3f)", gathered[2]);
}

/* ---- refusals ---- */

static void refused(struct orr_update u, uint64_t op, const char *message)
{
	struct learn_config c = config_of(N, LEARN_ADAM, 3);
	struct learn *l = open_learn(&c);
	struct orr_error e = { 0 };
	const uint32_t device = 0;
	struct orr_update first = task_of(0, 0, 2);
	drive_check(learn_begin(l, 0, UINT64_C(1) << 32, &first, 1, &device, 1, &drive_error));
	int rc = learn_begin(l, 0.5, op, &u, 1, &device, 1, &e);
	if (!ok(rc == ORR_EFAIL && strstr(e.text, message), "refused: %s", message))
		printf("# got %d \"%s\"\n", rc, e.text);
	learn_free(l);
}

static void refusals(void)
{
	const uint64_t op = UINT64_C(1) << 32 | 7;
	struct orr_update u = task_of(1, 0, 2);
	refused(u, op,
		"learn: op 4294967303 at 0.500000000 s: vertex update of layer 0, chunk 0 of 2, epoch 0: expected the chunk's "
		"previous task to end first: gather and vertex update");
	refused(task_of(9, 0, 2), op,
		"backward vertex update of layer 0, chunk 0 of 2, epoch 0: expected the chunk's previous task to end first");
	refused(task_of(2, 0, 2), op, "scatter of layer 0, chunk 0 of 2, epoch 0: expected a vertex update of the chunk to end first");
	refused(task_of(10, 0, 2), op, "expected the chunk's backward vertex update");
	refused(task_of(0, 0, 2), op + (UINT64_C(1) << 32), "epoch 1: expected the chunk's last task of its epoch to end first");
	refused(task_of(0, 2, 2), op, "chunk 2 of 2, epoch 0: expected a chunk below the number of chunks");
	refused(task_of(0, 0, 3), op, "expected the same numbers of chunks and weight servers as in the first update");
	refused(task_of(0, 0, 0), op, "expected a chunk below the number of chunks");
	refused(task_of(0, 1, 2), 7, "expected an op of an iteration");
	u = task_of(8, 0, 2);
	u.layer = 0;
	refused(u, op, "expected layer 1: the gradients of the features are not gathered");
	u = task_of(0, 1, 2);
	u.worker = 1 << 24;
	refused(u, op, "expected the device of a graph server");

	struct learn_config c = config_of(N, LEARN_ADAM, 3);
	struct learn *l = open_learn(&c);
	struct orr_error e = { 0 };
	const uint32_t device = 0;
	u = task_of(0, 0, N + 1);
	ok(learn_begin(l, 0, op, &u, 1, &device, 1, &e) == ORR_EINPUT &&
			!strcmp(e.text, "learn.vertices=48: expected at least one per chunk of the policy: 49"),
		"more chunks than vertices (%s)", e.text);
	u = task_of(0, 1, 2);
	u.layer = 2;
	ok(learn_begin(l, 0, op, &u, 1, &device, 1, &e) == ORR_EINPUT &&
			!strcmp(e.text, "learn.problem=gcn: the policy reports a task of layer 2: expected a model of two layers"),
		"a third layer (%s)", e.text);
	learn_free(l);
	l = open_learn(&c);
	u = (struct orr_update){ .kind = ORR_GRADIENT };
	ok(learn_begin(l, 0, op, &u, 1, &device, 1, &e) == ORR_EINPUT &&
			!strcmp(e.text, "learn.problem=gcn: the policy reports a gradient: expected updates over a graph (policy dorylus)"),
		"a gradient of a mini-batch (%s)", e.text);
	learn_free(l);
}

static void refused_graph(const char *key, double value, const char *message)
{
	struct learn_config c = config_of(N, LEARN_ADAM, 3);
	struct orr_error e = { 0 };
	char wanted[240];
	if (!strcmp(key, "communities"))
		c.communities = (uint32_t)value;
	else if (!strcmp(key, "vertices"))
		c.vertices = (uint32_t)value;
	else
		*(!strcmp(key, "degree_in") ? &c.degree_in : !strcmp(key, "degree_out") ? &c.degree_out : &c.train_share) = value;
	snprintf(wanted, sizeof wanted, "learn.%s=%g: %s", key, value, message);
	if (!ok(!learn_new(&c, &e) && e.code == ORR_EINPUT && !strcmp(e.text, wanted), "refused: %s", wanted))
		printf("# got %d \"%s\"\n", e.code, e.text);
}

static void refused_graphs(void)
{
	refused_graph("communities", 1, "expected 2 to half of learn.vertices");
	refused_graph("communities", 25, "expected 2 to half of learn.vertices");
	refused_graph("degree_in", 15.5, "expected 0 to vertices / communities - 1, the number of other vertices of a community");
	refused_graph("degree_in", -1, "expected 0 to vertices / communities - 1, the number of other vertices of a community");
	refused_graph("degree_out", 32.5, "expected 0 to the number of vertices outside a community");
	refused_graph("train_share", 0, "expected a share that leaves at least one vertex on each side");
	refused_graph("train_share", 0.999, "expected a share that leaves at least one vertex on each side");
	refused_graph("train_share", NAN, "expected a share that leaves at least one vertex on each side");
	refused_graph("vertices", 4e8, "expected at most 1e9 numbers per layer: vertices x inputs, vertices x hidden, weights");
}

int main(void)
{
	graph();
	finite_differences();
	against_reference();
	staleness();
	relaunch();
	receivers();
	refusals();
	refused_graphs();
	ok(!drive_errors, "no call failed");
	return done();
}

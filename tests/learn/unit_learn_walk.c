/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random schedules with many ops in flight, compared with a naive model of the updates. The naive model copies all values. */
#include "base/rng.h"
#include "tests/learn/learn_drive.h"
#include "tests/tap.h"

enum { N = 5, DIM = 11, MOST_OPS = 24, MOST_MADE = 4000, LATE = 3 };

struct made { /* a gradient or a sum */
	uint64_t iteration;
	double v[DIM];
};

struct worker {
	double x[DIM], inbox[DIM];
	struct made gradient[MOST_MADE], sum[MOST_MADE];
	int gradients, sums;
	bool is_busy; /* whether a gradient is in flight */
	uint64_t iteration;
};

struct flying {
	uint64_t op;
	struct orr_update u;
	uint32_t group[N], n;
	double read[DIM];
};

/* A pull that applies to later gradients only. */
struct waiting {
	uint64_t from;
	int first, end;
	double v[DIM];
};
static struct waiting waiting[N][MOST_MADE];
static int waiting_n[N];

static struct worker worker[N];
static double server[DIM];
static struct flying flying[MOST_OPS];
static int in_flight;
static struct rng rng;
static double rate;

static uint32_t any(uint32_t n)
{
	return (uint32_t)rng_below(&rng, n);
}

static int first_of(const struct orr_update *u)
{
	return DIM * (int)u->slice / (u->slices ? (int)u->slices : 1);
}

static int end_of(const struct orr_update *u)
{
	return DIM * ((int)u->slice + 1) / (u->slices ? (int)u->slices : 1);
}

static double scale_of(const struct orr_update *u)
{
	return u->scale != 0 ? u->scale : 1;
}

/* Returns the latest value up to the iteration; NULL: none. */
static const struct made *made_by(const struct made *m, int n, uint64_t iteration)
{
	while (n && m[n - 1].iteration > iteration)
		n--;
	return n ? &m[n - 1] : NULL;
}

/* ---- naive ends ---- */

static void average(const struct flying *f, bool is_gradient)
{
	for (int i = first_of(&f->u); i < end_of(&f->u); i++) {
		double sum = 0;
		for (uint32_t k = 0; k < f->n; k++) {
			struct worker *w = &worker[f->group[k]];
			sum += is_gradient ? w->gradient[w->gradients - 1].v[i] : w->x[i];
		}
		for (uint32_t k = 0; k < f->n; k++) {
			struct worker *w = &worker[f->group[k]];
			*(is_gradient ? &w->gradient[w->gradients - 1].v[i] : &w->x[i]) = sum / f->n;
		}
	}
}

/* Window of gradients, with their values at the time of accumulation. */
static double window[N][MOST_MADE][DIM];
static int window_n[N];

static void accumulate(const struct flying *f)
{
	uint32_t d = f->group[0];
	struct worker *w = &worker[d];
	int n = window_n[d]++, from = n + 1 - (int)f->u.window;
	memcpy(window[d][n], w->gradient[w->gradients - 1].v, sizeof window[d][n]);
	static int kept[N]; /* number of gradients in the window; a gradient that a shorter window drops is lost */
	kept[d] = from > kept[d] ? from : kept[d];
	struct made *m = &w->sum[w->sums++];
	m->iteration = (f->op >> 32) - 1;
	for (int i = 0; i < DIM; i++) {
		m->v[i] = 0;
		for (int k = kept[d]; k <= n; k++)
			m->v[i] += window[d][k][i];
	}
}

static void naive_end(const struct flying *f, struct learn *l)
{
	struct worker *w = &worker[f->u.kind == ORR_PULL ? f->u.worker : f->group[0]];
	int first = first_of(&f->u), last = end_of(&f->u);
	if (f->u.kind == ORR_GRADIENT) {
		struct made *m = &w->gradient[w->gradients++];
		m->iteration = (f->op >> 32) - 1;
		memcpy(m->v, learn_gradient(l, f->group[0]), sizeof m->v);
		w->is_busy = false;
	} else if (f->u.kind == ORR_AVERAGE_GRADIENTS || f->u.kind == ORR_AVERAGE_PARAMETERS) {
		average(f, f->u.kind == ORR_AVERAGE_GRADIENTS);
	} else if (f->u.kind == ORR_ACCUMULATE) {
		accumulate(f);
	}
	if (f->u.kind == ORR_PULL && f->u.window) {
		struct waiting *p = &waiting[f->u.worker][waiting_n[f->u.worker]++];
		*p = (struct waiting){ .from = (f->op >> 32) + f->u.window, .first = first, .end = last };
		memcpy(p->v, f->read, sizeof p->v);
		return;
	}
	for (int i = first; i < last; i++) {
		if (f->u.kind == ORR_LOCAL_UPDATE || f->u.kind == ORR_APPLY_INBOX) {
			double r = f->u.kind == ORR_APPLY_INBOX ? w->inbox[i] : 0;
			w->x[i] -= rate * (w->gradient[w->gradients - 1].v[i] + r);
			w->inbox[i] -= r;
		}
		if (f->u.kind == ORR_PUSH)
			server[i] -= rate * scale_of(&f->u) * f->read[i];
		if (f->u.kind == ORR_PULL)
			w->x[i] = f->read[i];
		if (f->u.kind == ORR_SEND_SLICE)
			worker[f->group[1]].inbox[i] += scale_of(&f->u) * f->read[i];
	}
}

/* ---- the walk ---- */

static void choose(struct flying *f)
{
	uint32_t order[N] = { 0, 1, 2, 3, 4 };
	for (uint32_t i = 0; i < N; i++) {
		uint32_t j = i + any(N - i), k = order[i];
		order[i] = order[j];
		order[j] = k;
	}
	memcpy(f->group, order, sizeof order);
	f->u = (struct orr_update){ .kind = (enum orr_update_kind)any(ORR_APPLY_INBOX + 1), .window = 1 + any(5) };
	f->u.window = f->u.kind == ORR_PULL ? any(3) : f->u.window;
	bool is_whole = f->u.kind == ORR_GRADIENT || f->u.kind == ORR_ACCUMULATE || any(3) == 0;
	f->u.slices = is_whole ? any(2) : 2 + any(12); /* may exceed the number of parameters */
	f->u.slice = f->u.slices ? any(f->u.slices) : 0;
	f->u.scale = any(2) ? 0 : 0.5;
	bool is_group = f->u.kind == ORR_AVERAGE_GRADIENTS || f->u.kind == ORR_AVERAGE_PARAMETERS;
	bool is_message = f->u.kind == ORR_PUSH || f->u.kind == ORR_PULL || f->u.kind == ORR_SEND_SLICE;
	f->n = is_group ? 1 + any(N) : is_message ? 2 : 1;
	f->u.worker = f->group[0];
}

static void apply_waiting(uint32_t d, uint64_t iteration)
{
	int left = 0;
	for (int k = 0; k < waiting_n[d]; k++) {
		struct waiting *p = &waiting[d][k];
		if (p->from > iteration) {
			waiting[d][left++] = *p;
			continue;
		}
		for (int i = p->first; i < p->end; i++)
			worker[d].x[i] = p->v[i];
	}
	waiting_n[d] = left;
}

/* Returns false if the op would read a value that is still missing. */
static bool naive_begin(struct flying *f, uint64_t number)
{
	struct worker *w = &worker[f->group[0]];
	const struct made *m = NULL;
	if (f->u.kind == ORR_GRADIENT && w->is_busy)
		return false;
	w->is_busy |= f->u.kind == ORR_GRADIENT;
	uint64_t iteration = f->u.kind == ORR_GRADIENT ? w->iteration++ : w->iteration - 1;
	if (f->u.kind == ORR_GRADIENT)
		apply_waiting(f->group[0], iteration);
	if (f->u.kind == ORR_PUSH || f->u.kind == ORR_SEND_SLICE) {
		uint64_t late = any(LATE);
		iteration -= late < iteration ? late : 0;
		m = f->u.kind == ORR_PUSH ? made_by(w->gradient, w->gradients, iteration) : made_by(w->sum, w->sums, iteration);
		if (!m)
			return false;
	}
	f->op = (iteration + 1) << 32 | number;
	memcpy(f->read, m ? m->v : server, sizeof f->read);
	return true;
}

static void one_op(struct learn *l, double t, uint64_t number)
{
	struct flying *f = &flying[in_flight];
	if (in_flight < MOST_OPS && any(2)) {
		choose(f);
		if (!naive_begin(f, number))
			return;
		in_flight++;
		drive_check(learn_begin(l, t, f->op, &f->u, 1, f->group, f->n, &drive_error));
	} else if (in_flight) {
		f = &flying[any((uint32_t)in_flight)];
		drive_check(learn_end(l, t, f->op, f->group[0], &drive_error));
		naive_end(f, l);
		*f = flying[--in_flight];
	}
}

static double difference(struct learn *l)
{
	double most = 0;
	for (uint32_t d = 0; d < N; d++)
		for (int i = 0; i < DIM; i++) {
			const struct worker *w = &worker[d];
			most = fmax(most, fabs(learn_parameters(l, d)[i] - w->x[i]));
			most = fmax(most, fabs(learn_inbox(l, d)[i] - w->inbox[i]));
			most = fmax(most, fabs(learn_gradient(l, d)[i] - w->gradient[w->gradients - 1].v[i]));
			most = fmax(most, fabs(learn_server(l)[i] - server[i]));
		}
	return most;
}

int main(void)
{
	int steps = getenv("ORR_SANITIZED") ? 6000 : 30000;
	struct learn_config c;
	learn_config_default(&c);
	c.problem = LEARN_NOISE;
	c.inputs = DIM;
	c.noise = 1;
	c.lr = rate = 0.01;
	c.eval_samples = 512;
	c.history = MOST_OPS;
	struct learn *l = learn_new(&c, &drive_error);
	rng_init(&rng, 5, "test.walk", 0);
	/* All workers have computed, pushed and sent a gradient. From now on old gradients and sums are kept. */
	for (uint32_t d = 0; d < N; d++)
		for (int k = 0; k < 4; k++) {
			static const enum orr_update_kind kinds[] = { ORR_GRADIENT, ORR_ACCUMULATE, ORR_PUSH, ORR_SEND_SLICE };
			struct flying f = { .op = UINT64_C(1) << 32 | (d * 4 + (uint32_t)k),
				.u = { .kind = kinds[k], .worker = d, .window = 1 },
				.group = { d, (d + 1) % N },
				.n = k == 2 || k == 3 ? 2 : 1 };
			drive_check(learn_begin(l, 0, f.op, &f.u, 1, f.group, f.n, &drive_error));
			drive_check(learn_end(l, 0, f.op, d, &drive_error));
			if (k > 1)
				memcpy(f.read, worker[d].gradient[0].v, sizeof f.read);
			naive_end(&f, l);
			worker[d].iteration = 1;
		}
	double most = 0;
	int i;
	for (i = 0; i < steps && most < 1e-9 && !drive_errors; i++) {
		one_op(l, 1e-3 * i, 100 + (uint64_t)i);
		most = fmax(most, difference(l));
	}
	printf("# %d steps, largest difference %.3g, %d gradients of the first worker\n", i, most, worker[0].gradients);
	ok(i == steps && most < 1e-9,
		"random schedules: parameters, gradients, inboxes and the server's copy are those of the naive model");
	ok(worker[0].gradients > steps / 200 && worker[0].gradients < MOST_MADE, "the random schedules ran many ops");
	ok(!drive_errors, "no unexpected failure");
	learn_free(l); /* freed while ops are in flight */
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Effects of updates on the parameters with known exact results: consensus of DS-Sync's schedules, bulk-synchronous training as
 * one replica, each kind of update by hand, conservation in Ako, threads.
 */
#include "base/mem.h"
#include "tests/learn/learn_drive.h"
#include "tests/tap.h"

static struct learn_config config_of(enum learn_problem problem, uint32_t inputs)
{
	struct learn_config c;
	learn_config_default(&c);
	c.problem = problem;
	c.inputs = inputs;
	c.rows = 512;
	c.batch = 8;
	c.eval_samples = 0;
	return c;
}

static struct learn *open_learn(const struct learn_config *c)
{
	struct learn *l = learn_new(c, &drive_error);
	drive_check(!l);
	return l;
}

static double distance(const double *a, const double *b, size_t n)
{
	double most = 0;
	for (size_t i = 0; i < n; i++)
		most = fabs(a[i] - b[i]) > most ? fabs(a[i] - b[i]) : most;
	return most;
}

/* ---- consensus (Weiyan Wang et al., DS-Sync): the product of the mixing matrices of a period is the mean ---- */

/* Returns the largest distance of a replica from the mean of all starts after this number of rounds. */
static double after_rounds(uint32_t n, uint32_t side, uint32_t dims, uint32_t rounds)
{
	struct learn_config c = config_of(LEARN_NONE, 10);
	c.init_spread = 1;
	struct learn *l = open_learn(&c);
	double mean[10] = { 0 };
	for (uint32_t d = 0; d < n; d++)
		for (int i = 0; i < 10; i++)
			mean[i] += learn_parameters(l, d)[i] / n;
	uint32_t group[DRIVE_MOST];
	for (uint32_t k = 0; k < rounds; k++) {
		if (side)
			grid_groups(side, dims, k, n, group);
		else
			pair4_groups(k, group);
		average_groups(l, k, n, group);
	}
	double most = 0;
	for (uint32_t d = 0; d < n; d++) {
		double far = distance(learn_parameters(l, d), mean, 10);
		most = far > most ? far : most;
	}
	learn_free(l);
	return most;
}

static void consensus(void)
{
	static const struct {
		const char *name;
		uint32_t n, side, dims;
	} cases[] = {
		{ "pair-4", 4, 0, 2 },
		{ "grid of 9", 9, 3, 2 },
		{ "grid of 16", 16, 4, 2 },
		{ "3-d grid of 27", 27, 3, 3 },
		{ "hypercube of 8", 8, 2, 3 },
		{ "hypercube of 32", 32, 2, 5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t n = cases[i].n, side = cases[i].side, dims = cases[i].dims;
		ok(after_rounds(n, side, dims, dims) < 1e-12, "%s: the mean after %u rounds", cases[i].name, dims);
		ok(after_rounds(n, side, dims, dims - 1) > 0.1, "the mean is not reached one round earlier");
	}
}

/* Tests that after one round of pair-4 each pair has its mean. */
static void pair_means(void)
{
	struct learn_config c = config_of(LEARN_NONE, 3);
	struct learn *l = open_learn(&c);
	static const double x[4][3] = { { 1, 0, -2 }, { 3, 4, 8 }, { -5, 1, 1 }, { 7, 7, 3 } };
	for (uint32_t d = 0; d < 4; d++)
		learn_set_parameters(l, d, x[d]);
	uint32_t group[4];
	pair4_groups(0, group);
	average_groups(l, 0, 4, group);
	static const double first[] = { 2, 2, 3 }, second[] = { 1, 4, 2 };
	ok(distance(learn_parameters(l, 0), first, 3) == 0 && distance(learn_parameters(l, 1), first, 3) == 0 &&
			distance(learn_parameters(l, 2), second, 3) == 0 && distance(learn_parameters(l, 3), second, 3) == 0,
		"pair-4, one round: the means of the pairs");
	/* The replicas are x0 = x1 = (2, 2, 3) and x2 = x3 = (1, 4, 2). Each lies at half of their difference (1, -2, 1) from the
	 * mean. */
	near_to(learn_dispersion(l), 1.5, 1e-15, "dispersion of two pairs that differ by (1, -2, 1) is 6/4");
	learn_free(l);
}

/* ---- bulk-synchronous training ---- */

/* Compares n replicas, which read interleaved shards in order, with one replica that reads the same rows in batches n times as large. */
static void as_one_replica(struct learn_config c, const char *what)
{
	enum { N = 4, ROUNDS = 50 };
	c.sampling = LEARN_CYCLE;
	c.split = LEARN_SPLIT_EVEN;
	c.shards = N;
	struct learn *many = open_learn(&c);
	c.shards = 1;
	c.batch *= N;
	struct learn *alone = open_learn(&c);
	for (int k = 0; k < ROUNDS; k++) {
		bsp(many, 2 * k, N);
		bsp(alone, 2 * k, 1);
	}
	double far = 0, size = 0;
	for (uint32_t d = 0; d < N; d++)
		far = fmax(far, distance(learn_parameters(many, d), learn_parameters(alone, 0), learn_dim(many)));
	for (size_t i = 0; i < learn_dim(alone); i++)
		size = fmax(size, fabs(learn_parameters(alone, 0)[i]));
	printf("# %s: farthest %.3g of %.3g\n", what, far, size);
	ok(far < 1e-12 && size > 0.1 && learn_samples(many) == learn_samples(alone),
		"4 synchronous replicas equal one with batches 4 times as large: %s", what);
	learn_free(many);
	learn_free(alone);
}

static void synchronous(void)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES, 20);
	as_one_replica(c, "least squares");
	c.momentum = 0.9;
	c.lr = 0.01;
	c.schedule = LEARN_RATE_INVERSE_SQRT;
	c.decay_samples = 300;
	c.warmup_samples = 64;
	as_one_replica(c, "least squares with momentum, warm-up and a falling rate");
	c = config_of(LEARN_LOGISTIC, 33);
	c.l2 = 0.01;
	as_one_replica(c, "logistic regression with l2");
	c = config_of(LEARN_MLP, 7);
	as_one_replica(c, "perceptron");
}

/* Tests that a server that takes the mean of all gradients is equivalent to an all-reduce, also with momentum in the workers. */
static void server_in_step(double momentum, uint32_t slices)
{
	enum { N = 3, ROUNDS = 30 };
	struct learn_config c = config_of(LEARN_LOGISTIC, 19);
	c.momentum = momentum;
	c.lr = 0.05;
	struct learn *reduce = open_learn(&c), *server = open_learn(&c);
	for (int k = 0; k < ROUNDS; k++) {
		bsp(reduce, 2 * k, N);
		gradients(server, 2 * k, N);
		for (uint32_t kind = ORR_PUSH; kind <= ORR_PULL; kind++)
			for (uint32_t d = 0; d < N; d++)
				for (uint32_t s = 0; s < slices; s++) {
					struct orr_update u = { .worker = d, .slice = s, .slices = slices, .scale = 1. / N };
					u.kind = (enum orr_update_kind)kind;
					at_once(server, 2 * k + 1, u, (uint32_t[]){ d, 100 }, 2);
				}
	}
	double far = distance(learn_parameters(reduce, 0), learn_parameters(server, 2), learn_dim(reduce));
	ok(far < 1e-12, "pushes of 1/n each, then pulls, are an all-reduce (momentum %g, %u slices)", momentum, slices);
	ok(distance(learn_server(server), learn_parameters(server, 1), learn_dim(server)) == 0,
		"a worker that pulled all slices equals the server");
	learn_free(reduce);
	learn_free(server);
}

/* Tests that a single worker gets the same numbers from a server, from Ako with one partition and from plain SGD. */
static void alone(void)
{
	struct learn_config c = config_of(LEARN_MLP, 6);
	struct learn *plain = open_learn(&c), *server = open_learn(&c), *ako = open_learn(&c);
	for (int k = 0; k < 40; k++) {
		gradients(plain, 2 * k, 1);
		one(plain, 2 * k + 1, ORR_LOCAL_UPDATE, 0);
		gradients(server, 2 * k, 1);
		one(server, 2 * k + 1, ORR_PUSH, 0);
		one(server, 2 * k + 1, ORR_PULL, 0);
		gradients(ako, 2 * k, 1);
		at_once(ako, 2 * k + 1, (struct orr_update){ .kind = ORR_ACCUMULATE, .window = 1 }, (uint32_t[]){ 0 }, 1);
		one(ako, 2 * k + 1, ORR_APPLY_INBOX, 0);
	}
	size_t n = learn_dim(plain);
	ok(distance(learn_parameters(plain, 0), learn_parameters(server, 0), n) == 0, "one worker and a server: plain SGD, to the bit");
	ok(distance(learn_parameters(plain, 0), learn_parameters(ako, 0), n) == 0, "Ako with one worker: plain SGD, to the bit");
	ok(learn_updates(plain) == 40 && learn_samples(plain) == 40 * 8, "updates and samples are counted");
	learn_free(plain);
	learn_free(server);
	learn_free(ako);
}

/* ---- an op reads the state at its start ---- */

static void snapshots(void)
{
	struct learn_config c = config_of(LEARN_NONE, 4);
	struct learn *l = open_learn(&c);
	static const double before[] = { 1, 2, 3, 4 }, after[] = { 5, 6, 7, 8 };
	struct orr_update pull = { .kind = ORR_PULL, .worker = 1, .slice = 1, .slices = 2 };
	struct orr_update mean = { .kind = ORR_AVERAGE_PARAMETERS };
	uint32_t pair[] = { 0, 1 };
	learn_set_parameters(l, 0, before);
	learn_set_parameters(l, 1, before);
	uint64_t op = start(l, 0, &mean, 1, pair, 2);
	learn_set_parameters(l, 0, after);
	end(l, 1, op, 0);
	static const double half[] = { 3, 4, 5, 6 };
	ok(distance(learn_parameters(l, 1), half, 4) == 0, "an average uses the parameters at its end");
	op = start(l, 2, &pull, 1, (uint32_t[]){ 9, 1 }, 2);
	learn_set_parameters(l, 1, after);
	end(l, 3, op, 9);
	static const double pulled[] = { 5, 6, 0, 0 };
	ok(distance(learn_parameters(l, 1), pulled, 4) == 0, "a pull of slice 1 of 2 writes the second half alone");
	learn_free(l);

	c = config_of(LEARN_LEAST_SQUARES, 4);
	c.sampling = LEARN_CYCLE;
	l = open_learn(&c);
	double want[4];
	uint32_t rows[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	learn_gradient_at(l, before, rows, 8, want);
	learn_set_parameters(l, 0, before);
	op = start(l, 0, &(struct orr_update){ .kind = ORR_GRADIENT }, 1, (uint32_t[]){ 0 }, 1);
	learn_set_parameters(l, 0, after);
	end(l, 1, op, 0);
	ok(distance(learn_gradient(l, 0), want, 4) == 0, "a gradient uses the parameters at the start of its op");
	static const double zero[4];
	learn_set_parameters(l, 0, zero);
	struct orr_update pushes[] = { { .kind = ORR_PUSH, .worker = 0, .scale = -2 },
		{ .kind = ORR_PUSH, .worker = 0, .slice = 2, .slices = 4 } };
	op = start(l, 2, pushes, 2, (uint32_t[]){ 0, 9 }, 2);
	gradients(l, 2, 1);
	end(l, 4, op, 0);
	double x[4];
	for (int i = 0; i < 4; i++)
		x[i] = c.lr * (2 - (i == 2)) * want[i];
	ok(distance(learn_server(l), x, 4) < 1e-15, "a push uses the gradient at the start of its op; scale and slice count");
	learn_free(l);
}

/* ---- Ako (Watcharapichat et al., SoCC 2016): with a window of p gradients and a slice every p steps, each gradient reaches each
 * peer once ---- */

enum { AKO_N = 3, AKO_P = 4, AKO_DIM = 22, AKO_STEPS = 37 };

/* Sum of the gradients of each worker's own steps. A step takes 1 s; a message takes `delay`, which can span several steps. */
struct ako {
	struct learn *l;
	double own[AKO_N][AKO_DIM];
	struct {
		uint64_t op;
		uint32_t from;
		double due;
	} sent[AKO_N * AKO_N * (AKO_STEPS + AKO_P)];
	size_t n_sent, arrived;
};

static void ako_arrive(struct ako *a, double until)
{
	while (a->arrived < a->n_sent && a->sent[a->arrived].due <= until) {
		end(a->l, a->sent[a->arrived].due, a->sent[a->arrived].op, a->sent[a->arrived].from);
		a->arrived++;
	}
}

static void ako_step(struct ako *a, int k, double delay)
{
	uint64_t op[DRIVE_MOST];
	ako_arrive(a, k);
	gradients_start(a->l, k, AKO_N, op);
	ako_arrive(a, k + 1);
	gradients_end(a->l, k + 1, AKO_N, op);
	for (uint32_t d = 0; d < AKO_N; d++) {
		for (int i = 0; i < AKO_DIM; i++)
			a->own[d][i] += learn_gradient(a->l, d)[i];
		at_once(a->l, k + 1, (struct orr_update){ .kind = ORR_ACCUMULATE, .window = AKO_P }, &d, 1);
		for (uint32_t j = 0; j < AKO_N; j++)
			if (j != d) {
				struct orr_update u = { .kind = ORR_SEND_SLICE, .slice = (uint32_t)k % AKO_P, .slices = AKO_P };
				a->sent[a->n_sent].op = start(a->l, k + 1, &u, 1, (uint32_t[]){ d, j }, 2);
				a->sent[a->n_sent].from = d;
				a->sent[a->n_sent++].due = k + 1 + delay;
			}
		one(a->l, k + 1, ORR_APPLY_INBOX, d);
	}
}

/* A slice sent after step t carries all gradients up to t that earlier slices have not carried. So every worker has received the
 * gradients of worker i up to the last message of each slice. The applied gradients plus the inbox are the sum of the received
 * gradients of the others; a worker has applied all of its own gradients. */
static void conservation(double delay)
{
	struct learn_config c = config_of(LEARN_NOISE, AKO_DIM);
	c.noise = 1;
	c.lr = 0.125;
	struct ako *a = mem_zalloc(1, sizeof *a);
	a->l = open_learn(&c);
	double due[AKO_N][AKO_DIM] = { { 0 } }; /* sum of the own gradients up to the last message of each slice */
	for (int k = 0; k < AKO_STEPS; k++) {
		ako_step(a, k, delay);
		int s = k % AKO_P;
		for (int d = 0; d < AKO_N; d++)
			for (int i = AKO_DIM * s / AKO_P; i < AKO_DIM * (s + 1) / AKO_P; i++)
				due[d][i] = a->own[d][i];
	}
	ako_arrive(a, 1e9);
	double most = 0, largest = 0;
	for (uint32_t d = 0; d < AKO_N; d++)
		for (int i = 0; i < AKO_DIM; i++) {
			double sum = a->own[d][i];
			for (uint32_t j = 0; j < AKO_N; j++)
				sum += j != d ? due[j][i] : 0;
			/* x = -lr (own + applied gradients); the latest arrivals are still in the inbox. */
			double have = -learn_parameters(a->l, d)[i] / c.lr + learn_inbox(a->l, d)[i];
			most = fmax(most, fabs(have - sum));
			largest = fmax(largest, fabs(sum));
		}
	printf("# delay %g: largest difference %.3g of %.3g\n", delay, most, largest);
	ok(most < 1e-12 && largest > 1, "Ako, messages of %g s: applied plus inbox is each gradient once", delay);
	learn_free(a->l);
	mem_free(a);
}

/* ---- slices, devices, threads, errors ---- */

/* Tests that the buckets of an all-reduce, each with its update, equal the whole. The 7 slices of 19 numbers have 2 or 3 numbers each. */
static void slices_are_the_whole(void)
{
	enum { N = 3, SLICES = 7 };
	struct learn_config c = config_of(LEARN_LOGISTIC, 19);
	c.momentum = 0.5;
	struct learn *whole = open_learn(&c), *cut = open_learn(&c);
	static const uint32_t all[N] = { 0, 1, 2 };
	for (int k = 0; k < 10; k++) {
		bsp(whole, 2 * k, N);
		gradients(cut, 2 * k, N);
		for (uint32_t s = 0; s < SLICES; s++) {
			struct orr_update u[] = { { .kind = ORR_AVERAGE_GRADIENTS, .slice = s, .slices = SLICES },
				{ .kind = ORR_LOCAL_UPDATE, .slice = s, .slices = SLICES } };
			end(cut, 2 * k + 1, start(cut, 2 * k + 1, u, 2, all, N), 0);
		}
	}
	bool same = true;
	for (uint32_t d = 0; d < N; d++)
		same &= distance(learn_parameters(whole, d), learn_parameters(cut, d), 19) == 0;
	ok(same && learn_parameters(whole, 0)[3] != 0, "buckets averaged and applied separately equal the whole, to the bit");
	learn_free(whole);
	learn_free(cut);
}

static double hash_of(int threads)
{
	enum { N = 8 };
	struct learn_config c = config_of(LEARN_MLP, 40);
	c.hidden = 32;
	c.threads = threads;
	c.eval_updates = 16;
	c.eval_worst = true;
	struct learn *l = open_learn(&c);
	uint64_t op[N];
	struct orr_update u[] = { { .kind = ORR_GRADIENT }, { .kind = ORR_LOCAL_UPDATE } };
	for (uint32_t d = 0; d < N; d++)
		op[d] = start(l, 0, u, 2, &d, 1);
	for (int k = 1; k < 120;
		k++) { /* one gradient ends and another is about to end, so the set of pending gradients changes all the time */
		uint32_t d = (uint32_t)(k * k) % N;
		end(l, k, op[d], d);
		if (k % 5 == 0)
			at_once(l, k, (struct orr_update){ .kind = ORR_AVERAGE_PARAMETERS }, (uint32_t[]){ d, (d + 1) % N, (d + 3) % N },
				3);
		op[d] = start(l, k, u, 2, &d, 1);
	}
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	double hash = 0;
	for (size_t i = 0; i < n; i++)
		hash = hash * 0.75 + p[i].loss + p[i].worst + p[i].dispersion;
	for (uint32_t d = 0; d < N; d++)
		for (size_t i = 0; i < learn_dim(l); i++)
			hash = hash * 0.75 + learn_parameters(l, d)[i];
	learn_free(l); /* freed while ops are in flight */
	return hash;
}

static void fails(int rc, const char *part, const char *what)
{
	if (!ok(rc == ORR_EFAIL && strstr(drive_error.text, part), "refused: %s", what))
		printf("# %d: %s\n", rc, drive_error.text);
}

static void errors(void)
{
	struct learn_config c = config_of(LEARN_NONE, 4);
	struct learn *l = open_learn(&c);
	uint32_t d[] = { 0, 1 };
	struct orr_update u = { .kind = ORR_GRADIENT };
	uint64_t op = start(l, 1, &u, 1, d, 1);
	fails(learn_begin(l, 1, op, &u, 1, d, 1, &drive_error), "started twice", "an op that starts twice");
	fails(learn_end(l, 1, op, 1, &drive_error), "expected a start on this device first",
		"an op that ends on another device than it started on");
	fails(learn_end(l, 0.5, op, 0, &drive_error), "expected at least 1.000000000 s, the time of the previous op",
		"time that decreases");
	fails(learn_begin(l, 1, 99, &u, 1, d, 2, &drive_error), "one device", "a gradient of two devices");
	u = (struct orr_update){ .kind = ORR_SEND_SLICE, .slice = 3, .slices = 3 };
	fails(learn_begin(l, 1, 99, &u, 1, d, 2, &drive_error), "slice 3 of 3", "a slice past the last");
	u.slice = 0;
	fails(learn_begin(l, 1, 99, &u, 1, d, 1, &drive_error), "expected a transfer", "a slice without a receiver");
	u = (struct orr_update){ .kind = ORR_PUSH, .scale = NAN };
	fails(learn_begin(l, 1, 99, &u, 1, d, 2, &drive_error), "finite scale", "a scale that is NaN");
	u = (struct orr_update){ .kind = ORR_AVERAGE_GRADIENTS };
	fails(learn_begin(l, 1, 99, &u, 1, d, 0, &drive_error), "at least one device", "an average without devices");
	learn_free(l);
	c.batch = 0;
	ok(!learn_new(&c, &drive_error) && drive_error.code == ORR_EINPUT && strstr(drive_error.text, "learn.batch"),
		"refused: an empty mini-batch, by its name");
}

/* Tests a table with many ops in flight that end in a different order than they start. Different workers pull, and each pull ends on
 * its own device. */
static void many_flights(void)
{
	enum { N = 3000 };
	struct learn_config c = config_of(LEARN_NONE, 2);
	struct learn *l = open_learn(&c);
	static const double x[] = { 1, 1 };
	for (uint32_t d = 0; d < N; d++)
		learn_set_parameters(l, d, x);
	struct orr_update u = { .kind = ORR_PULL };
	for (uint32_t i = 0; i < N; i++) {
		u.worker = i;
		drive_check(learn_begin(l, 0, i / 7, &u, 1, &i, 1, &drive_error));
	}
	int wrong = 0;
	for (uint32_t i = 0, k = 0; i < N; i++, k = (k + 1999) % N) {
		wrong += learn_parameters(l, k)[0] != 1;
		drive_check(learn_end(l, 1, k / 7, k, &drive_error));
		wrong += learn_parameters(l, k)[0] != 0;
	}
	ok(!wrong, "3000 ops in flight, in any order, with numbers shared by devices");
	learn_free(l);
}

int main(void)
{
	consensus();
	pair_means();
	synchronous();
	server_in_step(0, 1);
	server_in_step(0, 5);
	server_in_step(0.9, 1);
	server_in_step(0.9, 5);
	alone();
	snapshots();
	conservation(0);
	conservation(0.5);
	conservation(3.25);
	slices_are_the_whole();
	double serial = hash_of(1);
	ok(hash_of(2) == serial && hash_of(7) == serial, "1, 2 or 7 threads: the same numbers to the bit");
	errors();
	many_flights();
	ok(!drive_errors, "no unexpected failure");
	return done();
}

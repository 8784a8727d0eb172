/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learning: gradients compared with finite differences of the loss, steady states of noisy averaging compared with closed forms,
 * effects of staleness and grouping on convergence, learning rates, shards, and the series of losses.
 */
#include "base/mem.h"
#include "base/param.h"
#include "base/rng.h"
#include "tests/learn/learn_drive.h"
#include "tests/tap.h"

#include <gsl/gsl_randist.h>

static bool is_slow;

static struct learn_config config_of(enum learn_problem problem)
{
	struct learn_config c;
	learn_config_default(&c);
	c.problem = problem;
	c.inputs = 12;
	c.rows = 600;
	c.eval_samples = 0;
	return c;
}

static struct learn *open_learn(const struct learn_config *c)
{
	struct learn *l = learn_new(c, &drive_error);
	drive_check(!l);
	return l;
}

/* ---- gradients: a central difference of the loss equals the gradient over all rows up to O(h^2) ---- */

static void gradient_is_slope(const struct learn_config *c, double tolerance, const char *what)
{
	struct learn *l = open_learn(c);
	size_t n = learn_dim(l);
	double *x = mem_alloc(n * sizeof *x), *g = mem_alloc(n * sizeof *g), most = 0, largest = 0;
	uint32_t *rows = mem_alloc(c->rows * sizeof *rows);
	for (uint32_t i = 0; i < c->rows; i++)
		rows[i] = c->rows - 1 - i;
	struct rng r;
	rng_init(&r, 3, "test", 0);
	for (size_t i = 0; i < n; i++)
		x[i] = gsl_ran_gaussian(rng_gsl(&r), 0.5);
	learn_gradient_at(l, x, rows, c->rows, g);
	const double h = 1e-5;
	for (size_t i = 0; i < n; i++) {
		double at = x[i];
		x[i] = at + h;
		double up = learn_loss_at(l, x);
		x[i] = at - h;
		double slope = (up - learn_loss_at(l, x)) / (2 * h);
		x[i] = at;
		most = fmax(most, fabs(slope - g[i]));
		largest = fmax(largest, fabs(g[i]));
	}
	printf("# %s: %zu parameters, largest error %.3g of %.3g\n", what, n, most, largest);
	ok(most < tolerance * largest && largest > 0.01, "%s: the gradient is the slope of the loss", what);
	mem_free(x);
	mem_free(g);
	mem_free(rows);
	learn_free(l);
}

static void gradients_are_slopes(void)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	gradient_is_slope(&c, 1e-8, "least squares");
	c = config_of(LEARN_LOGISTIC);
	gradient_is_slope(&c, 1e-8, "logistic regression");
	c.l2 = 0.3;
	gradient_is_slope(&c, 1e-8, "logistic regression with l2");
	c = config_of(LEARN_MLP);
	c.inputs = 5;
	c.hidden = 9;
	c.classes = 3;
	gradient_is_slope(&c, 1e-7, "perceptron, tanh");
	c.activation = LEARN_RELU; /* no ReLU input of the 600 x 9 is within h of 0, where the slope changes */
	gradient_is_slope(&c, 1e-3, "perceptron, ReLU");
}

/* ---- steady states: DS-Sync's dispersion under noise of variance 1 per step and coordinate, eta 1 ---- */

enum schedule { PAIR4, GRID16, RANDOM16 };

static void regroup(struct rng *r, uint32_t n, uint32_t size, uint32_t *group)
{
	uint32_t order[DRIVE_MOST];
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = i + (uint32_t)rng_below(r, n - i), k = order[i];
		order[i] = order[j];
		order[j] = k;
		group[order[i]] = i / size;
	}
}

/* Returns the mean dispersion per coordinate after averaging, without the first 50 rounds. */
static double noisy_dispersion(enum schedule s, int rounds)
{
	enum { DIM = 8, SKIPPED = 50 };
	uint32_t n = s == PAIR4 ? 4 : 16, group[DRIVE_MOST];
	struct learn_config c = config_of(LEARN_NOISE);
	c.inputs = DIM;
	c.noise = c.lr = 1;
	struct learn *l = open_learn(&c);
	struct rng r;
	rng_init(&r, 1, "test.regroup", 0);
	double sum = 0;
	for (int k = 0; k < rounds; k++) {
		gradients(l, 2 * k, n);
		for (uint32_t d = 0; d < n; d++)
			one(l, 2 * k + 1, ORR_LOCAL_UPDATE, d);
		if (s == PAIR4)
			pair4_groups((uint32_t)k, group);
		else if (s == GRID16)
			grid_groups(4, 2, (uint32_t)k, n, group);
		else
			regroup(&r, n, 2, group);
		average_groups(l, 2 * k + 1, n, group);
		if (k >= SKIPPED)
			sum += learn_dispersion(l) / DIM;
	}
	learn_free(l);
	return sum / (rounds - SKIPPED);
}

static void steady_states(void)
{
	int rounds = is_slow ? 2500 : 20000;
	double tolerance = is_slow ? 0.04 : 0.02;
	/* Schedules that average exactly in two rounds by groups of s: 1/s - 1/N. Random pairs: (1 - 1/N) q / (1 - q) with q = (N/s -
	 * 1) / (N - 1) = 7/15. */
	static const double want[] = { 0.25, 0.1875, 15. / 16 * 7 / 8 };
	static const char *const name[] = { "pair-4", "grid of 16", "random pairs of 16" };
	for (int s = PAIR4; s <= RANDOM16; s++) {
		double got = noisy_dispersion((enum schedule)s, rounds);
		printf("# %s: %.5f, expected %.5f\n", name[s], got, want[s]);
		ok(fabs(got / want[s] - 1) < tolerance, "dispersion under noise, %s: %g within %g %%", name[s], want[s], 100 * tolerance);
	}
}

/* ---- equal final loss: BSP and pair-4 on a perceptron, over seeds ---- */

static double final_loss(uint64_t seed, bool is_bsp, int rounds)
{
	enum { N = 4 };
	struct learn_config c = config_of(LEARN_MLP);
	c.rows = 1024;
	c.inputs = 8;
	c.seed = seed;
	c.batch = 16;
	c.lr = 0.2;
	c.schedule = LEARN_RATE_STEP;
	c.decay = 0.2;
	c.decay_samples = N * 16. * rounds / 2;
	struct learn *l = open_learn(&c);
	for (int k = 0; k < rounds; k++) {
		uint32_t group[N];
		if (is_bsp) {
			bsp(l, 2 * k, N);
			continue;
		}
		gradients(l, 2 * k, N);
		for (uint32_t d = 0; d < N; d++)
			one(l, 2 * k + 1, ORR_LOCAL_UPDATE, d);
		pair4_groups((uint32_t)k, group);
		average_groups(l, 2 * k + 1, N, group);
	}
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	double loss = p[n - 1].loss;
	learn_free(l);
	return loss;
}

static void equal_loss(void)
{
	enum { SEEDS = 8 };
	int rounds = is_slow ? 150 : 1500;
	double mean[2] = { 0 }, squares[2] = { 0 };
	for (int k = 0; k < 2; k++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			double loss = final_loss(seed, k, rounds);
			mean[k] += loss / SEEDS;
			squares[k] += loss * loss / SEEDS;
		}
	double deviation[2];
	for (int k = 0; k < 2; k++)
		deviation[k] = sqrt((squares[k] - mean[k] * mean[k]) * SEEDS / (SEEDS - 1));
	printf("# pair-4 %.5f (standard deviation %.5f), BSP %.5f (%.5f)\n", mean[0], deviation[0], mean[1], deviation[1]);
	/* The table of accuracies in DS-Sync v1 has every data set within one standard deviation of BSP. */
	ok(fabs(mean[0] - mean[1]) < fmin(deviation[0], deviation[1]), "pair-4 ends at BSP's loss, within a standard deviation over seeds");
	ok(mean[1] < 0.7, "the final loss is at most half of log 4, the loss at the start");
}

/* ---- staleness ---- */

/* Lets n devices use a server in turns, one update per second: x_{k+1} = x_k - eta g(x_{k-(n-1)}). Calls `see` before each update. */
static void stale_descent(struct learn *l, uint32_t delay, uint32_t steps, void (*see)(struct learn *, uint32_t, void *), void *ctx)
{
	uint32_t n = delay + 1;
	uint64_t op[DRIVE_MOST];
	for (uint32_t k = 0; k < steps; k++) {
		uint32_t d = k % n;
		if (k >= n) {
			end(l, k, op[d], d);
			see(l, k, ctx);
			struct orr_update u[] = { { .kind = ORR_PUSH, .worker = d }, { .kind = ORR_PULL, .worker = d } };
			at_once(l, k, u[0], (uint32_t[]){ d, 99 }, 2);
			at_once(l, k, u[1], (uint32_t[]){ 99, d }, 2);
		}
		op[d] = start(l, k, &(struct orr_update){ .kind = ORR_GRADIENT }, 1, &d, 1);
	}
}

struct mean {
	double sum, n;
};

static void see_square(struct learn *l, uint32_t k, void *ctx)
{
	struct mean *m = ctx;
	for (size_t i = 0; i < learn_dim(l) && k > 100; i++, m->n++)
		m->sum += learn_server(l)[i] * learn_server(l)[i];
}

static void see_loss(struct learn *l, uint32_t k, void *ctx)
{
	struct mean *m = ctx;
	if (k > 300 && k % 10 == 0) {
		m->sum += learn_loss_at(l, learn_server(l)) - learn_floor(l);
		m->n++;
	}
}

static void see_nothing(struct learn *l, uint32_t k, void *ctx)
{
	(void)l, (void)k, (void)ctx;
}

/* Returns the stationary variance of x, in units of eta^2, for a noisy quadratic with gradient h x + N(0, 1). With updates that are
 * one step stale, x is an AR(2) process with coefficients 1 and -a, a = eta h (Box and Jenkins, 3.2.4). */
static double settled_variance(uint32_t delay, double a)
{
	struct learn_config c = config_of(LEARN_NOISE);
	c.inputs = 50;
	c.noise = 1;
	c.l2 = a / 0.25;
	c.lr = 0.25;
	struct learn *l = open_learn(&c);
	struct mean m = { 0 };
	stale_descent(l, delay, is_slow ? 1000 : 8000, see_square, &m);
	learn_free(l);
	return m.sum / m.n / (c.lr * c.lr);
}

static void noisy_quadratic(void)
{
	static const double a[] = { 0.1, 0.5 };
	double tolerance = is_slow ? 0.06 : 0.02;
	for (int i = 0; i < 2; i++) {
		double fresh = settled_variance(0, a[i]), stale = settled_variance(1, a[i]);
		double want_fresh = 1 / (a[i] * (2 - a[i])), want_stale = (1 + a[i]) / ((1 - a[i]) * a[i] * (2 + a[i]));
		printf("# eta h %g: %.4f, expected %.4f; one step stale %.4f, expected %.4f\n", a[i], fresh, want_fresh, stale, want_stale);
		ok(fabs(fresh / want_fresh - 1) < tolerance && fabs(stale / want_stale - 1) < tolerance,
			"noisy quadratic, eta h %g: variance 1/(a(2-a)), one step stale (1+a)/((1-a)a(2+a)), within %g %%", a[i],
			100 * tolerance);
	}
}

static struct learn_config least_squares(double lr)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	c.condition = 4;
	c.lr = lr;
	return c;
}

/* With mini-batches the loss settles above the minimum, and higher for longer delays, like the variance above. With the whole batch a
 * short delay acts like momentum and lowers the loss. */
static void staleness_hurts(void)
{
	double last = 0;
	bool grows = true;
	for (uint32_t delay = 0; delay <= 8; delay += 2) {
		struct learn_config c = least_squares(0.08);
		c.batch = 8;
		c.sampling = LEARN_REPLACE;
		struct learn *l = open_learn(&c);
		struct mean m = { 0 };
		stale_descent(l, delay, is_slow ? 1500 : 6000, see_loss, &m);
		printf("# delay %u: settles %.4g above the minimum loss\n", delay, m.sum / m.n);
		grows &= m.sum / m.n > last;
		last = m.sum / m.n;
		learn_free(l);
	}
	ok(grows, "the staler the gradients, the higher the final loss of least squares");
}

/* The recursion x_{k+1} = x_k - eta h x_{k-delay} is stable if and only if eta h < 2 sin(pi / (2 (2 delay + 1))) (Levin and May
 * 1976). Here h, the largest eigenvalue of A'A / rows, is 1 +- 0.2. */
enum { STALE_STEPS = 400 };
static double seen_staleness;
static double stale_loss(uint32_t delay, double lr)
{
	struct learn_config c = least_squares(lr);
	c.batch = c.rows;
	c.sampling = LEARN_CYCLE;
	struct learn *l = open_learn(&c);
	stale_descent(l, delay, STALE_STEPS, see_nothing, NULL);
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	double loss = p[n - 1].loss - learn_floor(l);
	seen_staleness = learn_staleness(l);
	learn_free(l);
	return loss;
}

static void stability(void)
{
	for (uint32_t delay = 1; delay <= 9; delay += 4) {
		double bound = 2 * sin(M_PI / (2 * (2 * delay + 1)));
		ok(stale_loss(delay, 0.6 * bound) < 0.05 && stale_loss(delay, 1.5 * bound) > 100,
			"delay %u: settles below and diverges above the bound of Levin and May", delay);
		/* The first updates have staleness 0, 1, .. delay - 1; the others have staleness delay. */
		double updates = STALE_STEPS - 1. - delay;
		near_to(seen_staleness, (delay * (delay - 1.) / 2 + delay * (updates - delay)) / updates, 1e-12,
			"the staleness of the updates is counted");
	}
}

/* ---- rates, shards, series ---- */

/* Tests learning rates on a constant problem without noise. Every gradient is the same, so the displacement is the sum of the rates. */
static void rates(void)
{
	struct learn_config c = config_of(LEARN_NOISE);
	c.inputs = 1;
	c.batch = 10;
	c.lr = 2;
	c.decay_samples = 20;
	c.decay = 0.5;
	/* After k = 1, 2, .. gradients, u is k / 2. */
	static const double want[][4] = {
		{ 2, 2, 2, 2 },
		{ 2, 1, 1, 0.5 },
		{ 2 / 1.5, 2 / 2., 2 / 2.5, 2 / 3. },
		{ 1.6329931618554521, 1.4142135623730951, 1.2649110640673518, 1.1547005383792517 },
		{ 1, 0, 0, 0 },
	};
	static const char *const name[] = { "constant", "step", "inverse", "inverse square root", "cosine" };
	for (int s = 0; s < 5; s++) {
		c.schedule = (enum learn_schedule)s;
		struct learn *l = open_learn(&c);
		double most = 0;
		for (int k = 0; k < 4; k++) {
			double before = learn_parameters(l, 0)[0];
			gradients(l, 2 * k, 1);
			double g = learn_gradient(l, 0)[0];
			one(l, 2 * k + 1, ORR_LOCAL_UPDATE, 0);
			most = fmax(most, fabs((before - learn_parameters(l, 0)[0]) / g - want[s][k]));
		}
		ok(most < 1e-12, "rate: %s", name[s]);
		learn_free(l);
	}
	c.schedule = LEARN_RATE_CONSTANT;
	c.warmup_samples = 40;
	struct learn *l = open_learn(&c);
	double x = 0, want_x = 0;
	for (int k = 0; k < 6; k++) {
		gradients(l, 2 * k, 1);
		want_x -= fmin(1, (k + 1) / 4.) * 2 * learn_gradient(l, 0)[0];
		one(l, 2 * k + 1, ORR_LOCAL_UPDATE, 0);
		x = learn_parameters(l, 0)[0];
	}
	near_to(x, want_x, 1e-12, "rate: warm-up, a quarter per gradient, then constant");
	learn_free(l);
}

/* Tests momentum (heavy ball) with a constant gradient g: v_k = (1 - mu^k) / (1 - mu) g (Polyak 1964). One gradient serves many local
 * updates. */
static void momentum(void)
{
	struct learn_config c = config_of(LEARN_NOISE);
	c.inputs = 2;
	c.momentum = 0.5;
	c.lr = 1;
	struct learn *l = open_learn(&c);
	gradients(l, 0, 1);
	double g = learn_gradient(l, 0)[1];
	for (int k = 0; k < 3; k++)
		one(l, 2, ORR_LOCAL_UPDATE, 0);
	near_to(learn_parameters(l, 0)[1], -(1 + 1.5 + 1.75) * g, 1e-12, "momentum 1/2: steps of 1, 3/2 and 7/4 of the gradient");
	learn_free(l);
}

/* Returns how far gradients differ between devices. With rows in order of label and as many shards as classes, a device has the rows
 * of one class (or of two at the borders). With the even split all gradients are similar. */
static double gradient_spread(enum learn_split split)
{
	enum { N = 4 };
	struct learn_config c = config_of(LEARN_MLP);
	c.split = split;
	c.shards = N;
	c.rows = 2000;
	c.batch = 500;
	c.sampling = LEARN_SHUFFLE;
	struct learn *l = open_learn(&c);
	gradients(l, 0, N);
	double spread = 0, size = 0;
	for (size_t i = 0; i < learn_dim(l); i++) {
		double mean = 0;
		for (uint32_t d = 0; d < N; d++)
			mean += learn_gradient(l, d)[i] / N;
		for (uint32_t d = 0; d < N; d++) {
			double off = learn_gradient(l, d)[i] - mean;
			spread += off * off / N;
		}
		size += mean * mean;
	}
	learn_free(l);
	return spread / size;
}

static void shards(void)
{
	double even = gradient_spread(LEARN_SPLIT_EVEN), label = gradient_spread(LEARN_SPLIT_LABEL);
	printf("# variance of gradients between devices over their mean's square: even %.3g, by label %.3g\n", even, label);
	ok(label > 10 * even && even > 0, "gradients differ between devices that see one label each");
	/* A shuffled pass over the shard uses each row once, so the mean of the gradients of its batches is the gradient of the shard. */
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	c.rows = 96;
	c.batch = 12;
	c.lr = 0;
	struct learn *l = open_learn(&c);
	double mean[12] = { 0 }, all[12];
	uint32_t rows[96];
	for (uint32_t i = 0; i < 96; i++)
		rows[i] = i;
	for (int k = 0; k < 8; k++) {
		gradients(l, k, 1);
		for (int i = 0; i < 12; i++)
			mean[i] += learn_gradient(l, 0)[i] / 8;
	}
	learn_gradient_at(l, learn_parameters(l, 0), rows, 96, all);
	double most = 0;
	for (int i = 0; i < 12; i++)
		most = fmax(most, fabs(mean[i] - all[i]));
	ok(most < 1e-12, "a shuffled pass takes each row once");
	learn_free(l);
}

static void series(void)
{
	struct learn_config c = config_of(LEARN_LOGISTIC);
	c.eval_samples = 64;
	c.batch = 32;
	c.target = 0.55;
	c.eval_worst = true;
	struct learn *l = open_learn(&c);
	int k;
	for (k = 0; k < 400 && !learn_reached(l); k++)
		bsp(l, 2 * k, 2);
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	near_to(p[0].loss, log(2), 1e-14, "logistic regression starts at log 2");
	bool in_order = p[0].time_s == 0 && p[0].samples == 0;
	for (size_t i = 1; i < n; i++)
		in_order &= p[i].time_s > p[i - 1].time_s && p[i].samples - p[i - 1].samples == 64 && p[i].dispersion == 0 &&
			    p[i].worst == p[i].loss;
	ok(in_order && n == (size_t)k + 1, "a point every 64 samples, after all events at its time");
	double t = learn_time_to(l, c.target);
	p += n - 3; /* learn_finish() added the last point */
	ok(learn_reached(l) && t > p[0].time_s && t <= p[1].time_s && p[0].loss > c.target && p[1].loss <= c.target,
		"the target is met before the first point that is below it");
	near_to(p[0].loss + (t - p[0].time_s) / (p[1].time_s - p[0].time_s) * (p[1].loss - p[0].loss), c.target, 1e-12,
		"the time to the target is where the line between the points crosses it");
	ok(isinf(learn_time_to(l, 1e-3)), "a loss that is never reached has no time");
	learn_free(l);
	/* Plain gradient descent with a rate above 2 / h diverges. */
	c = config_of(LEARN_LEAST_SQUARES);
	c.lr = 1e3;
	l = open_learn(&c);
	for (k = 0; k < 400; k++)
		bsp(l, 2 * k, 1);
	learn_finish(l);
	p = learn_series(l, &n);
	ok(isinf(p[n - 1].loss), "a NaN loss is infinite");
	learn_free(l);
}

/* The minimum loss by the normal equations equals the limit of gradient descent. */
static void least_loss(void)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	c.batch = c.rows;
	c.sampling = LEARN_CYCLE;
	c.condition = 3;
	c.l2 = 0.1;
	c.lr = 0.8;
	struct learn *l = open_learn(&c);
	for (int k = 0; k < 300; k++)
		bsp(l, 2 * k, 1);
	near_to(learn_loss_at(l, learn_parameters(l, 0)), learn_floor(l), 1e-12,
		"least squares: descent ends at the normal equations' loss");
	learn_free(l);
}

static void options(void)
{
	struct orr_args *a = args_new(learn_options, "learn", &drive_error);
	struct learn_config c;
	drive_check(args_set(a, "problem", "mlp", &drive_error) | args_set(a, "split", "label", &drive_error) |
		    args_set(a, "schedule", "inverse-sqrt", &drive_error) | args_set(a, "activation", "relu", &drive_error) |
		    args_set(a, "sampling", "cycle", &drive_error) | args_set(a, "model", "server", &drive_error) |
		    args_set(a, "target", "0.25", &drive_error));
	learn_config_read(&c, a);
	ok(c.problem == LEARN_MLP && c.split == LEARN_SPLIT_LABEL && c.schedule == LEARN_RATE_INVERSE_SQRT && c.activation == LEARN_RELU &&
			c.sampling == LEARN_CYCLE && c.model == LEARN_MODEL_SERVER && c.target == 0.25,
		"options are read by name");
	args_free(a);
}

int main(void)
{
	is_slow = getenv("ORR_SANITIZED") != NULL;
	gradients_are_slopes();
	steady_states();
	equal_loss();
	noisy_quadratic();
	staleness_hurts();
	stability();
	rates();
	momentum();
	shards();
	series();
	least_loss();
	options();
	ok(!drive_errors, "no unexpected failure");
	return done();
}

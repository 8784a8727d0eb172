/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learning problems: shards partition the rows, gradients are the slopes of the loss, gradient descent reaches the closed form of the
 * minimum loss, and data have the requested variances.
 */
#include "learn/problem.h"

#include "base/mem.h"
#include "tests/tap.h"

static struct orr_error err;

static struct learn_config config_of(enum learn_problem problem)
{
	return (struct learn_config){ .problem = problem,
		.rows = 600, /* enough rows for more than two blocks of the loss */
		.inputs = 3,
		.hidden = 4,
		.classes = 3,
		.condition = 4,
		.noise = 0.3,
		.l2 = 0.05,
		.data_seed = 3,
		.seed = 5,
		.batch = 8,
		.shards = 1,
		.lr = 0.1,
		.target = NAN,
		.threads = 1 };
}

static struct problem *new_problem(const struct learn_config *c)
{
	err = (struct orr_error){ 0 };
	struct problem *p = problem_new(c, &err);
	if (!p)
		printf("# %s\n", err.text);
	return p;
}

/* ---- shards ---- */

/* Checks that shards follow one another in `order`, which has every row once, and that the sizes of an even split differ by at most
 * one row. */
static void shards(enum learn_split split, uint32_t rows, uint32_t n)
{
	struct learn_config c = config_of(LEARN_LOGISTIC);
	c.rows = rows;
	c.split = split;
	c.shards = n;
	struct problem *p = new_problem(&c);
	if (!ok(p, "%u rows in %u shards", rows, n))
		return;
	bool *seen = mem_zalloc(rows, sizeof *seen), is_good = true;
	uint32_t next = 0, least = rows, most = 0;
	for (uint32_t s = 0; s < n; s++) {
		uint32_t first, size, again_first, again_size;
		problem_shard(p, s, &first, &size);
		problem_shard(p, s + n, &again_first, &again_size);
		is_good = is_good && first == next && again_first == first && again_size == size && first + size <= rows;
		for (uint32_t i = first; is_good && i < first + size; i++) {
			is_good = p->order[i] < rows && !seen[p->order[i]];
			if (is_good)
				seen[p->order[i]] = true;
		}
		next = first + size;
		least = size < least ? size : least;
		most = size > most ? size : most;
	}
	ok(is_good && next == rows, "... have each row once, device d the shard d mod %u", n);
	ok(split != LEARN_SPLIT_EVEN || most - least <= 1, "... and differ by at most one row (%u to %u)", least, most);
	mem_free(seen);
	problem_free(p);
}

static void whole(void)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	c.split = LEARN_SPLIT_NONE;
	c.shards = 7;
	struct problem *p = new_problem(&c);
	uint32_t first = 1, n = 0;
	problem_shard(p, 3, &first, &n);
	ok(first == 0 && n == c.rows, "without a split every device has all rows");
	problem_free(p);
}

/* ---- gradient and loss ---- */

static void full_gradient(const struct problem *p, const double *x, double *g)
{
	uint32_t *rows = mem_alloc(p->config.rows * sizeof *rows);
	double *scratch = mem_zalloc(p->scratch + 1, sizeof *scratch);
	for (uint32_t i = 0; i < p->config.rows; i++)
		rows[i] = i;
	problem_gradient(p, x, rows, p->config.rows, 1, g, scratch);
	mem_free(rows);
	mem_free(scratch);
}

/* Tests the losses: least squares by its definition, the others at parameters of 0, where they are log 2 or the log of the number of
 * classes. */
static void losses(void)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	struct problem *p = new_problem(&c);
	const double x[3] = { 0.5, -1, 2 };
	double sum = 0, zero[64] = { 0 };
	for (uint32_t i = 0; i < c.rows; i++) {
		double e = -p->y[i];
		for (int k = 0; k < 3; k++)
			e += p->a[i * 3 + (uint32_t)k] * x[k];
		sum += e * e / 2;
	}
	near_to(problem_loss(p, x, 1), sum / c.rows + 0.05 / 2 * 5.25, 1e-13, "the loss of least squares");
	problem_free(p);
	c = config_of(LEARN_LOGISTIC);
	p = new_problem(&c);
	near_to(problem_loss(p, zero, 1), log(2), 1e-14, "the loss of logistic regression at 0");
	problem_free(p);
	c = config_of(LEARN_MLP);
	p = new_problem(&c);
	near_to(problem_loss(p, zero, 1), log(3), 1e-14, "the loss of a network at 0");
	problem_free(p);
}

/* Compares gradients with central differences of step h, whose error is of order h^2. */
static void slopes(enum learn_problem problem, const char *name)
{
	struct learn_config c = config_of(problem);
	struct problem *p = new_problem(&c);
	double *x = mem_zalloc(p->dim, sizeof *x), *g = mem_zalloc(p->dim, sizeof *g), worst = 0;
	problem_start(p, x);
	for (size_t i = 0; i < p->dim; i++)
		x[i] += 0.3 * sin(1.0 + (double)i);
	full_gradient(p, x, g);
	for (size_t i = 0; i < p->dim; i++) {
		const double h = 1e-5, at = x[i];
		x[i] = at + h;
		double above = problem_loss(p, x, 1);
		x[i] = at - h;
		double below = problem_loss(p, x, 1);
		x[i] = at;
		worst = fmax(worst, fabs((above - below) / (2 * h) - g[i]));
	}
	ok(worst < 1e-8 && p->dim > 0, "%s: the gradient is the slope of the loss (%zu parameters, %.1e)", name, p->dim, worst);
	near_to(problem_loss(p, x, 2), problem_loss(p, x, 1), 0, "... and the loss is the same with two threads");
	mem_free(x);
	mem_free(g);
	problem_free(p);
}

static void least_loss(double l2)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	c.l2 = l2;
	struct problem *p = new_problem(&c);
	double x[3] = { 0 }, g[3], floor = problem_floor(p);
	for (int i = 0; i < 400; i++) {
		full_gradient(p, x, g);
		for (int k = 0; k < 3; k++)
			x[k] -= 0.8 * g[k];
	}
	near_to(floor, problem_loss(p, x, 1), 1e-12, "the closed form of the least loss is what gradient descent reaches");
	problem_free(p);
	c = config_of(LEARN_LOGISTIC);
	p = new_problem(&c);
	ok(isnan(problem_floor(p)), "logistic regression has none");
	problem_free(p);
}

/* Tests that input j has the variance condition^(-j / (n - 1)), within four standard errors sqrt(2 / rows). */
static void variances(uint32_t inputs)
{
	struct learn_config c = config_of(LEARN_LEAST_SQUARES);
	c.inputs = inputs;
	c.rows = 20000;
	struct problem *p = new_problem(&c);
	double worst = 0;
	for (uint32_t j = 0; j < inputs; j++) {
		double squares = 0, want = inputs > 1 ? pow(4, -(double)j / (inputs - 1)) : 1;
		for (uint32_t i = 0; i < c.rows; i++)
			squares += pow(p->a[(size_t)i * inputs + j], 2);
		worst = fmax(worst, fabs(squares / c.rows / want - 1));
	}
	ok(worst < 4 * sqrt(2.0 / c.rows), "%u inputs: variances fall from 1 to 1 / condition (%.3f)", inputs, worst);
	problem_free(p);
}

/* ---- refusals ---- */

static void refused(struct learn_config c, const char *key)
{
	struct problem *p = problem_new(&c, &err);
	char text[64];
	snprintf(text, sizeof text, "learn.%s: ", key);
	ok(!p && err.code == ORR_EINPUT && !strncmp(err.text, text, strlen(text)), "refused: %s", err.text);
	problem_free(p);
}

static void refusals(void)
{
	struct learn_config mlp = config_of(LEARN_MLP), c = mlp;
#define REFUSED(change, key) c = mlp, change, refused(c, key)
	REFUSED(c.inputs = 0, "inputs");
	REFUSED(c.batch = 0, "batch");
	REFUSED(c.lr = -1, "lr");
	REFUSED(c.lr = NAN, "lr");
	REFUSED(c.momentum = 1, "momentum");
	REFUSED(c.momentum = -0.1, "momentum");
	REFUSED(c.schedule = LEARN_RATE_CONSTANT + 1, "decay_samples");
	REFUSED(c.rows = 0, "rows");
	REFUSED((c.rows = 1u << 31, c.inputs = 2), "rows");
	REFUSED((c.split = LEARN_SPLIT_EVEN, c.shards = 601), "shards");
	REFUSED((c.split = LEARN_SPLIT_EVEN, c.shards = 0), "shards");
	REFUSED(c.condition = 0.5, "condition");
	REFUSED(c.hidden = 0, "hidden");
	REFUSED(c.classes = 1, "hidden");
	REFUSED((c.hidden = 1u << 31, c.classes = 2), "hidden");
	REFUSED(c.problem = LEARN_GCN + 1, "problem");
	c = config_of(LEARN_NOISE);
	c.rows = 0;
	struct problem *p = new_problem(&c);
	ok(p, "noise needs no rows");
	problem_free(p);
}

int main(void)
{
	shards(LEARN_SPLIT_EVEN, 601, 7);
	shards(LEARN_SPLIT_EVEN, 7, 7);
	shards(LEARN_SPLIT_LABEL, 601, 4);
	shards(LEARN_SPLIT_LABEL, 600, 1);
	whole();
	losses();
	slopes(LEARN_LEAST_SQUARES, "least squares");
	slopes(LEARN_LOGISTIC, "logistic regression");
	slopes(LEARN_MLP, "a network of one hidden layer");
	least_loss(0);
	least_loss(0.05);
	variances(1);
	variances(5);
	refusals();
	return done();
}

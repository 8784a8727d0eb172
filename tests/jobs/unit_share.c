/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_share.c - share_solve() compared with an independent restatement of its fixed point
 *
 * Each result must satisfy the equations of share.h: the speeds determine the stretches and the probabilities to send. The mean share
 * of a job is then computed by enumeration of the sets of other senders, filling the link step by step each time. On links of many
 * jobs, the three-point Gauss-Hermite rule replaces the enumeration.
 */
#include "base/rng.h"
#include "jobs/share.h"
#include "tests/tap.h"

enum { MOST = 40 };

static double busy[MOST]; /* share of its time in which a job sends when it is alone */

/* Returns the growth of an iteration of which only the messages become slower. */
static double growth(void *ctx, uint32_t j, double stretch)
{
	(void)ctx;
	return 1 + busy[j] * (stretch - 1);
}

/* Returns the rate of one flow with demand d on a link beside k flows with demand o. All rates rise together until the link is full
 * or the demands are met. */
static double filled(double capacity, double d, double k, double o)
{
	double level = fmin(d, o);
	if (level * (k + 1) >= capacity)
		return capacity / (k + 1);
	double rest = capacity - level * (k + 1);
	if (d <= o)
		return d;
	return fmin(d, level + rest);
}

struct link {
	double capacity, peak[MOST];
	uint32_t n;
};

/* The jobs other than j: sum of demands and expected number of those that send, each with its probability in q. */
struct others {
	double asked, senders;
};

static struct others others_of(const struct link *x, const double *q, uint32_t j)
{
	struct others o = { 0, 0 };
	for (uint32_t i = 0; i < x->n; i++)
		if (i != j) {
			o.asked += q[i] * x->peak[i];
			o.senders += q[i];
		}
	return o;
}

/* Returns the mean share of job j over the sets of other jobs that send. Each other job sends with its probability in q, at the mean
 * demand of the others. */
static double enumerated(const struct link *x, const double *q, uint32_t j)
{
	const struct others o = others_of(x, q, j);
	double sum = 0, other = o.senders > 0 ? o.asked / o.senders : 0;
	for (uint32_t set = 0; set < 1u << x->n; set++) {
		double p = 1, k = 0;
		if (set >> j & 1)
			continue;
		for (uint32_t i = 0; i < x->n; i++)
			if (i != j) {
				p *= set >> i & 1 ? q[i] : 1 - q[i];
				k += set >> i & 1;
			}
		sum += p * filled(x->capacity, x->peak[j], k, other);
	}
	return sum;
}

/* Returns the mean share of job j among many jobs, at the mean number of senders and sqrt(3) standard deviations around it (weights
 * 4/6, 1/6, 1/6). */
static double of_many(const struct link *x, const double *q, uint32_t j)
{
	const struct others o = others_of(x, q, j);
	double mean = o.senders, variance = 0;
	for (uint32_t i = 0; i < x->n; i++)
		variance += i != j ? q[i] * (1 - q[i]) : 0;
	double off = fmin(sqrt(3 * variance), mean), other = o.asked / mean;
	return (4 * filled(x->capacity, x->peak[j], mean, other) + filled(x->capacity, x->peak[j], mean - off, other) +
		       filled(x->capacity, x->peak[j], mean + off, other)) /
	       6;
}

/* Returns the largest relative deviation of the solved speeds from the equations. */
static double deviation(const struct link *x, bool is_exact)
{
	struct share_use use[MOST];
	struct share_job job[MOST];
	double speed[MOST], stretch[MOST], q[MOST], worst = 0;
	for (uint32_t j = 0; j < x->n; j++) {
		use[j] = (struct share_use){ 0, busy[j], x->peak[j] };
		job[j] = (struct share_job){ &use[j], 1 };
	}
	share_solve(&(struct share_problem){ job, x->n, 1, &x->capacity, growth, NULL }, speed);
	for (uint32_t j = 0; j < x->n; j++) {
		stretch[j] = 1 + (1 / speed[j] - 1) / busy[j];
		q[j] = fmin(1, busy[j] * stretch[j] * speed[j]);
	}
	for (uint32_t j = 0; j < x->n; j++) {
		double share = is_exact ? enumerated(x, q, j) : of_many(x, q, j);
		worst = fmax(worst, fabs(fmin(1, share / x->peak[j]) * stretch[j] - 1));
	}
	return worst;
}

static struct rng rng;

static double between(double a, double b)
{
	return a + (b - a) * rng_uniform(&rng);
}

/* Draws a link whose jobs have mean demands of 0.4 to 3 times its capacity in total. */
static struct link drawn(uint32_t least, uint32_t most)
{
	struct link x = { .capacity = 10, .n = least + (uint32_t)rng_below(&rng, most - least + 1) };
	double load = between(0.4, 3), asked = 0;
	for (uint32_t j = 0; j < x.n; j++) {
		busy[j] = between(0.05, 1);
		x.peak[j] = between(0.2, 1);
		asked += busy[j] * x.peak[j];
	}
	for (uint32_t j = 0; j < x.n; j++)
		x.peak[j] *= load * x.capacity / asked;
	return x;
}

static void test_random(void)
{
	double worst = 0;
	rng_init(&rng, 1, "share", 0);
	for (int i = 0; i < 300; i++) {
		struct link x = drawn(2, 8);
		worst = fmax(worst, deviation(&x, true));
	}
	ok(worst < 1e-7, "300 random links of up to eight jobs satisfy the equations (%.1e)", worst);
	worst = 0;
	for (int i = 0; i < 4; i++) {
		struct link x = drawn(16, 16);
		worst = fmax(worst, deviation(&x, true));
	}
	ok(worst < 1e-7, "so do links of sixteen jobs, the most with an exact distribution (%.1e)", worst);
	worst = 0;
	for (int i = 0; i < 100; i++) {
		struct link x = drawn(17, MOST);
		worst = fmax(worst, deviation(&x, false));
	}
	ok(worst < 1e-7, "links of 17 to 40 jobs satisfy those of the normal approximation (%.1e)", worst);
}

/* ---- several links ---- */

/* Returns the growth of a job that sends all the time: the stretch. */
static double as_stretched(void *ctx, uint32_t j, double stretch)
{
	(void)ctx, (void)j;
	return stretch;
}

/* Tests a chain of n links of capacity 1: one job crosses all links, and each link has one other job. Every job gets half. */
static void chain(uint32_t n)
{
	struct share_use use[9], long_use[8];
	struct share_job job[9];
	double capacity[8], speed[9], worst = 0;
	for (uint32_t l = 0; l < n; l++) {
		capacity[l] = 1;
		use[l] = long_use[l] = (struct share_use){ l, 1, 1 };
		job[l + 1] = (struct share_job){ &use[l], 1 };
	}
	job[0] = (struct share_job){ long_use, n };
	share_solve(&(struct share_problem){ job, n + 1, n, capacity, as_stretched, NULL }, speed);
	for (uint32_t j = 0; j <= n; j++)
		worst = fmax(worst, fabs(speed[j] - 0.5));
	ok(worst < 1e-9, "a chain of %u links: half each", n);
}

/* Tests bottlenecks that depend on one another. Link 0 (capacity 3) has jobs a, b and c, which get 1 each. Link 1 (capacity 4) has c
 * and d: d gets the other 3. Link 2 (capacity 10) has d and e: e gets the other 7. Link 3 (capacity 14.5) has e and f: f gets the
 * other 7.5. All peaks are 8. */
static void cascade(void)
{
	const struct share_use a[] = { { 0, 1, 8 } }, c[] = { { 1, 1, 8 }, { 0, 1, 8 } }, d[] = { { 2, 1, 8 }, { 1, 1, 8 } },
			       e[] = { { 3, 1, 8 }, { 2, 1, 8 } }, f[] = { { 3, 1, 8 } };
	const struct share_job job[] = { { a, 1 }, { a, 1 }, { c, 2 }, { d, 2 }, { e, 2 }, { f, 1 } };
	const double capacity[] = { 3, 4, 10, 14.5 }, want[] = { 1, 1, 1, 3, 7, 7.5 };
	double speed[6];
	share_solve(&(struct share_problem){ job, 6, 4, capacity, as_stretched, NULL }, speed);
	for (int j = 0; j < 6; j++) {
		char what[40];
		snprintf(what, sizeof what, "job %c of a cascade sends %g", 'a' + j, want[j]);
		near_to(8 * speed[j], want[j], 1e-9, what);
	}
	/* Jobs without links, or on links that no job uses, keep their full speed. */
	const struct share_job none[] = { { NULL, 0 }, { NULL, 0 } };
	share_solve(&(struct share_problem){ none, 2, 0, NULL, as_stretched, NULL }, speed);
	ok(speed[0] == 1 && speed[1] == 1, "jobs without links keep their speed");
}

int main(void)
{
	test_random();
	chain(1);
	chain(2);
	chain(8);
	cascade();
	return done();
}

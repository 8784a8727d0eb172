/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synchronous model averaging: closed forms, equal base models, restarts. */
#include "tests/learn/learn_drive.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <math.h>

static struct learn *make(enum learn_problem problem, double l2, double spread, double lr)
{
	struct learn_config c;
	struct orr_error err = { 0 };
	learn_config_default(&c);
	c.problem = problem;
	c.inputs = 5;
	c.rows = 64;
	c.batch = 4;
	c.noise = problem == LEARN_NOISE ? 0 : 0.1;
	c.l2 = l2;
	c.init_spread = spread;
	c.lr = lr;
	c.momentum = 0;
	return learn_new(&c, &err);
}

static const double *base_model(struct learn *l, uint32_t device)
{
	return base_of(l, device)->z->v;
}

static const double *learner(struct learn *l, uint32_t device, uint32_t j)
{
	gradients_compute(l);
	return learner_of(l, device, j)->x->v;
}

/* Runs one clock of model averaging on g devices with m learners each: gradient, local update, correction, base model. */
static void clock_of(struct learn *l, double t, uint32_t g, uint32_t m, double alpha, double momentum, bool restarts)
{
	uint32_t all[DRIVE_MOST];
	for (uint32_t d = 0; d < g; d++)
		all[d] = d;
	for (uint32_t j = 0; j < m; j++)
		for (uint32_t d = 0; d < g; d++) {
			at_once(l, t, (struct orr_update){ .kind = ORR_GRADIENT, .learner = j }, &d, 1);
			at_once(l, t, (struct orr_update){ .kind = ORR_REMEMBER, .learner = j }, &d, 1);
			at_once(l, t, (struct orr_update){ .kind = ORR_LOCAL_UPDATE, .learner = j }, &d, 1);
			at_once(l, t, (struct orr_update){ .kind = ORR_CORRECT, .learner = j, .scale = alpha }, &d, 1);
		}
	at_once(l, t, (struct orr_update){ .kind = ORR_APPLY_BASE, .momentum = momentum }, all, g);
	for (uint32_t j = 0; j < m && restarts; j++)
		at_once(l, t, (struct orr_update){ .kind = ORR_RESTART, .learner = j }, all, g);
}

/* Tests stability. Without gradients the mean of x - Z, e, follows e' = (1 - alpha (k + 1)) e, so |e| decreases if and only if alpha
 * (k + 1) < 2. */
static void stability(void)
{
	for (uint32_t k = 2; k <= 16; k *= 2) {
		double limit = 2.0 / (k + 1), ratio[3];
		for (int side = 0; side < 3; side++) {
			struct learn *l = make(LEARN_NOISE, 1e-300, 1, 0.1);
			double alpha = limit * (side == 0 ? 1 - 1e-3 : side == 1 ? 1 + 1e-3 : 0.5), e[2] = { 0 };
			for (int i = 0; i < 21; i++) {
				clock_of(l, i, k / 2, 2, alpha, 0, false);
				double mean = 0;
				for (uint32_t r = 0; r < k; r++)
					mean += learner(l, r / 2, r % 2)[0] / k;
				e[0] = e[1];
				e[1] = mean - base_model(l, 0)[0];
			}
			ratio[side] = e[1] / e[0];
			if (side < 2)
				ok(fabs(ratio[side] - (1 - alpha * (k + 1))) < 1e-9,
					"%u learners: the gap changes by 1 - alpha (k + 1) = %.6f", k, ratio[side]);
			learn_free(l);
		}
		ok(fabs(ratio[0]) < 1 && fabs(ratio[1]) > 1, "%u learners: stable below alpha = 2 / (k + 1), unstable above", k);
	}
}

/* Tests the speed of Z. Under a nearly constant gradient (curvature 1e-9, minimum 1e6 away), Z moves at k / (k + 1) of the speed of
 * SGD. */
static void speed(void)
{
	for (uint32_t k = 1; k <= 8; k *= 2) {
		struct learn *l = make(LEARN_NOISE, 1e-9, 1e6, 1);
		uint32_t none = 0;
		for (int i = 0; i < 600; i++)
			clock_of(l, i, k, 1, 1.0 / (k + 1), 0, false);
		double before = base_model(l, 0)[1], at = 0;
		clock_of(l, 600, k, 1, 1.0 / (k + 1), 0, false);
		for (uint32_t d = 0; d < k; d++)
			at += learner(l, d, none)[1] / k;
		double sgd = -1 * 1e-9 * at; /* a step of SGD: -lr x gradient */
		near_to((base_model(l, 0)[1] - before) / sgd, (double)k / (k + 1), 1e-6,
			"the base model moves at k/(k+1) of the speed of SGD");
		learn_free(l);
	}
}

/* Tests real gradients, with a lower learning rate from half of the time on. The base models are equal at every clock. After a
 * restart, all replicas are equal too. */
static void equal(void)
{
	for (uint32_t k = 2; k <= 16; k *= 2)
		for (int restarts = 0; restarts < 2; restarts++) {
			struct learn *l = make(LEARN_LOGISTIC, 0, 0, 0.5);
			uint32_t g = k / 2, different = 0, apart = 0;
			for (int i = 0; i < 40; i++) {
				clock_of(l, i, g, 2, 0.05, i % 2 ? 0.9 : 0, restarts && i == 20);
				for (uint32_t d = 1; d < g; d++)
					different += memcmp(base_model(l, d), base_model(l, 0), 5 * sizeof(double)) != 0;
				for (uint32_t r = 0; r < k && i == 20; r++)
					apart += memcmp(learner(l, r / 2, r % 2), base_model(l, 0), 5 * sizeof(double)) != 0;
			}
			ok(!different, "%u learners, restart %s: base models are equal at every clock", k, restarts ? "on" : "off");
			ok(restarts ? !apart : apart == k, "%u learners, restart %s: replicas %s the base model after clock 20", k,
				restarts ? "on" : "off", restarts ? "equal" : "differ from");
			learn_free(l);
		}
}

/* An independent reference: two learners on one device, without noise, whose gradients are l2 x. */
static void reference(void)
{
	struct learn *l = make(LEARN_NOISE, 0.3, 1, 0.2);
	double x[2], z = 0, previous = 0, worst = 0;
	for (uint32_t j = 0; j < 2; j++)
		x[j] = learner(l, 0, j)[2];
	for (int i = 0; i < 50; i++) {
		double sum = 0, next;
		clock_of(l, i, 1, 2, 0.4, 0.5, false);
		for (int j = 0; j < 2; j++) {
			double c = 0.4 * (x[j] - z);
			x[j] += -0.2 * 0.3 * x[j] - c;
			sum += c;
		}
		next = z + sum + 0.5 * (z - previous);
		previous = z;
		z = next;
		worst = fmax(worst, fabs(z - base_model(l, 0)[2]));
		for (uint32_t j = 0; j < 2; j++)
			worst = fmax(worst, fabs(x[j] - learner(l, 0, j)[2]));
	}
	ok(worst < 1e-13, "two learners follow the recursion (%.2g)", worst);
	struct orr_error err = { 0 };
	uint32_t d = 0;
	ok(learn_begin(l, 100, 1 << 20, &(struct orr_update){ .kind = ORR_CORRECT, .learner = 16 }, 1, &d, 1, &err) &&
			strstr(err.text, "learner below 16"),
		"refused: %s", err.text);
	learn_free(l);
}

int main(void)
{
	stability();
	speed();
	equal();
	reference();
	ok(!drive_errors, "no call failed");
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules of the learner, computed by hand: errors, values kept for late messages, times and model of loss evaluations, staleness,
 * momentum from an inbox, starts and data of the problems, and options.
 */
#include "base/param.h"
#include "learn/train.h"
#include "tests/learn/learn_drive.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <math.h>

static struct learn_config config_of(enum learn_problem problem, uint32_t inputs)
{
	struct learn_config c;
	learn_config_default(&c);
	c.problem = problem;
	c.inputs = inputs;
	c.rows = 64;
	c.batch = 8;
	c.eval_samples = 0;
	c.threads = 1;
	return c;
}

static struct learn *open_learn(const struct learn_config *c)
{
	struct learn *l = learn_new(c, &drive_error);
	drive_check(!l);
	return l;
}

/* ---- refusals ---- */

static void refused(struct orr_update u, uint32_t n_group, const char *message)
{
	struct learn_config c = config_of(LEARN_NONE, 4);
	struct learn *l = open_learn(&c);
	struct orr_error e = { 0 };
	static const uint32_t group[] = { 3, 5, 7 };
	char wanted[240];
	snprintf(wanted, sizeof wanted, "learn: op 9 at 0.500000000 s: %s", message);
	if (!ok(learn_begin(l, 0.5, 9, &u, 1, group, n_group, &e) == ORR_EFAIL && !strcmp(e.text, wanted), "refused: %s", message))
		printf("# got \"%s\"\n", e.text);
	ok(!learn_is_in_flight(l, 9, 3), "a refused op is not in flight");
	learn_free(l);
}

static void accepted(struct orr_update u, uint32_t n_group, const char *what)
{
	struct learn_config c = config_of(LEARN_NONE, 4);
	struct learn *l = open_learn(&c);
	struct orr_error e = { 0 };
	static const uint32_t group[] = { 3, 5, 7 };
	uint32_t first = n_group ? 3 : 0;
	ok(!learn_begin(l, 0.5, 9, &u, 1, group, n_group, &e) && learn_is_in_flight(l, 9, first) && !learn_end(l, 0.5, 9, first, &e),
		"accepted: %s (%s)", what, e.text);
	ok(!learn_is_in_flight(l, 9, first), "an accepted op ends");
	learn_free(l);
}

static void refusals(void)
{
	refused((struct orr_update){ .kind = (enum orr_update_kind)17 }, 1, "update of kind 17: expected a known kind");
	refused((struct orr_update){ .kind = ORR_GRADIENT, .slices = 2 }, 1,
		"gradient (device 3, slice 0 of 2, scale 0): does not support slices");
	refused((struct orr_update){ .kind = ORR_ACCUMULATE, .slices = 2 }, 1,
		"accumulation (device 3, slice 0 of 2, scale 0): does not support slices");
	refused((struct orr_update){ .kind = ORR_REMEMBER, .slices = 2 }, 1,
		"copy of the parameters (device 3, slice 0 of 2, scale 0): does not support slices");
	refused((struct orr_update){ .kind = ORR_RESTART, .slices = 2 }, 1,
		"restart (device 3, slice 0 of 2, scale 0): does not support slices");
	refused((struct orr_update){ .kind = ORR_LOCAL_UPDATE, .slice = 2, .slices = 2 }, 1,
		"local update (device 3, slice 2 of 2, scale 0): expected a slice below the number of slices");
	refused((struct orr_update){ .kind = ORR_LOCAL_UPDATE, .slice = 1 }, 1,
		"local update (device 3, slice 1 of 0, scale 0): expected a slice below the number of slices");
	refused((struct orr_update){ .kind = ORR_CORRECT, .scale = INFINITY }, 1,
		"correction (device 3, slice 0 of 0, scale inf): expected a finite scale and momentum");
	refused((struct orr_update){ .kind = ORR_APPLY_BASE, .momentum = INFINITY }, 1,
		"update of the base model (device 3, slice 0 of 0, scale 0): expected a finite scale and momentum");
	refused((struct orr_update){ .kind = ORR_GRADIENT, .learner = 16 }, 1,
		"gradient (device 3, slice 0 of 0, scale 0): expected a learner below 16");
	refused((struct orr_update){ .kind = ORR_PUSH, .learner = 1 }, 1, "push (device 3, slice 0 of 0, scale 0): expected learner 0");
	refused((struct orr_update){ .kind = ORR_APPLY_INBOX, .learner = 1 }, 1,
		"update from the inbox (device 3, slice 0 of 0, scale 0): expected learner 0");
	refused((struct orr_update){ .kind = ORR_APPLY_BASE, .learner = 1 }, 1,
		"update of the base model (device 3, slice 0 of 0, scale 0): expected learner 0");
	refused((struct orr_update){ .kind = ORR_PULL, .worker = 1 << 24 }, 0,
		"pull (device 16777216, slice 0 of 0, scale 0): expected the worker's device");
	refused((struct orr_update){ .kind = ORR_AVERAGE_PARAMETERS }, 0,
		"average of parameters (device 0, slice 0 of 0, scale 0): expected an op on at least one device");
	refused((struct orr_update){ .kind = ORR_GRADIENT }, 2, "gradient (device 3, slice 0 of 0, scale 0): expected an op on one device");
	refused((struct orr_update){ .kind = ORR_SEND_SLICE }, 1,
		"sending of a slice (device 3, slice 0 of 0, scale 0): expected a transfer");
	refused((struct orr_update){ .kind = ORR_SEND_SLICE }, 3,
		"sending of a slice (device 3, slice 0 of 0, scale 0): expected a transfer");
	accepted((struct orr_update){ .kind = ORR_GRADIENT, .learner = 15 }, 1, "the gradient of learner 15");
	accepted((struct orr_update){ .kind = ORR_LOCAL_UPDATE, .learner = 1 }, 1, "a local update of learner 1");
	accepted((struct orr_update){ .kind = ORR_REMEMBER, .learner = 1 }, 1, "a copy by learner 1");
	accepted((struct orr_update){ .kind = ORR_CORRECT, .learner = 1 }, 1, "a correction of learner 1");
	accepted((struct orr_update){ .kind = ORR_RESTART, .learner = 1 }, 3, "a restart of learner 1 of several devices");
	accepted((struct orr_update){ .kind = ORR_GRADIENT, .slices = 1 }, 1, "one slice");
	accepted((struct orr_update){ .kind = ORR_PUSH, .slice = 3, .slices = 4 }, 2, "the last slice");
	accepted((struct orr_update){ .kind = ORR_PULL }, 0, "a pull without a group");
	accepted((struct orr_update){ .kind = ORR_SEND_SLICE }, 2, "a slice between two devices");

	struct learn_config c = config_of(LEARN_NONE, 4);
	struct learn *l = open_learn(&c);
	struct orr_error e = { 0 };
	struct orr_update u = { .kind = ORR_GRADIENT };
	uint32_t far[] = { 1 << 24 };
	ok(learn_begin(l, 0, 1, &u, 1, far, 1, &e) && strstr(e.text, "expected a device number below 2^24"), "%s", e.text);
	ok(learn_begin(l, 0, 1, &u, 0, far, 1, &e) &&
			!strcmp(e.text, "learn: op 1 at 0.000000000 s has no updates: expected an op with updates"),
		"%s", e.text);
	ok(learn_begin(l, INFINITY, 1, &u, 1, (uint32_t[]){ 0 }, 1, &e) && strstr(e.text, "the time of the previous op"),
		"an infinite time");
	ok(learn_begin(l, NAN, 1, &u, 1, (uint32_t[]){ 0 }, 1, &e), "a time that is no number");
	learn_free(l);
}

/* ---- values kept for late messages: gradients of iterations 1 to 6, numbered as their iterations ---- */

static uint64_t op_of(uint64_t iteration, uint64_t i)
{
	return iteration << 32 | i;
}

static void makes(struct learn *l, double t, uint64_t iteration, double x)
{
	struct orr_update u = { .kind = ORR_GRADIENT };
	learn_set_parameters(l, 0, &x);
	drive_check(learn_begin(l, t, op_of(iteration, 1), &u, 1, (uint32_t[]){ 0 }, 1, &drive_error) ||
		    learn_end(l, t, op_of(iteration, 1), 0, &drive_error));
}

/* Returns the gradient that a push of the iteration applied: with lr = 1 the displacement of the server. */
static double pushed(struct learn *l, double t, uint64_t iteration)
{
	struct orr_update u = { .kind = ORR_PUSH, .worker = 0 };
	double before = learn_server(l)[0];
	drive_check(learn_begin(l, t, op_of(iteration, 2), &u, 1, (uint32_t[]){ 0, 9 }, 2, &drive_error) ||
		    learn_end(l, t, op_of(iteration, 2), 0, &drive_error));
	return before - learn_server(l)[0];
}

static struct learn *with_history(uint32_t history)
{
	struct learn_config c = config_of(LEARN_NONE, 1);
	c.l2 = 1; /* the gradient is x */
	c.lr = 1;
	c.history = history;
	struct learn *l = open_learn(&c);
	makes(l, 1, 1, 10);
	near_to(pushed(l, 1, 1), 10, 0, "the push of the first iteration");
	for (uint64_t k = 2; k <= 6; k++)
		makes(l, (double)k, k, 10 * (double)k);
	return l;
}

static void histories(void)
{
	struct learn *l = with_history(2);
	near_to(pushed(l, 6, 6), 60, 0, "the newest gradient");
	near_to(pushed(l, 6, 9), 60, 0, "a later iteration has none of its own yet");
	near_to(pushed(l, 6, 0), 60, 0, "no iteration: the newest");
	near_to(pushed(l, 6, 5), 50, 0, "one older gradient is kept");
	near_to(pushed(l, 6, 4), 40, 0, "two older are kept");
	ok(learn_history_needed(l) == 0, "history=2 suffices for two older gradients");
	near_to(pushed(l, 6, 3), 40, 0, "a third is not: the oldest kept is sent");
	ok(learn_history_needed(l) == 3, "which needs history=3 (%llu)", (unsigned long long)learn_history_needed(l));
	pushed(l, 6, 1);
	ok(learn_history_needed(l) == 5, "the first iteration needs 5");
	pushed(l, 6, 3);
	ok(learn_history_needed(l) == 5, "the largest need is kept");
	learn_free(l);
	l = with_history(5);
	near_to(pushed(l, 6, 2), 20, 0, "history=5 keeps the second");
	near_to(pushed(l, 6, 1), 10, 0, "and the first");
	ok(learn_history_needed(l) == 0, "and suffices");
	learn_free(l);
}

/* ---- evaluations ---- */

static bool has_points(struct learn *l, const double *samples, const uint64_t *updates, size_t n)
{
	size_t got;
	const struct learn_point *p = learn_series(l, &got);
	bool same = got == n;
	for (size_t i = 0; i < got; i++) {
		printf("# %g s: %g samples, %llu updates\n", p[i].time_s, p[i].samples, (unsigned long long)p[i].updates);
		same = same && (!samples || p[i].samples == samples[i]) && (!updates || p[i].updates == updates[i]);
	}
	return same;
}

static struct learn *evaluated(uint64_t by_updates, double by_samples, uint32_t devices, int rounds)
{
	struct learn_config c = config_of(LEARN_NONE, 1);
	c.l2 = 1;
	c.eval_updates = by_updates;
	c.eval_samples = by_samples;
	struct learn *l = open_learn(&c);
	for (int k = 0; k < rounds; k++)
		bsp(l, 2 * k, devices);
	learn_finish(l);
	return l;
}

static void evaluations(void)
{
	struct learn *l = evaluated(3, 0, 1, 7);
	ok(has_points(l, NULL, (const uint64_t[]){ 0, 3, 6, 7 }, 4), "every 3 updates, and at the start and the end");
	learn_free(l);
	/* Updates come in pairs: 2, 4, 6, .. The first instants past the multiples of 3 have 4, 6, 10 and 12 updates. */
	l = evaluated(3, 0, 2, 6);
	ok(has_points(l, NULL, (const uint64_t[]){ 0, 4, 6, 10, 12 }, 5), "at the first instant past each multiple of 3");
	learn_free(l);
	l = evaluated(0, 20, 1, 8);
	ok(has_points(l, (const double[]){ 0, 24, 40, 64 }, NULL, 4), "gradients of 8 samples, a point past each multiple of 20");
	learn_free(l);
	l = evaluated(0, 0, 1, 5);
	ok(has_points(l, (const double[]){ 0, 40 }, (const uint64_t[]){ 0, 5 }, 2), "no evaluations but the first and the last");
	learn_finish(l);
	ok(has_points(l, NULL, (const uint64_t[]){ 0, 5 }, 2), "the last point is taken once");
	learn_free(l);
}

/* The loss |x|^2 / 2 is evaluated at 1, 2 and 4 s: x = 1e200 gives infinity, x = 4 gives 8 and x = 2 gives 2. */
static void targets(void)
{
	struct learn_config c = config_of(LEARN_NONE, 1);
	c.l2 = 1;
	c.lr = 0;
	c.eval_updates = 1;
	struct learn *l = open_learn(&c);
	static const double at[] = { 1, 2, 4 }, x[] = { 1e200, 4, 2 };
	for (int k = 0; k < 3; k++) {
		one(l, at[k], ORR_GRADIENT, 0);
		learn_set_parameters(l, 0, &x[k]);
		one(l, at[k], ORR_LOCAL_UPDATE, 0);
	}
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	ok(n == 4 && p[0].loss == 0 && isinf(p[1].loss) && p[2].loss == 8 && p[3].loss == 2, "losses at the start and after each update");
	near_to(learn_time_to(l, 10), 0, 0, "a target above the first loss is met at the start");
	learn_free(l);
	c.init_spread = 1e300;
	l = open_learn(&c);
	learn_set_parameters(l, 0, &x[0]);
	for (int k = 0; k < 3; k++) {
		one(l, at[k], ORR_GRADIENT, 0);
		learn_set_parameters(l, 0, &x[k]);
		one(l, at[k], ORR_LOCAL_UPDATE, 0);
	}
	learn_finish(l);
	near_to(learn_time_to(l, 10), 2, 0, "after an infinite loss there is no line: the time of the point");
	near_to(learn_time_to(l, 8), 2, 0, "a target that is just met");
	near_to(learn_time_to(l, 5), 3, 1e-15, "half-way between 8 at 2 s and 2 at 4 s");
	near_to(learn_samples_to(l, 5), 20, 1e-12, "and between 16 and 24 samples");
	ok(isinf(learn_time_to(l, 1)), "a target that is not met");
	learn_free(l);
}

/* ---- the model whose loss is evaluated: with l2 = 2 the loss is |x|^2; replicas at 1 and 3 ---- */

static struct learn_point seen(enum learn_model model, bool has_push, bool has_base)
{
	struct learn_config c = config_of(LEARN_NONE, 2);
	c.l2 = 2;
	c.lr = 0.25;
	c.model = model;
	c.eval_worst = true;
	struct learn *l = open_learn(&c);
	learn_set_parameters(l, 0, (const double[]){ 1, 0 });
	learn_set_parameters(l, 1, (const double[]){ 3, 0 });
	one(l, 1, ORR_GRADIENT, 1); /* gradient 2 x = 6 */
	if (has_push)
		at_once(l, 1, (struct orr_update){ .kind = ORR_PUSH, .worker = 1 }, (uint32_t[]){ 1, 9 }, 2); /* the server has X = -1.5 */
	if (has_base) { /* with c = 3 - 0 and Z = 3, the correction moves the replica to 0 */
		one(l, 1, ORR_CORRECT, 1);
		one(l, 1, ORR_APPLY_BASE, 1);
	}
	learn_finish(l);
	size_t n;
	const struct learn_point *p = learn_series(l, &n);
	struct learn_point last = p[n - 1];
	learn_free(l);
	return last;
}

static void models(void)
{
	struct learn_point p = seen(LEARN_MODEL_AUTO, false, false);
	near_to(p.loss, 4, 1e-15, "auto without a push: the mean of the replicas");
	near_to(p.worst, 9, 1e-15, "the worst replica is at 3");
	near_to(p.dispersion, 1, 1e-15, "replicas are 1 from their mean");
	near_to(seen(LEARN_MODEL_AUTO, true, false).loss, 2.25, 1e-15, "auto after a push: the server");
	near_to(seen(LEARN_MODEL_MEAN, true, false).loss, 4, 1e-15, "mean after a push: the replicas");
	near_to(seen(LEARN_MODEL_SERVER, false, false).loss, 0, 0, "server without a push: its start");
	near_to(seen(LEARN_MODEL_SERVER, true, true).loss, 2.25, 1e-15, "server with a base model");
	near_to(seen(LEARN_MODEL_AUTO, false, true).loss, 9, 1e-15, "auto with a base model: that model");
	near_to(seen(LEARN_MODEL_AUTO, true, true).loss, 2.25, 1e-15, "the server comes first");
	near_to(seen(LEARN_MODEL_MEAN, false, true).loss, 0.25, 1e-15, "mean with a base model: the replicas at 1 and 0");
	for (int l2 = 0; l2 < 3; l2++) {
		struct learn_config c = config_of(LEARN_NOISE, 2);
		c.l2 = l2;
		struct learn *l = open_learn(&c);
		double loss = learn_loss_at(l, (const double[]){ 3, 4 });
		ok(l2 ? loss == l2 * 12.5 : isnan(loss), "noise with l2=%d: the loss is l2/2 |x|^2, unknown for 0", l2);
		learn_free(l);
	}
}

/* ---- inboxes ---- */

static void accumulate(struct learn *l, double t, uint32_t device, uint32_t window)
{
	at_once(l, t, (struct orr_update){ .kind = ORR_ACCUMULATE, .window = window }, &device, 1);
}

static void send(struct learn *l, double t, uint32_t from, uint32_t to, uint32_t slice, uint32_t slices)
{
	at_once(l, t, (struct orr_update){ .kind = ORR_SEND_SLICE, .slice = slice, .slices = slices }, (uint32_t[]){ from, to }, 2);
}

/* The gradients are x. The rule is v = momentum v + g + R, x -= lr v. */
static void inbox_momentum(uint32_t slices)
{
	struct learn_config c = config_of(LEARN_NONE, 4);
	c.l2 = 1;
	c.lr = 0.5;
	c.momentum = 0.5;
	struct learn *l = open_learn(&c);
	learn_set_parameters(l, 0, (const double[]){ 2, 2, 2, 2 });
	learn_set_parameters(l, 1, (const double[]){ 4, 4, 4, 4 });
	one(l, 1, ORR_GRADIENT, 0);
	one(l, 1, ORR_GRADIENT, 1);
	accumulate(l, 1, 0, 1);
	for (uint32_t i = 0; i < slices; i++)
		send(l, 2, 0, 1, i, slices);
	for (uint32_t i = 0; i < slices; i++)
		at_once(l, 2, (struct orr_update){ .kind = ORR_APPLY_INBOX, .slice = i, .slices = slices }, (uint32_t[]){ 1 }, 1);
	/* v = 4 + 2 = 6; x = 4 - 3 = 1 with lr 0.5 */
	near_to(learn_parameters(l, 1)[0], 1, 1e-15, "the velocity includes the inbox: first number");
	near_to(learn_parameters(l, 1)[3], 1, 1e-15, "last number");
	near_to(learn_inbox(l, 1)[0] + learn_inbox(l, 1)[3], 0, 0, "the inbox is empty afterwards");
	one(l, 3, ORR_GRADIENT, 1);
	for (uint32_t i = 0; i < slices; i++)
		at_once(l, 3, (struct orr_update){ .kind = ORR_APPLY_INBOX, .slice = i, .slices = slices }, (uint32_t[]){ 1 }, 1);
	/* v = 0.5 x 6 + 1 = 4; x = 1 - 2 = -1 with lr 0.5 */
	near_to(learn_parameters(l, 1)[3], -1, 1e-15, "an empty inbox leaves the velocity of the worker");
	ok(learn_updates(l) == 2, "slices of an update count once");
	learn_free(l);
}

static void windows(void)
{
	struct learn_config c = config_of(LEARN_NONE, 1);
	c.l2 = 1;
	struct learn *l = open_learn(&c);
	static const double x[] = { 1, 10, 100, 1000 };
	/* The inbox of a window has the sum of the last 2, 2, 3 and 1 gradients. Gradients that a shorter window has dropped are lost. */
	static const uint32_t window[] = { 2, 2, 3, 1 };
	static const double want[] = { 1, 11, 111, 1000 };
	double before = 0;
	for (int k = 0; k < 4; k++) {
		learn_set_parameters(l, 0, &x[k]);
		one(l, k, ORR_GRADIENT, 0);
		accumulate(l, k, 0, window[k]);
		send(l, k, 0, 1, 0, 1);
		near_to(learn_inbox(l, 1)[0] - before, want[k], 1e-12, "sum of the gradients in the window");
		before = learn_inbox(l, 1)[0];
	}
	learn_free(l);
}

/* ---- staleness ---- */

static void worker_push(struct learn *l, double t, uint32_t d, uint32_t window)
{
	one(l, t, ORR_GRADIENT, d);
	at_once(l, t, (struct orr_update){ .kind = ORR_PUSH, .worker = d, .window = window }, (uint32_t[]){ d, 9 }, 2);
}

static void staleness(void)
{
	/* No worker pulls. The k-th push is k - 1 pushes stale, and staleness is counted in windows of pushes. */
	static const double want[] = { (0 + 1 + 2 + 3 + 4) / 5., (0 + 1 + 2 + 3 + 4) / 5., (0 + 0 + 1 + 1 + 2) / 5. };
	for (uint32_t window = 0; window < 3; window++) {
		struct learn_config c = config_of(LEARN_NOISE, 2);
		struct learn *l = open_learn(&c);
		near_to(learn_staleness(l), 0, 0, "no staleness without gradients");
		for (uint32_t k = 0; k < 5; k++)
			worker_push(l, k, k, window);
		near_to(learn_staleness(l), want[window], 1e-15, "staleness of pushes without pulls");
		at_once(l, 5, (struct orr_update){ .kind = ORR_PULL, .worker = 0 }, (uint32_t[]){ 9, 0 }, 2);
		worker_push(l, 5, 0, window);
		near_to(learn_staleness(l), want[window] * 5 / 6, 1e-15, "a gradient at pulled parameters is fresh");
		learn_free(l);
	}
	struct learn_config c = config_of(LEARN_NOISE, 2);
	struct learn *l = open_learn(&c);
	one(l, 0, ORR_GRADIENT, 0);
	accumulate(l, 0, 0, 1);
	for (int k = 0; k < 2; k++) { /* two updates of a worker by its own gradient, which are fresh */
		one(l, 1 + k, ORR_GRADIENT, 2);
		one(l, 1 + k, ORR_APPLY_INBOX, 2);
	}
	send(l, 3, 0, 1, 0, 2);
	send(l, 3, 0, 1, 1, 2);
	one(l, 3, ORR_GRADIENT, 1);
	one(l, 3, ORR_APPLY_INBOX, 1);
	near_to(learn_staleness(l), 2. / 4, 1e-15, "a gradient from before two updates, among four gradients used");
	learn_free(l);
}

/* ---- starts and data ---- */

static double variance(const double *v, size_t n)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++) {
		sum += v[i];
		squares += v[i] * v[i];
	}
	return squares / (double)n - sum / (double)n * (sum / (double)n);
}

/* A variance of n draws of a Gaussian has a standard error of sqrt(2 / n); the tolerance is four of them. */
static void has_variance(const double *v, size_t n, double want, const char *what)
{
	double got = variance(v, n);
	ok(fabs(got / want - 1) < 4 * sqrt(2. / (double)n), "%s: variance %.4g (%.4g)", what, want, got);
}

static void starts(void)
{
	struct learn_config c = config_of(LEARN_NONE, 4000);
	c.init_spread = 2;
	struct learn *l = open_learn(&c);
	has_variance(learn_parameters(l, 0), 4000, 4, "init_spread=2");
	ok(learn_parameters(l, 1)[7] != learn_parameters(l, 0)[7] && learner_of(l, 0, 1)->x->v[7] != learn_parameters(l, 0)[7],
		"replicas and learners start apart");
	learn_free(l);
	for (int relu = 0; relu < 2; relu++) {
		c = config_of(LEARN_MLP, 50);
		c.hidden = 200;
		c.classes = 20;
		c.activation = relu ? LEARN_RELU : LEARN_TANH;
		l = open_learn(&c);
		const double *x = learn_parameters(l, 0);
		bool is_zero = true;
		for (size_t i = 0; i < 200; i++)
			is_zero = is_zero && x[50 * 200 + i] == 0 && (i >= 20 || x[51 * 200 + 4000 + i] == 0);
		ok(learn_dim(l) == 51 * 200 + 201 * 20 && is_zero, "a perceptron's biases start at 0");
		has_variance(x, 50 * 200, relu ? 2. / 50 : 1. / 50, relu ? "ReLU: 2 / inputs" : "tanh: 1 / inputs");
		has_variance(x + 51 * 200, 4000, 1. / 200, "output layer: 1 / hidden");
		learn_free(l);
	}
}

/* Returns the share of rows whose label differs from the sign of their margin after training. */
static double wrong_side(struct learn *l)
{
	const struct problem *p = l->problem;
	uint32_t wrong = 0;
	for (int k = 0; k < 400; k++)
		bsp(l, 2 * k, 1);
	const double *x = learn_parameters(l, 0);
	for (uint32_t i = 0; i < p->config.rows; i++)
		wrong += p->y[i] * vec_dot(x, p->a + (size_t)i * p->dim, p->dim) <= 0;
	return (double)wrong / p->config.rows;
}

/* Without noise each class of the perceptron's data is one of three points; targets of least squares are linear. */
static void data(void)
{
	struct learn_config c = config_of(LEARN_MLP, 2);
	c.rows = 3000;
	c.noise = 0;
	struct learn *l = open_learn(&c);
	const struct problem *p = l->problem;
	uint32_t first[64], distinct = 0, labels[4] = { 0 };
	bool is_clear = true;
	for (uint32_t i = 0; i < c.rows && distinct < 64; i++) {
		uint32_t k = 0;
		while (k < distinct && (p->a[2 * first[k]] != p->a[2 * i] || p->a[2 * first[k] + 1] != p->a[2 * i + 1]))
			k++;
		if (k == distinct)
			first[distinct++] = i;
		is_clear = is_clear && p->y[first[k]] == p->y[i];
		labels[(int)p->y[i]]++;
	}
	ok(distinct == 4 * 3 && is_clear, "four classes of three centres, each of one class (%u)", distinct);
	/* The expected count is 750 +- 4 sqrt(3000 x 1/4 x 3/4). */
	ok(labels[0] > 655 && labels[1] > 655 && labels[2] > 655 && labels[3] > 655, "classes are equally likely");
	learn_free(l);
	c = config_of(LEARN_LEAST_SQUARES, 3);
	c.rows = 4000;
	c.noise = 0;
	l = open_learn(&c);
	near_to(learn_floor(l), 0, 1e-20, "targets without noise are linear in the inputs");
	learn_free(l);
	c.noise = 0.5;
	l = open_learn(&c);
	/* The minimum of e^2 / 2 has mean 0.125 x (rows - inputs) / rows, and a relative standard error of sqrt(2 / rows). */
	ok(fabs(learn_floor(l) / 0.125 - 1) < 4 * sqrt(2. / 4000), "noise of 0.5 leaves a loss of 0.5^2 / 2 (%.4f)", learn_floor(l));
	learn_free(l);
	c = config_of(LEARN_LOGISTIC, 3);
	c.rows = 4000;
	c.noise = 0;
	c.batch = 4000;
	c.lr = 50;
	c.sampling = LEARN_CYCLE;
	l = open_learn(&c);
	uint32_t positive = 0;
	for (uint32_t i = 0; i < c.rows; i++)
		positive += l->problem->y[i] == 1;
	ok(positive > 1873 && positive < 2127, "labels are equally likely (%u of 4000)", positive);
	near_to(wrong_side(l), 0, 0.005, "margins without noise can be separated");
	learn_free(l);
	/* Margins and noise of equal deviation differ in sign with probability atan(1) / pi = 1/4; four standard errors are 0.028. */
	c.noise = 1;
	l = open_learn(&c);
	near_to(wrong_side(l), 0.25, 0.03, "noise as large as the margins puts a quarter of the rows on the wrong side");
	learn_free(l);
}

/* ---- options ---- */

static struct learn_config with(const char *const *pair)
{
	struct orr_args *a = args_new(learn_options, "learn", &drive_error);
	struct learn_config c;
	for (; *pair; pair++)
		drive_check(args_set_pair(a, *pair, &drive_error));
	learn_config_read(&c, a);
	args_free(a);
	return c;
}
#define WITH(...) with((const char *const[]){ __VA_ARGS__, NULL })

static void options(void)
{
	static const char *const problem[] = { "least-squares", "logistic", "mlp", "noise", "none" };
	static const char *const schedule[] = { "constant", "step", "inverse", "inverse-sqrt", "cosine" };
	char text[64];
	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "problem=%s", problem[i]);
		ok(WITH(text).problem == (enum learn_problem)i, "%s", text);
		snprintf(text, sizeof text, "schedule=%s", schedule[i]);
		ok(WITH(text).schedule == (enum learn_schedule)i, "%s", text);
	}
	ok(WITH("split=none").split == LEARN_SPLIT_NONE && WITH("split=even").split == LEARN_SPLIT_EVEN &&
			WITH("split=label").split == LEARN_SPLIT_LABEL,
		"splits");
	ok(WITH("sampling=replace").sampling == LEARN_REPLACE && WITH("sampling=shuffle").sampling == LEARN_SHUFFLE, "samplings");
	ok(WITH("model=auto").model == LEARN_MODEL_AUTO && WITH("model=mean").model == LEARN_MODEL_MEAN, "models");
	struct learn_config c = WITH("rows=11", "inputs=12", "hidden=13", "classes=14", "condition=15", "noise=16", "l2=17",
		"init_spread=18", "data_seed=19", "batch=20", "shards=21", "lr=22", "momentum=0.23", "decay=0.24", "decay_samples=25",
		"warmup_samples=26", "eval_updates=27", "eval_samples=28", "history=29", "eval_worst=true");
	ok(c.rows == 11 && c.inputs == 12 && c.hidden == 13 && c.classes == 14 && c.condition == 15 && c.noise == 16 && c.l2 == 17 &&
			c.init_spread == 18 && c.data_seed == 19 && c.batch == 20,
		"options of the data and the start");
	ok(c.shards == 21 && c.lr == 22 && c.momentum == 0.23 && c.decay == 0.24 && c.decay_samples == 25 && c.warmup_samples == 26,
		"options of the rate");
	ok(c.eval_updates == 27 && c.eval_samples == 28 && c.history == 29 && c.eval_worst && c.seed == 1, "options of evaluations");
	ok(isnan(WITH("target=0").target) && WITH("target=0.5").target == 0.5, "a target of 0 is none");
	/* The documented defaults (docs/reference/options.md). */
	learn_config_default(&c);
	ok(c.problem == LEARN_LOGISTIC && c.rows == 4096 && c.inputs == 32 && c.hidden == 16 && c.classes == 4 &&
			c.activation == LEARN_TANH && c.condition == 10 && c.noise == 0.5 && c.l2 == 0 && c.init_spread == 0 &&
			c.data_seed == 1,
		"defaults of the data");
	ok(c.batch == 32 && c.sampling == LEARN_SHUFFLE && c.split == LEARN_SPLIT_NONE && c.shards == 0 && c.lr == 0.1 && c.momentum == 0 &&
			c.schedule == LEARN_RATE_CONSTANT && c.decay == 0.1 && c.decay_samples == 1e5 && c.warmup_samples == 0,
		"defaults of the rate");
	ok(c.model == LEARN_MODEL_AUTO && c.eval_updates == 0 && c.eval_samples == 1024 && c.history == 8 && !c.eval_worst &&
			isnan(c.target),
		"defaults of evaluations");
}

int main(void)
{
	refusals();
	histories();
	evaluations();
	targets();
	models();
	inbox_momentum(1);
	inbox_momentum(2);
	windows();
	staleness();
	starts();
	data();
	options();
	ok(!drive_errors, "no unexpected failure");
	return done();
}

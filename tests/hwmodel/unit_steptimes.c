/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps on one GPU: the roofline compared with published measurements (hwmodel/steptimes.json names each source), and steps whose
 * layers are scaled to a measured total.
 */
#include "hwmodel/cost.h"
#include "hwmodel/steptimes.h"

#include "tests/tap.h"

#include <stdlib.h>

static double step_s(const struct dnn *d, const struct cost *c, double batch)
{
	double sum = 0;
	for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
		sum += cost_range_s(c, 0, d->n_layers, (enum dnn_pass)pass, batch, 1, false);
	return sum;
}

/* ---- the roofline against measurements ---- */

struct tally {
	int n;
	double absolute, low, high, logs;
};

static void compare(const struct steptime *e, struct tally *all)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load(e->device, &err);
	struct dnn *d = dnn_load(e->model, &err);
	struct cost_options o = { .precision = e->precision };
	struct cost *c = dev && d ? cost_new(d, dev, &o, &err) : NULL;
	if (!c)
		ok(false, "%s on %s: %s", e->model, e->device, err.text);
	for (uint32_t i = 0; c && i < e->n; i++) {
		double update = e->update == STEPTIME_WITH_UPDATE ? cost_update_s(c, d->params, e->state_bytes) : 0;
		double ratio = (step_s(d, c, e->batch[i]) + update) / e->seconds[i];
		printf("# %-9s %-5s %-25s batch %-5.0f %8.1f ms measured %8.1f roofline %+6.1f %%  %s\n", e->device,
			precision_name(e->precision), d->name, e->batch[i], 1e3 * e->seconds[i], 1e3 * ratio * e->seconds[i],
			100 * (ratio - 1), e->setup);
		all->n++;
		all->absolute += fabs(ratio - 1);
		all->logs += log(ratio);
		all->low = fmin(all->low, ratio);
		all->high = fmax(all->high, ratio);
	}
	cost_free(c);
	device_free(dev);
	dnn_free(d);
}

static void check_roofline(const struct steptimes *t)
{
	struct tally all = { .low = INFINITY };
	for (uint32_t i = 0; i < t->n; i++)
		compare(&t->entry[i], &all);
	printf("# %d steps: mean absolute error %.1f %%, geometric mean of predicted over measured %.2f, from %.2f to %.2f\n", all.n,
		100 * all.absolute / all.n, exp(all.logs / all.n), all.low, all.high);
	ok(all.n >= 60, "the table has entries (%d)", all.n);
	/* The bounds are wide, because the efficiencies were measured on other kernels. A wrong unit would be a factor of 1000. */
	ok(all.low > 0.25 && all.high < 4, "the roofline is within a factor of four of every measured step");
}

int main(void)
{
	struct orr_error err = { 0 };
	struct steptimes *t = steptimes_load(&err);
	if (!ok(t != NULL, "the table is read %s", err.text))
		return done();
	check_roofline(t);
	steptimes_free(t);
	return done();
}

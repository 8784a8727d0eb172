/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corun.c - compute ops that run on one device at the same time
 *
 * All ops of a device progress at the same rate, a function of their number n and of the sum U of their occupancies
 * (docs/models/step-crossbow.md). So each device has one clock that advances at this rate. An op ends when the clock has
 * advanced by the op's seconds since its start. A change of the rate invalidates the device's timer, so timers carry a
 * generation.
 */
#include "step/exec.h"

#include "base/mem.h"

#include <string.h>

struct running {
	struct iteration *of;
	uint32_t instance;
	double end; /* end on the device's clock */
	double occupancy;
};

struct corun {
	double clock, last_s, rate;
	uint32_t n, generation;
	struct running op[STEP_STREAMS];
};

int corun_options(struct orr_step *s)
{
	const struct orr_args *o = s->config->options;
	size_t n;
	const double *factor = orr_arg_list(o, "interference_curve", &n);
	bool is_curve = !strcmp(orr_arg_text(o, "interference"), "curve");
	for (size_t i = 0; i < n; i++)
		if (!(factor[i] >= 1) || factor[i] > 1e6)
			return orr_fail(
				&s->error, ORR_EINPUT, "step.interference_curve: expected factors from 1 to 1e6, found %g", factor[i]);
	if (is_curve && n < 2)
		return orr_fail(&s->error, ORR_EINPUT,
			"step.interference=curve: expected the times of 2 and more ops in step.interference_curve, such as 1,1.2,1.6");
	return ORR_OK;
}

void corun_allow(struct orr_step *s)
{
	if (!s->corun)
		s->corun = mem_zalloc(s->endpoints, sizeof *s->corun);
}

void corun_free(struct orr_step *s)
{
	mem_free(s->corun);
}

static double rate_of(const struct orr_step *s, const struct corun *d)
{
	const struct orr_args *o = s->config->options;
	const char *law = orr_arg_text(o, "interference");
	double sum = 0;
	for (uint32_t i = 0; i < d->n; i++)
		sum += d->op[i].occupancy;
	*s->uses |= d->n > 1 ? STEP_USED_CORUN : 0;
	if (d->n < 2 || !strcmp(law, "none"))
		return 1;
	if (!strcmp(law, "occupancy"))
		return 1 / (fmax(1, sum) * (1 + orr_arg_real(o, "interference_loss") * (d->n - 1)));
	size_t n;
	const double *factor = orr_arg_list(o, "interference_curve", &n);
	if (n)
		return 1 / factor[d->n <= n ? d->n - 1 : n - 1];
	return 1;
}

/* Advances the clock to now. The busy time of the device is divided equally among its ops. */
static void advance(struct orr_step *s, uint32_t device)
{
	struct corun *d = &s->corun[device];
	double passed = s->now_s - d->last_s;
	d->clock += passed * d->rate;
	d->last_s = s->now_s;
	for (uint32_t i = 0; i < d->n; i++) {
		struct instance *x = &d->op[i].of->instance[d->op[i].instance];
		x->busy_s += passed / d->n;
		s->total[device].work[d->op[i].of->op[x->op].work] += passed / d->n;
	}
}

void corun_settle(struct orr_step *s)
{
	for (uint32_t i = 0; s->corun && i < s->endpoints; i++)
		advance(s, i);
}

static double next_end(const struct corun *d)
{
	double end = INFINITY;
	for (uint32_t i = 0; i < d->n; i++)
		end = fmin(end, d->op[i].end);
	return end;
}

static void set_timer(struct orr_step *s, uint32_t device)
{
	struct corun *d = &s->corun[device];
	d->generation++;
	d->rate = rate_of(s, d);
	if (d->n)
		timer_add_corun(s, s->now_s + fmax(0, next_end(d) - d->clock) / d->rate, device, d->generation);
}

void corun_start(struct orr_step *s, uint32_t device, struct iteration *k, uint32_t i, double seconds, double occupancy)
{
	struct corun *d = &s->corun[device];
	advance(s, device);
	d->op[d->n++] = (struct running){ k, i, d->clock + seconds, occupancy };
	k->instance[i].busy_s = 0;
	set_timer(s, device);
}

bool corun_is_busy(const struct orr_step *s, uint32_t device)
{
	return s->corun && s->corun[device].n;
}

void corun_timer(struct orr_step *s, uint32_t device, uint32_t generation)
{
	struct corun *d = &s->corun[device];
	uint32_t n = 0;
	if (generation != d->generation)
		return;
	advance(s, device);
	d->clock = next_end(d); /* exact: rounding of the time must not leave a remainder */
	for (uint32_t i = 0; i < d->n; i++) {
		if (d->op[i].end <= d->clock * (1 + 1e-15))
			instance_end(s, d->op[i].of, d->op[i].instance);
		else
			d->op[n++] = d->op[i];
	}
	d->n = n;
	set_timer(s, device);
}

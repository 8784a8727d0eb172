/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Projects the memory of a replica over time, and interference between its runs.
 *
 * All runs of a replica are projected to their ends (docs/models/serve.md#runs-that-share-a-replica): memory and rates are
 * constant between two instants at which a run starts, reaches its peak or ends. Overlaps shorter than the clock's resolution
 * are ignored.
 */
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/replica.h"
#include "serve/runs.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { ON_STACK = 16 };
static const double OVERLAP_S = 2e-9;
static const double REACHED_S = 0.5e-9; /* events within this time have happened */
static const double ROUNDING = 1e-12;   /* relative rounding error of sums of bytes */

/* A run in the projection. to_peak, left and stop count the run's own progress, s, not simulated time. */
struct part {
	uint32_t model;
	double occupancy;
	bool is_going;        /* the run has started, and has neither been suspended nor ended */
	double bytes, peak;   /* bytes of memory now, and from the peak on */
	double to_peak, left; /* to_peak INFINITY: the peak has passed */
	double stop;          /* value of `left` at which the run leaves; 0: the run leaves at its end */
	bool is_kept;         /* the run keeps its memory after it leaves */
	double starts_s;      /* time until its start; 0: it has started */
};

static double scale_of(const struct orr_serve *w, uint32_t model)
{
	return w->config->model[model]->utilisation;
}

void interference_rates(const struct orr_serve *w, const struct sharer *run, uint32_t n, double *rate)
{
	const struct serve_config *c = w->config;
	double occupied = 0;
	switch (w->set->interference) {
	case INTERFERENCE_OCCUPANCY:
		for (uint32_t i = 0; i < n; i++)
			occupied += run[i].occupancy;
		for (uint32_t i = 0; i < n; i++)
			rate[i] = 1 / fmax(1, occupied);
		return;
	case INTERFERENCE_PAIRWISE:
		for (uint32_t i = 0; i < n; i++) {
			double slower = 1;
			for (uint32_t k = 0; k < n; k++)
				if (k != i)
					slower *= w->set->slowdown[(size_t)run[i].model * c->n_models + run[k].model];
			rate[i] = 1 / slower;
		}
		return;
	case INTERFERENCE_CURVE:
		/* has_room() allows at most as many runs as the curve has values. For an instant, a projection may include more. */
		for (uint32_t i = 0; i < n; i++)
			rate[i] = 1 / w->set->curve[(n < w->set->n_curve ? n : w->set->n_curve) - 1];
		return;
	default:
		for (uint32_t i = 0; i < n; i++)
			rate[i] = 1;
	}
}

/* ---- the projection ---- */

struct projection {
	const struct orr_serve *w;
	struct part *part;
	uint32_t n;
	double weights, t;
	struct part stack[ON_STACK];
};

/* A run whose input is in transit: its start is unknown, so its largest memory counts to the end of the projection. */
static struct part part_in_transit(uint32_t model, double occupancy, struct served_memory m)
{
	double bytes = fmax(m.before, m.peak);
	return (struct part){ .model = model,
		.occupancy = occupancy,
		.is_going = true,
		.bytes = bytes,
		.peak = bytes,
		.to_peak = INFINITY,
		.left = INFINITY };
}

static struct part part_of(const struct orr_serve *w, const struct run *x)
{
	double occupancy = served_occupancy(w->config->model[x->model], x->samples);
	if (x->state == RUN_SENDING)
		return part_in_transit(x->model, occupancy, x->memory);
	double left = run_left(w, x), done = x->alone_s - left;
	bool is_past = done >= x->memory.peak_from_s - REACHED_S, is_leaving = x->leaving >= 0 && x->exit_left_s > 0;
	double stop = is_leaving ? x->exit_left_s : 0;
	return (struct part){ .model = x->model,
		.occupancy = occupancy,
		.is_going = x->state == RUN_RUNNING && !(is_leaving && left <= stop + REACHED_S),
		.stop = stop,
		.is_kept = x->leaving == ORR_ABORT_SAVE,
		.bytes = is_past ? x->memory.peak : x->memory.before,
		.peak = x->memory.peak,
		.to_peak = is_past ? INFINITY : x->memory.peak_from_s - done,
		.left = left };
}

static struct part part_of_new(const struct orr_serve *w, const struct memory_extra *x)
{
	double occupancy = served_occupancy(w->config->model[x->model], x->samples);
	bool is_past = x->memory.peak_from_s <= 0;
	struct part p = x->is_sent ? part_in_transit(x->model, occupancy, x->memory)
				   : (struct part){ .model = x->model,
					     .occupancy = occupancy,
					     .bytes = is_past ? x->memory.peak : x->memory.before,
					     .peak = x->memory.peak,
					     .to_peak = is_past ? INFINITY : x->memory.peak_from_s,
					     .left = x->alone_s };
	p.starts_s = x->delay_s;
	p.is_going = x->delay_s <= 0;
	return p;
}

static bool is_gone(const struct memory_extra *x, uint32_t run)
{
	return x && x->without == run + 1;
}

/* Opens a projection. x, if it is a run, is the last part. */
static void open_projection(struct projection *p, const struct orr_serve *w, uint32_t replica, const struct memory_extra *x)
{
	const struct replica *r = &w->replica[replica];
	uint32_t most = 1;
	for (uint32_t i = r->runs.first; i != NONE; i = w->run[i].next)
		most++;
	p->w = w;
	p->n = 0;
	p->t = 0;
	p->weights = r->weights + (x ? x->weights : 0);
	p->part = most <= ON_STACK ? p->stack : mem_alloc(most * sizeof *p->part);
	for (uint32_t i = r->runs.first; i != NONE; i = w->run[i].next)
		if (!is_gone(x, i))
			p->part[p->n++] = part_of(w, &w->run[i]);
	if (x && x->is_run)
		p->part[p->n++] = part_of_new(w, x);
}

static void close_projection(struct projection *p)
{
	if (p->part != p->stack)
		mem_free(p->part);
}

static bool has_begun(const struct projection *p, const struct part *x)
{
	return x->starts_s <= p->t;
}

static bool has_room(const struct projection *p, double capacity)
{
	double bytes = p->weights, busy = 0;
	size_t going = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct part *x = &p->part[i];
		if (!has_begun(p, x) || x->left <= 0)
			continue;
		bytes += x->bytes;
		busy += x->is_going ? scale_of(p->w, x->model) : 0;
		going += x->is_going;
	}
	bool is_below = busy <= p->w->set->utilisation_limit * (1 + ROUNDING), is_measured = going <= p->w->set->n_curve;
	p->w->metrics->used |= (is_below ? 0 : SERVE_USED_UTILISATION) | (is_measured ? 0 : SERVE_USED_SLOWDOWN);
	return is_measured && bytes <= capacity * (1 + ROUNDING) && is_below;
}

static void rates_of(const struct projection *p, double *rate)
{
	struct sharer stack[ON_STACK], *run = p->n <= ON_STACK ? stack : mem_alloc(p->n * sizeof *run);
	uint32_t n = 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->part[i].is_going)
			run[n++] = (struct sharer){ p->part[i].model, p->part[i].occupancy };
	interference_rates(p->w, run, n, rate);
	for (uint32_t i = p->n; i-- > 0;)
		rate[i] = p->part[i].is_going ? rate[--n] : 0;
	if (run != stack)
		mem_free(run);
}

/* Returns the time to the next change; INFINITY: none. */
static double until_change(const struct projection *p, const double *rate)
{
	double dt = INFINITY;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct part *x = &p->part[i];
		if (x->is_going)
			dt = fmin(dt, fmin(x->to_peak, x->left - x->stop) / rate[i]);
		else if (!has_begun(p, x))
			dt = fmin(dt, x->starts_s - p->t);
	}
	return dt;
}

static void advance(struct projection *p, const double *rate, double dt)
{
	p->t += dt;
	for (uint32_t i = 0; i < p->n; i++) {
		struct part *x = &p->part[i];
		if (!x->is_going) {
			if (x->starts_s > 0 && x->left > 0 && x->starts_s - p->t <= REACHED_S) {
				x->is_going = true;
				x->starts_s = 0;
			}
			continue;
		}
		x->left -= dt * rate[i];
		x->to_peak -= dt * rate[i];
		if (x->to_peak <= REACHED_S) {
			x->bytes = x->peak;
			x->to_peak = INFINITY;
		}
		if (x->left <= x->stop + REACHED_S) {
			x->left = x->stop > 0 && x->is_kept ? x->left : 0;
			x->is_going = false;
		}
	}
}

/* Calls seen(), if not NULL, with the time of each change. Returns false if the memory is exceeded at some instant. */
static bool project(struct projection *p, double capacity, bool is_checked, void (*seen)(void *ctx, double t), void *ctx)
{
	double rate_stack[ON_STACK], *rate = p->n <= ON_STACK ? rate_stack : mem_alloc((p->n + 1) * sizeof *rate);
	bool fits = true;
	while (fits) {
		rates_of(p, rate);
		double dt = until_change(p, rate);
		if (is_checked && dt > OVERLAP_S)
			fits = has_room(p, capacity);
		if (!(dt < INFINITY))
			break;
		advance(p, rate, dt);
		if (seen)
			seen(ctx, p->t);
	}
	if (rate != rate_stack)
		mem_free(rate);
	return fits;
}

/* Returns whether the sum of all peaks fits into memory. Then times have no influence. */
static bool fits_anyway(const struct orr_serve *w, uint32_t replica, const struct memory_extra *x)
{
	const struct replica *r = &w->replica[replica];
	if (r->memory == INFINITY && w->set->utilisation_limit == INFINITY && w->set->n_curve == SIZE_MAX)
		return true;
	double bytes = r->weights, busy = 0;
	size_t runs = x && x->is_run;
	if (x) {
		bytes += x->weights + (x->is_run ? fmax(x->memory.before, x->memory.peak) : 0);
		busy += x->is_run ? scale_of(w, x->model) : 0;
	}
	for (uint32_t i = r->runs.first; i != NONE; i = w->run[i].next) {
		if (is_gone(x, i))
			continue;
		bytes += fmax(w->run[i].memory.before, w->run[i].memory.peak);
		busy += scale_of(w, w->run[i].model);
		runs++;
	}
	return runs <= w->set->n_curve && bytes <= r->memory * (1 + ROUNDING) && busy <= w->set->utilisation_limit * (1 + ROUNDING);
}

bool memory_fits(const struct orr_serve *w, uint32_t replica, const struct memory_extra *x)
{
	if (fits_anyway(w, replica, x))
		return true;
	struct projection p;
	open_projection(&p, w, replica, x);
	bool fits = project(&p, w->replica[replica].memory, true, NULL, NULL);
	close_projection(&p);
	return fits;
}

/* ---- the smallest delay ---- */

struct times {
	double *t;
	size_t n, cap;
};

static void keep_time(void *ctx, double t)
{
	struct times *x = ctx;
	MEM_GROW(x->t, x->n, x->cap);
	x->t[x->n++] = t;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*
 * Returns the smallest delay. Memory is freed only at changes of other runs, so the smallest delay is 0, the time of a change, or the
 * delay that moves the new run's peak to a change. (With interference the new run shifts later changes: the delay returned
 * fits, but a shorter one might too.)
 */
double memory_fits_after(const struct orr_serve *w, uint32_t replica, struct memory_extra x)
{
	struct times c = { 0 };
	struct projection p;
	open_projection(&p, w, replica, NULL);
	keep_time(&c, 0);
	project(&p, 0, false, keep_time, &c);
	close_projection(&p);
	size_t changes = c.n;
	for (size_t i = 1; i < changes; i++)
		if (c.t[i] > x.memory.peak_from_s)
			keep_time(&c, c.t[i] - x.memory.peak_from_s);
	qsort(c.t, c.n, sizeof *c.t, by_time);
	double found = INFINITY;
	for (size_t i = 0; i < c.n && found == INFINITY; i++) {
		x.delay_s = c.t[i];
		if (memory_fits(w, replica, &x))
			found = c.t[i];
	}
	mem_free(c.t);
	return found;
}

double memory_in_use(const struct orr_serve *w, uint32_t replica)
{
	double bytes = w->replica[replica].weights;
	for (uint32_t i = w->replica[replica].runs.first; i != NONE; i = w->run[i].next)
		bytes += part_of(w, &w->run[i]).bytes;
	return bytes;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/sweep.h"
#include "calib/grid.h"
#include "calib/rand.h"
#include "calib/work.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of points divided by number of shapes. Anchors, cold copies and bursts are additional points. */
#define SURPLUS 1.45
#define LEAST_POINT_S 0.03

enum { MAX_KIND_POINTS = 160, REVISITS = 4, LEAST_SPREAD = 6 };

const struct sweep_options sweep_default = { .budget_s = 60, .seed = 1, .held_out = 0.15, .anchors = 0.05 };

struct plan_point {
	struct kernel kernel;
	bool is_held_out, is_burst, is_anchor, is_put_off; /* is_put_off: postponed because the device was throttled */
	double order;                                      /* position in the run, from 0 */
	double first_s;                                    /* first measured time of the point, s; 0: not measured yet */
};

struct sweep {
	const struct backend *b;
	void *device;
	const struct sweep_options *o;
	struct sweep_report *report;
	struct grid_limits limits;
	struct plan_point *plan;
	uint32_t n;
	double start, point_s;
};

static double now(const struct sweep *s)
{
	return s->o->now ? s->o->now(s->device) : monotonic_s();
}

static double left(const struct sweep *s)
{
	return s->o->budget_s - (now(s) - s->start);
}

__attribute__((format(printf, 2, 3))) static void say(const struct sweep *s, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	if (!s->o->say)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	s->o->say(s->o->arg, line);
}

/* ---- throttling */

static void note_throttle(struct sweep *s, const struct backend_clocks *c)
{
	if (*c->throttle && !strstr(s->report->throttle, c->throttle)) {
		size_t n = strlen(s->report->throttle);
		snprintf(s->report->throttle + n, sizeof s->report->throttle - n, "%s%s", n ? "; " : "", c->throttle);
	}
}

/* Returns whether the device is throttled. A power cap alone is the normal state of sustained work and does not count; other reasons do. */
static bool is_throttled(void *sweep)
{
	struct sweep *s = sweep;
	struct backend_clocks c;
	s->b->clocks(s->device, &c);
	note_throttle(s, &c);
	return *c.throttle && strcmp(c.throttle, "power cap") != 0;
}

/* Prepares, samples and releases one kernel. ORR_EINPUT: the backend does not support it. */
static int measure(struct sweep *s, const struct kernel *k, const struct sampling *how, struct sample *out, struct orr_error *err)
{
	struct orr_error why = { 0 };
	void *task = s->b->prepare(s->device, k, &why);
	if (!task)
		return orr_fail(err, why.code ? why.code : ORR_EFAIL, "%s", why.text);
	struct sample_source source = { s->b->run, task, s->o->now, s->o->idle, s->device, s->plan ? is_throttled : NULL, s };
	int rc = sample_take(&source, how, out, err);
	s->b->release(task);
	return rc;
}

/* ---- before the first point: rates and the clock */

static int probe_kernel(const char *family, const char *op, double d0, double d1, double d2, struct kernel *k)
{
	*k = (struct kernel){ .precision = "fp32", .d = { d0, d1, d2, 1 } };
	snprintf(k->family, sizeof k->family, "%s", family);
	snprintf(k->op, sizeof k->op, "%s", op);
	if (!strcmp(family, "gemm"))
		snprintf(k->variant, sizeof k->variant, "nn");
	return kernel_work(k);
}

/* Estimates the rates. Products grow until one takes 2 ms, which suits CPUs and GPUs. */
static int first_look(struct sweep *s, struct orr_error *err)
{
	struct sampling quick = { .batch_s = 1e-4, .precision = 0.1, .point_s = 0.02, .max_batches = 12 };
	struct sample took;
	struct kernel k;
	int rc = ORR_OK;
	s->limits.flops_per_s = 1e9;
	s->limits.bytes_per_s = 1e9;
	for (double side = 64; side <= 4096; side *= 2) {
		probe_kernel("gemm", "", side, side, side, &k);
		rc = measure(s, &k, &quick, &took, err);
		if (rc == ORR_EINPUT) /* without a library for products, uses the memory kernels */
			break;
		if (rc)
			return rc;
		s->limits.flops_per_s = fmax(s->limits.flops_per_s, k.flops / took.median_s);
		if (took.median_s > 2e-3)
			break;
	}
	for (double elements = 65536; elements <= 3e8 && 12 * elements < s->limits.memory_bytes; elements *= 4) {
		probe_kernel("memory", "triad", elements, 1, 0, &k);
		rc = measure(s, &k, &quick, &took, err);
		if (rc)
			return rc;
		s->limits.bytes_per_s = k.bytes / took.median_s; /* the last size, the largest, exceeds the cache */
		if (took.median_s > 2e-3)
			break;
	}
	if (s->limits.flops_per_s <= 1e9)
		s->limits.flops_per_s = 4 * s->limits.bytes_per_s;
	return ORR_OK;
}

/* Keeps the device busy until its clock stays within 2 % for half a second, for at most a tenth of the budget or 5 s. */
static int settle(struct sweep *s, struct orr_error *err)
{
	double most = fmin(5, 0.1 * s->o->budget_s), least = fmin(2, 0.04 * s->o->budget_s), start = now(s), seen_at = start;
	double side = floor(fmin(4096, cbrt(2.5e-3 * s->limits.flops_per_s)) / 16 + 1) * 16;
	struct backend_clocks was, is;
	struct kernel k;
	struct orr_error why = { 0 };
	int rc = ORR_OK;
	probe_kernel("gemm", "", side, side, side, &k);
	void *task = s->b->prepare(s->device, &k, &why);
	if (!task && probe_kernel("memory", "triad", floor(2.5e-3 * s->limits.bytes_per_s / 12 / 1024 + 1) * 1024, 1, 0, &k))
		task = s->b->prepare(s->device, &k, &why);
	if (!task)
		return orr_fail(err, why.code ? why.code : ORR_EFAIL, "%s", why.text);
	s->b->clocks(s->device, &was);
	note_throttle(s, &was);
	while (!rc && now(s) - start < most) {
		struct timing t;
		rc = s->b->run(task, 4, &t, err);
		if (now(s) - seen_at < 0.5)
			continue;
		s->b->clocks(s->device, &is);
		note_throttle(s, &is);
		s->report->is_settled = isnan(is.clock_MHz) || fabs(is.clock_MHz - was.clock_MHz) <= 0.02 * was.clock_MHz;
		was = is;
		seen_at = now(s);
		if (s->report->is_settled && now(s) - start >= least)
			break;
	}
	s->b->release(task);
	return rc;
}

/* ---- the plan */

static bool is_wanted(const char *family, const char *only)
{
	size_t n = strlen(family);
	for (const char *at = only; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
		if (strcspn(at, ",") == n && !strncmp(at, family, n))
			return true;
	return !only;
}

/* Returns the relative number of shapes; kernels with many dimensions need more. */
static double weight(const char *family)
{
	static const struct {
		const char *family;
		double weight;
	} of[] = { { "gemm", 6 }, { "conv", 3 }, { "memory", 2 }, { "gather", 1.5 }, { "update", 1.5 }, { "attention", 3 }, { "copy", 2 },
		{ "collective", 3 }, { "interference", 0.3 }, { "preemption", 1 }, { "learners", 1.5 }, { "launch", 0.5 } };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		if (!strcmp(of[i].family, family))
			return of[i].weight;
	return 1;
}

/* Returns the largest number of shapes; kinds with a fixed size have few. */
static uint32_t most_of(const struct kernel_kind *k)
{
	if (!strcmp(k->family, "interference") || (!strcmp(k->family, "launch") && !strcmp(k->op, "single")))
		return 1;
	if (!strcmp(k->family, "launch"))
		return 4;
	if (!strcmp(k->family, "preemption") || !strcmp(k->family, "learners"))
		return !strcmp(k->family, "learners") ? 8 : 5;
	return !strcmp(k->family, "gemm") ? MAX_KIND_POINTS : 40;
}

static void add(struct sweep *s, const struct kernel *k, bool is_cold, bool is_burst, bool is_held_out)
{
	struct plan_point *p = &s->plan[s->n++];
	*p = (struct plan_point){ .kernel = *k, .is_burst = is_burst, .is_held_out = is_held_out };
	p->kernel.is_cold = is_cold;
}

/* Plans the shapes of one kind: some of them held out, some also with a cold cache or in bursts. */
static void plan_kind(struct sweep *s, const struct kernel_kind *kind, uint32_t n, uint64_t *random)
{
	struct kernel k[MAX_KIND_POINTS];
	uint32_t made = grid_make(kind, n < MAX_KIND_POINTS ? n : MAX_KIND_POINTS, &s->limits, k);
	uint32_t ends = grid_is_line(kind) && made > 3 ? 1 : 0; /* without the ends, a fit would have to extrapolate */
	uint32_t out = made < 4 ? 0 : (uint32_t)fmax(1, floor(s->o->held_out * made + 0.5)), inside = made - 2 * ends;
	for (uint32_t i = 0; i < made; i++) {
		/* Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S): draws exactly `out` of the inner shapes. */
		bool is_held_out = false;
		if (out && i >= ends && i < made - ends) {
			is_held_out = rand_uniform(random) * inside < out;
			out -= is_held_out;
			inside--;
		}
		add(s, &k[i], false, false, is_held_out);
		bool is_small = k[i].bytes < 2 * s->limits.cache_bytes;
		/* Filling twice the cache must take less time than the measurement. */
		bool can_chill = 6 * s->limits.cache_bytes < s->o->sampling.point_s * s->limits.bytes_per_s;
		if (is_small && can_chill && (!strcmp(kind->family, "memory") || !strcmp(kind->family, "update")) && i % 2)
			add(s, &k[i], true, false, false);
		if (!strcmp(kind->family, "gemm") && i % 8 == 3 && (can_chill || !is_small))
			add(s, &k[i], is_small, !is_small, false);
	}
}

static int by_order(const void *a, const void *b)
{
	const struct plan_point *x = a, *y = b;
	return (x->order > y->order) - (x->order < y->order);
}

/*
 * Chooses a random order. The points of each kind, shuffled, are spread evenly over the run, so that every kind is covered if
 * the time ends. Kinds with few points are in the first part of the run.
 */
static void spread(struct sweep *s, uint32_t from, uint64_t *random)
{
	uint32_t n = s->n - from, over = n < LEAST_SPREAD ? LEAST_SPREAD : n;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t a = from + i - 1, b = from + (uint32_t)rand_below(random, i);
		struct plan_point p = s->plan[a];
		s->plan[a] = s->plan[b];
		s->plan[b] = p;
	}
	for (uint32_t i = 0; i < n; i++)
		s->plan[from + i].order = (i + rand_uniform(random)) / over;
}

/* Chooses anchors from the first quarter, so that most of the run can show drift. */
static void choose_anchors(struct sweep *s)
{
	uint32_t want = (uint32_t)ceil(s->o->anchors * s->n);
	for (uint32_t i = 0; i < (s->n + 3) / 4 && s->report->anchors < want; i++) {
		const char *f = s->plan[i].kernel.family;
		if (strcmp(f, "gemm") && strcmp(f, "memory") && strcmp(f, "conv") && strcmp(f, "update"))
			continue;
		s->plan[i].is_anchor = true;
		s->report->anchors++;
	}
}

static double total_weight(const struct sweep *s)
{
	size_t n;
	const struct kernel_kind *kinds = s->b->kinds(s->device, &n);
	double total = 0;
	for (size_t i = 0; i < n; i++)
		if (is_wanted(kinds[i].family, s->o->only))
			total += fmin(weight(kinds[i].family), most_of(&kinds[i]));
	return total;
}

/* Returns the usual time of a point: warm-up and a third of the rest, because most points reach the precision early. */
static double usual_s(const struct sampling *how)
{
	double warm = fmin(how->warmup_s, WARM_SHARE * how->point_s);
	return warm + (how->point_s - warm) / 3;
}

/* Returns the time per point that allows four points per unit of weight: about 24 shapes of a product and 12 of a convolution. Fewer shapes
 * would not determine a fit; less time per point would make the points noisy.
 */
static double choose_point_s(const struct sweep *s)
{
	double each = 0.85 * s->o->budget_s / (4 * fmax(total_weight(s), 1)) / SURPLUS;
	return fmin(sampling_default.point_s, fmax(LEAST_POINT_S, each / (WARM_SHARE + (1 - WARM_SHARE) / 3)));
}

static void plan(struct sweep *s)
{
	size_t n;
	const struct kernel_kind *kinds = s->b->kinds(s->device, &n);
	uint64_t random = rand_stream(s->o->seed, "plan");
	double total = total_weight(s), points = left(s) / usual_s(&s->o->sampling) / SURPLUS;
	if (s->o->most > 0)
		points = fmin(points, s->o->most);
	s->plan = mem_alloc(sizeof *s->plan * (n * 2 * MAX_KIND_POINTS + 1));
	for (size_t i = 0; i < n && total > 0; i++) {
		if (!is_wanted(kinds[i].family, s->o->only))
			continue;
		double share = points * weight(kinds[i].family) / total;
		uint32_t least = most_of(&kinds[i]) < 3 ? most_of(&kinds[i]) : 3;
		uint32_t from = s->n;
		plan_kind(s, &kinds[i], (uint32_t)fmin(most_of(&kinds[i]), fmax(least, floor(share))), &random);
		spread(s, from, &random);
	}
	qsort(s->plan, s->n, sizeof *s->plan, by_order);
	choose_anchors(s);
	s->report->planned = s->n;
}

/* ---- the run */

static struct sampling sampling_of(const struct sweep *s, bool is_burst, uint32_t points_left)
{
	struct sampling how = s->o->sampling;
	/* Time saved by early points is used for later points. */
	how.point_s = fmin(how.point_s, fmax(left(s), 0) / (points_left > 0 ? points_left : 1) * 2);
	if (is_burst)
		how.idle = 4;
	return how;
}

static void add_row(const struct sweep *s, const struct point *row, struct points *out)
{
	points_add(out, row);
	if (s->o->row)
		s->o->row(s->o->arg, row);
}

static void keep(const struct sweep *s, const struct plan_point *p, const struct sample *x, struct points *out)
{
	const struct kernel *k = &p->kernel;
	struct point row = { .flops = k->flops,
		.bytes = k->bytes,
		.size = k->size,
		.ranks = k->ranks,
		.nodes = k->nodes,
		.time_s = x->median_s,
		.low_s = x->low_s,
		.high_s = x->high_s,
		.cv = x->cv,
		.n = x->n,
		.is_sustained = !p->is_burst,
		.is_cold = k->is_cold,
		.is_held_out = p->is_held_out };
	memcpy(row.family, k->family, sizeof row.family);
	memcpy(row.op, k->op, sizeof row.op);
	memcpy(row.precision, k->precision, sizeof row.precision);
	memcpy(row.variant, k->variant, sizeof k->variant);
	memcpy(row.d, k->d, sizeof row.d);
	if (!strcmp(k->family, "launch") && k->d[0] > 1) { /* a call is d0 launches */
		row.time_s /= k->d[0];
		row.low_s /= k->d[0];
		row.high_s /= k->d[0];
	}
	add_row(s, &row, out);
	/* The host's time to issue a kernel is a separate law. */
	if (!strcmp(k->family, "launch") && !strcmp(k->op, "queued") && !isnan(x->issue_s)) {
		snprintf(row.op, sizeof row.op, "issue");
		row.time_s = x->issue_s / k->d[0];
		row.low_s = row.high_s = row.cv = NAN;
		add_row(s, &row, out);
	}
}

/* Measures a point. Returns ORR_OK even if the backend does not support it. */
static int visit(struct sweep *s, struct plan_point *p, uint32_t points_left, struct points *out, struct orr_error *err)
{
	struct orr_error why = { 0 };
	struct sampling how = sampling_of(s, p->is_burst, points_left);
	struct sample x;
	char name[KERNEL_NAME_MAX];
	int rc = measure(s, &p->kernel, &how, &x, &why);
	kernel_name(&p->kernel, name);
	if (rc == ORR_EINPUT) {
		if (!s->report->refused++)
			snprintf(s->report->first_refusal, sizeof s->report->first_refusal, "%.120s: %.120s", name, why.text);
		say(s, "not supported: %s: %s", name, why.text);
		return ORR_OK;
	}
	if (rc)
		return orr_fail(err, rc, "%s: %s", name, why.text);
	s->report->throttled += !x.n && !p->is_put_off;
	s->report->throttled -= x.n && p->is_put_off;
	p->is_put_off = !x.n;
	if (!x.n) {
		say(s, "%6.1f s  %s: postponed: the device is throttled: %s", now(s) - s->start, name, s->report->throttle);
		return ORR_OK;
	}
	keep(s, p, &x, out);
	s->report->measured++;
	s->report->imprecise += !x.is_precise;
	p->first_s = x.median_s;
	say(s, "%6.1f s  %s%s: %.6g us, %u x %u calls, spread %.1f %%", now(s) - s->start, name, p->is_burst ? " burst" : "",
		1e6 * x.median_s, x.n, x.calls, x.n > 1 ? 100 * x.cv : 0);
	return ORR_OK;
}

/* Measures the anchors again for the drift. Rows keep their first measurement. */
static int revisit(struct sweep *s, uint32_t until, struct orr_error *err)
{
	double ratio[256];
	uint32_t n = 0;
	for (uint32_t i = 0; i < until && n < 256; i++) {
		struct plan_point *p = &s->plan[i];
		if (!p->is_anchor || p->first_s == 0 || left(s) <= 0)
			continue;
		struct sampling how = sampling_of(s, p->is_burst, s->n - until + 1);
		struct sample x;
		int rc = measure(s, &p->kernel, &how, &x, err);
		if (rc)
			return rc;
		if (!x.n)
			continue;
		ratio[n++] = x.median_s / p->first_s;
		s->report->worst_drift = fmax(s->report->worst_drift, fabs(ratio[n - 1] - 1));
	}
	if (!n)
		return ORR_OK;
	sort_values(ratio, n);
	double drift = sorted_quantile(ratio, n, 0.5) - 1;
	s->report->drift = fmax(s->report->drift, fabs(drift));
	s->report->revisits++;
	struct backend_clocks c;
	s->b->clocks(s->device, &c);
	note_throttle(s, &c);
	say(s, "%6.1f s  %u anchors measured again: median change %+.1f", now(s) - s->start, n, 100 * drift);
	return ORR_OK;
}

static void widen(struct points *p, size_t from, double by)
{
	for (size_t i = from; i < p->n; i++) {
		p->v[i].low_s /= 1 + by;
		p->v[i].high_s *= 1 + by;
	}
}

static int run_plan(struct sweep *s, struct points *out, struct orr_error *err)
{
	int rc = ORR_OK;
	uint32_t next = 1;
	/* With less time, a point would have only one batch. */
	double least = 0.1 * s->o->sampling.point_s;
	for (uint32_t i = 0; !rc && i < s->n && left(s) > least; i++) {
		rc = visit(s, &s->plan[i], s->n - i, out, err);
		if (!rc && i + 1 >= (uint32_t)((double)s->n * next / REVISITS)) {
			rc = revisit(s, i + 1, err);
			next++;
		}
	}
	for (uint32_t i = 0; !rc && i < s->n && left(s) > least; i++)
		if (s->plan[i].is_put_off)
			rc = visit(s, &s->plan[i], s->report->throttled, out, err);
	return rc;
}

int sweep_run(const struct backend *b, void *device, const struct sweep_options *o, struct points *out, struct sweep_report *report,
	struct orr_error *err)
{
	struct sweep_options own = *o;
	struct sweep s = { .b = b, .device = device, .o = &own, .report = report };
	struct backend_device about;
	size_t had = out->n;
	*report = (struct sweep_report){ .is_stable = true, .is_settled = true };
	b->describe(device, &about);
	s.start = now(&s);
	if (own.sampling.point_s <= 0)
		own.sampling.point_s = choose_point_s(&s);
	s.limits = (struct grid_limits){ .memory_bytes = 0.25 * about.memory_bytes,
		.cache_bytes = about.cache_bytes,
		.longest_s = own.sampling.point_s / 12,
		.seed = o->seed };
	int rc = first_look(&s, err);
	if (!rc) {
		b->clocks(device, &report->before);
		note_throttle(&s, &report->before);
		rc = settle(&s, err);
	}
	if (!rc) {
		report->flops_per_s = s.limits.flops_per_s;
		report->bytes_per_s = s.limits.bytes_per_s;
		plan(&s);
		say(&s, "%6.1f s  first estimate: %.4g TFLOP/s fp32, %.4g GB/s; %u points planned", now(&s) - s.start,
			s.limits.flops_per_s / 1e12, s.limits.bytes_per_s / 1e9, s.n);
		rc = run_plan(&s, out, err);
	}
	b->clocks(device, &report->after);
	note_throttle(&s, &report->after);
	report->is_stable = report->drift <= DRIFT_LIMIT;
	if (!report->is_stable)
		widen(out, had, report->drift);
	report->seconds = now(&s) - s.start;
	mem_free(s.plan);
	return rc;
}

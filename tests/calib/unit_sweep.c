/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sampling, planning and reports of a sweep on a device whose clock, times and refusals are prescribed. */
#include "tests/tap.h"

#include "base/mem.h"
#include "calib/measurement.h"
#include "calib/sweep.h"
#include "calib/work.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- sampling ---- */

struct script {
	double now, idle, call_s, started; /* started: time of the first batch with several calls */
	double batch_s[16];                /* times of the batches after the first `skip` runs; 0: call_s per call */
	uint32_t runs, skip, last_times, fail_at;
};

static int script_run(void *task, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct script *s = task;
	uint32_t i = s->runs++ - s->skip;
	double seconds = i < 16 && s->batch_s[i] > 0 ? s->batch_s[i] : s->call_s * times;
	if (s->fail_at && s->runs == s->fail_at)
		return orr_fail(err, ORR_EFAIL, "the device is gone");
	s->last_times = times;
	s->now += seconds;
	*out = (struct timing){ seconds, 0.25 * seconds };
	return ORR_OK;
}

static double script_now(void *clock)
{
	return ((struct script *)clock)->now;
}

static void script_idle(void *clock, double seconds)
{
	((struct script *)clock)->idle += seconds;
}

static int sample(struct script *s, const struct sampling *how, struct sample *x)
{
	struct orr_error err;
	const struct sample_source source = { script_run, s, script_now, script_idle, s };
	return sample_take(&source, how, x, &err);
}

static void check_calls(void)
{
	/* Trials have 1, 8 and 64 calls (growth by at most a factor of 8). A batch then has 1.2 x 1 ms / 10 us calls. */
	static const struct {
		double call_s;
		uint32_t calls;
	} known[] = { { 1e-5, 120 }, { 1e-3, 1 }, { 9e-4, 2 }, { 0.9e-3 / 8, 12 }, { 1, 1 }, { 1.2e-3 / 8, 8 } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct script s = { .call_s = known[i].call_s };
		struct sample x = { 0 };
		int rc = sample(&s, &sampling_default, &x);
		ok(!rc && x.calls == known[i].calls && s.last_times == known[i].calls, "calls of %g us: batches of %u",
			1e6 * known[i].call_s, x.calls);
		near_to(x.median_s / known[i].call_s, 1, 1e-12, "the median is the time of one call");
		near_to(x.issue_s / known[i].call_s, 0.25, 1e-12, "the time to issue the call is measured too");
	}
}

static void check_warmup(void)
{
	/* Batches of 1.2 ms have 0.2 s of warm-up, then 12 batches. If a point has only 0.1 s, the warm-up takes 40 % of it. */
	struct sampling how = sampling_default;
	struct sample x = { 0 };
	struct script s = { .call_s = 1e-5 };
	sample(&s, &how, &x);
	ok(x.n == 12 && x.is_precise && s.now >= 0.2 + 12 * 1.2e-3 - 1e-9 && s.now <= 0.2 + 13 * 1.2e-3 + 1e-9, "warm-up of 0.2 s");
	s = (struct script){ .call_s = 1e-5 };
	how.point_s = 0.1;
	sample(&s, &how, &x);
	ok(x.n == 12 && s.now >= 0.04 + 12 * 1.2e-3 - 1e-9 && s.now <= 0.04 + 13 * 1.2e-3 + 1e-9,
		"warm-up of at most 40 %% of the point's time");
	/* A warm-up of 0.015 s requires several batches of 5 ms each; it ends after at most twice its time. */
	s = (struct script){ .call_s = 5e-3 };
	how = sampling_default;
	how.warmup_s = 0.015;
	sample(&s, &how, &x);
	ok(x.n == 12 && s.runs == 6 + 12, "a trial, five batches of warm-up, 12 measured");
	s = (struct script){ .call_s = 0.3 };
	how = sampling_default;
	sample(&s, &how, &x);
	ok(x.n == 1 && s.runs == 3 && isnan(x.low_s) && isnan(x.high_s) && isnan(x.cv) && !x.is_precise && x.median_s == 0.3,
		"calls of 0.3 s: trial, warm-up, one batch, no interval");
	s = (struct script){ .call_s = 1e-5 };
	how.idle = 4;
	how.precision = 0;
	how.max_batches = 7;
	s.batch_s[0] = 0;
	sample(&s, &how, &x);
	ok(x.n == 7, "without noise the interval has no width, but 12 batches are needed to stop: the limit of 7 ends");
	near_to(s.idle, 4 * 6 * 1.2e-3, 1e-9, "bursts: idle four times as long as busy, between batches");
	for (uint32_t at = 1; at <= 30; at += 7) {
		s = (struct script){ .call_s = 9e-3, .fail_at = at };
		how = sampling_default;
		int rc = sample(&s, &how, &x);
		ok(rc == ORR_EFAIL && s.runs == at, "a failure of call %u is returned at once", at);
	}
}

/* Six batches of one call take 2, 4, 6, 3, 5 and 100 ms. The median is 4.5 ms; the interval of six values is their range. */
static void check_summary(void)
{
	struct sampling how = sampling_default;
	struct script s = { .call_s = 2e-3, .skip = 1, .batch_s = { 2e-3, 4e-3, 6e-3, 3e-3, 5e-3, 100e-3 } };
	struct sample x = { 0 };
	how.warmup_s = 0;
	how.warmup_batches = 0;
	how.max_batches = 6;
	sample(&s, &how, &x);
	near_to(x.median_s, 4.5e-3, 1e-12, "median of six batches");
	near_to(x.low_s, 2e-3, 1e-12, "the low end of its interval");
	near_to(x.high_s, 100e-3, 1e-12, "the high end");
	/* The mean is 20 ms. The squared deviations 324 + 256 + 196 + 289 + 225 + 6400 = 7690; sqrt(7690 / 5) = 39.217 ms. */
	near_to(x.cv, sqrt(7690.0 / 5) / 20, 1e-9, "the coefficient of variation divides by n - 1");
	static const double v[] = { 1, 2, 4, 8 };
	near_to(sorted_quantile(v, 4, 0.5), 3, 0, "quantile between two values");
	near_to(sorted_quantile(v, 4, 0.9), 4 + 0.7 * 4, 1e-12, "quantile 0.9 of four values");
	near_to(sorted_quantile(v, 4, 1), 8, 0, "the largest");
	near_to(sorted_quantile(v, 1, 0.5), 1, 0, "one value");
	double out[] = { 3, 1, 2 };
	sort_values(out, 3);
	ok(out[0] == 1 && out[1] == 2 && out[2] == 3, "values are sorted");
	uint32_t lo = 9;
	ok(median_ranks(6, &lo) && lo == 0 && median_ranks(200, &lo) && lo == 85, "200 values: ranks 86 and 115 of the sign test");
	double before = monotonic_s();
	ok(monotonic_s() >= before && monotonic_s() < before + 5, "the machine's clock counts seconds");
}

/* ---- a device with prescribed behaviour ---- */

struct fake {
	double now, memory, flops_per_s, bytes_per_s, step; /* step: factor by which the clock changes between two readings */
	double slow_after, idle;                            /* time after which kernels take twice as long */
	const char *refused, *failed, *throttle[3];
	uint32_t readings, prepared;
	struct {
		struct kernel k;
		double from, to;
	} log[4000];
};

struct fake_task {
	struct fake *f;
	double seconds;
	uint32_t at;
};

static void *fake_prepare(void *device, const struct kernel *k, struct orr_error *err)
{
	struct fake *f = device;
	if (f->refused && !strcmp(k->family, f->refused))
		return orr_fail(err, ORR_EINPUT, "no library"), NULL;
	if (f->failed && !strcmp(k->family, f->failed))
		return orr_fail(err, ORR_EFAIL, "device lost"), NULL;
	struct fake_task *t = mem_zalloc(1, sizeof *t);
	t->f = f;
	t->seconds = !strcmp(k->family, "launch") ? 5e-6 * k->d[0] : 1e-6 + fmax(k->flops / f->flops_per_s, k->bytes / f->bytes_per_s);
	t->at = f->prepared;
	if (f->prepared < 4000) {
		f->log[f->prepared].k = *k;
		f->log[f->prepared++].from = f->now;
	}
	return t;
}

static int fake_run(void *task, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct fake_task *t = task;
	(void)err;
	double seconds = t->seconds * times * (t->f->now > t->f->slow_after ? 2 : 1);
	t->f->now += seconds;
	*out = (struct timing){ seconds, 0.2 * seconds };
	return ORR_OK;
}

static void fake_release(void *task)
{
	struct fake_task *t = task;
	if (t->at < t->f->prepared)
		t->f->log[t->at].to = t->f->now;
	mem_free(t);
}

static void fake_describe(void *device, struct backend_device *out)
{
	*out = (struct backend_device){ .name = "fake", .memory_bytes = ((struct fake *)device)->memory, .cache_bytes = 1e6, .units = 3 };
}

static const struct kernel_kind *kinds_of_fake;
static size_t n_kinds;

static const struct kernel_kind *fake_kinds(void *device, size_t *n)
{
	(void)device;
	*n = n_kinds;
	return kinds_of_fake;
}

static void fake_clocks(void *device, struct backend_clocks *out)
{
	struct fake *f = device;
	const char *throttle = f->throttle[f->readings < 3 ? f->readings : 2];
	*out = (struct backend_clocks){ 1000 * pow(f->step, f->readings), NAN, NAN, NAN, "" };
	snprintf(out->throttle, sizeof out->throttle, "%s", throttle ? throttle : "");
	f->readings++;
}

static double fake_now(void *device)
{
	return ((struct fake *)device)->now;
}

static void fake_idle(void *device, double seconds)
{
	struct fake *f = device;
	f->now += seconds;
	f->idle += seconds;
}

static const struct backend fake_backend = { BACKEND_ABI, sizeof(struct backend), "fake", NULL, NULL, fake_describe, fake_kinds,
	fake_prepare, fake_run, fake_release, fake_clocks };

static struct fake f;

/* Sets up a device with 1 TFLOP/s, 100 GB/s, 4 GB and a steady clock. */
static void reset(const struct kernel_kind *kinds, size_t n)
{
	memset(&f, 0, sizeof f);
	f.memory = 4e9, f.flops_per_s = 1e12, f.bytes_per_s = 1e11, f.step = 1, f.slow_after = INFINITY;
	kinds_of_fake = kinds;
	n_kinds = n;
}

static int sweep(double budget_s, uint32_t most, const char *only, struct points *out, struct sweep_report *r, struct orr_error *err)
{
	struct sweep_options o = sweep_default;
	o.budget_s = budget_s;
	o.most = most;
	o.only = only;
	o.sampling = sampling_default;
	o.now = fake_now;
	o.idle = fake_idle;
	*err = (struct orr_error){ 0 };
	*out = (struct points){ 0 };
	return sweep_run(&fake_backend, &f, &o, out, r, err);
}

static const struct kernel_kind product_and_copy[] = { { "gemm", "", "fp32", "nn", 0 }, { "copy", "host", "", "", 0 } };

/* Returns the index in the log of the kernel that kept the device busy before the sweep: the first kernel of at least a quarter of a
 * second. */
static uint32_t settled(void)
{
	uint32_t i = 0;
	while (i < f.prepared && f.log[i].to - f.log[i].from < 0.25)
		i++;
	return i;
}

static void check_first_look(void)
{
	struct points p;
	struct sweep_report r;
	struct orr_error err;
	reset(product_and_copy, 2);
	int rc = sweep(20, 40, NULL, &p, &r, &err);
	/* The rates are measured on growing kernels. Products double until one takes 2 ms: 2 x 1024^3 FLOPs at 1e12 FLOP/s. Triads
	 * grow fourfold: 12 x 16777216 bytes at 1e11 B/s. */
	ok(!rc && fabs(r.flops_per_s / 1e12 - 1) < 2e-3 && fabs(r.bytes_per_s / 1e11 - 1) < 2e-3, "the first look finds both rates");
	uint32_t i = 0, k = 0;
	while (!strcmp(f.log[i].k.family, "gemm"))
		i++;
	k = i;
	while (!strcmp(f.log[k].k.family, "memory"))
		k++;
	ok(i == 5 && f.log[0].k.d[0] == 64 && f.log[4].k.d[0] == 1024 && !strcmp(f.log[0].k.variant, "nn"), "products of 64 to 1024 rows");
	ok(k - i == 5 && f.log[i].k.d[0] == 65536 && f.log[k - 1].k.d[0] == 16777216, "triads of 65536 to 16777216 elements");
	/* The side of the product that keeps the device busy is cbrt(2.5 ms x 1e12 FLOP/s) = 1357, rounded up to a multiple of 16. A
	 * product of side n has 2 n^3 FLOPs, so it takes 5 ms. */
	ok(settled() == k && f.log[k].k.d[0] == 1360, "a product of 5 ms keeps the device busy");
	points_free(&p);

	reset(product_and_copy, 2);
	f.memory = 4e8; /* Triads may use a quarter, 1e8 bytes: at most 4194304 elements. */
	rc = sweep(20, 40, "copy", &p, &r, &err);
	uint32_t largest = 0;
	for (i = 0; i < f.prepared; i++)
		if (!strcmp(f.log[i].k.family, "memory"))
			largest = (uint32_t)f.log[i].k.d[0];
	ok(!rc && largest == 4194304, "triads of the first look fit a quarter of the memory");
	points_free(&p);

	reset(product_and_copy, 2);
	f.refused = "gemm";
	rc = sweep(100, 40, NULL, &p, &r, &err);
	ok(!rc && r.flops_per_s == 4 * r.bytes_per_s, "without products the rate is four FLOPs per byte");
	i = settled();
	ok(!strcmp(f.log[i].k.op, "triad") && fmod(f.log[i].k.d[0], 1024) == 0 && fabs(f.log[i].k.d[0] / (2.5e8 / 12) - 1) < 2e-3,
		"a triad of 2.5 ms keeps the device busy");
	ok(r.refused == 34 && r.measured == 10 && strstr(r.first_refusal, "gemm ") && strstr(r.first_refusal, " fp32 nn: no library"),
		"refused kernels are counted; the first is named: %s", r.first_refusal);
	points_free(&p);

	static const char *const families[] = { "gemm", "memory", "copy" };
	for (size_t m = 0; m < 3; m++) {
		reset(product_and_copy, 2);
		f.failed = families[m];
		rc = sweep(20, 40, NULL, &p, &r, &err);
		ok(rc == ORR_EFAIL && strstr(err.text, "device lost") && (m < 2 || !strncmp(err.text, "copy host ", 10)),
			"a device that fails at a %s ends the sweep: %s", families[m], err.text);
		points_free(&p);
	}
	reset(product_and_copy, 2);
	f.refused = "memory";
	rc = sweep(20, 40, NULL, &p, &r, &err);
	ok(rc == ORR_EINPUT, "a device needs the triad");
	points_free(&p);
}

static double busy_s(double step, double budget_s, bool *is_settled)
{
	struct points p;
	struct sweep_report r;
	struct orr_error err;
	reset(product_and_copy, 2);
	f.step = step;
	sweep(budget_s, 4, NULL, &p, &r, &err);
	points_free(&p);
	*is_settled = r.is_settled;
	uint32_t i = settled();
	return f.log[i].to - f.log[i].from;
}

/* Tests the wait for a steady clock. The clock is read every half second; two readings within 2 % end the wait. It takes at least 4 %
 * and at most 10 % of the budget. */
static void check_settle(void)
{
	bool is_settled;
	double s = busy_s(1, 10, &is_settled);
	ok(is_settled && s >= 0.5 && s < 0.55, "a steady clock: %.2f s", s);
	s = busy_s(1.019, 10, &is_settled);
	ok(is_settled && s >= 0.5 && s < 0.55, "1.9 %% between readings is steady: %.2f s", s);
	s = busy_s(1.021, 10, &is_settled);
	ok(!is_settled && s >= 1 && s < 1.05, "2.1 %% is not: a tenth of the budget, %.2f s", s);
	s = busy_s(0.97, 10, &is_settled);
	ok(!is_settled && s >= 1 && s < 1.05, "a falling clock: %.2f s", s);
	s = busy_s(1, 40, &is_settled);
	ok(is_settled && s >= 1.6 && s < 2.15, "a steady clock is watched for 4 %% of the budget: %.2f s", s);
	s = busy_s(1, 100, &is_settled);
	ok(is_settled && s >= 2 && s < 2.6, "the warm-up takes at most 2 s: %.2f s", s);
	s = busy_s(1.1, 100, &is_settled);
	ok(!is_settled && s >= 5 && s < 5.1, "an unsteady one for 5 s at most: %.2f s", s);
	s = busy_s(NAN, 10, &is_settled);
	ok(is_settled && s >= 0.5 && s < 0.55, "an unknown clock counts as steady: %.2f s", s);
}

static size_t count(const struct points *p, const char *family, const char *op)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n; i++)
		n += !strcmp(p->v[i].family, family) && (!op || !strcmp(p->v[i].op, op));
	return n;
}

static void check_plan(void)
{
	struct points p;
	struct sweep_report r;
	struct orr_error err;
	reset(product_and_copy, 2);
	int rc = sweep(100, 40, NULL, &p, &r, &err);
	/* Weights 6 and 2 share 40 shapes: 30 products and 10 copies. Products 3, 11, 19 and 27 are measured a second time, cold or
	 * in bursts. */
	ok(!rc && r.planned == 44 && r.measured == 44 && p.n == 44 && count(&p, "gemm", NULL) == 34 && count(&p, "copy", NULL) == 10,
		"shapes are shared by weight: %u planned, %zu products", r.planned, count(&p, "gemm", NULL));
	size_t held[2] = { 0 }, special = 0, ends = 0;
	double low = INFINITY, high = 0;
	for (size_t i = 0; i < p.n; i++)
		if (!strcmp(p.v[i].family, "copy"))
			low = fmin(low, p.v[i].size), high = fmax(high, p.v[i].size);
	for (size_t i = 0; i < p.n; i++) {
		const struct point *x = &p.v[i];
		bool is_copy = !strcmp(x->family, "copy"), is_special = x->is_cold || !x->is_sustained;
		held[is_copy] += x->is_held_out;
		special += is_special;
		ends += is_special && x->is_held_out;
		ends += is_copy && x->is_held_out && (x->size == low || x->size == high);
		ends += is_special && x->is_cold != (x->bytes < 2e6);
	}
	/* 15 % of the shapes are held out: 4.5 of 30 becomes 5, 1.5 of 10 becomes 2. */
	ok(held[0] == 5 && held[1] == 2 && special == 4 && ends == 0,
		"15 %% are held out, never the ends of a line; small products are measured cold, others in bursts");
	ok(f.idle > 0, "bursts leave the device idle");
	ok(r.anchors == 3 && r.revisits == 4 && r.drift < 1e-9 && r.is_stable && r.worst_drift < 1e-9,
		"5 %% are anchors, measured again four times");
	size_t few = 0; /* points with fewer than 12 batches: long calls; without noise, 12 batches suffice */
	for (size_t i = 0; i < p.n; i++)
		few += p.v[i].n < 12;
	ok(fabs(r.seconds - f.now) < 1e-9 && r.imprecise == few && few < 10,
		"the report has the time spent, and counts points with few batches");
	points_free(&p);

	static const struct {
		const char *only;
		size_t products, copies;
	} choices[] = { { "copy", 0, 40 }, { "copy,gemm", 34, 10 }, { "gem,copy", 0, 40 }, { "gem", 0, 0 }, { "", 0, 0 } };
	for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
		reset(product_and_copy, 2);
		rc = sweep(100, 40, choices[i].only, &p, &r, &err);
		ok(!rc && count(&p, "gemm", NULL) == choices[i].products && count(&p, "copy", NULL) == choices[i].copies, "only \"%s\"",
			choices[i].only);
		points_free(&p);
	}

	/* Kinds with a fixed number of shapes, and kinds that have the maximum of 40. */
	static const struct kernel_kind many[] = { { "launch", "single", "", "", 0 }, { "launch", "queued", "", "", 0 },
		{ "preemption", "", "", "", 0 }, { "learners", "", "", "", 0 }, { "interference", "gemm", "fp32", "alone", 0 },
		{ "update", "adam", "fp32", "", 0 }, { "memory", "triad", "fp32", "", 0 },
		{ "gather", "embedding", "fp32", "uniform", 0 } };
	reset(many, sizeof many / sizeof *many);
	rc = sweep(1000, 300, NULL, &p, &r, &err);
	ok(!rc && count(&p, "launch", "single") == 1 && count(&p, "launch", "queued") == 4 && count(&p, "launch", "issue") == 4 &&
			count(&p, "preemption", NULL) == 5 && count(&p, "learners", NULL) == 8 && count(&p, "interference", NULL) == 1 &&
			count(&p, "gather", NULL) == 40,
		"kinds with fixed sizes have few shapes, others at most 40");
	bool is_right = true;
	size_t cold = 0, warm = 0;
	for (size_t i = 0; i < p.n; i++) {
		const struct point *x = &p.v[i];
		if (!strcmp(x->op, "queued") || !strcmp(x->op, "single"))
			is_right = is_right && fabs(x->time_s / 5e-6 - 1) < 1e-9 && fabs(x->low_s / 5e-6 - 1) < 1e-9 &&
				   fabs(x->high_s / 5e-6 - 1) < 1e-9;
		if (!strcmp(x->op, "issue"))
			is_right = is_right && fabs(x->time_s / 1e-6 - 1) < 1e-9 && isnan(x->low_s) && isnan(x->high_s) && isnan(x->cv);
		if (!strcmp(x->family, "update") || !strcmp(x->family, "memory")) {
			cold += x->is_cold;
			warm += !x->is_cold;
			is_right = is_right && (!x->is_cold || x->bytes < 2e6);
		}
	}
	ok(is_right, "launches in a row are timed per launch; the host's time to issue one is a separate kernel");
	ok(warm == 80 && cold >= 8 && cold < 40, "kernels that fit twice the cache are also measured cold (%zu)", cold);
	points_free(&p);
	reset(many, sizeof many / sizeof *many);
	rc = sweep(1000, 8, NULL, &p, &r, &err);
	ok(!rc && count(&p, "launch", "single") == 1 && count(&p, "launch", "queued") == 3 && count(&p, "gather", NULL) == 3 &&
			count(&p, "learners", NULL) == 3 && count(&p, "interference", NULL) == 1,
		"a kind has at least three shapes");
	size_t held_out = 0;
	for (size_t i = 0; i < p.n; i++)
		held_out += p.v[i].is_held_out;
	ok(held_out == 0, "none of three shapes is held out");
	points_free(&p);
}

/*
 * Tests the time per point that follows from the budget if it is not given. 85 % of the budget is divided by four points per unit of
 * weight (6 + 2) and by 1.45 points per shape. A point spends 40 % of its time on warm-up and a third of the rest on batches. The time
 * per point is at least 30 ms and at most 0.7 s. The largest copy takes half of a twelfth of this time.
 */
static void check_point_time(void)
{
	static const double budgets[] = { 1, 3, 8, 100 };
	for (int i = 0; i < 4; i++) {
		double point_s = fmin(0.7, fmax(0.03, 0.85 * budgets[i] / (4 * 8) / 1.45 / (0.4 + 0.6 / 3))), largest = 0;
		struct sweep_options o = sweep_default;
		struct sweep_report r;
		struct orr_error err;
		struct points p = { 0 };
		reset(product_and_copy, 2);
		f.bytes_per_s = 1e9;
		o.budget_s = budgets[i];
		o.sampling = sampling_default;
		o.sampling.point_s = 0;
		o.now = fake_now;
		o.idle = fake_idle;
		int rc = sweep_run(&fake_backend, &f, &o, &p, &r, &err);
		for (uint32_t k = 0; k < f.prepared; k++)
			largest = strcmp(f.log[k].k.family, "copy") ? largest : fmax(largest, f.log[k].k.size);
		ok(!rc && fabs(largest / (0.5 * point_s / 12 * r.bytes_per_s) - 1) < 0.01, "a budget of %g s gives %.3f s per point",
			budgets[i], 24 * largest / r.bytes_per_s);
		points_free(&p);
	}
}

static void check_drift(void)
{
	struct points p;
	struct sweep_report r;
	struct orr_error err;
	reset(product_and_copy, 2);
	f.slow_after = 5;
	f.throttle[0] = "thermal", f.throttle[1] = "power cap", f.throttle[2] = "";
	int rc = sweep(100, 40, NULL, &p, &r, &err);
	ok(!rc && !r.is_stable && fabs(r.drift - 1) < 1e-6 && fabs(r.worst_drift - 1) < 1e-6,
		"a device that takes twice as long drifts by 100 %%");
	size_t narrow = 0;
	for (size_t i = 0; i < p.n; i++)
		narrow += !isnan(p.v[i].high_s) && !(p.v[i].high_s / p.v[i].time_s > 2 - 1e-6 && p.v[i].time_s / p.v[i].low_s > 2 - 1e-6);
	ok(narrow == 0, "every interval is widened by the drift");
	same_text(r.throttle, "thermal; power cap", "reasons of throttling are listed once, those before the first point too");
	ok(r.before.clock_MHz == 1000 && r.after.clock_MHz == 1000, "clocks before and after");
	points_free(&p);
}

/* ---- the description of a measurement ---- */

static void has(const char *text, const char *part)
{
	if (!ok(text && strstr(text, part), "%s", part))
		printf("# in: %s\n", text ? text : "");
}

static void check_measurement(void)
{
	struct measurement m = { .report = { .planned = 9,
					 .measured = 7,
					 .refused = 2,
					 .imprecise = 1,
					 .anchors = 3,
					 .revisits = 4,
					 .drift = 0.05,
					 .worst_drift = 0.25,
					 .is_settled = true,
					 .seconds = 12.5,
					 .first_refusal = "x \"y\"\\",
					 .throttle = "power" } };
	struct sweep_options o = sweep_default;
	struct orr_error err;
	reset(product_and_copy, 2);
	measurement_begin(&m, &fake_backend, &f, &o);
	ok(!strcmp(m.backend, "fake") && m.budget_s == 60 && m.seed == 1 && m.date[4] == '-' && m.date[10] == 'T' && m.date[19] == 'Z',
		"a measurement starts with backend, date and budget");
	snprintf(m.device.details, sizeof m.device.details, "a=1\nb=x=y\nc\n");
	snprintf(m.device.warnings, sizeof m.device.warnings, "one\ttwo\n");
	m.report.before = (struct backend_clocks){ 1000, 2000.5, NAN, 40, "" };
	char path[4200], text[8000] = "";
	const char *dir = getenv("TMPDIR");
	snprintf(path, sizeof path, "%.4000s/unit_sweep.%ld.csv", dir ? dir : "/tmp", (long)getpid());
	ok(!measurement_write(&m, path, &err), "the metadata file is written beside the points");
	snprintf(path + strlen(path) - 4, 20, ".device.json");
	FILE *in = fopen(path, "r");
	size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
	text[n] = '\0';
	if (in)
		fclose(in);
	unlink(path);
	static const char *const parts[] = { "{\n  \"schema\": \"orrery-measurement-1\",\n", "\"backend\": \"fake\",",
		"\"device\": \"fake\",", "\"memory_bytes\": 4000000000,", "\"cache_bytes\": 1000000,", "\"units\": 3,",
		"\"details\": { \"a\": \"1\", \"b\": \"x=y\", \"c\": \"\" },", "\"warnings\": \"one\\u0009two\\u000a\",",
		"\"budget_s\": 60,", "\"seconds\": 12.5,", "\"points_planned\": 9,", "\"points_measured\": 7,", "\"points_refused\": 2,",
		"\"points_imprecise\": 1,", "\"first_refusal\": \"x \\\"y\\\"\\\\\",",
		("\"clocks_before\": { \"clock_MHz\": 1000, \"memory_MHz\": 2000.5, \"power_W\": null, \"temperature_C\": 40, "
		 "\"throttle\": "
		 "\"\" },"),
		"\"throttle\": \"power\",\n  \"anchors\": 3,", "\"anchor_revisits\": 4,", "\"drift\": 0.05,", "\"worst_drift\": 0.25,",
		"\"is_settled\": true,\n  \"is_stable\": false\n}\n" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		has(text, parts[i]);
	ok(measurement_write(&m, "/nowhere/at/all.csv", &err) == ORR_EFAIL &&
			strstr(err.text, "/nowhere/at/all.device.json: cannot be written: No such file"),
		"a file that cannot be written is named");
}

int main(void)
{
	check_calls();
	check_warmup();
	check_summary();
	check_first_look();
	check_settle();
	check_plan();
	check_point_time();
	check_drift();
	check_measurement();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests sampling up to a given confidence and sweeps within a budget, on a backend with a known law. */
#include "tests/tap.h"

#include "base/mem.h"
#include "calib/grid.h"
#include "calib/rand.h"
#include "calib/sweep.h"
#include "calib/synthetic.h"
#include "calib/work.h"

#include <stdlib.h>

static int scaled(int n)
{
	return getenv("ORR_SANITIZED") ? n / 5 : n;
}

/*
 * Tests the ranks of the sign test's table (Conover, Practical Nonparametric Statistics, 3rd ed., table A3; there ranks count from 1).
 * n = 6: ranks 1 and 6; 10: 2 and 9; 20: 6 and 15; 30: 10 and 21; 100: 40 and 61.
 */
static void check_ranks(void)
{
	static const struct {
		uint32_t n, rank;
	} known[] = { { 6, 1 }, { 10, 2 }, { 20, 6 }, { 30, 10 }, { 100, 40 } };
	uint32_t lo;
	bool is_right = true;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		bool has = median_ranks(known[i].n, &lo);
		is_right = is_right && has && lo + 1 == known[i].rank;
	}
	ok(is_right, "ranks of the interval of the median are those of the sign test's table");
	ok(!median_ranks(5, &lo), "five values have no 95 %% interval of the median: 2 / 2^5 is 6 %%");
}

static struct sample_source source_of(void *device, void *task)
{
	return (struct sample_source){ backend_synthetic.run, task, synthetic_now, synthetic_idle, device };
}

/* Opens a triad of a million fp32 elements: 12 MB at 500 GB/s take 24 us; with 0.2 us of FLOPs and 5 us of launch the law gives
 * sqrt(24^2 + 0.2^2) + 5 us. */
static void *open_one(const char *settings, uint64_t seed, struct kernel *k, void **task)
{
	struct backend_options o = { .seed = seed, .settings = settings };
	struct orr_error err;
	void *device = backend_synthetic.open(&o, &err);
	*k = (struct kernel){ .family = "memory", .op = "triad", .precision = "fp32", .d = { 1e6 } };
	kernel_work(k);
	*task = backend_synthetic.prepare(device, k, &err);
	return device;
}

/* Returns the number of runs (one per seed) whose interval contains the time by the law. */
static double coverage(const char *settings, const struct sampling *how, int seeds, double *batches)
{
	int holds = 0;
	*batches = 0;
	for (int seed = 0; seed < seeds; seed++) {
		struct kernel k;
		struct sample x;
		struct orr_error err;
		struct synthetic_law law;
		void *task, *device = open_one(settings, (uint64_t)seed, &k, &task);
		struct sample_source source = source_of(device, task);
		synthetic_parse(settings, &law, &err);
		double truth = synthetic_time(&law, &k);
		if (!sample_take(&source, how, &x, &err))
			holds += x.low_s <= truth && truth <= x.high_s;
		*batches += x.n / (double)seeds;
		backend_synthetic.release(task);
		backend_synthetic.close(device);
	}
	return (double)holds / seeds;
}

/*
 * The noise is exp(sigma z), whose median is 1, so the law's time is the true median. With a fixed n the
 * interval covers it with at least 95 % by construction (n = 30: 95.7 %); stopping as soon as the interval is narrow lowers
 * the coverage slightly. Four standard errors of 1000 trials at 95 % are 2.8 %.
 */
static void check_coverage(void)
{
	struct sampling how = sampling_default;
	double batches, slack = 4 * sqrt(0.957 * 0.043 / scaled(1000));
	how.warmup_s = 0.01;
	how.precision = 0;
	how.max_batches = 30;
	how.point_s = 10;
	double fixed = coverage("noise=0.05", &how, scaled(1000), &batches);
	printf("# n = 30: %.1f %%\n", 100 * fixed);
	ok(fabs(fixed - 0.957) <= slack && fabs(batches - 30) < 1e-9, "the interval covers the true median as often as binomials say");
	double robust = coverage("noise=0.02,outliers=0.02", &how, scaled(1000), &batches);
	printf("# with 2 %% of outliers: %.1f %%\n", 100 * robust);
	ok(robust >= 0.957 - slack - 0.01, "2 %% of outliers on one side hardly change the coverage");
	how = sampling_default;
	how.warmup_s = 0.01;
	how.point_s = 10;
	double stopped = coverage("noise=0.03", &how, scaled(1000), &batches);
	printf("# stopped when narrow: %.1f %% with %.1f batches\n", 100 * stopped, batches);
	ok(stopped >= 0.91, "the coverage is at least 91 %% if sampling stops as soon as the interval is narrow");
	/* Half the interval of the median of n values is about 1.96 x 1.2533 sigma / sqrt(n). With sigma = 3 %, an interval of 1 %
	 * needs n = 54. */
	ok(batches > 35 && batches < 75, "sampling to a narrow interval takes about 54 batches, as theory predicts");
}

static void check_stops(void)
{
	struct kernel k;
	struct sample x;
	struct orr_error err;
	void *task, *device = open_one("noise=0", 1, &k, &task);
	struct sample_source source = source_of(device, task);
	sample_take(&source, &sampling_default, &x, &err);
	struct synthetic_law law;
	synthetic_parse("noise=0", &law, &err);
	near_to(x.median_s / synthetic_time(&law, &k), 1, 1e-12, "without noise the median equals the law");
	ok(x.n == 2 * SAMPLE_LEAST && x.is_precise, "without noise the first check of the interval ends the sampling");
	ok(x.calls * x.median_s >= sampling_default.batch_s, "a batch lasts 1 ms");
	ok(synthetic_now(device) >= sampling_default.warmup_s, "the warm-up lasts 0.2 s");
	backend_synthetic.release(task);
	backend_synthetic.close(device);

	struct sampling how = sampling_default;
	device = open_one("noise=1", 1, &k, &task);
	source = source_of(device, task);
	sample_take(&source, &how, &x, &err);
	ok(x.n == SAMPLE_BATCHES || synthetic_now(device) >= how.point_s, "with strong noise sampling ends at its time limit");
	ok(!x.is_precise && x.low_s < x.median_s && x.median_s < x.high_s && x.cv > 0.3,
		"a result above the requested precision is marked");
	backend_synthetic.release(task);
	backend_synthetic.close(device);

	/* The same work in bursts: idle times are four times as long as busy times, so the device is busy for about a fifth of the
	 * time. */
	device = open_one("noise=1", 1, &k, &task);
	source = source_of(device, task);
	how.idle = 4;
	sample_take(&source, &how, &x, &err);
	ok(synthetic_now(device) > 0 && x.n < SAMPLE_BATCHES, "bursts leave the device idle between batches");
	backend_synthetic.release(task);
	backend_synthetic.close(device);
}

static bool throttles_by_text(void *watch)
{
	struct backend_clocks c;
	backend_synthetic.clocks(watch, &c);
	return *c.throttle != '\0';
}

/* Tests a device that is throttled in the middle of the sampling, and one that is throttled all the time. */
static void check_throttled_sample(void)
{
	struct kernel k;
	struct sample x;
	struct orr_error err;
	struct synthetic_law law;
	struct sampling how = sampling_default;
	void *task, *device = open_one("noise=0.001,hot_from=0.3,hot_to=0.6,hot=3", 1, &k, &task);
	struct sample_source source = source_of(device, task);
	synthetic_parse("", &law, &err);
	how.precision = 0;
	how.max_batches = SAMPLE_BATCHES;
	how.batch_s = 5e-3;
	source.is_throttled = throttles_by_text;
	source.watch = device;
	sample_take(&source, &how, &x, &err);
	near_to(x.high_s / synthetic_time(&law, &k), 1, 0.005, "batches of a throttled device are not in the interval");
	ok(x.rejected >= 0.3 / (3 * 5e-3) && x.n >= 2 * SAMPLE_LEAST,
		"batches of a throttled device are counted, and the others are kept (%u left out, %u kept)", x.rejected, x.n);
	backend_synthetic.release(task);
	backend_synthetic.close(device);
	device = open_one("noise=0.001,hot_to=100", 1, &k, &task);
	source = source_of(device, task);
	source.is_throttled = throttles_by_text;
	source.watch = device;
	sample_take(&source, &how, &x, &err);
	ok(x.n == 0 && x.rejected > 0, "a device that is throttled throughout gives no sample");
	backend_synthetic.release(task);
	backend_synthetic.close(device);
}

static int sweep(const char *settings, double budget_s, uint64_t seed, struct points *out, struct sweep_report *report)
{
	struct backend_options o = { .seed = seed, .settings = settings };
	struct orr_error err = { 0 };
	struct sweep_options s = sweep_default;
	void *device = backend_synthetic.open(&o, &err);
	s.budget_s = budget_s;
	s.seed = seed;
	s.sampling = sampling_default;
	s.sampling.point_s = 0.2;
	s.now = synthetic_now;
	s.idle = synthetic_idle;
	int rc = sweep_run(&backend_synthetic, device, &s, out, report, &err);
	if (rc)
		printf("# %s\n", err.text);
	backend_synthetic.close(device);
	return rc;
}

static bool same_points(const struct points *a, const struct points *b)
{
	bool is_same = a->n == b->n;
	for (size_t i = 0; is_same && i < a->n; i++)
		is_same = a->v[i].time_s == b->v[i].time_s && !strcmp(a->v[i].family, b->v[i].family) &&
			  !memcmp(a->v[i].d, b->v[i].d, sizeof a->v[i].d);
	return is_same;
}

static void check_sweep(void)
{
	struct points a = { 0 }, b = { 0 }, c = { 0 };
	struct sweep_report ra, rb, rc;
	struct synthetic_law law;
	struct orr_error err;
	sweep("noise=0.02", 30, 7, &a, &ra);
	sweep("noise=0.02", 30, 7, &b, &rb);
	sweep("noise=0.02", 30, 8, &c, &rc);
	ok(a.n > 60 && same_points(&a, &b), "a sweep is a function of its seed (%zu points)", a.n);
	ok(!same_points(&a, &c), "another seed gives another sweep");
	ok(ra.seconds <= 30.2 && ra.measured == a.n, "the sweep keeps its budget: %.2f of 30 s", ra.seconds);
	synthetic_parse("noise=0.02", &law, &err);
	size_t held_out = 0, gemms = 0, held_gemms = 0, near = 0;
	for (size_t i = 0; i < a.n; i++) {
		struct kernel k = { .flops = a.v[i].flops, .bytes = a.v[i].bytes, .size = a.v[i].size };
		near += fabs(a.v[i].time_s / synthetic_time(&law, &k) - 1) < 0.03;
		held_out += a.v[i].is_held_out;
		bool is_plain = !strcmp(a.v[i].family, "gemm") && !a.v[i].is_cold && a.v[i].is_sustained;
		gemms += is_plain;
		held_gemms += is_plain && a.v[i].is_held_out;
	}
	/* Noise of 2 % over at least 12 batches gives a standard error of 0.7 % for the median of a point. */
	ok(near == a.n, "every point equals the law within 3 %%");
	ok(fabs((double)held_gemms - 0.15 * (double)gemms) <= 1, "15 %% of the products are held out (%zu of %zu)", held_gemms, gemms);
	ok(held_out > held_gemms, "points of other kernels are held out too");
	ok(ra.is_stable && ra.drift < DRIFT_LIMIT && ra.revisits >= 2 && ra.anchors >= 2, "without drift the anchors report none (%.2f %%)",
		100 * ra.drift);
	points_free(&a);
	points_free(&b);
	points_free(&c);

	/* The device slows down by 0.4 % a second: 12 % over the run of 30 s, minus the drift before the anchors are first measured. */
	sweep("noise=0.01,drift=0.004", 30, 7, &a, &ra);
	ok(!ra.is_stable && ra.drift > 0.06 && ra.drift < 0.13, "a slowdown of 12 %% over the run is detected (%.1f %%)", 100 * ra.drift);
	size_t wide = 0;
	for (size_t i = 0; i < a.n; i++)
		wide += isnan(a.v[i].high_s) || a.v[i].high_s / a.v[i].low_s >= (1 + ra.drift) * (1 + ra.drift);
	ok(wide == a.n, "every interval is widened by the drift");
	points_free(&a);

	/* The device is throttled for a fifth of the run. Times measured during this part are discarded, and their points are
	 * measured again afterwards. */
	sweep("noise=0.01,hot_from=5,hot_to=11", 30, 7, &a, &ra);
	near = 0;
	for (size_t i = 0; i < a.n; i++) {
		struct kernel k = { .flops = a.v[i].flops, .bytes = a.v[i].bytes, .size = a.v[i].size };
		near += fabs(a.v[i].time_s / synthetic_time(&law, &k) - 1) < 0.03;
	}
	ok(a.n > 50 && near == a.n, "no time of a throttled device is kept (%zu of %zu points)", near, a.n);
	ok(!strcmp(ra.throttle, "thermal (hardware)") && ra.throttled == 0, "the reason is reported, and no point is left out (%u)",
		ra.throttled);
	points_free(&a);

	/* The device fails at 12 s with a fatal error; the points measured before are kept. */
	int lost = sweep("noise=0.02,lost=12", 30, 7, &a, &ra);
	ok(lost == ORR_EFAIL && a.n > 15 && a.n == ra.measured, "a lost device leaves the points measured before (%zu)", a.n);
	points_free(&a);
	int none = sweep("noise=0.02", 0.5, 7, &a, &ra);
	ok(!none && ra.seconds < 0.8, "a budget of half a second is kept: %.2f s, %u points", ra.seconds, ra.measured);
	points_free(&a);
}

static void check_grids(void)
{
	/* Joe and Kuo's sequence in Gray code order; a digital shift keeps one point in each of 64 equal intervals. */
	for (uint32_t dim = 0; dim < 5; dim++) {
		uint64_t seen = 0;
		for (uint32_t i = 0; i < 64; i++)
			seen |= UINT64_C(1) << (int)(64 * sobol(i, dim, 12));
		ok(seen == UINT64_MAX, "Sobol's dimension %u: each 64th of the interval is hit once in 64", dim);
	}
	struct grid_limits limits = {
		.memory_bytes = 1e9, .cache_bytes = 1e6, .flops_per_s = 1e10, .bytes_per_s = 1e10, .longest_s = 0.02, .seed = 3
	};
	static const struct kernel_kind kinds[] = { { "gemm", "", "fp16", "nn", 0 }, { "gemm", "", "fp32", "nn batched", 0 },
		{ "conv", "forward", "fp32", "1x1", 0 }, { "conv", "forward", "fp32", "strided", 0 },
		{ "conv", "forward", "fp32", "large", 0 }, { "memory", "softmax", "fp32", "", 0 }, { "update", "adam", "fp32", "", 0 },
		{ "attention", "decode", "fp16", "fused", 0 }, { "gather", "embedding", "fp32", "zipf", 0 },
		{ "collective", "all-reduce", "fp32", "", 4 } };
	struct kernel k[40];
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint32_t n = grid_make(&kinds[i], 20, &limits, k);
		bool is_good = n >= 10;
		for (uint32_t j = 0; j < n; j++)
			is_good = is_good && k[j].flops / 1e10 + k[j].bytes / 1e10 <= 0.02 && k[j].bytes <= 1e9 && k[j].bytes > 0 &&
				  (strcmp(k[j].precision, "fp16") || strcmp(k[j].family, "gemm") || fmod(k[j].d[0], 8) == 0);
		ok(is_good, "%s %s %s: %u shapes that fit the device and the time", kinds[i].family, kinds[i].op, kinds[i].variant, n);
	}
}

static void check_work(void)
{
	/* ResNet-50's first 3x3 convolution: 56 x 56 x 64 x 64 x 9 multiply-adds = 115.6 million (He et al. 2015). */
	struct kernel k = { .family = "conv", .op = "forward", .precision = "fp32", .variant = "3x3 s1", .d = { 1, 64, 56, 56, 64, 3 } };
	kernel_work(&k);
	near_to(k.flops / 2, 115605504, 1e-12, "a convolution's multiply-adds");
	/* ResNet-50's first layer, 7x7 with stride 2 on 224 x 224, has 112 x 112 output positions and 118 million multiply-adds. */
	k = (struct kernel){ .family = "conv", .op = "forward", .precision = "fp32", .variant = "strided", .d = { 1, 3, 224, 224, 64, 7 } };
	kernel_work(&k);
	near_to(k.flops / 2, 118013952, 1e-12, "a strided one's");
	k = (struct kernel){ .family = "update", .op = "adam", .precision = "fp32", .d = { 1000 } };
	kernel_work(&k);
	near_to(k.bytes, 28000, 0, "Adam reads weight, gradient and two moments, writes three: 28 bytes a parameter");
	k = (struct kernel){ .family = "memory", .op = "no-such", .precision = "fp32", .d = { 1000 } };
	ok(!kernel_work(&k), "an unknown kernel has no work");
}

int main(void)
{
	check_ranks();
	check_coverage();
	check_stops();
	check_throttled_sample();
	check_sweep();
	check_grids();
	check_work();
	return done();
}

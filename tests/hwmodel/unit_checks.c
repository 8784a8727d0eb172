/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unit_checks.c - the bounds of a profile's self-check, laws at their limits, models of measured layers, prices, measured
 * step times, and errors of JSON files
 *
 * Bounds are those of docs/models/devices.md, "Self-check of a profile".
 */
#include "hwmodel/cost.h"
#include "hwmodel/dnn_profile.h"
#include "hwmodel/json.h"
#include "hwmodel/prices.h"
#include "hwmodel/profile.h"
#include "hwmodel/steptimes.h"

#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>
#include <unistd.h>

static struct orr_error err;

/* ---- the self-check ---- */

static char empty[] = "";

static struct law law_of(const char *family, enum profile_form form, const double *param)
{
	struct law l = { .family = (char *)(uintptr_t)family,
		.op = empty,
		.precision = empty,
		.variant = empty,
		.form = form,
		.n_params = law_form_params(form),
		.from = { NAN, NAN, NAN },
		.to = { NAN, NAN, NAN } };
	memcpy(l.param, param, l.n_params * sizeof *param);
	return l;
}

/* The data sheet: 10 TFLOP/s in fp32, 100 in fp16 and 5 by vector units; memory of 16 GB at 1 TB/s; links of 200 GB/s, a bus of 10
 * GB/s. */
static const struct device sheet = { .name = (char[]){ "d" },
	.peak_flops = { [PRECISION_FP32] = 10e12, [PRECISION_FP16] = 100e12 },
	.vector_flops = 5e12,
	.memory_Bps = 1e12,
	.memory_bytes = 16e9,
	.link_Bps = 200e9,
	.pcie_Bps = 10e9 };

static const char *backend = "cuda";

static bool passes(const char *family, const char *precision, enum profile_form form, double nodes, bool has_sheet, const double *param)
{
	char own[8], by[16];
	struct law l = law_of(family, form, param);
	snprintf(own, sizeof own, "%s", precision);
	snprintf(by, sizeof by, "%s", backend);
	l.precision = own;
	l.nodes = nodes;
	const struct profile p = { .name = (char[]){ "p" }, .backend = by, .law = &l, .n_laws = 1 };
	return !profile_check(&p, has_sheet ? &sheet : NULL, &err);
}

/* Tests that parameter k is accepted just inside and refused just outside each of its two bounds. */
static void bounds(const char *what, const char *family, const char *precision, enum profile_form form, double nodes, bool has_sheet,
	const double *param, int k, double low, double high)
{
	double v[LAW_PARAMS];
	memcpy(v, param, law_form_params(form) * sizeof *v);
	const double tries[] = { low * 1.001, high * 0.999, low * 0.999, high * 1.001 };
	bool got[4];
	for (int i = 0; i < 4; i++) {
		v[k] = tries[i];
		got[i] = passes(family, precision, form, nodes, has_sheet, v);
	}
	if (!ok(got[0] && got[1] && !got[2] && !got[3], "%s: from %g to %g", what, low, high))
		printf("# %d %d %d %d\n", got[0], got[1], got[2], got[3]);
}

static void check_rooflines(void)
{
	const double r[] = { 5e-6, 8e12, 0.8e12, 2 }, h[] = { 5e-6, 80e12, 0.8e12, 2 }, none[] = { 0, INFINITY, INFINITY, 1 };
	bounds("FLOP rate of products in fp32", "gemm", "fp32", FORM_ROOFLINE, 0, true, r, 1, 0.01 * 10e12, 1.05 * 10e12);
	bounds("FLOP rate of products in fp16", "gemm", "fp16", FORM_ROOFLINE, 0, true, h, 1, 0.01 * 100e12, 1.05 * 100e12);
	bounds("in a precision that the sheet lacks: its best", "gemm", "bf16", FORM_ROOFLINE, 0, true, h, 1, 0.01 * 100e12, 1.05 * 100e12);
	bounds("without a precision", "gemm", "", FORM_ROOFLINE, 0, true, h, 1, 0.01 * 100e12, 1.05 * 100e12);
	bounds("byte rate of products", "gemm", "fp32", FORM_ROOFLINE, 0, true, r, 2, 0.05e12, 50e12);
	bounds("FLOP rate of convolutions, which Winograd multiplies", "conv", "fp32", FORM_ROOFLINE, 0, true, r, 1, 0.005 * 10e12, 100e12);
	bounds("their byte rate", "conv", "fp32", FORM_ROOFLINE, 0, true, r, 2, 0.005e12, 50e12);
	bounds("FLOP rate of attention", "attention", "fp32", FORM_ROOFLINE, 0, true, r, 1, 0.005 * 10e12, 1.05 * 10e12);
	bounds("its byte rate", "attention", "fp32", FORM_ROOFLINE, 0, true, r, 2, 0.05e12, 50e12);
	static const char *const streaming[] = { "memory", "gather", "update" };
	for (int i = 0; i < 3; i++) {
		bounds(streaming[i], streaming[i], "fp32", FORM_ROOFLINE, 0, true, r, 2, 0.05e12, 20e12);
		bounds("its FLOP rate", streaming[i], "fp32", FORM_ROOFLINE, 0, true, r, 1, 1e-6 * 10e12, 1e17);
	}
	bounds("FLOP rate without a data sheet", "gemm", "fp32", FORM_ROOFLINE, 0, false, r, 1, 1e6, 1e17);
	bounds("byte rate without a data sheet", "gemm", "fp32", FORM_ROOFLINE, 0, false, r, 2, 1e6, 1e15);
	bounds("an exponent", "gemm", "fp32", FORM_ROOFLINE, 0, true, r, 3, 0.25, 64);
	ok(passes("gemm", "fp32", FORM_ROOFLINE, 0, true, none), "terms that are left out pass");
	ok(!passes("gemm", "fp32", FORM_ROOFLINE, 0, true, (const double[]){ 5e-6, 20e12, 1e12, 1 }) &&
			strstr(err.text, "p: $.laws[0] (gemm fp32): FLOP rate: 2e+04 GFLOP/s is physically impossible: expected 100 to "
					 "1.05e+04 (check the unit)"),
		"the message has the value, the bounds and their unit: %s", err.text);
}

static void check_others(void)
{
	const double line[] = { 5e-6, 50e9 }, cached[] = { 1e-6, 2e12, 0.5e12, 4e6 };
	bounds("byte rate of copies: a fiftieth of the bus, twice the memory", "copy", "", FORM_LINE, 0, true, line, 1, 0.02 * 10e9, 2e12);
	bounds("byte rate of collectives in a node", "collective", "", FORM_LINE, 1, true, line, 1, 0.005 * 200e9, 4 * 200e9);
	bounds("over nodes", "collective", "", FORM_LINE, 2, true, line, 1, 0.001 * 200e9, 4 * 200e9);
	bounds("byte rate of a line without a data sheet", "copy", "", FORM_LINE, 0, false, line, 1, 1e6, 1e14);
	bounds("byte rate in a cache", "memory", "", FORM_CACHED, 0, true, cached, 1, 0.05e12, 20e12);
	bounds("beyond it", "memory", "", FORM_CACHED, 0, true, cached, 2, 0.05e12, 2e12);
	bounds("size of a cache: a page, half of the memory", "memory", "", FORM_CACHED, 0, true, cached, 3, 4096, 8e9);
	bounds("in a cache without a data sheet", "memory", "", FORM_CACHED, 0, false, cached, 1, 0.05e9, 20e15);
	bounds("beyond it", "memory", "", FORM_CACHED, 0, false, cached, 2, 0.05e9, 2e15);
	bounds("its size", "memory", "", FORM_CACHED, 0, false, cached, 3, 4096, 1e12);
	const double r[] = { 5e-6, 8e12, 0.8e12, 2 };
	bounds("an empty kernel", "gemm", "fp32", FORM_ROOFLINE, 0, true, r, 0, 50e-9, 1e-3);
	bounds("an empty memory-bound kernel", "memory", "", FORM_CACHED, 0, true, cached, 0, 50e-9, 1e-3);
	bounds("an empty copy", "copy", "", FORM_LINE, 0, true, line, 0, 50e-9, 50e-3);
	bounds("an empty collective", "collective", "", FORM_LINE, 1, true, line, 0, 50e-9, 50e-3);
	backend = "cpu";
	bounds("an empty call on a CPU", "gemm", "fp32", FORM_ROOFLINE, 0, true, r, 0, 0.1e-9, 50e-3);
	bounds("a copy on a CPU may stay in its caches", "copy", "", FORM_LINE, 0, true, line, 1, 0.02 * 10e9, 20e12);
	backend = "cuda";
	/* The self-check of an envelope uses its fastest line and its first start-up time. */
	ok(passes("collective", "", FORM_ENVELOPE, 1, true, (const double[]){ 9e-6, 1e7, 90e-6, 100e9, 5, INFINITY }) &&
			!passes("collective", "", FORM_ENVELOPE, 1, true, (const double[]){ 9e-6, 1e7, 90e-6, 900e9, 5, INFINITY }) &&
			!passes("collective", "", FORM_ENVELOPE, 1, true, (const double[]){ 6e-2, 1e11, 90e-6, INFINITY, 5, INFINITY }),
		"an envelope is checked by its fastest line and its first start-up time");
	ok(passes("interference", "", FORM_FACTOR, 0, true, (const double[]){ 1.3 }), "a factor is not a time");
	struct device bare = sheet;
	bare.pcie_Bps = bare.link_Bps = 0;
	struct law l = law_of("copy", FORM_LINE, (const double[]){ 5e-6, 0.021e9 });
	const struct profile p = { .name = (char[]){ "p" }, .backend = (char[]){ "cuda" }, .law = &l, .n_laws = 1 };
	bool is_good = !profile_check(&p, &bare, &err);
	l.param[1] = 0.019e9;
	ok(is_good && profile_check(&p, &bare, &err), "a bus that is not stated counts as 1 GB/s");
	/* An anchor passes if it differs from the law by at most 1 %. */
	struct law_point anchor = { { 0, 0, 1e6 }, 0, false };
	l.param[1] = 10e9;
	l.anchor = &anchor;
	l.n_anchors = 1;
	double t = 5e-6 + 1e6 / 10e9;
	static const double shares[] = { 1, 0.9902, 1.0099, 0.9898, 1.0103 };
	for (int i = 0; i < 5; i++) {
		anchor.time_s = t / shares[i];
		int rc = profile_check(&p, &sheet, &err);
		ok(i < 3 ? !rc : rc && strstr(err.text, "$.laws[0].anchors[0]: expected the law's time of 105 us"),
			"an anchor at %g of the law", shares[i]);
	}
}

/* ---- laws at their limits ---- */

static void check_laws(void)
{
	double x[] = { 10, 100, 1000 }, y[] = { 1, 4, 64 };
	struct law l = law_of("copy", FORM_TABLE, (const double[]){ 0 });
	l.table_x = x, l.table_y = y, l.n_table = 3;
	l.from[2] = 10, l.to[2] = 1000;
	static const double at[][2] = { { 1, 1 }, { 10, 1 }, { 31.6227766, 2 }, { 100, 4 }, { 316.227766, 16 }, { 1000, 64 },
		{ 2000, 128 } };
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		near_to(law_time(&l, 5, 6, at[i][0], NULL), at[i][1], 1e-8,
			"a table: constant before, log-log within, proportional beyond");
	l.from[2] = NAN;
	near_to(law_time(&l, 5, 100, 7, NULL), 4, 1e-12, "a table without sizes is one of bytes");
	l.from[0] = 10;
	near_to(law_time(&l, 100, 6, 7, NULL), 4, 1e-12, "or of FLOPs");
	l.n_table = 1;
	near_to(law_time(&l, 1e9, 6, 7, NULL), 1, 0, "one row is constant");
	l.n_table = 0;
	ok(isnan(law_time(&l, 1, 1, 1, NULL)), "no row gives no time");
	l = law_of("gemm", FORM_ROOFLINE, (const double[]){ 1, 10, 10, 2 });
	near_to(law_time(&l, 30, 0, 0, NULL), 4, 1e-12, "no bytes: one term");
	near_to(law_time(&l, 0, 30, 0, NULL), 4, 1e-12, "no FLOPs");
	near_to(law_time(&l, 0, 0, 0, NULL), 1, 0, "neither");
	near_to(law_time(&l, 40, 30, 0, NULL), 6, 1e-12, "both: the 2-norm of 3 and 4");
	l.from[0] = 100, l.to[0] = 200;
	static const struct {
		double flops;
		bool is_inside;
	} edges[] = { { 98.9, false }, { 99.1, true }, { 201.9, true }, { 202.1, false } };
	for (int i = 0; i < 4; i++) {
		bool is_inside = !edges[i].is_inside;
		law_time(&l, edges[i].flops, 1e9, 1e9, &is_inside);
		ok(is_inside == edges[i].is_inside, "%g FLOPs in a range of 100 to 200, give or take 1 %%", edges[i].flops);
	}
	l.from[1] = 100, l.to[1] = 200;
	bool is_inside = true;
	law_time(&l, 50, 150, 0, &is_inside);
	ok(!is_inside, "one feature outside is enough");
	l = law_of("collective", FORM_LINE, (const double[]){ 1, 10 });
	static const struct {
		double from, to, size;
		bool is_covered;
	} sizes[] = { { 8192, 1e6, 8192, true }, { 8192, 1e6, 8000, false }, { 4096, 1e6, 8, true }, { 4097, 1e6, 8, false },
		{ 4096, 1e6, 1.009e6, true }, { 4096, 1e6, 1.011e6, false } };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		l.from[2] = sizes[i].from, l.to[2] = sizes[i].to;
		ok(law_covers(&l, sizes[i].size) == sizes[i].is_covered, "a law from %g to %g bytes at %g", sizes[i].from, sizes[i].to,
			sizes[i].size);
	}
	/* A drawn law multiplies the parameters by exp(L z) and the time by exp(sigma e); exponents are clamped to 4. */
	l = law_of("copy", FORM_LINE, (const double[]){ 1, 10 });
	l.covariance[0][0] = 0.04, l.covariance[0][1] = l.covariance[1][0] = 0.02, l.covariance[1][1] = 0.05;
	l.sigma = 0.1;
	/* The Cholesky factor L has the rows (0.2, 0) and (0.1, 0.2). */
	near_to(law_time_drawn(&l, (const double[]){ 1, 2 }, 3, 0, 0, 20), (exp(0.2) + 20 / (10 * exp(0.5))) * exp(0.3), 1e-12,
		"a drawn line");
	near_to(law_time_drawn(&l, (const double[]){ 100, 0 }, 0, 0, 0, 0), exp(4), 1e-9, "a draw is bounded");
	near_to(law_time_drawn(&l, (const double[]){ -100, 0 }, 0, 0, 0, 0), exp(-4), 1e-12, "on either side");
}

static void check_choice(void)
{
	static char all_reduce[] = "all-reduce";
	struct law l[6];
	const double line[] = { 1, 10 };
	static const struct {
		const char *variant;
		double ranks, nodes, from, to;
	} made[] = { { "a100_dgx", 8, 1, 8192, 1e6 }, { "NVLink2 mesh", 8, 1, 8192, 1e8 }, { "", 8, 1, 1e6, 1e7 }, { "", 4, 1, 1e6, 1e9 },
		{ "", 8, 2, 1e6, 1e12 }, { "NVSwitch", 8, 1, 8192, 1e6 } };
	for (int i = 0; i < 6; i++) {
		l[i] = law_of("collective", FORM_LINE, line);
		l[i].op = all_reduce;
		l[i].variant = (char *)(uintptr_t)made[i].variant;
		l[i].ranks = made[i].ranks, l[i].nodes = made[i].nodes, l[i].from[2] = made[i].from, l[i].to[2] = made[i].to;
	}
	const struct profile p = { .law = l, .n_laws = 6 };
	ok(profile_collective(&p, "all-reduce", "nvswitch", 8, 1) == &l[0],
		"of laws of this fabric and of any fabric, the one with the widest range applies; of equal ones the first");
	ok(profile_collective(&p, "all-reduce", "nvlink-mesh", 8, 1) == &l[1], "another fabric");
	ok(profile_collective(&p, "all-reduce", "", 8, 1) == &l[2] && profile_collective(&p, "all-reduce", NULL, 8, 1) == &l[2],
		"for an unknown fabric a law that names no fabric applies");
	ok(profile_collective(&p, "all-reduce", "", 0, 1) == &l[3], "for any number of ranks the law with the widest range applies");
	ok(profile_collective(&p, "all-reduce", "", 8, 2) == &l[4] && !profile_collective(&p, "all-reduce", "", 8, 3),
		"nodes match exactly");
	ok(profile_collective_at(&p, "all-reduce", "nvswitch", 8, 1, 5e6) == &l[2], "a law measured at the size comes first");
	ok(!profile_collective(&p, "broadcast", "nvswitch", 8, 1), "ops match exactly");
	/* The error of several laws is the mean of their held-out errors, weighted by points. A law without held-out error counts
	 * with its in-sample error. If the variants of a kernel have laws, the law over all variants is excluded. */
	struct law e[4];
	for (int i = 0; i < 4; i++) {
		e[i] = law_of("gemm", FORM_LINE, line);
		e[i].points = 10 * (uint32_t)(i + 1);
		e[i].median_error = 0.1 * (i + 1);
		e[i].mean_error = 0.3 * (i + 1);
		e[i].held_out_median = e[i].held_out_mean = NAN;
	}
	e[0].variant = (char[]){ "nn" };
	e[2].op = (char[]){ "x" };
	e[2].held_out_median = 0.05;
	e[2].held_out_mean = 0.1;
	e[3].family = (char[]){ "launch" };
	e[3].median_error = e[3].mean_error = NAN;
	const struct profile q = { .name = (char[]){ "q" },
		.source = (char[]){ "table 1 (2019); more" },
		.date = (char[]){ "2020" },
		.backend = (char[]){ "scaled" },
		.law = e,
		.n_laws = 4,
		.is_stable = false };
	near_to(profile_error(&q), (0.1 * 10 + 0.05 * 30) / 40, 1e-12, "the error of a profile");
	char *text = profile_summary(&q);
	same_text(text, "q (not measured, scaled from table 1, 2020; median error 6.2 %, mean 15 %; unstable)", "the summary of a profile");
	mem_free(text);
	const struct profile none = { .law = e, .n_laws = 0 };
	ok(isnan(profile_error(&none)), "a profile without laws has no error");
	double unit;
	ok(!strcmp(law_param_name(FORM_CACHED, 3, &unit), "cache_MB") && unit == 1e6 &&
			!strcmp(law_param_name(FORM_LINE, 0, &unit), "time0_us") && unit == 1e-6 &&
			law_param_name(FORM_ROOFLINE, 1, &unit) && unit == 1e9 && law_param_name(FORM_ROOFLINE, 3, &unit) && unit == 1 &&
			!law_param_name(FORM_LINE, 2, &unit),
		"names and units of parameters");
}

/* ---- models of measured layers ---- */

static char path[4200];

static const char *file_of(const char *text)
{
	const char *dir = getenv("TMPDIR");
	snprintf(path, sizeof path, "%.4000s/unit_checks.%ld.csv", dir ? dir : "/tmp", (long)getpid());
	FILE *f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	return path;
}

static struct dnn *model_of(const char *text, const char *options)
{
	char spec[4300];
	snprintf(spec, sizeof spec, "%s%s", file_of(text), options);
	return dnn_profile_load(spec, &err);
}

static void check_measured_layers(void)
{
	static const char good[] = "layer, idx,fwd_ms,bwd_ms,activation_bytes,param_bytes\r\n"
				   "first ,0,8,16,4000,400\n\nsecond,1, 4 ,4,8000,0\n";
	struct dnn *d = model_of(good, ":batch=4,device=V100");
	ok(d && d->n_layers == 2 && d->profile_batch == 4 && !strcmp(d->profile_device, "V100"), "two measured layers%s%s", d ? "" : ": ",
		d ? "" : err.text);
	if (d) {
		const struct dnn_layer *a = &d->layer[0], *b = &d->layer[1];
		ok(!strcmp(a->name, "first") && a->measured_s[0] == 2e-3 && a->measured_s[1] == 4e-3 && b->measured_s[0] == 1e-3,
			"times of one sample: those of the batch over its 4 samples");
		ok(a->out_elems == 250 && a->saved_elems == 250 && a->in_elems == 250 && b->out_elems == 500 && b->in_elems == 250 &&
				d->input_elems == 250,
			"activations of one sample in fp32; a layer reads the output of the one before");
		ok(a->params == 100 && a->tensors == 1 && b->params == 0 && b->tensors == 0 && d->params == 100 && a->block == DNN_NO_BLOCK,
			"parameters in fp32");
		/* On the measured device the times are the measured ones. Times on another device are scaled by the ratio of the
		 * achieved peaks of products. */
		struct device *v = device_load("v100", &err), *t = device_load("t4", &err);
		struct cost_options o = { .precision = PRECISION_FP32 };
		struct cost *c = cost_new(d, v, &o, &err), *other = cost_new(d, t, &o, &err);
		double speed = t->peak_flops[PRECISION_FP32] * t->gemm_efficiency[PRECISION_FP32] /
			       (v->peak_flops[PRECISION_FP32] * v->gemm_efficiency[PRECISION_FP32]);
		near_to(cost_range_s(c, 0, 2, DNN_FORWARD, 8, 1, false), 8 * 3e-3, 1e-12, "forward of 8 samples");
		near_to(cost_range_s(c, 0, 2, DNN_BACKWARD_DATA, 8, 1, false) + cost_range_s(c, 0, 2, DNN_BACKWARD_WEIGHT, 8, 1, false),
			8 * 5e-3, 1e-12, "both passes of backward");
		near_to(cost_range_s(other, 0, 2, DNN_FORWARD, 8, 1, false), 8 * 3e-3 / speed, 1e-12, "on another device");
		ok(strstr(cost_source(c, 8), "layers measured on V100 at batch 4") && !strstr(cost_source(c, 8), "times ") &&
				strstr(cost_source(other, 8), " for the peak of t4"),
			"the source: %s", cost_source(other, 8));
		o.precision = PRECISION_FP16;
		ok(!cost_new(d, v, &o, &err) && strstr(err.text, "the layers were measured in fp32"), "other precisions are refused");
		cost_free(c);
		cost_free(other);
		device_free(v);
		device_free(t);
	}
	struct dnn *same = model_of(good, ":batch=4,device=V100"), *larger = model_of(good, ":batch=8,device=V100"),
		   *v = model_of(good, ":batch=4");
	ok(same && larger && v && d && !strcmp(same->hash, d->hash) && strcmp(larger->hash, d->hash) && strlen(d->hash) == 64 &&
			!strcmp(v->profile_device, "v100"),
		"file and options identify the model; the device is a V100 unless it is given");
	dnn_free(d);
	dnn_free(same);
	dnn_free(larger);
	dnn_free(v);
#define HEAD "idx,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes\n"
	static const struct {
		const char *text, *options, *says;
	} bad[] = { { HEAD "0,a,1,1,1,1\n", "", "unknown batch size: expected it after the name" },
		{ HEAD "0,a,1,1,1,1\n", ":batch=0", "unknown batch size" }, { HEAD "0,a,1,1,1,1\n", ":batsh=3", "did you mean \"batch\"?" },
		{ "idx,layer,fwd_ms,bwd_ms,activation_bytes\n", ":batch=4", ".csv:1: no column \"param_bytes\": expected the columns" },
		{ HEAD "1,a,1,1,1,1\n", ":batch=4", ".csv:2: idx: expected 0, because layers are numbered from 0 without gaps, found 1" },
		{ HEAD "0,a,1,1,1,1\n2,b,1,1,1,1\n", ":batch=4",
			".csv:3: idx: expected 1, because layers are numbered from 0 without gaps, found 2" },
		{ HEAD "0,a,-1,1,1,1\n", ":batch=4", ".csv:2: fwd_ms: expected a number of at least 0, found \"-1\"" },
		{ HEAD "0,a,1,x,1,1\n", ":batch=4", ".csv:2: bwd_ms: expected a number of at least 0, found \"x\"" },
		{ HEAD "0,a,1,1,,1\n", ":batch=4", ".csv:2: activation_bytes: expected a number" },
		{ HEAD "0,a,1,1,1\n", ":batch=4", ".csv:2: param_bytes: expected a number of at least 0, found \"\"" },
		{ HEAD, ":batch=4", ".csv:2: expected a line for each layer, found none" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		err = (struct orr_error){ 0 };
		d = model_of(bad[i].text, bad[i].options);
		if (!ok(!d && strstr(err.text, bad[i].says), "%s", bad[i].says))
			printf("# said: %s\n", err.text);
		dnn_free(d);
	}
	unlink(path);
	ok(!strcmp(dnn_profile_options("a.csv"), "") && !strcmp(dnn_profile_options("a.csv:batch=3"), ":batch=3") &&
			!dnn_profile_options("a.csvx") && !dnn_profile_options("resnet50"),
		"a file of layers ends in .csv, before options");
}

/* ---- other tables ---- */

static void check_prices(void)
{
	struct price p;
	ok(price_find("V100", &p, &err) && p.usd_per_gpu_hour == 3.06 && !strcmp(p.device, "v100") && strstr(p.of, "p3.2xlarge") &&
			*p.source,
		"a V100 costs 3.06 USD per hour (AWS p3.2xlarge)");
	ok(price_find("t4", &p, &err) && p.usd_per_gpu_hour == 0.526, "a T4 0.526 (AWS g4dn.xlarge)");
	ok(price_find("a100", &p, &err) && fabs(8 * p.usd_per_gpu_hour - 21.95764) < 1e-6, "eight A100 21.95764 (AWS p4d.24xlarge)");
	ok(price_find("h100", &p, &err) && fabs(8 * p.usd_per_gpu_hour - 55.04) < 1e-6, "eight H100 55.04 (AWS p5.48xlarge)");
	ok(!price_find("k80", &p, &err), "other devices have no price");
}

#define STEP(fields) "{\"steps\": [{\"device\": \"V-100\", \"model\": \"ResNet 50\", \"setup\": \"TF 1.1\", \"source\": \"s\"" fields "}]}"

static void check_steps(void)
{
	static const char good[] =
		STEP(", \"precision\": \"fp16\", \"update\": \"included\", \"optimizer_bytes\": 8, \"unit\": \"samples/s\", "
		     "\"points\": [[16, 32], [64, 100]]");
	struct steptimes *t = steptimes_parse("s.json", good, sizeof good - 1, &err);
	const struct steptime *e = t ? steptimes_find(t, "v100", "resnet50", PRECISION_BF16, NULL) : NULL;
	ok(e && e->n == 2 && e->batch[1] == 64 && fabs(e->seconds[0] - 0.5) < 1e-15 && fabs(e->seconds[1] - 0.64) < 1e-15 &&
			e->state_bytes == 8 && e->update == STEPTIME_WITH_UPDATE,
		"samples/s become seconds; names are compared without blanks and case; bf16 means mixed precision");
	ok(t && !steptimes_find(t, "v100", "resnet50", PRECISION_FP32, NULL) &&
			!steptimes_find(t, "v100", "resnet5", PRECISION_FP16, NULL) &&
			!steptimes_find(t, "v1000", "resnet50", PRECISION_FP16, NULL) &&
			steptimes_find(t, "v100", "resnet_50", PRECISION_FP16, "1.1") &&
			!steptimes_find(t, "v100", "resnet50", PRECISION_FP16, "1.2"),
		"precision, device, model and set-up must match");
	steptimes_free(t);
	static const char ms[] = STEP(", \"precision\": \"fp32\", \"update\": \"not stated\", \"unit\": \"ms\", \"points\": [[16, 250]]");
	t = steptimes_parse("s.json", ms, sizeof ms - 1, &err);
	ok(t && t->n == 1 && t->entry[0].seconds[0] == 0.25 && t->entry[0].update == STEPTIME_UPDATE_NOT_STATED &&
			t->entry[0].state_bytes == 0,
		"ms per step");
	steptimes_free(t);
	static const struct {
		const char *text, *says;
	} bad[] = { { "{\"steps\": 3}", "s.json: $.steps: expected a list" },
		{ "{\"step\": []}", "$: unknown key \"step\": did you mean \"steps\"?" },
		{ "{\"steps\": [],\n\"steps\": []}", "s.json:2:1: duplicate key \"steps\" (first on line 1): expected it once" },
		{ STEP(""), "$.steps[0].precision: expected a string" },
		{ STEP(", \"precision\": \"fp64\", \"unit\": \"ms\""), "$.steps[0]: expected \"precision\": fp32, tf32" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"s\""), "$.steps[0]: expected \"unit\": samples/s or ms" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"maybe\""), "expected \"update\": included" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"included\", \"optimizer_bytes\": 65"),
			"optimizer_bytes: expected a number from 0 to 64" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\""),
			"\"points\": a list of pairs [batch, value]" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\", \"points\": []"),
			"\"points\": a list of pairs [batch, value]" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\", \"points\": [[1]]"), "both above 0" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\", \"points\": [[1, 2, 3]]"), "both above 0" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\", \"points\": [[0, 2]]"), "both above 0" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\", \"points\": [[1, 0]]"), "both above 0" },
		{ STEP(", \"precision\": \"fp32\", \"unit\": \"ms\", \"update\": \"excluded\", \"points\": [[2, 1], [2, 2]]"),
			"ascending batch sizes" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		t = steptimes_parse("s.json", bad[i].text, strlen(bad[i].text), &err);
		if (!ok(!t && strstr(err.text, bad[i].says), "%s", bad[i].says))
			printf("# said: %s\n", err.text);
		steptimes_free(t);
	}
}

static void check_json(void)
{
	static const struct {
		const char *text;
		const char *says;
	} bad[] = { { "{\n  \"a\": 1,\n  x}", "f.json:3:" }, { "", "f.json:1:1: invalid JSON: expected an object" },
		{ "{} \n\n x", "f.json:3:2: invalid JSON: expected an object" }, { "[1,]", "f.json:1:4: invalid JSON" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cJSON *root = json_parse("f.json", bad[i].text, strlen(bad[i].text), &err);
		if (!ok(!root && !strncmp(err.text, bad[i].says, strlen(bad[i].says)), "%s", bad[i].says))
			printf("# said: %s\n", err.text);
		cJSON_Delete(root);
	}
	static const char text[] = " {\"rate\": 2.5, \"name\": \"n\", \"list\": [1], \"no\": {}, \"none\": null, \"empty\": \"\"} \t\r\n";
	cJSON *o = json_parse("f.json", text, sizeof text - 1, &err);
	static const char *const keys[] = { "rate", "name", "list", "no", "none", "empty", NULL }, *const few[] = { "rates", "other",
		NULL };
	ok(o && !json_keys("f", "$", o, keys, &err), "known keys");
	ok(json_keys("f", "$", o, few, &err) && strstr(err.text, "f: $: unknown key \"rate\": did you mean \"rates\"?"), "the nearest key");
	ok(json_keys("f", "$", cJSON_GetObjectItem(o, "list"), keys, &err) && strstr(err.text, "$: expected an object"),
		"a list is no object");
	static const char same[] = "{\"rate\": 1, \"name\": 2, \"rate\": 3}";
	ok(!json_parse("f", same, sizeof same - 1, &err) &&
			!strcmp(err.text, "f:1:24: duplicate key \"rate\" (first on line 1): expected it once"),
		"a key occurs once");
	cJSON *odd = json_parse("f", "{\"zzzzzzzz\": 1}", 15, &err);
	ok(odd && json_keys("f", "$", odd, few, &err) && strstr(err.text, "unknown key \"zzzzzzzz\": expected one of rates, other"),
		"or all known keys");
	cJSON_Delete(odd);
	double v = 7;
	ok(!json_real("f", "$", o, "missing", 0, 1, false, &v, &err) && v == 7, "a missing number leaves the value");
	ok(!json_real("f", "$", o, "rate", 2.5, 2.5, true, &v, &err) && v == 2.5, "a number at its bounds");
	ok(json_real("f", "$", o, "missing", 0, 1, true, &v, &err) &&
			strstr(err.text, "f: $.missing: expected a number from 0 to 1, found nothing"),
		"a number that is needed");
	ok(json_real("f", "$", o, "rate", 0, 2.4, true, &v, &err) && strstr(err.text, "found 2.5") &&
			json_real("f", "$", o, "rate", 2.6, 3, true, &v, &err),
		"a number out of range");
	ok(json_real("f", "$", o, "name", 0, 9, false, &v, &err) && strstr(err.text, "found something else"), "a text is no number");
	const char *s = "old";
	ok(!json_text("f", "$", o, "missing", false, &s, &err) && !strcmp(s, "old") && !json_text("f", "$", o, "name", true, &s, &err) &&
			!strcmp(s, "n"),
		"a text");
	ok(json_text("f", "$", o, "missing", true, &s, &err) && json_text("f", "$", o, "empty", false, &s, &err) &&
			json_text("f", "$", o, "rate", false, &s, &err) && strstr(err.text, "$.rate: expected a string"),
		"texts that are missing, empty or numbers");
	static const char *const found[][2] = { { "rate", "found 2.5" }, { "name", "found \"n\"" }, { "list", "found a list" },
		{ "no", "found an object" }, { "none", "found something else" }, { "missing", "found nothing" } };
	for (size_t i = 0; i < sizeof found / sizeof *found; i++)
		ok(json_wrong("f", "$.x", "a y", cJSON_GetObjectItem(o, found[i][0]), &err) == ORR_EINPUT &&
				strstr(err.text, "f: $.x: expected a y, ") && strstr(err.text, found[i][1]),
			"%s", found[i][1]);
	cJSON_Delete(o);
}

int main(void)
{
	check_rooflines();
	check_others();
	check_laws();
	check_choice();
	check_measured_layers();
	check_prices();
	check_steps();
	check_json();
	return done();
}

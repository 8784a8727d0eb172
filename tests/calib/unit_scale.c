/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wave scaling of laws to another data sheet, its stated error, and the comparison of two laws, against closed forms. */
#include "tests/tap.h"

#include "base/mem.h"
#include "calib/scale.h"

#include <stdlib.h>

static struct law law_of(const char *family, const char *op, const char *precision, enum profile_form form, const double *param)
{
	struct law l = { .form = form,
		.n_params = law_form_params(form),
		.points = 10,
		.family = mem_strdup(family),
		.op = mem_strdup(op),
		.precision = mem_strdup(precision),
		.variant = mem_strdup(""),
		.from = { NAN, NAN, NAN },
		.to = { NAN, NAN, NAN } };
	for (uint32_t i = 0; i < l.n_params; i++)
		l.param[i] = param[i];
	return l;
}

static struct profile *profile_of(const char *name, const struct law *laws, size_t n)
{
	struct profile *p = mem_zalloc(1, sizeof *p);
	char **texts[] = { &p->device, &p->title, &p->source, &p->date, &p->backend, &p->note, &p->environment };
	p->name = mem_strdup(name);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		*texts[i] = mem_strdup("");
	p->law = mem_zalloc(n + 1, sizeof *p->law);
	memcpy(p->law, laws, n * sizeof *laws);
	p->n_laws = n;
	return p;
}

/* Twice the bandwidth, three times the fp32 rate of `from`. */
static const struct device from = { .name = (char[]){ "from" },
	.title = (char[]){ "From" },
	.peak_flops = { [PRECISION_FP32] = 10e12 },
	.vector_flops = 5e12,
	.memory_Bps = 500e9,
	.link_Bps = 100e9,
	.fabric = (char[]){ "nvswitch" } };
static const struct device to = { .name = (char[]){ "to" },
	.title = (char[]){ "To" },
	.peak_flops = { [PRECISION_FP32] = 30e12, [PRECISION_FP16] = 240e12 },
	.vector_flops = 10e12,
	.memory_Bps = 1000e9,
	.link_Bps = 100e9,
	.fabric = (char[]){ "nvswitch" } };

/* ---- scaled laws ---- */

static const struct law *only(const struct profile *p, const char *family)
{
	for (size_t i = 0; p && i < p->n_laws; i++)
		if (!strcmp(p->law[i].family, family))
			return &p->law[i];
	return NULL;
}

/*
 * A scaled law at one shape of F FLOPs and B bytes gives the time at this shape times the factor (bandwidths' ratio)^g (rates'
 * ratio)^(1 - g), with g = 1 - x / (2 ridge) below the ridge of the new device and ridge / (2 x) above it
 * (docs/models/devices.md).
 */
static double factor_at(const char *precision, double flops, double bytes)
{
	struct law l = law_of("gemm", "", precision, FORM_ROOFLINE, (const double[]){ 1e-3, INFINITY, INFINITY, 1 });
	struct orr_error err = { 0 };
	l.from[0] = l.to[0] = flops;
	l.from[1] = l.to[1] = bytes;
	struct profile *p = profile_of("p", &l, 1), *s = scale_profile(p, &from, &to, NULL, &err);
	double got = s ? s->law[0].param[0] / 1e-3 : NAN;
	profile_free(s);
	profile_free(p);
	return got;
}

static void check_factor(void)
{
	const double memory = 0.5, compute = 1.0 / 3, ridge = 30;
	near_to(factor_at("fp32", 15e6, 1e6), pow(memory, 0.75) * pow(compute, 0.25), 1e-5, "half the ridge: three quarters memory");
	near_to(factor_at("fp32", ridge * 1e6, 1e6), sqrt(memory * compute), 1e-5, "at the ridge: half and half");
	near_to(factor_at("fp32", 60e6, 1e6), pow(memory, 0.25) * pow(compute, 0.75), 1e-5, "twice the ridge: a quarter memory");
	near_to(factor_at("fp32", 0, 1e6), memory, 1e-5, "no FLOPs: memory alone");
	/* For a precision without a peak, the rate of the vector units is used: 5 against 240 TFLOP/s for fp16, 5 against 10 for bf16. */
	near_to(factor_at("fp16", 480e6, 1e6), pow(memory, 0.25) * pow(5.0 / 240, 0.75), 1e-5, "a precision that only one device has");
	near_to(factor_at("bf16", 20e6, 1e6), pow(memory, 0.25) * pow(0.5, 0.75), 1e-5, "a precision that neither has");
	near_to(factor_at("", 20e6, 1e6), pow(memory, 0.25) * pow(0.5, 0.75), 1e-5, "no precision");
}

static void check_laws(void)
{
	struct law l[5] = {
		law_of("memory", "triad", "fp32", FORM_ROOFLINE, (const double[]){ 4e-6, INFINITY, 400e9, 1 }),
		law_of("launch", "single", "", FORM_LINE, (const double[]){ 5e-6, INFINITY }),
		law_of("collective", "all-reduce", "", FORM_LINE, (const double[]){ 9e-6, 90e9 }),
		law_of("copy", "h2d", "", FORM_LINE, (const double[]){ 9e-6, 12e9 }),
		law_of("gemm", "", "fp32", FORM_ROOFLINE, (const double[]){ 6e-6, 8e12, INFINITY, 1 }),
	};
	struct orr_error err = { 0 };
	l[0].from[1] = 1e5, l[0].to[1] = 1e9;
	l[0].sigma = 0.03;
	l[0].covariance[2][2] = 0.0004;
	l[0].points = 17;
	l[2].from[2] = 1e3, l[2].to[2] = 1e9;
	l[2].ranks = 8, l[2].nodes = 1;
	l[2].table_x = mem_alloc(2 * sizeof(double)), l[2].table_y = mem_alloc(2 * sizeof(double));
	l[2].n_table = 2;
	l[2].table_x[0] = 1, l[2].table_x[1] = 2, l[2].table_y[0] = 3, l[2].table_y[1] = 4;
	l[3].from[2] = 1e3, l[3].to[2] = 1e9;
	l[4].from[0] = 1e6, l[4].to[0] = 1e12;
	struct profile *p = profile_of("known", l, 5), *s = scale_profile(p, &from, &to, NULL, &err);
	ok(s && s->n_laws == 4, "kernels are scaled, the collective is kept, the copy is left out");
	const struct law *memory = only(s, "memory"), *launch = only(s, "launch"), *all = only(s, "collective"), *gemm = only(s, "gemm");
	ok(memory && fabs(memory->param[0] / 2e-6 - 1) < 1e-3 && fabs(memory->param[2] / 800e9 - 1) < 1e-3,
		"a memory-bound kernel is twice as fast with twice the bandwidth");
	ok(memory && memory->points == 17 && memory->sigma == 0.03 && memory->covariance[2][2] == 0.0004 && isnan(memory->median_error) &&
			isnan(memory->mean_error) && isnan(memory->p90_error) && memory->held_out == 0,
		"the scaled law keeps points and spread, and states no error in sample");
	ok(launch && fabs(launch->param[0] / 5e-6 - 1) < 1e-9, "a launch is time of the host: unchanged");
	ok(gemm && fabs(gemm->param[0] / 2e-6 - 1) < 1e-3 && fabs(gemm->param[1] / 24e12 - 1) < 1e-3,
		"a product without bytes follows the rate of products");
	ok(all && all->param[1] == 90e9 && all->ranks == 8 && all->nodes == 1 && all->n_table == 2 && all->table_x[1] == 2 &&
			all->table_y[0] == 3 && all->table_x != p->law[2].table_x,
		"a collective between the same links is copied");
	ok(s && !strcmp(s->name, "to") && !strcmp(s->title, "To") && !strcmp(s->backend, "scaled") &&
			strstr(s->note, "from the profile known") && strstr(s->note, "its errors are unknown") &&
			strstr(s->note, "collectives are those of the same links"),
		"the note names the source, and that the error is unknown");
	profile_free(s);

	struct device other = to;
	const struct {
		double link;
		const char *fabric, *what;
	} links[] = { { 50e9, "nvswitch", "slower links" }, { 100e9, "nvlink-mesh", "another fabric" } };
	for (size_t i = 0; i < 2; i++) {
		char fabric[20];
		snprintf(fabric, sizeof fabric, "%s", links[i].fabric);
		other.link_Bps = links[i].link;
		other.fabric = fabric;
		s = scale_profile(p, &from, &other, NULL, &err);
		ok(s && !only(s, "collective") && strstr(s->note, "; collectives, copies and interference are left out"),
			"%s: no laws of collectives", links[i].what);
		profile_free(s);
	}
	struct device bare = from, bare_to = to;
	bare.fabric = bare_to.fabric = (char[]){ "" };
	s = scale_profile(p, &bare, &bare_to, NULL, &err);
	ok(s && !only(s, "collective"), "an unknown fabric: no laws of collectives");
	profile_free(s);
	bare = from, bare_to = to;
	bare.link_Bps = bare_to.link_Bps = 0;
	s = scale_profile(p, &bare, &bare_to, NULL, &err);
	ok(s && !only(s, "collective"), "unknown links: no laws of collectives");
	profile_free(s);
	size_t n = p->n_laws;
	p->law[0].family[0] = p->law[1].family[0] = p->law[4].family[0] = 'x';
	ok(n == 5 && !scale_profile(p, &from, &to, NULL, &err) &&
			strstr(err.text, "known: no law can be scaled: expected at least one law of a kernel"),
		"a profile without kernels is not scaled");
	profile_free(p);
}

/* ---- the stated error ---- */

/* Device b's law takes 1.25 times the time that scaling predicts. The relative error of the prediction is 1 - 1 / 1.25 = 20 %. */
static void check_error(void)
{
	struct law a[2] = { law_of("memory", "triad", "fp32", FORM_ROOFLINE, (const double[]){ 4e-6, INFINITY, 400e9, 1 }),
		law_of("gemm", "", "fp32", FORM_ROOFLINE, (const double[]){ 6e-6, 8e12, INFINITY, 1 }) };
	struct law b[3] = { law_of("memory", "triad", "fp32", FORM_ROOFLINE, (const double[]){ 2.5e-6, INFINITY, 640e9, 1 }),
		law_of("gemm", "", "fp32", FORM_ROOFLINE, (const double[]){ 4e-6, 12e12, INFINITY, 1 }),
		law_of("gemm", "", "fp16", FORM_ROOFLINE, (const double[]){ 4e-6, 100e12, INFINITY, 1 }) };
	struct law l[3] = { law_of("memory", "triad", "fp32", FORM_ROOFLINE, (const double[]){ 4e-6, INFINITY, 400e9, 1 }),
		law_of("gemm", "", "fp16", FORM_ROOFLINE, (const double[]){ 6e-6, 90e12, INFINITY, 1 }),
		law_of("update", "sgd", "fp32", FORM_ROOFLINE, (const double[]){ 6e-6, INFINITY, 300e9, 1 }) };
	struct law *const with_bytes[] = { &a[0], &b[0], &l[0], &l[2] }, *const with_flops[] = { &a[1], &b[1], &b[2], &l[1] };
	for (int i = 0; i < 4; i++) {
		with_bytes[i]->from[1] = 1e5, with_bytes[i]->to[1] = 1e9;
		with_flops[i]->from[0] = 1e6, with_flops[i]->to[0] = 1e12;
	}
	l[0].sigma = 0.03;
	struct orr_error err = { 0 };
	struct profile *pa = profile_of("a", a, 2), *pb = profile_of("b", b, 3), *p = profile_of("p", l, 3);
	const struct scale_check check = { pa, pb, &from, &to };
	struct profile *s = scale_profile(p, &to, &from, &check, &err);
	const struct law *memory = only(s, "memory"), *gemm = only(s, "gemm"), *update = only(s, "update");
	ok(memory && fabs(memory->held_out_median - 0.2) < 1e-3 && fabs(memory->held_out_mean - 0.2) < 1e-3 &&
			fabs(memory->held_out_p90 - 0.2) < 1e-3 && memory->held_out == SCALE_POINTS,
		"the error of scaling a to b is that of the scaled law: 20 %%");
	near_to(memory ? memory->sigma : 0, hypot(0.03, 0.2), 1e-3, "its spread includes the error of scaling");
	/* The product law of device a, scaled to b, has 2 us and 24 TFLOP/s; the law of b takes twice as long. The fp16 law on b's
	 * tensor cores is compared in fp32. */
	ok(gemm && fabs(gemm->held_out_median - 0.5) < 1e-3, "tensor cores that only one device has: the error of the kernel in fp32");
	ok(update && update->held_out == 0 && isnan(update->held_out_median) && update->sigma == 0,
		"a law that the pair does not have carries no error");
	ok(s && strstr(s->note, "from a to b"), "the note names the pair");
	profile_free(s);
	/* Both have tensor cores for fp16, so the comparison needs a's fp16 law, which is missing. */
	struct device modern = from;
	modern.peak_flops[PRECISION_FP16] = 20e12; /* four times the vector rate */
	const struct scale_check both = { pa, pb, &modern, &to };
	s = scale_profile(p, &to, &from, &both, &err);
	gemm = only(s, "gemm");
	ok(gemm && gemm->held_out == 0, "two devices with tensor cores are compared in fp16");
	profile_free(s);
	modern.peak_flops[PRECISION_FP16] = 19e12;
	s = scale_profile(p, &to, &from, &both, &err);
	gemm = only(s, "gemm");
	ok(gemm && gemm->held_out == SCALE_POINTS, "below four times the vector rate a device has no tensor cores");
	profile_free(s);
	profile_free(p);
	profile_free(pa);
	profile_free(pb);
}

/* ---- comparison ---- */

static void law_drop(struct law *l)
{
	mem_free(l->family);
	mem_free(l->op);
	mem_free(l->precision);
	mem_free(l->variant);
	mem_free(l->anchor);
}

/* One law takes 1 s at every size, so the ratios equal the times of the other law, which are the sizes. */
static void check_compare(void)
{
	struct law one = law_of("copy", "", "", FORM_LINE, (const double[]){ 1, INFINITY });
	struct law b = law_of("copy", "", "", FORM_LINE, (const double[]){ 0, 1 });
	double ratio[SCALE_POINTS], worst = 0;
	b.from[2] = 1, b.to[2] = 1e8;
	uint32_t n = law_compare(&one, &b, ratio);
	for (uint32_t i = 0; i < n; i++)
		worst = fmax(worst, fabs(ratio[i] / pow(10, i / 10.0) - 1));
	ok(n == SCALE_POINTS && worst < 1e-9, "one feature: 81 sizes, log-spaced over the range of the second law");
	b.from[2] = 0;
	n = law_compare(&one, &b, ratio);
	ok(n == SCALE_POINTS && fabs(ratio[0] / 100 - 1) < 1e-9 && fabs(ratio[80] / 1e8 - 1) < 1e-9,
		"a range from 0 starts at a millionth of its end");
	b.from[2] = b.to[2] = NAN;
	b.param[0] = 3;
	n = law_compare(&one, &b, ratio);
	ok(n == 1 && ratio[0] == 3, "no feature: one point");
	/* The grid has nine FLOPs by nine bytes, both powers of 3. A shape is compared if its FLOPs per byte are within a factor of 4
	 * of the anchor's: |i - k| <= 1. */
	struct law grid = law_of("gemm", "", "", FORM_ROOFLINE, (const double[]){ 0, 1, INFINITY, 1 });
	for (int i = 0; i < 2; i++)
		grid.from[i] = 1, grid.to[i] = 6561;
	grid.anchor = mem_zalloc(2, sizeof *grid.anchor);
	n = law_compare(&one, &grid, ratio);
	ok(n == 81 && fabs(ratio[0] - 1) < 1e-9 && fabs(ratio[8] - 1) < 1e-9 && fabs(ratio[9] / 3 - 1) < 1e-9 &&
			fabs(ratio[80] / 6561 - 1) < 1e-9,
		"two features: 9 x 9 shapes");
	grid.n_anchors = 1;
	grid.anchor[0].feature[0] = grid.anchor[0].feature[1] = 10;
	ok(law_compare(&one, &grid, ratio) == 25, "shapes far from the anchors' FLOPs per byte are left out");
	grid.n_anchors = 2;
	grid.anchor[1].feature[0] = 90;
	grid.anchor[1].feature[1] = 10;
	/* With FLOPs per byte from 1/4 to 36, the grid has the ratios 3^-1 to 3^3. */
	ok(law_compare(&one, &grid, ratio) == 9 + 8 + 8 + 7 + 6, "the anchors' FLOPs per byte are a range");
	law_drop(&one);
	law_drop(&b);
	law_drop(&grid);
}

int main(void)
{
	check_factor();
	check_laws();
	check_error();
	check_compare();
	return done();
}

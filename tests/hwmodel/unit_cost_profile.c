/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of layers by the laws of a profile. Expected values are computed here from layer sizes and law parameters. */
#include "hwmodel/cost.h"
#include "hwmodel/profile.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/rng.h"
#include "tests/tap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdlib.h>

/* A law with exponent 1 takes t0 + FLOPs / a + bytes / b. */
#define LAW(names, t0, a, b)                                                                                                            \
	"{\"form\": \"roofline\", \"points\": 10, " names ", \"parameters\": {\"time0_us\": " t0 ", " a "\"rate_GBps\": " b             \
	", \"exponent\": 1}, \"range\": {\"flops\": [0, 1e15], \"bytes\": [1, 1e12]}, \"held_out_error\": {\"mean\": 0.1, \"median\": " \
	"0.07, \"p90\": 0.2}}"
#define HEAD                                                                                                                    \
	"{\"schema\": 1, \"name\": \"known\", \"device\": \"none-such\", \"title\": \"t\", \"source\": \"made up\", \"date\": " \
	"\"2026-02-03\", "                                                                                                      \
	"\"backend\": \"synthetic\", \"stable\": true, \"measured_here\": false, \"note\": \"\", \"laws\": ["

static const char *const gemm = LAW("\"family\": \"gemm\", \"precision\": \"fp32\"", "10", "\"rate_GFLOPps\": 12000, ", "700");
static const char *const gemm16 = LAW("\"family\": \"gemm\", \"precision\": \"fp16\"", "8", "\"rate_GFLOPps\": 90000, ", "600");
static const char *const forward =
	LAW("\"family\": \"conv\", \"op\": \"forward\", \"precision\": \"fp32\"", "20", "\"rate_GFLOPps\": 11000, ", "650");
static const char *const data =
	LAW("\"family\": \"conv\", \"op\": \"data-gradient\", \"precision\": \"fp32\"", "30", "\"rate_GFLOPps\": 9000, ", "550");
static const char *const weight =
	LAW("\"family\": \"conv\", \"op\": \"weight-gradient\", \"precision\": \"fp32\"", "40", "\"rate_GFLOPps\": 7000, ", "450");
static const char *const pointwise = LAW(
	"\"family\": \"conv\", \"op\": \"forward\", \"precision\": \"fp32\", \"variant\": \"1x1\"", "5", "\"rate_GFLOPps\": 5000, ", "500");
static const char *const triad = LAW("\"family\": \"memory\", \"op\": \"triad\", \"precision\": \"fp32\"", "4", "", "740");
static const char *const norm = LAW("\"family\": \"memory\", \"op\": \"layer-norm\", \"precision\": \"fp32\"", "6", "", "500");
static const char *const adam = LAW("\"family\": \"update\", \"op\": \"adam\", \"precision\": \"fp32\"", "3", "", "600");

static struct profile *with(const char *const *law, size_t n)
{
	struct orr_error err = { 0 };
	struct sbuf b = { 0 };
	sbuf_puts(&b, HEAD);
	for (size_t i = 0; i < n; i++)
		sbuf_printf(&b, "%s%s", i ? ", " : "", law[i]);
	sbuf_puts(&b, "]}");
	struct profile *p = profile_parse("known.json", b.text, b.len, &err);
	if (!p)
		printf("# %s\n", err.text);
	sbuf_free(&b);
	return p;
}

static struct cost *costs(const struct dnn *d, const struct device *dev, struct cost_options o)
{
	struct orr_error err = { 0 };
	struct cost *c = cost_new(d, dev, &o, &err);
	if (!c)
		printf("Bail out! %s\n", err.text), exit(1);
	return c;
}

/* ---- sums of laws ---- */

static double linear(double us, double GFLOPps, double GBps, double flops, double bytes)
{
	return us * 1e-6 + flops / GFLOPps / 1e9 + bytes / GBps / 1e9;
}

/* docs/models/devices.md, "Compute times", the table of elements read and written; 4-byte elements. */
static double expected_resnet(const struct dnn *d, double b)
{
	double sum = 0;
	for (uint32_t i = 0; i < d->n_layers; i++) {
		const struct dnn_layer *l = &d->layer[i];
		double f = b * l->fwd_flops, bytes = 4 * (b * (l->in_elems + l->out_elems) + l->params), in = 4 * b * l->in_elems,
		       out = 4 * b * l->out_elems;
		switch (l->kind) {
		case ORR_LAYER_CONV:
			sum += linear(20, 11000, 650, f, bytes) + (i ? linear(30, 9000, 550, f, bytes) : 0) +
			       linear(40, 7000, 450, f, bytes);
			break;
		case ORR_LAYER_LINEAR:
			sum += 3 * linear(10, 12000, 700, f, 4 * (b * (l->in_elems + l->out_elems) + l->n * l->k));
			break;
		case ORR_LAYER_NORM: /* batch norm has no law, so it is timed as a streaming kernel */
			sum += linear(4, INFINITY, 740, 0, 2 * in + out) + linear(4, INFINITY, 740, 0, 3 * in + 2 * out);
			break;
		case ORR_LAYER_ACTIVATION:
		case ORR_LAYER_SOFTMAX:
			sum += linear(4, INFINITY, 740, 0, in + out) + linear(4, INFINITY, 740, 0, in + 2 * out);
			break;
		default:
			sum += 2 * linear(4, INFINITY, 740, 0, in + out);
		}
	}
	return sum;
}

static double step_s(const struct dnn *d, const struct cost *c, double batch)
{
	double sum = 0;
	for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
		sum += cost_range_s(c, 0, d->n_layers, (enum dnn_pass)pass, batch, 1, false);
	return sum;
}

static void check_sums(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("resnet50", &err);
	const char *const laws[] = { gemm, forward, data, weight, triad, adam };
	struct profile *p = with(laws, 6);
	if (!ok(d && p, "ResNet-50 and a profile of known laws %s", err.text))
		return;
	struct cost *c = costs(d, dev, (struct cost_options){ .profile = p });
	near_to(1e3 * step_s(d, c, 16), 1e3 * expected_resnet(d, 16), 1e-10, "a step is the sum of its kernels' laws");
	near_to(1e6 * cost_update_s(c, 25e6, 8), 1e6 * linear(3, INFINITY, 600, 0, 25e6 * 28), 1e-9,
		"Adam's update by its law: 28 bytes a parameter");
	near_to(1e6 * cost_update_s(c, 25e6, 0), 1e6 * linear(4, INFINITY, 740, 0, 25e6 * 12), 1e-9,
		"plain SGD has no law here and is timed as a streaming kernel");
	ok(strstr(cost_source(c, 16), "profile known (made up, 2026-02-03; median error 7 %, mean 10 %) for gemm, conv, memory, update "
				      "(its laws here: 7 %)") != NULL,
		"the source names profile, date, error, families");
	near_to(cost_profile_error(c), 0.07, 1e-12, "the error of the laws that are used");
	struct cost_coverage cover = { 0 };
	cost_cover(c, 16, 1, false, &cover);
	ok(cover.kernels > 300 && cover.by_law == cover.kernels && cover.outside == 0, "%llu kernels, all by laws, all in range",
		(unsigned long long)cover.kernels);
	cost_free(c);
	c = costs(d, dev, (struct cost_options){ .profile = p, .efficiency = 0.5 });
	ok(strstr(cost_source(c, 16), "for memory, update (its laws here: 7 %); the data sheet's roofline for gemm, conv, efficiency of "
				      "products set by cost.efficiency"),
		"a given efficiency puts products on the roofline");
	cost_free(c);
	profile_free(p);
	dnn_free(d);
}

/* ---- kernels without a law, kernels outside the range ---- */

/* A law of a class of filters excludes the law over all filters wherever it is in the list. */
static void check_order(const struct device *dev)
{
	struct dnn *d = dnn_load("resnet50", &(struct orr_error){ 0 });
	struct cost *sheet = costs(d, dev, (struct cost_options){ 0 });
	uint32_t i = 0;
	while (strcmp(d->layer[i].name, "layer1.0.conv1"))
		i++;
	for (int turn = 0; turn < 2; turn++) {
		const char *const laws[] = { turn ? forward : pointwise, turn ? pointwise : forward };
		struct profile *p = with(laws, 2);
		p->law[!turn].held_out_median = 0.31;
		struct cost *c = costs(d, dev, (struct cost_options){ .profile = p });
		ok(cost_layer_s(c, i + 3, DNN_FORWARD, 8, 1, false) == cost_layer_s(sheet, i + 3, DNN_FORWARD, 8, 1, false) &&
				cost_layer_s(c, i, DNN_FORWARD, 8, 1, false) != cost_layer_s(sheet, i, DNN_FORWARD, 8, 1, false),
			"a 1x1 law %s the law over all filters: a 3x3 filter uses the roofline", turn ? "after" : "before");
		cost_free(c);
		profile_free(p);
	}
	cost_free(sheet);
	dnn_free(d);
}

static void check_fallbacks(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("resnet50", &err);
	const char *const laws[] = { forward, pointwise };
	struct profile *p = with(laws, 2);
	uint32_t i = 0;
	while (strcmp(d->layer[i].name, "layer1.0.conv1"))
		i++;
	/* A filter size without a law takes the law over all filters, times the factor of its class, if the held-out error of this
	 * law is at most 30 %. */
	p->law[0].held_out_median = 0.3;
	struct cost *c = costs(d, dev, (struct cost_options){ .profile = p }), *sheet = costs(d, dev, (struct cost_options){ 0 });
	double by_sheet = cost_layer_s(sheet, i + 3, DNN_FORWARD, 8, 1, false);
	ok(cost_layer_s(c, i + 3, DNN_FORWARD, 8, 1, false) != by_sheet,
		"a 3x3 filter without a law uses the law over all filters, whose error is at most 30 %%");
	cost_free(c);
	p->law[0].held_out_median = 0.31;
	c = costs(d, dev, (struct cost_options){ .profile = p });
	const struct dnn_layer *one = &d->layer[i], *three = &d->layer[i + 3];
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, 8, 1, false),
		1e6 * linear(5, 5000, 500, 8 * one->fwd_flops, 4 * (8 * (one->in_elems + one->out_elems) + one->params)), 1e-9,
		"a 1x1 filter has its own law");
	ok(three->k == 576 && cost_layer_s(c, i + 3, DNN_FORWARD, 8, 1, false) == by_sheet,
		"a 3x3 filter without a law uses the roofline if the error of the law over all filters is above 30 %%");
	ok(cost_layer_s(c, i, DNN_BACKWARD_WEIGHT, 8, 1, false) == cost_layer_s(sheet, i, DNN_BACKWARD_WEIGHT, 8, 1, false),
		"the weight gradient of a 3x3 without a law uses the roofline");
	ok(strstr(cost_source(c, 8), "for conv (its laws here: 7 %); the data sheet's roofline for gemm, conv, memory, update"),
		"cost_source() lists kernels without a law");
	/* The range of the fit ends exactly at this kernel. */
	struct cost_coverage cover = { 0 };
	p->law[1].to[0] = 8 * one->fwd_flops;
	cost_cover(c, 8, 1, false, &cover);
	uint64_t bigger = 0, all = 0;
	for (uint32_t k = 0; k < d->n_layers; k++) {
		const struct dnn_layer *l = &d->layer[k];
		bool is_1x1 = l->kind == ORR_LAYER_CONV && l->k * l->m == l->in_elems;
		all += is_1x1;
		bigger += is_1x1 && l->fwd_flops > 1.01 * one->fwd_flops;
	}
	ok(cover.by_law == all && cover.outside == bigger && bigger > 0 && cover.outside_of[COST_CONV] == bigger &&
			!cover.outside_of[COST_GEMM],
		"kernels outside the range of their law are counted: %llu of %llu", (unsigned long long)cover.outside,
		(unsigned long long)cover.by_law);
	cost_free(c);
	c = costs(d, dev, (struct cost_options){ .precision = PRECISION_FP16, .profile = p });
	ok(strstr(cost_source(c, 8), "data sheet only: roofline of v100") &&
			strstr(cost_source(c, 8), "no law for these kernels in profile known"),
		"a precision that the profile lacks: datasheet only");
	ok(!strncmp(cost_source(sheet, 8), "data sheet only: roofline of v100 (", 34), "no profile: datasheet only");
	cost_free(c);
	cost_free(sheet);
	profile_free(p);
	dnn_free(d);
}

static void check_transformer(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("gpt:hidden=1024,layers=2,heads=16,seq=512,vocab=1000", &err);
	const char *const laws[] = { gemm16, triad, norm };
	struct profile *p = with(laws, 3);
	struct cost *c = costs(d, dev, (struct cost_options){ .precision = PRECISION_FP16, .profile = p });
	uint32_t i;
	const double t = 4 * 512, h = 1024, scores = 16.0 * 512 * 512 * 4;
	for (i = 0; strcmp(d->layer[i].name, "h1.mlp_up"); i++)
		;
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, 4, 2, false),
		1e6 * linear(8, 90000, 600, 2 * t * h * 4 * h / 2, 2 * (t * h + 4 * t * h / 2 + 4 * h * h / 2)), 1e-9,
		"half the columns of a product: the law at half the FLOPs");
	for (i = 0; strcmp(d->layer[i].name, "h1.attn_scores"); i++)
		;
	near_to(1e6 * cost_layer_s(c, i, DNN_BACKWARD_DATA, 4, 1, false),
		1e6 * linear(16, 90000, 600, 2 * 2 * scores * 64, 2 * (2 * 2 * t * h + scores)), 1e-9,
		"two gradients of scores are two kernels");
	for (i = 0; strcmp(d->layer[i].name, "h1.ln1"); i++)
		;
	near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, 4, 1, false), 1e6 * linear(6, INFINITY, 500, 0, 2 * 2 * t * h), 1e-9,
		"a layer norm by its own law, in bytes of any precision");
	cost_free(c);
	if (dev->peak_flops[PRECISION_BF16] == 0) {
		struct device *a100 = device_load("a100", &err);
		c = costs(d, a100, (struct cost_options){ .precision = PRECISION_BF16, .profile = p });
		for (i = 0; strcmp(d->layer[i].name, "h1.mlp_up"); i++)
			;
		near_to(1e6 * cost_layer_s(c, i, DNN_FORWARD, 4, 2, false),
			1e6 * linear(8, 90000, 600, 2 * t * h * 4 * h / 2, 2 * (t * h + 4 * t * h / 2 + 4 * h * h / 2)), 1e-9,
			"bf16 runs at the rate of fp16");
		cost_free(c);
		device_free(a100);
	}
	profile_free(p);
	dnn_free(d);
}

/* ---- draws ---- */

enum { DRAWS = 100 };

static double normal(struct rng *r)
{
	return gsl_cdf_ugaussian_Pinv(rng_uniform_pos(r));
}

static double drawn_step(const struct dnn *d, const struct device *dev, const struct profile *p, uint32_t sample, uint64_t seed)
{
	struct cost *c = costs(d, dev, (struct cost_options){ .profile = p, .sample = sample, .seed = seed });
	double t = step_s(d, c, 64);
	cost_free(c);
	return t;
}

/* Tests the interval of drawn profiles: the parameters deviate from the truth by their covariance, and the interval must contain the
 * true time in 95 of 100 cases. */
static void check_interval(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("lenet5", &err);
	const char *const laws[] = { gemm, forward, data, weight, triad };
	struct profile *truth = with(laws, 5), *fit = with(laws, 5);
	int trials = getenv("ORR_SANITIZED") ? 40 : 200, inside = 0;
	struct cost *c = costs(d, dev, (struct cost_options){ .profile = truth });
	double right = step_s(d, c, 64), v[DRAWS];
	struct rng r;
	rng_init(&r, 11, "test-fits", 0);
	for (int trial = 0; trial < trials; trial++) {
		for (size_t i = 0; i < fit->n_laws; i++) {
			/* The logarithms of t0 and of the FLOP rate have standard deviations of 0.1 and 0.2 and a correlation of 0.5. */
			double a = normal(&r), b = normal(&r);
			struct law *l = &fit->law[i];
			l->covariance[0][0] = 0.01;
			l->covariance[0][1] = l->covariance[1][0] = 0.01;
			l->covariance[1][1] = 0.04;
			l->param[0] = truth->law[i].param[0] * exp(0.1 * a);
			l->param[1] = truth->law[i].param[1] * exp(0.2 * (0.5 * a + sqrt(0.75) * b));
		}
		for (uint32_t k = 0; k < DRAWS; k++)
			v[k] = drawn_step(d, dev, fit, k + 1, (uint64_t)trial);
		gsl_sort(v, 1, DRAWS);
		inside += gsl_stats_quantile_from_sorted_data(v, 1, DRAWS, 0.025) <= right &&
			  right <= gsl_stats_quantile_from_sorted_data(v, 1, DRAWS, 0.975);
	}
	/* The share of 200 intervals that contain the truth is binomial: 0.95 +- 3 x 0.0154. Quantiles of 100 draws lower it by 1 to
	 * 2 %. */
	double share = (double)inside / trials;
	ok(share >= (trials < 200 ? 0.8 : 0.885) && share <= 0.995, "intervals of draws contain the true value in %.1f %% of %d fits",
		100 * share, trials);
	cost_free(c);
	profile_free(truth);
	profile_free(fit);
	dnn_free(d);
}

/* Tests that residuals, which are independent per shape, average out in a sum. For small sigma, the relative standard deviation is
 * sigma sqrt(sum t^2) / sum t. */
static void check_residuals(const struct device *dev)
{
	struct orr_error err = { 0 };
	struct dnn *d = dnn_load("vgg16", &err);
	const char *const laws[] = { gemm, forward, data, weight, triad };
	struct profile *p = with(laws, 5);
	struct cost *c = costs(d, dev, (struct cost_options){ .profile = p });
	double squares = 0, sum = step_s(d, c, 64);
	enum { N = 400 };
	double v[N];
	for (size_t i = 0; i < p->n_laws; i++)
		p->law[i].sigma = 0.05;
	for (uint32_t i = 0; i < d->n_layers; i++)
		for (int pass = 0; pass < 3; pass++) { /* layers of one size have the same residual, so their times are added */
			double t = 0;
			bool is_first = true;
			for (uint32_t k = 0; k < d->n_layers; k++) {
				const struct dnn_layer *a = &d->layer[i], *b = &d->layer[k];
				bool is_same = a->kind == b->kind && a->fwd_flops == b->fwd_flops && a->in_elems == b->in_elems &&
					       a->out_elems == b->out_elems && a->params == b->params;
				is_first &= !(is_same && k < i);
				t += is_same ? cost_layer_s(c, k, (enum dnn_pass)pass, 64, 1, false) : 0;
			}
			squares += is_first ? t * t : 0;
		}
	for (uint32_t k = 0; k < N; k++)
		v[k] = drawn_step(d, dev, p, k + 1, 3);
	double sd = gsl_stats_sd(v, 1, N) / sum, want = 0.05 * sqrt(squares) / sum;
	/* The standard deviation of 400 draws has a standard error of 3.5 %. Gradients and additions of equal bytes also share a
	 * residual, which the expected value omits. */
	ok(fabs(sd / want - 1) < 0.15, "the spread of a sum of residuals: %.3f %%, expected %.3f %%", 100 * sd, 100 * want);
	ok(drawn_step(d, dev, p, 7, 3) == v[6] && drawn_step(d, dev, p, 7, 4) != v[6] && v[6] != v[7],
		"draws depend only on the seed and the number of the draw");
	const char *const more[] = { adam, norm, gemm, forward, data, weight, triad };
	struct profile *q = with(more, 7);
	for (size_t i = 0; i < q->n_laws; i++)
		q->law[i].sigma = 0.05;
	ok(drawn_step(d, dev, q, 7, 3) == v[6], "an additional law does not change the draws of the others");
	profile_free(q);
	profile_free(p);
	cost_free(c);
	dnn_free(d);
}

int main(void)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load("v100", &err);
	if (!ok(dev != NULL, "a device %s", err.text))
		return done();
	check_sums(dev);
	check_order(dev);
	check_fallbacks(dev);
	check_transformer(dev);
	check_interval(dev);
	check_residuals(dev);
	device_free(dev);
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed of a device relative to another over the models of the catalogue (hwmodel/model_rates.h): compared with the same
 * quantity computed here layer by layer, and with published steps/s of the same workloads on two devices.
 */
#include "hwmodel/model_rates.h"
#include "hwmodel/profile.h"

#include "tests/tap.h"

#include <stdlib.h>

struct pair {
	struct device *device[2]; /* the device, and the reference device */
	struct profile *profile[2];
	enum precision precision;
};

static struct pair pair_open(const char *device, const char *reference, const char *precision)
{
	struct orr_error err = { 0 };
	struct pair p = { .device = { device_load(device, &err), device_load(reference, &err) } };
	for (int i = 0; i < 2; i++) {
		const char *name = profile_for_device(p.device[i]->profile_of);
		p.profile[i] = name ? profile_load(name, &err) : NULL;
	}
	ok(precision_named(precision, &p.precision) && !err.code, "%s and %s are loaded %s", device, reference, err.text);
	return p;
}

static void pair_close(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		device_free(p->device[i]);
		profile_free(p->profile[i]);
	}
}

static struct model_rates *rates_of(const struct pair *p, double batch, uint32_t sample)
{
	struct orr_error err = { 0 };
	struct model_rates_device one = { p->device[0], p->profile[0] };
	struct model_rates_config c = { .reference = { p->device[1], p->profile[1] },
		.device = &one,
		.n_devices = 1,
		.precision = p->precision,
		.batch = batch,
		.sample = sample,
		.seed = 7 };
	struct model_rates *r = model_rates_new(&c, &err);
	ok(r != NULL, "rates are computed %s", err.text);
	return r;
}

/* ---- the definition, computed here ---- */

static double step_s(const struct dnn *m, const struct device *d, const struct profile *p, enum precision precision, double batch)
{
	struct orr_error err = { 0 };
	struct cost_options o = { .precision = precision, .profile = p };
	struct cost *c = cost_new(m, d, &o, &err);
	double s = 0;
	for (uint32_t l = 0; l < m->n_layers; l++)
		s += cost_layer_s(c, l, DNN_FORWARD, batch, 1, false) + cost_layer_s(c, l, DNN_BACKWARD_DATA, batch, 1, false) +
		     cost_layer_s(c, l, DNN_BACKWARD_WEIGHT, batch, 1, false);
	s += cost_update_s(c, m->params, 0);
	cost_free(c);
	return s;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void check_definition(const char *device, const char *reference, const char *precision, double batch)
{
	struct pair p = pair_open(device, reference, precision);
	struct model_rates *r = rates_of(&p, batch, 0);
	double product = 0, of[256];
	uint32_t n = 0;
	const char *name;
	struct orr_error err = { 0 };
	struct device *gb300 = device_load("gb300", &err);
	double largest = gb300->memory_bytes;
	device_free(gb300);
	for (size_t i = 0; (name = dnn_catalogue(i)); i++) {
		struct dnn *m = dnn_load(name, &err);
		/* The model must fit in the largest memory (GB300) with Adam. A graph network has no step with a number of samples. */
		if (m->graph.vertices <= 0 && m->params <= largest / 16) {
			of[n] = step_s(m, p.device[1], p.profile[1], p.precision, batch) /
				step_s(m, p.device[0], p.profile[0], p.precision, batch);
			product += log(of[n]);
			if (model_rates_find(r, name) != n || fabs(model_rates_of(r, n, 0) / of[n] - 1) > 1e-12)
				ok(false, "%s: %.17g, computed here %.17g", name, model_rates_of(r, n, 0), of[n]);
			n++;
		}
		dnn_free(m);
	}
	ok(n == model_rates_models(r) && n > 30, "%u models", n);
	near_to(model_rates_mean(r, 0), exp(product / n), 1e-12, "the geometric mean");
	qsort(of, n, sizeof *of, ascending);
	near_to(model_rates_quantile(r, 0, 0), of[0], 1e-12, "the smallest");
	near_to(model_rates_quantile(r, 0, 1), of[n - 1], 1e-12, "the largest");
	double at = 0.1 * (n - 1);
	near_to(model_rates_quantile(r, 0, 0.1), of[(int)at] + (at - floor(at)) * (of[(int)at + 1] - of[(int)at]), 1e-12, "a quantile");
	model_rates_free(r);
	pair_close(&p);
}

static void check_properties(void)
{
	struct pair p = pair_open("h100", "v100", "fp16"), q = pair_open("v100", "h100", "fp16");
	struct model_rates *r = rates_of(&p, 32, 0), *s = rates_of(&q, 32, 0), *drawn = rates_of(&p, 32, 3);
	near_to(model_rates_mean(r, 0) * model_rates_mean(s, 0), 1, 1e-12, "the inverse in the other direction");
	ok(model_rates_find(r, "ResNet-50") == model_rates_find(r, "resnet50") && model_rates_find(r, "no-such") == MODEL_RATES_NONE &&
			model_rates_find(r, "gpt3") == MODEL_RATES_NONE,
		"models by their names; those that no GPU holds are left out");
	ok(fabs(model_rates_mean(drawn, 0) / model_rates_mean(r, 0) - 1) > 1e-6, "drawn laws give another mean");
	model_rates_free(r);
	model_rates_free(s);
	model_rates_free(drawn);
	pair_close(&p);
	pair_close(&q);
	struct orr_error err = { 0 };
	struct pair old = pair_open("k80", "v100", "fp16");
	struct model_rates_device one = { old.device[0], old.profile[0] };
	struct model_rates_config c = {
		.reference = { old.device[1], NULL }, .device = &one, .n_devices = 1, .precision = PRECISION_BF16, .batch = 1
	};
	ok(!model_rates_new(&c, &err) && strstr(err.text, "has no bf16"), "a precision that a device lacks: %s", err.text);
	pair_close(&old);
}

/* ---- published steps/s ---- */

enum { MOST = 64 };

struct published {
	char what[MOST][96];
	double on[2][MOST]; /* rates on the device and on the reference; 0: not published */
	int n;
};

static void add(struct published *x, const char *what, int side, double rate)
{
	int i = 0;
	while (i < x->n && strcmp(x->what[i], what) != 0)
		i++;
	if (i == MOST)
		return;
	if (i == x->n)
		snprintf(x->what[x->n++], sizeof x->what[0], "%s", what);
	if (x->on[side][i] == 0)
		x->on[side][i] = rate;
}

/* Reads chosen columns of a CSV without quotes. */
static int split(char *line, char *field[16])
{
	int n = 0;
	line[strcspn(line, "\r\n")] = '\0';
	for (char *s = line; s && n < 16; n++) {
		field[n] = s;
		if ((s = strchr(s, ',')))
			*s++ = '\0';
	}
	return n;
}

static FILE *open_table(const char *file)
{
	char path[512];
	snprintf(path, sizeof path, "%s/measured/%s", getenv("ORRERY_DATA_PATH") ? getenv("ORRERY_DATA_PATH") : "", file);
	FILE *f = fopen(path, "r");
	if (!f)
		skip("no published steps here (ORRERY_DATA_PATH)");
	return f;
}

/* Compares the geometric mean of the ratios with the class mean, within `bound`. */
static void compare(const struct published *x, const char *device, const char *reference, const char *precision, int least, double bound)
{
	struct pair p = pair_open(device, reference, precision);
	struct model_rates *r = rates_of(&p, 32, 0);
	double logs = 0, low = INFINITY, high = 0;
	int n = 0;
	for (int i = 0; i < x->n; i++)
		if (x->on[0][i] > 0 && x->on[1][i] > 0) {
			double ratio = x->on[0][i] / x->on[1][i];
			logs += log(ratio);
			low = fmin(low, ratio);
			high = fmax(high, ratio);
			n++;
		}
	double measured = exp(logs / (n ? n : 1)), class = model_rates_mean(r, 0);
	printf("# %s/%s %s: class mean %.3f (10 to 90 %%: %.3f to %.3f); published %.3f over %d workloads (%.3f to %.3f): %+.1f %%\n",
		device, reference, precision, class, model_rates_quantile(r, 0, 0.1), model_rates_quantile(r, 0, 0.9), measured, n, low,
		high, 100 * (class / measured - 1));
	ok(n >= least && fabs(class / measured - 1) <= bound, "%s/%s %s: within %.0f %% of the published mean", device, reference,
		precision, 100 * bound);
	model_rates_free(r);
	pair_close(&p);
}

/* Compares with Gavel's tables for one worker. */
static void check_gavel(void)
{
	char line[512], *field[16], what[96];
	struct published x = { .n = 0 };
	FILE *f = open_table("gavel_job_throughputs.csv");
	if (!f)
		return;
	while (fgets(line, sizeof line, f))
		if (split(line, field) == 6 && !strcmp(field[0], "physical") && !strcmp(field[4], "1")) {
			snprintf(what, sizeof what, "%.40s %.40s", field[2], field[3]);
			if (!strcmp(field[1], "k80") || !strcmp(field[1], "v100"))
				add(&x, what, !strcmp(field[1], "v100"), strtod(field[5], NULL));
		}
	fclose(f);
	compare(&x, "k80", "v100", "fp32", 20, 0.25);
}

/* Compares with Lambda's runs of NVIDIA's DeepLearningExamples: mixed precision, one GPU, each device at its own largest batch. */
static void check_lambda(const char *device, const char *system, const char *reference, const char *reference_system, double bound)
{
	char line[512], *field[16];
	struct published x = { .n = 0 };
	FILE *f = open_table("lambda_pytorch.csv");
	if (!f)
		return;
	while (fgets(line, sizeof line, f))
		if (split(line, field) == 7 && !strcmp(field[0], "v1") && strtod(field[2], NULL) == 1 && !strcmp(field[4], "fp16")) {
			if (!strcmp(field[1], system) || !strcmp(field[1], reference_system))
				add(&x, field[3], !strcmp(field[1], reference_system), strtod(field[6], NULL));
		}
	fclose(f);
	compare(&x, device, reference, "fp16", 8, bound);
}

/* Compares with tf_cnn_benchmarks in fp32: P100 of 2017 (TensorFlow 1.1), V100 of 2020 (TensorFlow 1.15). */
static void check_tf(void)
{
	static const char *const names[][2] = { { "InceptionV3", "inception3" }, { "ResNet-50", "resnet50" }, { "AlexNet", "alexnet" } };
	char line[512], *field[16];
	struct published x = { .n = 0 };
	FILE *f = open_table("tf_benchmarks_2017.csv"), *g = f ? open_table("lambda_tf_cnn.csv") : NULL;
	while (g && fgets(line, sizeof line, f))
		if (split(line, field) == 7 && !strcmp(field[1], "P100") && !strcmp(field[4], "1") && !strcmp(field[5], "synthetic"))
			add(&x, field[2], 0, strtod(field[6], NULL));
	while (g && fgets(line, sizeof line, g))
		if (split(line, field) == 6 && !strcmp(field[0], "V100 32GB") && !strcmp(field[1], "1") && !strcmp(field[3], "fp32"))
			for (int i = 0; i < 3; i++)
				if (!strcmp(field[2], names[i][1]))
					add(&x, names[i][0], 1, strtod(field[5], NULL));
	if (f)
		fclose(f);
	if (g)
		fclose(g);
	if (g)
		compare(&x, "p100", "v100", "fp32", 3, 0.30);
}

int main(void)
{
	check_definition("k80", "v100", "fp32", 32);
	check_definition("h100", "v100", "fp16", 64);
	check_definition("t4", "a100", "fp32", 8);
	check_properties();
	check_gavel();
	check_tf();
	check_lambda("a100-80g", "A100 80GB SXM4", "v100", "LambdaCloud V100 16GB", 0.30);
	check_lambda("h100", "H100 80GB SXM5", "a100-80g", "A100 80GB SXM4", 0.45);
	check_lambda("h100", "H100 80GB SXM5", "v100", "LambdaCloud V100 16GB", 0.30);
	return done();
}

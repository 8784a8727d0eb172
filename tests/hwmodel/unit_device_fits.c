/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Refits the efficiencies in hwmodel/devices to the published kernel times that they cite: linear layers of microsoft/vidur 7d47513,
 * products and convolutions of Baidu's DeepBench da81ba7.
 *
 * Products follow t = t0 + FLOPs / (share x peak) [+ x bytes / (achieved bandwidth)]. The fit minimises the squared relative errors
 * over the products that are compute-bound by the data sheet. All-reduces are refitted to published tables of nccl-tests.
 */
#include "hwmodel/device.h"

#include "tests/tap.h"

#include <gsl/gsl_multifit.h>
#include <stdlib.h>

/* ---- CSV ---- */

enum { MAX_FIELDS = 40, MAX_KERNELS = 4000 };

/* Splits the line in place; commas in quotes are text. */
static int split(char *line, char *field[MAX_FIELDS])
{
	int n = 0;
	bool is_quoted = false;
	field[n++] = line;
	char *out = line;
	for (char *c = line; *c && *c != '\n' && *c != '\r'; c++) {
		if (*c == '"') {
			is_quoted = !is_quoted;
		} else if (*c == ',' && !is_quoted && n < MAX_FIELDS) {
			*out++ = '\0';
			field[n++] = out;
		} else {
			*out++ = *c;
		}
	}
	*out = '\0';
	return n;
}

struct table {
	FILE *f;
	char header[2048], line[2048];
	char *name[MAX_FIELDS], *field[MAX_FIELDS];
	int n;
};

static bool open_table(struct table *t, const char *file)
{
	char path[4096];
	const char *folder = getenv("ORRERY_DATA_PATH");
	snprintf(path, sizeof path, "%s/measured/%s", folder ? folder : ".", file);
	t->f = folder ? fopen(path, "r") : NULL;
	if (!t->f || !fgets(t->header, sizeof t->header, t->f))
		return false;
	t->n = split(t->header, t->name);
	return true;
}

/* Reads the next row, which has at least the fields of the header. */
static bool next_row(struct table *t)
{
	while (fgets(t->line, sizeof t->line, t->f))
		if (split(t->line, t->field) == t->n)
			return true;
	fclose(t->f);
	return false;
}

static const char *text(const struct table *t, const char *name)
{
	for (int i = 0; i < t->n; i++)
		if (!strcmp(t->name[i], name))
			return t->field[i];
	return "";
}

static double number(const struct table *t, const char *name)
{
	return atof(text(t, name));
}

/* ---- products ---- */

struct kernel {
	double flops, bytes, seconds;
};
static struct kernel kernels[MAX_KERNELS];
static int n_kernels;

static void add(double m, double n, double k, double element_bytes, double seconds, double peak, double Bps)
{
	struct kernel x = { 2 * m * n * k, element_bytes * (m * n + n * k + m * k), seconds };
	if (seconds > 0 && x.flops / peak > x.bytes / Bps && n_kernels < MAX_KERNELS)
		kernels[n_kernels++] = x;
}

/* Fits c[0] + c[1] FLOPs (+ c[2] bytes). Returns the mean absolute relative error. */
static double fit(int terms, double c[3])
{
	size_t n = (size_t)n_kernels, p = (size_t)terms;
	gsl_matrix *x = gsl_matrix_alloc(n, p), *cov = gsl_matrix_alloc(p, p);
	gsl_vector *y = gsl_vector_alloc(n), *w = gsl_vector_alloc(n), *v = gsl_vector_alloc(p);
	gsl_multifit_linear_workspace *space = gsl_multifit_linear_alloc(n, p);
	double chisq, error = 0;
	for (size_t i = 0; i < n; i++) {
		const double term[] = { 1, kernels[i].flops, kernels[i].bytes };
		for (size_t k = 0; k < p; k++)
			gsl_matrix_set(x, i, k, term[k]);
		gsl_vector_set(y, i, kernels[i].seconds);
		gsl_vector_set(w, i, 1 / (kernels[i].seconds * kernels[i].seconds));
	}
	gsl_multifit_wlinear(x, w, y, v, cov, &chisq, space);
	for (int k = 0; k < 3; k++)
		c[k] = k < terms ? gsl_vector_get(v, (size_t)k) : 0;
	for (size_t i = 0; i < n; i++)
		error += fabs((c[0] + c[1] * kernels[i].flops + c[2] * kernels[i].bytes) / kernels[i].seconds - 1);
	gsl_multifit_linear_free(space);
	gsl_matrix_free(x);
	gsl_matrix_free(cov);
	gsl_vector_free(y);
	gsl_vector_free(w);
	gsl_vector_free(v);
	return error / (double)n;
}

/* Checks that the values in the device's file are those of the fit, rounded. The term in bytes is used if it lowers the mean error by
 * at least a tenth. host_s: part of t0 that is the launch, because DeepBench measures on the host. */
static void check_products(const struct device *d, const char *whose, enum precision p, double peak, double host_s, bool is_ramp)
{
	double two[3], three[3];
	double error_two = fit(2, two), error_three = fit(3, three);
	bool has_three = error_three <= 0.9 * error_two;
	const double *c = has_three ? three : two;
	double share = 1 / c[1] / peak, Bps = d->memory_Bps * d->memory_efficiency;
	printf("# %s %s: %d products; t0 %.1f us, %.3f of the peak, error %.1f %%; with bytes: t0 %.1f us, %.3f, x %.2f, error %.1f %%\n",
		whose, precision_name(p), n_kernels, two[0] * 1e6, 1 / two[1] / peak, 100 * error_two, three[0] * 1e6, 1 / three[1] / peak,
		three[2] * Bps, 100 * error_three);
	ok(fabs(d->gemm_efficiency[p] * d->peak_flops[p] / (share * peak) - 1) < 0.01, "%s: %s products reach %.3f of the peak", d->name,
		precision_name(p), share);
	ok(fabs(d->gemm_exposed_memory - (has_three ? c[2] * Bps : 0)) < 0.01, "%s: share of the memory time that is exposed: %.2f",
		d->name, d->gemm_exposed_memory);
	if (is_ramp)
		ok(fabs(device_ramp_s(d) - (c[0] - host_s)) < 0.3e-6, "%s: a product takes %.1f us in addition to its FLOPs", d->name,
			(c[0] - host_s) * 1e6);
	n_kernels = 0;
}

/* Compares a linear layer of a model, split over tp devices. */
static void check_vidur(const char *device, const char *name, double peak, double Bps)
{
	struct orr_error err = { 0 };
	struct table t;
	struct device *d = device_load(name, &err);
	if (!open_table(&t, "vidur_mlp_ops.csv")) {
		device_free(d);
		return;
	}
	while (next_row(&t)) {
		if (strcmp(text(&t, "device"), device))
			continue;
		double tp = number(&t, "tp"), h = number(&t, "n_embd"), ffn = number(&t, "n_ffn"), heads = number(&t, "n_head");
		double kv = number(&t, "n_kv_head"), ups = strcmp(text(&t, "gated"), "True") ? 1 : 2, m = number(&t, "num_tokens");
		const struct {
			const char *op;
			double n, k;
		} shape[] = { { "attn_pre_proj", (heads + 2 * kv) * h / heads / tp, h }, { "attn_post_proj", h, h / tp },
			{ "mlp_up_proj", ups * ffn / tp, h }, { "mlp_down_proj", h, ffn / tp } };
		for (int i = 0; i < 4; i++)
			if (!strcmp(text(&t, "op"), shape[i].op))
				add(m, shape[i].n, shape[i].k, 2, number(&t, "median_ms") / 1e3, peak, Bps);
	}
	check_products(d, device, PRECISION_FP16, peak, 0, true);
	device_free(d);
}

/* ---- DeepBench ---- */

static const char *shape_of(const struct table *t)
{
	double s = number(t, "s"), r = number(t, "r"), stride = fmax(number(t, "stride_w"), number(t, "stride_h"));
	return s == 1 && r == 1 ? "1x1" : s == 3 && r == 3 && stride == 1 ? "3x3" : "other";
}

static void check_deepbench(const char *file, const char *name, enum precision p, double peak, bool has_convs, bool is_ramp)
{
	static const char *const shapes[CONV_SHAPES] = { "1x1", "3x3", "other" }, *const passes[] = { "fwd", "bwd_data", "bwd_weight" };
	double flops[CONV_SHAPES][3] = { { 0 } }, seconds[CONV_SHAPES][3] = { { 0 } };
	struct orr_error err = { 0 };
	struct table t;
	struct device *d = device_load(name, &err);
	if (!open_table(&t, file)) {
		device_free(d);
		return;
	}
	while (next_row(&t)) {
		double s = number(&t, "time_ms") / 1e3;
		if (strcmp(text(&t, "suite"), "train") || (strcmp(text(&t, "precision"), "Float") == 0) != (p == PRECISION_FP32) || s <= 0)
			continue;
		if (!strcmp(text(&t, "op"), "gemm"))
			add(number(&t, "m"), number(&t, "n"), number(&t, "k"), p == PRECISION_FP32 ? 4 : 2, s, peak, d->memory_Bps);
		for (int i = 0; !strcmp(text(&t, "op"), "conv") && i < CONV_SHAPES * 3; i++)
			if (!strcmp(shape_of(&t), shapes[i / 3]) && !strcmp(text(&t, "pass"), passes[i % 3])) {
				flops[i / 3][i % 3] += number(&t, "flops");
				seconds[i / 3][i % 3] += s;
			}
	}
	check_products(d, file, p, peak, d->launch_s, is_ramp);
	bool is_right = true;
	for (int i = 0; i < CONV_SHAPES * 3; i++)
		is_right &= fabs(flops[i / 3][i % 3] / seconds[i / 3][i % 3] / peak - d->conv_share[p][i / 3][i % 3]) < 0.0051;
	if (has_convs)
		ok(is_right, "%s: %s convolutions: FLOPs of all over time of all, by shape and pass", name, precision_name(p));
	device_free(d);
}

/* ---- NCCL: latency + 2(n-1)/n bytes / bandwidth + a term with the square root of the bytes, for at least 64 KiB ---- */

static void check_law(const char *name, const char *source)
{
	struct orr_error err = { 0 };
	struct table t;
	struct device *d = device_load(name, &err);
	if (!open_table(&t, "nccl_published.csv")) {
		device_free(d);
		return;
	}
	while (next_row(&t))
		if (strstr(text(&t, "source"), source) && !strcmp(text(&t, "op"), "allreduce") && number(&t, "bytes") >= 65536)
			kernels[n_kernels++] =
				(struct kernel){ number(&t, "bytes"), sqrt(number(&t, "bytes")), number(&t, "oop_time_us") / 1e6 };
	double c[3], error = fit(3, c);
	printf("# %s: %d all-reduces of 8: %.1f us, %.1f GB/s, %.1f us per root of a MB, error %.1f %%\n", name, n_kernels, c[0] * 1e6,
		1.75 / c[1] / 1e9, c[2] * 1e9, 100 * error);
	ok(fabs(d->law_latency_s - c[0]) < 0.1e-6 && fabs(d->law_Bps * c[1] / 1.75 - 1) < 0.001 && fabs(d->law_sqrt_s - c[2]) < 0.1e-9,
		"%s: the law of an all-reduce is NCCL's, fitted", name);
	n_kernels = 0;
	device_free(d);
}

int main(void)
{
	struct table t;
	if (!open_table(&t, "vidur_mlp_ops.csv")) {
		skip("no published kernel times here (ORRERY_DATA_PATH)");
		return done();
	}
	fclose(t.f);
	check_vidur("a100", "a100-80g", 312e12, 2039e9);
	check_vidur("h100", "h100", 989e12, 3350e9);
	check_deepbench("deepbench_NV_V100.csv", "v100", PRECISION_FP16, 125e12, true, true);
	check_deepbench("deepbench_NV_V100.csv", "v100", PRECISION_FP32, 15.7e12, true, false); /* the file's ramp was fitted in fp16 */
	check_deepbench("deepbench_NV_P100.csv", "p100", PRECISION_FP32, 10.6e12, true, true);
	check_deepbench("deepbench_NV_1080Ti.csv", "1080ti", PRECISION_FP32, 11.3e12, true, true);
	check_deepbench("deepbench_NV_M40.csv", "m40", PRECISION_FP32, 6.8e12, true, true);
	check_deepbench("deepbench_NV_TitanX_Maxwell.csv", "titanx-maxwell", PRECISION_FP32, 6.6e12, true, true);
	check_law("a100-80g", "nccl_allreduce.log");
	check_law("v100", "41793431922");
	return done();
}

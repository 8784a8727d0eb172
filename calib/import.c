/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/import.h"

#include "calib/csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

struct row {
	const struct csv *c;
	struct orr_error *err;
	int rc; /* code of the first error; after it, numbers read as 1 */
};

static double number(struct row *r, const char *name)
{
	double v = 1;
	if (!r->rc)
		r->rc = csv_real(r->c, name, 0, 1e15, NAN, &v, r->err);
	return r->rc ? 1 : v;
}

static bool is_text(const struct row *r, const char *name, const char *wanted)
{
	return !strcmp(csv_text(r->c, name), wanted);
}

static void set(char *out, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);
	memcpy(out, text, n);
	out[n] = '\0';
}

static void set_names(struct point *x, const char *family, const char *op, const char *precision)
{
	set(x->family, sizeof x->family, family);
	set(x->op, sizeof x->op, op);
	set(x->precision, sizeof x->precision, precision);
}

/* ---- DeepBench ---- */

static void set_gemm(struct point *x, double m, double n, double k, double element_bytes)
{
	const double d[] = { m, n, k, 1 };
	memcpy(x->d, d, sizeof d);
	x->flops = 2 * m * n * k;
	x->bytes = element_bytes * (m * n + n * k + m * k);
}

/* Returns the class by algorithm: Winograd computes 3x3 of stride 1; a strided 1x1 skips most of its input. */
static const char *filter_class(double r, double s, double stride)
{
	if (r == 1 && s == 1)
		return stride == 1 ? "1x1" : "1x1 strided";
	return stride > 1 ? "strided" : r == 3 && s == 3 ? "3x3 s1" : "large";
}

static bool set_conv(struct row *r, struct point *x, double element_bytes)
{
	const char *pass = csv_text(r->c, "pass");
	const char *op = !strcmp(pass, "fwd") ? "forward" : !strcmp(pass, "bwd_data") ? "data-gradient" : "weight-gradient";
	double w = number(r, "w"), h = number(r, "h"), c = number(r, "c"), n = number(r, "batch"), k = number(r, "filters");
	double fs = number(r, "s"), fr = number(r, "r"), stride = fmax(number(r, "stride_w"), number(r, "stride_h"));
	double out = number(r, "out_w") * number(r, "out_h");
	const double d[] = { n, c, h, w, k, fr };
	memcpy(x->d, d, sizeof d);
	set_names(x, "conv", op, "");
	set(x->variant, sizeof x->variant, filter_class(fr, fs, stride));
	x->flops = 2 * k * c * fs * fr * out * n;
	x->bytes = element_bytes * (w * h * c * n + k * out * n + k * c * fs * fr);
	return true;
}

static bool deepbench(struct row *r, struct point *x)
{
	bool is_float = is_text(r, "precision", "Float"), is_half = !strncmp(csv_text(r->c, "precision"), "16 bit inputs", 13);
	double element_bytes = is_float ? 4 : 2;
	if (!is_text(r, "suite", "train") || (!is_float && !is_half) || !*csv_text(r->c, "time_ms"))
		return false;
	if (is_text(r, "op", "gemm")) {
		set_names(x, "gemm", "", "");
		set_gemm(x, number(r, "m"), number(r, "n"), number(r, "k"), element_bytes);
	} else if (!is_text(r, "op", "conv") || !set_conv(r, x, element_bytes)) {
		return false;
	}
	set(x->precision, sizeof x->precision, is_float ? "fp32" : "fp16");
	x->time_s = number(r, "time_ms") * 1e-3;
	return true;
}

/* ---- vidur: one block of a transformer, split over tp devices ---- */

static bool set_linear(const char *op, struct point *x, double m, double h, double ffn, double heads, double kv, double ups, double tp)
{
	const struct {
		const char *op;
		double n, k;
	} layer[] = { { "attn_pre_proj", (heads + 2 * kv) * h / heads / tp, h }, { "attn_post_proj", h, h / tp },
		{ "mlp_up_proj", ups * ffn / tp, h }, { "mlp_down_proj", h, ffn / tp } };
	for (size_t i = 0; i < sizeof layer / sizeof *layer; i++)
		if (!strcmp(op, layer[i].op)) {
			set_names(x, "gemm", "", "fp16");
			set_gemm(x, m, layer[i].n, layer[i].k, 2);
			return true;
		}
	return false;
}

static bool vidur_mlp(struct row *r, struct point *x)
{
	const char *op = csv_text(r->c, "op");
	double m = number(r, "num_tokens"), h = number(r, "n_embd"), ffn = number(r, "n_ffn"), heads = number(r, "n_head");
	double kv = number(r, "n_kv_head"), tp = number(r, "tp"), ups = is_text(r, "gated", "True") ? 2 : 1;
	const struct {
		const char *op, *family, *name;
		double elems; /* read and written */
	} kernel[] = { { "add", "memory", "residual-add", 3 * m * h }, { "input_layernorm", "memory", "layer-norm", 2 * m * h },
		{ "post_attention_layernorm", "memory", "layer-norm", 2 * m * h },
		{ "mlp_act", "memory", "activation", (ups + 1) * m * ffn / tp }, { "emb", "gather", "embedding", 2 * m * h },
		{ "attn_rope", "memory", "rope", 2 * m * (heads + kv) * h / heads / tp } };
	bool is_known = set_linear(op, x, m, h, ffn, heads, kv, ups, tp);
	for (size_t i = 0; !is_known && i < sizeof kernel / sizeof *kernel; i++)
		if (!strcmp(op, kernel[i].op)) {
			const double d[] = { m, h, tp };
			set_names(x, kernel[i].family, kernel[i].name, "fp16");
			memcpy(x->d, d, sizeof d);
			x->bytes = 2 * kernel[i].elems;
			is_known = true;
		}
	set(x->group, sizeof x->group, csv_text(r->c, "model"));
	x->time_s = number(r, "median_ms") * 1e-3;
	return is_known;
}

/* ---- collectives and copies ---- */

static const char *collective_name(const char *s)
{
	static const char *const names[][2] = { { "all_reduce", "all-reduce" }, { "allreduce", "all-reduce" }, { "send_recv", "send-recv" },
		{ "sendrecv", "send-recv" }, { "allgather", "all-gather" }, { "reducescatter", "reduce-scatter" },
		{ "reduce_scatter", "reduce-scatter" }, { "alltoall", "all-to-all" }, { "broadcast", "broadcast" },
		{ "reduce", "reduce" } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(s, names[i][0]))
			return names[i][1];
	return NULL;
}

static bool collective(struct row *r, struct point *x, const char *time, double unit)
{
	const char *op = collective_name(csv_text(r->c, "op"));
	if (!op)
		return false;
	set_names(x, "collective", op, "");
	set(x->variant, sizeof x->variant, csv_text(r->c, "fabric"));
	x->size = number(r, "bytes");
	x->ranks = number(r, "ranks");
	x->nodes = ceil(x->ranks / fmax(1, number(r, "gpus_per_node")));
	x->time_s = number(r, time) * unit;
	return true;
}

static bool vidur_net(struct row *r, struct point *x)
{
	return collective(r, x, "median_ms", 1e-3);
}

static bool nccl(struct row *r, struct point *x)
{
	return *csv_text(r->c, "oop_time_us") && collective(r, x, "oop_time_us", 1e-6);
}

static bool copy(struct row *r, struct point *x)
{
	char op[64];
	double GBps = number(r, "GBps");
	snprintf(op, sizeof op, "%s%s%s", csv_text(r->c, "direction"), *csv_text(r->c, "host_memory") ? "-" : "",
		csv_text(r->c, "host_memory"));
	for (char *s = op; *s; s++)
		*s = (char)(*s >= 'A' && *s <= 'Z' ? *s + 32 : *s);
	set_names(x, "copy", op, "");
	x->size = number(r, "bytes");
	x->time_s = GBps > 0 ? x->size / (GBps * 1e9) : 0;
	return true;
}

/* Reads bf16 on tensor cores, where fp16 has the same rate. Skips fp8 rows (twice the peak), because no law uses them. */
static bool mamf(struct row *r, struct point *x)
{
	double m, n, k, best = number(r, "mamf_tflops");
	if (number(r, "spec_tflops") > 1500 || sscanf(csv_text(r->c, "best_shape_MxNxK"), "%lfx%lfx%lf", &m, &n, &k) != 3)
		return false;
	set_names(x, "gemm", "", "fp16");
	set_gemm(x, m, n, k, 2);
	set(x->group, sizeof x->group, "mamf");
	x->time_s = best > 0 ? x->flops / (best * 1e12) : 0;
	return true;
}

/* ---- all kinds ---- */

static const struct {
	const char *kind, *device; /* device: column of the device's name */
	bool (*read)(struct row *r, struct point *x);
	const char *const needed[16];
} kinds[] = {
	{ "deepbench", "device", deepbench,
		{ "device", "suite", "precision", "op", "pass", "m", "n", "k", "w", "h", "c", "batch", "filters", "s", "time_ms", NULL } },
	{ "vidur-mlp", "device", vidur_mlp,
		{ "device", "model", "tp", "num_tokens", "op", "median_ms", "n_head", "n_kv_head", "n_embd", "n_ffn", "gated", NULL } },
	{ "vidur-net", "fabric", vidur_net, { "fabric", "op", "ranks", "gpus_per_node", "bytes", "median_ms", NULL } },
	{ "nccl", "gpu", nccl, { "op", "gpu", "ranks", "gpus_per_node", "fabric", "bytes", "oop_time_us", NULL } },
	{ "copy", "gpu", copy, { "gpu", "direction", "host_memory", "bytes", "GBps", NULL } },
	{ "mamf", "accelerator", mamf, { "accelerator", "mamf_tflops", "spec_tflops", "best_shape_MxNxK", NULL } },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Compares case-insensitively, with or without "NVIDIA ": h100 selects "NVIDIA H100 SXM". */
static bool is_selected(const char *device, const char *select)
{
	if (!select)
		return true;
	size_t n = strlen(select);
	const char *maker = strncasecmp(device, "NVIDIA ", 7) ? device : device + 7;
	return !strncasecmp(device, select, n) || (!strncasecmp(device, "NV_", 3) && !strncasecmp(device + 3, select, n)) ||
	       !strncasecmp(maker, select, n);
}

static int read_rows(struct csv *c, size_t kind, const char *select, struct points *out, struct orr_error *err)
{
	struct row r = { c, err, csv_need(c, kinds[kind].needed, err) };
	size_t before = out->n;
	int got = 0;
	while (!r.rc && (got = csv_next(c, err)) > 0) {
		struct point x = { .low_s = NAN, .high_s = NAN, .cv = NAN, .n = 1 };
		if (is_selected(csv_text(c, kinds[kind].device), select) && kinds[kind].read(&r, &x) && !r.rc && x.time_s > 0)
			points_add(out, &x);
	}
	if (r.rc || got < 0)
		return ORR_EINPUT;
	if (out->n == before)
		return orr_fail(err, ORR_EINPUT, "%.300s: expected a row of a supported kernel%s%s", c->path,
			select ? ", for a device whose name begins with " : "", select ? select : "");
	return ORR_OK;
}

int import_points(const char *kind, const char *file, const char *select, struct points *out, struct orr_error *err)
{
	size_t i = 0;
	while (i < KINDS && strcmp(kinds[i].kind, kind))
		i++;
	if (i == KINDS)
		return orr_fail(err, ORR_EINPUT,
			"--from %.60s: expected deepbench, vidur-mlp, vidur-net, nccl, copy or mamf, or \"images\" as the only --from",
			kind);
	struct csv c;
	int rc = csv_open_file(&c, file, err);
	if (!rc)
		rc = read_rows(&c, i, select, out, err);
	csv_close(&c);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cuda_host.cpp - the kernels of calib/cuda compute the functions they are named after, run on the CPU (tests/calib/cuda_host.h)
 *
 * Expected values are loops in double precision from the definitions.
 */
#include "calib/cuda/module.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

static int tests, failed;

static void ok(bool is_good, const char *what, double worst)
{
	failed += !is_good;
	printf("%sok %d - %s (%.2g)\n", is_good ? "" : "not ", ++tests, what, worst);
}

/* ---- stand-ins for symbols of other files */

int cuda_fail(struct orr_error *, int code, const char *fmt, ...)
{
	printf("# refused: %s\n", fmt);
	return code;
}
int cuda_refuse(struct orr_error *, cudaError_t, const char *)
{
	return ORR_EINPUT;
}
int task_buffers(struct task *t, const char *precision, struct orr_error *)
{
	t->copies = 1;
	for (int i = 0; i < TASK_BUFFERS; i++) {
		if (!t->bytes[i])
			continue;
		cudaMalloc(&t->buffer[i], t->bytes[i]);
		fill_normal(t->buffer[i], t->bytes[i], precision, 7 + (uint64_t)i, NULL);
	}
	return ORR_OK;
}
struct product *product_new(struct gpu *, const char *, bool, bool, double, double, double, double, size_t, struct orr_error *)
{
	return NULL;
}
int product_run(struct product *, const void *, const void *, void *, void *, cudaStream_t, struct orr_error *)
{
	return ORR_EINPUT;
}
void product_free(struct product *)
{
}

/* ---- */

static struct gpu device;

/* A task that is set up and called once. in[]: its input before the call, as numbers. */
struct ran {
	struct task t;
	std::vector<double> in[TASK_BUFFERS];
};

static double number(const struct task *t, int b, size_t i)
{
	if (!strcmp(t->k.precision, "fp16"))
		return __half2float(((const __half *)t->buffer[b])[i]);
	return ((const float *)t->buffer[b])[i];
}

static struct ran run(const char *family, const char *op, const char *precision, const char *variant, std::vector<double> d)
{
	struct ran r = {};
	snprintf(r.t.k.family, sizeof r.t.k.family, "%s", family);
	snprintf(r.t.k.op, sizeof r.t.k.op, "%s", op);
	snprintf(r.t.k.precision, sizeof r.t.k.precision, "%s", precision);
	snprintf(r.t.k.variant, sizeof r.t.k.variant, "%s", variant);
	for (size_t i = 0; i < d.size(); i++)
		r.t.k.d[i] = d[i];
	r.t.gpu = &device;
	int rc = !strcmp(family, "attention") ? attention_prepare(&r.t, NULL) : memory_prepare(&r.t, NULL);
	size_t size = strcmp(precision, "fp16") ? 4 : 2;
	for (int b = 0; b < TASK_BUFFERS; b++)
		for (size_t i = 0; i < r.t.bytes[b] / size; i++)
			r.in[b].push_back(number(&r.t, b, i));
	if (rc || r.t.enqueue(&r.t, NULL, NULL))
		ok(false, "a task that cannot be had", rc);
	return r;
}

static void drop(struct ran *r)
{
	if (r->t.drop)
		r->t.drop(&r->t);
	for (int i = 0; i < TASK_BUFFERS; i++)
		cudaFree(r->t.buffer[i]);
}

/* Compares with want(i); errors are relative to max(1, |want|). */
static void compare(struct ran *r, int buffer, size_t n, std::function<double(size_t)> want, double tolerance, const char *what)
{
	double worst = 0;
	for (size_t i = 0; i < n; i++) {
		double w = want(i), off = fabs(number(&r->t, buffer, i) - w) / fmax(1, fabs(w));
		worst = off > worst || off != off ? (off != off ? INFINITY : off) : worst;
	}
	ok(worst <= tolerance, what, worst);
	drop(r);
}

static void check_streams(const char *precision, double tolerance)
{
	const size_t n = 3 * 1024;
	struct ran r = run("memory", "copy", precision, "", { (double)n, 1 });
	compare(&r, 1, n, [&](size_t i) { return r.in[0][i]; }, 0, "copy");
	r = run("memory", "triad", precision, "", { (double)n, 1 });
	compare(&r, 1, n, [&](size_t i) { return r.in[0][i] + 0.5 * r.in[2][i]; }, tolerance, "triad");
	r = run("memory", "residual-add", precision, "", { (double)n, 1 });
	compare(&r, 1, n, [&](size_t i) { return r.in[0][i] + r.in[2][i]; }, tolerance, "residual add");
	r = run("memory", "reduction", precision, "", { (double)n, 1 });
	double sum = 0, got = 0, was = 0;
	for (double v : r.in[0])
		sum += v;
	got = ((float *)r.t.buffer[3])[0];
	struct ran fresh = run("memory", "copy", precision, "", { 16, 1 }); /* the array before the sum: same seed and position */
	drop(&fresh);
	char *bits = NULL;
	cudaMalloc(&bits, 16);
	fill_normal(bits, 16, precision, 7 + 3, NULL);
	was = ((float *)bits)[0];
	cudaFree(bits);
	ok(fabs(got - was - sum) < 1e-2, "reduction", got - was - sum);
	drop(&r);
}

static void check_rows(const char *precision, size_t rows, size_t columns, double tolerance)
{
	std::vector<double> d = { (double)rows, (double)columns };
	size_t n = rows * columns;
	struct ran r = run("memory", "layer-norm", precision, "", d);
	std::vector<double> mean(rows), scale(rows), top(rows, -INFINITY), total(rows);
	for (size_t i = 0; i < n; i++)
		mean[i / columns] += r.in[0][i] / (double)columns, top[i / columns] = fmax(top[i / columns], r.in[0][i]);
	for (size_t i = 0; i < n; i++) {
		double off = r.in[0][i] - mean[i / columns];
		scale[i / columns] += off * off / (double)columns;
		total[i / columns] += exp(r.in[0][i] - top[i / columns]);
	}
	compare(&r, 1, n, [&](size_t i) { return (r.in[0][i] - mean[i / columns]) / sqrt(scale[i / columns] + 1e-5); }, tolerance,
		"layer norm");
	r = run("memory", "softmax", precision, "", d);
	compare(&r, 1, n, [&](size_t i) { return exp(r.in[0][i] - top[i / columns]) / total[i / columns]; }, tolerance, "softmax");
	r = run("memory", "bias-gelu", precision, "", d);
	compare(&r, 1, n, [&](size_t i) {
		double v = r.in[0][i] + r.in[3][i % columns];
		return 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
	}, tolerance, "bias and GELU");
}

static void check_updates(void)
{
	const size_t n = 1030; /* not a multiple of 4 */
	struct ran r = run("update", "sgd", "fp32", "", { (double)n });
	compare(&r, 0, n, [&](size_t i) { return r.in[0][i] - 1e-6 * r.in[1][i]; }, 1e-6, "SGD");
	r = run("update", "adam", "fp32", "", { (double)n });
	compare(&r, 0, n, [&](size_t i) {
		double g = r.in[1][i], m = 0.9 * r.in[2][i] + 0.1 * g, v = 0.999 * r.in[3][i] + 0.001 * g * g;
		return r.in[0][i] - 1e-6 * m / (sqrt(fabs(v)) + 1e-8);
	}, 1e-5, "Adam");
}

static void check_gather(const char *variant)
{
	const size_t rows = 50, columns = 64, table = 300;
	struct ran r = run("gather", "embedding", "fp32", variant, { (double)rows, (double)columns, (double)table });
	const unsigned *index = (const unsigned *)r.t.own;
	unsigned most = 0, first = 0;
	for (size_t i = 0; i < rows; i++) {
		most = index[i] > most ? index[i] : most;
		first += index[i] == index[0];
	}
	ok(most < table && first < rows, "rows of the table, not all the same", most);
	compare(&r, 1, rows * columns, [&](size_t i) { return r.in[0][index[i / columns] * columns + i % columns]; }, 0, "gather");
}

/* Heads of softmax(q k^T scale) v. */
static void check_attention(const char *op, double scale, size_t heads, size_t seq, size_t dim, const char *what)
{
	struct ran r = run("attention", op, "fp16", "fused", { 1, (double)heads, (double)seq, (double)dim });
	size_t queries = !strcmp(op, "prefill") ? seq : 1;
	std::vector<double> want(heads * queries * dim);
	for (size_t h = 0; h < heads; h++)
		for (size_t q = 0; q < queries; q++) {
			std::vector<double> e(seq);
			double top = -INFINITY, total = 0;
			for (size_t k = 0; k < seq; k++) {
				for (size_t i = 0; i < dim; i++)
					e[k] += scale * r.in[0][(h * queries + q) * dim + i] * r.in[1][(h * seq + k) * dim + i];
				top = fmax(top, e[k]);
			}
			for (size_t k = 0; k < seq; k++)
				total += e[k] = exp(e[k] - top);
			for (size_t k = 0; k < seq; k++)
				for (size_t i = 0; i < dim; i++)
					want[(h * queries + q) * dim + i] += e[k] / total * r.in[2][(h * seq + k) * dim + i];
		}
	compare(&r, 3, want.size(), [&](size_t i) { return want[i]; }, 4e-3, what); /* shares are rounded to 11 bits */
}

int main(void)
{
	device.prop.multiProcessorCount = 2;
	device.prop.maxThreadsPerMultiProcessor = 1536;
	device.prop.major = 8;
	check_streams("fp32", 1e-6);
	check_streams("fp16", 1e-3);
	check_rows("fp32", 5, 256, 1e-5);
	check_rows("fp16", 3, 768, 2e-3);
	check_rows("fp16", 2, 4096, 2e-3);
	check_updates();
	check_gather("uniform");
	check_gather("zipf");
	check_attention("decode", 1, 3, 100, 64, "decode, heads of 64");
	check_attention("decode", 1, 2, 65, 128, "decode, heads of 128");
	check_attention("prefill", 1 / sqrt(64.0), 2, 128, 64, "fused prefill, heads of 64");
	check_attention("prefill", 1 / sqrt(128.0), 2, 64, 128, "fused prefill, heads of 128");
	busy_for(&device, 1e-6, NULL, NULL);
	printf("1..%d\n", tests);
	return failed > 0;
}

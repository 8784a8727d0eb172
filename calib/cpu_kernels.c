/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory-bound kernels, attention, and convolutions by unfolding. */
#include "calib/cpu.h"
#include "calib/work.h"

#include <math.h>
#include <string.h>

#define FOR_ALL _Pragma("omp parallel for simd schedule(static)")
#define FOR_ROWS _Pragma("omp parallel for schedule(static)")

void cpu_copy(const float *x, float *y, size_t n)
{
	FOR_ALL
	for (size_t i = 0; i < n; i++)
		y[i] = x[i];
}

void cpu_triad(const float *x, const float *y, float *z, size_t n)
{
	FOR_ALL
	for (size_t i = 0; i < n; i++)
		z[i] = x[i] + 0.5f * y[i];
}

float cpu_reduce(const float *x, size_t n)
{
	float sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

void cpu_add(const float *x, const float *y, float *z, size_t n)
{
	FOR_ALL
	for (size_t i = 0; i < n; i++)
		z[i] = x[i] + y[i];
}

/*
 * exp() in a form that the compiler vectorises: 2^i times a Taylor polynomial of degree six, error 1e-6 over +-ln 2 / 2.
 * Precise enough for timing only. Adding and subtracting 1.5 x 2^23 rounds and leaves the whole number in the low bits; rintf()
 * and branches would prevent vectorisation.
 */
__attribute__((always_inline)) static inline float exp_fast(float x)
{
	const float rounder = 12582912;
	const int32_t rounder_bits = 0x4b400000;
	float y = x * 1.44269504f, shifted = y + rounder, r = (y - (shifted - rounder)) * 0.69314718f, scale;
	float poly = 1 + r * (1 + r * (0.5f + r * (0.16666667f + r * (0.041666667f + r * (0.0083333333f + r * 0.0013888889f)))));
	int32_t i;
	memcpy(&i, &shifted, sizeof i);
	i -= rounder_bits;
	i = i < -126 ? -126 : i;
	i = (i > 127 ? 127 : i) + 127;
	i *= 1 << 23;
	memcpy(&scale, &i, sizeof scale);
	return poly * scale;
}

FOR_EACH_PROCESSOR static void norm_row(const float *in, float *out, size_t columns)
{
	float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum, squares)
	for (size_t c = 0; c < columns; c++) {
		sum += in[c];
		squares += in[c] * in[c];
	}
	float mean = sum / (float)columns, scale = 1 / sqrtf(fmaxf(squares / (float)columns - mean * mean, 0) + 1e-5f);
#pragma omp simd
	for (size_t c = 0; c < columns; c++)
		out[c] = (in[c] - mean) * scale;
}

void cpu_layer_norm(const float *x, float *y, size_t rows, size_t columns)
{
	FOR_ROWS
	for (size_t r = 0; r < rows; r++)
		norm_row(x + r * columns, y + r * columns, columns);
}

FOR_EACH_PROCESSOR static void softmax_row(const float *in, float *out, size_t columns)
{
	float most = in[0], sum = 0;
#pragma omp simd reduction(max : most)
	for (size_t c = 0; c < columns; c++)
		most = in[c] > most ? in[c] : most;
#pragma omp simd reduction(+ : sum)
	for (size_t c = 0; c < columns; c++) {
		out[c] = exp_fast(in[c] - most);
		sum += out[c];
	}
	float scale = 1 / sum;
#pragma omp simd
	for (size_t c = 0; c < columns; c++)
		out[c] *= scale;
}

void cpu_softmax(const float *x, float *y, size_t rows, size_t columns)
{
	FOR_ROWS
	for (size_t r = 0; r < rows; r++)
		softmax_row(x + r * columns, y + r * columns, columns);
}

/* Computes GELU in its tanh form (Hendrycks and Gimpel 2016): x / (1 + exp(-2 u)). */
FOR_EACH_PROCESSOR static void gelu_row(const float *in, const float *bias, float *out, size_t columns)
{
#pragma omp simd
	for (size_t c = 0; c < columns; c++) {
		float v = in[c] + bias[c], u = 0.79788456f * (v + 0.044715f * v * v * v);
		out[c] = v / (1 + exp_fast(-2 * u));
	}
}

void cpu_bias_gelu(const float *x, const float *bias, float *y, size_t rows, size_t columns)
{
	FOR_ROWS
	for (size_t r = 0; r < rows; r++)
		gelu_row(x + r * columns, bias, y + r * columns, columns);
}

void cpu_gather(const float *table, const uint32_t *index, float *out, size_t rows, size_t columns)
{
	FOR_ROWS
	for (size_t r = 0; r < rows; r++)
		memcpy(out + r * columns, table + (size_t)index[r] * columns, columns * sizeof *out);
}

void cpu_sgd(float *weight, const float *gradient, size_t n)
{
	FOR_ALL
	for (size_t i = 0; i < n; i++)
		weight[i] -= 1e-6f * gradient[i];
}

void cpu_adam(float *weight, const float *gradient, float *state, size_t n)
{
	float *first = state, *second = state + n;
	FOR_ALL
	for (size_t i = 0; i < n; i++) {
		float g = gradient[i], m = 0.9f * first[i] + 0.1f * g, v = 0.999f * second[i] + 0.001f * g * g;
		first[i] = m;
		second[i] = v;
		weight[i] -= 1e-6f * m / (sqrtf(fabsf(v)) + 1e-8f);
	}
}

FOR_EACH_PROCESSOR static void decode_head(const float *q, const float *k, const float *v, float *scores, float *o, size_t seq, size_t dim)
{
	for (size_t s = 0; s < seq; s++) {
		float sum = 0;
#pragma omp simd reduction(+ : sum)
		for (size_t i = 0; i < dim; i++)
			sum += q[i] * k[s * dim + i];
		scores[s] = sum;
	}
	softmax_row(scores, scores, seq);
	memset(o, 0, dim * sizeof *o);
	for (size_t s = 0; s < seq; s++) {
		float share = scores[s];
#pragma omp simd
		for (size_t i = 0; i < dim; i++)
			o[i] += share * v[s * dim + i];
	}
}

void cpu_attention(
	const struct cpu *cpu, const double *d, bool is_prefill, const float *q, const float *k, const float *v, float *scores, float *o)
{
	size_t heads = (size_t)(d[0] * d[1]), seq = (size_t)d[2], dim = (size_t)d[3], queries = is_prefill ? seq : 1;
	if (!is_prefill) {
		FOR_ROWS
		for (size_t h = 0; h < heads; h++)
			decode_head(q + h * dim, k + h * seq * dim, v + h * seq * dim, scores + h * seq, o + h * dim, seq, dim);
		return;
	}
	for (size_t h = 0; h < heads; h++) {
		float *mine = scores + h * queries * seq;
		size_t at = h * seq * dim;
		cpu_gemm(cpu, false, true, (int)seq, (int)seq, (int)dim, q + at, k + at, mine, false);
		cpu_softmax(mine, mine, seq, seq);
		cpu_gemm(cpu, false, false, (int)seq, (int)dim, (int)seq, mine, v + at, o + at, false);
	}
}

struct conv_shape {
	int c, h, w, k, r, out_h, out_w, stride, padding;
};

/* Finds the positions [first, end) of an output row whose tap dx lies inside the input row. */
static void inside(const struct conv_shape *s, int dx, int *first, int *end)
{
	int from = s->padding - dx, to = s->w - 1 + s->padding - dx;
	*first = from > 0 ? (from + s->stride - 1) / s->stride : 0;
	*end = to < 0 ? 0 : to / s->stride + 1;
	*end = *end < s->out_w ? *end : s->out_w;
	*first = *first < *end ? *first : *end;
}

/* Unfolds a sample: rows are (channel, filter row, filter column), columns are output positions. */
static void unfold(const struct conv_shape *s, const float *in, float *out)
{
	int rows = s->c * s->r * s->r;
	FOR_ROWS
	for (int row = 0; row < rows; row++) {
		int channel = row / (s->r * s->r), dy = row / s->r % s->r, dx = row % s->r, first, end;
		float *to = out + (size_t)row * (size_t)(s->out_h * s->out_w);
		inside(s, dx, &first, &end);
		for (int y = 0; y < s->out_h; y++, to += s->out_w) {
			int iy = y * s->stride + dy - s->padding;
			ptrdiff_t at = ((ptrdiff_t)channel * s->h + iy) * s->w + dx - s->padding;
			memset(to, 0, sizeof *to * (size_t)s->out_w);
			for (int x = first; iy >= 0 && iy < s->h && x < end; x++)
				to[x] = in[at + x * s->stride];
		}
	}
}

/* Inverts unfold(): sums the values of each input position. Channels are independent, so they run in parallel. */
static void fold(const struct conv_shape *s, const float *in, float *out)
{
	FOR_ROWS
	for (int channel = 0; channel < s->c; channel++) {
		float *to = out + (size_t)channel * (size_t)s->h * (size_t)s->w;
		memset(to, 0, sizeof *to * (size_t)s->h * (size_t)s->w);
		for (int tap = 0; tap < s->r * s->r; tap++) {
			const float *from = in + (size_t)(channel * s->r * s->r + tap) * (size_t)(s->out_h * s->out_w);
			int dy = tap / s->r, dx = tap % s->r, first, end;
			inside(s, dx, &first, &end);
			for (int y = 0; y < s->out_h; y++, from += s->out_w) {
				int iy = y * s->stride + dy - s->padding;
				ptrdiff_t at = (ptrdiff_t)iy * s->w + dx - s->padding;
				for (int x = first; iy >= 0 && iy < s->h && x < end; x++)
					to[at + x * s->stride] += from[x];
			}
		}
	}
}

void cpu_conv(
	const struct cpu *cpu, const struct kernel *k, enum conv_pass pass, float *input, float *filter, float *output, float *unfolded)
{
	const double *d = k->d;
	struct conv_shape s = { .c = (int)d[1],
		.h = (int)d[2],
		.w = (int)d[3],
		.k = (int)d[4],
		.r = (int)d[5],
		.out_h = (int)conv_out(k, d[2]),
		.out_w = (int)conv_out(k, d[3]),
		.stride = (int)conv_stride(k),
		.padding = ((int)d[5] - 1) / 2 };
	int taps = s.c * s.r * s.r, places = s.out_h * s.out_w;
	bool is_flat = s.r == 1 && s.stride == 1; /* the input is its own unfolding */
	for (int n = 0; n < (int)d[0]; n++) {
		float *in = input + (size_t)n * (size_t)s.c * (size_t)s.h * (size_t)s.w;
		float *out = output + (size_t)n * (size_t)s.k * (size_t)places;
		if (pass == CONV_DATA) {
			cpu_gemm(cpu, true, false, taps, places, s.k, filter, out, is_flat ? in : unfolded, false);
			if (!is_flat)
				fold(&s, unfolded, in);
			continue;
		}
		if (!is_flat)
			unfold(&s, in, unfolded);
		const float *columns = is_flat ? in : unfolded;
		if (pass == CONV_FORWARD)
			cpu_gemm(cpu, false, false, s.k, places, taps, filter, columns, out, false);
		else
			cpu_gemm(cpu, false, true, s.k, taps, places, out, columns, filter, n > 0);
	}
}

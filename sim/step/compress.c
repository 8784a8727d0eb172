/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/compress.h"

#include "base/num.h"
#include "base/param.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { INDEX_BYTES = 4, SCALE_BYTES = 4 };

/* ---- parsing ---- */

struct key {
	const char *name;
	size_t offset; /* offset of a double in struct compression */
	double min, max;
	unsigned methods; /* mask, a bit per enum compression_method */
};

#define KEY(name, field, min, max, methods)                                  \
	{                                                                    \
		name, offsetof(struct compression, field), min, max, methods \
	}
enum { OF_TOPK = 1 << COMPRESSION_TOPK, OF_POWERSGD = 1 << COMPRESSION_POWERSGD, OF_ALL = INT_MAX };

static const struct key keys[] = {
	KEY("density", density, 1e-9, 1, OF_TOPK),
	KEY("min_rate", min_rate, 0, 1e9, OF_POWERSGD),
	KEY("min_elems", min_elems, 0, 1e18, OF_ALL),
	KEY("compress_Bps", codec_Bps, 0, 1e18, OF_ALL),
};

static int bad_value(const char *name, const char *wanted, const char *s, size_t n, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "step.compression: %s: expected %s, found \"%.*s\"", name, wanted, (int)n, s);
}

static int parse_count(const char *name, int64_t max, const char *s, size_t n, int64_t *out, struct orr_error *err)
{
	if (!num_int(s, n, out) || *out < 1 || *out > max)
		return bad_value(name, "a whole number of at least 1", s, n, err);
	return ORR_OK;
}

/* Parses one name=value of method m. */
static int parse_pair(struct compression *c, const char *s, size_t n, bool is_dgc, struct orr_error *err)
{
	const char *eq = memchr(s, '=', n);
	size_t name = eq ? (size_t)(eq - s) : n, value = eq ? n - name - 1 : 0;
	int64_t whole;
	if (eq && c->method == COMPRESSION_POWERSGD && name == 4 && !memcmp(s, "rank", 4)) {
		if (parse_count("rank", 1 << 20, eq + 1, value, &whole, err))
			return ORR_EINPUT;
		c->rank = (uint32_t)whole;
		return ORR_OK;
	}
	if (eq && is_dgc && name == strlen("warmup_iterations") && !memcmp(s, "warmup_iterations", name)) {
		if (parse_count("warmup_iterations", INT64_C(1000000000), eq + 1, value, &whole, err))
			return ORR_EINPUT;
		c->warmup_iterations = (uint64_t)whole;
		return ORR_OK;
	}
	for (size_t i = 0; eq && i < sizeof keys / sizeof *keys; i++) {
		const struct key *k = &keys[i];
		double *out = (double *)((char *)c + k->offset);
		if (strlen(k->name) != name || memcmp(k->name, s, name) || !(k->methods >> c->method & 1))
			continue;
		if (!num_real(eq + 1, value, out) || *out < k->min || *out > k->max)
			return orr_fail(err, ORR_EINPUT, "step.compression: %s: expected a number from %g to %g, found \"%.*s\"", k->name,
				k->min, k->max, (int)value, eq + 1);
		return ORR_OK;
	}
	return orr_fail(err, ORR_EINPUT, "step.compression: unknown key \"%.*s\": expected compress_Bps=, min_elems=%s", (int)n, s,
		is_dgc                              ? ", density=, warmup_iterations="
		: c->method == COMPRESSION_TOPK     ? ", density="
		: c->method == COMPRESSION_POWERSGD ? ", rank=, min_rate="
						    : "");
}

int compression_parse(const char *text, struct compression *out, struct orr_error *err)
{
	static const char *const names[] = { "none", "topk", "onebit", "powersgd", "dgc" };
	static const double warmup[] = { 0.25, 0.063, 0.015, 0.004 };
	size_t name = strcspn(text, ":"), i = 0;
	while (i < 5 && (strlen(names[i]) != name || memcmp(names[i], text, name)))
		i++;
	if (i == 5)
		return orr_fail(
			err, ORR_EINPUT, "step.compression: expected none, topk, dgc, onebit or powersgd, found \"%.*s\"", (int)name, text);
	bool is_dgc = i == 4;
	*out = (struct compression){
		.method = is_dgc ? COMPRESSION_TOPK : (enum compression_method)i, .density = 0.001, .rank = 2, .min_rate = 1
	};
	for (const char *s = text + name; *s;) {
		size_t n = strcspn(++s, ",");
		if (parse_pair(out, s, n, is_dgc, err))
			return ORR_EINPUT;
		s += n;
	}
	if (is_dgc && out->warmup_iterations)
		while (out->n_warmup < sizeof warmup / sizeof *warmup && warmup[out->n_warmup] > out->density) {
			out->warmup[out->n_warmup] = warmup[out->n_warmup];
			out->n_warmup++;
		}
	return ORR_OK;
}

/* ---- volumes ---- */

uint64_t compression_settles(const struct compression *c)
{
	return c->n_warmup * c->warmup_iterations;
}

static double density_at(const struct compression *c, uint64_t iteration)
{
	uint64_t period = c->warmup_iterations ? iteration / c->warmup_iterations : 0;
	return period < c->n_warmup ? c->warmup[period] : c->density;
}

/* Volume that one worker sends for whole layers, to be gathered, or to be summed in one or two rounds. */
struct volume {
	double gathered, summed[2];
	double coded; /* number of compressed elements; the others are sent uncompressed */
};

/* Returns whether the parameters consist of a matrix of a rows and b columns, and a rest (a bias). */
static bool has_matrix(const struct dnn_layer *l)
{
	return l->params > 0 && l->k > 0 && l->n > 0 && l->k * l->n <= l->params;
}

static void powersgd(const struct compression *c, const struct dnn_layer *l, double element_bytes, struct volume *v)
{
	double a = has_matrix(l) ? l->k : 0, b = has_matrix(l) ? l->n : 0, r = fmin(c->rank, fmin(a, b));
	if (r <= 0 || a * b <= c->min_rate * r * (a + b)) {
		v->summed[0] += l->params * element_bytes;
		return;
	}
	v->summed[0] += (a * r + l->params - a * b) * element_bytes;
	v->summed[1] += b * r * element_bytes;
	v->coded += a * b;
}

static void add_layer(const struct compression *c, const struct dnn_layer *l, double density, double element_bytes, struct volume *v)
{
	if (l->params < c->min_elems) {
		v->summed[0] += l->params * element_bytes;
		return;
	}
	if (c->method == COMPRESSION_POWERSGD) {
		powersgd(c, l, element_bytes, v);
		return;
	}
	v->coded += l->params;
	if (c->method == COMPRESSION_TOPK)
		v->gathered += density * l->params * (element_bytes + INDEX_BYTES);
	else
		v->gathered += l->params / 8 + SCALE_BYTES * (has_matrix(l) ? l->n : 1);
}

/*
 * Computes the time of coding, s. Each pass over the dense gradient runs at codec_Bps. Encoding is one pass (selection,
 * quantisation); PowerSGD needs two (P = M Q, then Q = M' P). Decoding: top-k adds the received values, 1-bit expands n
 * messages, PowerSGD is one pass.
 */
static void codec(const struct compression *c, const struct volume *v, double element_bytes, uint32_t n, struct compressed_shape *out)
{
	double dense = v->coded * element_bytes;
	if (c->codec_Bps <= 0)
		return;
	out->encode_s = dense * (c->method == COMPRESSION_POWERSGD ? 2 : 1) / c->codec_Bps;
	out->decode_s = (c->method == COMPRESSION_TOPK            ? v->gathered * n
				: c->method == COMPRESSION_ONEBIT ? dense * n
								  : dense) /
			c->codec_Bps;
}

static void add_round(struct compressed_shape *out, enum orr_collective_op op, double bytes)
{
	if (bytes <= 0)
		return;
	out->round[out->n_rounds].op = op;
	out->round[out->n_rounds++].bytes = bytes;
}

void compression_shape(const struct compression *c, const struct dnn *d, uint32_t first, uint32_t count, uint32_t n, uint64_t iteration,
	double element_bytes, double dense_bytes, struct compressed_shape *out)
{
	struct volume v = { 0 };
	double params = 0, density = density_at(c, iteration);
	*out = (struct compressed_shape){ 0 };
	for (uint32_t l = first; l < d->n_layers && l - first < count; l++) {
		params += d->layer[l].params;
		if (d->layer[l].params > 0)
			add_layer(c, &d->layer[l], density, element_bytes, &v);
	}
	double part = params > 0 ? dense_bytes / (params * element_bytes) : 0;
	v.gathered *= part;
	v.summed[0] *= part;
	v.summed[1] *= part;
	v.coded *= part;
	out->sent_bytes = v.gathered + v.summed[0] + v.summed[1];
	/* The first round of top-k and 1-bit sums the layers that are too small to compress. */
	add_round(out, ORR_ALL_REDUCE, v.summed[0]);
	add_round(out, ORR_ALL_REDUCE, v.summed[1]);
	add_round(out, ORR_ALL_GATHER, v.gathered * n);
	if (!out->n_rounds)
		out->n_rounds = 1; /* an all-reduce of 0 bytes preserves the order of the graph */
	codec(c, &v, element_bytes, n, out);
}

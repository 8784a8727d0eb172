/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a served model from JSON (docs/served-model.schema.json). */
#include "hwmodel/served_llm.h"
#include "hwmodel/served_moe.h"
#include "hwmodel/served_network.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "hwmodel/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_MS 1e9
#define MAX_BYTES 1e18
#define MAX_TOKENS 1e12

enum { MAX_BATCH = 1000000, MAX_KNOTS = 4096, MAX_FITS = 64, MAX_TEXT = 600 };

/* State while a file is read. */
struct reader {
	const char *path;
	const cJSON *root;
	struct served *m;
	struct orr_error *err;
};

/* ---- values ---- */

static int wrong(const struct reader *r, const char *at, const char *expected, const cJSON *found)
{
	return json_wrong(r->path, at, expected, found, r->err);
}

static int get_text(const struct reader *r, const char *key, const char *def, char **out)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->root, key);
	char at[64];
	snprintf(at, sizeof at, "$.%s", key);
	if (!v && def) {
		*out = mem_strdup(def);
		return ORR_OK;
	}
	bool is_good = cJSON_IsString(v) && *v->valuestring && strlen(v->valuestring) <= MAX_TEXT;
	for (const char *c = is_good ? v->valuestring : ""; *c; c++)
		is_good &= (unsigned char)*c >= ' ' && *c != 0x7f;
	if (!is_good)
		return wrong(r, at, "a string of 1 to 600 bytes on one line", v);
	*out = mem_strdup(v->valuestring);
	return ORR_OK;
}

/* Reads a number and multiplies it by unit. A missing key leaves *out unchanged; with is_needed it is an error. */
static int get_real(const struct reader *r, const cJSON *o, const char *where, const char *key, double unit, double low, double high,
	bool is_needed, double *out)
{
	double v = NAN;
	int rc = json_real(r->path, where, o, key, low, high, is_needed, &v, r->err);
	if (!rc && !isnan(v))
		*out = v * unit;
	return rc;
}

static int get_whole(const struct reader *r, const char *key, double low, double high, uint32_t *out)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->root, key);
	char at[64], expected[80];
	if (!v)
		return ORR_OK;
	if (cJSON_IsNumber(v) && v->valuedouble >= low && v->valuedouble <= high && v->valuedouble == floor(v->valuedouble)) {
		*out = (uint32_t)v->valuedouble;
		return ORR_OK;
	}
	snprintf(at, sizeof at, "$.%s", key);
	snprintf(expected, sizeof expected, "a whole number from %.15g to %.15g", low, high);
	return wrong(r, at, expected, v);
}

/* Reads one of the names (the list ends with NULL). A missing key leaves *out unchanged; with is_needed it is an error. */
static int get_choice(const struct reader *r, const char *key, const char *const *names, bool is_needed, int *out)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->root, key);
	char at[64];
	if (!v && !is_needed)
		return ORR_OK;
	struct sbuf all = { 0 };
	for (int i = 0; names[i]; i++) {
		if (cJSON_IsString(v) && !strcmp(v->valuestring, names[i])) {
			*out = i;
			sbuf_free(&all);
			return ORR_OK;
		}
		sbuf_printf(&all, "%s%s", i ? ", " : "one of ", names[i]);
	}
	snprintf(at, sizeof at, "$.%s", key);
	int rc = wrong(r, at, sbuf_text(&all), v);
	sbuf_free(&all);
	return rc;
}

/* ---- lists ---- */

struct list {
	double *v;
	uint32_t n;
};

/* Bounds of list elements: from low (exclusive if is_above) to high. */
struct bounds {
	double low, high;
	bool is_above, is_whole, is_ascending;
	uint32_t least, most; /* bounds of the length of the list */
};

static int wrong_item(const struct reader *r, const char *at, const struct bounds *b, double before, const cJSON *v)
{
	char expected[160];
	bool is_more = b->is_above || (b->is_ascending && before >= b->low);
	double low = b->is_ascending && before >= b->low ? before : b->low;
	snprintf(expected, sizeof expected, "a %snumber %s %.15g%s, at most %.15g", b->is_whole ? "whole " : "", is_more ? "above" : "from",
		low, b->is_ascending && before >= b->low ? " (the previous number)" : "", b->high);
	return wrong(r, at, expected, v);
}

/* Reads a list of numbers. The caller frees out->v, also after an error. */
static int get_list(const struct reader *r, const cJSON *v, const char *at, const struct bounds *b, struct list *out)
{
	char expected[80], where[160];
	int n = cJSON_IsArray(v) ? cJSON_GetArraySize(v) : -1;
	if (n < (int)b->least || n > (int)b->most) {
		if (b->least == b->most)
			snprintf(expected, sizeof expected, "a list of %u numbers", b->most);
		else
			snprintf(expected, sizeof expected, "a list of %u to %u numbers", b->least, b->most);
		if (n < 0)
			return wrong(r, at, expected, v);
		return orr_fail(r->err, ORR_EINPUT, "%.200s: %s: expected %s, found %d", r->path, at, expected, n);
	}
	out->v = mem_zalloc((size_t)n + 1, sizeof *out->v);
	double before = -INFINITY;
	const cJSON *x = v->child;
	for (int i = 0; i < n; i++, x = x->next) {
		double d = cJSON_IsNumber(x) ? x->valuedouble : NAN;
		bool is_good = (b->is_above ? d > b->low : d >= b->low) && d <= b->high && (!b->is_whole || d == floor(d)) &&
			       (!b->is_ascending || d > before);
		if (!is_good) {
			snprintf(where, sizeof where, "%s[%d]", at, i);
			return wrong_item(r, where, b, before, x);
		}
		before = out->v[out->n++] = d;
	}
	return ORR_OK;
}

/* Reads ascending sizes: batches or lengths. */
static int get_sizes(const struct reader *r, const char *key, uint32_t most, uint32_t **out, uint32_t *n)
{
	struct bounds b = { .low = 1, .high = MAX_BATCH, .is_whole = true, .is_ascending = true, .least = 1, .most = most };
	struct list l = { 0 };
	char at[64];
	snprintf(at, sizeof at, "$.%s", key);
	int rc = get_list(r, cJSON_GetObjectItemCaseSensitive(r->root, key), at, &b, &l);
	if (!rc) {
		*out = mem_zalloc(l.n, sizeof **out);
		*n = l.n;
		for (uint32_t i = 0; i < l.n; i++)
			(*out)[i] = (uint32_t)l.v[i];
	}
	mem_free(l.v);
	return rc;
}

/* ---- tables ---- */

static int get_row(const struct reader *r, const cJSON *v, const char *at, double *out)
{
	struct bounds b = { .low = 0, .high = MAX_MS, .is_above = true, .least = r->m->n_batches, .most = r->m->n_batches };
	struct list l = { 0 };
	int rc = get_list(r, v, at, &b, &l);
	for (uint32_t i = 0; !rc && i < l.n; i++)
		out[i] = l.v[i] / 1000;
	mem_free(l.v);
	return rc;
}

static int get_latencies(const struct reader *r)
{
	struct served *m = r->m;
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->root, "latency_ms");
	char at[64];
	m->latency_s = mem_zalloc((size_t)m->n_batches * (m->n_lengths ? m->n_lengths : 1), sizeof *m->latency_s);
	if (!m->n_lengths)
		return get_row(r, v, "$.latency_ms", m->latency_s);
	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != (int)m->n_lengths)
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.latency_ms: expected %u lists, one for each length", r->path, m->n_lengths);
	const cJSON *row = v->child;
	int rc = ORR_OK;
	for (uint32_t i = 0; !rc && i < m->n_lengths; i++, row = row->next) {
		snprintf(at, sizeof at, "$.latency_ms[%u]", i);
		rc = get_row(r, row, at, m->latency_s + (size_t)i * m->n_batches);
	}
	return rc;
}

/* Reads the memory of a batch: a constant, or an object with the time of the peak. */
static int get_memory_item(const struct reader *r, const cJSON *v, const char *at, double unit, struct served_memory *out)
{
	static const char *const keys[] = { "before", "peak", "peak_from_ms", NULL };
	if (cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= MAX_BYTES) {
		out->before = out->peak = v->valuedouble * unit;
		return ORR_OK;
	}
	if (!cJSON_IsObject(v))
		return wrong(r, at, "a number from 0 to 1e18, or an object with \"before\", \"peak\" and \"peak_from_ms\"", v);
	if (json_keys(r->path, at, v, keys, r->err) || get_real(r, v, at, "before", unit, 0, MAX_BYTES, true, &out->before) ||
		get_real(r, v, at, "peak", unit, 0, MAX_BYTES, true, &out->peak) ||
		get_real(r, v, at, "peak_from_ms", 1e-3, 0, MAX_MS, true, &out->peak_from_s))
		return ORR_EINPUT;
	return ORR_OK;
}

static int get_memory(const struct reader *r)
{
	struct served *m = r->m;
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(r->root, "memory");
	double unit = 1;
	char at[64];
	m->memory = mem_zalloc(m->n_batches, sizeof *m->memory);
	int rc = get_real(r, r->root, "$", "memory_unit_bytes", 1, 1, MAX_BYTES, false, &unit);
	if (rc || !v)
		return rc;
	if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != (int)m->n_batches)
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.memory: expected a list of %u entries, one for each batch size", r->path,
			m->n_batches);
	const cJSON *x = v->child;
	for (uint32_t i = 0; !rc && i < m->n_batches; i++, x = x->next) {
		snprintf(at, sizeof at, "$.memory[%u]", i);
		rc = get_memory_item(r, x, at, unit, &m->memory[i]);
		if (!rc && m->memory[i].before > m->memory[i].peak)
			rc = orr_fail(r->err, ORR_EINPUT, "%.200s: %s.before: expected at most \"peak\" of the same entry", r->path, at);
	}
	return rc;
}

static int get_table(const struct reader *r)
{
	static const char *const keys[] = { "name", "title", "source", "kind", "exit_points", "load_ms", "weight_bytes", "slo_ms",
		"between", "noise", "batch", "length", "latency_ms", "memory", "memory_unit_bytes", "input_bytes", "output_bytes",
		"utilisation", "occupancy", NULL },
				 *const betweens[] = { "refuse", "up", "linear", NULL }, *const noises[] = { "exact", "exponential", NULL };
	struct served *m = r->m;
	int between = SERVED_REFUSE, noise = SERVED_EXACT;
	if (json_keys(r->path, "$", r->root, keys, r->err) || get_choice(r, "between", betweens, false, &between) ||
		get_choice(r, "noise", noises, false, &noise) || get_sizes(r, "batch", SERVED_MAX_BATCHES, &m->batch, &m->n_batches))
		return ORR_EINPUT;
	if (cJSON_GetObjectItemCaseSensitive(r->root, "length") && get_sizes(r, "length", SERVED_MAX_LENGTHS, &m->length, &m->n_lengths))
		return ORR_EINPUT;
	m->between = (enum served_between)between;
	m->noise = (enum served_noise)noise;
	if (get_latencies(r) || get_memory(r) || get_whole(r, "exit_points", 1, 1e6, &m->layers) ||
		get_real(r, r->root, "$", "weight_bytes", 1, 0, MAX_BYTES, false, &m->weight_bytes) ||
		get_real(r, r->root, "$", "utilisation", 1, 0, 1, false, &m->utilisation) ||
		get_real(r, r->root, "$", "occupancy", 1, 0, 1, false, &m->occupancy) ||
		get_real(r, r->root, "$", "input_bytes", 1, 0, MAX_BYTES, false, &m->input_bytes) ||
		get_real(r, r->root, "$", "output_bytes", 1, 0, MAX_BYTES, false, &m->output_bytes))
		return ORR_EINPUT;
	return ORR_OK;
}

/* Reads a table that follows from the layers of a DNN. */
static int get_network(const struct reader *r)
{
	static const char *const keys[] = { "name", "title", "source", "kind", "network", "largest_batch", "load_ms", "slo_ms",
		"utilisation", "occupancy", "input_bytes", "output_bytes", NULL };
	struct served *m = r->m;
	struct orr_error inner = { 0 };
	const char *dnn = NULL;
	if (json_keys(r->path, "$", r->root, keys, r->err) || json_text(r->path, "$", r->root, "network", true, &dnn, r->err) ||
		get_text(r, "name", NULL, &m->name) || get_whole(r, "largest_batch", 1, SERVED_MAX_BATCHES, &m->n_batches) ||
		get_real(r, r->root, "$", "utilisation", 1, 0, 1, false, &m->utilisation) ||
		get_real(r, r->root, "$", "occupancy", 1, 0, 1, false, &m->occupancy) ||
		get_real(r, r->root, "$", "input_bytes", 1, 0, MAX_BYTES, false, &m->input_bytes) ||
		get_real(r, r->root, "$", "output_bytes", 1, 0, MAX_BYTES, false, &m->output_bytes))
		return ORR_EINPUT;
	if (served_network_open(m, dnn, &inner))
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.network: %.400s", r->path, inner.text);
	return ORR_OK;
}

/* ---- language models ---- */

static int get_closed(const struct reader *r, const cJSON *o)
{
	static const char *const keys[] = { "constant_ms", "token_ms", "context_ms", "pair_ms", "stage_ms", "hop_ms", "hop_token_ms",
		NULL };
	enum { NEEDED = 4 };
	struct served_llm *f = r->m->llm;
	double *const out[] = { &f->constant_ms, &f->token_ms, &f->context_ms, &f->pair_ms, &f->stage_ms, &f->hop_ms, &f->hop_token_ms };
	int rc = json_keys(r->path, "$.closed", o, keys, r->err);
	for (int i = 0; !rc && keys[i]; i++)
		rc = get_real(r, o, "$.closed", keys[i], 1, 0, MAX_MS, i < NEEDED, out[i]);
	if (!rc && !(f->constant_ms > 0 || f->token_ms > 0))
		rc = orr_fail(r->err, ORR_EINPUT,
			"%.200s: $.closed: expected \"constant_ms\" or \"token_ms\" above 0, so that an iteration takes time", r->path);
	return rc;
}

static int get_curve(const struct reader *r, const cJSON *o, const char *x_key, const char *y_key, struct served_curve *out)
{
	struct bounds x = { .low = 0, .high = MAX_TOKENS, .is_ascending = true, .least = 2, .most = MAX_KNOTS };
	struct list knots = { 0 }, times = { 0 };
	char at[64];
	snprintf(at, sizeof at, "$.curves.%s", x_key);
	int rc = get_list(r, cJSON_GetObjectItemCaseSensitive(o, x_key), at, &x, &knots);
	if (!rc) {
		struct bounds y = { .low = 0, .high = MAX_MS, .is_above = true, .least = knots.n, .most = knots.n };
		snprintf(at, sizeof at, "$.curves.%s", y_key);
		rc = get_list(r, cJSON_GetObjectItemCaseSensitive(o, y_key), at, &y, &times);
	}
	*out = (struct served_curve){ knots.v, times.v, times.n };
	return rc;
}

/* Checks that the curve stays above 0 where it is extrapolated: at 0 tokens, and beyond its last knot. */
static int check_curve(const struct reader *r, const char *key, const struct served_curve *c)
{
	if (served_curve_at(c, 0) > 0 && c->y[c->n - 1] >= c->y[c->n - 2])
		return ORR_OK;
	return orr_fail(r->err, ORR_EINPUT,
		"%.200s: $.curves.%s: expected a curve that is above 0 when its first segment is extended to 0 tokens, and that does not "
		"fall in its last segment",
		r->path, key);
}

static int get_curves(const struct reader *r, const cJSON *o)
{
	static const char *const keys[] = { "prompt_tokens", "prompt_s", "decodes", "decode_s", "mixed_factor", NULL };
	struct served_llm *f = r->m->llm;
	f->mixed_factor = 1;
	if (json_keys(r->path, "$.curves", o, keys, r->err) || get_curve(r, o, "prompt_tokens", "prompt_s", &f->prompt) ||
		get_curve(r, o, "decodes", "decode_s", &f->decode) || check_curve(r, "prompt_s", &f->prompt) ||
		check_curve(r, "decode_s", &f->decode))
		return ORR_EINPUT;
	return get_real(r, o, "$.curves", "mixed_factor", 1, 1, 1000, false, &f->mixed_factor);
}

/* Returns whether all blocks are equal and consecutive, so that the first block gives the times of all. */
static bool has_equal_blocks(const struct dnn *d)
{
	uint32_t first = 0, n = 0;
	while (first < d->n_layers && d->layer[first].block != 0)
		first++;
	while (first + n < d->n_layers && d->layer[first + n].block == 0)
		n++;
	for (uint64_t i = 0; i < (uint64_t)n * d->blocks; i++)
		if (first + i >= d->n_layers || d->layer[first + i].block != i / n ||
			d->layer[first + i].fwd_flops != d->layer[first + i % n].fwd_flops)
			return false;
	return n > 0;
}

/* Reads the form by layers. Weights and cache have the same element size; the DNN gives the heads of keys and values. */
static int get_layers(const struct reader *r, const cJSON *o)
{
	static const char *const keys[] = { "dnn", "bytes_per_element", "overhead_ms", "attention_efficiency", NULL };
	struct served_llm *f = r->m->llm;
	struct orr_error inner = { 0 };
	const char *name = NULL;
	f->element_bytes = 2;
	f->quant = quant_default;
	if (json_keys(r->path, "$.layers", o, keys, r->err) || json_text(r->path, "$.layers", o, "dnn", true, &name, r->err) ||
		get_real(r, o, "$.layers", "bytes_per_element", 1, 0.5, 8, false, &f->element_bytes) ||
		get_real(r, o, "$.layers", "overhead_ms", 1e-3, 0, MAX_MS, false, &f->overhead_s) ||
		get_real(r, o, "$.layers", "attention_efficiency", 1, 0.01, 1, false, &f->attention_efficiency))
		return ORR_EINPUT;
	f->dnn = dnn_load(name, &inner);
	if (!f->dnn)
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.layers.dnn: %.400s", r->path, inner.text);
	const struct dnn *d = f->dnn;
	if (!d->blocks || !d->hidden || !d->vocab || !d->seq || d->heads % d->kv_heads || d->hidden % d->heads || !has_equal_blocks(d))
		return orr_fail(r->err, ORR_EINPUT,
			"%.200s: $.layers.dnn: expected a transformer of equal blocks with a vocabulary, found %.80s", r->path, name);
	r->m->layers = d->blocks;
	f->has_bytes = cJSON_HasObjectItem(o, "bytes_per_element");
	f->has_weight_bytes = cJSON_HasObjectItem(r->root, "weight_bytes");
	f->has_kv_bytes = cJSON_HasObjectItem(r->root, "kv_bytes_per_token");
	r->m->kv_bytes = 2.0 * d->blocks * d->kv_heads * (d->hidden / d->heads) * f->element_bytes;
	r->m->weight_bytes = d->params * f->element_bytes;
	return ORR_OK;
}

/* Reads three numbers: a constant above 0, and two that are at least 0. */
static int get_fit(const struct reader *r, const cJSON *o, const char *where, const char *key, double *out)
{
	struct bounds b = { .low = 0, .high = MAX_MS, .least = 3, .most = 3 };
	struct list l = { 0 };
	char at[64];
	snprintf(at, sizeof at, "%s.%s", where, key);
	int rc = get_list(r, cJSON_GetObjectItemCaseSensitive(o, key), at, &b, &l);
	for (uint32_t i = 0; !rc && i < 3; i++)
		out[i] = l.v[i];
	if (!rc && !(out[0] > 0))
		rc = orr_fail(r->err, ORR_EINPUT, "%.200s: %s[0]: expected a number above 0, so that an iteration takes time", r->path, at);
	mem_free(l.v);
	return rc;
}

/* Reads the fits of one degree of tensor parallelism. */
static int get_fits_of(const struct reader *r, const cJSON *o, int i, struct served_fit *out)
{
	static const char *const keys[] = { "tp", "prefill_ms", "decode_ms", "large_ms", "large_from", NULL };
	char where[48];
	double tp = 0, from = 0;
	snprintf(where, sizeof where, "$.fits.by_tp[%d]", i);
	if (!cJSON_IsObject(o))
		return wrong(r, where, "an object", o);
	bool has_large = cJSON_HasObjectItem(o, "large_ms") || cJSON_HasObjectItem(o, "large_from");
	if (json_keys(r->path, where, o, keys, r->err) || get_real(r, o, where, "tp", 1, 1, 4096, true, &tp) ||
		get_real(r, o, where, "large_from", 1, 1, 1e9, has_large, &from) || get_fit(r, o, where, "prefill_ms", out->prefill_ms) ||
		get_fit(r, o, where, "decode_ms", out->decode_ms) || (has_large && get_fit(r, o, where, "large_ms", out->large_ms)))
		return ORR_EINPUT;
	out->tp = (uint32_t)tp;
	out->large_from = has_large ? (uint32_t)from : UINT32_MAX;
	return ORR_OK;
}

static int get_fits(const struct reader *r, const cJSON *o)
{
	static const char *const keys[] = { "by_tp", "prompt_pp_ms", "first_ms", "first_token_ms", NULL };
	struct served_llm *f = r->m->llm;
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "by_tp"), *v;
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0, rc = json_keys(r->path, "$.fits", o, keys, r->err);
	if (rc || get_real(r, o, "$.fits", "prompt_pp_ms", 1, 0, MAX_MS, false, &f->prompt_pp_ms) ||
		get_real(r, o, "$.fits", "first_ms", 1, 0, MAX_MS, false, &f->first_ms) ||
		get_real(r, o, "$.fits", "first_token_ms", 1, 0, MAX_MS, false, &f->first_token_ms))
		return ORR_EINPUT;
	if (n < 1 || n > MAX_FITS)
		return wrong(r, "$.fits.by_tp", "a list of 1 to 64 objects", list);
	f->fit = mem_zalloc((size_t)n, sizeof *f->fit);
	cJSON_ArrayForEach(v, list)
	{
		if (!rc)
			rc = get_fits_of(r, v, (int)f->n_fits, &f->fit[f->n_fits]);
		f->n_fits++;
	}
	return rc;
}

static int get_moe(const struct reader *r, const cJSON *o)
{
	static const char *const keys[] = { "layers", "dense_layers", "hidden", "dense_width", "vocabulary", "attention_parameters",
		"pair_flops", "decode_pair_flops", "kv_values", "kv_heads", "experts", "top", "shared", "expert_width", "parameter_bytes",
		"kv_element_bytes", "dispatch_bytes", "combine_bytes", "alltoall_ms", "alltoall_Bps", "node_gpus", "imbalance", "kernels",
		"constant_ms", "attention", "overlap", NULL };
	static const char at[] = "$.moe";
	struct served_moe *x = r->m->llm->moe = mem_zalloc(1, sizeof *x);
	*x = (struct served_moe){ .kv_heads = 1,
		.parameter_bytes = 1,
		.kv_element_bytes = 2,
		.alltoall_s = 20e-6,
		.node_gpus = 8,
		.imbalance = 1,
		.kernels = 10,
		.is_data_parallel = true };
	const struct {
		const char *key;
		double unit, low, high;
		bool is_needed;
		double *out;
	} v[] = { { "layers", 1, 1, 1e6, true, &x->layers }, { "dense_layers", 1, 0, 1e6, false, &x->dense_layers },
		{ "hidden", 1, 1, 1e9, true, &x->hidden }, { "dense_width", 1, 0, 1e9, false, &x->dense_width },
		{ "vocabulary", 1, 1, 1e9, true, &x->vocabulary }, { "attention_parameters", 1, 1, 1e15, true, &x->attention_parameters },
		{ "pair_flops", 1, 1, 1e12, true, &x->pair_flops }, { "decode_pair_flops", 1, 1, 1e12, false, &x->decode_pair_flops },
		{ "kv_values", 1, 1, 1e9, true, &x->kv_values }, { "kv_heads", 1, 1, 1e6, false, &x->kv_heads },
		{ "experts", 1, 1, 1e6, true, &x->experts }, { "top", 1, 1, 1e6, true, &x->top },
		{ "shared", 1, 0, 1e6, false, &x->shared }, { "expert_width", 1, 1, 1e9, true, &x->expert_width },
		{ "parameter_bytes", 1, 1, 2, false, &x->parameter_bytes }, { "kv_element_bytes", 1, 0.5, 4, false, &x->kv_element_bytes },
		{ "dispatch_bytes", 1, 1, 1e9, false, &x->dispatch_bytes }, { "combine_bytes", 1, 1, 1e9, false, &x->combine_bytes },
		{ "alltoall_ms", 1e-3, 0, MAX_MS, false, &x->alltoall_s }, { "alltoall_Bps", 1, 1, 1e18, false, &x->alltoall_Bps },
		{ "node_gpus", 1, 1, 1e6, false, &x->node_gpus }, { "imbalance", 1, 1, 1e6, false, &x->imbalance },
		{ "kernels", 1, 0, 1e6, false, &x->kernels }, { "constant_ms", 1e-3, 0, MAX_MS, false, &x->constant_s } };
	if (json_keys(r->path, at, o, keys, r->err))
		return ORR_EINPUT;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		if (get_real(r, o, at, v[i].key, v[i].unit, v[i].low, v[i].high, v[i].is_needed, v[i].out))
			return ORR_EINPUT;
	const cJSON *how = cJSON_GetObjectItemCaseSensitive(o, "attention"), *overlap = cJSON_GetObjectItemCaseSensitive(o, "overlap");
	if (how && (!cJSON_IsString(how) || (strcmp(how->valuestring, "dp") && strcmp(how->valuestring, "tp"))))
		return wrong(r, "$.moe.attention", "\"dp\" or \"tp\"", how);
	if (overlap && (!cJSON_IsString(overlap) || (strcmp(overlap->valuestring, "none") && strcmp(overlap->valuestring, "two-batch"))))
		return wrong(r, "$.moe.overlap", "\"none\" or \"two-batch\"", overlap);
	x->is_data_parallel = !how || !strcmp(how->valuestring, "dp");
	x->has_two_batches = overlap && !strcmp(overlap->valuestring, "two-batch");
	if (x->top > x->experts || x->dense_layers > x->layers)
		return orr_fail(r->err, ORR_EINPUT,
			"%.200s: $.moe: expected \"top\" of at most \"experts\", and \"dense_layers\" of at most \"layers\"", r->path);
	served_moe_settle(r->m);
	return ORR_OK;
}

static int get_form(const struct reader *r)
{
	static const struct {
		const char *key;
		enum served_form form;
		int (*get)(const struct reader *r, const cJSON *o);
	} forms[] = { { "closed", SERVED_CLOSED, get_closed }, { "curves", SERVED_CURVES, get_curves },
		{ "layers", SERVED_LAYERS, get_layers }, { "fits", SERVED_FITS, get_fits }, { "moe", SERVED_MOE, get_moe } };
	int found = -1;
	for (int i = 0; i < 5; i++) {
		if (!cJSON_GetObjectItemCaseSensitive(r->root, forms[i].key))
			continue;
		if (found >= 0)
			return orr_fail(r->err, ORR_EINPUT,
				"%.200s: $: expected only one of the keys \"closed\", \"curves\", \"fits\", \"layers\" and \"moe\", found "
				"\"%s\" "
				"and \"%s\"",
				r->path, forms[found].key, forms[i].key);
		found = i;
	}
	if (found < 0)
		return orr_fail(r->err, ORR_EINPUT,
			"%.200s: $: expected one of the keys \"closed\", \"curves\", \"fits\", \"layers\" and \"moe\", found none",
			r->path);
	r->m->llm->form = forms[found].form;
	return forms[found].get(r, cJSON_GetObjectItemCaseSensitive(r->root, forms[found].key));
}

static int get_llm(const struct reader *r)
{
	static const char *const keys[] = { "name", "title", "source", "kind", "load_ms", "slo_ms", "weight_bytes", "kv_bytes_per_token",
		"longest", "closed", "curves", "fits", "layers", "moe", NULL };
	struct served *m = r->m;
	m->llm = mem_zalloc(1, sizeof *m->llm);
	int rc = json_keys(r->path, "$", r->root, keys, r->err);
	if (!rc)
		rc = get_form(r);
	if (rc)
		return rc;
	bool is_layers = m->llm->form == SERVED_LAYERS || m->llm->form == SERVED_MOE; /* their bytes follow from the shapes */
	if (get_real(r, r->root, "$", "weight_bytes", 1, 0, MAX_BYTES, !is_layers, &m->weight_bytes) ||
		get_real(r, r->root, "$", "kv_bytes_per_token", 1, 1, MAX_BYTES, !is_layers, &m->kv_bytes) ||
		get_whole(r, "longest", 1, 1e9, &m->longest))
		return ORR_EINPUT;
	return ORR_OK;
}

/* ---- the file ---- */

static int get_model(const struct reader *r)
{
	static const char *const kinds[] = { "table", "llm", NULL };
	struct served *m = r->m;
	int kind = SERVED_TABLE;
	m->utilisation = m->occupancy = 1;
	m->slo_s = INFINITY;
	if (!cJSON_IsObject(r->root))
		return wrong(r, "$", "an object", r->root);
	if (get_choice(r, "kind", kinds, true, &kind))
		return ORR_EINPUT;
	m->kind = (enum served_kind)kind;
	bool has_network = cJSON_GetObjectItemCaseSensitive(r->root, "network");
	if (has_network && m->kind != SERVED_TABLE)
		return orr_fail(r->err, ORR_EINPUT, "%.200s: $.kind: expected \"table\" together with the key \"network\", found \"%.40s\"",
			r->path, kinds[kind]);
	if ((has_network                      ? get_network(r)
		    : m->kind == SERVED_TABLE ? get_table(r)
					      : get_llm(r)) ||
		(!has_network && get_text(r, "name", NULL, &m->name)) || get_text(r, "title", m->name, &m->title) ||
		get_text(r, "source", has_network ? served_network_source : NULL, &m->source) ||
		get_real(r, r->root, "$", "load_ms", 1e-3, 0, MAX_MS, false, &m->load_s))
		return ORR_EINPUT;
	int rc = get_real(r, r->root, "$", "slo_ms", 1e-3, 0, MAX_MS, false, &m->slo_s);
	if (!rc && m->slo_s <= 0)
		rc = orr_fail(r->err, ORR_EINPUT, "%.200s: $.slo_ms: expected a number above 0, found 0", r->path);
	return rc;
}

struct served *served_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	cJSON *root = json_parse(path, text, n, err);
	if (!root)
		return NULL;
	struct reader r = { path, root, mem_zalloc(1, sizeof *r.m), err };
	int rc = get_model(&r);
	cJSON_Delete(root);
	if (rc) {
		served_free(r.m);
		return NULL;
	}
	struct sbuf all = { 0 };
	sbuf_add(&all, text, n);
	if (r.m->network)
		sbuf_puts(&all, r.m->network->dnn->hash);
	bytes_hash_text(all.text, all.len, r.m->hash);
	sbuf_free(&all);
	return r.m;
}

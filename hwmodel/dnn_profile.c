/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a chain of layers with measured times: the profiles of DAPPLE's planner (docs/models/plan.md, "Profiles"). */
#include "hwmodel/dnn_profile.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "hwmodel/dnn_plan.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 1 << 26, FP32_BYTES = 4 };

enum column { COL_IDX, COL_LAYER, COL_FWD, COL_BWD, COL_ACTIVATION, COL_PARAM, COLUMNS };
static const char *const column_names[COLUMNS] = { "idx", "layer", "fwd_ms", "bwd_ms", "activation_bytes", "param_bytes" };

static const struct orr_param options[] = { ORR_PARAM_REAL("batch", "0", 0, 1e9, "samples of the profiled batch"),
	ORR_PARAM_TEXT("device", "v100", "device on which the times were measured"), ORR_PARAM_END };

struct reader {
	const char *path;
	uint64_t line;
	int at[COLUMNS]; /* field of each column */
	double batch;
};

/* ---- one line ---- */

/* Returns field k of a line, without surrounding blanks. */
static const char *field(const char *line, int k, size_t *n)
{
	for (; k; k--) {
		line += strcspn(line, ",\r\n");
		if (*line != ',')
			return NULL;
		line++;
	}
	while (*line == ' ')
		line++;
	*n = strcspn(line, ",\r\n");
	while (*n && line[*n - 1] == ' ')
		--*n;
	return line;
}

static int read_header(struct reader *r, const char *line, struct orr_error *err)
{
	for (int c = 0; c < COLUMNS; c++) {
		r->at[c] = -1;
		const char *s;
		size_t n;
		for (int k = 0; (s = field(line, k, &n)); k++)
			if (n == strlen(column_names[c]) && !memcmp(s, column_names[c], n))
				r->at[c] = k;
		if (r->at[c] < 0)
			return orr_fail(err, ORR_EINPUT,
				"%.200s:%llu: no column \"%s\": expected the columns idx, layer, fwd_ms, bwd_ms, activation_bytes and "
				"param_bytes",
				r->path, (unsigned long long)r->line, column_names[c]);
	}
	return ORR_OK;
}

static int read_number(const struct reader *r, const char *line, enum column c, double *out, struct orr_error *err)
{
	size_t n = 0;
	const char *s = field(line, r->at[c], &n);
	if (s && num_real(s, n, out) && *out >= 0)
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "%.200s:%llu: %s: expected a number of at least 0, found \"%.*s\"", r->path,
		(unsigned long long)r->line, column_names[c], (int)(n < 40 ? n : 40), s ? s : "");
}

static int read_layer(struct reader *r, const char *line, struct plan *p, struct orr_error *err)
{
	double index, fwd_ms, bwd_ms, activation, param;
	size_t n = 0;
	int rc = read_number(r, line, COL_IDX, &index, err);
	if (!rc && index != (double)p->n)
		rc = orr_fail(err, ORR_EINPUT,
			"%.200s:%llu: idx: expected %zu, because layers are numbered from 0 without gaps, found %.15g", r->path,
			(unsigned long long)r->line, p->n, index);
	if (!rc)
		rc = read_number(r, line, COL_FWD, &fwd_ms, err);
	if (!rc)
		rc = read_number(r, line, COL_BWD, &bwd_ms, err);
	if (!rc)
		rc = read_number(r, line, COL_ACTIVATION, &activation, err);
	if (!rc)
		rc = read_number(r, line, COL_PARAM, &param, err);
	if (rc)
		return rc;
	const char *s = field(line, r->at[COL_LAYER], &n);
	char name[PLAN_MAX_NAME + 1];
	snprintf(name, sizeof name, "%.*s", (int)(n < PLAN_MAX_NAME ? n : PLAN_MAX_NAME), s ? s : "");
	struct dnn_layer *l = plan_add(p, ORR_LAYER_ELEMENTWISE, name);
	l->block = DNN_NO_BLOCK;
	l->measured_s[0] = fwd_ms / 1e3 / r->batch;
	l->measured_s[1] = bwd_ms / 1e3 / r->batch;
	l->out_elems = l->saved_elems = activation / FP32_BYTES / r->batch;
	l->in_elems = p->n > 1 ? p->layer[p->n - 2].out_elems : l->out_elems;
	l->params = param / FP32_BYTES;
	l->tensors = param > 0;
	return ORR_OK;
}

/* ---- the file ---- */

static int read_lines(struct reader *r, char *text, struct plan *p, struct orr_error *err)
{
	int rc = ORR_OK;
	for (char *line = text, *next; !rc && line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r->line++;
		if (!line[strspn(line, " \r")])
			continue;
		rc = r->line == 1 ? read_header(r, line, err) : read_layer(r, line, p, err);
	}
	if (!rc && p->n < 1)
		rc = orr_fail(err, ORR_EINPUT, "%.200s:%llu: expected a line for each layer, found none", r->path,
			(unsigned long long)r->line + 1);
	if (!rc && p->n > PLAN_MAX_LAYERS)
		rc = orr_fail(err, ORR_EINPUT, "%.200s: expected at most %d layers, found %zu", r->path, PLAN_MAX_LAYERS, p->n);
	return rc;
}

static struct orr_args *read_options(const char *path, const char *text, struct orr_error *err)
{
	char where[240];
	snprintf(where, sizeof where, "model %.200s", path);
	struct orr_args *a = args_new(options, where, err);
	int rc = a ? args_set_pairs(a, text, ',', err) : ORR_EINPUT;
	if (!rc && !(orr_arg_real(a, "batch") > 0))
		rc = orr_fail(err, ORR_EINPUT, "%.200s: unknown batch size: expected it after the name, as in %.200s:batch=32", path, path);
	if (!rc)
		return a;
	args_free(a);
	return NULL;
}

const char *dnn_profile_options(const char *spec)
{
	const char *end = strstr(spec, ".csv");
	if (!end || (end[4] && end[4] != ':'))
		return NULL;
	return end + 4;
}

static struct dnn *finish(struct plan *p, double batch, const char *device)
{
	struct dnn *d = plan_expand(p);
	d->profile_batch = batch;
	d->profile_device = mem_strdup(device);
	d->input_elems = d->layer[0].out_elems;
	return d;
}

static struct dnn *read_file(const char *path, const struct orr_args *a, const char *spec, struct orr_error *err)
{
	size_t n;
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(path, MAX_BYTES, &n, hash, err);
	if (!text)
		return NULL;
	const char *name = strrchr(path, '/');
	struct reader r = { .path = path, .batch = orr_arg_real(a, "batch") };
	struct plan *p = plan_new(name ? name + 1 : path, "measured profile", "one sample");
	struct dnn *d = NULL;
	int rc = read_lines(&r, text, p, err);
	mem_free(text);
	if (rc) {
		plan_free(p);
		return NULL;
	}
	d = finish(p, r.batch, orr_arg_text(a, "device"));
	/* The options are part of the model's name. */
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s %s", hash, dnn_profile_options(spec));
	bytes_hash_text(b.text, b.len, d->hash);
	sbuf_free(&b);
	return d;
}

struct dnn *dnn_profile_load(const char *spec, struct orr_error *err)
{
	const char *end = dnn_profile_options(spec);
	char *path = mem_strndup(spec, (size_t)(end - spec));
	struct orr_args *a = read_options(path, *end ? end + 1 : end, err);
	struct dnn *d = a ? read_file(path, a, spec, err) : NULL;
	args_free(a);
	mem_free(path);
	return d;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a model from JSON (docs/model.schema.json). */
#include "hwmodel/dnn_plan.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "hwmodel/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_NUMBER 1e18 /* largest number of FLOPs or elements */
#define MAX_COUNT 9e15  /* largest number of parameters */

enum { MAX_REPEAT = 100000, MAX_TEXT = 300 };

static const char *const kind_names[ORR_LAYER_KINDS + 1] = { [ORR_LAYER_CONV] = "conv",
	[ORR_LAYER_LINEAR] = "linear",
	[ORR_LAYER_MATMUL] = "matmul",
	[ORR_LAYER_RNN] = "rnn",
	[ORR_LAYER_EMBEDDING] = "embedding",
	[ORR_LAYER_NORM] = "norm",
	[ORR_LAYER_ACTIVATION] = "activation",
	[ORR_LAYER_POOL] = "pool",
	[ORR_LAYER_SOFTMAX] = "softmax",
	[ORR_LAYER_ELEMENTWISE] = "elementwise" };

const char *dnn_kind_name(enum orr_layer_kind kind)
{
	return (unsigned)kind < ORR_LAYER_KINDS ? kind_names[kind] : "?";
}

/* Position in the file, for messages: "path: $.layers[3].layers[0]". */
struct place {
	const char *path;
	char at[64];
};

static int check_keys(const struct place *w, const cJSON *o, const char *const *known, struct orr_error *err)
{
	return json_keys(w->path, w->at, o, known, err);
}

/* ---- values; def NAN or NULL: the key is required ---- */

static int get_number(const struct place *w, const cJSON *o, const char *key, double def, double max, double *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = def;
	if (!v && !isnan(def))
		return ORR_OK;
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble <= max))
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected a number from 0 to %.15g%s", w->path, w->at, key, max,
			v ? "" : ", found nothing");
	*out = v->valuedouble;
	return ORR_OK;
}

/* Reads a whole number, up to the largest that a double represents exactly. */
static int get_count(const struct place *w, const cJSON *o, const char *key, double def, double *out, struct orr_error *err)
{
	int rc = get_number(w, o, key, def, MAX_COUNT, out, err);
	if (!rc && *out != floor(*out))
		rc = orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected a whole number, found %.15g", w->path, w->at, key, *out);
	return rc;
}

static int get_whole(
	const struct place *w, const cJSON *o, const char *key, double def, double min, double max, uint32_t *out, struct orr_error *err)
{
	double v;
	int rc = get_number(w, o, key, def, max, &v, err);
	if (!rc && (v != floor(v) || v < min))
		rc = orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected a whole number from %.15g to %.15g, found %.15g", w->path, w->at,
			key, min, max, v);
	if (!rc)
		*out = (uint32_t)v;
	return rc;
}

static bool is_plain(const char *s)
{
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
			return false;
	return n > 0 && n <= MAX_TEXT;
}

static int get_text(const struct place *w, const cJSON *o, const char *key, const char *def, const char **out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = def;
	if (!v && def)
		return ORR_OK;
	if (!cJSON_IsString(v) || !is_plain(v->valuestring))
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected a string of 1 to %d bytes on one line%s", w->path, w->at, key,
			MAX_TEXT, v ? "" : ", found nothing");
	*out = v->valuestring;
	return ORR_OK;
}

static int get_bool(const struct place *w, const cJSON *o, const char *key, bool *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = cJSON_IsTrue(v);
	if (v && !cJSON_IsBool(v))
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected true or false", w->path, w->at, key);
	return ORR_OK;
}

/* Reads n numbers; all 0 if the key is missing. */
static int get_numbers(const struct place *w, const cJSON *o, const char *key, double *const *out, int n, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	if (!v)
		return ORR_OK;
	const cJSON *item = v->child;
	bool is_good = cJSON_IsArray(v) && cJSON_GetArraySize(v) == n;
	for (int i = 0; is_good && i < n; i++, item = item->next) {
		is_good = cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble <= MAX_NUMBER;
		*out[i] = item->valuedouble;
	}
	return is_good ? ORR_OK
		       : orr_fail(err, ORR_EINPUT, "%.200s: %s.%s: expected a list of %d numbers above 0, to %.15g", w->path, w->at, key, n,
				 MAX_NUMBER);
}

/* ---- layers ---- */

static int get_kind(const struct place *w, const cJSON *o, enum orr_layer_kind *out, struct orr_error *err)
{
	const char *text;
	int rc = get_text(w, o, "kind", NULL, &text, err);
	if (rc)
		return rc;
	for (int i = 0; i < ORR_LAYER_KINDS; i++)
		if (!strcmp(kind_names[i], text)) {
			*out = (enum orr_layer_kind)i;
			return ORR_OK;
		}
	const char *near = nearest_name(text, kind_names);
	return orr_fail(err, ORR_EINPUT, "%.200s: %s.kind: unknown kind \"%.40s\": %s%s%s", w->path, w->at, text,
		near ? "did you mean \"" : "expected ",
		near ? near : "conv, linear, matmul, rnn, embedding, norm, activation, pool, softmax or elementwise", near ? "\"?" : "");
}

/* Returns the default of saved_elems, the elements that backward needs of a layer: docs/models/step.md. */
static double saved_by_kind(const struct dnn_layer *l)
{
	switch (l->kind) {
	case ORR_LAYER_CONV:
	case ORR_LAYER_LINEAR:
	case ORR_LAYER_MATMUL:
	case ORR_LAYER_RNN:
	case ORR_LAYER_NORM:
		return l->in_elems;
	case ORR_LAYER_SOFTMAX:
		return l->out_elems;
	case ORR_LAYER_ACTIVATION:
		return l->is_in_place ? 0 : l->out_elems;
	default:
		return 0;
	}
}

static int get_split(const struct place *w, const cJSON *o, enum dnn_split *out, struct orr_error *err)
{
	static const char *const names[] = { "auto", "none", "columns", "rows" };
	const char *text;
	if (get_text(w, o, "split", "auto", &text, err))
		return ORR_EINPUT;
	for (int i = DNN_SPLIT_AUTO; i <= DNN_SPLIT_ROWS; i++)
		if (!strcmp(names[i], text)) {
			*out = (enum dnn_split)i;
			return ORR_OK;
		}
	return orr_fail(err, ORR_EINPUT, "%.200s: %s.split: expected auto, none, columns or rows, found \"%.40s\"", w->path, w->at, text);
}

static int check_layer(const struct dnn *d, const struct place *w, const struct dnn_layer *l, struct orr_error *err)
{
	bool is_product =
		l->kind == ORR_LAYER_CONV || l->kind == ORR_LAYER_LINEAR || l->kind == ORR_LAYER_MATMUL || l->kind == ORR_LAYER_RNN;
	double flops = 2 * l->m * l->n * l->k * l->count;
	if (is_product && !(l->m > 0))
		return orr_fail(
			err, ORR_EINPUT, "%.200s: %s.gemm: expected [m, n, k, count], required for matrix products", w->path, w->at);
	if (is_product && fabs(flops - l->fwd_flops) > 1e-6 * flops)
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.flops: expected 2 x m x n x k x count of \"gemm\", %.15g, found %.15g",
			w->path, w->at, flops, l->fwd_flops);
	if (l->experts > 0 && (!d->moe.experts || l->experts != d->moe.experts))
		return orr_fail(err, ORR_EINPUT,
			"%.200s: %s.experts: expected 0, or %u, the number in \"experts\" of the model, found %.15g", w->path, w->at,
			d->moe.experts, l->experts);
	if (l->experts > 0 && is_product && l->count != l->experts)
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.gemm: expected a count of %.15g, one product for each expert, found %.15g",
			w->path, w->at, l->experts, l->count);
	if (l->params > 0 && !(l->tensors > 0))
		return orr_fail(
			err, ORR_EINPUT, "%.200s: %s.tensors: expected a number from 1 for a layer with parameters", w->path, w->at);
	return ORR_OK;
}

static int get_layer(struct plan *p, const struct place *w, const cJSON *o, struct orr_error *err)
{
	static const char *const known[] = { "name", "kind", "params", "tensors", "matrix", "flops", "in", "out", "saved", "gemm",
		"in_place", "experts", "split", NULL };
	struct dnn_layer v = { 0 };
	const char *name;
	double before = p->n ? p->layer[p->n - 1].out_elems : p->d->input_elems;
	if (check_keys(w, o, known, err) || get_text(w, o, "name", NULL, &name, err) || get_kind(w, o, &v.kind, err) ||
		get_bool(w, o, "in_place", &v.is_in_place, err) || get_count(w, o, "params", 0, &v.params, err) ||
		get_count(w, o, "tensors", v.params > 0, &v.tensors, err) ||
		get_number(w, o, "flops", NAN, MAX_NUMBER, &v.fwd_flops, err) ||
		get_number(w, o, "in", before, MAX_NUMBER, &v.in_elems, err) ||
		get_number(w, o, "out", NAN, MAX_NUMBER, &v.out_elems, err) ||
		get_number(w, o, "saved", saved_by_kind(&v), MAX_NUMBER, &v.saved_elems, err) ||
		get_numbers(w, o, "matrix", (double *[]){ &v.rows, &v.columns }, 2, err) ||
		get_numbers(w, o, "gemm", (double *[]){ &v.m, &v.n, &v.k, &v.count }, 4, err) ||
		get_count(w, o, "experts", 0, &v.experts, err) || get_split(w, o, &v.split, err) || check_layer(p->d, w, &v, err))
		return ORR_EINPUT;
	if (strlen(name) > PLAN_MAX_NAME)
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.name: expected at most %d bytes", w->path, w->at, PLAN_MAX_NAME);
	struct dnn_layer *l = plan_add(p, v.kind, name);
	v.name = l->name;
	v.block = DNN_NO_BLOCK;
	*l = v;
	return ORR_OK;
}

static int get_repeat(struct plan *p, const struct place *w, const cJSON *o, struct orr_error *err)
{
	static const char *const known[] = { "repeat", "from", "is_block", "layers", NULL };
	uint32_t count, from;
	bool is_block;
	if (check_keys(w, o, known, err) || get_whole(w, o, "repeat", NAN, 1, MAX_REPEAT, &count, err) ||
		get_whole(w, o, "from", 0, 0, MAX_REPEAT, &from, err) || get_bool(w, o, "is_block", &is_block, err))
		return ORR_EINPUT;
	const cJSON *layers = cJSON_GetObjectItemCaseSensitive(o, "layers");
	if (!cJSON_IsArray(layers) || !layers->child)
		return orr_fail(err, ORR_EINPUT, "%.200s: %s.layers: expected a list of layers", w->path, w->at);
	plan_repeat_begin(p, count, from, is_block);
	int i = 0;
	for (const cJSON *m = layers->child; m; m = m->next) {
		struct place inner = { .path = w->path };
		snprintf(inner.at, sizeof inner.at, "%.40s.layers[%d]", w->at, i++);
		if (cJSON_GetObjectItemCaseSensitive(m, "repeat"))
			return orr_fail(err, ORR_EINPUT,
				"%.200s: %s.repeat: this layer is inside another \"repeat\": expected a layer without \"repeat\"", w->path,
				inner.at);
		int rc = get_layer(p, &inner, m, err);
		if (rc)
			return rc;
	}
	plan_repeat_end(p);
	return ORR_OK;
}

static int get_layers(struct plan *p, const char *path, const cJSON *layers, struct orr_error *err)
{
	if (!cJSON_IsArray(layers) || !layers->child)
		return orr_fail(err, ORR_EINPUT, "%.200s: $.layers: expected a list of layers", path);
	int i = 0;
	for (const cJSON *m = layers->child; m; m = m->next) {
		struct place w = { .path = path };
		snprintf(w.at, sizeof w.at, "$.layers[%d]", i++);
		int rc = cJSON_GetObjectItemCaseSensitive(m, "repeat") ? get_repeat(p, &w, m, err) : get_layer(p, &w, m, err);
		if (rc)
			return rc;
	}
	if (plan_layers(p) > PLAN_MAX_LAYERS)
		return orr_fail(
			err, ORR_EINPUT, "%.200s: $.layers: expected at most %d layers, found %.0f", path, PLAN_MAX_LAYERS, plan_layers(p));
	return ORR_OK;
}

/* ---- the header ---- */

static int get_transformer(struct dnn *d, const char *path, const cJSON *o, struct orr_error *err)
{
	static const char *const known[] = { "hidden", "heads", "kv_heads", "ffn", "seq", "vocab", "head_dim", "v_dim", "cached", NULL };
	struct dnn_attention *a = &d->attention;
	struct place w = { path, "$.transformer" };
	if (!o)
		return ORR_OK;
	if (check_keys(&w, o, known, err) || get_whole(&w, o, "hidden", NAN, 1, 1e8, &d->hidden, err) ||
		get_whole(&w, o, "heads", NAN, 1, 1e6, &d->heads, err) ||
		get_whole(&w, o, "kv_heads", d->heads, 1, 1e6, &d->kv_heads, err) || get_whole(&w, o, "ffn", NAN, 1, 1e9, &d->ffn, err) ||
		get_whole(&w, o, "seq", NAN, 1, 1e9, &d->seq, err) || get_whole(&w, o, "vocab", 0, 0, 1e9, &d->vocab, err) ||
		get_whole(&w, o, "head_dim", d->hidden / d->heads, 0, 1e6, &a->head_dim, err) ||
		get_whole(&w, o, "v_dim", a->head_dim, 0, 1e6, &a->v_dim, err) ||
		get_number(&w, o, "cached", 2. * d->kv_heads * a->head_dim, MAX_NUMBER, &a->cached, err))
		return ORR_EINPUT;
	return ORR_OK;
}

static int get_experts(struct dnn *d, const char *path, const cJSON *o, struct orr_error *err)
{
	static const char *const known[] = { "experts", "top_k", "shared", "width", "groups", "top_groups", NULL };
	struct place w = { path, "$.experts" };
	struct dnn_experts *e = &d->moe;
	char where[256];
	if (!o)
		return ORR_OK;
	if (check_keys(&w, o, known, err) || get_whole(&w, o, "experts", NAN, 1, DNN_MAX_EXPERTS, &e->experts, err) ||
		get_whole(&w, o, "top_k", NAN, 1, DNN_MAX_TOP_K, &e->top_k, err) ||
		get_whole(&w, o, "shared", 0, 0, 1024, &e->shared, err) || get_whole(&w, o, "width", NAN, 1, 1e8, &e->width, err) ||
		get_whole(&w, o, "groups", 1, 1, DNN_MAX_GROUPS, &e->groups, err) ||
		get_whole(&w, o, "top_groups", e->groups, 1, DNN_MAX_GROUPS, &e->top_groups, err))
		return ORR_EINPUT;
	if (!d->hidden)
		return orr_fail(err, ORR_EINPUT, "%.200s: $.experts: expected this key only together with \"transformer\"", path);
	snprintf(where, sizeof where, "%.200s: $.experts", path);
	return dnn_check_experts(where, e, err);
}

static int get_graph(struct dnn *d, const char *path, const cJSON *o, struct orr_error *err)
{
	static const char *const known[] = { "vertices", "edges", "degrees", "exponent", "attention", NULL };
	struct place w = { path, "$.graph" };
	struct graph_shape *g = &d->graph;
	const char *law, *names[8] = { NULL };
	char where[256];
	size_t i = 0;
	if (!o)
		return ORR_OK;
	if (check_keys(&w, o, known, err) || get_count(&w, o, "vertices", NAN, &g->vertices, err) ||
		get_count(&w, o, "edges", NAN, &g->edges, err) || get_text(&w, o, "degrees", "poisson", &law, err) ||
		get_number(&w, o, "exponent", 2.5, 10, &g->exponent, err) || get_bool(&w, o, "attention", &d->has_attention, err))
		return ORR_EINPUT;
	for (; degree_law_name(i) && strcmp(degree_law_name(i), law); i++)
		names[i] = degree_law_name(i);
	if (!degree_law_name(i))
		return orr_fail(err, ORR_EINPUT, "%.200s: $.graph.degrees: expected regular, poisson or power, found \"%.40s\"%s%s%s", path,
			law, nearest_name(law, names) ? ": did you mean \"" : "", nearest_name(law, names) ? nearest_name(law, names) : "",
			nearest_name(law, names) ? "\"?" : "");
	g->law = (enum degree_law)i;
	if (g->exponent <= 2)
		return orr_fail(err, ORR_EINPUT, "%.200s: $.graph.exponent: expected a number above 2, found %.15g", path, g->exponent);
	snprintf(where, sizeof where, "%.200s: $.graph", path);
	return graph_shape_check(where, g, err);
}

static struct plan *get_head(const char *path, const cJSON *root, struct orr_error *err)
{
	static const char *const known[] = { "name", "title", "input", "input_elems", "source", "classifier", "transformer", "experts",
		"graph", "layers", NULL };
	struct place w = { path, "$" };
	const char *name, *title, *input, *source, *classifier;
	double elems;
	if (check_keys(&w, root, known, err) || get_text(&w, root, "name", NULL, &name, err) ||
		get_text(&w, root, "title", name, &title, err) || get_text(&w, root, "input", "one sample", &input, err) ||
		get_text(&w, root, "source", "-", &source, err) || get_text(&w, root, "classifier", "", &classifier, err) ||
		get_number(&w, root, "input_elems", NAN, MAX_NUMBER, &elems, err))
		return NULL;
	struct plan *p = plan_new(name, title, input);
	p->d->input_elems = elems;
	p->classifier = *classifier ? mem_strdup(classifier) : NULL;
	if (!get_transformer(p->d, path, cJSON_GetObjectItemCaseSensitive(root, "transformer"), err) &&
		!get_experts(p->d, path, cJSON_GetObjectItemCaseSensitive(root, "experts"), err) &&
		!get_graph(p->d, path, cJSON_GetObjectItemCaseSensitive(root, "graph"), err))
		return p;
	plan_free(p);
	return NULL;
}

static struct plan *get_model(const char *path, const cJSON *root, struct orr_error *err)
{
	struct plan *p = get_head(path, root, err);
	if (!p || !get_layers(p, path, cJSON_GetObjectItemCaseSensitive(root, "layers"), err))
		return p;
	plan_free(p);
	return NULL;
}

static int check_classifier(const char *path, struct plan *p, struct orr_error *err)
{
	const char **names = mem_zalloc(p->n + 1, sizeof *names), *near = NULL;
	bool is_there = !p->classifier;
	for (size_t i = 0; i < p->n; i++) {
		names[i] = p->layer[i].name;
		is_there |= p->classifier && !strcmp(names[i], p->classifier);
	}
	if (!is_there)
		near = nearest_name(p->classifier, names);
	mem_free(names);
	return is_there ? ORR_OK
			: orr_fail(err, ORR_EINPUT, "%.200s: $.classifier: expected the name of a layer, found \"%.80s\"%s%.80s%s", path,
				  p->classifier, near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

struct dnn *dnn_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	cJSON *root = json_parse(path, text, n, err);
	struct plan *p = root ? get_model(path, root, err) : NULL;
	cJSON_Delete(root);
	if (p && check_classifier(path, p, err)) {
		plan_free(p);
		p = NULL;
	}
	struct dnn *d = p ? plan_expand(p) : NULL;
	if (d)
		bytes_hash_text(text, n, d->hash);
	return d;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks every row of the model tables in $ORRERY_DATA_PATH/models, and every total of their summary.csv. The tables are exact
 * arithmetic from the architectures, made independently of orrery and checked against published totals.
 * Skipped if the tables are missing.
 */
#include "hwmodel/dnn.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { MAX_FIELDS = 16, LINE = 2000 };

/* Splits at commas outside quotes and removes the quotes. */
static int split(char *line, char *field[MAX_FIELDS])
{
	int n = 0;
	char *out = line;
	bool quoted = false;
	field[n++] = out;
	for (char *s = line; *s && *s != '\n' && *s != '\r'; s++) {
		if (*s == '"') {
			quoted = !quoted;
		} else if (*s == ',' && !quoted) {
			*out++ = '\0';
			if (n == MAX_FIELDS)
				return n;
			field[n++] = out;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
	return n;
}

/* The name "enc1..matmul" of the tables is enc1.matmul here. */
static bool same_name(const char *ours, const char *theirs)
{
	for (; *ours && *ours == *theirs; ours++, theirs++)
		if (*theirs == '.' && theirs[1] == '.')
			theirs++;
	return !*ours && !*theirs;
}

static enum orr_layer_kind kind_of(const char *k)
{
	static const struct {
		const char *name;
		enum orr_layer_kind kind;
	} kinds[] = { { "conv", ORR_LAYER_CONV }, { "linear", ORR_LAYER_LINEAR }, { "lm_head", ORR_LAYER_LINEAR },
		{ "matmul", ORR_LAYER_MATMUL }, { "rnn_matmul", ORR_LAYER_RNN }, { "embedding", ORR_LAYER_EMBEDDING },
		{ "embedding_bag", ORR_LAYER_EMBEDDING }, { "batchnorm", ORR_LAYER_NORM }, { "layernorm", ORR_LAYER_NORM },
		{ "rmsnorm", ORR_LAYER_NORM }, { "lrn", ORR_LAYER_NORM }, { "relu", ORR_LAYER_ACTIVATION },
		{ "tanh", ORR_LAYER_ACTIVATION }, { "gelu", ORR_LAYER_ACTIVATION }, { "sigmoid", ORR_LAYER_ACTIVATION },
		{ "silu_mul", ORR_LAYER_ACTIVATION }, { "maxpool", ORR_LAYER_POOL }, { "avgpool", ORR_LAYER_POOL },
		{ "avgpool_global", ORR_LAYER_POOL }, { "softmax", ORR_LAYER_SOFTMAX } };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, k))
			return kinds[i].kind;
	return ORR_LAYER_ELEMENTWISE; /* add, concat, rope, rnn_pointwise, attention_additive, fm_interaction */
}

static const struct dnn_layer *find(const struct dnn *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_layers; i++)
		if (same_name(d->layer[i].name, name))
			return &d->layer[i];
	return NULL;
}

/* Returns whether the row agrees in kind, parameters, FLOPs and elements. */
static bool check_row(const struct dnn *d, char **f)
{
	const struct dnn_layer *l = find(d, f[0]);
	if (!l) {
		printf("# %s: no layer %s\n", d->name, f[0]);
		return false;
	}
	bool good = l->kind == kind_of(f[1]) && l->params == strtod(f[2], NULL) && l->fwd_flops == strtod(f[3], NULL) &&
		    l->out_elems == strtod(f[4], NULL);
	if (!good)
		printf("# %s: %s: %s %.0f %.0f %.0f, want %s %s %s %s\n", d->name, l->name, dnn_kind_name(l->kind), l->params, l->fwd_flops,
			l->out_elems, f[1], f[2], f[3], f[4]);
	return good;
}

static void check_table(const char *folder, const struct dnn *d, const char *name)
{
	char path[1200], line[LINE], *field[MAX_FIELDS];
	snprintf(path, sizeof path, "%s/%s.csv", folder, name);
	FILE *f = fopen(path, "r");
	uint32_t rows = 0, wrong = 0;
	bool is_header = true;
	while (f && fgets(line, sizeof line, f)) {
		if (!is_header) {
			bool good = split(line, field) >= 5 && check_row(d, field);
			rows++;
			wrong += !good;
		}
		is_header = false;
	}
	if (f)
		fclose(f);
	ok(f && rows == d->n_layers && !wrong, "%s: all %u rows of the table, kind, parameters, FLOPs and elements", name, rows);
	if (rows != d->n_layers)
		printf("# %u rows, %u layers\n", rows, d->n_layers);
}

static void check_totals(const struct dnn *d, char **f)
{
	double core = 0, flops = 0, out = 0;
	for (uint32_t i = 0; i < d->n_layers; i++) {
		const struct dnn_layer *l = &d->layer[i];
		bool is_core =
			l->kind == ORR_LAYER_CONV || l->kind == ORR_LAYER_LINEAR || l->kind == ORR_LAYER_MATMUL || l->kind == ORR_LAYER_RNN;
		core += is_core ? l->fwd_flops : 0;
		flops += l->fwd_flops;
		out += l->out_elems;
	}
	/* The tables round GMACs and GFLOPs to five decimals. */
	bool good = d->params == strtod(f[3], NULL) && fabs(core / 2e9 - strtod(f[6], NULL)) < 5.1e-6 &&
		    fabs(flops / 1e9 - strtod(f[9], NULL)) < 5.1e-6 && out == strtod(f[10], NULL) && d->n_layers == strtod(f[11], NULL);
	if (!good)
		printf("# %.0f %.5f %.5f %.0f %u, want %s %s %s %s %s\n", d->params, core / 2e9, flops / 1e9, out, d->n_layers, f[3], f[6],
			f[9], f[10], f[11]);
	ok(good, "%s: parameters, GMACs, GFLOPs, elements and rows of the summary", f[0]);
	if (*f[4] && strtod(f[5], NULL) == 0)
		ok(d->params == strtod(f[4], NULL), "%s: the published %s parameters", f[0], f[4]);
}

int main(void)
{
	char folder[1000], path[1100], line[LINE], *field[MAX_FIELDS];
	const char *data = getenv("ORRERY_DATA_PATH");
	snprintf(folder, sizeof folder, "%s/models", data ? data : "../shared");
	snprintf(path, sizeof path, "%s/summary.csv", folder);
	FILE *f = fopen(path, "r");
	if (!f) {
		skip("no models/summary.csv (set ORRERY_DATA_PATH)");
		return done();
	}
	int models = 0;
	bool is_header = true;
	while (fgets(line, sizeof line, f)) {
		if (!is_header && split(line, field) >= 12) {
			struct orr_error err = { 0 };
			struct dnn *d = dnn_load(field[0], &err);
			if (ok(d, "%s is in the catalogue %s", field[0], err.text)) {
				check_table(folder, d, field[0]);
				check_totals(d, field);
			}
			dnn_free(d);
			models++;
		}
		is_header = false;
	}
	fclose(f);
	ok(models == 38, "the summary has 38 models");
	return done();
}

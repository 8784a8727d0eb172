/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/application.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "traces/table.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct table_column columns[] = { { "application", true }, { "init_batch_size", true }, { "max_batch_size", true },
	{ "min_local_bsz", true }, { "max_local_bsz", true }, { "alpha_c", true }, { "beta_c", true }, { "alpha_n", true },
	{ "beta_n", true }, { "alpha_r", true }, { "beta_r", true }, { "gamma", true }, { "gpu_type", false }, { NULL, false } };
enum { N_VALUES = 11, C_GPU_TYPE = N_VALUES + 1 };

/* Returns the value of column i + 1. */
static double *value_of(struct goodput_model *m, size_t i)
{
	double *const at[N_VALUES] = { &m->init_batch, &m->max_batch, &m->min_local, &m->max_local, &m->alpha_c, &m->beta_c, &m->alpha_n,
		&m->beta_n, &m->alpha_r, &m->beta_r, &m->gamma };
	return at[i];
}

void applications_free(struct applications *a)
{
	for (size_t i = 0; a && i < a->n; i++) {
		mem_free(a->app[i].name);
		mem_free(a->app[i].gpu_type);
	}
	if (a)
		mem_free(a->app);
	mem_free(a);
}

static const struct application *find(const struct applications *a, const char *name)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->app[i].name, name))
			return &a->app[i];
	return NULL;
}

const struct application *applications_on(const struct applications *a, const struct application *x, const char *gpu_type)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcasecmp(a->app[i].gpu_type, gpu_type) && !strcmp(a->app[i].name, x->name))
			return &a->app[i];
	return NULL;
}

static struct application *add(struct applications *a, const char *name, const char *gpu_type)
{
	MEM_GROW(a->app, a->n, a->cap);
	a->app[a->n] = (struct application){ .name = mem_strndup(name, strlen(name)), .gpu_type = mem_strndup(gpu_type, strlen(gpu_type)) };
	return &a->app[a->n++];
}

/* A row of another GPU type has the same batches, because the progress of a job is counted in steps of init_batch_size. */
static bool has_batches_of(const struct goodput_model *a, const struct goodput_model *b)
{
	return a->init_batch == b->init_batch && a->max_batch == b->max_batch && a->min_local == b->min_local;
}

static int read_row(struct applications *a, struct table *t, struct lines *in, struct orr_error *err)
{
	struct goodput_model m;
	for (size_t i = 0; i < N_VALUES; i++)
		*value_of(&m, i) = table_real(t, i + 1, 0, 1e12);
	const char *name = table_text(t, 0, NULL);
	if (table_status(t) < 0)
		return ORR_EINPUT;
	struct orr_error why;
	size_t n;
	char type[64] = "";
	const char *text = table_has(t, C_GPU_TYPE) ? table_text(t, C_GPU_TYPE, &n) : "";
	if (strlen(text) >= sizeof type)
		return lines_fail(in, err, "gpu_type: expected at most %zu characters", sizeof type - 1);
	memcpy(type, text, strlen(text) + 1);
	const struct application *first = *name ? find(a, name) : NULL;
	if (first && *type && *first->gpu_type && !applications_on(a, first, type)) {
		if (!has_batches_of(&first->model, &m))
			return lines_fail(in, err,
				"%s on %s: init_batch_size, max_batch_size, min_local_bsz: expected those of the first row of the "
				"application",
				name, type);
	} else if (!*name || first)
		return lines_fail(in, err, "application: expected a name that no earlier row has, found \"%.60s\"", name);
	if (goodput_check(&m, name, &why))
		return lines_fail(in, err, "%s", why.text);
	add(a, name, type)->model = m;
	return ORR_OK;
}

static int read_rows(struct applications *a, struct lines *in, struct orr_error *err)
{
	struct table *t = table_new(in, columns, TABLE_HEADER, err);
	int rc = t ? ORR_OK : ORR_EINPUT;
	for (int more; !rc && (more = table_next(t, NULL, NULL, err)) != 0;)
		rc = more < 0 ? ORR_EINPUT : read_row(a, t, in, err);
	table_free(t);
	if (!rc && !a->n)
		rc = lines_fail(in, err, "expected at least one application");
	return rc;
}

struct applications *applications_load(const char *path, struct orr_error *err)
{
	struct lines *in = lines_open(path, err);
	if (!in)
		return NULL;
	struct applications *a = mem_zalloc(1, sizeof *a);
	int rc = read_rows(a, in, err);
	lines_close(in);
	if (!rc)
		return a;
	applications_free(a);
	return NULL;
}

/* Reads one "name=value" of n bytes; marks the parameter in *seen. */
static int read_pair(struct goodput_model *m, const char *pair, size_t n, unsigned *seen, struct orr_error *err)
{
	const char *equals = memchr(pair, '=', n);
	size_t len = equals ? (size_t)(equals - pair) : n;
	double value;
	size_t i = 0;
	while (i < N_VALUES && !(strlen(columns[i + 1].name) == len && !memcmp(columns[i + 1].name, pair, len)))
		i++;
	if (i == N_VALUES) {
		const char *names[N_VALUES + 1] = { NULL };
		char *text = mem_strndup(pair, len);
		for (size_t k = 0; k < N_VALUES; k++)
			names[k] = columns[k + 1].name;
		const char *near = nearest_name(text, names);
		int rc = orr_fail(err, ORR_EINPUT, "unknown parameter \"%.60s\"%s%s%s: expected a column of a table of applications", text,
			near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "");
		mem_free(text);
		return rc;
	}
	if (!equals || !num_real(equals + 1, n - len - 1, &value))
		return orr_fail(err, ORR_EINPUT, "%s: expected %s=NUMBER", columns[i + 1].name, columns[i + 1].name);
	*value_of(m, i) = value;
	*seen |= 1u << i;
	return ORR_OK;
}

struct applications *applications_parse(const char *list, struct orr_error *err)
{
	struct goodput_model m = { 0 };
	unsigned seen = 0;
	for (const char *at = list; *at;) {
		size_t n = strcspn(at, ",");
		if (read_pair(&m, at, n, &seen, err))
			return NULL;
		at += n + (at[n] == ',');
	}
	for (size_t i = 0; i < N_VALUES; i++)
		if (!(seen >> i & 1)) {
			orr_fail(err, ORR_EINPUT, "expected %s=NUMBER too", columns[i + 1].name);
			return NULL;
		}
	if (goodput_check(&m, "parameters", err))
		return NULL;
	struct applications *a = mem_zalloc(1, sizeof *a);
	add(a, "", "")->model = m;
	return a;
}

const struct application *applications_find(const struct applications *a, const char *name, struct orr_error *err)
{
	const struct application *found = find(a, name);
	if (found)
		return found;
	const char **names = mem_zalloc(a->n + 1, sizeof *names);
	for (size_t i = 0; i < a->n; i++)
		names[i] = a->app[i].name;
	const char *near = nearest_name(name, names);
	orr_fail(err, ORR_EINPUT, "unknown application \"%.60s\": %s%.60s%s", name,
		near ? "did you mean \"" : "expected a name of the table", near ? near : "", near ? "\"?" : "");
	mem_free(names);
	return NULL;
}

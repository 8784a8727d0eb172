/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding and reading a scenario folder. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "traces/lines.h"
#include "traces/table.h"
#include "paths.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- finding ---- */

static bool is_folder(const char *dir)
{
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s/figures.json", dir);
	bool is = access(sbuf_text(&path), R_OK) == 0;
	sbuf_free(&path);
	return is;
}

enum { PLACES = 3 };

static void places(const char *out[PLACES])
{
	out[0] = getenv("ORRERY_DATADIR");
	out[1] = ORR_PKGDATADIR;
	out[2] = ORR_SRCDIR;
}

/* Returns the folder of that name; NULL if it does not exist. */
static char *find(const char *name)
{
	const char *in[PLACES];
	if (strchr(name, '/') || !strcmp(name, ".")) {
		size_t n = strlen(name);
		while (n > 1 && name[n - 1] == '/')
			n--;
		return is_folder(name) ? mem_strndup(name, n) : NULL;
	}
	places(in);
	for (int i = 0; i < PLACES; i++) {
		struct sbuf path = { 0 };
		sbuf_printf(&path, "%s/scenarios/%s", in[i] ? in[i] : "", name);
		if (in[i] && is_folder(sbuf_text(&path)))
			return sbuf_steal(&path);
		sbuf_free(&path);
	}
	return NULL;
}

char *book_file(const char *name)
{
	struct sbuf path = { 0 };
	char *dir = find(name);
	if (!dir)
		return NULL;
	sbuf_printf(&path, "%s/figures.json", dir);
	mem_free(dir);
	return sbuf_steal(&path);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void book_names(struct sbuf *out, const char *separator)
{
	const char *in[PLACES];
	char **names = NULL;
	size_t n = 0, cap = 0;
	places(in);
	for (int i = 0; i < PLACES && !n; i++) {
		struct sbuf path = { 0 };
		sbuf_printf(&path, "%s/scenarios", in[i] ? in[i] : "");
		DIR *d = in[i] ? opendir(sbuf_text(&path)) : NULL;
		for (struct dirent *e; d && (e = readdir(d));) {
			if (e->d_name[0] == '.' || strchr(e->d_name, '.'))
				continue;
			MEM_GROW(names, n, cap);
			names[n++] = mem_strdup(e->d_name);
		}
		if (d)
			closedir(d);
		sbuf_free(&path);
	}
	if (n)
		qsort(names, n, sizeof *names, by_name);
	for (size_t i = 0; i < n; i++) {
		sbuf_printf(out, "%s%s", i ? separator : "", names[i]);
		mem_free(names[i]);
	}
	mem_free(names);
}

/* Sets the error that no such book exists, with the names of the known books. */
static int not_found(const char *name, struct orr_error *err)
{
	struct sbuf list = { 0 };
	book_names(&list, ", ");
	if (*name)
		orr_fail(err, ORR_EINPUT,
			"figures: there is no scenario book \"%.100s\" with a figures.json%s%.400s, or a path such as ./mine", name,
			list.len ? ": expected " : ": expected an installed book", sbuf_text(&list));
	else
		orr_fail(err, ORR_EINPUT, "figures: expected NAME: %.400s, or a path such as ./mine",
			list.len ? sbuf_text(&list) : "a scenario book");
	sbuf_free(&list);
	return ORR_EINPUT;
}

/* ---- runs ---- */

static cJSON *read_scenario(struct book *b, const cJSON *v, const char *where, struct orr_error *err)
{
	if (cJSON_IsObject(v))
		return cJSON_Duplicate(v, 1);
	if (!cJSON_IsString(v)) {
		book_fail(b, where, err, "\"scenario\": expected the name of a file in this folder, or a scenario as an object");
		return NULL;
	}
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s/%s", b->dir, v->valuestring);
	cJSON *o = scenario_read(sbuf_text(&path), err);
	sbuf_free(&path);
	return o;
}

static int read_run(struct book *b, const cJSON *m, struct orr_error *err)
{
	static const char *const known[] = { "scenario", "axes", "set", "where", NULL }, *const of_study[] = { "scenario", "axes", "set",
		"where", "sample", "find", "refine", NULL };
	char where[100];
	snprintf(where, sizeof where, "$.runs.%.60s", m->string);
	struct book_run *r = &b->run[b->n_runs++];
	r->name = mem_strdup(m->string);
	int rc = book_check_keys(b, m, where, b->is_study ? of_study : known, err);
	if (rc)
		return rc;
	if (strpbrk(m->string, ".[{}") || !*m->string)
		return book_fail(b, where, err, "expected a name without the characters \".\", \"[\", \"{\" and \"}\"");
	r->scenario = read_scenario(b, cJSON_GetObjectItemCaseSensitive(m, "scenario"), where, err);
	if (!r->scenario)
		return ORR_EINPUT;
	r->set = cJSON_GetObjectItemCaseSensitive(m, "set");
	if (r->set && !cJSON_IsObject(r->set))
		return book_fail(
			b, where, err, "\"set\": expected an object whose keys are paths and whose members are values, as for --set");
	char *condition = scenario_scalar(cJSON_GetObjectItemCaseSensitive(m, "where"));
	r->where = condition;
	return book_read_run_axes(b, m, where, r, err);
}

static int read_runs(struct book *b, struct orr_error *err)
{
	const cJSON *runs = cJSON_GetObjectItemCaseSensitive(b->json, "runs");
	int rc = runs && !cJSON_IsObject(runs) ? book_fail(b, "$.runs", err, "expected an object") : ORR_OK;
	b->run = mem_zalloc(runs ? (size_t)cJSON_GetArraySize(runs) + 1 : 1, sizeof *b->run);
	for (const cJSON *m = runs ? runs->child : NULL; m && !rc; m = m->next)
		rc = read_run(b, m, err);
	return rc;
}

/* ---- published.csv ---- */

static double real_or_nan(struct table *t, size_t column)
{
	return table_has(t, column) ? table_real(t, column, -1e300, 1e300) : NAN;
}

static int read_rows(struct book *b, struct lines *in, struct orr_error *err)
{
	static const struct table_column columns[] = { { "id", true }, { "what", true }, { "value", true }, { "low", false },
		{ "high", false }, { "source", true }, { NULL, false } };
	struct table *t = table_new(in, columns, TABLE_HEADER | TABLE_KNOWN_COLUMNS, err);
	size_t cap = 0;
	int rc;
	if (!t)
		return ORR_EINPUT;
	while ((rc = table_next(t, NULL, NULL, err)) == 1) {
		MEM_GROW(b->published, b->n_published, cap);
		struct book_published p = { .value = real_or_nan(t, 2), .low = real_or_nan(t, 3), .high = real_or_nan(t, 4) };
		if (book_find_published(b, table_text(t, 0, NULL)))
			table_refuse(t, 0, "an id that differs from the ids of earlier rows");
		if (table_status(t) != 1) {
			rc = -1;
			break;
		}
		p.id = mem_strdup(table_text(t, 0, NULL));
		p.what = mem_strdup(table_text(t, 1, NULL));
		p.source = mem_strdup(table_text(t, 5, NULL));
		b->published[b->n_published++] = p;
	}
	table_free(t);
	return rc ? ORR_EINPUT : ORR_OK;
}

static int read_published(struct book *b, struct orr_error *err)
{
	struct sbuf path = { 0 };
	int rc = ORR_OK;
	sbuf_printf(&path, "%s/published.csv", b->dir);
	if (access(sbuf_text(&path), F_OK) == 0) {
		struct lines *in = lines_open(sbuf_text(&path), err);
		rc = in ? read_rows(b, in, err) : ORR_EINPUT;
		lines_close(in);
	}
	sbuf_free(&path);
	return rc;
}

/* ---- the book ---- */

static int read_book(struct book *b, struct orr_error *err)
{
	static const char *const known[] = { "title", "about", "constants", "traces", "axes", "runs", "figures", "table", NULL },
				 *const of_study[] = { "title", "about", "constants", "traces", "axes", "seeds", "stop", "runs", "metrics",
					 NULL };
	b->json = scenario_read(b->path, err);
	if (!b->json)
		return ORR_EINPUT;
	int rc = book_check_keys(b, b->json, "$", b->is_study ? of_study : known, err);
	if (!rc)
		rc = book_read_lets(
			b, cJSON_GetObjectItemCaseSensitive(b->json, "constants"), "$.constants", &b->constant, &b->n_constants, err);
	if (!rc)
		rc = book_read_traces(b, err);
	if (!rc)
		rc = book_read_axes(b, err);
	if (!rc && b->is_study)
		rc = book_read_stop(b, err);
	if (!rc)
		rc = read_runs(b, err);
	return rc ? rc : read_published(b, err);
}

static struct book *book_new(char *dir, char *path, bool is_study)
{
	struct book *b = mem_zalloc(1, sizeof *b);
	b->dir = dir;
	b->path = path;
	b->is_study = is_study;
	for (size_t i = 0; i < BOOK_MAX_AXES; i++)
		b->bound[i] = SIZE_MAX;
	return b;
}

static struct book *freed(struct book *b)
{
	book_free(b);
	return NULL;
}

struct book *book_open(const char *name, struct orr_error *err)
{
	struct sbuf path = { 0 };
	char *dir = find(name);
	sbuf_printf(&path, "%s/figures.json", dir ? dir : "");
	struct book *b = book_new(dir, sbuf_steal(&path), false);
	int rc = dir ? read_book(b, err) : not_found(name, err);
	return rc ? freed(b) : b;
}

struct book *book_open_study(const char *path, struct orr_error *err)
{
	const char *slash = strrchr(path, '/');
	struct book *b = book_new(slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup("."), mem_strdup(path), true);
	return read_book(b, err) ? freed(b) : b;
}

void book_free(struct book *b)
{
	if (!b)
		return;
	study_free(b->study);
	for (size_t i = 0; i < b->n_axes; i++)
		book_free_axis(&b->axis[i]);
	for (size_t i = 0; i < b->n_runs; i++) {
		mem_free(b->run[i].name);
		cJSON_Delete(b->run[i].scenario);
		mem_free(b->run[i].where);
		mem_free(b->run[i].part);
		book_free_searches(&b->run[i]);
	}
	mem_free(b->run);
	for (size_t i = 0; i < b->n_published; i++) {
		mem_free(b->published[i].id);
		mem_free(b->published[i].what);
		mem_free(b->published[i].source);
	}
	mem_free(b->published);
	book_free_lets(b->constant, b->n_constants);
	book_free_traces(b);
	cJSON_Delete(b->json);
	mem_free(b->dir);
	mem_free(b->path);
	mem_free(b);
}

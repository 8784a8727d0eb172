/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads profiles from JSON (docs/profile.schema.json). */
#include "hwmodel/profile.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "hwmodel/embedded.h"
#include "hwmodel/json.h"

#include <stdatomic.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_BYTES = 64 << 20, MAX_LAWS = 20000, MAX_ROWS = 200000, MAX_NAMES = 63 };

static const char *const feature_names[LAW_FEATURES] = { "flops", "bytes", "size" };

struct reader {
	const char *path;
	char where[80];
	struct orr_error *err;
};

static int wrong(const struct reader *r, const char *key, const char *expected)
{
	return orr_fail(r->err, ORR_EINPUT, "%.200s: %s.%s: expected %s", r->path, r->where, key, expected);
}

static const cJSON *get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* Reads a string; a missing key gives "", unless is_needed. */
static int take_text(const struct reader *r, const cJSON *o, const char *key, bool is_needed, char **out)
{
	const cJSON *v = get(o, key);
	if ((!v && is_needed) || (v && !cJSON_IsString(v)) || (is_needed && !*v->valuestring))
		return wrong(r, key, "a string");
	*out = mem_strdup(v ? v->valuestring : "");
	return ORR_OK;
}

/* ---- parameters ---- */

static const char *const law_keys[] = { "family", "op", "precision", "variant", "form", "ranks", "nodes", "parameters",
	"covariance_of_logs", "range", "points", "held_out", "error", "held_out_error", "sigma_of_log", "anchors_us", "table_us",
	"kept_points_us", NULL };

static int read_parameters(const struct reader *r, const cJSON *o, struct law *l)
{
	const char *keys[LAW_PARAMS + 1] = { NULL };
	const cJSON *v = get(o, "parameters");
	char where[120];
	snprintf(where, sizeof where, "%s.parameters", r->where);
	l->n_params = law_form_params(l->form);
	if (l->form == FORM_TABLE)
		return v ? wrong(r, "parameters", "no parameters for the form table") : ORR_OK;
	double unit;
	for (uint32_t i = 0; i < l->n_params; i++)
		keys[i] = law_param_name(l->form, i, &unit);
	int rc = json_keys(r->path, where, v, keys, r->err);
	for (uint32_t i = 0; !rc && i < l->n_params; i++) {
		bool is_rate = !strncmp(law_param_name(l->form, i, &unit), "rate", 4);
		bool is_time = !strncmp(keys[i], "time", 4);
		double x = 0;
		rc = json_real(r->path, where, v, keys[i], is_time ? 0 : 1e-9, 1e18, !is_rate && !is_time, &x, r->err);
		/* a missing line has infinite time, so it is never the minimum */
		l->param[i] = get(v, keys[i]) ? x * unit : is_rate || (l->form == FORM_ENVELOPE && i > 0) ? INFINITY : 0;
	}
	return rc;
}

static int read_covariance(const struct reader *r, const cJSON *o, struct law *l)
{
	static const char *const expected = "a square matrix of numbers with one row per parameter";
	const cJSON *list = get(o, "covariance_of_logs"), *row, *v;
	if (!list)
		return ORR_OK;
	if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != (int)l->n_params)
		return wrong(r, "covariance_of_logs", expected);
	uint32_t i = 0, k;
	cJSON_ArrayForEach(row, list)
	{
		if (!cJSON_IsArray(row) || cJSON_GetArraySize(row) != (int)l->n_params)
			return wrong(r, "covariance_of_logs", expected);
		k = 0;
		cJSON_ArrayForEach(v, row)
		{
			if (!cJSON_IsNumber(v) || !(fabs(v->valuedouble) <= 1e6))
				return wrong(r, "covariance_of_logs", expected);
			l->covariance[i][k++] = v->valuedouble;
		}
		i++;
	}
	for (i = 0; i < l->n_params; i++)
		for (k = 0; k <= i; k++) {
			double bound = sqrt(fmax(0, l->covariance[i][i]) * fmax(0, l->covariance[k][k]));
			if (l->covariance[i][i] < 0 || fabs(l->covariance[i][k]) > bound * 1.001 + 1e-12 ||
				fabs(l->covariance[i][k] - l->covariance[k][i]) > bound * 1e-3 + 1e-12)
				return wrong(r, "covariance_of_logs", "a symmetric matrix whose elements are bounded by its diagonal");
		}
	return ORR_OK;
}

/* ---- ranges, errors, rows ---- */

static int read_range(const struct reader *r, const cJSON *o, struct law *l)
{
	const char *keys[LAW_FEATURES + 1] = { "flops", "bytes", "size", NULL };
	const cJSON *range = get(o, "range");
	char where[120];
	snprintf(where, sizeof where, "%s.range", r->where);
	for (int i = 0; i < LAW_FEATURES; i++)
		l->from[i] = l->to[i] = NAN;
	if (!range)
		return ORR_OK;
	int rc = json_keys(r->path, where, range, keys, r->err);
	for (int i = 0; !rc && i < LAW_FEATURES; i++) {
		const cJSON *v = get(range, feature_names[i]), *low = cJSON_GetArrayItem(v, 0), *high = cJSON_GetArrayItem(v, 1);
		if (!v)
			continue;
		if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != 2 || !cJSON_IsNumber(low) || !cJSON_IsNumber(high) ||
			!(low->valuedouble >= 0) || !(low->valuedouble <= high->valuedouble) || !(high->valuedouble <= 1e21))
			return wrong(r, "range", "a pair [low, high] for each feature, with 0 <= low <= high");
		l->from[i] = low->valuedouble;
		l->to[i] = high->valuedouble;
	}
	return rc;
}

static int read_error(const struct reader *r, const cJSON *o, const char *key, double *mean, double *median, double *p90)
{
	static const char *const keys[] = { "mean", "median", "p90", NULL };
	char where[120];
	snprintf(where, sizeof where, "%s.%s", r->where, key);
	const cJSON *v = get(o, key);
	*mean = *median = *p90 = NAN;
	if (!v)
		return ORR_OK;
	int rc = json_keys(r->path, where, v, keys, r->err);
	if (!rc)
		rc = json_real(r->path, where, v, "mean", 0, 1e6, false, mean, r->err);
	if (!rc)
		rc = json_real(r->path, where, v, "median", 0, 1e6, false, median, r->err);
	return rc ? rc : json_real(r->path, where, v, "p90", 0, 1e6, false, p90, r->err);
}

/* Reads [[flops, bytes, size, us], ..]; rows of kept points have a fifth number, 0 or 1. */
static int read_rows(const struct reader *r, const cJSON *o, const char *key, int width, struct law_point **out, uint32_t *n)
{
	const cJSON *list = get(o, key), *row, *v;
	if (!list)
		return ORR_OK;
	int count = cJSON_GetArraySize(list);
	if (!cJSON_IsArray(list) || count > MAX_ROWS)
		return wrong(r, key, "a list of at most 200000 rows");
	*out = mem_zalloc((size_t)count + 1, sizeof **out);
	cJSON_ArrayForEach(row, list)
	{
		struct law_point *x = &(*out)[*n];
		double value[LAW_FEATURES + 2] = { 0 };
		int i = 0;
		if (!cJSON_IsArray(row) || cJSON_GetArraySize(row) != width)
			return wrong(r, key, width == 4 ? "rows [flops, bytes, size, us]" : "rows [flops, bytes, size, us, 0 or 1]");
		cJSON_ArrayForEach(v, row)
		{
			if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || !(v->valuedouble <= 1e21))
				return wrong(r, key, "numbers from 0 to 1e21");
			value[i++] = v->valuedouble;
		}
		memcpy(x->feature, value, sizeof x->feature);
		x->time_s = value[LAW_FEATURES] * 1e-6;
		x->is_held_out = value[LAW_FEATURES + 1] != 0;
		if (!(x->time_s > 0))
			return wrong(r, key, "times above 0");
		++*n;
	}
	return ORR_OK;
}

static int read_table(const struct reader *r, const cJSON *o, struct law *l)
{
	static const char *const expected = "a list of pairs [size, us] with ascending sizes and times above 0";
	const cJSON *list = get(o, "table_us"), *row;
	int count = cJSON_GetArraySize(list);
	if (!list && l->form != FORM_TABLE)
		return ORR_OK;
	if (!cJSON_IsArray(list) || count < 1 || count > MAX_ROWS)
		return wrong(r, "table_us", expected);
	l->table_x = mem_zalloc((size_t)count, sizeof *l->table_x);
	l->table_y = mem_zalloc((size_t)count, sizeof *l->table_y);
	cJSON_ArrayForEach(row, list)
	{
		const cJSON *x = cJSON_GetArrayItem(row, 0), *y = cJSON_GetArrayItem(row, 1);
		if (!cJSON_IsArray(row) || cJSON_GetArraySize(row) != 2 || !cJSON_IsNumber(x) || !cJSON_IsNumber(y) ||
			!(y->valuedouble > 0) || !(y->valuedouble <= 1e15) || !(x->valuedouble > 0) || !(x->valuedouble <= 1e21) ||
			(l->n_table && !(x->valuedouble > l->table_x[l->n_table - 1])))
			return wrong(r, "table_us", expected);
		l->table_x[l->n_table] = x->valuedouble;
		l->table_y[l->n_table++] = y->valuedouble * 1e-6;
	}
	return ORR_OK;
}

/* ---- laws ---- */

static int read_form(const struct reader *r, const cJSON *o, struct law *l)
{
	const char *names[FORM_COUNT + 1] = { NULL }, *form = NULL;
	int rc = json_text(r->path, r->where, o, "form", true, &form, r->err);
	for (int i = 0; !rc && i < FORM_COUNT; i++) {
		names[i] = law_form_name((enum profile_form)i);
		if (!strcmp(form, names[i])) {
			l->form = (enum profile_form)i;
			return ORR_OK;
		}
	}
	return rc ? rc : wrong(r, "form", "roofline, line, envelope, table or factor");
}

static int read_law(const struct reader *r, const cJSON *o, struct law *l)
{
	double points = 0, held_out = 0;
	int rc = json_keys(r->path, r->where, o, law_keys, r->err);
	const struct {
		const char *key;
		char **out;
	} texts[] = { { "family", &l->family }, { "op", &l->op }, { "precision", &l->precision }, { "variant", &l->variant } };
	for (size_t i = 0; !rc && i < sizeof texts / sizeof *texts; i++)
		rc = take_text(r, o, texts[i].key, i == 0, texts[i].out);
	if (!rc)
		rc = read_form(r, o, l);
	const struct {
		const char *key;
		double high;
		double *out;
	} numbers[] = { { "ranks", 1e6, &l->ranks }, { "nodes", 1e6, &l->nodes }, { "points", 1e9, &points },
		{ "held_out", 1e9, &held_out }, { "sigma_of_log", 100, &l->sigma } };
	for (size_t i = 0; !rc && i < sizeof numbers / sizeof *numbers; i++)
		rc = json_real(r->path, r->where, o, numbers[i].key, 0, numbers[i].high, false, numbers[i].out, r->err);
	l->points = (uint32_t)points;
	l->held_out = (uint32_t)held_out;
	if (!rc)
		rc = read_parameters(r, o, l);
	if (!rc)
		rc = read_covariance(r, o, l);
	if (!rc)
		rc = read_range(r, o, l);
	if (!rc)
		rc = read_table(r, o, l);
	if (!rc)
		rc = read_error(r, o, "error", &l->mean_error, &l->median_error, &l->p90_error);
	if (!rc)
		rc = read_error(r, o, "held_out_error", &l->held_out_mean, &l->held_out_median, &l->held_out_p90);
	if (!rc)
		rc = read_rows(r, o, "anchors_us", 4, &l->anchor, &l->n_anchors);
	return rc ? rc : read_rows(r, o, "kept_points_us", 5, &l->point, &l->n_points);
}

static int read_laws(struct reader *r, const cJSON *root, struct profile *p)
{
	const cJSON *list = get(root, "laws"), *o;
	int n = cJSON_GetArraySize(list);
	if (!cJSON_IsArray(list) || n < 1 || n > MAX_LAWS)
		return wrong(r, "laws", "a list of 1 to 20000 laws");
	p->law = mem_zalloc((size_t)n, sizeof *p->law);
	cJSON_ArrayForEach(o, list)
	{
		snprintf(r->where, sizeof r->where, "$.laws[%zu]", p->n_laws);
		int rc = read_law(r, o, &p->law[p->n_laws++]);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

/* ---- the file ---- */

static int read_environment(const struct reader *r, const cJSON *root, struct profile *p)
{
	const cJSON *o = get(root, "environment"), *v;
	struct sbuf b = { 0 };
	if (o && !cJSON_IsObject(o))
		return wrong(r, "environment", "an object of strings");
	cJSON_ArrayForEach(v, o)
	{
		if (!cJSON_IsString(v)) {
			sbuf_free(&b);
			return wrong(r, "environment", "an object of strings");
		}
		sbuf_printf(&b, "%s: %s\n", v->string, v->valuestring);
	}
	p->environment = b.text ? sbuf_steal(&b) : mem_strdup("");
	return ORR_OK;
}

static int read_bool(const struct reader *r, const cJSON *root, const char *key, bool *out)
{
	const cJSON *v = get(root, key);
	if (!cJSON_IsBool(v))
		return wrong(r, key, "true or false");
	*out = cJSON_IsTrue(v);
	return ORR_OK;
}

static int read_head(const struct reader *r, const cJSON *root, struct profile *p)
{
	static const char *const keys[] = { "schema", "name", "device", "title", "source", "date", "backend", "stable", "measured_here",
		"note", "environment", "laws", NULL };
	static const char *const backends[] = { "cuda", "cpu", "synthetic", "published", "scaled", NULL };
	const cJSON *schema = get(root, "schema");
	if (!cJSON_IsObject(root) || !cJSON_IsNumber(schema))
		return wrong(r, "schema", "1, as in every device profile");
	if (schema->valuedouble != PROFILE_SCHEMA)
		return orr_fail(r->err, ORR_EINPUT,
			"%.200s: $.schema: expected 1, found %.6g: another version of orrery wrote this profile; 'orrery calib fit' makes "
			"a new one",
			r->path, schema->valuedouble);
	int rc = json_keys(r->path, "$", root, keys, r->err);
	const struct {
		const char *key;
		char **out;
	} texts[] = { { "name", &p->name }, { "device", &p->device }, { "title", &p->title }, { "source", &p->source },
		{ "date", &p->date }, { "backend", &p->backend }, { "note", &p->note } };
	for (size_t i = 0; !rc && i < sizeof texts / sizeof *texts; i++)
		rc = take_text(r, root, texts[i].key, strcmp(texts[i].key, "note") != 0, texts[i].out);
	size_t k = 0;
	while (!rc && backends[k] && strcmp(backends[k], p->backend))
		k++;
	if (!rc && !backends[k])
		rc = wrong(r, "backend", "cuda, cpu, synthetic, published or scaled");
	if (!rc)
		rc = read_bool(r, root, "stable", &p->is_stable);
	if (!rc)
		rc = read_bool(r, root, "measured_here", &p->is_measured_here);
	return rc ? rc : read_environment(r, root, p);
}

struct profile *profile_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	cJSON *root = json_parse(path, text, n, err);
	if (!root)
		return NULL;
	struct profile *p = mem_zalloc(1, sizeof *p);
	struct reader r = { path, "$", err };
	int rc = read_head(&r, root, p);
	if (!rc)
		rc = read_laws(&r, root, p);
	cJSON_Delete(root);
	if (!rc) { /* compares with the data sheet if it is in the catalogue; a profile cannot name another file to open */
		struct device *d = strpbrk(p->device, "/.") ? NULL : device_load(p->device, NULL);
		rc = profile_check(p, d, err);
		device_free(d);
	}
	bytes_hash_text(text, n, p->hash);
	if (!rc)
		return p;
	profile_free(p);
	return NULL;
}

/* Returns profile i of the catalogue, parsed once. */
static struct profile *embedded_profile(size_t i, struct orr_error *err)
{
	static _Atomic(struct profile *) parsed[MAX_NAMES];
	const struct embedded_file *f = &embedded_profiles[i];
	struct profile *p = i < MAX_NAMES ? atomic_load(&parsed[i]) : NULL, *other = NULL;
	if (p)
		return p;
	p = profile_parse(f->name, (const char *)f->text, f->n, err);
	if (!p || i >= MAX_NAMES)
		return p;
	p->is_shared = true;
	if (atomic_compare_exchange_strong(&parsed[i], &other, p))
		return p;
	p->is_shared = false; /* another thread has stored the profile first */
	profile_free(p);
	return other;
}

struct profile *profile_load(const char *name_or_file, struct orr_error *err)
{
	size_t n, len = strlen(name_or_file);
	if (strchr(name_or_file, '/') || (len > 5 && !strcasecmp(name_or_file + len - 5, ".json"))) {
		char *text = bytes_read_file(name_or_file, MAX_BYTES, &n, NULL, err);
		struct profile *p = text ? profile_parse(name_or_file, text, n, err) : NULL;
		mem_free(text);
		return p;
	}
	const char *names[MAX_NAMES + 1] = { NULL };
	for (size_t i = 0; embedded_profiles[i].name; i++) {
		const struct embedded_file *f = &embedded_profiles[i];
		if (i < MAX_NAMES)
			names[i] = f->name;
		if (!strcasecmp(f->name, name_or_file))
			return embedded_profile(i, err);
	}
	const char *near = nearest_name(name_or_file, names);
	orr_fail(err, ORR_EINPUT,
		"unknown profile \"%.80s\": %s%s%s'orrery calib list' shows all profiles; the name of a file ends in .json", name_or_file,
		near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "");
	return NULL;
}

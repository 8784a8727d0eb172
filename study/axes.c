/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Axes of a book or study, and the points of a run on them. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "base/sbuf.h"
#include "base/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 100000 };

/* ---- values of an axis ---- */

int book_read_lets(struct book *b, const cJSON *o, const char *where, struct book_let **out, size_t *n, struct orr_error *err)
{
	size_t cap = 0;
	if (o && !cJSON_IsObject(o))
		return book_fail(b, where, err, "expected an object whose keys are names and whose members are values");
	for (const cJSON *m = o ? o->child : NULL; m; m = m->next) {
		char *text = scenario_scalar(m);
		if (!text)
			return book_fail(b, where, err, "%.60s: expected a number or an expression", m->string);
		MEM_GROW(*out, *n, cap);
		(*out)[(*n)++] = (struct book_let){ mem_strdup(m->string), text };
	}
	return ORR_OK;
}

static int read_value(struct book *b, const cJSON *v, const char *where, struct book_value *out, struct orr_error *err)
{
	static const char *const known[] = { "value", "label", "let", NULL };
	const cJSON *value = v, *let = NULL;
	const char *label = NULL;
	if (cJSON_IsObject(v)) {
		int rc = book_check_keys(b, v, where, known, err);
		if (rc)
			return rc;
		value = cJSON_GetObjectItemCaseSensitive(v, "value");
		let = cJSON_GetObjectItemCaseSensitive(v, "let");
		label = book_string(b, v, "label", where, err);
	}
	out->text = scenario_scalar(value);
	if (!out->text)
		return book_fail(b, where, err, "expected a number, a string or {\"value\", \"label\", \"let\"}");
	if (!num_real(out->text, strlen(out->text), &out->number))
		out->number = NAN;
	out->label = mem_strdup(label ? label : out->text);
	return book_read_lets(b, let, where, &out->let, &out->n_lets, err);
}

static int read_list(struct book *b, const cJSON *list, const char *where, struct book_axis *a, struct orr_error *err)
{
	int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0, rc = ORR_OK;
	if (!n)
		return book_fail(b, where, err, "expected a list of values%s", b->is_study ? ", or {\"from\", \"to\"}" : "");
	a->value = mem_zalloc((size_t)n, sizeof *a->value);
	for (int i = 0; i < n && !rc; i++) {
		a->n++;
		rc = read_value(b, cJSON_GetArrayItem(list, i), where, &a->value[i], err);
	}
	return rc;
}

/* Reads a number; NAN if the key is missing. */
static int read_real(struct book *b, const cJSON *o, const char *key, const char *where, double *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = NAN;
	return v ? book_number(b, v, where, out, err) : ORR_OK;
}

static int add_grid(struct book *b, const char *where, struct book_axis *a, double n, double step, struct orr_error *err)
{
	const struct search_axis *r = &a->range;
	if (!isnan(n) && !isnan(step))
		return book_fail(b, where, err, "expected either \"n\" or \"by\", found both");
	if (!isnan(step) && (!(step > 0) || r->is_log))
		return book_fail(b, where, err,
			"\"by\": expected a step above 0 on a linear scale; on a logarithmic scale, \"n\" gives the number of values");
	if (!isnan(n) && (n < 2 || n > MAX_VALUES || n != floor(n)))
		return book_fail(b, where, err, "\"n\": expected a number of values from 2 to %d", MAX_VALUES);
	double count = isnan(step) ? n : floor((r->to - r->from) / step * (1 + 1e-12) + 1e-9) + 1;
	if (count > MAX_VALUES)
		return book_fail(b, where, err, "\"by\": the step gives %.3g values: expected at most %d", count, MAX_VALUES);
	a->grid_n = n;
	a->step = step;
	a->n = (size_t)count;
	return ORR_OK;
}

/* Reads {"from", "to", "scale"} with n or by: a grid; without them: a range for sample, find or refine. */
static int read_range(struct book *b, const cJSON *o, const char *where, struct book_axis *a, struct orr_error *err)
{
	static const char *const known[] = { "from", "to", "n", "by", "scale", NULL };
	double n, step;
	if (!b->is_study)
		return book_fail(b, where, err, "expected a list of values");
	int rc = book_check_keys(b, o, where, known, err);
	const char *scale = rc ? NULL : book_string(b, o, "scale", where, err);
	if (!rc)
		rc = read_real(b, o, "from", where, &a->range.from, err);
	if (!rc)
		rc = read_real(b, o, "to", where, &a->range.to, err);
	if (!rc)
		rc = read_real(b, o, "n", where, &n, err);
	if (!rc)
		rc = read_real(b, o, "by", where, &step, err);
	if (rc)
		return rc;
	a->is_range = true;
	a->range.is_log = scale && !strcmp(scale, "log");
	if (scale && !a->range.is_log && strcmp(scale, "linear") != 0)
		return book_fail(b, where, err, "\"scale\": expected \"linear\" or \"log\", found \"%.40s\"", scale);
	if (!(a->range.from < a->range.to) || !isfinite(a->range.to - a->range.from) || (a->range.is_log && !(a->range.from > 0)))
		return book_fail(b, where, err, "expected numbers with \"from\" below \"to\"%s",
			a->range.is_log ? ", and \"from\" above 0 on a logarithmic scale" : "");
	if (isnan(n) && isnan(step))
		return ORR_OK;
	a->is_range = false;
	return add_grid(b, where, a, n, step, err);
}

static int compare_seeds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Refuses equal seeds: their results would count as independent replications. */
static int check_seeds(struct book *b, const struct book_axis *a, const char *where, struct orr_error *err)
{
	for (size_t i = 0; i < a->n; i++)
		if (!(a->value[i].number >= 0 && a->value[i].number == floor(a->value[i].number)))
			return book_fail(b, where, err, "expected whole numbers, found \"%.40s\"", a->value[i].text);
	double *sorted = mem_zalloc(a->n, sizeof *sorted);
	int rc = ORR_OK;
	for (size_t i = 0; i < a->n; i++)
		sorted[i] = a->value[i].number;
	qsort(sorted, a->n, sizeof *sorted, compare_seeds);
	for (size_t i = 1; i < a->n && !rc; i++)
		if (!compare_seeds(&sorted[i - 1], &sorted[i]))
			rc = book_fail(b, where, err, "seed %.17g is given twice: expected each seed once", sorted[i]);
	mem_free(sorted);
	return rc;
}

/* Reads "seeds", a number or a list, and adds them as an axis of all runs. */
static int read_seeds(struct book *b, struct orr_error *err)
{
	static const char where[] = "$.seeds";
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(b->json, "seeds");
	b->seed_axis = SIZE_MAX;
	if (!v || !b->is_study)
		return ORR_OK;
	if (book_axis(b, "seed", 4) != SIZE_MAX)
		return book_fail(b, where, err, "an axis has the name \"seed\": expected another name, or no key \"seeds\"");
	if (b->n_axes == BOOK_MAX_AXES)
		return book_fail(b, where, err, "too many axes: expected at most %d", BOOK_MAX_AXES);
	b->seed_axis = b->n_axes++;
	struct book_axis *a = &b->axis[b->seed_axis];
	*a = book_new_axis("seed");
	if (cJSON_IsArray(v)) {
		int rc = read_list(b, v, where, a, err);
		return rc ? rc : check_seeds(b, a, where, err);
	}
	double n;
	int rc = book_number(b, v, where, &n, err);
	if (!rc && !(n >= 1 && n <= MAX_VALUES && n == floor(n)))
		rc = book_fail(b, where, err, "expected a number of seeds, 1 to %d, or a list of seeds", MAX_VALUES);
	if (rc)
		return rc;
	a->range = (struct search_axis){ .from = 1, .to = n };
	return add_grid(b, where, a, NAN, 1, err);
}

int book_read_axes(struct book *b, struct orr_error *err)
{
	const cJSON *axes = cJSON_GetObjectItemCaseSensitive(b->json, "axes");
	if (axes && !cJSON_IsObject(axes))
		return book_fail(b, "$.axes", err, "expected an object whose keys are names of axes and whose members are lists of values");
	for (const cJSON *m = axes ? axes->child : NULL; m; m = m->next) {
		char where[100];
		snprintf(where, sizeof where, "$.axes.%.60s", m->string);
		if (b->n_axes == BOOK_MAX_AXES)
			return book_fail(b, where, err, "too many axes: expected at most %d", BOOK_MAX_AXES);
		struct book_axis *a = &b->axis[b->n_axes++];
		*a = book_new_axis(m->string);
		int rc = cJSON_IsObject(m) ? read_range(b, m, where, a, err) : read_list(b, m, where, a, err);
		if (rc)
			return rc;
	}
	return read_seeds(b, err);
}

int book_read_stop(struct book *b, struct orr_error *err)
{
	static const char *const known[] = { "metric", "below", "n", NULL }, where[] = "$.stop";
	const cJSON *o = cJSON_GetObjectItemCaseSensitive(b->json, "stop");
	struct book_stop *s = &b->stop;
	*s = (struct book_stop){ NULL, NAN, NAN };
	if (!o)
		return ORR_OK;
	int rc = cJSON_IsObject(o) ? book_check_keys(b, o, where, known, err) : book_fail(b, where, err, "expected an object");
	if (!rc)
		rc = read_real(b, o, "below", where, &s->below, err);
	if (!rc)
		rc = read_real(b, o, "n", where, &s->n, err);
	if (rc)
		return rc;
	s->metric = book_string(b, o, "metric", where, err);
	if (err->code)
		return err->code;
	if (isnan(s->below) && isnan(s->n))
		return book_fail(b, where, err, "expected the key \"below\", the key \"n\", or both");
	if (!isnan(s->below) && !(s->below > 0 && s->below < 1))
		return book_fail(b, where, err, "\"below\": expected a relative half-width above 0 and below 1, such as 0.05");
	if (!isnan(s->n) && !(s->n >= 2 && s->n <= 1e6 && s->n == floor(s->n)))
		return book_fail(b, where, err, "\"n\": expected a number of replications, 2 to 1000000");
	return s->metric && isnan(s->below) ? book_fail(b, where, err, "\"metric\": expected this key only together with \"below\"")
					    : ORR_OK;
}

static int set_key(const struct book *b, cJSON *scenario, const char *key, const char *value, const char *where, struct orr_error *err)
{
	struct orr_error inner = { 0 };
	struct sbuf pair = { 0 };
	sbuf_printf(&pair, "%s=%s", key, value);
	int rc = scenario_set(scenario, sbuf_text(&pair), &inner);
	sbuf_free(&pair);
	return rc ? book_fail(b, where, err, "%s", inner.text) : ORR_OK;
}

int book_apply_rules(const struct book *b, cJSON *scenario, const char *where, struct orr_error *err)
{
	const struct book_stop *s = &b->stop;
	char text[NUM_REAL_MAX];
	int rc = ORR_OK;
	if (!b->is_study)
		return rc;
	if (b->seed_axis != SIZE_MAX && b->bound[b->seed_axis] != SIZE_MAX)
		rc = set_key(b, scenario, "seed", book_value(&b->axis[b->seed_axis], b->bound[b->seed_axis])->text, where, err);
	if (!rc && !isnan(s->below)) {
		num_put_real(text, s->below);
		rc = set_key(b, scenario, "until_precision", text, where, err);
	}
	if (!rc && s->metric)
		rc = set_key(b, scenario, "precision_of", s->metric, where, err);
	if (!rc && !isnan(s->n)) {
		num_put_real(text, s->n);
		rc = set_key(b, scenario, "replications", text, where, err);
	}
	return rc;
}

/* ---- points of a run ---- */

/* Adds an axis to the last dimension of the run; its values from `offset` on are those of the dimension's points. */
static int add_axis(struct book *b, const cJSON *name, const char *where, struct book_run *r, size_t *out, struct orr_error *err)
{
	size_t a = cJSON_IsString(name) ? book_axis(b, name->valuestring, strlen(name->valuestring)) : SIZE_MAX;
	if (a == SIZE_MAX)
		return book_fail(b, where, err, "\"axes\": expected names of $.axes, found \"%.60s\"",
			cJSON_IsString(name) ? name->valuestring : "");
	for (size_t i = 0; i < r->n_axes; i++)
		if (r->axis[i] == a)
			return book_fail(b, where, err, "\"axes\": \"%.60s\" is named twice: expected it once", name->valuestring);
	r->dim[r->n_axes] = r->n_dims;
	r->offset[r->n_axes] = b->axis[a].n;
	r->axis[r->n_axes++] = a;
	*out = a;
	return ORR_OK;
}

static int end_dim(struct book *b, const char *where, struct book_run *r, size_t n, struct orr_error *err)
{
	r->dim_n[r->n_dims++] = n;
	r->n_points *= n;
	return r->n_points > MAX_VALUES ? book_fail(b, where, err, "\"axes\": too many points: expected at most %d", MAX_VALUES) : ORR_OK;
}

/* Adds an axis with its listed values. *n: their number; 0 before the first axis of a list. */
static int add_listed(struct book *b, const cJSON *name, const char *where, struct book_run *r, size_t *n, struct orr_error *err)
{
	size_t a;
	int rc = add_axis(b, name, where, r, &a, err);
	if (rc)
		return rc;
	r->offset[r->n_axes - 1] = 0;
	if (b->axis[a].is_range)
		return book_fail(b, where, err,
			"\"axes\": \"%.60s\" has no values: expected \"n\" or \"by\" in $.axes, or \"sample\", \"find\" or \"refine\" in "
			"the run",
			b->axis[a].name);
	if (*n && b->axis[a].n != *n)
		return book_fail(b, where, err, "\"axes\": \"%.60s\" has %zu values: expected %zu, as many as the first axis of its list",
			b->axis[a].name, b->axis[a].n, *n);
	*n = b->axis[a].n;
	return ORR_OK;
}

static int read_listed(struct book *b, const cJSON *list, const char *where, struct book_run *r, struct orr_error *err)
{
	const cJSON *v, *name;
	int rc = ORR_OK;
	if (list && !cJSON_IsArray(list))
		return book_fail(b, where, err, "\"axes\": expected a list of names");
	cJSON_ArrayForEach(v, list)
	{
		size_t n = 0;
		if (!b->is_study || !cJSON_IsArray(v))
			rc = add_listed(b, v, where, r, &n, err);
		else
			cJSON_ArrayForEach(name, v) rc = rc ? rc : add_listed(b, name, where, r, &n, err);
		if (!rc)
			rc = end_dim(b, where, r, n, err);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

/* Adds n values to an axis: uniform, or one in each of n equal parts in random order (Latin hypercube; McKay, Beckman, Conover 1979). */
static void draw(struct book_axis *a, size_t n, bool is_latin, struct rng *g)
{
	size_t *part = mem_alloc(n * sizeof *part);
	for (size_t i = 0; i < n; i++) {
		size_t k = rng_below(g, i + 1);
		part[i] = part[k];
		part[k] = i;
	}
	for (size_t i = 0; i < n; i++) {
		double u = rng_uniform(g), at = is_latin ? ((double)part[i] + u) / (double)n : u;
		const struct search_axis *r = &a->range;
		book_add_value(a, r->is_log ? r->from * pow(r->to / r->from, at) : r->from + at * (r->to - r->from));
	}
	mem_free(part);
}

/* Reads {"axes", "n", "method", "seed"}: a dimension of n points with drawn values. */
static int read_sample(struct book *b, const cJSON *o, const char *where, struct book_run *r, struct orr_error *err)
{
	static const char *const known[] = { "axes", "n", "method", "seed", NULL };
	double n, seed;
	const cJSON *axes, *name;
	if (!o)
		return ORR_OK;
	int rc = book_check_keys(b, o, where, known, err);
	const char *method = rc ? NULL : book_string(b, o, "method", where, err);
	if (!rc)
		rc = read_real(b, o, "n", where, &n, err);
	if (!rc)
		rc = read_real(b, o, "seed", where, &seed, err);
	if (rc)
		return rc;
	if (!(n >= 1 && n <= MAX_VALUES && n == floor(n)) || !(isnan(seed) || (seed >= 0 && seed < 1e15 && seed == floor(seed))))
		return book_fail(b, where, err, "\"sample\": expected \"n\" from 1 to %d, and a whole number as \"seed\"", MAX_VALUES);
	if (method && strcmp(method, "latin") != 0 && strcmp(method, "random") != 0)
		return book_fail(b, where, err, "\"sample\": \"method\": expected \"latin\" or \"random\", found \"%.40s\"", method);
	axes = cJSON_GetObjectItemCaseSensitive(o, "axes");
	if (!cJSON_IsArray(axes) || !cJSON_GetArraySize(axes))
		return book_fail(b, where, err, "\"sample\": \"axes\": expected a list of names");
	cJSON_ArrayForEach(name, axes)
	{
		size_t a;
		rc = add_axis(b, name, where, r, &a, err);
		if (rc)
			return rc;
		if (!b->axis[a].is_range)
			return book_fail(b, where, err, "\"sample\": \"%.60s\": expected an axis that has only \"from\" and \"to\"",
				b->axis[a].name);
		struct rng g;
		rng_init(&g, isnan(seed) ? 1 : (uint64_t)seed, "sample", a);
		draw(&b->axis[a], (size_t)n, method && !strcmp(method, "latin"), &g);
	}
	return end_dim(b, where, r, (size_t)n, err);
}

/* Reads the axis and the metric of a search. The axis has one value, which the search sets. */
static int read_search(struct book *b, const cJSON *o, const char *where, struct book_run *r, struct orr_error *err)
{
	size_t a;
	const char *metric = book_string(b, o, "metric", where, err);
	if (!metric)
		return book_fail(b, where, err, "expected the key \"metric\"");
	int rc = add_axis(b, cJSON_GetObjectItemCaseSensitive(o, "axis"), where, r, &a, err);
	if (rc)
		return rc;
	if (!b->axis[a].is_range)
		return book_fail(b, where, err, "axis \"%.60s\": expected an axis that has only \"from\" and \"to\"", b->axis[a].name);
	r->search.metric = mem_strdup(metric);
	r->search.axis = a;
	r->search.value = b->axis[a].n;
	book_add_value(&b->axis[a], b->axis[a].range.from);
	return end_dim(b, where, r, 1, err);
}

/* Reads a limit: a number, or a time such as "1h", which is in seconds. */
static int read_limit(struct book *b, const cJSON *v, const char *where, double *out, struct orr_error *err)
{
	int64_t ns;
	if (cJSON_IsString(v) && num_duration_ns(v->valuestring, strlen(v->valuestring), &ns)) {
		*out = (double)ns / 1e9;
		return ORR_OK;
	}
	return book_number(b, v, where, out, err);
}

static int read_find(struct book *b, const cJSON *o, const char *run, struct book_run *r, struct orr_error *err)
{
	static const char *const known[] = { "axis", "metric", "below", "above", "tolerance", NULL };
	char where[120];
	snprintf(where, sizeof where, "%.90s.find", run);
	if (!o)
		return ORR_OK;
	const cJSON *below = cJSON_GetObjectItemCaseSensitive(o, "below"), *above = cJSON_GetObjectItemCaseSensitive(o, "above");
	int rc = book_check_keys(b, o, where, known, err);
	if (!rc && !below == !above)
		rc = book_fail(b, where, err, "expected either \"below\" or \"above\"");
	if (!rc)
		rc = read_limit(b, below ? below : above, where, &r->search.limit, err);
	if (!rc)
		rc = read_real(b, o, "tolerance", where, &r->search.tolerance, err);
	if (rc)
		return rc;
	if (isnan(r->search.tolerance))
		r->search.tolerance = 0.005;
	if (!(r->search.tolerance >= 1e-6 && r->search.tolerance <= 0.5))
		return book_fail(b, where, err, "tolerance: expected 1e-6 to 0.5");
	r->search.is_below = below;
	r->search.kind = BOOK_FIND;
	return read_search(b, o, where, r, err);
}

static int read_refine(struct book *b, const cJSON *o, const char *run, struct book_run *r, struct orr_error *err)
{
	static const char *const known[] = { "axis", "metric", "start", "n", NULL };
	double start, n;
	char where[120];
	snprintf(where, sizeof where, "%.90s.refine", run);
	if (!o)
		return ORR_OK;
	int rc = book_check_keys(b, o, where, known, err);
	if (!rc)
		rc = read_real(b, o, "start", where, &start, err);
	if (!rc)
		rc = read_real(b, o, "n", where, &n, err);
	if (rc)
		return rc;
	start = isnan(start) ? 5 : start;
	if (!(start >= 3 && n >= start && n <= MAX_VALUES) || start != floor(start) || n != floor(n))
		return book_fail(b, where, err, "expected whole numbers: \"start\" of at least 3, and \"n\" of at least \"start\"");
	if (r->search.kind)
		return book_fail(b, where, err, "expected either \"find\" or \"refine\", found both");
	r->search.start = (size_t)start;
	r->search.most = (size_t)n;
	r->search.kind = BOOK_REFINE;
	return read_search(b, o, where, r, err);
}

/* Adds the axis of "seeds" as the last dimension, unless the run names it itself. */
static int add_seeds(struct book *b, const char *where, struct book_run *r, struct orr_error *err)
{
	if (b->seed_axis == SIZE_MAX)
		return ORR_OK;
	if (r->set && cJSON_GetObjectItemCaseSensitive(r->set, "seed"))
		return book_fail(b, where, err, "\"set\": \"seed\": expected this key only in a study without $.seeds");
	for (size_t i = 0; i < r->n_axes; i++)
		if (r->axis[i] == b->seed_axis)
			return ORR_OK;
	r->dim[r->n_axes] = r->n_dims;
	r->offset[r->n_axes] = 0;
	r->axis[r->n_axes++] = b->seed_axis;
	return end_dim(b, where, r, b->axis[b->seed_axis].n, err);
}

int book_read_run_axes(struct book *b, const cJSON *run, const char *where, struct book_run *r, struct orr_error *err)
{
	r->n_points = 1;
	int rc = read_listed(b, cJSON_GetObjectItemCaseSensitive(run, "axes"), where, r, err);
	if (!rc)
		rc = read_sample(b, cJSON_GetObjectItemCaseSensitive(run, "sample"), where, r, err);
	if (!rc)
		rc = read_find(b, cJSON_GetObjectItemCaseSensitive(run, "find"), where, r, err);
	if (!rc)
		rc = read_refine(b, cJSON_GetObjectItemCaseSensitive(run, "refine"), where, r, err);
	if (!rc && b->is_study)
		rc = add_seeds(b, where, r, err);
	if (!rc && !b->is_study)
		r->part = mem_zalloc(r->n_points, sizeof *r->part);
	return rc;
}

void book_free_searches(struct book_run *r)
{
	mem_free(r->search.metric);
}

void book_bind(struct book *b, const struct book_run *r, size_t point)
{
	size_t index[BOOK_MAX_AXES] = { 0 };
	for (size_t d = r->n_dims; d-- > 0;) {
		index[d] = point % r->dim_n[d];
		point /= r->dim_n[d];
	}
	for (size_t i = 0; i < r->n_axes; i++)
		b->bound[r->axis[i]] = r->offset[i] + index[r->dim[i]];
}

void book_unbind(struct book *b, const struct book_run *r)
{
	for (size_t i = 0; i < r->n_axes; i++)
		b->bound[r->axis[i]] = SIZE_MAX;
}

size_t book_point(const struct book *b, const struct book_run *r)
{
	size_t point = 0, at = 0;
	for (size_t i = 0; i < r->n_axes; i++) {
		size_t v = b->bound[r->axis[i]] - r->offset[i];
		bool is_first = !i || r->dim[i] != r->dim[i - 1];
		if (v >= r->dim_n[r->dim[i]] || (!is_first && v != at))
			return SIZE_MAX;
		at = v;
		if (is_first)
			point = point * r->dim_n[r->dim[i]] + v;
	}
	return point;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/page_set.h"

#include "base/mem.h"
#include "base/num.h"
#include "results/estimate.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char separator = '\x1f'; /* between the keys of a path, whose keys may contain dots */

void page_set_add(struct page_set *s, const struct stored_run *stored, struct run_result *r)
{
	MEM_GROW(s->run, s->n, s->cap);
	struct page_run *x = &s->run[s->n++];
	*x = (struct page_run){ .stored = stored, .r = r, .scenario = cJSON_Parse(r->scenario), .name = report_name_of(r) };
	while (x->label < s->n_labels && strcmp(s->label[x->label], x->name) != 0)
		x->label++;
	if (x->label < s->n_labels)
		return;
	MEM_GROW(s->label, s->n_labels, s->cap_labels);
	s->label[s->n_labels++] = x->name;
}

/* ---- axes ---- */

static void add_axis(struct page_set *s, const char *path)
{
	for (size_t i = 0; i < s->n_axes; i++)
		if (!strcmp(s->axis[i].path, path))
			return;
	if (s->n_axes < PAGE_AXES)
		s->axis[s->n_axes++] = (struct page_axis){ .path = mem_strdup(path) };
	else
		s->n_left_out++;
}

/* Returns whether a key names the hash of an input, which follows from other values and the seed. */
static bool is_hash(const char *key)
{
	static const char suffix[] = "sha256";
	size_t n = strlen(key), k = sizeof suffix - 1;
	return n >= k && !strcmp(key + n - k, suffix);
}

static void compare_members(struct page_set *s, const cJSON *a, const cJSON *b, const char *path);

static void compare(struct page_set *s, const cJSON *a, const cJSON *b, const char *path)
{
	if (a && b && cJSON_Compare(a, b, true))
		return;
	if (cJSON_IsObject(a) && cJSON_IsObject(b))
		compare_members(s, a, b, path);
	else
		add_axis(s, path);
}

static void compare_members(struct page_set *s, const cJSON *a, const cJSON *b, const char *path)
{
	const cJSON *list[2] = { a, b };
	for (int side = 0; side < 2; side++)
		for (const cJSON *m = list[side]->child; m; m = m->next) {
			const cJSON *other = cJSON_GetObjectItemCaseSensitive(list[!side], m->string);
			if (side && other)
				continue;
			if ((!*path && (!strcmp(m->string, "seed") || !strcmp(m->string, "policy"))) || is_hash(m->string))
				continue;
			struct sbuf longer = { 0 };
			sbuf_puts(&longer, path);
			if (*path)
				sbuf_putc(&longer, separator);
			sbuf_puts(&longer, m->string);
			compare(s, side ? other : m, side ? m : other, sbuf_text(&longer));
			sbuf_free(&longer);
		}
}

static void find_axes(struct page_set *s)
{
	size_t *first = mem_zalloc(s->n_labels + 1, sizeof *first); /* 1 + first run of a label */
	for (size_t i = 0; i < s->n; i++) {
		struct page_run *x = &s->run[i];
		s->has_seeds |= strcmp(x->r->seed_text, s->run[0].r->seed_text) != 0;
		if (cJSON_IsObject(x->scenario) && cJSON_IsObject(s->run[0].scenario))
			compare_members(s, s->run[0].scenario, x->scenario, "");
		if (!first[x->label])
			first[x->label] = i + 1;
		const cJSON *a = cJSON_GetObjectItemCaseSensitive(s->run[first[x->label] - 1].scenario, "policy"),
			    *b = cJSON_GetObjectItemCaseSensitive(x->scenario, "policy");
		if (a && b)
			compare(s, a, b, "policy");
	}
	mem_free(first);
}

static const cJSON *at_path(const cJSON *o, const char *path)
{
	while (o && *path) {
		size_t n = strcspn(path, (const char[]){ separator, '\0' });
		char *key = mem_strndup(path, n);
		o = cJSON_GetObjectItemCaseSensitive(o, key);
		mem_free(key);
		path += n + (path[n] == separator);
	}
	return o;
}

static char *text_of(const cJSON *v)
{
	if (!v)
		return mem_strdup("");
	if (cJSON_IsString(v))
		return mem_strdup(v->valuestring);
	char *printed = cJSON_PrintUnformatted(v), *copy = mem_strdup(printed);
	cJSON_free(printed);
	return copy;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_of_number(char c)
{
	return isdigit((unsigned char)c) || c == '.';
}

/* Sets the lengths of the parts that all values begin and end with, without parts of numbers. */
static void common_parts(const struct page_axis *a, size_t *head, size_t *tail)
{
	*head = strlen(a->text[0]);
	*tail = *head;
	for (size_t i = 1; i < a->n; i++) {
		size_t n = strlen(a->text[i]), h = 0, t = 0;
		while (h < *head && h < n && a->text[i][h] == a->text[0][h])
			h++;
		*head = h;
		while (t < *tail && t < n - h && a->text[i][n - 1 - t] == a->text[0][strlen(a->text[0]) - 1 - t])
			t++;
		*tail = t;
	}
	size_t n = strlen(a->text[0]);
	while (*head && is_of_number(a->text[0][*head - 1]))
		--*head;
	if (*tail > n - *head)
		*tail = n - *head;
	while (*tail && is_of_number(a->text[0][n - *tail]))
		--*tail;
}

static bool number_between(const char *s, size_t head, size_t tail, double *out)
{
	size_t n = strlen(s);
	return n > head + tail && num_real(s + head, n - head - tail, out);
}

struct numbered {
	double number;
	char *text;
};

static int by_number(const void *a, const void *b)
{
	double x = ((const struct numbered *)a)->number, y = ((const struct numbered *)b)->number;
	return (x > y) - (x < y);
}

/* Turns values such as "8x8", "16x8" into numbers, in order, if they differ in one number alone. */
static void number_axis(struct page_axis *a)
{
	size_t head, tail;
	common_parts(a, &head, &tail);
	struct numbered *v = mem_zalloc(a->n + 1, sizeof *v);
	bool is_number = a->n > 1;
	for (size_t i = 0; i < a->n && is_number; i++) {
		v[i].text = a->text[i];
		is_number = number_between(a->text[i], head, tail, &v[i].number);
	}
	struct sbuf title = { 0 };
	for (const char *c = a->path; *c; c++)
		sbuf_putc(&title, *c == separator ? '.' : *c);
	if (is_number) {
		qsort(v, a->n, sizeof *v, by_number);
		a->number = mem_zalloc(a->n, sizeof *a->number);
		for (size_t i = 0; i < a->n; i++) {
			a->number[i] = v[i].number;
			a->text[i] = v[i].text;
		}
		if (head + tail) {
			size_t n = strlen(a->text[0]);
			sbuf_puts(&title, ": ");
			sbuf_add(&title, a->text[0], head);
			sbuf_puts(&title, "N");
			sbuf_puts(&title, a->text[0] + n - tail);
		}
	}
	a->is_number = is_number;
	a->title = sbuf_steal(&title);
	mem_free(v);
}

static void fill_axis(struct page_set *s, size_t k)
{
	struct page_axis *a = &s->axis[k];
	char **all = mem_zalloc(s->n, sizeof *all), **sorted = mem_zalloc(s->n, sizeof *sorted);
	for (size_t i = 0; i < s->n; i++)
		sorted[i] = all[i] = text_of(at_path(s->run[i].scenario, a->path));
	qsort(sorted, s->n, sizeof *sorted, by_text);
	a->text = mem_zalloc(s->n, sizeof *a->text);
	for (size_t i = 0; i < s->n; i++)
		if (!a->n || strcmp(a->text[a->n - 1], sorted[i]) != 0)
			a->text[a->n++] = mem_strdup(sorted[i]);
	char **plain = mem_alloc(a->n * sizeof *plain); /* in order of the bytes, for the search */
	memcpy(plain, a->text, a->n * sizeof *plain);
	number_axis(a);
	size_t *place = mem_zalloc(a->n, sizeof *place);
	for (size_t i = 0; i < a->n; i++) {
		char **found = bsearch(&a->text[i], plain, a->n, sizeof *plain, by_text);
		place[found - plain] = i;
	}
	for (size_t i = 0; i < s->n; i++) {
		char **found = bsearch(&all[i], plain, a->n, sizeof *plain, by_text);
		s->run[i].value[k] = place[found - plain];
		mem_free(all[i]);
	}
	mem_free(place);
	mem_free(plain);
	mem_free(sorted);
	mem_free(all);
}

/* ---- points ---- */

struct key {
	const struct page_run *run;
	size_t index, n_axes;
};

static int by_point(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->run->label != y->run->label)
		return x->run->label < y->run->label ? -1 : 1;
	for (size_t k = 0; k < x->n_axes; k++)
		if (x->run->value[k] != y->run->value[k])
			return x->run->value[k] < y->run->value[k] ? -1 : 1;
	return 0;
}

static int by_point_and_run(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int order = by_point(a, b);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void find_points(struct page_set *s)
{
	struct key *key = mem_zalloc(s->n, sizeof *key);
	for (size_t i = 0; i < s->n; i++)
		key[i] = (struct key){ &s->run[i], i, s->n_axes };
	qsort(key, s->n, sizeof *key, by_point_and_run);
	s->order = mem_zalloc(s->n, sizeof *s->order);
	s->point = mem_zalloc(s->n + 1, sizeof *s->point);
	for (size_t i = 0; i < s->n; i++) {
		s->order[i] = key[i].index;
		if (!i || by_point(&key[i - 1], &key[i]))
			s->point[s->n_points++] = i;
	}
	s->point[s->n_points] = s->n;
	mem_free(key);
}

void page_set_arrange(struct page_set *s)
{
	find_axes(s);
	for (size_t k = 0; k < s->n_axes; k++)
		fill_axis(s, k);
	find_points(s);
}

void page_set_free(struct page_set *s)
{
	for (size_t i = 0; i < s->n; i++) {
		result_free(s->run[i].r);
		cJSON_Delete(s->run[i].scenario);
		mem_free(s->run[i].name);
	}
	for (size_t k = 0; k < s->n_axes; k++) {
		for (size_t i = 0; i < s->axis[k].n; i++)
			mem_free(s->axis[k].text[i]);
		mem_free(s->axis[k].text);
		mem_free(s->axis[k].number);
		mem_free(s->axis[k].path);
		mem_free(s->axis[k].title);
	}
	mem_free(s->run);
	mem_free(s->label);
	mem_free(s->order);
	mem_free(s->point);
}

/* ---- values ---- */

bool page_set_scale(const struct page_set *s, const struct report_column *c, struct report_scale *unit)
{
	const struct metric **m = mem_zalloc(s->n + 1, sizeof *m);
	bool has_any = false;
	for (size_t i = 0; i < s->n; i++) {
		m[i] = result_find(s->run[i].r, c->metric);
		has_any |= m[i] && isfinite(m[i]->value);
	}
	*unit = report_scale_of(c->kind, m, s->n);
	mem_free(m);
	return has_any;
}

struct interval page_set_value(const struct page_set *s, size_t point, const char *metric)
{
	size_t begin = s->point[point], end = s->point[point + 1], n = 0;
	double *v = mem_zalloc(end - begin, sizeof *v);
	struct interval out = { NAN, NAN, NAN };
	for (size_t i = begin; i < end; i++) {
		const struct metric *m = result_find(s->run[s->order[i]].r, metric);
		if (!m || !isfinite(m->value))
			continue;
		out = (struct interval){ m->value, m->ci_low, m->ci_high };
		v[n++] = m->value;
	}
	if (n > 1) {
		double sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += v[i];
		out = (struct interval){ sum / (double)n, NAN, NAN };
		enum estimate_range range = estimate_range_of(metric);
		if (n >= estimate_least_of(metric) && range != ESTIMATE_NO_MEAN)
			out = estimate_mean(v, n, range, 0.95);
	}
	mem_free(v);
	return out;
}

void page_put_title(struct sbuf *out, const char *title, const char *unit)
{
	sbuf_puts(out, title);
	if (*unit)
		sbuf_printf(out, " (%s)", unit);
}

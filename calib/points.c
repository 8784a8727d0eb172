/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/points.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "calib/csv.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *const point_families[] = { "launch", "gemm", "conv", "memory", "gather", "update", "attention", "copy", "collective",
	"interference", "preemption", "learners", NULL };
static const char *const precisions[] = { "", "fp32", "tf32", "fp16", "bf16", "fp8", NULL };

/* Numeric columns: field and accepted range. `missing` is the value of an empty field; NAN: the field is required. */
static const struct {
	const char *name;
	size_t at;
	double unit, low, high, missing;
	bool is_unknown_if_empty; /* NAN in memory, empty in the file */
} numbers[] = {
	{ "flops", offsetof(struct point, flops), 1, 0, 1e21, 0, false },
	{ "bytes", offsetof(struct point, bytes), 1, 0, 1e18, 0, false },
	{ "size", offsetof(struct point, size), 1, 0, 1e18, 0, false },
	{ "d0", offsetof(struct point, d[0]), 1, 0, 1e12, 0, false },
	{ "d1", offsetof(struct point, d[1]), 1, 0, 1e12, 0, false },
	{ "d2", offsetof(struct point, d[2]), 1, 0, 1e12, 0, false },
	{ "d3", offsetof(struct point, d[3]), 1, 0, 1e12, 0, false },
	{ "d4", offsetof(struct point, d[4]), 1, 0, 1e12, 0, false },
	{ "d5", offsetof(struct point, d[5]), 1, 0, 1e12, 0, false },
	{ "ranks", offsetof(struct point, ranks), 1, 0, 1e6, 0, false },
	{ "nodes", offsetof(struct point, nodes), 1, 0, 1e6, 0, false },
	{ "time_us", offsetof(struct point, time_s), 1e-6, 1e-6, 1e12, NAN, false },
	{ "low_us", offsetof(struct point, low_s), 1e-6, 0, 1e12, -1, true },
	{ "high_us", offsetof(struct point, high_s), 1e-6, 0, 1e12, -1, true },
	{ "cv", offsetof(struct point, cv), 1, 0, 1e3, -1, true },
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static const struct {
	const char *name;
	size_t at, size;
} texts[] = {
	{ "op", offsetof(struct point, op), sizeof((struct point *)0)->op },
	{ "variant", offsetof(struct point, variant), sizeof((struct point *)0)->variant },
	{ "group", offsetof(struct point, group), sizeof((struct point *)0)->group },
};

static const char *const columns[] = { "family", "op", "precision", "variant", "group", "flops", "bytes", "size", "d0", "d1", "d2", "d3",
	"d4", "d5", "ranks", "nodes", "time_us", "low_us", "high_us", "n", "cv", "mode", "cache", "held_out", NULL };

static bool is_one_of(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(s, *list))
			return true;
	return false;
}

static int check_header(const struct csv *c, struct orr_error *err)
{
	static const char *const needed[] = { "family", "time_us", NULL };
	for (int i = 0; i < c->n; i++) {
		if (is_one_of(c->name[i], columns))
			continue;
		const char *near = nearest_name(c->name[i], columns);
		return orr_fail(err, ORR_EINPUT, "%.300s:1: unknown column \"%.60s\": %s%s%s", c->path, c->name[i],
			near ? "did you mean \"" : "", near ? near : "expected a column that docs/reference/devices.md lists",
			near ? "\"?" : "");
	}
	return csv_need(c, needed, err);
}

/* Returns whether the string needs no escapes in JSON and gnuplot. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\')
			return false;
	return true;
}

static int read_texts(const struct csv *c, struct point *x, struct orr_error *err)
{
	const char *family = csv_text(c, "family"), *precision = csv_text(c, "precision");
	if (!is_one_of(family, point_families)) {
		const char *near = nearest_name(family, point_families);
		char expected[120] = "launch, gemm, conv, memory, gather, update, attention, copy, collective, interference, ..";
		if (near)
			strcpy(expected, near);
		return csv_refuse(c, "family", expected, err);
	}
	strcpy(x->family, family);
	if (!is_one_of(precision, precisions))
		return csv_refuse(c, "precision", "fp32, tf32, fp16, bf16, fp8 or an empty field", err);
	strcpy(x->precision, precision);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *s = csv_text(c, texts[i].name);
		if (strlen(s) >= texts[i].size || !is_plain(s))
			return csv_refuse(c, texts[i].name,
				i ? "at most 63 printable ASCII characters" : "at most 31 printable ASCII characters", err);
		strcpy((char *)x + texts[i].at, s);
	}
	return ORR_OK;
}

/* Reads one of two words; empty means the first. */
static int read_choice(const struct csv *c, const char *name, const char *first, const char *second, bool *out, struct orr_error *err)
{
	const char *s = csv_text(c, name);
	char expected[64] = "";
	*out = !strcmp(s, second);
	if (!*s || *out || !strcmp(s, first))
		return ORR_OK;
	strcat(strcat(strcat(expected, first), " or "), second);
	return csv_refuse(c, name, expected, err);
}

static int read_row(const struct csv *c, struct point *x, struct orr_error *err)
{
	double n = 0;
	*x = (struct point){ 0 };
	int rc = read_texts(c, x, err);
	for (size_t i = 0; !rc && i < NUMBERS; i++) {
		double v;
		rc = csv_real(c, numbers[i].name, numbers[i].low, numbers[i].high, numbers[i].missing, &v, err);
		if (!rc)
			*(double *)(void *)((char *)x + numbers[i].at) =
				numbers[i].is_unknown_if_empty && v < 0 ? NAN : v * numbers[i].unit;
	}
	if (!rc)
		rc = csv_real(c, "n", 0, 4e9, 0, &n, err);
	x->n = (uint32_t)n;
	if (!rc && (x->low_s > x->time_s || x->high_s < x->time_s))
		rc = csv_refuse(c, x->low_s > x->time_s ? "low_us" : "high_us", "an interval that contains time_us", err);
	if (!rc)
		rc = read_choice(c, "mode", "burst", "sustained", &x->is_sustained, err);
	if (!rc)
		rc = read_choice(c, "cache", "warm", "cold", &x->is_cold, err);
	return rc ? rc : read_choice(c, "held_out", "0", "1", &x->is_held_out, err);
}

static int read_all(struct csv *c, struct points *out, struct orr_error *err)
{
	int rc = check_header(c, err), got;
	struct point x;
	while (!rc && (got = csv_next(c, err)) != 0) {
		rc = got < 0 ? ORR_EINPUT : read_row(c, &x, err);
		if (!rc)
			points_add(out, &x);
	}
	return rc;
}

int points_parse(const char *path, const char *text, size_t size, struct points *out, struct orr_error *err)
{
	struct csv c;
	*out = (struct points){ 0 };
	int rc = csv_open(&c, path, text, size, err);
	if (!rc)
		rc = read_all(&c, out, err);
	csv_close(&c);
	if (rc)
		points_free(out);
	return rc;
}

int points_read(const char *path, struct points *out, struct orr_error *err)
{
	size_t n;
	*out = (struct points){ 0 };
	char *text = bytes_read_file(path, CSV_MAX_BYTES, &n, NULL, err);
	int rc = text ? points_parse(path, text, n, out, err) : ORR_EINPUT;
	mem_free(text);
	return rc;
}

void points_add(struct points *p, const struct point *x)
{
	MEM_GROW(p->v, p->n, p->cap);
	p->v[p->n++] = *x;
}

static void put_text(FILE *out, const char *s, const char *end)
{
	bool is_quoted = strpbrk(s, ",\"") != NULL;
	fprintf(out, is_quoted ? "\"" : "");
	for (; *s; s++)
		fprintf(out, *s == '"' ? "\"\"" : "%c", *s);
	fprintf(out, "%s%s", is_quoted ? "\"" : "", end);
}

/* Writes a number; 0 and NAN (unknown) become an empty field. */
static void put_number(FILE *out, double v, bool is_always)
{
	char text[NUM_REAL_MAX] = "";
	if (!isnan(v) && (v != 0 || is_always))
		num_put_real(text, v);
	fprintf(out, "%s,", text);
}

void points_write_header(FILE *out)
{
	for (size_t i = 0; columns[i]; i++)
		fprintf(out, "%s%s", columns[i], columns[i + 1] ? "," : "\n");
}

void points_write_row(const struct point *x, FILE *out)
{
	put_text(out, x->family, ",");
	put_text(out, x->op, ",");
	put_text(out, x->precision, ",");
	put_text(out, x->variant, ",");
	put_text(out, x->group, ",");
	for (size_t i = 0; i < NUMBERS; i++) {
		if (!strcmp(numbers[i].name, "cv"))
			fprintf(out, "%u,", x->n);
		put_number(out, *(const double *)(const void *)((const char *)x + numbers[i].at) / numbers[i].unit,
			numbers[i].is_unknown_if_empty);
	}
	fprintf(out, "%s,%s,%d\n", x->is_sustained ? "sustained" : "burst", x->is_cold ? "cold" : "warm", x->is_held_out);
}

int points_write(const struct points *p, FILE *out, struct orr_error *err)
{
	points_write_header(out);
	for (size_t k = 0; k < p->n; k++)
		points_write_row(&p->v[k], out);
	return ferror(out) ? orr_fail(err, ORR_EFAIL, "the points cannot be written: expected a writable file") : ORR_OK;
}

void points_free(struct points *p)
{
	mem_free(p->v);
	*p = (struct points){ 0 };
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table_read.c - reads an embedding table from a CSV file */
#include "embed/table_state.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/strtab.h"
#include "traces/table.h"

#include <stdlib.h>
#include <string.h>

enum { C_FIELD, C_FEATURE, C_FREQUENCY, C_VECTOR };
static const struct table_column columns[] = { { "field", true }, { "feature", true }, { "frequency", true }, { "vector", true },
	{ NULL, false } };

struct row {
	uint32_t field, feature; /* numbers of the names in the string tables */
	uint64_t order;          /* position of the feature in the file */
	double frequency;
};

struct reader {
	struct strtab *fields, *features;
	struct row *row;
	uint64_t n, cap;
	float *value; /* values, n x dim, in the order of the file */
	uint64_t n_value, cap_value;
	uint32_t dim; /* values per vector; 0: no row yet */
};

/* Appends the values of a vector. Returns false if one is not a number in the range, or if their count differs from that of earlier
 * rows. */
static bool read_vector(struct reader *in, const char *s)
{
	uint32_t n = 0;
	for (s += strspn(s, " "); *s; s += strspn(s, " "), n++) {
		size_t length = strcspn(s, " ");
		double x;
		if (!num_real(s, length, &x) || !(x > -1e30 && x < 1e30))
			return false;
		MEM_GROW(in->value, in->n_value, in->cap_value);
		in->value[in->n_value++] = (float)x;
		s += length;
	}
	if (!in->dim)
		in->dim = n;
	return n && n == in->dim;
}

static void read_row(struct reader *in, struct table *t)
{
	size_t n_field, n_feature;
	const char *field = table_text(t, C_FIELD, &n_field), *feature = table_text(t, C_FEATURE, &n_feature);
	char expected[80] = "numbers from -1e30 to 1e30, separated by blanks";
	if (!n_field)
		table_refuse(t, C_FIELD, "a name");
	if (!n_feature)
		table_refuse(t, C_FEATURE, "a name");
	if (in->dim)
		snprintf(expected, sizeof expected, "%u numbers from -1e30 to 1e30, as in the first row", in->dim);
	struct row row = { .field = strtab_add(in->fields, field, n_field), .order = in->n };
	row.feature = strtab_add(in->features, feature, n_feature);
	row.frequency = table_real(t, C_FREQUENCY, 0, 1e30);
	if (!read_vector(in, table_text(t, C_VECTOR, NULL)))
		table_refuse(t, C_VECTOR, expected);
	MEM_GROW(in->row, in->n, in->cap);
	in->row[in->n++] = row;
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->field != y->field)
		return x->field < y->field ? -1 : 1;
	return (x->feature > y->feature) - (x->feature < y->feature);
}

static int by_frequency(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->field != y->field)
		return x->field < y->field ? -1 : 1;
	if (x->frequency != y->frequency)
		return x->frequency > y->frequency ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int check_rows(struct reader *in, const char *path, struct orr_error *err)
{
	if (!in->n)
		return orr_fail(err, ORR_EINPUT, "%s: no rows: expected one row per feature", path);
	if (in->n > UINT32_MAX)
		return orr_fail(err, ORR_EINPUT, "%s: %llu rows: expected at most %u", path, (unsigned long long)in->n, UINT32_MAX);
	qsort(in->row, in->n, sizeof *in->row, by_name);
	for (uint64_t i = 1; i < in->n; i++)
		if (in->row[i].field == in->row[i - 1].field && in->row[i].feature == in->row[i - 1].feature)
			return orr_fail(err, ORR_EINPUT, "%s: feature \"%s\" of field \"%s\" has two rows: expected one", path,
				strtab_text(in->features, in->row[i].feature), strtab_text(in->fields, in->row[i].field));
	qsort(in->row, in->n, sizeof *in->row, by_frequency);
	return ORR_OK;
}

/* Makes the rows of one field, from *at on, the next field of the table. */
static int take_field(struct embed_table *t, const struct reader *in, uint64_t *at, const char *path, struct orr_error *err)
{
	struct embed_field *f = &t->field[t->n_fields];
	uint64_t first = *at;
	double sum = 0;
	while (*at < in->n && in->row[*at].field == in->row[first].field)
		sum += in->row[(*at)++].frequency;
	if (!(sum > 0))
		return orr_fail(err, ORR_EINPUT, "%s: all frequencies of field \"%s\" are 0: expected one above 0", path,
			strtab_text(in->fields, in->row[first].field));
	f->n = (uint32_t)(*at - first);
	f->name = mem_strdup(strtab_text(in->fields, in->row[first].field));
	f->frequency = mem_alloc(f->n * sizeof *f->frequency);
	f->vector = mem_alloc((size_t)f->n * in->dim * sizeof *f->vector);
	f->feature = mem_alloc(f->n * sizeof *f->feature);
	t->n_fields++;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct row *row = &in->row[first + i];
		f->frequency[i] = row->frequency / sum;
		f->feature[i] = row->feature;
		memcpy(f->vector + (size_t)i * in->dim, in->value + row->order * in->dim, in->dim * sizeof *f->vector);
	}
	return ORR_OK;
}

/* Makes the table, which takes ownership of the names of the features. */
static struct embed_table *take_table(struct reader *in, const char *path, struct orr_error *err)
{
	struct embed_table *t = mem_zalloc(1, sizeof *t);
	uint64_t at = 0;
	t->dim = in->dim;
	t->features = in->n;
	t->field = mem_zalloc(strtab_count(in->fields), sizeof *t->field);
	while (at < in->n)
		if (take_field(t, in, &at, path, err)) {
			embed_table_free(t);
			return NULL;
		}
	t->names = in->features;
	in->features = NULL;
	embed_finish(t);
	return t;
}

struct embed_table *embed_table_read(const char *path, struct orr_error *err)
{
	struct reader in = { .fields = strtab_new(), .features = strtab_new() };
	struct lines *lines = lines_open(path, err);
	struct table *rows = lines ? table_new(lines, columns, TABLE_HEADER, err) : NULL;
	struct embed_table *t = NULL;
	int rc = -1;
	while (rows && (rc = table_next(rows, NULL, NULL, err)) == 1) {
		read_row(&in, rows);
		if (table_status(rows) != 1) {
			rc = -1;
			break;
		}
	}
	if (!rc && !check_rows(&in, path, err))
		t = take_table(&in, path, err);
	if (t)
		snprintf(t->hash, sizeof t->hash, "%s", lines_hash(lines));
	table_free(rows);
	lines_close(lines);
	strtab_free(in.fields);
	strtab_free(in.features);
	mem_free(in.row);
	mem_free(in.value);
	return t;
}

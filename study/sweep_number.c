/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a study's rows, and the numbers of their runs in the database. */
#include "study/sweep_report.h"

#include "base/mem.h"
#include "results/store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_task(const void *a, const void *b)
{
	const struct sweep_row *x = a, *y = b;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->searched != y->searched && !isnan(x->searched))
		return x->searched < y->searched ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

struct numbering {
	struct sweep_row **row; /* rows by hash and label */
	size_t n;
};

static int compare_keys(const struct sweep_row *x, const char *hash, const char *label)
{
	int order = strcmp(x->hash, hash);
	return order ? order : strcmp(x->label, label);
}

static int by_key(const void *a, const void *b)
{
	const struct sweep_row *const *x = a, *const *y = b;
	return compare_keys(*x, (*y)->hash, (*y)->label);
}

/* Numbers all rows of a run: two points may have the same scenario. */
static void number_rows(void *ctx, int64_t run, const char *hash, const char *label)
{
	const struct numbering *x = ctx;
	size_t low = 0, high = x->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare_keys(x->row[middle], hash, label) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < x->n && !compare_keys(x->row[low], hash, label); low++)
		x->row[low]->number = run;
}

int sweep_number(struct sweep_rows *w, const char *db, struct orr_error *err)
{
	if (w->n)
		qsort(w->row, w->n, sizeof *w->row, by_task);
	if (!db || !w->n)
		return ORR_OK;
	struct store *s = store_open_readonly(db, err);
	if (!s)
		return err->code;
	struct numbering x = { mem_alloc(w->n * sizeof *x.row), w->n };
	for (size_t i = 0; i < w->n; i++)
		x.row[i] = &w->row[i];
	qsort(x.row, x.n, sizeof *x.row, by_key);
	int rc = store_each_key(s, number_rows, &x, err);
	mem_free(x.row);
	struct orr_error on_close = { 0 };
	store_close(s, rc ? &on_close : err);
	return rc ? rc : err->code;
}

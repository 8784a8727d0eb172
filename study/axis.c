/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of one axis of a book or study. */
#include "study/figures.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A value that is not in a list. */
struct book_made {
	struct book_value value;
	char text[NUM_REAL_MAX];
};

struct book_axis book_new_axis(const char *name)
{
	return (struct book_axis){ .name = mem_strdup(name), .made = mem_zalloc(1, sizeof(struct book_made)) };
}

void book_add_value(struct book_axis *a, double v)
{
	a->number = mem_realloc(a->number, a->n + 1, sizeof *a->number);
	a->number[a->n++] = v;
}

void book_set_value(struct book_axis *a, size_t i, double v)
{
	a->number[i] = v;
}

/* Returns v with 15 significant digits: 0.3 instead of 0.30000000000000004. */
static double rounded(double v)
{
	char text[NUM_REAL_MAX];
	int n = snprintf(text, sizeof text, "%.15g", v);
	num_real(text, (size_t)n, &v);
	return v;
}

static double grid_value(const struct book_axis *a, double i)
{
	const struct search_axis *r = &a->range;
	if (r->to == r->from || (!isnan(a->grid_n) && i == a->grid_n - 1))
		return r->to;
	double part = isnan(a->step) ? i / (a->grid_n - 1) : i * a->step / (r->to - r->from);
	return rounded(r->is_log ? r->from * pow(r->to / r->from, part) : r->from + part * (r->to - r->from));
}

const struct book_value *book_value(const struct book_axis *a, size_t i)
{
	if (a->value)
		return &a->value[i];
	struct book_made *made = a->made;
	double v = a->number ? a->number[i] : grid_value(a, (double)i);
	if (made->value.text && v == made->value.number)
		return &made->value;
	num_put_real(made->text, v);
	made->value = (struct book_value){ .text = made->text, .label = made->text, .number = v };
	return &made->value;
}

bool book_has_numbers(const struct book_axis *a)
{
	bool has = true;
	for (size_t i = 0; a->value && i < a->n; i++)
		has &= !isnan(a->value[i].number) && !strcmp(a->value[i].text, a->value[i].label);
	return has;
}

void book_free_lets(struct book_let *let, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		mem_free(let[i].name);
		mem_free(let[i].text);
	}
	mem_free(let);
}

void book_free_axis(struct book_axis *a)
{
	for (size_t i = 0; a->value && i < a->n; i++) {
		mem_free(a->value[i].text);
		mem_free(a->value[i].label);
		book_free_lets(a->value[i].let, a->value[i].n_lets);
	}
	mem_free(a->value);
	mem_free(a->number);
	mem_free(a->made);
	mem_free(a->name);
}

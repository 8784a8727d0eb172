/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grid.h - a table of texts, written for a terminal, as Markdown, LaTeX, CSV or JSON
 *
 * Row 0 has the titles. The first `keys` columns name a row; a text table that is wider than the terminal repeats them in each of its
 * parts. The grid owns its cells.
 */
#ifndef ORR_RESULTS_GRID_H
#define ORR_RESULTS_GRID_H

#include <orrery/api.h>

#include "base/sbuf.h"

enum grid_format { GRID_TEXT, GRID_MARKDOWN, GRID_LATEX, GRID_CSV, GRID_JSON };

struct grid {
	size_t rows, columns, keys;
	char **cell;   /* texts from mem_alloc(); NULL: an empty cell */
	bool *is_text; /* by column: aligned to the left */
};

struct grid grid_new(size_t rows, size_t columns, size_t keys);
void grid_free(struct grid *g);
/* Returns the cell's place; the grid frees the text that is put there. */
char **grid_cell(const struct grid *g, size_t row, size_t column);

/* Reads text, markdown, latex, csv or json. */
int grid_format_named(const char *name, enum grid_format *out, struct orr_error *err);

/*
 * Appends the table. width: maximum characters of a line of text; 0: no limit. Names of rows that leave no room for another
 * column are shortened, to 12 characters at least. JSON is an array of objects: numeric cells become numbers, "-" and empty
 * cells become null.
 */
void grid_put(struct sbuf *out, const struct grid *g, enum grid_format format, size_t width);

/* A table whose rows are made when they are written, in ascending order; text tables read them once more for each part, from 0 on. */
struct grid_rows {
	size_t rows, columns, keys;
	const bool *is_text;
	const char *const *(*row)(void *ctx, size_t row); /* the cells (NULL: empty), valid until the next call */
	void (*drain)(void *ctx, struct sbuf *out);       /* takes text out of `out` after a row; NULL: all text stays there */
	void *ctx;
};
void grid_put_rows(struct sbuf *out, const struct grid_rows *g, enum grid_format format, size_t width);

/* Appends sentences with line breaks at blanks, so that no line has more than `width` characters; 0: no limit. Continued lines are
 * indented. */
void grid_put_wrapped(struct sbuf *out, const char *text, size_t width);
/* Appends sentences below a table in a form that the format permits: a block of verbatim text (Markdown), comments (LaTeX). CSV and JSON
 * have none. */
void grid_put_notes(struct sbuf *out, const char *text, enum grid_format format, size_t width);

#endif

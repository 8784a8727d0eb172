/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * html.h - a self-contained HTML page: head, tables, figures
 *
 * Invariant: every text of a user, a trace or a policy enters the page through html_text(), the only function that escapes. Style and
 * script are plots/page.css and plots/page.js, embedded at build time, so the page loads nothing.
 */
#ifndef ORR_PLOTS_HTML_H
#define ORR_PLOTS_HTML_H

#include "base/sbuf.h"

#include <stdbool.h>

/* Appends s for the content of an element or a quoted attribute. Control characters and bytes that are not UTF-8 become U+FFFD. */
void html_text(struct sbuf *out, const char *s);
/* Appends <TAG>s</TAG>. */
void html_element(struct sbuf *out, const char *tag, const char *s);
/* Begin and end the page; the title is its h1 too. */
void html_begin(struct sbuf *out, const char *title);
void html_end(struct sbuf *out);
/* Begins a section with a heading h2, and a link target. */
void html_section(struct sbuf *out, const char *id, const char *heading);

/*
 * A table that the reader can sort and filter. Cells are added row by row. A table of zeros, with a caption, is empty. The first number
 * in a cell of a number column is its sort key. html_table_put() appends the table and frees the cells and titles.
 */
struct html_column {
	char *title; /* with the unit */
	bool is_number, is_code;
};
struct html_table {
	const char *caption;
	struct html_column *column;
	size_t n_columns, cap_columns;
	char **cell;
	size_t n_cells, cap_cells;
};
void html_table_column(struct html_table *t, const char *title, bool is_number, bool is_code);
void html_table_cell(struct html_table *t, const char *text);
void html_table_put(struct sbuf *out, struct html_table *t);

#endif

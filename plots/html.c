/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/html.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "hwmodel/embedded.h"

#include <string.h>

extern const struct embedded_file page_files[]; /* page.css, page.js */

/* Rows that are HTML; the rows of a longer table are text, which the script shows in pages. */
enum { ROWS_AS_HTML = 100 };

static bool is_control(const char *s, size_t bytes)
{
	unsigned char c = (unsigned char)*s;
	return (bytes == 1 && ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)) ||
	       (bytes == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0) ||
	       (bytes == 3 && c == 0xef && (unsigned char)s[1] == 0xbf && (unsigned char)s[2] >= 0xbe); /* U+FFFE, U+FFFF */
}

static void put_character(struct sbuf *out, const char *s, size_t bytes)
{
	switch (*s) {
	case '&':
		sbuf_puts(out, "&amp;");
		break;
	case '<':
		sbuf_puts(out, "&lt;");
		break;
	case '>':
		sbuf_puts(out, "&gt;");
		break;
	case '"':
		sbuf_puts(out, "&quot;");
		break;
	case '\'':
		sbuf_puts(out, "&#39;");
		break;
	default:
		sbuf_add(out, s, bytes);
	}
}

void html_text(struct sbuf *out, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	for (size_t i = 0, bytes; i < n; i += bytes ? bytes : 1) {
		bytes = utf8_length(s + i, n - i);
		if (!bytes || is_control(s + i, bytes))
			sbuf_puts(out, "\xef\xbf\xbd");
		else
			put_character(out, s + i, bytes);
	}
}

void html_element(struct sbuf *out, const char *tag, const char *s)
{
	sbuf_printf(out, "<%s>", tag);
	html_text(out, s);
	sbuf_printf(out, "</%s>\n", tag);
}

static void put_file(struct sbuf *out, const char *name)
{
	for (const struct embedded_file *f = page_files; f->name; f++)
		if (!strcmp(f->name, name))
			sbuf_add(out, (const char *)f->text, f->n);
}

void html_begin(struct sbuf *out, const char *title)
{
	sbuf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		       "<link rel=\"icon\" href=\"data:,\"/>\n");
	html_element(out, "title", title);
	sbuf_puts(out, "<style>\n");
	put_file(out, "page.css");
	sbuf_puts(out, "</style>\n</head>\n<body>\n<main>\n");
	html_element(out, "h1", title);
}

void html_end(struct sbuf *out)
{
	sbuf_puts(out, "</main>\n<script>\n");
	put_file(out, "page.js");
	sbuf_puts(out, "</script>\n</body>\n</html>\n");
}

void html_section(struct sbuf *out, const char *id, const char *heading)
{
	sbuf_printf(out, "<h2 id=\"%s\">", id);
	html_text(out, heading);
	sbuf_puts(out, "</h2>\n");
}

/* ---- tables ---- */

void html_table_column(struct html_table *t, const char *title, bool is_number, bool is_code)
{
	MEM_GROW(t->column, t->n_columns, t->cap_columns);
	t->column[t->n_columns++] = (struct html_column){ mem_strdup(title), is_number, is_code };
}

void html_table_cell(struct html_table *t, const char *text)
{
	MEM_GROW(t->cell, t->n_cells, t->cap_cells);
	t->cell[t->n_cells++] = mem_strdup(text ? text : "");
}

static const char *class_of(const struct html_column *c)
{
	return c->is_number ? " class=\"number\"" : c->is_code ? " class=\"code\"" : "";
}

static void put_head(struct sbuf *out, const struct html_table *t)
{
	sbuf_puts(out, "<thead><tr>");
	for (size_t k = 0; k < t->n_columns; k++) {
		sbuf_printf(out, "<th scope=\"col\" aria-sort=\"none\"%s><button type=\"button\">", class_of(&t->column[k]));
		html_text(out, t->column[k].title);
		sbuf_puts(out, "</button></th>");
	}
	sbuf_puts(out, "</tr></thead>\n");
}

static void put_rows(struct sbuf *out, const struct html_table *t)
{
	sbuf_puts(out, "<tbody>\n");
	for (size_t i = 0; i < t->n_cells; i++) {
		size_t k = i % t->n_columns;
		sbuf_printf(out, "%s<td%s>", k ? "" : "<tr>", class_of(&t->column[k]));
		html_text(out, t->cell[i]);
		sbuf_printf(out, "</td>%s", k + 1 == t->n_columns ? "</tr>\n" : "");
	}
	sbuf_puts(out, "</tbody>\n");
}

/* A row is a line; tabs separate its cells, and do not occur in them. */
static void put_lines(struct sbuf *out, const struct html_table *t)
{
	sbuf_puts(out, "<pre class=\"rows\">");
	for (size_t i = 0; i < t->n_cells; i++) {
		for (char *c = t->cell[i]; *c; c++)
			*c = strchr("\t\n\r", *c) ? ' ' : *c;
		if (i)
			sbuf_putc(out, i % t->n_columns ? '\t' : '\n');
		html_text(out, t->cell[i]);
	}
	sbuf_puts(out, "</pre>\n");
}

void html_table_put(struct sbuf *out, struct html_table *t)
{
	bool are_lines = t->n_columns && t->n_cells / t->n_columns > ROWS_AS_HTML;
	sbuf_puts(out, "<div class=\"table\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
	html_text(out, t->caption);
	sbuf_puts(out, "\"><table>\n");
	html_element(out, "caption", t->caption);
	put_head(out, t);
	if (!are_lines)
		put_rows(out, t);
	else
		sbuf_puts(out, "<tbody></tbody>\n");
	sbuf_puts(out, "</table></div>\n");
	if (are_lines)
		put_lines(out, t);
	sbuf_puts(out, "</div>\n");
	for (size_t k = 0; k < t->n_columns; k++)
		mem_free(t->column[k].title);
	for (size_t i = 0; i < t->n_cells; i++)
		mem_free(t->cell[i]);
	mem_free(t->column);
	mem_free(t->cell);
	*t = (struct html_table){ 0 };
}

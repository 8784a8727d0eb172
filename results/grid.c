/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/grid.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "results/report_text.h"

#include <cjson/cJSON.h>
#include <string.h>

struct grid grid_new(size_t rows, size_t columns, size_t keys)
{
	struct grid g = { .rows = rows, .columns = columns, .keys = keys };
	g.cell = mem_zalloc(rows * columns + 1, sizeof *g.cell);
	g.is_text = mem_zalloc(columns + 1, sizeof *g.is_text);
	return g;
}

void grid_free(struct grid *g)
{
	for (size_t i = 0; i < g->rows * g->columns; i++)
		mem_free(g->cell[i]);
	mem_free(g->cell);
	mem_free(g->is_text);
}

char **grid_cell(const struct grid *g, size_t row, size_t column)
{
	return &g->cell[row * g->columns + column];
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static void drain(const struct grid_rows *g, struct sbuf *out)
{
	if (g->drain)
		g->drain(g->ctx, out);
}

int grid_format_named(const char *name, enum grid_format *out, struct orr_error *err)
{
	static const char *const names[] = { "text", "markdown", "latex", "csv", "json" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name)) {
			*out = (enum grid_format)i;
			return ORR_OK;
		}
	return orr_fail(err, ORR_EINPUT, "--table %.40s: expected text, markdown, latex, csv or json", name);
}

/* ---- text ---- */

enum { GAP = 2, LEAST_KEY = 12 };

/* Narrows the widest name columns until the widest other column fits beside them. */
static void narrow_keys(const struct grid_rows *g, size_t *width, size_t limit)
{
	size_t used = 0, other = 0;
	for (size_t c = 0; c < g->columns; c++) {
		if (c < g->keys)
			used += width[c] + GAP;
		else if (width[c] > other)
			other = width[c];
	}
	while (used + other > limit) {
		size_t widest = 0;
		for (size_t c = 0; c < g->keys; c++)
			widest = width[c] > width[widest] ? c : widest;
		if (!g->keys || width[widest] <= LEAST_KEY)
			return;
		width[widest]--;
		used--;
	}
}

/* Appends the first characters of a text that is wider than the column, with an ellipsis. */
static void put_cell(struct sbuf *out, const char *text, size_t width, bool to_the_right)
{
	if (report_text_width(text) <= width) {
		report_pad(out, text, width, to_the_right);
		return;
	}
	size_t n = 0;
	for (size_t w = 0; text[n]; n++) {
		w += ((unsigned char)text[n] & 0xc0) != 0x80;
		if (w == width)
			break;
	}
	sbuf_add(out, text, n);
	sbuf_puts(out, "…");
}

/* Appends one line: the names of the row, then columns from..to - 1; no blanks at its end. */
static void put_line(struct sbuf *out, const struct grid_rows *g, const size_t *width, const char *const *cell, size_t from, size_t to)
{
	struct sbuf line = { 0 };
	for (size_t c = 0; c < to; c++) {
		if (c >= g->keys && c < from)
			continue;
		sbuf_puts(&line, c ? "  " : "");
		put_cell(&line, text_of(cell[c]), width[c], !g->is_text[c]);
	}
	while (line.len && line.text[line.len - 1] == ' ')
		line.len--;
	sbuf_add(out, line.text, line.len);
	sbuf_putc(out, '\n');
	sbuf_free(&line);
}

static void put_text(struct sbuf *out, const struct grid_rows *g, size_t limit)
{
	size_t *width = mem_zalloc(g->columns + 1, sizeof *width), to, names = 0;
	for (size_t row = 0; row < g->rows; row++) {
		const char *const *cell = g->row(g->ctx, row);
		for (size_t c = 0; c < g->columns; c++) {
			size_t n = report_text_width(text_of(cell[c]));
			width[c] = n > width[c] ? n : width[c];
		}
	}
	narrow_keys(g, width, limit);
	for (size_t c = 0; c < g->keys; c++)
		names += width[c] + (c ? GAP : 0);
	for (size_t from = g->keys; from < g->columns || from == g->keys; from = to) {
		size_t used = names;
		for (to = from; to < g->columns && (to == from || used + GAP + width[to] <= limit); to++)
			used += GAP + width[to];
		if (from > g->keys)
			sbuf_putc(out, '\n');
		for (size_t row = 0; row < g->rows; row++) {
			put_line(out, g, width, g->row(g->ctx, row), from, to);
			drain(g, out);
		}
		if (to == g->keys)
			break;
	}
	mem_free(width);
}

/* ---- Markdown and LaTeX ---- */

static void put_markdown(struct sbuf *out, const struct grid_rows *g)
{
	for (size_t row = 0; row < g->rows; row++) {
		const char *const *cell = g->row(g->ctx, row);
		sbuf_putc(out, '|');
		for (size_t c = 0; c < g->columns; c++) {
			sbuf_putc(out, ' ');
			for (const char *s = text_of(cell[c]); *s; s++) {
				if (strchr("\\`*_{}[]<>#|$~^", *s))
					sbuf_putc(out, '\\');
				sbuf_putc(out, *s == '\n' ? ' ' : *s);
			}
			sbuf_puts(out, " |");
		}
		sbuf_puts(out, row ? "\n" : "\n|");
		for (size_t c = 0; !row && c < g->columns; c++)
			sbuf_puts(out, g->is_text[c] ? " --- |" : " --: |");
		if (!row)
			sbuf_putc(out, '\n');
		drain(g, out);
	}
}

static void put_latex_text(struct sbuf *out, const char *s)
{
	static const struct {
		const char *from, *to;
	} names[] = { { "\\", "\\textbackslash{}" }, { "~", "\\textasciitilde{}" }, { "^", "\\textasciicircum{}" }, { "±", "$\\pm$" },
		{ "…", "\\ldots{}" }, { "<", "$<$" }, { ">", "$>$" }, { "|", "$|$" }, { "µ", "$\\mu$" } };
	while (*s) {
		size_t i = 0;
		while (i < sizeof names / sizeof *names && strncmp(s, names[i].from, strlen(names[i].from)) != 0)
			i++;
		if (i < sizeof names / sizeof *names) {
			sbuf_puts(out, names[i].to);
			s += strlen(names[i].from);
			continue;
		}
		if (strchr("&%$#_{}", *s))
			sbuf_putc(out, '\\');
		sbuf_putc(out, *s++);
	}
}

static void put_latex(struct sbuf *out, const struct grid_rows *g)
{
	sbuf_puts(out, "\\begin{tabular}{");
	for (size_t c = 0; c < g->columns; c++)
		sbuf_putc(out, g->is_text[c] ? 'l' : 'r');
	sbuf_puts(out, "}\n\\hline\n");
	for (size_t row = 0; row < g->rows; row++) {
		const char *const *cell = g->row(g->ctx, row);
		for (size_t c = 0; c < g->columns; c++) {
			sbuf_puts(out, c ? " & " : "");
			/* LaTeX would read a row that starts with "[" as an option of the line break before it. */
			sbuf_puts(out, !c && *text_of(cell[c]) == '[' ? "{}" : "");
			put_latex_text(out, text_of(cell[c]));
		}
		sbuf_puts(out, row ? " \\\\\n" : " \\\\\n\\hline\n");
		drain(g, out);
	}
	sbuf_puts(out, "\\hline\n\\end{tabular}\n");
}

/* ---- CSV and JSON ---- */

static void put_csv(struct sbuf *out, const struct grid_rows *g)
{
	for (size_t row = 0; row < g->rows; row++) {
		const char *const *cell = g->row(g->ctx, row);
		for (size_t c = 0; c < g->columns; c++) {
			const char *text = text_of(cell[c]);
			bool is_quoted = text[strcspn(text, ",\"\r\n")];
			sbuf_puts(out, c ? "," : "");
			sbuf_puts(out, is_quoted ? "\"" : "");
			for (const char *s = text; *s; s++) {
				if (*s == '"')
					sbuf_putc(out, '"');
				sbuf_putc(out, *s);
			}
			sbuf_puts(out, is_quoted ? "\"" : "");
		}
		sbuf_putc(out, '\n');
		drain(g, out);
	}
}

static void put_json(struct sbuf *out, const struct grid_rows *g)
{
	cJSON *list = cJSON_CreateArray();
	char **titles = mem_zalloc(g->columns + 1, sizeof *titles);
	for (size_t row = 0; row < g->rows; row++) {
		const char *const *cell = g->row(g->ctx, row);
		cJSON *o = row ? cJSON_CreateObject() : NULL;
		for (size_t c = 0; !row && c < g->columns; c++)
			titles[c] = mem_strdup(text_of(cell[c]));
		for (size_t c = 0; row && c < g->columns; c++) {
			const char *text = text_of(cell[c]), *title = titles[c];
			double v;
			char number[NUM_REAL_MAX];
			if (!*text || !strcmp(text, "-")) {
				cJSON_AddNullToObject(o, title);
			} else if (!g->is_text[c] && num_real(text, strlen(text), &v)) {
				num_put_real(number, v);
				cJSON_AddRawToObject(o, title, number);
			} else {
				cJSON_AddStringToObject(o, title, text);
			}
		}
		if (row)
			cJSON_AddItemToArray(list, o);
	}
	for (size_t c = 0; c < g->columns; c++)
		mem_free(titles[c]);
	mem_free(titles);
	char *text = cJSON_Print(list);
	sbuf_puts(out, text);
	sbuf_putc(out, '\n');
	cJSON_free(text);
	cJSON_Delete(list);
}

void grid_put_rows(struct sbuf *out, const struct grid_rows *g, enum grid_format format, size_t width)
{
	switch (format) {
	case GRID_MARKDOWN:
		put_markdown(out, g);
		break;
	case GRID_LATEX:
		put_latex(out, g);
		break;
	case GRID_CSV:
		put_csv(out, g);
		break;
	case GRID_JSON:
		put_json(out, g);
		break;
	default:
		put_text(out, g, width ? width : SIZE_MAX);
	}
}

static const char *const *row_of_grid(void *ctx, size_t row)
{
	const struct grid *g = ctx;
	return (const char *const *)grid_cell(g, row, 0);
}

void grid_put(struct sbuf *out, const struct grid *g, enum grid_format format, size_t width)
{
	struct grid table = *g;
	grid_put_rows(out, &(struct grid_rows){ g->rows, g->columns, g->keys, g->is_text, row_of_grid, NULL, &table }, format, width);
}

/* ---- sentences ---- */

/* Appends one line without its end. */
static void wrap_line(struct sbuf *out, const char *line, size_t n, size_t width)
{
	size_t indent = strspn(line, " "), used = 0;
	size_t next = indent + 2 < width / 2 ? indent + 2 : 2;
	for (size_t i = 0; i < n;) {
		size_t blanks = strspn(line + i, " "), word = strcspn(line + i + blanks, " \n"), w = 0;
		if (i + blanks >= n)
			break;
		for (size_t k = 0; k < word; k++)
			w += ((unsigned char)line[i + blanks + k] & 0xc0) != 0x80;
		if (i && used + blanks + w > width) {
			sbuf_printf(out, "\n%*s", (int)next, "");
			used = next;
		} else {
			sbuf_add(out, line + i, blanks);
			used += blanks;
		}
		sbuf_add(out, line + i + blanks, word);
		used += w;
		i += blanks + word;
	}
}

void grid_put_wrapped(struct sbuf *out, const char *text, size_t width)
{
	if (!width) {
		sbuf_puts(out, text);
		return;
	}
	while (*text) {
		size_t n = strcspn(text, "\n");
		wrap_line(out, text, n, width);
		if (text[n])
			sbuf_putc(out, '\n');
		text += n + (text[n] == '\n');
	}
}

void grid_put_notes(struct sbuf *out, const char *text, enum grid_format format, size_t width)
{
	if (!*text || format == GRID_CSV || format == GRID_JSON)
		return;
	if (format == GRID_TEXT) {
		grid_put_wrapped(out, text, width);
	} else if (format == GRID_MARKDOWN) {
		sbuf_printf(out, "\n~~~text\n%s~~~\n", text + strspn(text, "\n"));
	} else {
		while (*text) {
			size_t n = strcspn(text, "\n");
			sbuf_puts(out, n ? "% " : "%");
			sbuf_add(out, text, n);
			sbuf_putc(out, '\n');
			text += n + (text[n] == '\n');
		}
	}
}

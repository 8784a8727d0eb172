/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memmem() */
#include "plots/album.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "plots/gnuplot.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Figures have the width of a printed column, 3.5 in, and 8 pt type. The unit of SVG is 1/96 in and the PNG has 300 dots per
 * inch, so both scale their type accordingly.
 */
static const struct format {
	const char *suffix, *terminal; /* terminal: with the printf formats of font, its size, line width, width and height */
	double per_inch;               /* number of terminal units per inch */
	double per_point;              /* size of the font in the terminal's unit */
	double line;                   /* width of lines on paper */
	double key_row_in;             /* height of a row of gnuplot's legend at 9 pt */
	const char *ending;            /* text at the end of a complete file */
} formats[] = {
	{ "pdf", "pdfcairo noenhanced color font '%s,%g' fontscale 0.75 linewidth %g size %.2fin,%.2fin", 1, 1, 1.5, 0.16, "%%EOF\n" },
	{ "svg", "svg noenhanced font '%s,%g' linewidth %g size %.0f,%.0f background '#ffffff'", 96, 4.0 / 3, 1.2, 0.21, "</svg>\n\n" },
	{ "png", "pngcairo noenhanced font '%s,%g' fontscale 3.125 linewidth %g pointscale 3 size %.0f,%.0f", 300, 1, 3, 0.16,
		"IEND\xae\x42\x60\x82" },
};

enum { FORMATS = sizeof formats / sizeof *formats };

/* Reads plots/NAME.gp. */
static int load_template(struct sbuf *out, const char *name, struct orr_error *err)
{
	const char *const dirs[] = { getenv("ORRERY_DATADIR"), ORR_PKGDATADIR, ORR_SRCDIR };
	FILE *f = NULL;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs && !f; i++) {
		struct sbuf path = { 0 };
		sbuf_printf(&path, "%s/plots/%s.gp", dirs[i] ? dirs[i] : "", name);
		f = dirs[i] ? fopen(sbuf_text(&path), "r") : NULL;
		sbuf_free(&path);
	}
	if (!f)
		return orr_fail(err, ORR_EFAIL,
			"plots/%s.gp: this file is missing in %s: expected ORRERY_DATADIR to name the directory that contains plots/", name,
			ORR_PKGDATADIR);
	char block[4096];
	size_t n;
	while ((n = fread(block, 1, sizeof block, f)) > 0)
		sbuf_add(out, block, n);
	bool is_whole = !ferror(f);
	fclose(f);
	return is_whole ? ORR_OK : orr_fail(err, ORR_EFAIL, "plots/%s.gp: this file cannot be read", name);
}

/* ---- the look ---- */

int look_set_size(struct look *l, const char *text, struct orr_error *err)
{
	size_t n = strcspn(text, "x");
	double width, height;
	if (text[n] != 'x' || !num_real(text, n, &width) || !num_real(text + n + 1, strlen(text + n + 1), &height) || !(width >= 2) ||
		!(width <= 30) || !(height >= 1) || !(height <= 30))
		return orr_fail(err, ORR_EINPUT,
			"--size: expected WIDTHxHEIGHT in inches, from 2x1 to 30x30, such as 3.5x2.4, found \"%.40s\"", text);
	l->width_in = width;
	l->height_in = height;
	return ORR_OK;
}

int look_set_font(struct look *l, const char *text, struct orr_error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -";
	const char *comma = strchr(text, ',');
	size_t n = comma ? (size_t)(comma - text) : strlen(text);
	double pt = 0;
	if (!n || n > 60 || strspn(text, letters) < n ||
		(comma && (!num_real(comma + 1, strlen(comma + 1), &pt) || !(pt >= 4) || !(pt <= 72))))
		return orr_fail(err, ORR_EINPUT,
			"--font: expected a family of letters and blanks, and perhaps a comma and a size from 4 to 72 points, such as "
			"\"Sans,8\", found \"%.60s\"",
			text);
	l->font = text;
	l->font_pt = pt;
	return ORR_OK;
}

int look_set_style(struct look *l, const char *text, struct orr_error *err)
{
	l->is_slide = !strcmp(text, "slides");
	return l->is_slide || !strcmp(text, "paper")
		       ? ORR_OK
		       : orr_fail(err, ORR_EINPUT, "--style: expected paper or slides, found \"%.40s\"", text);
}

double look_width_in(const struct look *l)
{
	return l->width_in > 0 ? l->width_in : l->is_slide ? 8 : 3.5;
}

double look_font_pt(const struct look *l)
{
	return l->font_pt > 0 ? l->font_pt : l->is_slide ? 16 : 8;
}

struct layout album_layout(size_t n, size_t longest_label, double plot_in)
{
	/* In points: width of the page, of the widest character of 9 pt type, and of a line sample with its gaps. */
	static const double page = 245, character = 5.4, sample = 37;
	size_t columns = (size_t)(page / (sample + character * (double)longest_label));
	columns = columns ? columns : 1;
	return (struct layout){ plot_in, (n + columns - 1) / columns, false };
}

/* Returns the font as gnuplot's terminal takes it: up to 60 characters of look_set_font(). */
static const char *font_of(const struct look *l)
{
	return l->font ? l->font : "Sans";
}

/* Adds the commands that draw body into file.SUFFIX. */
static void add_page(
	struct sbuf *script, const char *file, const struct format *f, const struct look *look, struct layout l, const struct sbuf *body)
{
	static const double top_in = 0.12;
	/* Lengths scale with the type size: the layout is for 8 pt. */
	double scale = look_font_pt(look) / 8, row_in = l.has_places ? 0.15 * scale : f->key_row_in * scale;
	double legend_in = top_in * scale + row_in * (double)l.rows, width_in = look_width_in(look);
	double height_in = l.is_panels           ? l.plot_in * scale + legend_in
			   : look->height_in > 0 ? look->height_in
			   : look->is_slide      ? 4.5
						 : l.plot_in * scale + legend_in;
	char terminal[240];
	legend_in = legend_in < 0.6 * height_in ? legend_in : 0.6 * height_in;
	int n = (int)strcspn(font_of(look), ",");
	char font[64];
	snprintf(font, sizeof font, "%.*s", n, font_of(look));
	/* the format is one of the constants above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(terminal, sizeof terminal, f->terminal, font, look_font_pt(look) * f->per_point, f->line * (look->is_slide ? 1.8 : 1),
		width_in * f->per_inch, height_in * f->per_inch);
#pragma GCC diagnostic pop
	sbuf_printf(
		script, "legend_share = %.6f\nset terminal %s\nset output '%s.%s.tmp'\n", legend_in / height_in, terminal, file, f->suffix);
	sbuf_printf(script, "page_w = %.6f\npage_h = %.6f\n", width_in / scale, height_in / scale);
	sbuf_printf(script, "key_places = %d\nkey_row = %.6f\nkey_top = %.6f\nkey_scale = %.6f\n", l.has_places, row_in / height_in,
		0.04 * scale / height_in, scale * 3.5 / width_in);
	sbuf_add(script, body->text, body->len);
	sbuf_puts(script, "\nunset output\n");
}

int album_add(struct album *a, const char *file, const char *template, struct layout l, struct orr_error *err)
{
	struct sbuf body = { 0 };
	int code = load_template(&body, "style", err);
	if (!code)
		code = load_template(&body, template, err);
	sbuf_printf(&a->script, "key_rows = %zu\n", l.rows);
	for (size_t i = 0; i < FORMATS && !code; i++)
		add_page(&a->script, file, &formats[i], &a->look, l, &body);
	sbuf_free(&body);
	MEM_GROW(a->file, a->n_files, a->cap_files);
	a->file[a->n_files++] = mem_strdup(file);
	return code;
}

static int make_folder(char *path, int mode)
{
	(void)mode; /* mkdtemp() makes it private */
	return mkdtemp(path) ? 0 : -1;
}

/* ---- files ---- */

/* The drafts of an album: gnuplot writes them into a separate folder, with a name that no other process uses. */
struct drafts {
	char *folder;
	struct cleanup *kept_folder, **kept;
	char **path;
	size_t n;
};

static int open_drafts(struct drafts *d, const struct album *a, const char *dir, struct orr_error *err)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s/figures.XXXXXX", dir);
	*d = (struct drafts){ .folder = sbuf_steal(&b), .n = a->n_files * FORMATS };
	if (cleanup_create(d->folder, 0700, make_folder, &d->kept_folder) < 0) {
		mem_free(d->folder);
		d->n = 0;
		return orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", dir, strerror(errno));
	}
	d->path = mem_zalloc(d->n, sizeof *d->path);
	d->kept = mem_zalloc(d->n, sizeof *d->kept);
	for (size_t i = 0; i < d->n; i++) {
		sbuf_printf(&b, "%s/%s.%s.tmp", d->folder, a->file[i / FORMATS], formats[i % FORMATS].suffix);
		d->path[i] = sbuf_steal(&b);
		d->kept[i] = cleanup_add(d->path[i]);
	}
	return ORR_OK;
}

static void close_drafts(struct drafts *d)
{
	for (size_t i = 0; i < d->n; i++) {
		unlink(d->path[i]);
		cleanup_forget(d->kept[i]);
		mem_free(d->path[i]);
	}
	rmdir(d->folder);
	cleanup_forget(d->kept_folder);
	mem_free(d->folder);
	mem_free(d->path);
	mem_free(d->kept);
}

static bool read_file(const char *path, struct sbuf *out)
{
	char block[65536];
	size_t n;
	FILE *f = fopen(path, "rb");
	while (f && (n = fread(block, 1, sizeof block, f)) > 0)
		sbuf_add(out, block, n);
	bool is_good = f && !ferror(f);
	if (f)
		fclose(f);
	return is_good;
}

/* Replaces the creation date in a PDF, so that equal runs give equal bytes. */
static void fix_date(struct sbuf *pdf)
{
	static const char mark[] = "/CreationDate (D:", date[] = "19700101000000";
	char *at = memmem(pdf->text, pdf->len, mark, strlen(mark));
	if (at && (size_t)(pdf->text + pdf->len - at) >= strlen(mark) + strlen(date))
		memcpy(at + strlen(mark), date, strlen(date));
}

/* Reads draft i into out. A draft without its ending is incomplete: gnuplot does not report a full disk. */
static int read_draft(const struct drafts *d, size_t i, const char *path, struct sbuf *out, struct orr_error *err)
{
	const struct format *f = &formats[i % FORMATS];
	size_t len = strlen(f->ending);
	sbuf_clear(out);
	if (!read_file(d->path[i], out) || out->len < len || memcmp(out->text + out->len - len, f->ending, len))
		return orr_fail(err, ORR_EFAIL, "%s: gnuplot wrote an incomplete file: expected more free disk space", path);
	if (!strcmp(f->suffix, "pdf"))
		fix_date(out);
	return ORR_OK;
}

static char *final_path(const struct album *a, const char *dir, size_t i)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s/%s.%s", dir, a->file[i / FORMATS], formats[i % FORMATS].suffix);
	return sbuf_steal(&b);
}

/* Checks all drafts, then writes the files. */
static int publish(const struct album *a, const struct drafts *d, const char *dir, struct orr_error *err)
{
	struct sbuf text = { 0 };
	int code = ORR_OK;
	for (size_t k = 0; k < 2 * d->n && !code; k++) {
		size_t i = k % d->n;
		char *path = final_path(a, dir, i);
		code = read_draft(d, i, path, &text, err);
		if (!code && k >= d->n)
			code = outfile_put(path, text.text, text.len, err);
		mem_free(path);
	}
	sbuf_free(&text);
	return code;
}

int album_write(struct album *a, const char *dir, struct orr_error *err)
{
	struct drafts d;
	if (!a->n_files)
		return ORR_OK;
	int code = outfile_make_dir(dir, err);
	if (!code)
		code = open_drafts(&d, a, dir, err);
	if (code)
		return code;
	code = gnuplot_run(d.folder, &a->script, err);
	if (!code)
		code = publish(a, &d, dir, err);
	close_drafts(&d);
	return code;
}

void album_free(struct album *a)
{
	for (size_t i = 0; i < a->n_files; i++)
		mem_free(a->file[i]);
	mem_free(a->file);
	sbuf_free(&a->script);
	*a = (struct album){ 0 };
}

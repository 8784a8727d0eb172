/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/album.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/outfile.h"
#include "plots/gnuplot.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Figures have the width of a printed column, 3.5 in, and 9 pt type. The unit of SVG is 1/96 in and the PNG has 300 dots per
 * inch, so both scale their type accordingly.
 */
static const struct format {
	const char *suffix, *terminal; /* terminal: with the printf format of width and height */
	double per_inch;               /* number of terminal units per inch */
	double key_row_in;             /* height of a row of the legend */
	const char *ending;            /* text at the end of a complete file */
} formats[] = {
	{ "pdf",
		"pdfcairo noenhanced color font 'Sans,9' fontscale 0.75 linewidth 1.5 size "
		"%.2fin,%.2fin",
		1, 0.16, "%%EOF\n" },
	{ "svg", "svg noenhanced font 'Sans,12' linewidth 1.2 size %.0f,%.0f background '#ffffff'", 96, 0.21, "</svg>\n\n" },
	{ "png", "pngcairo noenhanced font 'Sans,9' fontscale 3.125 linewidth 3 pointscale 3 size %.0f,%.0f", 300, 0.16,
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

struct layout album_layout(size_t n, size_t longest_label, double plot_in)
{
	/* In points: width of the page, of the widest character of 9 pt type, and of a line sample with its gaps. */
	static const double page = 245, character = 5.4, sample = 37;
	size_t columns = (size_t)(page / (sample + character * (double)longest_label));
	columns = columns ? columns : 1;
	return (struct layout){ plot_in, (n + columns - 1) / columns };
}

/* Adds the commands that draw body into file.SUFFIX. */
static void add_page(struct sbuf *script, const char *file, const struct format *f, struct layout l, const struct sbuf *body)
{
	static const double width_in = 3.5, top_in = 0.12;
	double legend_in = top_in + f->key_row_in * (double)l.rows, height_in = l.plot_in + legend_in;
	char terminal[160];
	/* the format is one of the constants above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(terminal, sizeof terminal, f->terminal, width_in * f->per_inch, height_in * f->per_inch);
#pragma GCC diagnostic pop
	sbuf_printf(
		script, "legend_share = %.6f\nset terminal %s\nset output '%s.%s.tmp'\n", legend_in / height_in, terminal, file, f->suffix);
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
		add_page(&a->script, file, &formats[i], l, &body);
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

/* The drafts of an album: gnuplot writes them into a folder of their own, whose name no other process has. */
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

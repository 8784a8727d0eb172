/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/album.h"

#include "base/mem.h"
#include "plots/gnuplot.h"
#include "results/outfile.h"
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
			"plots/%s.gp: not found in %s: expected ORRERY_DATADIR to name the directory that contains plots/", name,
			ORR_PKGDATADIR);
	char block[4096];
	size_t n;
	while ((n = fread(block, 1, sizeof block, f)) > 0)
		sbuf_add(out, block, n);
	bool is_whole = !ferror(f);
	fclose(f);
	return is_whole ? ORR_OK : orr_fail(err, ORR_EFAIL, "plots/%s.gp: cannot be read", name);
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

/* Returns the path of file i of the album, with the suffix of a draft if requested. */
static char *path_of(const struct album *a, const char *dir, size_t i, const char *suffix)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s/%s.%s%s", dir, a->file[i / FORMATS], formats[i % FORMATS].suffix, suffix);
	return sbuf_steal(&b);
}

/* Returns whether the file has its ending: gnuplot does not report a full disk. */
static bool is_whole(const char *path, const char *ending)
{
	char last[16] = "";
	size_t len = strlen(ending), n = 0;
	FILE *f = fopen(path, "rb");
	if (f && !fseek(f, -(long)len, SEEK_END))
		n = fread(last, 1, len, f);
	if (f)
		fclose(f);
	return n == len && !memcmp(last, ending, len);
}

static int check_drafts(const struct album *a, const char *dir, struct orr_error *err)
{
	int code = ORR_OK;
	for (size_t i = 0; i < a->n_files * FORMATS && !code; i++) {
		char *draft = path_of(a, dir, i, ".tmp");
		if (!is_whole(draft, formats[i % FORMATS].ending))
			code = orr_fail(err, ORR_EFAIL, "%s: gnuplot wrote an incomplete file: expected more free disk space", draft);
		mem_free(draft);
	}
	return code;
}

/* Replaces the creation date in a PDF, so that equal runs give equal bytes. */
static void fix_date(const char *path)
{
	static const char mark[] = "/CreationDate (D:";
	size_t matched = 0;
	FILE *f = fopen(path, "r+b");
	for (int c; f && matched < sizeof mark - 1 && (c = getc(f)) != EOF;)
		matched = c == mark[matched] ? matched + 1 : c == mark[0];
	if (f && matched == sizeof mark - 1) {
		fseek(f, 0, SEEK_CUR); /* required between a read and a write */
		fputs("19700101000000", f);
	}
	if (f)
		fclose(f);
}

/* Renames the drafts, or removes them if is_good is false. */
static int settle(const struct album *a, const char *dir, bool is_good, struct orr_error *err)
{
	int code = ORR_OK;
	for (size_t i = 0; i < a->n_files * FORMATS; i++) {
		char *draft = path_of(a, dir, i, ".tmp"), *path = path_of(a, dir, i, "");
		if (is_good && !strcmp(formats[i % FORMATS].suffix, "pdf"))
			fix_date(draft);
		if (!is_good)
			unlink(draft);
		else if (rename(draft, path) && !code)
			code = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", path, strerror(errno));
		mem_free(draft);
		mem_free(path);
	}
	return code;
}

int album_write(struct album *a, const char *dir, struct orr_error *err)
{
	if (!a->n_files)
		return ORR_OK;
	int code = outfile_make_dir(dir, err);
	if (!code)
		code = gnuplot_run(dir, &a->script, err);
	if (!code)
		code = check_drafts(a, dir, err);
	if (!code)
		return settle(a, dir, true, err);
	settle(a, dir, false, NULL);
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

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/figure.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "plots/figure_data.h"
#include "plots/gnuplot.h"
#include "results/outfile.h"
#include "results/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Sizes are those of a column of print, 3.5 in, with 9 pt type. SVG counts in 1/96 in
 * and the PNG has 300 dots to the inch, so both scale their type to match.
 */
static const struct format {
	const char *suffix, *terminal; /* printf of width and height */
	double per_inch;               /* what the terminal counts them in */
	double key_row_in;             /* height of a row of the legend */
	const char *ending;            /* what a whole file ends with */
} formats[] = {
	{ "pdf",
		"pdfcairo noenhanced color font 'Sans,9' fontscale 0.75 linewidth 1.5 size "
		"%.2fin,%.2fin",
		1, 0.16, "%%EOF\n" },
	{ "svg", "svg noenhanced font 'Sans,12' linewidth 1.2 size %.0f,%.0f background '#ffffff'", 96,
		0.21, "</svg>\n\n" },
	{ "png", "pngcairo noenhanced font 'Sans,9' fontscale 3.125 linewidth 3 size %.0f,%.0f", 300,
		0.16, "IEND\xae\x42\x60\x82" },
};

enum { FORMATS = sizeof formats / sizeof *formats };

/* One gnuplot script for all figures, and the files that it will leave. */
struct album {
	const struct run_result *const *runs;
	size_t n;
	struct sbuf script;
	char **file; /* without suffix */
	size_t n_files, cap_files;
};

/* The text of plots/NAME.gp. */
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
			"plots/%s.gp: not found in %s; set ORRERY_DATADIR to the directory that holds "
			"plots/",
			name, ORR_PKGDATADIR);
	char block[4096];
	size_t n;
	while ((n = fread(block, 1, sizeof block, f)) > 0)
		sbuf_add(out, block, n);
	bool is_whole = !ferror(f);
	fclose(f);
	return is_whole ? ORR_OK : orr_fail(err, ORR_EFAIL, "plots/%s.gp: cannot be read", name);
}

/* Characters of a label as the legend has it. */
static size_t label_length(const struct run_result *r)
{
	size_t len = strlen(r->label ? r->label : "");
	return (len < FIGURE_LABEL_BYTES ? len : FIGURE_LABEL_BYTES) +
	       (r->is_oracle ? strlen(" (oracle)") : 0);
}

/* The height of the plot without the legend, and the rows of the legend. */
struct layout {
	double plot_in;
	size_t rows;
};

static struct layout layout_of(const struct album *a)
{
	/* In points: the page, a character of 9 pt type at its widest, a line sample with its gaps. */
	static const double page = 245, character = 5.4, sample = 37;
	size_t longest = 0;
	for (size_t i = 0; i < a->n; i++)
		if (label_length(a->runs[i]) > longest)
			longest = label_length(a->runs[i]);
	size_t columns = (size_t)(page / (sample + character * (double)longest));
	columns = columns ? columns : 1;
	return (struct layout){ 2.1, (a->n + columns - 1) / columns };
}

/* Adds the commands that draw body into file.SUFFIX. */
static void add_page(struct sbuf *script, const char *file, const struct format *f, struct layout l,
	const struct sbuf *body)
{
	static const double width_in = 3.5, top_in = 0.12;
	double legend_in = top_in + f->key_row_in * (double)l.rows, height_in = l.plot_in + legend_in;
	char terminal[160];
	/* the format is one of the three above */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(
		terminal, sizeof terminal, f->terminal, width_in * f->per_inch, height_in * f->per_inch);
#pragma GCC diagnostic pop
	sbuf_printf(script, "legend_share = %.6f\nset terminal %s\nset output '%s.%s.tmp'\n",
		legend_in / height_in, terminal, file, f->suffix);
	sbuf_add(script, body->text, body->len);
	sbuf_puts(script, "\nunset output\n");
}

/* Adds the figure `file` drawn by plots/template.gp in each format; its data and
 * variables are in the script already. */
static int add_figure(
	struct album *a, const char *file, const char *template, struct layout l, struct orr_error *err)
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

static int add_shared_figures(struct album *a, struct orr_error *err)
{
	int code = ORR_OK;
	if (figure_data_jct(&a->script, a->runs, a->n))
		code = add_figure(a, "jct-cdf", "jct-cdf", layout_of(a), err);
	if (!code && figure_data_series(&a->script, a->runs, a->n, "utilisation"))
		code = add_figure(a, "utilisation", "utilisation", layout_of(a), err);
	if (!code && figure_data_series(&a->script, a->runs, a->n, "queue_length"))
		code = add_figure(a, "queue-length", "queue-length", layout_of(a), err);
	return code;
}

static int add_gantts(struct album *a, struct orr_error *err)
{
	char **name = mem_zalloc(a->n + 1, sizeof *name);
	report_file_names(a->runs, a->n, name);
	int code = ORR_OK;
	for (size_t i = 0; i < a->n; i++) {
		struct sbuf file = { 0 };
		sbuf_printf(&file, "gantt-%s", name[i]);
		size_t rows = code ? 0 : figure_data_gantt(&a->script, a->runs[i], FIGURE_GANTT_JOBS);
		if (rows)
			code = add_figure(a, sbuf_text(&file), "gantt",
				(struct layout){ 0.55 + 0.14 * (double)rows, 2 }, err);
		sbuf_free(&file);
		mem_free(name[i]);
	}
	mem_free(name);
	return code;
}

/* The path of the i-th file of the album, its draft with a suffix to it. */
static char *path_of(const struct album *a, const char *dir, size_t i, const char *suffix)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s/%s.%s%s", dir, a->file[i / FORMATS], formats[i % FORMATS].suffix, suffix);
	return sbuf_steal(&b);
}

/* gnuplot does not notice when a disk is full: look whether the end was written. */
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
			code = orr_fail(err, ORR_EFAIL,
				"%s: gnuplot could not write all of it; is the disk full?", draft);
		mem_free(draft);
	}
	return code;
}

/* A PDF holds the moment at which it was made; the same run shall give the same bytes. */
static void fix_date(const char *path)
{
	static const char mark[] = "/CreationDate (D:";
	size_t matched = 0;
	FILE *f = fopen(path, "r+b");
	for (int c; f && matched < sizeof mark - 1 && (c = getc(f)) != EOF;)
		matched = c == mark[matched] ? matched + 1 : c == mark[0];
	if (f && matched == sizeof mark - 1) {
		fseek(f, 0, SEEK_CUR); /* between reading and writing */
		fputs("19700101000000", f);
	}
	if (f)
		fclose(f);
}

/* Drafts become files, or go. */
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
			code = orr_fail(
				err, ORR_EFAIL, "%s: cannot be written: %s", path, strerror(errno));
		mem_free(draft);
		mem_free(path);
	}
	return code;
}

int figures_write(const char *dir, const struct run_result *const *runs, size_t n, struct orr_error *err)
{
	struct album a = { .runs = runs, .n = n };
	int code = outfile_make_dir(dir, err);
	if (!code)
		code = add_shared_figures(&a, err);
	if (!code)
		code = add_gantts(&a, err);
	if (!code && a.n_files) {
		code = gnuplot_run(dir, &a.script, err);
		if (!code)
			code = check_drafts(&a, dir, err);
		if (code)
			settle(&a, dir, false, NULL);
		else
			code = settle(&a, dir, true, err);
	}
	for (size_t i = 0; i < a.n_files; i++)
		mem_free(a.file[i]);
	mem_free(a.file);
	sbuf_free(&a.script);
	return code;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery figures */
#include "cli/cli.h"
#include "study/figures.h"
#include "study/shown.h"
#include "cli/series.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/outfile.h"

#include <stdio.h>
#include <string.h>

static const char help[] = "usage: orrery figures NAME|FOLDER/ [OPTIONS]\n"
			   "       orrery figures --list\n\n"
			   "Runs a scenario book, draws its figures, and prints the table of published and simulated\n"
			   "values (docs/reference/books.md).\n\n"
			   "  NAME                 an installed book; a name with a / is the path of a folder (./mine)\n"
			   "  --list               print the names of the installed books\n"
			   "  --out DIR            folder for figures (PDF, SVG, PNG), their data, table.csv and table.txt\n"
			   "                       (default: figures-NAME)\n"
			   "  --no-figures         data and tables only, no gnuplot\n"
			   "  --size WxH           size of each figure in inches (default: 3.5 wide, as high as it needs)\n"
			   "  --font NAME[,PT]     type of the figures (default: Sans,8)\n"
			   "  --style STYLE        paper, or slides: 8 x 4.5 in, 16 pt, thicker lines (default: paper)\n"
			   "  --db FILE            store the runs in this database; an existing one is reused\n"
			   "  --fresh              repeat runs that the database already has\n"
			   "  --table FORMAT       form of the printed table: text, markdown, latex, csv or json\n"
			   "  --check              verify the conservation laws at run time\n"
			   "  --in-process         plugins run in the process of orrery, for a debugger\n"
			   "  -j N                 number of runs in parallel (default: all cores)\n"
			   "  -q                   errors only: no table, no progress\n"
			   "\nExample:\n"
			   "  orrery figures stanza --out figures --db stanza.db\n";

enum { OPT_OUT = SERIES_OWN, OPT_NO_FIGURES, OPT_LIST, OPT_SIZE, OPT_FONT, OPT_STYLE };

struct figures_request {
	struct world_output output;
	const char *name, *out;
	bool no_figures, is_list;
	struct look look;
};

static int take_flag(void *ctx, int opt, const char *value, struct orr_error *err)
{
	struct figures_request *r = ctx;
	switch (opt) {
	case OPT_OUT:
		r->out = value;
		return ORR_OK;
	case OPT_LIST:
		r->is_list = true;
		return ORR_OK;
	case OPT_SIZE:
		return look_set_size(&r->look, value, err);
	case OPT_FONT:
		return look_set_font(&r->look, value, err);
	case OPT_STYLE:
		return look_set_style(&r->look, value, err);
	default:
		r->no_figures = true;
		return ORR_OK;
	}
}

static int parse(int argc, char **argv, struct figures_request *r, struct orr_error *err)
{
	static const struct option own[] = { { "out", 1, NULL, OPT_OUT }, { "no-figures", 0, NULL, OPT_NO_FIGURES },
		{ "list", 0, NULL, OPT_LIST }, { "size", 1, NULL, OPT_SIZE }, { "font", 1, NULL, OPT_FONT },
		{ "style", 1, NULL, OPT_STYLE }, { NULL, 0, NULL, 0 } };
	const struct series_flags s = { own, take_flag, r };
	return series_parse(argc, argv, &s, &r->output, &r->name, err);
}

/* Returns "figures-NAME"; NAME is the last part of the path. */
static char *default_dir(const char *name)
{
	size_t n = strlen(name);
	while (n > 1 && name[n - 1] == '/')
		n--;
	size_t from = n;
	while (from && name[from - 1] != '/')
		from--;
	struct sbuf b = { 0 };
	sbuf_printf(&b, "figures-%.*s", (int)(n - from), name + from);
	return sbuf_steal(&b);
}

static int make(struct book *b, const struct figures_request *r, const char *dir, struct orr_error *err)
{
	struct sbuf table = { 0 };
	bool has_tables = false;
	int rc = outfile_make_dir(dir, err);
	if (!rc)
		rc = book_run_all(b, &r->output, err);
	if (!rc)
		rc = book_tables(b, dir, (struct report_style){ r->output.table, shown_width() }, &table, err);
	if (!rc) {
		rc = book_draw(b, dir, r->no_figures, &r->look, err);
		has_tables = !rc || rc == ORR_EDEVICE; /* if gnuplot is missing, data and tables are still complete */
	}
	if (has_tables && !r->output.quiet) {
		fputs(sbuf_text(&table), stdout);
		if (!rc)
			rc = outfile_flush_stdout(err);
	}
	sbuf_free(&table);
	return rc;
}

static int list(void)
{
	struct sbuf names = { 0 };
	book_names(&names, "\n");
	if (names.len)
		puts(sbuf_text(&names));
	sbuf_free(&names);
	return ORR_OK;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	struct figures_request r = { 0 };
	int rc = parse(argc, argv, &r, err);
	if (rc)
		return rc;
	if (r.is_list)
		return r.name ? orr_fail(err, ORR_EINPUT, "figures: --list: expected no book, found \"%.80s\"", r.name) : list();
	if (!r.name)
		r.name = ""; /* the error of book_open() lists the names */
	struct book *b = book_open(r.name, err);
	if (!b)
		return err->code;
	if (!r.output.quiet)
		book_say_stand_ins(b);
	char *dir = r.out ? mem_strdup(r.out) : default_dir(r.name);
	rc = make(b, &r, dir, err);
	mem_free(dir);
	book_free(b);
	return rc;
}

const struct cli_command cmd_figures = { "figures", "run a scenario book and draw its figures", help, run, NULL };

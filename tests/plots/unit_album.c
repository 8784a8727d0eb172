/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Charts and albums: variables of a chart, the size of a page and its legend, quoting, and failures of gnuplot. Expected sizes
 * follow from the widths in plots/album.c: a page of 245 points, 37 per line sample and 5.4 per character.
 */
#include "plots/album.h"
#include "plots/chart.h"
#include "plots/gnuplot.h"
#include "tests/plots/fake_gnuplot.h"
#include "tests/tap.h"

#include <unistd.h>

static char dir[256];

static const char *in_dir(const char *name)
{
	static char path[2][320];
	static int turn;
	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static bool is_there(const char *name)
{
	return access(in_dir(name), F_OK) == 0;
}

static void touch(const char *name)
{
	FILE *f = fopen(in_dir(name), "w");
	if (f)
		fclose(f);
}

static struct sbuf text_of(const char *name)
{
	struct sbuf b = { 0 };
	FILE *f = fopen(in_dir(name), "rb");
	for (int c; f && (c = getc(f)) != EOF;)
		sbuf_putc(&b, (char)c);
	if (f)
		fclose(f);
	return b;
}

static void test_layout(void)
{
	static const struct {
		size_t n, longest, rows;
	} layouts[] = { { 0, 0, 0 }, { 1, 5, 1 }, { 3, 5, 1 }, { 4, 5, 2 }, { 6, 5, 2 }, { 7, 5, 3 }, { 6, 0, 1 }, { 7, 0, 2 },
		{ 4, 15, 2 }, { 3, 15, 2 }, { 2, 15, 1 }, { 2, 16, 2 }, { 3, 38, 3 }, { 3, 100, 3 } };
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		struct layout l = album_layout(layouts[i].n, layouts[i].longest, 1.5);
		ok(l.plot_in == 1.5 && l.rows == layouts[i].rows, "%zu labels of up to %zu characters need %zu rows", layouts[i].n,
			layouts[i].longest, l.rows);
	}
}

static void test_quotes(void)
{
	static const struct {
		const char *text, *want;
		size_t most;
	} texts[] = { { "plain", "'plain'", 5 }, { "plain", "'plai…'", 4 }, { "", "''", 0 }, { "it's", "'it'.\"'\".'s'", 9 },
		{ "'", "''.\"'\".''", 9 }, { "a\tb\nc\x7f", "'a?b?c?'", 9 }, { " ~", "' ~'", 9 }, { "\xc3\xa4\xc3\xb6", "'\xc3\xa4…'", 3 },
		{ "\xc3\xa4\xc3\xb6", "'\xc3\xa4…'", 2 }, { "\xc3\xa4\xc3\xb6", "'…'", 1 },
		{ "\xc3\xa4\xc3\xb6", "'\xc3\xa4\xc3\xb6'", 4 } };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sbuf b = { 0 };
		gnuplot_quote(&b, texts[i].text, texts[i].most);
		same_text(sbuf_text(&b), texts[i].want, "a quoted text");
		sbuf_free(&b);
	}
}

/* ---- charts ---- */

#define NUMBERS(...) ((const struct chart_point[]){ __VA_ARGS__ })

static void chart_has(const struct chart *c, const char *const *wanted, const char *what)
{
	struct album a = { 0 };
	struct orr_error err = { 0 };
	bool good = !chart_add(&a, c, &err) && a.n_files == 1;
	for (size_t i = 0; good && wanted[i]; i++) {
		bool has = strstr(sbuf_text(&a.script), wanted[i]) != NULL;
		if (!has)
			printf("# lacks %s\n", wanted[i]);
		good &= has;
	}
	if (!ok(good, "%s", what))
		printf("# %.1500s\n", sbuf_text(&a.script));
	album_free(&a);
}

static void test_charts(void)
{
	struct chart_series lines[] = { { "one", NUMBERS({ 1, 2, NAN, NAN }, { 2.5, NAN, 1, INFINITY }), 2, false },
		{ "two", NUMBERS({ 1, -3, 0, 4 }), 1, false }, { "", NULL, 0, true }, { "m'k", NUMBERS({ 3, 4, 5, 6 }), 1, true } };
	struct chart c = {
		.file = "f", .kind = CHART_LINES, .x_label = "x", .y_label = "y", .y_min = NAN, .y_max = NAN, .series = lines, .n_series = 4
	};
	chart_has(&c,
		(const char *const[]){
			"$data << EOD\n1 2 NaN NaN \n2.5 NaN 1 NaN \n\n\n1 -3 0 4 \n\n\nNaN NaN NaN NaN\n\n\n3 4 5 6 \n\n\nEOD\n",
			"n = 4\narray label[4]\narray marks[4]\nlabel[1] = 'one'\nmarks[1] = 0\nlabel[2] = 'two'\nmarks[2] = 0\nlabel[3] = "
			"''\nmarks[3] = 1\n",
			"slots = 2\narray shade[4]\n", "\nshade[1] = 1\n", "\nshade[2] = 2\n", "\nshade[3] = 1\n", "\nshade[4] = 2\n",
			"\nshape[4] = 2\npaint[4] = '#D55E00'\n", "x_label = 'x'\nlog_x = 0\nlog_y = 0\n", "\ny_label = 'y'\n",
			"categories = 0\ntics_turned = 0\ny_min = '*'\ny_max = '*'\ny_min = '0'\nis_bars = 0\nmarks_black = 0\n", NULL },
		"lines and marks: the k-th marks have the shade of the k-th line");
	c.log_y = true;
	c.y_max = 7.5;
	chart_has(&c, (const char *const[]){ "log_x = 0\nlog_y = 1\n", "y_min = '*'\ny_max = '*'\ny_max = '7.5'\nis_bars", NULL },
		"a log axis begins at the data");
	c.y_min = 0.25;
	c.log_x = true;
	chart_has(&c, (const char *const[]){ "log_x = 1\nlog_y = 1\n", "y_min = '0.25'\ny_max = '7.5'\nis_bars", NULL },
		"or at the given value");

	const char *names[] = { "10 %", "b", "c" };
	struct chart_series bars[] = { { "a", NUMBERS({ 9, 1, NAN, NAN }, { 9, 2, 1, 3 }, { 9, 3, NAN, NAN }), 3, false },
		{ "p", NUMBERS({ 9, 1, NAN, NAN }), 1, true }, { "q", NUMBERS({ 9, 2, NAN, NAN }), 1, true } };
	struct chart b = { .file = "f",
		.kind = CHART_BARS,
		.x_label = "",
		.y_label = "",
		.y_min = NAN,
		.y_max = NAN,
		.category = names,
		.n_categories = 3,
		.series = bars,
		.n_series = 3 };
	chart_has(&b,
		(const char *const[]){ "$data << EOD\n1 1 NaN NaN \n2 2 1 3 \n3 3 NaN NaN \n\n\n1 1 NaN NaN \n\n\n1 2 NaN NaN \n\n\nEOD\n",
			"slots = 3\narray shade[3]\n", "\nshade[1] = 1\nshape[1] = 1\n", "\nshade[2] = 1\nshape[2] = 1\n",
			"\nshade[3] = 3\nshape[3] = 2\n", "categories = 3\narray category[3]\ncategory[1] = '10 %%'\n",
			"category[3] = 'c'\ntics_turned = 0\n", "set output 'f.svg.tmp'\n", NULL },
		"bars: positions are counted from 1; more marks than bars have their own slots");
	b.n_series = 2;
	chart_has(&b, (const char *const[]){ "slots = 1\narray shade[2]\n", "\nshade[1] = 1\n", "\nshade[2] = 1\n", NULL },
		"as many marks as bars share theirs");

	/* A piece of a stack begins where the piece below ends. Values below 0 and missing values have no height. */
	struct chart_series pieces[] = { { "a", NUMBERS({ 0, 1, NAN, NAN }, { 0, 2, NAN, NAN }, { 0, NAN, NAN, NAN }), 3, false },
		{ "b", NUMBERS({ 0, 5, NAN, NAN }, { 0, -1, NAN, NAN }, { 0, 4, NAN, NAN }), 3, false },
		{ "c", NUMBERS({ 0, 1, NAN, NAN }, { 0, 1, NAN, NAN }), 2, false } };
	b.kind = CHART_STACKED;
	b.series = pieces;
	b.n_series = 3;
	chart_has(&b,
		(const char *const[]){ "$data << EOD\n1 1 0 1 \n2 2 0 2 \n3 NaN 0 0 \n\n\n1 5 1 6 \n2 -1 2 2 \n3 4 0 4 \n\n\n1 1 6 7 \n2 1 "
				       "2 3 \n\n\nEOD\n",
			NULL },
		"stacks");
	struct chart_series gaps[] = { { "a", NUMBERS({ 1, NAN, 1, 2 }), 1, false }, { "b", NULL, 0, false } };
	struct album a = { 0 };
	struct orr_error err = { 0 };
	c.series = gaps;
	c.n_series = 2;
	ok(!chart_add(&a, &c, &err) && !a.n_files && !a.script.len, "a chart without a point is left out");
	album_free(&a);
}

/* Tests that each kind of chart has its own template, whose first line names the kind. */
static void test_kinds(void)
{
	static const char *const starts[] = { [CHART_LINES] = "# Series over x.",
		[CHART_BARS] = "# Bars side by side",
		[CHART_CDF] = "# Distribution functions",
		[CHART_STACKED] = "# Stacked bars",
		[CHART_TIMELINE] = "# Values over time" };
	struct chart_series one = { "a", NUMBERS({ 1, 2, NAN, NAN }), 1, false };
	for (int kind = CHART_LINES; kind <= CHART_TIMELINE; kind++) {
		struct chart c = { .file = "f",
			.kind = (enum chart_kind)kind,
			.x_label = "",
			.y_label = "",
			.y_min = NAN,
			.y_max = NAN,
			.series = &one,
			.n_series = 1 };
		chart_has(&c, (const char *const[]){ starts[kind], "# Common style of all figures", NULL }, "a template");
	}
}

static void test_labels(void)
{
	static const struct {
		const char *text, *want;
	} labels[] = { { "twenty characters ...", "'twenty characters ...'" },
		{ "thirty-nine characters, that is, longer", "'thirty-nine characters,'.\"\\n\".'that is, longer'" },
		{ "a bbbbbbbbbbbbbbbb cccccccccccccccccccc", "'a bbbbbbbbbbbbbbbb'.\"\\n\".'cccccccccccccccccccc'" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'" },
		{ "a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "'a'.\"\\n\".'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'" } };
	struct chart_series one = { "a", NUMBERS({ 1, 2, NAN, NAN }), 1, false };
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		char want_x[100], want_y[100];
		struct chart c = { .file = "f",
			.x_label = labels[i].text,
			.y_label = labels[i].text,
			.y_min = NAN,
			.y_max = NAN,
			.series = &one,
			.n_series = 1 };
		/* The label of x, which is as wide as the page, has 46 characters in a row; that of y is at most as long as the data are
		 * high: more than 21 and fewer than 39 characters. */
		snprintf(want_x, sizeof want_x, "\nx_label = '%s'\n", labels[i].text);
		snprintf(want_y, sizeof want_y, "\ny_label = %s\n", labels[i].want);
		chart_has(&c, (const char *const[]){ want_x, want_y, NULL }, labels[i].text);
	}
}

/* Tests the width of labels on the axis: 5 points for each "x" of the longest name and 5 points between names, on a
 * page of 210 points. */
static void test_tics(void)
{
	static const struct {
		size_t n, longest;
		int turned;
	} tics[] = { { 2, 20, 0 }, { 2, 21, 1 }, { 3, 13, 0 }, { 3, 14, 1 }, { 1, 41, 0 }, { 1, 42, 1 } };
	static const char all[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
	struct chart_series one = { "a", NUMBERS({ 1, 2, NAN, NAN }), 1, false };
	for (size_t i = 0; i < sizeof tics / sizeof *tics; i++) {
		const char *names[3] = { "a", "b", "c" };
		char want[40];
		names[i % tics[i].n] = all + sizeof all - 1 - tics[i].longest;
		struct chart c = { .file = "f",
			.kind = CHART_BARS,
			.x_label = "",
			.y_label = "",
			.y_min = NAN,
			.y_max = NAN,
			.category = names,
			.n_categories = tics[i].n,
			.series = &one,
			.n_series = 1 };
		snprintf(want, sizeof want, "\ntics_turned = %d\n", tics[i].turned);
		chart_has(&c, (const char *const[]){ want, NULL }, "names of positions that do not fit are turned");
	}
	/* Three names of 15 characters do not fit in one line, but in two; the position of x drops by a line. */
	const char *halves[3] = { "xxxxxxx xxxxxxx", "b", "c" };
	struct chart split = { .file = "f",
		.kind = CHART_BARS,
		.x_label = "",
		.y_label = "",
		.y_min = NAN,
		.y_max = NAN,
		.category = halves,
		.n_categories = 3,
		.series = &one,
		.n_series = 1 };
	chart_has(&split, (const char *const[]){ "\ncategory[1] = 'xxxxxxx'.\"\\n\".'xxxxxxx'\n", "\ntics_turned = 0\n", NULL },
		"names with a blank are split before they are turned");
	/* The legend places labels that are not empty side by side: 26 points for the sample, 5 for a digit, and gaps of 9. */
	struct chart_series three[] = { { "123456789012345", NUMBERS({ 1, 2, NAN, NAN }), 1, false }, { "123456789012345", NULL, 0, false },
		{ "", NULL, 0, false } };
	struct chart c = { .file = "f", .x_label = "", .y_label = "", .y_min = NAN, .y_max = NAN, .series = three, .n_series = 3 };
	chart_has(&c, (const char *const[]){ "\nkey_rows = 1\n", NULL }, "two labels of 15 characters fit into a row");
	three[2].label = "123456789012345";
	chart_has(&c, (const char *const[]){ "\nkey_rows = 2\n", NULL }, "a third does not");
}

/* ---- pages and files ---- */

static void test_page(void)
{
	struct album a = { 0 };
	struct orr_error err = { 0 };
	ok(!album_add(&a, "fig", "over-time", (struct layout){ 2.1, 2 }, &err), "a figure is added: %s", err.text);
	/* The legend has 0.12 in and two rows of 0.16 in (SVG: 0.21 in), above 2.1 in of plot. The units are 96 and 300 per inch. */
	static const char *const wanted[] = { "key_rows = 2\n", "legend_share = 0.173228\nset terminal pdfcairo ",
		" size 3.50in,2.54in\nset output 'fig.pdf.tmp'\n", "legend_share = 0.204545\nset terminal svg ",
		" size 336,253 background '#ffffff'\nset output 'fig.svg.tmp'\n", "legend_share = 0.173228\nset terminal pngcairo ",
		" size 1050,762\nset output 'fig.png.tmp'\n" };
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		ok(strstr(sbuf_text(&a.script), wanted[i]) != NULL, "the script has part %zu", i);
	ok(album_add(&a, "fig", "nosuch", (struct layout){ 1, 1 }, &err) == ORR_EFAIL &&
			strstr(err.text, "plots/nosuch.gp: this file is missing in "),
		"a template must exist: %s", err.text);
	album_free(&a);
	ok(!a.n_files && !a.script.len, "an empty album is left");
}

static int write_album(const char *to, struct orr_error *err)
{
	struct album a = { 0 };
	*err = (struct orr_error){ 0 };
	int rc = album_add(&a, "one", "over-time", (struct layout){ 1, 1 }, err);
	rc = rc ? rc : album_add(&a, "two", "over-time", (struct layout){ 1, 1 }, err);
	rc = rc ? rc : album_write(&a, in_dir(to), err);
	album_free(&a);
	return rc;
}

static void test_files(void)
{
	static const char *const all[] = { "o/p/one.pdf", "o/p/one.svg", "o/p/one.png", "o/p/two.pdf", "o/p/two.svg", "o/p/two.png" };
	struct orr_error err;
	ok(!write_album("o/p", &err), "an album is written, into a new folder: %s", err.text);
	bool good = true;
	for (size_t i = 0; i < 6; i++) {
		char draft[40];
		snprintf(draft, sizeof draft, "%s.tmp", all[i]);
		good &= is_there(all[i]) && !is_there(draft);
	}
	ok(good, "three files of each figure, no drafts");
	struct sbuf pdf = text_of("o/p/two.pdf");
	/* The mark starts with a slash; a slash directly before it must not hide the mark. */
	same_text(sbuf_text(&pdf), "%PDF //CreationDate (D:19700101000000) %%EOF\n", "the date of creation is the same in every run");
	sbuf_free(&pdf);
	struct album none = { 0 };
	ok(!album_write(&none, in_dir("unmade"), &err) && !is_there("unmade"), "an album without figures creates no folder");

	touch("bin/short");
	ok(write_album("cut", &err) == ORR_EFAIL &&
			strstr(err.text, "/cut/one.pdf: gnuplot wrote an incomplete file: expected more free disk space"),
		"a file without its end is an error: %s", err.text);
	ok(!is_there("cut/one.pdf") && !is_there("cut/one.pdf.tmp") && !is_there("cut/two.png.tmp"), "which leaves no file");
	unlink(in_dir("bin/short"));
	touch("bin/fails");
	ok(write_album("o/p", &err) == ORR_EFAIL, "gnuplot fails");
	same_text(err.text, "gnuplot failed (status 3): undefined variable: bad", "with its last message");
	ok(is_there("o/p/one.pdf"), "earlier files remain");
	unlink(in_dir("bin/fails"));
	touch("plain");
	ok(write_album("plain/x", &err) != ORR_OK && *err.text, "a folder that cannot be made: %s", err.text);
	mkdir(in_dir("o/p/blocked"), 0777);
	rename(in_dir("o/p/one.svg"), in_dir("o/p/kept.svg"));
	mkdir(in_dir("o/p/one.svg"), 0777);
	touch("o/p/one.svg/file");
	ok(write_album("o/p", &err) == ORR_EFAIL && strstr(err.text, "/o/p/one.svg: cannot be written: "),
		"a file that cannot be replaced: %s", err.text);
}

static void test_gnuplot(void)
{
	struct sbuf script = { 0 };
	struct orr_error err = { 0 };
	sbuf_puts(&script, "a = 1\n");
	ok(!gnuplot_run(dir, &script, &err), "a script runs");
	struct sbuf got = text_of("bin/SCRIPT");
	same_text(sbuf_text(&got), "a = 1\n", "as it is");
	sbuf_free(&got);
	ok(gnuplot_run(in_dir("nosuch"), &script, &err) == ORR_EFAIL &&
			strstr(err.text, "/nosuch: expected a directory that can be entered"),
		"no folder: %s", err.text);
	/* The output exceeds the buffers of a socket. */
	for (int i = 0; i < 200000; i++)
		sbuf_puts(&script, "b = 22\n");
	ok(!gnuplot_run(dir, &script, &err), "a long script");
	got = text_of("bin/SCRIPT");
	ok(got.len == script.len && !memcmp(got.text, script.text, got.len), "arrives whole");
	sbuf_free(&got);
	FILE *f = fopen(in_dir("bin/gnuplot"), "w");
	if (f) {
		fputs("#!/bin/sh\nkill -9 $$\n", f);
		fclose(f);
	}
	ok(gnuplot_run(dir, &script, &err) == ORR_EFAIL, "gnuplot is killed while it is fed");
	same_text(err.text, "gnuplot failed (status 137): it printed no message", "by a signal");
	setenv("PATH", in_dir("nosuch"), 1);
	ok(gnuplot_run(dir, &script, &err) == ORR_EDEVICE && strstr(err.text, "gnuplot is not installed"), "no gnuplot: %s", err.text);
	sbuf_free(&script);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR"), *path = getenv("PATH");
	char *before = mem_strdup(path ? path : "/bin:/usr/bin");
	snprintf(dir, sizeof dir, "%.200s/orrery-album.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 2;
	fake_gnuplot_install(dir);
	test_layout();
	test_quotes();
	test_charts();
	test_kinds();
	test_labels();
	test_tics();
	test_page();
	test_files();
	test_gnuplot();
	setenv("PATH", before, 1);
	mem_free(before);
	char clean[320];
	snprintf(clean, sizeof clean, "rm -r '%s'", dir);
	if (system(clean))
		printf("# %s remains\n", dir);
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery report: an HTML page about the runs of a database */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/num.h"
#include "study/figures.h"
#include "study/page.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct option longs[] = { { "out", required_argument, NULL, 'o' }, { "db", required_argument, NULL, 'd' },
	{ "title", required_argument, NULL, 't' }, { "question", required_argument, NULL, 'a' }, { "run", required_argument, NULL, 'r' },
	{ "rows", required_argument, NULL, 'n' }, { NULL, 0, NULL, 0 } };

static int take(struct page_request *q, int c, struct orr_error *err)
{
	int64_t n;
	switch (c) {
	case 'o':
		q->out = optarg;
		return ORR_OK;
	case 'd':
		q->db = optarg;
		return ORR_OK;
	case 't':
		q->title = optarg;
		return ORR_OK;
	case 'a':
		q->question = optarg;
		return ORR_OK;
	case 'r':
		if (!num_int(optarg, strlen(optarg), &q->run) || q->run < 1)
			return orr_fail(err, ORR_EINPUT, "--run: expected a whole number from 1, found \"%.60s\"", optarg);
		return ORR_OK;
	default:
		if (!num_int(optarg, strlen(optarg), &n) || n < 1 || n > 100000)
			return orr_fail(err, ORR_EINPUT, "--rows: expected a whole number from 1 to 100000, found \"%.60s\"", optarg);
		q->rows = (size_t)n;
		return ORR_OK;
	}
}

static bool ends_in(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);
	return n >= k && !strcmp(s + n - k, suffix);
}

/* *book: receives the file of a book that is given by its name; the caller frees it. */
static int parse(int argc, char **argv, struct page_request *q, char **book, struct orr_error *err)
{
	opterr = 0;
	optind = 1;
	int c;
	while ((c = getopt_long(argc, argv, ":o:", longs, NULL)) != -1) {
		int code = c == '?' || c == ':' ? cli_bad_option(argc, argv, c, longs, err) : take(q, c, err);
		if (code)
			return code;
	}
	if (argc - optind != 1)
		return orr_fail(err, ORR_EINPUT, "report: expected one database or study; 'orrery report --help' shows the forms");
	if (ends_in(argv[optind], ".json"))
		q->study = argv[optind];
	else if (q->db && (*book = book_file(argv[optind])))
		q->study = *book;
	else if (q->db)
		return orr_fail(err, ORR_EINPUT,
			"report: --db: expected a study STUDY.json or the name of a book before it, found \"%.200s\"", argv[optind]);
	else
		q->db = argv[optind];
	if (!q->db)
		return orr_fail(err, ORR_EINPUT,
			"report: %.200s is a study: expected --db FILE with its runs (orrery sweep STUDY.json --db FILE)", q->study);
	if (!q->out)
		return orr_fail(err, ORR_EINPUT, "report: expected -o FILE.html");
	return ORR_OK;
}

static int run_report(int argc, char **argv, struct orr_error *err)
{
	struct page_request q = { .rows = PAGE_ROWS };
	char *book = NULL;
	int code = parse(argc, argv, &q, &book, err);
	if (!code)
		code = page_write(&q, err);
	mem_free(book);
	return code;
}

const struct cli_command cmd_report = {
	.name = "report",
	.doc = "one HTML page about the runs of a database: tables, figures, provenance",
	.help = "usage: orrery report DB -o FILE.html [OPTIONS]\n"
		"       orrery report STUDY.json|BOOK --db DB -o FILE.html [OPTIONS]\n"
		"\n"
		"Writes one self-contained page that opens in any browser without a network: the question, figures\n"
		"and a table of all runs, distributions and timelines of the first point, assumptions and remarks,\n"
		"differences of the policies, and the command that repeats each run. Tables sort and filter;\n"
		"timelines zoom. A study file gives title and question; a scenario book, by name or file, also\n"
		"the figures of the book and the table of published values. The database is only read.\n"
		"\n"
		"  -o, --out FILE       the page to write\n"
		"  --db DB              the database with the runs of the study\n"
		"  --title TEXT         title of the page; default: that of the study\n"
		"  --question TEXT      text below the title; default: \"about\" of the study\n"
		"  --run N              timelines and rows of this run; default: of the first point\n"
		"  --rows N             most rows of the table of jobs or requests (default 1000)\n"
		"\n"
		"Example:\n"
		"  orrery jobs philly-like:n=500 --cluster 4x8 --policy fifo,las --db runs.db -q\n"
		"  orrery report runs.db -o report.html --question \"Does las shorten the wait?\"\n",
	.run = run_report,
};

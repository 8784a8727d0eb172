/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/cli.h"
#include "cli/db_inspect.h"

#include "base/num.h"
#include "base/param.h"
#include "base/utf8.h"
#include "results/columns.h"
#include "results/merge.h"
#include "results/report.h"
#include "results/store.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int print_digest(struct store *s, struct orr_error *err)
{
	char hex[65];
	int code = store_digest(s, hex, err);
	if (!code)
		puts(hex);
	return code;
}

static int print_runs(struct store *s, struct orr_error *err)
{
	struct stored_run *list;
	size_t n;
	int code = store_list(s, &list, &n, err);
	if (code)
		return code;
	printf("%5s  %-20s %-6s %-20s %10s  %-12s  %s\n", "run", "label", "world", "made", "rows", "hash", "seed");
	for (size_t i = 0; i < n; i++)
		printf("%5" PRId64 "  %-20s %-6s %-20s %10" PRIu64 "  %-12.12s  %s%s\n", list[i].run, utf8_shown(list[i].label),
			utf8_shown(list[i].world), list[i].created_at, list[i].rows_total, utf8_shown(list[i].hash),
			utf8_shown(list[i].seed_text), list[i].is_oracle ? "  (oracle)" : "");
	store_list_free(list, n);
	return ORR_OK;
}

static int export_run(struct store *s, const char *file, int64_t run, const char *dir, struct orr_error *err)
{
	struct run_result *r;
	int code = store_read_run(s, run, &r, err);
	if (code)
		return code;
	if (!r)
		return orr_fail(err, ORR_EINPUT, "%s: no run %" PRId64 ": expected a run that 'orrery db runs' lists", file, run);
	code = report_out_dir(dir, (const struct run_result *const *)&r, 1, err);
	result_free(r);
	return code;
}

struct options {
	int64_t run; /* 0: not given */
	const char *out;
};

static int parse(int argc, char **argv, struct options *o, struct orr_error *err)
{
	static const struct option longs[] = { { "run", required_argument, NULL, 'r' }, { "out", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 } };
	opterr = 0;
	optind = 1;
	int c;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'o') {
			o->out = optarg;
		} else if (c == 'r') {
			if (!num_int(optarg, strlen(optarg), &o->run) || o->run < 1)
				return orr_fail(err, ORR_EINPUT, "--run: expected a whole number from 1, found \"%s\"", optarg);
		} else {
			return orr_fail(err, ORR_EINPUT,
				"%s: unknown option, or no value after it: expected an option that 'orrery db --help' shows",
				argv[optind - 1]);
		}
	}
	return ORR_OK;
}

static int with_store(const char *verb, const char *file, const struct options *o, struct orr_error *err)
{
	struct store *s = store_open_readonly(file, err);
	if (!s)
		return err->code;
	int code;
	if (!strcmp(verb, "digest"))
		code = print_digest(s, err);
	else if (!strcmp(verb, "runs"))
		code = print_runs(s, err);
	else if (!strcmp(verb, "show"))
		code = db_show(s, file, o->run, err);
	else if (!strcmp(verb, "check"))
		code = db_check(s, file, err);
	else
		code = export_run(s, file, o->run, o->out, err);
	store_close(s, NULL);
	return code;
}

static int print_columns(void)
{
	struct sbuf text = { 0 };
	columns_markdown(&text);
	fputs(sbuf_text(&text), stdout);
	sbuf_free(&text);
	return ORR_OK;
}

static int merge_shards(const char *out, const char *const *shard, size_t n, struct orr_error *err)
{
	struct merge_count count;
	int code = store_merge(out, NULL, shard, n, NULL, 0, &count, err);
	if (!code)
		printf("%s: runs added: %zu, already present: %zu, shards: %zu\n", out, count.added, count.present, n);
	return code;
}

static int run_db(int argc, char **argv, struct orr_error *err)
{
	static const char *const verbs[] = { "runs", "show", "digest", "check", "diff", "export", "merge", "vacuum", "columns", NULL };
	struct options o = { 0 };
	int code = parse(argc, argv, &o, err);
	if (code)
		return code;
	if (argc - optind == 1 && !strcmp(argv[optind], "columns"))
		return print_columns();
	if (argc - optind >= 1 && !strcmp(argv[optind], "merge")) {
		if (argc - optind < 3 || o.run || o.out)
			return orr_fail(err, ORR_EINPUT,
				"db merge: expected the name of the database to write, then at least one shard, and no options");
		return merge_shards(argv[optind + 1], (const char *const *)&argv[optind + 2], (size_t)(argc - optind - 2), err);
	}
	if (argc - optind == 3 && !strcmp(argv[optind], "diff") && !o.run && !o.out)
		return db_diff(argv[optind + 1], argv[optind + 2], err);
	if (argc - optind != 2)
		return orr_fail(err, ORR_EINPUT, "db: expected a verb and the name of a file; 'orrery db --help' shows the forms");
	const char *verb = argv[optind], *file = argv[optind + 1];
	size_t known = 0;
	while (verbs[known] && strcmp(verbs[known], verb))
		known++;
	if (!verbs[known]) {
		const char *near = nearest_name(verb, verbs);
		return orr_fail(err, ORR_EINPUT, "db: unknown verb \"%s\": %s%s%s", verb,
			near ? "did you mean \"" : "expected runs, show, digest, check, diff, export, merge, vacuum or columns",
			near ? near : "", near ? "\"?" : "");
	}
	bool is_export = !strcmp(verb, "export"), is_show = !strcmp(verb, "show");
	if (is_export && (!o.run || !o.out))
		return orr_fail(err, ORR_EINPUT, "db export: expected the options --run N and --out DIR");
	if ((!is_export && o.out) || (!is_export && !is_show && o.run))
		return orr_fail(err, ORR_EINPUT,
			"db %s: expected neither --run nor --out: 'orrery db export' accepts both, and 'orrery db show' accepts --run",
			verb);
	if (!strcmp(verb, "diff"))
		return orr_fail(err, ORR_EINPUT, "db diff: expected the names of two files and no options");
	if (!strcmp(verb, "vacuum"))
		return db_vacuum(file, err);
	return with_store(verb, file, &o, err);
}

const struct cli_command cmd_db = {
	.name = "db",
	.doc = "list, compare, check, merge and export databases of runs",
	.help = "usage: orrery db runs FILE\n"
		"       orrery db show FILE [--run N]\n"
		"       orrery db digest FILE\n"
		"       orrery db check FILE\n"
		"       orrery db diff A B\n"
		"       orrery db export FILE --run N --out DIR\n"
		"       orrery db merge OUT SHARD..\n"
		"       orrery db vacuum FILE\n"
		"       orrery db columns\n"
		"\n"
		"runs    lists the runs.\n"
		"show    prints what the file contains; with --run, the contents of one run: policy, seed, metrics\n"
		"        with intervals, notes, and every value of its scenario.\n"
		"digest  prints one hash over all runs in canonical order. Wall time, host, thread\n"
		"        count, row numbers and the program's version and sources are not hashed, so equal\n"
		"        results have equal hashes, regardless of machine, order and build. A run whose\n"
		"        contents differ from its checksum is an error.\n"
		"check   runs SQLite's integrity check and verifies the checksum of each run. Prints each finding\n"
		"        with run and table; exit status 1 if there is any.\n"
		"diff    lists the runs that only one file has, and the runs with equal hashes whose contents\n"
		"        differ: tables, and metrics in order of their relative difference. Runs of different\n"
		"        builds are paired by scenario. Exit status 1 if the files differ.\n"
		"export  writes the CSV files of a run, as --out does.\n"
		"merge   adds the runs of the shards to OUT, in one transaction. A run that OUT has by hash and\n"
		"        label is skipped. OUT is created if it does not exist; the shards stay unchanged.\n"
		"vacuum  removes free pages and unused base scenarios, and prints the size before and after. A\n"
		"        file of an older schema is converted first.\n"
		"columns prints every table and column with its unit and meaning, as Markdown.\n"
		"\n"
		"Only merge and vacuum write, merge only to OUT. A file is an SQLite database (docs/reference/database.md), readable\n"
		"with sqlite3 and the SQLite library of any language.\n"
		"\n"
		"example:\n"
		"  orrery db show runs.db --run 3\n"
		"  orrery db export runs.db --run 3 --out run3\n"
		"  orrery db merge all.db runs.db load.db\n"
		"  orrery db merge copy.db runs.db\n"
		"  orrery db diff runs.db copy.db\n",
	.run = run_db,
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery sweep */
#include "cli/cli.h"
#include "cli/request.h"
#include "study/sweep.h"

#include <getopt.h>
#include <string.h>

static const char help[] = "usage: orrery sweep STUDY.json [OPTIONS]\n\n"
			   "Runs a study: scenarios of any world at many points, with searches for a limit and for bends of a\n"
			   "curve. Prints a row per point and policy (docs/reference/studies.md).\n\n"
			   "  --db FILE            store the runs in this database; a study that was ended goes on there\n"
			   "  --out DIR            folder for study.csv: all metrics of all runs\n"
			   "  --dry-run            print the number of points and runs, and the expected time and bytes\n"
			   "  --fresh              repeat runs that the database already has\n"
			   "  --check              verify the conservation laws at run time\n"
			   "  --json               print JSON instead of the table\n"
			   "  -j N                 number of runs in parallel (default: all cores)\n"
			   "  -q                   errors only: no table, no progress\n"
			   "\nExample:\n"
			   "  orrery sweep ./load.json --db load.db -j 2\n";

enum { OPT_OUT = 256, OPT_DB, OPT_FRESH, OPT_CHECK, OPT_JSON, OPT_DRY_RUN };

static int parse(int argc, char **argv, struct sweep_request *r, struct orr_error *err)
{
	static const struct option longs[] = { { "out", 1, NULL, OPT_OUT }, { "db", 1, NULL, OPT_DB }, { "fresh", 0, NULL, OPT_FRESH },
		{ "check", 0, NULL, OPT_CHECK }, { "json", 0, NULL, OPT_JSON }, { "dry-run", 0, NULL, OPT_DRY_RUN }, { NULL, 0, NULL, 0 } };
	int opt, rc = ORR_OK;
	r->output.is_series = true;
	optind = 1;
	opterr = 0;
	while (!rc && (opt = getopt_long(argc, argv, ":j:q", longs, NULL)) != -1) {
		if (opt == OPT_OUT)
			r->output.out_dir = optarg;
		else if (opt == OPT_DB)
			r->output.db = optarg;
		else if (opt == OPT_FRESH)
			r->output.fresh = true;
		else if (opt == OPT_CHECK)
			r->output.check = true;
		else if (opt == OPT_JSON)
			r->output.json = true;
		else if (opt == OPT_DRY_RUN)
			r->is_dry = true;
		else if (opt == 'q')
			r->output.quiet = true;
		else if (opt == 'j')
			rc = request_threads(optarg, &r->output.threads, err);
		else
			rc = cli_bad_option(argc, argv, opt, longs, err);
	}
	if (rc)
		return rc;
	if (optind < argc)
		r->path = argv[optind++];
	if (!r->path)
		return orr_fail(err, ORR_EINPUT, "sweep: expected STUDY.json; see --help");
	if (optind < argc)
		return orr_fail(err, ORR_EINPUT, "expected at most one argument, found also \"%.80s\"", argv[optind]);
	return ORR_OK;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	struct sweep_request r = { 0 };
	int rc = parse(argc, argv, &r, err);
	return rc ? rc : study_sweep(&r, err);
}

const struct cli_command cmd_sweep = { "sweep", "run a study: many points, searches, one table", help, run, NULL };

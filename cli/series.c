/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/series.h"

#include "cli/request.h"

enum { OPT_DB = 256, OPT_FRESH, OPT_CHECK, OPT_TABLE, OPT_IN_PROCESS, MOST_OPTIONS = 32 };

static const struct option common[] = { { "db", 1, NULL, OPT_DB }, { "fresh", 0, NULL, OPT_FRESH }, { "check", 0, NULL, OPT_CHECK },
	{ "table", 1, NULL, OPT_TABLE }, { "in-process", 0, NULL, OPT_IN_PROCESS } };

int series_parse(
	int argc, char **argv, const struct series_flags *s, struct world_output *out, const char **argument, struct orr_error *err)
{
	struct option longs[MOST_OPTIONS + 1] = { { NULL, 0, NULL, 0 } };
	size_t n = 0;
	int opt, rc = ORR_OK;
	for (; n < sizeof common / sizeof *common; n++)
		longs[n] = common[n];
	for (const struct option *o = s->own; o->name && n < MOST_OPTIONS; o++)
		longs[n++] = *o;
	out->is_series = true;
	*argument = NULL;
	optind = 1;
	opterr = 0;
	while (!rc && (opt = getopt_long(argc, argv, ":j:q", longs, NULL)) != -1) {
		if (opt == OPT_DB)
			out->db = optarg;
		else if (opt == OPT_FRESH)
			out->fresh = true;
		else if (opt == OPT_CHECK)
			out->check = true;
		else if (opt == OPT_TABLE)
			rc = grid_format_named(optarg, &out->table, err);
		else if (opt == OPT_IN_PROCESS)
			out->in_process = true;
		else if (opt == 'q')
			out->quiet = true;
		else if (opt == 'j')
			rc = request_threads(optarg, &out->threads, err);
		else if (opt >= SERIES_OWN)
			rc = s->take(s->ctx, opt, optarg, err);
		else
			rc = cli_bad_option(argc, argv, opt, longs, err);
	}
	if (!rc && optind < argc)
		*argument = argv[optind++];
	if (!rc && optind < argc)
		rc = orr_fail(err, ORR_EINPUT, "unexpected argument \"%.80s\": expected at most one argument", argv[optind]);
	return rc;
}

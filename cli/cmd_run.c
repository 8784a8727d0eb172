/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery run, orrery scenario: scenarios of any world */
#include "cli/request.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const char run_help[] = "usage: orrery run SCENARIO.json [OPTIONS]\n\n"
			       "Carries out a scenario of any world (orrery scenario show prints one): jobs, step, serve, spot,\nor mixed, "
			       "which is jobs and serving on one cluster and one clock.\n\n"
			       "  --set PATH=VALUE     change one value: jobs.OPTION, step.OPTION, serve.OPTION,\n"
			       "                       spot.OPTION, policy.NAME.PARAM, failures.NAME, trace_options.NAME, or a key of the\n"
			       "                       scenario; in a mixed one jobs.PATH and serve.PATH reach the halves:\n"
			       "                       serve.serve.OPTION, jobs.trace (repeatable)\n" REQUEST_JOBS_HELP REQUEST_COMMON_HELP
			       "\nThe options of orrery jobs, step, serve and spot are taken too, and go before what the\nfile says.\n"
			       "\nExample:\n"
			       "  orrery scenario show philly-like --cluster 64x8 --policy fifo,las > s.json\n"
			       "  orrery run s.json --set policy.las.limits=1h,4h\n";

static const char scenario_help[] = "usage: orrery scenario show SCENARIO.json|TRACE [the options of orrery jobs]\n"
				    "       orrery scenario show MODEL --world step [the options of orrery step]\n"
				    "       orrery scenario show TRACE --world serve [the options of orrery serve]\n"
				    "       orrery scenario show TRACE --world spot [the options of orrery spot]\n\n"
				    "Prints the scenario that the file or the flags amount to, every default filled in.\n\n"
				    "  --world W            jobs, step, serve or spot: what follows is a TRACE or a MODEL, not a scenario\n"
				    "Example:\n"
				    "  orrery scenario show philly-like --cluster 8x8:v100 --policy srtf\n";

static int run_scenario(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = request_parse(argc, argv, REQUEST_ALL, &r, err);
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "run: no SCENARIO.json given; see --help");
	if (!rc)
		rc = request_load_below(&r, r.source, err);
	if (!rc)
		rc = request_apply_sets(&r, err);
	if (!rc)
		rc = study_run(r.scenario, &r.output, err);
	if (rc)
		request_name_file(&r, err);
	request_free(&r);
	return rc;
}

static int show(const cJSON *scenario, const struct study_world *world, struct orr_error *err)
{
	char *text = world->show(scenario, err);
	if (!text)
		return err->code;
	puts(text);
	mem_free(text);
	return ORR_OK;
}

static int show_scenario(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	const char *kind = "jobs";
	if (argc < 2 || strcmp(argv[1], "show"))
		return orr_fail(err, ORR_EINPUT, "scenario: expected \"show\"; see --help");
	int rc = request_parse(argc - 1, argv + 1, REQUEST_ALL, &r, err);
	size_t n = r.source ? strlen(r.source) : 0;
	/* With --world it is what that world runs, and may be a file of JSON as well. */
	bool is_file = n > 5 && !strcmp(r.source + n - 5, ".json") && !cJSON_GetObjectItemCaseSensitive(r.scenario, "world");
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "scenario show: no SCENARIO.json or TRACE given; see --help");
	if (!rc && is_file)
		rc = request_load_below(&r, r.source, err);
	if (!rc)
		rc = request_apply_sets(&r, err);
	if (!rc)
		rc = scenario_kind(r.scenario, &kind, err);
	if (!rc && !is_file)
		request_put(&r, study_world(kind)->source, r.source);
	if (!rc)
		rc = show(r.scenario, study_world(kind), err);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_run = { "run", "carry out a scenario file", run_help, run_scenario };
const struct cli_command cmd_scenario = { "scenario", "show what flags or a file amount to", scenario_help, show_scenario };

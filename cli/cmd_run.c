/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery run, orrery scenario: scenarios of any world */
#include "cli/request.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"
#include "results/store.h"
#include "world/schema.h"

#include <stdio.h>
#include <string.h>

static void run_help(struct sbuf *out)
{
	sbuf_puts(out, "usage: orrery run SCENARIO.json [OPTIONS]\n"
		       "       orrery run --from DB --run N [OPTIONS]\n\n"
		       "Runs a scenario of any world (orrery scenario show prints one): ");
	world_names(out, false, "");
	sbuf_puts(out, ".\n\n");
	request_put_option(out, "--from", "DB", "with --run N: the scenario and policy of a stored run (orrery db runs)");
	request_put_option(out, "--set", "PATH=VALUE",
		"change one value: WORLD.OPTION, policy.NAME.PARAM, OBJECT.NAME, or a key of the\n"
		"scenario; in a mixed scenario, PART.PATH is a path in a part\n(repeatable)");
	request_put_common(out);
	sbuf_puts(out, "\nThe options of each world's verb are accepted too and override the file.\n"
		       "\nExample:\n"
		       "  orrery scenario show philly-like --cluster 64x8 --policy fifo,las > s.json\n"
		       "  orrery run s.json --set policy.las.limits=1h,4h\n");
}

static void scenario_help(struct sbuf *out)
{
	sbuf_puts(out, "usage: orrery scenario show SCENARIO.json [OPTIONS]\n"
		       "       orrery scenario show SOURCE [--world W] [the options of orrery W]\n"
		       "       orrery scenario schema\n\n"
		       "Prints the scenario that the file or the flags describe, with all defaults filled in; schema\n"
		       "prints the JSON Schema of all scenarios.\n\n"
		       "  --world W            ");
	world_names(out, false, "");
	sbuf_printf(out, " (default %s); SOURCE is what\n%23sits verb takes (a trace, a model), not a scenario\n", worlds[0]->name, "");
	sbuf_puts(out, "\nExample:\n  orrery scenario show philly-like --cluster 8x8:v100 --policy srtf\n");
}

/* Removes --NAME VALUE or --NAME=VALUE from the arguments. Returns the value; NULL: there is none. */
static const char *take_option(int *argc, char **argv, const char *name)
{
	size_t n = strlen(name);
	for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
		bool is_separate = !strcmp(argv[i], name), is_joined = !strncmp(argv[i], name, n) && argv[i][n] == '=';
		if (!is_joined && !(is_separate && i + 1 < *argc))
			continue;
		const char *value = is_joined ? argv[i] + n + 1 : argv[i + 1];
		int taken = is_joined ? 1 : 2;
		for (int k = i; k + taken <= *argc; k++)
			argv[k] = argv[k + taken];
		*argc -= taken;
		return value;
	}
	return NULL;
}

/* Prints a note if the scenario describes another run than the stored one. */
static void compare_hash(const struct request *r, const char *db, const char *number, const char *stored)
{
	static const struct world_output quietly = { .quiet = true, .is_shown = true };
	struct orr_error ignored = { 0 };
	struct scenario *s = scenario_open(r->scenario, &quietly, &ignored);
	char hash[65];
	if (!s)
		return; /* the run reports the error */
	mem_free(scenario_text(s, 0, hash));
	scenario_close(s);
	if (strcmp(hash, stored) != 0)
		fprintf(stderr,
			"orrery: this run differs from run %s of %s: an option, an input or the program has changed (with "
			"\"until_precision\", perhaps the other policies)\n",
			utf8_shown(number), utf8_shown(db));
}

/* Sets the scenario to that of a stored run. */
static int load_stored(struct request *r, const char *db, const char *number, char stored[65], struct orr_error *err)
{
	int64_t run;
	struct run_result *result = NULL;
	if (r->source)
		return orr_fail(err, ORR_EINPUT, "run: expected either the name of a scenario file or --from, found both");
	if (!number || !num_int(number, strlen(number), &run) || run < 1)
		return orr_fail(
			err, ORR_EINPUT, "run --from %.200s: expected --run N with the number of a run that 'orrery db runs' lists", db);
	struct store *s = store_open_readonly(db, err);
	int rc = s ? store_read_run(s, run, &result, err) : err->code;
	if (!rc && !result)
		rc = orr_fail(err, ORR_EINPUT, "%.200s has no run %lld: expected the number of a run that 'orrery db runs' lists", db,
			(long long)run);
	cJSON *o = rc ? NULL : cJSON_Parse(result->scenario), *policy = cJSON_DetachItemFromObjectCaseSensitive(o, "policy");
	if (!rc && (!o || !policy))
		rc = orr_fail(err, ORR_EINPUT, "%.200s: the scenario of run %lld is damaged: expected an object with a policy", db,
			(long long)run);
	if (!rc) {
		cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "policies"), policy);
		request_put_below(r, o);
		snprintf(stored, 65, "%s", result->hash);
	} else {
		cJSON_Delete(policy);
		cJSON_Delete(o);
	}
	result_free(result);
	struct orr_error on_close = { 0 };
	if (s)
		store_close(s, &on_close);
	return rc;
}

static int run_scenario(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	char stored[65] = "";
	const char *db = take_option(&argc, argv, "--from"), *number = take_option(&argc, argv, "--run");
	int rc = request_parse(argc, argv, NULL, &r, err);
	if (!rc && !r.source && !db)
		rc = orr_fail(err, ORR_EINPUT, "run: expected the name of a scenario file; 'orrery run --help' shows the forms");
	if (!rc && number && !db)
		rc = orr_fail(err, ORR_EINPUT, "run --run %.40s: expected also --from DB, the database that has this run", number);
	if (!rc)
		rc = db ? load_stored(&r, db, number, stored, err) : request_load_below(&r, r.source, err);
	if (!rc)
		rc = request_apply_sets(&r, err);
	if (!rc && db && !r.output.quiet)
		compare_hash(&r, db, number, stored);
	if (!rc)
		rc = study_run(r.scenario, &r.output, err);
	if (rc)
		request_name_file(&r, err);
	request_free(&r);
	return rc;
}

static int show(const cJSON *scenario, struct orr_error *err)
{
	static const struct world_output quietly = { .quiet = true, .is_shown = true };
	struct scenario *s = scenario_open(scenario, &quietly, err);
	if (!s)
		return err->code;
	char *text = scenario_show(s);
	puts(text);
	mem_free(text);
	scenario_close(s);
	return ORR_OK;
}

static int print_schema(void)
{
	char *text = scenario_schema();
	puts(text);
	mem_free(text);
	return ORR_OK;
}

static int show_scenario(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	const struct world *w = NULL;
	if (argc == 2 && !strcmp(argv[1], "schema"))
		return print_schema();
	if (argc < 2 || strcmp(argv[1], "show"))
		return orr_fail(err, ORR_EINPUT, "scenario: expected \"show\" or \"schema\"; 'orrery scenario --help' shows the forms");
	int rc = request_parse(argc - 1, argv + 1, NULL, &r, err);
	size_t n = r.source ? strlen(r.source) : 0;
	/* With --world the argument is that of the world's verb, even if it ends in .json. */
	bool is_file = n > 5 && !strcmp(r.source + n - 5, ".json") && !cJSON_GetObjectItemCaseSensitive(r.scenario, "world");
	if (!rc && is_file)
		rc = request_load_below(&r, r.source, err);
	if (!rc)
		rc = request_apply_sets(&r, err);
	if (!rc)
		rc = scenario_world(r.scenario, &w, err);
	bool is_replaced = !rc && w->source_key && cJSON_GetObjectItemCaseSensitive(r.scenario, w->source_key);
	if (!rc && !r.source && !is_replaced)
		rc = orr_fail(err, ORR_EINPUT,
			"scenario show: expected the name of a scenario file or a trace; 'orrery scenario --help' shows the forms");
	if (!rc && !is_file && r.source)
		request_put(&r, w->keys[0].name, r.source);
	if (!rc)
		rc = show(r.scenario, err);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_run = { "run", "run a scenario file", NULL, run_scenario, run_help };
const struct cli_command cmd_scenario = { "scenario", "show the complete scenario that flags or a file describe", NULL, show_scenario,
	scenario_help };

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery jobs, orrery run, orrery scenario: three doors to one room. */
#include "cli/cli.h"
#include "cli/jobs_study.h"

#include "base/mem.h"
#include "base/num.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMON_OPTIONS                                                                        \
	"  --set PATH=VALUE     change one value: jobs.OPTION, policy.NAME.PARAM, failures.NAME,\n"   \
	"                       trace_options.NAME, or a key of the scenario (repeatable)\n"          \
	"  --seed N             seed of every random stream (default 1)\n"                            \
	"  --until TIME         stop the clock there (30d, 12h, ...)\n"                               \
	"  --record WHAT        rows kept: summary, sample or all (default: all, up to a million)\n"  \
	"  --db FILE            store the runs in this database; one that is there is reused\n"       \
	"  --fresh              run again what the database has already\n"                            \
	"  --out DIR            write LABEL.jobs.csv, summary.csv and figures (PDF, SVG, PNG)\n"      \
	"  --no-figures         with --out: no figures\n"                                             \
	"  --json               results as JSON on standard output\n"                                 \
	"  --check              prove the conservation laws while running\n"                          \
	"  --policy-timeout S   longest time one call of a policy may take (default 60)\n"            \
	"  -j N                 policies run at once (default: all cores)\n"                          \
	"  -q                   errors only: no table, no progress, no remarks (--json still prints)\n"

static const char jobs_help[] =
	"usage: orrery jobs TRACE --cluster SPEC|FILE --policy A[,B..] [OPTIONS]\n\n"
	"Replays a trace of cluster jobs under each policy and compares them.\n\n"
	"  TRACE                a file (gzip and zstd too, - is standard input) or a generator:\n"
	"                       philly-like, openb-like, lublin, tiresias-like, poisson:rate=..,n=..\n"
	"  --format F           philly, tiresias, gavel, muri, openb, swf, orrery or auto\n"
	"  --cluster C          NODESxGPUS:TYPE[:cpus=N][:mem=GIB][:racks=N],.. or a CSV or JSON file\n"
	"  --placement P        count, consolidate, spread, best-fit, topology or fgd\n"
	"  --policy LIST        names (orrery policy list) or plugins (./mine.so); NAME@LABEL runs\n"
	"                       one again under another label\n"
	"  --throughputs FILE   rates by GPU type and job type (Gavel's JSON)\n"
	"  --failures FILE      nodes that fail and come back: time_s,node,event\n"
	"  --drop-unfit         leave out jobs that can never be placed, instead of an error\n" COMMON_OPTIONS
	"\nExample: three policies on a synthetic month, with a database and figures:\n"
	"  orrery jobs philly-like --cluster 64x8:v100 --policy fifo,srtf,las --db runs.db --out out\n";

static const char run_help[] =
	"usage: orrery run SCENARIO.json [OPTIONS]\n\n"
	"Carries out a scenario (orrery scenario show prints one).\n\n" COMMON_OPTIONS
	"\nExample:\n"
	"  orrery scenario show philly-like --cluster 64x8 --policy fifo,las > s.json\n"
	"  orrery run s.json --set policy.las.limits=1h,4h\n";

static const char scenario_help[] =
	"usage: orrery scenario show SCENARIO.json|TRACE [the options of orrery jobs]\n\n"
	"Prints the scenario that the file or the flags amount to, every default filled in.\n\n"
	"Example:\n"
	"  orrery scenario show philly-like --cluster 8x8:v100 --policy srtf\n";

enum { OPT_FORMAT = 256, OPT_CLUSTER, OPT_PLACEMENT, OPT_POLICY, OPT_THROUGHPUTS, OPT_FAILURES, OPT_DROP, OPT_SET,
	OPT_SEED, OPT_UNTIL, OPT_RECORD, OPT_DB, OPT_FRESH, OPT_OUT, OPT_NO_FIGURES, OPT_JSON, OPT_CHECK,
	OPT_TIMEOUT };

static const struct option long_options[] = { { "format", 1, NULL, OPT_FORMAT }, { "cluster", 1, NULL, OPT_CLUSTER },
	{ "placement", 1, NULL, OPT_PLACEMENT }, { "policy", 1, NULL, OPT_POLICY },
	{ "throughputs", 1, NULL, OPT_THROUGHPUTS }, { "failures", 1, NULL, OPT_FAILURES },
	{ "drop-unfit", 0, NULL, OPT_DROP }, { "set", 1, NULL, OPT_SET }, { "seed", 1, NULL, OPT_SEED },
	{ "until", 1, NULL, OPT_UNTIL }, { "record", 1, NULL, OPT_RECORD }, { "db", 1, NULL, OPT_DB },
	{ "fresh", 0, NULL, OPT_FRESH }, { "out", 1, NULL, OPT_OUT }, { "no-figures", 0, NULL, OPT_NO_FIGURES },
	{ "json", 0, NULL, OPT_JSON }, { "check", 0, NULL, OPT_CHECK }, { "policy-timeout", 1, NULL, OPT_TIMEOUT },
	{ NULL, 0, NULL, 0 } };

struct request {
	cJSON *scenario;
	struct study_output output;
	const char **sets; /* applied last, in order */
	size_t n_sets, cap_sets;
	const char *source; /* the one positional argument */
};

static void put(cJSON *o, const char *key, const char *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(o, key);
	cJSON_AddStringToObject(o, key, value);
}

static void add_policies(cJSON *o, const char *list)
{
	cJSON *a = cJSON_GetObjectItemCaseSensitive(o, "policies");
	if (!a)
		a = cJSON_AddArrayToObject(o, "policies");
	for (const char *s = list; *s;) {
		size_t n = strcspn(s, ",");
		char *name = mem_strndup(s, n);
		if (*name)
			cJSON_AddItemToArray(a, cJSON_CreateString(name));
		mem_free(name);
		s += n + (s[n] == ',');
	}
}

static int parse_threads(const char *text, int *out, struct orr_error *err)
{
	int64_t v;
	if (!num_int(text, strlen(text), &v) || v < 1 || v > 4096)
		return orr_fail(err, ORR_EINPUT, "-j: expected a whole number from 1 to 4096, found \"%.40s\"", text);
	*out = (int)v;
	return ORR_OK;
}

static int take_option(struct request *r, int opt, int argc, char **argv, struct orr_error *err)
{
	static const struct {
		int opt;
		const char *key;
	} direct[] = { { OPT_FORMAT, "format" }, { OPT_CLUSTER, "cluster" }, { OPT_PLACEMENT, "placement" },
		{ OPT_THROUGHPUTS, "throughputs" }, { OPT_SEED, "seed" }, { OPT_UNTIL, "until" },
		{ OPT_RECORD, "record" }, { OPT_TIMEOUT, "policy_timeout" } };
	for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
		if (opt == direct[i].opt) {
			put(r->scenario, direct[i].key, optarg);
			return ORR_OK;
		}
	switch (opt) {
	case OPT_POLICY:
		add_policies(r->scenario, optarg);
		return ORR_OK;
	case OPT_FAILURES: {
		struct sbuf b = { 0 };
		sbuf_printf(&b, "failures.trace=%s", optarg);
		int rc = scenario_set(r->scenario, sbuf_text(&b), err);
		sbuf_free(&b);
		return rc;
	}
	case OPT_DROP:
		put(r->scenario, "drop_unfit", "true");
		return ORR_OK;
	case OPT_SET:
		MEM_GROW(r->sets, r->n_sets, r->cap_sets);
		r->sets[r->n_sets++] = optarg;
		return ORR_OK;
	case OPT_DB:
		r->output.db = optarg;
		return ORR_OK;
	case OPT_FRESH:
		r->output.fresh = true;
		return ORR_OK;
	case OPT_OUT:
		r->output.out_dir = optarg;
		return ORR_OK;
	case OPT_NO_FIGURES:
		r->output.no_figures = true;
		return ORR_OK;
	case OPT_JSON:
		r->output.json = true;
		return ORR_OK;
	case OPT_CHECK:
		r->output.check = true;
		return ORR_OK;
	case 'j':
		return parse_threads(optarg, &r->output.threads, err);
	case 'q':
		r->output.quiet = true;
		return ORR_OK;
	default:
		return cli_bad_option(argc, argv, opt, long_options, err);
	}
}

static int parse(int argc, char **argv, struct request *r, struct orr_error *err)
{
	int opt, rc = ORR_OK;
	optind = 1;
	opterr = 0;
	*r = (struct request){ .scenario = cJSON_CreateObject() };
	while (!rc && (opt = getopt_long(argc, argv, ":j:q", long_options, NULL)) != -1)
		rc = take_option(r, opt, argc, argv, err);
	if (rc)
		return rc;
	if (optind < argc)
		r->source = argv[optind++];
	if (optind < argc)
		return orr_fail(err, ORR_EINPUT, "one argument too many: \"%.80s\"", argv[optind]);
	return ORR_OK;
}

static void request_free(struct request *r)
{
	cJSON_Delete(r->scenario);
	mem_free(r->sets);
}

/* Reads the scenario file under what the flags have set. */
static int load_below(struct request *r, const char *path, struct orr_error *err)
{
	cJSON *file = scenario_read(path, err);
	if (!file)
		return ORR_EINPUT;
	for (cJSON *m = r->scenario->child; m; m = m->next) {
		cJSON_DeleteItemFromObjectCaseSensitive(file, m->string);
		cJSON_AddItemToObject(file, m->string, cJSON_Duplicate(m, 1));
	}
	cJSON_Delete(r->scenario);
	r->scenario = file;
	return ORR_OK;
}

static int apply_sets(struct request *r, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < r->n_sets; i++)
		rc = scenario_set(r->scenario, r->sets[i], err);
	return rc;
}

static int run_jobs(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = parse(argc, argv, &r, err);
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "jobs: no TRACE given (a file, or a generator such as philly-like); see --help");
	if (!rc) {
		put(r.scenario, "trace", r.source);
		rc = apply_sets(&r, err);
	}
	if (!rc)
		rc = jobs_study(r.scenario, &r.output, err);
	request_free(&r);
	return rc;
}

static int run_scenario(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = parse(argc, argv, &r, err);
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "run: no SCENARIO.json given; see --help");
	if (!rc)
		rc = load_below(&r, r.source, err);
	if (!rc)
		rc = apply_sets(&r, err);
	if (!rc)
		rc = jobs_study(r.scenario, &r.output, err);
	if (rc && !strncmp(err->text, "scenario: ", 10)) { /* say which */
		struct orr_error inner = *err;
		orr_fail(err, rc, "%.200s: %s", r.source, inner.text + 10);
	}
	request_free(&r);
	return rc;
}

static int show_scenario(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	struct jobs_scenario s = { 0 };
	if (argc < 2 || strcmp(argv[1], "show"))
		return orr_fail(err, ORR_EINPUT, "scenario: expected \"show\"; see --help");
	int rc = parse(argc - 1, argv + 1, &r, err);
	size_t n = r.source ? strlen(r.source) : 0;
	if (!rc && !r.source)
		rc = orr_fail(err, ORR_EINPUT, "scenario show: no SCENARIO.json or TRACE given; see --help");
	else if (!rc && n > 5 && !strcmp(r.source + n - 5, ".json"))
		rc = load_below(&r, r.source, err);
	else if (!rc)
		put(r.scenario, "trace", r.source);
	if (!rc)
		rc = apply_sets(&r, err);
	if (!rc)
		rc = jobs_scenario_resolve(r.scenario, &s, err);
	if (!rc) {
		char *text = jobs_scenario_show(&s);
		puts(text);
		mem_free(text);
	}
	jobs_scenario_free(&s);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_jobs = { "jobs", "replay a trace of cluster jobs under several policies", jobs_help,
	run_jobs };
const struct cli_command cmd_run = { "run", "carry out a scenario file", run_help, run_scenario };
const struct cli_command cmd_scenario = { "scenario", "show what flags or a file amount to", scenario_help,
	show_scenario };

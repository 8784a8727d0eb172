/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/request.h"

#include "base/mem.h"
#include "base/num.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum {
	OPT_FIRST = 256,
	OPT_POLICY,
	OPT_SET,
	OPT_SCENARIO,
	OPT_DB,
	OPT_FRESH,
	OPT_IN_PROCESS,
	OPT_OUT,
	OPT_NO_FIGURES,
	OPT_JSON,
	OPT_TABLE,
	OPT_CHECK,
	OPT_KEY,
	OPT_FLAG /* first option number of the flags of worlds */
};

/* Flags of every world. key: the scenario key that the flag sets. */
static const struct common_flag {
	const char *name, *arg;
	int opt;
	const char *key, *doc;
} common_flags[] = {
	{ "policy", "LIST", OPT_POLICY, NULL, NULL },
	{ "set", "PATH=VALUE", OPT_SET, NULL, NULL },
	{ "seed", "N", OPT_KEY, "seed", "seed of every random stream (default 1)" },
	{ "replications", "N", OPT_KEY, "replications",
		"number of replications, each with different random numbers; more than\none gives means with intervals (default 1)" },
	{ "until-precision", "X", OPT_KEY, "until_precision",
		"add replications until the half-width of every policy's intervals is at\nmost X of the mean (such as 0.05): from 10 to "
		"1000, or to --replications N" },
	{ "precision-of", "METRICS", OPT_KEY, "precision_of",
		"columns of the table to which --until-precision applies (default: the first mean)" },
	{ "compare", "WITH", OPT_KEY, "compare",
		"with replications: p-values, intervals and ranks hold simultaneously for all\npairs of policies (all, the default), for "
		"pairs "
		"with the first policy (first), or for\neach policy against the best of the others (best)" },
	{ "equal-within", "BOUND", OPT_KEY, "equal_within",
		"with replications: test which policies are equal within 2%, 30s, a number in the\nunit of the metric, or "
		"METRIC=BOUND,.." },
	{ "db", "FILE", OPT_DB, NULL, "store the runs in this database; an existing one is reused" },
	{ "fresh", NULL, OPT_FRESH, NULL, "repeat runs that the database already has" },
	{ "out", "DIR", OPT_OUT, NULL, "write CSV files, summary.csv and figures (PDF, SVG, PNG)" },
	{ "no-figures", NULL, OPT_NO_FIGURES, NULL, "with --out: no figures" },
	{ "json", NULL, OPT_JSON, NULL, "results as JSON on standard output" },
	{ "table", "FORMAT", OPT_TABLE, NULL, "form of the printed table: text, markdown, latex, csv or json (as --json)" },
	{ "check", NULL, OPT_CHECK, NULL, "verify the conservation laws at run time" },
	{ "in-process", NULL, OPT_IN_PROCESS, NULL,
		"plugins run in the process of orrery, for a debugger; default: each run in a separate process" },
	{ "policy-timeout", "S", OPT_KEY, "policy_timeout", "limit on the duration of one policy call, in s (default 60)" },
};
enum { COMMON = sizeof common_flags / sizeof *common_flags, MOST_FLAGS = 128 };

/* The flags of one command. */
struct flags {
	struct option longs[COMMON + MOST_FLAGS + 2];
	const struct world_flag *flag[MOST_FLAGS]; /* flags by number: option OPT_FLAG + i */
	int n_longs, n_flags;
};

static bool has_flag(const struct flags *f, const char *name)
{
	for (int i = 0; i < f->n_flags; i++)
		if (!strcmp(f->flag[i]->name, name))
			return true;
	return false;
}

static void add_flags(struct flags *f, const struct world *w, bool is_verb)
{
	for (const struct world_flag *x = w->flags; x && x->name; x++) {
		/* A flag has the same meaning in all worlds that have it (tests/study/unit_worlds.c). */
		if ((x->kind == WORLD_FLAG_VERB && !is_verb) || has_flag(f, x->name) || f->n_flags == MOST_FLAGS)
			continue;
		f->longs[f->n_longs++] = (struct option){ x->name, x->arg ? required_argument : no_argument, NULL, OPT_FLAG + f->n_flags };
		f->flag[f->n_flags++] = x;
	}
}

static void list_flags(const struct world *of, struct flags *f)
{
	*f = (struct flags){ .n_longs = 0 };
	for (int i = 0; i < COMMON; i++) {
		const struct common_flag *c = &common_flags[i];
		f->longs[f->n_longs++] = (struct option){ c->name, c->arg ? required_argument : no_argument, NULL, c->opt };
	}
	f->longs[f->n_longs++] = (struct option){ of ? "scenario" : "world", required_argument, NULL, of ? OPT_SCENARIO : OPT_KEY };
	if (of)
		add_flags(f, of, true);
	for (const struct world *const *w = worlds; !of && *w; w++)
		add_flags(f, *w, false);
}

void request_put(struct request *r, const char *key, const char *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(r->scenario, key);
	cJSON_AddStringToObject(r->scenario, key, value);
}

static void add_names(cJSON *o, const char *key, const char *list)
{
	cJSON *a = cJSON_GetObjectItemCaseSensitive(o, key);
	if (!a)
		a = cJSON_AddArrayToObject(o, key);
	for (const char *s = list; *s;) {
		size_t n = strcspn(s, ",");
		char *name = mem_strndup(s, n);
		if (*name)
			cJSON_AddItemToArray(a, cJSON_CreateString(name));
		mem_free(name);
		s += n + (s[n] == ',');
	}
}

static void add_set(struct request *r, char *pair)
{
	MEM_GROW(r->sets, r->n_sets, r->cap_sets);
	r->sets[r->n_sets++] = pair;
}

int request_threads(const char *text, int *out, struct orr_error *err)
{
	int64_t v;
	if (!num_int(text, strlen(text), &v) || v < 1 || v > 4096)
		return orr_fail(err, ORR_EINPUT, "-j: expected a whole number from 1 to 4096, found \"%.40s\"", text);
	*out = (int)v;
	return ORR_OK;
}

/* Returns the key of a flag of every world; "world" for --world, which is not in the table. */
static const char *key_of(const char *flag)
{
	for (int i = 0; i < COMMON; i++)
		if (!strcmp(common_flags[i].name, flag))
			return common_flags[i].key;
	return "world";
}

static int take_common(struct request *r, int opt, const char *name, struct orr_error *err)
{
	switch (opt) {
	case OPT_POLICY:
		add_names(r->scenario, "policies", optarg);
		return ORR_OK;
	case OPT_KEY:
		request_put(r, key_of(name), optarg);
		return ORR_OK;
	case OPT_SET:
		add_set(r, mem_strdup(optarg));
		return ORR_OK;
	case OPT_SCENARIO:
		r->file = optarg;
		return ORR_OK;
	case OPT_DB:
		r->output.db = optarg;
		return ORR_OK;
	case OPT_FRESH:
		r->output.fresh = true;
		return ORR_OK;
	case OPT_IN_PROCESS:
		r->output.in_process = true;
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
	case OPT_TABLE:
		return grid_format_named(optarg, &r->output.table, err);
	case OPT_CHECK:
		r->output.check = true;
		return ORR_OK;
	case 'j':
		return request_threads(optarg, &r->output.threads, err);
	default:
		r->output.quiet = true; /* -q */
		return ORR_OK;
	}
}

static char *pair_of(const char *key, const char *value)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s=%s", key, value);
	return sbuf_steal(&b);
}

static int take_flag(struct request *r, const struct world_flag *f, struct orr_error *err)
{
	const char *value = f->arg ? optarg : f->value;
	switch (f->kind) {
	case WORLD_FLAG_KEY:
		if (strchr(f->key, '.'))
			add_set(r, pair_of(f->key, value));
		else
			request_put(r, f->key, value);
		return ORR_OK;
	case WORLD_FLAG_OBJECT: {
		char *pair = pair_of(f->key, value);
		int rc = scenario_set(r->scenario, pair, err);
		mem_free(pair);
		return rc;
	}
	case WORLD_FLAG_SCENARIO:
		r->file = value;
		return ORR_OK;
	case WORLD_FLAG_LIST:
		add_names(r->scenario, f->key, value);
		return ORR_OK;
	default:
		MEM_GROW(r->extra, r->output.n_extras, r->cap_extras);
		r->extra[r->output.n_extras++] = (struct world_extra){ f->name, value };
		r->output.extra = r->extra;
		return ORR_OK;
	}
}

/* Returns the flag for -o, which is short for --output in worlds that have it. */
static const struct world_flag *output_flag(const struct flags *f)
{
	for (int i = 0; i < f->n_flags; i++)
		if (!strcmp(f->flag[i]->name, "output"))
			return f->flag[i];
	return NULL;
}

int request_parse(int argc, char **argv, const struct world *of, struct request *r, struct orr_error *err)
{
	struct flags f;
	int opt, at = 0, rc = ORR_OK;
	list_flags(of, &f);
	optind = 1;
	opterr = 0;
	*r = (struct request){ .scenario = cJSON_CreateObject() };
	while (!rc && (opt = getopt_long(argc, argv, output_flag(&f) ? ":j:qo:" : ":j:q", f.longs, &at)) != -1) {
		if (opt == 'o')
			rc = take_flag(r, output_flag(&f), err);
		else if (opt == '?' || opt == ':')
			rc = cli_bad_option(argc, argv, opt, f.longs, err);
		else if (opt >= OPT_FLAG)
			rc = take_flag(r, f.flag[opt - OPT_FLAG], err);
		else
			rc = take_common(r, opt, f.longs[at].name, err);
	}
	if (rc)
		return rc;
	if (optind < argc)
		r->source = argv[optind++];
	if (optind < argc)
		return orr_fail(err, ORR_EINPUT, "unexpected argument \"%.80s\": expected at most one argument", argv[optind]);
	return ORR_OK;
}

void request_free(struct request *r)
{
	cJSON_Delete(r->scenario);
	for (size_t i = 0; i < r->n_sets; i++)
		mem_free(r->sets[i]);
	mem_free(r->sets);
	mem_free(r->extra);
}

void request_put_below(struct request *r, cJSON *scenario)
{
	for (cJSON *m = r->scenario->child; m; m = m->next) {
		cJSON_DeleteItemFromObjectCaseSensitive(scenario, m->string);
		cJSON_AddItemToObject(scenario, m->string, cJSON_Duplicate(m, 1));
	}
	cJSON_Delete(r->scenario);
	r->scenario = scenario;
}

int request_load_below(struct request *r, const char *path, struct orr_error *err)
{
	cJSON *file = scenario_read(path, err);
	if (!file)
		return ORR_EINPUT;
	request_put_below(r, file);
	return ORR_OK;
}

int request_apply_sets(struct request *r, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < r->n_sets; i++)
		rc = scenario_set(r->scenario, r->sets[i], err);
	return rc;
}

void request_name_file(const struct request *r, struct orr_error *err)
{
	const char *file = r->file ? r->file : r->source;
	if (!file || strncmp(err->text, "scenario: ", 10))
		return;
	struct orr_error inner = *err;
	orr_fail(err, inner.code, "%.200s: %s", file, inner.text + 10);
}

/* ---- help ---- */

void request_put_option(struct sbuf *out, const char *name, const char *arg, const char *doc)
{
	char left[64];
	snprintf(left, sizeof left, "%.30s%s%.20s", name, arg ? " " : "", arg ? arg : "");
	sbuf_printf(out, "  %-20s ", left);
	for (; *doc; doc++) {
		sbuf_putc(out, *doc);
		if (*doc == '\n')
			sbuf_printf(out, "%23s", "");
	}
	sbuf_putc(out, '\n');
}

void request_put_common(struct sbuf *out)
{
	for (int i = 0; i < COMMON; i++) {
		char name[40];
		snprintf(name, sizeof name, "--%s", common_flags[i].name);
		if (common_flags[i].doc)
			request_put_option(out, name, common_flags[i].arg, common_flags[i].doc);
	}
	request_put_option(out, "-j", "N", "number of runs in parallel: policies and their replications (default: all cores)");
	request_put_option(out, "-q", NULL, "errors only: no table, no progress, no remarks (--json still prints)");
}

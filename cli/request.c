/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/request.h"

#include "base/mem.h"
#include "base/num.h"

#include <getopt.h>
#include <string.h>

enum {
	OPT_FIRST = 256,
	OPT_POLICY,
	OPT_FAILURES,
	OPT_CAPACITY,
	OPT_DROP,
	OPT_SET,
	OPT_DB,
	OPT_FRESH,
	OPT_OUT,
	OPT_NO_FIGURES,
	OPT_JSON,
	OPT_CHECK,
	OPT_TIMELINE,
	OPT_MODEL,
	OPT_SCENARIO,
	OPT_FIND_RATE,
	OPT_ATTAINMENT,
	OPT_EXACT,
	OPT_REPAIR,
	OPT_KEY /* this and what follows: a key of the scenario */
};

/* key: set to the value as it stands; one with a dot is an option of the world, set like --set. */
static const struct known_option {
	const char *name;
	int has_value, opt;
	unsigned worlds;
	const char *key;
} known_options[] = {
	{ "policy", 1, OPT_POLICY, REQUEST_ALL, NULL },
	{ "set", 1, OPT_SET, REQUEST_ALL, NULL },
	{ "db", 1, OPT_DB, REQUEST_ALL, NULL },
	{ "fresh", 0, OPT_FRESH, REQUEST_ALL, NULL },
	{ "out", 1, OPT_OUT, REQUEST_ALL, NULL },
	{ "no-figures", 0, OPT_NO_FIGURES, REQUEST_ALL, NULL },
	{ "json", 0, OPT_JSON, REQUEST_ALL, NULL },
	{ "check", 0, OPT_CHECK, REQUEST_ALL, NULL },
	{ "cluster", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP | REQUEST_SERVE, "cluster" },
	{ "seed", 1, OPT_KEY, REQUEST_ALL, "seed" },
	{ "policy-timeout", 1, OPT_KEY, REQUEST_ALL, "policy_timeout" },
	{ "world", 1, OPT_KEY, REQUEST_ANY, "world" },
	{ "failures", 1, OPT_FAILURES, REQUEST_JOBS | REQUEST_SERVE, NULL },
	{ "capacity", 1, OPT_CAPACITY, REQUEST_JOBS, NULL },
	{ "drop-unfit", 0, OPT_DROP, REQUEST_JOBS, NULL },
	{ "format", 1, OPT_KEY, REQUEST_JOBS | REQUEST_SERVE | REQUEST_SPOT, "format" },
	{ "placement", 1, OPT_KEY, REQUEST_JOBS | REQUEST_SERVE, "placement" },
	{ "throughputs", 1, OPT_KEY, REQUEST_JOBS, "throughputs" },
	{ "sharing", 1, OPT_KEY, REQUEST_JOBS, "sharing" },
	{ "until", 1, OPT_KEY, REQUEST_JOBS | REQUEST_SERVE | REQUEST_SPOT, "until" },
	{ "record", 1, OPT_KEY, REQUEST_JOBS | REQUEST_SERVE | REQUEST_SPOT, "record" },
	{ "timeline", 1, OPT_TIMELINE, REQUEST_STEP, NULL },
	{ "batch", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP, "batch" },
	{ "network", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP | REQUEST_SERVE, "network" },
	{ "device", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP | REQUEST_SERVE, "device" },
	{ "precision", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP | REQUEST_SERVE, "precision" },
	{ "profile", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP | REQUEST_SERVE, "profile" },
	{ "cost-samples", 1, OPT_KEY, REQUEST_JOBS | REQUEST_STEP, "cost_samples" },
	{ "model", 1, OPT_MODEL, REQUEST_SERVE, NULL },
	{ "tp", 1, OPT_KEY, REQUEST_SERVE, "tp" },
	{ "pp", 1, OPT_KEY, REQUEST_SERVE, "pp" },
	{ "replicas", 1, OPT_KEY, REQUEST_SERVE, "replicas" },
	{ "kv-blocks", 1, OPT_KEY, REQUEST_SERVE, "kv_blocks" },
	{ "compress", 1, OPT_KEY, REQUEST_SERVE, "compress" },
	{ "prices", 1, OPT_KEY, REQUEST_SERVE | REQUEST_SPOT, "prices" },
	{ "replications", 1, OPT_KEY, REQUEST_SERVE | REQUEST_SPOT, "replications" },
	{ "job", 1, OPT_KEY, REQUEST_SPOT, "job" },
	{ "exact", 0, OPT_EXACT, REQUEST_SPOT, NULL },
	{ "repair", 0, OPT_REPAIR, REQUEST_SPOT, NULL },
	{ "router", 1, OPT_KEY, REQUEST_SERVE, "serve.router" },
	{ "slo", 1, OPT_KEY, REQUEST_SERVE, "serve.slo" },
	{ "slo-ttft", 1, OPT_KEY, REQUEST_SERVE, "serve.slo_ttft" },
	{ "slo-tpot", 1, OPT_KEY, REQUEST_SERVE, "serve.slo_tpot" },
	{ "scenario", 1, OPT_SCENARIO, REQUEST_VERB, NULL },
	{ "find-rate", 1, OPT_FIND_RATE, REQUEST_VERB, NULL },
	{ "attainment", 1, OPT_ATTAINMENT, REQUEST_VERB, NULL },
};

enum { KNOWN = sizeof known_options / sizeof *known_options };

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

static void take_key(struct request *r, const char *key, const char *value)
{
	struct sbuf b = { 0 };
	if (!strchr(key, '.')) {
		request_put(r, key, value);
		return;
	}
	sbuf_printf(&b, "%s=%s", key, value);
	add_set(r, sbuf_steal(&b));
}

int request_threads(const char *text, int *out, struct orr_error *err)
{
	int64_t v;
	if (!num_int(text, strlen(text), &v) || v < 1 || v > 4096)
		return orr_fail(err, ORR_EINPUT, "-j: expected a whole number from 1 to 4096, found \"%.40s\"", text);
	*out = (int)v;
	return ORR_OK;
}

static int take_option(struct request *r, int opt, struct orr_error *err)
{
	switch (opt) {
	case OPT_POLICY:
		add_names(r->scenario, "policies", optarg);
		return ORR_OK;
	case OPT_FAILURES:
	case OPT_CAPACITY: {
		struct sbuf b = { 0 };
		sbuf_printf(&b, "%s.trace=%s", opt == OPT_CAPACITY ? "capacity" : "failures", optarg);
		int rc = scenario_set(r->scenario, sbuf_text(&b), err);
		sbuf_free(&b);
		return rc;
	}
	case OPT_DROP:
		request_put(r, "drop_unfit", "true");
		return ORR_OK;
	case OPT_SET:
		add_set(r, mem_strdup(optarg));
		return ORR_OK;
	case OPT_REPAIR:
		add_set(r, mem_strdup("trace_options.repair=all"));
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
	case OPT_EXACT:
		r->output.exact = true;
		return ORR_OK;
	case OPT_TIMELINE:
		r->output.timeline = optarg;
		return ORR_OK;
	case OPT_MODEL:
		add_names(r->scenario, "models", optarg);
		return ORR_OK;
	case OPT_SCENARIO:
		r->file = optarg;
		return ORR_OK;
	case OPT_FIND_RATE:
		r->find_rate = optarg;
		return ORR_OK;
	case OPT_ATTAINMENT:
		r->attainment = optarg;
		return ORR_OK;
	case 'j':
		return request_threads(optarg, &r->output.threads, err);
	default:
		r->output.quiet = true; /* -q */
		return ORR_OK;
	}
}

int request_parse(int argc, char **argv, unsigned worlds, struct request *r, struct orr_error *err)
{
	struct option longs[KNOWN + 1] = { { NULL, 0, NULL, 0 } };
	const char *key[KNOWN] = { NULL };
	int opt, rc = ORR_OK, n = 0;
	for (int i = 0; i < KNOWN; i++) {
		const struct known_option *k = &known_options[i];
		if (!(k->worlds & worlds))
			continue;
		key[n] = k->key;
		longs[n] = (struct option){ k->name, k->has_value, NULL, k->opt == OPT_KEY ? OPT_KEY + n : k->opt };
		n++;
	}
	optind = 1;
	opterr = 0;
	*r = (struct request){ .scenario = cJSON_CreateObject() };
	while (!rc && (opt = getopt_long(argc, argv, ":j:q", longs, NULL)) != -1) {
		if (opt == '?' || opt == ':')
			rc = cli_bad_option(argc, argv, opt, longs, err);
		else if (opt >= OPT_KEY)
			take_key(r, key[opt - OPT_KEY], optarg);
		else
			rc = take_option(r, opt, err);
	}
	if (rc)
		return rc;
	if (optind < argc)
		r->source = argv[optind++];
	if (optind < argc)
		return orr_fail(err, ORR_EINPUT, "one argument too many: \"%.80s\"", argv[optind]);
	return ORR_OK;
}

void request_free(struct request *r)
{
	cJSON_Delete(r->scenario);
	for (size_t i = 0; i < r->n_sets; i++)
		mem_free(r->sets[i]);
	mem_free(r->sets);
}

int request_load_below(struct request *r, const char *path, struct orr_error *err)
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

int request_apply_sets(struct request *r, struct orr_error *err)
{
	int rc = ORR_OK;
	for (size_t i = 0; !rc && i < r->n_sets; i++)
		rc = scenario_set(r->scenario, r->sets[i], err);
	return rc;
}

/* A file may be of any world. */
static int check_world(const struct request *r, const char *kind, struct orr_error *err)
{
	const char *is;
	int rc = scenario_kind(r->scenario, &is, err);
	if (!rc && strcmp(is, kind) != 0)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"%s\" (orrery run carries out scenarios of any world)", kind);
	return rc;
}

int request_complete(struct request *r, const char *kind, struct orr_error *err)
{
	bool has_format = cJSON_GetObjectItemCaseSensitive(r->scenario, "format");
	int rc = r->file ? request_load_below(r, r->file, err) : ORR_OK;
	if (rc)
		return rc;
	if (r->source && !has_format) /* what the file says of its own trace is of no use */
		cJSON_DeleteItemFromObjectCaseSensitive(r->scenario, "format");
	if (!r->file)
		request_put(r, "world", kind);
	if (r->source)
		request_put(r, "trace", r->source);
	rc = request_apply_sets(r, err);
	return rc ? rc : check_world(r, kind, err);
}

void request_name_file(const struct request *r, struct orr_error *err)
{
	const char *file = r->file ? r->file : r->source;
	if (!file || strncmp(err->text, "scenario: ", 10))
		return;
	struct orr_error inner = *err;
	orr_fail(err, inner.code, "%.200s: %s", file, inner.text + 10);
}

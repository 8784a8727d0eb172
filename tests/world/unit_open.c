/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening scenarios: the values of keys, every error message of the code that all worlds share, and the inputs of a run's hash.
 * Inputs of several worlds: options, resampling, failures, capacity, GPU types. Expected values follow from
 * docs/reference/options.md.
 */
#include "base/mem.h"
#include "hwmodel/device.h"
#include "tests/tap.h"
#include "world/cost_samples.h"
#include "world/gpu_types.h"
#include "world/inputs_capacity.h"
#include "world/run.h"

#include <stdlib.h>
#include <unistd.h>

static const struct world_output quiet = { .quiet = true, .threads = 1 };

/* Parses JSON that has ' for ". */
static cJSON *parsed(const char *text)
{
	char *copy = mem_strdup(text);
	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	cJSON *o = cJSON_Parse(copy);
	mem_free(copy);
	return o;
}

static struct scenario *opened(const char *text, struct orr_error *err)
{
	cJSON *o = parsed(text);
	*err = (struct orr_error){ 0 };
	struct scenario *s = scenario_open(o, &quiet, err);
	cJSON_Delete(o);
	return s;
}

#define JOBS(more) "{'trace': 'poisson:rate=0.5,n=10', 'cluster': '2x4:v100', 'policies': ['fifo']" more "}"
#define THREE(more) "{'trace': 'three.csv', 'cluster': '2x4:v100'" more "}"
#define FIFO ", 'policies': ['fifo']"

/* ---- refusals ---- */

static void test_refusals(void)
{
	static const struct {
		const char *json, *said;
	} wrong[] = {
		{ JOBS(", 'world': 'chess'"),
			"scenario: $.world: expected \"jobs\", \"step\", \"serve\", \"spot\", \"mixed\" or \"plan\", found \"chess\"" },
		{ JOBS(", 'world': []"), "scenario: $.world: expected a string or a number" },
		{ JOBS(", 'seeed': 3"), "scenario: unknown key \"seeed\": did you mean \"seed\"?" },
		{ JOBS(", 'trase': 3"), "scenario: unknown key \"trase\": did you mean \"trace\"?" },
		{ JOBS(", 'qqqqqqqqqqqq': 3"), "scenario: unknown key \"qqqqqqqqqqqq\": expected \"trace\" or another known key" },
		{ JOBS(", 'seed': -1"), "scenario: $.seed: expected a number from 0 to 9e+18, found \"-1\"" },
		{ JOBS(", 'seed': []"), "scenario: $.seed: expected a string or a number" },
		{ JOBS(", 'placement': 'spreado'"),
			"scenario: $.placement: expected count, consolidate, spread, best-fit, topology or fgd, "
			"found \"spreado\": did you mean \"spread\"?" },
		{ JOBS(", 'placement': 'zzzzzzz'"),
			"scenario: $.placement: expected count, consolidate, spread, best-fit, topology or fgd, found \"zzzzzzz\"" },
		{ JOBS(", 'replications': 0"), "scenario: $.replications: expected a number from 1 to 1000000, found \"0\"" },
		{ JOBS(", 'until': 'soon'"), "scenario: $.until: expected a time such as 30d, found \"soon\"" },
		{ JOBS(", 'until': -1"), "scenario: $.until: expected a time such as 30d, found \"-1\"" },
		{ JOBS(", 'precision_of': 'jct_mean'"),
			"scenario: $.precision_of: expected this key only together with \"until_precision\"" },
		{ JOBS(", 'until_precision': 0.1, 'replications': 9"),
			"scenario: $.replications: expected at least 10 together with \"until_precision\", found \"9\"" },
		{ JOBS(", 'until_precision': 0.1, 'precision_of': 'jct_mean,makspan'"),
			"scenario: $.precision_of: expected metrics that are columns of the table, separated by commas, found "
			"\"makspan\"" },
		{ JOBS(", 'until_precision': 2"), "scenario: $.until_precision: expected a number from 0 to 1, found \"2\"" },
		{ JOBS(", 'policy_timeout': 0"), "scenario: $.policy_timeout: expected a number from 0.1 to 1000000000, found \"0\"" },
		{ JOBS(", 'jobs': 3"), "scenario: $.jobs: expected an object" },
		{ JOBS(", 'jobs': {'gantt': []}"), "scenario: $.jobs.gantt: expected a string, a number, true or false" },
		{ "{'trace': 'poisson:rate=0.5,n=10'" FIFO "}", "scenario: expected a cluster (--cluster 64x8:v100, or a file)" },
		{ THREE(""), "expected a policy, such as --policy fifo,fjf; 'orrery policy list' shows all policies" },
		{ THREE(", 'policies': []"), "expected a policy, such as --policy fifo,fjf; 'orrery policy list' shows all policies" },
		{ THREE(", 'policies': [7]"), "scenario: $.policies[0]: expected a name or an object" },
		{ THREE(", 'policies': ['fifo', []]"), "scenario: $.policies[1]: expected a name or an object" },
		{ THREE(", 'policies': ['fifo', {'policy': 'las', 'labelo': 'x'}]"),
			"scenario: $.policies[1]: unknown key \"labelo\": expected \"policy\", \"label\" or \"set\"" },
		{ THREE(", 'policies': ['fifo', 'fifo']"), "two policies have the label \"fifo\": expected fifo@LABEL for one of them" },
		{ THREE(", 'policies': ['fifo@a', 'las', 'sjf@a']"),
			"two policies have the label \"a\": expected sjf@LABEL for one of them" },
		{ THREE(", 'policies': ['fifi']"), "unknown policy \"fifi\": did you mean \"fifo\"? 'orrery policy list' shows all "
						   "policies; a plugin is named by its file" },
		{ THREE(", 'policies': ['zzzzzzzzzz']"),
			"unknown policy \"zzzzzzzzzz\": 'orrery policy list' shows all policies; a plugin is named by its file" },
		{ THREE(", 'policies': ['on-demand']"),
			"policy \"on-demand\" is a spot policy (for 'orrery spot'): expected a jobs policy" },
		{ THREE(", 'policies': [{'policy': 'las', 'set': 3}]"), "scenario: $.set: expected an object" },
		{ THREE(", 'replications': 3" FIFO), "scenario: $.replications: no input is random, so 3 replications would be 3 equal "
						     "runs: expected 1, or --resample day, which draws days of the trace" },
		{ THREE(", 'resample': 'often'" FIFO),
			"scenario: $.resample: expected day, hour or a time above 0 such as 6h, found \"often\"" },
		{ THREE(", 'resample': 0" FIFO), "scenario: $.resample: expected day, hour or a time above 0 such as 6h, found \"0\"" },
		{ THREE(", 'trace_options': []" FIFO), "scenario: $.trace_options: expected an object" },
		{ THREE(", 'failures': {'trace': 'x.csv', 'mtbf': '9h'}" FIFO),
			"failures: \"trace\" and \"mtbf\" exclude each other: expected only one of them" },
		{ THREE(", 'failures': {'mtbf': '9h', 'mttr': 0}" FIFO), "failures: mttr: expected a time above 0" },
		{ THREE(", 'failures': {'mtbf': '9h', 'types': 'a100'}" FIFO),
			"failures: types: the cluster has no GPUs of type \"a100\": expected types that the cluster has" },
		{ THREE(", 'failures': {'types': 'v100'}" FIFO),
			"failures: types: \"v100\": expected this option only together with \"mtbf\"" },
		{ THREE(", 'capacity': {}" FIFO), "capacity: expected capacity.trace, a file or a generator of instances" },
		{ THREE(", 'failures': {'mtbf': '9h'}, 'capacity': {'trace': 'hazard:p=0.1'}" FIFO),
			"\"capacity\" and \"failures\" exclude each other: expected only one of them" },
		{ THREE(", 'capacity': {'trace': 'hazard:p=0.1', 'options': 'a'}" FIFO),
			"capacity.options: expected NAME=VALUE,NAME=VALUE.., found \"a\"" },
		{ THREE(", 'capacity': {'trace': 'hazard:p=0.1', 'options': 'a=1,=2'}" FIFO),
			"capacity.options: expected NAME=VALUE,NAME=VALUE.., found \"=2\"" },
		{ THREE(", 'capacity': {'trace': 'price:zones=z,length=1d'}" FIFO),
			"capacity.trace: price:zones=z,length=1d: this trace has no instances: expected a trace of instances "
			"(capacity.prices "
			"names a file of prices)" },
		{ THREE(", 'capacity': {'trace': 'hazard:p=0.1,length=4h', 'prices': 'hazard:p=0.1,length=4h'}" FIFO),
			"capacity.prices: hazard:p=0.1,length=4h: this file has no prices: expected rows with the columns "
			"time_s,zone,type,usd_per_hour" },
		{ THREE(", 'capacity': {'trace': 'hazard:p=0.1,length=0', 'repeat': true}" FIFO),
			"capacity.repeat: hazard:p=0.1,length=0: this trace has no end: expected a file with an end and a length above 0" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct orr_error err;
		struct scenario *s = opened(wrong[i].json, &err);
		ok(!s && err.code == ORR_EINPUT, "refused: %s", wrong[i].json);
		same_text(err.text, wrong[i].said, "with the reason");
		scenario_close(s);
	}
}

/* ---- values ---- */

static void test_values(void)
{
	struct orr_error err;
	struct scenario *s = opened(JOBS(""), &err);
	if (!ok(s != NULL, "defaults: %s", err.text))
		return;
	ok(s->seed == 1 && s->replications == 1 && s->until_ns == ORR_NEVER && s->record == RECORD_ALL && !(s->until_precision > 0) &&
			s->policy_timeout_s == 60,
		"defaults: seed 1, one replication, no end, all rows");
	ok(s->n_policies == 1 && !strcmp(s->policy[0].label, "fifo") && scenario_level(s) == 0.95,
		"a policy is labelled with its name; intervals are of 95 %%");
	ok(scenario_is_random(s), "a generator is random");
	scenario_close(s);
	s = opened("{'trace': 'three.csv', 'cluster': '2x4:v100', 'seed': '7', 'until': '2h', 'record': 'sample', 'policy_timeout': 0.5, "
		   "'policies': ['fifo@x', "
		   "{'policy': 'las', 'label': ''}, {'policy': 'sjf', 'label': 'y'}]}",
		&err);
	if (!ok(s != NULL, "given values: %s", err.text))
		return;
	ok(s->seed == 7 && s->until_ns == INT64_C(7200000000000) && s->record == RECORD_SAMPLE && s->policy_timeout_s == 0.5,
		"given values replace defaults");
	ok(s->n_policies == 3 && !strcmp(s->policy[0].label, "x") && !strcmp(s->policy[1].label, "las") && !strcmp(s->policy[2].label, "y"),
		"labels");
	ok(!scenario_is_random(s), "a file is not random");
	struct run_result r = { .label = (char[]){ "las" } }, other = { .label = (char[]){ "x" } };
	ok(scenario_policy_of(s, &r) == 1 && scenario_policy_of(s, &other) == 0, "the policy of a result is the one with its label");
	scenario_close(s);
	s = opened(JOBS(", 'jobs': {'ci_level': 0.9}"), &err);
	ok(s && scenario_level(s) == 0.9, "ci_level is the level of intervals");
	scenario_close(s);
	s = opened("{'world': 'step', 'model': 'lenet5', 'cluster': '2x1:v100', 'policies': ['allreduce']}", &err);
	ok(s && scenario_level(s) == 0.95, "95 %% in a world without it: %s", err.text);
	scenario_close(s);
	s = opened(JOBS(", 'until_precision': 0.1"), &err);
	ok(s && s->replications == 1000, "until_precision: at most 1000 replications by default");
	scenario_close(s);
	s = opened(JOBS(", 'until_precision': 0.1, 'replications': 10, 'precision_of': 'jct_mean,makespan'"), &err);
	ok(s && s->replications == 10 && s->until_precision == 0.1, "a given number of replications, at least 10, is the limit: %s",
		err.text);
	scenario_close(s);
	struct world_extra extra[] = { { "lost", "3" } };
	struct world_output o = { .quiet = true, .threads = 1, .extra = extra, .n_extras = 1 };
	cJSON *json = parsed(JOBS(""));
	ok(!scenario_open(json, &o, &err), "a flag of no world is refused");
	same_text(err.text, "--lost: this option belongs to 'orrery run': expected an option of this command",
		"the error names the command of the flag");
	cJSON_Delete(json);
	ok(world_threads(&(struct world_output){ .threads = 3 }) == 3 && world_threads(&quiet) == 1 &&
			world_threads(&(struct world_output){ .threads = 0 }) >= 1 &&
			world_threads(&(struct world_output){ .threads = -2 }) == 1,
		"threads are those given, else one per core");
	o = (struct world_output){ .extra = extra, .n_extras = 1 };
	ok(!world_extra(&o, "other") && !strcmp(world_extra(&o, "lost"), "3"), "values of flags are found by name");
}

static void test_scalars(void)
{
	static const struct {
		const char *json, *text;
	} scalars[] = { { "3", "3" }, { "-3.5", "-3.5" }, { "'a'", "a" }, { "true", "true" }, { "false", "false" },
		{ "999999999999999", "999999999999999" }, { "1e15", "1e+15" }, { "-999999999999999", "-999999999999999" },
		{ "-1e15", "-1e+15" }, { "0.1", "0.1" }, { "null", NULL }, { "[1]", NULL }, { "{}", NULL } };
	for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
		cJSON *v = parsed(scalars[i].json);
		char *text = scenario_scalar(v);
		ok(text ? scalars[i].text && !strcmp(text, scalars[i].text) : !scalars[i].text, "%s as text: %s", scalars[i].json,
			text ? text : "none");
		mem_free(text);
		cJSON_Delete(v);
	}
	cJSON *o = parsed("{'n': 5, 'low': 1, 'high': 9, 'off': 10, 'word': 'x', 'list': [], 'text': '7'}");
	static const struct {
		const char *key, *said;
		int64_t value;
	} ints[] = { { "n", "", 5 }, { "low", "", 1 }, { "high", "", 9 }, { "text", "", 7 }, { "none", "", 4 },
		{ "off", "scenario: $.d.off: expected a whole number from 1 to 9, found \"10\"", 0 },
		{ "word", "scenario: $.d.word: expected a whole number from 1 to 9, found \"x\"", 0 },
		{ "list", "scenario: $.d.list: expected a whole number from 1 to 9, found \"a list or an object\"", 0 } };
	for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
		struct orr_error err = { 0 };
		int64_t v = 0;
		int rc = inputs_int(o, "d.", ints[i].key, 4, 1, 9, &v, &err);
		ok(!rc == !*ints[i].said && (rc || v == ints[i].value), "a whole number: %s", ints[i].key);
		same_text(err.text, ints[i].said, "a refused number has the expected message");
	}
	cJSON_Delete(o);
}

/* ---- the hash ---- */

static void hash_of(const char *json, char hash[65])
{
	struct orr_error err;
	struct scenario *s = opened(json, &err);
	strcpy(hash, "none");
	if (s)
		mem_free(scenario_text(s, 0, hash));
	else
		printf("# %s\n", err.text);
	scenario_close(s);
}

/* Tests that the hash covers the contents of inputs and the parameters, but not the names of files and labels. */
static void test_hash(void)
{
	static const struct {
		const char *one, *other, *what;
		bool are_equal;
	} pairs[] = { { THREE(FIFO), THREE(", 'policies': ['fifo@other']"), "a label", true },
		{ THREE(FIFO), THREE(", 'policies': ['fifo', 'las']"), "another policy beside it", true },
		{ THREE(FIFO), "{'trace': 'same.csv', 'cluster': '2x4:v100'" FIFO "}", "the name of a trace", true },
		{ THREE(FIFO), THREE(", 'seed': '1'" FIFO), "the default, given", true },
		{ THREE(FIFO), "{'trace': 'more.csv', 'cluster': '2x4:v100'" FIFO "}", "the contents of a trace", false },
		{ THREE(FIFO), THREE(", 'seed': 2" FIFO), "the seed", false },
		{ THREE(FIFO), THREE(", 'policies': ['las']"), "the policy", false },
		{ THREE(FIFO), THREE(", 'until': '1d'" FIFO), "the end", false },
		{ THREE(FIFO), THREE(", 'record': 'summary'" FIFO), "the rows kept", false },
		{ THREE(", 'policies': ['las']"), THREE(", 'policies': [{'policy': 'las', 'set': {'limits': '1s,2s'}}]"),
			"a parameter of the policy", false },
		{ JOBS(", 'replications': 3"), JOBS(", 'replications': 4"), "the number of replications", false },
		{ JOBS(", 'until_precision': 0.1"), JOBS(", 'until_precision': 0.2"), "the precision", false },
		{ JOBS(", 'until_precision': 0.1"), JOBS(", 'until_precision': 0.1, 'precision_of': 'makespan'"), "its metrics", false },
		{ JOBS(", 'until_precision': 0.1"),
			"{'trace': 'poisson:rate=0.5,n=10', 'cluster': '2x4:v100', 'policies': ['fifo', 'las'], 'until_precision': 0.1}",
			"with a precision, the other policies", false },
		{ THREE(", 'failures': {'trace': 'f.csv'}" FIFO), THREE(", 'failures': {'trace': 'g.csv'}" FIFO),
			"the name of a file of failures", true },
		{ THREE(", 'failures': {'trace': 'f.csv'}" FIFO), THREE(FIFO), "failures", false } };
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		char one[65], other[65];
		hash_of(pairs[i].one, one);
		hash_of(pairs[i].other, other);
		ok(strlen(one) == 64 && strlen(other) == 64 && !strcmp(one, other) == pairs[i].are_equal, "%s %s the hash", pairs[i].what,
			pairs[i].are_equal ? "does not change" : "changes");
	}
}

/* ---- inputs ---- */

static void test_inputs(void)
{
	struct orr_error err;
	struct scenario *s = opened(THREE(", 'resample': 'hour'" FIFO), &err);
	int64_t block = 0;
	ok(s && !inputs_resample(s, &block, &err) && block == INT64_C(3600000000000), "blocks of an hour");
	if (s) {
		struct run_result *r = result_new();
		inputs_note_resample(s, 0, "jobs", r);
		ok(!result_find_note(r, "remark"), "no block, no remark");
		inputs_note_resample(s, 6, "jobs", r);
		same_text(result_find_note(r, "remark"),
			"resampled: jobs are from 6 blocks of the trace, drawn with replacement (--resample hour)", "else it is marked");
		result_free(r);
	}
	scenario_close(s);
	s = opened(THREE(", 'resample': 'day'" FIFO), &err);
	ok(s && !inputs_resample(s, &block, &err) && block == INT64_C(86400000000000) && scenario_is_random(s),
		"blocks of a day, drawn at random");
	scenario_close(s);
	s = opened(THREE(", 'resample': '90m'" FIFO), &err);
	ok(s && !inputs_resample(s, &block, &err) && block == INT64_C(5400000000000), "blocks may have any length");
	scenario_close(s);

	cJSON *o = parsed("{'trace_options': {'a': 1, 'b': 'x', 'c': true}}");
	char *options[INPUTS_MOST_OPTIONS + 1];
	ok(!inputs_trace_options(o, options, &err) && !strcmp(options[0], "a=1") && !strcmp(options[1], "b=x") &&
			!strcmp(options[2], "c=true") && !options[3],
		"options of a trace");
	inputs_options_free(options);
	cJSON_Delete(o);

	static const struct {
		const char *json;
		bool spares;
	} types[] = { { JOBS(", 'failures': {'mtbf': '9h'}"), false },
		{ "{'trace': 'poisson:rate=0.5,n=10', 'cluster': '2x4:v100,1x4:a100', 'failures': {'mtbf': '9h', 'types': 'a100'}" FIFO "}",
			true },
		{ "{'trace': 'poisson:rate=0.5,n=10', 'cluster': '2x4:v100,1x4:a100', 'failures': {'mtbf': '9h', 'types': 'a100|v100'}" FIFO
		  "}",
			false },
		{ "{'trace': 'poisson:rate=0.5,n=10', 'cluster': '2x4:v100,1x4:a100', 'failures': {'mtbf': '9h', 'types': ''}" FIFO "}",
			false } };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		s = opened(types[i].json, &err);
		ok(s && inputs_spares_types(s) == types[i].spares, "%s: %s",
			types[i].spares ? "some GPU types do not fail" : "all GPU types fail", err.text);
		scenario_close(s);
	}
}

static void test_capacity(void)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load("4x1", &err);
	char many[600] = "{'capacity': {'trace': 'hazard:p=0.1,length=4h', 'options': '";
	for (int i = 0; i <= INPUTS_MOST_OPTIONS; i++)
		strcat(many, i ? ",a=1" : "a=1");
	strcat(many, "'}}");
	cJSON *o = parsed(many);
	struct inputs_capacity y = { 0 };
	ok(inputs_capacity(o, c, 1, false, &y, &err) == ORR_EINPUT, "65 options are too many");
	same_text(err.text, "capacity.options: too many options: expected at most 64", "by one");
	inputs_capacity_free(&y);
	cJSON_Delete(o);
	o = parsed("{'capacity': {'trace': 'hazard:p=0.1,length=4h', 'prices': 'price:zones=z,length=1d', 'repeat': true, "
		   "'startup': '2m', 'notice': 30, 'price': 3}}");
	struct inputs_capacity x = { 0 };
	if (ok(c && !inputs_capacity(o, c, 1, false, &x, &err), "capacity: %s", err.text)) {
		ok(x.is_given && x.config.repeats && x.config.startup_ns == INT64_C(120000000000) &&
				x.config.notice_ns == INT64_C(30000000000) && x.config.usd_per_hour == 3 && x.config.set && x.config.prices,
			"the values of the capacity");
		ok(inputs_capacity_is_random(&x) && inputs_has_instances(x.set) && !inputs_has_instances(x.prices),
			"a generator is random");
		cJSON *shown = cJSON_CreateObject();
		inputs_add_capacity(shown, &x);
		const char *hash = cJSON_GetStringValue(cJSON_GetObjectItem(shown, "capacity_sha256")),
			   *prices = cJSON_GetStringValue(cJSON_GetObjectItem(shown, "capacity_prices_sha256"));
		ok(hash && prices && cJSON_GetObjectItem(shown, "capacity"), "the resolved scenario has the capacity and its hashes");
		cJSON_Delete(shown);
	}
	inputs_capacity_free(&x);
	cJSON_Delete(o);
	o = cJSON_CreateObject();
	ok(!inputs_capacity(o, c, 1, true, &x, &err) && !x.is_given && !inputs_capacity_is_random(&x), "none is given");
	inputs_add_capacity(o, &x);
	ok(!o->child, "nor shown");
	cJSON_Delete(o);
	cluster_free(c);
}

static bool knows_abacus(const void *ctx, const char *type)
{
	return ctx && !strcmp(type, "abacus");
}

static void test_gpu_types(void)
{
	static const struct {
		const char *type, *device;
	} names[] = { { "v100", "v100" }, { "v100-spot", "v100" }, { "-spot", "-spot" }, { "x-spot", "x" }, { "spot", "spot" },
		{ "v100-spots", "v100-spots" } };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char name[64];
		gpu_type_device_name(names[i].type, name);
		same_text(name, names[i].device, "-spot is no part of a device's name");
	}
	ok(gpu_type_is_generic("gpu") && gpu_type_is_generic("CPU") && !gpu_type_is_generic("v100"), "gpu and cpu are no devices");
	static const struct {
		const char *spec;
		bool is_known;
	} clusters[] = { { "2x4:v100", true }, { "2x4", true }, { "2x4:v100-spot", true }, { "2x4:abacus", true },
		{ "2x4:v100,1x1:slide", false } };
	for (size_t i = 0; i < sizeof clusters / sizeof *clusters; i++) {
		struct orr_error err = { 0 };
		struct cluster *c = cluster_load(clusters[i].spec, &err);
		int rc = gpu_types_check(c, knows_abacus, c, "; remedy", &err);
		ok(!rc == clusters[i].is_known, "GPU types of %s: %s", clusters[i].spec, err.text);
		if (rc)
			ok(strstr(err.text, "cluster: GPU type \"slide\": ") && strstr(err.text, "; remedy"),
				"the type and the remedy are named");
		ok(!gpu_types_refuse_speeds(c, "serve", &err), "no speeds");
		cluster_free(c);
	}
}

/* Tests that other worlds refuse speeds, because only jobs have the recorded durations to which speeds are relative. */
static void test_speeds(void)
{
	struct orr_error err = { 0 };
	struct cluster *c = cluster_load("2x4:v100,4x8:mygpu:speed=1.5", &err);
	ok(c && !gpu_types_check(c, NULL, NULL, "", &err), "a type with a speed need be no device: %s", err.text);
	ok(c && gpu_types_refuse_speeds(c, "serve", &err) == ORR_EINPUT, "a speed is refused in worlds without recorded durations");
	same_text(err.text,
		"cluster: GPU type \"mygpu\": \"speed=\" applies to recorded jobs only: expected the name of a device, or no type, for "
		"'orrery serve'",
		"with the reason");
	cluster_free(c);
}

/* Tests quantiles of 0, 1, .. 40: the 2.5 % quantile is 1. */
static void test_cost_samples(void)
{
	struct run_result *r = result_new();
	double v[41], same[3] = { 5, 5, 5 };
	for (int i = 0; i < 41; i++)
		v[i] = (i * 7) % 41;
	result_metric(r, "a", 3, NAN, NAN);
	result_metric(r, "b", 5, 1, 2);
	cost_samples_put(r, "a", v, 41);
	cost_samples_put(r, "b", same, 3);
	ok(r->metrics[0].ci_low == 1 && r->metrics[0].ci_high == 39 && r->metrics[0].value == 3,
		"an interval reaches from the 2.5 %% to the 97.5 %% quantile");
	ok(isnan(r->metrics[1].ci_low) && isnan(r->metrics[1].ci_high), "equal values have none");
	result_free(r);
	char text[100] = "times of x";
	cost_samples_say(7, text, sizeof text);
	same_text(text, "times of x; intervals: 95 % of 7 draws of its laws", "the remark states the number of draws");
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

int main(void)
{
	char dir[256], clean[300];
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof dir, "%.200s/orrery-open.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir) || chdir(dir))
		return 2;
	put_file("three.csv", "submit_s,duration_s,gpus\n0,10,1\n1,5,1\n2,1,1\n");
	put_file("same.csv", "submit_s,duration_s,gpus\n0,10,1\n1,5,1\n2,1,1\n");
	put_file("more.csv", "submit_s,duration_s,gpus\n0,10,1\n1,5,1\n2,1,2\n");
	put_file("f.csv", "time_s,node,event\n5,0,fail\n9,0,repair\n");
	put_file("g.csv", "time_s,node,event\n5,0,fail\n9,0,repair\n");
	test_refusals();
	test_values();
	test_scalars();
	test_hash();
	test_inputs();
	test_capacity();
	test_gpu_types();
	test_speeds();
	test_cost_samples();
	snprintf(clean, sizeof clean, "rm -r '%s'", dir);
	if (chdir("/") || system(clean))
		printf("# %s remains\n", dir);
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/scenario_spot.h"

#include "base/mem.h"
#include "base/num.h"
#include "study/elastic_cache.h"
#include "study/inputs_capacity.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REPLICATIONS = 1000000 };

static const char *const known_keys[] = { "trace", "world", "format", "trace_options", "prices", "job", "spot", "policies", "seed",
	"replications", "until", "record", "policy_timeout",
	/* what scenario show adds, so that its output is a scenario again */
	"trace_sha256", "prices_sha256", "job_sha256", "steps_sha256", "spot_files_sha256", NULL };

/* ---- the job ---- */

static int resolve_job(const cJSON *o, struct spot_scenario *s, struct orr_error *err)
{
	struct elastic *job = NULL;
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "job");
	struct orr_error why = { 0 };
	if (!v)
		return orr_fail(err, ORR_EINPUT,
			"scenario: no job is named (--job NAME or FILE.json; orrery model list --elastic shows those that ship)");
	if (cJSON_IsObject(v)) {
		char *text = cJSON_PrintUnformatted(v);
		job = elastic_parse("scenario: $.job", text, strlen(text), &why);
		cJSON_free(text);
		if (!job)
			return orr_fail(err, why.code, "%s", why.text);
	} else if (!cJSON_IsString(v) || !*v->valuestring) {
		return orr_fail(err, ORR_EINPUT, "scenario: $.job: expected the name of an elastic job, a file, or a job as an object");
	} else if (!(job = elastic_load(v->valuestring, &why))) {
		return orr_fail(err, why.code, "job: %s", why.text);
	}
	const struct elastic_entry *entry = elastic_cached(job, err);
	if (!entry)
		return err->code;
	s->given_job = cJSON_Duplicate(v, 1);
	s->job = entry->job;
	s->steps_hash = entry->steps_hash;
	return ORR_OK;
}

/* ---- capacity and prices ---- */

static struct availset *load_trace(const cJSON *o, const struct spot_scenario *s, struct orr_error *err)
{
	char *format = NULL, *options[INPUTS_MOST_OPTIONS + 1] = { NULL };
	struct availset *a = NULL;
	int rc = scenario_text_at(o, "format", "auto", &format, err);
	if (!rc)
		rc = inputs_trace_options(o, options, err);
	if (!rc)
		a = availset_load(s->source, format, (const char *const *)options, s->base.seed, err);
	inputs_options_free(options);
	mem_free(format);
	return a;
}

static int resolve_trace(const cJSON *o, struct spot_scenario *s, struct orr_error *err)
{
	int rc = scenario_text_at(o, "trace", NULL, &s->source, err);
	if (!rc && (!s->source || !*s->source))
		rc = orr_fail(err, ORR_EINPUT, "scenario: no trace is named");
	if (!rc && !(s->capacity = load_trace(o, s, err)))
		rc = err && err->code ? err->code : ORR_EINPUT;
	if (!rc && availset_has_prices(s->capacity) && !inputs_has_instances(s->capacity))
		rc = orr_fail(err, ORR_EINPUT, "%.200s: has prices and no instances; prices go with --prices, beside a trace of instances",
			s->source);
	return rc;
}

/* Is there a price for any of the trace's zones? */
static bool has_price_for(const struct availset *prices, const struct availset *capacity)
{
	uint32_t n, m;
	const uint32_t *priced = availset_zones(prices, &n), *zone = availset_zones(capacity, &m);
	for (uint64_t i = 0; availset_is_loaded(prices) && i < availset_count(prices); i++)
		if (availset_at(prices, i)->kind == AVAIL_PRICE && !availset_at(prices, i)->zone)
			return true; /* of all zones */
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < m; k++)
			if (!strcmp(strtab_text(availset_strings(prices), priced[i]), strtab_text(availset_strings(capacity), zone[k])))
				return true;
	return !n;
}

static int resolve_prices(const cJSON *o, struct spot_scenario *s, struct orr_error *err)
{
	struct orr_error why = { 0 };
	int rc = scenario_text_at(o, "prices", "", &s->price_source, err);
	if (rc || !*s->price_source)
		return rc;
	if (!strcmp(s->price_source, "-") && !strcmp(s->source, "-"))
		return orr_fail(err, ORR_EINPUT, "prices: standard input is the trace already; give a file");
	s->prices = availset_load(s->price_source, NULL, NULL, s->base.seed, &why);
	if (!s->prices)
		return orr_fail(err, why.code, "prices: %s", why.text);
	if (!availset_has_prices(s->prices))
		return orr_fail(err, ORR_EINPUT,
			"prices: %.200s: has no prices; expected rows of time_s,zone,type,usd_per_hour (docs/traces.md)", s->price_source);
	if (!has_price_for(s->prices, s->capacity)) {
		uint32_t n;
		const char *zone = strtab_text(availset_strings(s->prices), *availset_zones(s->prices, &n));
		return orr_fail(err, ORR_EINPUT,
			"prices: %.200s: are for zones that the trace does not have (%.60s%s); leave zones out of them, or name the "
			"trace's (its column zone, "
			"zones=.., trace_options.zone)",
			s->price_source, zone, n > 1 ? ", .." : "");
	}
	return ORR_OK;
}

/* ---- the rest ---- */

static int resolve_scalars(const cJSON *o, struct spot_scenario *s, struct orr_error *err)
{
	int64_t replications = 1;
	int rc = inputs_until(o, &s->until_ns, err);
	if (!rc)
		rc = inputs_record(o, &s->record, err);
	if (!rc)
		rc = inputs_int(o, "", "replications", 1, 1, MAX_REPLICATIONS, &replications, err);
	s->replications = (uint32_t)replications;
	return rc;
}

/* Every value that decides the result, defaults filled in, inputs with their hashes. */
static void describe(const cJSON *given, struct spot_scenario *s)
{
	const cJSON *options = cJSON_GetObjectItemCaseSensitive(given, "trace_options");
	cJSON *o = s->base.resolved = cJSON_CreateObject();
	char number[NUM_REAL_MAX];
	cJSON_AddStringToObject(o, "world", "spot");
	cJSON_AddStringToObject(o, "trace", s->source);
	cJSON_AddStringToObject(o, "format", availset_format(s->capacity));
	cJSON_AddStringToObject(o, "trace_sha256", availset_hash(s->capacity));
	if (options)
		cJSON_AddItemToObject(o, "trace_options", cJSON_Duplicate(options, 1));
	if (s->prices) {
		cJSON_AddStringToObject(o, "prices", s->price_source);
		cJSON_AddStringToObject(o, "prices_sha256", availset_hash(s->prices));
	}
	cJSON_AddItemToObject(o, "job", cJSON_Duplicate(s->given_job, 1));
	cJSON_AddStringToObject(o, "job_sha256", s->job->hash);
	if (*s->steps_hash)
		cJSON_AddStringToObject(o, "steps_sha256", s->steps_hash);
	cJSON_AddItemToObject(o, "spot", scenario_args_json(s->options, spot_options));
	cJSON *files = scenario_files_json(s->options, spot_options);
	if (files)
		cJSON_AddItemToObject(o, "spot_files_sha256", files);
	scenario_add_seed(o, &s->base);
	num_put_real(number, s->replications);
	cJSON_AddStringToObject(o, "replications", number);
	inputs_add_until(o, s->until_ns);
	cJSON_AddStringToObject(o, "record", inputs_record_name(s->record));
}

int spot_scenario_resolve(const cJSON *scenario, struct spot_scenario *s, struct orr_error *err)
{
	*s = (struct spot_scenario){ 0 };
	cJSON *o = cJSON_Duplicate(scenario, 1);
	const char *kind;
	int rc = scenario_check_keys(o, known_keys, err);
	if (!rc)
		rc = scenario_kind(o, &kind, err);
	if (!rc && strcmp(kind, "spot") != 0)
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.world: expected \"spot\"");
	if (!rc)
		rc = scenario_resolve_seed(o, &s->base, err);
	if (!rc)
		rc = resolve_scalars(o, s, err);
	if (!rc && !(s->options = scenario_args_at(o, "spot", spot_options, "spot", err)))
		rc = ORR_EINPUT;
	if (!rc)
		rc = scenario_resolve_policies(o, "spot", &s->base, err);
	if (!rc)
		rc = resolve_job(o, s, err);
	if (!rc)
		rc = resolve_trace(o, s, err);
	if (!rc)
		rc = resolve_prices(o, s, err);
	if (!rc)
		describe(o, s);
	cJSON_Delete(o);
	return rc;
}

void spot_scenario_free(struct spot_scenario *s)
{
	availset_free(s->capacity);
	availset_free(s->prices);
	cJSON_Delete(s->given_job);
	args_free(s->options);
	mem_free(s->source);
	mem_free(s->price_source);
	scenario_free(&s->base);
	*s = (struct spot_scenario){ 0 };
}

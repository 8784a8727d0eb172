/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/inputs.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define DAY_NS INT64_C(86400000000000)

/* ---- options of a trace ---- */

int inputs_trace_options(const cJSON *o, char *options[INPUTS_MOST_OPTIONS + 1], struct orr_error *err)
{
	int n = 0;
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "trace_options");
	options[0] = NULL;
	if (list && !cJSON_IsObject(list))
		return orr_fail(err, ORR_EINPUT, "scenario: $.trace_options: expected an object");
	for (const cJSON *m = list ? list->child : NULL; m && n < INPUTS_MOST_OPTIONS; m = m->next) {
		char *value = scenario_scalar(m);
		struct sbuf b = { 0 };
		sbuf_printf(&b, "%s=%s", m->string, value ? value : "");
		mem_free(value);
		options[n++] = sbuf_steal(&b);
		options[n] = NULL;
	}
	return ORR_OK;
}

void inputs_options_free(char *options[INPUTS_MOST_OPTIONS + 1])
{
	for (int i = 0; options[i]; i++)
		mem_free(options[i]);
	options[0] = NULL;
}

void inputs_tell_repaired(const char *source, uint64_t rows, const char *first)
{
	fprintf(stderr, "orrery: %s: wrong rows left out (repair): %llu; the first: %s\n", utf8_shown(source), (unsigned long long)rows,
		utf8_shown(first));
}

/* ---- resampling ---- */

int inputs_resample(const struct scenario *s, int64_t *block_ns, struct orr_error *err)
{
	const char *text = orr_arg_text(s->keys, "resample");
	*block_ns = !strcmp(text, "day") ? DAY_NS : !strcmp(text, "hour") ? DAY_NS / 24 : 0;
	if (!*text || *block_ns || (num_duration_ns(text, strlen(text), block_ns) && *block_ns > 0))
		return ORR_OK;
	return orr_fail(err, ORR_EINPUT, "scenario: $.resample: expected day, hour or a time above 0 such as 6h, found \"%.60s\"", text);
}

void inputs_add_resample(cJSON *o, const struct scenario *s)
{
	if (*orr_arg_text(s->keys, "resample"))
		cJSON_AddStringToObject(o, "resample", orr_arg_text(s->keys, "resample"));
}

void inputs_note_resample(const struct scenario *s, uint64_t blocks, const char *what, struct run_result *r)
{
	char text[400];
	snprintf(text, sizeof text, "resampled: %s are from %llu blocks of the trace, drawn with replacement (--resample %.60s)", what,
		(unsigned long long)blocks, orr_arg_text(s->keys, "resample"));
	if (blocks)
		result_note(r, "remark", text);
}

/* ---- failures ---- */

const struct orr_param inputs_failure_params[] = { ORR_PARAM_TEXT("trace", "",
							   "CSV file with the columns time_s,node,event, where event is fail or repair"),
	ORR_PARAM_TIME("mtbf", "0", "mean time between failures of one node; 0: nodes do not fail"),
	ORR_PARAM_TIME("mttr", "1h", "mean time to repair a node"),
	ORR_PARAM_TEXT("types", "", "GPU types whose nodes fail by mtbf, separated by | (default: all)"), ORR_PARAM_END };

int inputs_failures(const cJSON *o, const struct cluster *c, struct orr_args **args, struct failures **out, struct orr_error *err)
{
	*args = scenario_args_at(o, "failures", inputs_failure_params, "failures", err);
	if (!*args)
		return ORR_EINPUT;
	const char *path = orr_arg_text(*args, "trace");
	int64_t mtbf = orr_arg_time_ns(*args, "mtbf"), mttr = orr_arg_time_ns(*args, "mttr");
	if (*path && mtbf)
		return orr_fail(err, ORR_EINPUT, "failures: \"trace\" and \"mtbf\" exclude each other: expected only one of them");
	if (mtbf && mttr <= 0)
		return orr_fail(err, ORR_EINPUT, "failures: mttr: expected a time above 0");
	if (*path && !(*out = failures_from_file(path, c, err)))
		return ORR_EINPUT;
	const char *types = orr_arg_text(*args, "types");
	if (*types && (!mtbf || !cluster_type_mask(c, types)))
		return orr_fail(err, ORR_EINPUT,
			mtbf ? "failures: types: the cluster has no GPUs of type \"%.60s\": expected types that the cluster has"
			     : "failures: types: \"%.60s\": expected this option only together with \"mtbf\"",
			types);
	if (mtbf)
		*out = failures_from_hazard(mtbf, mttr);
	if (mtbf && *types)
		failures_only_types(*out, cluster_type_mask(c, types));
	return ORR_OK;
}

bool inputs_spares_types(const struct scenario *s)
{
	const cJSON *o = cJSON_GetObjectItemCaseSensitive((s->whole ? s->whole : s)->given, "failures");
	const cJSON *types = cJSON_GetObjectItemCaseSensitive(o, "types");
	uint64_t mask = cJSON_IsString(types) && *types->valuestring ? cluster_type_mask(s->cluster, types->valuestring) : UINT64_MAX;
	for (uint32_t t = 0; t < s->cluster->n_types; t++)
		if (!(mask >> t & 1))
			return true;
	return false;
}

int inputs_int(
	const cJSON *o, const char *where, const char *key, int64_t def, int64_t low, int64_t high, int64_t *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	char *text = v ? scenario_scalar(v) : NULL;
	int rc = ORR_OK;
	*out = def;
	if (v && (!text || !num_int(text, strlen(text), out) || *out < low || *out > high))
		rc = orr_fail(err, ORR_EINPUT, "scenario: $.%s%s: expected a whole number from %lld to %lld, found \"%.60s\"", where, key,
			(long long)low, (long long)high, text ? text : "a list or an object");
	mem_free(text);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups of compressed embedding tables on a device, and the served model of such a table. Formulas: docs/models/embed.md#lookups. */
#include "plan/world.h"

#include "base/sbuf.h"
#include "hwmodel/device.h"

#include <math.h>

enum { MAX_BATCH = 4096 };

/* Returns the seconds of one sample, which looks up a feature of each field. */
static double sample_s(const struct orr_plan *p)
{
	const struct device *d = p->of->server;
	double fields = embed_fields(p->of->table), Bps = d->memory_Bps * d->memory_efficiency;
	double indirection_s = embed_code_map(p->code, 0) ? p->of->indirection_s : 0;
	return fields * (embed_code_lookup_bytes(p->code) / Bps + indirection_s);
}

static void note_model(const struct orr_plan *p, double one_s, struct run_result *r)
{
	struct sbuf source = { 0 };
	cJSON *o = cJSON_CreateObject(), *batch = cJSON_CreateArray(), *latency = cJSON_CreateArray();
	sbuf_printf(&source,
		"orrery plan: %.0f vectors of %u values for %llu features in %u fields; times: a launch, and bytes of the lookups / memory "
		"bandwidth of %.60s",
		p->code_value.vectors, embed_dim(p->of->table), (unsigned long long)embed_features(p->of->table),
		embed_fields(p->of->table), p->of->server->name);
	for (int n = 1; n <= MAX_BATCH; n *= 2) {
		cJSON_AddItemToArray(batch, cJSON_CreateNumber(n));
		cJSON_AddItemToArray(latency, cJSON_CreateNumber((p->of->server->launch_s + n * one_s) * 1e3));
	}
	cJSON_AddStringToObject(o, "name", p->label);
	cJSON_AddStringToObject(o, "source", sbuf_text(&source));
	cJSON_AddStringToObject(o, "kind", "table");
	cJSON_AddNumberToObject(o, "weight_bytes", p->code_value.bytes);
	cJSON_AddStringToObject(o, "between", "linear");
	cJSON_AddItemToObject(o, "batch", batch);
	cJSON_AddItemToObject(o, "latency_ms", latency);
	char *text = cJSON_PrintUnformatted(o);
	result_note(r, "plan-file", text);
	cJSON_free(text);
	cJSON_Delete(o);
	sbuf_free(&source);
}

void lookups_report(const struct orr_plan *p, struct run_result *r)
{
	const struct device *d = p->of->server;
	*p->uses |= embed_code_map(p->code, 0) ? PLAN_USED_MAP : 0;
	if (!d)
		return;
	double one_s = sample_s(p);
	result_metric(r, "lookup_bytes", embed_fields(p->of->table) * embed_code_lookup_bytes(p->code), NAN, NAN);
	result_metric(r, "lookup_s", one_s, NAN, NAN);
	result_metric(r, "codes_per_device", floor(d->memory_bytes / p->code_value.bytes), NAN, NAN);
	note_model(p, one_s, r);
}

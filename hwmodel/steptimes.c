/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/steptimes.h"

#include "base/mem.h"
#include "hwmodel/embedded.h"
#include "hwmodel/json.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static int wrong(const char *path, const char *where, const char *expected, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "%.200s: %s: expected %s", path, where, expected);
}

/* Reads [[batch, value], ..]; value is samples/s or ms per step. */
static int read_points(const char *path, const char *where, const cJSON *list, bool is_rate, struct steptime *e, struct orr_error *err)
{
	int n = cJSON_GetArraySize(list);
	if (!cJSON_IsArray(list) || n < 1)
		return wrong(path, where, "\"points\": a list of pairs [batch, value]", err);
	e->batch = mem_zalloc((size_t)n, sizeof *e->batch);
	e->seconds = mem_zalloc((size_t)n, sizeof *e->seconds);
	const cJSON *p;
	cJSON_ArrayForEach(p, list)
	{
		const cJSON *batch = cJSON_GetArrayItem(p, 0), *value = batch ? batch->next : NULL;
		if (!cJSON_IsArray(p) || cJSON_GetArraySize(p) != 2 || !cJSON_IsNumber(batch) || !cJSON_IsNumber(value) ||
			!(batch->valuedouble > 0) || !(value->valuedouble > 0))
			return wrong(path, where, "\"points\": a list of pairs [batch, value], both above 0", err);
		if (e->n && batch->valuedouble <= e->batch[e->n - 1])
			return wrong(path, where, "\"points\": ascending batch sizes", err);
		e->batch[e->n] = batch->valuedouble;
		e->seconds[e->n++] = is_rate ? batch->valuedouble / value->valuedouble : value->valuedouble / 1e3;
	}
	return ORR_OK;
}

static int read_update(const char *path, const char *where, const cJSON *o, struct steptime *e, struct orr_error *err)
{
	static const char *const words[] = { "included", "excluded", "not stated" };
	const char *update = NULL;
	int rc = json_text(path, where, o, "update", true, &update, err);
	for (size_t i = 0; !rc && i < 3; i++)
		if (!strcmp(update, words[i])) {
			e->update = (enum steptime_update)i;
			return json_real(path, where, o, "optimizer_bytes", 0, 64, false, &e->state_bytes, err);
		}
	return rc ? rc : wrong(path, where, "\"update\": included, excluded or not stated", err);
}

static int read_entry(const char *path, const char *where, const cJSON *o, struct steptime *e, struct orr_error *err)
{
	static const char *const keys[] = { "device", "model", "setup", "precision", "update", "optimizer_bytes", "unit", "points",
		"source", NULL };
	const char *device = NULL, *model = NULL, *setup = NULL, *precision = NULL, *unit = NULL, *source = NULL;
	const struct {
		const char *key;
		const char **out;
	} texts[] = { { "device", &device }, { "model", &model }, { "setup", &setup }, { "precision", &precision }, { "unit", &unit },
		{ "source", &source } };
	int rc = json_keys(path, where, o, keys, err);
	for (size_t i = 0; !rc && i < sizeof texts / sizeof *texts; i++)
		rc = json_text(path, where, o, texts[i].key, true, texts[i].out, err);
	if (rc)
		return rc;
	if (!precision_named(precision, &e->precision))
		return wrong(path, where, "\"precision\": fp32, tf32, fp16, bf16 or fp8", err);
	if (strcmp(unit, "samples/s") && strcmp(unit, "ms"))
		return wrong(path, where, "\"unit\": samples/s or ms", err);
	e->device = mem_strdup(device);
	e->model = mem_strdup(model);
	e->setup = mem_strdup(setup);
	e->source = mem_strdup(source);
	rc = read_update(path, where, o, e, err);
	return rc ? rc : read_points(path, where, cJSON_GetObjectItemCaseSensitive(o, "points"), !strcmp(unit, "samples/s"), e, err);
}

struct steptimes *steptimes_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	static const char *const keys[] = { "steps", NULL };
	cJSON *root = json_parse(path, text, n, err);
	if (!root)
		return NULL;
	struct steptimes *t = mem_zalloc(1, sizeof *t);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "steps"), *o;
	int rc = json_keys(path, "$", root, keys, err);
	if (!rc && !cJSON_IsArray(list))
		rc = wrong(path, "$.steps", "a list", err);
	if (!rc)
		t->entry = mem_zalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *t->entry);
	cJSON_ArrayForEach(o, list)
	{
		char where[64];
		if (rc)
			break;
		snprintf(where, sizeof where, "$.steps[%u]", t->n);
		rc = read_entry(path, where, o, &t->entry[t->n++], err);
	}
	cJSON_Delete(root);
	if (!rc)
		return t;
	steptimes_free(t);
	return NULL;
}

struct steptimes *steptimes_load(struct orr_error *err)
{
	const struct embedded_file *f = &embedded_steptimes[0];
	return steptimes_parse(f->name, (const char *)f->text, f->n, err);
}

const struct steptimes *steptimes_shared(void)
{
	static _Atomic(struct steptimes *) parsed;
	struct steptimes *t = atomic_load(&parsed), *other = NULL;
	if (t || !(t = steptimes_load(NULL)))
		return t;
	if (atomic_compare_exchange_strong(&parsed, &other, t))
		return t;
	steptimes_free(t); /* another thread was faster */
	return other;
}

void steptimes_free(struct steptimes *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++) {
		struct steptime *e = &t->entry[i];
		mem_free(e->device);
		mem_free(e->model);
		mem_free(e->setup);
		mem_free(e->source);
		mem_free(e->batch);
		mem_free(e->seconds);
	}
	mem_free(t->entry);
	mem_free(t);
}

/* Compares names of models; "resnet50_v1" equals "ResNet50-v1". */
static bool is_same(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "-_. ");
		b += strspn(b, "-_. ");
		if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return false;
		if (!*a)
			return true;
	}
}

bool steptimes_matches(const struct steptime *e, const char *device, const char *model, enum precision precision)
{
	return e->precision == (precision == PRECISION_BF16 ? PRECISION_FP16 : precision) && is_same(e->device, device) &&
	       is_same(e->model, model);
}

const struct steptime *steptimes_find(
	const struct steptimes *t, const char *device, const char *model, enum precision precision, const char *setup)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct steptime *e = &t->entry[i];
		if (steptimes_matches(e, device, model, precision) && (!setup || strstr(e->setup, setup)))
			return e;
	}
	return NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/prices.h"

#include "hwmodel/embedded.h"
#include "hwmodel/json.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int read_price(const char *path, const char *where, const cJSON *o, struct price *out, struct orr_error *err)
{
	static const char *const keys[] = { "device", "usd_per_gpu_hour", "of", "source", NULL };
	const char *device = NULL, *of = NULL, *source = NULL;
	int rc = json_keys(path, where, o, keys, err);
	if (!rc)
		rc = json_text(path, where, o, "device", true, &device, err);
	if (!rc)
		rc = json_real(path, where, o, "usd_per_gpu_hour", 0, 1e6, true, &out->usd_per_gpu_hour, err);
	if (!rc)
		rc = json_text(path, where, o, "of", true, &of, err);
	if (!rc)
		rc = json_text(path, where, o, "source", true, &source, err);
	if (rc)
		return rc;
	snprintf(out->device, sizeof out->device, "%s", device);
	snprintf(out->of, sizeof out->of, "%s", of);
	snprintf(out->source, sizeof out->source, "%s", source);
	return ORR_OK;
}

static bool price_parse(const char *path, const char *text, size_t n, const char *device, struct price *out, struct orr_error *err)
{
	static const char *const keys[] = { "prices", NULL };
	cJSON *root = json_parse(path, text, n, err);
	if (!root)
		return false;
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "prices"), *o;
	int rc = json_keys(path, "$", root, keys, err), i = 0;
	bool is_found = false;
	if (!rc && !cJSON_IsArray(list))
		rc = orr_fail(err, ORR_EINPUT, "%.200s: $.prices: expected a list", path);
	cJSON_ArrayForEach(o, list)
	{
		char where[64];
		struct price p;
		snprintf(where, sizeof where, "$.prices[%d]", i++);
		if (rc || (rc = read_price(path, where, o, &p, err)))
			break;
		if (!is_found && !strcasecmp(p.device, device)) {
			*out = p;
			is_found = true;
		}
	}
	cJSON_Delete(root);
	return !rc && is_found;
}

bool price_find(const char *device, struct price *out, struct orr_error *err)
{
	const struct embedded_file *f = &embedded_prices[0];
	return price_parse("prices.json", (const char *)f->text, f->n, device, out, err);
}

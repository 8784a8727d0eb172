/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/gpu_types.h"

#include "hwmodel/device.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void gpu_type_device_name(const char *type, char out[64])
{
	snprintf(out, 64, "%s", type);
	size_t n = strlen(out), tail = strlen("-spot");
	if (n > tail && !strcmp(out + n - tail, "-spot"))
		out[n - tail] = '\0';
}

struct device *gpu_type_device(const char *type, struct orr_error *err)
{
	char name[64];
	gpu_type_device_name(type, name);
	return device_load(name, err);
}

bool gpu_type_is_generic(const char *type)
{
	return !strcasecmp(type, "gpu") || !strcasecmp(type, "cpu");
}

int gpu_types_check(const struct cluster *c, bool (*knows)(const void *ctx, const char *type), const void *ctx, const char *remedy,
	struct orr_error *err)
{
	for (uint32_t t = 0; t < c->n_types && !c->is_recorded; t++) {
		const char *type = c->type_name[t];
		struct orr_error why = { 0 };
		if (gpu_type_is_generic(type) || c->type_speed[t] > 0 || (knows && knows(ctx, type)))
			continue;
		struct device *d = gpu_type_device(type, &why);
		if (!d)
			return orr_fail(err, why.code, "cluster: GPU type \"%.60s\": %s%s", type, why.text, remedy);
		device_free(d);
	}
	return ORR_OK;
}

int gpu_types_refuse_speeds(const struct cluster *c, const char *world, struct orr_error *err)
{
	for (uint32_t t = 0; t < c->n_types; t++)
		if (c->type_speed[t] > 0)
			return orr_fail(err, ORR_EINPUT,
				"cluster: GPU type \"%.60s\": \"speed=\" applies to recorded jobs only: expected the name of a device, or "
				"no type, for 'orrery %s'",
				c->type_name[t], world);
	return ORR_OK;
}

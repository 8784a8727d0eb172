/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for the devices where they are not linked: last in the library, so never used once they are there. */
#include "hwmodel/device.h"

#include <string.h>

static const char *const names[PRECISION_COUNT] = { "fp32", "tf32", "fp16", "bf16", "fp8" };

struct device *device_load(const char *name, struct orr_error *err)
{
	orr_fail(err, ORR_EINPUT, "no device \"%.60s\": this program has no devices", name);
	return NULL;
}

void device_free(struct device *d)
{
	(void)d;
}

bool precision_named(const char *name, enum precision *out)
{
	for (int p = 0; p < PRECISION_COUNT; p++)
		if (!strcmp(names[p], name)) {
			*out = (enum precision)p;
			return true;
		}
	return false;
}

const char *precision_name(enum precision p)
{
	return names[p];
}

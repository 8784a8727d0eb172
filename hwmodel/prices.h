/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * prices.h - hourly prices of GPUs
 *
 * Data: hwmodel/prices.json: published on-demand prices of whole instances divided by their number of GPUs, each with its
 * source. Prices change with time, region and contract; a scenario may override them.
 */
#ifndef ORR_HWMODEL_PRICES_H
#define ORR_HWMODEL_PRICES_H

#include <orrery/api.h>

struct price {
	char device[64]; /* device, as named in the catalogue of devices */
	double usd_per_gpu_hour;
	char of[128], source[128];
};

/* Finds the price of a device of the catalogue. Returns false if the list lacks the device or cannot be read (err is then filled
 * in). */
bool price_find(const char *device, struct price *out, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * prices.h - what an hour of a GPU costs
 *
 * Data: hwmodel/prices.json, published on-demand prices of whole instances over their GPUs, each with its source. They
 * change with time, place and contract: whoever has a price of their own names it.
 */
#ifndef ORR_HWMODEL_PRICES_H
#define ORR_HWMODEL_PRICES_H

#include <orrery/api.h>

struct price {
	char device[64]; /* a device of the catalogue */
	double usd_per_gpu_hour;
	char of[128], source[128];
};

/* The price of a device by its name in the catalogue: false if the list has none, or (err filled in) is damaged. */
bool price_find(const char *device, struct price *out, struct orr_error *err);
/* The same in a text of that form; path is for messages. */
bool price_parse(const char *path, const char *text, size_t n, const char *device, struct price *out, struct orr_error *err);

#endif

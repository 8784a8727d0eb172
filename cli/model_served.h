/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_served.h - orrery model list|show --served */
#ifndef ORR_CLI_MODEL_SERVED_H
#define ORR_CLI_MODEL_SERVED_H

#include <orrery/api.h>

struct model_served {
	bool is_wanted, as_json;
	const char *needs_wanted; /* an option was given that requires --served */
	const char *device, *profile, *precision, *weights, *kv;
	int64_t tp, pp, context, group, group_bits;
	bool has_head;
};

/* Handles one option of getopt_long(): s, d, p, T, P, r, w, k, g, G, h or c. */
int model_served_option(struct model_served *o, int opt, const char *value, struct orr_error *err);
int model_served_list(const struct model_served *o, struct orr_error *err);
int model_served_show(const char *name, const struct model_served *o, struct orr_error *err);

#endif

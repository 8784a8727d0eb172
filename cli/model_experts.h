/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_experts.h - orrery model experts: where the tokens of a mixture of experts go */
#ifndef ORR_CLI_MODEL_EXPERTS_H
#define ORR_CLI_MODEL_EXPERTS_H

#include <orrery/api.h>

#include <stdbool.h>
#include <stdint.h>

struct model_experts {
	uint32_t ep, per_node, copies, groups, top_groups; /* 0: default */
	double tokens, skew, capacity;
	const char *loads, *placement; /* file; NULL: by skew */
	uint64_t draws, seed;
	bool as_json;
};
/* Options of the verb, which start with their defaults. model_experts_option() returns false for an option that is not among them. */
void model_experts_begin(struct model_experts *o);
int model_experts_option(struct model_experts *o, int opt, const char *value, struct orr_error *err);
int model_experts_show(const char *model, const struct model_experts *o, struct orr_error *err);

#endif

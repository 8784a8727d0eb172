/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export.h - writes what a policy does in one iteration as a Chakra execution trace
 *
 * docs/models/step-traces.md has the translation of ops to nodes.
 */
#ifndef ORR_STEP_EXPORT_H
#define ORR_STEP_EXPORT_H

#include "step/step.h"

struct export_counts {
	uint32_t ranks;
	uint64_t nodes;
	uint64_t messages; /* messages of 1 byte that stand for dependencies between ranks */
	double sent_bytes; /* bytes of sends and of collectives by ring algorithms, without these messages */
};

/* Writes DIR/NAME.RANK.et, groups.json, network.yml and system.json for the first iteration of the policy. c: as for step_run(). */
int export_chakra(const struct step_config *c, const struct orr_policy *policy, const struct orr_args *args, const char *label,
	const char *dir, const char *name, struct export_counts *out, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * toy.h - the toy world of tests/house/toy_world.sh: items are served one after the other
 *
 * Times: double seconds.
 */
#ifndef ORRERY_TOY_H
#define ORRERY_TOY_H

#include <orrery/policy.h>

struct orr_toy_ops {
	void *(*create)(const struct orr_args *args, struct orr_error *err);
	void (*destroy)(void *self);
	/* Returns the pause before the item with this number. */
	double (*pause_s)(void *self, uint64_t item);
};

#define ORR_POLICY_TOY(ident, doc, params, ops) ORR_POLICY_DECLARE(toy_##ident, ident, doc, "toy", 0u, params, struct orr_toy_ops, ops)

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * speeds.h - speeds of instance types relative to the nodes of the job's step times (spot.speeds)
 */
#ifndef ORR_SPOT_SPEEDS_H
#define ORR_SPOT_SPEEDS_H

#include <orrery/policy.h>

struct speeds {
	struct speed {
		char *type;
		double speed; /* relative speed; 0.5: a step takes twice as long */
	} * speed;
	size_t n, cap;
};

/* Parses "TYPE=SPEED,TYPE=SPEED"; text may be empty. The caller frees *out, also on error. */
int speeds_read(struct speeds *out, const char *text, struct orr_error *err);
/* Returns the speed of a type; NAN: none is given. */
double speeds_of(const struct speeds *s, const char *type);
void speeds_free(struct speeds *s);

#endif

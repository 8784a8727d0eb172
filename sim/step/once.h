/* SPDX-License-Identifier: GPL-3.0-or-later */
/* once.h - time of one collective, or of messages that start together, on an otherwise idle network */
#ifndef ORR_STEP_ONCE_H
#define ORR_STEP_ONCE_H

#include "step/step.h"

struct step_once {
	const struct cluster *cluster;
	const struct topo *topo;
	const struct dnn *dnn;              /* any model; the step world requires one */
	const struct cost *const *cost;     /* costs by GPU type; NULL for types that no member has */
	const struct device *const *device; /* devices by GPU type */
	enum orr_collective_op op;          /* collective of the members, by the rules of step.algorithm=auto */
	const uint32_t *member;             /* GPUs of the topology, in ring order */
	const uint32_t *to;                 /* NULL: a collective; else member[i] sends bytes / n to to[i], all at the same time */
	uint32_t n;
	double bytes; /* bytes, as in struct orr_collective */
};

/* Computes the time. *network_bytes: sum over nodes of the bytes that leave the node of a member. Either result may be NULL. */
int step_once(const struct step_once *q, double *seconds, double *network_bytes, struct orr_error *err);

#endif

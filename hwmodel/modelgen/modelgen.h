/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * modelgen.h - the catalogue of models, from the architectures
 *
 * Each function makes one model out of shapes alone; modelgen writes them to
 * hwmodel/models/NAME.json (`make models`). Layers of ResNets and VGG are named as
 * torchvision and the papers name them.
 */
#ifndef ORR_MODELGEN_H
#define ORR_MODELGEN_H

#include "hwmodel/dnn_plan.h"

struct sbuf;

struct recipe {
	const char *name, *title, *source;
	struct plan *(*make)(const struct recipe *r);
	const void *how; /* what make() needs beside */
};

/* Lists that end with a NULL name. */
extern const struct recipe plain_cnns[], resnets[], inceptions[], transformers[], translators[], recommenders[];

void write_model(const struct plan *p, const struct recipe *r, struct sbuf *out);

/* k x k, stride s, padding p. */
struct conv square(double out, double k, double s, double p, bool bias);

#endif

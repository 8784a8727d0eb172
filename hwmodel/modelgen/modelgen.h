/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * modelgen.h - the catalogue of models, computed from the architectures
 *
 * Each function builds one model from shapes; modelgen writes it to hwmodel/models/NAME.json (`make models`). Layers of ResNets
 * and VGG are named as in torchvision and the papers.
 */
#ifndef ORR_MODELGEN_H
#define ORR_MODELGEN_H

#include "hwmodel/dnn_plan.h"

struct sbuf;

struct recipe {
	const char *name, *title, *source;
	struct plan *(*make)(const struct recipe *r);
	const void *how; /* argument of make() */
};

/* Each list ends with a NULL name. */
extern const struct recipe plain_cnns[], resnets[], inceptions[], transformers[], translators[], recommenders[], graphs[];

void write_model(const struct plan *p, const struct recipe *r, struct sbuf *out);

/* Returns a convolution k x k with stride s and padding p. */
struct conv square(double out, double k, double s, double p, bool bias);

#endif

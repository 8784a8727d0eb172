/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cost_laws.h - which law of a profile each pass over each layer goes by, and the times that it gives
 *
 * A part of cost.c. Laws are looked for once; number 0 means that the profile has none and the roofline of the
 * data sheet answers. With sample k > 0 the parameters of every law are drawn from their covariance, and each
 * shape of call gets one residual of the law's spread: both are functions of (seed, law, k), and of the
 * shape, alone, so that runs which are to be compared see the same draws. docs/models.md, "Step: times by profiles".
 */
#ifndef ORR_HWMODEL_COST_LAWS_H
#define ORR_HWMODEL_COST_LAWS_H

#include "hwmodel/cost.h"

struct laws;

/* o->profile must not be NULL; it and d must outlive what is made. */
struct laws *laws_new(const struct dnn *d, const struct cost_options *o, double element_bytes);
void laws_free(struct laws *x);

/* The family that a pass over layer l belongs to, whether or not it has a law. */
enum cost_family laws_family(enum orr_layer_kind kind);
/* The number of the law for a pass over layer l, 0 if there is none. */
uint32_t laws_number(const struct laws *x, uint32_t l, enum dnn_pass pass);
/* The same for an update with so many bytes of state per parameter. */
uint32_t laws_update(const struct laws *x, double state_bytes);
/* Seconds of one kernel by law `number` > 0. flops < 0: as many as the kernel that was measured does for these bytes. */
double laws_seconds(const struct laws *x, uint32_t number, double flops, double bytes);
/* Its median error, held out where known; NAN: it does not say. */
double laws_error(const struct laws *x, uint32_t number);
bool laws_is_inside(const struct laws *x, uint32_t number, double flops, double bytes);

#endif

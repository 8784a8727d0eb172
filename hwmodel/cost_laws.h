/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cost_laws.h - the laws of a profile that time each pass over each layer
 *
 * Used by cost.c only. Laws are looked up once. Law number 0: the profile has no law, so the data sheet's roofline applies. With
 * sample k > 0 the parameters of every law are drawn from their covariance, and each call shape gets one residual from the law's
 * spread. The draws depend on (seed, law, k), the residuals also on the shape, so compared runs share them (common random numbers).
 * docs/models/devices.md, "Times by profiles".
 */
#ifndef ORR_HWMODEL_COST_LAWS_H
#define ORR_HWMODEL_COST_LAWS_H

#include "hwmodel/cost.h"

struct laws;

/* Looks up the laws. o->profile must not be NULL; it and d must outlive the result. */
struct laws *laws_new(const struct dnn *d, const struct cost_options *o, double element_bytes);
void laws_free(struct laws *x);

/* Returns the family of the kernels of a layer kind, whether or not the profile has a law for it. */
enum cost_family laws_family(enum orr_layer_kind kind);
/* Returns the number of the law for a pass over layer l; 0: none. */
uint32_t laws_number(const struct laws *x, uint32_t l, enum dnn_pass pass);
/* Returns the number of the law for an update with state_bytes of optimizer state per parameter. */
uint32_t laws_update(const struct laws *x, double state_bytes);
/* Returns the seconds of one kernel by law `number` > 0. flops < 0: FLOPs derived from bytes at the ratio of the measured kernel. */
double laws_seconds(const struct laws *x, uint32_t number, double flops, double bytes);
/* Returns the law's median relative error, held out if known; NAN: not stated. */
double laws_error(const struct laws *x, uint32_t number);
bool laws_is_inside(const struct laws *x, uint32_t number, double flops, double bytes);

#endif

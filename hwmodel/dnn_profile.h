/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dnn_profile.h - a model as a table of measured layers: FILE.csv:batch=N[,device=NAME]
 *
 * Columns idx, layer, fwd_ms, bwd_ms, activation_bytes, param_bytes: times and output bytes of one batch of N samples, in FP32.
 * Times of other batches are proportional; times on other devices follow docs/models/plan.md, "Profiles".
 */
#ifndef ORR_HWMODEL_DNN_PROFILE_H
#define ORR_HWMODEL_DNN_PROFILE_H

#include "hwmodel/dnn.h"

/* Returns the text after ".csv" ("", or ":batch=32"); NULL: spec does not name a .csv file. */
const char *dnn_profile_options(const char *spec);
/* Loads the model. An error names file and line. */
struct dnn *dnn_profile_load(const char *spec, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * steptimes.h - published times of a training step on one GPU
 *
 * Data: hwmodel/steptimes.json, a list of entries: who measured what, at which batch sizes.
 * Facts for comparison, and for runs whose compute times are to be those of a published
 * baseline (cost_options.use_measured).
 */
#ifndef ORR_HWMODEL_STEPTIMES_H
#define ORR_HWMODEL_STEPTIMES_H

#include "hwmodel/device.h"

enum steptime_update { STEPTIME_WITH_UPDATE, STEPTIME_WITHOUT_UPDATE, STEPTIME_UPDATE_NOT_STATED };

struct steptime {
	char *device, *model, *setup, *source; /* setup: "TensorFlow 1.1, EC2 p2.8xlarge" */
	enum precision precision;
	enum steptime_update update; /* is the optimizer's update part of the time? */
	double state_bytes;          /* of the optimizer per parameter, if it is */
	uint32_t n;                  /* points, by rising batch */
	double *batch, *seconds;
};

struct steptimes {
	struct steptime *entry;
	uint32_t n;
};

/* The table that the program carries. */
struct steptimes *steptimes_load(struct orr_error *err);
struct steptimes *steptimes_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void steptimes_free(struct steptimes *t);
/* The first entry of device, model and precision (FP16 and BF16 both mean mixed), and whose setup contains `setup`
 * if that is not NULL; NULL if there is none. */
const struct steptime *steptimes_find(
	const struct steptimes *t, const char *device, const char *model, enum precision precision, const char *setup);

#endif

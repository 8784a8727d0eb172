/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * steptimes.h - published times of a training step on one GPU
 *
 * Data: hwmodel/steptimes.json, a list of entries: source, model, device, batch sizes and times. Uses: comparisons, and runs
 * with the compute times of a published baseline (cost_options.use_measured).
 */
#ifndef ORR_HWMODEL_STEPTIMES_H
#define ORR_HWMODEL_STEPTIMES_H

#include "hwmodel/device.h"

enum steptime_update { STEPTIME_WITH_UPDATE, STEPTIME_WITHOUT_UPDATE, STEPTIME_UPDATE_NOT_STATED };

struct steptime {
	char *device, *model, *setup, *source; /* setup: such as "TensorFlow 1.1, EC2 p2.8xlarge" */
	enum precision precision;
	enum steptime_update update; /* states whether the time includes the optimizer's update */
	double state_bytes;          /* bytes of optimizer state per parameter, with STEPTIME_WITH_UPDATE */
	uint32_t n;                  /* number of points; points are in ascending order of batch size */
	double *batch, *seconds;
};

struct steptimes {
	struct steptime *entry;
	uint32_t n;
};

/* Returns the embedded table. */
struct steptimes *steptimes_load(struct orr_error *err);
/* Returns the embedded table, parsed once. All callers share it; it never changes, and is kept until the program ends. */
const struct steptimes *steptimes_shared(void);
struct steptimes *steptimes_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void steptimes_free(struct steptimes *t);
/* Returns whether the entry is of this device, model and precision (FP16 and BF16 both mean mixed). */
bool steptimes_matches(const struct steptime *e, const char *device, const char *model, enum precision precision);
/* Returns the first entry of device, model and precision (FP16 and BF16 both mean mixed) whose setup contains `setup`; `setup` NULL
 * matches all. Returns NULL if there is no such entry. */
const struct steptime *steptimes_find(
	const struct steptimes *t, const char *device, const char *model, enum precision precision, const char *setup);

#endif

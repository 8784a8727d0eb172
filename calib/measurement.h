/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measurement.h - what was measured, when, with what: the file beside the points
 *
 * POINTS.csv has POINTS.device.json beside it: backend, device, software, date, seed, budget, clocks and power before
 * and after, throttle reasons, drift, warnings. Every number carries its unit in its key.
 */
#ifndef ORR_CALIB_MEASUREMENT_H
#define ORR_CALIB_MEASUREMENT_H

#include "calib/sweep.h"

struct measurement {
	char backend[16], date[32]; /* date: UTC, ISO 8601, when it began */
	struct backend_device device;
	double budget_s;
	uint64_t seed;
	struct sweep_report report;
};

void measurement_begin(struct measurement *m, const struct backend *b, void *device, const struct sweep_options *o);
/* points_path names the file of the points; its name without .csv, with .device.json, is written. */
int measurement_write(const struct measurement *m, const char *points_path, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * measurement.h - writes the metadata of a measurement next to its points
 *
 * POINTS.csv gets POINTS.device.json: backend, device, software, date, seed, budget, clocks and power before and after,
 * throttle reasons, drift, warnings. Every numeric key includes its unit.
 */
#ifndef ORR_CALIB_MEASUREMENT_H
#define ORR_CALIB_MEASUREMENT_H

#include "calib/sweep.h"

struct measurement {
	char backend[16], date[32]; /* date: start of the measurement, UTC, ISO 8601 */
	struct backend_device device;
	double budget_s;
	uint64_t seed;
	struct sweep_report report;
	const char *ended; /* state: "in progress", "complete", or the error that ended it */
};

void measurement_begin(struct measurement *m, const struct backend *b, void *device, const struct sweep_options *o);
/* Writes points_path with its suffix .csv replaced by .device.json. */
int measurement_write(const struct measurement *m, const char *points_path, struct orr_error *err);

#endif

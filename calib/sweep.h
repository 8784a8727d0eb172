/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep.h - measures all kernels of a device within a time budget
 *
 * The device is first kept busy until its clock has settled. Then shapes are measured in a seeded random order, so that no kind
 * is measured only on a cool device. Some points, the anchors, are measured repeatedly; their drift is the device's drift.
 * Beyond DRIFT_LIMIT the run is marked unstable and every interval is widened by the drift, but all points are kept. 15 % of
 * the shapes of each kind are marked as held out.
 *
 * After an error the points measured so far stay in *out, and the report describes them.
 *
 * Invariant: sweep_run() ends within the budget plus the time of one point, with the points measured so far.
 */
#ifndef ORR_CALIB_SWEEP_H
#define ORR_CALIB_SWEEP_H

#include "calib/backend.h"
#include "calib/points.h"
#include "calib/sample.h"

#define DRIFT_LIMIT 0.03

struct sweep_options {
	double budget_s;
	uint64_t seed;
	double held_out;                               /* held-out share of the shapes; default 0.15 */
	double anchors;                                /* share of the shapes that are anchors; default 0.05 */
	const char *only;                              /* comma-separated families, such as "gemm,conv"; NULL: all */
	uint32_t most;                                 /* largest number of points; 0: as many as the budget allows */
	struct sampling sampling;                      /* point_s 0: derived from the budget and the number of kinds */
	void (*say)(void *arg, const char *line);      /* progress; may be NULL */
	void (*row)(void *arg, const struct point *x); /* called for each point when it is measured, before any widening; may be NULL */
	void *arg;                                     /* argument of say and row */
	/* Replaces the machine's clock in tests. */
	double (*now)(void *device);
	void (*idle)(void *device, double seconds);
};

extern const struct sweep_options sweep_default;

struct sweep_report {
	/*
	 * numbers of points. refused: not supported by the backend; imprecise: interval wider than requested; throttled:
	 * omitted because the device was throttled
	 */
	uint32_t planned, measured, refused, imprecise, throttled;
	uint32_t anchors, revisits;
	double drift, worst_drift;  /* maximum over revisits of the median over anchors, and of the drift of any anchor */
	bool is_stable, is_settled; /* is_settled: the clock settled before the first point */
	double seconds, flops_per_s, bytes_per_s;
	struct backend_clocks before, after;
	char throttle[96]; /* throttling reasons observed at any time */
	char first_refusal[256];
};

int sweep_run(const struct backend *b, void *device, const struct sweep_options *o, struct points *out, struct sweep_report *report,
	struct orr_error *err);

#endif

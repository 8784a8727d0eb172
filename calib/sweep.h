/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sweep.h - all kernels of a device within a budget of time
 *
 * The device is first kept busy until its clock has settled. Then shapes are measured in a seeded random
 * order, so that no kind has the cool minutes to itself; some, the anchors, again and again through the run: what
 * they drift is what the device drifted. Beyond DRIFT_LIMIT the run is marked unstable and every interval
 * widened by the drift; nothing is dropped. 15 % of the shapes of each kind are marked as held out.
 *
 * Invariant: sweep_run() ends within the budget and one point's time, with what it had measured by then.
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
	double held_out;                          /* share; 0.15 */
	double anchors;                           /* share; 0.05 */
	const char *only;                         /* "gemm,conv": these families; NULL for all */
	uint32_t most;                            /* points; 0: as many as the budget allows */
	struct sampling sampling;                 /* point_s 0: what the budget and the number of kinds suggest */
	void (*say)(void *who, const char *line); /* progress; may be NULL */
	void *who;
	/* Tests: another clock than the machine's. */
	double (*now)(void *device);
	void (*idle)(void *device, double seconds);
};

extern const struct sweep_options sweep_default;

struct sweep_report {
	uint32_t planned, measured, refused, imprecise; /* refused: the backend cannot; imprecise: interval wider than asked */
	uint32_t anchors, revisits;
	double drift, worst_drift;  /* largest over the revisits of the median over anchors; of any anchor */
	bool is_stable, is_settled; /* clock came to rest before the first point */
	double seconds, flops_per_s, bytes_per_s;
	struct backend_clocks before, after;
	char throttle[96]; /* reasons seen at any time */
	char first_refusal[256];
};

int sweep_run(const struct backend *b, void *device, const struct sweep_options *o, struct points *out, struct sweep_report *report,
	struct orr_error *err);

#endif

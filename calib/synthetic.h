/* SPDX-License-Identifier: GPL-3.0-or-later */
/* synthetic.h - the law of backend_synthetic, for comparison in tests and reports. Seconds, FLOP/s, bytes/s. */
#ifndef ORR_CALIB_SYNTHETIC_H
#define ORR_CALIB_SYNTHETIC_H

#include "calib/backend.h"

struct synthetic_law {
	double t0, a, b, p;
	double noise;                 /* sigma of the logarithm of a batch's time */
	double spread;                /* sigma of the logarithm of a shape's time */
	double drift;                 /* slowdown per second of the device's time */
	double outliers;              /* share of batches that take twice the time */
	double hot_from, hot_to, hot; /* interval of throttling, s; calls take `hot` times as long in it */
	double lost;                  /* time, s, after which every call is a fatal error; 0: never */
};

/* Parses "name=number,.."; defaults: t0 5 us, a 10 TFLOP/s, b 500 GB/s, p 2, noise 2 %. */
int synthetic_parse(const char *text, struct synthetic_law *law, struct orr_error *err);
/* Returns the time without noise and spread. */
double synthetic_time(const struct synthetic_law *law, const struct kernel *k);

/* Returns the clock of an open device. */
double synthetic_now(void *device);
void synthetic_idle(void *device, double seconds);

#endif

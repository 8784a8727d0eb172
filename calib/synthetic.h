/* SPDX-License-Identifier: GPL-3.0-or-later */
/* synthetic.h - the law behind backend_synthetic, for those who compare with it. Seconds, FLOP/s, bytes/s. */
#ifndef ORR_CALIB_SYNTHETIC_H
#define ORR_CALIB_SYNTHETIC_H

#include "calib/backend.h"

struct synthetic_law {
	double t0, a, b, p;
	double noise;    /* sigma of the logarithm of a batch's time */
	double spread;   /* sigma of the logarithm of a shape's time */
	double drift;    /* slower by this share for each second of its own time */
	double outliers; /* share of batches that take twice as long */
};

/* "name=number,.."; what is not named keeps its default: t0 5 us, a 10 TFLOP/s, b 500 GB/s, p 2, noise 2 %. */
int synthetic_parse(const char *text, struct synthetic_law *law, struct orr_error *err);
/* Without noise and spread. */
double synthetic_time(const struct synthetic_law *law, const struct kernel *k);

/* The clock of an open device. */
double synthetic_now(void *device);
void synthetic_idle(void *device, double seconds);

#endif

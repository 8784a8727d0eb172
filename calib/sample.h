/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sample.h - estimates the median time of a kernel to a stated confidence
 *
 * A batch is K consecutive calls, with K large enough that it lasts batch_s; its time over K is one observation. After warm-up,
 * batches run until the 95 % interval of the median is narrower than `precision` of the median, or until the limit of time or
 * batches. The interval is based on order statistics, for any distribution (David and Nagaraja, Order Statistics, 7.1). A burst
 * idles the device after each batch, so that clocks and temperature are those of short work; other batches run back to back.
 */
#ifndef ORR_CALIB_SAMPLE_H
#define ORR_CALIB_SAMPLE_H

#include "calib/backend.h"

/* Upper bound of the warm-up's share of a point's time. */
#define WARM_SHARE 0.4

#define POLL_S 0.05

enum { SAMPLE_BATCHES = 200, SAMPLE_LEAST = 6 }; /* SAMPLE_LEAST: smallest number of batches with a 95 % interval */

struct sampling {
	double batch_s;  /* shortest batch; default 1 ms */
	double warmup_s; /* shortest warm-up, s; a warm-up also has at least warmup_batches */
	uint32_t warmup_batches;
	double precision;     /* target half-width of the interval over the median; default 0.01 */
	double point_s;       /* time limit for the batches of one point, with warm-up */
	uint32_t max_batches; /* at most SAMPLE_BATCHES */
	double idle;          /* burst: idle time after a batch, as a multiple of its time; 0: none */
};

/* Defaults: batches of at least 1 ms; a warm-up of 5 batches and 0.2 s; precision 1 %; at most 0.5 s besides the
 * warm-up, and 200 batches. */
extern const struct sampling sampling_default;

struct sample {
	double median_s, low_s, high_s; /* low, high: NAN with fewer than SAMPLE_LEAST batches */
	double cv;
	double issue_s;    /* median of the host's time to issue a call; NAN: unknown */
	uint32_t n, calls; /* number of batches, and number of calls per batch */
	uint32_t rejected; /* number of batches left out because the device was throttled */
	bool is_precise;   /* the interval reached the precision */
};

/* The task to sample and its clock; the synthetic backend has its own clock. */
struct sample_source {
	int (*run)(void *task, uint32_t times, struct timing *out, struct orr_error *err);
	void *task;
	double (*now)(void *clock); /* clock in s; NULL: the monotonic clock */
	void (*idle)(void *clock, double seconds);
	void *clock;
	bool (*is_throttled)(void *watch); /* NULL: the device is never throttled */
	void *watch;
};

/*
 * Samples until the end given by `how`. is_throttled() is polled before the first batch, every POLL_S, and before the sampling
 * ends. The batches between two polls count if neither poll saw throttling. out->n == 0: the device was always throttled.
 */
int sample_take(const struct sample_source *source, const struct sampling *how, struct sample *out, struct orr_error *err);

/*
 * Finds the confidence interval of the median from n sorted values: it is [x[lo], x[n - 1 - lo]], with ranks from 0. The
 * probability that it contains the true median is at least 0.95. Returns false if n is too small for an interval.
 */
bool median_ranks(uint32_t n, uint32_t *lo);
/* Sorts v and returns its quantile q in [0, 1], with linear interpolation. */
double sorted_quantile(const double *v, uint32_t n, double q);
void sort_values(double *v, uint32_t n);

double monotonic_s(void);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sample.h - the median time of a kernel, to a stated confidence
 *
 * A batch is K calls in a row, K so large that it lasts batch_s; its time over K is one
 * observation. After warming up, batches go on until the 95 % interval of the median, taken from
 * order statistics and so free of any assumption about the distribution (David and Nagaraja,
 * Order Statistics, 7.1), is narrower than `precision` of the median, or time or batches run out.
 * A burst leaves the device idle after each batch, so that clocks and heat are those of short work;
 * otherwise batches follow each other.
 */
#ifndef ORR_CALIB_SAMPLE_H
#define ORR_CALIB_SAMPLE_H

#include "calib/backend.h"

/* Warming up never takes more than this share of a point's time. */
#define WARM_SHARE 0.4

enum { SAMPLE_BATCHES = 200, SAMPLE_LEAST = 6 }; /* 6: the first that has a 95 % interval */

struct sampling {
	double batch_s;  /* shortest batch: 1 ms */
	double warmup_s; /* and at least warmup_batches */
	uint32_t warmup_batches;
	double precision;     /* half width of the interval over the median: 0.01 */
	double point_s;       /* time for the batches of one point, warming up included */
	uint32_t max_batches; /* at most SAMPLE_BATCHES */
	double idle;          /* burst: idle time after a batch, as a multiple of it; 0: none */
};

/* The protocol's own figures: 1 ms, 5 batches or 0.2 s, 1 %, 0.5 s + warming up, 200 batches. */
extern const struct sampling sampling_default;

struct sample {
	double median_s, low_s, high_s; /* low, high NAN: fewer than SAMPLE_LEAST batches */
	double cv;
	double issue_s;    /* median of the host's cost of a call; NAN where it is not known */
	uint32_t n, calls; /* batches; calls in each */
	bool is_precise;   /* the interval became narrow enough */
};

/* Where time comes from; the synthetic backend has its own. */
struct sample_source {
	int (*run)(void *task, uint32_t times, struct timing *out, struct orr_error *err);
	void *task;
	double (*now)(void *clock); /* s; NULL: the monotonic clock */
	void (*idle)(void *clock, double seconds);
	void *clock;
};

int sample_take(const struct sample_source *source, const struct sampling *how, struct sample *out, struct orr_error *err);

/*
 * Ranks (from 0) of the interval of the median of n sorted values: [x[lo], x[n - 1 - lo]] covers it with
 * probability at least 0.95. Returns false if n has none.
 */
bool median_ranks(uint32_t n, uint32_t *lo);
/* Sorts v. q in [0, 1], between neighbours by straight lines. */
double sorted_quantile(const double *v, uint32_t n, double q);
void sort_values(double *v, uint32_t n);

double monotonic_s(void);

#endif

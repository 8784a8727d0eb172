/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/sample.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

const struct sampling sampling_default = {
	.batch_s = 1e-3,
	.warmup_s = 0.2,
	.warmup_batches = 5,
	.precision = 0.01,
	.point_s = 0.7,
	.max_batches = SAMPLE_BATCHES,
};

double monotonic_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double source_now(const struct sample_source *s)
{
	return s->now ? s->now(s->clock) : monotonic_s();
}

static void source_idle(const struct sample_source *s, double seconds)
{
	if (s->idle) {
		s->idle(s->clock, seconds);
		return;
	}
	struct timespec t = { (time_t)seconds, (long)((seconds - floor(seconds)) * 1e9) };
	nanosleep(&t, NULL);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void sort_values(double *v, uint32_t n)
{
	qsort(v, n, sizeof *v, by_value);
}

double sorted_quantile(const double *v, uint32_t n, double q)
{
	double at = q * (n - 1);
	uint32_t i = (uint32_t)at;
	return i + 1 < n ? v[i] + (at - i) * (v[i + 1] - v[i]) : v[n - 1];
}

/*
 * The median lies below x[lo] if at most lo of n values fall below the median. The probability is the sum of C(n, i) / 2^n for i up to lo.
 * It must be at most 0.025 on either side.
 */
bool median_ranks(uint32_t n, uint32_t *lo)
{
	double term = exp2(-(double)n), sum = term;
	if (sum > 0.025)
		return false;
	uint32_t i = 0;
	for (;; i++) {
		term *= (double)(n - i) / (i + 1);
		if (sum + term > 0.025)
			break;
		sum += term;
	}
	*lo = i;
	return true;
}

/* Chooses the number of calls so that a batch lasts batch_s; the trial calls count as warm-up. */
static int choose_calls(const struct sample_source *s, const struct sampling *how, double until, uint32_t *calls, struct orr_error *err)
{
	*calls = 1;
	for (int tries = 0; tries < 12; tries++) {
		struct timing t;
		int rc = s->run(s->task, *calls, &t, err);
		if (rc)
			return rc;
		if (t.device_s >= how->batch_s || source_now(s) >= until || *calls >= 1000000)
			return ORR_OK;
		/* The first call includes loading and planning, so the extrapolation from it is limited to a factor of 8. */
		double factor = t.device_s > 0 ? 1.2 * how->batch_s / t.device_s : 8;
		factor = factor < 1.5 ? 1.5 : factor > 8 ? 8 : factor;
		*calls = (uint32_t)ceil(*calls * factor);
	}
	return ORR_OK;
}

static int warm_up(const struct sample_source *s, const struct sampling *how, uint32_t calls, double start, struct orr_error *err)
{
	double seconds = how->warmup_s < WARM_SHARE * how->point_s ? how->warmup_s : WARM_SHARE * how->point_s;
	for (uint32_t i = 0;; i++) {
		struct timing t;
		double spent = source_now(s) - start;
		/* The warm-up ends after the minimum time and the minimum number of batches, or after twice that time if calls
		 * are long. */
		if (spent >= seconds && (i >= how->warmup_batches || spent >= 2 * seconds))
			return ORR_OK;
		int rc = s->run(s->task, calls, &t, err);
		if (rc)
			return rc;
	}
}

static void sum_up(double *v, double *issue, struct sample *out)
{
	double sum = 0, squares = 0;
	for (uint32_t i = 0; i < out->n; i++)
		sum += v[i];
	double mean = sum / out->n;
	for (uint32_t i = 0; i < out->n; i++)
		squares += (v[i] - mean) * (v[i] - mean);
	out->cv = out->n > 1 && mean > 0 ? sqrt(squares / (out->n - 1)) / mean : NAN;
	sort_values(v, out->n);
	sort_values(issue, out->n);
	out->median_s = sorted_quantile(v, out->n, 0.5);
	out->issue_s = sorted_quantile(issue, out->n, 0.5);
	uint32_t lo;
	bool has_interval = median_ranks(out->n, &lo);
	out->low_s = has_interval ? v[lo] : NAN;
	out->high_s = has_interval ? v[out->n - 1 - lo] : NAN;
}

static bool is_narrow(const double *v, uint32_t n, double precision)
{
	double sorted[SAMPLE_BATCHES];
	uint32_t lo;
	if (n < 2 * SAMPLE_LEAST || !median_ranks(n, &lo))
		return false;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = v[i];
	sort_values(sorted, n);
	return sorted[n - 1 - lo] - sorted[lo] <= 2 * precision * sorted_quantile(sorted, n, 0.5);
}

/* The latest poll of the device's throttling. */
struct poll {
	double at;
	bool was_throttled;
	uint32_t n; /* number of batches confirmed by that poll */
};

static void poll_begin(const struct sample_source *s, struct poll *p)
{
	*p = (struct poll){ .at = source_now(s), .was_throttled = s->is_throttled && s->is_throttled(s->watch) };
}

/* Polls, and removes the batches since the previous poll if either poll saw throttling. Returns whether the batches are confirmed. */
static bool poll_confirms(const struct sample_source *s, struct poll *p, struct sample *out)
{
	bool is_throttled = s->is_throttled && s->is_throttled(s->watch), is_good = !is_throttled && !p->was_throttled;
	if (!is_good) {
		out->rejected += out->n - p->n;
		out->n = p->n;
	}
	*p = (struct poll){ source_now(s), is_throttled, out->n };
	return is_good;
}

int sample_take(const struct sample_source *source, const struct sampling *how, struct sample *out, struct orr_error *err)
{
	double v[SAMPLE_BATCHES], issue[SAMPLE_BATCHES], start = source_now(source);
	uint32_t most = how->max_batches < SAMPLE_BATCHES ? how->max_batches : SAMPLE_BATCHES;
	struct poll poll;
	*out = (struct sample){ 0 };
	int rc = choose_calls(source, how, start + 0.3 * how->point_s, &out->calls, err);
	if (!rc)
		rc = warm_up(source, how, out->calls, start, err);
	poll_begin(source, &poll);
	for (bool is_last = false; !rc && !is_last;) {
		struct timing t;
		rc = source->run(source->task, out->calls, &t, err);
		if (rc)
			break;
		v[out->n] = t.device_s / out->calls;
		issue[out->n++] = t.issue_s / out->calls;
		/* A test after each batch would bias the result towards early stops by chance; a test after every sixth batch has
		 * little of this bias. */
		bool is_precise = out->n % SAMPLE_LEAST == 0 && is_narrow(v, out->n, how->precision);
		bool is_late = source_now(source) - start >= how->point_s, is_full = out->n >= most;
		if (is_precise || is_late || is_full || source_now(source) - poll.at >= POLL_S) {
			bool is_good = poll_confirms(source, &poll, out);
			out->is_precise = is_precise && is_good;
			is_last = is_late || ((is_precise || is_full) && is_good);
		}
		if (how->idle > 0 && !is_last)
			source_idle(source, how->idle * t.device_s);
	}
	if (!rc && out->n)
		sum_up(v, issue, out);
	return rc;
}

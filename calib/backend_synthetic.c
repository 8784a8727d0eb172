/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A device defined by a law: t0 + ((flops / a)^p + (bytes / b)^p)^(1/p) for all kernels (t0 + size / b for copies and
 * collectives), times exp(spread z) per shape, exp(noise z) per batch, and a steady drift. Its clock is the sum of its times
 * and no call waits, so tests of sampling and fitting are exact and fast. Between hot_from and hot_to it is throttled: its
 * calls take `hot` times as long. From `lost` on every call is a fatal error. All three times are in s of its clock.
 */
#include "calib/backend.h"
#include "calib/rand.h"
#include "calib/synthetic.h"
#include "calib/work.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdio.h>
#include <string.h>

struct synthetic {
	struct synthetic_law law;
	uint64_t seed, noise; /* noise: state of the random stream of batches */
	double now;
};

struct task {
	struct synthetic *device;
	double seconds; /* time of one call, with the deviation of its shape */
};

static int set(struct synthetic_law *law, const char *name, size_t n, double value, struct orr_error *err)
{
	const struct {
		const char *name;
		double *at;
	} known[] = { { "t0", &law->t0 }, { "a", &law->a }, { "b", &law->b }, { "p", &law->p }, { "noise", &law->noise },
		{ "spread", &law->spread }, { "drift", &law->drift }, { "outliers", &law->outliers }, { "hot_from", &law->hot_from },
		{ "hot_to", &law->hot_to }, { "hot", &law->hot }, { "lost", &law->lost } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strlen(known[i].name) == n && !strncmp(known[i].name, name, n)) {
			*known[i].at = value;
			return ORR_OK;
		}
	return orr_fail(err, ORR_EINPUT,
		"synthetic backend: unknown setting \"%.*s\": expected one of t0, a, b, p, noise, spread, "
		"drift, outliers, hot_from, hot_to, hot, lost",
		(int)n, name);
}

int synthetic_parse(const char *text, struct synthetic_law *law, struct orr_error *err)
{
	*law = (struct synthetic_law){ .t0 = 5e-6, .a = 1e13, .b = 5e11, .p = 2, .noise = 0.02, .hot = 2 };
	for (const char *at = text ? text : ""; *at;) {
		size_t n = strcspn(at, ","), name = strcspn(at, "=");
		double value;
		if (name >= n || !num_real(at + name + 1, n - name - 1, &value) || value < 0)
			return orr_fail(err, ORR_EINPUT, "synthetic backend: expected name=number, found \"%.*s\"", (int)n, at);
		int rc = set(law, at, name, value, err);
		if (rc)
			return rc;
		at += n + (at[n] == ',');
	}
	if (law->a <= 0 || law->b <= 0 || law->p <= 0)
		return orr_fail(err, ORR_EINPUT, "synthetic backend: expected a, b and p above 0");
	return ORR_OK;
}

double synthetic_time(const struct synthetic_law *law, const struct kernel *k)
{
	double p = law->p;
	if (k->size > 0)
		return law->t0 + k->size / law->b;
	return law->t0 + pow(pow(k->flops / law->a, p) + pow(k->bytes / law->b, p), 1 / p);
}

static void *synthetic_open(const struct backend_options *o, struct orr_error *err)
{
	struct synthetic *s = mem_zalloc(1, sizeof *s);
	if (synthetic_parse(o->settings, &s->law, err)) {
		mem_free(s);
		return NULL;
	}
	s->seed = o->seed;
	s->noise = rand_stream(o->seed, "batches");
	return s;
}

static void synthetic_close(void *device)
{
	mem_free(device);
}

static void synthetic_describe(void *device, struct backend_device *out)
{
	const struct synthetic_law *l = &((struct synthetic *)device)->law;
	*out = (struct backend_device){
		.name = "synthetic", .architecture = "a law with noise", .memory_bytes = 16e9, .cache_bytes = 4e6, .units = 1
	};
	snprintf(out->details, sizeof out->details, "t0=%.9g\na=%.9g\nb=%.9g\np=%.9g\nnoise=%.9g\nspread=%.9g\ndrift=%.9g\n", l->t0, l->a,
		l->b, l->p, l->noise, l->spread, l->drift);
}

static const struct kernel_kind *synthetic_kinds(void *device, size_t *n)
{
	static const struct kernel_kind kinds[] = {
		{ "launch", "single", "", "", 0 },
		{ "gemm", "", "fp32", "nn", 0 },
		{ "conv", "forward", "fp32", "3x3 s1", 0 },
		{ "memory", "triad", "fp32", "", 0 },
		{ "update", "adam", "fp32", "", 0 },
		{ "copy", "h2d-pinned", "", "", 0 },
	};
	(void)device;
	*n = sizeof kinds / sizeof *kinds;
	return kinds;
}

static void *synthetic_prepare(void *device, const struct kernel *k, struct orr_error *err)
{
	struct synthetic *s = device;
	struct task *t = mem_zalloc(1, sizeof *t);
	char name[KERNEL_NAME_MAX];
	(void)err;
	kernel_name(k, name);
	uint64_t own = rand_stream(s->seed, name);
	t->device = s;
	t->seconds = synthetic_time(&s->law, k) * exp(s->law.spread * rand_normal(&own));
	return t;
}

static bool is_hot(const struct synthetic *s)
{
	return s->now >= s->law.hot_from && s->now < s->law.hot_to;
}

static int synthetic_run(void *task, uint32_t times, struct timing *out, struct orr_error *err)
{
	struct task *t = task;
	struct synthetic *s = t->device;
	if (s->law.lost > 0 && s->now >= s->law.lost)
		return orr_fail(err, ORR_EFAIL, "the device is lost");
	double seconds = t->seconds * (1 + s->law.drift * s->now) * exp(s->law.noise * rand_normal(&s->noise));
	if (is_hot(s))
		seconds *= s->law.hot;
	if (rand_uniform(&s->noise) < s->law.outliers)
		seconds *= 2;
	out->device_s = seconds * times;
	out->issue_s = NAN;
	s->now += out->device_s;
	return ORR_OK;
}

static void synthetic_release(void *task)
{
	mem_free(task);
}

static void synthetic_clocks(void *device, struct backend_clocks *out)
{
	*out = (struct backend_clocks){ NAN, NAN, NAN, NAN, "" };
	if (is_hot(device))
		snprintf(out->throttle, sizeof out->throttle, "thermal (hardware)");
}

double synthetic_now(void *device)
{
	return ((struct synthetic *)device)->now;
}

void synthetic_idle(void *device, double seconds)
{
	((struct synthetic *)device)->now += seconds;
}

const struct backend backend_synthetic = { BACKEND_ABI, sizeof(struct backend), "synthetic", synthetic_open, synthetic_close,
	synthetic_describe, synthetic_kinds, synthetic_prepare, synthetic_run, synthetic_release, synthetic_clocks };

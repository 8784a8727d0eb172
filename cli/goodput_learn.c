/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery goodput --learn: the noise scale of real SGD, and predicted against measured samples to a loss, by batch. */
#include "cli/goodput_learn.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/outfile.h"
#include "base/param.h"
#include "learn/noise_scale.h"
#include "learn/problem.h"
#include "results/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BATCHES = 64 };
static const double EVERY = 2; /* steps of M0 between two measurements of the noise scale */

struct row {
	double predicted, measured, low, high, reached;
};

static int read_batches(const char *text, double *batch, size_t *n, struct orr_error *err)
{
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ",");
		double value;
		if (*n == MOST_BATCHES || !num_real(at, len, &value) || !(value >= 1 && value <= 1e6) || value != floor(value))
			return orr_fail(err, ORR_EINPUT,
				"goodput: --batches: expected at most %d whole numbers from 1 to 1000000, found \"%.60s\"", MOST_BATCHES,
				text);
		batch[(*n)++] = value;
		at += len + (at[len] == ',');
	}
	return ORR_OK;
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* Sets the mean over the runs that reached the target, and its interval: two standard errors. */
static void summarise(struct row *r, const double *samples, size_t n)
{
	double *v = mem_alloc((n + 1) * sizeof *v), square = 0;
	size_t reached = 0;
	for (size_t i = 0; i < n; i++)
		if (isfinite(samples[i]))
			v[reached++] = samples[i];
	r->reached = (double)reached / (double)n;
	r->measured = reached ? mean_of(v, reached) : NAN;
	for (size_t i = 0; i < reached; i++)
		square += (v[i] - r->measured) * (v[i] - r->measured);
	double error = reached > 1 ? sqrt(square / (double)(reached - 1) / (double)reached) : NAN;
	r->low = r->measured - 2 * error;
	r->high = r->measured + 2 * error;
	mem_free(v);
}

static int measure(const struct noise_scale *c, const struct problem *p, const double *batch, struct row *row, size_t n, size_t seeds,
	struct noise_run *base, struct orr_error *err)
{
	double *samples = mem_alloc((seeds + 1) * sizeof *samples), *sum = mem_zalloc(n + 1, sizeof *sum);
	int rc = ORR_OK;
	for (size_t k = 0; !rc && k < seeds; k++) {
		struct noise_run r;
		rc = noise_scale_run(c, p, c->config.batch, k + 1, &r, batch, sum, n, err);
		if (!rc && !isfinite(r.samples))
			rc = orr_fail(err, ORR_EFAIL,
				"goodput: the loss %g is not reached within %g samples with batch %u: expected a larger max_samples or "
				"target",
				c->config.target, c->max_samples, c->config.batch);
		base->phi_first += r.phi_first / (double)seeds;
		base->phi_last += r.phi_last / (double)seeds;
		base->samples += r.samples / (double)seeds;
	}
	for (size_t i = 0; !rc && i < n; i++) {
		row[i].predicted = sum[i] / (double)seeds;
		for (size_t k = 0; !rc && k < seeds; k++) {
			struct noise_run r = { 0 };
			rc = noise_scale_run(
				c, p, batch[i], k + 1 + seeds, &r, NULL, NULL, 0, err); /* seeds apart from those of the prediction */
			samples[k] = r.samples;
		}
		if (!rc)
			summarise(&row[i], samples, seeds);
	}
	mem_free(samples);
	mem_free(sum);
	return rc;
}

static void put(FILE *out, double value)
{
	char text[NUM_REAL_MAX] = "";
	if (isfinite(value))
		num_put_real(text, value);
	fprintf(out, ",%s", text);
}

int goodput_learn(const char *pairs, const char *batches, const char *path, struct orr_error *err)
{
	struct orr_args *args = args_new(learn_options, "learn", err);
	double batch[MOST_BATCHES];
	struct row row[MOST_BATCHES];
	size_t n = 0;
	int rc = args ? args_set_pairs(args, pairs, ',', err) : ORR_EINPUT;
	if (!rc)
		rc = read_batches(batches, batch, &n, err);
	struct noise_scale c = { .every = EVERY };
	struct problem *p = NULL;
	struct noise_run base = { 0 };
	if (!rc) {
		learn_config_read(&c.config, args);
		c.max_samples = orr_arg_real(args, "max_samples");
		p = noise_scale_problem(&c, err);
		rc = p ? measure(&c, p, batch, row, n, (size_t)orr_arg_int(args, "seeds"), &base, err) : ORR_EINPUT;
	}
	struct outfile out = { 0 };
	if (!rc && !(rc = outfile_open_path(&out, path ? path : "/dev/stdout", err))) {
		fprintf(out.file, "batch,predicted_samples,measured_samples,low,high,reached,error,phi_first,phi_last\n");
		for (size_t i = 0; i < n; i++) {
			char text[NUM_REAL_MAX];
			num_put_real(text, batch[i]);
			fputs(text, out.file);
			put(out.file, row[i].predicted);
			put(out.file, row[i].measured);
			put(out.file, row[i].low);
			put(out.file, row[i].high);
			put(out.file, row[i].reached);
			put(out.file, row[i].predicted / row[i].measured - 1);
			put(out.file, base.phi_first);
			put(out.file, base.phi_last);
			fputc('\n', out.file);
		}
		rc = outfile_close(&out, false, err);
	}
	problem_free(p);
	args_free(args);
	return rc;
}

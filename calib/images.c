/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/images.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "calib/csv.h"
#include "hwmodel/cost.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { MAX_ROWS = 256, NETWORKS = 4, HALVINGS = 60 };

static const char *const networks[NETWORKS][2] = { { "InceptionV3", "inception_v3" }, { "ResNet-50", "resnet50_v1" },
	{ "ResNet-152", "resnet152" }, { "VGG16", "vgg16" } };

struct step {
	int network;
	double batch, seconds, share;
};

struct steps {
	struct step v[MAX_ROWS];
	size_t n;
	struct dnn *model[NETWORKS];
	struct device *device;
};

/* Returns the time of a training step, s, with a plain SGD update, if products reach this share of the peak; 0 on error. */
static double step_s(const struct steps *s, int network, double batch, double share, struct orr_error *err)
{
	const struct cost_options o = { .precision = PRECISION_FP32, .efficiency = share };
	const struct dnn *d = s->model[network];
	struct cost *c = cost_new(d, s->device, &o, err);
	double sum = 0;
	for (int pass = DNN_FORWARD; c && pass <= DNN_BACKWARD_WEIGHT; pass++)
		sum += cost_range_s(c, 0, d->n_layers, (enum dnn_pass)pass, batch, 1, false);
	if (c)
		sum += cost_update_s(c, d->params, 0);
	cost_free(c);
	return sum;
}

/* Bisects the log of the share; the step time decreases with it. */
static int find_share(const struct steps *s, struct step *x, struct orr_error *err)
{
	double low = log(0.005), high = log(20);
	for (int i = 0; i < HALVINGS; i++) {
		double middle = 0.5 * (low + high), t = step_s(s, x->network, x->batch, exp(middle), err);
		if (t == 0)
			return ORR_EINPUT;
		*(t > x->seconds ? &low : &high) = middle;
	}
	x->share = exp(low);
	return ORR_OK;
}

static int read_row(const struct csv *c, struct steps *s, struct orr_error *err)
{
	struct step x = { .network = -1 };
	double rate;
	for (int i = 0; i < NETWORKS; i++)
		if (!strcmp(csv_text(c, "model"), networks[i][0]))
			x.network = i;
	if (x.network < 0 || strcmp(csv_text(c, "data"), "synthetic") || strcmp(csv_text(c, "gpus"), "1") || s->n == MAX_ROWS)
		return ORR_OK;
	int rc = csv_real(c, "batch_per_gpu", 1, 1e6, NAN, &x.batch, err);
	if (!rc)
		rc = csv_real(c, "images_per_s", 1e-3, 1e9, NAN, &rate, err);
	if (!rc && !s->model[x.network])
		s->model[x.network] = dnn_load(networks[x.network][1], err);
	if (rc || !s->model[x.network])
		return ORR_EINPUT;
	x.seconds = x.batch / rate;
	rc = find_share(s, &x, err);
	s->v[s->n++] = x;
	return rc;
}

static int read_steps(const char *file, const char *select, struct steps *s, struct orr_error *err)
{
	static const char *const needed[] = { "gpu", "model", "batch_per_gpu", "gpus", "data", "images_per_s", NULL };
	struct csv c;
	int rc = csv_open_file(&c, file, err), got;
	if (!rc)
		rc = csv_need(&c, needed, err);
	while (!rc && (got = csv_next(&c, err)) != 0)
		rc = got < 0                                                              ? ORR_EINPUT
		     : select && strncasecmp(csv_text(&c, "gpu"), select, strlen(select)) ? ORR_OK
											  : read_row(&c, s, err);
	if (!rc && s->n == 0)
		rc = orr_fail(
			err, ORR_EINPUT, "%.300s: no usable row: expected a row with one GPU, synthetic data and a known network", c.path);
	csv_close(&c);
	return rc;
}

/* Returns the mean over networks of their mean log share, excluding one network (-1: none); *sd: its standard error. */
static double mean_share(const struct steps *s, int without, double *sd)
{
	double mean[NETWORKS], sum = 0, square = 0;
	int n = 0;
	for (int i = 0; i < NETWORKS; i++) {
		double log_sum = 0, rows = 0;
		for (size_t k = 0; k < s->n; k++)
			if (s->v[k].network == i) {
				log_sum += log(s->v[k].share);
				rows++;
			}
		if (rows > 0 && i != without)
			mean[n++] = log_sum / rows;
	}
	for (int i = 0; i < n; i++)
		sum += mean[i] / n;
	for (int i = 0; i < n; i++)
		square += (mean[i] - sum) * (mean[i] - sum);
	*sd = n > 1 ? sqrt(square / (n - 1) / n) : 0;
	return n ? exp(sum) : NAN;
}

static int set_errors(const struct steps *s, double share, struct law *l, struct orr_error *err)
{
	double in[MAX_ROWS], out[MAX_ROWS], measured[MAX_ROWS], sd;
	size_t held = 0;
	for (size_t i = 0; i < s->n; i++) {
		double others = mean_share(s, s->v[i].network, &sd);
		measured[i] = s->v[i].seconds;
		in[i] = step_s(s, s->v[i].network, s->v[i].batch, share, err);
		out[i] = isnan(others) ? NAN : step_s(s, s->v[i].network, s->v[i].batch, others, err);
		if (!isnan(others))
			held++;
	}
	fit_errors(in, measured, s->n, &l->mean_error, &l->median_error, &l->p90_error);
	l->held_out_mean = l->held_out_median = l->held_out_p90 = NAN;
	if (held == s->n)
		fit_errors(out, measured, s->n, &l->held_out_mean, &l->held_out_median, &l->held_out_p90);
	l->held_out = held == s->n ? (uint32_t)held : 0;
	return ORR_OK;
}

/* Makes a roofline with one term, share x peak, for all passes and shapes. */
static int make_law(const struct steps *s, const char *family, struct law *l, struct orr_error *err)
{
	double error, share = mean_share(s, -1, &error), peak = s->device->peak_flops[PRECISION_FP32];
	*l = (struct law){ .form = FORM_ROOFLINE,
		.n_params = law_form_params(FORM_ROOFLINE),
		.points = (uint32_t)s->n,
		.param = { 0, share * peak, INFINITY, 1 } };
	l->family = mem_strdup(family);
	l->op = mem_strdup("");
	l->precision = mem_strdup("fp32");
	l->variant = mem_strdup("");
	l->covariance[1][1] = error * error;
	l->sigma = error * sqrt(NETWORKS);
	for (int k = 0; k < LAW_FEATURES; k++)
		l->from[k] = l->to[k] = NAN;
	return set_errors(s, share, l, err);
}

static void steps_free(struct steps *s)
{
	for (int i = 0; i < NETWORKS; i++)
		dnn_free(s->model[i]);
	device_free(s->device);
}

struct profile *images_profile(const char *file, const char *select, const struct fit_options *o, struct orr_error *err)
{
	struct steps s = { .n = 0 };
	struct profile *p = NULL;
	s.device = o->device ? device_load(o->device, err) : NULL;
	if (!o->device)
		orr_fail(err, ORR_EINPUT, "no device is named: expected --device NAME with a device of the catalogue");
	int rc = s.device ? read_steps(file, select, &s, err) : ORR_EINPUT;
	if (!rc) {
		p = fit_begin(o);
		p->law = mem_zalloc(2, sizeof *p->law);
		rc = make_law(&s, "conv", &p->law[p->n_laws++], err);
		if (!rc)
			rc = make_law(&s, "gemm", &p->law[p->n_laws++], err);
	}
	steps_free(&s);
	if (!rc)
		return p;
	profile_free(p);
	return NULL;
}

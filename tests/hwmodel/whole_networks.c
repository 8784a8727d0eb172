/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps of whole networks on one GPU, from the laws of a profile and the tables of layers, against published measurements.
 *
 * Expected values are the measured steps of hwmodel/steptimes.json, each with its source. The laws were fitted to other data, except
 * the efficiency of the K80: this single number was fitted to these rows. AlexNet is reported separately, because these benchmarks use
 * a third variant.
 *
 * Argument: a folder of DEVICE.json that replace the profiles of the catalogue.
 */
#include "hwmodel/cost.h"
#include "hwmodel/profile.h"
#include "hwmodel/steptimes.h"

#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { MOST = 400 };

struct row {
	const struct steptime *e;
	double batch, seconds, by_laws, by_sheet, outside;
	double conv_s, memory_s, rest_s; /* parts of the predicted step, s, without the factors of whole networks */
	bool is_alexnet, is_fp32;
	char device[32];
};

static struct row row[MOST];
static int n_rows;
static const char *folder;

static struct profile *profile_of(const struct device *d, struct orr_error *err)
{
	char path[400];
	const char *name = profile_for_device(d->profile_of);
	if (!folder)
		return name ? profile_load(name, err) : NULL;
	snprintf(path, sizeof path, "%s/%s.json", folder, d->profile_of);
	return access(path, R_OK) ? NULL : profile_load(path, err);
}

static double step_s(const struct dnn *d, const struct cost *c, const struct steptime *e, double batch)
{
	double sum = e->update == STEPTIME_WITH_UPDATE ? cost_update_s(c, d->params, e->state_bytes) : 0;
	for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
		sum += cost_range_s(c, 0, d->n_layers, (enum dnn_pass)pass, batch, 1, false);
	return sum;
}

/* Splits the step into convolutions, memory-bound layers and the rest. */
static void split(struct row *r, const struct dnn *d, const struct cost *c, const struct steptime *e)
{
	r->rest_s = e->update == STEPTIME_WITH_UPDATE ? cost_update_s(c, d->params, e->state_bytes) : 0;
	for (uint32_t l = 0; l < d->n_layers; l++) {
		enum orr_layer_kind k = d->layer[l].kind;
		double s = 0;
		for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
			s += cost_layer_s(c, l, (enum dnn_pass)pass, r->batch, 1, false);
		if (k == ORR_LAYER_CONV)
			r->conv_s += s;
		else if (k == ORR_LAYER_LINEAR || k == ORR_LAYER_MATMUL || k == ORR_LAYER_RNN || k == ORR_LAYER_EMBEDDING)
			r->rest_s += s;
		else
			r->memory_s += s;
	}
}

static void compare(const struct steptime *e)
{
	struct orr_error err = { 0 };
	struct device *dev = device_load(e->device, &err);
	struct dnn *d = dnn_load(e->model, &err);
	struct profile *p = dev ? profile_of(dev, &err) : NULL;
	struct cost_options o = { .precision = e->precision, .profile = p };
	struct cost *laws = p && d ? cost_new(d, dev, &o, &err) : NULL;
	struct device plain = dev ? *dev : (struct device){ .name = NULL };
	plain.network_conv_time = plain.network_memory_time = 0;
	struct cost *without = laws ? cost_new(d, &plain, &o, &err) : NULL;
	o.profile = NULL;
	struct cost *sheet = laws ? cost_new(d, dev, &o, &err) : NULL;
	if (err.code)
		ok(false, "%s on %s: %s", e->model, e->device, err.text);
	for (uint32_t i = 0; sheet && i < e->n && n_rows < MOST; i++) {
		struct cost_coverage cover = { 0 };
		struct row *r = &row[n_rows++];
		cost_cover(laws, e->batch[i], 1, false, &cover);
		*r = (struct row){ .e = e,
			.batch = e->batch[i],
			.seconds = e->seconds[i],
			.by_laws = step_s(d, laws, e, e->batch[i]) / e->seconds[i] - 1,
			.by_sheet = step_s(d, sheet, e, e->batch[i]) / e->seconds[i] - 1,
			.outside = cover.by_law ? (double)cover.outside / (double)cover.by_law : 0,
			.is_alexnet = strstr(e->model, "alexnet") != NULL,
			.is_fp32 = e->precision == PRECISION_FP32 };
		split(r, d, without, e);
		snprintf(r->device, sizeof r->device, "%s", dev->profile_of);
		printf("# %-9s %-5s %-25s %5.0f %9.1f %9.1f %+7.1f %+7.1f  %4.0f  %s\n", e->device, precision_name(e->precision), e->model,
			r->batch, r->batch / r->seconds, r->batch / r->seconds / (1 + r->by_laws), 100 * (1 / (1 + r->by_laws) - 1),
			100 * (1 / (1 + r->by_sheet) - 1), 100 * r->outside, e->setup);
	}
	cost_free(laws);
	cost_free(sheet);
	cost_free(without);
	profile_free(p);
	device_free(dev);
	dnn_free(d);
}

/* Returns the mean of |predicted / measured - 1| of images/s. */
static double mean_error(const char *device, bool fp32, bool alexnet, bool of_sheet, int *n)
{
	double sum = 0;
	*n = 0;
	for (int i = 0; i < n_rows; i++) {
		const struct row *r = &row[i];
		if ((device && strcmp(r->device, device)) || r->is_fp32 != fp32 || r->is_alexnet != alexnet)
			continue;
		sum += fabs(1 / (1 + (of_sheet ? r->by_sheet : r->by_laws)) - 1);
		++*n;
	}
	return *n ? sum / *n : NAN;
}

static void summary(const char *device)
{
	int n;
	for (int k = 0; k < 4; k++) {
		bool fp32 = k < 2, alexnet = k % 2;
		double laws = mean_error(device, fp32, alexnet, false, &n), sheet = mean_error(device, fp32, alexnet, true, &n);
		if (n)
			printf("# %-9s %-9s %-11s %3d steps: mean error of images/s %5.1f %%, by the data sheet %5.1f %%\n", device,
				fp32 ? "fp32" : "reduced", alexnet ? "AlexNet" : "", n, 100 * laws, 100 * sheet);
	}
}

static void check(const char *device)
{
	int n;
	double error = mean_error(device, true, false, false, &n);
	if (n)
		ok(error <= 0.15, "fp32 networks on %s (%d steps), AlexNet apart: mean error of images/s at most 15 %% (%.1f %%)", device,
			n, 100 * error);
	else
		skip("no profile of this device ships");
}

/* ---- factors of whole networks in 16 bits ---- */

static bool is_mixed(const struct row *r)
{
	return !strcmp(r->device, "v100") && r->e->precision == PRECISION_FP16 && !r->is_alexnet;
}

static double error_with(const struct row *r, double conv, double memory)
{
	return fabs(r->seconds / (conv * r->conv_s + memory * r->memory_s + r->rest_s) - 1);
}

/* Fits both factors, in steps of 0.05, to the rows of networks other than `without` (NULL: to all). */
static void fit(const char *without, double *conv, double *memory)
{
	double least = INFINITY;
	for (int i = 16; i <= 70; i++)
		for (int k = 4; k <= 20; k++) {
			double sum = 0;
			for (int n = 0; n < n_rows; n++)
				if (is_mixed(&row[n]) && (!without || strcmp(row[n].e->model, without) != 0))
					sum += error_with(&row[n], 0.05 * i, 0.05 * k);
			if (sum < least - 1e-9) {
				least = sum;
				*conv = 0.05 * i;
				*memory = 0.05 * k;
			}
		}
}

static void check_factors(void)
{
	struct orr_error err = { 0 };
	struct device *d = device_load("v100", &err), *large = device_load("v100-32g", &err);
	double conv = 0, memory = 0, before = 0, after = 0;
	int n = 0;
	if (!ok(d && large, "the V100's files are read"))
		return;
	fit(NULL, &conv, &memory);
	ok(fabs(d->network_conv_time - conv) < 1e-6 && fabs(d->network_memory_time - memory) < 1e-6 &&
			large->network_conv_time == d->network_conv_time && large->network_memory_time == d->network_memory_time,
		"V100 fp16: the factors that ship are the fitted ones (%.2f, %.2f)", conv, memory);
	for (int i = 0; i < n_rows; i++) {
		if (!is_mixed(&row[i]))
			continue;
		fit(row[i].e->model, &conv, &memory);
		before += error_with(&row[i], 1, 1);
		after += error_with(&row[i], conv, memory);
		n++;
		printf("# V100 fp16 %-13s batch %4.0f: without factors %5.1f %%, with those of other networks (%.2f, %.2f) %5.1f %%  %s\n",
			row[i].e->model, row[i].batch, 100 * error_with(&row[i], 1, 1), conv, memory,
			100 * error_with(&row[i], conv, memory), row[i].e->setup);
	}
	ok(n && after <= 0.505 * before, "V100 fp16, %d steps, the network of a row left out: the mean error halves (%.1f to %.1f %%)", n,
		n ? 100 * before / n : NAN, n ? 100 * after / n : NAN);
	device_free(d);
	device_free(large);
}

int main(int argc, char **argv)
{
	struct orr_error err = { 0 };
	struct steptimes *t = steptimes_load(&err);
	folder = argc > 1 ? argv[1] : NULL;
	if (!ok(t != NULL, "the table is read %s", err.text))
		return done();
	printf("# %-9s %-5s %-25s %5s %9s %9s %7s %7s %4s\n", "device", "", "model", "batch", "images/s", "profile", "error %", "sheet %",
		"out %");
	for (uint32_t i = 0; i < t->n; i++)
		compare(&t->entry[i]);
	const char *seen[MOST];
	int n_seen = 0;
	for (int i = 0; i < n_rows; i++) {
		int k = 0;
		while (k < n_seen && strcmp(seen[k], row[i].device))
			k++;
		if (k == n_seen)
			summary(seen[n_seen++] = row[i].device);
	}
	check("p100");
	check("v100");
	if (!folder)
		check_factors();
	steptimes_free(t);
	return done();
}

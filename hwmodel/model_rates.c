/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/model_rates.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_BYTES = 16 }; /* bytes of training state per parameter: Adam in fp32, or in mixed precision */

struct model_rates {
	uint32_t n_models, n_devices;
	const char **name; /* names of the models of the catalogue */
	double *rate;      /* rates, [device * n_models + model] */
	double *sorted;    /* the same rates, ascending for each device */
};

static double largest_memory(struct orr_error *err)
{
	double most = 0;
	const char *name;
	for (size_t i = 0; (name = device_catalogue(i)); i++) {
		struct device *d = device_load(name, err);
		most = d && d->memory_bytes > most ? d->memory_bytes : most;
		device_free(d);
	}
	return most;
}

/* Returns the seconds of a step on one device; NAN with err set if the device lacks the precision. */
static double step_s(const struct dnn *m, const struct model_rates_device *d, const struct model_rates_config *c, struct orr_error *err)
{
	struct cost_options o = { .precision = c->precision, .profile = d->profile, .sample = c->sample, .seed = c->seed };
	struct cost *x = cost_new(m, d->device, &o, err);
	if (!x)
		return NAN;
	double s = cost_update_s(x, m->params, 0);
	for (enum dnn_pass pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
		s += cost_range_s(x, 0, m->n_layers, pass, c->batch, 1, false);
	cost_free(x);
	return s;
}

static int add_model(
	struct model_rates *r, size_t at, const char *name, const struct dnn *m, const struct model_rates_config *c, struct orr_error *err)
{
	uint32_t i = r->n_models;
	double reference = step_s(m, &c->reference, c, err);
	for (uint32_t d = 0; d < r->n_devices; d++) {
		double own = c->device[d].device ? step_s(m, &c->device[d], c, err) : NAN;
		r->rate[d * at + i] = reference / own;
	}
	r->name[r->n_models++] = name;
	return err->code;
}

static int ascending(const void *a, const void *b)
{
	double x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

/* Compacts rows of `width` numbers, and sorts a copy of them. */
static void finish(struct model_rates *r, size_t width)
{
	size_t n = r->n_models;
	for (uint32_t d = 0; d < r->n_devices; d++)
		memmove(r->rate + d * n, r->rate + d * width, n * sizeof *r->rate);
	memcpy(r->sorted, r->rate, r->n_devices * n * sizeof *r->rate);
	for (uint32_t d = 0; d < r->n_devices; d++)
		qsort(r->sorted + d * n, n, sizeof *r->sorted, ascending);
}

struct model_rates *model_rates_new(const struct model_rates_config *c, struct orr_error *err)
{
	struct orr_error why = { 0 };
	size_t width = 0;
	while (dnn_catalogue(width))
		width++;
	struct model_rates *r = mem_zalloc(1, sizeof *r);
	r->n_devices = c->n_devices;
	r->name = mem_zalloc(width + 1, sizeof *r->name);
	r->rate = mem_zalloc(width * c->n_devices + 1, sizeof *r->rate);
	r->sorted = mem_zalloc(width * c->n_devices + 1, sizeof *r->sorted);
	double most = largest_memory(&why);
	for (size_t i = 0; i < width && !why.code; i++) {
		struct dnn *m = dnn_load(dnn_catalogue(i), &why);
		if (m && m->graph.vertices <= 0 && m->params * STATE_BYTES <= most)
			add_model(r, width, dnn_catalogue(i), m, c, &why);
		dnn_free(m);
	}
	finish(r, width);
	if (!why.code)
		return r;
	orr_fail(err, why.code, "%s", why.text);
	model_rates_free(r);
	return NULL;
}

void model_rates_free(struct model_rates *r)
{
	if (!r)
		return;
	mem_free(r->name);
	mem_free(r->rate);
	mem_free(r->sorted);
	mem_free(r);
}

uint32_t model_rates_models(const struct model_rates *r)
{
	return r->n_models;
}

uint32_t model_rates_find(const struct model_rates *r, const char *name)
{
	const char *known = dnn_catalogue_name(name);
	for (uint32_t i = 0; known && i < r->n_models; i++)
		if (!strcmp(r->name[i], known))
			return i;
	return MODEL_RATES_NONE;
}

double model_rates_of(const struct model_rates *r, uint32_t model, uint32_t device)
{
	return r->rate[(size_t)device * r->n_models + model];
}

double model_rates_mean(const struct model_rates *r, uint32_t device)
{
	double sum = 0;
	for (uint32_t i = 0; i < r->n_models; i++)
		sum += log(model_rates_of(r, i, device));
	return exp(sum / r->n_models);
}

double model_rates_quantile(const struct model_rates *r, uint32_t device, double q)
{
	const double *v = r->sorted + (size_t)device * r->n_models;
	double at = q * (r->n_models - 1);
	uint32_t low = (uint32_t)at;
	return low + 1 < r->n_models ? v[low] + (at - low) * (v[low + 1] - v[low]) : v[low];
}

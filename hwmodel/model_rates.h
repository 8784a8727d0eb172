/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * model_rates.h - relative training speed of devices, by model and over the models of the catalogue
 *
 *	rate(m, t) = step(m, reference) / step(m, t)		of model m on device t
 *	mean(t)    = exp(mean over m of log rate(m, t))		the class mean
 *
 * step(): forward and backward passes over all layers at one batch size, and an update by plain SGD, on one device, in seconds
 * (cost.h). Models: all of the catalogue whose training state, 16 bytes per parameter, fits the largest memory among the devices
 * of the catalogue. The memory of the compared devices is ignored. docs/models/jobs.md, "Speed by GPU type".
 */
#ifndef ORR_HWMODEL_MODEL_RATES_H
#define ORR_HWMODEL_MODEL_RATES_H

#include "hwmodel/cost.h"

#define MODEL_RATES_NONE UINT32_MAX

struct model_rates_device {
	const struct device *device;
	const struct profile *profile; /* profile of the device; NULL: data sheet only */
};

struct model_rates_config {
	struct model_rates_device reference;
	const struct model_rates_device *device; /* devices; an entry whose device is NULL is skipped, and its rates are NAN */
	uint32_t n_devices;
	enum precision precision;
	double batch;
	uint32_t sample; /* draw of the profiles' laws (cost.h); 0: the laws as fitted */
	uint64_t seed;
};

struct model_rates;

/* Computes the rates. Returns NULL with err set if a device lacks the precision. */
struct model_rates *model_rates_new(const struct model_rates_config *c, struct orr_error *err);
void model_rates_free(struct model_rates *r);

uint32_t model_rates_models(const struct model_rates *r);
/* Returns the number of the model with that name in the catalogue (spelling as for dnn_load()), or MODEL_RATES_NONE. */
uint32_t model_rates_find(const struct model_rates *r, const char *name);
double model_rates_of(const struct model_rates *r, uint32_t model, uint32_t device);
double model_rates_mean(const struct model_rates *r, uint32_t device);
/* Returns the quantile q of the rates over models, with linear interpolation between order statistics. */
double model_rates_quantile(const struct model_rates *r, uint32_t device, double q);

#endif

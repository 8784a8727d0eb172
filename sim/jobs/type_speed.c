/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/type_speed.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/rng.h"
#include "hwmodel/model_rates.h"
#include "hwmodel/throughput.h"
#include "world/gpu_types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const uint32_t MEAN = UINT32_MAX;
static const double low_quantile = 0.1, high_quantile = 0.9;

struct hardware {
	struct device *device;
	struct profile *profile; /* profile of the device; NULL: only its data sheet is used */
};

struct type_speeds {
	const struct cluster *cluster;
	char reference[64];
	struct hardware of[CLUSTER_MAX_TYPES + 1]; /* hardware by type; the last one of n_types + 1 is the reference; device NULL:
						    * not in the class */
	struct model_rates *class;                 /* models of the class; NULL: no type uses a class mean */
	double mean[CLUSTER_MAX_TYPES];            /* mean speed of the class by type; 1 for types without a mean */
	struct model_rates_config rates;
	struct model_rates_device device[CLUSTER_MAX_TYPES];
};

struct type_draw {
	const struct type_speeds *speeds;
	struct model_rates *class; /* models with drawn laws; NULL: no class */
	uint32_t sample;
};

/* ---- devices and profiles ---- */

static bool is_reference(const struct type_speeds *s, uint32_t type)
{
	return !strcasecmp(s->cluster->type_name[type], s->reference);
}

static int load_profile(const struct type_speed_config *c, struct hardware *h, bool *is_used, struct orr_error *err)
{
	bool is_auto = !strcmp(c->profile, "auto");
	const char *name = is_auto ? profile_for_device(h->device->profile_of) : c->profile;
	if (!name || !strcmp(name, "none"))
		return ORR_OK;
	h->profile = profile_load(name, err);
	if (!h->profile)
		return err->code;
	if (strcasecmp(h->profile->device, h->device->name) != 0 && strcasecmp(h->profile->device, h->device->profile_of) != 0) {
		profile_free(h->profile);
		h->profile = NULL;
		return ORR_OK;
	}
	*is_used = true;
	return is_auto ? ORR_OK : profile_check(h->profile, h->device, err);
}

static int need_speed(const struct type_speeds *s, uint32_t type, const char *why, struct orr_error *err)
{
	const char *name = s->cluster->type_name[type];
	return orr_fail(err, ORR_EINPUT,
		"jobs.reference_type=%.60s: the speed of GPU type \"%.60s\" relative to the reference is unknown (%.150s): expected a "
		"device name as type, or a speed, as in %.60s:speed=1.5",
		s->reference, name, why, name);
}

static bool in_table(const struct type_speed_config *c, const char *type)
{
	return c->throughput && throughput_has_type(c->throughput, type);
}

/* Finds the device of each type of the class; the reference device is last. */
static int load_devices(struct type_speeds *s, const struct type_speed_config *c, struct orr_error *err)
{
	uint32_t n = s->cluster->n_types;
	bool has_class = false;
	struct orr_error why = { 0 };
	struct device *reference = gpu_type_device(s->reference, &why);
	if (!reference && !in_table(c, s->reference) && cluster_type(s->cluster, s->reference, strlen(s->reference)) == CLUSTER_NO_TYPE)
		return orr_fail(err, ORR_EINPUT, "jobs.reference_type: %s", why.text);
	for (uint32_t t = 0; t < n; t++) {
		const char *name = s->cluster->type_name[t];
		if (s->cluster->type_speed[t] > 0 || is_reference(s, t))
			continue;
		if (reference && !gpu_type_is_generic(name))
			s->of[t].device = gpu_type_device(name, &why);
		else if (reference)
			orr_fail(&why, ORR_EINPUT, "the name is no device of the catalogue");
		has_class |= s->of[t].device != NULL;
		if (s->of[t].device || (in_table(c, name) && in_table(c, s->reference)))
			continue; /* jobs outside the table run as recorded on types that only the table has */
		device_free(reference);
		return need_speed(s, t, why.text, err);
	}
	s->of[n].device = has_class ? reference : NULL;
	if (!has_class)
		device_free(reference);
	return ORR_OK;
}

static int load_profiles(struct type_speeds *s, const struct type_speed_config *c, struct orr_error *err)
{
	bool is_used = false, is_named = strcmp(c->profile, "auto") != 0 && strcmp(c->profile, "none") != 0;
	for (uint32_t t = 0; t <= s->cluster->n_types; t++)
		if (s->of[t].device && load_profile(c, &s->of[t], &is_used, err))
			return err->code ? err->code : ORR_EINPUT;
	return is_named && !is_used && s->of[s->cluster->n_types].device
		       ? orr_fail(err, ORR_EINPUT, "profile %.100s: its device is neither in the cluster nor jobs.reference_type",
				 c->profile)
		       : ORR_OK;
}

static int make_class(struct type_speeds *s, const struct type_speed_config *c, struct orr_error *err)
{
	uint32_t n = s->cluster->n_types;
	if (!s->of[n].device)
		return ORR_OK;
	for (uint32_t t = 0; t < n; t++)
		s->device[t] = (struct model_rates_device){ s->of[t].device, s->of[t].profile };
	s->rates = (struct model_rates_config){ .reference = { s->of[n].device, s->of[n].profile },
		.device = s->device,
		.n_devices = n,
		.precision = c->precision,
		.batch = c->batch,
		.seed = c->seed };
	struct orr_error why = { 0 };
	if (!(s->class = model_rates_new(&s->rates, &why)))
		return orr_fail(err, why.code, "jobs.reference_type=%.60s: %s", s->reference, why.text);
	for (uint32_t t = 0; t < n; t++)
		s->mean[t] = s->of[t].device ? model_rates_mean(s->class, t) : 1;
	return ORR_OK;
}

struct type_speeds *type_speeds_new(const struct type_speed_config *c, struct orr_error *err)
{
	struct type_speeds *s = mem_zalloc(1, sizeof *s);
	s->cluster = c->cluster;
	snprintf(s->reference, sizeof s->reference, "%s", c->reference);
	for (uint32_t t = 0; t < CLUSTER_MAX_TYPES; t++)
		s->mean[t] = 1;
	int rc = *s->reference ? load_devices(s, c, err) : ORR_OK;
	if (!rc)
		rc = load_profiles(s, c, err);
	if (!rc)
		rc = make_class(s, c, err);
	if (!rc)
		return s;
	type_speeds_free(s);
	return NULL;
}

void type_speeds_free(struct type_speeds *s)
{
	if (!s)
		return;
	for (uint32_t t = 0; t <= CLUSTER_MAX_TYPES; t++) {
		device_free(s->of[t].device);
		profile_free(s->of[t].profile);
	}
	model_rates_free(s->class);
	mem_free(s);
}

/* ---- draws ---- */

struct type_draw *type_draw_new(const struct type_speeds *s, uint32_t sample, struct orr_error *err)
{
	struct type_draw *d = mem_zalloc(1, sizeof *d);
	d->speeds = s;
	d->sample = sample;
	struct model_rates_config c = s->rates;
	c.sample = sample;
	if (!s->class || (d->class = model_rates_new(&c, err)))
		return d;
	mem_free(d);
	return NULL;
}

void type_draw_free(struct type_draw *d)
{
	if (!d)
		return;
	model_rates_free(d->class);
	mem_free(d);
}

uint32_t type_draw_model(const struct type_draw *d, uint64_t job)
{
	struct rng r;
	char stream[32];
	if (!d->class)
		return MEAN;
	snprintf(stream, sizeof stream, "job-class-%u", d->sample);
	rng_init(&r, d->speeds->rates.seed, stream, job);
	return (uint32_t)rng_below(&r, model_rates_models(d->class));
}

/* ---- speeds ---- */

bool type_speeds_has_class(const struct type_speeds *s)
{
	return s->class != NULL;
}

uint32_t type_speeds_model(const struct type_speeds *s, const char *name)
{
	return s->class ? model_rates_find(s->class, name) : MEAN;
}

double type_speed_of(const struct type_speeds *s, const struct type_draw *d, uint32_t model, uint32_t type)
{
	if (s->cluster->type_speed[type] > 0)
		return s->cluster->type_speed[type];
	if (model == MEAN || !s->of[type].device)
		return s->mean[type];
	return model_rates_of(d ? d->class : s->class, model, type);
}

/* ---- the text about the speeds ---- */

static void say_type(const struct type_speeds *s, uint32_t t, struct sbuf *b)
{
	const char *name = s->cluster->type_name[t];
	if (s->cluster->type_speed[t] > 0)
		sbuf_printf(b, "; %s %.4g (stated)", name, s->cluster->type_speed[t]);
	else if (s->of[t].device)
		sbuf_printf(b, "; %s %.3g (class mean, %.0f to %.0f %% of models: %.3g to %.3g)", name, s->mean[t], 100 * low_quantile,
			100 * high_quantile, model_rates_quantile(s->class, t, low_quantile),
			model_rates_quantile(s->class, t, high_quantile));
	else
		sbuf_printf(b, "; %s 1", name);
}

char *type_speeds_say(const struct type_speeds *s)
{
	struct sbuf b = { 0 };
	bool is_stated = false;
	for (uint32_t t = 0; t < s->cluster->n_types; t++)
		is_stated |= s->cluster->type_speed[t] > 0;
	if (!*s->reference && !is_stated)
		sbuf_puts(&b, "a job takes its recorded duration on every GPU type (jobs.reference_type scales it)");
	else if (!*s->reference)
		sbuf_puts(&b, "a job takes its recorded duration on GPU types without a stated speed");
	else
		sbuf_printf(&b, "recorded durations refer to %s", s->reference);
	for (uint32_t t = 0; (*s->reference || is_stated) && t < s->cluster->n_types; t++)
		say_type(s, t, &b);
	if (s->class)
		sbuf_printf(&b, "; class: step times of %u models of the catalogue on one GPU by the cost model, %s, batch %.15g",
			model_rates_models(s->class), precision_name(s->rates.precision), s->rates.batch);
	return sbuf_steal(&b);
}

bool type_speeds_input(const struct type_speeds *s, uint32_t i, const char **device_hash, const char **profile_hash)
{
	if (i > s->cluster->n_types)
		return false;
	*device_hash = s->of[i].device ? s->of[i].device->hash : "";
	*profile_hash = s->of[i].profile ? s->of[i].profile->hash : "";
	return true;
}

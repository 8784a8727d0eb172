/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * setting.h - what training runs on: network, devices, precision, batch, options of the step world
 *
 * The part of a scenario that orrery step and the jobs of orrery jobs that name a strategy
 * have in common:
 *
 *	{ "network": "star", "device": "NAME or FILE", "precision": "fp32", "batch": 32,
 *	  "profile": "auto", "cost_samples": 0, "step": {..options..}, "cost": {..options..} }
 */
#ifndef ORR_CLI_SETTING_H
#define ORR_CLI_SETTING_H

#include "study/scenario.h"
#include "step/step.h"

struct setting {
	char *network_spec, *device_spec; /* device_spec NULL: each GPU type of the cluster is a device */
	char *profile_spec;               /* "auto": the one that ships for each device, if any; "none"; or a name or file */
	struct topo *topo;
	struct device *device[CLUSTER_MAX_TYPES];   /* by GPU type of the cluster */
	struct profile *profile[CLUSTER_MAX_TYPES]; /* likewise; NULL: data sheet only */
	struct orr_args *options, *cost_args;
	enum precision precision;
	double batch;
	uint32_t cost_samples; /* draws of the profiles' laws; 0: none */
	uint64_t seed;
};

/* What --set cost.NAME=VALUE sets. */
extern const struct orr_param step_cost_options[];

/* Values that need nothing else; then, once there is a cluster, devices and network. */
int setting_resolve_values(const cJSON *o, struct setting *s, struct orr_error *err);
int setting_resolve_hardware(const cJSON *o, const struct scenario *base, struct setting *s, struct orr_error *err);
/* Of serving: precision, devices, profiles and, where one is named, the network. A GPU type that names no device of the
 * catalogue has none: models that are tables need none. */
int setting_resolve_serving(const cJSON *o, const struct scenario *base, struct setting *s, struct orr_error *err);
/* For GPU type `type`; sample 0: the laws as fitted, k: draw number k. */
struct cost_options setting_costs(const struct setting *s, uint32_t type, uint32_t sample);
/* Which profile, or data sheet, the times of each GPU type go by; the caller frees it. */
char *setting_source(const struct setting *s, const struct cluster *c);
/* Adds what there is to a resolved scenario. */
void setting_describe(const struct setting *s, const struct scenario *base, cJSON *o);
void setting_describe_serving(const struct setting *s, const struct scenario *base, cJSON *o);
void setting_free(struct setting *s);

#endif

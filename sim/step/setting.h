/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * setting.h - the setting of training: network, devices, precision, batch, options of the step world
 *
 * Used by the scenarios of orrery step and by jobs of orrery jobs that name a strategy:
 *
 *	{ "network": "star", "device": "NAME or FILE", "precision": "fp32", "batch": 32,
 *	  "profile": "auto", "cost_samples": 0, "step": {..options..}, "cost": {..options..} }
 */
#ifndef ORR_STEP_SETTING_H
#define ORR_STEP_SETTING_H

#include "step/step.h"
#include "world/scenario.h"

struct setting {
	/* Texts of the scenario. device_spec NULL: each GPU type of the cluster is a device. profile_spec "auto": the profile that
	 * ships for each device, if any; "none"; or a name or file. */
	const char *network_spec, *device_spec, *profile_spec;
	struct topo *topo;
	struct device *device[CLUSTER_MAX_TYPES];   /* devices by GPU type of the cluster */
	struct profile *profile[CLUSTER_MAX_TYPES]; /* profiles by GPU type of the cluster; NULL: data sheet only */
	struct orr_args *options, *cost_args;
	enum precision precision;
	double batch;
	uint32_t cost_samples; /* number of draws of the profiles' laws; 0: none */
	uint64_t seed;
};

#define SETTING_DEFAULT_NETWORK "star"
/* clang-format off */
/* Keys of a world's scenario. */
#define SETTING_KEYS_HARDWARE(network, precision) \
	ORR_PARAM_TEXT("network", network, "KIND[:option=value,..] (star, racks, leaf-spine, fat-tree, torus, ..) or a JSON file"), \
	ORR_PARAM_TEXT("device", "", "device of every GPU, in place of its type: a name or a file; empty: that of its type"), \
	ORR_PARAM_TEXT("profile", "auto", "fitted laws of kernel times: auto (those that ship for the device), none, a name or a file"), \
	ORR_PARAM_CHOICE("precision", precision, "fp32|tf32|fp16|bf16|fp8", "precision of the model's arithmetic")
#define SETTING_KEYS(precision) \
	SETTING_KEYS_HARDWARE(SETTING_DEFAULT_NETWORK, precision), \
	ORR_PARAM_REAL("batch", "32", 1e-9, 1e9, "samples per GPU and iteration"), \
	ORR_PARAM_INT("cost_samples", "0", 0, 10000, "draws of the profile's laws, for intervals; 0: none")
/* Flags for the keys of SETTING_KEYS_HARDWARE. */
#define SETTING_FLAGS_HARDWARE \
	{ "network", "N", WORLD_FLAG_KEY, "network", NULL, \
		"star, racks, leaf-spine, fat-tree, torus, full-mesh or ring, with\noptions (star:bw=10Gbps,lat=5us), or a JSON file (default star)" }, \
	{ "device", "NAME", WORLD_FLAG_KEY, "device", NULL, "device of every GPU, in place of its type: a name or a file" }, \
	{ "precision", "P", WORLD_FLAG_KEY, "precision", NULL, "fp32, tf32, fp16, bf16 or fp8" }, \
	{ "profile", "P", WORLD_FLAG_KEY, "profile", NULL, \
		"fitted laws of kernel times: auto (default: the profile that ships\nfor the device, if any), none (data sheet only), a name or a file" }
#define SETTING_OBJECTS \
	{ "step", step_options, "options of training iterations", NULL }, { "cost", step_cost_options, "options of cost models", NULL }
/* Keys that setting_describe() adds. */
#define SETTING_SHOWN "network_sha256", "devices", "profiles", "step_files_sha256"
/* clang-format on */

/* Options of `--set cost.NAME=VALUE`. */
extern const struct orr_param step_cost_options[];

struct run_result;
/* Adds the default network as an assumption if messages crossed nodes on it. It is slow beside most clusters of today. used: bits
 * STEP_USED_.. */
void setting_note_network(const struct setting *s, unsigned used, struct run_result *r);

/* First reads the values that need no cluster. Given a cluster, also loads devices and network. */
int setting_resolve_values(const struct scenario *base, struct setting *s, struct orr_error *err);
/* Refuses checkpoints of iterations in a world that takes only the rate of training. */
int setting_refuse_checkpoints(const struct setting *s, const char *remedy, struct orr_error *err);
int setting_resolve_hardware(const struct scenario *base, struct setting *s, struct orr_error *err);
/* Resolves the setting for serving: precision, devices, profiles and, if named, the network. A GPU type outside the catalogue has no
 * device, because models given as tables need none. */
int setting_resolve_serving(const struct scenario *base, struct setting *s, struct orr_error *err);
/* Loads the network of training for a scenario that names none; the caller frees it. Devices must be resolved. */
struct topo *setting_default_network(const struct scenario *base, const struct setting *s, struct orr_error *err);
/* Returns the cost options of GPU type `type`; sample 0: the laws as fitted, k: draw number k. */
struct cost_options setting_costs(const struct setting *s, uint32_t type, uint32_t sample);
/* Returns whether cost.NAME, or the key "profile", changes the time of any kernel of the model. cost: with the option, by GPU type. */
bool setting_costs_change(
	const struct setting *s, const struct cluster *c, const struct dnn *dnn, const struct cost *const *cost, const char *name);
/* Returns whether the key device names another device for a GPU than its type does. */
bool setting_device_changes(const struct setting *s, const struct cluster *c);
/* Returns whether messages inside nodes have other links than with the default network of training. */
bool setting_links_change(const struct setting *s, const struct scenario *base);
/* Returns whether a route from the first GPU has another bandwidth or latency than with the default network of training. */
bool setting_routes_change(const struct setting *s, const struct scenario *base);
/* Returns whether the profiles differ from those of profile=auto. */
bool setting_profile_changes(const struct setting *s, const struct cluster *c);
/* Describes the profile, or data sheet, of each GPU type; the caller frees the text. */
char *setting_source(const struct setting *s, const struct cluster *c);
/* Adds the setting to a resolved scenario. */
void setting_describe(const struct setting *s, const struct scenario *base, cJSON *o);
void setting_describe_serving(const struct setting *s, const struct scenario *base, cJSON *o);
void setting_free(struct setting *s);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gpu_types.h - names of GPU types that a cluster may use
 *
 * A name is known if it is one of these:
 *	a device of the catalogue or its alias (case ignored), with or without the price suffix "-spot", or a file of a device;
 *	"gpu" or "cpu", which name no device ("gpu" is the type of a cluster that names none);
 *	a type whose speed the cluster states;
 *	a type of a recorded node list (openb);
 *	a name that the caller knows: a column of a throughput table, a type that jobs of the trace request.
 */
#ifndef ORR_WORLD_GPU_TYPES_H
#define ORR_WORLD_GPU_TYPES_H

#include "cluster/cluster.h"

struct device;

/* Writes the name of the type's device: the type without "-spot". */
void gpu_type_device_name(const char *type, char out[64]);
/* Returns the device of a type, or NULL with err set. The caller frees it. */
struct device *gpu_type_device(const char *type, struct orr_error *err);
/* "gpu" or "cpu". */
bool gpu_type_is_generic(const char *type);

/* Refuses a type that is not known. knows may be NULL. remedy: further accepted names, for the message. */
int gpu_types_check(const struct cluster *c, bool (*knows)(const void *ctx, const char *type), const void *ctx, const char *remedy,
	struct orr_error *err);
/* Refuses stated speeds, for worlds whose times come from devices or tables. */
int gpu_types_refuse_speeds(const struct cluster *c, const char *world, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * type_speed.h - speed of jobs by GPU type, relative to the type that recorded durations refer to
 *
 * For jobs that neither train (training.h) nor have rates in a throughput table. By type, the first of these that applies:
 *	a speed that the cluster states (TYPE:speed=FACTOR);
 *	1, without a reference type (jobs.reference_type), and on the reference type itself;
 *	the cost model's ratio of step times of the job's model, if the catalogue has it (hwmodel/model_rates.h);
 *	the class mean of those ratios.
 * A draw assigns a random model of the class to each job, instead of the mean. docs/models/jobs.md, "Speed by GPU type".
 *
 * Read-only after creation: runs in parallel threads share it.
 */
#ifndef ORR_JOBS_TYPE_SPEED_H
#define ORR_JOBS_TYPE_SPEED_H

#include "cluster/cluster.h"
#include "hwmodel/device.h"
#include "hwmodel/profile.h"
#include "results/result.h"

struct throughput;

struct type_speed_config {
	const struct cluster *cluster;
	const char *reference;               /* reference: type of the cluster, device, or column of the table; "": none */
	const struct throughput *throughput; /* NULL: none */
	const char *profile;                 /* profile: auto, none, a name or a file */
	enum precision precision;
	double batch;
	uint64_t seed;
};

struct type_speeds;
struct type_draw; /* one draw of the laws and of the models of jobs */

/* Makes the speeds. Copies the config, except for the cluster. */
struct type_speeds *type_speeds_new(const struct type_speed_config *c, struct orr_error *err);
void type_speeds_free(struct type_speeds *s);
/* sample: 1, 2, .. */
struct type_draw *type_draw_new(const struct type_speeds *s, uint32_t sample, struct orr_error *err);
void type_draw_free(struct type_draw *d);

/* Returns whether a type has a speed by the class mean, so that precision, batch, profile and draws have an effect. */
bool type_speeds_has_class(const struct type_speeds *s);
/* Returns the number of a model of the class, for type_speed_of(); UINT32_MAX: the class mean. */
uint32_t type_speeds_model(const struct type_speeds *s, const char *name);
/* Draws the model of a job. Without a class it returns UINT32_MAX. */
uint32_t type_draw_model(const struct type_draw *d, uint64_t job);
/* Draws speeds for a job. d may be NULL. */
double type_speed_of(const struct type_speeds *s, const struct type_draw *d, uint32_t model, uint32_t type);

/* Returns a text for a note: the reference of speeds, and the speed of each type with its source. The caller frees the text. */
char *type_speeds_say(const struct type_speeds *s);
/* Adds devices and profiles to a resolved scenario's lists of hashes. i counts from 0; false past the last. */
bool type_speeds_input(const struct type_speeds *s, uint32_t i, const char **device_hash, const char **profile_hash);

#endif

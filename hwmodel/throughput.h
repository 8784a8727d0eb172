/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * throughput.h - measured training rates by GPU type, job type and scale
 *
 * The format is Gavel's (Narayanan et al., OSDI 2020): an object
 *	{ GPU_TYPE: { "('JOB TYPE', SCALE)": { "null": STEPS_PER_S,
 *	                                       "('OTHER', SCALE)": [OWN, OTHERS] } } }
 * The key "null" is the job alone; the other keys are jobs that share its GPUs. Rates
 * are steps/s of the whole job. The case of GPU types is ignored.
 */
#ifndef ORR_HWMODEL_THROUGHPUT_H
#define ORR_HWMODEL_THROUGHPUT_H

#include <orrery/api.h>

struct throughput;

struct throughput *throughput_load(const char *path, struct orr_error *err);
/* Parses a text of n bytes; path is for messages. */
struct throughput *throughput_parse(const char *path, const char *text, size_t n, struct orr_error *err);
void throughput_free(struct throughput *t);

/* Returns the steps/s of a job alone; 0: the table has no entry, or its entry is 0 (the job cannot run there). */
double throughput_lookup(const struct throughput *t, const char *gpu_type, const char *job_type, int scale);
/* Returns the steps/s of job a while it shares its GPUs with job b; 0: not measured. */
double throughput_lookup_shared(const struct throughput *t, const char *gpu_type, const char *a, int scale_a, const char *b, int scale_b);

/* Returns whether the table has a column of that GPU type. */
bool throughput_has_type(const struct throughput *t, const char *gpu_type);

/* Returns whether the table has a job that shares its GPUs. */
bool throughput_has_pairs(const struct throughput *t);

/* Returns the SHA-256 of the file as 64 hex digits. */
const char *throughput_hash(const struct throughput *t);

#endif

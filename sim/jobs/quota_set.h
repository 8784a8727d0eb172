/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quota_set.h - the partitions (virtual clusters) of a run and their quotas, as --partitions states them
 *
 *	NAME=GPUS,..        "research=64,prod=128,*=16"
 *	FILE                CSV with the columns partition and gpus
 *
 * A job belongs to the partition with the name of its queue in the trace. "*" is the partition of all other jobs.
 */
#ifndef ORR_JOBS_QUOTA_SET_H
#define ORR_JOBS_QUOTA_SET_H

#include <orrery/api.h>

#include <stdbool.h>
#include <stdint.h>

#define QUOTA_SET_NONE UINT32_MAX
enum { QUOTA_SET_MOST = 4096 };

struct partition_quota {
	char *name, *cause; /* cause: "the quota of NAME", for orrery explain */
	uint32_t gpus;
};

struct quota_set {
	uint32_t n;
	struct partition_quota *of;
	uint32_t rest; /* partition "*"; QUOTA_SET_NONE: there is none */
	uint64_t gpus; /* sum of the quotas */
	char hash[65]; /* hash of names and quotas */
};

/* Parses a list, or reads a file if the text has no '='. Returns NULL on error. */
struct quota_set *quota_set_load(const char *text, struct orr_error *err);
void quota_set_free(struct quota_set *p);
/* Returns the partition of a queue (NULL: the job names none); QUOTA_SET_NONE: no partition has this name. */
uint32_t quota_set_find(const struct quota_set *p, const char *queue);

#endif

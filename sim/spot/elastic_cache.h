/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elastic_cache.h - elastic jobs with their step times; derived step times are computed once
 *
 * Jobs with the same content share one object, which lives until the program ends: deriving takes seconds, and a study may
 * name a job at hundreds of points. To be used from one thread.
 */
#ifndef ORR_SPOT_ELASTIC_CACHE_H
#define ORR_SPOT_ELASTIC_CACHE_H

#include "hwmodel/elastic.h"

struct elastic_entry {
	struct elastic *job;
	char steps_hash[65]; /* of the derived step times, which may depend on files that the job names; empty: none were derived */
};

/* Takes ownership of the job, on an error too. NULL on error. */
const struct elastic_entry *elastic_cached(struct elastic *job, struct orr_error *err);

#endif

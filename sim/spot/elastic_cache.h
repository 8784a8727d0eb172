/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elastic_cache.h - elastic jobs with their step times; derived step times are computed once
 *
 * Jobs with the same content share one object, which lives until the program ends. Deriving takes seconds, and a study may use
 * a job at hundreds of points. Thread-safe.
 */
#ifndef ORR_SPOT_ELASTIC_CACHE_H
#define ORR_SPOT_ELASTIC_CACHE_H

#include "hwmodel/elastic.h"

struct elastic_entry {
	struct elastic *job;
	char steps_hash[65]; /* hash of the derived step times, which may depend on files that the job names; empty: none were
			      * derived */
};

/* Returns the shared entry. Takes ownership of the job, also on error. Returns NULL on error. */
const struct elastic_entry *elastic_cached(struct elastic *job, struct orr_error *err);

#endif

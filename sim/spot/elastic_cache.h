/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elastic_cache.h - elastic jobs as runs have them: steps that a job says are to be derived are, once
 *
 * Jobs of one content are one object, which lives until the program ends, as deriving takes seconds and a study may name a job
 * at hundreds of points. From one thread.
 */
#ifndef ORR_SPOT_ELASTIC_CACHE_H
#define ORR_SPOT_ELASTIC_CACHE_H

#include "hwmodel/elastic.h"

struct elastic_entry {
	struct elastic *job;
	char steps_hash[65]; /* of what was derived, which files that the job names may decide; empty: nothing was */
};

/* Takes the job over, whatever comes of it. NULL on error. */
const struct elastic_entry *elastic_cached(struct elastic *job, struct orr_error *err);

#endif

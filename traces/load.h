/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * load.h - the load of a trace of jobs, scaled
 *
 * load=1.2 raises the offered load (GPU time per time) by a fifth, in one of three ways (load_by):
 *
 *	arrivals   divides all submission times: the same jobs in less time. Daily and weekly rhythms are compressed too.
 *	durations  multiplies run times, limits and iterations: the same arrivals of longer jobs.
 *	copies     submits jobs several times, or leaves jobs out: row k becomes floor((k+1) load) - floor(k load) jobs. Rhythm and run
 *	           times stay; bursts become larger by the factor.
 *
 * Recorded waits are those of another load, so they become unknown.
 */
#ifndef ORR_TRACES_LOAD_H
#define ORR_TRACES_LOAD_H

#include "traces/rowset.h"

#include <orrery/param.h>

#define LOAD_PARAMS                                                                  \
	ORR_PARAM_REAL("load", "1", 1e-3, 1e3, "factor of the offered load"),        \
		ORR_PARAM_CHOICE("load_by", "arrivals", "arrivals|durations|copies", \
			"method to scale the load: less time between jobs, longer jobs, or more jobs")

/* args: values of LOAD_PARAMS. */
static inline bool load_is_scaled(const struct orr_args *args)
{
	double load = orr_arg_real(args, "load");
	return load < 1 || load > 1;
}

/* Scales the records of jobs, which are sorted by submission. Fails if times exceed 127 years. */
int load_scale(struct rowset *s, const struct orr_args *args, struct orr_error *err);

#endif

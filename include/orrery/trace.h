/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - one row of a trace of jobs, whatever its format
 *
 * A reader fills in what its format knows and leaves the rest at "unknown".
 * Strings belong to the reader and are good until its next row.
 */
#ifndef ORRERY_TRACE_H
#define ORRERY_TRACE_H

#include <orrery/api.h>

struct orr_trace_job {
	const char *id;                   /* as in the file; NULL: the row's number */
	int64_t submit_ns;                /* since the trace's own zero (see "absolute" in traces/trace.h) */
	int64_t duration_ns;              /* run time on what it asked for; -1 unknown */
	int64_t limit_ns;                 /* the user's limit or estimate; -1 none */
	int64_t wait_ns;                  /* recorded wait; -1 not recorded */
	double iterations;                /* training steps; 0 unknown */
	double priority;                  /* 0 unless the format has one */
	uint32_t gpus;                    /* devices asked for (SWF: processors); 0: none, CPUs only */
	uint32_t gpu_milli;               /* of each, in 1/1000 of a device; 1000 = whole */
	int64_t cpu_milli;                /* 1/1000 of a core, whole job; 0 does not ask */
	int64_t mem_mib;                  /* MiB, whole job; 0 does not ask */
	const char *user, *queue, *model; /* NULL unknown; queue: virtual cluster or partition */
	const char *gpu_types;            /* admissible types, '|' between them; NULL any */
	const char *speedup;              /* elastic: "1:1;2:1.9;4:3.5" = size:relative rate; NULL rigid */
	const char *strategy;             /* a step policy, "allreduce:fusion=none": with model, how the job trains; NULL unknown */
	double batch;                     /* samples per GPU and iteration; 0 unknown */
	const char *status;               /* as recorded; NULL unknown */
	uint64_t line;                    /* line in the file, for messages */
};

#endif

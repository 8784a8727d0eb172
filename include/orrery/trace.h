/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - one row of a trace of jobs, in any format
 *
 * A reader sets the fields that its format has and leaves the others unknown.
 * Strings belong to the reader and are valid until its next row.
 */
#ifndef ORRERY_TRACE_H
#define ORRERY_TRACE_H

#include <orrery/api.h>

struct orr_trace_job {
	const char *id;                   /* as in the file; NULL: the number of the row */
	int64_t submit_ns;                /* since time 0 of the trace, or since 1970 (trace_is_absolute()) */
	int64_t duration_ns;              /* run time on the requested devices; -1 unknown */
	int64_t limit_ns;                 /* limit or estimate of the user; -1 none */
	int64_t wait_ns;                  /* recorded wait; -1 not recorded */
	double iterations;                /* training steps; 0 unknown */
	double priority;                  /* 0: none */
	uint32_t gpus;                    /* requested devices (SWF: processors); 0: CPUs only */
	uint32_t gpu_milli;               /* share of each device in 1/1000; 1000: whole */
	int64_t cpu_milli;                /* 1/1000 of a core, for the whole job; 0: none requested */
	int64_t mem_mib;                  /* MiB, for the whole job; 0: none requested */
	const char *user, *queue, *model; /* NULL unknown; queue: virtual cluster or partition */
	const char *gpu_types;            /* admissible types, separated by '|'; NULL: any */
	const char *speedup;              /* elastic: "1:1;2:1.9;4:3.5" = size:relative rate; NULL rigid */
	const char *strategy;             /* a step policy such as "allreduce:fusion=none", with which the job trains model; NULL unknown */
	double batch;                     /* samples per GPU and iteration; 0 unknown */
	const char *status;               /* as recorded; NULL unknown */
	uint64_t line;                    /* line in the file, for messages */
};

#endif

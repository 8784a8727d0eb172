/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - one row of a trace of jobs, in any format
 *
 * A reader sets the fields that its format has; the others are unknown. Strings belong to the reader and are valid until its
 * next row.
 */
#ifndef ORRERY_TRACE_H
#define ORRERY_TRACE_H

#include <orrery/api.h>

struct orr_trace_job {
	const char *id;                   /* identifier in the file; NULL: the number of the row */
	int64_t submit_ns;                /* submission time from time 0 of the trace, or from 1970 (trace_is_absolute()) */
	int64_t duration_ns;              /* run time on the requested devices; -1: unknown */
	int64_t limit_ns;                 /* limit or estimate of the user; -1: none */
	int64_t wait_ns;                  /* recorded waiting time; -1: not recorded */
	double iterations;                /* number of training steps; 0: unknown */
	double priority;                  /* 0: none */
	uint32_t gpus;                    /* number of requested devices (SWF: processors); 0: CPUs only */
	uint32_t gpu_milli;               /* share of each device in 1/1000; 1000: whole devices */
	int64_t cpu_milli;                /* CPUs requested for the whole job, 1/1000 of a core; 0: no request */
	int64_t mem_mib;                  /* memory requested for the whole job, MiB; 0: no request */
	const char *user, *queue, *model; /* NULL: unknown; queue: virtual cluster or partition */
	const char *gpu_types;            /* admissible types, separated by '|'; NULL: any */
	const char *speedup;              /* elastic: "1:1;2:1.9;4:3.5" = size:relative rate; NULL: rigid */
	const char *strategy;             /* step policy that trains the job's model, such as "allreduce:fusion=none"; NULL: unknown */
	double batch;                     /* number of samples per GPU and iteration; 0: unknown */
	int64_t deadline_ns;              /* time from the submission to the latest acceptable end; -1: none */
	int64_t gpu_mem_mib;              /* memory used on each GPU, MiB; 0: unknown */
	double occupancy;                 /* mean part of a GPU's multiprocessors that the job keeps busy, 0..1; 0: unknown */
	const char *stages;               /* "storage;gpu;network": seconds of these stages in each iteration; NULL: unknown */
	const char *status;               /* recorded status; NULL: unknown */
	const char *preceding;            /* id of the job after whose end the user submitted this one; NULL: none */
	int64_t think_ns;                 /* time from the end of that job to the submission */
	uint64_t line;                    /* line number in the file, for messages */
};

#endif

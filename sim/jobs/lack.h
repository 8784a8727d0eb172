/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lack.h - the resources that the request of a waiting job lacks at present, for the parts of waits (causes.c)
 */
#ifndef ORR_JOBS_LACK_H
#define ORR_JOBS_LACK_H

#include "jobs/job.h"

enum lack { LACKS_GPUS, LACKS_CORES, LACKS_MEMORY, IS_FRAGMENTED, LACKS_QUOTA, FITS };

/* Returns the class of the requests of a shape. asked, free: GPUs, whole cores or GiB, by class. */
enum lack lack_of(const struct orr_jobs *w, uint32_t shape, uint32_t *asked, uint32_t *free);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * application.h - tables of applications: the goodput model of each (hwmodel/goodput.h)
 *
 * A CSV file with a header. Columns: application, init_batch_size, max_batch_size, min_local_bsz, max_local_bsz, alpha_c, beta_c,
 * alpha_n, beta_n, alpha_r, beta_r, gamma. Other columns are ignored, except gpu_type: an application may have a row for each GPU type,
 * with its times there. The batches of all its rows are equal.
 */
#ifndef ORR_JOBS_APPLICATION_H
#define ORR_JOBS_APPLICATION_H

#include "hwmodel/goodput.h"

struct application {
	char *name, *gpu_type; /* gpu_type "": any type */
	struct goodput_model model;
};

struct applications {
	struct application *app; /* in the order of the file */
	size_t n, cap;
};

/* Reads a file; NULL on error. */
struct applications *applications_load(const char *path, struct orr_error *err);
/* Makes a table of one application from "init_batch_size=128,max_batch_size=4096,..": every column but `application`. */
struct applications *applications_parse(const char *list, struct orr_error *err);
void applications_free(struct applications *a);
/* Returns the application's row for the GPU type; NULL: it has none. */
const struct application *applications_on(const struct applications *a, const struct application *x, const char *gpu_type);
/* Returns NULL, with an error that names the nearest application, if the table has none of this name. Returns the first row of
 * the name: durations refer to its type. */
const struct application *applications_find(const struct applications *a, const char *name, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * application.h - tables of applications: the goodput model of each (hwmodel/goodput.h)
 *
 * A CSV file with a header. Columns: application, init_batch_size, max_batch_size, min_local_bsz, max_local_bsz, alpha_c, beta_c,
 * alpha_n, beta_n, alpha_r, beta_r, gamma. Other columns are ignored.
 */
#ifndef ORR_JOBS_APPLICATION_H
#define ORR_JOBS_APPLICATION_H

#include "hwmodel/goodput.h"

struct application {
	char *name;
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
/* Returns NULL, with an error that names the nearest application, if the table has none of this name. */
const struct application *applications_find(const struct applications *a, const char *name, struct orr_error *err);

#endif

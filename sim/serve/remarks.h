/* SPDX-License-Identifier: GPL-3.0-or-later */
/* remarks.h - remarks of a run, below its table (remarks.c) */
#ifndef ORR_SERVE_REMARKS_H
#define ORR_SERVE_REMARKS_H

#include "serve/world.h"

/* Adds the notes of kind "remark" to the result; called after the last event of the run. */
void serve_remarks(struct orr_serve *w);

#endif

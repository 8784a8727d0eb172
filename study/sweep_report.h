/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_report.h - the rows of a study, printed as a table or JSON, and written as study.csv */
#ifndef ORR_STUDY_SWEEP_REPORT_H
#define ORR_STUDY_SWEEP_REPORT_H

#include "study/sweep_rows.h"

/* Prints the table or JSON on standard output, answers and failures; writes out_dir/study.csv. Needs sweep_end(). */
int sweep_print(struct sweep_rows *w, const struct book *b, const struct world_output *o, struct orr_error *err);

#endif

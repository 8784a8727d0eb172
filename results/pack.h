/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pack.h - the contents of a result as bytes, for another process of the same program
 *
 * The bytes hold what a world fills in: every table of columns.def, series, rows_total and is_oracle. Labels, hash and times
 * stay with the caller. Rows are copied as they lie in memory, with texts replaced by their numbers, so a new column needs no
 * code here. The format is private to one build on one machine and is never stored.
 */
#ifndef ORR_RESULTS_PACK_H
#define ORR_RESULTS_PACK_H

#include <orrery/api.h>

#include "base/sbuf.h"
#include "results/result.h"

/* Returns the number of bytes of the contents, without their texts. */
size_t result_pack_size(const struct run_result *r);
/* Writes the contents to body, result_pack_size() bytes, and appends their texts to *texts. */
void result_pack(char *body, struct sbuf *texts, const struct run_result *r);
/* Fills in r, whose tables are empty. Returns ORR_EFAIL if the bytes are damaged; r is then incomplete but can be freed. */
int result_unpack(struct run_result *r, const char *body, size_t n_body, const char *texts, size_t n_texts, struct orr_error *err);

#endif

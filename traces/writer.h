/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writer.h - writes jobs as orrery's CSV, Tiresias CSV or SWF; requests and availability as
 * orrery's CSVs
 *
 * Invariant: the file exists only when complete. Rows are written to a temporary file beside it (base/outfile.h), which
 * writer_close() renames and writer_discard() removes. A file named .gz or
 * .zst is compressed; "-" is standard output, uncompressed.
 *
 * Times have as many decimals, at most nine, as reading back the same ns requires. Fields that the format lacks are lost
 * (docs/traces.md).
 */
#ifndef ORR_TRACES_WRITER_H
#define ORR_TRACES_WRITER_H

#include <orrery/trace.h>

struct writer;
struct reqset;
struct request_rec;
struct availset;
struct avail_rec;

/* Opens a file. format: orrery, tiresias or swf for jobs; requests; availability. Returns NULL on error. */
struct writer *writer_open(const char *path, const char *format, struct orr_error *err);
/* Writes a row. row->id NULL: the number of the row. Returns 0 or an error code. */
int writer_row(struct writer *w, const struct orr_trace_job *row, struct orr_error *err);
/* Writes a row of format requests; texts belong to the set. */
int writer_request(struct writer *w, const struct reqset *s, const struct request_rec *r, struct orr_error *err);
/* Writes a row of format availability; r NULL: the end of the record, end_ns. */
int writer_avail(struct writer *w, const struct availset *s, const struct avail_rec *r, int64_t end_ns, struct orr_error *err);
/* Closes and frees the writer, even on error. */
int writer_close(struct writer *w, struct orr_error *err);
void writer_discard(struct writer *w);

#endif

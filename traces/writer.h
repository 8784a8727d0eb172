/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * writer.h - rows of jobs as a file: orrery's CSV, Tiresias CSV or SWF; rows of requests and of
 * availability as orrery's CSVs of them
 *
 * Invariant: the file named exists only once it is whole. Rows go to NAME.part,
 * which writer_close() renames and writer_discard() removes. A name that ends in
 * .gz or .zst is packed; "-" is standard output, plain.
 *
 * Times are written with as many decimals as they need, up to nine, so that
 * reading them gives the same ns. What a format has no field for is lost:
 * docs/traces.md says what.
 */
#ifndef ORR_TRACES_WRITER_H
#define ORR_TRACES_WRITER_H

#include <orrery/trace.h>

struct writer;
struct reqset;
struct request_rec;
struct availset;
struct avail_rec;

/* format: orrery, tiresias or swf; requests; availability. NULL on error. */
struct writer *writer_open(const char *path, const char *format, struct orr_error *err);
/* row->id NULL: the row's number. 0, or an error's code. */
int writer_row(struct writer *w, const struct orr_trace_job *row, struct orr_error *err);
/* For format requests, which takes no other rows; texts are the set's. */
int writer_request(struct writer *w, const struct reqset *s, const struct request_rec *r, struct orr_error *err);
/* The same for format availability; NULL in place of a row: it was watched until end_ns. */
int writer_avail(struct writer *w, const struct availset *s, const struct avail_rec *r, int64_t end_ns, struct orr_error *err);
/* Ends and frees the writer, whatever it returns. */
int writer_close(struct writer *w, struct orr_error *err);
void writer_discard(struct writer *w);

#endif

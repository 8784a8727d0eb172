/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - where jobs come from: a file in one of several formats, or a generator
 *
 * Two ways to have a trace:
 *  - struct trace streams rows of one file, one at a time, in file order;
 *  - struct jobset is what a replay uses: rows sorted by submission (file order
 *    on ties), read once and then shared by any number of threads, or a generator
 *    that makes the same rows again for each cursor.
 */
#ifndef ORR_TRACES_TRACE_H
#define ORR_TRACES_TRACE_H

#include <orrery/param.h>
#include <orrery/trace.h>

#include "base/strtab.h"

struct cJSON;

/* What the rows are. A list of nodes has no rows that are replayed: trace info alone reads it. */
enum trace_kind { TRACE_JOBS, TRACE_REQUESTS, TRACE_AVAIL, TRACE_NODES, TRACE_KINDS };
/* Is the text the name of a format of such rows, or of a generator of them? (poisson and mmpp make jobs and requests.) */
bool trace_kind_knows(enum trace_kind kind, const char *format);

/* ---- streaming one file ---- */
struct trace;

/* format NULL or "auto": found by sniffing. path "-" is standard input; gzip and
 * zstd are taken off whatever the name. options: "name=value" texts of the format's
 * parameters, NULL-terminated; may be NULL. NULL on error. */
struct trace *trace_open(const char *path, const char *format, const char *const *options, struct orr_error *err);
/* 1 a row, 0 the end, -1 error (err names file and line). */
int trace_next(struct trace *t, struct orr_trace_job *row, struct orr_error *err);
void trace_close(struct trace *t);
enum trace_kind trace_kind(const struct trace *t);
const char *trace_format(const struct trace *t);
const char *trace_format_doc(const struct trace *t);
/* Whether submit times are wall-clock (then a jobset counts from the first one). */
bool trace_is_absolute(const struct trace *t);
/* The same for a text in memory, which the caller keeps; name stands for the file. */
struct trace *trace_open_memory(
	const char *name, const void *data, size_t n, const char *format, const char *const *options, struct orr_error *err);
/* With options under which no row is left out, whatever can be made of it. */
struct trace *trace_open_all(const char *path, const char *format, const char *const *options, struct orr_error *err);
/* SHA-256 of the file's bytes as hex; "" until trace_next() has given 0. */
const char *trace_hash(const struct trace *t);

/* Reads all that is left into p and finishes it; 0 or -1. */
struct trace_profile;
int trace_describe(struct trace *t, struct trace_profile *p, struct orr_error *err);
/* The same for jobs and nodes alone. */
int trace_profile_rows(struct trace *t, struct trace_profile *p, struct orr_error *err);

/* What a format knows beside the rows: its header, how many rows it left out. Texts
 * are good until trace_close(). */
struct trace_fact {
	const char *name;
	char value[112];
};
/* Fact number index, false past the last. Complete once trace_next() has given 0. */
bool trace_fact(const struct trace *t, size_t index, struct trace_fact *out);
/* How many rows trace_next() has passed over, as the options of the format say. */
uint64_t trace_left_out(const struct trace *t);
/* Numbers that only this format has (its extras), for the row just read; NAN where it has none. */
enum { TRACE_MAX_EXTRAS = 8 };
void trace_get_extras(const struct trace *t, double *values);

/* ---- files of requests (traces/requests.h) ---- */
struct req_row;
struct request_rec;
/* An error for traces of another kind, as trace_next() is for traces of no jobs. */
int trace_next_request(struct trace *t, struct req_row *row, struct orr_error *err);
uint32_t trace_block_tokens(const struct trace *t);
void trace_arrange(const struct trace *t, struct request_rec *row, uint64_t n);
const struct orr_args *trace_args(const struct trace *t);
uint64_t trace_line(const struct trace *t); /* of the row just read */

/* ---- files of availability (traces/avail.h) ---- */
struct avail_row;
int trace_next_avail(struct trace *t, struct avail_row *row, struct orr_error *err);
const char *trace_name(const struct trace *t); /* of the file, for messages */

/* ---- the jobs of a replay ---- */
struct job_rec {
	uint64_t number; /* 0, 1, ... in order of submission */
	int64_t submit_ns, duration_ns, limit_ns, wait_ns;
	double iterations, priority, batch;
	int64_t cpu_milli, mem_mib;
	uint32_t gpus, gpu_milli;
	uint32_t id;                                                       /* strings of jobset_strings(); id 0: print number instead */
	uint32_t user, queue, model, gpu_types, speedup, strategy, status; /* 0: none */
	uint64_t line;                                                     /* in the file; 0 from a generator */
};

struct jobset;
struct jobcursor;

/* source: a path, or a generator "poisson:rate=0.5,n=1000" (see docs). seed is for
 * generators only. */
struct jobset *jobset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err);
/* The rows of a trace that has been opened; closes it, whatever comes of it. */
struct jobset *jobset_from(struct trace *t, const char *source, struct orr_error *err);
void jobset_free(struct jobset *s);
/* How many jobs; for a generator with no end given, UINT64_MAX. */
uint64_t jobset_count(const struct jobset *s);
/* Rows of the file that its format's options left out. */
uint64_t jobset_left_out(const struct jobset *s);
/* True if all rows are in memory (jobset_at() works). */
bool jobset_is_loaded(const struct jobset *s);
const struct job_rec *jobset_at(const struct jobset *s, uint64_t number);
/* Strings that rows of this set refer to (a generator's are fixed before the first row). */
const struct strtab *jobset_strings(const struct jobset *s);
/* Whether any job may name a strategy. */
bool jobset_has_strategies(const struct jobset *s);
/* 64 hex digits: SHA-256 of the file's bytes, or of generator text and seed. */
const char *jobset_hash(const struct jobset *s);
const char *jobset_format(const struct jobset *s);
const char *jobset_source(const struct jobset *s);

struct jobcursor *jobset_open(const struct jobset *s); /* any number at once, one thread each */
bool jobcursor_next(struct jobcursor *c, struct job_rec *out);
void jobcursor_close(struct jobcursor *c);
/* rec as a row again; id NULL where there is only a number. Texts are the set's. */
void jobset_row(const struct jobset *s, const struct job_rec *rec, struct orr_trace_job *out);

#endif

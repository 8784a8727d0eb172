/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * trace.h - traces: the rows of one file, and the jobs of a replay
 *
 * struct trace streams the rows of one file, of jobs or others, in file order. A
 * replay of jobs uses a struct jobset: rows sorted by submission (file order on
 * ties), read once and shared by any number of threads, or a generator that makes
 * the same rows again for each cursor.
 */
#ifndef ORR_TRACES_TRACE_H
#define ORR_TRACES_TRACE_H

#include <orrery/param.h>
#include <orrery/trace.h>

#include "base/strtab.h"

struct cJSON;

/* Kind of the rows. Only trace info reads a list of nodes. */
enum trace_kind { TRACE_JOBS, TRACE_REQUESTS, TRACE_AVAIL, TRACE_NODES, TRACE_KINDS };
/* Returns whether a format or a generator of such rows has this name. (The names poisson and mmpp exist for jobs and for requests.) */
bool trace_kind_knows(enum trace_kind kind, const char *format);
/* Appends the names of the formats of such rows, "a, b, .. or auto", in lines for a help text. */
struct sbuf;
void trace_format_names(enum trace_kind kind, struct sbuf *out);

/* ---- rows of one file, one after another ---- */
struct trace;

/* Opens a file. format NULL or "auto": recognised by sniffing. path "-" is standard input. gzip and zstd are decompressed regardless
 * of the file name. options: "name=value" texts of the format's parameters, NULL-terminated; may be NULL. Returns NULL on error. */
struct trace *trace_open(const char *path, const char *format, const char *const *options, struct orr_error *err);
/* Reads the next row. Returns 1: a row, 0: the end, -1: an error (err names file and line). */
int trace_next(struct trace *t, struct orr_trace_job *row, struct orr_error *err);
void trace_close(struct trace *t);
enum trace_kind trace_kind(const struct trace *t);
const char *trace_format(const struct trace *t);
const char *trace_format_doc(const struct trace *t);
/* Returns whether submit times are wall-clock times (a jobset then makes them relative to the first). */
bool trace_is_absolute(const struct trace *t);
/* Like trace_open() for a text in memory, which the caller keeps; name replaces the file name. */
struct trace *trace_open_memory(
	const char *name, const void *data, size_t n, const char *format, const char *const *options, struct orr_error *err);
/* Like trace_open(), with options that keep every row, even without a duration. */
struct trace *trace_open_all(const char *path, const char *format, const char *const *options, struct orr_error *err);
/* Returns the SHA-256 of the file's bytes in hex; "" until trace_next() has returned 0. */
const char *trace_hash(const struct trace *t);

/* Adds all remaining rows to p and finishes p; returns 0 or -1. */
struct trace_profile;
int trace_describe(struct trace *t, struct trace_profile *p, struct orr_error *err);
/* Profiles a trace of jobs or a list of nodes. */
int trace_profile_rows(struct trace *t, struct trace_profile *p, struct orr_error *err);

/* A property of the file, such as a value of its header. Texts are valid until
 * trace_close(). */
struct trace_fact {
	const char *name;
	char value[112];
};
/* Returns the fact with this index; false past the last. Facts are complete once trace_next() has returned 0. */
bool trace_fact(const struct trace *t, size_t index, struct trace_fact *out);
/* Returns the number of rows that trace_next() has skipped because of options of the format. */
uint64_t trace_left_out(const struct trace *t);
/* Returns the number of wrong rows that repair=all left out; *first is set to the message of the first one, or to "". */
uint64_t trace_repaired(const struct trace *t, const char **first);
/* Returns whether options change the load (traces/load.h). */
bool trace_is_scaled(const struct trace *t);
bool trace_has_flows(const struct trace *t); /* returns whether each row is a flow */
/* Hands over the flows of the file, after its last row; NULL: none. */
struct flowset *trace_take_flows(struct trace *t);
/* ---- files of requests (traces/requests.h) ---- */
struct req_row;
struct request_rec;
/* Like trace_next(), for requests; an error for traces of other kinds. */
int trace_next_request(struct trace *t, struct req_row *row, struct orr_error *err);
uint32_t trace_block_tokens(const struct trace *t);
void trace_arrange(const struct trace *t, struct request_rec *row, uint64_t n);
const struct orr_args *trace_args(const struct trace *t);
uint64_t trace_line(const struct trace *t); /* returns the line number of the last row */

/* ---- files of availability (traces/avail.h) ---- */
struct avail_row;
int trace_next_avail(struct trace *t, struct avail_row *row, struct orr_error *err);
const char *trace_name(const struct trace *t); /* returns the name of the file, for messages */

/* ---- the jobs of a replay ---- */
struct job_rec {
	uint64_t number; /* number of the job: 0, 1, ... in order of submission */
	int64_t submit_ns, duration_ns, limit_ns, wait_ns, deadline_ns;
	double iterations, priority, batch;
	int64_t cpu_milli, mem_mib;
	uint32_t gpu_mem_mib;
	float occupancy;
	uint32_t gpus, gpu_milli;
	uint32_t id; /* strings of jobset_strings(); id 0: the number is the id */
	uint32_t user, queue, model, gpu_types, speedup, strategy, status, stages; /* 0: none */
	uint32_t preceding, flow; /* id of the preceding job; number of the flow, from 1; 0: none */
	int64_t think_ns;         /* time from the end of the preceding job to the submission */
	uint64_t line;            /* line in the file; 0: from a generator */
};

struct flowset;
struct jobset;
struct jobcursor;

/* Loads a set. source: a path, or a generator such as "poisson:rate=0.5,n=1000". seed: for generators. */
struct jobset *jobset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err);
/* Loads the rows of an open trace of jobs. Closes the trace, even on error. */
struct jobset *jobset_from(struct trace *t, const char *source, struct orr_error *err);
/* Like jobset_from(), but t stays open. */
struct jobset *jobset_read(struct trace *t, const char *source, struct orr_error *err);
void jobset_free(struct jobset *s);
/* Returns the number of jobs; UINT64_MAX: an unlimited generator. */
uint64_t jobset_count(const struct jobset *s);
/* Returns the number of rows skipped because of options of the format. */
uint64_t jobset_left_out(const struct jobset *s);
/* Like trace_repaired(). */
uint64_t jobset_repaired(const struct jobset *s, const char **first);
/* Returns whether all rows are in memory (jobset_at() works). */
bool jobset_is_loaded(const struct jobset *s);
const struct job_rec *jobset_at(const struct jobset *s, uint64_t number);
/* Returns the strings of the rows of this set. The strings of a generator are complete before the first row. */
const struct strtab *jobset_strings(const struct jobset *s);
/* Returns the flows of the rows whose `flow` is not 0; NULL: none. */
const struct flowset *jobset_flows(const struct jobset *s);
/* Returns whether the jobs request the same GPUs, memory and model, so that a cluster with room for the first has room for all. */
bool jobset_is_alike(const struct jobset *s);
/* Returns whether any job may name a strategy. */
bool jobset_has_strategies(const struct jobset *s);
/* Returns 64 hex digits: SHA-256 of the bytes of the file, or of parameters and seed of the generator. */
const char *jobset_hash(const struct jobset *s);
const char *jobset_format(const struct jobset *s);
const char *jobset_source(const struct jobset *s);

/* Makes cursors draw blocks of the rows of a file (traces/resample.h). jobset_count() and jobset_at() still refer to the file. */
int jobset_resample(struct jobset *s, int64_t block_ns, uint64_t seed, struct orr_error *err);
uint64_t jobset_blocks(const struct jobset *s); /* number of blocks; 0: rows are not drawn */

/* Opens a cursor for one run; any number, one thread each. replication: index of the random streams of a generator (at most 2^24). */
struct jobcursor *jobset_open(const struct jobset *s, uint64_t replication);
bool jobcursor_next(struct jobcursor *c, struct job_rec *out);
/* Checks that a generated job is submitted within TRACE_MAX_SECONDS; later times of a generator are clamped. */
int jobset_check_submit(const struct jobset *s, const struct job_rec *row, struct orr_error *err);
void jobcursor_close(struct jobcursor *c);
/* Expands rec. id is NULL if the job has only a number. Texts belong to the set. */
void jobset_row(const struct jobset *s, const struct job_rec *rec, struct orr_trace_job *out);

#endif

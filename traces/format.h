/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * format.h - the interface of a trace format
 *
 * A format is one struct trace_format in a separate file and one line in formats.def. open() makes the state of a reader for
 * one file; close() frees it. The state borrows the lines. Texts of a row are valid until the reader's next row.
 */
#ifndef ORR_TRACES_FORMAT_H
#define ORR_TRACES_FORMAT_H

#include "traces/lines.h"
#include "traces/profile.h"
#include "traces/trace.h"

/* Limits of all formats: a larger number is an error of the file. */
#define TRACE_MAX_SECONDS 4e9  /* 127 years */
#define TRACE_MAX_GPUS 1000000 /* SWF: processors */
#define TRACE_MAX_CORES 100000000
#define TRACE_MAX_MIB (INT64_C(1) << 40)

struct flowset;
struct req_row;
struct request_rec;
struct avail_row;

/* Start of a file, for sniffing. */
struct trace_head {
	const char *text; /* first block of the file */
	size_t n;
	const char *line; /* first line that is neither blank nor a comment; NUL-terminated */
};

enum { TRACE_MAX_EXTRAS = 8 };

struct trace_format {
	enum trace_kind kind;
	bool is_by_item; /* an error of next() concerns one item, and the next call reads the item after it, perhaps of the same line */
	const char *name;
	const char *doc;
	const struct orr_param *params; /* may be NULL */
	bool is_absolute;               /* submit times are wall-clock times, so a replay starts with the first row */
	bool has_no_date;               /* is_absolute, but the times have no known date */
	/* Names of additional numbers of each row, for trace info: at most TRACE_MAX_EXTRAS; NULL-terminated; may be NULL. */
	const char *const *extras;
	const char *const *info_options; /* options with which every row is kept; may be NULL */
	bool (*sniff)(const struct trace_head *head);
	void *(*open)(struct lines *in, const struct orr_args *args, struct orr_error *err);
	/* Fills in the fields of a cleared row that the format knows. Returns 1: a row, 0: the end, -1: an error. Each format has
	 * one of these, by kind. */
	union {
		int (*next)(void *state, struct orr_trace_job *row, struct orr_error *err);
		int (*request)(void *state, struct req_row *row, struct orr_error *err); /* traces/req_format.h */
		int (*avail)(void *state, struct avail_row *row, struct orr_error *err); /* traces/avail_format.h */
		/* Reads all rows into p and closes p's lists; returns 0 or -1. */
		int (*describe)(void *state, struct trace_profile *p, struct orr_error *err);
	};
	/* Sets the values of extras of the last row, NAN if missing. NULL: the format has no extras. */
	void (*get_extras)(const void *state, double *values);
	/* Returns the fact with this index; false past the last. May be NULL. */
	bool (*fact)(const void *state, size_t index, struct trace_fact *out);
	/* Returns whether the times of this file count from some past date, so that a replay starts with the first row. May be NULL. */
	bool (*is_dated)(const void *state);
	/* Returns whether the times of the rows read so far are dates. NULL: as is_absolute and has_no_date say. */
	bool (*has_dates)(const void *state);
	/* Returns the number of rows that the reader skipped because of options. NULL: none. */
	uint64_t (*left_out)(const void *state);
	/* Returns the number of prompt tokens per hashed block. NULL: no hashes. */
	uint32_t (*block_tokens)(const void *state);
	/* Changes the rows after sorting by arrival; may be NULL. */
	void (*arrange)(const void *state, struct request_rec *row, uint64_t n);
	/* Hands over the flows, one per row; may be NULL. */
	struct flowset *(*take_flows)(void *state);
	void (*close)(void *state);
};

/* Ends with NULL. */
extern const struct trace_format *const trace_formats[];
bool trace_format_exists(enum trace_kind kind, const char *name);

/* Options of every format of jobs, and of requests; NULL for other kinds. */
const struct orr_param *trace_common_params(enum trace_kind kind);
/* Returns the values of these options; NULL for other kinds. */
const struct orr_args *trace_common(const struct trace *t);

/* Opens the trace of these lines; owns them, even on error. all: sets the format's info_options. */
struct trace *trace_open_lines(struct lines *in, const char *format, bool all, const char *const *options, struct orr_error *err);

/* Returns whether the header line of a CSV has a column of this name. */
bool trace_head_has_column(const struct trace_head *head, const char *name);

#endif

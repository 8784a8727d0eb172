/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * format.h - the interface of a trace format
 *
 * A format is one struct trace_format in a file of its own and one line in formats.def. open() makes the state of a reader
 * for one file, close() frees it; the state borrows the lines. Texts of a row are good until the reader's next row.
 */
#ifndef ORR_TRACES_FORMAT_H
#define ORR_TRACES_FORMAT_H

#include "traces/lines.h"
#include "traces/profile.h"
#include "traces/trace.h"

/* Limits that all formats share; beyond them a number is taken for a mistake. */
#define TRACE_MAX_SECONDS 4e9  /* 127 years */
#define TRACE_MAX_GPUS 1000000 /* SWF: processors */
#define TRACE_MAX_CORES 100000000
#define TRACE_MAX_MIB (INT64_C(1) << 40)

struct req_row;
struct request_rec;
struct avail_row;

/* The start of a file, for sniffing: the first line that is no comment. */
struct trace_head {
	const char *text; /* everything within reach */
	size_t n;
	const char *line; /* the first line that has text; NUL-terminated */
};

struct trace_format {
	enum trace_kind kind;
	const char *name;
	const char *doc;
	const struct orr_param *params; /* may be NULL */
	bool is_absolute;               /* submit times are wall-clock */
	/* Further numbers of each row that trace info summarises; NULL-terminated, may be NULL. */
	const char *const *extras;
	const char *const *info_options; /* under which no row is left out; may be NULL */
	bool (*sniff)(const struct trace_head *head);
	void *(*open)(struct lines *in, const struct orr_args *args, struct orr_error *err);
	/* Fills in what the format knows of a cleared row: 1 a row, 0 the end, -1 an error. One of these, by kind. */
	union {
		int (*next)(void *state, struct orr_trace_job *row, struct orr_error *err);
		int (*request)(void *state, struct req_row *row, struct orr_error *err); /* traces/req_format.h */
		int (*avail)(void *state, struct avail_row *row, struct orr_error *err); /* traces/avail_format.h */
		/* Reads everything into p and closes p's lists; 0 or -1. */
		int (*describe)(void *state, struct trace_profile *p, struct orr_error *err);
	};
	/* Values of extras for the row just read, NAN where it has none; NULL without extras. */
	void (*get_extras)(const void *state, double *values);
	/* The fact with this index, false past the last; may be NULL. */
	bool (*fact)(const void *state, size_t index, struct trace_fact *out);
	/* Number of rows that the reader has skipped, as the options say; NULL: it skips none. */
	uint64_t (*left_out)(const void *state);
	/* Tokens that one hash of a request's blocks stands for; NULL: there are no hashes. */
	uint32_t (*block_tokens)(const void *state);
	/* Changes the rows once they are in order of arrival; may be NULL. */
	void (*arrange)(const void *state, struct request_rec *row, uint64_t n);
	void (*close)(void *state);
};

/* Ends with NULL. */
extern const struct trace_format *const trace_formats[];
bool trace_format_exists(enum trace_kind kind, const char *name);

/* The trace of these lines, which it takes over, whatever comes of it; all: with the format's info_options. */
struct trace *trace_open_lines(struct lines *in, const char *format, bool all, const char *const *options, struct orr_error *err);

/* Whether a header line (of a CSV) has a column of this name. */
bool trace_head_has_column(const struct trace_head *head, const char *name);

#endif

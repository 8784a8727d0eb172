/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail_format.h - shared by the formats of availability
 *
 * A format of availability is a struct trace_format (traces/format.h) of kind TRACE_AVAIL. Its reader returns the rows of the
 * file unchanged. avail_rows.c sorts them, checks or repairs them, and turns counts into events.
 */
#ifndef ORR_TRACES_AVAIL_FORMAT_H
#define ORR_TRACES_AVAIL_FORMAT_H

#include "traces/avail.h"
#include "traces/format.h"
#include "traces/table.h"

enum avail_what {
	AVAIL_ROW_ADD,
	AVAIL_ROW_REMOVE,
	AVAIL_ROW_PRICE,
	AVAIL_ROW_COUNT, /* number of instances from this time on */
	AVAIL_ROW_END    /* the record ends */
};

struct avail_row {
	enum avail_what what;
	int64_t t_ns;
	int64_t count;
	double usd_per_hour; /* -1: unknown */
	uint64_t line;
	const char *node, *zone, *type; /* NULL: unknown */
	/* Set on an error that concerns only the values of this row, so that repair=drop can skip it. */
	bool is_bad, is_bad_event;
};

/* Parameters of every format of availability. */
#define AVAIL_SHIFT_PARAMS                                                                                                \
	ORR_PARAM_TIME("start", "0", "time at which the trace begins; instances live then are added at 0"),               \
		ORR_PARAM_REAL("stretch", "1", 1e-6, 1e6, "factor of all times; 2 halves the changes per hour"),          \
		ORR_PARAM_REAL("scale", "1", 0, 1e4, "factor of the number of instances: each becomes several, or none"), \
		ORR_PARAM_INT(                                                                                            \
			"cap", "0", 0, 1e9, "maximum number of instances at once; further instances wait for a removal; 0: unlimited")
#define AVAIL_PARAMS                                                                                                            \
	ORR_PARAM_CHOICE("repair", "none", "none|sort|drop|all", "sort rows by time; skip invalid rows; both"),                 \
		ORR_PARAM_TEXT("zone", "", "zone of rows without one"), ORR_PARAM_TEXT("type", "", "type of rows without one"), \
		ORR_PARAM_BOOL("wrap", false, "append the rows before start at the end"), AVAIL_SHIFT_PARAMS
#define AVAIL_COUNT_PARAMS                                                                                           \
	ORR_PARAM_CHOICE("pick", "oldest", "oldest|newest|random", "instance that is removed when the count falls"), \
		ORR_PARAM_INT("seed", "1", 0, 9e15, "seed of pick=random")

/* Like availset_from(), but t stays open. */
struct availset *availset_read(struct trace *t, const char *source, struct orr_error *err);
struct avail_shift avail_shift_of(const struct orr_args *args);

/* ---- rows of files, in avail_rows.c ---- */

/* Events of a file, sorted by time. Instances are numbered within the file; `number` and `live` are not set. */
struct avail_events {
	struct avail_rec *row;
	size_t n, cap;
	int64_t end_ns;
	uint32_t instances;
	bool has_prices, is_absolute; /* times since 1970 */
	struct avail_repairs repairs;
};
enum { AVAIL_MAX_EVENTS = 4000000 };
/* Reads all of t into e, which must be cleared memory. The caller frees e->row, even on error. Node names get `prefix`, rows without
 * a zone get `zone`; both may be NULL. */
int avail_read(
	struct trace *t, struct strtab *strings, const char *prefix, const char *zone, struct avail_events *e, struct orr_error *err);

/* ---- shifting, in avail_shift.c ---- */

struct avail_shifter;
/* Makes a shifter. strings: receives the names of copies; NULL for rows without names. */
struct avail_shifter *avail_shifter_new(const struct avail_shift *s, struct strtab *strings);
void avail_shifter_free(struct avail_shifter *s);
/* Passes the next row, in order, with the number of its instance. */
void avail_shifter_put(struct avail_shifter *s, const struct avail_rec *r);
/* Ends the input. With wraps, row[0..n) must be all input rows, whose record ends at end_ns. */
void avail_shifter_end(struct avail_shifter *s, const struct avail_rec *row, size_t n, int64_t end_ns);
/* Returns the next row of the output, with number, instance and live; false: none yet. */
bool avail_shifter_get(struct avail_shifter *s, struct avail_rec *out);
bool avail_shift_is_none(const struct avail_shift *s);
int64_t avail_shift_end(const struct avail_shift *s, int64_t end_ns);

#endif

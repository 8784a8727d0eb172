/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail_format.h - what readers of availability share
 *
 * A format of availability is a struct trace_format (traces/format.h) whose `avail` is set: sniffing, options, packing
 * and messages are those of all traces. A reader gives rows as they stand in the file; avail_rows.c puts them in order,
 * checks or repairs them, and makes events of counts. Texts of a row are good until the reader's next row.
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
	AVAIL_ROW_COUNT, /* so many are there from now on */
	AVAIL_ROW_END    /* the file was watched until then */
};

struct avail_row {
	enum avail_what what;
	int64_t t_ns;
	int64_t count;
	double usd_per_hour; /* -1: not said */
	uint64_t line;
	const char *node, *zone, *type; /* NULL: not said */
	/* Set if next() gave -1 because of this row's values alone, so that it can be left out. */
	bool is_bad, is_bad_event;
};

/* What every format of availability understands. */
#define AVAIL_SHIFT_PARAMS                                                                                                       \
	ORR_PARAM_TIME("start", "0", "the trace begins there: what is live then is there at 0"),                                 \
		ORR_PARAM_REAL("stretch", "1", 1e-6, 1e6, "times multiplied by this: 2 is half as many changes an hour"),        \
		ORR_PARAM_REAL("scale", "1", 0, 1e4, "number of instances multiplied by this: one stands for several, or none"), \
		ORR_PARAM_INT("cap", "0", 0, 1e9, "at most so many at once, others wait until one goes; 0: any number")
#define AVAIL_PARAMS                                                                                                                  \
	ORR_PARAM_CHOICE("repair", "none", "none|sort|drop|all", "put rows in order of time; leave out those that cannot be; both"),  \
		ORR_PARAM_TEXT("zone", "", "zone of rows that name none"), ORR_PARAM_TEXT("type", "", "type of rows that name none"), \
		ORR_PARAM_BOOL("wrap", false, "what was before start comes at the end"), AVAIL_SHIFT_PARAMS
#define AVAIL_COUNT_PARAMS                                                                                      \
	ORR_PARAM_CHOICE("pick", "oldest", "oldest|newest|random", "which instance goes when the count falls"), \
		ORR_PARAM_INT("seed", "1", 0, 9e15, "of pick=random")

/* As availset_from(), but t stays open. */
struct availset *availset_read(struct trace *t, const char *source, struct orr_error *err);
struct avail_shift avail_shift_of(const struct orr_args *args);

/* ---- rows of files, in avail_rows.c ---- */

/* The events of a file, in order of time. Instances have numbers that are the file's own; `number` and `live` are not filled in. */
struct avail_events {
	struct avail_rec *row;
	size_t n, cap;
	int64_t end_ns;
	uint32_t instances;
	bool has_prices, is_absolute; /* times since 1970 */
	struct avail_repairs repairs;
};
enum { AVAIL_MAX_EVENTS = 4000000 };
/* Reads all of t into e, which is cleared memory; the caller frees e->row, whatever comes of it. Node names get `prefix`, and rows
 * that name no zone get `zone`; both may be NULL. */
int avail_read(
	struct trace *t, struct strtab *strings, const char *prefix, const char *zone, struct avail_events *e, struct orr_error *err);

/* ---- shifting, in avail_shift.c ---- */

struct avail_shifter;
/* strings: to name copies; NULL for rows without names. */
struct avail_shifter *avail_shifter_new(const struct avail_shift *s, struct strtab *strings);
void avail_shifter_free(struct avail_shifter *s);
/* Rows in order go in, with the instances' numbers; avail_shifter_end() once behind the last. */
void avail_shifter_put(struct avail_shifter *s, const struct avail_rec *r);
/* Nothing more goes in. With wraps, row[0..n) are the rows that went in, which ended at end_ns. */
void avail_shifter_end(struct avail_shifter *s, const struct avail_rec *row, size_t n, int64_t end_ns);
/* Rows come out with number, instance and live. */
bool avail_shifter_get(struct avail_shifter *s, struct avail_rec *out);
bool avail_shift_is_none(const struct avail_shift *s);
int64_t avail_shift_end(const struct avail_shift *s, int64_t end_ns);

#endif

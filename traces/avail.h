/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * avail.h - availability of instances and their prices: a file in one of several formats, or a generator
 *
 * A struct availset holds additions and removals of instances, and prices, sorted by time. Ties keep the file order, on which
 * the results of some simulators depend. A file is read once and shared by any number of threads; a generator draws the same
 * rows for each cursor. Formats: bamboo, gcp-polls, step-curve, parcae-counts, parcae-segment, skypilot, availability and
 * prices (orrery's CSVs), auto. Several files are one set as "zones:us-a=FILE,us-b=FILE". Generators: "hazard:p=0.1" and
 * others.
 *
 * Invariant: an instance is added once and removed at most once, after it was added; instances have the numbers 0, 1, ..
 * in order of addition; `live` of a row is the number of instances that were added and not removed up to that row.
 */
#ifndef ORR_TRACES_AVAIL_H
#define ORR_TRACES_AVAIL_H

#include <orrery/param.h>

#include "base/strtab.h"

enum avail_kind { AVAIL_ADD, AVAIL_REMOVE, AVAIL_PRICE };

#define AVAIL_NO_INSTANCE UINT32_MAX
enum { AVAIL_MAX_COUNT = 100000 }; /* largest number of instances that one row can add */

struct avail_rec {
	uint64_t number; /* number of the row: 0, 1, .. in order */
	int64_t t_ns;
	double usd_per_hour; /* price of an instance, -1: unknown; of AVAIL_PRICE: the price from this time on */
	uint64_t line;       /* line in the file, for messages; 0: none */
	enum avail_kind kind;
	uint32_t node;       /* text of availset_strings(); 0: unnamed, see availset_name() */
	uint32_t zone, type; /* texts; 0: unknown (a price: of all zones or types) */
	uint32_t instance;   /* AVAIL_PRICE: AVAIL_NO_INSTANCE */
	uint32_t live;       /* number of live instances after this row */
};

/* Changes made by the option repair=. first_line: line of the first such row; 0: none. */
enum avail_repair {
	AVAIL_WAS_UNSORTED, /* rows earlier than the row above, which were sorted */
	AVAIL_BAD_EVENT,    /* events that are neither add nor remove, which were skipped, like all rows below */
	AVAIL_BAD_VALUE,    /* rows with an invalid or missing value */
	AVAIL_ADDED_TWICE,  /* while present */
	AVAIL_REMOVED_TWICE,
	AVAIL_REMOVED_UNKNOWN, /* removals of instances that were not added */
	AVAIL_REPAIRS
};
struct avail_repairs {
	uint64_t rows[AVAIL_REPAIRS], first_line[AVAIL_REPAIRS];
};
const char *avail_repair_name(enum avail_repair what);

struct availset;
struct availcursor;
struct trace;

/* Loads a set. source: a file, "-", "zones:..", or a generator. format NULL or "auto": recognised by sniffing. options: "name=value"
 * texts of the format's parameters, NULL-terminated; may be NULL. seed: for generators. */
struct availset *availset_load(const char *source, const char *format, const char *const *options, uint64_t seed, struct orr_error *err);
/* Loads the rows of an open trace of availability. Closes the trace, even on error. */
struct availset *availset_from(struct trace *t, const char *source, struct orr_error *err);
void availset_free(struct availset *s);

/* Transforms of a set, applied in this order. All formats and generators have parameters of these names. */
struct avail_shift {
	int64_t start_ns; /* the set begins at this time: instances live then are added at 0, in order of addition */
	bool wraps;     /* rows before start_ns are moved behind the end (files only); instances live at the end replace those added at 0 */
	double stretch; /* multiplies times */
	double scale;   /* instance i becomes floor((i+1) scale) - floor(i scale) instances */
	uint32_t cap;   /* limit of live instances, 0: unlimited. Other instances wait in FIFO order until one is removed; at one
			 * instant, additions then follow removals */
};
/* Adds a transform. Call it after the transforms of the parameters and before any cursor is open. */
int availset_shift(struct availset *s, const struct avail_shift *shift, struct orr_error *err);

uint64_t availset_count(const struct availset *s); /* number of rows; UINT64_MAX: unknown (a generator) */
bool availset_is_loaded(const struct availset *s); /* true for a file: availset_at() works */
bool availset_has_end(const struct availset *s);   /* false for generators with length=0 */
const struct avail_rec *availset_at(const struct availset *s, uint64_t i);
/* Returns the end of the record. File: its last row, or the end of its last interval. Generator: its length; ORR_NEVER without end. */
int64_t availset_end_ns(const struct availset *s);
const struct strtab *availset_strings(const struct availset *s);
const char *availset_source(const struct availset *s);
const char *availset_format(const struct availset *s);
/* Returns the SHA-256 in hex of the bytes of a file, of the hashes of several files, or of the generator's text; options are
 * excluded. */
const char *availset_hash(const struct availset *s);
const struct avail_repairs *availset_repairs(const struct availset *s);
bool availset_has_prices(const struct availset *s);
/* Returns the texts of the *n zones that rows name, in order of first use. */
const uint32_t *availset_zones(const struct availset *s, uint32_t *n);
/* Returns the name of the instance of a row. If it has none, writes "node" and its number, from 1, to buf. */
enum { AVAIL_NAME_MAX = 24 };
const char *availset_name(const struct availset *s, const struct avail_rec *r, char buf[AVAIL_NAME_MAX]);
/* Opens a cursor for one run. seed_shift: index of the random streams, for replications. */
struct availcursor *availset_open(const struct availset *s, uint64_t seed_shift);
bool availcursor_next(struct availcursor *c, struct avail_rec *out);
void availcursor_close(struct availcursor *c);

#endif

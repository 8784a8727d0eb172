/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mapped.h - jobs from a table with the column names of another program
 *
 * A list of columns assigns a column of the file to each field of a job that the file has. Dates, epochs and durations are read as in
 * traces/stamp.h; empty fields, "null", "None", "NaN" and the like are unknown values. The run time is the field MAP_DURATION, or the
 * time from start to end, or from submission to end if no column holds starts.
 */
#ifndef ORR_TRACES_MAPPED_H
#define ORR_TRACES_MAPPED_H

#include "traces/format.h"
#include "traces/stamp.h"
#include "traces/table.h"

enum map_field {
	MAP_JOB_ID,
	MAP_SUBMIT,
	MAP_START,
	MAP_END,
	MAP_DURATION,
	MAP_WAIT,
	MAP_GPUS,
	MAP_GPU_MILLI,
	MAP_CPUS,
	MAP_MEM,
	MAP_GPU_TYPES,
	MAP_LIMIT,
	MAP_ITERATIONS,
	MAP_MODEL,
	MAP_USER,
	MAP_QUEUE,
	MAP_PRIORITY,
	MAP_STATUS,
	MAP_STRATEGY,
	MAP_BATCH,
	MAP_DEADLINE,
	MAP_COPIES, /* factor of the fields in per_copy; --map has no name for it */
	MAP_FIELDS
};

/* Treatment of rows whose run time is unknown. */
enum mapped_unknown { MAPPED_DROP, MAPPED_KEEP, MAPPED_ERROR };
#define MAPPED_UNKNOWN(def) ORR_PARAM_CHOICE("unknown_runtime", def, "drop|keep|error", "treatment of rows whose run time is unknown")

struct mapped_columns {
	const char *theirs[MAP_FIELDS]; /* names in the header; NULL: no such column */
	uint32_t optional;              /* bit per field whose column a file may lack */
	uint32_t per_copy;              /* bit per field that is a value per copy: MAP_GPUS, MAP_CPUS or MAP_MEM */
	int flags;                      /* enum table_flags; TABLE_HEADER is added */
	enum stamp_unit unit, duration_unit;
	double mem_mib;          /* MiB of memory per unit of the column; 0: bytes with a suffix, or MiB without one */
	const char *open_status; /* statuses separated by '|': a row of such a status ends with the trace, so its run time is unknown */
	bool lacks_submit;       /* an empty submission time means a job older than the trace, whose run time is unknown */
	enum mapped_unknown unknown;
};

struct mapped;

/* Opens a table. The texts of c are copied. Returns NULL on error. */
struct mapped *mapped_new(struct lines *in, const struct mapped_columns *c, struct orr_error *err);
void mapped_free(struct mapped *m);
/* Like next() of a format. */
int mapped_next(struct mapped *m, struct orr_trace_job *row, struct orr_error *err);
uint64_t mapped_left_out(const struct mapped *m);
bool mapped_has_dates(const struct mapped *m); /* returns whether submissions are dates or times since 1970 */

/* Sets the fields that a text of pairs OURS=THEIRS,.. names. Texts of c->theirs are cut from *copy, which the caller frees with
 * mem_free(). where: for messages. */
int mapped_parse(const char *text, struct mapped_columns *c, char **copy, const char *where, struct orr_error *err);
enum mapped_unknown mapped_unknown_of(const struct orr_args *args);

#endif

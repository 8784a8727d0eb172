/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * digest.h - checksums of the contents of a run, one per table
 *
 * Private to results/; store.h has the digest of a database. A checksum is the text "run:HEX metrics:HEX ..": for each table in which the
 * run has rows, the first 64 bits of the SHA-256 of these rows, as they are read from the database. `run` stands for the run's row, with
 * the whole scenario and without wall time, host, date and version. NULLs are left out, so a column that a later version adds to the table
 * changes no checksum.
 */
#ifndef ORR_RESULTS_DIGEST_H
#define ORR_RESULTS_DIGEST_H

#include "base/sbuf.h"
#include "results/db.h"
#include "results/lists.h"

#include <nettle/sha2.h>

/* Parts of a run: its row, the tables of columns.def, series and their points. */
enum { DIGEST_RUN, DIGEST_SERIES, DIGEST_POINTS, DIGEST_ROWS, DIGEST_PARTS = DIGEST_ROWS + DB_MOST_TABLES };

struct checksums {
	char hex[DIGEST_PARTS][17]; /* empty text: no rows */
};

/* Returns the name of a part: the table's, or "run"; NULL: no such part. */
const char *digest_part(size_t part);
/* Returns the name of the table that has a part. */
const char *digest_table(size_t part);
/* Sets hex to the checksum of a part in a text of checksums; empty: it has none. */
void digest_find(const char *text, size_t part, char hex[17]);
/* Computes the checksums of a stored run. The caller holds an open transaction. If the run cannot be read, *part is the part at which
 * reading failed. */
int digest_run(struct store *s, int64_t run, struct checksums *out, size_t *part, struct orr_error *err);
/* Appends the text of the checksums. */
void digest_text(struct sbuf *out, const struct checksums *c);
/* Returns the first part, from `from` on, whose checksum differs from that in the text; DIGEST_PARTS: none. */
size_t digest_differing(const struct checksums *c, const char *text, size_t from);
/*
 * Checksums of parts of a run, computed while its rows are written, which takes less time than to read them. Zeroed: none. Invariant: a
 * part that `has` names has the checksum that reading its rows would give.
 */
struct digest_sums {
	struct sha256_ctx *sha; /* by part; NULL: no row was added */
	bool has[DIGEST_PARTS];
	struct sbuf row;
};
/* Adds a row of a table, in the order in which they are read. */
void digest_add_row(struct digest_sums *d, const struct row_table *t, const char *row);
/* Adds a list of a run, in order of position. sums: struct digest_sums. For lists_write(). */
void digest_add_list(void *sums, const struct row_table *t, const struct stored_list *list);
void digest_add_series(struct digest_sums *d, const char *name);
void digest_add_point(struct digest_sums *d, size_t series, int64_t time_ns, double value);
/* The rows of a table were not added in the order in which they are read. */
void digest_forget(struct digest_sums *d, const struct row_table *t);
void digest_sums_free(struct digest_sums *d);
/* Stores the checksums of a run, or of all runs. The caller holds an open transaction. r: the run as it was written, whose empty tables
 * are not read; known: checksums of its parts; NULL: unknown. */
int digest_set_checksum(struct store *s, int64_t run, const struct run_result *r, const struct digest_sums *known, struct orr_error *err);
int digest_set_all_checksums(struct store *s, struct orr_error *err);

#endif

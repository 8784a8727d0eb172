/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * parts.h - records where the time of jobs, requests, iterations and nodes goes (--record explain)
 *
 * A world opens a part of a subject (partlog_change()), or adds one whose end is known (partlog_add()); equal neighbours become one
 * part. partlog_finish() moves the rows to the result, ordered by subject and time. Texts are formed then, once for each kind, cause and
 * numbers, so recording needs neither formatting nor allocation, except for growing arrays.
 *
 * Invariant: the parts of a subject are in order of time and do not overlap. Numbers of subjects are less than 2^32, as in the database.
 */
#ifndef ORR_RESULTS_PARTS_H
#define ORR_RESULTS_PARTS_H

#include "base/sbuf.h"
#include "results/result.h"

enum part_kind {
#define PART_KIND(name, word, class, phrase, doc) PART_##name,
#include "results/parts.def"
#undef PART_KIND
	PART_KINDS
};
/* Returns whether parts of this kind are waiting time. */
bool part_waits(enum part_kind kind);
const char *part_word(enum part_kind kind);
/* Returns the kind of a word; PART_KINDS: unknown. */
enum part_kind part_kind_of(const char *word);

#define PART_ALONE UINT64_MAX

struct part {
	enum part_kind kind;
	const char *cause; /* the cause: a text that outlives the recorder, such as "policy"; NULL: none */
	uint64_t number;   /* number of the cause: "job" and 12 give "job 12"; PART_ALONE: the cause has no number */
	/* Numbers of the cause: each % of this literal is replaced by the next value. "% GPUs asked, % free"; NULL: none. */
	const char *detail;
	uint32_t value[3];
};

struct partlog;

/*
 * entity: a literal, "job", "request", "iteration" or "node". most: limit on the number of rows. Above it, only subjects with
 * even numbers keep their rows; above it again, multiples of four, and so on.
 */
struct partlog *partlog_new(const char *entity, size_t most);
void partlog_free(struct partlog *p);

/* Adds a part of known end. Ignores empty parts. begin: at least the end of the subject's last part, which must be closed. */
void partlog_add(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, const struct part *what);
/* Returns the index of a part, for partlog_add_known(). */
uint32_t partlog_index(struct partlog *p, const struct part *what);
/* As partlog_index(), for a part that the caller expects to be new: equal parts are not searched for, which takes memory accesses. */
uint32_t partlog_new_index(struct partlog *p, const struct part *what);
/* As partlog_add(), for a part that is added often. */
void partlog_add_known(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, uint32_t index);
/* As partlog_add(), for a part that few subjects have: equal parts of other subjects are not searched for, which takes memory accesses.
 * *known: 0 before the first use of this part; for further uses, what the call has set it to. */
void partlog_add_rare(struct partlog *p, uint64_t subject, int64_t begin_ns, int64_t end_ns, const struct part *what, uint32_t *known);
/* Ends the subject's open part, if any, and opens a new one. An open part with equal kind and cause continues. */
void partlog_change(struct partlog *p, uint64_t subject, int64_t now_ns, const struct part *what);
/* As partlog_change(), for a part that begins often. */
void partlog_change_known(struct partlog *p, uint64_t subject, int64_t now_ns, uint32_t index);
/* Ends the open part, if any. */
void partlog_close(struct partlog *p, uint64_t subject, int64_t now_ns);

/* Returns the name of the cause; NULL if the number serves as its name. */
typedef const char *(*partlog_name)(void *ctx, const char *cause, uint64_t number);
/* Closes open parts and appends all parts to r, which owns p from then on. name may be NULL. */
void partlog_finish(struct partlog *p, struct run_result *r, int64_t now_ns, partlog_name name, void *ctx);

/* ---- parts of a result ----
 *
 * Rows take more memory than a log, and most runs only store them, list by list. So r->parts lacks the rows of r->logs, the last ones of
 * r->n_parts, until part_rows_form().
 */

/* Moves the rows of all logs to r->parts. */
void part_rows_form(struct run_result *r);
/* Kind, cause and detail of parts; NULL: none. */
enum { PART_TEXTS = 3 };
struct part_texts {
	const char *text[PART_TEXTS];
};
struct part_view {
	uint64_t subject;
	int64_t begin_ns, end_ns;
	const struct part_texts *texts; /* most parts of a log with equal texts share them */
};
/* Copies parts from part i on, at most *n, which ends with the first part of another entity, and sets *n to their number. Returns their
 * entity. room: as long as out; views may refer to it. */
const char *part_views(const struct run_result *r, size_t i, size_t *n, struct part_view *out, struct part_texts *room);
/* Copies the parts first .. first + n - 1. */
void part_rows_copy(const struct run_result *r, size_t first, size_t n, struct part_row *out);
/* Frees the logs and r->parts. */
void part_rows_free(struct run_result *r);

/* ---- sentences (parts_text.c) ---- */

/* Appends "3 h 02 min". */
void part_put_time(struct sbuf *out, int64_t time_ns);
/* Appends "job 17 waited 3 h 02 min: 2 h 10 min behind job 12 (64 GPUs asked, 48 free), 52 min reserved for job 15; ran 1 h 00 min: ..".
 * rows: the parts of one subject. name: name of the subject, such as "17". */
void part_sentence(struct sbuf *out, const char *name, const struct part_row *rows, size_t n);

#endif

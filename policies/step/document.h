/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * document.h - reading a JSON file that a parameter names: errors with the JSON path
 *
 * An error reads "FILE: $.ops[3].transfer.bytes: expected .., found ..", or "FILE:LINE:COLUMN: .."
 * where the text is no JSON. Functions that return an int return non-zero with the document's
 * error filled in. A key that is missing leaves *out as it was, unless it is needed.
 */
#ifndef ORR_POLICIES_DOCUMENT_H
#define ORR_POLICIES_DOCUMENT_H

#include <orrery/step.h>

#include <cjson/cJSON.h>

struct document {
	const char *file; /* for messages */
	cJSON *root;
	struct orr_error *err;
};

/* A value of the document, and where it stands. */
struct place {
	const struct document *doc;
	const cJSON *value;
	char path[192];
};

/* Of text[0..n); the root is an object. The text may go afterwards, the error's place may not. */
int document_open(struct document *d, const char *file, const char *text, size_t n, struct orr_error *err);
void document_close(struct document *d);

struct place place_root(const struct document *d);
/* Members and items; their value is NULL where there is none. */
struct place place_key(const struct place *p, const char *key);
struct place place_item(const struct place *p, const cJSON *item, size_t number);
bool place_has(const struct place *p, const char *key);

int place_fail(const struct place *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An object, all of whose keys are known (ends with NULL) and there once. */
int place_keys(const struct place *p, const char *const *known);
/* A list; "expected a list of <what>". Needed. */
int place_list(const struct place *p, const char *what);
/* Of the object p: */
int place_real(const struct place *p, const char *key, double min, double max, bool is_needed, double *out);
int place_whole(const struct place *p, const char *key, double min, double max, bool is_needed, double *out);
int place_bool(const struct place *p, const char *key, bool *out);
/* 1 to 200 bytes on one line; belongs to the document. */
int place_text(const struct place *p, const char *key, bool is_needed, const char **out);
/* Which of the names (ends with NULL), from 0. */
int place_choice(const struct place *p, const char *key, const char *const *names, bool is_needed, int *out);
/* The value itself: a text as above; a whole number. */
int place_own_text(const struct place *p, const char **out);
int place_own_whole(const struct place *p, double min, double max, uint32_t *out);

#endif

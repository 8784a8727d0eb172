/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * document.h - reads a JSON file named by a parameter; errors have the JSON path
 *
 * The form of an error is "FILE: $.ops[3].transfer.bytes: expected .., found ..", or "FILE:LINE:COLUMN: .." for text that is
 * not valid JSON. Functions that return an int return non-zero with the document's error filled in. A missing optional key
 * leaves *out unchanged.
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

/* A value of the document, and its path. */
struct place {
	const struct document *doc;
	const cJSON *value;
	char path[192];
};

/* Parses text[0..n), whose root must be an object. The text may be freed afterwards; *err must outlive the document. */
int document_open(struct document *d, const char *file, const char *text, size_t n, struct orr_error *err);
void document_close(struct document *d);

struct place place_root(const struct document *d);
/* Returns a member or item of p; its value is NULL if p has no such member or item. */
struct place place_key(const struct place *p, const char *key);
struct place place_item(const struct place *p, const cJSON *item, size_t number);
bool place_has(const struct place *p, const char *key);

int place_fail(const struct place *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Checks that p is an object without duplicate or unknown keys (known ends with NULL). */
int place_keys(const struct place *p, const char *const *known);
/* Checks that p is a list; fails with "expected a list of <what>". */
int place_list(const struct place *p, const char *what);
/* Read members of the object p. */
int place_real(const struct place *p, const char *key, double min, double max, bool is_needed, double *out);
int place_whole(const struct place *p, const char *key, double min, double max, bool is_needed, double *out);
int place_bool(const struct place *p, const char *key, bool *out);
/* Reads a text of 1 to 200 bytes on one line; owned by the document. */
int place_text(const struct place *p, const char *key, bool is_needed, const char **out);
/* Reads a choice: the index of the value among the names (which end with NULL). */
int place_choice(const struct place *p, const char *key, const char *const *names, bool is_needed, int *out);
/* Reads the value of p itself: a text as above; a whole number. */
int place_own_text(const struct place *p, const char **out);
int place_own_whole(const struct place *p, double min, double max, uint32_t *out);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json.h - reading the JSON data of this folder: errors with file, line and path
 *
 * The functions return non-zero with *err filled in: "FILE: $.PATH: expected .., found ..".
 */
#ifndef ORR_HWMODEL_JSON_H
#define ORR_HWMODEL_JSON_H

#include <orrery/api.h>

#include <cjson/cJSON.h>

/* The whole text or NULL with "path:line:column: this is no JSON". Freed with cJSON_Delete(). */
cJSON *json_parse(const char *path, const char *text, size_t n, struct orr_error *err);
/* Every key of `object` is one of `keys` (ends with NULL) and there once. where: its JSON path, "$". */
int json_keys(const char *path, const char *where, const cJSON *object, const char *const *keys, struct orr_error *err);
/* A number from low to high; a missing key leaves *out as it is, unless is_needed. */
int json_real(const char *path, const char *where, const cJSON *object, const char *key, double low, double high, bool is_needed,
	double *out, struct orr_error *err);
/* A text that is not empty; *out points into the object. A missing key leaves *out as it is, unless is_needed. */
int json_text(
	const char *path, const char *where, const cJSON *object, const char *key, bool is_needed, const char **out, struct orr_error *err);

/* "FILE: AT: expected .., found ..": found may be NULL. Returns ORR_EINPUT. */
int json_wrong(const char *path, const char *at, const char *expected, const cJSON *found, struct orr_error *err);

#endif

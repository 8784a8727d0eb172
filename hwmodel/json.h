/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json.h - reads the JSON data of this folder; errors name file, line and path
 *
 * Functions that return int return non-zero with *err filled in: "FILE: $.PATH: expected .., found ..".
 */
#ifndef ORR_HWMODEL_JSON_H
#define ORR_HWMODEL_JSON_H

#include <orrery/api.h>

#include <cjson/cJSON.h>

/* Parses the whole text. Returns NULL on error ("path:line:column: ..."). The caller frees the result with cJSON_Delete(). */
cJSON *json_parse(const char *path, const char *text, size_t n, struct orr_error *err);
/* Checks that every key of `object` is one of `keys` (ends with NULL). where: JSON path of the object, such as "$". json_parse() has
 * refused duplicate keys. */
int json_keys(const char *path, const char *where, const cJSON *object, const char *const *keys, struct orr_error *err);
/* Reads a number between low and high, inclusive. A missing key leaves *out unchanged; with is_needed it is an error. */
int json_real(const char *path, const char *where, const cJSON *object, const char *key, double low, double high, bool is_needed,
	double *out, struct orr_error *err);
/* Reads a non-empty string; *out points into the object. A missing key leaves *out unchanged; with is_needed it is an error. */
int json_text(
	const char *path, const char *where, const cJSON *object, const char *key, bool is_needed, const char **out, struct orr_error *err);

/* Sets the error "FILE: AT: expected .., found .."; found may be NULL. Returns ORR_EINPUT. */
int json_wrong(const char *path, const char *at, const char *expected, const cJSON *found, struct orr_error *err);

#endif

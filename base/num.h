/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * num.h - strict parsing of numbers, formatting of times and numbers
 *
 * Each num_ function reads the whole of s[0..n) or fails: no leading or
 * trailing blanks, no locale, no hex, no "inf" or "nan", no silent overflow.
 */
#ifndef ORR_BASE_NUM_H
#define ORR_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool num_int(const char *s, size_t n, int64_t *out);
bool num_real(const char *s, size_t n, double *out); /* correctly rounded */

/* Converts seconds as text ("12", "3.25", "1e3") to ns, rounded half away from zero. Exact for up to nine decimals. Returns false
 * outside +-9.2e9 s. */
bool num_seconds_ns(const char *s, size_t n, int64_t *out_ns);

/* Like num_seconds_ns(), with an optional unit: ns us ms s m h d. */
bool num_duration_ns(const char *s, size_t n, int64_t *out_ns);

/* Writes t as seconds with nine decimals ("12.000000000"); returns the length. */
enum { NUM_SECONDS_MAX = 24 };
size_t num_put_seconds(char out[NUM_SECONDS_MAX], int64_t t_ns);

/* Writes v with the fewest of 15, 16 or 17 digits that read back as v; returns the length. */
enum { NUM_REAL_MAX = 32 };
size_t num_put_real(char out[NUM_REAL_MAX], double v);

/* Writes v in decimal, without a final NUL; returns the length. Several times faster than printf(). */
enum { NUM_INT_MAX = 20 };
size_t num_put_int(char out[NUM_INT_MAX], int64_t v);

/* Returns a + b, clamped to int64_t. */
int64_t num_add_sat(int64_t a, int64_t b);

#endif

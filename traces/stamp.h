/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stamp.h - times and durations in the forms that schedulers, databases and data tools write
 *
 * Formats of other programs use these functions; formats with one exact form use traces/civil.h.
 */
#ifndef ORR_TRACES_STAMP_H
#define ORR_TRACES_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unit of times that are numbers. STAMP_AUTO: from the magnitude of a number, see stamp_unit(). */
enum stamp_unit { STAMP_AUTO, STAMP_S, STAMP_MS, STAMP_US, STAMP_NS };
/* The words of a parameter of this type, in the order of the enum. */
#define STAMP_UNITS "auto|s|ms|us|ns"

/* Returns the unit of a word of STAMP_UNITS. */
enum stamp_unit stamp_unit_of(const char *word);
/* Returns the unit of a time that is a number: milliseconds, microseconds or nanoseconds for numbers from 1e11, 1e14 and 1e17 on, which
 * are times since 1970 from the year 1973 on; else seconds. */
enum stamp_unit stamp_unit(double number);

/* Returns whether the text stands for an unknown value: empty, null, None, NaN, N/A, Unknown and the like, in any case. */
bool stamp_is_unknown(const char *s, size_t n);

/* Reads a date and time, ISO 8601 or RFC 3339: "2025-03-01T10:00:00.25+08:00"; blank or T; seconds, fraction (up to nine digits, '.' or
 * ',') and zone (Z, UTC, +HH, +HHMM, +HH:MM) are optional; no zone is UTC. *out_ns: since 1970, from 1970 to 2199. */
bool stamp_date_ns(const char *s, size_t n, int64_t *out_ns);

/* Reads a date and time, or a number of this unit (STAMP_AUTO is invalid), from 0 to 127 years or a date. */
bool stamp_ns(const char *s, size_t n, enum stamp_unit unit, int64_t *out_ns);

/* Reads a duration: a number of `unit` (STAMP_AUTO: seconds), with a unit ("90m"), or a clock: MM:SS, HH:MM:SS, D-HH:MM:SS, "D days
 * HH:MM:SS", with an optional fraction of a second. From 0 to 127 years. */
bool stamp_duration_ns(const char *s, size_t n, enum stamp_unit unit, int64_t *out_ns);

#endif

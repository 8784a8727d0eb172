/* SPDX-License-Identifier: GPL-3.0-or-later */
/* civil.h - wall-clock times of trace files */
#ifndef ORR_TRACES_CIVIL_H
#define ORR_TRACES_CIVIL_H

#include <stddef.h>
#include <stdint.h>

/* Converts "YYYY-MM-DD HH:MM:SS", or with a T, in UTC to ns since 1970; returns -1 unless it is a time from 1970 to 2199. */
int64_t civil_ns(const char *s, size_t n);

#endif

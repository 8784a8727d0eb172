/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * strtab.h - interned strings: each distinct string has a small number
 *
 * Invariant: equal strings have equal numbers; number 0 is the empty string; numbers are assigned in order of first use and
 * never change. A pointer from strtab_text() is valid until strtab_free().
 */
#ifndef ORR_BASE_STRTAB_H
#define ORR_BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

struct strtab;

struct strtab *strtab_new(void);
void strtab_free(struct strtab *t);
uint32_t strtab_add(struct strtab *t, const char *s, size_t len);
uint32_t strtab_add_z(struct strtab *t, const char *s); /* returns the number of s; NULL counts as "" */
const char *strtab_text(const struct strtab *t, uint32_t number);
size_t strtab_count(const struct strtab *t); /* returns the number of strings; their numbers are 0 .. count-1 */

#endif

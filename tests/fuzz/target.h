/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * target.h - one parser fed with arbitrary bytes: shared by the fuzzer and the replay
 *
 * Aborts if the parser breaks a promise that a crash would not show: an error
 * without a text, or a row out of bounds.
 */
#ifndef ORR_TESTS_FUZZ_TARGET_H
#define ORR_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Names of parsers, also of the folders of the corpus; NULL-terminated. */
extern const char *const fuzz_parsers[];
void fuzz_one(const char *parser, const uint8_t *data, size_t n);

#endif

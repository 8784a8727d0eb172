/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * target.h - feeds arbitrary bytes to one parser, for the fuzzer and the replay
 *
 * Aborts on violations that do not crash: an error without a text, or a row out of bounds.
 */
#ifndef ORR_TESTS_FUZZ_TARGET_H
#define ORR_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Names of the parsers and of their corpus folders; NULL-terminated. */
extern const char *const fuzz_parsers[];
void fuzz_one(const char *parser, const uint8_t *data, size_t n);

#endif

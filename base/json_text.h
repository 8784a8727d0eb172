/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json_text.h - checks of JSON text that a parser into a tree cannot make
 *
 * RFC 8259 leaves open what a repeated key and an integer past 2^53 mean. Both are refused here, with their line.
 */
#ifndef ORR_BASE_JSON_TEXT_H
#define ORR_BASE_JSON_TEXT_H

#include <orrery/api.h>

/* Checks n bytes of valid JSON. ORR_EINPUT: an object has a key twice, an integer has no exact double, or the text is not UTF-8;
 * the error is "NAME:LINE: ...". */
int json_text_check(const char *name, const char *text, size_t n, struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * overrides.h - a scenario as overrides of a base scenario: JSON merge patches (RFC 7396)
 *
 * Works on canonical texts: JSON objects without white space. Members keep their order and values keep their bytes. A merge
 * patch cannot express null, and it appends added members at the end. So code that makes a patch checks that it restores the
 * text.
 */
#ifndef ORR_RESULTS_OVERRIDES_H
#define ORR_RESULTS_OVERRIDES_H

#include "base/sbuf.h"

#include <stdbool.h>

/* Appends the patch that turns base into text. Returns false, possibly with an incomplete patch, if one of the texts is not a JSON object.
 */
bool overrides_make(struct sbuf *out, const char *base, const char *text);
/* Appends base with the patch applied. Returns false, possibly with an incomplete text, if one of the texts is not a JSON object. */
bool overrides_apply(struct sbuf *out, const char *base, const char *patch);

#endif

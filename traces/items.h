/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * items.h - the items of a list in one JSON document, one after another
 *
 * The document is a list, an object with a member that is the list, or one object, which is then the only item. Only one item is a tree
 * at a time. An item that is no valid JSON is an error, after which the next item can be read; a document whose items cannot be told apart
 * is an error after which nothing can be read.
 */
#ifndef ORR_TRACES_ITEMS_H
#define ORR_TRACES_ITEMS_H

#include "traces/lines.h"

struct cJSON;
struct items;

/* Reads the document. member: name of the list in an object. Returns NULL on error. The items borrow in. */
struct items *items_new(struct lines *in, const char *member, struct orr_error *err);
void items_free(struct items *it);
/* Reads the next item, valid until the next call. Returns 1: an item, 0: the end, -1: an error. lines_number() is the line of its start. */
int items_next(struct items *it, const struct cJSON **item, struct orr_error *err);

/* Return a member of an object (NULL: none, or null), and the text of a member ("": none, null or no text). o may be NULL. */
const struct cJSON *items_get(const struct cJSON *o, const char *name);
const char *items_text(const struct cJSON *o, const char *name);

#endif

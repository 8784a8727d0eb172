/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grow.h - room for one more element in a policy's array
 *
 *	if (!grow(&s->v, s->n, &s->cap, sizeof *s->v))
 *		orr_give_up(w, j, "out of memory");
 *
 * Invariant: if it returns true, n < *cap. If it returns false, nothing has changed.
 */
#ifndef ORR_POLICIES_GROW_H
#define ORR_POLICIES_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* array: the address of the pointer to the elements, each of size bytes. */
static inline bool grow(void *array, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return true;
	size_t more = *cap ? *cap * 2 : 64;
	void *v;
	memcpy(&v, array, sizeof v);
	v = realloc(v, more * size);
	if (!v)
		return false;
	memcpy(array, &v, sizeof v);
	*cap = more;
	return true;
}

#endif

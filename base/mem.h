/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mem.h - allocation that never fails
 *
 * mem_alloc() and the others never return NULL: when memory runs out they call the handler that main() installed, which prints
 * a message and exits with code 1. Library code reports all other errors by return value. A run is stored in one database
 * transaction, so an exit never leaves part of a run. mem_free(NULL) is allowed.
 */
#ifndef ORR_BASE_MEM_H
#define ORR_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);                /* not cleared */
void *mem_zalloc(size_t count, size_t size); /* cleared, overflow checked */
void *mem_realloc(void *p, size_t count, size_t size);
/* As mem_alloc(), for arrays that are filled from the start: from MEM_LARGE / 2 on, asks for large pages. On Linux, such a page costs one
 * page fault instead of 512. Sizes that are not multiples of MEM_LARGE are rounded up. */
enum { MEM_LARGE = 2 << 20 };
void *mem_alloc_large(size_t size);
void *mem_zalloc_large(size_t count, size_t size); /* as mem_zalloc() */
/*
 * Fetch the cache line of p before it is read or written. Without the asm, GCC regards a function that only fetches as one without effect,
 * and leaves out its calls where it sees its body (-flto).
 */
static inline void mem_fetch(const void *p)
{
	__builtin_prefetch(p);
	__asm__ volatile("");
}
static inline void mem_fetch_to_write(const void *p)
{
	__builtin_prefetch(p, 1);
	__asm__ volatile("");
}
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);
void mem_free(void *p);
/* Returns the number of blocks of orr_alloc() and orr_realloc() that this thread has taken and not freed. */
int64_t mem_held_by_policies(void);
/* Returns the bytes that the process has taken with malloc() and not freed; 0 if the C library does not report it. */
int64_t mem_in_use(void);

/* Sets the function that is called when memory runs out. The handler must not return. NULL: abort(). */
void mem_on_exhaustion(void (*handler)(size_t wanted));

/* Makes room for one more element of a growing array {T *v; size_t n, cap}. */
#define MEM_GROW(v, n, cap)                                                                          \
	do {                                                                                         \
		if ((n) >= (cap)) {                                                                  \
			(cap) = (cap) ? (cap)*2 : 16;                                                \
			/* cap overflowed: treated as exhausted memory. */                           \
			(v) = mem_realloc((v), (cap) > (n) ? (size_t)(cap) : SIZE_MAX, sizeof *(v)); \
		}                                                                                    \
	} while (0)

#endif

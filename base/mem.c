/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mem.h"

#include <orrery/api.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static void (*exhausted)(size_t wanted);

void mem_on_exhaustion(void (*handler)(size_t wanted))
{
	exhausted = handler;
}

static void *check(void *p, size_t size)
{
	if (p || !size)
		return p;
	if (exhausted)
		exhausted(size);
	abort();
}

void *mem_alloc(size_t size)
{
	return check(malloc(size ? size : 1), size);
}

void *mem_zalloc(size_t count, size_t size)
{
	if (!count || !size)
		count = size = 1;
	return check(calloc(count, size), count * size);
}

void *mem_realloc(void *p, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size)
		return check(NULL, SIZE_MAX);
	size_t bytes = count * size;
	return check(realloc(p, bytes ? bytes : 1), bytes);
}

void *mem_alloc_large(size_t size)
{
#ifdef MADV_HUGEPAGE
	if (size >= MEM_LARGE / 2 && size <= SIZE_MAX - MEM_LARGE) {
		size_t rounded = (size + MEM_LARGE - 1) / MEM_LARGE * MEM_LARGE;
		void *p = check(aligned_alloc(MEM_LARGE, rounded), rounded);
		madvise(p, rounded, MADV_HUGEPAGE); /* only advice: an error does not matter */
		return p;
	}
#endif
	return mem_alloc(size);
}

void *mem_zalloc_large(size_t count, size_t size)
{
	if (size && count >= MEM_LARGE / 2 / size && count <= SIZE_MAX / size)
		return memset(mem_alloc_large(count * size), 0, count * size);
	return mem_zalloc(count, size);
}

char *mem_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = mem_alloc(len + 1);
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

void mem_free(void *p)
{
	free(p);
}

/* ---- memory for policies ---- */

static _Thread_local int64_t held;

int64_t mem_held_by_policies(void)
{
	return held;
}

int64_t mem_in_use(void)
{
#if defined __GLIBC__ && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 now = mallinfo2();
	return (int64_t)(now.uordblks + now.hblkhd);
#else
	return 0;
#endif
}

void *orr_alloc(size_t count, size_t size)
{
	held++;
	return mem_zalloc(count, size);
}

void *orr_realloc(void *p, size_t count, size_t size)
{
	held += !p;
	return mem_realloc(p, count, size);
}

void orr_free(void *p)
{
	held -= !!p;
	mem_free(p);
}

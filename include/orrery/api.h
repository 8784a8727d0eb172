/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * api.h - definitions that all public headers of orrery share
 *
 * Times are int64_t nanoseconds (names end in _ns) or double seconds (names end in _s); the header of each world states which
 * one it uses. Both are measured from the start of the trace. ORR_NEVER is later than every event. Errors are values: a
 * function that can fail fills in a struct orr_error and returns non-zero.
 */
#ifndef ORRERY_API_H
#define ORRERY_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks functions that a plugin may call. The program exports only these functions. */
#define ORR_API __attribute__((visibility("default")))

/*
 * The version of everything in include/orrery. A plugin contains the version with which it was compiled; the program refuses
 * other versions.
 */
#define ORR_ABI_VERSION 7

#define ORR_SECOND INT64_C(1000000000)
#define ORR_NEVER INT64_MAX

/* The exit codes of the program: 0 done, 1 failed, 2 invalid input, 3 no device. */
enum { ORR_OK = 0, ORR_EFAIL = 1, ORR_EINPUT = 2, ORR_EDEVICE = 3 };

struct orr_error {
	int code;       /* exit code: one of the above */
	char text[768]; /* message of one line, without a newline: place, fault, what would be accepted */
};

/* Fills in *e (printf style) and returns code. e may be NULL. */
ORR_API int orr_fail(struct orr_error *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Memory for policies. Neither function returns NULL: when memory runs out the program prints a
 * message and ends with exit code 1. orr_alloc() returns count elements of `size` bytes, all bits
 * zero. orr_realloc() keeps the contents of p up to the new size
 * (p may be NULL); new elements are not cleared. The caller frees with orr_free(), which allows NULL.
 */
ORR_API void *orr_alloc(size_t count, size_t size);
ORR_API void *orr_realloc(void *p, size_t count, size_t size);
ORR_API void orr_free(void *p);

/* Makes room for element n of the array v of capacity cap (any unsigned type). */
#define ORR_GROW(v, n, cap)                                                                          \
	do {                                                                                         \
		if ((n) >= (cap)) {                                                                  \
			(cap) = (cap) ? (cap)*2 : 16;                                                \
			/* If the counter cannot represent n + 1, memory counts as exhausted. */     \
			(v) = orr_realloc((v), (cap) > (n) ? (size_t)(cap) : SIZE_MAX, sizeof *(v)); \
		}                                                                                    \
	} while (0)

#ifdef __cplusplus
}
#endif
#endif

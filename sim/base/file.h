/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * file.h - small files as a whole, and hashes of contents
 */
#ifndef ORR_BASE_FILE_H
#define ORR_BASE_FILE_H

#include <orrery/api.h>

/* The whole file as NUL-terminated text without NUL bytes in it, at most max bytes;
 * NULL on error. Free with mem_free. */
char *file_read_text(const char *path, size_t max, struct orr_error *err);

/* SHA-256 in hex of the bytes, of a file, or of several texts one after the other. */
void sha256_hex(const void *bytes, size_t n, char out[65]);
int sha256_file(const char *path, char out[65], struct orr_error *err);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bytes.h - the bytes of a file, decompressed
 *
 * gzip (RFC 1952, any number of members) and zstd (RFC 8878, any number of frames) are recognised by their first bytes and
 * decompressed; other files pass unchanged. The SHA-256 covers the file as stored on disk.
 *
 * Invariant: bytes_read() returns all bytes that precede a fault before it
 * reports the fault, so a caller that counts lines knows the line of the fault.
 */
#ifndef ORR_BASE_BYTES_H
#define ORR_BASE_BYTES_H

#include <orrery/api.h>

struct bytes;

/* Opens a file for reading; path "-" is standard input. Returns NULL on error. */
struct bytes *bytes_open(const char *path, struct orr_error *err);
/* Reads from memory instead of a file. The caller keeps `data` until bytes_close(). Never returns NULL. */
struct bytes *bytes_open_memory(const void *data, size_t n);
void bytes_close(struct bytes *b);

/* Reads up to cap bytes. Returns their number; 0 at the end; -1 on a fault, which bytes_fault() describes. */
int64_t bytes_read(struct bytes *b, char *out, size_t cap);
const char *bytes_fault(const struct bytes *b);

enum { BYTES_HASH_SIZE = 65 };
/* Writes the SHA-256 of the raw bytes read so far as 64 hex digits. Once bytes_read() has returned 0, this is the hash of the file. */
void bytes_hash(const struct bytes *b, char hex[BYTES_HASH_SIZE]);

/* Reads a whole file and appends a NUL. Returns NULL on error or if the decompressed file has more than max bytes. Free with
 * mem_free(). hash may be NULL. */
char *bytes_read_file(const char *path, size_t max, size_t *n, char hash[BYTES_HASH_SIZE], struct orr_error *err);

/* Writes the SHA-256 of a text as 64 hex digits. */
void bytes_hash_text(const char *text, size_t n, char hex[BYTES_HASH_SIZE]);

#endif

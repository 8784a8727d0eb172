/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads plain files, gzip files (written by zlib) and zstd files (written by libzstd). Expected: the compressed bytes; for
 * hashes, the examples of FIPS 180-4.
 */
#define ZLIB_CONST
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { MOST = 400000, ROOM = 4 * MOST };

static unsigned char plain[MOST], packed[ROOM];
static char got[ROOM];

static size_t gzip(unsigned char *to, const void *from, size_t n)
{
	z_stream z = { .next_in = from, .avail_in = (unsigned)n, .next_out = to, .avail_out = ROOM / 2 };
	deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
	deflate(&z, Z_FINISH);
	deflateEnd(&z);
	return z.total_out;
}

static size_t zstd(unsigned char *to, const void *from, size_t n)
{
	return ZSTD_compress(to, ROOM / 2, from, n, 3);
}

static size_t copied(unsigned char *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return n;
}

/* Reads all bytes, `step` at a time, into got; returns their number. *last is the value of the last call. */
static size_t drain(struct bytes *b, size_t step, int64_t *last)
{
	size_t n = 0;
	while ((*last = bytes_read(b, got + n, step)) > 0) {
		n += (size_t)*last;
		if (*last > (int64_t)step)
			return SIZE_MAX;
	}
	return n;
}

static bool is_read(struct bytes *b, size_t step, const void *want, size_t n, size_t raw)
{
	int64_t last;
	char hash[BYTES_HASH_SIZE], expected[BYTES_HASH_SIZE];
	bool is_same = drain(b, step, &last) == n && !last && !memcmp(got, want, n) && !*bytes_fault(b);
	bytes_hash(b, hash);
	bytes_hash_text((char *)packed, raw, expected);
	bytes_close(b);
	return is_same && !strcmp(hash, expected);
}

static bool write_file(char *path, const void *from, size_t n)
{
	strcpy(path, "/tmp/orrery-XXXXXX");
	int fd = mkstemp(path);
	bool is_good = fd >= 0 && write(fd, from, n) == (ssize_t)n;
	return fd >= 0 && !close(fd) && is_good;
}

static void whole_files(const char *what, size_t (*pack)(unsigned char *, const void *, size_t))
{
	static const size_t sizes[] = { 0, 1, 2, 3, 4, 1000, 128 * 1024 - 1, 128 * 1024, 128 * 1024 + 1, MOST };
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t n = sizes[k], raw = pack(packed, plain, n);
		char path[32];
		struct orr_error err;
		ok(is_read(bytes_open_memory(packed, raw), 65536, plain, n, raw), "%s: %zu bytes in memory", what, n);
		ok(is_read(bytes_open_memory(packed, raw), 7, plain, n, raw), "%s: 7 bytes at a time", what);
		ok(write_file(path, packed, raw) && is_read(bytes_open(path, &err), 65536, plain, n, raw), "%s: %zu bytes in a file", what,
			n);
		unlink(path);
	}
}

/* Expects the first n bytes of `plain`, then the fault. */
static void faulty(size_t raw, size_t n, const char *fault, const char *what)
{
	int64_t last;
	struct bytes *b = bytes_open_memory(packed, raw);
	size_t len = drain(b, 1000, &last);
	ok(len == n && last == -1 && !memcmp(got, plain, n), "%s: the bytes before the fault, then -1", what);
	same_text(bytes_fault(b), fault, what);
	bytes_close(b);
}

static void parts(void)
{
	size_t first = gzip(packed, plain, 1000), both = first + gzip(packed + first, plain + 1000, 2000);
	ok(is_read(bytes_open_memory(packed, both), 500, plain, 3000, both), "two gzip members are one text");
	faulty(both - 1, 3000, "truncated gzip data", "the last byte of the gzip data is missing");
	memcpy(packed + both, "ab", 2);
	faulty(both + 2, 3000, "bytes after the end of the gzip data", "other bytes after the gzip data");
	faulty(both + 1, 3000, "bytes after the end of the gzip data", "one byte after the gzip data");
	memcpy(packed + both, "\x1f\x8c", 2);
	faulty(both + 2, 3000, "bytes after the end of the gzip data", "almost the mark of a gzip member");
	memcpy(packed + both, "\x1e\x8b", 2);
	faulty(both + 2, 3000, "bytes after the end of the gzip data", "bytes after the gzip data with another first byte");
	packed[first - 5] ^= 1; /* damages the checksum of the first member */
	faulty(both, 1000, "damaged gzip data", "a wrong checksum");
	memcpy(packed, "\x1f\x8b", 2);
	faulty(2, 0, "truncated gzip data", "a file that has only the mark of gzip");
	/* The data have a skippable frame of 3 bytes (RFC 8878, 3.1.2), then two ordinary frames. */
	for (unsigned char mark = 0x50; mark < 0x60; mark += 5) {
		memcpy(packed, "\x50\x2a\x4d\x18\x03\0\0\0xyz", 11);
		packed[0] = mark;
		first = 11 + zstd(packed + 11, plain, 1000);
		both = first + zstd(packed + first, plain + 1000, 2000);
		ok(is_read(bytes_open_memory(packed, both), 500, plain, 3000, both), "zstd frames after a skippable one (0x%x)", mark);
	}
	faulty(first + 6, 1000, "truncated zstd data", "a zstd frame that has only begun");
	packed[first] ^= 0xff; /* damages the magic number of the second frame */
	faulty(both, 1000, "damaged zstd data", "bytes that are no frame");
	static const char *const others[] = { "\x1f", "\x1f\x8c\x08", "\x1e\x8b\x08", "\x28\xb5\x2f", "\x28\xb5\x2f\xfe",
		"\x60\x2a\x4d\x18", "\x50\x2a\x4d\x19", "\x50\x2a\x4d" };
	for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
		size_t n = copied(packed, others[k], strlen(others[k]));
		ok(is_read(bytes_open_memory(packed, n), 10, others[k], n, n), "a text that begins almost like packed data (%zu)", k);
	}
}

static void standard_input(void)
{
	char path[32];
	struct orr_error err;
	ok(write_file(path, plain, 1000) && freopen(path, "r", stdin), "a file can be standard input");
	memcpy(packed, plain, 1000);
	ok(is_read(bytes_open("-", &err), 100, plain, 1000, 1000), "- is standard input");
	ok(fcntl(STDIN_FILENO, F_GETFD) >= 0, "standard input stays open after bytes_close()");
	int before = dup(STDIN_FILENO);
	close(before);
	bytes_close(bytes_open(path, &err));
	int after = dup(STDIN_FILENO);
	ok(before == after, "bytes_close() closes a named file");
	close(after);
	unlink(path);
}

static void read_whole(void)
{
	char path[32], hash[BYTES_HASH_SIZE], expected[BYTES_HASH_SIZE];
	struct orr_error err = { 0 };
	size_t n = 0;
	bytes_hash_text("abc", 3, hash);
	same_text(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "the SHA-256 of abc");
	bytes_hash_text("", 0, hash);
	same_text(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "the SHA-256 of nothing");
	bytes_hash_text((char *)plain, MOST, expected);
	ok(write_file(path, plain, MOST), "a file can be made in /tmp");
	char *text = bytes_read_file(path, MOST, &n, hash, &err);
	ok(text && n == MOST && !memcmp(text, plain, n) && !text[n] && !err.text[0],
		"a file of the most bytes allowed is read, and ends with a NUL");
	same_text(hash, expected, "the hash of a file of the most bytes allowed");
	mem_free(text);
	ok(!bytes_read_file(path, MOST - 1, &n, NULL, &err) && strstr(err.text, "expected at most 399999 bytes"),
		"a file one byte above the limit is refused");
	unlink(path);
	size_t raw = gzip(packed, plain, 1000);
	err.text[0] = '\0';
	ok(write_file(path, packed, raw - 1) && !bytes_read_file(path, MOST, &n, NULL, &err) && strstr(err.text, ": truncated gzip data"),
		"damaged data is refused");
	unlink(path);
	ok(!bytes_read_file(path, MOST, &n, NULL, &err) && strstr(err.text, "No such file"), "a missing file is refused");
	ok(!bytes_read_file("/tmp", MOST, &n, NULL, &err) && strstr(err.text, "/tmp: Is a directory"), "a folder is refused");
}

int main(void)
{
	uint64_t seed = 5;
	for (size_t i = 0; i < MOST; i++)
		plain[i] = (unsigned char)hash_next(&seed);
	memcpy(plain, "text", 4); /* the text has no magic number of a compressed format */
	whole_files("plain", copied);
	whole_files("gzip", gzip);
	whole_files("zstd", zstd);
	parts();
	read_whole();
	standard_input();
	return done();
}

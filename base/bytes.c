/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bytes.h"

#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_BLOCK = 128 * 1024 };

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };

struct bytes {
	int fd; /* -1: memory */
	const unsigned char *memory;
	size_t memory_left;
	struct sha256_ctx hash;
	unsigned char *raw; /* raw[at..n): bytes read and not yet decompressed */
	size_t at, n;
	bool at_end;       /* the end of the file has been reached */
	bool inside;       /* a gzip member or zstd frame is incomplete so far */
	const char *fault; /* description of the fault; NULL: no fault */
	enum packing packing;
	z_stream z;
	ZSTD_DStream *zstd;
};

/* Reads until raw holds at least `want` bytes or the file ends. */
static void fill_raw(struct bytes *b, size_t want)
{
	if (b->at) {
		memmove(b->raw, b->raw + b->at, b->n - b->at);
		b->n -= b->at;
		b->at = 0;
	}
	while (b->n < want && !b->at_end && !b->fault) {
		size_t room = RAW_BLOCK - b->n;
		ssize_t got;
		if (b->fd < 0) {
			got = (ssize_t)(b->memory_left < room ? b->memory_left : room);
			memcpy(b->raw + b->n, b->memory, (size_t)got);
			b->memory += got;
			b->memory_left -= (size_t)got;
		} else {
			got = read(b->fd, b->raw + b->n, room);
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			b->fault = strerror(errno);
		if (got == 0)
			b->at_end = true;
		if (got > 0) {
			sha256_update(&b->hash, (size_t)got, b->raw + b->n);
			b->n += (size_t)got;
		}
	}
}

static void detect(struct bytes *b)
{
	fill_raw(b, 4);
	/* A zstd file may start with a skippable frame, magic number 0x184D2A5? (RFC 8878, 3.1.2). */
	if (b->n >= 2 && b->raw[0] == 0x1f && b->raw[1] == 0x8b)
		b->packing = PACKING_GZIP;
	else if (b->n >= 4 &&
		 (!memcmp(b->raw, "\x28\xb5\x2f\xfd", 4) || (!memcmp(b->raw + 1, "\x2a\x4d\x18", 3) && (b->raw[0] & 0xf0) == 0x50)))
		b->packing = PACKING_ZSTD;
	if (b->packing == PACKING_GZIP && inflateInit2(&b->z, 15 + 16) != Z_OK)
		b->fault = "zlib cannot be initialised";
	if (b->packing == PACKING_ZSTD && !(b->zstd = ZSTD_createDStream()))
		b->fault = "zstd cannot be initialised";
}

static struct bytes *bytes_new(int fd)
{
	struct bytes *b = mem_zalloc(1, sizeof *b);
	b->fd = fd;
	b->raw = mem_alloc(RAW_BLOCK);
	sha256_init(&b->hash);
	return b;
}

struct bytes *bytes_open(const char *path, struct orr_error *err)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (fd < 0) {
		orr_fail(err, ORR_EINPUT, "%s: %s", path, strerror(errno));
		return NULL;
	}
	struct bytes *b = bytes_new(fd);
	limits_begin_input(path);
	detect(b);
	if (b->fault) {
		orr_fail(err, ORR_EINPUT, "%s: %s", path, b->fault);
		bytes_close(b);
		return NULL;
	}
	return b;
}

struct bytes *bytes_open_memory(const void *data, size_t n)
{
	struct bytes *b = bytes_new(-1);
	b->memory = data;
	b->memory_left = n;
	detect(b);
	return b;
}

void bytes_close(struct bytes *b)
{
	if (!b)
		return;
	if (b->fd >= STDIN_FILENO)
		limits_begin_input("");
	if (b->fd > STDIN_FILENO)
		close(b->fd);
	if (b->packing == PACKING_GZIP)
		inflateEnd(&b->z);
	ZSTD_freeDStream(b->zstd);
	mem_free(b->raw);
	mem_free(b);
}

/* Calls inflate() once; returns the number of bytes written to out. */
static size_t step_gzip(struct bytes *b, char *out, size_t cap)
{
	if (!b->inside) {
		fill_raw(b, 2);
		if (b->n < 2 || b->raw[0] != 0x1f || b->raw[1] != 0x8b) {
			b->fault = "bytes after the end of the gzip data";
			return 0;
		}
		inflateReset(&b->z);
		b->inside = true;
	}
	b->z.next_in = b->raw + b->at;
	b->z.avail_in = (unsigned)(b->n - b->at);
	b->z.next_out = (unsigned char *)out;
	b->z.avail_out = (unsigned)cap;
	int rc = inflate(&b->z, Z_NO_FLUSH);
	b->at = b->n - b->z.avail_in;
	if (rc == Z_STREAM_END)
		b->inside = false;
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		b->fault = "damaged gzip data";
	return cap - b->z.avail_out;
}

static size_t step_zstd(struct bytes *b, char *out, size_t cap)
{
	ZSTD_inBuffer in = { b->raw + b->at, b->n - b->at, 0 };
	ZSTD_outBuffer to = { out, cap, 0 };
	size_t rc = ZSTD_decompressStream(b->zstd, &to, &in);
	b->at += in.pos;
	b->inside = rc != 0;
	if (ZSTD_isError(rc))
		b->fault = "damaged zstd data";
	return to.pos;
}

static size_t step_plain(struct bytes *b, char *out, size_t cap)
{
	size_t n = b->n - b->at < cap ? b->n - b->at : cap;
	memcpy(out, b->raw + b->at, n);
	b->at += n;
	return n;
}

int64_t bytes_read(struct bytes *b, char *out, size_t cap)
{
	static size_t (*const step[])(struct bytes *, char *, size_t) = { step_plain, step_gzip, step_zstd };
	if (cap > INT32_MAX)
		cap = INT32_MAX;
	size_t given = 0;
	while (given < cap && !b->fault) {
		if (b->at == b->n) {
			fill_raw(b, 1);
			if (b->fault)
				break;
		}
		bool is_dry = b->at == b->n;
		if (is_dry && !b->inside)
			break;
		size_t got = step[b->packing](b, out + given, cap - given);
		given += got;
		if (is_dry && !got && b->inside && !b->fault)
			b->fault = b->packing == PACKING_GZIP ? "truncated gzip data" : "truncated zstd data";
	}
	return given || !b->fault ? (int64_t)given : -1;
}

const char *bytes_fault(const struct bytes *b)
{
	return b->fault ? b->fault : "";
}

static void to_hex(struct sha256_ctx *ctx, char hex[BYTES_HASH_SIZE])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_digest(ctx, sizeof digest, digest);
	for (size_t i = 0; i < sizeof digest; i++) {
		hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	hex[2 * sizeof digest] = '\0';
}

void bytes_hash(const struct bytes *b, char hex[BYTES_HASH_SIZE])
{
	struct sha256_ctx copy = b->hash;
	to_hex(&copy, hex);
}

char *bytes_read_file(const char *path, size_t max, size_t *n, char hash[BYTES_HASH_SIZE], struct orr_error *err)
{
	struct bytes *b = bytes_open(path, err);
	if (!b)
		return NULL;
	size_t cap = 64 * 1024, len = 0;
	char *text = mem_alloc(cap + 1);
	int64_t got;
	while ((got = bytes_read(b, text + len, cap - len)) > 0) {
		len += (size_t)got;
		if (len == cap)
			text = mem_realloc(text, (cap *= 2) + 1, 1);
		if (len > max)
			break;
	}
	if (got < 0)
		orr_fail(err, ORR_EINPUT, "%s: %s", path, b->fault);
	else if (got > 0)
		orr_fail(err, ORR_EINPUT, "%s: too large: expected at most %zu bytes", path, max);
	if (hash)
		bytes_hash(b, hash);
	bytes_close(b);
	text[len] = '\0';
	*n = len;
	if (!got)
		return text;
	mem_free(text);
	return NULL;
}

void bytes_hash_text(const char *text, size_t n, char hex[BYTES_HASH_SIZE])
{
	struct sha256_ctx ctx;
	sha256_init(&ctx);
	sha256_update(&ctx, n, (const uint8_t *)text);
	to_hex(&ctx, hex);
}

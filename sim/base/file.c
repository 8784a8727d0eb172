/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static FILE *open_regular(const char *path, struct orr_error *err)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	if (!f) {
		orr_fail(err, ORR_EINPUT, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (!fstat(fileno(f), &st) && S_ISDIR(st.st_mode)) {
		orr_fail(err, ORR_EINPUT, "%s: is a directory, expected a file", path);
		fclose(f);
		return NULL;
	}
	return f;
}

char *file_read_text(const char *path, size_t max, struct orr_error *err)
{
	FILE *f = open_regular(path, err);
	if (!f)
		return NULL;
	char *text = NULL;
	size_t n = 0, cap = 4096, got;
	do {
		cap *= 2;
		text = mem_realloc(text, cap + 1, 1);
		got = fread(text + n, 1, cap - n, f);
		n += got;
	} while (n == cap && n <= max);
	int bad = ferror(f);
	fclose(f);
	text[n] = '\0';
	if (bad)
		orr_fail(err, ORR_EINPUT, "%s: cannot be read", path);
	else if (n > max)
		orr_fail(err, ORR_EINPUT, "%s: is larger than %zu bytes", path, max);
	else if (strlen(text) != n)
		orr_fail(err, ORR_EINPUT, "%s: has a NUL byte at offset %zu, expected text", path, strlen(text));
	else
		return text;
	mem_free(text);
	return NULL;
}

static void hex(const uint8_t digest[SHA256_DIGEST_SIZE], char out[65])
{
	for (int i = 0; i < SHA256_DIGEST_SIZE; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

void sha256_hex(const void *bytes, size_t n, char out[65])
{
	struct sha256_ctx ctx;
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_init(&ctx);
	sha256_update(&ctx, n, bytes);
	sha256_digest(&ctx, sizeof digest, digest);
	hex(digest, out);
}

int sha256_file(const char *path, char out[65], struct orr_error *err)
{
	FILE *f = open_regular(path, err);
	if (!f)
		return ORR_EINPUT;
	struct sha256_ctx ctx;
	uint8_t digest[SHA256_DIGEST_SIZE], buf[16384];
	size_t n;
	sha256_init(&ctx);
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		sha256_update(&ctx, n, buf);
	int bad = ferror(f);
	fclose(f);
	if (bad)
		return orr_fail(err, ORR_EINPUT, "%s: cannot be read", path);
	sha256_digest(&ctx, sizeof digest, digest);
	hex(digest, out);
	return ORR_OK;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spool gives back what was written, in memory and in its file. Expected: an array with the same bytes, which are those of a generator;
 * sizes are around the limit of the memory, 128 KiB, which base/spool.c defines.
 */
#include "base/spool.h"

#include "base/mem.h"
#include "tests/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST = 700000 };
static unsigned char plain[MOST], got[MOST];
static uint32_t state = 1;

static uint32_t next(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % below;
}

/* Writes n bytes in pieces, and replaces some of them in between; then reads them in order and at random places. */
static void same_bytes(size_t n, uint32_t piece)
{
	struct spool *s = spool_new();
	struct orr_error err = { 0 };
	int rc = ORR_OK;
	for (size_t at = 0; at < n && !rc;) {
		size_t part = 1 + next(piece);
		part = part < n - at ? part : n - at;
		rc = spool_add(s, plain + at, part, &err);
		at += part;
		if (next(4) == 0 && !rc) {
			size_t old = next((uint32_t)at), some = 1 + next(20);
			some = some < at - old ? some : at - old;
			for (size_t i = 0; i < some; i++)
				plain[old + i] ^= 0x5a;
			rc = spool_replace(s, old, plain + old, some, &err);
		}
	}
	ok(!rc && spool_size(s) == n, "%zu bytes are written in pieces of up to %u: %s", n, piece, err.text);
	memset(got, 0, sizeof got);
	for (size_t at = 0; at < n && !rc; at += 1000)
		rc = spool_read(s, at, got + at, n - at < 1000 ? n - at : 1000, &err);
	ok(!rc && !memcmp(got, plain, n), "and are read in order");
	bool same = true;
	for (int i = 0; i < 200 && n; i++) {
		size_t at = next((uint32_t)n), some = 1 + next(5000);
		some = some < n - at ? some : n - at;
		same &= !spool_read(s, at, got, some, &err) && !memcmp(got, plain + at, some);
	}
	ok(same, "and at random places");
	spool_free(s);
}

/* A write that fails: the file may have no byte. The error lasts. */
static void full_disk(void)
{
	struct spool *s = spool_new();
	struct orr_error err = { 0 };
	struct rlimit old, none = { 0 };
	getrlimit(RLIMIT_FSIZE, &old);
	none.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	int rc = ORR_OK;
	for (int i = 0; i < 3 && !rc; i++)
		rc = spool_add(s, plain, 100000, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	ok(rc == ORR_EFAIL && strstr(err.text, "temporary file: writing: File too large"), "a file that cannot grow is an error: %s",
		err.text);
	ok(spool_read(s, 0, got, 1, &err) == ORR_EFAIL && spool_add(s, plain, 1, &err) == ORR_EFAIL, "and remains one");
	spool_free(s);
}

int main(void)
{
	full_disk();
	for (size_t i = 0; i < MOST; i++)
		plain[i] = (unsigned char)next(256);
	static const size_t sizes[] = { 0, 1, 131071, 131072, 131073, 262144, MOST };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		same_bytes(sizes[i], 300);
		same_bytes(sizes[i], 200000);
	}
	return done();
}

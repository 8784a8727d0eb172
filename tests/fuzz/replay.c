/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay.c - feeds each file of the fuzz corpus to its parser once; for any compiler. */
#include "tests/fuzz/target.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <dirent.h>
#include <stdlib.h>

static bool replay_file(const char *parser, const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f)
		return false;
	size_t cap = 1 << 16, n = 0, got;
	uint8_t *data = mem_alloc(cap);
	while ((got = fread(data + n, 1, cap - n, f)) > 0) {
		n += got;
		if (n == cap)
			data = mem_realloc(data, cap *= 2, 1);
	}
	fclose(f);
	data = mem_realloc(data, n ? n : 1, 1); /* exact size, so that sanitizers detect reads past the end */
	fuzz_one(parser, data, n);
	mem_free(data);
	return true;
}

int main(void)
{
	const char *srcdir = getenv("srcdir");
	for (size_t i = 0; fuzz_parsers[i]; i++) {
		char dir[512], path[1024];
		unsigned files = 0, bad = 0;
		snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", fuzz_parsers[i]);
		DIR *d = opendir(dir);
		struct dirent *e;
		while (d && (e = readdir(d))) {
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
			bad += !replay_file(fuzz_parsers[i], path);
			files++;
		}
		if (d)
			closedir(d);
		ok(files && !bad, "%s: %u inputs of the corpus replayed", fuzz_parsers[i], files);
	}
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/spool.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 128 << 10 };

struct spool {
	char *window;             /* bytes from `from` on, of which `n` are valid */
	size_t from, n;           /* before there is a file: from 0, and all bytes */
	size_t size, dirty;       /* dirty: the last bytes of the window, which the file lacks */
	int fd;                   /* -1: no file */
	struct orr_error *failed; /* NULL: no error */
};

struct spool *spool_new(void)
{
	struct spool *s = mem_zalloc(1, sizeof *s);
	s->fd = -1;
	s->window = mem_alloc(WINDOW);
	return s;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	mem_free(s->failed);
	mem_free(s->window);
	mem_free(s);
}

size_t spool_size(const struct spool *s)
{
	return s->size;
}

static int fail(struct spool *s, const char *doing, struct orr_error *err)
{
	if (!s->failed) {
		s->failed = mem_zalloc(1, sizeof *s->failed);
		orr_fail(s->failed, ORR_EFAIL, "temporary file: %s: %s: expected room in the folder of TMPDIR", doing, strerror(errno));
	}
	return orr_fail(err, s->failed->code, "%s", s->failed->text);
}

/* Opens a file without a name: it is removed at once. */
static int open_unnamed(void)
{
	const char *const folder[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -1;
	for (size_t i = 0; i < sizeof folder / sizeof *folder && fd < 0; i++) {
		struct sbuf path = { 0 };
		if (!folder[i] || !*folder[i])
			continue;
		sbuf_printf(&path, "%s/orrery-XXXXXX", folder[i]);
		fd = mkstemp(path.text);
		if (fd >= 0)
			unlink(path.text);
		sbuf_free(&path);
	}
	return fd < 0 ? fd : (fcntl(fd, F_SETFD, FD_CLOEXEC), fd);
}

static int write_at(struct spool *s, size_t at, const char *bytes, size_t n, struct orr_error *err)
{
	while (n) {
		ssize_t wrote = pwrite(s->fd, bytes, n, (off_t)at);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return fail(s, "writing", err);
		bytes += wrote;
		at += (size_t)wrote;
		n -= (size_t)wrote;
	}
	return ORR_OK;
}

/* Writes the bytes that the file lacks. */
static int write_dirty(struct spool *s, struct orr_error *err)
{
	if (s->fd < 0 && (s->fd = open_unnamed()) < 0)
		return fail(s, "opening", err);
	int rc = write_at(s, s->size - s->dirty, s->window + s->n - s->dirty, s->dirty, err);
	s->dirty = 0;
	return rc;
}

int spool_add(struct spool *s, const void *bytes, size_t n, struct orr_error *err)
{
	const char *next = bytes;
	if (s->failed)
		return fail(s, "", err);
	while (n) {
		bool is_at_end = s->from + s->n == s->size;
		if (!is_at_end || s->n == WINDOW) {
			if (s->dirty && write_dirty(s, err))
				return s->failed->code;
			s->from = s->size;
			s->n = 0;
		}
		size_t part = n < WINDOW - s->n ? n : WINDOW - s->n;
		memcpy(s->window + s->n, next, part);
		s->n += part;
		s->size += part;
		s->dirty += part;
		next += part;
		n -= part;
	}
	return ORR_OK;
}

/* Makes the window hold byte `at`. */
static int move_to(struct spool *s, size_t at, struct orr_error *err)
{
	if (s->failed)
		return fail(s, "", err);
	if (at >= s->from && at < s->from + s->n)
		return ORR_OK;
	if (s->dirty && write_dirty(s, err))
		return s->failed->code;
	s->from = at;
	s->n = 0;
	while (s->n < WINDOW && at + s->n < s->size) {
		ssize_t got = pread(s->fd, s->window + s->n, WINDOW - s->n, (off_t)(at + s->n));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return fail(s, "reading", err);
		s->n += (size_t)got;
	}
	return ORR_OK;
}

int spool_replace(struct spool *s, size_t at, const void *bytes, size_t n, struct orr_error *err)
{
	for (const char *next = bytes; n;) {
		int rc = move_to(s, at, err);
		if (rc)
			return rc;
		size_t room = s->from + s->n - at, part = n < room ? n : room;
		memcpy(s->window + (at - s->from), next, part);
		/* Bytes that the file lacks are written later. */
		if (at < s->size - s->dirty && (rc = write_at(s, at, next, part, err)))
			return rc;
		at += part;
		next += part;
		n -= part;
	}
	return ORR_OK;
}

int spool_read(struct spool *s, size_t at, void *out, size_t n, struct orr_error *err)
{
	for (char *next = out; n;) {
		int rc = move_to(s, at, err);
		if (rc)
			return rc;
		size_t room = s->from + s->n - at, part = n < room ? n : room;
		memcpy(next, s->window + (at - s->from), part);
		at += part;
		next += part;
		n -= part;
	}
	return ORR_OK;
}

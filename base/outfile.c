/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/outfile.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int outfile_make_dir(const char *dir, struct orr_error *err)
{
	char *path = mem_strdup(dir);
	int failed = 0;
	for (char *c = path + 1; path[0] && !failed; c++) {
		if (*c != '/' && *c != '\0')
			continue;
		char end = *c;
		*c = '\0';
		failed = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
		*c = end;
		if (!end)
			break;
	}
	mem_free(path);
	struct stat st;
	if (!failed && stat(dir, &st))
		failed = errno;
	if (!failed && !S_ISDIR(st.st_mode))
		failed = ENOTDIR;
	if (failed)
		return orr_fail(err, ORR_EFAIL, "%s: this folder cannot be created: %s: expected another folder after --out", dir,
			strerror(failed));
	return ORR_OK;
}

/* ---- opening ---- */

/* Returns the descriptor that the path names (/dev/stdout, /dev/stderr, /dev/fd/N); -1: none. */
static int descriptor_of(const char *path)
{
	static const char *const folder[] = { "/dev/fd/", "/proc/self/fd/" };
	int64_t n;
	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
		size_t len = strlen(folder[i]);
		if (!strncmp(path, folder[i], len) && num_int(path + len, strlen(path + len), &n) && n >= 0 && n < 1 << 20)
			return (int)n;
	}
	return -1;
}

/* Follows symbolic links in the last part of the path, also to a file that does not exist yet, up to a name of a descriptor. Returns
 * NULL and sets errno if a link cannot be read or links form a cycle. */
static char *follow_links(const char *path)
{
	enum { MOST_LINKS = 40 };
	char *at = mem_strdup(path), target[4096];
	struct stat st;
	for (int i = 0; descriptor_of(at) < 0 && !lstat(at, &st) && S_ISLNK(st.st_mode); i++) {
		ssize_t n = readlink(at, target, sizeof target - 1);
		if (n < 0 || i == MOST_LINKS) {
			errno = n < 0 ? errno : ELOOP;
			mem_free(at);
			return NULL;
		}
		target[n] = '\0';
		const char *slash = strrchr(at, '/');
		struct sbuf next = { 0 };
		if (*target != '/' && slash)
			sbuf_add(&next, at, (size_t)(slash - at) + 1);
		sbuf_puts(&next, target);
		mem_free(at);
		at = sbuf_steal(&next);
	}
	return at;
}

/* Creates a file with a new name: the six characters before ".tmp" are filled in. The kernel applies the umask to the mode, which no
 * thread can read without changing it. Returns a descriptor or -1. */
static int create_unique(char *path, int mode)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	enum { TRIES = 1000, LETTERS = 6 };
	char *at = path + strlen(path) - strlen(".tmp") - LETTERS;
	int fd = -1;
	for (int i = 0; fd < 0 && i < TRIES; i++) {
		unsigned char random[LETTERS];
		if (getentropy(random, sizeof random))
			return -1;
		for (int k = 0; k < LETTERS; k++)
			at[k] = letters[random[k] & 31];
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

/* Creates the draft beside the file. The name is cut to leave room for the suffix. Returns a descriptor or -1. */
static int open_draft(struct outfile *f, const struct stat *existing)
{
	enum { LONGEST = 200 };
	struct sbuf draft = { 0 };
	const char *slash = strrchr(f->final, '/'), *name = slash ? slash + 1 : f->final;
	sbuf_add(&draft, f->final, (size_t)(name - f->final));
	sbuf_printf(&draft, "%.*s.XXXXXX.tmp", LONGEST, name);
	f->draft = sbuf_steal(&draft);
	int fd = cleanup_create(f->draft, existing ? 0600 : 0666, create_unique, &f->kept);
	if (fd < 0)
		return -1;
	if (existing && (existing->st_uid != geteuid() || existing->st_gid != getegid()) && fchown(fd, existing->st_uid, existing->st_gid))
		errno = 0; /* on failure the file belongs to this user, like a new file */
	if (existing)
		fchmod(fd, existing->st_mode & 0777);
	return fd;
}

/* Opens the draft, or the file itself. Returns a descriptor to write to, or -1 with errno set. */
static int open_target(struct outfile *f)
{
	struct stat st;
	f->final = follow_links(f->path);
	if (!f->final)
		return -1;
	int given = descriptor_of(f->final);
	if (given == STDOUT_FILENO)
		fflush(stdout);
	if (given >= 0)
		return fcntl(given, F_DUPFD_CLOEXEC, 3);
	bool exists = stat(f->final, &st) == 0;
	if (exists && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	if (exists && !S_ISREG(st.st_mode))
		return open(f->final, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (exists && access(f->final, W_OK))
		return -1;
	return open_draft(f, exists ? &st : NULL);
}

static void free_outfile(struct outfile *f)
{
	cleanup_forget(f->kept);
	mem_free(f->path);
	mem_free(f->final);
	mem_free(f->draft);
	*f = (struct outfile){ 0 };
}

int outfile_open_path(struct outfile *f, const char *path, struct orr_error *err)
{
	*f = (struct outfile){ .path = mem_strdup(path) };
	if (!*path)
		errno = ENOENT;
	int fd = *path ? open_target(f) : -1;
	f->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (f->file)
		return ORR_OK;
	int code = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", f->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && f->draft)
		unlink(f->draft);
	free_outfile(f);
	return code;
}

int outfile_open(struct outfile *f, const char *dir, const char *name, const char *suffix, struct orr_error *err)
{
	struct sbuf path = { 0 };
	size_t n = strlen(dir);
	sbuf_printf(&path, "%s%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name, suffix);
	int code = outfile_open_path(f, sbuf_text(&path), err);
	sbuf_free(&path);
	return code;
}

/* ---- closing ---- */

/*
 * Returns the errno of the failed write of a stream. stdio keeps only a flag, so one more byte is written to get the errno.
 * This is harmless because the draft is discarded.
 */
static int write_errno(const struct outfile *f)
{
	errno = 0;
	return f->draft && write(fileno(f->file), "", 1) < 0 && errno ? errno : EIO;
}

/* Waits until a draft is on the disk. File systems without fsync() are accepted. */
static int synchronise(const struct outfile *f)
{
	return f->draft && fsync(fileno(f->file)) && errno != EINVAL && errno != ENOTSUP ? errno : 0;
}

int outfile_close(struct outfile *f, bool has_failed, struct orr_error *err)
{
	errno = 0;
	bool was_bad = ferror(f->file) != 0;
	int failed = fflush(f->file) && !was_bad ? (errno ? errno : EIO) : 0;
	if (was_bad)
		failed = write_errno(f);
	if (!failed && !has_failed)
		failed = synchronise(f);
	if (fclose(f->file) && !failed)
		failed = errno ? errno : EIO;
	if (f->draft && !failed && !has_failed && rename(f->draft, f->final))
		failed = errno;
	int code = ORR_OK;
	if (f->draft && (failed || has_failed))
		unlink(f->draft);
	if (failed && !has_failed)
		code = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s%s", f->path, strerror(failed),
			f->draft ? " (an existing file is unchanged)" : "");
	free_outfile(f);
	return code;
}

int outfile_put(const char *path, const char *text, size_t n, struct orr_error *err)
{
	struct outfile f;
	int code = outfile_open_path(&f, path, err);
	if (code)
		return code;
	fwrite(text, 1, n, f.file);
	return outfile_close(&f, false, err);
}

/* ---- standard streams ---- */

int outfile_flush_stdout(struct orr_error *err)
{
	if (fflush(stdout) || ferror(stdout))
		return orr_fail(err, ORR_EFAIL, "standard output: cannot be written");
	return ORR_OK;
}

void outfile_reserve_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

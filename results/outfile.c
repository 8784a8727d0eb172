/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/outfile.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <errno.h>
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
		return orr_fail(err, ORR_EFAIL, "%s: cannot create this directory: %s: expected another --out", dir, strerror(failed));
	return ORR_OK;
}

int outfile_open(struct outfile *f, const char *dir, const char *name, const char *suffix, struct orr_error *err)
{
	struct sbuf path = { 0 }, draft = { 0 };
	size_t n = strlen(dir);
	sbuf_printf(&path, "%s%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name, suffix);
	sbuf_printf(&draft, "%s.%ld.tmp", sbuf_text(&path), (long)getpid());
	*f = (struct outfile){ .path = sbuf_steal(&path), .draft = sbuf_steal(&draft) };
	f->file = fopen(f->draft, "w");
	if (f->file)
		return ORR_OK;
	int code = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", f->path, strerror(errno));
	mem_free(f->path);
	mem_free(f->draft);
	return code;
}

int outfile_close(struct outfile *f, bool has_failed, struct orr_error *err)
{
	errno = 0;
	int failed = ferror(f->file) ? EIO : 0;
	if (fflush(f->file))
		failed = errno ? errno : EIO;
	if (fclose(f->file) && !failed)
		failed = errno ? errno : EIO;
	if (!failed && !has_failed && rename(f->draft, f->path))
		failed = errno;
	int code = ORR_OK;
	if (failed || has_failed)
		unlink(f->draft);
	if (failed && !has_failed)
		code = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s (an existing file is unchanged)", f->path, strerror(failed));
	mem_free(f->path);
	mem_free(f->draft);
	return code;
}

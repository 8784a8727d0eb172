/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery policy new: a policy that compiles and works, as a starting point */
#include "cli/policy_new.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int check_name(const char *name, struct orr_error *err)
{
	size_t n = strlen(name);
	bool good = n > 0 && n <= 60 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == n && name[0] >= 'a' && name[0] <= 'z';
	return good ? ORR_OK
		    : orr_fail(err, ORR_EINPUT, "policy new: expected a name of lower-case letters, digits, '-' and '_', found \"%.80s\"",
			      name);
}

/* Writes the text and closes the file. Returns 0 or the errno of the failure. */
static int fill(int fd, const struct sbuf *b)
{
	int failed = 0;
	for (size_t done = 0; done < b->len && !failed;) {
		ssize_t n = write(fd, b->text + done, b->len - done);
		if (n > 0)
			done += (size_t)n;
		else if (errno != EINTR)
			failed = n < 0 ? errno : EIO;
	}
	if (!failed && fsync(fd) && errno != EINVAL)
		failed = errno;
	if (close(fd) && !failed)
		failed = errno;
	return failed;
}

/* Creates a file from a template; a failure leaves no file. */
static int write_new(const char *path, const struct embedded_file *template, const char *name, mode_t mode, struct orr_error *err)
{
	struct sbuf b = { 0 };
	char *text = mem_strndup((const char *)template->text, template->n);
	for (const char *s = text; *s;) {
		if (!strncmp(s, "@NAME@", 6)) {
			sbuf_puts(&b, name);
			s += 6;
		} else if (!strncmp(s, "@IDENT@", 7)) {
			for (const char *c = name; *c; c++)
				sbuf_putc(&b, *c == '-' ? '_' : *c);
			s += 7;
		} else {
			sbuf_putc(&b, *s++);
		}
	}
	mem_free(text);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
	int rc = ORR_OK;
	if (fd < 0)
		rc = orr_fail(err, ORR_EINPUT, "%s: %s", path,
			errno == EEXIST ? "this file exists already: expected another name" : strerror(errno));
	else if ((rc = fill(fd, &b)) != 0)
		rc = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", path, strerror(rc));
	if (fd >= 0 && rc)
		unlink(path);
	sbuf_free(&b);
	return rc;
}

/* Returns the world's templates: two files each, the source and its test. */
static const struct embedded_file *template_of(const struct world *w, bool is_reacting, struct orr_error *err)
{
	const struct embedded_file *t = w->template;
	if (!is_reacting)
		return t;
	for (; t->name; t += 2)
		if (!strncmp(t->name, "template_reacting", 17))
			return t;
	orr_fail(err, ORR_EINPUT, "--reacting: expected --kind step, found --kind %s, whose policies always react to events", w->name);
	return NULL;
}

int policy_new(const char *name, const struct world *w, bool is_reacting, struct orr_error *err)
{
	char source[80], test[80];
	int rc = check_name(name, err);
	const struct embedded_file *template = rc ? NULL : template_of(w, is_reacting, err);
	if (!template)
		return err->code;
	snprintf(source, sizeof source, "%s.c", name);
	snprintf(test, sizeof test, "%s_test.sh", name);
	rc = write_new(source, &template[0], name, 0644, err);
	if (!rc) {
		if ((rc = write_new(test, &template[1], name, 0755, err)) != 0)
			unlink(source);
	}
	if (!rc)
		printf("wrote %s and %s; next:\n"
		       "  cc -shared -fPIC $(pkg-config --cflags orrery) -o %s.so %s\n"
		       "  orrery %s,./%s.so\n",
			source, test, name, source, w->example, name);
	return rc;
}

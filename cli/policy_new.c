/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery policy new: a policy that compiles and works, as a starting point */
#include "cli/policy_new.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "world/registry.h"

#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Skips a mark of a template. */
static bool is_at(const char **s, const char *mark)
{
	size_t n = strlen(mark);
	bool is = !strncmp(*s, mark, n);
	*s += is ? n : 0;
	return is;
}

/* Creates a file from a template; a failure leaves no file. */
static int write_new(
	const char *path, const struct embedded_file *template, const char *name, bool is_python, mode_t mode, struct orr_error *err)
{
	struct sbuf b = { 0 };
	char label[64];
	registry_display_name(name, label, sizeof label);
	char *text = mem_strndup((const char *)template->text, template->n);
	for (const char *s = text; *s;) {
		if (is_at(&s, "@NAME@")) {
			sbuf_puts(&b, name);
		} else if (is_at(&s, "@LABEL@")) {
			sbuf_puts(&b, label);
		} else if (is_at(&s, "@SUFFIX@")) {
			sbuf_puts(&b, is_python ? "py" : "so");
		} else if (is_at(&s, "@BUILD@")) {
			if (!is_python)
				sbuf_printf(&b,
					"${CC:-cc} -std=c11 -Wall -Wextra -O2 -shared -fPIC ${ORRERY_CFLAGS-$(\"$orrery\" policy cflags)} "
					"\\\n"
					"  -o %s.so %s.c\n",
					name, name);
		} else if (is_at(&s, "@IDENT@")) {
			for (const char *c = name; *c; c++)
				sbuf_putc(&b, *c == '-' ? '_' : *c);
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
	for (; t->name; t++)
		if (!strncmp(t->name, "template_reacting", 17))
			return t;
	orr_fail(err, ORR_EINPUT, "--reacting: expected --kind step, found --kind %s, whose policies always react to events", w->name);
	return NULL;
}

/* Refuses the name of a built-in policy: NAME would select the built-in policy, and only ./NAME.so the new one. */
static int check_unused(const char *name, struct orr_error *err)
{
	char known[128], as_shown[128];
	registry_display_name(name, as_shown, sizeof as_shown);
	for (const struct world *const *w = worlds; *w; w++)
		for (size_t i = 0; (*w)->policies && (*w)->policies[i]; i++) {
			registry_display_name((*w)->policies[i]->name, known, sizeof known);
			if (!strcmp(known, as_shown))
				return orr_fail(err, ORR_EINPUT,
					"policy new: \"%s\" is a built-in policy of orrery %s: expected another name, such as my-%s",
					as_shown, (*w)->name, as_shown);
		}
	return ORR_OK;
}

void policy_put_cflags(struct sbuf *out)
{
	char self[4000] = "", folder[4096], whole[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	snprintf(folder, sizeof folder, "%s/../include", self);
	const char *const folders[] = { slash ? folder : ".", ORR_SRCDIR "/include", ORR_INCLUDEDIR };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		char header[4200];
		snprintf(header, sizeof header, "%s/orrery/policy.h", folders[i]);
		if (!access(header, R_OK) || i + 1 == sizeof folders / sizeof *folders) {
			sbuf_printf(out, "-I%s", realpath(folders[i], whole) ? whole : folders[i]);
			return;
		}
	}
}

/* joint: the text between the example command and the file of the policy. */
static int write_both(const char *name, const struct embedded_file *source_template, const struct embedded_file *test_template,
	bool is_python, const char *example, const char *joint, struct orr_error *err)
{
	char source[80], test[80];
	snprintf(source, sizeof source, "%s.%s", name, is_python ? "py" : "c");
	snprintf(test, sizeof test, "%s_test.sh", name);
	int rc = write_new(source, source_template, name, is_python, 0644, err);
	if (!rc) {
		if ((rc = write_new(test, test_template, name, is_python, 0755, err)) != 0)
			unlink(source);
	}
	if (rc)
		return rc;
	printf("wrote %s and %s; next:\n", source, test);
	struct sbuf flags = { 0 };
	policy_put_cflags(&flags);
	if (!is_python)
		printf("  cc -shared -fPIC %s -o %s.so %s\n", sbuf_text(&flags), name, source);
	sbuf_free(&flags);
	printf("  orrery %s%s./%s.%s\n", example, joint, name, is_python ? "py" : "so");
	return ORR_OK;
}

static const struct embedded_file *template_in_python(const struct world *w, struct orr_error *err)
{
	for (const struct embedded_file *t = w->template; t->name; t++)
		if (!strcmp(t->name, "template.py.in"))
			return t;
	orr_fail(err, ORR_EINPUT, "--lang: there is no template in Python of kind %s: expected --lang c", w->name);
	return NULL;
}

int policy_new(const char *name, const struct world *w, bool is_reacting, bool is_python, struct orr_error *err)
{
	int rc = check_name(name, err);
	if (!rc)
		rc = check_unused(name, err);
	if (!rc && is_reacting && is_python)
		rc = orr_fail(err, ORR_EINPUT, "--reacting: expected --lang c: the template in Python does not react");
	const struct embedded_file *template = rc ? NULL : template_of(w, is_reacting, err);
	const struct embedded_file *source = template && is_python ? template_in_python(w, err) : template;
	return source ? write_both(name, source, &template[1], is_python, w -> example, ",", err) : err->code;
}

int policy_new_router(const char *name, const struct world_table *t, struct orr_error *err)
{
	struct registry_entry e;
	struct orr_error none = { 0 };
	int rc = check_name(name, err);
	if (!rc && !registry_find_in(name, t, &e, &none))
		rc = orr_fail(
			err, ORR_EINPUT, "policy new: \"%s\" is a built-in router: expected another name, such as my-%s", e.name, e.name);
	return rc ? rc : write_both(name, &t->template[0], &t -> template[1], false, t -> example, " ", err);
}

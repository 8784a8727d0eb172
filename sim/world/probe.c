/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* pipe2() */
#include "world/probe.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "world/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_S = 60, MOST_BYTES = 1 << 24 };

/* ---- a policy as bytes: the error, then the policy ---- */

static void put_text(struct sbuf *out, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;
	sbuf_add(out, (const char *)&n, sizeof n);
	sbuf_add(out, text ? text : "", n);
}

static void put_policy(struct sbuf *out, const struct orr_policy *p)
{
	size_t n = 0;
	while (p->params && p->params[n].name)
		n++;
	sbuf_add(out, (const char *)p, sizeof *p);
	put_text(out, p->name);
	put_text(out, p->doc);
	put_text(out, p->kind);
	sbuf_add(out, (const char *)&n, sizeof n);
	for (size_t i = 0; i < n; i++) {
		const struct orr_param *x = &p->params[i];
		sbuf_add(out, (const char *)x, sizeof *x);
		put_text(out, x->name);
		put_text(out, x->def);
		put_text(out, x->choices);
		put_text(out, x->doc);
	}
}

struct reader {
	const char *at, *end;
	bool is_bad;
};

static void get(struct reader *x, void *out, size_t n)
{
	memset(out, 0, n);
	x->is_bad |= n > (size_t)(x->end - x->at);
	if (x->is_bad)
		return;
	memcpy(out, x->at, n);
	x->at += n;
}

static char *get_text(struct reader *x)
{
	size_t n;
	get(x, &n, sizeof n);
	x->is_bad |= n > (size_t)(x->end - x->at);
	if (x->is_bad || !n)
		return NULL;
	x->at += n;
	return mem_strndup(x->at - n, n - 1);
}

/* Returns the policy; NULL: the bytes are damaged. */
static const struct orr_policy *get_policy(struct reader *x)
{
	struct orr_policy *p = mem_zalloc(1, sizeof *p);
	size_t n;
	get(x, p, sizeof *p);
	p->ops = NULL;
	p->name = get_text(x);
	p->doc = get_text(x);
	p->kind = get_text(x);
	get(x, &n, sizeof n);
	if (x->is_bad || !p->name || n > MOST_BYTES / sizeof(struct orr_param))
		return NULL;
	struct orr_param *params = mem_zalloc(n + 1, sizeof *params);
	for (size_t i = 0; i < n && !x->is_bad; i++) {
		get(x, &params[i], sizeof *params);
		params[i].name = get_text(x);
		params[i].def = get_text(x);
		params[i].choices = get_text(x);
		params[i].doc = get_text(x);
		x->is_bad |= !params[i].name;
	}
	p->params = params;
	return x->is_bad ? NULL : p;
}

/* ---- the child ---- */

static void write_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t k = write(fd, bytes, n);
		if (k <= 0)
			return;
		bytes += k;
		n -= (size_t)k;
	}
}

static void report(const char *path, probe_load load, int fd)
{
	const struct orr_policy *p = NULL;
	struct orr_error err = { 0 };
	struct sbuf out = { 0 };
	child_begin(fd);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	load(path, &p, &err);
	sbuf_add(&out, (const char *)&err, sizeof err);
	if (!err.code)
		put_policy(&out, p);
	write_all(CHILD_FD, out.text, out.len);
	_exit(0);
}

/* Appends what the child writes. Returns false if it has not ended in time. */
static bool read_report(int fd, struct sbuf *out)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (time_t end = now.tv_sec + MOST_S; now.tv_sec < end && out->len < MOST_BYTES; clock_gettime(CLOCK_MONOTONIC, &now)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char part[4096];
		if (poll(&p, 1, 1000) <= 0)
			continue;
		ssize_t n = read(fd, part, sizeof part);
		if (n <= 0)
			return true;
		sbuf_add(out, part, (size_t)n);
	}
	return false;
}

static int run_child(const char *path, probe_load load, struct sbuf *out, struct orr_error *err)
{
	int fd[2], status = 0;
	if (pipe2(fd, O_CLOEXEC))
		return orr_fail(err, ORR_EFAIL, "%s: cannot make a pipe to load it: %s", path, strerror(errno));
	fflush(stdout);
	pid_t pid = fork();
	if (!pid)
		report(path, load, fd[1]);
	close(fd[1]);
	bool is_done = pid > 0 && read_report(fd[0], out);
	close(fd[0]);
	if (pid < 0)
		return orr_fail(err, ORR_EFAIL, "%s: cannot start a process to load it: %s", path, strerror(errno));
	if (!is_done)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!is_done)
		return orr_fail(err, ORR_EINPUT, "%s: its constructors have not returned for %d s: expected constructors that return", path,
			MOST_S);
	if (out->len < sizeof(struct orr_error)) {
		char how[100];
		child_end_text(status, how, sizeof how);
		return orr_fail(err, ORR_EINPUT, "%s: while it was loaded, the process %s: expected constructors that return", path, how);
	}
	return ORR_OK;
}

static int probe(const char *path, probe_load load, const struct orr_policy **out, struct orr_error *err)
{
	struct sbuf bytes = { 0 };
	int rc = run_child(path, load, &bytes, err);
	if (!rc) {
		struct reader x = { .at = bytes.text, .end = bytes.text + bytes.len };
		struct orr_error said;
		get(&x, &said, sizeof said);
		said.text[sizeof said.text - 1] = '\0';
		*out = said.code ? NULL : get_policy(&x);
		if (said.code)
			rc = orr_fail(err, said.code, "%s", said.text);
		else if (!*out)
			rc = orr_fail(err, ORR_EINPUT,
				"%s: the declaration of its policy is damaged: expected the macro of the world's header", path);
	}
	sbuf_free(&bytes);
	return rc;
}

/* ---- each plugin once ---- */

struct probed {
	char *path, hash[65];
	const struct orr_policy *policy;
	struct probed *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct probed *all;

int probe_plugin(const char *path, const char *hash, probe_load load, const struct orr_policy **out, struct orr_error *err)
{
	int rc = ORR_OK;
	*out = NULL;
	pthread_mutex_lock(&lock);
	for (struct probed *x = all; x && !*out; x = x->next)
		if (!strcmp(x->path, path) && !strcmp(x->hash, hash))
			*out = x->policy;
	if (!*out && !(rc = probe(path, load, out, err))) {
		struct probed *x = mem_zalloc(1, sizeof *x);
		x->path = mem_strdup(path);
		snprintf(x->hash, sizeof x->hash, "%s", hash);
		x->policy = *out;
		x->next = all;
		all = x;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The helper process, and the functions that request runs from it. */
#define _GNU_SOURCE /* memfd_create(), pipe2(), ppoll() */
#include "world/isolate.h"

#include "base/mem.h"
#include "results/pack.h"
#include "world/child.h"
#include "world/isolated.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Message of the helper about a child that has ended. */
struct ending {
	int status; /* of waitpid() */
	bool is_late, is_unborn;
	double cpu_s;
};

/* ---- the helper ---- */

struct child {
	pid_t pid;
	int done; /* pipe that reports the end */
	struct isolated_page *page;
	double timeout_s;
	struct timespec since[WATCH_PLACES]; /* time since which the current call of the policy is the same */
	double waited_s[WATCH_PLACES];       /* waited_s() at that time */
	struct ending ending;
	uint64_t seen[WATCH_PLACES];
	bool is_interrupted;
	struct child *next;
};
static struct child *children;

/* Receives a task with its two files. Returns false if the asking process has ended. */
static bool receive(int from, struct isolated_task *t, int file[2])
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { t, sizeof *t };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
	ssize_t n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n == (ssize_t)sizeof *t ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return false;
	memcpy(file, CMSG_DATA(c), 2 * sizeof *file);
	return true;
}

static void tell(struct child *c)
{
	ssize_t n = write(c->done, &c->ending, sizeof c->ending);
	(void)n; /* failures are ignored: the asking thread then sees the end of the pipe */
	close(c->done);
	munmap(c->page, sizeof *c->page);
	mem_free(c);
}

static void start_child(const struct isolated_task *t, const int file[2])
{
	struct child *c = mem_zalloc(1, sizeof *c);
	c->done = file[1];
	c->timeout_s = t->scenario->policy_timeout_s;
	c->page = mmap(NULL, sizeof *c->page, PROT_READ | PROT_WRITE, MAP_SHARED, file[0], 0);
	for (size_t i = 0; i < WATCH_PLACES; i++)
		clock_gettime(CLOCK_MONOTONIC, &c->since[i]);
	c->pid = c->page == MAP_FAILED ? -1 : fork();
	if (!c->pid)
		isolated_main(t, file[0]);
	close(file[0]);
	if (c->pid < 0) {
		c->ending.is_unborn = true;
		tell(c);
		return;
	}
	c->next = children;
	children = c;
}

/* Reports children that have ended. Kills children that are stopped. */
static void reap(void)
{
	int status;
	struct rusage use;
	pid_t pid;
	while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED, &use)) > 0) {
		struct child **at = &children;
		while (*at && (*at)->pid != pid)
			at = &(*at)->next;
		struct child *c = *at;
		if (!c)
			continue;
		if (!c->ending.status)
			c->ending.status = status;
		if (WIFSTOPPED(status)) {
			kill(pid, SIGKILL);
			continue;
		}
		c->ending.cpu_s =
			(double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
		*at = c->next;
		tell(c);
	}
}

/* Returns the time during which the process was ready to run but had no processor, in its first thread; 0 if the system does not state it.
 */
static double waited_s(pid_t pid)
{
	char path[40], text[100];
	unsigned long long ran_ns, waited_ns;
	snprintf(path, sizeof path, "/proc/%ld/schedstat", (long)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%llu %llu", &ran_ns, &waited_ns) == 2 ? (double)waited_ns / 1e9 : 0;
}

/* Returns whether the policy at that place has not returned from a call for too long. Time without a processor does not count. */
static bool is_late(struct child *c, size_t place, const struct timespec *now, double waited)
{
	struct watch_view v;
	struct timespec *since = &c->since[place];
	if (!watch_read(c->page->watch, place, &v) || !v.is_within || v.is_paused || v.count != c->seen[place]) {
		c->seen[place] = v.count;
		c->waited_s[place] = waited;
		*since = *now;
		return false;
	}
	double passed = (double)(now->tv_sec - since->tv_sec) + (double)(now->tv_nsec - since->tv_nsec) / 1e9;
	return passed - (waited - c->waited_s[place]) >= c->timeout_s;
}

/* Kills children in which a call of the policy exceeds the time limit. */
static void kill_late(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (struct child *c = children; c; c = c->next) {
		double waited = waited_s(c->pid);
		for (size_t i = 0; i < WATCH_PLACES; i++)
			if (is_late(c, i, &now, waited) && !c->ending.is_late) {
				c->ending.is_late = true;
				kill(c->pid, SIGKILL);
			}
	}
}

/* Interrupts the children whose run is to end. */
static void interrupt_stopping(void)
{
	for (struct child *c = children; c; c = c->next)
		if (atomic_load(&c->page->is_stopping) && !c->is_interrupted) {
			c->is_interrupted = true;
			kill(c->pid, SIGINT);
		}
}

static void on_child(int number)
{
	(void)number; /* nothing to do: the signal interrupts ppoll() */
}

static _Noreturn void help(int from)
{
	struct sigaction a = { .sa_handler = on_child };
	struct pollfd p = { .fd = CHILD_FD, .events = POLLIN };
	sigset_t blocked, waiting;
	child_begin(from);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &waiting);
	sigaction(SIGCHLD, &a, NULL);
	for (;;) {
		static const struct timespec look = { 0, 200000000 };
		struct isolated_task t;
		int file[2];
		p.revents = 0;
		ppoll(&p, 1, children ? &look : NULL, &waiting);
		reap();
		kill_late();
		interrupt_stopping();
		if (!p.revents)
			continue;
		if (!receive(CHILD_FD, &t, file))
			_exit(0);
		start_child(&t, file);
	}
}

/* ---- the requesting process ---- */

static int to_helper = -1;
static pid_t helper;

bool isolate_has(const struct scenario_policy *p)
{
	return registry_is_described(&p->entry) || p->is_isolated;
}

int isolate_start(struct orr_error *err)
{
	int end[2];
	if (to_helper >= 0)
		return ORR_OK;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end))
		return orr_fail(err, ORR_EFAIL, "cannot start the process for plugins: %s", strerror(errno));
	fflush(NULL); /* otherwise a child that calls exit() would write the buffered text again */
	helper = fork();
	if (!helper)
		help(end[1]);
	close(end[1]);
	to_helper = end[0];
	if (helper > 0)
		return ORR_OK;
	int why = errno;
	close(to_helper);
	to_helper = -1;
	return orr_fail(err, ORR_EFAIL, "cannot start the process for plugins: %s", strerror(why));
}

void isolate_stop(void)
{
	if (to_helper < 0)
		return;
	close(to_helper);
	to_helper = -1;
	while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
		;
}

static bool ask(const struct isolated_task *t, const int file[2])
{
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct isolated_task copy = *t;
	struct iovec part = { &copy, sizeof copy };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof *file);
	memcpy(CMSG_DATA(c), file, 2 * sizeof *file);
	return sendmsg(to_helper, &m, MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}

/* Waits for the end of the run. Returns false if the helper has ended. */
static bool await(
	int done, struct isolated_page *page, const struct world_interrupt *stop, world_progress progress, void *ctx, struct ending *out)
{
	for (;;) {
		struct pollfd p = { .fd = done, .events = POLLIN };
		int rc = poll(&p, 1, progress || stop ? 100 : -1);
		if (stop && stop->is_interrupted())
			atomic_store(&page->is_stopping, true);
		if (rc < 0 && errno != EINTR)
			return false;
		if (rc > 0)
			return read(done, out, sizeof *out) == (ssize_t)sizeof *out;
		double share = atomic_load_explicit(&page->done, memory_order_relaxed);
		if (progress && share >= 0 && share <= 1)
			progress(ctx, share);
	}
}

/* Finds the call that runs, or the last one. */
static void find_call(const struct isolated_page *page, struct watch_view *out)
{
	struct watch_view v;
	watch_read(page->watch, 0, out);
	for (size_t i = 1; i < WATCH_PLACES; i++)
		if (watch_read(page->watch, i, &v) && !out->is_within && (v.is_within || v.now_ns > out->now_ns))
			*out = v;
}

/* Fills in the error of a process that ended without results. */
static int explain(
	const struct scenario_policy *p, double timeout_s, const struct isolated_page *page, const struct ending *e, struct orr_error *err)
{
	struct watch_view v;
	char where[200], call[80], how[100];
	find_call(page, &v);
	watch_where(where, sizeof where, p->label, &v);
	if (!*v.what)
		snprintf(where, sizeof where, "policy %.100s: ", p->label);
	snprintf(call, sizeof call, "%s%s%s",
		!*v.what      ? "before the first call of the policy"
		: v.is_within ? "in "
			      : "after ",
		v.what, *v.what ? "()" : "");
	if (e->is_late)
		return orr_fail(err, ORR_EFAIL,
			"%s%s() has not returned for %g s: expected a policy that returns, or a larger --policy-timeout", where, v.what,
			timeout_s);
	if (v.is_skipped)
		return orr_fail(
			err, ORR_EFAIL, "%s%s() was left without a return: expected no longjmp() or exception out of it", where, v.what);
	child_end_text(e->status, how, sizeof how);
	return orr_fail(err, ORR_EFAIL,
		"%s%s, the process of the policy %s%s: expected a policy that returns (--in-process, for a debugger)", where, call, how,
		page->is_overflow ? ", because its stack overflowed" : "");
}

static int read_results(
	struct scenario *s, size_t i, int memory, const struct isolated_page *page, struct run_result *r, struct orr_error *err)
{
	struct stat st;
	const uint64_t part[] = { page->result_bytes, page->text_bytes, page->state_bytes };
	uint64_t n = ISOLATED_BEGIN, size = fstat(memory, &st) ? 0 : (uint64_t)st.st_size;
	for (int k = 0; k < 3; k++) {
		if (n > size || part[k] > size - n)
			return orr_fail(err, ORR_EFAIL, "the results of the run are damaged");
		n += part[k];
	}
	const char *bytes = mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE | MAP_POPULATE, memory, 0);
	if (bytes == MAP_FAILED)
		return orr_fail(err, ORR_EFAIL, "the results of the run cannot be read: %s", strerror(errno));
	const char *results = bytes + ISOLATED_BEGIN, *texts = results + part[0], *state = texts + part[1];
	int rc = s->world->take(s, i, state, (size_t)part[2]) ? result_unpack(r, results, (size_t)part[0], texts, (size_t)part[1], err)
							      : orr_fail(err, ORR_EFAIL, "the results of the run are damaged");
	munmap((void *)(uintptr_t)bytes, (size_t)n);
	return rc;
}

/* Takes the result of a call, of which r is NULL, or of a run. */
static int conclude(const struct isolated_task *t, int memory, const struct isolated_page *page, const struct ending *e,
	struct run_result *r, void *out, struct orr_error *err)
{
	struct scenario *s = t->scenario;
	const struct scenario_policy *p = &s->policy[t->policy];
	int outcome = atomic_load(&page->outcome);
	struct orr_error why = { 0 };
	if (outcome == ISOLATED_RESULT && !r && pread(memory, out, t->n_out, ISOLATED_BEGIN) == (ssize_t)t->n_out)
		return ORR_OK;
	if (outcome == ISOLATED_RESULT && r && !read_results(s, t->policy, memory, page, r, &why))
		return ORR_OK;
	if (outcome == ISOLATED_RESULT)
		return orr_fail(err, ORR_EFAIL, "policy %.100s: %s", p->label, r ? why.text : "the results of its runs are damaged");
	if (outcome != ISOLATED_ERROR)
		return explain(p, s->policy_timeout_s, page, e, err);
	why = page->error;
	why.text[sizeof why.text - 1] = '\0';
	return orr_fail(err, why.code ? why.code : ORR_EFAIL, "%s", why.text);
}

/* Does the task in a child. out: see conclude(). */
static int do_task(const struct isolated_task *t, struct run_result *r, void *out, world_progress progress, void *ctx, double *cpu_s,
	struct orr_error *err)
{
	const struct world_interrupt *stop = t->scenario->world->interrupt;
	struct ending e = { .is_unborn = true };
	int memory = memfd_create("orrery-run", MFD_CLOEXEC), done[2] = { -1, -1 };
	struct isolated_page *page = memory < 0 || ftruncate(memory, ISOLATED_BEGIN) || pipe2(done, O_CLOEXEC)
					     ? MAP_FAILED
					     : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (stop)
		stop->begin();
	bool is_asked = page != MAP_FAILED && ask(t, (const int[]){ memory, done[1] });
	close(done[1]);
	bool is_told = is_asked && await(done[0], page, stop, progress, ctx, &e);
	if (stop)
		stop->end();
	int rc = is_told && !e.is_unborn
			 ? conclude(t, memory, page, &e, r, out, err)
			 : orr_fail(err, ORR_EFAIL, "policy %.100s: %s: expected memory and processes for it (ulimit -v, -u)",
				   t->scenario->policy[t->policy].label,
				   is_asked && !is_told ? "the process that starts its runs has ended" : "its process cannot be started");
	*cpu_s = e.cpu_s;
	if (page != MAP_FAILED)
		munmap(page, sizeof *page);
	close(done[0]);
	close(memory);
	return rc;
}

int isolate_run(struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, double *cpu_s,
	struct orr_error *err)
{
	struct isolated_task t = { .scenario = s, .policy = i, .replication = k };
	return do_task(&t, r, NULL, progress, ctx, cpu_s, err);
}

int isolate_call(
	struct scenario *s, size_t i, isolate_work work, const void *in, size_t n_in, void *out, size_t n_out, struct orr_error *err)
{
	struct isolated_task t = { .scenario = s, .policy = i, .work = work, .n_out = n_out };
	double cpu_s;
	memset(out, 0, n_out);
	if (!isolate_has(&s->policy[i]))
		return work(s, i, in, out, err);
	memcpy(t.in, in, n_in);
	return do_task(&t, NULL, out, NULL, NULL, &cpu_s, err);
}

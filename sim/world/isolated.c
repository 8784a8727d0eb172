/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The child process: one run of a plugin. */
#define _GNU_SOURCE /* pipe2(), pthread_getattr_np() */
#include "world/isolated.h"

#include "base/limits.h"
#include "base/mem.h"
#include "results/pack.h"
#include "world/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct isolated_page *page;

/* ---- the state that a policy must not change ---- */

struct before {
	char locale[256];
	int rounding;
	int output; /* read end of the pipe that replaces standard output */
	ino_t memory;
	int64_t held; /* blocks of orr_alloc() */
	int64_t in_use;
};

/* Replaces standard output by a pipe that does not block, so that a policy cannot write into the output of orrery. */
static void watch_output(struct before *b)
{
	int fd[2];
	b->output = -1;
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK))
		return;
	dup2(fd[1], STDOUT_FILENO);
	close(fd[1]);
	b->output = fd[0];
}

static ino_t file_of_results(void)
{
	struct stat st;
	return fstat(CHILD_FD, &st) ? 0 : st.st_ino;
}

static void remember(struct before *b)
{
	snprintf(b->locale, sizeof b->locale, "%s", setlocale(LC_ALL, NULL));
	b->rounding = fegetround();
	b->memory = file_of_results();
	b->held = mem_held_by_policies();
	b->in_use = mem_in_use();
	watch_output(b);
}

static int refuse_output(const struct before *b, const char *label, struct orr_error *err)
{
	char text[41];
	int waiting = 0;
	fflush(stdout);
	if (b->output < 0 || ioctl(b->output, FIONREAD, &waiting) || waiting <= 0)
		return ORR_OK;
	ssize_t n = read(b->output, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	return orr_fail(err, ORR_EFAIL,
		"policy %.100s: wrote to standard output (\"%s\"), which is for results: expected messages on standard error", label, text);
}

static bool is_running(const char *thread)
{
	char path[64], text[256] = "";
	snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	size_t n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	const char *end = strrchr(text, ')'); /* the name before it may have any bytes */
	return end && !strncmp(end, ") R", 3);
}

static bool has_running_thread(void)
{
	DIR *d = opendir("/proc/self/task");
	bool has = false;
	for (const struct dirent *e; d && !has && (e = readdir(d));)
		has = e->d_name[0] != '.' && strtol(e->d_name, NULL, 10) != getpid() && is_running(e->d_name);
	if (d)
		closedir(d);
	return has;
}

/* Returns whether a thread of the policy keeps running. A thread that waits does no harm (a library's pool of threads), nor does one
 * that ends soon. */
static bool left_thread(void)
{
	enum { TRIES = 100 };
	const struct timespec pause = { .tv_nsec = 1000000 };
	for (int i = 0; i < TRIES; i++) {
		if (!has_running_thread())
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Returns the memory in MiB that a policy has left, apart from the results, with their room to grow; 0 if it may be that of a library. */
static int64_t left_memory(const struct before *b, const struct run_result *r)
{
	enum { MIB = 1 << 20, FEW = 64 };
	int64_t left = (mem_in_use() - b->in_use - 2 * (int64_t)result_pack_size(r)) / MIB;
	return left > FEW ? left : 0;
}

/* Returns an error for what a policy has left behind. */
static int refuse_rest(const struct before *b, const char *label, const struct run_result *r, struct orr_error *err)
{
	int64_t held = mem_held_by_policies() - b->held;
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		return orr_fail(err, ORR_EFAIL,
			"policy %.100s: left a process that it had started with fork(): expected waitpid() before destroy() returns",
			label);
	if (left_thread())
		return orr_fail(
			err, ORR_EFAIL, "policy %.100s: left a thread running: expected pthread_join() before destroy() returns", label);
	if (held > 0)
		return orr_fail(err, ORR_EFAIL,
			"policy %.100s: left %lld blocks of orr_alloc(), or queues of orr_queue_new(): expected destroy() to free them",
			label, (long long)held);
	int64_t memory = left_memory(b, r);
	if (memory)
		return orr_fail(err, ORR_EFAIL, "policy %.100s: left %lld MiB of malloc(): expected destroy() to free all memory", label,
			(long long)memory);
	return ORR_OK;
}

/* Returns an error if the policy has changed global state of the process. */
static int refuse_changes(const struct before *b, const char *label, struct orr_error *err)
{
	if (file_of_results() != b->memory || fcntl(STDOUT_FILENO, F_GETFD) < 0 || fcntl(STDERR_FILENO, F_GETFD) < 0)
		return orr_fail(err, ORR_EFAIL,
			"policy %.100s: closed files that it had not opened: expected close() only for its own files", label);
	if (strcmp(setlocale(LC_ALL, NULL), b->locale) != 0)
		return orr_fail(err, ORR_EFAIL, "policy %.100s: changed the locale to %.60s: expected no call of setlocale()", label,
			setlocale(LC_ALL, NULL));
	if (fegetround() != b->rounding)
		return orr_fail(err, ORR_EFAIL,
			"policy %.100s: changed the floating-point rounding mode: expected the original mode to be restored before a call "
			"returns",
			label);
	return refuse_output(b, label, err);
}

/* ---- stack overflow ---- */

static char *stack_low;

static void on_fault(int number, siginfo_t *info, void *context)
{
	enum { BELOW = 1 << 20, ABOVE = 1 << 16 };
	(void)context;
	uintptr_t at = (uintptr_t)info->si_addr, low = (uintptr_t)stack_low;
	page->is_overflow = at + BELOW >= low && at < low + ABOVE;
	signal(number, SIG_DFL); /* the instruction faults again */
}

static void watch_stack(void)
{
	static char own[16384];
	stack_t other = { .ss_sp = own, .ss_size = sizeof own };
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	pthread_attr_t attr;
	void *low = NULL;
	size_t size;
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	stack_low = low;
	if (!sigaltstack(&other, NULL))
		sigaction(SIGSEGV, &a, NULL);
}

/* ---- the run ---- */

static void report(void *ctx, double done)
{
	(void)ctx;
	atomic_store_explicit(&page->done, done, memory_order_relaxed);
}

/* Returns whether all bytes are written. */
static bool put(const struct sbuf *b, uint64_t at)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = pwrite(CHILD_FD, b->text + done, b->len - done, (off_t)(at + done));
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* Writes the results of r in place, and appends their texts to *texts. Returns whether there was room. */
static bool put_results(const struct run_result *r, size_t n, struct sbuf *texts)
{
	char *memory = ftruncate(CHILD_FD, (off_t)(ISOLATED_BEGIN + n))
			       ? MAP_FAILED
			       : mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, CHILD_FD, ISOLATED_BEGIN);
	if (memory == MAP_FAILED)
		return false;
	result_pack(memory, texts, r);
	return true;
}

static int hand_over(const struct isolated_task *t, const struct run_result *r, struct orr_error *err)
{
	struct sbuf texts = { 0 };
	size_t n = result_pack_size(r);
	bool is_done = put_results(r, n, &texts);
	page->result_bytes = n;
	page->text_bytes = texts.len;
	t->scenario->world->give(t->scenario, t->policy, &texts);
	page->state_bytes = texts.len - page->text_bytes;
	if (is_done && put(&texts, ISOLATED_BEGIN + n))
		return ORR_OK;
	return orr_fail(err, ORR_EFAIL, "policy %.100s: its results cannot be written to shared memory: %s", r->label, strerror(errno));
}

static int run(const struct isolated_task *t, struct orr_error *err)
{
	struct scenario *s = t->scenario;
	struct scenario_policy *p = &s->policy[t->policy];
	struct run_result *r = result_new();
	struct before before = { .output = -1 };
	char name[120];
	r->label = mem_strdup(p->label);
	r->policy = mem_strdup(p->spec);
	r->world = mem_strdup(s->world->name);
	snprintf(name, sizeof name, "policy %.100s", p->label);
	limits_begin_input(name);
	remember(&before);
	watch_stack();
	int rc = s->world->load ? s->world->load(s, t->policy, err) : registry_find(p->spec, s->world, &p->entry, err);
	void *out = t->work ? mem_zalloc(t->n_out + 1, 1) : NULL;
	if (!rc)
		rc = t->work ? t->work(s, t->policy, t->in, out, err) : s->world->run(s, t->policy, t->replication, r, report, NULL, err);
	if (!rc)
		rc = refuse_changes(&before, p->label, err);
	if (!rc)
		rc = refuse_rest(&before, p->label, r, err);
	if (rc || !t->work)
		return rc ? rc : hand_over(t, r, err);
	return pwrite(CHILD_FD, out, t->n_out, ISOLATED_BEGIN) == (ssize_t)t->n_out
		       ? ORR_OK
		       : orr_fail(err, ORR_EFAIL, "policy %.100s: its results cannot be handed over: %s", p->label, strerror(errno));
}

_Noreturn void isolated_main(const struct isolated_task *t, int memory)
{
	struct orr_error err = { 0 };
	child_begin(memory);
	if (t->scenario->world->interrupt) { /* the asking process forwards Ctrl-C of the terminal, once */
		setpgid(0, 0);
		signal(SIGINT, SIG_DFL);
	}
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, CHILD_FD, 0);
	if (page == MAP_FAILED)
		_exit(1);
	/* If the policy forks, the copy ends at its next call, because only one process may return results. */
	madvise(page, sizeof *page, MADV_DONTFORK);
	watch_place(page->watch);
	if (run(t, &err))
		page->error = err;
	atomic_store(&page->outcome, err.code ? ISOLATED_ERROR : ISOLATED_RESULT);
	_exit(0);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that are written whole or not at all (base/outfile.h), what a signal leaves behind (base/cleanup.h), and other programs
 * (base/program.h). Expected values follow from the headers, and from the messages of strerror().
 */
#include "base/cleanup.h"
#include "base/outfile.h"
#include "base/program.h"
#include "tests/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct orr_error err;

/* Returns the content of a file, "(none)" if it cannot be read. */
static const char *content(const char *path)
{
	static char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return "(none)";
	text[n] = '\0';
	return text;
}

/* Returns the number of entries of a folder. */
static int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2; /* without . and .. */
}

static int put(const char *path, const char *text)
{
	err = (struct orr_error){ 0 };
	return outfile_put(path, text, strlen(text), &err);
}

static mode_t mode_of(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : st.st_mode & 07777;
}

/* Runs fn in a child process, whose standard error goes to the file "said". Returns the status of waitpid(). */
static int in_child(void (*fn)(void))
{
	int status = -1;
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		int fd = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0666);
		dup2(fd, STDERR_FILENO);
		close(fd);
		fn();
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* ---- folders ---- */

static void test_folders(void)
{
	ok(!outfile_make_dir("a/b/c", &err) && mode_of("a/b/c"), "a folder with its parents");
	ok(!outfile_make_dir("a/b/c", &err) && !outfile_make_dir("a/b/c/", &err) && !outfile_make_dir("a", &err),
		"existing folders are reused");
	ok(!outfile_make_dir("a//d/", &err) && mode_of("a/d") && entries("a") == 2, "slashes at the end and in a row");
	put("a/file", "x");
	ok(outfile_make_dir("a/file", &err) == ORR_EFAIL &&
			strstr(err.text, "a/file: this folder cannot be created: Not a directory: expected"),
		"a file is no folder: %s", err.text);
	ok(outfile_make_dir("a/file/below", &err) == ORR_EFAIL &&
			strstr(err.text, "a/file/below: this folder cannot be created: Not a directory"),
		"nor has it folders: %s", err.text);
	ok(outfile_make_dir("", &err) == ORR_EFAIL && strstr(err.text, ": No such file"), "an empty name: %s", err.text);
	ok(!outfile_make_dir("/", &err), "the root exists");
}

/* ---- files ---- */

static void test_versions(void)
{
	struct outfile f;
	umask(022);
	ok(!put("new", "first") && mode_of("new") == 0644, "a new file has the rights of the umask");
	same_text(content("new"), "first", "and its text");
	chmod("new", 0751);
	ok(!outfile_open_path(&f, "new", &err) && fputs("second", f.file) > 0, "a second version is written");
	fflush(f.file);
	same_text(content("new"), "first", "readers see the first version until the second is whole");
	ok(!outfile_close(&f, false, &err) && !f.file && !f.path, "closed");
	same_text(content("new"), "second", "then the second");
	ok(mode_of("new") == 0751, "which keeps the rights of the file: %o", mode_of("new"));
	ok(!outfile_open_path(&f, "new", &err) && fputs("third", f.file) > 0 && !outfile_close(&f, true, &err),
		"a version that its writer gives up");
	same_text(content("new"), "second", "leaves the file unchanged");
	/* Two writers: the file is the version of the last one to close. */
	struct outfile g;
	outfile_open_path(&f, "new", &err);
	outfile_open_path(&g, "new", &err);
	fputs("of f", f.file);
	fputs("of g, longer", g.file);
	outfile_close(&g, false, &err);
	outfile_close(&f, false, &err);
	same_text(content("new"), "of f", "two writers: one whole version");
}

static void test_names(void)
{
	struct outfile f;
	char path[300] = "names/";
	outfile_make_dir("names", &err);
	ok(!outfile_open(&f, "names", "fifo", ".jobs.csv", &err), "a file by folder, name and suffix");
	same_text(f.path, "names/fifo.jobs.csv", "its path");
	outfile_close(&f, false, &err);
	ok(!outfile_open(&f, "names/", "fifo", "", &err), "a folder that ends in a slash");
	same_text(f.path, "names/fifo", "has no second one");
	outfile_close(&f, false, &err);
	memset(path + 6, 'n', 255);
	ok(!put(path, "long") && !strcmp(content(path), "long") && entries("names") == 3,
		"the longest name of a file system, without a draft left");
	path[6 + 255] = 'n';
	ok(put(path, "") == ORR_EFAIL && strstr(err.text, "File name too long"), "a longer one is refused");
	ok(entries("names") == 3, "and leaves no draft");
	ok(put("", "x") == ORR_EFAIL && strstr(err.text, ": cannot be written: No such file"), "an empty path: %s", err.text);
	ok(put("names", "x") == ORR_EFAIL && strstr(err.text, "names: cannot be written: Is a directory"), "a folder: %s", err.text);
	ok(put("missing/x", "x") == ORR_EFAIL && strstr(err.text, "missing/x: cannot be written: No such file"), "a missing folder: %s",
		err.text);
}

static void test_links(void)
{
	struct stat st;
	outfile_make_dir("to", &err);
	ok(!symlink("to/target", "link") && !put("link", "by link"), "a link to a file that does not exist");
	same_text(content("to/target"), "by link", "creates the file");
	ok(!lstat("link", &st) && S_ISLNK(st.st_mode), "and remains a link");
	/* The links are in "to", so their targets are relative to it. */
	ok(!symlink("target", "to/second") && !symlink("to/second", "third") && !put("third", "by three"), "a link to a link");
	same_text(content("to/target"), "by three", "each relative to its own folder");
	char here[1000], absolute[1100];
	snprintf(absolute, sizeof absolute, "%s/to/target", getcwd(here, sizeof here));
	ok(!symlink(absolute, "to/fourth") && !put("to/fourth", "absolute"), "an absolute link");
	same_text(content("to/target"), "absolute", "in another folder");
	ok(!symlink("loop", "loop") && put("loop", "x") == ORR_EFAIL && strstr(err.text, "loop: cannot be written: Too many levels"),
		"a cycle of links: %s", err.text);
	ok(entries("to") == 3, "no draft is left");
}

static void test_descriptors(void)
{
	static const struct {
		const char *format;
		bool good;
	} rows[] = { { "/dev/fd/%d", true }, { "/proc/self/fd/%d", true }, { "/dev/fd/%dx", false }, { "/dev/fd/-%d", false } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char path[64];
		int fd = open("given", O_RDWR | O_CREAT | O_TRUNC, 0666);
		snprintf(path, sizeof path, rows[i].format, fd);
		(void)!write(fd, "before ", 7);
		bool is_written = !put(path, "after");
		close(fd);
		ok(is_written == rows[i].good && !strcmp(content("given"), rows[i].good ? "before after" : "before "), "%s: %s",
			rows[i].format, rows[i].good ? "the descriptor is written directly" : "no descriptor");
	}
	ok(!put("/dev/null", "x") && mode_of("/dev/null"), "a device is written directly");
	if (!access("/dev/full", W_OK))
		ok(put("/dev/full", "x") == ORR_EFAIL && strstr(err.text, "/dev/full: cannot be written: ") &&
				!strstr(err.text, "unchanged"),
			"a device that is full: %s", err.text);
	ok(!symlink("/dev/null", "null") && !put("null", "x") && !lstat("null", &(struct stat){ 0 }), "a link to a device");
}

/* A file may have 1000 bytes. */
static void write_too_much(void)
{
	cleanup_on_signals();
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1000, 1000 });
	static char much[5000];
	memset(much, 'x', sizeof much - 1);
	int rc = put("limited", much);
	_exit(rc != ORR_EFAIL                                                                                         ? 1
		: strcmp(err.text, "limited: cannot be written: File too large (an existing file is unchanged)") != 0 ? 2
														      : 0);
}

static void write_to_full_stdout(void)
{
	if (!freopen("/dev/full", "w", stdout))
		_exit(0);
	puts("x");
	_exit(outfile_flush_stdout(&err) != ORR_EFAIL || strcmp(err.text, "standard output: cannot be written") != 0);
}

static void flush_good_stdout(void)
{
	_exit(!freopen("printed", "w", stdout) || puts("x") < 0 || outfile_flush_stdout(&err) || strcmp(content("printed"), "x\n") != 0);
}

/* With descriptors 0 to 2 closed, a file that is opened later would get one of these numbers. */
static void reserve(void)
{
	char c;
	for (int fd = 0; fd < 256; fd++)
		close(fd);
	outfile_reserve_standard();
	int fd = open("given", O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd != 3)
		_exit(1);
	if (read(0, &c, 1) >= 0 || write(1, "x", 1) >= 0 || write(2, "x", 1) >= 0)
		_exit(2);
	close(1);
	close(3);
	if (open("given", O_RDWR) != 1) /* the only closed one of the three */
		_exit(3);
	outfile_reserve_standard();
	_exit(write(1, "kept", 4) == 4 ? 0 : 4);
}

static void test_failures(void)
{
	put("limited", "old");
	ok(in_child(write_too_much) == 0, "a file that is too large is refused");
	same_text(content("limited"), "old", "the existing file is unchanged");
	if (!access("/dev/full", W_OK))
		ok(in_child(write_to_full_stdout) == 0, "standard output that is full");
	ok(in_child(flush_good_stdout) == 0, "standard output that can be written");
	ok(in_child(reserve) == 0, "closed standard descriptors are reserved");
	same_text(content("given"), "kept", "open ones are kept");
}

/* ---- signals ---- */

static int sig;

static int create_file(char *path, int mode)
{
	memcpy(path, "made", 4);
	return open(path, O_WRONLY | O_CREAT, mode);
}

static int create_none(char *path, int mode)
{
	(void)path, (void)mode;
	errno = EDOM;
	return -1;
}

static void hold_files(void)
{
	struct cleanup *made, *none;
	char path[] = "XXXX.tmp";
	if (sig)
		signal(sig, SIG_DFL); /* a shell that starts this test in the background ignores SIGINT and SIGQUIT */
	cleanup_on_signals();
	cleanup_message("stopped\n");
	put("kept", "");
	put("temporary", "");
	mkdir("folder", 0777);
	put("folder/inside", "");
	struct cleanup *kept = cleanup_add("kept");
	cleanup_add("temporary");
	cleanup_add("folder"); /* is removed after the file in it */
	cleanup_add("folder/inside");
	if (cleanup_create(path, 0600, create_file, &made) < 0 || strcmp(path, "made.tmp") != 0 || !made)
		_exit(50);
	if (cleanup_create(path, 0600, create_none, &none) != -1 || errno != EDOM || none)
		_exit(51);
	cleanup_forget(kept);
	cleanup_forget(NULL);
}

static void end_by_signal(void)
{
	hold_files();
	raise(sig);
}

static bool only_kept(void)
{
	return !access("kept", F_OK) && access("temporary", F_OK) && access("folder", F_OK) && access("made.tmp", F_OK);
}

static void end_by_alarm(void)
{
	hold_files();
	cleanup_on_alarm("too long\n");
	raise(SIGALRM);
}

static void end_itself(void)
{
	hold_files();
	struct cleanup *late = cleanup_add("late");
	cleanup_now();
	put("late", ""); /* the list is empty now */
	cleanup_forget(late);
	cleanup_now();
	_exit(3);
}

/* nohup: the parent process ignores the signal. */
static void ignore_signal(void)
{
	signal(SIGHUP, SIG_IGN);
	hold_files();
	raise(SIGHUP);
	_exit(access("temporary", F_OK) ? 1 : 0);
}

static void end_with_group(void)
{
	cleanup_on_signals();
	pid_t pid = fork();
	if (!pid) {
		setpgid(0, 0);
		for (;;)
			pause();
	}
	setpgid(pid, pid);
	cleanup_child(pid);
	cleanup_now();
	int status;
	_exit(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : 1);
}

static void test_signals(void)
{
	static const struct {
		int sig;
		const char *said;
	} rows[] = { { SIGINT, "stopped\n" }, { SIGTERM, "stopped\n" }, { SIGHUP, "stopped\n" }, { SIGQUIT, "" }, { SIGPIPE, "" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		sig = rows[i].sig;
		int status = in_child(end_by_signal);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == sig && only_kept(), "signal %d ends the program and removes its files", sig);
		same_text(content("said"), rows[i].said, "what it prints");
	}
	sig = 0;
	int status = in_child(end_by_alarm);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == ORR_EFAIL && only_kept(), "the alarm too, with exit status 1");
	same_text(content("said"), "too long\nstopped\n", "and its own text first");
	status = in_child(end_itself);
	ok(WEXITSTATUS(status) == 3 && only_kept() && !access("late", F_OK), "cleanup_now() removes what is registered, once");
	ok(in_child(ignore_signal) == 0, "an ignored signal stays ignored");
	cleanup_forget(NULL);
	ok(in_child(end_with_group) == 0, "the process group of the child is killed");
}

/* ---- programs ---- */

static void test_programs(void)
{
	struct sbuf path = { 0 };
	char list[1200], here[1000];
	put("tool", "#!/bin/sh\necho \"$0 $1\"\nexit 7\n");
	mkdir("bin", 0777);
	mkdir("bin/folder", 0777);
	put("bin/plain", "");
	ok(!rename("tool", "bin/tool") && !chmod("bin/tool", 0755), "a program");
	snprintf(list, sizeof list, "bin:/missing:%s/bin:/bin", getcwd(here, sizeof here));
	setenv("PATH", list, 1);
	ok(program_find("tool", &path) && path.text[0] == '/' && strstr(path.text, "/bin/tool"), "is found in PATH: %s", sbuf_text(&path));
	ok(!program_find("plain", &path), "a file that is not executable is not");
	ok(!program_find("folder", &path), "nor is a folder");
	program_find("tool", &path);
	fflush(stdout);
	int before = dup(STDERR_FILENO), fd = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	dup2(fd, STDERR_FILENO);
	int status = program_run(path.text, (const char *const[]){ "tool", "argument", NULL });
	dup2(before, STDERR_FILENO);
	ok(status == 7 && strstr(content("said"), " argument\n"), "it runs, and its output is on standard error");
	ok(program_find("sh", &path) && program_run(path.text, (const char *const[]){ "sh", "-c", "kill -9 $$", NULL }) == 128 + 9,
		"128 and the signal");
	ok(program_run("/missing/tool", (const char *const[]){ "tool", NULL }) == 127, "a program that does not exist");
	setenv("PATH", "bin", 1);
	ok(!program_find("tool", &path), "relative folders of PATH are skipped");
	unsetenv("PATH");
	ok(program_find("sh", &path), "without PATH, the folders of the system");
	close(before);
	close(fd);
	sbuf_free(&path);
}

int main(void)
{
	char folder[] = "/tmp/orrery-outfile.XXXXXX";
	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	test_folders();
	test_versions();
	test_names();
	test_links();
	test_descriptors();
	test_failures();
	test_signals();
	test_programs();
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	setenv("PATH", "/bin:/usr/bin", 1);
	return system(command) ? 1 : done();
}

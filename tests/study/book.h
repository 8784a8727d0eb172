/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * book.h - a folder for scenario books of tests, and a trace of three jobs whose waits are known by hand
 *
 * Jobs in three.csv have one GPU each, are submitted at 0, 1 and 2 s and run for 10, 5 and 1 s. On one GPU, fifo starts them at 0, 10
 * and 15 s (waits 0, 9, 13: mean 22/3, makespan 16); sjf runs the third before the second (waits 0, 10, 8: mean 6). On two GPUs the
 * third starts at 6 s (mean 4/3, makespan 10). On three GPUs all waits are 0 (makespan 10).
 */
#ifndef ORR_TESTS_BOOK_H
#define ORR_TESTS_BOOK_H

#include "base/mem.h"
#include "study/figures.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static char book_dir[256];

/* Writes a file. Texts in these tests have ' in place of ", so that JSON stays legible in C. */
__attribute__((unused)) static void put_file(const char *name, const char *text, bool has_quotes)
{
	char path[320];
	snprintf(path, sizeof path, "%s/%s", book_dir, name);
	FILE *f = fopen(path, "w");
	for (; f && *text; text++)
		putc(*text == '\'' && has_quotes ? '"' : *text, f);
	if (f)
		fclose(f);
}

/* Returns the text of a file of the folder, or NULL if it does not exist; mem_free() frees it. */
__attribute__((unused)) static char *get_file(const char *name)
{
	char path[320];
	struct sbuf text = { 0 };
	snprintf(path, sizeof path, "%s/%s", book_dir, name);
	FILE *f = fopen(path, "r");
	if (!f)
		return NULL;
	for (int c; (c = getc(f)) != EOF;)
		sbuf_putc(&text, (char)c);
	fclose(f);
	return text.text ? sbuf_steal(&text) : mem_strdup("");
}

__attribute__((unused)) static bool books_begin(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(book_dir, sizeof book_dir, "%.200s/orrery-book.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(book_dir))
		return false;
	put_file("three.csv", "submit_s,duration_s,gpus\n0,10,1\n1,5,1\n2,1,1\n", false);
	setenv("ORRERY_TRACE_PATH", book_dir, 1);
	return true;
}

__attribute__((unused)) static void books_end(void)
{
	char command[320];
	snprintf(command, sizeof command, "rm -r '%s'", book_dir);
	if (system(command))
		printf("# %s remains\n", book_dir);
}

/* Returns the book with this figures.json, after its runs, or NULL and the error if it is rejected. */
__attribute__((unused)) static struct book *book_ran(const char *json, struct orr_error *err)
{
	static const struct world_output output = { .quiet = true, .threads = 1, .is_series = true };
	put_file("figures.json", json, true);
	struct book *b = book_open(book_dir, err);
	if (!b || !book_run_all(b, &output, err))
		return b;
	book_free(b);
	return NULL;
}

/* Checks that the error is "FOLDER/figures.json: " and this text. */
__attribute__((unused)) static void refusal(const struct orr_error *err, const char *want, const char *what)
{
	size_t n = strlen(book_dir);
	const char *got = strncmp(err->text, book_dir, n) ? err->text : err->text + n;
	bool is_it = err->code == ORR_EINPUT && !strncmp(got, "/figures.json: ", 15) && !strcmp(got + 15, want);
	if (!is_it)
		printf("# got  %d %s\n# want %s\n", err->code, got, want);
	ok(is_it, "%s", what);
}

#endif

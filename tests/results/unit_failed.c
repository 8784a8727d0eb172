/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failed runs, in memory and in a database: of two failures of a run the one with more tries is kept, of equal ones the later. */
#include "results/failed.h"

#include "base/mem.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static struct failed_run failure(const char *hash, const char *label, const char *error, int64_t tries)
{
	return (struct failed_run){ (char *)(uintptr_t)hash, (char *)(uintptr_t)label, (char *)(uintptr_t) "r[x=1]",
		(char *)(uintptr_t)error, tries };
}

/* Returns the list as "hash label error tries;..". */
static const char *text_of(const struct failed_runs *f)
{
	static char text[400];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < f->n; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s %s %s %s %d;", f->list[i].hash, f->list[i].label, f->list[i].point,
			f->list[i].error, (int)f->list[i].tries);
	return text;
}

static void put(struct failed_runs *f, const char *hash, const char *label, const char *error, int64_t tries)
{
	struct failed_run x = failure(hash, label, error, tries);
	failed_runs_put(f, &x);
}

static void in_memory(void)
{
	struct failed_runs f = { 0 };
	ok(!failed_runs_find(&f, "h2", "a"), "no failures at first");
	put(&f, "h2", "b", "e1", 2);
	put(&f, "h2", "a", "e2", 1);
	put(&f, "h3", "a", "e3", 1);
	put(&f, "h1", "z", "e4", 1);
	same_text(text_of(&f), "h1 z r[x=1] e4 1;h2 a r[x=1] e2 1;h2 b r[x=1] e1 2;h3 a r[x=1] e3 1;", "by hash, then label");
	put(&f, "h2", "b", "fewer", 1);
	put(&f, "h2", "a", "equal", 1);
	put(&f, "h3", "a", "more", 5);
	same_text(text_of(&f), "h1 z r[x=1] e4 1;h2 a r[x=1] equal 1;h2 b r[x=1] e1 2;h3 a r[x=1] more 5;",
		"fewer tries change nothing, as many or more replace the failure");
	const struct failed_run *x = failed_runs_find(&f, "h2", "b");
	ok(x && !strcmp(x->error, "e1"), "a failure is found");
	ok(!failed_runs_find(&f, "h2", "c") && !failed_runs_find(&f, "h1", "a") && !failed_runs_find(&f, "h4", "a"), "others are not");
	failed_runs_free(&f);
	ok(!f.n && !f.list, "the list is empty again");
}

static void stored(void)
{
	char dir[] = "/tmp/orrery-failed.XXXXXX", path[64], clean[64];
	if (!mkdtemp(dir))
		exit(1);
	snprintf(path, sizeof path, "%s/f.db", dir);
	struct orr_error err = { 0 };
	struct store *s = store_open(path, NULL, &err);
	struct failed_runs f = { 0 };
	struct run_result *r = sample_run("b", 5, 1);
	struct failed_run first[] = { failure("h2", "a", "e1", 2), failure(r->hash, "b", "e2", 1), failure("h1", "a", "e3", 3) },
			  second[] = { failure("h2", "a", "e4", 1), failure("h1", "a", "e5", 3) };
	ok(s && !store_write_failures(s, first, 3, &err) && !store_write_failures(s, second, 2, &err), "failures are stored (%s)",
		err.text);
	ok(!store_write(s, r, &err) && !store_forget_failures(s, &err), "that of a run that was stored since is forgotten");
	put(&f, "h1", "a", "older", 2);
	put(&f, "h2", "a", "newer", 9);
	ok(!failed_runs_read(s, &f, &err), "failures are read");
	same_text(text_of(&f), "h1 a r[x=1] e5 3;h2 a r[x=1] newer 9;", "in memory and in the database the same failure is kept");
	failed_runs_free(&f);
	store_close(s, &err);
	result_free(r);
	snprintf(clean, sizeof clean, "rm -r %s", dir);
	if (system(clean))
		printf("# %s remains\n", dir);
}

int main(void)
{
	in_memory();
	stored();
	return done();
}

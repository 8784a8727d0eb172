/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparison of two databases: equal runs, runs of one database only, changed contents, and runs of another build. */
#include "results/inspect.h"

#include "base/mem.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-diff.XXXXXX";

/* A run of a database: seed, label, another hash (NULL: the hash of the seed), and the part that is changed. */
struct kept {
	uint64_t seed;
	const char *label, *hash;
	enum { AS_IS, METRIC, EVENT, ORACLE } change;
};

static struct store *store_of(const char *name, const struct kept *k)
{
	char path[64];
	struct orr_error err = { 0 };
	snprintf(path, sizeof path, "%s/%s.db", dir, name);
	struct store *s = store_open(path, NULL, &err);
	for (; s && k->label; k++) {
		struct run_result *r = sample_run(k->label, 5, k->seed);
		if (k->hash) {
			mem_free(r->hash);
			r->hash = mem_strdup(k->hash);
		}
		if (k->change == METRIC)
			r->metrics[0].value += 1;
		if (k->change == EVENT)
			result_note(r, "choice", "another");
		if (k->change == ORACLE)
			r->is_oracle = !r->is_oracle;
		if (store_write(s, r, &err))
			printf("# %s\n", err.text);
		result_free(r);
	}
	return s;
}

/* Returns the differences as "RUN RUN LABEL SEED TABLES;..", "*" before the tables of another build. */
static const char *text_of(const struct diff *d)
{
	static char text[600];
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < d->n; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%d %d %s %s %s%s;", (int)d->run[i].run[0], (int)d->run[i].run[1],
			d->run[i].label, d->run[i].seed_text, d->run[i].is_other_build ? "*" : "",
			d->run[i].tables ? d->run[i].tables : "-");
	return text;
}

static void compared(const char *what, const struct kept *in_a, const struct kept *in_b, size_t same, const char *want)
{
	struct orr_error err = { 0 };
	struct diff d = { 0 };
	char clean[64];
	struct store *a = store_of("a", in_a), *b = store_of("b", in_b);
	ok(a && b && !store_diff(a, b, &d, &err) && d.n_same == same, "%s: %zu equal runs (%zu) %s", what, same, d.n_same, err.text);
	same_text(text_of(&d), want, what);
	diff_free(&d);
	store_close(a, &err);
	store_close(b, &err);
	snprintf(clean, sizeof clean, "rm -f %s/*", dir);
	if (system(clean))
		printf("# files remain in %s\n", dir);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	static const struct kept none[] = { { 0 } }, two[] = { { 2, "b", NULL, AS_IS }, { 1, "a", NULL, AS_IS }, { 0 } },
				 turned[] = { { 1, "a", NULL, AS_IS }, { 2, "b", NULL, AS_IS }, { 0 } };
	compared("empty databases", none, none, 0, "");
	compared("equal runs in another order", two, turned, 2, "");
	compared("an empty database", two, none, 0, "1 0 b 2 -;2 0 a 1 -;");
	compared("an empty database first", none, two, 0, "0 1 b 2 -;0 2 a 1 -;");

	static const struct kept first[] = { { 1, "same", NULL, AS_IS }, { 2, "metric", NULL, AS_IS }, { 3, "build", "x", AS_IS },
		{ 5, "only a", NULL, AS_IS }, { 6, "build 2", "y", AS_IS }, { 7, "event", NULL, AS_IS }, { 8, "oracle", NULL, AS_IS },
		{ 8, "second label", NULL, AS_IS }, { 0 } },
				 second[] = { { 2, "metric", NULL, METRIC }, { 1, "same", NULL, AS_IS }, { 4, "only b", NULL, AS_IS },
					 { 3, "build", NULL, AS_IS }, { 6, "build 2", NULL, METRIC }, { 7, "event", NULL, EVENT },
					 { 8, "oracle", NULL, ORACLE }, { 0 } };
	compared("all kinds", first, second, 2,
		"4 0 only a 5 -;8 0 second label 8 -;0 3 only b 4 -;2 1 metric 2 metrics;5 5 build 2 6 *metrics;6 6 event 7 events;"
		"7 7 oracle 8 runs;");
	if (rmdir(dir))
		printf("# %s remains\n", dir);
	return done();
}

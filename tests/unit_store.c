/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "results/store.h"

#include "base/mem.h"
#include "tests/sample_run.h"
#include "tests/tap.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-store.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

/* Makes a finished database of runs with these labels, seeds 1, 2, ... */
static void make(const char *path, const char *const *labels)
{
	struct orr_error err = { 0 };
	struct store *s = store_open(path, NULL, &err);
	for (uint64_t i = 0; s && labels[i]; i++) {
		struct run_result *r = sample_run(labels[i], 50, i + 1);
		if (store_write(s, r, &err))
			printf("# %s\n", err.text);
		result_free(r);
	}
	if (!s || store_close(s, &err))
		printf("# %s\n", err.text);
}

static void round_trip(void)
{
	struct orr_error err = { 0 };
	const char *path = in_dir("trip.db");
	struct store *s = store_open(path, NULL, &err);
	struct run_result *r = sample_run("fifo", 300, 7), *none = sample_run("nothing", 0, 8), *back;
	ok(s && !store_write(s, r, &err) && !store_write(s, none, &err), "runs are stored");
	ok(!store_read(s, r->hash, "fifo", &back, &err) && back && same_run(r, back), "a run comes back the same");
	result_free(back);
	ok(!store_read(s, none->hash, "nothing", &back, &err) && back && same_run(none, back), "an empty one too");
	result_free(back);
	ok(!store_read(s, "no such hash", "fifo", &back, &err) && !back, "a run that is not there is no error");
	ok(!store_close(s, &err), "it closes");
	s = store_open_readonly(path, &err);
	ok(s && !store_read_run(s, 1, &back, &err) && back && same_run(r, back), "and is read by its number");
	result_free(back);
	ok(s && store_write(s, r, &err) == ORR_EFAIL, "a store open for reading is not written");
	store_close(s, &err);
	ok(access(in_dir("trip.db-wal"), F_OK) && access(in_dir("trip.db-shm"), F_OK), "one file remains");
	result_free(r);
	result_free(none);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	round_trip();
	make(in_dir("a.db"), (const char *const[]){ "x", "y", NULL });
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Results of the step world: metrics, computed by hand from a synthetic result, and rows in the database, in files of this
 * schema and of the previous one.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "results/store.h"
#include "step/step.h"
#include "tests/results/sample_run.h"
#include "tests/tap.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/orrery-results.XXXXXX";

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
	return path[turn];
}

static void sql(const char *path, const char *text)
{
	sqlite3 *db;
	char *why = NULL;
	sqlite3_open(path, &db);
	if (sqlite3_exec(db, text, NULL, NULL, &why))
		printf("# %s\n", why);
	sqlite3_free(why);
	sqlite3_close(db);
}

/* ---- metrics ---- */

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

/* Returns a result with two GPUs, a host that is a server and an idle host; iterations end at the given times. */
static struct run_result *measured(const double *end_s, size_t n, uint32_t period)
{
	struct step_device device[] = { { .device = 0,
						.node = 0,
						.compute_s = 3,
						.optimizer_s = 1,
						.exposed_s = 2,
						.bubble_s = 0.5,
						.peak_memory_bytes = 5,
						.sent_bytes = 100 },
		{ .device = 1,
			.node = 1,
			.compute_s = 5,
			.optimizer_s = 3,
			.exposed_s = 0,
			.bubble_s = 1.5,
			.peak_memory_bytes = 9,
			.sent_bytes = 100 },
		{ .device = 2, .node = 0, .optimizer_s = 7, .sent_bytes = 400, .peak_memory_bytes = 1 }, { .device = 3, .node = 1 } };
	struct step_iteration *it = mem_zalloc(n, sizeof *it);
	struct step_span span[] = { { .start_s = 0, .end_s = 1, .device = 0, .peer = 2, .stream = STEP_STREAMS, .work = ORR_WORK_KINDS },
		{ .start_s = 1, .end_s = 2, .device = 1, .peer = UINT32_MAX, .work = ORR_BACKWARD, .label = "b" },
		{ .start_s = 1, .end_s = 2, .device = 2, .peer = UINT32_MAX, .work = ORR_OPTIMIZER },
		{ .start_s = 1, .end_s = 2, .device = 3, .peer = UINT32_MAX, .work = ORR_OPTIMIZER } };
	for (size_t i = 0; i < n; i++)
		it[i] = (struct step_iteration){ i, i ? end_s[i - 1] : 0, end_s[i], 64 };
	double mean = (end_s[n - 1] - end_s[0]) / (double)(n - 1);
	struct step_result s = { .iteration = it,
		.n_iterations = n,
		.simulated = 3,
		.period = period,
		.device = device,
		.n_devices = 4,
		.span = span,
		.n_spans = 4,
		.samples_per_s = 64 / mean,
		.iteration_s = mean,
		.flows = 12,
		.choice = "F=1, C=9; took 0.25 s, b=x, z=7q, e=1e-3",
		.cost_source = "datasheet" };
	struct run_result *r = result_new();
	step_metrics(&s, r);
	mem_free(it);
	return r;
}

static void metrics(void)
{
	double even[10], odd[9];
	for (int i = 0; i < 10; i++)
		even[i] = 2 * (i + 1);
	for (int i = 0; i < 9; i++) /* the distances between successive ends are 1, 3, 1, 3, .. s */
		odd[i] = i % 2 ? 2 * i - 1 : 2 * i;
	struct run_result *r = measured(even, 10, 1);
	const struct metric *m = result_find(r, "samples_per_s");
	ok(m->value == 32 && m->ci_low == 32 && m->ci_high == 32, "iterations that repeat: an interval without width");
	ok(metric(r, "compute_s") == 4 && metric(r, "optimizer_s") == 2 && metric(r, "exposed_s") == 1 && metric(r, "bubble_s") == 1,
		"means over the devices that train, not over servers");
	ok(metric(r, "peak_memory_bytes") == 9 && metric(r, "sent_bytes") == 600 && metric(r, "sent_bytes_max") == 400,
		"memory is the most of any device, bytes are of all");
	ok(metric(r, "choice_F") == 1 && metric(r, "choice_C") == 9 && metric(r, "choice_e") == 1e-3,
		"numbers in the policy's line are metrics");
	ok(!result_find(r, "choice_b") && !result_find(r, "choice_z"), "words in the policy's line are no metrics");
	same_text(result_find_note(r, "cost-source"), "datasheet", "the source of costs is kept");
	same_text(result_find_note(r, "steady-state"), "steady state after 3 of 10 iterations (period 1)",
		"the extrapolated share is reported");
	ok(r->rows_total == 10 && r->n_iterations == 10 && r->n_devices == 4 && r->iterations[9].end_s == 20,
		"rows are those of the result");
	ok(r->n_spans == 3 && !strcmp(r->spans[0].kind, "send") && !strcmp(r->spans[1].kind, "backward") &&
			!strcmp(r->spans[1].label, "b") && r->spans[2].device == 2,
		"spans are those of devices that train or send: a server's too");
	result_free(r);

	/* Times of 1 and 3 s are drawn at random. 1023 times suffice for an interval, 8 do not. */
	double many[1024] = { 1 };
	uint64_t state = 1;
	for (int i = 1; i < 1024; i++)
		many[i] = many[i - 1] + (hash_next(&state) >> 63 ? 3 : 1);
	r = measured(many, 1024, 0);
	m = result_find(r, "iteration_s");
	ok(m->ci_low > 1.8 && m->ci_low < m->value && m->value < m->ci_high && m->ci_high < 2.2,
		"independent times have an interval: %g to %g", m->ci_low, m->ci_high);
	m = result_find(r, "samples_per_s");
	near_to(64 / m->ci_low, result_find(r, "iteration_s")->ci_high, 1e-12, "the interval of throughput is the reciprocal one");
	result_free(r);
	r = measured(odd, 9, 0);
	near_to(result_find(r, "iteration_s")->value, 2, 1e-12, "mean time of an iteration");
	ok(isnan(result_find(r, "iteration_s")->ci_low), "too few times have no interval");
	result_free(r);
}

/* ---- rows ---- */

static struct run_result *sample(const char *label, uint64_t seed)
{
	struct run_result *r = sample_run(label, 5, seed);
	sample_add_step(r, 7);
	result_note(r, "choice", "F=1");
	return r;
}

static void digest(const char *path, char hex[65])
{
	struct orr_error err = { 0 };
	struct store *s = store_open_readonly(path, &err);
	if (!s || store_digest(s, hex, &err))
		printf("# %s\n", err.text);
	store_close(s, &err);
}

static void rows(void)
{
	struct orr_error err = { 0 };
	char before[65], after[65];
	struct run_result *r = sample("a", 1), *b = sample("b", 2), *back = NULL;
	struct store *s = store_open(in_dir("rows.db"), NULL, &err);
	ok(s && !store_write(s, r, &err) && !store_write(s, b, &err), "runs are stored");
	ok(!store_read(s, r->hash, "a", &back, &err) && back && same_run(r, back), "iterations, devices and spans come back the same");
	result_free(back);
	store_replace_existing(s, true);
	r->n_iterations = r->n_spans = 2;
	r->n_devices = 0;
	ok(!store_write(s, r, &err) && !store_read(s, r->hash, "a", &back, &err) && back && same_run(r, back),
		"a run with iterations is replaced");
	result_free(back);
	ok(!store_read(s, b->hash, "b", &back, &err) && back && same_run(b, back), "replacing a run leaves the iterations of other runs");
	result_free(back);
	store_close(s, &err);
	digest(in_dir("rows.db"), before);
	sql(in_dir("rows.db"), "UPDATE iterations SET end_s = end_s + 1e-9 WHERE run = 2 AND number = 1");
	digest(in_dir("rows.db"), after);
	ok(strcmp(before, after), "the digest covers iterations");
	result_free(r);
	result_free(b);
}

/* Opens a file of the previous schema. */
static void older_file(void)
{
	struct orr_error err = { 0 };
	char before[65], after[65];
	const char *path = in_dir("older.db");
	struct run_result *jobs = sample_run("jobs", 5, 3), *step = sample("step", 4), *back = NULL;
	struct store *s = store_open(path, NULL, &err);
	store_write(s, jobs, &err);
	store_close(s, &err);
	digest(path, before);
	sql(path, "DROP TABLE iterations; DROP TABLE devices; DROP TABLE spans; DROP VIEW requests_s; DROP VIEW request_pairs;"
		  " DROP TABLE requests; DROP VIEW nodes_s; DROP VIEW accounts_h; DROP TABLE nodes; DROP TABLE accounts; PRAGMA "
		  "user_version = 1");
	digest(path, after);
	same_text(after, before, "a file of the schema before has the same digest");
	s = store_open_readonly(path, &err);
	ok(s && !store_read_run(s, 1, &back, &err) && back && same_run(jobs, back), "a file of the previous schema is read");
	result_free(back);
	store_close(s, &err);
	s = store_open(path, NULL, &err);
	ok(s && !store_write(s, step, &err) && !store_read(s, step->hash, "step", &back, &err) && back && same_run(step, back),
		"new columns and tables are added when it is opened for writing");
	result_free(back);
	ok(s && !store_read(s, jobs->hash, "jobs", &back, &err) && back && same_run(jobs, back),
		"existing rows are kept when tables are added");
	result_free(back);
	store_close(s, &err);
	if (err.text[0])
		printf("# %s\n", err.text);
	result_free(jobs);
	result_free(step);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	metrics();
	rows();
	older_file();
	unlink(in_dir("rows.db"));
	unlink(in_dir("older.db"));
	rmdir(dir);
	return done();
}

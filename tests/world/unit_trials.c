/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trials and their replications: metrics that few replications change, the remark for few replications, replications that fail,
 * comparison of the common part of two runs; and files of scenarios. Expected values are computed by hand.
 */
#include "world/run.h"

#include "base/mem.h"
#include "results/estimate.h"
#include "results/summary.h"
#include "tests/tap.h"
#include "world/gpu_types.h"
#include "world/replications.h"

#include <stdlib.h>
#include <unistd.h>

static const struct world_output quiet = { .quiet = true, .threads = 1 };

static struct run_result *spot_run(double samples_per_s, double usd)
{
	struct run_result *r = result_new();
	r->world = mem_strdup("spot");
	r->label = mem_strdup("x");
	result_metric(r, "samples_per_s", samples_per_s, NAN, NAN);
	result_metric(r, "usd_per_hour", usd, NAN, NAN);
	return r;
}

/* Returns n replications. The first `odd` of them have another throughput; the price varies in all replications. */
static struct run_result *replicated(uint32_t n, uint32_t odd, struct replications **out)
{
	struct replications *x = replications_new();
	struct run_result *first = spot_run(odd ? 20 : 10, 1);
	result_note(first, "remark", SUMMARY_NO_INTERVAL);
	result_note(first, "remark", "another");
	replications_add(x, 0, first);
	for (uint32_t k = 1; k < n; k++) {
		struct run_result *r = spot_run(k < odd ? 20 : 10, 1 + k);
		replications_add(x, k, r);
		result_free(r);
	}
	replications_put(x, 0.95, first);
	if (out)
		*out = x;
	else
		replications_free(x);
	return first;
}

static bool has_remark(const struct run_result *r, const char *text)
{
	const char *note;
	for (size_t i = 0; (note = result_note_at(r, "remark", i)); i++)
		if (!strcmp(note, text))
			return true;
	return false;
}

/* Tests that an interval requires at least five replications that differ from the most frequent value. */
static void test_rare(void)
{
	static const char fewer[] = "no intervals: there are fewer than 10 replications; --replications 10 gives intervals";
	for (uint32_t odd = 0; odd <= 5; odd++) {
		struct replications *x;
		struct run_result *r = replicated(12, odd, &x);
		const struct metric *m = result_find(r, "samples_per_s");
		struct interval i = replications_of(x, "samples_per_s", 0.95), stored = replications_interval(r, "samples_per_s");
		ok(fabs(m->value - (120 + 10. * odd) / 12) < 1e-12 && isnan(m->ci_low) == (odd < 5),
			"%u of 12 replications differ: the mean %.4g", odd, m->value);
		bool is_unknown = isinf(i.low) && isinf(i.high) && i.low < 0 && i.high > 0;
		ok(is_unknown == (odd >= 1 && odd <= 4) && (isinf(stored.low) && stored.low < 0) == is_unknown,
			"few that differ make the interval unknown, not exact");
		char want[400];
		snprintf(want, sizeof want,
			"no interval of samples_per_s: fewer than 5 of 12 replications differ from the most frequent value by more than %g "
			"%%; about %d replications would "
			"give one",
			100 * ESTIMATE_EQUAL, odd ? 120 / (int)odd : 0);
		ok(has_remark(r, want) == is_unknown,
			"a remark names twice the number of replications at which five differences are expected");
		ok(!has_remark(r, SUMMARY_NO_INTERVAL) && has_remark(r, "another") && !has_remark(r, fewer),
			"the remark on intervals within one run is gone, others stay");
		result_free(r);
		replications_free(x);
	}
	for (uint32_t n = 9; n <= 10; n++) {
		struct run_result *r = replicated(n, 1, NULL);
		ok(has_remark(r, fewer) == (n < 10), "%u replications %s", n, n < 10 ? "are too few for intervals" : "give intervals");
		ok(isnan(result_find(r, "usd_per_hour")->ci_low) == (n < 10), "intervals exist from 10 replications on");
		ok(result_find(r, "replications")->value == n, "the number of replications is a metric");
		result_free(r);
	}
}

/* Tests that accounts are means, too, and that a series has one value per replication, one second apart. */
static void test_accounts_and_series(void)
{
	struct replications *x = replications_new();
	struct run_result *runs[3];
	for (uint32_t k = 0; k < 3; k++) {
		runs[k] = spot_run(10 + k, 1);
		runs[k]->accounts = mem_zalloc(2, sizeof *runs[k]->accounts);
		runs[k]->n_accounts = 2;
		runs[k]->accounts[0] = (struct account_row){ "useful", 100 * (k + 1), k };
		runs[k]->accounts[1] = (struct account_row){ "idle", 10, 3 * k };
		replications_add(x, k, runs[k]);
	}
	replications_put(x, 0.95, runs[0]);
	ok(runs[0]->accounts[0].node_s == 200 && runs[0]->accounts[0].usd == 1 && runs[0]->accounts[1].node_s == 10 &&
			runs[0]->accounts[1].usd == 3,
		"accounts are means");
	const struct series *s = NULL;
	for (size_t i = 0; i < runs[0]->n_series; i++)
		s = !strcmp(runs[0]->series[i].name, "replications:samples_per_s") ? &runs[0]->series[i] : s;
	ok(s && s->n == 3 && s->value[0] == 10 && s->value[2] == 12 && s->time_ns[0] == 0 && s->time_ns[2] == INT64_C(2000000000),
		"a column of the table is a series");
	struct interval none = replications_interval(runs[0], "nosuch"), bare = replications_interval(runs[1], "samples_per_s");
	ok(isnan(none.mean) && bare.mean == 11 && isnan(bare.low), "metrics without replications are as they are");
	replications_free(x);
	for (int k = 0; k < 3; k++)
		result_free(runs[k]);
}

static const struct metric *of(struct run_result *r, const char *name)
{
	return result_find(r, name);
}

/* Tests that runs with different numbers of replications are not compared. */
static void test_compare(void)
{
	struct run_result *runs[3] = { replicated(12, 12, NULL), replicated(12, 0, NULL), replicated(11, 0, NULL) };
	replications_compare(runs, 3, 0.95);
	ok(of(runs[1], "diff_samples_per_s") && of(runs[1], "diff_samples_per_s")->value == -10, "a difference of 10 - 20");
	ok(of(runs[1], "ratio_samples_per_s") && of(runs[1], "ratio_samples_per_s")->value == 2, "a ratio of 20 to 10");
	ok(of(runs[1], "diff_usd_per_hour") && of(runs[1], "diff_usd_per_hour")->value == 0, "every column has a difference");
	ok(!of(runs[2], "diff_samples_per_s") && !of(runs[0], "diff_samples_per_s"),
		"runs with other numbers of replications, and the first run, have no differences");
	for (int k = 0; k < 3; k++)
		result_free(runs[k]);
}

/* ---- failures ---- */

static struct world made;
static uint32_t fails_from, tried;

static int run_made(
	struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err)
{
	(void)s, (void)i, (void)progress, (void)ctx;
	tried |= 1u << k;
	result_metric(r, "makespan", k, NAN, NAN);
	return k >= fails_from ? orr_fail(err, ORR_EFAIL, "made to fail at %u", k) : ORR_OK;
}

/* Tests that the first replication that fails gives the error, in any order, and that later replications are not run. */
static void test_failures(void)
{
	static const struct {
		uint32_t order[4], from, tried;
		const char *said;
	} cases[] = { { { 0, 1, 2, 3 }, 2, 7, "replication 2: made to fail at 2" },
		{ { 3, 2, 1, 0 }, 1, 15, "replication 1: made to fail at 1" }, { { 2, 3, 1, 0 }, 2, 7, "replication 2: made to fail at 2" },
		{ { 0, 1, 2, 3 }, 0, 1, "made to fail at 0" }, { { 0, 1, 2, 3 }, 9, 15, "" } };
	struct orr_error err = { 0 };
	cJSON *o =
		cJSON_Parse("{\"trace\": \"poisson:rate=0.5,n=10\", \"cluster\": \"2x4\", \"policies\": [\"fifo\"], \"replications\": 4}");
	struct scenario *s = scenario_open(o, &quiet, &err);
	cJSON_Delete(o);
	if (!ok(s != NULL, "a scenario: %s", err.text))
		return;
	const struct world *own = s->world;
	made = *own;
	made.run = run_made;
	made.effects = NULL;
	made.note = NULL;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct run_result *r = result_new();
		r->world = mem_strdup("jobs");
		err = (struct orr_error){ 0 };
		fails_from = cases[i].from;
		tried = 0;
		s->world = &made;
		struct trial *t = trial_new(s, 0, r);
		for (int k = 0; k < 4; k++)
			trial_run(t, cases[i].order[k], NULL, NULL);
		int rc = trial_end(t, &err);
		ok(tried == cases[i].tried && !rc == !*cases[i].said, "replications that are run: %x", tried);
		same_text(err.text, cases[i].said, "the error is that of the first that fails");
		if (!rc)
			ok(result_find(r, "makespan")->value == 1.5, "else the mean of 0, 1, 2, 3");
		s->until_precision = 0.1;
		struct trial *const one[1] = { t };
		if (rc)
			ok(trial_next(s, one, 4) == 4, "a failure ends the replications");
		s->until_precision = 0;
		ok(trial_next(s, one, 0) == 4, "without a precision the given number of replications is made");
		trial_free(t);
		result_free(r);
	}
	s->world = own;
	scenario_close(s);
}

/* ---- files ---- */

static void test_files(void)
{
	static const struct {
		const char *text, *said;
	} files[] = { { "{\"a\": 1,\n\n\"b\": }\n", "f.json:3: invalid JSON from this line on: expected a JSON object" },
		{ "{\"a\": 1", "f.json:1: invalid JSON from this line on: expected a JSON object" },
		{ "{\"a\": 1} x", "f.json:1: invalid JSON from this line on: expected a JSON object" },
		{ "[1]", "f.json: expected a JSON object" }, { "{\"a\":\n1}\n", "" } };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct orr_error err = { 0 };
		FILE *f = fopen("f.json", "w");
		if (!f)
			return;
		fputs(files[i].text, f);
		fclose(f);
		cJSON *o = scenario_read("f.json", &err);
		ok(!o == (*files[i].said != '\0'), "a file is read or refused");
		same_text(err.text, files[i].said, "the error names the line");
		cJSON_Delete(o);
	}
	struct orr_error err = { 0 };
	ok(!scenario_read("none.json", &err) && err.code == ORR_EINPUT, "no file: %s", err.text);
	unlink("f.json");
}

int main(void)
{
	char dir[256], clean[300];
	const char *tmp = getenv("TMPDIR");
	snprintf(dir, sizeof dir, "%.200s/orrery-trials.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir) || chdir(dir))
		return 2;
	test_rare();
	test_accounts_and_series();
	test_compare();
	test_failures();
	test_files();
	snprintf(clean, sizeof clean, "rm -r '%s'", dir);
	if (chdir("/") || system(clean))
		printf("# %s remains\n", dir);
	return done();
}

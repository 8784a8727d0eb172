/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replications until a precision is reached (precision.h): their number, the metrics that count, and the remark. The test provides the
 * intervals. The rule starts with 10 replications and doubles them until the widest interval was narrow enough twice in a row.
 */
#include "world/precision.h"

#include "base/mem.h"
#include "tests/tap.h"
#include "world/registry.h"
#include "world/run.h"

static const struct world_output quiet = { .quiet = true, .threads = 1 };

static struct scenario *opened(const char *more)
{
	struct orr_error err = { 0 };
	char text[400];
	snprintf(text, sizeof text,
		"{'trace': 'poisson:rate=0.5,n=10', 'cluster': '2x4:v100', 'policies': ['fifo', 'las@b'], 'until_precision': 0.1%s}", more);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	cJSON *o = cJSON_Parse(text);
	struct scenario *s = scenario_open(o, &quiet, &err);
	cJSON_Delete(o);
	if (!s)
		ok(false, "%s", err.text);
	return s;
}

/* Intervals of two metrics by policy; other metrics have neither value nor variation. */
struct given {
	struct interval jct[2], makespan[2];
};

static struct interval of_given(const void *ctx, size_t i, const char *metric)
{
	const struct given *g = ctx;
	if (!strcmp(metric, "jct_mean"))
		return g->jct[i];
	if (!strcmp(metric, "makespan"))
		return g->makespan[i];
	return (struct interval){ 5, NAN, NAN };
}

#define EXACT               \
	{                   \
		5, NAN, NAN \
	}
#define NARROW               \
	{                    \
		100, 90, 110 \
	} /* relative half-width 0.1 */
#define WIDE                 \
	{                    \
		100, 80, 101 \
	} /* relative half-width 0.105 */
#define UNKNOWN                          \
	{                                \
		100, -INFINITY, INFINITY \
	}
#define NONE                  \
	{                     \
		NAN, NAN, NAN \
	}

static bool is_precise(const struct scenario *s, const struct given *g)
{
	bool was = false;
	precision_next(s, s->n_policies, 10, of_given, g, &was);
	return was;
}

static void test_number(void)
{
	static const struct given narrow = { { NARROW, NARROW }, { EXACT, EXACT } }, wide = { { NARROW, WIDE }, { EXACT, EXACT } };
	struct scenario *s = opened(", 'replications': 50");
	bool was = false;
	if (!s)
		return;
	ok(precision_next(s, s->n_policies, 0, of_given, &wide, &was) == 10 && !was, "ten replications come first");
	ok(precision_next(s, s->n_policies, 10, of_given, &narrow, &was) == 20 && was, "precise once: twice as many");
	ok(precision_next(s, s->n_policies, 20, of_given, &narrow, &was) == 20, "precise twice: enough");
	ok(precision_next(s, s->n_policies, 20, of_given, &wide, &was) == 40 && !was, "no longer precise: go on");
	ok(precision_next(s, s->n_policies, 40, of_given, &narrow, &was) == 50 && was, "the number of replications is capped at the limit");
	was = false;
	ok(precision_next(s, s->n_policies, 50, of_given, &wide, &was) == 50, "replications end at the limit");
	was = true;
	ok(precision_next(s, s->n_policies, 0, of_given, &narrow, &was) == 10 && !was, "without replications no interval is precise");
	scenario_close(s);
	s = opened(", 'replications': 10");
	was = false;
	ok(s && precision_next(s, s->n_policies, 10, of_given, &wide, &was) == 10, "a limit of ten");
	scenario_close(s);
	s = opened("");
	was = false;
	ok(s && precision_next(s, s->n_policies, 640, of_given, &wide, &was) == 1000, "1000 without a limit");
	scenario_close(s);
}

static void test_widest(void)
{
	static const struct {
		struct given g;
		const char *more, *what;
		bool is_precise;
	} cases[] = { { { { NARROW, NARROW }, { WIDE, WIDE } }, "", "the first column counts by default", true },
		{ { { NARROW, WIDE }, { EXACT, EXACT } }, "", "the intervals of every policy count", false },
		{ { { WIDE, NARROW }, { EXACT, EXACT } }, "", "the first too", false },
		{ { { EXACT, EXACT }, { WIDE, NARROW } }, "", "if it does not vary, the next that does", false },
		{ { { EXACT, EXACT }, { EXACT, EXACT } }, "", "metrics without variation count as precise", true },
		{ { { EXACT, NARROW }, { WIDE, WIDE } }, "", "variation of one policy suffices", true },
		{ { { { -100, -110, -90 }, NARROW }, { WIDE, WIDE } }, "", "relative to the size of the mean", true },
		{ { { WIDE, WIDE }, { NARROW, NARROW } }, ", 'precision_of': 'makespan'", "the metrics named", true },
		{ { { NARROW, NARROW }, { NARROW, WIDE } }, ", 'precision_of': 'jct_mean,makespan'", "all of them", false },
		{ { { WIDE, NARROW }, { NARROW, NARROW } }, ", 'precision_of': 'jct_mean,makespan'", "the first of them, too", false },
		{ { { NARROW, UNKNOWN }, { EXACT, EXACT } }, "", "an unknown interval is not precise", false },
		{ { { NARROW, NONE }, { EXACT, EXACT } }, "", "nor is a metric without a value", false },
		{ { { EXACT, EXACT }, { WIDE, WIDE } }, ", 'precision_of': 'jct_mean'", "a value that does not vary is", true } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scenario *s = opened(cases[i].more);
		ok(s && is_precise(s, &cases[i].g) == cases[i].is_precise, "%s", cases[i].what);
		scenario_close(s);
	}
}

static void test_remark(void)
{
	static const struct {
		struct metric jct, makespan;
		const char *more, *want;
	} cases[] = {
		{ { "jct_mean", 100, 95, 105 }, { "makespan", 5, NAN, NAN }, "",
			"20 replications: the widest interval is jct_mean of b, ± 5 % of its mean (until_precision 10 %)" },
		{ { "jct_mean", 100, 90, 110 }, { "makespan", 5, NAN, NAN }, "",
			"20 replications: the widest interval is jct_mean of b, ± 10 % of its mean (until_precision 10 %)" },
		{ { "jct_mean", 100, 70, 110 }, { "makespan", 5, NAN, NAN }, "",
			"20 replications, the limit; the precision was not reached: the widest interval is jct_mean of b, ± 20 % of its "
			"mean (until_precision 10 %)" },
		{ { "jct_mean", 100, 95, 105 }, { "makespan", NAN, NAN, NAN }, ", 'precision_of': 'jct_mean,makespan'",
			"20 replications, the limit; the precision was not reached: makespan of fifo has no value (until_precision 10 "
			"%)" },
		{ { "jct_mean", 100, NAN, NAN }, { "makespan", 5, NAN, NAN }, "",
			"20 replications: no column of the table has a variance (until_precision 10 %)" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scenario *s = opened(cases[i].more);
		struct run_result *runs[2] = { result_new(), result_new() };
		for (int k = 0; k < 2; k++) {
			const struct metric *j = &cases[i].jct, *m = &cases[i].makespan;
			double share = k ? 1 : 0.5; /* intervals of the first policy are narrower */
			runs[k]->label = mem_strdup(k ? "b" : "fifo");
			runs[k]->world = mem_strdup("jobs");
			result_metric(runs[k], j->name, j->value, j->value + share * (j->ci_low - j->value),
				j->value + share * (j->ci_high - j->value));
			if (!isnan(m->value))
				result_metric(runs[k], m->name, m->value, m->ci_low, m->ci_high);
		}
		precision_remark(s, runs, 2);
		ok(!result_find_note(runs[0], "remark"), "results without replications have no remark");
		for (int k = 0; k < 2; k++)
			result_metric(runs[k], "replications", 20, NAN, NAN);
		result_note(runs[1], "remark", "another");
		precision_remark(s, runs, 2);
		precision_remark(s, runs, 2);
		same_text(result_find_note(runs[0], "remark"), cases[i].want, "the remark");
		same_text(result_note_at(runs[1], "remark", 1), cases[i].want, "beside others");
		ok(!result_note_at(runs[1], "remark", 2), "each run has the remark once");
		precision_remark(s, runs, 0);
		result_free(runs[0]);
		result_free(runs[1]);
		scenario_close(s);
	}
}

/* ---- one trial ---- */

static void test_trial(void)
{
	struct scenario *s = opened(", 'replications': 12");
	if (!s)
		return;
	struct run_result *r = result_new();
	struct orr_error err = { 0 };
	r->label = mem_strdup("fifo");
	r->world = mem_strdup("jobs");
	struct trial *t = trial_new(s, 0, r);
	struct trial *const both[2] = { t, t };
	ok(trial_next(s, both, 0) == 10, "trials begin with ten replications");
	for (uint32_t k = 0; k < 10; k++)
		trial_run(t, k, NULL, NULL);
	uint32_t next = trial_next(s, both, 10);
	ok(next == 12, "ten jobs in a queue vary: the limit is next");
	struct trial *const alone[2] = { NULL, t }, *const none[2] = { NULL, NULL };
	ok(trial_next(s, alone, 10) == 12, "also if the other policy failed in an earlier study");
	ok(trial_next(s, none, 10) == 10, "without a policy that has not failed there are no more");
	ok(!trial_end(t, &err) && result_find(r, "replications") && result_find(r, "replications")->value == 10,
		"a trial has its number: %s", err.text);
	trial_free(t);
	result_free(r);
	scenario_close(s);
	trial_free(NULL);
}

/* ---- names of policies ---- */

static void test_registry(void)
{
	struct registry_entry e;
	struct orr_error err = { 0 };
	const struct world *jobs = world_named("jobs"), *step = world_named("step"), *spot = world_named("spot");
	ok(!registry_find("easy-backfill", jobs, &e, &err) && !strcmp(e.name, "easy-backfill") && !*e.plugin_hash && e.policy,
		"a policy by its name");
	ok(!registry_find("easy_backfill", jobs, &e, &err) && !strcmp(e.name, "easy-backfill"), "with - or _");
	ok(!registry_find("bamboo", step, &e, &err) && !strcmp(e.policy->kind, "step"), "two worlds may have policies of one name");
	ok(!registry_find("bamboo", spot, &e, &err) && !strcmp(e.policy->kind, "spot"), "the wanted world decides");
	ok(!registry_find("fifo", NULL, &e, &err) && !strcmp(e.policy->kind, worlds[0]->name), "else the first world that has it");
	ok(registry_find("allreduce", jobs, &e, &err) == ORR_EINPUT, "a policy of another world is refused");
	same_text(err.text, "policy \"allreduce\" is a step policy (for 'orrery step'): expected a jobs policy", "with its world");
	ok(registry_find("alreduce", NULL, &e, &err) == ORR_EINPUT && strstr(err.text, "did you mean \"allreduce\"?"),
		"the nearest name of all worlds: %s", err.text);
	ok(registry_find("alreduce", jobs, &e, &err) == ORR_EINPUT && !strstr(err.text, "did you mean \"allreduce\"?"),
		"or of the wanted one: %s", err.text);
	ok(registry_find("./nosuch.so", jobs, &e, &err) == ORR_EINPUT && strstr(err.text, "./nosuch.so: No such file"),
		"a missing plugin: %s", err.text);
	ok(registry_find("nosuch.so", jobs, &e, &err) == ORR_EINPUT && strstr(err.text, "nosuch.so: No such file"), "also without a path");
	ok(registry_find(".so", jobs, &e, &err) == ORR_EINPUT && strstr(err.text, "unknown policy \".so\""),
		"an ending alone is a name: %s", err.text);
	char name[8];
	registry_display_name("a_b_c_d_e_f", name, sizeof name);
	same_text(name, "a-b-c-d", "names are cut to the room that there is");
}

int main(void)
{
	test_number();
	test_widest();
	test_remark();
	test_trial();
	test_registry();
	return done();
}

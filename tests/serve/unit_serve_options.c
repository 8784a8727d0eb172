/* SPDX-License-Identifier: GPL-3.0-or-later */
/* unit_serve_options.c - options of the serving world: words, limits, defaults, tables of slowdowns, and batches that are NULL */
#include "serve/options.h"

#include "tests/serve/serve_script.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static struct orr_error err;

static const char *const models_text[] = { "{\"name\":\"a\",\"source\":\"s\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[10]}",
	"{\"name\":\"bc\",\"source\":\"s\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[10]}" };

/* Returns the settings of two models, "a" and "bc", or NULL with err if an option is invalid. The caller frees *args. */
static struct serve_settings *settings(const char *pairs, struct orr_args **args)
{
	struct served *model[2];
	char text[400], *save = NULL;
	err = (struct orr_error){ 0 };
	*args = args_new(serve_options, "serve", &err);
	snprintf(text, sizeof text, "%s", pairs);
	for (char *pair = strtok_r(text, " ", &save); pair; pair = strtok_r(NULL, " ", &save))
		args_set_pair(*args, pair, &err);
	for (int i = 0; i < 2; i++)
		model[i] = served_parse("model", models_text[i], strlen(models_text[i]), &err);
	struct serve_config c = { .model = model, .n_models = 2, .options = *args };
	struct serve_settings *s = err.code ? NULL : settings_new(&c, &err);
	for (int i = 0; i < 2; i++)
		served_free(model[i]);
	return s;
}

static void done_with(struct serve_settings *s, struct orr_args *args)
{
	settings_free(s);
	args_free(args);
}

static void test_defaults(void)
{
	struct orr_args *args;
	struct serve_settings *s = settings("", &args);
	ok(s && s->queue_limit == UINT64_MAX && s->shed == SHED_NO && isinf(s->slo_s) && isinf(s->slo_ttft_s) && isinf(s->slo_tpot_s) &&
			!s->any_model,
		"no limit of a queue, no SLO");
	ok(s && s->interference == INTERFERENCE_NONE && !s->slowdown && !s->curve && s->n_curve == SIZE_MAX && isinf(s->utilisation_limit),
		"no interference");
	ok(s && s->exit == EXIT_INTERVAL && s->exit_interval_s == 0 && s->resume_cost_s == 0 && s->preloaded,
		"a run can be aborted at once");
	ok(s && s->kv_block == 16 && s->kv_part == 0.9 && !s->prefix_cache && s->swap_Bps == 16e9 && s->kv_Bps == 25e9 &&
			s->kv_latency_s == 0 && !s->kv_overlap && s->pipeline == PIPELINE_SERIAL && s->tbt == TBT_TPOT &&
			s->max_calls == 1000 && s->warmup == 0 && s->ci_level == 0.95,
		"the documented defaults");
	near_to(serve_kv_reads(args), 1, 0, "an ideal engine reads keys and values once");
	done_with(s, args);
	s = settings(
		"queue_limit=3 slo=2s slo_ttft=300ms slo_tpot=40ms any_model=true utilisation_limit=1.5 exit_interval=5ms resume_cost=7ms "
		"preloaded=false kv_block=32 kv_part=0.5 prefix_cache=true swap_Bps=1e9 kv_Bps=2e9 kv_latency=9us kv_overlap=true "
		"pipeline=micro-batches "
		"max_calls_per_instant=7 warmup=0.25 ci_level=0.9 kv_reads=4",
		&args);
	ok(s && s->queue_limit == 3 && s->slo_s == 2 && s->slo_ttft_s == 0.3 && s->slo_tpot_s == 0.04 && s->any_model &&
			s->utilisation_limit == 1.5,
		"limits");
	ok(s && s->exit_interval_s == 0.005 && s->resume_cost_s == 0.007 && !s->preloaded && s->kv_block == 32 && s->kv_part == 0.5 &&
			s->prefix_cache && s->swap_Bps == 1e9 && s->kv_Bps == 2e9 && s->kv_latency_s == 9e-6 && s->kv_overlap &&
			s->pipeline == PIPELINE_MICRO_BATCHES && s->max_calls == 7 && s->warmup == 0.25 && s->ci_level == 0.9,
		"values that are given");
	near_to(serve_kv_reads(args), 4, 0, "a number of reads that is given");
	done_with(s, args);
}

static void test_words(void)
{
	static const char *const sheds[] = { "no", "late", "hopeless" }, *const exits[] = { "now", "interval", "layer" };
	char pair[60];
	struct orr_args *args;
	for (int i = 0; i < 3; i++) {
		snprintf(pair, sizeof pair, "shed=%s exit=%s", sheds[i], exits[i]);
		struct serve_settings *s = settings(pair, &args);
		ok(s && (int)s->shed == i && (int)s->exit == i, "%s", pair);
		done_with(s, args);
	}
	struct serve_settings *s = settings("tbt=splitwise interference=occupancy", &args);
	ok(s && s->tbt == TBT_SPLITWISE && s->interference == INTERFERENCE_OCCUPANCY && !s->slowdown,
		"tbt=splitwise interference=occupancy");
	done_with(s, args);
}

static void expect_slowdowns(const char *text, double aa, double ab, double ba, double bb)
{
	char pairs[300];
	struct orr_args *args;
	snprintf(pairs, sizeof pairs, "interference=pairwise slowdowns=%s", text);
	struct serve_settings *s = settings(pairs, &args);
	ok(s && s->slowdown[0] == aa && s->slowdown[1] == ab && s->slowdown[2] == ba && s->slowdown[3] == bb, "slowdowns %s%s%s", text,
		s ? "" : ": ", s ? "" : err.text);
	done_with(s, args);
}

static void test_slowdowns(void)
{
	expect_slowdowns("", 1, 1, 1, 1);
	expect_slowdowns("a:bc=1.5", 1, 1.5, 1, 1);
	expect_slowdowns("bc:a=2,a:a=1,bc:bc=1e6", 1, 1, 2, 1e6);
	expect_slowdowns("a:bc=1.5,,a:bc=3", 1, 3, 1, 1);
	char path[] = "/tmp/unit_serve_options_XXXXXX.csv";
	int fd = mkstemps(path, 4);
	FILE *f = fdopen(fd, "w");
	fputs("a:a=1.25\r\n\r\nbc:a=3\na:bc=2", f);
	fclose(f);
	expect_slowdowns(path, 1.25, 2, 3, 1);
	unlink(path);
	static const char *const bad[] = { "a", "a:bc", "a=2", "a:bc=", "a:bc=x", "a:bc=0.99", "a:bc=1000001", "a:bc=nan", "a:bc=2x" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char pairs[100];
		struct orr_args *args;
		snprintf(pairs, sizeof pairs, "interference=pairwise slowdowns=%s", bad[i]);
		struct serve_settings *s = settings(pairs, &args);
		ok(!s && err.code == ORR_EINPUT && strstr(err.text, "serve.slowdowns: expected model:beside=FACTOR") &&
				strstr(err.text, bad[i]),
			"refused: %s: %s", bad[i], err.text);
		done_with(s, args);
	}
	struct orr_args *args;
	struct serve_settings *s = settings("interference=pairwise slowdowns=a:bc=2,a:b=3", &args);
	ok(!s && strstr(err.text, "serve.slowdowns: \"a:b=3\": expected served models, found \"b\""), "an unknown second model: %s",
		err.text);
	done_with(s, args);
	s = settings("interference=pairwise slowdowns=bd:a=2", &args);
	ok(!s && strstr(err.text, "serve.slowdowns: \"bd:a=2\": expected served models, found \"bd\""), "an unknown first model: %s",
		err.text);
	done_with(s, args);
	s = settings("slowdowns=bd:a=2", &args);
	ok(s && !s->slowdown, "slowdowns without interference=pairwise are not read");
	done_with(s, args);
}

static void test_curve(void)
{
	static const struct {
		const char *curve, *expected;
	} bad[] = { { "", "serve.interference=curve: expected serve.slowdown_curve=1,.." },
		{ "2", "serve.slowdown_curve: with 1 run: expected 1, for a single run, found 2" },
		{ "1,0.5", "serve.slowdown_curve: with 2 runs: expected a factor from 1 to 1e6, found 0.5" },
		{ "1,1,1000001", "serve.slowdown_curve: with 3 runs: expected a factor from 1 to 1e6" } };
	struct orr_args *args;
	struct serve_settings *s = settings("interference=curve slowdown_curve=1,1,2.5,1e6", &args);
	ok(s && s->n_curve == 4 && s->curve[2] == 2.5 && s->curve[3] == 1e6, "a curve of four runs");
	done_with(s, args);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char pairs[100];
		snprintf(pairs, sizeof pairs, "interference=curve %s%s", *bad[i].curve ? "slowdown_curve=" : "", bad[i].curve);
		s = settings(pairs, &args);
		ok(!s && err.code == ORR_EINPUT && strstr(err.text, bad[i].expected), "refused: %s", err.text);
		done_with(s, args);
	}
}

/* ---- batches that are NULL ---- */

static int trick;

static void null_schedule(struct orr_serve *w, uint32_t replica)
{
	orr_req r = script.queue.first;
	const struct orr_batch empty = { .n = 1 }, whole = { .req = &r, .n = 1 }, wrong_part = { .req = &r, .n = 1, .part = 2 },
			       no_model = { .req = &r, .n = 1, .model = 5 };
	if (!r || script.seen++)
		return;
	ok(!orr_run_fits(w, replica, NULL, 0) && !orr_run_fits(w, replica, &empty, 0) && !orr_run_fits(w, 9, &whole, 0) &&
			!orr_run_fits(w, replica, &wrong_part, 0) && !orr_run_fits(w, replica, &no_model, 0) &&
			!orr_run_fits_instead(w, 9, &whole, 0) && isinf(orr_run_fits_after(w, 9, &whole)),
		"a batch that cannot be started does not fit");
	ok(orr_run_fits(w, replica, &whole, 0) && orr_run_fits(w, replica, &whole, -1) && orr_run_fits_instead(w, replica, &whole, 0),
		"a batch of one request fits");
	near_to(orr_run_fits_after(w, replica, &whole), 0, 0, "and needs no delay");
	ok(!orr_run_start(w, replica, trick ? &empty : NULL), "no run is started");
}

static void test_null(void)
{
	for (trick = 0; trick < 2; trick++) {
		script_set((struct script){ .arrive = script_push, .schedule = null_schedule });
		ok(strstr(script_error(models_text[0], "arrival_s\n0\n", NULL),
			   "start of a batch: a pointer is NULL: expected an object") != NULL,
			"%s", script.error.text);
	}
}

int main(void)
{
	test_defaults();
	test_words();
	test_slowdowns();
	test_curve();
	test_null();
	return done();
}

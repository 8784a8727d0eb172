/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speculative decoding: closed forms (Leviathan et al., ICML 2023) and runs that meet them. Expected values: computed apart from this
 * program from the formulas of docs/models/serve-speculation.md.
 */
#include "hwmodel/speculation.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include "results/result.h"
#include "traces/requests.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca, orr_policy_serve_mlfq;

static struct acceptance rate(double a)
{
	return (struct acceptance){ { a }, 1 };
}

static double tokens(double a, uint32_t g)
{
	struct acceptance x = rate(a);
	return speculation_tokens(&x, g);
}

static void check_means(void)
{
	static const uint32_t g[] = { 1, 2, 3, 4, 5, 7, 10 };
	static const double half[] = { 1.5, 1.75, 1.875, 1.9375, 1.96875, 1.9921875, 1.9990234375 },
			    most[] = { 1.7, 2.19, 2.533, 2.7731, 2.94117, 3.14117331, 3.267422 };
	bool exact = true, close = true;
	for (int i = 0; i < 7; i++) {
		exact &= tokens(.5, g[i]) == half[i];
		close &= fabs(tokens(.7, g[i]) - most[i]) <= 1e-6;
	}
	ok(exact && close, "S1, S2: mean tokens of a pass at rates .5 and .7");
	ok(fabs(tokens(.8, 4) - 3.3616) < 1e-9 && fabs(tokens(.8, 5) - 3.68928) < 1e-9 && fabs(tokens(.9, 4) - 4.0951) < 1e-9 &&
			fabs(tokens(.9, 5) - 4.68559) < 1e-9 && tokens(1, 6) == 7 && tokens(0, 6) == 1,
		"S3: at rates .8, .9, 1 and 0");
	static const double chance[] = { .3, .21, .147, .1029, .2401 };
	struct acceptance a = rate(.7);
	double worst = 0, square = 0, mean = tokens(.7, 4);
	for (uint32_t j = 1; j <= 5; j++) {
		worst = fmax(worst, fabs(speculation_chance(&a, 4, j) - chance[j - 1]));
		square += j * j * speculation_chance(&a, 4, j);
	}
	ok(worst <= 1e-9 && fabs(square - mean * mean - 2.42181639) <= 1e-9, "S4: distribution and variance at rate .7 with 4 drafts");
	struct acceptance b = { { .6, .5, .4 }, 3 }, c = { { .8, .7, .6, .5 }, 4 };
	ok(fabs(speculation_tokens(&b, 3) - 2.02) <= 1e-12 && fabs(speculation_tokens(&c, 4) - 2.864) <= 1e-12, "S11: rates by position");
	ok(speculation_lookahead(.5, 4, 1) == 1.9375 && fabs(speculation_lookahead(.5, 4, 4) - 3.2624359131) <= 1e-9,
		"S10: lookahead decoding");
	a = rate(.7);
	b = rate(.8);
	ok(fabs(speculation_operations(&a, 4, .1) - 1.947279218) <= 1e-9 && fabs(speculation_operations(&b, 5, .05) - 1.694097493) <= 1e-9,
		"S9: operations per token");
}

static void check_best(void)
{
	static const struct {
		double a, cost, speedup;
		uint32_t g;
	} want[] = { { .7, .01, 2.971720, 9 }, { .7, .02, 2.757605, 8 }, { .7, .1, 1.980786, 4 }, { .7, .2, 1.583125, 3 },
		{ .8, .05, 3.092080, 8 }, { .8, .1, 2.469640, 6 }, { .5, .1, 1.458333, 2 }, { .3, .3, 1, 0 }, { .2, .5, 1, 0 } };
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		struct acceptance a = rate(want[i].a);
		uint32_t g = speculation_best(&a, 64, want[i].cost);
		ok(g == want[i].g && fabs(speculation_speedup(&a, g, want[i].cost) - want[i].speedup) <= 1e-6,
			"S5 to S7: rate %g, cost %g: %u drafts are best, %.6f", want[i].a, want[i].cost, g,
			speculation_speedup(&a, g, want[i].cost));
	}
}

static void check_passes(void)
{
	static const struct {
		double a;
		uint32_t g, n;
		double passes;
	} want[] = { { .5, 2, 10, 6.041015625 }, { .7, 4, 128, 46.634889578 }, { .8, 5, 128, 35.201538520 },
		{ .8, 5, 1000, 271.562020782 } };
	for (int i = 0; i < 4; i++) {
		struct acceptance a = rate(want[i].a);
		near_to(speculation_passes(&a, want[i].g, want[i].n), want[i].passes, 1e-10, "S8: passes for exactly n tokens");
	}
}

/* An iteration takes 5 + .05 T + 1e-4 C ms; each of b decodes has 1000 tokens of context; a draft pass takes .1 of a plain one. */
static const char batch_model[] = "{\"name\": \"b\", \"title\": \"t\", \"source\": \"made up\", \"kind\": \"llm\", \"weight_bytes\": 0, "
				  "\"kv_bytes_per_token\": 1, \"longest\": 1000000, \"closed\": {\"constant_ms\": 5, \"token_ms\": 0.05, "
				  "\"context_ms\": 1e-4, \"pair_ms\": 0}}";

static double gain(struct served_on *x, const struct acceptance *a, uint32_t b, uint32_t g)
{
	struct llm_load load = { .decodes = b, .decode_context = 1000.0 * b };
	return speculation_tokens(a, g) * served_iteration(x, &load) / speculation_s(x, &load, g, 0, .1);
}

static uint32_t least_batch_without_gain(struct served_on *x, double a, uint32_t g)
{
	struct acceptance r = rate(a);
	uint32_t b = 1;
	while (gain(x, &r, b, g) > 1)
		b++;
	return b;
}

static void check_batches(void)
{
	static const struct {
		uint32_t b, best;
		double gain[5];
	} want[] = { { 1, 4, { 1.531934, 1.795939, 1.905763, 1.927323, 1.899314 } },
		{ 8, 3, { 1.459834, 1.647816, 1.695961, 1.672492, 1.613739 } },
		{ 32, 2, { 1.345719, 1.434626, 1.415245, 1.350715, 1.269756 } },
		{ 128, 2, { 1.245912, 1.266683, 1.210000, 1.128262, 1.042113 } } };
	struct orr_error err = { 0 };
	struct served *m = served_parse("m", batch_model, strlen(batch_model), &err);
	struct served_place place = { .tp = 1, .pp = 1 };
	struct served_on *x = m ? served_on_new(m, &place, &err) : NULL;
	if (!ok(x, "the model is read %s", err.text))
		return;
	struct acceptance a = rate(.7);
	for (int i = 0; i < 4; i++) {
		double worst = 0;
		for (uint32_t g = 1; g <= 5; g++)
			worst = fmax(worst, fabs(gain(x, &a, want[i].b, g) - want[i].gain[g - 1]));
		struct llm_load load = { .decodes = want[i].b, .decode_context = 1000.0 * want[i].b };
		uint32_t best = speculation_best_for(x, &load, &a, 10, 0, .1);
		ok(worst <= 1e-6 && best == want[i].best, "S13 to S16, S20: batch %u: gains within %.1g; %u drafts are best", want[i].b,
			worst, best);
	}
	ok(least_batch_without_gain(x, .3, 2) == 14 && least_batch_without_gain(x, .5, 4) == 23, "S17: no gain from batches of 14 and 23");
	served_on_free(x);
	served_free(m);
}

/* ---- runs ---- */

/* Every iteration takes 10 ms, so its number can be read from the times. */
static const char flat_model[] = "{\"name\": \"f\", \"title\": \"t\", \"source\": \"made up\", \"kind\": \"llm\", \"weight_bytes\": 0, "
				 "\"kv_bytes_per_token\": 1, \"longest\": 1000000, \"closed\": {\"constant_ms\": 10, \"token_ms\": 0, "
				 "\"context_ms\": 0, \"pair_ms\": 0}}";

static struct run_result *run(const char *rows, const char *model, const struct orr_policy *policy, uint32_t blocks, const char *options)
{
	struct orr_error err = { 0 };
	struct reqset *set = llm_requests(rows, &err);
	struct llm_run x = { .requests = set, .model = model, .kv_blocks = blocks, .policy = policy, .options = options };
	struct run_result *r = set ? llm_serve(&x, &err) : NULL;
	if (!r)
		ok(false, "%s: %s", options, err.text);
	reqset_free(set);
	return r;
}

/* Returns the number of passes of the only request, of n + 1 output tokens: the first token comes from the prompt. */
static double passes_of(uint32_t n, const char *options)
{
	char rows[200];
	snprintf(rows, sizeof rows, "arrival_s,prompt_tokens,output_tokens\n0,16,%u\n", n + 1);
	struct run_result *r = run(rows, flat_model, &orr_policy_serve_vllm, 1000, options);
	double s = r ? r->requests[0].completed_s - r->requests[0].first_token_s : NAN;
	result_free(r);
	return round(s / .01);
}

static void check_patterns(void)
{
	static const struct {
		const char *pattern;
		uint32_t g, n, passes;
	} want[] = { { "110", 4, 30, 10 }, { "11110", 4, 100, 33 }, { "10", 2, 20, 10 } };
	for (int i = 0; i < 3; i++) {
		char path[] = "/tmp/unit_speculation_XXXXXX.txt", options[200];
		int fd = mkstemps(path, 4);
		FILE *f = fdopen(fd, "w");
		fprintf(f, "%s\n", want[i].pattern);
		fclose(f);
		snprintf(options, sizeof options, "draft_tokens=%u draft_cost=0 draft_acceptance=%s", want[i].g, path);
		double got = passes_of(want[i].n, options);
		ok(got == want[i].passes, "S12: pattern %s, %u drafts: %u tokens in %g passes", want[i].pattern, want[i].g, want[i].n, got);
		remove(path);
	}
	ok(passes_of(60, "draft_tokens=5 draft_cost=0 draft_acceptance=1 draft_check=1") == 10, "S19: all accepted, free: 6 times as fast");
	ok(passes_of(61, "draft_tokens=5 draft_cost=0 draft_acceptance=1") == 11, "tokens beyond the output are dropped");
	ok(passes_of(50, "draft_tokens=5 draft_cost=0 draft_acceptance=0") == 50, "none accepted: one token per pass");
	ok(passes_of(50, "draft_tokens=5 draft_cost=0.1 draft_acceptance=0") == 75, "five draft passes of 0.1 of a plain one");
	ok(passes_of(40, "draft_tokens=3 draft_cost=0 draft_acceptance=1,0") == 20,
		"rates by position: the second draft is never accepted");
	ok(passes_of(40, "draft_tokens=3 draft_cost=0 draft_acceptance=1 draft_adapt=true") == 10, "draft_adapt drafts as many as pay");
	ok(passes_of(40, "draft_tokens=3 draft_cost=0.5 draft_acceptance=0.2 draft_adapt=true") == 40,
		"draft_adapt drafts none that do not pay");
}

/* Many requests: the mean number of passes is that of the closed form within 4 standard errors. */
static void check_sampled(void)
{
	enum { REQUESTS = 3000, OUTPUT = 128 };
	static char rows[REQUESTS * 32];
	size_t at = (size_t)snprintf(rows, sizeof rows, "arrival_s,prompt_tokens,output_tokens\n");
	for (int i = 0; i < REQUESTS; i++)
		at += (size_t)snprintf(rows + at, sizeof rows - at, "%d,16,%d\n", i * 10, OUTPUT + 1);
	struct run_result *r = run(rows, flat_model, &orr_policy_serve_vllm, 1000, "draft_tokens=4 draft_cost=0 draft_acceptance=0.7");
	double sum = 0, square = 0;
	for (size_t i = 0; r && i < r->n_requests; i++) {
		double n = round((r->requests[i].completed_s - r->requests[i].first_token_s) / .01);
		sum += n;
		square += n * n;
	}
	double mean = sum / REQUESTS, error = sqrt((square / REQUESTS - mean * mean) / REQUESTS);
	ok(fabs(mean - 46.634889578) <= 4 * error && error > 0, "S8: %.3f passes per request, 46.635 expected, standard error %.3f", mean,
		error);
	ok(r && fabs(llm_metric(r, "tokens_per_pass") - 2.7731) < .02, "%.4f tokens per pass, 2.7731 expected",
		llm_metric(r, "tokens_per_pass"));
	ok(r && llm_metric(r, "draft_tokens") == llm_metric(r, "draft_tokens_accepted") + llm_metric(r, "draft_tokens_rejected"),
		"accepted + rejected = drafted");
	result_free(r);
}

/* A busy replica with a small cache under several policies: --check holds blocks and tokens to their laws. Nothing accepted: each request
 * ends as in plain decoding or later. */
static void check_busy(void)
{
	enum { REQUESTS = 300 };
	static char rows[REQUESTS * 40];
	size_t at = (size_t)snprintf(rows, sizeof rows, "arrival_s,prompt_tokens,output_tokens\n");
	uint32_t seed = 5;
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t x = seed = seed * 1664525 + 1013904223;
		at += (size_t)snprintf(rows + at, sizeof rows - at, "%g,%u,%u\n", i * .05, 1 + (x >> 20) % 300, 1 + (x >> 10) % 90);
	}
	const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi, &orr_policy_serve_orca,
		&orr_policy_serve_mlfq };
	for (int i = 0; i < 4; i++) {
		for (int tight = 0; tight < 2; tight++) {
			uint32_t blocks = tight ? 60 : 4000;
			struct run_result *r = run(rows, NULL, policies[i], blocks, "draft_tokens=4 draft_acceptance=0.7 draft_cost=0.05");
			/* orca refuses requests for which it cannot reserve the model's context. */
			ok(r && llm_metric(r, "requests_completed") + llm_metric(r, "requests_refused") == REQUESTS &&
					(llm_metric(r, "draft_iterations") > 0 || llm_metric(r, "requests_refused") == REQUESTS),
				"%s, %u blocks: all complete (%g preemptions)", policies[i]->name, blocks,
				r ? llm_metric(r, "preemptions") : NAN);
			result_free(r);
		}
		struct run_result *plain = run(rows, NULL, policies[i], 4000, "draft_tokens=0"),
				  *none = run(rows, NULL, policies[i], 4000, "draft_tokens=4 draft_acceptance=0 draft_cost=0.05");
		bool later = plain && none && plain->n_requests == none->n_requests;
		unsigned differ = 0;
		for (size_t k = 0; later && k < plain->n_requests; k++) {
			later = none->requests[k].output_tokens == plain->requests[k].output_tokens;
			differ += none->requests[k].completed_s > plain->requests[k].completed_s;
		}
		ok(later && differ > REQUESTS * 9 / 10 && llm_metric(none, "completion_mean") > llm_metric(plain, "completion_mean"),
			"%s: none accepted: the same tokens, later", policies[i]->name);
		result_free(plain);
		result_free(none);
	}
	struct run_result *off = run(rows, NULL, &orr_policy_serve_vllm, 4000, "draft_tokens=4 draft_acceptance=0.7 draft_most_decodes=2"),
			  *on = run(rows, NULL, &orr_policy_serve_vllm, 4000, "draft_tokens=4 draft_acceptance=0.7");
	ok(off && on && llm_metric(off, "draft_iterations") < llm_metric(on, "draft_iterations") && llm_metric(off, "draft_iterations") > 0,
		"draft_most_decodes switches off under load (%g and %g iterations)", llm_metric(off, "draft_iterations"),
		llm_metric(on, "draft_iterations"));
	result_free(off);
	result_free(on);
}

/* None accepted, each request alone: every completion is at the plain one or later. */
static void check_alone(void)
{
	static const char rows[] = "arrival_s,prompt_tokens,output_tokens\n0,100,40\n30,7,1\n60,300,200\n";
	struct run_result *plain = run(rows, NULL, &orr_policy_serve_vllm, 400, "draft_tokens=0"),
			  *none = run(rows, NULL, &orr_policy_serve_vllm, 400, "draft_tokens=3 draft_acceptance=0");
	bool good = plain && none;
	for (int i = 0; good && i < 3; i++)
		good = none->requests[i].completed_s >= plain->requests[i].completed_s &&
		       none->requests[i].first_token_s == plain->requests[i].first_token_s;
	ok(good, "S18: none accepted: first tokens equal, no completion earlier");
	result_free(plain);
	result_free(none);
}

static void check_errors(void)
{
	static const char *const wrong[] = { "draft_tokens=2", "draft_tokens=2 draft_acceptance=1.5",
		"draft_tokens=2 draft_acceptance=.5,x", "draft_tokens=2 draft_acceptance=.5 pipeline=micro-batches" };
	static const char *const says[] = { "expected serve.draft_acceptance=PROBABILITY", "expected 1 to 64 probabilities",
		"found \".5,x\"", "expected serve.pipeline=serial" };
	struct orr_error err = { 0 };
	struct reqset *set = llm_requests("arrival_s,prompt_tokens,output_tokens\n0,1,1\n", &err);
	for (int i = 0; i < 4; i++) {
		struct llm_run x = { .requests = set, .kv_blocks = 10, .policy = &orr_policy_serve_vllm, .options = wrong[i] };
		struct run_result *r = llm_serve(&x, &err);
		ok(!r && err.code == ORR_EINPUT && strstr(err.text, says[i]), "%s: %s", wrong[i], err.text);
		result_free(r);
	}
	reqset_free(set);
}

int main(void)
{
	check_means();
	check_best();
	check_passes();
	check_batches();
	check_patterns();
	check_sampled();
	check_busy();
	check_alone();
	check_errors();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Served models: values of tables are looked up or refused; the closed form and the curves against numbers computed here;
 * invalid files are refused with their position. Times by layers: unit_served_layers.c.
 */
#include "hwmodel/served.h"

#include "tests/tap.h"

#include <stdlib.h>

static struct served *load(const char *name)
{
	struct orr_error err = { 0 };
	struct served *m = served_load(name, &err);
	if (!m)
		printf("# %s\n", err.text);
	return m;
}

static struct served *parse(const char *text)
{
	struct orr_error err = { 0 };
	struct served *m = served_parse("in", text, strlen(text), &err);
	if (!m)
		printf("# %s\n", err.text);
	return m;
}

/* ---- the catalogue ---- */

static void check_catalogue(void)
{
	uint32_t n = 0, bad = 0, tables = 0;
	for (; served_catalogue(n); n++) {
		struct served *m = load(served_catalogue(n));
		bad += !m || strcmp(m->name, served_catalogue(n)) || strlen(m->source) < 10 || !m->title || strlen(m->title) < 4 ||
		       strlen(m->hash) != 64;
		tables += m && m->kind == SERVED_TABLE;
		served_free(m);
	}
	ok(n >= 20 && !bad && tables >= 16, "%u models are shipped, %u of them tables, and each has a title and a source", n, tables);
	struct orr_error err = { 0 };
	ok(!served_load("irina-vgg61", &err) && strstr(err.text, "did you mean \"irina-vgg16\"?"),
		"an unknown name: the message gives the nearest one");
	ok(!served_load("/none/such.json", &err) && strstr(err.text, "/none/such.json"), "a missing file");
}

/* ---- tables ---- */

/* Irina, figure 4: the latency curves have steps at batch 17 (VGG-16) and 15 (YOLOv3). Also tests the table of the worked examples. */
static void check_irina(void)
{
	struct served *vgg = load("irina-vgg16-curve"), *yolo = load("irina-yolov3-curve"), *a = load("irina-a"), *c = load("irina-c");
	if (!ok(vgg && yolo && a && c, "Irina's models"))
		return;
	ok(served_latency(vgg, 16, 0) == 32.27 / 1000 && served_latency(vgg, 17, 0) == 45.45 / 1000,
		"VGG-16 steps from 32.27 to 45.45 ms at 17");
	ok(served_latency(yolo, 14, 0) == 94.03 / 1000 && served_latency(yolo, 15, 0) == 113.15 / 1000,
		"YOLOv3 steps from 94.03 to 113.15 ms at 15");
	ok(served_latency(a, 8, 0) == 0.075 && served_latency(a, 16, 0) == 0.085, "model A: 75 and 85 ms");
	ok(isnan(served_latency(a, 12, 0)) && isnan(served_latency(a, 0, 0)) && isnan(served_latency(a, 33, 0)) &&
			isnan(served_latency(yolo, 17, 0)),
		"a batch outside the table is refused");
	ok(served_batch_for(a, 1) == 4 && served_batch_for(a, 8) == 8 && served_batch_for(a, 9) == 16 && served_batch_for(a, 33) == 0,
		"the smallest sufficient batch");
	struct served_memory m = served_memory_of(c, 10), none = served_memory_of(c, 9);
	ok(m.before == 0 && m.peak == 65.0 * 85899345 && m.peak_from_s == 0.1 && isinf(none.peak),
		"65 %% of 8 GiB from 100 ms on; no memory for a batch of 9");
	near_to(c->utilisation, 0.7, 0, "the share of the GPU that a run keeps busy");
	served_free(vgg);
	served_free(yolo);
	served_free(a);
	served_free(c);
}

static const char grid[] = "{\"name\":\"g\",\"source\":\"s\",\"kind\":\"table\",\"between\":\"%s\",\"batch\":[2,4,8],\"length\":[100,200],"
			   "\"latency_ms\":[[10,12,20],[15,20,40]],\"memory\":[100,{\"before\":150,\"peak\":300,\"peak_from_ms\":4},{"
			   "\"before\":250,\"peak\":500,\"peak_from_ms\":8}],"
			   "\"memory_unit_bytes\":10,\"load_ms\":250,\"weight_bytes\":77,\"slo_ms\":40,\"exit_points\":3,\"occupancy\":0."
			   "25,\"noise\":\"exponential\"}";

static struct served *grid_of(const char *between)
{
	char text[sizeof grid + 20];
	snprintf(text, sizeof text, grid, between);
	return parse(text);
}

static void check_between(void)
{
	struct served *exact = grid_of("refuse"), *up = grid_of("up"), *line = grid_of("linear");
	if (!ok(exact && up && line, "a table of batches and lengths"))
		return;
	ok(served_latency(exact, 4, 200) == 0.020 && isnan(served_latency(exact, 3, 200)) && isnan(served_latency(exact, 4, 150)) &&
			isnan(served_latency(exact, 4, 0)),
		"refuse: only sizes of the table, in both dimensions");
	ok(served_latency(up, 1, 1) == 0.010 && served_latency(up, 3, 101) == 0.020 && served_latency(up, 8, 200) == 0.040 &&
			isnan(served_latency(up, 9, 100)) && isnan(served_latency(up, 8, 201)) && isnan(served_latency(up, 0, 100)),
		"up: padded to the next batch and the next length, never beyond the last");
	/* Batch 3 lies half-way between 2 and 4, with 11 and 17.5 ms. Length 150 lies half-way between two lengths of the table. */
	near_to(1e3 * served_latency(line, 3, 150), 14.25, 1e-12, "linear: between neighbours in both directions");
	near_to(1e3 * served_latency(line, 6, 100), 16, 1e-12, "linear: half-way from 12 to 20 ms");
	ok(served_latency(line, 8, 200) == 0.040 && isnan(served_latency(line, 1, 100)) && isnan(served_latency(line, 9, 100)) &&
			isnan(served_latency(line, 4, 99)),
		"linear: exact where it is in the table, nothing outside");
	struct served_memory m = served_memory_of(line, 6), p = served_memory_of(up, 5), plain = served_memory_of(exact, 2);
	ok(plain.before == 1000 && plain.peak == 1000 && plain.peak_from_s == 0, "memory as one number: all the time, in its unit");
	near_to(m.before, 2000, 1e-12, "linear: memory before the peak");
	near_to(m.peak, 4000, 1e-12, "linear: memory at the peak");
	near_to(1e3 * m.peak_from_s, 6, 1e-12, "linear: the time of the peak");
	ok(p.before == 2500 && p.peak == 5000 && p.peak_from_s == 0.008, "up: the memory of the padded batch");
	ok(exact->load_s == 0.25 && exact->weight_bytes == 77 && exact->slo_s == 0.04 && exact->layers == 3 && exact->occupancy == 0.25 &&
			exact->noise == SERVED_EXPONENTIAL && exact->utilisation == 1,
		"the other keys of a table are read");
	served_free(exact);
	served_free(up);
	served_free(line);
}

/* Tests BERT's table from NVIDIA DeepLearningExamples. The student's times are derived from it as the model file describes. */
static void check_bert(void)
{
	struct served *t4 = load("bert-base-t4"), *v100 = load("bert-large-v100"), *s = load("bert-student-2x768-t4");
	if (!ok(t4 && v100 && s, "BERT"))
		return;
	ok(served_latency(t4, 1, 128) == 8.58 / 1000 && served_latency(t4, 8, 384) == 41.53 / 1000 &&
			served_latency(v100, 4, 384) == 28.05 / 1000,
		"latencies as published");
	ok(served_latency(t4, 3, 40) == 9.93 / 1000, "three sequences of 40 tokens run as four of 128");
	double worst = 0;
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t b = s->batch[i % 4], l = s->length[i / 4];
		worst = fmax(worst, fabs(1e3 * served_latency(s, b, l) - (0.8 + (1e3 * served_latency(t4, b, l) - 0.8) * 2 / 12)));
	}
	near_to(worst, 0, 1e-6, "the student: o + (L - o) x 2/12 with o = 0.8 ms, to the 6 digits of its file");
	near_to(served_latency(t4, 1, 128) / served_latency(s, 1, 128), 4.1, 0.01,
		"the student is 4.1 times faster, the value to which o was fitted");
	served_free(t4);
	served_free(v100);
	served_free(s);
}

/* ---- language models ---- */

static struct served_on *on(const struct served *m, const struct device *d)
{
	struct orr_error err = { 0 };
	struct served_place p = { .device = d, .tp = 1, .pp = 1, .precision = PRECISION_FP16 };
	struct served_on *x = served_on_new(m, &p, &err);
	if (!x)
		printf("# %s\n", err.text);
	return x;
}

/* Tests the closed form of microsoft/vidur's pipelines: constants per stage and per hop. */
static void check_closed_stages(void)
{
	struct served *m = parse("{\"name\":\"o\",\"source\":\"s\",\"kind\":\"llm\",\"weight_bytes\":1e9,\"kv_bytes_per_token\":100,"
				 "\"closed\":{\"constant_ms\":4,\"token_ms\":0.05,\"context_ms\":1e-4,\"pair_ms\":1e-6,\"stage_ms\":1,"
				 "\"hop_ms\":0.05,\"hop_token_ms\":2e-4}}");
	struct orr_error err = { 0 };
	struct device *d = device_load("a100-80g", &err);
	struct served_place p = { .device = d, .tp = 1, .pp = 4 };
	struct served_on *x = m && d ? served_on_new(m, &p, &err) : NULL, *one = m && d ? on(m, d) : NULL;
	if (!ok(x && one, "a closed form with constants of stages %s", err.text))
		return;
	struct llm_load w = { .decodes = 30, .prompts = 2, .prompt_tokens = 700, .decode_context = 12345, .prompt_pairs = 250000 };
	/* 1 + (4 + 36.5 + 1.2345 + 0.25) / 4 ms, and a hop of 0.05 + 0.146 ms after the first three. */
	near_to(served_stage_s(x, &w, 3), 11.496125e-3, 1e-15, "the last stage sends nothing");
	near_to(served_stage_s(x, &w, 0), 11.692125e-3, 1e-15, "the first stage sends its output");
	near_to(served_iteration(x, &w), 3 * 11.692125e-3 + 11.496125e-3, 1e-15, "the iteration is the sum of its stages");
	near_to(served_iteration(one, &w), 42.9845e-3, 1e-15, "one stage: 1 + 4 ms and no hop");
	served_on_free(x);
	served_on_free(one);
	served_free(m);
	device_free(d);
}

/* Tests the form by fits: docs/models/serve-disaggregation.md. */
static void check_fits(void)
{
	struct served *m =
		parse("{\"name\":\"o\",\"source\":\"s\",\"kind\":\"llm\",\"weight_bytes\":1e9,\"kv_bytes_per_token\":100,"
		      "\"fits\":{\"prompt_pp_ms\":1,\"first_ms\":2,\"first_token_ms\":1e-4,\"by_tp\":[{\"tp\":1,"
		      "\"prefill_ms\":[18,0.1,1e-5],\"decode_ms\":[20,1e-3,0.04],\"large_ms\":[8,1e-3,0.16],\"large_from\":95}]}}");
	struct orr_error err = { 0 };
	struct served_place p = { .tp = 1, .pp = 2 }, other = { .tp = 4, .pp = 1 };
	struct served_on *x = m ? served_on_new(m, &p, &err) : NULL;
	if (!ok(x != NULL, "fits by tensor parallelism %s", err.text))
		return;
	struct llm_load prompts = { .prompts = 2, .prompt_tokens = 300, .prompt_pairs = 50000 };
	/* (18 + 30 + 0.5) / 2 + 1 x 2 ms, and 2 + 0.03 ms in the first stage. */
	near_to(served_stage_s(x, &prompts, 1), 26.25e-3, 1e-15, "a stage of prompts");
	near_to(served_stage_s(x, &prompts, 0), 28.28e-3, 1e-15, "the first stage of prompts");
	near_to(served_iteration(x, &prompts), 54.53e-3, 1e-15, "both stages");
	/* 10 decodes with 5,000 tokens done: (20 + 5 + 0.4) / 2 ms; the first stage adds 2 + 0.499 ms. 95 decodes: (8 + 5 + 15.2) / 2 ms.
	 */
	struct llm_load decodes = { .decodes = 10, .decode_context = 5000 };
	near_to(served_stage_s(x, &decodes, 1), 12.7e-3, 1e-15, "a stage of decodes");
	near_to(served_stage_s(x, &decodes, 0), 15.199e-3, 1e-15, "the first stage of decodes");
	decodes.decodes = 95;
	near_to(served_stage_s(x, &decodes, 1), 14.1e-3, 1e-15, "many decodes");
	ok(!served_on_new(m, &other, &err) && strstr(err.text, "no fit for tensor parallelism of 4: expected one of $.fits.by_tp"),
		"a tensor parallelism without a fit");
	served_on_free(x);
	served_free(m);
}

/* Tests the closed form of the microsoft/vidur oracle: an iteration takes 5 + 0.05 T + 1e-4 C + 1e-6 P ms. */
static void check_closed(void)
{
	struct served *m =
		parse("{\"name\":\"o\",\"source\":\"s\",\"kind\":\"llm\",\"weight_bytes\":1e9,\"kv_bytes_per_token\":100,\"longest\":4096,"
		      "\"closed\":{\"constant_ms\":5,\"token_ms\":0.05,\"context_ms\":1e-4,\"pair_ms\":1e-6}}");
	struct orr_error err = { 0 };
	struct device *d = device_load("a100-80g", &err);
	struct served_on *x = m && d ? on(m, d) : NULL;
	if (!ok(x != NULL, "a closed form"))
		return;
	struct llm_load w = { .decodes = 30, .prompts = 2, .prompt_tokens = 700, .decode_context = 12345, .prompt_pairs = 250000 };
	/* An iteration takes 5 + 36.5 + 1.2345 + 0.25 ms. */
	near_to(served_iteration(x, &w), 42.9845e-3, 1e-15, "an iteration of the closed form");
	w = (struct llm_load){ .decodes = 1, .decode_context = 10 };
	near_to(served_iteration(x, &w), 5.051e-3, 1e-15, "one decode");
	near_to(served_kv_tokens(x, 0.5), floor((0.5 * 80 * 1073741824.0 - 1e9) / 100), 0,
		"tokens that fit beside the weights into half of the memory");
	near_to(served_kv_tokens(x, 0.01), 0, 0, "no KV cache if the weights do not fit");
	same_text(served_source(x), "closed form", "the source of times is reported");
	/* Without constants per stage, a stage takes an equal share: 5.051 / 4 ms. */
	struct served_place four = { .device = d, .tp = 1, .pp = 4 };
	struct served_on *stages = served_on_new(m, &four, &err);
	near_to(stages ? served_stage_s(stages, &w, 1) : NAN, 5.051e-3 / 4, 1e-15, "a stage takes an equal share");
	served_on_free(stages);
	struct served_place p = { .device = d, .tp = 0, .pp = 1 };
	ok(!served_on_new(m, &p, &err) && strstr(err.text, "parallelism of at least 1"), "no parallelism of 0");
	served_on_free(x);
	served_free(m);
	device_free(d);
}

/* Tests curves: lines through (100, 1 s), (250, 2 s) and (400, 4 s), and through (10, 0.5 s) and (20, 0.75 s). An iteration with
 * prompts and decodes takes 1.1 times as long. */
static void check_curves(void)
{
	struct served *m = parse(
		"{\"name\":\"c\",\"source\":\"s\",\"kind\":\"llm\",\"weight_bytes\":0,\"kv_bytes_per_token\":1,\"curves\":{"
		"\"prompt_tokens\":[100,250,400],\"prompt_s\":[1,2,4],\"decodes\":[10,20],\"decode_s\":[0.5,0.75],\"mixed_factor\":1.1}}");
	struct served_on *x = m ? on(m, NULL) : NULL;
	if (!ok(x != NULL, "curves"))
		return;
	struct llm_load w = { .prompts = 1, .prompt_tokens = 175 };
	near_to(served_iteration(x, &w), 1.5, 1e-15, "a prompt between two knots");
	w.prompt_tokens = 250;
	near_to(served_iteration(x, &w), 2, 1e-15, "at a knot");
	w.prompt_tokens = 700;
	near_to(served_iteration(x, &w), 8, 1e-15, "beyond the last knot the last segment is extrapolated");
	w.prompt_tokens = 50;
	near_to(served_iteration(x, &w), 2.0 / 3, 1e-15, "before the first knot the first segment is extrapolated");
	w = (struct llm_load){ .prompts = 2, .prompt_tokens = 150, .decodes = 25, .decode_context = 1e6 };
	near_to(served_iteration(x, &w), 1.5 * 1.1, 1e-15, "prompts and decodes: the prompt curve at all tokens, times 1.1");
	w = (struct llm_load){ .decodes = 16, .decode_context = 1e6 };
	near_to(served_iteration(x, &w), 0.65, 1e-15, "decodes alone: the time depends on their number, not on their context");
	ok(isnan(served_kv_tokens(x, 1)), "without a device the memory is unknown");
	served_on_free(x);
	served_free(m);
}

/* ---- invalid files ---- */

static void refused(const char *text, const char *message)
{
	struct orr_error err = { 0 };
	struct served *m = served_parse("in.json", text, strlen(text), &err);
	if (!ok(!m && err.code == ORR_EINPUT && strstr(err.text, message) == err.text, "refused: %s", message))
		printf("# %s\n", m ? "accepted" : err.text);
	served_free(m);
}

#define TABLE "{\"name\":\"n\",\"source\":\"s\",\"kind\":\"table\","
#define LLM "{\"name\":\"n\",\"source\":\"s\",\"kind\":\"llm\","

static void check_refused(void)
{
	refused("{", "in.json:1:1: invalid JSON: expected an object");
	refused("[]", "in.json: $: expected an object, found a list");
	refused("{\"kind\":\"tabel\"}", "in.json: $.kind: expected one of table, llm, found \"tabel\"");
	refused("{\"kind\":\"table\",\"kind\":\"table\"}", "in.json:1:17: duplicate key \"kind\" (first on line 1): expected it once");
	refused(TABLE "\"batch\":[1],\"latency\":[1]}", "in.json: $: unknown key \"latency\": did you mean \"latency_ms\"?");
	refused(TABLE "\"batch\":[1,1],\"latency_ms\":[1,2]}",
		"in.json: $.batch[1]: expected a whole number above 1 (the previous number), at most 1000000, found 1");
	refused(TABLE "\"batch\":[0],\"latency_ms\":[1]}", "in.json: $.batch[0]: expected a whole number from 1, at most 1000000, found 0");
	refused(TABLE "\"batch\":[1.5],\"latency_ms\":[1]}", "in.json: $.batch[0]: expected a whole number from 1");
	refused(TABLE "\"batch\":[1,2],\"latency_ms\":[1]}", "in.json: $.latency_ms: expected a list of 2 numbers, found 1");
	refused(TABLE "\"batch\":[1],\"latency_ms\":[0]}",
		"in.json: $.latency_ms[0]: expected a number above 0, at most 1000000000, found 0");
	refused(TABLE "\"batch\":[1],\"length\":[5,9],\"latency_ms\":[[1]]}",
		"in.json: $.latency_ms: expected 2 lists, one for each length");
	refused(TABLE "\"batch\":[1],\"length\":[5],\"latency_ms\":[[null]]}", "in.json: $.latency_ms[0][0]: expected a number above 0");
	refused(TABLE "\"batch\":[1],\"latency_ms\":[1],\"memory\":[{\"before\":2,\"peak\":1,\"peak_from_ms\":0}]}",
		"in.json: $.memory[0].before: expected at most \"peak\" of the same entry");
	refused(TABLE "\"batch\":[1],\"latency_ms\":[1],\"memory\":[1,2]}",
		"in.json: $.memory: expected a list of 1 entries, one for each batch size");
	refused(TABLE "\"batch\":[1],\"latency_ms\":[1],\"between\":\"nearest\"}",
		"in.json: $.between: expected one of refuse, up, linear, found \"nearest\"");
	refused(TABLE "\"batch\":[1],\"latency_ms\":[1],\"slo_ms\":0}", "in.json: $.slo_ms: expected a number above 0, found 0");
	refused("{\"name\":\"n\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[1]}",
		"in.json: $.source: expected a string of 1 to 600 bytes on one line, found nothing");
	refused(LLM "\"fits\":{}}", "in.json: $.fits.by_tp: expected a list of 1 to 64 objects, found nothing");
	refused(LLM "\"fits\":{\"by_tp\":[{\"tp\":1,\"prefill_ms\":[1,0],\"decode_ms\":[1,0,0]}]}}",
		"in.json: $.fits.by_tp[0].prefill_ms: expected a list of 3 numbers, found 2");
	refused(LLM "\"fits\":{\"by_tp\":[{\"tp\":1,\"prefill_ms\":[1,0,0],\"decode_ms\":[0,1,0]}]}}",
		"in.json: $.fits.by_tp[0].decode_ms[0]: expected a number above 0, so that an iteration takes time");
	refused(LLM "\"fits\":{\"by_tp\":[{\"tp\":1,\"prefill_ms\":[1,0,0],\"decode_ms\":[1,1,0],\"large_ms\":[1,1,0]}]}}",
		"in.json: $.fits.by_tp[0].large_from: expected a number from 1 to 1e+09, found nothing");
	refused(LLM "\"weight_bytes\":1}",
		"in.json: $: expected one of the keys \"closed\", \"curves\", \"fits\", \"layers\" and \"moe\", found none");
	refused(LLM "\"closed\":{},\"layers\":{}}", "in.json: $: expected only one of the keys \"closed\", \"curves\", \"fits\", "
						    "\"layers\" and \"moe\", found \"closed\" and \"layers\"");
	refused(LLM "\"closed\":{\"constant_ms\":1,\"token_ms\":0,\"context_ms\":0}}",
		"in.json: $.closed.pair_ms: expected a number from 0 to 1e+09, found nothing");
	refused(LLM "\"closed\":{\"constant_ms\":0,\"token_ms\":0,\"context_ms\":1,\"pair_ms\":1}}",
		"in.json: $.closed: expected \"constant_ms\" or \"token_ms\" above 0");
	refused(LLM "\"closed\":{\"constant_ms\":1,\"token_ms\":0,\"context_ms\":0,\"pair_ms\":0}}",
		"in.json: $.weight_bytes: expected a number");
	refused(LLM "\"curves\":{\"prompt_tokens\":[1],\"prompt_s\":[1],\"decodes\":[1,2],\"decode_s\":[1,2]}}",
		"in.json: $.curves.prompt_tokens: expected a list of 2 to 4096 numbers, found 1");
	refused(LLM "\"curves\":{\"prompt_tokens\":[1,2],\"prompt_s\":[1,3],\"decodes\":[1,2],\"decode_s\":[1,2]}}",
		"in.json: $.curves.prompt_s: expected a curve that is above 0 when its first segment is extended to 0 tokens");
	refused(LLM "\"layers\":{\"dnn\":\"llama2_8b\"}}",
		"in.json: $.layers.dnn: unknown model \"llama2_8b\": did you mean \"llama2_7b\"?");
	refused(LLM "\"layers\":{\"dnn\":\"llama:hidden=96,layers=2,heads=5,head_dim=16,seq=64,vocab=100\"}}",
		"in.json: $.layers.dnn: expected a transformer of equal blocks with a vocabulary, found llama:hidden=96");
	refused(LLM "\"layers\":{\"dnn\":\"resnet50\"}}",
		"in.json: $.layers.dnn: expected a transformer of equal blocks with a vocabulary, found resnet50");
}

int main(void)
{
	check_catalogue();
	check_irina();
	check_between();
	check_bert();
	check_closed();
	check_closed_stages();
	check_fits();
	check_curves();
	check_refused();
	return done();
}

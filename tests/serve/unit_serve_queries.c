/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a policy may ask about models and memory, on cases computed by hand; requests that fit on no replica. */
#include "tests/serve/fleet_run.h"
#include "tests/serve/serve_script.h"
#include "tests/tap.h"

/* ---- batches of a model ---- */

static const char table[] = "{\"name\":\"a\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1,2,4],\"latency_ms\":[100,120,150]}";
static const char language[] = "{\"name\":\"l\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":0,\"kv_bytes_per_token\":1,"
			       "\"longest\":100,\"closed\":{\"constant_ms\":10,\"token_ms\":0.1,\"context_ms\":0,\"pair_ms\":0}}";
static uint32_t asked;

static void ask_models(struct orr_serve *w, char what, uint64_t subject)
{
	static const uint32_t size[] = { 1, 2, 4, 4, 0 };
	bool good = true;
	(void)subject;
	if (what != 's' || asked++)
		return;
	uint32_t a = orr_model_find(w, "a"), l = orr_model_find(w, "l");
	for (uint32_t n = 1; n <= 5; n++)
		good &= orr_model_batch_for(w, a, n) == size[n - 1];
	ok(good && orr_model_largest(w, a) == 4, "a table: the least batch that holds the samples, and the largest");
	ok(!orr_model_batch_for(w, l, 1) && !orr_model_largest(w, l), "a language model has no table of batches");
	ok(!orr_model_batch_for(w, 9, 1) && !orr_model_largest(w, 9), "nor has an unknown model");
}

static void test_models(void)
{
	struct fleet_case c = { .requests = "arrival_s,model\n0,a\n",
		.models = { table, language },
		.deployment = { { .replicas = 1, .model = 0, .tp = 1, .pp = 1 } },
		.cluster = "1x1",
		.seed = 1 };
	probe.seen = ask_models;
	struct run_result *r = fleet_must_run(&c, "questions about models");
	probe.seen = NULL;
	near_to(fleet_metric(r, "completion_max"), 0.1, 1e-12, "the request takes 100 ms");
	result_free(r);
}

static void start_five(struct orr_serve *w, uint32_t replica)
{
	struct orr_batch b = { .req = &script.queue.first, .n = 1, .samples = 50 };
	if (script.queue.n)
		orr_run_start(w, replica, &b);
}

/* An error names at most twelve sizes and the largest. */
static void test_sizes(void)
{
	static const struct {
		const char *sizes, *latency, *expected;
	} x[] = { { "1,2,3,4,5,6,7,8,9,10,11,12", "1,1,1,1,1,1,1,1,1,1,1,1", "expected 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12" },
		{ "1,2,3,4,5,6,7,8,9,10,11,12,13", "1,1,1,1,1,1,1,1,1,1,1,1,1",
			"expected 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, .., 13" } };
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		char model[300];
		snprintf(model, sizeof model,
			"{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[%s],\"latency_ms\":[%s]}", x[i].sizes,
			x[i].latency);
		script_set((struct script){ .arrive = script_push, .schedule = start_five });
		const char *error = script_error(model, "arrival_s\n0\n", NULL);
		size_t n = strlen(error), tail = strlen(x[i].expected);
		ok(n > tail && !strcmp(error + n - tail, x[i].expected), "%s", error);
	}
}

/* ---- memory of queued runs ---- */

/* Memory in hundredths of the replica's GiB: the weights use 20; a run of small uses 30 more, and one of large 81, or 80 exactly. */
#define CENT "\"memory_unit_bytes\":10737418.24,\"weight_bytes\":214748364.8"
#define TABLE(name, peak)                                                                                                                 \
	"{\"name\":\"" name "\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[200],\"memory\":[" peak "]," CENT \
	"}"
static bool fits[4];

static void ask_queue(struct orr_serve *w, uint32_t replica)
{
	if (script.seen++ || !script.queue.n)
		return;
	orr_req first = script.queue.first, second = orr_fifo_next(w, first);
	struct orr_batch run = { .req = &first, .n = 1 }, other = { .req = &second, .n = 1 };
	orr_run_start(w, replica, &run);
	orr_fifo_pop(w, &script.queue);
	fits[0] = orr_run_fits(w, replica, &other, 0);
	other.flags = ORR_RUN_QUEUE;
	fits[1] = orr_run_fits(w, replica, &other, 0);
	orr_fifo_pop(w, &script.queue);
	if (fits[1])
		orr_run_start(w, replica, &other);
}

static void queue_case(const char *what, const char *model, bool beside, bool queued, double end)
{
	script_set((struct script){ .arrive = script_push, .schedule = ask_queue });
	script.memory_GiB = 1;
	fits[0] = fits[1] = false;
	struct run_result *r = script_run(model, "arrival_s\n0\n0\n", NULL);
	ok(fits[0] == beside && fits[1] == queued, "%s: %s beside the first run, %s after it", what, beside ? "fits" : "does not fit",
		queued ? "fits" : "does not fit");
	if (queued)
		ok(serve_ends_at(r, (double[]){ 0.2, end }, 2), "a queued run begins when the first one has ended");
	result_free(r);
}

static void unload_waiting(struct orr_serve *w, uint32_t replica)
{
	if (script.seen++ || script.queue.n < 2)
		return;
	orr_req first = script.queue.first, second = orr_fifo_next(w, first);
	orr_run_start(w, replica, &(struct orr_batch){ .req = &first, .n = 1 });
	orr_run_start(w, replica, &(struct orr_batch){ .model = 1, .req = &second, .n = 1, .flags = ORR_RUN_QUEUE });
	orr_model_unload(w, replica, 1);
}

static void test_queue(void)
{
	queue_case("30 of 80", TABLE("small", "30"), true, true, 0.4);
	queue_case("45 of 80", TABLE("medium", "45"), false, true, 0.4);
	queue_case("80 of 80", TABLE("large", "80"), false, true, 0.4);
	static const char *const both[] = { TABLE("small", "30"), TABLE("other", "30"), NULL };
	script_set((struct script){ .arrive = script_push, .schedule = unload_waiting });
	script.models = both;
	const char *error = script_error(NULL, "arrival_s,model\n0,small\n0,other\n", NULL);
	ok(strstr(error, "orr_model_unload() of model other on replica 0: expected a model without runs on this replica") != NULL,
		"a model with a run that waits stays: %s", error);
}

/* ---- requests that fit on no replica ---- */

/* A model of 20 + 81 hundredths of a GiB: it fits on two GPUs, of one stage or of two. */
static void test_largest(void)
{
	static const struct {
		uint32_t tp, pp;
		double memory, refused;
	} x[] = { { 1, 1, 1, 1 }, { 2, 1, 1, 0 }, { 1, 2, 1, 0 }, { 1, 1, 1.01, 0 }, { 2, 2, 0.25, 1 }, { 2, 2, 0.2525, 0 },
		{ 4, 1, 0.2525, 0 } };
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		struct fleet_case c = { .requests = "arrival_s\n0\n",
			.models = { TABLE("large", "81") },
			.deployment = { { .replicas = 1, .model = UINT32_MAX, .tp = x[i].tp, .pp = x[i].pp } },
			.cluster = "1x4",
			.memory_bytes = x[i].memory * 1073741824.0,
			.seed = 1 };
		struct run_result *r = fleet_must_run(&c, "one request");
		ok(fleet_metric(r, "refused_memory") == x[i].refused && fleet_metric(r, "requests_completed") == 1 - x[i].refused,
			"101 hundredths of a GiB on %u x %u GPUs of %g GiB: %s", x[i].tp, x[i].pp, x[i].memory,
			x[i].refused > 0 ? "refused" : "served");
		result_free(r);
	}
}

int main(void)
{
	test_models();
	test_sizes();
	test_queue();
	test_largest();
	return done();
}

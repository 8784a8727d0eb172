/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of the times of requests (--record explain): sums over whole runs, and hand-made cases.
 *
 * In the hand-made cases an iteration of T tokens takes 10 + T ms; a decode is one token.
 */
#include "results/parts.h"
#include "tests/serve/fleet_run.h"
#include "tests/serve/llm_run.h"
#include "tests/serve/serve_replay.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca, orr_policy_serve_mlfq,
	orr_policy_serve_splitwise, orr_policy_serve_fastertransformer, orr_policy_serve_fifo, orr_policy_serve_clipper,
	orr_policy_serve_tf_serving, orr_policy_serve_nexus, orr_policy_serve_clockwork, orr_policy_serve_mdp, orr_policy_serve_irina,
	orr_policy_serve_academus;

static struct orr_error err;

/* ---- sums ---- */

static int64_t ns(double s)
{
	return llrint(s * 1e9);
}

/* Returns the parts of a request, and their number in *n. Rows are in order of subjects. */
static const struct part_row *parts_of(const struct run_result *r, uint64_t number, size_t *n)
{
	size_t low = 0, high = r->n_parts;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->parts[middle].subject < number)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < r->n_parts && r->parts[low + *n].subject == number;)
		++*n;
	return r->parts + low;
}

/* Returns whether the parts of the request cover [arrival, end] without a gap and without overlap. */
static bool covers(const struct run_result *r, const struct request_row *q)
{
	size_t n;
	const struct part_row *p = parts_of(r, q->number, &n);
	int64_t at = ns(q->arrival_s);
	for (size_t i = 0; i < n; at = p[i++].end_ns)
		if (strcmp(p[i].entity, "request") != 0 || p[i].begin_ns != at || p[i].end_ns <= at)
			return false;
	return q->status != REQUEST_COMPLETED || (n && at == ns(q->completed_s));
}

/* Returns the share of the time of waiting parts whose cause is not named. */
static double unnamed_share(const struct run_result *r)
{
	double waited = 0, unnamed = 0;
	for (size_t i = 0; i < r->n_parts; i++) {
		enum part_kind kind = part_kind_of(r->parts[i].kind);
		double time = (double)(r->parts[i].end_ns - r->parts[i].begin_ns);
		waited += part_waits(kind) ? time : 0;
		unnamed += kind == PART_UNNAMED ? time : 0;
	}
	return waited > 0 ? unnamed / waited : 0;
}

static void sums_of(struct run_result *r, const char *name, const char *settings, double most_unnamed)
{
	size_t wrong = 0, completed = 0;
	if (r)
		part_rows_form(r);
	for (size_t i = 0; r && i < r->n_requests; i++) {
		wrong += !covers(r, &r->requests[i]);
		completed += r->requests[i].status == REQUEST_COMPLETED;
	}
	ok(r && completed && !wrong, "%s %s: parts cover each of %zu requests (%zu wrong)%s%s", name, settings ? settings : "",
		r ? r->n_requests : 0, wrong, r ? "" : ": ", r ? "" : err.text);
	double share = r ? unnamed_share(r) : NAN;
	ok(share <= most_unnamed, "%s %s: %.2f %% of the wait has no named cause", name, settings ? settings : "", 100 * share);
}

/* Requests that overload a replica with little memory, and requests that do not. */
static void sums_llm(void)
{
	static const struct {
		const struct orr_policy *policy;
		const char *settings;
	} of[] = { { &orr_policy_serve_vllm, NULL }, { &orr_policy_serve_vllm, "preemption=swap max_batch=16" },
		{ &orr_policy_serve_sarathi, NULL }, { &orr_policy_serve_sarathi, "chunk=64 max_batch=8" },
		{ &orr_policy_serve_orca, "reserve=true" }, { &orr_policy_serve_mlfq, "max_batch=8" },
		{ &orr_policy_serve_splitwise, NULL }, { &orr_policy_serve_fastertransformer, "timeout=200ms" } };
	static const char *const loads[] = { "poisson:rate=4,n=600,prompt=azure-conv,output=azure-conv",
		"poisson:rate=40,n=400,prompt=200,output=60" };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		for (size_t k = 0; k < 2; k++) {
			struct reqset *set = reqset_load(loads[k], NULL, NULL, 1, &err);
			struct run_result *r = set ? llm_serve(&(struct llm_run){ .requests = set,
								       .kv_blocks = k ? 120 : 3000,
								       .replicas = k ? 1 : 2,
								       .policy = of[i].policy,
								       .settings = of[i].settings },
							     &err)
						   : NULL;
			sums_of(r, of[i].policy->name, of[i].settings, 0.02);
			result_free(r);
			reqset_free(set);
		}
}

/* ---- by hand ---- */

static const char model[] =
	"{\"name\": \"m\", \"source\": \"by hand\", \"kind\": \"llm\", \"weight_bytes\": 0, \"kv_bytes_per_token\": 1048576, "
	"\"closed\": {\"constant_ms\": 10, \"token_ms\": 1, \"context_ms\": 0, \"pair_ms\": 0}}";
static const char two[] = "arrival_s,prompt_tokens,output_tokens\n0,10,3\n0.005,5,2\n";

/* Frees the result. */
static void result_says(struct run_result *r, uint64_t number, const char *want)
{
	struct sbuf got = { 0 };
	char name[24];
	size_t n = 0;
	if (r)
		part_rows_form(r);
	const struct part_row *p = r ? parts_of(r, number, &n) : NULL;
	snprintf(name, sizeof name, "%" PRIu64, number);
	if (n)
		part_sentence(&got, name, p, n);
	ok(n && !strcmp(sbuf_text(&got), want), "%s", want);
	if (!n || strcmp(sbuf_text(&got), want) != 0)
		printf("# got: %s\n", n ? sbuf_text(&got) : err.text);
	sbuf_free(&got);
	result_free(r);
}

static void says(const struct serve_case *c, uint64_t number, const char *want)
{
	result_says(serve_replay(c, &err), number, want);
}

static const char *const one_model[] = { model, NULL };

/* A run of the requests `text` on a replica with memory for `tokens` tokens. */
static struct serve_case llm_case(const char *text, const struct orr_policy *policy, const char *settings, double tokens)
{
	return (struct serve_case){ .requests = text,
		.models = one_model,
		.policy = policy,
		.settings = settings,
		.options = "kv_block=1",
		.memory_GiB = tokens / 1024 / 0.9 * (1 + 1e-9) };
}

static void two_say(const struct orr_policy *policy, const char *settings, double tokens, const char *zero, const char *one)
{
	struct serve_case c = llm_case(two, policy, settings, tokens);
	if (zero)
		says(&c, 0, zero);
	if (one)
		says(&c, 1, one);
}

/* R0 arrives at 0 with 10 prompt tokens and 3 outputs, R1 at 5 ms with 5 and 2. Memory suffices. */
static void iterations(void)
{
	/* Prompt of R0 to 20 ms, of R1 to 35, both decode to 47, R0 to 58. */
	two_say(&orr_policy_serve_vllm, NULL, 8192,
		"request 0 was served 58 ms: 23 ms decode, 20 ms prefill, 15 ms stalled by prompts of others",
		"request 1 waited 15 ms: 15 ms behind the running iteration; was served 27 ms: 15 ms prefill, 12 ms decode");
	/* From 20 to 36 ms the prompt of R1, 15 ms alone, with a decode of R0, 11 ms alone. Both decode to 48. */
	static const char orca0[] = "request 0 was served 48 ms: 23 ms decode, 20 ms prefill, 5 ms stalled by prompts of others";
	static const char orca1[] = "request 1 waited 15 ms: 15 ms behind the running iteration; was served 28 ms: 15 ms prefill, "
				    "12 ms decode, 1 ms stalled by other requests of the same iterations";
	two_say(&orr_policy_serve_orca, NULL, 8192, orca0, orca1);
	two_say(&orr_policy_serve_splitwise, NULL, 8192, orca0, orca1);
	/* Iterations of 6 tokens, of 4 + 2 to 32 ms, of a decode and 3 to 46, of two decodes to 58. The 4 tokens of R0 take 14 ms alone;
	 * those of R1 take 12 and 13. */
	two_say(&orr_policy_serve_sarathi, "chunk=6", 8192,
		"request 0 was served 58 ms: 30 ms prefill, 23 ms decode, 3 ms stalled by prompts of others, 2 ms stalled by other "
		"requests of the same iterations",
		"request 1 waited 11 ms: 11 ms behind the running iteration; was served 42 ms: 25 ms prefill, 12 ms decode, 5 ms stalled "
		"by other requests of the same iterations");
}

static void limits(void)
{
	/* R0 ends at 42 ms; then R1 takes 15 + 11. */
	two_say(&orr_policy_serve_orca, "max_batch=1", 8192, NULL,
		"request 1 waited 37 ms: 22 ms held back: limit max_batch, 15 ms behind the running iteration; was served 26 ms: 15 ms "
		"prefill, 11 ms decode");
	two_say(&orr_policy_serve_vllm, "max_batch=1", 8192, NULL,
		"request 1 waited 37 ms: 22 ms held back: limit max_batch, 15 ms behind the running iteration; was served 26 ms: 15 ms "
		"prefill, 11 ms decode");
	two_say(&orr_policy_serve_sarathi, "max_batch=1", 8192, NULL,
		"request 1 waited 37 ms: 22 ms held back: limit max_batch, 15 ms behind the running iteration; was served 26 ms: 15 ms "
		"prefill, 11 ms decode");
	two_say(&orr_policy_serve_fastertransformer, NULL, 8192, NULL,
		"request 1 waited 37 ms: 37 ms held back: no request joins a running batch; was served 26 ms: 15 ms prefill, 11 ms decode");
	/* R0 and R1 start at 100 ms: 25 ms of prompts, of which 15 for R1 alone. */
	two_say(&orr_policy_serve_fastertransformer, "timeout=100ms", 8192, NULL,
		"request 1 waited 95 ms: 95 ms held back: the batch waits for more requests; was served 37 ms: 15 ms prefill, 12 "
		"ms decode, 10 ms stalled by other requests of the same iterations");
	/* R0 uses its quantum in the first iteration, so R1 runs to 46 ms. */
	two_say(&orr_policy_serve_mlfq, "quantum=10ms max_batch=1", 8192,
		"request 0 waited 26 ms: 26 ms held back: policy, which paused it; was served 42 ms: 22 ms decode, 20 ms prefill",
		"request 1 waited 15 ms: 15 ms behind the running iteration; was served 26 ms: 15 ms prefill, 11 ms decode");
	/* The prompt of R1 is first, to 35 ms; then R0 decodes to 57, R1 to 68. */
	two_say(&orr_policy_serve_splitwise, "max_batch=1", 8192, NULL,
		"request 1 waited 37 ms: 22 ms held back: policy, which paused it, 15 ms behind the running iteration; was served 26 ms: "
		"15 ms prefill, 11 ms decode");
	/* R1 and R2 wait at 20 ms; 2 prompts of 8 tokens, padded, exceed 10. R2 starts at 35 ms. */
	static const char three[] = "arrival_s,prompt_tokens,output_tokens\n0,10,3\n0.005,5,2\n0.005,8,1\n";
	struct serve_case c = llm_case(three, &orr_policy_serve_vllm, "max_tokens=10", 8192);
	says(&c, 2,
		"request 2 waited 30 ms: 15 ms behind the running iteration, 15 ms held back: limit max_tokens; was served 18 ms: 18 ms "
		"prefill");
	/* Iterations of 5 tokens, 15 ms each: R0; R0; a decode and 4 of R1; a decode, the last of R1 and 3 of R2; a decode and 4 of R2; the
	 * last of R2 alone. The parts of R2 take 13, 14 and 11 ms alone. */
	c = llm_case(three, &orr_policy_serve_sarathi, "chunk=5", 8192);
	says(&c, 2,
		"request 2 waited 40 ms: 30 ms held back: limit chunk, 10 ms behind the running iteration; was served 41 ms: 38 ms "
		"prefill, 3 ms stalled by other requests of the same iterations");
}

static void memory(void)
{
	/* R0 reserves 12 of 14 blocks to 42 ms; R1 asks for 6. */
	two_say(&orr_policy_serve_orca, "reserve=true", 14, NULL,
		"request 1 waited 37 ms: 22 ms for memory held most by request 0 (6 blocks asked, 2 free; it held 12), 15 ms behind the "
		"running iteration; was served 26 ms: 15 ms prefill, 11 ms decode");
	/* The prompts fill 15 of 16 blocks at 35 ms. The decode of R0 takes the last one, so R1 is evicted. At 46 ms its prompt, with an
	 * output 6 tokens, finds 5 blocks free. R0 ends at 57 ms. */
	two_say(&orr_policy_serve_vllm, NULL, 16, NULL,
		"request 1 waited 37 ms: 15 ms behind the running iteration, 11 ms preempted, behind request 0 (6 blocks asked, 5 free; it "
		"held 11), 11 ms preempted, behind decodes that took the free blocks; was served 31 ms: 16 ms lost work (prompt and "
		"outputs that are processed again), 15 ms prefill");
	/* The same with swapping: 6 MiB at 16 GB/s take 393 us, out before the decode of R0 and in before that of R1. */
	two_say(&orr_policy_serve_vllm, "preemption=swap", 16,
		"request 0 was served 57.4 ms: 22 ms decode, 20 ms prefill, 15 ms stalled by prompts of others, 393 us swap copies",
		"request 1 waited 37.4 ms: 15 ms behind the running iteration, 11.4 ms preempted, behind decodes that took the free "
		"blocks, 11 ms preempted, behind request 0 (7 blocks asked, 5 free; it held 11); was served 26.4 ms: 15 ms prefill, 11 ms "
		"decode, 393 us swap copies");
}

/* R0 with 10 prompt tokens and 3 outputs, 20 + 11 + 11 ms. */
static void fleets(void)
{
	static const char one[] = "arrival_s,prompt_tokens,output_tokens\n0,10,3\n";
	struct fleet_case c = { .requests = one,
		.models = { model },
		.deployment = { { .replicas = 1, .model = UINT32_MAX, .tp = 1, .pp = 1, .kv_blocks = 100 } },
		.cluster = "1x1",
		.policy = &orr_policy_serve_vllm,
		.options = "kv_block=1",
		.failures = "time_s,node,event\n0.03,0,fail\n0.1,0,repair\n",
		.seed = 1,
		.max_rows = 1000 };
	/* 10 of 11 ms of the first decode are lost with the replica, and the prompt; both decodes follow from 120 ms on. */
	result_says(fleet_run(&c, &err), 0,
		"request 0 waited 70 ms: 70 ms without a replica; was served 72 ms: 32 ms decode, 20 ms prefill, 20 ms lost work (prompt "
		"and "
		"outputs that are processed again)");
	/* The cache has 11 tokens of 1 MiB; 1000 MiB/s and 1 ms of latency. */
	c.failures = NULL;
	c.cluster = "2x1";
	c.policy = &orr_policy_serve_splitwise;
	c.options = "kv_block=1 kv_Bps=1048576000 kv_latency=1ms";
	c.deployment[0].role = ORR_ROLE_PREFILL;
	c.deployment[1] = c.deployment[0];
	c.deployment[1].role = ORR_ROLE_DECODE;
	result_says(fleet_run(&c, &err), 0, "request 0 was served 54 ms: 22 ms decode, 20 ms prefill, 12 ms transfer of the KV cache");
}

/* ---- table models, which take 10 ms ---- */

#define TABLE(name)                                                                                                       \
	"{\"name\": \"" name                                                                                              \
	"\", \"kind\": \"table\", \"source\": \"by hand\", \"batch\": [1], \"latency_ms\": [10], \"input_bytes\": 1000, " \
	"\"output_bytes\": 100, \"load_ms\": 20, \"weight_bytes\": 5e9}"
static const char *const tables[] = { TABLE("a"), TABLE("b"), NULL };
#define LINK "front=per-replica front_Bps=1e5 front_latency=2ms any_model=true"

static void batches(void)
{
	struct serve_case c = { .requests = "arrival_s\n0\n0.005\n",
		.models = tables,
		.policy = &orr_policy_serve_fifo,
		.options = "any_model=true",
		.seed = 1 };
	says(&c, 1, "request 1 waited 5 ms: 5 ms behind running batches; was served 10 ms: 10 ms compute");
	/* The input takes 12 ms, the answer 3. The replica is free at 22 ms. */
	c.options = LINK;
	says(&c, 1,
		"request 1 waited 17 ms: 17 ms behind running batches; was served 25 ms: 12 ms transfer of the input, 10 ms compute, 3 ms "
		"transfer of the answer");
	/* The second input is sent at the same time and shares the link. It is received at 22 ms, and the first run ends at 27. */
	c.policy = &orr_policy_serve_mdp;
	c.settings = "submodels=a";
	says(&c, 1,
		"request 1 waited 5 ms: 5 ms behind earlier runs of the replica; was served 30 ms: 17 ms transfer of the input, 10 ms "
		"compute, 3 ms transfer of the answer");
	c = (struct serve_case){ .requests = "arrival_s,model\n0,a\n0,b\n",
		.models = tables,
		.policy = &orr_policy_serve_tf_serving,
		.settings = "threads=2",
		.options = "interference=curve slowdown_curve=1,1.25",
		.seed = 1 };
	says(&c, 1, "request 1 was served 12.5 ms: 10 ms compute, 2.5 ms stalled by runs on the same replica");
	c = (struct serve_case){ .requests = "arrival_s,model,slo_s\n0,a,1\n",
		.models = tables,
		.memory_GiB = 8,
		.policy = &orr_policy_serve_clockwork,
		.options = "preloaded=false",
		.seed = 1 };
	says(&c, 0, "request 0 waited 20 ms: 20 ms for models that are loaded; was served 10 ms: 10 ms compute");
	static const char *const pairs[] = {
		"{\"name\": \"a\", \"kind\": \"table\", \"source\": \"by hand\", \"batch\": [1, 2], \"latency_ms\": [10, 10]}", NULL
	};
	c = (struct serve_case){ .requests = "arrival_s,model\n0,a\n",
		.models = pairs,
		.policy = &orr_policy_serve_tf_serving,
		.settings = "batch_timeout=7ms",
		.seed = 1 };
	says(&c, 0, "request 0 waited 7 ms: 7 ms held back: the batch waits for more requests; was served 10 ms: 10 ms compute");
}

static void sums_tables(void)
{
	static const struct orr_policy *const of[] = { &orr_policy_serve_fifo, &orr_policy_serve_clipper, &orr_policy_serve_tf_serving,
		&orr_policy_serve_nexus, &orr_policy_serve_clockwork, &orr_policy_serve_irina, &orr_policy_serve_academus };
	static const char *const models[] = { "irina-alexnet", NULL };
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		for (int k = 0; k < 2; k++) {
			struct serve_case c = { .requests = k ? "poisson:rate=300,n=1000" : "poisson:rate=60,n=1000",
				.models = models,
				.replicas = 2,
				.policy = of[i],
				.options = k ? "slo=200ms" : NULL,
				.seed = 1 };
			struct run_result *r = serve_replay(&c, &err);
			sums_of(r, of[i]->name, k ? "overloaded" : NULL, 0.02);
			result_free(r);
		}
}

int main(void)
{
	sums_llm();
	iterations();
	limits();
	memory();
	fleets();
	batches();
	sums_tables();
	return done();
}

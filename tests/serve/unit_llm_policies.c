/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Policies of language models on two requests, computed by hand, and a cascade of two models. / An iteration of T tokens takes 10 + T
 * ms. Request R0 arrives at 0 with 10 prompt tokens and 3 output tokens; R1 arrives at 5 ms with 5 and 2.
 */
#include "tests/serve/llm_run.h"
#include "tests/serve/serve_replay.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_orca, orr_policy_serve_fastertransformer, orr_policy_serve_mlfq, orr_policy_serve_splitwise,
	orr_policy_serve_vllm, orr_policy_serve_cascade;

static struct orr_error err;

static const char model[] =
	"{\"name\": \"m\", \"source\": \"by hand\", \"kind\": \"llm\", \"weight_bytes\": 0, \"kv_bytes_per_token\": 1048576, "
	"\"closed\": {\"constant_ms\": 10, \"token_ms\": 1, \"context_ms\": 0, \"pair_ms\": 0}}";
static const char two[] = "arrival_s,prompt_tokens,output_tokens\n0,10,3\n0.005,5,2\n";

static struct run_result *serve(const struct orr_policy *policy, const char *requests, const char *settings, const char *options)
{
	static const char *const models[] = { model, NULL };
	struct serve_case c = {
		.requests = requests, .models = models, .memory_GiB = 8, .policy = policy, .settings = settings, .options = options
	};
	struct run_result *r = serve_replay(&c, &err);
	if (!r)
		printf("# %s\n", err.text);
	return r;
}

static void by_hand(
	const struct orr_policy *policy, const char *settings, double first0, double end0, double first1, double end1, const char *what)
{
	struct run_result *r = serve(policy, two, settings, NULL);
	if (!ok(r && r->n_requests == 2, "%s: a run", what))
		return;
	const struct request_row *q = r->requests;
	double got[] = { q[0].first_token_s, q[0].completed_s, q[1].first_token_s, q[1].completed_s },
	       want[] = { first0, end0, first1, end1 };
	bool is_right = true;
	for (int i = 0; i < 4; i++)
		if (!(fabs(got[i] - want[i] / 1e3) < 1e-9)) {
			printf("# number %d: got %.9f s, want %.9f s\n", i, got[i], want[i] / 1e3);
			is_right = false;
		}
	ok(is_right, "%s: first tokens and ends by hand", what);
	result_free(r);
}

static void two_requests(void)
{
	/* R0's prompt ends at 20 ms, R1's prompt with a decode of R0 at 36 ms, two decodes at 48 ms. */
	by_hand(&orr_policy_serve_orca, NULL, 20, 48, 36, 48, "orca");
	by_hand(&orr_policy_serve_splitwise, NULL, 20, 48, 36, 48, "splitwise");
	by_hand(&orr_policy_serve_mlfq, "quantum=1s", 20, 48, 36, 48, "mlfq, long quanta");
	/* Prompts run separately: R1's prompt ends at 35 ms, the decodes of both at 47 ms, a decode of R0 at 58 ms. */
	by_hand(&orr_policy_serve_vllm, NULL, 20, 58, 35, 47, "vllm");
	/* R0 ends at 20 + 11 + 11 ms; then R1 takes 15 + 11 ms. */
	by_hand(&orr_policy_serve_fastertransformer, NULL, 20, 42, 57, 68, "fastertransformer");
	by_hand(&orr_policy_serve_orca, "max_batch=1", 20, 42, 57, 68, "orca, one at a time");
	/* R0 starts at the level with a quantum of 20 ms, uses up the quantum in its first iteration and moves one level down. R1
	 * runs first from 20 ms on and ends at 20 + 15 + 11 ms. */
	by_hand(&orr_policy_serve_mlfq, "quantum=10ms max_batch=1", 20, 68, 35, 46, "mlfq, short quanta: R1 overtakes");
}

/* Tests 4 requests of 10 + 10 tokens with memory for 40 tokens: two run at a time if outputs are reserved. */
static void little_memory(void)
{
	static const char four[] = "arrival_s,prompt_tokens,output_tokens,max_output\n0,10,10,10\n0,10,10,10\n0,10,10,10\n0,10,10,10\n";
	struct serve_case c = { .requests = four,
		.models = (const char *const[]){ model, NULL },
		.memory_GiB = 40.0 / 1024 / 0.9,
		.policy = &orr_policy_serve_orca,
		.options = "kv_block=1" };
	struct run_result *r = serve_replay(&c, &err);
	/* Two prompts take 30 ms and 9 decodes take 12 ms each, 138 ms in total. The other two requests end 138 ms later. */
	static const double end[] = { 0.138, 0.138, 0.276, 0.276 };
	ok(r && serve_ends_at(r, end, 4), "orca: two at a time have their output reserved");
	result_free(r);
	c.policy = &orr_policy_serve_mlfq;
	c.settings = "quantum=1s";
	r = serve_replay(&c, &err);
	ok(r && serve_metric(r, "requests_completed") == 4 && serve_metric(r, "preemptions") > 0,
		"mlfq: swaps out when blocks run out; all requests end");
	result_free(r);
	static const char wide[] = "arrival_s,prompt_tokens,output_tokens,max_output\n0,30,10,20\n";
	c.requests = wide;
	c.policy = &orr_policy_serve_orca;
	c.settings = NULL;
	r = serve_replay(&c, &err);
	ok(r && serve_metric(r, "requests_refused") == 1, "orca: a request whose reservation never fits is refused at arrival");
	result_free(r);
}

static void cascade(void)
{
	static const char *const models[] = {
		"{\"name\": \"small\", \"source\": \"by hand\", \"kind\": \"table\", \"batch\": [1, 8], \"latency_ms\": [1, 4]}",
		"{\"name\": \"large\", \"source\": \"by hand\", \"kind\": \"table\", \"batch\": [1, 8], \"latency_ms\": [10, 40]}", NULL
	};
	struct serve_case c = { .requests = "arrival_s,model\n0,small\n",
		.models = models,
		.policy = &orr_policy_serve_cascade,
		.settings = "keeps=1",
		.options = "any_model=true" };
	struct run_result *r = serve_replay(&c, &err);
	static const double sure[] = { 0.001 }, unsure[] = { 0.011 };
	ok(r && serve_ends_at(r, sure, 1), "cascade: the small model answers (%s)", r ? "" : err.text);
	result_free(r);
	c.settings = "keeps=0";
	r = serve_replay(&c, &err);
	ok(r && serve_ends_at(r, unsure, 1), "cascade: through both models");
	result_free(r);
	/* The small model answers at the deadline, before the request is late. */
	c.requests = "arrival_s,model,slo_s\n0,small,0.001\n";
	c.settings = "keeps=1";
	c.options = "any_model=true shed=late";
	r = serve_replay(&c, &err);
	ok(r && serve_ends_at(r, sure, 1), "cascade: an answer at the deadline counts (%s)", r ? "" : err.text);
	result_free(r);
	/* Each of 4,000 requests is forwarded with probability 0.4; four standard errors are 0.031. */
	c.requests = "poisson:rate=20,n=4000,model=small";
	c.settings = "keeps=0.6";
	r = serve_replay(&c, &err);
	double stages = r ? serve_metric(r, "stages") : NAN;
	printf("# stages %.4f\n", stages);
	ok(fabs(stages - 1.4) < 0.031, "cascade: the stated share is forwarded");
	ok(r && serve_metric(r, "requests_completed") == 4000, "cascade: each request completes once");
	result_free(r);
	static const double one_by_one[] = { 0.004, 0.008 }, nowhere[] = { NAN, 0.011 };
	c.requests = "arrival_s,model,samples\n0,small,8\n0,small,8\n";
	c.settings = "keeps=1";
	r = serve_replay(&c, &err);
	ok(r && serve_ends_at(r, one_by_one, 2), "cascade: batches are of samples, not of requests (%s)", r ? "" : err.text);
	result_free(r);
	/* The second model takes one sample, so a request of eight samples stays with the first model. Both requests run in one batch
	 * of 4 ms. */
	static const char *const narrow[] = {
		"{\"name\": \"small\", \"source\": \"by hand\", \"kind\": \"table\", \"batch\": [1, 8], \"latency_ms\": [1, 4]}",
		"{\"name\": \"large\", \"source\": \"by hand\", \"kind\": \"table\", \"batch\": [1], \"latency_ms\": [6]}", NULL
	};
	c.models = narrow;
	c.requests = "arrival_s,model,samples\n0,small,8\n0,small,1\n";
	c.settings = "keeps=0";
	r = serve_replay(&c, &err);
	ok(r && serve_ends_at(r, nowhere, 2) && serve_metric(r, "requests_refused") == 1,
		"cascade: a request that the next model can never serve is refused (%s)", r ? "" : err.text);
	result_free(r);
}

/*
 * mlfq with 6 blocks of 16 tokens. R0 (47 prompt tokens) has its first token at 57 ms, its second at 68 ms, and then needs a fourth block.
 * R1 (48 prompt tokens: 3 blocks) arrives at 60 ms. Only 2 blocks are left for it beside R0's next one, so it waits until R0 ends at 57 +
 * 19 x 11 = 266 ms, has its token at 324 ms, and nothing is evicted.
 */
static void mlfq_waits(void)
{
	struct reqset *set = llm_requests("arrival_s,prompt_tokens,output_tokens\n0,47,20\n0.06,48,1\n", &err);
	struct run_result *r = set ? llm_serve(&(struct llm_run){ .requests = set,
						       .model = model,
						       .kv_blocks = 6,
						       .policy = &orr_policy_serve_mlfq,
						       .settings = "quantum=10s" },
					     &err)
				   : NULL;
	ok(r && llm_metric(r, "preemptions") == 0,
		"mlfq: a request that finds no room beside the next tokens of the batch is not admitted");
	near_to(r ? r->requests[0].completed_s : NAN, .266, 1e-9, "mlfq: the request in the batch goes on");
	near_to(r ? r->requests[1].completed_s : NAN, .324, 1e-9, "mlfq: the other one follows");
	result_free(r);
	reqset_free(set);
}

int main(void)
{
	mlfq_waits();
	two_requests();
	little_memory();
	cascade();
	return done();
}

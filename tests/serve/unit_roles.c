/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Admission at the decode side (serve.decode_admission) and changes of roles under load (serve.roles), by hand and under failures. All runs
 * are under --check.
 *
 * An iteration of prompts takes 10 ms and 1 ms per token, one of decodes 10 ms. A token has 1,000 bytes of KV cache: one of 41 tokens takes
 * 41 ms at 1e6 B/s and three blocks of 16 tokens.
 */
#include "base/mem.h"
#include "base/sbuf.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include <string.h>

extern const struct orr_policy orr_policy_serve_distserve, orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca,
	orr_policy_serve_mlfq;

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"fits\":{\"by_tp\":[{\"tp\":1,\"prefill_ms\":[10,1,0],\"decode_ms\":[10,0,0]}]}}";

struct pools {
	uint32_t prefill, decode, prefill_blocks, decode_blocks;
	int stages; /* 0: one */
};

static struct run_result *serve(const char *rows, const struct pools *p, const char *options, struct llm_run x, struct orr_error *err)
{
	struct sbuf b = { 0 };
	uint32_t pp = p->stages ? (uint32_t)p->stages : 1;
	sbuf_printf(&b, "arrival_s,prompt_tokens,output_tokens\n%s", rows);
	struct serve_deployment d[2] = {
		{ .replicas = p->prefill, .tp = 1, .pp = pp, .role = ORR_ROLE_PREFILL, .kv_blocks = p->prefill_blocks },
		{ .replicas = p->decode, .tp = 1, .pp = pp, .role = ORR_ROLE_DECODE, .kv_blocks = p->decode_blocks }
	};
	*err = (struct orr_error){ 0 };
	struct reqset *set = llm_requests(b.text, err);
	char nodes[16];
	snprintf(nodes, sizeof nodes, "%ux%u", p->prefill + p->decode, pp);
	x.requests = set;
	x.model = model;
	x.policy = x.policy ? x.policy : &orr_policy_serve_vllm;
	x.settings = x.policy == &orr_policy_serve_vllm ? "watermark=0" : x.settings;
	x.cluster = nodes;
	x.deployments = d;
	x.n_deployments = 2;
	x.options = options;
	struct run_result *r = set ? llm_serve(&x, err) : NULL;
	if (!r)
		printf("# %s\n", err->text);
	reqset_free(set);
	sbuf_free(&b);
	return r;
}

static const struct llm_run plain;

/* Two prompts of 40 tokens end at 90 ms. The decode replica has four blocks, so one request at a time. */
static void test_admission(void)
{
	static const struct pools narrow = { 1, 1, 6, 4 };
	struct orr_error err;
	struct run_result *r = serve("0,40,3\n0,40,3\n0.1,40,1\n", &narrow, "kv_Bps=1e6", plain, &err);
	near_to(r ? r->requests[0].completed_s : NAN, .151, 1e-12, "queue: the first arrives at 131 and takes two iterations");
	near_to(r ? r->requests[1].completed_s : NAN, .171, 1e-12, "queue: the second waits at the decode replica");
	result_free(r);
	r = serve("0,40,3\n0,40,3\n0.1,40,1\n", &narrow, "kv_Bps=1e6 decode_admission=reserve", plain, &err);
	near_to(r ? r->requests[0].completed_s : NAN, .151, 1e-12, "reserve: the first is the same");
	near_to(r ? r->requests[1].completed_s : NAN, .212, 1e-12, "reserve: the second is sent at 151, arrives at 192");
	/* The prefill replica has six blocks: three are free at 131, when the first cache has arrived. */
	near_to(r ? r->requests[2].first_token_s : NAN, .181, 1e-12, "reserve: a held cache keeps its blocks on the prefill replica");
	ok(r && llm_metric(r, "kv_transfers") == 2, "each cache is sent once");
	result_free(r);
}

/* Tests that shortest-iteration chooses the first decode replica if the predicted iterations are equal. */
static void test_choice(void)
{
	struct orr_error err;
	struct run_result *r =
		serve("0,40,9\n0,40,9\n", &(struct pools){ 1, 2, 100, 100 }, "kv_Bps=1e6 decode_router=shortest-iteration", plain, &err);
	ok(r && r->requests[0].replica == 1 && r->requests[1].replica == 1, "shortest-iteration: equal times, the first replica");
	result_free(r);
}

/* Returns rows of many requests: prompts of 30 to 130 tokens, outputs of 1 to `most` tokens. */
static char *many(int n, double gap_s, int most)
{
	struct sbuf b = { 0 };
	for (int i = 0; i < n; i++)
		sbuf_printf(&b, "%.4f,%d,%d\n", i * gap_s, 30 + i * 37 % 100, 1 + i * 13 % most);
	return sbuf_steal(&b);
}

static void test_failures(void)
{
	static const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi, &orr_policy_serve_mlfq,
		&orr_policy_serve_orca };
	static const char *const fails[] = { NULL, "time_s,node,event\n2,2,fail\n3,2,repair\n4,1,fail\n5,1,repair\n",
		"time_s,node,event\n2,0,fail\n2.5,0,repair\n3,2,fail\n3,3,fail\n5,2,repair\n6,3,repair\n" };
	char *rows = many(80, .06, 60);
	for (size_t p = 0; p < 4; p++)
		for (size_t f = 0; f < 3; f++) {
			struct orr_error err;
			double end[2];
			struct llm_run x = { .policy = policies[p], .failures = fails[f], .settings = p == 3 ? "output=60" : NULL };
			for (int again = 0; again < 2; again++) {
				struct run_result *r = serve(
					rows, &(struct pools){ 2, 2, 40, 24 }, "kv_Bps=2e6 decode_admission=reserve kv_link=fifo", x, &err);
				ok(r && llm_metric(r, "requests_completed") == 80, "%s, failures %zu: all requests complete under --check",
					policies[p]->name, f);
				end[again] = r ? llm_metric(r, "completion_mean") : NAN;
				result_free(r);
			}
			ok(end[0] == end[1], "%s, failures %zu: twice the same", policies[p]->name, f);
		}
	mem_free(rows);
}

/* A decode replica with residents becomes a prefill replica: they are completed there, also with micro-batches in flight. */
static void test_residents_stay(void)
{
	struct sbuf b = { 0 };
	for (int i = 0; i < 90; i++)
		sbuf_printf(&b, "%.3f,%d,%d\n", i < 20 ? i * .01 : .4, 100 + i % 50, 40 + i % 30);
	for (int stages = 1; stages <= 2; stages++) {
		struct orr_error err;
		struct run_result *r = serve(b.text, &(struct pools){ 1, 3, 1000, 1000, stages },
			stages > 1 ? "roles=adaptive role_interval=1 pipeline=micro-batches" : "roles=adaptive role_interval=1", plain,
			&err);
		ok(r && llm_metric(r, "role_changes") >= 1 && llm_metric(r, "requests_completed") == 90, "%d stages: %g changes", stages,
			llm_metric(r, "role_changes"));
		ok(r && llm_metric(r, "kv_transfers") <= 90, "%d stages: each request is sent at most once (%g)", stages,
			llm_metric(r, "kv_transfers"));
		result_free(r);
	}
	struct orr_error err;
	struct run_result *r = serve(b.text, &(struct pools){ 1, 3, 1000, 1000 }, "roles=adaptive role_interval=0", plain, &err);
	ok(!r && strstr(err.text, "serve.role_interval: expected a time above 0"), "an interval of 0 is an error");
	result_free(r);
	sbuf_free(&b);
}

/* Requests that the cache of one of two replicas can never hold. */
static void test_small_replicas(void)
{
	struct serve_deployment both[2] = { { .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 4 },
		{ .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 100 } };
	struct serve_deployment decode[3] = { { .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 100, .role = ORR_ROLE_PREFILL },
		{ .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 4, .role = ORR_ROLE_DECODE },
		{ .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 100, .role = ORR_ROLE_DECODE } };
	struct orr_error err = { 0 };
	struct reqset *set = llm_requests("arrival_s,prompt_tokens,output_tokens\n0,200,3\n0,200,3\n0,40,3\n", &err);
	struct llm_run x = { .requests = set,
		.model = model,
		.policy = &orr_policy_serve_vllm,
		.settings = "watermark=0",
		.cluster = "2x1",
		.deployments = both,
		.n_deployments = 2,
		.options = "router=round-robin" };
	struct run_result *r = llm_serve(&x, &err);
	ok(r && llm_metric(r, "requests_completed") == 3,
		"a request that the router sends to a replica that is too small goes to another: %s", err.text);
	result_free(r);
	static const char *const how[] = { "decode_admission=queue", "decode_admission=reserve" };
	for (int i = 0; i < 2; i++) {
		x.cluster = "3x1";
		x.deployments = decode;
		x.n_deployments = 3;
		x.options = how[i];
		r = llm_serve(&x, &err);
		ok(r && llm_metric(r, "requests_completed") == 3 && r->requests[0].replica == 2 && r->requests[1].replica == 2 &&
				r->requests[2].replica == 1,
			"%s: caches go to a decode replica that can hold the request: %s", how[i], err.text);
		result_free(r);
	}
	reqset_free(set);
}

static void test_roles(void)
{
	struct orr_error err;
	/* 60 prompts at once, then one every 0.1 s; a replica changes at the first decision, after 0.5 s. */
	struct sbuf b = { 0 };
	for (int i = 0; i < 200; i++)
		sbuf_printf(&b, "%.3f,%d,%d\n", i < 60 ? 0 : (i - 60) * .1, 100 + i % 50, 2 + i % 3);
	static const struct pools four = { 1, 3, 1000, 1000 };
	struct run_result *fixed = serve(b.text, &four, "kv_Bps=1e8", plain, &err);
	struct run_result *adaptive = serve(b.text, &four, "kv_Bps=1e8 roles=adaptive role_interval=0.5", plain, &err);
	ok(fixed && adaptive && llm_metric(adaptive, "requests_completed") == 200 && llm_metric(adaptive, "restarts") == 0 &&
			llm_metric(adaptive, "preemptions") == 0,
		"no request is lost or restarted by a change of roles");
	ok(adaptive && llm_metric(adaptive, "role_changes") >= 1, "%g changes", llm_metric(adaptive, "role_changes"));
	ok(fixed && adaptive && llm_metric(adaptive, "ttft_mean") < .8 * llm_metric(fixed, "ttft_mean"),
		"prompts wait less: TTFT %.3f s, fixed roles %.3f s", llm_metric(adaptive, "ttft_mean"), llm_metric(fixed, "ttft_mean"));
	result_free(fixed);
	result_free(adaptive);
	sbuf_free(&b);
	/* Long outputs on one small decode replica: its blocks are full, so a prefill replica changes. */
	char *rows = many(120, .05, 400);
	static const struct pools small = { 3, 1, 100, 60 };
	fixed = serve(rows, &small, "kv_Bps=1e8", plain, &err);
	adaptive = serve(rows, &small, "kv_Bps=1e8 roles=adaptive role_interval=0.5", plain, &err);
	ok(fixed && adaptive && llm_metric(adaptive, "role_changes") >= 1 && llm_metric(adaptive, "requests_completed") == 120 &&
			llm_metric(adaptive, "completion_mean") < llm_metric(fixed, "completion_mean"),
		"full decode replicas get a prefill replica: %.2f s, fixed roles %.2f s", llm_metric(adaptive, "completion_mean"),
		llm_metric(fixed, "completion_mean"));
	result_free(fixed);
	result_free(adaptive);
	struct run_result *r = serve(rows, &small, "roles=adaptive role_interval=0.5 decode_admission=reserve",
		(struct llm_run){ .policy = &orr_policy_serve_sarathi,
			.failures = "time_s,node,event\n2,3,fail\n3,3,repair\n4,0,fail\n5,0,repair\n" },
		&err);
	ok(r && llm_metric(r, "requests_completed") == 120, "changes of roles, held caches and failures: all complete");
	result_free(r);
	mem_free(rows);
	r = serve("0,10,3\n", &small, "roles=adaptive", (struct llm_run){ .policy = &orr_policy_serve_distserve }, &err);
	same_text(r ? "no error" : err.text,
		"serve.roles=adaptive: expected a policy that does not distinguish roles itself (ORR_SERVE_HANDS_OFF)",
		"a policy with roles of its own refuses changes");
	result_free(r);
}

/* The prefill replica fails at 0.5 s. At the decision at 1.5 s the request of 1 s waits, so a decode replica becomes a prefill replica. It
 * takes 20 ms for the prompt of 10 tokens. The two decodes of 10 ms run on another replica, or on the same if there is none. */
static void test_empty_role(void)
{
	for (uint32_t decode = 1; decode <= 2; decode++) {
		struct orr_error err;
		struct run_result *r =
			serve("0,10,3\n1,10,3\n", &(struct pools){ 1, decode, 100, 100 }, "kv_Bps=1e18 roles=adaptive role_interval=0.5",
				(struct llm_run){ .failures = "time_s,node,event\n0.5,0,fail\n" }, &err);
		near_to(r ? r->requests[1].completed_s : NAN, 1.54, 1e-9, "a decode replica takes the place of the last prefill replica");
		ok(r && r->requests[1].replica == decode && llm_metric(r, "role_changes") == 1, "with %u decode replicas", decode);
		result_free(r);
	}
}

int main(void)
{
	test_admission();
	test_choice();
	test_failures();
	test_roles();
	test_residents_stay();
	test_small_replicas();
	test_empty_role();
	return done();
}

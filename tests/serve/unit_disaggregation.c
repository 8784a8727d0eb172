/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prefill and decode on separate replicas, computed by hand: links that send one KV cache at a time, work started by pipeline
 * stage, loss of replicas, short memory, messages of impossible actions. All runs are under --check, which compares bytes sent and
 * received.
 *
 * An iteration of prompts takes 10 ms and 1 ms per token, one of decodes 10 ms. A token has 1,000 bytes of KV cache.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_distserve, orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_orca,
	orr_policy_serve_fastertransformer, orr_policy_serve_mlfq, orr_policy_serve_splitwise;

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"fits\":{\"by_tp\":[{\"tp\":1,\"prefill_ms\":[10,1,0],\"decode_ms\":[10,0,0]}]}}";

static struct orr_error failure;

struct pools {
	uint32_t prefill, decode, blocks, prefill_pp, decode_pp;
};

/* requests: lines after "arrival_s,prompt_tokens,output_tokens". */
static struct run_result *serve(const char *requests, const struct pools *p, struct llm_run x)
{
	char text[8000];
	snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", requests);
	struct serve_deployment d[2] = {
		{ .replicas = p->prefill,
			.tp = 1,
			.pp = p->prefill_pp ? p->prefill_pp : 1,
			.role = ORR_ROLE_PREFILL,
			.kv_blocks = p->blocks },
		{ .replicas = p->decode, .tp = 1, .pp = p->decode_pp ? p->decode_pp : 1, .role = ORR_ROLE_DECODE, .kv_blocks = p->blocks }
	};
	failure = (struct orr_error){ 0 };
	struct reqset *set = llm_requests(text, &failure);
	if (!set)
		return NULL;
	if (!p->decode)
		d[0].role = ORR_ROLE_BOTH;
	x.requests = set;
	x.policy = x.policy ? x.policy : &orr_policy_serve_distserve;
	x.model = x.model ? x.model : model;
	x.cluster = x.cluster ? x.cluster : "8x4";
	x.deployments = d;
	x.n_deployments = p->decode ? 2 : 1;
	struct run_result *r = llm_serve(&x, &failure);
	if (!r)
		printf("# %s\n", failure.text);
	reqset_free(set);
	return r;
}

static double end_of(const struct run_result *r, size_t i)
{
	return r ? r->requests[i].completed_s : NAN;
}

/* Times in ms. Both prompts end at 30. Over the FIFO link the caches, 10 ms each, arrive at 41 and 51; 10 ms iterations start at 41. */
static void test_link(void)
{
	static const struct pools one = { 1, 1, 100, 1, 1 };
	struct llm_run x = { .options = "kv_link=fifo kv_Bps=1e6 kv_latency=1ms" };
	struct run_result *r = serve("0,10,3\n0,10,3\n", &one, x);
	near_to(r ? r->requests[1].first_token_s : NAN, 0.03, 1e-12, "the first token is that of the prefill replica");
	near_to(end_of(r, 0), 0.061, 1e-12, "the first cache takes the link first");
	near_to(end_of(r, 1), 0.071, 1e-12, "the second waits for the link");
	near_to(r ? llm_metric(r, "kv_transfer_mean") : NAN, 0.016, 1e-12, "mean time of a transfer, with its wait");
	result_free(r);
	/* Of three blocks the first request has two until its end at 150; the second prompt ends at 80, and its cache is sent from 150 to
	 * 170. */
	r = serve("0,20,11\n0.05,20,2\n", &(struct pools){ 1, 1, 3, 1, 1 },
		(struct llm_run){ .policy = &orr_policy_serve_vllm,
			.settings = "watermark=0",
			.options = "kv_link=fifo kv_Bps=1e6 decode_admission=reserve" });
	near_to(end_of(r, 1), 0.18, 1e-9, "the second cache waits for room");
	near_to(r ? llm_metric(r, "kv_transfer_mean") : NAN, (0.02 + 0.09) / 2, 1e-9, "mean time of a transfer, with its wait for room");
	result_free(r);
	/* Independent transfers count the last output too: 11 ms each. */
	x.options = "kv_Bps=1e6 kv_latency=1ms";
	r = serve("0,10,3\n0,10,3\n", &one, x);
	near_to(end_of(r, 0), 0.062, 1e-12, "independent transfers do not wait");
	near_to(end_of(r, 1), 0.062, 1e-12, "both decode together");
	result_free(r);
	/* Each prefill replica has its own link: prompts on two replicas end at 20, caches arrive at 31. */
	x.options = "kv_link=fifo kv_Bps=1e6 kv_latency=1ms";
	r = serve("0,10,3\n0,10,3\n", &(struct pools){ 2, 1, 100, 1, 1 }, x);
	near_to(end_of(r, 1), 0.051, 1e-12, "a link for each prefill replica");
	result_free(r);
	x.topology = "star";
	r = serve("0,10,3\n", &one, x);
	same_text(r ? "no error" : failure.text,
		"serve.kv_link=fifo: KV caches cross the links of the network: expected network=none, or serve.kv_link=independent",
		"a FIFO link and a network exclude one another");
	result_free(r);
	r = serve("0,10,3\n", &one, (struct llm_run){ .options = "draft_tokens=2 draft_acceptance=0.5" });
	ok(!r && strstr(failure.text, "starts work by pipeline stage, which is not speculative: expected 0"),
		"work by stage is not speculative");
}

/* The same times under policies without their own roles: the world sends requests on. */
static void test_other_policies(void)
{
	static const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi, &orr_policy_serve_orca,
		&orr_policy_serve_mlfq };
	for (size_t i = 0; i < 4; i++) {
		struct llm_run x = {
			.policy = policies[i], .options = "kv_link=fifo kv_Bps=1e6 kv_latency=1ms", .settings = i == 2 ? "output=10" : NULL
		};
		struct run_result *r = serve("0,10,3\n0,10,3\n", &(struct pools){ 1, 1, 100, 1, 1 }, x);
		near_to(end_of(r, 0), 0.061, 1e-12, policies[i]->name);
		near_to(end_of(r, 1), 0.071, 1e-12, policies[i]->name);
		ok(r && llm_metric(r, "kv_transfers") == 2, "%s: each request is sent once", policies[i]->name);
		result_free(r);
	}
	/* Two decode replicas: of four equal requests each gets two, by any rule. */
	static const char *const rules[] = { "fewest-requests", "fewest-waiting", "round-robin" };
	for (size_t i = 0; i < 3; i++) {
		char options[80];
		snprintf(options, sizeof options, "kv_Bps=1e6 decode_router=%s", rules[i]);
		struct run_result *r = serve("0,10,3\n0,10,3\n0,10,3\n0,10,3\n", &(struct pools){ 1, 2, 100, 1, 1 },
			(struct llm_run){ .policy = &orr_policy_serve_vllm, .options = options });
		uint32_t first = 0, second = 0;
		for (size_t k = 0; r && k < r->n_requests; k++) {
			first += r->requests[k].replica == 1;
			second += r->requests[k].replica == 2;
		}
		ok(first == 2 && second == 2, "decode_router=%s divides equal requests evenly", rules[i]);
		result_free(r);
	}
}

/* Two stages of prefill take 5 ms + 0.5 ms per token each; decodes one stage. The first prompt is in stage 0 to 10 and in stage 1 to 20;
 * the others, which came meanwhile, are a batch of 20 tokens: stage 0 to 25, stage 1 to 40. */
static void test_stages(void)
{
	struct run_result *r =
		serve("0,10,2\n0.001,10,2\n0.002,10,2\n", &(struct pools){ 1, 1, 100, 2, 1 }, (struct llm_run){ .options = "kv_Bps=1e18" });
	near_to(r ? r->requests[0].first_token_s : NAN, 0.02, 1e-12, "a prompt passes both stages");
	near_to(r ? r->requests[2].first_token_s : NAN, 0.04, 1e-12, "prompts that waited are one batch in both stages");
	near_to(end_of(r, 2), 0.05, 1e-9, "and decode on the other replica");
	result_free(r);
	/* Colocated, one stage: the prompt that comes at 12, during the decode from 10 + 10 = 20, goes first at 30. */
	r = serve("0,10,3\n0.022,10,2\n", &(struct pools){ 1, 0, 100, 1, 0 }, (struct llm_run){ 0 });
	near_to(r ? r->requests[1].first_token_s : NAN, 0.05, 1e-12, "colocated: a prompt goes before decodes");
	near_to(end_of(r, 0), 0.06, 1e-12, "which continue together");
	result_free(r);
}

/* Two stages each: a prompt of 10 tokens takes 20 ms, a decode 10. A request that is alone on the decode replica starts at once. */
static void test_micro_batches(void)
{
	static const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi };
	for (size_t i = 0; i < 2; i++) {
		struct run_result *r = serve("0,10,3\n1,10,4\n", &(struct pools){ 1, 1, 100, 2, 2 },
			(struct llm_run){ .policy = policies[i], .options = "pipeline=micro-batches kv_Bps=1e18" });
		near_to(end_of(r, 0), 0.04, 1e-9, policies[i]->name);
		near_to(end_of(r, 1), 1.05, 1e-9, policies[i]->name);
		result_free(r);
	}
}

/* Nodes fail and return, and blocks are short: all requests complete, and --check accounts for every byte sent. */
static void test_lost(void)
{
	/* Without a decode replica, the prefill replica decodes: 20 ms and two iterations of 10 ms. */
	static const struct orr_policy *const alone[] = { &orr_policy_serve_vllm, &orr_policy_serve_splitwise };
	for (size_t i = 0; i < 2; i++) {
		struct run_result *own = serve("0,10,3\n1,10,3\n", &(struct pools){ 1, 1, 100, 1, 1 },
			(struct llm_run){ .policy = alone[i],
				.options = "kv_Bps=1e18",
				.cluster = "2x1",
				.failures = "time_s,node,event\n0.5,1,fail\n" });
		near_to(end_of(own, 0), 0.04, 1e-9, alone[i]->name);
		near_to(end_of(own, 1), 1.04, 1e-9, alone[i]->name);
		result_free(own);
	}
	char text[4000];
	size_t at = 0;
	for (int i = 0; i < 60; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%.9f,%d,%d\n", i * 0.01, 5 + i * 37 % 91, 1 + i * 53 % 97);
	static const char failures[] =
		"time_s,node,event\n0.2501,0,fail\n0.3,0,repair\n0.41,2,fail\n0.6001,2,repair\n0.9,3,fail\n1.2,3,repair\n";
	static const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi, &orr_policy_serve_orca,
		&orr_policy_serve_fastertransformer };
	for (size_t i = 0; i < 6; i++) {
		bool is_micro = i > 3;
		struct llm_run x = { .policy = policies[i % 4],
			.options = is_micro ? "pipeline=micro-batches kv_Bps=1e6" : "kv_link=fifo kv_Bps=1e6",
			.failures = failures,
			.cluster = is_micro ? "4x3" : "4x1",
			.settings = i == 2 || i == 3 ? "output=100" : NULL };
		struct run_result *r = serve(text, &(struct pools){ 2, 2, 30, is_micro ? 3 : 1, is_micro ? 3 : 1 }, x);
		ok(r && llm_metric(r, "requests_completed") == 60 && llm_metric(r, "restarts") > 0 && llm_metric(r, "kv_transfers") >= 59,
			"%s%s: with failures and short memory every request completes", policies[i % 4]->name,
			is_micro ? ", micro-batches" : "");
		result_free(r);
	}
	for (uint32_t pp = 1; pp <= 3; pp += 2) {
		struct llm_run x = { .options = "kv_link=fifo kv_Bps=1e6", .failures = failures, .cluster = pp == 1 ? "4x1" : "4x3" };
		struct run_result *r = serve(text, &(struct pools){ 2, 2, 30, pp, pp }, x);
		ok(r && llm_metric(r, "requests_completed") == 60 && llm_metric(r, "restarts") > 0 && llm_metric(r, "preemptions") > 0,
			"pp %u: with failures and short memory every request completes", pp);
		result_free(r);
		x.failures = NULL;
		x.options = "kv_Bps=1e6";
		x.topology = "star:bw=10Mbps";
		r = serve(text, &(struct pools){ 2, 2, 30, pp, pp }, x);
		ok(r && llm_metric(r, "requests_completed") == 60, "pp %u: caches cross a network", pp);
		result_free(r);
	}
}

/* ---- impossible actions ---- */

enum wrong_act { ITERATION, NOTHING, BUSY, STAGE, NOT_WAITING };
static struct {
	enum wrong_act act;
	orr_req r[2];
	uint32_t n;
} s;

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)w;
	if (s.n < 2)
		s.r[s.n++] = r;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	if (s.n < 2)
		return;
	if (s.act == NOTHING) {
		orr_stage_run(w, replica, 0);
		return;
	}
	orr_admit(w, s.r[0], 10, 0);
	orr_admit(w, s.r[1], 10, 0);
	if (s.act == NOT_WAITING)
		orr_stage_add(w, s.r[0]);
	orr_iter_prefill(w, s.r[0], 10);
	if (s.act == ITERATION)
		orr_iter_run(w, replica, 1, 0, 0);
	orr_stage_run(w, replica, s.act == STAGE ? 1 : 0);
	orr_iter_prefill(w, s.r[1], 10);
	orr_stage_run(w, replica, 0);
}

static const struct orr_serve_ops ops = { .create = llm_no_state, .destroy = llm_no_end, .arrive = arrive, .schedule = schedule };

static void test_impossible(void)
{
	static const struct {
		enum wrong_act act;
		unsigned flags;
		const char *text;
	} cases[] = {
		{ ITERATION, ORR_SERVE_BY_STAGE,
			"policy scripted: at 0.000000000 s: orr_iter_run() on replica 0: expected orr_stage_run(), because the policy "
			"declares "
			"ORR_SERVE_BY_STAGE" },
		{ NOTHING, ORR_SERVE_BY_STAGE,
			"policy scripted: at 0.000000000 s: orr_stage_run() on stage 0 of replica 0: there is nothing to do: expected a "
			"prefill "
			"or a decode" },
		{ BUSY, ORR_SERVE_BY_STAGE,
			"policy scripted: at 0.000000000 s: orr_stage_run() on stage 0 of replica 0: expected an idle stage" },
		{ STAGE, ORR_SERVE_BY_STAGE,
			"policy scripted: request 0 at 0.000000000 s: orr_stage_run() on stage 1 of replica 0: this request waits at stage "
			"0: "
			"expected one stage" },
		{ NOT_WAITING, ORR_SERVE_BY_STAGE,
			"policy scripted: request 0 at 0.000000000 s: orr_stage_add(): expected a request that waits at a stage after the "
			"first, listed once" },
		{ BUSY, 0,
			"policy scripted: at 0.000000000 s: orr_stage_run() on stage 0 of replica 0: expected a policy that declares "
			"ORR_SERVE_BY_STAGE" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct orr_policy scripted = { ORR_ABI_VERSION, sizeof scripted, "scripted", "acts wrongly", "serve", cases[i].flags,
			llm_no_params, &ops, sizeof ops };
		memset(&s, 0, sizeof s);
		s.act = cases[i].act;
		struct run_result *r =
			serve("0,10,5\n0,10,5\n", &(struct pools){ 1, 0, 100, 2, 0 }, (struct llm_run){ .policy = &scripted });
		same_text(r ? "no error" : failure.text, cases[i].text, cases[i].text);
		result_free(r);
	}
}

int main(void)
{
	test_link();
	test_other_policies();
	test_stages();
	test_micro_batches();
	test_lost();
	test_impossible();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fleets of replicas with a language model: failures, scaling, prefix-aware routing, roles, and requests that never fit. */
#include "tests/serve/fleet_run.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi, orr_policy_serve_splitwise, orr_policy_serve_fifo;

/* An iteration takes 10 ms and 0.1 ms per token. */
#define LLM                                                                                                                  \
	"{\"name\": \"l\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"llm\", \"weight_bytes\": 0, " \
	"\"kv_bytes_per_token\": 1, \"longest\": 100000, "                                                                   \
	"\"closed\": {\"constant_ms\": 10, \"token_ms\": 0.1, \"context_ms\": 0, \"pair_ms\": 0}}"

static struct fleet_case fleet(const char *requests, uint32_t replicas, const char *options)
{
	return (struct fleet_case){ .requests = requests,
		.models = { LLM },
		.deployment = { { .replicas = replicas, .model = UINT32_MAX, .tp = 2, .pp = 1, .kv_blocks = 40 } },
		.cluster = "6x2",
		.policy = &orr_policy_serve_vllm,
		.options = options,
		.seed = 4,
		.max_rows = 100000 };
}

/* --check compares the tokens of each completed request with the requested number. */
static void check_failures(const struct orr_policy *policy)
{
	struct fleet_case c = fleet("poisson:rate=8,n=2000,prompt=exp:120,output=exp:30", 4, "start_up=200ms notice=100ms");
	c.policy = policy;
	c.mtbf_s = 15;
	c.mttr_s = 3;
	struct run_result *r = fleet_must_run(&c, policy->name);
	double completed = fleet_metric(r, "requests_completed"), refused = fleet_metric(r, "requests_refused");
	ok(completed + refused == 2000 && completed > 1500 && fleet_metric(r, "restarts") > 20 && fleet_metric(r, "lost_work") > 0,
		"%s: %g complete, %g never fit, %g replicas are lost (%g restarts)", policy->name, completed, refused,
		fleet_metric(r, "replicas_lost"), fleet_metric(r, "restarts"));
	ok(fleet_metric(r, "kv_use_mean") > 0 && fleet_metric(r, "kv_use_mean") < 1, "mean use of the cache is between 0 and 1 (%g)",
		fleet_metric(r, "kv_use_mean"));
	result_free(r);
}

static void check_scaling(void)
{
	struct fleet_case c = fleet("poisson:rate=10,n=3000,prompt=exp:120,output=exp:30", 1,
		"autoscale=outstanding scale_target=4 scale_interval=1s scale_quiet=10s start_up=2s");
	c.deployment[0].least = 1;
	c.deployment[0].most = 5;
	struct run_result *r = fleet_must_run(&c, "scaling");
	ok(fleet_metric(r, "scale_ups") > 0 && fleet_metric(r, "requests_unfinished") == 0 &&
			fleet_metric(r, "gpu_hours") < 10 * fleet_metric(r, "duration") / 3600,
		"replicas are added and removed, and all requests end");
	struct fleet_case fixed = fleet(c.requests, 1, NULL);
	struct run_result *one = fleet_must_run(&fixed, "one replica");
	ok(fleet_metric(r, "ttft_p99") < fleet_metric(one, "ttft_p99"), "the mean TTFT is less than with one replica (%g, %g s)",
		fleet_metric(r, "ttft_p99"), fleet_metric(one, "ttft_p99"));
	result_free(one);
	result_free(r);
}

/* Ticks at every second. The decode replica is idle and leaves at 1 s. At 5.1 s a request finds none, and decodes for 5 s on the prefill
 * replica; so the tick at 6 s starts a decode replica, which is up at 6.5 s and takes the request of 7 s. */
static void check_empty_pool(const struct orr_policy *policy)
{
	struct fleet_case c = fleet("arrival_s,prompt_tokens,output_tokens\n5.1,100,500\n7,100,100\n", 1,
		"autoscale=outstanding scale_target=4 scale_interval=1s scale_quiet=0s start_up=500ms");
	c.policy = policy;
	c.deployment[0].role = ORR_ROLE_PREFILL;
	c.deployment[1] = c.deployment[0];
	c.deployment[1].role = ORR_ROLE_DECODE;
	c.deployment[1].most = 2;
	struct run_result *r = fleet_must_run(&c, policy->name);
	ok(r && r->n_replicas == 3 && r->replicas[1].stop_ns == ORR_SECOND && r->replicas[2].start_ns == 6 * ORR_SECOND &&
			r->replicas[2].ready_ns == 13 * ORR_SECOND / 2,
		"%s: requests on the prefill replica bring back a decode replica", policy->name);
	ok(r && r->n_requests == 2 && r->requests[0].replica == 0 && r->requests[1].replica == 1, "%s: the next request decodes there",
		policy->name);
	result_free(r);
}

/* 40 blocks of 16 tokens hold 640 tokens. The last output token of a request is never processed and needs no room. */
static void check_fit(void)
{
	struct fleet_case c = fleet("arrival_s,prompt_tokens,output_tokens\n0,700,1\n0,600,41\n0,600,42\n0,641,1\n0,640,1\n", 1, NULL);
	c.policy = &orr_policy_serve_fifo;
	struct run_result *r = fleet_must_run(&c, "fit");
	bool is_refused[5] = { true, false, true, true, false }, good = r && r->n_requests == 5;
	for (int i = 0; good && i < 5; i++)
		good = (r->requests[i].status == REQUEST_REFUSED) == is_refused[i];
	ok(good, "requests that can never fit are refused at arrival, those that just fit complete");
	result_free(r);
	/* Under each policy one block is missing for a decode, so the last resident is evicted; all requests complete. */
	const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi };
	for (int i = 0; i < 2; i++) {
		c.policy = policies[i];
		r = fleet_must_run(&c, policies[i]->name);
		ok(fleet_metric(r, "requests_completed") == 2 && fleet_metric(r, "requests_refused") == 3, "%s too", policies[i]->name);
		result_free(r);
	}
}

/* Two replicas, 512 tokens per hash. The first replica is busy when the second request arrives; later both replicas are idle. */
static void check_prefix(void)
{
	static const char rows[] = "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 2, \"hash_ids\": [1, 2]}\n"
				   "{\"timestamp\": 10, \"input_length\": 1024, \"output_length\": 2, \"hash_ids\": [3, 4]}\n"
				   "{\"timestamp\": 5000, \"input_length\": 1536, \"output_length\": 2, \"hash_ids\": [3, 4, 5]}\n"
				   "{\"timestamp\": 10000, \"input_length\": 1536, \"output_length\": 2, \"hash_ids\": [1, 2, 6]}\n"
				   "{\"timestamp\": 15000, \"input_length\": 512, \"output_length\": 2, \"hash_ids\": [9]}\n";
	struct fleet_case c = fleet(rows, 2, "router=prefix-aware prefix_cache=true kv_block=512");
	struct run_result *r = fleet_must_run(&c, "prefix-aware");
	static const uint32_t want[] = { 0, 1, 1, 0, 0 };
	bool good = r && r->n_requests == 5;
	for (int i = 0; good && i < 5; i++)
		good = r->requests[i].replica == want[i];
	ok(good, "requests go to the replica with most of their prompt in its cache, else to the shortest queue");
	/* Two prompts of 1536 tokens find 1024 tokens in the cache; the other prompts find none. */
	ok(fleet_metric(r, "prompt_tokens_processed") == 1024 + 1024 + 512 + 512 + 512, "cached tokens are not processed again (%g)",
		fleet_metric(r, "prompt_tokens_processed"));
	result_free(r);
}

/* New requests go to prefill replicas; each completes on a decode replica. */
static void check_roles(void)
{
	struct fleet_case c = fleet("poisson:rate=5,n=500,prompt=exp:120,output=exp:30", 2, NULL);
	c.policy = &orr_policy_serve_splitwise;
	c.deployment[0].role = ORR_ROLE_PREFILL;
	c.deployment[1] = c.deployment[0];
	c.deployment[1].replicas = 3;
	c.deployment[1].role = ORR_ROLE_DECODE;
	struct run_result *r = fleet_must_run(&c, "splitwise");
	uint32_t at_decode = 0, long_ones = 0;
	for (size_t i = 0; r && i < r->n_requests; i++) {
		bool is_long = r->requests[i].status == REQUEST_COMPLETED && r->requests[i].output_tokens > 1;
		long_ones += is_long;
		at_decode += is_long && r->requests[i].replica >= 2;
	}
	ok(long_ones > 400 && at_decode == long_ones, "%u of %u requests complete on a decode replica", at_decode, long_ones);
	result_free(r);
	/* 101 bytes take 10 s: --check accepts a cache in transit at the end of the run. */
	c.requests = "arrival_s,prompt_tokens,output_tokens\n0,100,10\n";
	c.policy = &orr_policy_serve_vllm;
	c.options = "kv_Bps=10";
	c.until_s = 5;
	r = fleet_must_run(&c, "a cache in transit");
	ok(r && fleet_metric(r, "requests_unfinished") == 1 && fleet_metric(r, "kv_transfers") == 1,
		"the run ends while a cache is in transit");
	result_free(r);
}

/* The only replica is lost at 1 s, and its replacement is ready at 11 s. The router then rejects the first two requests, whose prompts take
 * 70 ms, at that time: --check compares the times of the requests with the time integral. */
static void check_replacement(void)
{
	struct fleet_case c = fleet(
		"arrival_s,prompt_tokens,output_tokens\n2,600,10\n3,600,10\n4,10,10\n", 1, "router=conductor slo_ttft=50ms start_up=10s");
	c.policy = &orr_policy_serve_sarathi;
	c.failures = "time_s,node,event\n1,n0,fail\n";
	struct run_result *r = fleet_must_run(&c, "a replacement");
	ok(r && fleet_metric(r, "shed_policy") == 2 && fleet_metric(r, "in_system_max") == 3 && fleet_metric(r, "duration") > 9,
		"requests that wait for a replica are rejected when it is ready");
	result_free(r);
}

int main(void)
{
	check_failures(&orr_policy_serve_vllm);
	check_failures(&orr_policy_serve_sarathi);
	check_scaling();
	check_empty_pool(&orr_policy_serve_vllm);
	check_empty_pool(&orr_policy_serve_splitwise);
	check_fit();
	check_prefix();
	check_roles();
	check_replacement();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests on fleets whose KV caches differ: built-in policies choose replicas that can hold the request, and an action that places a
 * request where it can never fit is an error. All runs are under --check.
 *
 * An iteration takes 10 ms and 0.1 ms per token. A block has 16 tokens.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_distserve, orr_policy_serve_splitwise, orr_policy_serve_fifo;

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"closed\":{\"constant_ms\":10,\"token_ms\":0.1,\"context_ms\":0,\"pair_ms\":0}}";

static struct orr_error failure;

static struct run_result *serve(const char *requests, const struct serve_deployment *d, uint32_t n, const struct orr_policy *policy)
{
	char text[8000];
	snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", requests);
	failure = (struct orr_error){ 0 };
	struct reqset *set = llm_requests(text, &failure);
	struct run_result *r = set ? llm_serve(&(struct llm_run){ .requests = set,
						       .model = model,
						       .policy = policy,
						       .deployments = d,
						       .n_deployments = n,
						       .cluster = "8x1" },
					     &failure)
				   : NULL;
	if (!r)
		printf("# %s\n", failure.text);
	reqset_free(set);
	return r;
}

/* Caches of 10 and 40 blocks: 160 and 640 tokens. Odd requests need 299 tokens, the others 99. */
static void all_end(const struct orr_policy *policy, enum orr_replica_role first, enum orr_replica_role second, const char *what)
{
	char requests[4000];
	int at = 0;
	for (int i = 0; i < 24; i++)
		at += snprintf(requests + at, sizeof requests - (size_t)at, "%g,%d,%d\n", .02 * i, 60, i % 2 ? 240 : 40);
	struct serve_deployment d[] = {
		{ .replicas = 2, .tp = 1, .pp = 1, .role = first, .kv_blocks = first == ORR_ROLE_PREFILL ? 40 : 10 },
		{ .replicas = 2, .tp = 1, .pp = 1, .role = second, .kv_blocks = 10 },
		{ .replicas = 1, .tp = 1, .pp = 1, .role = second, .kv_blocks = 40 }
	};
	struct run_result *r = serve(requests, d, 3, policy);
	ok(r && llm_metric(r, "requests_completed") == 24, "%s: large requests go to the replica that can hold them", what);
	result_free(r);
}

/* ---- actions ---- */

static struct {
	bool moves;
	orr_req r;
	bool small, large;
} s;

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)w, (void)r;
	return s.moves ? 1 : ORR_NO_REPLICA;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	s.small = orr_kv_can_hold(w, 0, r);
	s.large = orr_kv_can_hold(w, 1, r);
	if (!s.moves)
		orr_assign(w, r, 0);
	else if (orr_admit(w, r, 60, 0))
		orr_iter_prefill(w, r, 60);
	s.r = r;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	if (!replica)
		return;
	if (!orr_req_done(w, s.r))
		orr_iter_run(w, replica, 1, 0, ORR_ITER_HOLD);
	else
		orr_move(w, s.r, 0);
}

static const struct orr_serve_ops ops = {
	.create = llm_no_state, .destroy = llm_no_end, .route = route, .arrive = arrive, .schedule = schedule
};

static void test_errors(void)
{
	static const struct serve_deployment d[] = { { .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 10 },
		{ .replicas = 1, .tp = 1, .pp = 1, .kv_blocks = 40 } };
	struct orr_policy scripted = { ORR_ABI_VERSION, sizeof scripted, "scripted", "places wrongly", "serve", 0, llm_no_params, &ops,
		sizeof ops };
	for (int i = 0; i < 2; i++) {
		char want[300];
		memset(&s, 0, sizeof s);
		s.moves = i;
		struct run_result *r = serve("0,60,240\n", d, 2, &scripted);
		ok(!r && !s.small && s.large, "60 + 239 tokens: 160 do not hold them, and 640 do");
		snprintf(want, sizeof want,
			"policy scripted: request 0 at %s s: %s: the KV cache of replica 0 holds 160 tokens, and the request needs 299: "
			"expected "
			"orr_kv_can_hold()",
			i ? "0.016000000" : "0.000000000", i ? "orr_move()" : "orr_assign()");
		same_text(r ? "no error" : failure.text, want, want);
		result_free(r);
	}
}

int main(void)
{
	all_end(&orr_policy_serve_distserve, ORR_ROLE_PREFILL, ORR_ROLE_DECODE, "distserve, decode replicas");
	all_end(&orr_policy_serve_distserve, ORR_ROLE_BOTH, ORR_ROLE_BOTH, "distserve, colocated");
	all_end(&orr_policy_serve_splitwise, ORR_ROLE_PREFILL, ORR_ROLE_DECODE, "splitwise, decode replicas");
	all_end(&orr_policy_serve_splitwise, ORR_ROLE_BOTH, ORR_ROLE_BOTH, "splitwise, colocated");
	all_end(&orr_policy_serve_fifo, ORR_ROLE_BOTH, ORR_ROLE_BOTH, "fifo");
	test_errors();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Micro-batches in flight on replicas with pipeline stages (serve.pipeline=micro-batches), computed by hand: times, fixed members,
 * throughput, loss of a replica, messages of impossible actions. All runs are under --check.
 *
 * With two stages a stage takes 10 ms, regardless of the contents of the micro-batch.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi;

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"closed\":{\"constant_ms\":20,\"token_ms\":0,\"context_ms\":0,\"pair_ms\":0}}";
/* A stage of two: 1 ms + 1 ms per token; the first adds a hop of 2 ms + 0.5 ms per token. */
static const char hops[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			   "\"closed\":{\"constant_ms\":0,\"token_ms\":2,\"context_ms\":0,\"pair_ms\":0,\"stage_ms\":1,\"hop_ms\":2,"
			   "\"hop_token_ms\":0.5}}";

static struct orr_error failure;

/* requests: lines after "arrival_s,prompt_tokens,output_tokens". */
static struct run_result *serve(const char *requests, struct llm_run x)
{
	char text[8000];
	snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", requests);
	failure = (struct orr_error){ 0 };
	struct reqset *set = llm_requests(text, &failure);
	if (!set)
		return NULL;
	x.requests = set;
	x.policy = x.policy ? x.policy : &orr_policy_serve_vllm;
	x.model = x.model ? x.model : model;
	x.kv_blocks = x.kv_blocks ? x.kv_blocks : 1000;
	x.pp = x.pp ? x.pp : 2;
	x.options = x.options ? x.options : "pipeline=micro-batches";
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

static double first_of(const struct run_result *r, size_t i)
{
	return r ? r->requests[i].first_token_s : NAN;
}

/*
 * Times in ms. The prompt of the first request is in stage 0 from 0 to 10 and in stage 1 to 20. That of the second, which arrives at
 * 5, takes the free slot at once, starts at 10 and ends at 30. Each then decodes in its own micro-batches: one starts when the
 * other leaves stage 0.
 */
static void test_by_hand(void)
{
	static const char two[] = "0,8,3\n0.005,8,3\n";
	struct run_result *r = serve(two, (struct llm_run){ 0 });
	near_to(first_of(r, 0), 0.02, 1e-12, "a prompt alone passes both stages");
	near_to(first_of(r, 1), 0.03, 1e-12, "the second prompt enters stage 0 when the first leaves it");
	near_to(end_of(r, 0), 0.06, 1e-12, "the first request decodes in a micro-batch of its own");
	near_to(end_of(r, 1), 0.07, 1e-12, "the second request too");
	near_to(r ? r->requests[1].queue_s : NAN, 0, 1e-12, "a request starts when its first micro-batch is formed");
	ok(r && llm_metric(r, "iterations") == 6, "six micro-batches of one request each");
	/* The replica is busy from 0 to 70 ms of 70 ms. */
	near_to(r ? llm_metric(r, "utilisation") : NAN, 1, 1e-9, "the replica is busy while a micro-batch is in flight");
	result_free(r);
	r = serve(two, (struct llm_run){ .options = "pipeline=serial" });
	near_to(end_of(r, 0), 0.08, 1e-12, "serial: prompts one after the other, then two decodes of both, 20 ms each");
	near_to(end_of(r, 1), 0.08, 1e-12, "serial: both end together");
	result_free(r);
	/* Sarathi forms the same micro-batches here. */
	r = serve(two, (struct llm_run){ .policy = &orr_policy_serve_sarathi });
	near_to(end_of(r, 1), 0.07, 1e-12, "sarathi: the same times");
	result_free(r);
	/* Both slots are taken until 20: the third request, which arrives at 6, joins the micro-batch formed then, whose prompts come
	 * before the decode of the first request. It starts at 20 and ends at 40. */
	r = serve("0,8,3\n0.005,8,3\n0.006,8,1\n", (struct llm_run){ 0 });
	near_to(first_of(r, 2), 0.04, 1e-12, "a request waits for a free slot");
	near_to(r ? r->requests[2].queue_s : NAN, 0.014, 1e-12, "and its queue time ends there");
	result_free(r);
	/* 3 tokens: stage 0 takes 1 + 3 + 2 + 1.5 ms, stage 1 takes 1 + 3 ms. */
	r = serve("0,3,1\n", (struct llm_run){ .model = hops });
	near_to(end_of(r, 0), 0.0115, 1e-12, "a constant per stage, and a hop after each stage but the last");
	result_free(r);
	r = serve("0,3,1\n", (struct llm_run){ .model = hops, .options = "pipeline=serial" });
	near_to(end_of(r, 0), 0.0115, 1e-12, "serial: the same sum");
	result_free(r);
}

/* With S micro-batches always in flight one ends every stage time: 64 requests, each in decode for 400 tokens, in 4 groups of 16. */
static void test_throughput(void)
{
	char text[4000];
	size_t at = 0;
	for (int i = 0; i < 64; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "0,4,401\n");
	struct llm_run x = { .pp = 4, .settings = "max_batch=64", .kv_blocks = 4000 };
	struct run_result *r = serve(text, x);
	/* Four prompts' micro-batches, then 4 x 400 of decodes: one leaves every 5 ms after the first 20 ms. */
	near_to(end_of(r, 63), 1604 * 0.005 + 0.015, 1e-9, "one micro-batch ends every stage time");
	result_free(r);
	x.options = "pipeline=serial";
	r = serve(text, x);
	near_to(end_of(r, 63), 401 * 0.02, 1e-9, "serial: one iteration of all requests ends every four stage times");
	result_free(r);
}

/* A node fails while micro-batches are in flight, and returns; blocks are short. Events on a caller's clock give the same times. */
static void test_lost(void)
{
	char text[2000];
	size_t at = 0;
	for (int i = 0; i < 40; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%.9f,%d,%d\n", i * 0.01, 5 + i * 37 % 91, 1 + i * 53 % 97);
	const struct orr_policy *const policies[] = { &orr_policy_serve_vllm, &orr_policy_serve_sarathi };
	for (int i = 0; i < 2; i++) {
		struct llm_run x = { .policy = policies[i],
			.kv_blocks = 30,
			.model = llm_vidur_model,
			.replicas = 2,
			.pp = 3,
			.settings = i ? "chunk=32" : NULL,
			.failures = "time_s,node,event\n0.2501,0,fail\n0.3,0,repair\n0.41,1,fail\n0.6001,1,repair\n" };
		struct run_result *r = serve(text, x);
		ok(r && llm_metric(r, "requests_completed") == 40 && llm_metric(r, "restarts") > 0 && llm_metric(r, "preemptions") > 0,
			"%s: requests of a lost replica complete on the other", policies[i]->name);
		x.is_guest = true;
		x.failures = NULL;
		struct run_result *guest = serve(text, x);
		x.is_guest = false;
		struct run_result *own = serve(text, x);
		bool same = guest && own;
		for (size_t k = 0; same && k < 40; k++)
			same = fabs(end_of(guest, k) - end_of(own, k)) <= 0;
		ok(same, "%s: the same times on a shared clock", policies[i]->name);
		result_free(r);
		result_free(guest);
		result_free(own);
	}
}

/* A request whose last block fills the cache completes, and a request that evicts itself restarts. */
static void test_tight(void)
{
	struct run_result *r = serve("0,16,33\n", (struct llm_run){ .kv_blocks = 3 });
	ok(r && llm_metric(r, "requests_completed") == 1, "a request that fills the cache completes");
	result_free(r);
	r = serve("0,20,40\n0,20,40\n0,20,40\n", (struct llm_run){ .kv_blocks = 4 });
	ok(r && llm_metric(r, "requests_completed") == 3 && llm_metric(r, "preemptions") > 0, "requests that fill it together restart");
	result_free(r);
}

/* ---- impossible actions ---- */

enum wrong_act { DECODES, HOLDS, NOTHING, NO_SLOT, TWICE, EARLY, EVICTED, SERIAL };
static struct {
	enum wrong_act act;
	orr_req r[3];
	uint32_t n;
	int step;
} s;

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)w;
	if (s.n < 3)
		s.r[s.n++] = r;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	if (s.n < 3)
		return;
	if (s.act == NOTHING)
		orr_iter_run(w, replica, 1, 0, 0);
	if (!s.step++) {
		for (uint32_t i = 0; i < 3; i++)
			orr_admit(w, s.r[i], 20, 0);
		orr_iter_prefill(w, s.r[0], s.act == EARLY ? 5 : 20);
		orr_iter_run(w, replica, 1, 0, s.act == HOLDS ? ORR_ITER_HOLD : 0);
		for (uint32_t i = 1; s.act == NO_SLOT && i < 3; i++) {
			orr_iter_prefill(w, s.r[i], 20);
			orr_iter_run(w, replica, 1, 0, 0);
		}
		if (s.act == EVICTED)
			orr_evict(w, s.r[0], ORR_EVICT_RESTART);
		return;
	}
	if (s.act == DECODES)
		orr_iter_run(w, replica, 1, 0, ORR_ITER_DECODE);
	orr_micro_decode(w, s.r[0]);
	if (s.act == TWICE)
		orr_micro_decode(w, s.r[0]);
	orr_iter_run(w, replica, 1, 0, 0);
}

static const struct orr_serve_ops ops = { .create = llm_no_state, .destroy = llm_no_end, .arrive = arrive, .schedule = schedule };
static const struct orr_policy scripted = { ORR_ABI_VERSION, sizeof scripted, "scripted", "acts wrongly", "serve", 0, llm_no_params, &ops };

static void test_impossible(void)
{
	static const struct {
		enum wrong_act act;
		const char *text;
	} cases[] = {
		{ DECODES, "policy scripted: at 0.020000000 s: orr_iter_run() on replica 0: ORR_ITER_DECODE with micro-batches in flight: "
			   "expected the decodes to be listed by orr_micro_decode()" },
		{ HOLDS, "policy scripted: at 0.000000000 s: orr_iter_run() on replica 0: ORR_ITER_HOLD with micro-batches in flight: "
			 "expected none, because no request decodes unless listed" },
		{ NOTHING, "policy scripted: at 0.000000000 s: orr_iter_run() on replica 0: there is nothing to do: expected a prefill or "
			   "a decode" },
		{ NO_SLOT, "policy scripted: at 0.000000000 s: orr_iter_run() on replica 0: all micro-batches are in flight: expected a "
			   "call while orr_micro_slots() is above 0" },
		{ TWICE, "policy scripted: request 0 at 0.020000000 s: orr_micro_decode(): the request is in a micro-batch: expected an "
			 "idle resident" },
		{ EARLY, "policy scripted: request 0 at 0.020000000 s: orr_micro_decode(): the request has not finished its prompt: "
			 "expected orr_iter_prefill()" },
		{ EVICTED, "policy scripted: request 0 at 0.000000000 s: orr_evict(): the request is in the current iteration: expected a "
			   "request outside it" },
		{ SERIAL, "policy scripted: request 0 at 0.020000000 s: orr_micro_decode() on replica 0, which runs one iteration at a "
			  "time: expected ORR_ITER_DECODE" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(&s, 0, sizeof s);
		s.act = cases[i].act;
		struct llm_run x = { .policy = &scripted, .options = s.act == SERIAL ? "pipeline=serial" : NULL };
		struct run_result *r = serve("0,20,5\n0,20,5\n0,20,5\n", x);
		same_text(r ? "no error" : failure.text, cases[i].text, cases[i].text);
		result_free(r);
	}
	struct run_result *r = serve("0,20,5\n", (struct llm_run){ .settings = "preemption=swap" });
	same_text(r ? "no error" : failure.text,
		"policy vllm: at 0.000000000 s: preemption=swap: the policy swaps between iterations, but serve.pipeline=micro-batches: "
		"expected "
		"preemption=restart",
		"vllm does not swap with micro-batches");
	result_free(r);
	r = serve("0,20,5\n", (struct llm_run){ .options = "pipeline=micro-batches draft_tokens=2" });
	ok(!r && strstr(failure.text, "serve.draft_tokens: expected serve.pipeline=serial"), "micro-batches are not speculative");
	result_free(r);
}

int main(void)
{
	test_by_hand();
	test_throughput();
	test_lost();
	test_tight();
	test_impossible();
	return done();
}

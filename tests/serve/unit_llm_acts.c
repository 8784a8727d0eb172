/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Language models in the serving world, computed by hand: ends of repetitions, transfers of caches, loss of a replica, a shared
 * clock, messages of impossible actions.
 *
 * An iteration takes 10 ms, and 1 ms per token of a prompt.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_vllm;

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"closed\":{\"constant_ms\":10,\"token_ms\":0,\"context_ms\":0,\"pair_ms\":0}}";
static const char per_token[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
				"\"closed\":{\"constant_ms\":10,\"token_ms\":1,\"context_ms\":0,\"pair_ms\":0}}";

/* ---- a policy whose functions are those of a test ---- */

static struct {
	void (*arrive)(struct orr_serve *w, orr_req r);
	void (*schedule)(struct orr_serve *w, uint32_t replica);
	orr_req r[8];
	uint32_t n;
	int step;
	double at[64];
	uint32_t calls;
} s;

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	if (s.arrive)
		s.arrive(w, r);
	else if (s.n < 8)
		s.r[s.n++] = r;
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	if (s.calls < 64)
		s.at[s.calls++] = orr_serve_now(w);
	s.schedule(w, replica);
}

static const struct orr_serve_ops ops = { .create = llm_no_state, .destroy = llm_no_end, .arrive = arrive, .schedule = schedule };
static const struct orr_policy scripted = { ORR_ABI_VERSION, sizeof scripted, "scripted", "calls the functions of a test", "serve", 0,
	llm_no_params, &ops };

static struct orr_error failure;

/* requests: lines after "arrival_s,prompt_tokens,output_tokens". */
static struct run_result *serve(const char *requests, struct llm_run x, void (*schedule_)(struct orr_serve *, uint32_t))
{
	char text[2000];
	snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", requests);
	memset(&s, 0, sizeof s);
	s.schedule = schedule_;
	failure = (struct orr_error){ 0 };
	struct reqset *set = llm_requests(text, &failure);
	if (!set)
		return NULL;
	x.requests = set;
	x.policy = x.policy ? x.policy : &scripted;
	x.model = x.model ? x.model : model;
	x.kv_blocks = x.kv_blocks ? x.kv_blocks : 100;
	struct run_result *r = llm_serve(&x, &failure);
	if (!r)
		printf("# %s\n", failure.text);
	reqset_free(set);
	return r;
}

/* Admits all requests, runs complete prompts, then decodes with these flags. */
static unsigned greedy_flags;
static void greedy(struct orr_serve *w, uint32_t replica)
{
	bool has_prompt = false;
	if (!orr_replica_is_idle(w, replica))
		return;
	for (uint32_t i = 0; i < s.n; i++) {
		struct orr_req_info q;
		if (!orr_req_get(w, s.r[i], &q) || q.replica != replica || q.state != ORR_REQ_WAITING)
			continue;
		orr_admit(w, s.r[i], q.prompt_tokens, 0);
		if (q.done_tokens >= q.prompt_tokens)
			continue;
		orr_iter_prefill(w, s.r[i], q.prompt_tokens - q.done_tokens);
		has_prompt = true;
	}
	if (has_prompt || orr_decodes(w, replica))
		orr_iter_run(w, replica, 0, 0, has_prompt ? 0 : ORR_ITER_DECODE | greedy_flags);
}

/* ---- repetition ---- */

/* Tests arrivals, times in ms. The prompt ends at 10, decodes end at 20, 30, .. The second request arrives in the ns in which a
 * decode ends, at 40, or later during the next decode. Its first token follows one iteration after the end of that decode. */
static void test_arrivals(void)
{
	struct run_result *r = serve("0,8,100\n0.04,8,1\n", (struct llm_run){ 0 }, greedy);
	ok(r && fabs(r->requests[1].first_token_s - 0.05) < 1e-12, "an arrival at the end of an iteration is served in the next one");
	result_free(r);
	r = serve("0,8,100\n0.040000001,8,1\n", (struct llm_run){ 0 }, greedy);
	ok(r && fabs(r->requests[1].first_token_s - 0.06) < 1e-12, "an arrival within an iteration waits for its end");
	/* 100 tokens: 1 from the prompt and 99 from decodes; the prompt of the other request runs between them. */
	ok(r && fabs(r->requests[0].completed_s - 1.01) < 1e-9, "the decode waits for the prompt");
	result_free(r);
	greedy_flags = ORR_ITER_THROUGH;
	r = serve("0,8,100\n0.04,8,1\n", (struct llm_run){ 0 }, greedy);
	ok(r && fabs(r->requests[1].first_token_s - 1.01) < 1e-9, "ORR_ITER_THROUGH: an arrival waits until a resident ends");
	greedy_flags = 0;
	result_free(r);
	/* There are four events: the arrival, the end of the prompt, the end of one iteration, and the end of all other iterations. */
	r = serve("0,8,100000\n", (struct llm_run){ .kv_blocks = 10000 }, greedy);
	ok(r && llm_metric(r, "iterations") == 100000 && llm_metric(r, "events") < 10, "100,000 iterations take few events");
	near_to(r ? r->requests[0].completed_s : NAN, 1000, 1e-9, "an iteration takes 10 ms");
	near_to(r ? llm_metric(r, "token_gap_p50") : NAN, 0.01, 0.005, "every gap between tokens is counted");
	result_free(r);
}

/* Ends repetitions. A timer at 35 ms ends a repetition with the iteration that ends at 40 ms, with any flags. orr_iter_cut() ends the
 * repetition that started at 10 ms with its first iteration. */
static void timed(struct orr_serve *w, uint32_t replica)
{
	if (!s.step++)
		orr_serve_timer(w, replica, 0.035);
	greedy(w, replica);
	if (s.step == 2)
		orr_iter_cut(w, replica);
}

static void test_timers(void)
{
	greedy_flags = ORR_ITER_THROUGH;
	struct run_result *r = serve("0,8,20\n", (struct llm_run){ 0 }, timed);
	const double want[] = { 0, 0.01, 0.02, 0.035, 0.04, 0.2 };
	bool good = r && s.calls == 6;
	for (uint32_t i = 0; i < 6; i++)
		good &= fabs(s.at[i] - want[i]) < 1e-12;
	ok(good, "a timer and a cut end the repetition with the running iteration");
	near_to(r ? r->requests[0].completed_s : NAN, 0.2, 1e-12, "a timer and a cut change nothing else");
	greedy_flags = 0;
	result_free(r);
}

/* Runs the same requests on a clock of the test, where every iteration is an event. */
static void test_guest(void)
{
	char text[2000];
	size_t at = 0;
	for (int i = 0; i < 40; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%.9f,%d,%d\n", i * 0.0371234567, 5 + i * 37 % 91, 1 + i * 53 % 97);
	struct llm_run x = { .policy = &orr_policy_serve_vllm, .kv_blocks = 30, .model = llm_vidur_model };
	struct run_result *a = serve(text, x, greedy);
	x.is_guest = true;
	struct run_result *b = serve(text, x, greedy);
	bool same = a && b && a->n_requests == 40 && b->n_requests == 40;
	for (int i = 0; same && i < 40; i++)
		same = a->requests[i].completed_s == b->requests[i].completed_s &&
		       a->requests[i].first_token_s == b->requests[i].first_token_s;
	ok(same && llm_metric(a, "preemptions") > 0, "iterations without events end at the same bits as those with events");
	ok(a && b && llm_metric(a, "events") < llm_metric(b, "events"), "iterations without events take fewer events: %.0f, not %.0f",
		a ? llm_metric(a, "events") : NAN, b ? llm_metric(b, "events") : NAN);
	result_free(a);
	result_free(b);
}

/* ---- transfers of caches ---- */

/* Runs prompts on replica 0 and decodes on replica 1, while both are up. */
static void split(struct orr_serve *w, uint32_t replica)
{
	struct orr_replica_info to;
	for (uint32_t i = 0; i < s.n && replica == 0 && orr_replica_is_idle(w, 0) && orr_replica_get(w, 1, &to) && to.is_up; i++)
		if (orr_req_is_resident(w, s.r[i]) && orr_req_replica(w, s.r[i]) == 0)
			orr_move(w, s.r[i], 1);
	greedy(w, replica);
}

static void keep_once(struct orr_serve *w, orr_req r)
{
	struct orr_replica_info to;
	bool is_new = true;
	for (uint32_t i = 0; i < s.n; i++)
		is_new &= s.r[i] != r;
	if (is_new)
		s.r[s.n++] = r;
	if (!orr_req_done(w, r) && orr_req_replica(w, r) && orr_replica_get(w, 0, &to) && to.is_up)
		orr_assign(w, r, 0);
}

static struct run_result *serve_split_as(const char *requests, struct llm_run x)
{
	x.replicas = 2;
	char text[2000];
	snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", requests);
	memset(&s, 0, sizeof s);
	s.schedule = split;
	s.arrive = keep_once;
	failure = (struct orr_error){ 0 };
	x.requests = llm_requests(text, &failure);
	x.policy = &scripted;
	x.kv_blocks = 100;
	struct run_result *r = x.requests ? llm_serve(&x, &failure) : NULL;
	if (!r)
		printf("# %s\n", failure.text);
	reqset_free((struct reqset *)(uintptr_t)x.requests);
	return r;
}

static struct run_result *serve_split(const char *requests, const char *options, const char *topology, const char *failures)
{
	return serve_split_as(
		requests, (struct llm_run){ .model = per_token, .options = options, .topology = topology, .failures = failures });
}

/* Tests overlap. Llama-2-7B has 32 layers and 524,288 bytes of cache per token (2 x 32 x 4096 x 2). A request of two output tokens
 * ends one decode after the transfer. The decode takes the same time in both runs. */
static void test_overlap(void)
{
	const double slow = 1e9, fast = 100e9, bytes = 1001 * 524288.0;
	struct llm_run x = { .model = "llama2-7b", .device = "a100", .options = "kv_Bps=1e9" };
	struct run_result *a = serve_split_as("0,1000,2\n", x);
	x.options = "kv_Bps=1e9 kv_overlap=true";
	struct run_result *b = serve_split_as("0,1000,2\n", x);
	double prompt = a ? a->requests[0].first_token_s : NAN;
	near_to(a && b ? a->requests[0].completed_s - b->requests[0].completed_s : NAN, prompt * 31 / 32, 1e-9,
		"kv_overlap: a slow transfer hides the prompt's time except the last layer's share");
	ok(bytes / slow > prompt, "the transfer is slow: %.3f s, with a prompt of %.3f s", bytes / slow, prompt);
	result_free(a);
	result_free(b);
	x.options = "kv_Bps=100e9";
	a = serve_split_as("0,1000,2\n", x);
	x.options = "kv_Bps=100e9 kv_overlap=true";
	b = serve_split_as("0,1000,2\n", x);
	near_to(a && b ? a->requests[0].completed_s - b->requests[0].completed_s : NAN, bytes / fast * 31 / 32, 1e-9,
		"kv_overlap: a fast transfer is hidden except its last layer");
	ok(bytes / fast < prompt, "the transfer is fast: %.4f s", bytes / fast);
	result_free(a);
	result_free(b);
}

static void test_moves(void)
{
	/* A prompt of 90 tokens takes 100 ms. The transfer of 91 tokens x 1000 bytes at 1 MB/s takes 91 ms plus a latency of 9 ms,
	 * until 200 ms. Then 3 decodes of 11 ms follow. */
	struct run_result *r = serve_split("0,90,4\n", "kv_Bps=1e6 kv_latency=9ms", NULL, NULL);
	near_to(r ? r->requests[0].first_token_s : NAN, 0.1, 1e-12, "a prompt on one replica");
	near_to(r ? r->requests[0].completed_s : NAN, 0.233, 1e-12, "its cache moves at serve.kv_Bps");
	ok(r && r->requests[0].replica == 1, "the other replica completes the request");
	result_free(r);
	/* The number of layers is unknown, so transfer and computation do not overlap. */
	r = serve_split("0,90,4\n", "kv_Bps=1e6 kv_latency=9ms kv_overlap=true", NULL, NULL);
	near_to(r ? r->requests[0].completed_s : NAN, 0.233, 1e-12, "kv_overlap needs layers");
	result_free(r);
	/* Two caches of 91 kB are sent from 190 ms on, after both prompts (10 + 180 tokens). Each gets half the rate of one NIC of 1
	 * MB/s without latency. */
	r = serve_split("0,90,4\n0,90,4\n", NULL, "star:bw=8Mbps,lat=0,gpu_bw=1000GBps,gpu_lat=0", NULL);
	near_to(r ? r->requests[0].completed_s : NAN, 0.19 + 0.182 + 3 * 0.012, 1e-6, "over a network, caches share its links");
	near_to(r ? r->requests[1].completed_s : NAN, 0.19 + 0.182 + 3 * 0.012, 1e-6, "all transfers over the network end");
	result_free(r);
	/* All transfers end, for any number of transfers and any sizes. (At most six run at a time, the limit of the script's list.) */
	r = serve_split("0,9,4\n0.001,20,9\n0.002,3,2\n0.02,40,7\n0.021,1,3\n0.022,50,2\n", NULL,
		"star:bw=1Mbps,lat=1ms,gpu_bw=1000GBps,gpu_lat=0", NULL);
	ok(r && llm_metric(r, "requests_completed") == 6, "transfers of several sizes that start at several times");
	result_free(r);
	/* The same requests, with a replica that fails during the transfers. */
	r = serve_split("0,9,4\n0.001,20,9\n0.002,3,2\n0.02,40,7\n0.021,1,3\n0.022,50,2\n", NULL,
		"star:bw=1Mbps,lat=1ms,gpu_bw=1000GBps,gpu_lat=0",
		"time_s,node,event\n0.15,1,fail\n0.3,1,repair\n0.45,0,fail\n0.6,0,repair\n");
	ok(r && llm_metric(r, "requests_completed") == 6 && llm_metric(r, "restarts") > 0, "flows of a lost replica are cancelled");
	result_free(r);
	/* The sender fails at 150 ms during the transfer; the request restarts on the other replica. */
	r = serve_split("0,90,4\n", "kv_Bps=1e6", NULL, "time_s,node,event\n0.15,0,fail\n10,0,repair\n");
	near_to(r ? r->requests[0].completed_s : NAN, 0.15 + 0.1 + 3 * 0.011, 1e-9, "a transfer is lost with its sender");
	result_free(r);
	/* The receiver fails: the request restarts on the sender, whose blocks are free (--check verifies this). */
	r = serve_split("0,90,4\n", "kv_Bps=1e6", NULL, "time_s,node,event\n0.15,1,fail\n0.3,1,repair\n");
	near_to(r ? r->requests[0].completed_s : NAN, 0.15 + 0.1 + 3 * 0.011, 1e-9, "a transfer is lost with its receiver");
	result_free(r);
}

/* Tests policy vllm when node 0 fails during an iteration and returns. */
static void test_lost(void)
{
	char text[2000];
	size_t at = 0;
	for (int i = 0; i < 40; i++)
		at += (size_t)snprintf(text + at, sizeof text - at, "%.9f,%d,%d\n", i * 0.01, 5 + i * 37 % 91, 1 + i * 53 % 97);
	struct llm_run x = { .policy = &orr_policy_serve_vllm,
		.kv_blocks = 30,
		.model = llm_vidur_model,
		.replicas = 2,
		.failures = "time_s,node,event\n0.2501,0,fail\n0.3,0,repair\n0.41,1,fail\n0.6001,1,repair\n" };
	struct run_result *r = serve(text, x, greedy);
	ok(r && llm_metric(r, "requests_completed") == 40 && llm_metric(r, "restarts") > 0,
		"requests of a lost replica complete on the other");
	result_free(r);
}

/* ---- impossible actions ---- */

enum wrong_act { TWICE, TOO_LONG, NO_ROOM, NOTHING, PAST, BUSY, EVICTED, PAUSED, UNPAUSED, FLYING_PAUSE, MOVE_HERE, CUT, NO_BLOCKS, WAITS };
static enum wrong_act act;

static void act_wrongly(struct orr_serve *w, uint32_t replica)
{
	orr_req r = s.r[0];
	if (!s.n)
		return;
	if (s.step++ == 0 && act != WAITS && act != CUT && act != NOTHING) {
		orr_admit(w, r, act == NO_BLOCKS ? 16 : 20, 0);
		if (act == TWICE)
			orr_iter_prefill(w, r, 5);
		orr_iter_prefill(w, r, act == TOO_LONG ? 21 : act == NO_BLOCKS ? 17 : act == NO_ROOM ? 33 : act == PAUSED ? 5 : 20);
		orr_iter_run(w, replica, 1, 0, 0);
		if (act == BUSY)
			orr_iter_run(w, replica, 1, 0, ORR_ITER_DECODE);
		if (act == EVICTED)
			orr_evict(w, r, ORR_EVICT_SWAP);
		if (act == PAUSED)
			orr_pause(w, r);
		return;
	}
	switch (act) {
	case NOTHING:
		orr_iter_run(w, replica, 0, 0, ORR_ITER_DECODE);
		break;
	case PAST:
		orr_iter_prefill(w, r, 1);
		break;
	case UNPAUSED:
		orr_resume(w, r);
		break;
	case FLYING_PAUSE:
		orr_iter_run(w, replica, 1, 0, ORR_ITER_DECODE);
		orr_pause(w, r);
		break;
	case MOVE_HERE:
		orr_move(w, r, 0);
		break;
	case CUT:
		orr_iter_cut(w, replica);
		break;
	case WAITS:
		orr_evict(w, r, ORR_EVICT_RESTART);
		break;
	default:
		break;
	}
}

static void test_impossible(void)
{
	static const struct {
		enum wrong_act act;
		const char *what, *text;
	} cases[] = {
		{ TWICE, "a prompt listed twice",
			"policy scripted: request 0 at 0.000000000 s: orr_iter_prefill() twice for one iteration: expected one call per "
			"request" },
		{ TOO_LONG, "more tokens than the prompt has",
			"policy scripted: request 0 at 0.000000000 s: orr_iter_prefill() of 21 tokens: expected 1 to 20, the tokens left "
			"of its prompt" },
		{ NO_BLOCKS, "more tokens than the blocks hold",
			"policy scripted: request 0 at 0.000000000 s: orr_iter_prefill() of 17 tokens after 0: its 1 blocks hold 16: "
			"expected enough blocks" },
		{ NOTHING, "an empty iteration",
			"policy scripted: at 0.000000000 s: orr_iter_run() on replica 0: there is nothing to do: expected a prefill or a "
			"decode" },
		{ PAST, "a finished prompt",
			"policy scripted: request 0 at 0.010000000 s: orr_iter_prefill() of a request whose prompt is complete: expected "
			"tokens left to prefill" },
		{ BUSY, "a second iteration at once",
			"policy scripted: at 0.000000000 s: orr_iter_run() on replica 0: an iteration runs: expected a call between "
			"iterations" },
		{ EVICTED, "an eviction in flight",
			"policy scripted: request 0 at 0.000000000 s: orr_evict(): the request is in the current iteration: expected a "
			"request outside it" },
		{ PAUSED, "a pause in the prompt",
			"policy scripted: request 0 at 0.000000000 s: orr_pause(): the request has not finished its prompt: expected one "
			"that decodes" },
		{ UNPAUSED, "a resume without a pause",
			"policy scripted: request 0 at 0.010000000 s: orr_resume(): the request is not paused: expected a paused request" },
		{ FLYING_PAUSE, "a pause in flight",
			"policy scripted: request 0 at 0.010000000 s: orr_pause(): an iteration runs on replica 0: expected a call between "
			"iterations" },
		{ MOVE_HERE, "a move to its own replica",
			"policy scripted: request 0 at 0.010000000 s: orr_move(): the request is already on replica 0: expected another "
			"replica" },
		{ CUT, "a cut without an iteration",
			"policy scripted: at 0.000000000 s: orr_iter_cut() on replica 0: expected a running iteration" },
		{ WAITS, "an eviction of a waiting request",
			"policy scripted: request 0 at 0.000000000 s: orr_evict() of a request that waits: expected a request that is "
			"resident" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		act = cases[i].act;
		struct run_result *r = serve("0,20,5\n", (struct llm_run){ 0 }, act_wrongly);
		same_text(r ? "no error" : failure.text, cases[i].text, cases[i].what);
		result_free(r);
	}
}

int main(void)
{
	test_arrivals();
	test_timers();
	test_guest();
	test_moves();
	test_overlap();
	test_lost();
	test_impossible();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * orr_stage_again(): the decodes of a stage run again without being listed. A scripted policy serves the same requests twice, listing
 * each decode and by orr_stage_again(); both runs must give the same rows. Counts by hand are in the comments. All runs are under --check.
 *
 * An iteration of prompts takes 10 ms, one of decodes 10 ms and 1 us per token of their context. A block has 16 tokens.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

static const char model[] = "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"weight_bytes\":1,\"kv_bytes_per_token\":1000,"
			    "\"closed\":{\"constant_ms\":10,\"token_ms\":0,\"context_ms\":1e-3,\"pair_ms\":0}}";

static struct script {
	bool asks;      /* asks orr_stage_again() first */
	bool keeps_one; /* lists a decode and then asks */
	uint64_t most;
	/* state */
	struct orr_fifo prompts, decodes;
	uint32_t again;
	bool was_refused_busy;
} s;

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	orr_fifo_push(w, &s.prompts, r);
}

static void run_listed(struct orr_serve *w, uint32_t replica)
{
	uint64_t left = s.most;
	uint32_t n = 0, listed = 0;
	for (orr_req r; (r = orr_micro_returned(w, replica)) != 0;)
		orr_fifo_push(w, &s.decodes, r);
	while (s.prompts.first && orr_admit(w, s.prompts.first, orr_req_prompt(w, s.prompts.first), 0)) {
		orr_req r = orr_fifo_pop(w, &s.prompts);
		orr_iter_prefill(w, r, orr_req_prompt(w, r) - orr_req_done(w, r));
		n++;
	}
	for (size_t i = s.decodes.n; !n && i > 0; i--) {
		orr_req r = s.decodes.first;
		bool needs = orr_req_done(w, r) > (uint64_t)orr_kv_held(w, r) * orr_kv_block_tokens(w, replica);
		orr_fifo_pop(w, &s.decodes);
		if (orr_req_done(w, r) > left || (needs && !orr_kv_free(w, replica))) {
			orr_fifo_push(w, &s.decodes, r);
			continue;
		}
		left -= orr_req_done(w, r);
		orr_micro_decode(w, r);
		listed++;
		if (s.keeps_one && s.asks && orr_stage_again(w, replica, s.most))
			return;
	}
	if (n + listed)
		orr_stage_run(w, replica, 0);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self;
	if (!orr_stage_is_idle(w, replica, 0)) {
		s.was_refused_busy |= s.asks && !orr_stage_again(w, replica, s.most);
		return;
	}
	if (s.asks && !s.keeps_one && !s.prompts.first && !s.decodes.first && orr_stage_again(w, replica, s.most))
		s.again++;
	else
		run_listed(w, replica);
}

static const struct orr_serve_ops ops = { .create = llm_no_state, .destroy = llm_no_end, .arrive = arrive, .schedule = schedule };

static struct orr_error failure;

static struct run_result *serve(const char *requests, uint32_t blocks, unsigned flags, struct script x)
{
	char text[4000];
	struct orr_policy scripted = { ORR_ABI_VERSION, sizeof scripted, "scripted", "runs decodes", "serve", flags, llm_no_params, &ops,
		sizeof ops };
	snprintf(text, sizeof text, "arrival_s,prompt_tokens,output_tokens\n%s", requests);
	failure = (struct orr_error){ 0 };
	s = x;
	s.most = s.most ? s.most : UINT64_MAX;
	struct reqset *set = llm_requests(text, &failure);
	struct run_result *r =
		set ? llm_serve(&(struct llm_run){ .requests = set, .policy = &scripted, .model = model, .kv_blocks = blocks }, &failure)
		    : NULL;
	if (!r)
		printf("# %s\n", failure.text);
	reqset_free(set);
	return r;
}

static bool same_row(const struct request_row *a, const struct request_row *b)
{
	const double x[] = { a->first_token_s, a->completed_s, a->queue_s }, y[] = { b->first_token_s, b->completed_s, b->queue_s };
	return !memcmp(x, y, sizeof x) && a->preemptions == b->preemptions && a->replica == b->replica && a->status == b->status;
}

static bool is_equal(const struct run_result *a, const struct run_result *b)
{
	if (!a || !b || a->n_requests != b->n_requests || a->n_parts != b->n_parts)
		return false;
	for (size_t i = 0; i < a->n_requests; i++)
		if (!same_row(&a->requests[i], &b->requests[i]))
			return printf("# request %zu ends at %.17g and %.17g\n", i, b->requests[i].completed_s,
				       a->requests[i].completed_s) < 0;
	for (size_t i = 0; i < a->n_metrics; i++) {
		double got = llm_metric(b, a->metrics[i].name), want = a->metrics[i].value;
		if (got < want || got > want)
			return printf("# %s: %.17g and %.17g\n", a->metrics[i].name, got, want) < 0;
	}
	return true;
}

/* want_again: number of runs that orr_stage_again() starts. */
static void same_run(const char *what, const char *requests, uint32_t blocks, struct script x, uint32_t want_again)
{
	x.asks = false;
	struct run_result *listed = serve(requests, blocks, ORR_SERVE_BY_STAGE, x);
	x.asks = true;
	struct run_result *again = serve(requests, blocks, ORR_SERVE_BY_STAGE, x);
	ok(is_equal(listed, again), "%s: the rows and metrics of listed decodes", what);
	if (!ok(s.again == want_again, "%s: %u runs by orr_stage_again()", what, want_again))
		printf("# %u\n", s.again);
	result_free(listed);
	result_free(again);
}

static void test_same(void)
{
	/* A prompt, then 4 runs for outputs 2 to 5; the first one lists the request, because it comes from the prompt. */
	same_run("one request", "0,20,5\n", 100, (struct script){ 0 }, 3);
	/* Outputs 2 to 5 of the first end with run 4; the other goes on to output 9: 8 runs, the first listed. */
	same_run("one of two ends", "0,20,5\n0,30,9\n", 100, (struct script){ 0 }, 7);
	/* The second arrives during the first run of decodes. Its prompt runs next; then both are listed once, by order of return. */
	same_run("a newcomer", "0,20,9\n0.015,30,5\n", 100, (struct script){ 0 }, 6);
	/* Blocks: 2 + 2 of 5. At run k of decodes the requests have 20 + k and 30 + k tokens. Request 1 takes the last block at run 3.
	 * Request 0 needs one at run 13 and waits in the policy's list until request 1 has ended with run 17; it is listed for run 18, and
	 * runs 19 to 24 follow: runs 2 to 12 and 19 to 24. */
	same_run("few blocks", "0,20,20\n0,30,18\n", 5, (struct script){ 0 }, 17);
	/* Contexts: 21 + 31 = 52 at run 1, 54 at run 2, 56 at run 3: with at most 55 run 3 is refused. Then the requests take turns. */
	same_run("a limit of tokens", "0,20,6\n0,30,6\n", 100, (struct script){ .most = 55 }, 1);
}

static void test_refused(void)
{
	/* Listed requests are not dropped: the answer is false, and the listed ones run. */
	struct run_result *r = serve("0,20,5\n0,30,9\n", 100, ORR_SERVE_BY_STAGE, (struct script){ .asks = true, .keeps_one = true });
	ok(r && llm_metric(r, "requests_completed") == 2, "with listed requests the answer is false, without effect");
	result_free(r);
	/* The second request arrives while the stage is busy. */
	r = serve("0,20,5\n0.005,30,9\n", 100, ORR_SERVE_BY_STAGE, (struct script){ .asks = true });
	ok(r && s.was_refused_busy, "on a busy stage the answer is false");
	result_free(r);
	r = serve("0,20,5\n", 100, 0, (struct script){ .asks = true });
	same_text(failure.text,
		"policy scripted: at 0.000000000 s: orr_stage_again() on replica 0: expected a policy that declares ORR_SERVE_BY_STAGE",
		"a policy that does not start stages itself");
	result_free(r);
}

int main(void)
{
	test_same();
	test_refused();
	return done();
}

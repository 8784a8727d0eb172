/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the serving world on small runs, computed by hand; --check detects each broken law. */
#include "tests/serve/fleet_run.h"

#include "serve/fleet.h"
#include "serve/metrics.h"
#include "serve/requests.h"
#include "serve/runs.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_fifo;

#define TABLE                                                                                                                  \
	"{\"name\": \"m\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", \"between\": \"up\", " \
	"\"batch\": [1, 4], \"latency_ms\": [1000, 2000]}"
/* Each iteration takes 10 ms. */
#define LLM                                                                                                                    \
	"{\"name\": \"l\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"llm\", \"weight_bytes\": 0, "   \
	"\"kv_bytes_per_token\": 1, \"longest\": 1000, \"closed\": {\"constant_ms\": 10, \"token_ms\": 0, \"context_ms\": 0, " \
	"\"pair_ms\": 0}}"

static const struct serve_deployment one = { .replicas = 1, .model = UINT32_MAX, .tp = 1, .pp = 1, .kv_blocks = 20 };

static void metric_is(const struct run_result *r, const char *name, double want)
{
	double got = fleet_metric(r, name);
	bool good = isnan(want) ? isnan(got) : fabs(got - want) <= 1e-9 * fmax(1, fabs(want));
	ok(good, "%s is %.10g (%.10g)", name, want, got);
}

/* Tests one replica, first in first out: one sample takes 1 s, two to four take 2 s. Requests end at 1, 3 and 4 s; the last request
 * has 9 samples and is rejected. Completion times are 1, 2.5 and 3 s for 1, 3 and 1 samples. */
static void check_table(void)
{
	struct fleet_case c = { .requests = "arrival_s,samples,slo_s\n0,1,\n0.5,3,2.5\n1,1,2.9\n2,9,\n",
		.models = { TABLE },
		.deployment = { one },
		.cluster = "1x1",
		.max_rows = 10 };
	struct run_result *r = fleet_must_run(&c, "a table");
	if (!r)
		return;
	metric_is(r, "completion_mean", 6.5 / 3);
	metric_is(r, "completion_p50", 2.5);
	metric_is(r, "completion_max", 3);
	metric_is(r, "sample_completion_mean", (1 * 1 + 2.5 * 3 + 3 * 1) / 5);
	metric_is(r, "queue_mean", (0 + 0.5 + 2) / 3);
	metric_is(r, "duration", 4);
	metric_is(r, "throughput", 0.75);
	metric_is(r, "goodput", 0.5); /* the first request has no limit, the second meets its limit exactly, the third misses its limit */
	metric_is(r, "attainment", 0.5); /* one of two requests with a limit */
	metric_is(r, "utilisation", 1);
	metric_is(r, "requests", 4);
	metric_is(r, "requests_completed", 3);
	metric_is(r, "requests_refused", 1);
	metric_is(r, "in_system_mean", 6.5 / 4);
	metric_is(r, "in_system_max", 3); /* at 2 s, including the request that is rejected at that time */
	metric_is(r, "padding_share", 1 - 5.0 / 6);
	metric_is(r, "ttft_mean", NAN);
	ok(r->n_requests == 4 && r->rows_total == 4 && r->requests[1].completed_s == 3 && r->requests[1].queue_s == 0.5 &&
			r->requests[1].prompt_tokens == 3 && r->requests[1].replica == 0 && r->requests[1].status == REQUEST_COMPLETED,
		"the second request's row has its values");
	ok(r->n_requests == 4 && isnan(r->requests[3].completed_s) && r->requests[3].status == REQUEST_REFUSED &&
			r->requests[3].replica == UINT32_MAX,
		"the refused request's row has no times");
	result_free(r);
	/* At 3.5 s, the third request is unfinished. */
	c.until_s = 3.5;
	r = fleet_must_run(&c, "until");
	metric_is(r, "requests_unfinished", 1);
	metric_is(r, "duration", 3.5);
	metric_is(r, "utilisation", 1);
	ok(r && r->n_requests == 4 && r->requests[2].status == REQUEST_UNFINISHED && isnan(r->requests[2].completed_s) &&
			r->requests[2].queue_s == 2,
		"an unfinished request has a row");
	result_free(r);
}

/* Tests a table by lengths: of the lengths 4, 8 and 9, the last is beyond the table. Three samples are beyond its batches. */
static void check_lengths(void)
{
	struct fleet_case c = { .requests = "arrival_s,prompt_tokens,samples\n1,4,1\n1,8,2\n1,9,1\n1,4,3\n",
		.models = { "{\"name\": \"m\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", "
			    "\"between\": \"linear\", \"batch\": [1, 2], \"length\": [4, 8], \"latency_ms\": [[100, 300], [200, 700]]}" },
		.deployment = { one },
		.cluster = "1x1" };
	struct run_result *r = fleet_must_run(&c, "a table by lengths");
	metric_is(r, "refused_batch_size", 2);
	metric_is(r, "requests_refused", 2);
	metric_is(r, "completion_mean", (0.1 + 0.8) / 2);
	result_free(r);
	/* The run ends before the first request. */
	c.until_s = 0.5;
	r = fleet_must_run(&c, "a run without requests");
	metric_is(r, "duration", 0);
	metric_is(r, "requests", 0);
	metric_is(r, "throughput", NAN);
	metric_is(r, "goodput", NAN);
	result_free(r);
}

/* Tests memory. Of 1000 bytes, weights use 100; a run uses 200 for 0.6 s and 400 for 0.4 s. There are two runs in 4 s. */
static void check_memory(void)
{
	struct fleet_case c = { .requests = "arrival_s\n0\n3\n",
		.models = { "{\"name\": \"m\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", "
			    "\"weight_bytes\": 100, "
			    "\"batch\": [1], \"latency_ms\": [1000], \"memory_unit_bytes\": 1, "
			    "\"memory\": [{\"before\": 200, \"peak\": 400, \"peak_from_ms\": 600}]}" },
		.deployment = { one },
		.cluster = "1x1",
		.memory_bytes = 1000 };
	struct run_result *r = fleet_must_run(&c, "memory");
	metric_is(r, "memory_use_mean", (100 * 4 + 2 * (200 * 0.6 + 400 * 0.4)) / 4000);
	metric_is(r, "memory_use_max", 0.5);
	result_free(r);
}

/* Tests that beyond the limit of rows, every second row is kept, then every fourth, and so on. */
static void check_rows(void)
{
	struct fleet_case c = {
		.requests = "poisson:rate=0.5,n=100", .models = { TABLE }, .deployment = { one }, .cluster = "1x1", .max_rows = 30
	};
	struct run_result *r = fleet_must_run(&c, "rows");
	bool good = r && r->n_requests == 25 && r->rows_total == 100;
	for (size_t i = 0; good && i < r->n_requests; i++)
		good = r->requests[i].number == 4 * i;
	ok(good, "of 100 rows every fourth is kept with a limit of 30");
	result_free(r);
}

/*
 * Tests vllm, which runs prompts first. A arrives at 0 (prompt 4, output 3), B at 5 ms (prompt 2, output 1). A's prompt ends at 10 ms,
 * B's prompt at 20, decodes at 30 and 40. A has its first token at 10, then gaps of 20 and 10, and ends at 40. B has its only token at
 * 20.
 */
static void check_llm(void)
{
	static const double usd[] = { 3600 };
	struct fleet_case c = { .requests = "arrival_s,prompt_tokens,output_tokens\n0,4,3\n0.005,2,1\n",
		.models = { LLM },
		.deployment = { one },
		.cluster = "1x1",
		.policy = &orr_policy_serve_vllm,
		.usd_per_gpu_hour = usd,
		.options = "slo_ttft=12ms",
		.max_rows = 10 };
	struct run_result *r = fleet_must_run(&c, "a language model");
	if (!r)
		return;
	metric_is(r, "ttft_mean", 0.0125);
	metric_is(r, "tpot_mean", 0.015); /* A: (40 - 10) ms / 2 tokens; B has one token and no TPOT */
	metric_is(r, "completion_mean", 0.0275);
	metric_is(r, "token_gap_mean", 0.015);
	metric_is(r, "token_gap_max", 0.020);
	metric_is(r, "iterations", 4);
	metric_is(r, "prompt_tokens_processed", 6);
	metric_is(r, "output_tokens", 4);
	metric_is(r, "tokens_per_second", 100);
	metric_is(r, "usd_per_million_tokens", 0.04 / 4 * 1e6);
	metric_is(r, "attainment", 0.5); /* B's first token took 15 ms, above the limit of 12 ms */
	metric_is(r, "goodput", 25);
	metric_is(r, "queue_mean", 0.0025);
	metric_is(r, "kv_use_mean", 1.0 / 20 * (0.04 + 0.01) / 0.04); /* A holds one of 20 blocks for 40 ms, B one from 10 to 20 ms */
	result_free(r);
	c.options = "slo_tpot=15ms";
	r = fleet_must_run(&c, "a limit of TPOT");
	metric_is(r, "attainment", 1);
	result_free(r);
	c.options = "tbt=splitwise slo_tpot=9ms";
	r = fleet_must_run(&c, "TPOT by Splitwise's formula");
	metric_is(r, "tpot_mean", 0.005); /* Splitwise divides by all output tokens: A 30 ms / 3, B 0 ms / 1; the mean is 5 ms */
	metric_is(r, "attainment", 0.5);
	result_free(r);
}

/* Tests the use of the cache with idle times. A prompt of 20 tokens has 2 blocks of 16 for 10 ms and 12 decodes; the last decode writes
 * token 33 and has 3. Each request thus holds 0.29 block seconds. */
static void check_cache(void)
{
	struct fleet_case c = { .requests = "arrival_s,prompt_tokens,output_tokens\n0,20,14\n10,20,14\n30,1,1\n",
		.models = { LLM },
		.deployment = { one },
		.cluster = "1x1",
		.policy = &orr_policy_serve_vllm,
		.until_s = 20 };
	struct run_result *r = fleet_must_run(&c, "the use of a cache");
	metric_is(r, "kv_use_mean", 2 * 0.29 / 20 / 20);
	metric_is(r, "utilisation", 2 * 0.14 / 20);
	result_free(r);
	/* The node fails within the second request, after the first five iterations, and is back at 11 s: the request runs again. */
	c.failures = "time_s,node,event\n10.05,n0,fail\n11,n0,repair\n";
	r = fleet_must_run(&c, "the use of a cache that is lost");
	metric_is(r, "kv_use_mean", (2 * 0.29 + 2 * 0.05) / 20 / (20 - 0.95));
	result_free(r);
}

/* Tests the count of iterations that end between events: of 150 iterations of 10 ms, 99 end by 0.995 s. */
static void check_iterations(void)
{
	struct fleet_case c = { .requests = "arrival_s,prompt_tokens,output_tokens\n0,10,150\n",
		.models = { LLM },
		.deployment = { one },
		.cluster = "1x1",
		.policy = &orr_policy_serve_vllm,
		.until_s = 0.995 };
	struct run_result *r = fleet_must_run(&c, "iterations up to the end of the run");
	metric_is(r, "iterations", 99);
	metric_is(r, "kv_use_mean", (1 * 0.07 + 2 * 0.16 + 3 * 0.16 + 4 * 0.16 + 5 * 0.16 + 6 * 0.16 + 7 * 0.125) / 20 / 0.995);
	result_free(r);
	c.until_s = 0;
	c.failures = "time_s,node,event\n0.995,n0,fail\n1,n0,repair\n";
	r = fleet_must_run(&c, "iterations up to a failure");
	metric_is(r, "iterations", 99 + 150);
	result_free(r);
}

/* ---- broken laws ---- */

static void (*fault)(struct orr_serve *w);
static int calls;

static struct req *some_waiting(struct orr_serve *w)
{
	for (uint32_t i = 0; i < w->n_req; i++)
		if (w->req[i].state == ORR_REQ_WAITING)
			return &w->req[i];
	return &w->req[0];
}

static void break_it(struct orr_serve *w, char what, uint64_t subject)
{
	(void)subject;
	if (what == 's' && ++calls == 20)
		fault(w);
}

static void lose_request(struct orr_serve *w)
{
	some_waiting(w)->state = ORR_REQ_ENDED;
}
static void miscount_live(struct orr_serve *w)
{
	w->live++;
}
static void miscount_waiting(struct orr_serve *w)
{
	w->waiting--;
}
static void miscount_routed(struct orr_serve *w)
{
	w->replica[0].routed++;
}
static void miscount_runs(struct orr_serve *w)
{
	w->replica[0].n_runs++;
}
static void run_nowhere(struct orr_serve *w)
{
	some_waiting(w)->state = ORR_REQ_RUNNING;
	w->waiting--;
}
static void doubled_run(struct orr_serve *w)
{
	some_waiting(w)->runs++;
}
static void hold_blocks(struct orr_serve *w)
{
	some_waiting(w)->kv_held = 3;
}
static void reside_nowhere(struct orr_serve *w)
{
	some_waiting(w)->state = ORR_REQ_RESIDENT;
	w->waiting--;
}
static void end_in_run(struct orr_serve *w)
{
	struct req *q = req_of(w, w->run[w->replica[0].runs.first].handle[0]);
	q->state = ORR_REQ_ENDED;
	w->live--;
}
static void idle_while_busy(struct orr_serve *w)
{
	bitset_add(w->idle, 0);
}
static void busy_while_idle(struct orr_serve *w)
{
	w->fleet->more[1].is_busy = !w->fleet->more[1].is_busy;
}
static void busy_too_long(struct orr_serve *w)
{
	w->replica[0].busy_s += 1e4;
}
static void too_much_memory(struct orr_serve *w)
{
	w->replica[0].memory = -1;
}
static void other_gpus(struct orr_serve *w)
{
	w->replica[0].gpus++;
}
static void no_gpus(struct orr_serve *w)
{
	w->replica[0].has_alloc = false;
}
static void stray_gpus(struct orr_serve *w)
{
	w->host.pool->used_milli++;
}
static void off_the_list(struct orr_serve *w)
{
	w->fleet->more[0].is_member = false;
}
static void miscount_completed(struct orr_serve *w)
{
	w->metrics->completed++;
}
static void miscount_time(struct orr_serve *w)
{
	w->metrics->sojourn_s += 5;
}

static const struct {
	const char *name;
	void (*fault)(struct orr_serve *w);
} faults[] = { { "a request is lost", lose_request }, { "live requests are miscounted", miscount_live },
	{ "waiting requests are miscounted", miscount_waiting }, { "routed requests are miscounted", miscount_routed },
	{ "runs are miscounted", miscount_runs }, { "a running request is in no run", run_nowhere },
	{ "a request counts one run too many", doubled_run }, { "a waiting request holds blocks", hold_blocks },
	{ "a resident request is on no replica", reside_nowhere }, { "a request ends within a run", end_in_run },
	{ "a busy replica is offered as idle", idle_while_busy }, { "busy and idle are exchanged", busy_while_idle },
	{ "busy for longer than up", busy_too_long }, { "more memory in use than present", too_much_memory },
	{ "GPUs differ from the allocation", other_gpus }, { "no GPUs", no_gpus }, { "the pool is miscounted", stray_gpus },
	{ "a replica is in no group", off_the_list }, { "completed requests are miscounted", miscount_completed },
	{ "the time integral is wrong", miscount_time } };

static void check_faults(void)
{
	struct fleet_case c = { .requests = "poisson:rate=4,n=200",
		.models = { TABLE },
		.deployment = { { .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.seed = 1 };
	struct orr_error err;
	result_free(fleet_must_run(&c, "no fault"));
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		calls = 0;
		fault = faults[i].fault;
		probe.seen = break_it;
		struct run_result *r = fleet_run(&c, &err);
		ok(!r && calls >= 20 && strstr(err.text, "conservation: "), "%s: %s", faults[i].name, r ? "not found" : err.text);
		result_free(r);
	}
	probe.seen = NULL;
}

/* ---- work-conserving policies ---- */

static void check_idling(void)
{
	struct fleet_case c = { .requests = "poisson:rate=1.5,n=2000",
		.models = { TABLE },
		.deployment = { { .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.seed = 1,
		.policy = &fleet_probe_busy_policy };
	result_free(fleet_must_run(&c, "work conserving"));
	ok(true, "a work-conserving policy passes --check");
	struct orr_error err;
	probe.naps = true;
	struct run_result *r = fleet_run(&c, &err);
	ok(!r && strstr(err.text, "the policy claims to be work-conserving, but a replica idles"), "--check detects a false claim: %s",
		r ? "no" : err.text);
	result_free(r);
	c.policy = &fleet_probe_policy;
	r = fleet_run(&c, &err);
	ok(r != NULL, "without the claim a replica may idle");
	result_free(r);
	probe.naps = false;
}

int main(void)
{
	check_table();
	check_lengths();
	check_memory();
	check_rows();
	check_llm();
	check_cache();
	check_iterations();
	check_faults();
	check_idling();
	free(probe.event);
	return done();
}

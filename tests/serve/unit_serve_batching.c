/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TensorFlow Serving, Clipper, Nexus and Clockwork: schedules and plans computed by hand, and the claims of their papers as
 * properties on random workloads.
 */
#include "base/rng.h"
#include "policies/serve/nexus_plan.h"
#include "tests/serve/serve_replay.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_tf_serving, orr_policy_serve_clipper, orr_policy_serve_nexus, orr_policy_serve_clockwork;

static struct orr_error err;

#define TABLE "\"source\":\"by hand\",\"kind\":\"table\""
#define FAST "\"batch\":[1,2,4],\"latency_ms\":[10,12,16]"
static const char model_m[] = "{\"name\":\"m\"," TABLE "," FAST "}";
static const char model_n[] = "{\"name\":\"n\"," TABLE "," FAST "}";
static const char slower_c[] = "{\"name\":\"c\"," TABLE ",\"batch\":[1,2,3,4,5,6,7,8],\"latency_ms\":[10,20,30,40,50,60,70,80]}";
static const char *const both[] = { model_m, model_n, NULL };
static const char *const one[] = { model_m, NULL };
static const char *const slower[] = { slower_c, NULL };
/* An input takes 10 ms over a link of 1e8 bytes/s, as long as a batch of one. */
static const char *const sent[] = { "{\"name\":\"m\"," TABLE ",\"input_bytes\":1e6," FAST "}", NULL };
#define LINK "front=per-replica front_Bps=1e8"

static struct run_result *serve(
	const struct orr_policy *policy, const char *requests, const char *const *models, const char *settings, const char *options)
{
	struct serve_case c = { .requests = requests, .models = models, .policy = policy, .settings = settings, .options = options };
	struct run_result *r = serve_replay(&c, &err);
	if (!r)
		printf("# %s\n", err.text);
	return r;
}

#define BY_HAND_WITH(options, policy, what, requests, models, settings, ...)                                     \
	do {                                                                                                     \
		static const double ends_s[] = { __VA_ARGS__ };                                                  \
		struct run_result *got = serve(&orr_policy_serve_##policy, requests, models, settings, options); \
		ok(serve_ends_at(got, ends_s, sizeof ends_s / sizeof *ends_s), "%s: %s", #policy, what);         \
		result_free(got);                                                                                \
	} while (0)
#define BY_HAND(...) BY_HAND_WITH(NULL, __VA_ARGS__)

/* ---- TensorFlow Serving ---- */

#define AT(slo) "arrival_s,model,slo_s\n0,m," slo "\n0.001,m," slo "\n"
static void tf_serving(void)
{
	BY_HAND(tf_serving, "a full batch starts at once", AT("0.1") "0.002,m,0.1\n0.003,m,0.1\n", one, NULL, 0.019, 0.019, 0.019, 0.019);
	/* The batch must start at 100 - L(4) = 84 ms. */
	BY_HAND(tf_serving, "a batch that is not full waits as long as the SLO allows", AT("0.1"), one, NULL, 0.096, 0.096);
	BY_HAND(tf_serving, "a batch waits for its timeout", AT("0.1"), one, "batch_timeout=5ms", 0.017, 0.017);
	BY_HAND(tf_serving, "a batch of three is padded to four", AT("0.1") "0.002,m,0.1\n", one, "batch_timeout=5ms", 0.021, 0.021, 0.021);
	/* The batch is full at 1 ms and again at 3 ms, while the first batch runs until 13 ms. */
	BY_HAND(tf_serving, "one task at a time", AT("0.1") "0.002,m,0.1\n0.003,m,0.1\n", one, "max_batch=2", 0.013, 0.013, 0.025, 0.025);
	BY_HAND(tf_serving, "or several", AT("0.1") "0.002,m,0.1\n0.003,m,0.1\n", one, "max_batch=2 threads=2", 0.013, 0.013, 0.015, 0.015);
	BY_HAND(tf_serving, "models in order of their oldest request", "arrival_s,model\n0,m\n0.002,n\n0.001,m\n0.003,m\n", both,
		"max_batch=1", 0.01, 0.02, 0.03, 0.04);
	/* The batch of n (SLO 100 ms) is due at 84 ms. That of m (SLO 50 ms) is due at 34 + 3 ms, although its request arrives later. */
	BY_HAND(tf_serving, "models by their own SLOs", "arrival_s,model,slo_s\n0,n,0.1\n0.003,m,0.05\n", both, NULL, 0.094, 0.047);
	BY_HAND(tf_serving, "max_batch per model", "arrival_s,model\n0,m\n0,n\n0,n\n", both, "max_batch=1,2", 0.01, 0.022, 0.022);
	BY_HAND(tf_serving, "requests beyond the queue limit are shed", "arrival_s,model\n0,m\n0,m\n0.001,m\n0.001,m\n0.001,m\n", one,
		"max_batch=2 queue_limit=1", 0.012, 0.012, 0.024, 0.024, NAN);
	struct run_result *r =
		serve(&orr_policy_serve_tf_serving, "arrival_s,model\n0,m\n0,m\n0,m\n", one, "max_batch=2 full_only=true", NULL);
	ok(!r && strstr(err.text, "request 2 at 0.012000000 s: 1 requests have not ended") &&
			strstr(err.text, "or --until before this time"),
		"tf_serving: with full batches only, the last request waits forever");
	result_free(r);
}

static void tf_serving_links(void)
{
	const char *three = "arrival_s,model\n0,m\n0,m\n0,m\n";
	BY_HAND_WITH(
		LINK, tf_serving, "a batch whose input is in transit occupies its thread", three, sent, "max_batch=1", 0.02, 0.04, 0.06);
	/* Two inputs share the link for 20 ms. */
	BY_HAND_WITH(LINK, tf_serving, "two threads: two batches in transit", three, sent, "max_batch=1 threads=2", 0.03, 0.03, 0.05);
	/* The first run has its peak of 4 GB from 15 to 20 ms. The second one may compute from now on, so it needs room for both peaks. */
	static const char *const peak[] = { "{\"name\":\"m\"," TABLE ",\"input_bytes\":1e6,\"batch\":[1],\"latency_ms\":[10],\"memory\":"
					    "[{\"before\":1e9,\"peak\":4e9,\"peak_from_ms\":5}]}",
		NULL };
	struct serve_case c = { .requests = "arrival_s,model\n0,m\n0.018,m\n",
		.models = peak,
		.memory_GiB = 7,
		.policy = &orr_policy_serve_tf_serving,
		.settings = "threads=2",
		.options = LINK };
	static const double end[] = { 0.02, 0.04 };
	struct run_result *r = serve_replay(&c, &err);
	ok(serve_ends_at(r, end, 2), "tf_serving: a new run holds its peak while its input is in transit");
	result_free(r);
}

/* ---- Clipper ---- */

static void clipper(void)
{
	char rows[2000] = "arrival_s,model\n";
	for (int i = 0; i < 40; i++)
		strcat(rows, "0,c\n");
	struct run_result *r = serve(&orr_policy_serve_clipper, rows, slower, "objective=45ms", NULL);
	/* A sample takes 10 ms. Batches of 1 to 4 samples take at most 45 ms; a batch of 5 takes longer. So the limit alternates:
	 * 4.5, 5.5, 4.5, .. The 40 requests have 37 in full batches and 3 in the last one. */
	static const int sizes[] = { 1, 2, 3, 4, 5, 4, 5, 4, 5, 4, 3 };
	double end[40], t = 0;
	int n = 0;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		t += 0.01 * sizes[i];
		for (int k = 0; k < sizes[i]; k++)
			end[n++] = t;
	}
	ok(n == 40 && serve_ends_at(r, end, 40), "clipper: additive increase, multiplicative decrease");
	result_free(r);
	BY_HAND(clipper, "a batch may wait for a second request", "arrival_s,model\n0,m\n0.003,m\n0.1,m\n", one,
		"first_batch=2 batch_wait=5ms", 0.015, 0.015, 0.115);
	BY_HAND(clipper, "by default a batch does not wait", "arrival_s,model\n0,m\n0.003,m\n", one, "first_batch=2", 0.01, 0.02);
}

/* Tests Crankshaw et al., figure 4: with AIMD the throughput is close to the best one within the objective, and many times the
 * throughput without batching. Here the load is 10 times the capacity without batches. The best size is b = 20, from 1 + b / 10 <= 3
 * ms. */
static void clipper_finds_the_batch(void)
{
	char model[800] = "{\"name\":\"p\"," TABLE ",\"between\":\"linear\",\"batch\":[1,64],\"latency_ms\":[1.1,7.4]}";
	const char *const models[] = { model, NULL };
	struct serve_case c = { .requests = "poisson:rate=9000,n=20000",
		.models = models,
		.policy = &orr_policy_serve_clipper,
		.settings = "objective=3ms increase=1",
		.seed = 3 };
	struct run_result *r = serve_replay(&c, &err);
	double rate = serve_metric(r, "throughput"), size = serve_metric(r, "largest_batch");
	/* Batches of 20 in 3 ms give 6,667/s; AIMD varies the size between 18 and 21. */
	ok(rate > 0.9 * 6667 && rate < 1.05 * 6667, "clipper: throughput %.0f/s of the 6,667 that the objective allows", rate);
	ok(size > 17 && size < 22, "clipper: batches of %.1f on average, of 20", size);
	result_free(r);
}

/* ---- Nexus ---- */

/* Shen et al., SOSP 2019, section 4.1, table 2: three models, and the loads that remain after full GPUs. */
static const uint32_t sizes[] = { 4, 8, 16 };
static const double a_s[] = { 0.050, 0.075, 0.100 }, b_s[] = { 0.050, 0.090, 0.125 }, c_s[] = { 0.060, 0.095, 0.125 };

static void nexus_published_plan(void)
{
	struct nexus_session s[] = { { 64, 0.2, sizes, a_s, 3, false }, { 32, 0.25, sizes, b_s, 3, false },
		{ 32, 0.25, sizes, c_s, 3, false } };
	struct nexus_plan p;
	ok(nexus_saturating_batch(&s[0]) == 16 && nexus_saturating_batch(&s[1]) == 16,
		"nexus: full GPUs run batches of 16: 160 and 128 a second");
	/* In a duty cycle of 125 ms, 8 requests of A take 75 ms. 4 requests of C would take 60 ms more, which is too long; 4 of B
	 * take 50 ms more, which fits. */
	nexus_plan(s, 3, &p);
	ok(p.n == 2 && p.node[0].n_parts == 2 && p.node[1].n_parts == 1, "nexus: two GPUs for the residual loads");
	ok(p.n == 2 && p.node[0].part[0].session == 0 && p.node[0].part[0].batch == 8 && p.node[0].part[1].session == 1 &&
			p.node[0].part[1].batch == 4 && p.node[1].part[0].session == 2,
		"nexus: A with 8 and B with 4 share a GPU, C has its own");
	near_to(p.n == 2 ? p.node[0].duty_s : 0, 0.125, 1e-12, "nexus: the duty cycle is 125 ms");
	nexus_plan_free(&p);
	/* A has a rate of 3 x 160 + 64 requests/s, so three GPUs are full. */
	s[0].rate = 3 * 160 + 64;
	nexus_plan(s, 3, &p);
	ok(p.n == 5 && p.node[2].duty_s == 0.1 && p.node[2].part[0].batch == 16, "nexus: full GPUs come first");
	nexus_plan_free(&p);
}

static bool plan_holds(const struct nexus_session *s, uint32_t n, const struct nexus_plan *p)
{
	double rate[8] = { 0 };
	bool good = true;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct nexus_node *x = &p->node[i];
		double busy = 0;
		for (uint32_t k = 0; k < x->n_parts; k++) {
			const struct nexus_session *z = &s[x->part[k].session];
			double l = nexus_latency(z, x->part[k].batch);
			busy += l;
			rate[x->part[k].session] += x->part[k].rate;
			good = good && (z->is_hopeless || (l + x->duty_s <= z->slo_s + 1e-9 &&
								  x->part[k].batch >= x->part[k].rate * x->duty_s - 1e-6));
		}
		good = good && (busy <= x->duty_s + 1e-9 || x->n_parts == 1);
	}
	for (uint32_t i = 0; i < n; i++)
		good = good && fabs(rate[i] - s[i].rate) <= 1e-6 * (1 + s[i].rate);
	return good;
}

/* Checks the invariants of nexus_plan.h. The packing uses at most one GPU per residual load. */
static void nexus_plans_hold(void)
{
	struct rng r;
	rng_init(&r, 7, "test", 0);
	bool good = true;
	double packed = 0, alone = 0;
	for (int i = 0; i < 2000; i++) {
		struct nexus_session s[6];
		const double *latency[] = { a_s, b_s, c_s };
		double separate = 0;
		for (int k = 0; k < 6; k++) {
			s[k] = (struct nexus_session){ .rate = exp(rng_uniform(&r) * 7 - 1),
				.slo_s = 0.11 + rng_uniform(&r) * 0.4,
				.batch = sizes,
				.latency_s = latency[k % 3],
				.n_batches = 3 };
			struct nexus_plan single;
			nexus_plan(&s[k], 1, &single);
			separate += single.n;
			nexus_plan_free(&single);
		}
		struct nexus_plan p;
		nexus_plan(s, 6, &p);
		good = good && plan_holds(s, 6, &p) && p.n <= separate;
		packed += p.n;
		alone += separate;
		nexus_plan_free(&p);
	}
	ok(good, "nexus: rates are covered, duty cycles hold, SLOs are kept, on 2,000 random sets of sessions");
	ok(packed < 0.95 * alone, "nexus: %.0f GPUs instead of %.0f without packing", packed, alone);
}

static void nexus_cycle(void)
{
	/* Rate 40/s, SLO 100 ms. A batch of 4 takes 16 ms + 4/40 s, above the SLO; a batch of 2 takes 12 ms + 2/40 s, within the SLO.
	 * So the duty cycle has 2 samples every 50 ms. The first batch is due at 50 ms but is full at 20 ms; the next batch is due at
	 * 70 ms. */
	BY_HAND(nexus, "a batch waits until it is full, or for the duty cycle", "arrival_s,model,slo_s\n0,m,0.1\n0.02,m,0.1\n0.03,m,0.1\n",
		one, "rates=40 slo=100ms", 0.032, 0.032, 0.08);
	BY_HAND(nexus, "without an SLO batches do not wait", "arrival_s,model\n0,m\n0.02,m\n0.03,m\n", one, "rates=40", 0.01, 0.03, 0.04);
	/* Rate 200/s, SLO 40 ms: 4 samples every 20 ms. Twelve requests arrive at once. The last four could start at 32 ms and would
	 * end at 48 ms; batches of 3, 2 or 1 could not end by 40 ms either. */
	static const char burst[] =
		"arrival_s,model,slo_s\n0,m,0.04\n0,m,0.04\n0,m,0.04\n0,m,0.04\n0,m,0.04\n0,m,0.04\n0,m,0.04\n0,m,0.04\n"
		"0,m,0.04\n0,m,0.04\n0,m,0.04\n0,m,0.04\n";
	BY_HAND(nexus, "early drop", burst, one, "rates=200 slo=40ms", 0.016, 0.016, 0.016, 0.016, 0.032, 0.032, 0.032, 0.032, NAN, NAN,
		NAN, NAN);
	BY_HAND(nexus, "lazy drop", burst, one, "rates=200 slo=40ms drop=lazy", 0.016, 0.016, 0.016, 0.016, 0.032, 0.032, 0.032, 0.032,
		0.048, 0.048, 0.048, 0.048);
}

/* A table with lengths is planned for the longest, so its plan is that of nexus_cycle(): two samples every 50 ms. */
static void nexus_lengths(void)
{
	static const char *const lengths[] = { "{\"name\":\"m\"," TABLE
					       ",\"batch\":[1,2,4],\"length\":[8,16],\"latency_ms\":[[5,6,8],[10,12,16]],"
					       "\"between\":\"up\"}",
		NULL };
	BY_HAND(nexus, "lengths", "arrival_s,model,prompt_tokens,slo_s\n0,m,16,0.1\n0.02,m,16,0.1\n0.03,m,8,0.1\n", lengths,
		"rates=40 slo=100ms", 0.032, 0.032, 0.075);
}

/* Tests Shen et al., figure 9: early drop serves more requests in time than late drop. */
static void nexus_drops(void)
{
	double good[2];
	for (int i = 0; i < 2; i++) {
		struct serve_case c = { .requests = "poisson:rate=230,n=20000,model=m",
			.models = one,
			.policy = &orr_policy_serve_nexus,
			.settings = i ? "rates=230 slo=40ms drop=lazy" : "rates=230 slo=40ms drop=early",
			.options = "slo=40ms",
			.seed = 5 };
		struct run_result *r = serve_replay(&c, &err);
		good[i] = serve_metric(r, "attainment");
		result_free(r);
	}
	ok(good[0] > good[1] + 0.05, "nexus: with early drop %.1f %% are in time, with lazy drop %.1f %%", 100 * good[0], 100 * good[1]);
}

/* Tests the published example at its rates with evenly spaced requests: all requests are in time on the two GPUs of the plan. */
static void nexus_serves_its_plan(void)
{
	static const char *const models[] = { "{\"name\":\"a\"," TABLE ",\"batch\":[4,8,16],\"latency_ms\":[50,75,100]}",
		"{\"name\":\"b\"," TABLE ",\"batch\":[4,8,16],\"latency_ms\":[50,90,125]}",
		"{\"name\":\"c\"," TABLE ",\"batch\":[4,8,16],\"latency_ms\":[60,95,125]}", NULL };
	char *rows = malloc(400000);
	int at = sprintf(rows, "arrival_s,model,slo_s\n");
	for (int i = 0; i < 6400; i++) {
		at += sprintf(rows + at, "%.9f,a,0.2\n", i / 64.0);
		if (i % 2)
			at += sprintf(rows + at, "%.9f,b,0.25\n%.9f,c,0.25\n", i / 64.0, i / 64.0);
	}
	struct serve_case c = { .requests = rows,
		.models = models,
		.replicas = 2,
		.policy = &orr_policy_serve_nexus,
		.settings = "rates=64,32,32 slo=200ms,250ms,250ms" };
	struct run_result *r = serve_replay(&c, &err);
	near_to(serve_metric(r, "gpus_planned"), 2, 1e-12, "nexus: the example runs on two GPUs");
	near_to(serve_metric(r, "attainment"), 1, 1e-12, "nexus: all requests of the example are in time");
	result_free(r);
	/* With measured rates, the plan after the first epoch equals that for given rates. */
	c.settings = "epoch=5s slo=200ms,250ms,250ms";
	r = serve_replay(&c, &err);
	ok(serve_metric(r, "attainment") > 0.99, "nexus: share in time with measured rates: %.4f", serve_metric(r, "attainment"));
	result_free(r);
	free(rows);
}

/* ---- Clockwork ---- */

static void clockwork(void)
{
	/* Times in ms. Five requests arrive at once with deadline 30. A batch of four may start until 14; the fifth request may start
	 * until 20 and starts at 16. A sixth request arrives at 5 with deadline 35. A batch of two may start until 18 and ends at 28. */
	BY_HAND(clockwork, "the largest batch that is in time",
		"arrival_s,model,slo_s\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0.005,m,0.03\n", one, NULL, 0.016, 0.016, 0.016,
		0.016, 0.028, 0.028);
	/* At 7 ms the GPU is busy until 16 ms; an end at 26 ms misses a deadline of 22 ms. */
	BY_HAND(clockwork, "a request that cannot be in time is rejected",
		"arrival_s,model,slo_s\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0.007,m,0.015\n", one, NULL, 0.016, 0.016, 0.016, 0.016,
		NAN);
	BY_HAND(clockwork, "without admission control a late request runs",
		"arrival_s,model,slo_s\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0,m,0.03\n0.007,m,0.015\n", one, "admission=false", 0.016, 0.016,
		0.016, 0.016, 0.026);
	BY_HAND(clockwork, "the model with the earliest latest start runs", "arrival_s,model,slo_s\n0,m,0.1\n0.001,m,0.1\n0.002,n,0.03\n",
		both, NULL, 0.01, 0.03, 0.02);
	/* 8 GiB hold only one of the two models; each takes 20 ms to load. */
	static const char *const large[] = { "{\"name\":\"m\"," TABLE ",\"load_ms\":20,\"weight_bytes\":5e9," FAST "}",
		"{\"name\":\"n\"," TABLE ",\"load_ms\":20,\"weight_bytes\":5e9," FAST "}", NULL };
	struct serve_case c = { .requests = "arrival_s,model,slo_s\n0,m,1\n0.1,n,1\n0.2,m,1\n0.3,m,1\n",
		.models = large,
		.memory_GiB = 8,
		.policy = &orr_policy_serve_clockwork,
		.options = "preloaded=false" };
	static const double end[] = { 0.03, 0.13, 0.23, 0.31 };
	struct run_result *r = serve_replay(&c, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(serve_ends_at(r, end, 4), "clockwork: models are swapped, loaded ones are used");
	result_free(r);
	/* The memory holds two of three models. The least recently used model is unloaded: n at 0.4 s, so m is still loaded at 0.5 s. */
	static const char *const three[] = { "{\"name\":\"m\"," TABLE ",\"load_ms\":20,\"weight_bytes\":4e9," FAST "}",
		"{\"name\":\"n\"," TABLE ",\"load_ms\":20,\"weight_bytes\":4e9," FAST "}",
		"{\"name\":\"o\"," TABLE ",\"load_ms\":20,\"weight_bytes\":4e9," FAST "}", NULL };
	static const double later[] = { 0.03, 0.13, 0.31, 0.43, 0.51, 0.63 };
	c.models = three;
	c.requests = "arrival_s,model,slo_s\n0,m,1\n0.1,n,1\n0.3,m,1\n0.4,o,1\n0.5,m,1\n0.6,n,1\n";
	r = serve_replay(&c, &err);
	ok(serve_ends_at(r, later, 6), "clockwork: the least recently used model makes room");
	result_free(r);
}

static void clockwork_links(void)
{
	/* An input takes 10 ms per sample. The GPU is busy with the first request until 20 ms, then with a batch of two until 20 + 20
	 * + 12 ms. The fourth request ends at 52 + 10 + 10 ms. */
	BY_HAND_WITH(LINK, clockwork, "while an input is in transit, arrivals are admitted by its arrival and the latency",
		"arrival_s,model,slo_s\n0,m,1\n0.001,m,1\n0.002,m,1\n0.003,m,1\n", sent, NULL, 0.02, 0.052, 0.052, 0.072);
	BY_HAND_WITH(LINK, clockwork, "the transfer counts towards the deadline", "arrival_s,model,slo_s\n0,m,0.02\n1,m,0.019\n", sent,
		NULL, 0.02, NAN);
	BY_HAND_WITH(LINK, clockwork, "arrivals during the transfer: 20 + 20 ms",
		"arrival_s,model,slo_s\n0,m,1\n0.005,m,0.035\n0.005,m,0.034\n", sent, NULL, 0.02, 0.04, NAN);
}

/* L(3) = 30 ms is not in the table. */
static void clockwork_between_sizes(void)
{
	static const char *const linear[] = {
		"{\"name\":\"m\"," TABLE ",\"batch\":[1,2,4],\"latency_ms\":[20,25,35],\"between\":\"linear\"}", NULL
	};
	BY_HAND(clockwork, "the smallest batch has the size of the request", "arrival_s,model,samples,slo_s\n0,m,3,0.032\n", linear, NULL,
		0.03);
	BY_HAND(clockwork, "and is shed if it is too late", "arrival_s,model,samples,slo_s\n0,m,3,0.029\n", linear, NULL, NAN);
}

/* Tests Gujarati et al., section 6: at any load, every answer is in time. */
static void clockwork_is_never_late(void)
{
	static const char *const models[] = { "irina-yolov3", "irina-alexnet", "irina-googlenet", "irina-vgg16", NULL };
	int n = getenv("ORR_SANITIZED") ? 500 : 5000;
	for (uint32_t gpus = 1; gpus <= 3; gpus += 2) {
		char trace[200];
		snprintf(trace, sizeof trace,
			"irina:p=0.7,n=%d,mean=%dms,slo=200ms,regular=irina-yolov3:8,adhoc=irina-alexnet:128|irina-googlenet:32|irina-"
			"vgg16:8",
			n, gpus == 1 ? 13 : 20);
		struct serve_case c = { .requests = trace,
			.models = models,
			.replicas = gpus,
			.memory_GiB = 8,
			.policy = &orr_policy_serve_clockwork,
			.seed = 2 };
		struct run_result *r = serve_replay(&c, &err);
		bool good = r != NULL;
		int answered = 0;
		for (size_t i = 0; r && i < r->n_requests; i++) {
			const struct request_row *q = &r->requests[i];
			answered += q->status == REQUEST_COMPLETED;
			good = good && (q->status == REQUEST_SHED ||
					       (q->status == REQUEST_COMPLETED && q->completed_s <= q->arrival_s + 0.2 + 1e-9));
		}
		ok(good && answered > (gpus == 1 ? 0.25 : 0.7) * n, "clockwork: %d of %d are answered, all of them in time (%u GPUs)",
			answered, n, gpus);
		result_free(r);
	}
}

int main(void)
{
	tf_serving();
	tf_serving_links();
	clipper();
	clipper_finds_the_batch();
	nexus_published_plan();
	nexus_plans_hold();
	nexus_cycle();
	nexus_lengths();
	nexus_drops();
	nexus_serves_its_plan();
	clockwork();
	clockwork_links();
	clockwork_between_sizes();
	clockwork_is_never_late();
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replicas as a fleet: routing against naive rules, scaling computed by hand, failures, and closed loops against theory. */
#include "tests/serve/fleet_run.h"

#include "serve/fleet.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_fifo;

#define TABLE(name, latency)                                                                                     \
	"{\"name\": \"" name "\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", " \
	"\"batch\": [1], \"latency_ms\": [" latency "]}"
#define NOISY(name, latency)                                                                                     \
	"{\"name\": \"" name "\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", " \
	"\"noise\": \"exponential\", \"batch\": [1], \"latency_ms\": [" latency "]}"
/* A model that takes the same time for any number of samples up to 100. */
#define WIDE(name, latency)                                                                                      \
	"{\"name\": \"" name "\", \"title\": \"t\", \"source\": \"made up for the test\", \"kind\": \"table\", " \
	"\"between\": \"up\", \"batch\": [1, 100], \"latency_ms\": [" latency ", " latency "]}"

static bool is_sanitized(void)
{
	const char *s = getenv("ORR_SANITIZED");
	return s && *s == '1';
}

/* The test has its own generator, so that traces are equal on all machines. */
static uint64_t dice_state;
static uint32_t dice(uint32_t n)
{
	dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice_state >> 33) % n;
}

/* Returns rows of two models with 1 to 50 samples, about 1 ms apart. */
static char *mixed_rows(uint32_t n)
{
	char *text = malloc(64 + (size_t)n * 48);
	size_t len = (size_t)sprintf(text, "arrival_s,model,samples\n");
	double t = 0;
	dice_state = 7;
	for (uint32_t i = 0; i < n; i++) {
		t += (dice(2000000) + 1) * 1e-9;
		len += (size_t)sprintf(text + len, "%.9f,%s,%u\n", t, dice(3) ? "a" : "b", dice(50) + 1);
	}
	return text;
}

/* ---- routing, against rules that scan all replicas ---- */

enum { MOST = 16 };
static struct {
	const char *rule;
	uint32_t wrong, seen, last[2], worst;
	uint64_t tokens[MOST], picked[MOST];
	size_t told;
} naive;

static bool takes(struct orr_serve *w, uint32_t replica, uint32_t model)
{
	struct orr_replica_info x;
	orr_replica_get(w, replica, &x);
	return x.is_up && !x.is_draining && (x.model == UINT32_MAX || x.model == model);
}

/* Counts samples of live requests on each replica, from earlier calls of arrive() and finish(). */
static void follow_tokens(struct orr_serve *w, const uint64_t *samples)
{
	(void)w;
	for (; naive.told + 1 < probe.n; naive.told++) {
		const struct probe_event *e = &probe.event[naive.told];
		if (e->what == 'a')
			naive.tokens[e->replica] += samples[e->number];
		if (e->what == 'f')
			naive.tokens[e->replica] -= samples[e->number];
	}
}

static uint64_t samples_of[100000];

static void judge(struct orr_serve *w, char what, uint64_t subject)
{
	if (what != 'a')
		return;
	struct orr_req_info q;
	orr_req_get(w, subject, &q);
	uint32_t least = UINT32_MAX, next = UINT32_MAX, first = UINT32_MAX, most = 0, with_most = 0;
	uint64_t least_key = UINT64_MAX;
	samples_of[q.number] = q.samples;
	follow_tokens(w, samples_of);
	for (uint32_t i = 0; i < orr_replicas(w); i++) {
		if (!takes(w, i, q.model))
			continue;
		uint32_t routed = orr_replica_routed(w, i) - (i == q.replica);
		uint64_t key = !strcmp(naive.rule, "least-outstanding") ? naive.tokens[i] : routed;
		if (key < least_key) {
			least_key = key;
			least = i;
		}
		if (routed >= most) {
			with_most = routed > most ? 1 : with_most + 1;
			most = routed;
		}
		first = first == UINT32_MAX ? i : first;
		next = next == UINT32_MAX && naive.last[q.model] != UINT32_MAX && i > naive.last[q.model] ? i : next;
	}
	uint32_t turn = next == UINT32_MAX ? first : next;
	bool is_rr = !strcmp(naive.rule, "round-robin");
	naive.wrong += q.replica != (is_rr ? turn : least);
	naive.worst += with_most == 1 && orr_replica_routed(w, q.replica) - 1 == most && most > 0;
	naive.last[q.model] = q.replica;
	naive.picked[q.replica]++;
	naive.seen++;
}

static void begin_judging(const char *rule)
{
	memset(&naive, 0, sizeof naive);
	naive.rule = rule;
	naive.last[0] = naive.last[1] = UINT32_MAX;
	probe.seen = judge;
}

/* Returns a case with three kinds of replicas: for model a, for model b, for both. */
static struct fleet_case mixed_case(const char *rows, const char *options)
{
	return (struct fleet_case){ .requests = rows,
		.models = { WIDE("a", "6"), WIDE("b", "5") },
		.deployment = { { .replicas = 3, .model = 0, .tp = 1, .pp = 1 }, { .replicas = 2, .model = 1, .tp = 1, .pp = 1 },
			{ .replicas = 3, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "8x1",
		.options = options,
		.seed = 3 };
}

static void check_routing(void)
{
	uint32_t n = is_sanitized() ? 1000 : 6000;
	char *rows = mixed_rows(n), options[64];
	static const char *const rules[] = { "jsq", "round-robin", "least-outstanding" };
	for (int i = 0; i < 3; i++) {
		begin_judging(rules[i]);
		snprintf(options, sizeof options, "router=%s", rules[i]);
		struct fleet_case c = mixed_case(rows, options);
		result_free(fleet_must_run(&c, rules[i]));
		ok(naive.seen == n && !naive.wrong, "%s picks the replica that a scan of all picks (%u requests, %u differ)", rules[i],
			naive.seen, naive.wrong);
	}
	/* Replicas are added and removed, and the search trees of the router must follow. */
	begin_judging("jsq");
	struct fleet_case c = mixed_case(rows, "router=jsq");
	c.mtbf_s = 0.5;
	c.mttr_s = 0.1;
	struct run_result *r = fleet_must_run(&c, "jsq with failures");
	ok(r && !naive.wrong && fleet_metric(r, "restarts") > 0, "jsq while nodes fail and return (%u of %u wrong, %g restarts)",
		naive.wrong, naive.seen, r ? fleet_metric(r, "restarts") : NAN);
	result_free(r);
	free(rows);
}

static double queue_under(const char *options)
{
	struct fleet_case c = { .requests = is_sanitized() ? "poisson:rate=7.2,n=20000" : "poisson:rate=7.2,n=100000",
		.models = { NOISY("m", "1000") },
		.deployment = { { .replicas = 8, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "8x1",
		.options = options,
		.seed = 5,
		.no_check = true };
	struct run_result *r = fleet_must_run(&c, options);
	double mean = r ? fleet_metric(r, "completion_mean") : NAN;
	result_free(r);
	return mean;
}

static void check_random_routing(void)
{
	begin_judging("random");
	double random = queue_under("router=random"), chi2 = 0;
	for (int i = 0; i < 8; i++)
		chi2 += pow((double)naive.picked[i] - naive.seen / 8.0, 2) / (naive.seen / 8.0);
	/* 24.3 is the 0.999 quantile of chi-square with 7 degrees of freedom. */
	ok(chi2 < 24.3, "random is even over the replicas (chi-square %.2f)", chi2);
	begin_judging("power-of-two");
	double two = queue_under("router=power-of-two");
	ok(!naive.worst && naive.seen, "power-of-two never picks the longest queue");
	probe.seen = NULL;
	double jsq = queue_under("router=jsq");
	/* Each replica is an M/M/1 of load 0.9: mean 1/(1 - 0.9) = 10 s. */
	ok(fabs(random - 10) < (is_sanitized() ? 3 : 1.2), "random: eight queues M/M/1 (%.3f s, theory 10)", random);
	/* For infinitely many queues, Mitzenmacher 2001 gives sum over i of load^((2^i - 2)/(2 - 1)) = 2.61 at load 0.9; with eight
	 * queues the mean is larger. */
	ok(two > 2.6 && two < 3.4 && jsq < two && jsq > 1, "power-of-two (%.3f s) lies between random and jsq (%.3f s)", two, jsq);
}

/* ---- cases computed by hand ---- */

static void log_is(const char *kinds, const char *want, const char *what)
{
	char got[2000];
	size_t len = 0;
	got[0] = '\0';
	for (size_t i = 0; i < probe.n && len < sizeof got - 64; i++) {
		const struct probe_event *e = &probe.event[i];
		if (!strchr(kinds, e->what))
			continue;
		bool is_replica = strchr("udx", e->what);
		len += (size_t)snprintf(got + len, sizeof got - len, "%s%c%llu@%g", len ? " " : "", e->what,
			is_replica ? (unsigned long long)e->replica : (unsigned long long)e->number, e->at_s);
	}
	same_text(got, want, what);
}

/*
 * Tests scaling, times in s: service 10, target 2, ticks every 10, quiet time 20, start-up 5. Five requests arrive at 1; at 10 the tick
 * needs 5/2, so 3 replicas. Two of them are up at 15 and get the requests of 16. The ticks require 3, 3, 2, 1, 1, 1, 1 replicas. The
 * largest of three successive ticks falls to 2 at 50 and to 1 at 60.
 */
static void check_scaling(void)
{
	static const double usd[] = { 3600 };
	struct fleet_case c = { .requests = "arrival_s\n1\n1\n1\n1\n1\n16\n16\n75\n",
		.models = { TABLE("m", "10000") },
		.deployment = { { .replicas = 1, .model = UINT32_MAX, .tp = 1, .pp = 1, .least = 1, .most = 3 } },
		.cluster = "4x1",
		.options = "autoscale=outstanding scale_target=2 scale_interval=10s scale_quiet=20s start_up=5s",
		.usd_per_gpu_hour = usd };
	struct run_result *r = fleet_must_run(&c, "scaling");
	log_is("udx", "u1@15 u2@15 d2@50 x2@50 d1@60 x1@60", "replicas are added and removed at the times computed by hand");
	log_is("f", "f0@11 f1@21 f5@26 f6@26 f2@31 f3@41 f4@51 f7@85", "requests end at the times computed by hand");
	if (r) { /* 85 + 50 + 40 GPU-seconds, including two starts of 5 s */
		near_to(fleet_metric(r, "usd"), 175, 1e-9, "a GPU is paid for from take to give");
		near_to(fleet_metric(r, "replica_hours") * 3600, 165, 1e-9, "replica hours exclude start-up");
		near_to(fleet_metric(r, "usd_per_million_samples"), 175.0 / 8 * 1e6, 1e-9, "USD per million samples");
		near_to(fleet_metric(r, "utilisation"), 80.0 / 165, 1e-9, "utilisation is busy time over time up");
		ok(fleet_metric(r, "scale_ups") == 2 && fleet_metric(r, "scale_downs") == 2, "two replicas are added, two removed");
	}
	result_free(r);
	/* Nothing arrives before 75. Ticks at 10, 20, .. require 1 replica; the three replicas of the start count as the decision of time
	 * 0, so the largest of three decisions falls at 30. */
	struct fleet_case idle = c;
	idle.requests = "arrival_s\n75\n";
	idle.deployment[0].replicas = 3;
	r = fleet_must_run(&idle, "a quiet start");
	log_is("udx", "d2@30 d1@30 x2@30 x1@30", "replicas of the start are kept for scale_quiet");
	result_free(r);
	/* The cluster has one GPU, so the second replica never starts, and the run ends. */
	c.cluster = "1x1";
	r = fleet_must_run(&c, "a run with autoscaling beyond the cluster");
	log_is("udx", "", "no replica is added without free GPUs");
	result_free(r);
	/* 4 requests in 10 s are 0.4 per second. At 0.2 per second and replica, two replicas are needed. */
	c.cluster = "4x1";
	c.requests = "arrival_s\n1\n2\n3\n4\n12\n100\n";
	c.options = "autoscale=rate scale_target=0.2 scale_interval=10s scale_quiet=0s start_up=5s";
	r = fleet_must_run(&c, "scaling by rate");
	log_is("udx", "u1@15 d1@20 x1@20", "by rate: 0.4/s at 10 s, 0.1/s at 20 s");
	result_free(r);
	/* Replica 1 starts at 10 s and would be up at 35 s. At 20 s one replica suffices: the one that is starting is removed. */
	c.requests = "arrival_s\n1\n2\n3\n4\n100\n";
	c.options = "autoscale=rate scale_target=0.2 scale_interval=10s scale_quiet=0s start_up=25s";
	r = fleet_must_run(&c, "a replica that is no longer needed while it starts");
	log_is("udx", "", "no replica drains: the one that starts is removed");
	near_to(fleet_metric(r, "gpu_hours") * 3600, 120, 1e-9, "110 s of replica 0, and 10 s of the replica that was starting");
	near_to(fleet_metric(r, "replica_hours") * 3600, 110, 1e-9, "a replica that never was up has no replica hours");
	ok(r && r->n_replicas == 2 && r->replicas[1].start_ns == 10 * ORR_SECOND && r->replicas[1].ready_ns == -1 &&
			r->replicas[1].stop_ns == 20 * ORR_SECOND && !strcmp(r->replicas[1].reason, "scale-down"),
		"its row has a start, an end and a reason, and no time at which it was ready");
	result_free(r);
	/* The target is one replica at 20 s and two at 30 s: the draining replica is reactivated. */
	c.requests = "arrival_s\n1\n2\n3\n4\n16\n17\n21\n22\n23\n24\n";
	c.models[0] = TABLE("m", "25000");
	c.options = "autoscale=rate scale_target=0.2 scale_interval=10s scale_quiet=0s start_up=5s router=round-robin";
	r = fleet_must_run(&c, "a draining replica");
	log_is("udx", "u1@15 d1@20 u1@30 d1@40 x1@41", "a draining replica is taken back, and leaves when it is empty");
	result_free(r);
	c.deployment[0].replicas = 3;
	c.cluster = "2x1";
	struct orr_error err;
	ok(!fleet_run(&c, &err) && strstr(err.text, "room for 2 of its 3 replicas of 1 GPUs"),
		"more replicas than the cluster has room for");
}

/* Tests failures, times in s. Service takes 10. Replica 0 fails at 5; its node returns at 20 and the replica 5 later. Its two
 * requests join the queue of the other replica. */
static void check_failures(void)
{
	struct fleet_case c = { .requests = "arrival_s\n0\n0\n0\n0\n",
		.models = { TABLE("m", "10000") },
		.deployment = { { .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.failures = "time_s,node,event\n5,0,fail\n20,0,repair\n",
		.options = "start_up=5s" };
	struct run_result *r = fleet_must_run(&c, "a failure");
	log_is("udx", "x0@5 u0@25", "the replica leaves and returns with its node");
	log_is("f", "f1@10 f3@20 f0@30 f2@40", "its requests restart on the other replica");
	log_is("a", "a0@0 a1@0 a2@0 a3@0 a0@5 a2@5", "requests of the lost replica arrive again in order");
	if (r) {
		near_to(fleet_metric(r, "lost_work"), 5, 1e-9, "five seconds of work were lost");
		ok(fleet_metric(r, "restarts") == 2 && fleet_metric(r, "replicas_lost") == 1, "two restarts, one lost replica");
		ok(r->n_events == 3 && !strcmp(r->events[0].kind, "node-fail") && r->events[1].time_ns == 20 * ORR_SECOND,
			"failure and repair are events of the result");
	}
	result_free(r);
	/* With a notice of 3 s, the replica takes no requests from 2 s on, and a replacement starts on another node at once. */
	c.cluster = "3x1";
	c.requests = "arrival_s\n0\n0\n3\n";
	c.options = "notice=3s start_up=0.5s";
	r = fleet_must_run(&c, "a notice");
	log_is("udx", "d0@2 u2@2.5 x0@5", "a replica drains during the notice while a replacement starts");
	log_is("f", "f1@10 f2@13 f0@20", "the request of the lost replica restarts");
	result_free(r);
	/* An empty replica ends at the notice; its GPUs are withheld until the node fails. */
	c.requests = "arrival_s\n3\n3\n9\n";
	c.deployment[0] = (struct serve_deployment){ .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 };
	r = fleet_must_run(&c, "a run with an empty replica given notice");
	log_is("udx", "d0@2 x0@2 u2@2.5", "an empty replica leaves at the notice; its replacement is on another node");
	log_is("f", "f0@13 f1@13 f2@23", "the replacement serves the requests");
	result_free(r);
	/* Tests that every request completes exactly once despite failures, under --check. */
	c.cluster = "1x1";
	c.deployment[0].replicas = 1;
	c.requests = "arrival_s\n0\n10\n";
	c.options = NULL;
	r = fleet_must_run(&c, "a run with no replica up for some time");
	log_is("af", "a0@0 a0@20 a1@20 f0@30 f1@40", "requests wait until a replica is up");
	result_free(r);
}

/* Every request completes exactly once despite failures; --check is on. */
static void check_many_failures(void)
{
	uint32_t n = is_sanitized() ? 1000 : 5000, once = 0;
	char *rows = mixed_rows(n);
	uint8_t *ends = calloc(n, 1);
	struct fleet_case c = mixed_case(rows, "start_up=20ms notice=5ms");
	c.mtbf_s = 0.3;
	c.mttr_s = 0.1;
	struct run_result *r = fleet_must_run(&c, "many failures");
	for (size_t i = 0; i < probe.n; i++)
		if (probe.event[i].what == 'f')
			if (probe.event[i].how == ORR_REQ_COMPLETED)
				ends[probe.event[i].number]++;
	for (uint32_t i = 0; i < n; i++)
		once += ends[i] == 1;
	ok(r && once == n && fleet_metric(r, "restarts") > 20, "%u of %u requests complete once while %g replicas are lost", once, n,
		r ? fleet_metric(r, "replicas_lost") : NAN);
	result_free(r);
	free(ends);
	free(rows);
}

/* Counts the calls of route(), and those in which the replicas known to the policy differ from the replicas that are up. */
static uint32_t asked, asked_unheard;
static uint32_t route_and_compare(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)r;
	bool is_up[64];
	struct orr_replica_info i;
	for (uint32_t k = 0; k < orr_replicas(w); k++)
		is_up[k] = k < 4; /* four replicas are up at the start */
	for (size_t k = 0; k < probe.n; k++)
		if (strchr("ux", probe.event[k].what))
			is_up[probe.event[k].replica] = probe.event[k].what == 'u';
	asked++;
	for (uint32_t k = 0; k < orr_replicas(w); k++)
		if (orr_replica_get(w, k, &i) && i.is_up != is_up[k]) {
			asked_unheard++;
			break;
		}
	return ORR_ANY_REPLICA;
}

static void check_route_after_news(void)
{
	struct orr_serve_ops ops = *(const struct orr_serve_ops *)fleet_probe_policy.ops;
	struct orr_policy policy = fleet_probe_policy;
	ops.route = route_and_compare;
	policy.ops = &ops;
	struct fleet_case c = { .requests = "poisson:rate=30,n=600",
		.models = { TABLE("m", "100") },
		.policy = &policy,
		.deployment = { { .replicas = 4, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "4x1",
		.mtbf_s = 2,
		.mttr_s = 1,
		.options = "start_up=100ms notice=50ms",
		.seed = 3 };
	asked = asked_unheard = 0;
	struct run_result *r = fleet_must_run(&c, "a policy that routes while nodes fail");
	ok(r && asked > 600 && fleet_metric(r, "restarts") > 10 && !asked_unheard,
		"route() is asked %u times, %u of them before replica() reported a change", asked, asked_unheard);
	result_free(r);
}

/* ---- closed loops ---- */

/* Returns the throughput of M/M/1//N, (1 - p0)/S (Kleinrock, Queueing Systems I, 3.8): p0 = 1 / sum over n of N!/(N-n)! (S/Z)^n. Of
 * the think times only the mean has an effect. */
static double repairman(int users, double think_s, double service_s)
{
	double sum = 1, term = 1;
	for (int n = 1; n <= users; n++) {
		term *= (users - n + 1) * service_s / think_s;
		sum += term;
	}
	return (1 - 1 / sum) / service_s;
}

static void check_closed_loop(void)
{
	double want = repairman(5, 1, 0.25);
	static const char *const laws[] = { "exponential", "fixed" };
	for (int i = 0; i < 2; i++) {
		char options[100];
		snprintf(options, sizeof options, "clients=5 think=1s think_law=%s", laws[i]);
		struct fleet_case c = { .requests = is_sanitized() ? "poisson:rate=1,n=20000" : "poisson:rate=1,n=200000",
			.models = { NOISY("m", "250") },
			.deployment = { { .replicas = 1, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
			.cluster = "1x1",
			.options = options,
			.seed = 11,
			.no_check = !is_sanitized() };
		struct run_result *r = fleet_must_run(&c, "closed loop");
		if (!r)
			continue;
		double x = fleet_metric(r, "throughput"), response = fleet_metric(r, "completion_mean");
		ok(fabs(x / want - 1) < (is_sanitized() ? 0.03 : 0.01), "think times %s: throughput %.4f/s, theory %.4f", laws[i], x, want);
		ok(fabs(x * (response + 1) / 5 - 1) < (is_sanitized() ? 0.02 : 0.005), "throughput = N / (R + Z): %.4f",
			x * (response + 1));
		ok(fleet_metric(r, "in_system_max") <= 5, "never more requests than users");
		/* Little's law holds exactly, because the run begins and ends empty. */
		near_to(fleet_metric(r, "in_system_mean") * fleet_metric(r, "duration"), response * fleet_metric(r, "requests_completed"),
			1e-6, "Little's law over the run");
		result_free(r);
	}
}

static uint32_t prompt_of[16];
static void note_prompt(struct orr_serve *w, char what, uint64_t subject)
{
	if (what == 'a')
		prompt_of[orr_req_number(w, subject) % 16] = orr_req_length(w, subject);
}

/* Tests sessions: service takes 1 s, thinking 2 s. Sessions 1 and 2 start at 0 and 0.5 s; the row without a session arrives at 100 s. */
static void check_sessions(void)
{
	struct fleet_case c = {
		.requests = "arrival_s,prompt_tokens,output_tokens,session\n0,10,5,1\n0.5,20,6,2\n0.7,7,3,1\n0.8,8,2,1\n100,4,1,\n",
		.models = { TABLE("m", "1000") },
		.deployment = { { .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.options = "sessions=replay think=2s think_law=fixed"
	};
	probe.seen = note_prompt;
	struct run_result *r = fleet_must_run(&c, "sessions");
	log_is("a", "a0@0 a1@0.5 a2@3 a3@6 a4@100", "a turn arrives 2 s after the answer to the last one");
	ok(prompt_of[2] == 7 && prompt_of[3] == 8, "replayed prompts are those of the trace");
	result_free(r);
	c.options = "sessions=grow think=2s think_law=fixed";
	r = fleet_must_run(&c, "growing sessions");
	ok(prompt_of[0] == 10 && prompt_of[2] == 10 + 5 + 7 && prompt_of[3] == 22 + 3 + 8 && prompt_of[1] == 20 && prompt_of[4] == 4,
		"growing prompts repeat all earlier turns");
	result_free(r);
	/* One user sends rows 0, 2 and 3 of session 1, then session 2, then the other rows. */
	c.options = "sessions=replay clients=1 think=2s think_law=fixed";
	r = fleet_must_run(&c, "one user");
	log_is("a", "a0@2 a2@5 a3@8 a1@11 a4@14", "a user runs one session after the other");
	result_free(r);
	c.requests = "poisson:rate=1,n=10";
	struct orr_error err;
	ok(!fleet_run(&c, &err) && strstr(err.text, "expected a trace with sessions, or the generator chat"),
		"sessions of a generator are refused: %s", err.text);
	probe.sleeps = true;
	c.options = "clients=3 think=1s";
	ok(!fleet_run(&c, &err) && strstr(err.text, "3 requests have not ended"), "users that wait forever are an error: %s", err.text);
	c.options = "autoscale=outstanding scale_interval=1s scale_quiet=3s";
	c.deployment[0].most = 2;
	ok(!fleet_run(&c, &err) && strstr(err.text, "10 requests have not ended"),
		"requests that never end under autoscaling are an error: %s", err.text);
	probe.sleeps = false;
	c.deployment[0].most = 0;
	ok(!fleet_run(&c, &err) && strstr(err.text, "\"most\""), "autoscaling without \"most\" is refused: %s", err.text);
	probe.seen = NULL;
}

/* ---- on a shared clock and pool ---- */

static struct {
	uint32_t takes, gives, refused;
	struct pool *pool;
	struct pool_alloc own; /* allocation of the host itself */
} host;

static bool host_take(void *ctx, const struct pool_request *r, struct pool_alloc *out)
{
	(void)ctx;
	bool fits = pool_take(host.pool, r, out);
	host.takes += fits;
	host.refused += !fits;
	return fits;
}

static void host_give(void *ctx, struct pool_alloc *a)
{
	(void)ctx;
	host.gives++;
	pool_give(host.pool, a);
}

/* At 5 s the host frees a GPU; at 12 s the node of replica 0 fails. */
static void on_host(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e, (void)arg;
	struct orr_serve **w = ctx;
	if (subject == 5) {
		pool_give(host.pool, &host.own);
		serve_capacity(*w);
	} else {
		serve_node(*w, 1, false);
		pool_node_down(host.pool, 1);
	}
}

static int drive(const struct serve_config *c, const struct orr_policy *policy, const struct orr_args *args, struct run_result *r,
	struct orr_error *err)
{
	struct engine *e = eng_new();
	struct pool_request one = { 1, 1000, 0, 0, 1 };
	struct orr_serve *w;
	memset(&host, 0, sizeof host);
	host.pool = pool_new(c->cluster, c->placement);
	pool_take(host.pool, &one, &host.own); /* node 0 */
	struct serve_host h = { .engine = e, .pool = host.pool, .take = host_take, .give = host_give };
	w = serve_begin(c, &h, policy, args, "probe", r, err);
	for (uint64_t t = 5; w && t <= 12; t += 7)
		eng_at(e, (int64_t)t * ORR_SECOND, 0, on_host, &w, t, 0);
	while (w && !serve_is_over(w) && eng_step(e))
		serve_instant(w);
	if (w) {
		serve_leave(w);
		ok(host.takes == 2 && host.gives == 2 && host.refused > 0 && host.pool->free_gpus == 1,
			"the host has all its GPUs back: %u, %u, refused %u times", host.takes, host.gives, host.refused);
		serve_end(w, err);
	}
	pool_free(host.pool);
	eng_free(e);
	return err->code;
}

static void check_host(void)
{
	struct fleet_case c = { .requests = "arrival_s\n0\n0\n20\n",
		.models = { TABLE("m", "10000") },
		.deployment = { { .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.options = "start_up=1s",
		.drive = drive };
	struct run_result *r = fleet_must_run(&c, "a host");
	log_is("udx", "u1@6 x0@12", "a replica starts when the host has room, and leaves with its node");
	log_is("f", "f0@10 f1@22 f2@32", "requests of the lost replica go to the other replica");
	if (r) /* node 1 is used from 0 to 12 s, node 0 from 5 to 32 s */
		near_to(fleet_metric(r, "gpu_hours") * 3600, 12 + 27, 1e-9, "GPUs are counted from take to give");
	result_free(r);
}

/* ---- admission ---- */

static void check_admission(void)
{
	/* A replica holds at most two requests: of five simultaneous requests, two are admitted. */
	struct fleet_case c = { .requests = "arrival_s,slo_s\n0,100\n0,100\n0,100\n0,100\n0,100\n15,100\n",
		.models = { TABLE("m", "10000") },
		.deployment = { { .replicas = 1, .model = UINT32_MAX, .tp = 1, .pp = 1 } },
		.cluster = "1x1",
		.options = "queue_limit=2" };
	struct run_result *r = fleet_must_run(&c, "a limit");
	ok(r && fleet_metric(r, "requests_shed") == 3 && fleet_metric(r, "requests_completed") == 3, "a queue of two sheds three of five");
	ok(r && fabs(fleet_metric(r, "attainment") - 0.5) < 1e-12, "shed requests miss their SLO");
	result_free(r);
	/* The policy's own queue has room for one request per replica of a model. Of "m" the first request runs, the second waits and the
	 * third is shed; that of "n" finds its replica idle. */
	struct fleet_case two = { .requests = "arrival_s,model\n0,m\n0.001,m\n0.002,m\n0.003,n\n",
		.models = { TABLE("m", "10000"), TABLE("n", "10000") },
		.deployment = { { .replicas = 1, .model = 0, .tp = 1, .pp = 1 }, { .replicas = 1, .model = 1, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.policy = &orr_policy_serve_fifo,
		.options = "queue_limit=1" };
	r = fleet_must_run(&two, "a limit with two models");
	ok(r && fleet_metric(r, "requests_shed") == 1, "a queue of one per replica of a model sheds the third request");
	result_free(r);
	/* On two replicas of any model the first two requests run, and the next two wait. */
	two.requests = "arrival_s,model\n0,m\n0.001,m\n0.002,m\n0.003,n\n0.004,n\n";
	two.deployment[0] = (struct serve_deployment){ .replicas = 2, .model = UINT32_MAX, .tp = 1, .pp = 1 };
	two.deployment[1] = (struct serve_deployment){ 0 };
	r = fleet_must_run(&two, "a limit with replicas of any model");
	ok(r && fleet_metric(r, "requests_shed") == 1, "replicas of any model share their room among the models");
	result_free(r);
	/* Service takes 10 s, the SLO is 25 s: requests that end at 10 and 20 s are in time, one that ends at 30 s is late. A request
	 * is hopeless if less than 10 s are left until its deadline. */
	c.requests = "arrival_s,slo_s\n0,25\n0,25\n0,25\n0,25\n";
	c.options = "shed=late";
	r = fleet_must_run(&c, "late");
	log_is("f", "f0@10 f1@20 f3@25 f2@30", "late: shed at the deadline; a started request continues");
	result_free(r);
	c.options = "shed=hopeless";
	r = fleet_must_run(&c, "hopeless");
	ok(r && fleet_metric(r, "requests_shed") == 2 && fabs(fleet_metric(r, "attainment") - 0.5) < 1e-12 &&
			fabs(fleet_metric(r, "duration") - 20) < 1e-9,
		"hopeless: shed when a start can no longer meet the deadline");
	result_free(r);
	/* A request that meets its deadline exactly still has hope and is admitted. */
	c.requests = "arrival_s,slo_s\n0,20\n0,20\n";
	r = fleet_must_run(&c, "a run with a start that just meets its deadline");
	ok(r && fleet_metric(r, "requests_completed") == 2 && fleet_metric(r, "attainment") == 1,
		"a start that just meets it is not hopeless");
	result_free(r);
	c.requests = "arrival_s,samples\n0,1\n0,2\n";
	c.options = NULL;
	r = fleet_must_run(&c, "too large");
	ok(r && fleet_metric(r, "requests_refused") == 1 && fleet_metric(r, "requests_completed") == 1,
		"a request larger than all batches of the table is refused");
	result_free(r);
}

int main(void)
{
	check_routing();
	check_random_routing();
	check_scaling();
	check_failures();
	check_many_failures();
	check_route_after_news();
	check_closed_loop();
	check_sessions();
	check_admission();
	check_host();
	free(probe.event);
	return done();
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Links of the front, partial answers, lost answers and the policy mdp, by hand.
 *
 * Model a computes for 10 ms and c for 30 ms. An input has 1000 bytes and an answer 100. A link carries 100 bytes per ms and has a
 * latency of 2 ms. So an input takes 10 + 2 ms on an otherwise idle link, an answer 1 + 2 ms. All runs use --check.
 */
#include "tests/serve/fleet_run.h"
#include "tests/serve/serve_replay.h"
#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct orr_policy orr_policy_serve_mdp, orr_policy_serve_fifo;

#define MODEL(name, ms)                                                                                                     \
	"{\"name\": \"" name "\", \"kind\": \"table\", \"source\": \"by hand\", \"batch\": [1], \"latency_ms\": [" ms "], " \
	"\"input_bytes\": 1000, \"output_bytes\": 100}"
static const char *const models[] = { MODEL("a", "10"), MODEL("c", "30"), NULL };
#define LINK "front_Bps=1e5 front_latency=2ms any_model=true"

static struct orr_error err;

static struct run_result *serve(
	const char *requests, uint32_t replicas, const struct orr_policy *policy, const char *settings, const char *options)
{
	struct serve_case c = { .requests = requests,
		.models = models,
		.replicas = replicas,
		.policy = policy,
		.settings = settings,
		.options = options,
		.seed = 1 };
	err = (struct orr_error){ 0 };
	struct run_result *r = serve_replay(&c, &err);
	return r;
}

static void ends(
	const char *requests, uint32_t replicas, const char *settings, const char *options, const double *end_s, size_t n, const char *what)
{
	struct run_result *r = serve(requests, replicas, &orr_policy_serve_mdp, settings, options);
	if (!r)
		printf("# %s\n", err.text);
	ok(r && serve_ends_at(r, end_s, n), "%s", what);
	result_free(r);
}

#define ENDS(requests, replicas, settings, options, what, ...)                       \
	ends(requests, replicas, settings, options, (const double[]){ __VA_ARGS__ }, \
		sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double), what)

/* ---- links ---- */

static void links(void)
{
	const char *one = "arrival_s\n0\n", *two = "arrival_s\n0\n0.005\n";
	ENDS(one, 2, "submodels=a", "any_model=true", "no links: the latency of the table", 0.010);
	ENDS(one, 2, "submodels=a", "front=per-replica " LINK, "a link each: 12 + 10 + 3 ms", 0.025);
	/* Two inputs share the link and take 20 + 2 ms. Two answers are sent at 32 ms and take 2 + 2 ms. */
	ENDS(one, 2, "submodels=a", "front=shared " LINK, "one link: inputs and answers share it", 0.036);
	/* At 5 ms the first input has drained 500 bytes. The rest drains at half the rate until 15 ms; the second input drains until
	 * 20 ms. The inputs are received at 17 and 22 ms and computed until 27 and 37 ms. */
	ENDS(two, 1, "submodels=a", "front=per-replica " LINK, "inputs cross while the replica computes; runs queue", 0.030, 0.040);
	/* The requests arrive at 10 and 15 ms. Under fifo the second request starts at 22 ms, when the first one has left the
	 * replica, and takes 12 + 10 + 3 ms. */
	struct run_result *r = serve(two, 1, &orr_policy_serve_fifo, NULL, "front=per-replica " LINK);
	ok(r && serve_ends_at(r, (const double[]){ 0.025, 0.047 }, 2),
		"without a queue the replica is busy while its input crosses the link");
	near_to(r ? serve_metric(r, "front_input_bytes") : NAN, 2000, 0, "bytes of inputs");
	near_to(r ? serve_metric(r, "front_answer_bytes") : NAN, 200, 0, "bytes of answers");
	near_to(r ? serve_metric(r, "front_input_use") : NAN, 20. / 47, 1e-12, "the link of inputs is busy for 20 of 47 ms");
	result_free(r);
	/* Two links of 25 ms each: an input takes 10 ms, an answer 1 ms. One link: two inputs take 20 ms of 36 ms, two answers 2 ms. */
	r = serve(one, 2, &orr_policy_serve_mdp, "submodels=a", "front=per-replica " LINK);
	near_to(r ? serve_metric(r, "front_input_use") : NAN, 20. / 50, 1e-12, "two links of inputs are busy for 10 of 25 ms each");
	near_to(r ? serve_metric(r, "front_answer_use") : NAN, 2. / 50, 1e-12, "two links of answers are busy for 1 of 25 ms each");
	result_free(r);
	r = serve(one, 2, &orr_policy_serve_mdp, "submodels=a", "notice=9s front=per-replica " LINK);
	near_to(r ? serve_metric(r, "front_input_use") : NAN, 20. / 50, 1e-12, "replicas that never start have no link");
	result_free(r);
	r = serve(one, 2, &orr_policy_serve_mdp, "submodels=a", "front=shared " LINK);
	near_to(r ? serve_metric(r, "front_input_use") : NAN, 20. / 36, 1e-12, "a shared link of inputs is busy for 20 of 36 ms");
	near_to(r ? serve_metric(r, "front_answer_use") : NAN, 2. / 36, 1e-12, "a shared link of answers is busy for 2 of 36 ms");
	near_to(r ? serve_metric(r, "front_lost_bytes") : NAN, 0, 0, "no bytes are lost");
	result_free(r);
}

/* ---- deadlines ---- */

static void deadlines(void)
{
	const char *one = "arrival_s\n0\n";
	ENDS(one, 2, "submodels=a+c", "front=per-replica " LINK, "all answers: those of the slower device", 0.045);
	ENDS(one, 2, "submodels=a+c deadline=30ms", "front=per-replica " LINK, "at the deadline one answer of two", 0.030);
	ENDS(one, 2, "submodels=a+c deadline=30ms fusion=4ms", "front=per-replica " LINK, "fusion follows the deadline", 0.034);
	ENDS(one, 2, "submodels=a deadline=26ms fusion=4ms", "front=per-replica " LINK,
		"fusion follows the last answer, beyond the deadline", 0.029);
	ENDS(one, 2, "submodels=a deadline=24.999ms", "front=per-replica " LINK, "a deadline before any answer: shed", NAN);
	struct run_result *r = serve(one, 2, &orr_policy_serve_mdp, "submodels=a deadline=25ms", "front=per-replica " LINK);
	near_to(r ? serve_metric(r, "answers") : NAN, 2, 0, "answers that are received at the instant of the deadline count");
	near_to(r ? serve_metric(r, "deadline_share") : NAN, 0, 0, "such a request has not reached its deadline");
	result_free(r);
	ENDS(one, 2, "submodels=a deadline_factor=1", "front=shared " LINK,
		"a deadline by the slowest device: planned with inputs that share the link, and answers that do not", NAN);

	/* Device 1 computes from 12 ms on. At 30 ms the deadline cancels its computation, after 18 ms of work. */
	r = serve(one, 2, &orr_policy_serve_mdp, "submodels=a+c deadline=30ms late=cancel", "front=per-replica " LINK);
	near_to(r ? serve_metric(r, "lost_work") : NAN, 0.018, 1e-12, "late=cancel: a computation stops at the deadline");
	result_free(r);
	/* The input of the second request (at 20 ms) is received at 32 ms. With a deadline of 60 ms, device 1 computes it from 42 to
	 * 72 ms. With a deadline of 30 ms, both requests end at their deadlines. */
	const char *two = "arrival_s\n0\n0.02\n";
	ENDS(two, 2, "submodels=a+c deadline=60ms", "front=per-replica " LINK, "two requests in time: 45 and 42 + 30 + 3 ms", 0.045, 0.075);
	ENDS(two, 2, "submodels=a+c deadline=30ms late=detach", "front=per-replica " LINK, "late=detach", 0.030, 0.050);

	/* At 5 ms, half of the bytes of each input have been sent. */
	r = serve(one, 2, &orr_policy_serve_mdp, "submodels=a deadline=5ms late=cancel", "front=per-replica " LINK);
	near_to(r ? serve_metric(r, "front_lost_bytes") : NAN, 1000, 1e-9, "a cancelled transfer loses the bytes that it has sent");
	near_to(r ? serve_metric(r, "unanswered_share") : NAN, 1, 0, "no answer: shed");
	result_free(r);
}

/* ---- quality ---- */

static double quality(const char *table, const char *deadline)
{
	char settings[200];
	snprintf(settings, sizeof settings, "submodels=a+c+a quality=%s deadline=%s", table, deadline);
	struct run_result *r = serve("arrival_s\n0\n", 3, &orr_policy_serve_mdp, settings, "front=per-replica " LINK);
	double q = r ? serve_metric(r, "quality") : NAN;
	if (!r)
		printf("# %s\n", err.text);
	result_free(r);
	return q;
}

static void qualities(void)
{
	near_to(quality("0.1,0.5,0.7,0.9", "1s"), 0.9, 1e-9, "quality by number of answers: three");
	near_to(quality("0.1,0.5,0.7,0.9", "30ms"), 0.7, 1e-9, "two");
	near_to(quality("0.1,0.5,0.7,0.9", "1ms"), 0.1, 1e-9, "none");
	near_to(quality("0,1,2,3,4,5,6,7", "30ms"), 5, 0, "quality by set: devices 0 and 2 are number 1 + 4");
	near_to(quality("0,1,2,3,4,5,6,7", "1s"), 7, 0, "all of three devices");
}

/* ---- sub-models ---- */

static double on(const char *settings, const char *options)
{
	struct run_result *r = serve("arrival_s\n0\n", 2, &orr_policy_serve_mdp, settings, options);
	double s = r ? serve_metric(r, "submodel_slowest") : NAN;
	result_free(r);
	return s;
}

static double spread(const char *settings)
{
	return on(settings, "any_model=true");
}

static void choices(void)
{
	near_to(spread("submodels=balanced"), 0.030, 1e-15, "balanced: of two even choices the larger one");
	near_to(spread("submodels=balanced target=20ms"), 0.010, 1e-15, "balanced: within the target");
	near_to(spread("submodels=uniform"), 0.030, 1e-15, "uniform: the largest model");
	near_to(spread("submodels=uniform target=10ms"), 0.010, 1e-15, "uniform: the target is inclusive");
	near_to(spread("submodels=c+a"), 0.030, 1e-15, "named");
	/* Two inputs that share the link take 20 ms each, so answers take 12 + 10 + 10 + 3 = 35 ms with a and 55 ms with c. */
	near_to(on("submodels=balanced target=36ms", "front=shared any_model=true " LINK), 0.035, 1e-15,
		"balanced: within the target while inputs share the link");
	near_to(on("submodels=uniform target=46ms", "front=shared any_model=true " LINK), 0.035, 1e-15,
		"uniform: within the target while inputs share the link");
}

/* ---- one device per request ---- */

static void single(void)
{
	/* Both devices are free, so the first request takes device 0. The second takes device 1, because device 0 would end it only
	 * at 20 ms. */
	ENDS("arrival_s\n0\n0\n0.001\n", 2, "submodels=a variant=single", "any_model=true", "variant=single: the device that is free first",
		0.010, 0.010, 0.020);
	struct run_result *r = serve("arrival_s\n0\n", 2, &orr_policy_serve_mdp, "submodels=a variant=single devices=1", "any_model=true");
	near_to(r ? serve_metric(r, "answers") : NAN, 1, 0, "variant=single: one answer");
	result_free(r);
}

/* ---- lost answers and devices ---- */

static bool has_remark(const struct run_result *r, const char *text)
{
	for (size_t i = 0; i < r->n_events; i++)
		if (!strcmp(r->events[i].kind, "remark") && !strcmp(r->events[i].detail, text))
			return true;
	return false;
}

static void losses(void)
{
	struct run_result *r = serve("arrival_s\n0\n", 2, &orr_policy_serve_fifo, NULL, "any_model=true loss=1");
	result_free(r);
	same_text(r ? "no error" : err.text,
		"policy tested: request 0 at 0.010000000 s: 1 requests have not ended, and 1 answers to this request never come "
		"(serve.loss, or a lost replica): expected a policy with a deadline, such as mdp with policy.mdp.deadline_factor",
		"a policy without a deadline cannot end a request whose answer is lost");
	ENDS("arrival_s\n0\n", 2, "submodels=a deadline=1s", "any_model=true loss=1", "all answers lost: shed at the deadline", NAN);

	/* Node 1 fails while its device computes; the request ends with the other answer. */
	struct fleet_case c = { .requests = "arrival_s\n1\n2\n",
		.models = { MODEL("a", "100") },
		.deployment = { { .replicas = 2, .model = 0, .tp = 1, .pp = 1 } },
		.cluster = "2x1",
		.policy = &orr_policy_serve_mdp,
		.options = "front=per-replica front_Bps=1e5",
		.failures = "time_s,node,event\n1.05,1,fail\n5,1,repair\n",
		.seed = 1 };
	r = fleet_must_run(&c, "mdp with a failure");
	/* Input 10 ms, computation 100 ms, answer 1 ms. */
	near_to(r ? serve_metric(r, "completion_max") : NAN, 0.111, 1e-9, "a request does not wait for a device that is lost");
	near_to(r ? serve_metric(r, "answers") : NAN, 1, 0, "each of them has one answer");
	near_to(r ? serve_metric(r, "restarts") : NAN, 0, 0, "parts are not restarted");
	near_to(r ? serve_metric(r, "completed_partial") : NAN, 1, 0, "the first completes with part of its answers");
	ok(r && has_remark(r, "1 of 2 completed requests have only part of their answers"), "a remark says so");
	result_free(r);
	c.options = "router=jsq front=per-replica front_Bps=1e5";
	c.failures = "time_s,node,event\n1.05,0,fail\n5,0,repair\n";
	c.settings = "deadline=1s";
	r = fleet_must_run(&c, "mdp with a router and a failure");
	near_to(r ? serve_metric(r, "completion_max") : NAN, 0.111, 1e-9, "a router does not bind a request to the replica that is lost");
	result_free(r);
	c.settings = NULL;
	c.options = "front=per-replica front_Bps=1e5";
	c.failures = "time_s,node,event\n1.005,1,fail\n5,1,repair\n";
	r = fleet_must_run(&c, "mdp with a failure during a transfer");
	near_to(r ? serve_metric(r, "front_lost_bytes") : NAN, 500, 1e-6, "the bytes sent to a lost device are lost");
	result_free(r);
}

/* ---- options and parameters that are refused ---- */

static void refuses(const char *settings, const char *options, const char *expected)
{
	struct run_result *r = serve("arrival_s\n0\n", 2, &orr_policy_serve_mdp, settings, options);
	if (!strstr(r ? "no error" : err.text, expected))
		printf("# got: %s\n", r ? "no error" : err.text);
	ok(!r && err.code == ORR_EINPUT && strstr(err.text, expected), "%s", expected);
	result_free(r);
}

static void refusals(void)
{
	refuses("", "front=shared any_model=true",
		"serve.front=shared: expected serve.front_Bps=BYTES, the bandwidth of a link in bytes per second, found 0");
	refuses("devices=0,2", "any_model=true", "devices: expected different numbers of replicas from 0 to 1, found 2");
	refuses("devices=1,1", "any_model=true", "devices: expected different numbers of replicas from 0 to 1, found 1");
	refuses("submodels=b", "any_model=true",
		"submodels: expected balanced, uniform or names of served models joined by +, found \"b\"");
	refuses("submodels=a+a+c", "any_model=true", "submodels: expected 1 or 2 names, one for each device, found 3");
	refuses("target=5ms", "any_model=true",
		"submodels=balanced: no served model answers from replica 0 within 0.005 s: expected a larger target");
	refuses("submodels=uniform target=5ms", "any_model=true",
		"submodels=uniform: no served model answers from every device within 0.005 s: expected a larger target");
	refuses("target=26ms", "front=shared any_model=true " LINK,
		"submodels=balanced: no choice found whose answers all arrive within 0.026 s while the inputs share a link");
	refuses("quality=1,2", "any_model=true",
		"quality: expected 3 numbers, for 0 to 2 answers, or 2^2, by the sum of 2^device over the devices that answered, found 2");
}

int main(void)
{
	links();
	deadlines();
	qualities();
	choices();
	single();
	losses();
	refusals();
	return done();
}

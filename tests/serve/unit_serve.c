/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The core of the serving world on cases computed by hand: order of callbacks, ends of batches, aborts, memory over time,
 * interference, loading.
 *
 * The policy of each case consists of a few functions of the test; times in comments are ms.
 */
#include "tests/serve/serve_script.h"
#include "tests/tap.h"

static const char *const UNIT =
	"{\"name\":\"unit\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1,2,4],\"latency_ms\":[100,120,150],\"exit_points\":4}";

/* ---- the order of callbacks ---- */

static void note(char what, uint64_t number)
{
	size_t n = strlen(script.log);
	snprintf(script.log + n, sizeof script.log - n, "%c%llu ", what, (unsigned long long)number);
}

static void noted_arrive(struct orr_serve *w, orr_req r)
{
	note('a', orr_req_number(w, r));
	orr_fifo_push(w, &script.queue, r);
}

static void noted_schedule(struct orr_serve *w, uint32_t replica)
{
	note('s', replica);
	script_start_first(w, replica);
}

static void noted_run_end(struct orr_serve *w, orr_run run)
{
	note('e', orr_req_number(w, orr_run_request(w, run, 0)));
}

static void noted_finish(struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	note(how == ORR_REQ_COMPLETED ? 'f' : 'x', orr_req_number(w, r));
}

/* Tests that request 0 runs from 0 to 100; requests 1 and 2 arrive at its end and run from 100 to 200 and from 200 to 300. */
static void test_order(void)
{
	script_set((struct script){ .arrive = noted_arrive, .schedule = noted_schedule, .run_end = noted_run_end, .finish = noted_finish });
	struct run_result *r = script_run(UNIT, "arrival_s\n0\n0.1\n0.1\n", NULL);
	same_text(script.log, "a0 s0 e0 f0 a1 a2 s0 e1 f1 s0 e2 f2 s0 ", "ends, then arrivals, then one schedule() at each instant");
	ok(serve_ends_at(r, (double[]){ 0.1, 0.2, 0.3 }, 3), "requests served in turn end at 100, 200, 300");
	result_free(r);
}

/* Tests that schedule() is called for replicas in the order in which they changed. */
static void test_order_of_replicas(void)
{
	script_set((struct script){ .arrive = noted_arrive, .schedule = noted_schedule });
	script.replicas = 2;
	struct run_result *r = script_run(UNIT, "arrival_s\n0\n0\n", "router=round-robin");
	same_text(script.log, &"s0 s1 a0 a1 s0 s1 s0 s1 "[6], "schedule() follows the order of changes");
	result_free(r);
}

/* ---- aborts ---- */

static void batch_all(struct orr_serve *w, uint32_t replica)
{
	(void)replica;
	orr_req r[4];
	size_t n = 0;
	while (script.queue.n && n < 4)
		r[n++] = orr_fifo_pop(w, &script.queue);
	struct orr_batch b = { .model = 0, .req = r, .n = n };
	if (n)
		script.run = orr_run_start(w, 0, &b);
}

/* Aborts the run and starts a batch of its request and of the new request. */
static void merge_schedule(struct orr_serve *w, uint32_t replica)
{
	orr_run run = orr_run_first(w, replica);
	orr_req first = run ? orr_run_request(w, run, 0) : 0;
	if (run && script.queue.n) {
		orr_run_abort(w, run, ORR_ABORT_RESTART);
		orr_fifo_push_front(w, &script.queue, first);
	}
	if (!orr_run_first(w, replica))
		batch_all(w, replica);
}

/* Tests Irina's second example with the table above: the run is aborted at 1, and a batch of two runs from 1 to 121. */
static void test_restart(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = merge_schedule });
	struct run_result *r = script_run(UNIT, "arrival_s\n0\n0.001\n", NULL);
	ok(serve_ends_at(r, (double[]){ 0.121, 0.121 }, 2), "an aborted batch restarts within a larger one");
	ok(r && r->requests[0].preemptions == 1 && r->requests[1].preemptions == 0,
		"the aborted request has one preemption, the other none");
	near_to(r ? r->requests[0].queue_s : NAN, 0, 1e-12, "the queueing time of a request ends at its first start");
	result_free(r);
}

static enum orr_abort_how abort_how;
static double abort_at, resume_at, left_at;

/* Starts one run, aborts the run and resumes it at given times. */
static void timed_schedule(struct orr_serve *w, uint32_t replica)
{
	double now = orr_serve_now(w);
	struct orr_run_info i;
	if (script.queue.n && !orr_run_first(w, replica)) {
		batch_all(w, replica);
		if (!script.seen) {
			orr_serve_timer(w, replica, abort_at);
			orr_serve_timer(w, replica, resume_at);
		}
		script.seen = 1;
		return;
	}
	bool is_there = orr_run_get(w, script.run, &i);
	if (now == abort_at) {
		script.req = orr_run_request(w, script.run, 0);
		orr_run_abort(w, script.run, abort_how);
		is_there = orr_run_get(w, script.run, &i);
	}
	bool has_left = !is_there || i.is_suspended;
	if (has_left && isnan(left_at))
		left_at = now;
	if (!is_there && has_left && abort_how == ORR_ABORT_RESTART && script.req && !orr_run_first(w, replica) && now >= resume_at) {
		orr_fifo_push(w, &script.queue, script.req);
		script.req = 0;
		batch_all(w, replica);
	}
	if (is_there && i.is_suspended && now >= resume_at)
		orr_run_resume(w, script.run);
}

static void abort_case(const char *what, enum orr_abort_how how, double at, double resume, const char *options, double left, double end)
{
	char text[160];
	script_set((struct script){ .arrive = script_push, .schedule = timed_schedule });
	abort_how = how;
	abort_at = at;
	resume_at = resume;
	left_at = NAN;
	struct run_result *r = script_run(UNIT, "arrival_s\n0\n", options);
	snprintf(text, sizeof text, "%s: the run leaves at %g ms", what, 1000 * left);
	if (!isnan(left))
		near_to(left_at, left, 1e-12, text);
	snprintf(text, sizeof text, "%s: the run ends at %g ms", what, 1000 * end);
	ok(serve_ends_at(r, &end, 1), "%s", text);
	result_free(r);
}

static void test_exit_points(void)
{
	/* At 30, 30 of 100 are done; the progress is kept or lost. */
	abort_case("saved at once", ORR_ABORT_SAVE, 0.03, 0.05, NULL, 0.03, 0.12);
	abort_case("restarted at once", ORR_ABORT_RESTART, 0.03, 0.05, NULL, 0.03, 0.15);
	abort_case("saved, and resumed at a cost", ORR_ABORT_SAVE, 0.03, 0.05, "resume_cost=5ms", 0.03, 0.125);
	/* Exit points are at 25, 50 and 75. */
	abort_case("saved at an interval", ORR_ABORT_SAVE, 0.03, 0.06, "exit_interval=25ms", 0.05, 0.11);
	abort_case("saved on an exit point", ORR_ABORT_SAVE, 0.025, 0.06, "exit_interval=25ms", 0.025, 0.135);
	abort_case("saved at a layer", ORR_ABORT_SAVE, 0.03, 0.06, "exit=layer", 0.05, 0.11);
	abort_case("restarted at a layer", ORR_ABORT_RESTART, 0.03, 0.06, "exit=layer", 0.05, 0.16);
	abort_case("no exit point before the end", ORR_ABORT_SAVE, 0.08, 0.09, "exit=layer", NAN, 0.1);
	abort_case(
		"exit=now: a run leaves at once for any interval", ORR_ABORT_SAVE, 0.03, 0.06, "exit=now exit_interval=25ms", 0.03, 0.13);
}

/* ---- memory over time ---- */

/* Memory is in hundredths of the replica's GiB. Model c uses 30 until 100 and 65 from 100 to 200. Model d uses 10 until 5 and 40 from
 * 5 to 10. */
#define CENT "\"memory_unit_bytes\":10737418.24"
static const char *const C_D[] = { "{\"name\":\"c\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[200]," CENT
				   ",\"memory\":[{\"before\":30,\"peak\":65,\"peak_from_ms\":100}],"
				   "\"utilisation\":0.7,\"occupancy\":0.8}",
	"{\"name\":\"d\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[10]," CENT
	",\"memory\":[{\"before\":10,\"peak\":40,\"peak_from_ms\":5}],"
	"\"utilisation\":0.28,\"occupancy\":0.8}",
	NULL };

static double stack_at, fits_after;
static bool fits_now, fits_delayed;

static void stack_schedule(struct orr_serve *w, uint32_t replica)
{
	double now = orr_serve_now(w);
	if (!script.seen++) {
		script.run = script_start_first(w, replica);
		orr_serve_timer(w, replica, stack_at);
		return;
	}
	if (now != stack_at && !(script.seen == 3 && script.queue.n))
		return;
	orr_req r = script.queue.first;
	struct orr_batch b = { .model = 1, .req = &r, .n = 1 };
	if (script.seen == 2) {
		fits_now = orr_run_fits(w, replica, &b, 0);
		fits_after = orr_run_fits_after(w, replica, &b);
		fits_delayed =
			orr_run_fits(w, replica, &b, fits_after) && (fits_after == 0 || !orr_run_fits(w, replica, &b, fits_after - 1e-6));
		if (fits_after > 0) {
			orr_serve_timer(w, replica, now + fits_after);
			return;
		}
	}
	orr_fifo_pop(w, &script.queue);
	orr_run_start(w, replica, &b);
}

static void stack_case(double at, bool now, double after, double end_c, double end, const char *options)
{
	script_set((struct script){ .arrive = script_push, .schedule = stack_schedule });
	script.memory_GiB = 1;
	script.models = C_D;
	stack_at = at;
	struct run_result *r = script_run(NULL, "arrival_s,model\n0,c\n0,d\n", options);
	ok(fits_now == now, "at %g ms it %s", 1000 * at, now ? "fits" : "does not fit");
	near_to(fits_after, after, 1e-12, "the smallest delay is right");
	ok(fits_delayed, "a run fits with the smallest delay, and not with less");
	ok(serve_ends_at(r, (double[]){ end_c, end }, 2), "it ends at %g ms", 1000 * end);
	result_free(r);
}

static void test_memory(void)
{
	stack_case(0.05, true, 0, 0.2, 0.06, NULL);
	/* d ends exactly when c reaches its peak */
	stack_case(0.09, true, 0, 0.2, 0.1, NULL);
	/* d at 91 would overlap the peak of c: 65 + 40. The peak of d may start when c ends: 195 + 5 = 200. */
	stack_case(0.091, false, 0.195 - 0.091, 0.2, 0.205, NULL);
	stack_case(0.15, false, 0.045, 0.2, 0.205, NULL);
	/* Utilisations of 0.7 + 0.28 are within a limit of 1 but above 0.9. Under the latter limit d starts when c has ended. */
	stack_case(0.05, true, 0, 0.2, 0.06, "utilisation_limit=1");
	stack_case(0.05, false, 0.15, 0.2, 0.21, "utilisation_limit=0.9");
	/* A slowdown curve with a value for a single run has the same effect. */
	stack_case(0.05, false, 0.15, 0.2, 0.21, "interference=curve slowdown_curve=1");
	/* Both run at 1/1.6, so d takes 16. c reaches its peak when d ends, at 90 + 10 x 1.6. If d started 1 ms later, c would reach
	 * its peak 1.6 before d ends. The peak of d may start when c ends: at 195 c has 5 left, and d needs 5 until its peak, which
	 * takes 8. */
	stack_case(0.09, true, 0, 0.206, 0.106, "interference=occupancy");
	stack_case(0.091, false, 0.195 - 0.091, 0.203, 0.208, "interference=occupancy");
}

/* ---- interference ---- */

static void together_schedule(struct orr_serve *w, uint32_t replica)
{
	while (script.queue.n)
		script_start_first(w, replica);
}

static const char *const A_B[] = {
	"{\"name\":\"a\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[100],\"occupancy\":0.8}",
	"{\"name\":\"b\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[60],\"occupancy\":0.4}", NULL
};

static void slow_case(const char *what, const char *requests, const char *options, const double *end, size_t n)
{
	script_set((struct script){ .arrive = script_push, .schedule = together_schedule });
	script.models = A_B;
	struct run_result *r = script_run(NULL, requests, options);
	ok(serve_ends_at(r, end, n), "%s", what);
	result_free(r);
}

static void test_interference(void)
{
	slow_case("no interference: runs are independent", "arrival_s,model\n0,a\n0,b\n", NULL, (double[]){ 0.1, 0.06 }, 2);
	/* b takes 60 x 1.5 = 90. Until then a has done 45 of its work; the other 55 take 55 without interference. */
	slow_case("pairwise: two runs", "arrival_s,model\n0,a\n0,b\n", "interference=pairwise slowdowns=a:b=2,b:a=1.5",
		(double[]){ 0.145, 0.09 }, 2);
	/* Factors multiply: a runs at 1/4 beside two b; each b runs at 1/1.5 beside a and the other b. */
	slow_case("pairwise: three runs", "arrival_s,model\n0,a\n0,b\n0,b\n", "interference=pairwise slowdowns=a:b=2,b:a=1.5",
		(double[]){ 0.09 + (0.1 - 0.09 / 4), 0.09, 0.09 }, 3);
	/* Both run at 1/1.25 until b ends at 75. Until then a has done 60 of its work; the other 40 take 40. */
	slow_case("curve: two runs", "arrival_s,model\n0,a\n0,b\n", "interference=curve slowdown_curve=1,1.25,2",
		(double[]){ 0.115, 0.075 }, 2);
	/* Three runs slow each other to 1/2: both b end at 120, when a has done 60. */
	slow_case("curve: three runs", "arrival_s,model\n0,a\n0,b\n0,b\n", "interference=curve slowdown_curve=1,1.25,2",
		(double[]){ 0.16, 0.12, 0.12 }, 3);
	slow_case("curve: the first factor is for a single run", "arrival_s,model\n0,a\n0.1,b\n", "interference=curve slowdown_curve=1",
		(double[]){ 0.1, 0.16 }, 2);
	script_set((struct script){ .arrive = script_push, .schedule = together_schedule });
	script.models = A_B;
	same_text(script_error(NULL, "arrival_s,model\n0,a\n0,b\n0,b\n", "interference=curve slowdown_curve=1,1.25"),
		"policy tested: request 2 at 0.000000000 s: start on replica 0 beside 2 runs: expected at most 2 runs at a time, the "
		"length of serve.slowdown_curve (orr_run_fits() checks this)",
		"curve: more runs than factors are refused");
	/* From 50 on the occupancy is 1.6, so the other 50 of the first run take 50 x 1.6 = 80. At 130 the second run has done 50 of
	 * its work and continues at full speed. */
	slow_case("occupancy: all slow down if the sum exceeds 1", "arrival_s,model\n0,a\n0.05,a\n", "interference=occupancy",
		(double[]){ 0.13, 0.18 }, 2);
	/* The occupancies sum to 0.8 + 0.4 = 1.2, so b takes 72. Until then a has done 60 of its work. */
	slow_case("occupancy: of different models", "arrival_s,model\n0,a\n0,b\n", "interference=occupancy", (double[]){ 0.112, 0.072 }, 2);
}

/* ---- loading ---- */

static const char *const L_M[] = {
	"{\"name\":\"l\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[100],\"load_ms\":50," CENT
	",\"weight_bytes\":536870912,\"memory\":[10]}",
	"{\"name\":\"m\",\"source\":\"made "
	"up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[100],\"load_ms\":30,\"weight_bytes\":536870912}",
	"{\"name\":\"n\",\"source\":\"made "
	"up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[100],\"load_ms\":20,\"weight_bytes\":268435456}",
	NULL
};

static void load_schedule(struct orr_serve *w, uint32_t replica)
{
	note('s', (uint64_t)(orr_serve_now(w) * 1000 + 0.5));
	if (!script.seen++) {
		bool both = orr_model_load(w, replica, 0) && orr_model_load(w, replica, 1);
		note(both && !orr_model_is_loaded(w, replica, 0) ? 'y' : 'n', 0);
		note(orr_model_load(w, replica, 2) ? 'y' : 'n', 1); /* each of the two models has 512 MiB, so a replica of 1 GiB is full */
	}
	if (orr_model_is_loaded(w, replica, 0) && script.queue.n)
		note(orr_model_is_loaded(w, replica, 1) ? 'y' : 'n', 2);
	if (orr_model_is_loaded(w, replica, 1) && script.queue.n) {
		orr_model_unload(w, replica, 0);
		note(orr_model_load(w, replica, 2) ? 'y' : 'n', 3);
		struct orr_batch b = { .model = 1, .req = &script.queue.first, .n = 1 };
		orr_req r = script.queue.first;
		b.req = &r;
		orr_fifo_pop(w, &script.queue);
		orr_run_start(w, replica, &b);
	}
}

/* Tests that l is loaded by 50 and m by 80, when the request starts, and that n replaces l at 100. */
static void test_loading(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = load_schedule });
	script.memory_GiB = 1;
	script.models = L_M;
	struct run_result *r = script_run(NULL, "arrival_s,model\n0,m\n", "preloaded=false");
	same_text(script.log, "s0 y0 n1 s50 n2 s80 y2 y3 s100 s180 ", "models are loaded one at a time, while there is room");
	ok(serve_ends_at(r, (double[]){ 0.18 }, 1), "a request runs when its model is loaded");
	result_free(r);
}

/* ---- ORR_RUN_KEEP: pipelines, several runs ---- */

static void chain_schedule(struct orr_serve *w, uint32_t replica)
{
	while (script.queue.n) {
		orr_req r = orr_fifo_pop(w, &script.queue);
		struct orr_batch b = { .model = orr_req_model(w, r), .req = &r, .n = 1, .flags = ORR_RUN_KEEP };
		orr_run_start(w, replica, &b);
	}
}

static void chain_run_end(struct orr_serve *w, orr_run run)
{
	orr_req r = orr_run_request(w, run, 0);
	if (orr_req_model(w, r) == 1) {
		orr_complete(w, r);
		return;
	}
	orr_forward(w, r, 1);
	orr_assign(w, r, 0);
	orr_fifo_push(w, &script.queue, r);
}

static void ensemble_schedule(struct orr_serve *w, uint32_t replica)
{
	while (script.queue.n) {
		orr_req r = orr_fifo_pop(w, &script.queue);
		struct orr_batch b = { .model = 1, .req = &r, .n = 1, .part = 0.5 };
		orr_run_start(w, replica, &b);
		b = (struct orr_batch){ .model = 0, .req = &r, .n = 1 };
		orr_run_start(w, replica, &b);
	}
}

static void test_keep(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = chain_schedule, .run_end = chain_run_end });
	script.models = A_B;
	struct run_result *r = script_run(NULL, "arrival_s,model\n0,a\n", NULL);
	ok(serve_ends_at(r, (double[]){ 0.16 }, 1), "a request runs two models, 100 and 60");
	result_free(r);
	script_set(
		(struct script){ .arrive = script_push, .schedule = ensemble_schedule, .finish = noted_finish, .run_end = noted_run_end });
	script.models = A_B;
	r = script_run(NULL, "arrival_s,model\n0,a\n", NULL);
	ok(serve_ends_at(r, (double[]){ 0.1 }, 1), "a request in two runs ends with the last of them");
	same_text(script.log, "e0 e0 f0 ", "a request in two runs ends once");
	result_free(r);
}

/* ---- the end of a run, series of the policy ---- */

static void observing_schedule(struct orr_serve *w, uint32_t replica)
{
	if (!orr_run_first(w, replica))
		script_start_first(w, replica);
	script.seen++;
	orr_serve_observe(w, "calls_squared", script.seen * script.seen);
	orr_serve_observe(w, "uniform", orr_serve_uniform(w));
}

/* Tests --until: the function is called at 0, 50 and 100; the next call would be at 200. */
static void test_until(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = observing_schedule });
	script.until_s = 0.15;
	struct run_result *r = script_run(UNIT, "arrival_s\n0\n0\n0.05\n0.2\n", NULL);
	ok(serve_ends_at(r, (double[]){ 0.1, NAN, NAN }, 3), "live requests at --until are unfinished, later ones do not count");
	near_to(serve_metric(r, "requests_unfinished"), 2, 0, "unfinished requests are counted");
	near_to(serve_metric(r, "calls_squared"), (1 + 4 + 9) / 3.0, 1e-12, "the mean of the policy's series is a metric");
	double uniform = serve_metric(r, "uniform");
	result_free(r);
	script_set((struct script){ .arrive = script_push, .schedule = observing_schedule });
	script.until_s = 0.15;
	r = script_run(UNIT, "arrival_s\n0\n0\n0.05\n0.2\n", NULL);
	ok(uniform > 0 && uniform < 1 && serve_metric(r, "uniform") == uniform, "random numbers of the policy are the same in each run");
	result_free(r);
}

/* ---- fifo ---- */

extern const struct orr_policy orr_policy_serve_fifo;

static void fifo_case(const char *what, const char *const *models, uint32_t replicas, const char *requests, const char *settings,
	const char *options, const double *end, size_t n)
{
	struct orr_error err = { 0 };
	struct serve_case c = { .requests = requests,
		.models = models,
		.replicas = replicas,
		.memory_GiB = 1,
		.policy = &orr_policy_serve_fifo,
		.settings = settings,
		.options = options,
		.seed = 1 };
	struct run_result *r = serve_replay(&c, &err);
	if (!r)
		printf("# %s\n", err.text);
	ok(serve_ends_at(r, end, n), "fifo: %s", what);
	result_free(r);
}

static void test_fifo(void)
{
	const char *unit[] = { UNIT, NULL };
	/* An iteration takes 10 plus 1 per token: a prompt of 5 tokens takes 15, each later token 11. */
	const char *llm[] = { "{\"name\":\"m\",\"source\":\"made up\",\"kind\":\"llm\",\"kv_bytes_per_token\":1000,\"weight_bytes\":1000,"
			      "\"closed\":{\"constant_ms\":10,\"token_ms\":1,\"context_ms\":0,\"pair_ms\":0}}",
		NULL };
	/* The third request goes to the replica that is free first, replica 0 at 100. Its 3 samples are padded to 4 and take 150. */
	fifo_case("one queue for two replicas", unit, 2, "arrival_s,samples\n0,1\n0.01,4\n0.02,1\n", NULL, NULL,
		(double[]){ 0.1, 0.16, 0.2 }, 3);
	/* Round robin: the third request waits for the first, the fourth for the second. */
	fifo_case("a queue per replica", unit, 2, "arrival_s,samples\n0,1\n0.01,4\n0.02,1\n0.03,2\n", "queue=per-replica",
		"router=round-robin", (double[]){ 0.1, 0.16, 0.2, 0.28 }, 4);
	fifo_case("the router picks the shorter queue", unit, 2, "arrival_s\n0\n0.01\n0.105\n0.112\n", "queue=per-replica", NULL,
		(double[]){ 0.1, 0.11, 0.205, 0.212 }, 4);
	/* l is loaded in 50 and runs until 150; m is loaded in 30 and runs until 280. l is still loaded and runs again until 380. */
	fifo_case("models are loaded when needed", L_M, 1, "arrival_s,model\n0,l\n0.01,m\n0.02,l\n", NULL, "preloaded=false",
		(double[]){ 0.15, 0.28, 0.38 }, 3);
	/* The memory is too small for l, m and n together, so l is unloaded for n. */
	fifo_case("models replace others", L_M, 1, "arrival_s,model\n0,l\n0.01,m\n0.02,n\n", NULL, "preloaded=false",
		(double[]){ 0.15, 0.28, 0.4 }, 3);
	fifo_case("a language model, one request after the other", llm, 1, "arrival_s,prompt_tokens,output_tokens\n0,5,3\n0.001,2,1\n",
		NULL, NULL, (double[]){ 0.037, 0.049 }, 2);
	fifo_case("a language model on two replicas", llm, 2, "arrival_s,prompt_tokens,output_tokens\n0,5,3\n0.001,2,1\n", NULL, NULL,
		(double[]){ 0.037, 0.013 }, 2);
}

int main(void)
{
	test_order();
	test_order_of_replicas();
	test_restart();
	test_exit_points();
	test_memory();
	test_interference();
	test_loading();
	test_keep();
	test_until();
	test_fifo();
	return done();
}

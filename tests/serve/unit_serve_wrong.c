/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Impossible actions: each one ends the run with a message that names the policy, the request and the time; later actions of
 * the policy have no effect. Further cases: handles of ended requests, runs that cannot continue, and requests that cannot be
 * served.
 */
#include "tests/serve/serve_script.h"
#include "tests/tap.h"

#include <stdlib.h>

/* Models with large batches. */
static const char *const TABLES[] = {
	"{\"name\":\"a\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1,2,4],\"latency_ms\":[100,120,150],"
	"\"memory\":[40,50,60],\"memory_unit_bytes\":10737418.24}",
	"{\"name\":\"b\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"length\":[10,20],\"latency_ms\":[[60],[90]]}",
	"{\"name\":\"c\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1,2],\"latency_ms\":[100,200],"
	"\"memory\":[{\"before\":20,\"peak\":50,\"peak_from_ms\":10},{\"before\":20,\"peak\":90,\"peak_from_ms\":150}],\"memory_unit_"
	"bytes\":10737418.24}",
	NULL
};

static orr_req ended; /* request 0, after its end */
static orr_run ended_run;
static orr_req now_waiting; /* request 1 or 2 */

static void start_with(struct orr_serve *w, uint32_t replica, const struct orr_batch *b, size_t n)
{
	struct orr_batch x = *b;
	if (!x.req)
		x.req = &now_waiting;
	x.n = n;
	orr_run_start(w, replica, &x);
}

/* ---- one function per mistake ---- */

static void start_nowhere(struct orr_serve *w)
{
	start_with(w, 7, &(struct orr_batch){ .model = 0 }, 1);
}
static void start_nothing(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0 }, 0);
}
static void start_no_model(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 9 }, 1);
}
static void start_no_size(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0, .samples = 3 }, 1);
}
static void start_no_length(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 1, .length = 30 }, 1);
}
static void start_too_small(struct orr_serve *w)
{
	orr_req two[] = { now_waiting, orr_fifo_next(w, now_waiting) };
	start_with(w, 0, &(struct orr_batch){ .model = 0, .req = two, .samples = 1 }, 2);
}
static void start_twice_in_one(struct orr_serve *w)
{
	orr_req two[] = { now_waiting, now_waiting };
	start_with(w, 0, &(struct orr_batch){ .model = 0, .req = two }, 2);
}
static void start_part(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0, .part = 1.5 }, 1);
}
static void start_flags(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0, .flags = 8 }, 1);
}
static void start_ended(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0, .req = &ended }, 1);
}
static void start_never(struct orr_serve *w)
{
	orr_req never = 12345;
	start_with(w, 0, &(struct orr_batch){ .model = 0, .req = &never }, 1);
}
static void start_too_much(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0, .samples = 4 }, 1);
	start_with(w, 0, &(struct orr_batch){ .model = 0, .samples = 2 }, 1);
}
static void refuse_running(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0 }, 1);
	orr_refuse(w, now_waiting, ORR_REQ_SHED);
}
static void refuse_oddly(struct orr_serve *w)
{
	orr_refuse(w, now_waiting, ORR_REQ_COMPLETED);
}
static void refuse_twice(struct orr_serve *w)
{
	orr_refuse(w, now_waiting, ORR_REQ_SHED);
	orr_refuse(w, now_waiting, ORR_REQ_SHED);
}
static void complete_nothing(struct orr_serve *w)
{
	orr_complete(w, now_waiting);
}
static void complete_unknown(struct orr_serve *w)
{
	orr_complete(w, ended);
}
static void forward_nowhere(struct orr_serve *w)
{
	orr_forward(w, now_waiting, 9);
}
static void assign_nowhere(struct orr_serve *w)
{
	orr_assign(w, now_waiting, 1);
}
static void push_twice(struct orr_serve *w)
{
	orr_fifo_push(w, &script.queue, now_waiting);
}
static void push_ended(struct orr_serve *w)
{
	orr_fifo_push_front(w, &script.queue, ended);
}
static void remove_other(struct orr_serve *w)
{
	struct orr_fifo other = { 0 };
	orr_fifo_remove(w, &other, now_waiting);
}
static void abort_ended(struct orr_serve *w)
{
	orr_run_abort(w, ended_run, ORR_ABORT_RESTART);
}
static void abort_twice(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0 }, 1);
	orr_run_abort(w, orr_run_first(w, 0), ORR_ABORT_SAVE);
	orr_run_abort(w, orr_run_first(w, 0), ORR_ABORT_SAVE);
}
/* Resumes a run whose peak of 50 would be reached beside the 60 of the other run. */
static void hold_too_much(struct orr_serve *w)
{
	orr_req other = orr_fifo_next(w, now_waiting);
	start_with(w, 0, &(struct orr_batch){ .model = 2 }, 1);
	orr_run_abort(w, orr_run_first(w, 0), ORR_ABORT_SAVE);
	start_with(w, 0, &(struct orr_batch){ .model = 0, .req = &other, .samples = 4 }, 1);
	orr_run_resume(w, orr_run_first(w, 0));
}
/* Saves a run whose 20 units of memory do not fit beside the 90 that the other run reaches; the device has 100. */
static void save_too_much(struct orr_serve *w)
{
	orr_req other = orr_fifo_next(w, now_waiting);
	start_with(w, 0, &(struct orr_batch){ .model = 2, .samples = 1 }, 1);
	start_with(w, 0, &(struct orr_batch){ .model = 2, .req = &other, .samples = 2 }, 1);
	if (!orr_run_can_save(w, orr_run_first(w, 0)))
		orr_run_abort(w, orr_run_first(w, 0), ORR_ABORT_SAVE);
}
static void resume_running(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0 }, 1);
	orr_run_resume(w, orr_run_first(w, 0));
}
static void load_nothing(struct orr_serve *w)
{
	orr_model_load(w, 0, 9);
}
static void unload_used(struct orr_serve *w)
{
	start_with(w, 0, &(struct orr_batch){ .model = 0 }, 1);
	orr_model_unload(w, 0, 0);
}
static void unload_twice(struct orr_serve *w)
{
	orr_model_unload(w, 0, 1);
	orr_model_unload(w, 0, 1);
}
static void start_unloaded(struct orr_serve *w)
{
	orr_model_unload(w, 0, 0);
	start_with(w, 0, &(struct orr_batch){ .model = 0 }, 1);
}
static void wake_nobody(struct orr_serve *w)
{
	orr_wake(w, 5);
}
static void timer_never(struct orr_serve *w)
{
	orr_serve_timer(w, 0, NAN);
}
static void peek(struct orr_serve *w)
{
	orr_req_true_output(w, now_waiting);
}
static void mark_ended(struct orr_serve *w)
{
	orr_req_set_mark(w, ended, 1);
}
static void claim_late(struct orr_serve *w)
{
	orr_serve_claim(w, ORR_SLO_GUARDED);
}
static void give_up(struct orr_serve *w)
{
	orr_serve_give_up(w, now_waiting, "I am lost");
}
static void spin(struct orr_serve *w)
{
	orr_wake(w, 0);
	script.seen = 0;
}
static void nothing(struct orr_serve *w)
{
	(void)w;
	script.req = 1; /* the policy starts nothing from now on */
	script.seen = 0;
}

static const struct mistake {
	void (*make)(struct orr_serve *w);
	const char *says; /* message after "policy tested: request 1 at 0.100000000 s: "; '!': no request is named */
} mistakes[] = {
	{ start_nowhere, "start on replica 7: expected a number below 1" },
	{ start_nothing, "!start of a batch of 0 requests: expected 1 to 2147483646" },
	{ start_no_model, "start of model 9: expected a number below 3" },
	{ start_no_size, "start: model a has no batch of 3 samples: expected 1, 2, 4" },
	{ start_no_length, "start: model b has no batch of 1 samples of length 30: expected batches of 1 and lengths from 10 to 20" },
	{ start_too_small, "start of a batch of 1 samples: expected at least 2, the samples of the requests of the batch" },
	{ start_twice_in_one, "start with duplicate requests: expected each request once" },
	{ start_part, "start of a batch with part = 1.5: expected a part from 0 to 1" },
	{ start_flags, "start: unknown flags in 0x8: expected ORR_RUN_* flags" },
	{ start_ended, "!start with a request that has ended or never existed (handle 100000001): expected a live request" },
	{ start_never, "!start with a request that has ended or never existed (handle 3039): expected a live request" },
	{ start_too_much, "start: no room on replica 0 for 2 samples of a beside 1 runs: its peak is 536870912 bytes, 644245094 of "
			  "1.07374182e+09 bytes are in use (orr_run_fits() checks this)" },
	{ refuse_running, "orr_refuse() of a request that is in a run: expected a request that waits" },
	{ refuse_oddly, "orr_refuse() with how = 0: expected ORR_REQ_REFUSED or ORR_REQ_SHED" },
	{ refuse_twice, "orr_refuse() of a request that has ended: expected a request that waits" },
	{ complete_nothing, "orr_complete() of a request without an answer: expected a request with a run that was started with "
			    "ORR_RUN_KEEP or ORR_RUN_PART and has ended" },
	{ complete_unknown, "!orr_complete() of a request that has ended or never existed (handle 100000001): expected a live request" },
	{ forward_nowhere, "orr_forward() to model 9: expected a number below 3" },
	{ assign_nowhere, "orr_assign() to replica 1, which does not exist: expected a replica that takes requests" },
	{ push_twice, "orr_fifo_push() of a request that is already in a list: expected orr_fifo_remove() before" },
	{ push_ended, "!orr_fifo_push_front() of a request that has ended or never existed (handle 100000001): expected a live request" },
	{ remove_other, "orr_fifo_remove() of a request that is not in this list (handle 100000002): expected one of its requests" },
	{ abort_ended, "!orr_run_abort() of a run that has ended or never existed (handle 100000001): expected a live run" },
	{ abort_twice, "orr_run_abort() of a run that is already suspended: expected a running one" },
	{ hold_too_much, "orr_run_resume(): the rest of the run does not fit on replica 0: expected orr_run_can_resume() to be true" },
	{ save_too_much, "orr_run_abort(): the saved memory of the run does not fit beside the other runs on replica 0: expected "
			 "orr_run_can_save() to be true" },
	{ resume_running, "orr_run_resume() of a run that is not suspended: expected a suspended run" },
	{ load_nothing, "!orr_model_load() of model 9: expected a number below 3" },
	{ unload_used, "!orr_model_unload() of model a on replica 0: expected a model without runs on this replica" },
	{ unload_twice, "!orr_model_unload() of model b on replica 0: expected a model that this replica has loaded" },
	{ start_unloaded, "start of model a on replica 0, which has not loaded it: expected orr_model_load() first" },
	{ wake_nobody, "!orr_wake() for replica 5: expected a number below 1" },
	{ timer_never, "!orr_serve_timer(): expected a time, found NaN" },
	{ peek, "orr_req_true_output(): expected a policy with ORR_NEEDS_ORACLE or ORR_MAY_ORACLE" },
	{ mark_ended, "!orr_req_set_mark() of a request that has ended or never existed (handle 100000001): expected a live request" },
	{ claim_late, "!orr_serve_claim(): expected a call in create()" },
	{ give_up, "I am lost" },
	{ spin, "!schedule() still acts after 1000 calls at one instant: expected at most serve.max_calls_per_instant" },
	{ nothing, "2 requests have not ended, nothing runs, no timer is set and no request will arrive: expected the policy to start a "
		   "request, or --until before this time (this request is the first)" },
};

static const struct mistake *mistake;

static void wrong_schedule(struct orr_serve *w, uint32_t replica)
{
	if (orr_serve_now(w) < 0.1) {
		if (script.queue.n)
			ended_run = script_start_first(w, replica);
		return;
	}
	if (script.seen++ || script.req)
		return;
	now_waiting = script.queue.first;
	mistake->make(w);
	/* Continues to act after the error. */
	if (script.seen) {
		orr_refuse(w, now_waiting, ORR_REQ_SHED);
		orr_run_start(w, 0, &(struct orr_batch){ .model = 0, .req = &now_waiting, .n = 1 });
		orr_run_abort(w, orr_run_first(w, 0), ORR_ABORT_SAVE);
		orr_run_resume(w, orr_run_first(w, 0));
		orr_serve_timer(w, 0, 1);
		orr_model_unload(w, 0, 0);
	}
}

static void wrong_finish(struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	if (!orr_req_number(w, r))
		ended = r;
}

/* Tests mistakes: request 0 runs from 0 to 100; the mistake happens at its end, when requests 1 and 2 arrive. */
static void test_mistakes(void)
{
	for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
		char want[400];
		mistake = &mistakes[i];
		bool is_plain = *mistake->says == '!';
		script_set((struct script){ .arrive = script_push, .schedule = wrong_schedule, .finish = wrong_finish });
		script.models = TABLES;
		script.memory_GiB = 1;
		snprintf(
			want, sizeof want, "policy tested: %sat 0.100000000 s: %s", is_plain ? "" : "request 1 ", mistake->says + is_plain);
		same_text(script_error(NULL, "arrival_s,model\n0,a\n0.1,a\n0.1,a\n", NULL), want, mistake->says + is_plain);
	}
}

/* ---- actions where they are not allowed ---- */

static void act_in_finish(struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	struct orr_batch b = { .model = 0, .req = &r, .n = 1 };
	orr_run_start(w, 0, &b);
}

static void start_all(struct orr_serve *w, uint32_t replica)
{
	while (script.queue.n && script_start_first(w, replica))
		;
}

static void test_when(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = start_all, .finish = act_in_finish });
	same_text(script_error(TABLES[0], "arrival_s\n0\n", NULL),
		"policy tested: at 0.100000000 s: orr_run_start(): expected a call in arrive(), run_end(), replica(), timer() or "
		"schedule()",
		"actions are refused in finish()");
}

/* ---- false claims of ORR_SLO_GUARDED ---- */

static enum orr_abort_how displace_how;
static bool is_to_stack;

/* Request 1 preempts request 0 or starts beside it. A preempted request resumes at the end of request 1. */
static void displacing_schedule(struct orr_serve *w, uint32_t replica)
{
	orr_run runs = orr_run_first(w, replica);
	if (script.queue.n && runs && !is_to_stack) {
		struct orr_run_info i;
		if (!orr_run_get(w, runs, &i) || i.is_suspended || orr_req_number(w, orr_run_request(w, runs, 0)))
			return;
		orr_req first = orr_run_request(w, runs, 0), second = orr_fifo_pop(w, &script.queue);
		orr_run_abort(w, runs, displace_how);
		script.run = displace_how == ORR_ABORT_SAVE ? runs : 0;
		struct orr_batch b = { .model = 0, .req = &second, .n = 1 };
		orr_run_start(w, replica, &b);
		if (displace_how == ORR_ABORT_RESTART)
			orr_fifo_push(w, &script.queue, first);
	} else if (script.queue.n) {
		script_start_first(w, replica);
	} else if (script.run && runs == script.run && !orr_run_next(w, runs)) {
		orr_run_resume(w, runs);
	}
}

static const char *guarded(const char *requests, const char *options, unsigned claims)
{
	script_set((struct script){ .arrive = script_push, .schedule = displacing_schedule, .policy_flags = claims });
	return script_error(TABLES[0], requests, options);
}

#define LATE(request, end, due, would, action, at)                                                                                \
	"policy tested: request " #request " at " end " s: conservation: the policy claims that no action makes a request late; " \
	"this request, due at " due " s, would have ended at " would " s without " action " at " at " s, but "

static void test_slo_guard(void)
{
	const char *two = "arrival_s\n0\n0.06\n", *early = "arrival_s\n0\n0.04\n";
	is_to_stack = false;
	displace_how = ORR_ABORT_RESTART;
	/* Request 0 runs from 0 to 60 and is aborted. Request 1 runs from 60 to 160, then request 0 until 260. */
	same_text(guarded(two, "slo=0.25", ORR_SLO_GUARDED),
		LATE(0, "0.260000000", "0.250000000", "0.100000000", "orr_run_abort()",
			"0.060000000") "ends now: expected an action that makes no request late",
		"--check: an abort that makes a request late is found");
	same_text(guarded(two, "slo=0.261", ORR_SLO_GUARDED), "no error",
		"--check: an abort after which the request is still in time passes");
	same_text(guarded(two, "slo=0.09", ORR_SLO_GUARDED), "no error", "--check: an abort of a request that is late in any case passes");
	same_text(guarded(two, "slo=0.25", 0), "no error", "--check: an abort passes without the claim ORR_SLO_GUARDED");
	same_text(guarded(two, "slo=0.15 shed=late", ORR_SLO_GUARDED),
		LATE(0, "0.150000000", "0.150000000", "0.100000000", "orr_run_abort()",
			"0.060000000") "is given up: expected an action that makes no request late",
		"--check: a request shed because of an abort counts as late");
	displace_how = ORR_ABORT_SAVE;
	/* Request 0 runs from 0 to 40, then from 140 to 200. */
	same_text(guarded(early, "slo=0.19", ORR_SLO_GUARDED),
		LATE(0, "0.200000000", "0.190000000", "0.100000000", "orr_run_abort()",
			"0.040000000") "ends now: expected an action that makes no request late",
		"--check: a suspension that makes a request late is found");
	is_to_stack = true;
	/* From 40 on both run at 1/2: request 0 ends at 40 + 60 x 2. */
	same_text(guarded(early, "slo=0.15 interference=curve slowdown_curve=1,2", ORR_SLO_GUARDED),
		LATE(0, "0.160000000", "0.150000000", "0.100000000", "orr_run_start()",
			"0.040000000") "ends now: expected an action that makes no request late",
		"--check: a start that makes a request late by interference is found");
	same_text(
		guarded(early, "slo=0.15", ORR_SLO_GUARDED), "no error", "--check: a start beside another run passes without interference");
}

/* ---- handles ---- */

static orr_req first_handle;
static bool old_is_known, new_is_known, is_same_slot;

static void handle_schedule(struct orr_serve *w, uint32_t replica)
{
	struct orr_req_info i;
	if (orr_run_first(w, replica) || !script.queue.n)
		return;
	orr_req r = script.queue.first;
	if (first_handle) {
		old_is_known = orr_req_get(w, first_handle, &i) || orr_req_replica(w, first_handle) != ORR_NO_REPLICA ||
			       orr_req_arrival(w, first_handle) != 0 || orr_req_is_resident(w, first_handle);
		new_is_known = orr_req_get(w, r, &i) && i.number == 1;
		is_same_slot = (uint32_t)r == (uint32_t)first_handle;
	} else {
		first_handle = r;
	}
	script_start_first(w, replica);
}

static void test_handles(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = handle_schedule });
	result_free(script_run(TABLES[0], "arrival_s\n0\n1\n", NULL));
	ok(is_same_slot && !old_is_known && new_is_known, "the handle of an ended request stays stale when its slot is reused");
}

/* ---- requests that cannot be served ---- */

static void test_refused(void)
{
	script_set((struct script){ .arrive = script_push, .schedule = start_all });
	struct run_result *r = script_run(TABLES[0], "arrival_s,samples\n0,1\n0.5,5\n1,4\n", NULL);
	ok(r && r->n_requests == 3 && r->requests[1].status == REQUEST_REFUSED && isnan(r->requests[1].completed_s),
		"more samples than any batch of the table has: refused at arrival");
	ok(r && r->requests[0].status == REQUEST_COMPLETED && r->requests[2].status == REQUEST_COMPLETED, "other requests are served");
	near_to(serve_metric(r, "requests_refused"), 1, 0, "the refused request is counted");
	result_free(r);
	script_set((struct script){ .arrive = script_push, .schedule = start_all });
	script.models = TABLES;
	const char *said = script_error(NULL, "arrival_s,model\n0,aa\n", NULL);
	ok(strstr(said, ":2: model \"aa\" is not served: did you mean \"a\"? expected a served model, or serve.any_model=true") != NULL,
		"a model that is not served is an error");
	printf("# %s\n", said);
	script_set((struct script){ .arrive = script_push, .schedule = start_all });
	script.models = TABLES;
	result_free(script_run(NULL, "arrival_s,model\n0,aa\n", "any_model=true"));
	ok(!script.error.code, "any_model=true: a request for an unknown model goes to the first model");
}

int main(void)
{
	test_mistakes();
	test_when();
	test_slo_guard();
	test_handles();
	test_refused();
	return done();
}

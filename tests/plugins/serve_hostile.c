/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serving policy that makes the mistake named by its parameter `how` (tests/serve/plugins_serve.sh), otherwise FIFO. */
#include <orrery/serve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("how", "", "the mistake to make"), ORR_PARAM_END };

struct state {
	const char *how;
	struct orr_serve *world;
	struct orr_fifo waiting;
	orr_req ended; /* an ended request */
	bool is_llm;
};

static const orr_req unknown = UINT64_C(0xdeadbeef00000001);
static const uint32_t nowhere = 4000000000u;

static void start(struct orr_serve *w, uint32_t replica, orr_req *req, size_t n, uint32_t samples)
{
	struct orr_batch b = { .req = req, .n = n, .samples = samples };
	orr_run_start(w, replica, &b);
}

/* ---- mistakes with table models: request r waits and its replica is idle ---- */

static void null_batch(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_run_start(w, 0, NULL);
}
static void null_requests(struct orr_serve *w, orr_req r)
{
	(void)r;
	start(w, 0, NULL, 1, 0);
}
static void empty_batch(struct orr_serve *w, orr_req r)
{
	start(w, 0, &r, 0, 0);
}
static void replica_nowhere(struct orr_serve *w, orr_req r)
{
	start(w, nowhere, &r, 1, 0);
}
static void batch_too_large(struct orr_serve *w, orr_req r)
{
	start(w, 0, &r, 1, 3);
}
static void twice_in_batch(struct orr_serve *w, orr_req r)
{
	start(w, 0, (orr_req[]){ r, r }, 2, 0);
}
static void unknown_request(struct orr_serve *w, orr_req r)
{
	(void)r;
	start(w, 0, (orr_req[]){ unknown }, 1, 0);
}
static void no_request(struct orr_serve *w, orr_req r)
{
	(void)r;
	start(w, 0, (orr_req[]){ 0 }, 1, 0);
}
static void memory_too_small(struct orr_serve *w, orr_req r)
{
	start(w, 0, &r, 1, 0);
	start(w, 0, &r, 1, 0);
}
static void model_nowhere(struct orr_serve *w, orr_req r)
{
	struct orr_batch b = { .model = 77, .req = &r, .n = 1 };
	orr_run_start(w, 0, &b);
}
static void part_nan(struct orr_serve *w, orr_req r)
{
	struct orr_batch b = { .req = &r, .n = 1, .part = (double)NAN };
	orr_run_start(w, 0, &b);
}
static void part_too_large(struct orr_serve *w, orr_req r)
{
	struct orr_batch b = { .req = &r, .n = 1, .part = 2 };
	orr_run_start(w, 0, &b);
}
static void complete_unknown(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_complete(w, unknown);
}
static void complete_waiting(struct orr_serve *w, orr_req r)
{
	orr_complete(w, r);
}
static void refuse_unknown(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_refuse(w, unknown, ORR_REQ_SHED);
}
static void refuse_twice(struct orr_serve *w, orr_req r)
{
	orr_refuse(w, r, ORR_REQ_SHED);
	orr_refuse(w, r, ORR_REQ_SHED);
}
static void refuse_completed(struct orr_serve *w, orr_req r)
{
	orr_refuse(w, r, ORR_REQ_COMPLETED);
}
static void refuse_running(struct orr_serve *w, orr_req r)
{
	start(w, 0, &r, 1, 0);
	orr_refuse(w, r, ORR_REQ_SHED);
}
static void forward_nowhere(struct orr_serve *w, orr_req r)
{
	orr_forward(w, r, 99);
}
static void forward_waiting(struct orr_serve *w, orr_req r)
{
	orr_forward(w, r, 0);
}
static void assign_nowhere(struct orr_serve *w, orr_req r)
{
	orr_assign(w, r, nowhere);
}
static void assign_unknown(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_assign(w, unknown, 0);
}
static void abort_unknown(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_run_abort(w, unknown, ORR_ABORT_RESTART);
}
static void resume_unknown(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_run_resume(w, unknown);
}
static void load_nowhere(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_model_load(w, 0, 99);
}
static void unload_nowhere(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_model_unload(w, nowhere, 0);
}
static void wake_nowhere(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_wake(w, nowhere);
}
static void timer_nan(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_serve_timer(w, 0, (double)NAN);
}
static void timer_past(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_serve_timer(w, 0, orr_serve_now(w) - 1);
}
static void timer_nowhere(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_serve_timer(w, nowhere, 1e9);
}
static void in_list_twice(struct orr_serve *w, orr_req r)
{
	struct orr_fifo q = { 0 };
	orr_fifo_push(w, &q, r);
	orr_fifo_push(w, &q, r);
}
static void push_unknown(struct orr_serve *w, orr_req r)
{
	struct orr_fifo q = { 0 };
	(void)r;
	orr_fifo_push(w, &q, unknown);
}
static void remove_unknown(struct orr_serve *w, orr_req r)
{
	struct orr_fifo q = { 0 };
	orr_fifo_remove(w, &q, r);
}
static void give_up(struct orr_serve *w, orr_req r)
{
	orr_serve_give_up(w, r, "had enough");
}
static void llm_of_table(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, 1, 0);
}
static void iterate_table(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_iter_run(w, 0, 0, 0, ORR_ITER_DECODE);
}

/* ---- with language models ---- */

static void table_of_llm(struct orr_serve *w, orr_req r)
{
	start(w, 0, &r, 1, 0);
}
static void admit_unknown(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_admit(w, unknown, 1, 0);
}
static void admit_twice(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, 16, 0);
	orr_admit(w, r, 16, 0);
}
static void iterate_nothing(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_iter_run(w, 0, 0, 0, 0);
}
static void iterate_nowhere(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_iter_run(w, nowhere, 0, 0, 0);
}
static void prefill_waiting(struct orr_serve *w, orr_req r)
{
	orr_iter_prefill(w, r, 1);
}
static void prefill_too_much(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_iter_prefill(w, r, 1000000);
}
static void prefill_none(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_iter_prefill(w, r, 0);
}
static void prefill_without_blocks(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, 1, 0);
	orr_iter_prefill(w, r, orr_req_prompt(w, r));
	orr_iter_run(w, 0, 1, 0, 0);
}
static void iterate_twice(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_iter_prefill(w, r, 1);
	orr_iter_run(w, 0, 1, 0, 0);
	orr_iter_prefill(w, r, 1);
	orr_iter_run(w, 0, 1, 0, 0);
}
static void evict_waiting(struct orr_serve *w, orr_req r)
{
	orr_evict(w, r, ORR_EVICT_SWAP);
}
static void evict_running(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_iter_prefill(w, r, 1);
	orr_iter_run(w, 0, 1, 0, 0);
	orr_evict(w, r, ORR_EVICT_RESTART);
}
static void grow_waiting(struct orr_serve *w, orr_req r)
{
	orr_kv_grow(w, r, 5, 0);
}
static void pause_prompt(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_pause(w, r);
}
static void resume_waiting(struct orr_serve *w, orr_req r)
{
	orr_resume(w, r);
}
static void move_waiting(struct orr_serve *w, orr_req r)
{
	orr_move(w, r, 1);
}
static void move_nowhere(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_move(w, r, nowhere);
}
static void refuse_resident(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r) + 1, 0);
	orr_refuse(w, r, ORR_REQ_SHED);
}
static void admit_too_much(struct orr_serve *w, orr_req r)
{
	if (!orr_admit(w, r, UINT32_MAX, 0)) /* the admission is allowed; the mistake follows when the policy waits for the request */
		orr_wake(w, 0);
}

#define MISTAKE(name)       \
	{                   \
#name, name \
	}
/* ---- extreme numbers ---- */

static void samples_most(struct orr_serve *w, orr_req r)
{
	start(w, 0, &r, 1, UINT32_MAX);
}
static void flags_most(struct orr_serve *w, orr_req r)
{
	struct orr_batch b = { .req = &r, .n = 1, .flags = UINT32_MAX };
	orr_run_start(w, 0, &b);
}
static void part_negative(struct orr_serve *w, orr_req r)
{
	struct orr_batch b = { .req = &r, .n = 1, .part = -1e-300 };
	orr_run_start(w, 0, &b);
}
static void million(struct orr_serve *w, orr_req r)
{
	enum { N = 1000000 };
	orr_req *many = malloc(N * sizeof *many);
	for (size_t i = 0; many && i < N; i++)
		many[i] = r;
	start(w, 0, many, many ? N : 1, 0);
	free(many);
}
static void timer_negative(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_serve_timer(w, 0, -1e300);
}
static void timer_huge(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_serve_timer(w, 0, 1e300);
}
static void observe_nothing(struct orr_serve *w, orr_req r)
{
	(void)r;
	orr_serve_observe(w, NULL, 1);
}
static void give_up_mutely(struct orr_serve *w, orr_req r)
{
	orr_serve_give_up(w, r, NULL);
}
static void admit_most(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, UINT32_MAX, UINT32_MAX);
}
static void grow_most(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r), 0);
	if (!orr_kv_grow(w, r, UINT32_MAX, UINT32_MAX))
		orr_move(w, r, 0);
}
static void iterate_oddly(struct orr_serve *w, orr_req r)
{
	orr_admit(w, r, orr_req_prompt(w, r), 0);
	orr_iter_prefill(w, r, orr_req_prompt(w, r));
	orr_iter_run(w, 0, UINT64_MAX, UINT32_MAX, 0xffu);
}
/* Calls all queries with invalid handles. */
static void ask_nowhere(struct orr_serve *w, orr_req r)
{
	struct orr_replica_info replica;
	struct orr_model_info model;
	struct orr_run_info run;
	struct orr_batch b = { .model = nowhere, .req = &r, .n = 1 };
	double known =
		orr_req_arrival(w, unknown) + (double)orr_req_number(w, unknown) + orr_req_samples(w, unknown) + orr_req_done(w, unknown);
	bool any = orr_replica_get(w, nowhere, &replica) || orr_model_get(w, nowhere, &model) || orr_run_get(w, unknown, &run) ||
		   orr_replica_is_idle(w, nowhere) || orr_replica_idle_from(w, nowhere) != ORR_NO_REPLICA ||
		   orr_run_fits(w, nowhere, &b, -1) || orr_run_fits(w, 0, &b, (double)NAN) || orr_run_fits(w, 0, NULL, 0) ||
		   orr_run_can_save(w, unknown) || orr_run_can_resume(w, unknown) || orr_model_is_loaded(w, nowhere, 0) ||
		   orr_req_is_resident(w, unknown) || orr_is_decoding(w, unknown) || orr_run_first(w, nowhere) ||
		   orr_run_next(w, unknown) || orr_run_request(w, unknown, 0) || orr_resident_first(w, nowhere) ||
		   orr_resident_next(w, unknown) || orr_fifo_next(w, unknown) || orr_kv_total(w, nowhere) || orr_kv_free(w, nowhere) ||
		   orr_kv_held(w, unknown) || orr_prefix_cached(w, nowhere, r) || orr_prefix_cached(w, 0, unknown) ||
		   orr_decodes(w, nowhere) || orr_residents(w, nowhere) || orr_decodes_need(w, nowhere) || orr_replica_routed(w, nowhere) ||
		   orr_model_largest(w, nowhere) || orr_model_batch_for(w, nowhere, 1) || orr_model_batch_for(w, 0, UINT32_MAX) ||
		   orr_run_fits_instead(w, nowhere, &b, unknown) || !isinf(orr_run_fits_after(w, nowhere, &b)) ||
		   !isnan(orr_model_latency(w, nowhere, nowhere, 1, 1)) || !isnan(orr_iter_estimate(w, nowhere, 1, 1, 1, 1)) ||
		   orr_model_find(w, "") != UINT32_MAX;
	orr_serve_give_up(w, r, any || known != 0 ? "something exists" : "nothing exists");
}

static const struct {
	const char *name;
	void (*make)(struct orr_serve *w, orr_req r);
} mistakes[] = { MISTAKE(null_batch), MISTAKE(null_requests), MISTAKE(empty_batch), MISTAKE(replica_nowhere), MISTAKE(batch_too_large),
	MISTAKE(twice_in_batch), MISTAKE(unknown_request), MISTAKE(no_request), MISTAKE(memory_too_small), MISTAKE(model_nowhere),
	MISTAKE(part_nan), MISTAKE(part_too_large), MISTAKE(complete_unknown), MISTAKE(complete_waiting), MISTAKE(refuse_unknown),
	MISTAKE(refuse_twice), MISTAKE(refuse_completed), MISTAKE(refuse_running), MISTAKE(forward_nowhere), MISTAKE(forward_waiting),
	MISTAKE(assign_nowhere), MISTAKE(assign_unknown), MISTAKE(abort_unknown), MISTAKE(resume_unknown), MISTAKE(load_nowhere),
	MISTAKE(unload_nowhere), MISTAKE(wake_nowhere), MISTAKE(timer_nan), MISTAKE(timer_past), MISTAKE(timer_nowhere),
	MISTAKE(in_list_twice), MISTAKE(push_unknown), MISTAKE(remove_unknown), MISTAKE(give_up), MISTAKE(llm_of_table),
	MISTAKE(iterate_table), MISTAKE(table_of_llm), MISTAKE(admit_unknown), MISTAKE(admit_twice), MISTAKE(iterate_nothing),
	MISTAKE(iterate_nowhere), MISTAKE(prefill_waiting), MISTAKE(prefill_too_much), MISTAKE(prefill_none),
	MISTAKE(prefill_without_blocks), MISTAKE(iterate_twice), MISTAKE(evict_waiting), MISTAKE(evict_running), MISTAKE(grow_waiting),
	MISTAKE(pause_prompt), MISTAKE(resume_waiting), MISTAKE(move_waiting), MISTAKE(move_nowhere), MISTAKE(refuse_resident),
	MISTAKE(admit_too_much), MISTAKE(samples_most), MISTAKE(flags_most), MISTAKE(part_negative), MISTAKE(million),
	MISTAKE(timer_negative), MISTAKE(timer_huge), MISTAKE(observe_nothing), MISTAKE(give_up_mutely), MISTAKE(admit_most),
	MISTAKE(grow_most), MISTAKE(iterate_oddly), MISTAKE(ask_nowhere) };

/* ---- the policy ---- */

static bool is(const struct state *s, const char *how)
{
	return !strcmp(s->how, how);
}

static void hang(void)
{
	for (volatile int forever = 1; forever;)
		;
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	struct state *s = calloc(1, sizeof *s);
	struct orr_model_info m;
	(void)err;
	if (!s)
		return NULL;
	s->how = orr_arg_text(args, "how");
	s->world = w;
	s->is_llm = orr_model_get(w, 0, &m) && m.kind == ORR_MODEL_LLM;
	if (is(s, "act_in_create"))
		orr_model_unload(w, 0, 0);
	if (is(s, "silent")) {
		free(s);
		return NULL;
	}
	if (is(s, "hang_in_create"))
		hang();
	return s;
}

static void destroy(void *self)
{
	free(self);
}

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	const struct state *s = self;
	(void)w, (void)r;
	if (is(s, "act_in_route"))
		orr_refuse(w, r, ORR_REQ_SHED);
	return is(s, "route_nowhere") ? nowhere : 0;
}

/* Returns the sum of all values that a policy can query about a request's output in advance. */
static double seen(struct orr_serve *w, orr_req r)
{
	struct orr_req_info i;
	if (!orr_req_get(w, r, &i))
		return -1;
	double sum = i.max_output + 3. * i.outputs + 7. * i.done_tokens + 11. * i.prompt_tokens + 13. * i.length + 17. * i.samples;
	return sum + (isnan(i.first_token_s) ? 0 : 1) + (isinf(i.deadline_s) ? 0 : i.deadline_s);
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct state *s = self;
	if (is(s, "peek"))
		orr_serve_observe(w, "seen", seen(w, r));
	if (is(s, "ask_truth"))
		orr_serve_observe(w, "seen", orr_req_true_output(w, r));
	if (is(s, "hang"))
		hang();
	orr_fifo_push(w, &s->waiting, r);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	struct state *s = self;
	(void)how;
	s->ended = r;
	if (is(s, "act_in_finish"))
		orr_refuse(w, r, ORR_REQ_SHED);
	if (is(s, "hang_in_finish"))
		hang();
}

/* For one mistake, restarts its requests endlessly in zero time. */
static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	struct state *s = self;
	orr_req r = orr_run_request(w, run, 0);
	struct orr_batch b = { .req = &r, .n = 1, .part = 1e-300, .flags = ORR_RUN_KEEP };
	if (is(s, "endless"))
		orr_run_start(w, 0, &b);
}

static void replica(void *self, struct orr_serve *w, uint32_t number, enum orr_replica_event event)
{
	(void)number, (void)event;
	if (is(self, "act_on_replica"))
		start(w, nowhere, NULL, 0, 0);
}

static void serve_llm(struct state *s, struct orr_serve *w, uint32_t replica)
{
	orr_req r = s->waiting.first;
	if (r && orr_residents(w, replica) == 0 && orr_admit(w, r, orr_req_prompt(w, r) + 4096, 0)) {
		orr_fifo_pop(w, &s->waiting);
		orr_iter_prefill(w, r, orr_req_prompt(w, r) - orr_req_done(w, r));
		orr_iter_run(w, replica, 1, 0, 0);
	} else if (orr_decodes(w, replica)) {
		orr_iter_run(w, replica, 0, 0, ORR_ITER_DECODE | ORR_ITER_THROUGH);
	}
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	struct state *s = self;
	orr_req r = s->waiting.first;
	if (is(s, "never"))
		return;
	if (is(s, "spin"))
		orr_wake(w, replica);
	if (!orr_replica_is_idle(w, replica))
		return;
	if (is(s, "ended_request") && s->ended)
		start(w, replica, &s->ended, 1, 0);
	for (size_t i = 0; r && i < sizeof mistakes / sizeof *mistakes; i++)
		if (is(s, mistakes[i].name)) {
			orr_fifo_remove(w, &s->waiting, r);
			mistakes[i].make(w, r);
			return;
		}
	if (is(s, "endless") && r) {
		struct orr_batch b = { .req = &r, .n = 1, .part = 1e-300, .flags = ORR_RUN_KEEP };
		orr_fifo_pop(w, &s->waiting);
		orr_run_start(w, 0, &b);
	} else if (!s->is_llm && r) {
		orr_fifo_pop(w, &s->waiting);
		start(w, replica, &r, 1, 0);
	} else if (s->is_llm) {
		serve_llm(s, w, replica);
	}
}

static const struct orr_serve_ops ops = { .create = create,
	.destroy = destroy,
	.route = route,
	.arrive = arrive,
	.finish = finish,
	.run_end = run_end,
	.replica = replica,
	.schedule = schedule };

ORR_POLICY_SERVE(serve_hostile, "makes one mistake", params, ops);

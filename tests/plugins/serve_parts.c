/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A serving plugin with partial answers: a request runs on all replicas at once and ends with the first `enough` answers, or with the
 * answers received until `after` its arrival. `how` selects one mistake.
 */
#include <orrery/serve.h>

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_INT("enough", "2", 1, 64, "answers that are waited for"),
	ORR_PARAM_TIME("after", "1s", "time after which a request ends"), ORR_PARAM_TEXT("how", "", "mistake"), ORR_PARAM_END };

struct state {
	uint32_t enough;
	double after_s;
	const char *how;
};

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	struct state *s = orr_alloc(1, sizeof *s);
	(void)w, (void)err;
	s->enough = (uint32_t)orr_arg_int(args, "enough");
	s->after_s = (double)orr_arg_time_ns(args, "after") / 1e9;
	s->how = orr_arg_text(args, "how");
	return s;
}

static void destroy(void *self)
{
	orr_free(self);
}

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	(void)self, (void)w, (void)r;
	return ORR_NO_REPLICA;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	const struct state *s = self;
	struct orr_batch b = { .model = orr_req_model(w, r), .req = &r, .n = 1, .flags = ORR_RUN_PART | ORR_RUN_QUEUE };
	if (!strcmp(s->how, "leave_waiting"))
		orr_leave_runs(w, r, ORR_LATE_DETACH);
	for (uint32_t k = 0; k < orr_replicas(w); k++)
		orr_run_start(w, k, &b);
	orr_req_timer(w, r, orr_req_arrival(w, r) + s->after_s);
	if (!strcmp(s->how, "read_early"))
		orr_req_answer(w, r, 0);
	else if (!strcmp(s->how, "read_early_of"))
		orr_req_answer_of(w, r, 1);
	else if (!strcmp(s->how, "complete_early"))
		orr_complete(w, r);
	else if (!strcmp(s->how, "leave_oddly"))
		orr_leave_runs(w, r, (enum orr_late_how)7);
	else if (!strcmp(s->how, "read_unknown"))
		orr_req_answer(w, 12345, 0);
}

/* Ends the request with its answers. The first answer is that of the fastest replica. */
static void end(const struct state *s, struct orr_serve *w, orr_req r)
{
	uint32_t n = orr_req_answers(w, r);
	orr_req_set_mark(w, r, 1);
	for (uint32_t i = 0; i < n; i++)
		orr_req_observe(w, r, "answered_after", orr_req_answer(w, r, i).received_s - orr_req_arrival(w, r));
	if (!strcmp(s->how, "read_late"))
		orr_req_answer(w, r, n);
	orr_req_observe(w, r, "answered", n);
	if (n) {
		orr_complete(w, r);
		return;
	}
	orr_leave_runs(w, r, ORR_LATE_CANCEL);
	orr_refuse_because(w, r, ORR_REQ_SHED, "no answer");
}

static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	const struct state *s = self;
	orr_req r = orr_run_request(w, run, 0);
	if (r && !orr_req_mark(w, r) && orr_req_answers(w, r) >= s->enough) /* at the first call, all answers of one instant count */
		end(s, w, r);
}

static void timer(void *self, struct orr_serve *w, orr_req r)
{
	end(self, w, r);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	(void)self, (void)w, (void)replica;
}

static const struct orr_serve_ops ops = {
	.create = create, .destroy = destroy, .route = route, .arrive = arrive, .run_end = run_end, .schedule = schedule, .timer = timer
};

ORR_POLICY_SERVE(serve_parts, "ends a request with the first answers (test)", params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FIFO that makes the mistake named by its parameter `how` (tests/jobs/plugins.sh). */
#include <orrery/jobs.h>

#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("how", "", "the mistake to make"), ORR_PARAM_END };

struct state {
	struct orr_queue *waiting;
	const char *how;
	orr_job first; /* the first job that arrived */
	unsigned calls, arrived, ends, killed;
};

static bool does(const struct state *s, const char *how)
{
	return !strcmp(s->how, how);
}

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	const char *how = orr_arg_text(args, "how");
	if (!strcmp(how, "refuse")) {
		orr_fail(err, ORR_EINPUT, "how: refuses to work on %u nodes", orr_nodes(w));
		return NULL;
	}
	if (!strcmp(how, "silent"))
		return NULL;
	struct state *s = orr_alloc(1, sizeof *s);
	s->waiting = orr_queue_new(w);
	s->how = how;
	return s;
}

static void destroy(void *self)
{
	orr_queue_free(((struct state *)self)->waiting);
	orr_free(self);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	struct state *s = self;
	if (!s->first)
		s->first = j;
	s->arrived++;
	orr_queue_add(s->waiting, j, (int64_t)orr_job_number(w, j), 0);
	if (does(s, "start-in-arrive"))
		orr_try_start(w, j);
}

/* Checks for "kill" that the killed job is reported once, as killed. */
static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	struct state *s = self;
	orr_queue_remove(s->waiting, j);
	s->ends++;
	s->killed += how == ORR_END_KILLED;
	if (does(s, "stop-in-finish"))
		orr_stop(w, j);
	if (does(s, "count-ends") && s->ends > s->arrived)
		orr_give_up(w, j,
			"finish() was called twice for a job"); /* this second call would be an error of the world, not of the policy */
}

static void start_all(struct state *s, struct orr_jobs *w)
{
	orr_job j;
	while ((j = orr_queue_first(s->waiting)) && orr_try_start(w, j))
		orr_queue_remove(s->waiting, j);
}

static void break_a_rule(struct state *s, struct orr_jobs *w)
{
	static const uint32_t here[] = { 0, 0 }, nowhere[] = { 99 }, one[] = { 1, 1 }, two[] = { 2 }, nine[] = { 9 };
	orr_job j = orr_queue_first(s->waiting);
	bool runs = orr_job_is_running(w, s->first);
	if (does(s, "peek"))
		orr_job_duration_ns(w, s->first);
	if (does(s, "over-allocate") && j && runs)
		orr_start_at(w, j, here, two, 1);
	if (does(s, "no-such-node") && j)
		orr_start_at(w, j, nowhere, two, 1);
	if (does(s, "same-node-twice") && j)
		orr_start_at(w, j, here, one, 2);
	if (does(s, "wrong-sum") && j)
		orr_start_at(w, j, here, nine, 1);
	if (does(s, "start-ended") && s->ends)
		orr_try_start(w, s->first);
	if (does(s, "start-twice") && runs)
		orr_try_start(w, s->first);
	if (does(s, "stop-waiting") && j)
		orr_stop(w, j);
	if (does(s, "negative-cost") && runs)
		orr_stop_with_cost(w, s->first, -1);
	if (does(s, "negative-work") && j)
		orr_add_work(w, j, -1);
	if (does(s, "no-such-type") && j)
		orr_try_start_on_type(w, j, 7);
	if (does(s, "no-such-size") && j)
		orr_try_start_sized(w, j, 77);
	if (does(s, "resize-rigid") && runs)
		orr_resize(w, s->first, 1);
	if (does(s, "no-such-job"))
		orr_stop(w, UINT64_C(0xdeadbeefdeadbeef));
	if (does(s, "give-up"))
		orr_give_up(w, s->first, "had enough of it");
	if (does(s, "timer-for-ever"))
		orr_timer(w, orr_now(w));
	if (does(s, "timer-in-the-past") && s->calls < 5)
		orr_timer(w, orr_now(w) - ORR_SECOND); /* a time in the past counts as now */
	for (bool more = does(s, "hang"); more;)
		more = s->how != NULL;
}

/* For "victims-twice": beta fits only on alpha's GPUs, which count once even if alpha is named several times. */
static void name_victims_twice(struct state *s, struct orr_jobs *w)
{
	orr_job j = orr_queue_first(s->waiting), all[64];
	for (size_t i = 0; i < 64; i++)
		all[i] = s->first;
	if (j && orr_job_is_running(w, s->first) && !orr_fits_without(w, j, ORR_ANY_TYPE, all, 64))
		orr_give_up(w, j, "fits if the first job is stopped");
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct state *s = self;
	s->calls++;
	if (does(s, "victims-twice"))
		name_victims_twice(s, w);
	break_a_rule(s, w);
	if (does(s, "starve"))
		return;
	if (does(s, "kill")) {
		start_all(s, w);
		if (s->calls == 1)
			orr_kill(w, s->first);
		if (s->calls == 2 && (s->ends != 1 || s->killed != 1))
			orr_give_up(w, 0, "finish() was not called for the killed job");
		return;
	}
	start_all(s, w);
	if (does(s, "stop-for-ever")) {
		orr_stop(w, s->first);
		orr_queue_add(s->waiting, s->first, 0, 0);
		orr_timer(w, orr_now(w));
	}
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(misbehave, "does one thing wrong", params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Round robin with a time slice: a job that has run for a slice while others wait goes to the end of the queue. tests/plugins/quantum.py
 * is the same policy in Python. */
#include <orrery/jobs.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("slice", "1h", "time after which a job makes room"), ORR_PARAM_END };

enum { MOST = 100000 };

struct state {
	struct orr_queue *waiting;
	int64_t slice_ns, turn;
	uint32_t n;
	orr_job running[MOST];
	int64_t since[MOST];
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct state *s = orr_alloc(1, sizeof *s);
	(void)err;
	s->waiting = orr_queue_new(w);
	s->slice_ns = orr_arg_time_ns(args, "slice");
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
	(void)w;
	orr_queue_add(s->waiting, j, s->turn++, 0);
}

static void remove_running(struct state *s, orr_job j)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->running[i] == j) {
			s->n--;
			for (; i < s->n; i++) {
				s->running[i] = s->running[i + 1];
				s->since[i] = s->since[i + 1];
			}
			return;
		}
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)w, (void)how;
	remove_running(self, j);
	orr_queue_remove(((struct state *)self)->waiting, j);
}

/* Stops the jobs whose slice is over, if jobs wait. Returns the end of the first slice that is not over. */
static int64_t rotate(struct state *s, struct orr_jobs *w)
{
	int64_t now = orr_now(w), end = ORR_NEVER;
	for (uint32_t i = 0; i < s->n;) {
		orr_job j = s->running[i];
		if (s->since[i] + s->slice_ns > now || !orr_queue_first(s->waiting)) {
			int64_t own = s->since[i] + s->slice_ns;
			if (own > now && own < end)
				end = own;
			i++;
			continue;
		}
		orr_stop(w, j);
		remove_running(s, j);
		orr_queue_add(s->waiting, j, s->turn++, 0);
	}
	return end;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct state *s = self;
	struct orr_walk walk;
	int64_t end = rotate(s, w), now = orr_now(w);
	orr_walk_begin(s->waiting, &walk);
	for (orr_job j; (j = orr_walk_next(&walk));) {
		if (s->n == MOST || !orr_try_start(w, j)) {
			orr_walk_skip_shape(&walk);
			continue;
		}
		orr_queue_remove(s->waiting, j);
		s->running[s->n] = j;
		s->since[s->n++] = now;
		if (now + s->slice_ns < end)
			end = now + s->slice_ns;
	}
	orr_walk_end(&walk);
	orr_timer(w, end);
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(quantum, "round robin with a time slice", params, ops);

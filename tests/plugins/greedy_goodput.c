/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that adapt: every minute, each job has one GPU in order of submission, and then each further GPU goes to the job whose goodput grows
 * by the largest factor. An example of a goodput policy as a plugin; tests/plugins/greedy_goodput.py is the same in Python.
 */
#include <orrery/jobs.h>

static const struct orr_param params[] = { ORR_PARAM_TIME("interval", "60s", "time between decisions"),
	ORR_PARAM_REAL("least", "1.05", 1, 100, "a further GPU must raise the goodput by at least this factor"), ORR_PARAM_END };

struct plan {
	orr_job job;
	uint32_t gpus, most;
	double now, next; /* goodput on gpus, and on one more */
};

struct greedy {
	int64_t interval, due;
	double least;
	uint32_t per_node;
	struct plan *plan;
	size_t n, cap;
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	struct greedy *g = orr_alloc(1, sizeof *g);
	struct orr_node_info node;
	(void)err;
	g->interval = orr_arg_time_ns(args, "interval");
	g->least = orr_arg_real(args, "least");
	g->per_node = orr_node_get(w, 0, &node) && node.gpus ? node.gpus : 1;
	return g;
}

static void destroy(void *self)
{
	orr_free(((struct greedy *)self)->plan);
	orr_free(self);
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j; /* orr_job_first() lists the live jobs */
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

static double goodput(const struct greedy *g, struct orr_jobs *w, orr_job j, uint32_t gpus)
{
	return orr_job_goodput(w, j, (gpus + g->per_node - 1) / g->per_node, gpus);
}

static void add(struct greedy *g, struct orr_jobs *w, orr_job j)
{
	ORR_GROW(g->plan, g->n, g->cap);
	g->plan[g->n++] = (struct plan){ j, 1, orr_job_most_gpus(w, j), goodput(g, w, j, 1), goodput(g, w, j, 2) };
}

/* Returns the job that gains most by another GPU; NULL: none gains enough. */
static struct plan *best(struct greedy *g)
{
	struct plan *found = NULL;
	double most = g->least;
	for (size_t i = 0; i < g->n; i++) {
		struct plan *p = &g->plan[i];
		if (p->gpus < p->most && p->now > 0 && p->next / p->now > most) {
			found = p;
			most = p->next / p->now;
		}
	}
	return found;
}

static void schedule(void *self, struct orr_jobs *w)
{
	struct greedy *g = self;
	struct orr_job_info info;
	if (orr_now(w) < g->due || !orr_job_first(w))
		return;
	uint32_t left = orr_total_gpus(w);
	g->n = 0;
	for (orr_job j = orr_job_first(w); j && left; j = orr_job_next(w, j), left--)
		add(g, w, j);
	for (struct plan *p; left && (p = best(g)); left--) {
		p->now = p->next;
		p->gpus++;
		p->next = goodput(g, w, p->job, p->gpus + 1);
	}
	for (size_t i = 0; i < g->n; i++)
		if (orr_job_get(w, g->plan[i].job, &info) && info.gpus_held && info.gpus_held != g->plan[i].gpus)
			orr_stop(w, g->plan[i].job);
	for (size_t i = 0; i < g->n; i++)
		if (!orr_job_is_running(w, g->plan[i].job))
			orr_try_start_sized(w, g->plan[i].job, g->plan[i].gpus);
	g->due = orr_now(w) + g->interval;
	orr_timer(w, g->due);
}

static const struct orr_jobs_ops ops = { .create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = schedule };

ORR_POLICY_JOBS(greedy_goodput, "GPUs one by one to the job whose goodput grows most", params, ops);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Irina (Wu, Xu, Wang, "Irina: Accelerating DNN Inference with Efficient Online Scheduling", APNet 2020): an arriving task has
 * four choices. It runs next to a running task (stack), is merged into a running batch of its model, which restarts (batch),
 * preempts a running task, which restarts later (preempt), or waits. The policy takes the choice with the smallest projected
 * mean completion time per sample.
 *
 * Projection: runs end at their current end times; waiting tasks run one by one after the last of them. The mean weights a task
 * by its samples. The total weight is the same for all choices, so sums are compared. Two sums per GPU give the effect of a
 * choice on all waiting tasks in O(1): weight = sum B_j and span = sum L_j.
 *
 * Values that the paper does not state are parameters; docs/models/serve-policies.md#irina gives the values that reproduce its
 * figure.
 */
#include "irina_task.h"
#include "kinds.h"

static const struct orr_param params[] = { ORR_PARAM_BOOL("preempt", true, "a new task may preempt a running task"),
	ORR_PARAM_BOOL("batch", true, "a new task may be merged with a running task of its model"),
	ORR_PARAM_BOOL("stack", true, "a new task may run concurrently with a running task"),
	ORR_PARAM_CHOICE("slo_guard", "involved", "off|involved|all",
		"reject a choice if a task is projected to miss its SLO: one of the two tasks involved, or any task"),
	ORR_PARAM_CHOICE("jct_scope", "all", "all|involved",
		"tasks whose completion times are compared: all on the GPU, or the running tasks and the new task"),
	ORR_PARAM_BOOL("merge_queued", false, "a new task may also be merged with the last waiting task of its model"),
	ORR_PARAM_INT("preempt_limit", "0", 0, 1e9, "largest number of preemptions of a task; 0: limited by the SLO guard only"),
	ORR_PARAM_INT("stack_most", "2", 1, IRINA_MOST, "largest number of concurrent runs on a GPU"),
	ORR_PARAM_BOOL("stack_wait", false, "a task may be stacked later, when memory allows, ahead of waiting tasks"),
	ORR_PARAM_BOOL("pad", false, "pad merged batches to the next size of the table"), ORR_PARAM_END };

enum strategy { FIFO, PREEMPT, BATCH, STACK, MERGE_QUEUED, N_STRATEGIES };

struct irina {
	struct irina_gpus gpus;
	bool may[N_STRATEGIES], has_guard, is_all, waits_to_stack, pads; /* is_all: jct_scope */
	uint32_t preempt_limit, stack_most;
};

/* A choice for a new task. */
struct plan {
	enum strategy what;
	uint32_t gpu, with; /* with: index of the running task to merge with or to preempt */
	double sum;         /* increase of the sum of B x (end - now) over the tasks in scope */
	double delay_s;
	uint32_t samples; /* size of the merged batch */
};

static void destroy(void *self)
{
	irina_end(&((struct irina *)self)->gpus);
	orr_free(self);
}

static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)
{
	if (!serves_only(w, ORR_MODEL_TABLE, err))
		return NULL;
	struct irina *s = orr_alloc(1, sizeof *s);
	irina_begin(&s->gpus, w);
	s->may[FIFO] = true;
	s->may[PREEMPT] = orr_arg_bool(args, "preempt");
	s->may[BATCH] = orr_arg_bool(args, "batch");
	s->may[STACK] = orr_arg_bool(args, "stack");
	s->may[MERGE_QUEUED] = orr_arg_bool(args, "merge_queued");
	s->has_guard = strcmp(orr_arg_text(args, "slo_guard"), "off") != 0;
	s->gpus.keeps_heaps = !strcmp(orr_arg_text(args, "slo_guard"), "all");
	/* A GPU that lacks the model of its first task waits, although other tasks could run. With several GPUs a task may wait for a
	 * faster one while another GPU is idle. A task waits for the exit point, or for the answers, of the run that it is merged with.
	 * The projection knows the latencies of the tables only. */
	bool is_exact = orr_latencies_are_exact(w);
	if (is_exact && s->gpus.n == 1 && irina_all_loaded(&s->gpus, w))
		orr_serve_claim(w, ORR_WORK_CONSERVING);
	if (is_exact && s->gpus.keeps_heaps)
		orr_serve_claim(w, ORR_SLO_GUARDED);
	s->is_all = !strcmp(orr_arg_text(args, "jct_scope"), "all");
	s->waits_to_stack = orr_arg_bool(args, "stack_wait");
	s->pads = orr_arg_bool(args, "pad");
	s->preempt_limit = (uint32_t)orr_arg_int(args, "preempt_limit");
	s->stack_most = (uint32_t)orr_arg_int(args, "stack_most");
	if (s->gpus.keeps_heaps && s->may[MERGE_QUEUED]) {
		/* A merge in the middle of a queue would change the slack of all later tasks. */
		orr_fail(err, ORR_EINPUT, "slo_guard=all: expected merge_queued=false");
		destroy(s);
		return NULL;
	}
	return s;
}

/* Leaves the task unassigned: any replica may take it when it starts. */
static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	(void)self;
	(void)w;
	(void)r;
	return ORR_NO_REPLICA;
}

/* ---- the cost of each strategy; times from now ---- */

static void consider(struct irina *s, struct plan *best, const struct plan *p)
{
	/* Sums that differ by rounding are equal: the first candidate is preferred, and waiting is the first of all. */
	if (s->may[p->what] && p->sum < best->sum - 1e-12 * (1 + fabs(best->sum)))
		*best = *p;
}

static bool in_time(const struct irina *s, const struct orr_serve *w, double deadline_s, double end_s)
{
	return !s->has_guard || orr_serve_now(w) + end_s <= deadline_s + 1e-9;
}

/* Returns whether waiting tasks still meet their deadlines if the last run ends `later` seconds later. */
static bool queue_in_time(const struct irina *s, const struct orr_serve *w, struct irina_gpu *g, double later)
{
	return !s->gpus.keeps_heaps || later <= irina_spare(w, g);
}

/* Returns the increase of the sum over waiting tasks if the last run ends `later` seconds later. */
static double queue_later(const struct irina *s, const struct irina_gpu *g, double later)
{
	return s->is_all ? g->weight * later : 0;
}

static void consider_preempt(
	struct irina *s, struct orr_serve *w, uint32_t gpu, const struct task *t, double latency, double end, struct plan *best)
{
	struct irina_gpu *g = &s->gpus.gpu[gpu];
	const struct task *v = g->n_running == 1 ? g->running[0] : NULL;
	if (!v || (s->preempt_limit && v->preemptions >= s->preempt_limit))
		return;
	struct orr_batch b = task_batch(t);
	double again = latency + v->latency_s, ends = run_ends(w, v);
	if (!in_time(s, w, t->deadline_s, latency) || !in_time(s, w, v->deadline_s, again) || !queue_in_time(s, w, g, again - end) ||
		!orr_run_fits_instead(w, gpu, &b, v->run))
		return;
	struct plan p = { .what = PREEMPT, .gpu = gpu };
	p.sum = latency * t->weight + (again - ends) * v->weight + queue_later(s, g, again - end);
	consider(s, best, &p);
}

static void consider_batch(struct irina *s, struct orr_serve *w, uint32_t gpu, const struct task *t, double end, struct plan *best)
{
	struct irina_gpu *g = &s->gpus.gpu[gpu];
	for (uint32_t i = 0; i < g->n_running; i++) {
		const struct task *v = g->running[i];
		uint32_t length = v->length > t->length ? v->length : t->length;
		uint32_t samples = v->model == t->model ? irina_merged(w, gpu, v, t, s->pads) : 0;
		if (!samples)
			continue;
		struct orr_batch b = { .model = t->model, .samples = samples, .length = length };
		double latency = orr_model_latency(w, gpu, t->model, samples, length);
		double last = latency;
		for (uint32_t k = 0; k < g->n_running; k++)
			last = k != i ? fmax(last, run_ends(w, g->running[k])) : last;
		if (!in_time(s, w, fmin(v->deadline_s, t->deadline_s), latency) || !queue_in_time(s, w, g, last - end) ||
			!orr_run_fits_instead(w, gpu, &b, v->run))
			continue;
		struct plan p = { .what = BATCH, .gpu = gpu, .with = i, .samples = samples };
		p.sum = latency * (v->weight + t->weight) - run_ends(w, v) * v->weight + queue_later(s, g, last - end);
		consider(s, best, &p);
	}
}

static void consider_stack(
	struct irina *s, struct orr_serve *w, uint32_t gpu, const struct task *t, double latency, double end, struct plan *best)
{
	struct irina_gpu *g = &s->gpus.gpu[gpu];
	if (g->n_running == 0 || g->n_running >= s->stack_most)
		return;
	struct orr_batch b = task_batch(t);
	struct plan p = { .what = STACK, .gpu = gpu };
	if (!orr_run_fits(w, gpu, &b, 0)) {
		p.delay_s = s->waits_to_stack ? orr_run_fits_after(w, gpu, &b) : INFINITY;
		if (isinf(p.delay_s))
			return;
	}
	double later = fmax(0, p.delay_s + latency - end);
	if (!queue_in_time(s, w, g, later))
		return;
	p.sum = (p.delay_s + latency) * t->weight + queue_later(s, g, later);
	consider(s, best, &p);
}

/* Considers a merge with the last waiting task of its model: all later tasks start later by the extra time of the larger batch. */
static void consider_queued(struct irina *s, struct orr_serve *w, uint32_t gpu, const struct task *t, double end, struct plan *best)
{
	const struct irina_gpu *g = &s->gpus.gpu[gpu];
	const struct task *v = g->open[t->model];
	uint32_t samples = v ? irina_merged(w, gpu, v, t, s->pads) : 0;
	if (!samples)
		return;
	double more = orr_model_latency(w, gpu, t->model, samples, v->length > t->length ? v->length : t->length) - v->latency_s;
	double its = end + (v->span_to - g->span_popped) + more; /* end of the merged task */
	if (!in_time(s, w, fmin(v->deadline_s, t->deadline_s), its))
		return;
	struct plan p = { .what = MERGE_QUEUED, .gpu = gpu, .samples = samples };
	p.sum = its * t->weight + more * v->weight + (s->is_all ? more * (g->weight_pushed - v->weight_to) : 0);
	consider(s, best, &p);
}

static struct plan decide(struct irina *s, struct orr_serve *w, const struct task *t)
{
	struct plan best = { .gpu = ORR_NO_REPLICA, .sum = INFINITY };
	for (uint32_t i = 0; i < s->gpus.n; i++) {
		struct irina_gpu *g = &s->gpus.gpu[i];
		double latency = irina_latency(w, i, t);
		irina_remove_computed(w, g);
		if (isnan(latency))
			continue;
		double sum = (irina_last_end(w, g) + g->span + latency) * t->weight;
		if (best.gpu == ORR_NO_REPLICA || sum < best.sum)
			best = (struct plan){ .what = FIFO, .gpu = i, .sum = sum };
	}
	for (uint32_t i = 0; i < s->gpus.n; i++) {
		const struct irina_gpu *g = &s->gpus.gpu[i];
		double latency = irina_latency(w, i, t), end = irina_last_end(w, g);
		if (isnan(latency) || !orr_model_is_loaded(w, i, t->model))
			continue;
		if (s->may[MERGE_QUEUED])
			consider_queued(s, w, i, t, end, &best);
		if (g->next) /* a task will start there as soon as possible */
			continue;
		if (s->may[PREEMPT])
			consider_preempt(s, w, i, t, latency, end, &best);
		if (s->may[BATCH])
			consider_batch(s, w, i, t, end, &best);
		if (s->may[STACK])
			consider_stack(s, w, i, t, latency, end, &best);
	}
	return best;
}

/* ---- execution of the choice ---- */

static void carry_out(struct irina *s, struct orr_serve *w, struct task *t, const struct plan *p)
{
	switch (p->what) {
	case PREEMPT: {
		struct task *v = irina_stop(&s->gpus, w, p->gpu, 0);
		v->preemptions++;
		irina_push_front(&s->gpus, p->gpu, v);
		irina_start_when_possible(&s->gpus, w, p->gpu, t, 0);
		break;
	}
	case BATCH: {
		struct task *v = irina_stop(&s->gpus, w, p->gpu, p->with);
		irina_merge(w, v, t, p->gpu, p->samples);
		irina_start_when_possible(&s->gpus, w, p->gpu, v, 0);
		break;
	}
	case STACK:
		irina_start_when_possible(&s->gpus, w, p->gpu, t, p->delay_s);
		break;
	case MERGE_QUEUED:
		irina_merge_queued(&s->gpus, w, p->gpu, t, p->samples);
		break;
	default:
		irina_push_back(&s->gpus, w, p->gpu, t);
		irina_go_on(&s->gpus, w, p->gpu);
	}
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	struct irina *s = self;
	struct task *t = irina_task(&s->gpus, w, r);
	if (!t)
		return;
	struct plan p = decide(s, w, t);
	if (p.gpu == ORR_NO_REPLICA) { /* no GPU that is up can run the task, so the task waits */
		irina_push_back(&s->gpus, w, 0, t);
		return;
	}
	orr_serve_observe(w, "part_preempting", p.what == PREEMPT);
	orr_serve_observe(w, "part_merged", p.what == BATCH || p.what == MERGE_QUEUED);
	orr_serve_observe(w, "part_stacked", p.what == STACK);
	carry_out(s, w, t, &p);
}

static void finish(void *self, struct orr_serve *w, orr_req r, enum orr_req_end how)
{
	(void)how;
	irina_forget(&((struct irina *)self)->gpus, w, r);
}

static void run_end(void *self, struct orr_serve *w, orr_run run)
{
	irina_ended(&((struct irina *)self)->gpus, w, run);
}

static void schedule(void *self, struct orr_serve *w, uint32_t gpu)
{
	irina_go_on(&((struct irina *)self)->gpus, w, gpu);
}

static void replica(void *self, struct orr_serve *w, uint32_t gpu, enum orr_replica_event event)
{
	struct irina *s = self;
	if (event == ORR_REPLICA_DOWN)
		irina_lost(&s->gpus, w, gpu);
	else if (event == ORR_REPLICA_DRAINING)
		irina_offer(&s->gpus, w, gpu);
}

static const struct orr_serve_ops ops = { .create = create,
	.destroy = destroy,
	.route = route,
	.arrive = arrive,
	.finish = finish,
	.run_end = run_end,
	.schedule = schedule,
	.replica = replica };

ORR_POLICY_SERVE(irina, "batch, stack or preempt tasks to minimise the mean completion time (Irina)", params, ops);
